//! Lines of a terminal: boxes, wrapped text, and the same without characters that a locale lacks.

pub(crate) use textwrap::core::display_width;

/// Styles; who prints takes them out where they are not wanted.
pub(crate) const BOLD: &str = "\x1b[1m";
pub(crate) const RED: &str = "\x1b[31m";
pub(crate) const PLAIN: &str = "\x1b[0m";

/// What a text is printed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Screen {
    /// Columns of a line, where somebody asked for so many: sentences are wrapped to them, and are
    /// lines of their own in a file. A drawing takes no fewer than [`Screen::COLUMNS_MIN`].
    pub columns: Option<usize>,
    /// Whether it shows characters beyond ASCII.
    pub unicode: bool,
}

impl Screen {
    /// Fewest columns that anything is laid out for.
    pub const COLUMNS_MIN: usize = 60;
    /// Columns of a drawing where nobody asked.
    pub const COLUMNS: usize = 80;
    /// What a file gets: sentences that are not wrapped, drawings of [`Screen::COLUMNS`], Unicode.
    pub const FILE: Self = Self { columns: None, unicode: true };

    /// Columns of a drawing.
    pub fn width(&self) -> usize {
        self.columns.unwrap_or(Self::COLUMNS).max(Self::COLUMNS_MIN)
    }

    /// Sentences, a line each, wrapped where the screen has columns; `hang` begins what goes on.
    pub fn prose(&self, text: &str, hang: &str) -> String {
        let mut out = String::new();
        for line in text.lines() {
            let lines = match self.columns {
                Some(_) => wrap(line, self.width(), hang),
                None => vec![line.to_owned()],
            };
            lines.iter().for_each(|line| out += &format!("{}\n", line.trim_end()));
        }
        out
    }

    /// The text as this screen shows it; every character keeps its column.
    pub fn show(&self, text: &str) -> String {
        if self.unicode { text.to_owned() } else { text.chars().map(ascii).collect() }
    }
}

/// The nearest character of ASCII.
fn ascii(c: char) -> char {
    match c {
        c if c.is_ascii() => c,
        '─' | '━' => '-',
        '═' => '=',
        '│' | '┃' => '|',
        '║' | '╞' | '╡' | '╦' | '╬' | '╩' | '╗' | '╝' => '#',
        '┌' | '┐' | '└' | '┘' | '├' | '┤' | '┬' | '┴' | '┼' | '╨' => '+',
        '…' => '.',
        'µ' => 'u',
        _ => '?',
    }
}

/// A frame with a title, as wide as it is asked to be.
pub(crate) struct Frame {
    width: usize,
    title: String,
    lines: Vec<String>,
}

impl Frame {
    /// `width` columns with its borders.
    pub fn new(width: usize, title: &str) -> Self {
        let title = cut(title, width.saturating_sub(6));
        Self { width: width.max(display_width(&title) + 6), title, lines: Vec::new() }
    }

    /// Columns for text between the borders.
    pub fn inner(&self) -> usize {
        self.width - 4
    }

    /// A line; what is longer than the frame is wide goes on below, after `hang`.
    pub fn text(&mut self, text: &str, hang: &str) {
        self.lines.extend(wrap(text, self.inner(), hang));
    }

    /// A line that fits.
    pub fn line(&mut self, line: String) {
        self.lines.push(cut(&line, self.inner()));
    }

    /// The frame with its borders, a line each of the same width; of at least so many lines.
    pub fn finish(self, height: usize) -> Vec<String> {
        let inner = self.inner();
        let rule = "─".repeat(inner + 1 - display_width(&self.title) - 2);
        let mut out = vec![format!("┌─ {BOLD}{}{PLAIN} {rule}┐", self.title)];
        for line in &self.lines {
            let left = " ".repeat(inner.saturating_sub(display_width(line)));
            out.push(format!("│ {line}{left} │"));
        }
        while out.len() + 1 < height {
            out.push(format!("│ {} │", " ".repeat(inner)));
        }
        out.push(format!("└{}┘", "─".repeat(inner + 2)));
        out
    }
}

/// Stands for a blank where no line may end, as between a number and its unit; nothing else has
/// it.
const GLUE: char = '\u{202f}';

/// Units that stay on the line of their number.
const UNITS: [&str; 18] = [
    "%", "x", "ns", "us", "ms", "s", "B", "KiB", "MiB", "GiB", "kb/s", "Mb/s", "Gb/s", "MB/s",
    "GB/s", "k/s", "runs", "run",
];

/// Words in lines of at most so many columns; all but the first begin with `hang`. A word that is
/// longer than a line is broken. A number is not parted from its unit, nor a `command` that a line
/// can hold, so that it can be copied.
pub(crate) fn wrap(text: &str, columns: usize, hang: &str) -> Vec<String> {
    wrapped(text, options(columns, hang))
}

/// The same, and a longer word is left whole: a path, or the name of a file.
pub(super) fn wrap_words(text: &str, columns: usize, hang: &str) -> Vec<String> {
    wrapped(text, options(columns, hang).break_words(false))
}

fn options(columns: usize, hang: &str) -> textwrap::Options<'_> {
    textwrap::Options::new(columns)
        .subsequent_indent(hang)
        .word_splitter(textwrap::WordSplitter::NoHyphenation)
}

fn wrapped(text: &str, options: textwrap::Options<'_>) -> Vec<String> {
    let most = options.width.saturating_sub(display_width(options.subsequent_indent));
    let text = with_commands(&with_units(text), most);
    textwrap::wrap(&text, options).into_iter().map(|line| line.replace(GLUE, " ")).collect()
}

/// The text with each unit held to its number.
fn with_units(text: &str) -> String {
    let mut words = text.split(' ');
    let mut held = words.next().unwrap_or_default().to_owned();
    for word in words {
        let bare = word.trim_end_matches([',', ';', ':', '.', ')', ']']);
        let is_unit = UNITS.contains(&bare) && held.ends_with(|c: char| c.is_ascii_digit());
        held.push(if is_unit { GLUE } else { ' ' });
        held.push_str(word);
    }
    held
}

/// The text with the blanks of each command between backticks held, where it has at most so many
/// columns; a backtick without its second is text.
fn with_commands(text: &str, most: usize) -> String {
    let parts: Vec<&str> = text.split('`').collect();
    let mut held = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        let is_command = at % 2 == 1 && at + 1 < parts.len() && display_width(part) + 2 <= most;
        held.push(if is_command {
            part.replace(' ', GLUE.encode_utf8(&mut [0; 4]))
        } else {
            (*part).to_owned()
        });
    }
    held.join("`")
}

/// A text of at most so many columns, with `…` for what is left out.
pub(crate) fn cut(text: &str, columns: usize) -> String {
    if display_width(text) <= columns {
        return text.to_owned();
    }
    let mut kept = String::new();
    for c in text.chars() {
        if display_width(&kept) + display_width(c.encode_utf8(&mut [0; 4])) + 1 > columns {
            break;
        }
        kept.push(c);
    }
    kept + "…"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_stays_with_its_unit() {
        let lines = wrap("loses 0.25 % in 3 runs", 11, "  ");
        assert_eq!(lines, ["loses", "  0.25 % in", "  3 runs"]);
        assert_eq!(wrap("  a b, 5 us", 8, ""), ["  a b,", "5 us"], "blanks stay as they are");
        assert_eq!(wrap("x % y", 3, ""), ["x %", "y"], "no number, no unit");
    }

    #[test]
    fn a_command_is_not_parted_where_a_line_can_hold_it() {
        assert_eq!(
            wrap("now run `ip link show` first", 16, ""),
            ["now run", "`ip link show`", "first"]
        );
        assert_eq!(
            wrap("run `ip link show` now", 15, "  "),
            ["run `ip link", "  show` now"],
            "14 of 13"
        );
        assert_eq!(wrap("one ` two three", 9, ""), ["one ` two", "three"], "no command");
    }
}
