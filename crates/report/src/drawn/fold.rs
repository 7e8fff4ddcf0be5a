//! Prose in the width of a terminal, which would break it inside of words.

use super::canvas::{display_width, wrap_words};

/// The longest name before a text that goes on beneath itself: `bottleneck`.
const NAME_COLUMNS: usize = 12;

/// The text with its prose in lines of at most so many columns. Rows of tables, drawings, and lines
/// that are there to be copied stay as they are.
pub fn fold(text: &str, columns: usize) -> String {
    let mut folded = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (body, end) = line.strip_suffix('\n').map_or((line, ""), |body| (body, "\n"));
        match hang(body).filter(|_| display_width(body) > columns) {
            Some(hang) if hang < columns / 2 => {
                folded += &wrap_words(body, columns, &" ".repeat(hang)).join("\n");
            }
            _ => folded += body,
        }
        folded += end;
    }
    folded
}

/// Where a line of prose goes on; `None` where it is none.
fn hang(line: &str) -> Option<usize> {
    let text = line.trim_start_matches(' ');
    let indent = line.len() - text.len();
    let is_drawn = text.chars().any(|c| ('\u{2500}'..='\u{25ff}').contains(&c));
    if is_drawn || is_command(text) {
        return None;
    }
    let Some((name, rest)) = text.split_once("  ") else { return Some(indent + 2) };
    let value = rest.trim_start_matches(' ');
    // `why    because ...`: a name and its text; more columns are a table's.
    let is_one = !value.contains("  ") && name.len() <= NAME_COLUMNS && !name.contains(' ');
    (is_one && !is_command(value) && name != "do").then(|| indent + text.len() - value.len())
}

/// Whether a line begins as something to type.
fn is_command(text: &str) -> bool {
    const COMMANDS: [&str; 6] = ["narrows ", "NARROWS_KEY=", "sysctl ", "ip ", "ethtool ", "echo "];
    COMMANDS.iter().any(|command| text.starts_with(command))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_is_folded_and_goes_on_beneath_itself() {
        assert_eq!(fold("one two three\n", 9), "one two\n  three\n");
        assert_eq!(fold("  one two three", 11), "  one two\n    three");
        assert_eq!(fold("why  one two three\n", 14), "why  one two\n     three\n");
        assert_eq!(fold("\x1b[1mone\x1b[0m two\n", 7), "\x1b[1mone\x1b[0m two\n", "no columns");
        assert_eq!(fold("took 12 ms\n", 9), "took\n  12 ms\n");
        assert_eq!(fold("short\n\n", 9), "short\n\n");
    }

    #[test]
    fn what_is_copied_or_stands_in_columns_is_left() {
        for line in [
            "a  b  c d e f g\n",
            "    narrows tcp host --key 1\n",
            "do  sysctl -w a b c d\n",
            "a row that has  columns\n",
            "│ drawn and long │\n",
            "averylongwordthatis\n",
        ] {
            assert_eq!(fold(line, 10), line);
        }
    }
}
