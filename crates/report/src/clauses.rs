//! Sentences in a few lines, of whole clauses.

use crate::drawn::canvas::{cut, wrap};

/// A text in so many lines at most. A longer one ends with the last of its clauses that fits and
/// says where the rest is, so that nobody reads half of a command or of a sentence.
pub fn clauses(text: &str, columns: usize, most: usize, more: &str) -> Vec<String> {
    let whole = wrap(text, columns, "  ");
    if whole.len() <= most {
        return whole;
    }
    let ends = text.match_indices(['.', ';', ',']).map(|(at, _)| at);
    let ends = ends.filter(|at| text[at + 1..].starts_with(' ') && is_outside(&text[..*at]));
    let shorter = ends.map(|at| wrap(&format!("{}{more}", &text[..at]), columns, "  "));
    let fitting = shorter.take_while(|lines| lines.len() <= most).last();
    // A clause of its own that is longer than all lines: it is no sentence of ours.
    fitting.unwrap_or_else(|| {
        let (kept, rest) = whole.split_at(most.saturating_sub(1));
        let mut last = rest[0].clone();
        for line in &rest[1..] {
            last += " ";
            last += line.trim_start();
        }
        let mut lines = kept.to_vec();
        lines.push(cut(&last, columns));
        lines
    })
}

/// Whether what follows a text is in none of its parentheses or quoted commands.
fn is_outside(text: &str) -> bool {
    let count = |of: char| text.matches(of).count();
    count('(') <= count(')') && count('`').is_multiple_of(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MORE: &str = " (more: -v)";

    #[test]
    fn a_long_text_ends_with_a_clause_outside_parentheses_and_commands() {
        let text = "raise the quota (cpu.max, or cpu.cfs_quota_us), then measure again; or give the \
                    end other CPUs";
        for (columns, most, want) in [
            (120, 1, text),
            (66, 1, "raise the quota (cpu.max, or cpu.cfs_quota_us) (more: -v)"),
            // No clause ends in time: the text is cut where the line ends.
            (40, 1, "raise the quota (cpu.max, or cpu.cfs_qu…"),
        ] {
            let lines = clauses(text, columns, most, MORE);
            assert_eq!(lines, [want], "{columns}");
        }
        let command = "run `sysctl -a, then -w` there, and then once again";
        assert_eq!(clauses(command, 44, 1, MORE), ["run `sysctl -a, then -w` there (more: -v)"]);
    }
}
