//! Styles by meaning, for terminals with 256 colours, with 16 and without any; and signs with and without Unicode.
//! Never: the contents of the screen.

use ratatui::style::{Color, Modifier, Style};

/// Colour depth of a terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColourDepth {
    /// No colours: bold text and signs are used instead.
    None,
    /// The sixteen colours of every terminal.
    #[default]
    Sixteen,
    /// 256 colours.
    Shades,
}

/// Meaning of a text, which determines its style.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// Ordinary text and numbers.
    Plain,
    /// Less important text.
    Faint,
    /// Important text.
    Strong,
    /// Headings.
    Heading,
    /// The name on the screen.
    Name,
    /// A key.
    Key,
    /// The selected item.
    Chosen,
    /// Contracts in the money.
    Inside,
    /// The spot.
    Spot,
    /// The forward.
    Forward,
    /// A number that has risen.
    Up,
    /// A number that has fallen.
    Down,
    /// A notice.
    Notice,
    /// An alarm.
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
    /// Horizontal line.
    pub(crate) rule: char,
    /// Vertical line.
    pub(crate) wall: char,
    /// Corners: top left, top right, bottom left, bottom right.
    pub(crate) corners: [char; 4],
    /// Sign of a number that has risen.
    pub(crate) up: char,
    /// Sign of a number that has fallen.
    pub(crate) down: char,
    /// Sign of the selected item.
    pub(crate) pointer: char,
    /// Filler in the gaps of contracts in the money, without colours.
    pub(crate) shade: char,
    /// True if plots use Braille characters, of eight dots each.
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
    /// Colour depth.
    pub(crate) depth: ColourDepth,
    /// Signs.
    pub(crate) signs: Signs,
}

impl Palette {
    /// The palette of a terminal.
    pub(crate) const fn new(depth: ColourDepth, has_unicode: bool) -> Self {
        Self { depth, signs: if has_unicode { UNICODE } else { ASCII } }
    }

    /// The style of a meaning.
    pub(crate) fn style(&self, look: Look) -> Style {
        match self.depth {
            ColourDepth::None => without_colour(look),
            ColourDepth::Sixteen => sixteen(look),
            ColourDepth::Shades => shades(look),
        }
    }

    /// Filler in the gaps of contracts in the money.
    pub(crate) fn inside_gap(&self) -> char {
        if self.depth == ColourDepth::None { self.signs.shade } else { ' ' }
    }

    /// The meaning of a direction (-1, 0, 1); `None` for 0.
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

/// Styles with 256 colours, which are the same in all terminals; the user can redefine the first sixteen.
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
