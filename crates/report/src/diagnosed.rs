//! How `narrows diagnose` ends: what was tried, and below it the answer.

use crate::diagnosis::{Diagnosis, Row, says_limit};
use crate::drawn::Screen;
use crate::ending::Ending;
use crate::words;

/// The rows of [`Diagnosis::text`] which the answer does not say, and the answer.
pub fn text(diagnosis: &Diagnosis, to: &str, rest: &str, screen: &Screen) -> String {
    let ending = ending(diagnosis, to, rest);
    let is_above = |row: Row| match row {
        Row::Moved | Row::Perhaps | Row::DidNot => true,
        Row::Bottleneck | Row::Do => !ending.is_whole(row.name(""), screen),
        Row::Figure | Row::Details => false,
    };
    diagnosis.told(to, rest, screen, is_above) + &ending.text(screen)
}

fn ending(diagnosis: &Diagnosis, to: &str, rest: &str) -> Ending {
    let figure = diagnosis.figure.as_ref().map_or("no figure".to_owned(), |figure| {
        let runs = words::counted(figure.n as usize, "run");
        format!("{} ({}, {runs})", words::middle(figure), words::range(figure))
    });
    let limits = diagnosis.limit.as_ref().map_or("not known".to_owned(), says_limit);
    let limits = [vec![limits], diagnosis.path.clone()].concat().join("; ");
    Ending::of([
        ("answer", format!("{} to {to}: {figure}", diagnosis.cell)),
        ("bottleneck", limits),
        ("do", diagnosis.action.clone()),
        ("details", rest.to_owned()),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawn::canvas::{BOLD, PLAIN};

    #[test]
    fn five_lines_end_it_and_nothing_is_said_twice() {
        let screen = Screen { columns: Some(80), unicode: false };
        let clause = "the path holds 1 Gb/s, which both of its probes found; ";
        let of = |path: usize| {
            let diagnosis = Diagnosis {
                cell: "tcp".into(),
                figure: None,
                limit: None,
                hypotheses: Vec::new(),
                path: vec![clause.repeat(path)],
                changes: Vec::new(),
                action: "send at a pace".into(),
            };
            let text = text(&diagnosis, "beta", "narrows report x", &screen);
            text.replace(BOLD, "").replace(PLAIN, "")
        };
        let short = of(1);
        let wanted = "moved it: not known, no change was tried to the end\ndid not: -\n\n\
                      answer: tcp to beta: no figure\n\
                      bottleneck: not known; the path holds 1 Gb/s, which both of its probes \
                      found;\ndo: send at a pace\ndetails: narrows report x\n";
        assert_eq!(short, wanted);
        let long = of(9);
        let (above, end) = long.split_once("\n\n").expect("an end of its own");
        assert!(above.starts_with("bottleneck: not known; the path"), "{long}");
        assert!(!above.contains("\ndo: ") && !above.contains("\ndetails: "), "{long}");
        assert!(end.lines().count() == 5 && end.contains("(more above)"), "{long}");
    }
}
