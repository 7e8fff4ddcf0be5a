//! The screen that standard output is: its columns, and whether it shows more than ASCII.

use narrows_report::drawn::Screen;
use std::env;
use std::io::{IsTerminal, stderr, stdout};

/// Fewest and most columns that anything is laid out for; longer lines are hard to read.
const COLUMNS: std::ops::RangeInclusive<usize> = Screen::COLUMNS_MIN..=200;

/// The screen of this process. `COLUMNS` asks for a width, of a file too; else a terminal has its
/// own.
pub fn of_output() -> Screen {
    let asked = env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let columns = asked.filter(|columns| *columns > 0).or_else(|| {
        let (width, _) = terminal_size::terminal_size_of(stdout())?;
        stdout().is_terminal().then_some(usize::from(width.0))
    });
    Screen {
        columns: columns.map(|columns| columns.clamp(*COLUMNS.start(), *COLUMNS.end())),
        unicode: is_utf8(["LC_ALL", "LC_CTYPE", "LANG"].map(|name| env::var(name).ok())),
    }
}

/// Columns of the terminal that standard error is.
pub fn columns_of_errors() -> Option<usize> {
    let (width, _) = terminal_size::terminal_size_of(stderr())?;
    let columns = usize::from(width.0).clamp(*COLUMNS.start(), *COLUMNS.end());
    stderr().is_terminal().then_some(columns)
}

/// Whether a locale is of UTF-8: the first of the three that is set says so, as in setlocale(3).
fn is_utf8(variables: [Option<String>; 3]) -> bool {
    let set = variables.into_iter().flatten().find(|value| !value.is_empty());
    let charset = set.unwrap_or_default().to_ascii_lowercase();
    charset.contains("utf-8") || charset.contains("utf8")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_locale_that_is_set_decides() {
        let of = |values: [&str; 3]| is_utf8(values.map(|value| Some(value.to_owned())));
        assert!(of(["", "", "de_DE.UTF-8"]) && of(["C.utf8", "C", "C"]));
        assert!(!of(["C", "", "de_DE.UTF-8"]) && !of(["", "", ""]));
        assert!(!is_utf8([None, None, None]));
    }
}
