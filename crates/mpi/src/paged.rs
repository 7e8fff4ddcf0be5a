//! Buffers of messages, which begin with a page as those of other benchmarks do.

/// Where a buffer begins: a message of a cache line is then one line, and not two.
const PAGE_BYTES: usize = 4096;

/// Bytes from the beginning of a page on.
pub struct Paged {
    all: Vec<u8>,
    at: usize,
    length: usize,
}

impl Paged {
    /// So many bytes, each of them this one.
    pub fn of(byte: u8, length: usize) -> Self {
        let all = vec![byte; length + PAGE_BYTES];
        // The vector does not grow, so that its place stays.
        let at = all.as_ptr().align_offset(PAGE_BYTES).min(PAGE_BYTES);
        Self { all, at, length }
    }

    /// All of them.
    pub fn all(&self) -> &[u8] {
        self.all.get(self.at..self.at + self.length).unwrap_or_default()
    }

    /// All of them, to be written.
    pub fn all_mut(&mut self) -> &mut [u8] {
        self.all.get_mut(self.at..self.at + self.length).unwrap_or_default()
    }

    /// The first message, of so many bytes.
    pub fn first(&self, bytes: usize) -> &[u8] {
        self.all().get(..bytes).unwrap_or_default()
    }

    /// The same, to be written.
    pub fn first_mut(&mut self, bytes: usize) -> &mut [u8] {
        self.all_mut().get_mut(..bytes).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_begin_with_a_page_and_are_as_long_as_was_asked() {
        for length in [1, 64, 4096, 70_000] {
            let mut paged = Paged::of(7, length);
            assert_eq!(paged.all().as_ptr().addr() % PAGE_BYTES, 0);
            assert_eq!(paged.all(), vec![7; length]);
            assert_eq!(paged.all_mut().len(), length);
        }
        let paged = Paged::of(1, 64);
        assert_eq!(
            [paged.first(64).len(), paged.first(0).len(), paged.first(65).len()],
            [64, 0, 0]
        );
    }
}
