//! The modules that are to be placed: `16`, or by size `8x32+4x64`.

use std::fmt;

/// So many modules of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batch {
    /// How many modules of this size.
    pub count: u32,
    /// Size of each in GiB, 2^n or 1.5 times that; `None` where it does not matter.
    pub gib: Option<u32>,
}

/// The modules of a search: a batch of each size, the largest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kit(Vec<Batch>);

/// Why a text names no modules that a search can place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoKit {
    /// It is not of the form `16` or `8x32+4x64`.
    Form,
    /// It is not 1 to 96 modules in all.
    Count,
    /// No DDR3 to DDR5 module for servers has such a size, in GB.
    Size(u32),
    /// More sizes than makers let a server mix: so many.
    Sizes(usize),
    /// A size stands there twice, in GB.
    Twice(u32),
}

impl fmt::Display for NoKit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Form => f.write_str("dimms=N, or by size in GB dimms=8x32+4x64"),
            Self::Count => f.write_str("dimms=N, 1 to 96 modules in all"),
            Self::Size(gb) => write!(f, "sizes of modules, 1 to 512 GB; none has {gb} GB"),
            Self::Sizes(sizes) => {
                write!(f, "one or two sizes: servers mix no more; {sizes} were named")
            }
            Self::Twice(gb) => write!(f, "each size once: {gb} GB is given twice"),
        }
    }
}

/// Modules that a search places at most.
const MODULES_MAX: u32 = 96;
/// Sizes that makers let a server mix (Dell's manuals of the 14th to 16th generation, and others).
const SIZES_MAX: usize = 2;

impl Kit {
    /// So many modules that are alike.
    pub fn alike(count: u32) -> Self {
        Self(vec![Batch { count, gib: None }])
    }

    /// Reads `16` or `8x32+4x64`.
    pub fn parse(text: &str) -> Result<Self, NoKit> {
        let batches: Result<Vec<Batch>, NoKit> = text.split('+').map(batch).collect();
        let mut batches = batches?;
        let alone = batches.len() == 1;
        if !alone && batches.iter().any(|batch| batch.gib.is_none()) {
            return Err(NoKit::Form);
        }
        batches.sort_by_key(|batch| std::cmp::Reverse(batch.gib));
        if let Some(pair) = batches.windows(2).find(|pair| pair[0].gib == pair[1].gib) {
            return Err(NoKit::Twice(pair[0].gib.unwrap_or(0)));
        }
        if batches.len() > SIZES_MAX {
            return Err(NoKit::Sizes(batches.len()));
        }
        let all = batches.iter().try_fold(0u32, |all, batch| all.checked_add(batch.count));
        match all {
            Some(1..=MODULES_MAX) => Ok(Self(batches)),
            _ => Err(NoKit::Count),
        }
    }

    /// The batches, the largest size first.
    pub fn batches(&self) -> &[Batch] {
        &self.0
    }

    /// Modules in all.
    pub fn count(&self) -> u32 {
        self.0.iter().map(|batch| batch.count).sum()
    }
}

impl fmt::Display for Kit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<String> = self
            .0
            .iter()
            .map(|batch| match batch.gib {
                Some(gib) => format!("{} of {gib} GB", batch.count),
                None => batch.count.to_string(),
            })
            .collect();
        write!(f, "{} modules", words.join(" and "))
    }
}

fn batch(text: &str) -> Result<Batch, NoKit> {
    let (count, gib) = match text.split_once('x') {
        None => (number(text)?, None),
        Some((count, size)) => (number(count)?, Some(number(size)?)),
    };
    if count == 0 {
        return Err(NoKit::Count);
    }
    match gib.filter(|gib| !is_size(*gib)) {
        Some(gib) => Err(NoKit::Size(gib)),
        None => Ok(Batch { count, gib }),
    }
}

/// A number of digits alone.
fn number(text: &str) -> Result<u32, NoKit> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse::<u32>().ok().filter(|_| digits).ok_or(NoKit::Form)
}

/// Powers of two, and the sizes of DDR5 between them (24, 48, 96 GB).
fn is_size(gib: u32) -> bool {
    (1..=512).contains(&gib)
        && (gib.is_power_of_two() || (gib.is_multiple_of(3) && (gib / 3).is_power_of_two()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_read_by_number_and_by_size() {
        assert_eq!(Kit::parse("16"), Ok(Kit::alike(16)));
        let mixed = Kit::parse("8x32+4x64").expect("two sizes");
        let want = [Batch { count: 4, gib: Some(64) }, Batch { count: 8, gib: Some(32) }];
        assert_eq!((mixed.batches(), mixed.count()), (&want[..], 12));
        assert_eq!(mixed.to_string(), "4 of 64 GB and 8 of 32 GB modules");
        assert_eq!(Kit::parse("12x96").map(|kit| kit.count()), Ok(12));
    }

    #[test]
    fn what_is_no_kit_is_refused_by_its_fault() {
        for (text, want) in [
            ("", NoKit::Form),
            ("x", NoKit::Form),
            ("8x", NoKit::Form),
            ("-8", NoKit::Form),
            ("8+4x64", NoKit::Form),
            ("8x32+", NoKit::Form),
            ("0", NoKit::Count),
            ("97", NoKit::Count),
            ("48x32+49x64", NoKit::Count),
            ("4294967295x32+2x64", NoKit::Count),
            ("8x33", NoKit::Size(33)),
            ("8x1024", NoKit::Size(1024)),
            ("8x32+4x64+4x16", NoKit::Sizes(3)),
            ("8x32+4x32", NoKit::Twice(32)),
            ("99999999999x32", NoKit::Form),
        ] {
            assert_eq!(Kit::parse(text), Err(want), "{text}");
        }
    }
}
