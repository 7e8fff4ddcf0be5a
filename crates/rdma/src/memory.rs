//! Memory that others write behind the compiler's back.

/// A buffer that stays where it is for as long as it lives.
pub trait Memory: Send {
    fn start(&mut self) -> *mut u8;
    fn length(&self) -> usize;
}

/// A buffer that is read and written a byte at a time, or copied out, while a NIC or another
/// process may write to it.
pub struct Watched<M: Memory>(M);

impl<M: Memory> Watched<M> {
    /// Watches a buffer, which nothing else in this process may refer to.
    pub fn new(memory: M) -> Self {
        Self(memory)
    }

    /// Where it begins.
    pub fn start(&mut self) -> *mut u8 {
        self.0.start()
    }

    /// Its bytes.
    pub fn length(&self) -> usize {
        self.0.length()
    }

    /// The byte at a place; 0 beyond the end.
    pub fn byte(&mut self, at: usize) -> u8 {
        if at >= self.0.length() {
            return 0;
        }
        // SAFETY: within the buffer; volatile, since others write behind the compiler's back.
        unsafe { self.0.start().add(at).read_volatile() }
    }

    /// Writes the byte at a place; nothing beyond the end.
    pub fn set_byte(&mut self, at: usize, byte: u8) {
        if at < self.0.length() {
            // SAFETY: as above.
            unsafe { self.0.start().add(at).write_volatile(byte) }
        }
    }

    /// Copies out what is there now. What is written meanwhile may be seen in part.
    pub fn copy(&mut self, from: usize, into: &mut [u8]) {
        let from = from.min(self.0.length());
        let length = into.len().min(self.0.length() - from);
        // SAFETY: within the buffer, and the copy does not overlap it.
        unsafe {
            std::ptr::copy_nonoverlapping(self.0.start().add(from), into.as_mut_ptr(), length);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Plain(Vec<u8>);

    impl Memory for Plain {
        fn start(&mut self) -> *mut u8 {
            self.0.as_mut_ptr()
        }
        fn length(&self) -> usize {
            self.0.len()
        }
    }

    #[test]
    fn bytes_are_read_and_written_inside_and_nothing_beyond() {
        let mut memory = Watched::new(Plain(vec![1, 2, 3, 4]));
        assert_eq!([0, 1, 3, 4, 9].map(|at| memory.byte(at)), [1, 2, 4, 0, 0]);
        for at in [1, 3, 4, 9] {
            memory.set_byte(at, 7);
        }
        assert_eq!(memory.0.0, [1, 7, 3, 7]);
        for (from, wanted) in [(0, [1, 7, 3]), (2, [3, 7, 0]), (4, [0, 0, 0]), (99, [0, 0, 0])] {
            let mut into = [0; 3];
            memory.copy(from, &mut into);
            assert_eq!(into, wanted, "from {from}");
        }
        assert_eq!(memory.length(), 4);
    }
}
