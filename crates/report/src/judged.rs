//! Verdicts in words.

use narrows_model::result::{Answer, Evidence};

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

/// What was looked at, in one line.
pub fn seen(all: &[Evidence]) -> String {
    all.iter().map(|one| format!("{} ({})", one.says, one.from)).collect::<Vec<_>>().join("; ")
}
