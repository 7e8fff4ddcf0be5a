//! Sets of host names, as the engines of clusters write them: `n[1-512]`, `r[1-4]n[1,3-8]`, `a,b`.

use std::collections::BTreeSet;
use thiserror::Error;

/// More names than these are a slip of the keyboard.
pub const HOSTS_MAX: usize = 4096;

/// Why a text is no set of hosts.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NoHosts {
    /// A bracket is not closed, or not opened.
    #[error("'{0}' has a bracket without its other half")]
    Bracket(String),
    /// What is between brackets is no list of numbers.
    #[error("'{0}' is neither a number nor a range of numbers, such as 1-8")]
    Range(String),
    /// A name is empty.
    #[error("'{0}' has an empty name")]
    Empty(String),
    /// A name would be an option of the programs that it is handed to.
    #[error("'{0}' begins with '-', and no host does")]
    Option(String),
    /// A host is there twice.
    #[error("{0} is named twice")]
    Twice(String),
    /// There are too many.
    #[error("more than {HOSTS_MAX} hosts are named")]
    TooMany,
}

/// All names of several sets, in order, each once.
pub fn expand(sets: &[String]) -> Result<Vec<String>, NoHosts> {
    let mut all = Vec::new();
    for set in sets {
        for one in parts(set)? {
            all.extend(names(one)?);
            if all.len() > HOSTS_MAX {
                return Err(NoHosts::TooMany);
            }
        }
    }
    let mut seen = BTreeSet::new();
    match all.iter().find(|name| !seen.insert(name.as_str())) {
        Some(twice) => Err(NoHosts::Twice(twice.clone())),
        None => Ok(all),
    }
}

/// The parts of a set between commas that are in no bracket.
fn parts(set: &str) -> Result<Vec<&str>, NoHosts> {
    let (mut parts, mut open, mut begins) = (Vec::new(), false, 0);
    for (at, letter) in set.char_indices() {
        match (letter, open) {
            ('[', false) => open = true,
            (']', true) => open = false,
            ('[', true) | (']', false) => return Err(NoHosts::Bracket(set.to_owned())),
            (',', false) => {
                parts.push(&set[begins..at]);
                begins = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&set[begins..]);
    if open { Err(NoHosts::Bracket(set.to_owned())) } else { Ok(parts) }
}

fn names(part: &str) -> Result<Vec<String>, NoHosts> {
    let part = part.trim();
    if part.is_empty() {
        return Err(NoHosts::Empty(part.to_owned()));
    }
    if part.starts_with('-') {
        return Err(NoHosts::Option(part.to_owned()));
    }
    let mut names = vec![String::new()];
    let mut rest = part;
    while let Some((before, after)) = rest.split_once('[') {
        let (inside, behind) =
            after.split_once(']').ok_or_else(|| NoHosts::Bracket(part.to_owned()))?;
        let numbers = numbers(inside)?;
        if names.len() * numbers.len() > HOSTS_MAX {
            return Err(NoHosts::TooMany);
        }
        names = names
            .iter()
            .flat_map(|name| numbers.iter().map(move |number| format!("{name}{before}{number}")))
            .collect();
        rest = behind;
    }
    names.iter_mut().for_each(|name| name.push_str(rest));
    Ok(names)
}

/// `1-3,07` as 1, 2, 3 and 07: zeros in front are kept where a range begins with them.
fn numbers(text: &str) -> Result<Vec<String>, NoHosts> {
    let wrong = || NoHosts::Range(text.to_owned());
    let mut all = Vec::new();
    for range in text.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        if !is_number(first) || !is_number(last) {
            return Err(wrong());
        }
        let number = |text: &str| text.parse::<usize>().map_err(|_| wrong());
        let (from, to) = (number(first)?, number(last)?);
        if from > to {
            return Err(wrong());
        }
        if to - from >= HOSTS_MAX {
            return Err(NoHosts::TooMany);
        }
        let width = first.len();
        all.extend((from..=to).map(|number| format!("{number:0width$}")));
    }
    Ok(all)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(sets: &[&str]) -> Result<Vec<String>, NoHosts> {
        expand(&sets.iter().map(|set| (*set).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn sets_are_spelt_out_in_order() {
        assert_eq!(of(&["n[1-3,8]"]).expect("set"), ["n1", "n2", "n3", "n8"]);
        assert_eq!(of(&["n[08-11]"]).expect("set"), ["n08", "n09", "n10", "n11"]);
        assert_eq!(
            of(&["r[1-2]n[1-2]-ib"]).expect("set"),
            ["r1n1-ib", "r1n2-ib", "r2n1-ib", "r2n2-ib"]
        );
        assert_eq!(
            of(&["a,b", "192.0.2.[7-8]"]).expect("set"),
            ["a", "b", "192.0.2.7", "192.0.2.8"]
        );
        assert_eq!(of(&["n[1-512]"]).expect("set").len(), 512);
    }

    #[test]
    fn what_is_no_set_is_said() {
        for bad in ["n[1-3", "n1]", "n[[1]]", "n[1-3]]"] {
            assert!(matches!(of(&[bad]), Err(NoHosts::Bracket(_))), "{bad}");
        }
        for bad in ["n[]", "n[3-1]", "n[a-b]", "n[1-]", "n[-1]", "n[99999999999999999999999]"] {
            assert!(matches!(of(&[bad]), Err(NoHosts::Range(_))), "{bad}");
        }
        assert!(matches!(of(&["a,,b"]), Err(NoHosts::Empty(_))));
        assert!(matches!(of(&[""]), Err(NoHosts::Empty(_))));
        assert_eq!(of(&["n[1-3]", "n2"]), Err(NoHosts::Twice("n2".into())));
        assert_eq!(of(&["n[1-5000]"]), Err(NoHosts::TooMany));
        assert_eq!(of(&["n[1-999][1-999]"]), Err(NoHosts::TooMany));
    }
}
