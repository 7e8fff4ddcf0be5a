//! What is said on standard error: notes, progress, errors with their hint.

use crate::screen;
use narrows_model::shown::line;
use narrows_report::drawn::fold;
use std::io::Write;

/// One line on standard error, whatever the text holds.
pub fn note(text: &str) {
    say(std::io::stderr(), &in_width(&line(text)));
}

/// Text before what is typed behind it.
pub fn begin(text: &str) {
    let _ = std::io::stderr().write_all(line(text).as_bytes());
}

/// An error and its hint on standard error, in colour where that is a terminal.
pub fn say_error(says: &str, hint: &str) {
    say(anstream::stderr(), &in_width(&format!("\x1b[31merror:\x1b[0m {}", line(says))));
    say(anstream::stderr(), &in_width(&format!("\x1b[33mhint:\x1b[0m {}", line(hint))));
}

/// What is wrong with a command line, in lines of its own, and its hint.
pub fn say_usage(says: &str, hint: &str) {
    let lines: Vec<_> = says.lines().map(line).collect();
    say(anstream::stderr(), &format!("\x1b[31merror:\x1b[0m {}\n", lines.join("\n")));
    say(anstream::stderr(), &in_width(&format!("\x1b[33mhint:\x1b[0m {}", line(hint))));
}

/// The text in the width of the terminal that standard error is.
fn in_width(text: &str) -> String {
    screen::columns_of_errors().map_or_else(|| text.to_owned(), |columns| fold(text, columns))
}

/// A line that nobody reads, or that has no room, is lost: it neither ends nor spoils what is being
/// measured, as the panic of `eprintln!` would.
fn say(mut out: impl Write, text: &str) {
    let _ = out.write_all(format!("{text}\n").as_bytes()).and_then(|()| out.flush());
}
