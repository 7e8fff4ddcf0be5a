//! What no file tells and the kernel must be asked for by system call. Each question turns the
//! answer into lines of text, which a [`Root`](crate::Root) keeps like the content of a file: a
//! capture replays them, and a test can write them.

pub mod addresses;
mod dump;
pub mod ethtool;
pub mod links;
pub mod qdiscs;
pub mod routes;

use narrows_model::Fact;

/// Words of the first line that begins with a word.
pub fn line<'a>(text: &'a str, first: &str) -> Option<Vec<&'a str>> {
    let mut lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let found = lines.find(|words| words.first() == Some(&first))?;
    Some(found[1..].to_vec())
}

/// A fact from one line of an answer; a line that is not there is `Absent`, one that cannot be
/// understood malformed.
pub fn fact<T>(
    answer: &Fact<String>,
    first: &str,
    turn: impl FnOnce(&[&str]) -> Option<T>,
) -> Fact<T> {
    let from = format!("{} {first}", answer.source());
    match answer.value().map(|text| line(text, first)) {
        Some(Some(words)) => match turn(&words) {
            Some(value) => Fact::known(value, from),
            None => Fact::malformed(from, words.join(" ")),
        },
        Some(None) => Fact::absent(from),
        None => answer.clone().and_then(|_| Err(String::new())),
    }
}

/// Numbers of a line, when there are exactly so many.
pub fn numbers<const N: usize>(words: &[&str]) -> Option<[u32; N]> {
    let numbers: Option<Vec<u32>> = words.iter().map(|word| word.parse().ok()).collect();
    numbers?.try_into().ok()
}
