//! Makes foreign text safe for a terminal, a log or a file. Never: the meaning of a text.

/// Removes control characters except line feeds, so that text of a feed, a file or another daemon cannot move the
/// cursor, change colours or forge a line.
#[must_use]
pub fn printable(text: &str) -> String {
    let is_kept = |c: &char| *c == '\n' || !(c.is_control() || is_format(*c));
    text.chars().filter(is_kept).collect()
}

/// True for characters that change the direction of text.
fn is_format(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_moves_no_cursor() {
        assert_eq!(printable("a\x1b[2J\tb\r\n\u{9b}31mc\u{202e}d\x07"), "a[2Jb\n31mcd");
        assert_eq!(printable("KO 70 – Größe €"), "KO 70 – Größe €");
    }
}
