//! Properties of the terminal from environment variables: colours, Unicode. Never: a terminal.

use super::palette::{ColourDepth, Palette};

/// Options of the user, and environment variables.
pub(crate) struct Surroundings<'a> {
    /// Colour depth chosen by the user; `None`: that of the terminal.
    pub(crate) depth: Option<ColourDepth>,
    /// True if the user wants ASCII characters only.
    pub(crate) ascii: bool,
    /// Environment variables.
    pub(crate) variable: &'a dyn Fn(&str) -> Option<String>,
}

impl Surroundings<'_> {
    /// The palette of the terminal.
    pub(crate) fn palette(&self) -> Palette {
        Palette::new(self.depth(), !self.ascii && self.has_unicode())
    }

    fn given(&self, name: &str) -> Option<String> {
        (self.variable)(name).filter(|value| !value.is_empty())
    }

    fn depth(&self) -> ColourDepth {
        match self.depth {
            Some(depth) => depth,
            // https://no-color.org
            None if self.given("NO_COLOR").is_some() => ColourDepth::None,
            None => self.depth_of_terminal(),
        }
    }

    fn depth_of_terminal(&self) -> ColourDepth {
        let term = self.given("TERM").unwrap_or_default();
        let is_deep = ["truecolor", "24bit"].contains(&self.given("COLORTERM").unwrap_or_default().as_str());
        if ["dumb", "vt100", "vt102", "vt220"].contains(&term.as_str()) {
            ColourDepth::None
        } else if is_deep || term.contains("256color") || term.contains("direct") {
            ColourDepth::Shades
        } else {
            ColourDepth::Sixteen
        }
    }

    /// True if the terminal has Unicode: by the first variable of the locale that is set, else by the system.
    fn has_unicode(&self) -> bool {
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(|name| self.given(name));
        match locale {
            Some(locale) => ["utf-8", "utf8"].iter().any(|word| locale.to_ascii_lowercase().contains(word)),
            None => cfg!(any(windows, target_os = "macos")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn palette(chosen: Option<ColourDepth>, ascii: bool, variables: &[(&str, &str)]) -> Palette {
        let variable = |name: &str| variables.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned());
        Surroundings { depth: chosen, ascii, variable: &variable }.palette()
    }

    #[test]
    fn colours_are_those_of_the_terminal_unless_somebody_chose() {
        for (chosen, variables, wanted) in [
            (None, &[("TERM", "xterm")][..], ColourDepth::Sixteen),
            (None, &[("TERM", "xterm-256color")], ColourDepth::Shades),
            (None, &[("TERM", "screen"), ("COLORTERM", "truecolor")], ColourDepth::Shades),
            (None, &[("TERM", "xterm-256color"), ("NO_COLOR", "1")], ColourDepth::None),
            (None, &[("TERM", "xterm"), ("NO_COLOR", "")], ColourDepth::Sixteen),
            (None, &[("TERM", "dumb")], ColourDepth::None),
            (Some(ColourDepth::Sixteen), &[("NO_COLOR", "1")], ColourDepth::Sixteen),
            (Some(ColourDepth::Shades), &[], ColourDepth::Shades),
            (Some(ColourDepth::None), &[("TERM", "xterm-256color")], ColourDepth::None),
        ] {
            assert_eq!(palette(chosen, false, variables).depth, wanted, "{chosen:?} {variables:?}");
        }
    }

    #[test]
    fn unicode_is_what_the_locale_says() {
        let has = |ascii, variables: &[(&str, &str)]| palette(None, ascii, variables).signs.has_braille;
        assert!(has(false, &[("LANG", "en_US.UTF-8")]) && has(false, &[("LC_CTYPE", "C.utf8"), ("LANG", "C")]));
        assert!(!has(true, &[("LANG", "en_US.UTF-8")]), "chosen");
        assert!(!has(false, &[("LC_ALL", "C"), ("LANG", "en_US.UTF-8")]), "the first one counts");
    }
}
