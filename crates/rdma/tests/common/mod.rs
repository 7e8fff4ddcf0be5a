//! What the tests of devices and of endpoints share.

use narrows_rdma::Memory;

/// Memory of a program.
pub struct Plain(pub Vec<u8>);

impl Memory for Plain {
    fn start(&mut self) -> *mut u8 {
        self.0.as_mut_ptr()
    }
    fn length(&self) -> usize {
        self.0.len()
    }
}
