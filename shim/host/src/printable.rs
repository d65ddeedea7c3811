//! Text of others on its way to a terminal, a log or a file. Never: what it means.

/// Returns text without control characters but the ends of its lines: whatever a feed, a file or another daemon says,
/// it moves no cursor, changes no colour and forges no line.
#[must_use]
pub fn printable(text: &str) -> String {
    let is_kept = |c: &char| *c == '\n' || !(c.is_control() || is_format(*c));
    text.chars().filter(is_kept).collect()
}

/// True for characters that change the order in which others are shown.
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
