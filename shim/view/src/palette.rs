//! How what is shown looks: styles by meaning, for terminals with 256 colours, with 16 and without any; and the signs,
//! for those that have no Unicode. Never: what is shown.

use ratatui::style::{Color, Modifier, Style};

/// How many colours there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColourDepth {
    /// None: weight and signs say it.
    None,
    /// The sixteen of every terminal.
    #[default]
    Sixteen,
    /// Shades too.
    Shades,
}

/// What something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// Numbers.
    Plain,
    /// What is beside the point.
    Faint,
    /// What counts.
    Strong,
    /// Headings.
    Heading,
    /// The name.
    Name,
    /// A key that can be pressed.
    Key,
    /// What is on.
    Chosen,
    /// Contracts in the money.
    Inside,
    /// The spot.
    Spot,
    /// The forward.
    Forward,
    /// Went up.
    Up,
    /// Went down.
    Down,
    /// Something to know of.
    Notice,
    /// Something is wrong.
    Alarm,
    /// The fitted curve.
    Curve,
    /// Bids.
    Bid,
    /// Asks.
    Ask,
}

/// Signs of one kind of terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Signs {
    /// A line from left to right.
    pub(crate) rule: char,
    /// A line from top to bottom.
    pub(crate) wall: char,
    /// Corners: top left, top right, bottom left, bottom right.
    pub(crate) corners: [char; 4],
    /// Went up.
    pub(crate) up: char,
    /// Went down.
    pub(crate) down: char,
    /// What is on.
    pub(crate) pointer: char,
    /// Stands in the gaps of contracts in the money where no colour says it.
    pub(crate) shade: char,
    /// Plots have eight dots in a character.
    pub(crate) has_braille: bool,
}

const UNICODE: Signs = Signs {
    rule: '─',
    wall: '│',
    corners: ['┌', '┐', '└', '┘'],
    up: '▲',
    down: '▼',
    pointer: '▶',
    shade: '░',
    has_braille: true,
};

const ASCII: Signs = Signs {
    rule: '-',
    wall: '|',
    corners: ['+', '+', '+', '+'],
    up: '+',
    down: '-',
    pointer: '>',
    shade: ':',
    has_braille: false,
};

/// Styles and signs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Palette {
    /// Colours.
    pub(crate) depth: ColourDepth,
    /// Signs.
    pub(crate) signs: Signs,
}

impl Palette {
    /// The palette of a terminal.
    pub(crate) const fn new(depth: ColourDepth, has_unicode: bool) -> Self {
        Self { depth, signs: if has_unicode { UNICODE } else { ASCII } }
    }

    /// The style of something.
    pub(crate) fn style(&self, look: Look) -> Style {
        match self.depth {
            ColourDepth::None => without_colour(look),
            ColourDepth::Sixteen => sixteen(look),
            ColourDepth::Shades => shades(look),
        }
    }

    /// What stands in the gaps of contracts in the money.
    pub(crate) fn inside_gap(&self) -> char {
        if self.depth == ColourDepth::None { self.signs.shade } else { ' ' }
    }

    /// What went up or down, or neither.
    pub(crate) fn moved(&self, moved: i8) -> Option<Look> {
        match moved {
            0 => None,
            1.. => Some(Look::Up),
            _ => Some(Look::Down),
        }
    }
}

fn without_colour(look: Look) -> Style {
    let style = Style::new();
    match look {
        Look::Plain | Look::Inside | Look::Curve | Look::Bid | Look::Ask => style,
        Look::Faint => style.add_modifier(Modifier::DIM),
        Look::Strong | Look::Heading | Look::Name | Look::Key | Look::Spot | Look::Forward => {
            style.add_modifier(Modifier::BOLD)
        }
        Look::Up | Look::Down => style.add_modifier(Modifier::BOLD),
        Look::Chosen => style.add_modifier(Modifier::REVERSED),
        Look::Notice | Look::Alarm => style.add_modifier(Modifier::BOLD.union(Modifier::REVERSED)),
    }
}

fn sixteen(look: Look) -> Style {
    let style = Style::new();
    match look {
        Look::Plain => style,
        Look::Faint => style.fg(Color::DarkGray),
        Look::Strong | Look::Name => style.add_modifier(Modifier::BOLD),
        Look::Heading => style.fg(Color::Cyan),
        Look::Key => style.fg(Color::Cyan).add_modifier(Modifier::BOLD),
        Look::Chosen => style.add_modifier(Modifier::REVERSED),
        Look::Inside => style.fg(Color::White).bg(Color::DarkGray),
        Look::Spot => style.fg(Color::Yellow).add_modifier(Modifier::BOLD),
        Look::Forward => style.fg(Color::Magenta).add_modifier(Modifier::BOLD),
        Look::Up => style.fg(Color::Green).add_modifier(Modifier::BOLD),
        Look::Down => style.fg(Color::Red).add_modifier(Modifier::BOLD),
        Look::Notice => style.fg(Color::Black).bg(Color::Yellow),
        Look::Alarm => style.fg(Color::White).bg(Color::Red).add_modifier(Modifier::BOLD),
        Look::Curve => style.fg(Color::Cyan),
        Look::Bid => style.fg(Color::Blue),
        Look::Ask => style.fg(Color::Red),
    }
}

/// Numbers of the 256 are the same everywhere, where those of the sixteen are the user's.
fn shades(look: Look) -> Style {
    let style = sixteen(look);
    match look {
        Look::Faint => Style::new().fg(Color::Indexed(245)),
        Look::Inside => Style::new().fg(Color::Indexed(253)).bg(Color::Indexed(237)),
        Look::Up => style.fg(Color::Indexed(114)),
        Look::Down => style.fg(Color::Indexed(210)),
        Look::Bid => style.fg(Color::Indexed(75)),
        Look::Ask => style.fg(Color::Indexed(210)),
        _ => style,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOKS: [Look; 17] = [
        Look::Plain,
        Look::Faint,
        Look::Strong,
        Look::Heading,
        Look::Name,
        Look::Key,
        Look::Chosen,
        Look::Inside,
        Look::Spot,
        Look::Forward,
        Look::Up,
        Look::Down,
        Look::Notice,
        Look::Alarm,
        Look::Curve,
        Look::Bid,
        Look::Ask,
    ];

    #[test]
    fn without_colour_there_is_none_and_with_sixteen_no_other() {
        for look in LOOKS {
            let plain = Palette::new(ColourDepth::None, true).style(look);
            assert_eq!((plain.fg, plain.bg), (None, None), "{look:?}");
            let sixteen = Palette::new(ColourDepth::Sixteen, true).style(look);
            for color in [sixteen.fg, sixteen.bg].into_iter().flatten() {
                assert!(!matches!(color, Color::Indexed(_) | Color::Rgb(..)), "{look:?}");
            }
        }
    }

    #[test]
    fn plain_terminals_are_given_plain_signs() {
        let Signs { rule, wall, corners, up, down, pointer, shade, has_braille } =
            Palette::new(ColourDepth::None, false).signs;
        let all = [rule, wall, up, down, pointer, shade].into_iter().chain(corners);
        assert!(all.into_iter().all(|sign| sign.is_ascii()) && !has_braille);
    }
}
