//! Text of others on its way to a terminal or a log.

use std::borrow::Cow;
use std::fmt::Write;

/// Whether a character moves, recolours or reorders what is shown: controls of ASCII and Latin-1,
/// and those of bidirectional text (Unicode Standard Annex 9).
fn acts(c: char) -> bool {
    let bidi = ['\u{61c}', '\u{200e}', '\u{200f}'];
    let separators = ['\u{2028}', '\u{2029}'];
    c.is_control()
        || bidi.contains(&c)
        || separators.contains(&c)
        || ('\u{202a}'..='\u{202e}').contains(&c)
        || ('\u{2066}'..='\u{2069}').contains(&c)
}

fn escaped(text: &str, is_kept: impl Fn(char) -> bool) -> Cow<'_, str> {
    if text.chars().all(|c| is_kept(c) || !acts(c)) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match is_kept(c) || !acts(c) {
            true => shown.push(c),
            // As JSON writes it, so that JSON means the same.
            false => drop(write!(shown, "\\u{:04x}", u32::from(c))),
        }
    }
    Cow::Owned(shown)
}

/// One line: nothing in it ends the line or does anything else to a terminal.
pub fn line(text: &str) -> Cow<'_, str> {
    escaped(text, |_| false)
}

/// A document of lines: only their ends and tabs are left.
pub fn document(text: &str) -> Cow<'_, str> {
    escaped(text, |c| c == '\n' || c == '\t')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_acts_on_a_terminal_is_shown_and_the_rest_is_left() {
        assert_eq!(line("a\x1b[2Jb\nc\u{9b}1m\u{202e}d"), "a\\u001b[2Jb\\u000ac\\u009b1m\\u202ed");
        assert_eq!(document("a\n\tb\r\u{2066}\x07"), "a\n\tb\\u000d\\u2066\\u0007");
        assert!(matches!(line("Grüße, 10 µs — 日本"), Cow::Borrowed(_)));
        for code in (0..0x20).chain(0x7f..0xa0) {
            let text = char::from_u32(code).expect("a character").to_string();
            assert!(line(&text).starts_with("\\u00"), "{code:x}");
        }
    }
}
