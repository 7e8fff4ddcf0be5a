//! The kernel's list format: `0-3,8,10-11`.

use thiserror::Error;

/// The most numbers a list may name; more is taken for garbage.
const ENTRIES_MAX: u32 = 65_536;

/// Why a text is no list of CPUs.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BadList {
    /// Something in a part is not a number.
    #[error("'{text}' in '{part}'")]
    Number {
        /// What stands for a number.
        text: String,
        /// The part between commas.
        part: String,
    },
    /// A range that goes back, or beyond any number of CPUs.
    #[error("'{0}' is not a range of CPUs")]
    Range(String),
    /// A word of a mask that is not hexadecimal.
    #[error("'{0}' is not a mask")]
    Mask(String),
}

/// Reads a list such as `0-3,8`. An empty text is an empty list.
pub fn parse(text: &str) -> Result<Vec<u32>, BadList> {
    let mut numbers = Vec::new();
    for part in text.trim().split(',').filter(|part| !part.trim().is_empty()) {
        // `0-62:2` is every second one (bitmap lists of the kernel, lscpu).
        let (range, step) = part.split_once(':').unwrap_or((part, "1"));
        let step = number(step, part)? as usize;
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last) = (number(first, part)?, number(last, part)?);
        if first > last || last >= ENTRIES_MAX || step == 0 {
            return Err(BadList::Range(part.to_owned()));
        }
        numbers.extend((first..=last).step_by(step));
    }
    numbers.sort_unstable();
    numbers.dedup();
    Ok(numbers)
}

fn number(text: &str, part: &str) -> Result<u32, BadList> {
    let number = text.trim().parse();
    number.map_err(|_| BadList::Number { text: text.to_owned(), part: part.to_owned() })
}

/// Reads a mask of 32-bit words such as `00000000,0000000f`, most significant first.
pub fn parse_mask(text: &str) -> Result<Vec<u32>, BadList> {
    let mut numbers = Vec::new();
    for (word, hex) in text.trim().rsplit(',').enumerate().take(ENTRIES_MAX as usize / 32) {
        let bits = u32::from_str_radix(hex, 16).map_err(|_| BadList::Mask(hex.to_owned()))?;
        let set = (0..32).filter(|bit| bits >> bit & 1 == 1);
        numbers.extend(set.map(|bit| word as u32 * 32 + bit));
    }
    Ok(numbers)
}

/// Reads a mask as one number, `0x3ffffffff`, as `lscpu -x` writes it however long it is.
pub fn parse_long_mask(text: &str) -> Result<Vec<u32>, BadList> {
    let digits = text.trim().trim_start_matches("0x").trim_start_matches("0X");
    let bad = || BadList::Mask(text.to_owned());
    if digits.is_empty() || digits.len() > ENTRIES_MAX as usize / 4 {
        return Err(bad());
    }
    let mut numbers = Vec::new();
    for (at, digit) in digits.chars().rev().enumerate() {
        let bits = digit.to_digit(16).ok_or_else(bad)?;
        let set = (0..4).filter(|bit| bits >> bit & 1 == 1);
        numbers.extend(set.map(|bit| at as u32 * 4 + bit));
    }
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_count_from_the_last_word() {
        assert_eq!(parse_mask("00000001,80000003"), Ok(vec![0, 1, 31, 32]));
        assert!(parse_mask("zz").is_err());
        assert_eq!(parse_long_mask("0x100000003"), Ok(vec![0, 1, 32]));
        assert_eq!(parse_long_mask("ff").map(|cpus| cpus.len()), Ok(8));
        assert!(parse_long_mask("0x").is_err() && parse_long_mask("1,2").is_err());
    }

    #[test]
    fn lists_read_and_write_alike() {
        for text in ["", "0", "0-3,8,10-11", "4-20"] {
            assert_eq!(narrows_model::cpu_list::show(&parse(text).expect(text)), text);
        }
        assert_eq!(parse("0-6:2,9"), Ok(vec![0, 2, 4, 6, 9]));
        for bad in ["0-6:0", "0-6:1/2", "3-1", "a", "0-99999999", "-", "1-2-3"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
