//! How commands end: in five lines at most the figure with its interval, what limits it and how
//! sure that is, what to do, and where the details are. What is longer ends with a whole clause.

use crate::clauses::clauses;
use crate::drawn::Screen;
use crate::drawn::canvas::{BOLD, PLAIN, wrap};
use crate::sentences::Answer;
use crate::{Analysis, anomalies, answer, applications, credits};
use narrows_model::shown;

/// Lines of an end.
pub const LINES: usize = 5;
/// Behind a clause after which something is left out.
const MORE: &str = " (more above)";

/// An answer in rows, each with its name.
pub struct Ending {
    rows: Vec<(&'static str, String)>,
    /// The same of rows that would take too many lines.
    short: Vec<(&'static str, String)>,
    /// Behind a clause after which something is left out.
    more: &'static str,
}

impl Ending {
    /// Of an answer that is not of a study.
    pub fn of(rows: impl IntoIterator<Item = (&'static str, String)>) -> Self {
        Self { rows: rows.into_iter().collect(), short: Vec::new(), more: MORE }
    }

    /// Where what is left out of a row is, if it is not above.
    pub fn with_more(self, more: &'static str) -> Self {
        Self { more, ..self }
    }

    /// Of a figure and what is said of it.
    pub fn of_answer(answer: &Answer, details: &str) -> Self {
        let figure = format!("{} ({})", answer.figure, answer.spread);
        let ending = Self::of([
            ("answer", figure),
            ("bottleneck", answer.bottleneck.clone()),
            ("do", answer.action.clone()),
            ("details", details.to_owned()),
        ]);
        let level =
            answer.bottleneck.split_once(": ").map(|(level, held)| (level, held.to_owned()));
        // What is held is the level whose figure is told.
        let held = level.filter(|(level, _)| answer.spread.starts_with(*level));
        let short = [("answer", answer.figure.clone())].into_iter();
        Self { short: short.chain(held.map(|(_, held)| ("bottleneck", held))).collect(), ..ending }
    }

    /// Of a study, by what it asks.
    pub fn of_study(analysis: &Analysis<'_>, details: &str) -> Self {
        let asked = match (&analysis.anomalies, credits::of(analysis.stored)) {
            _ if !analysis.applications.is_empty() => applications::answers(&analysis.applications),
            (Some(all), _) => anomalies::lines(all),
            (None, Some(counted)) => counted.answer(),
            (None, None) => Vec::new(),
        };
        let details = ("details", details.to_owned());
        if !asked.is_empty() {
            let rows = asked.into_iter().take(LINES - 1).map(|says| ("answer", says));
            return Self::of(rows.chain([details]));
        }
        let answer = match &analysis.study {
            Some(results) => answer::of_study(analysis, results),
            None => answer::of(analysis),
        };
        match answer {
            // Of figures that somebody else measured no host is known.
            Some(answer) if !analysis.has_host() => {
                Self::of([("answer", format!("{} ({})", answer.figure, answer.spread)), details])
            }
            Some(answer) => Self::of_answer(&answer, &details.1),
            None => Self::of([("answer", "none: too little was measured".to_owned()), details]),
        }
    }

    /// The rows in lines: each has one, and those that need more take what is left, the figure
    /// before what to do.
    pub fn lines(&self, screen: &Screen) -> Vec<String> {
        let columns = screen.width();
        let needs = |text: &str| wrap(text, columns, "  ").len();
        let mut all: Vec<(&str, String)> =
            self.rows.iter().map(|row| (row.0, whole(row))).collect();
        let mut most = vec![1; all.len()];
        let mut free = LINES.saturating_sub(all.len());
        for name in ["answer", "do", "first", "bottleneck", "details"] {
            for (at, row) in all.iter_mut().enumerate().filter(|(_, row)| row.0 == name) {
                let short = self.short.iter().find(|short| short.0 == name);
                if let Some(short) = short.filter(|_| needs(&row.1) > 1 + free) {
                    row.1 = whole(short);
                }
                let more = needs(&row.1).saturating_sub(1).min(free);
                most[at] += more;
                free -= more;
            }
        }
        let rows = all.iter().zip(most);
        rows.flat_map(|((name, text), most)| self.named(name, text, columns, most)).collect()
    }

    fn named(&self, name: &str, text: &str, columns: usize, most: usize) -> Vec<String> {
        let mut lines = clauses(text, columns, most, self.more);
        // No word is shown by half.
        if let Some(last) = lines.last_mut().filter(|last| last.ends_with('…'))
            && let Some((words, _)) = last.rsplit_once(' ')
        {
            *last = format!("{words} …");
        }
        if let Some(first) = lines.first_mut() {
            *first = first.replacen(&format!("{name}:"), &format!("{BOLD}{name}:{PLAIN}"), 1);
        }
        lines
    }

    /// Whether a row of this name is told whole.
    pub fn is_whole(&self, name: &str, screen: &Screen) -> bool {
        let row = self.rows.iter().find(|row| row.0 == name);
        let told = self.lines(screen).join(" ");
        row.is_none_or(|row| plain(&told).contains(&plain(&whole(row))))
    }

    /// The same behind an empty line, as a screen shows it.
    pub fn text(&self, screen: &Screen) -> String {
        let lines = self.lines(screen).into_iter();
        let text: String =
            lines.map(|line| line.trim_end().replace('\u{a0}', " ") + "\n").collect();
        screen.show(&format!("\n{text}"))
    }
}

fn whole((name, says): &(&str, String)) -> String {
    format!("{name}: {}", shown::line(says))
}

/// The words alone, however they are wrapped and styled.
fn plain(text: &str) -> String {
    let text = text.replace(BOLD, "").replace(PLAIN, "").replace('\u{a0}', " ");
    text.split_whitespace().collect::<Vec<&str>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ending(bottleneck: &str, action: &str) -> Ending {
        Ending::of_answer(
            &Answer {
                figure: "tcp: 9.41 Gb/s".into(),
                spread: "95 % interval 9.40 to 9.42 Gb/s, 6 runs".into(),
                bottleneck: bottleneck.into(),
                action: action.into(),
            },
            "narrows report x.narrows",
        )
    }

    #[test]
    fn an_end_has_five_lines_however_much_is_said() {
        let clause = "raise the ring of the receiving interface, which was full in every run; ";
        for columns in [60, 80, 200] {
            let screen = Screen { columns: Some(columns), unicode: true };
            for (held, action) in [(1, 1), (1, 9), (9, 1), (9, 9), (2, 3)] {
                let end = ending(&clause.repeat(held), &clause.repeat(action));
                let lines = end.lines(&screen);
                assert!((4..=LINES).contains(&lines.len()), "{lines:?}");
                let names = ["answer", "bottleneck", "do", "details"];
                let told = names.map(|name| {
                    lines.iter().filter(|line| line.starts_with(&format!("{BOLD}{name}:"))).count()
                });
                assert_eq!(told, [1; 4], "{lines:?}");
                let widths = lines.iter().map(|line| plain(line).chars().count());
                assert!(widths.max().unwrap_or(0) <= columns, "{lines:?}");
                assert!(action > 1 || columns < 80 || end.is_whole("do", &screen), "{lines:?}");
                assert!(action < 9 || !end.is_whole("do", &screen), "{lines:?}");
            }
        }
    }

    #[test]
    fn what_to_do_takes_the_line_that_is_left() {
        let screen = Screen { columns: Some(80), unicode: true };
        let long = "let the kernel size socket buffers (no -w), and raise the largest that it may \
                    take, at both ends";
        let lines = ending(long, long).lines(&screen);
        assert_eq!(lines.len(), LINES);
        assert!(lines[1].ends_with("(more above)"), "{lines:?}");
        assert!(lines[3].trim_end().ends_with("both ends"), "{lines:?}");
    }
}
