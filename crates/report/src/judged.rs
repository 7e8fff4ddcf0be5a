//! Verdicts in words.

use narrows_model::result::{Answer, Evidence, Missing};

/// How many rules gave each answer: `2 found something, 20 clear, 9 not applicable, 17 unknown`.
pub fn answers(judged: &[narrows_explain::Judged]) -> String {
    let count = |answer: Answer| judged.iter().filter(|j| j.verdict.answer() == answer).count();
    let each = Answer::ALL.map(|answer| match answer {
        Answer::Found => format!("{} found something", count(answer)),
        _ => format!("{} {answer}", count(answer)),
    });
    each.join(", ")
}

/// Several things in one line.
pub fn listed<T: std::fmt::Display>(all: &[T]) -> String {
    all.iter().map(T::to_string).collect::<Vec<_>>().join("; ")
}

/// What is missing, in one line: what several cells lack alike is said once, with their number.
pub fn lacks(missing: &[Missing]) -> String {
    // What each is, and how many cells lack it; none of what no cell could tell.
    let mut all: Vec<(String, &Missing, usize)> = Vec::new();
    for one in missing {
        let what = match one {
            Missing::Measurement { of } => of.of_trial().map(|(what, _)| what),
            Missing::Fact { .. } | Missing::Knowledge { .. } => None,
        };
        let cells = usize::from(what.is_some());
        let what = what.unwrap_or_else(|| one.to_string());
        match all.iter_mut().find(|(known, ..)| *known == what) {
            Some((.., more)) => *more += cells,
            None => all.push((what, one, cells)),
        }
    }
    let said = all.into_iter().map(|(what, one, cells)| match cells {
        0 | 1 => one.to_string(),
        cells => format!("{what} in {cells} cells"),
    });
    said.collect::<Vec<_>>().join("; ")
}

/// What was looked at, in one line.
pub fn seen(all: &[Evidence]) -> String {
    all.iter().map(|one| format!("{} ({})", one.says, one.from)).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::memory_traffic::Uncounted;
    use narrows_model::result::Unmeasured;

    #[test]
    fn what_many_cells_lack_alike_is_one_line_with_their_number() {
        let cell = |trial: &str, why| -> Missing {
            Unmeasured::MemoryTraffic { why, trial: trial.to_owned() }.into()
        };
        let denied = || Some(Uncounted::Denied { paranoid: Some(2) });
        let why = denied().expect("a reason").to_string();
        let mut all: Vec<Missing> = (0..50).map(|at| cell(&at.to_string(), denied())).collect();
        assert_eq!(lacks(&all), format!("memory traffic ({why}) in 50 cells"));
        // Another reason is another thing, and of one cell its name is told.
        all.push(cell("the last", None));
        let wanted = format!("memory traffic ({why}) in 50 cells; memory traffic in the last");
        assert_eq!(lacks(&all), wanted);
        let fact = Missing::unread("nodes");
        assert_eq!(lacks(&[fact.clone(), fact.clone()]), fact.to_string());
    }
}
