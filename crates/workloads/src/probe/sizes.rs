//! Which sizes of packets are tried next, to find the largest that passes.

/// Sizes of one volley.
const EACH: u16 = 16;
/// MTUs that links and tunnels have (RFC 1191, section 7.1, and those of today): a guess that is
/// right ends the search early.
const COMMON: [u16; 24] = [
    9000, 8500, 4352, 2304, 2002, 1500, 1492, 1480, 1476, 1472, 1468, 1460, 1454, 1450, 1440, 1430,
    1420, 1412, 1400, 1380, 1350, 1300, 1006, 576,
];

/// What is known so far of one way. Sizes are of IP packets in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Search {
    /// The largest that came.
    pub passes: Option<u16>,
    /// The smallest above it that did not.
    pub vanishes: Option<u16>,
    /// The smallest that is tried: every path carries it.
    least: u16,
    /// The largest that is tried.
    most: u16,
}

impl Search {
    /// Nothing is known. `least` is the size that a path must carry: 68 with IPv4 (RFC 791), of
    /// which 128 are tried, 1280 with IPv6 (RFC 8200).
    pub fn new(least: u16, most: u16) -> Self {
        Self { passes: None, vanishes: None, least: least.min(most), most }
    }

    /// Sizes to try next, ascending; none when the search is over.
    pub fn next(&self) -> Vec<u16> {
        match (self.passes, self.vanishes) {
            (None, None) => self.guesses(),
            (Some(passes), Some(vanishes)) => between(passes, vanishes),
            // All of them came, or none did.
            _ => Vec::new(),
        }
    }

    fn guesses(&self) -> Vec<u16> {
        let common = COMMON.into_iter().filter(|size| (self.least..self.most).contains(size));
        let mut sizes: Vec<u16> = common.chain([self.least, self.most]).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }

    /// Takes which of the sizes came. Packets are lost for other reasons too, so the largest that
    /// came counts, whatever happened to smaller ones.
    pub fn learn(&mut self, tried: &[u16], came: impl Fn(usize) -> bool) {
        let passed = tried.iter().enumerate().filter(|(index, _)| came(*index));
        let largest = passed.map(|(_, size)| *size).chain(self.passes).max();
        self.passes = largest;
        let known = tried.iter().copied().chain(self.vanishes);
        self.vanishes = known.filter(|size| largest.is_none_or(|largest| *size > largest)).min();
    }
}

/// Sizes that cut what is between two into about equal parts.
fn between(passes: u16, vanishes: u16) -> Vec<u16> {
    let width = vanishes.saturating_sub(passes);
    let parts = (EACH + 1).min(width).max(1);
    let mut sizes: Vec<u16> = (1..parts)
        .map(|n| passes + (u32::from(width) * u32::from(n) / u32::from(parts)) as u16)
        .collect();
    sizes.dedup();
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Searches a way that carries packets up to a size; what was found, and in how many volleys.
    fn searched(most: u16, limit: u16) -> (Option<u16>, Option<u16>, usize) {
        let mut search = Search::new(128, most);
        let mut volleys = 0;
        loop {
            let sizes = search.next();
            if sizes.is_empty() {
                return (search.passes, search.vanishes, volleys);
            }
            assert!(sizes.is_sorted() && sizes.len() <= crate::probe::words::SIZES_MAX);
            volleys += 1;
            search.learn(&sizes, |index| sizes[index] <= limit);
        }
    }

    #[test]
    fn the_largest_size_that_passes_is_found_to_the_byte() {
        for (most, limit) in [(1500, 1300), (9000, 1400), (9000, 8999), (1500, 128), (65_535, 4000)]
        {
            let (passes, vanishes, volleys) = searched(most, limit);
            assert_eq!((passes, vanishes), (Some(limit), Some(limit + 1)), "{limit} of {most}");
            assert!(volleys <= 6, "{volleys} volleys for {limit} of {most}");
        }
    }

    #[test]
    fn a_volley_cuts_what_is_between_into_equal_parts() {
        let tens: Vec<u16> = (11..=26).map(|ten| 10 * ten).collect();
        assert_eq!(between(100, 270), tens, "sixteen sizes, seventeen parts");
        assert_eq!(between(100, 104), [101, 102, 103]);
        assert_eq!((between(100, 101), between(100, 100)), (vec![], vec![]));
        let wide = between(0, u16::MAX);
        assert_eq!((wide.len(), wide[0], wide[15]), (16, 3_855, 61_680));
    }

    #[test]
    fn a_way_that_carries_all_or_nothing_is_known_after_one_volley() {
        assert_eq!(searched(1500, 1500), (Some(1500), None, 1));
        assert_eq!(searched(9000, 9000), (Some(9000), None, 1));
        assert_eq!(searched(1500, 0), (None, Some(128), 1));
    }

    #[test]
    fn a_small_packet_that_was_lost_does_not_count_where_a_larger_one_came() {
        let mut search = Search::new(128, 1500);
        let sizes = search.next();
        search.learn(&sizes, |index| index != 0 && index != 3);
        assert_eq!((search.passes, search.vanishes), (Some(1500), None));
    }
}
