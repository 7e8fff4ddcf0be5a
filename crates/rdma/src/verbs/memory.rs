//! Memory that a NIC may read and write.

use super::bindings::{
    IBV_ACCESS_LOCAL_WRITE, IBV_ACCESS_RELAXED_ORDERING, IBV_ACCESS_REMOTE_ATOMIC,
    IBV_ACCESS_REMOTE_READ, IBV_ACCESS_REMOTE_WRITE, ibv_mr,
};
use super::{Domain, Transport, verbs};
use crate::NativeError;
use crate::memory::{Memory, Watched};
use std::sync::Arc;

/// What NICs may do.
#[derive(Clone, Copy, Debug, Default)]
pub struct Access {
    /// Write into it.
    pub write: bool,
    /// Read from it.
    pub read: bool,
    /// Atomic operations on it.
    pub atomic: bool,
    /// Reads of this end land in it. Over iWARP those are writes of the other end's NIC.
    pub lands_reads: bool,
    /// The NIC's writes may pass each other on PCIe.
    pub relaxed: bool,
}

/// A registered buffer: pinned, and known to the NIC by keys.
pub struct Region<M: Memory> {
    mr: *mut ibv_mr,
    memory: Watched<M>,
    _domain: Arc<Domain>,
}

// SAFETY: the registration may be undone on any thread, and the memory is Send.
unsafe impl<M: Memory> Send for Region<M> {}

impl<M: Memory> Region<M> {
    /// Pins the buffer and registers it.
    pub fn new(domain: &Arc<Domain>, memory: M, access: Access) -> Result<Self, NativeError> {
        let verbs = verbs()?;
        let mut memory = Watched::new(memory);
        let write = access.write || (access.lands_reads && domain.transport() == Transport::Iwarp);
        let mut flags = IBV_ACCESS_LOCAL_WRITE;
        for (wanted, flag) in [
            (write, IBV_ACCESS_REMOTE_WRITE),
            (access.read, IBV_ACCESS_REMOTE_READ),
            (access.atomic, IBV_ACCESS_REMOTE_ATOMIC),
            (access.relaxed, IBV_ACCESS_RELAXED_ORDERING),
        ] {
            flags |= if wanted { flag } else { 0 };
        }
        let (start, length) = (memory.start(), memory.length());
        // SAFETY: the buffer is `length` bytes long and lives until the registration is undone.
        // Only the newer call knows flags that a NIC may ignore.
        let mr = unsafe {
            if verbs.ibv_reg_mr_iova2.is_ok() {
                verbs.ibv_reg_mr_iova2(domain.pd, start.cast(), length as _, start as u64, flags)
            } else {
                verbs.ibv_reg_mr(
                    domain.pd,
                    start.cast(),
                    length as _,
                    (flags & !IBV_ACCESS_RELAXED_ORDERING) as i32,
                )
            }
        };
        if mr.is_null() {
            let device = domain.device();
            Err(NativeError::last(format!("registering {length} bytes with {device}")))
        } else {
            Ok(Self { mr, memory, _domain: domain.clone() })
        }
    }

    /// Where it begins, as the other end names it.
    pub fn address(&mut self) -> u64 {
        self.memory.start() as u64
    }

    /// The key of the own NIC.
    pub fn local_key(&self) -> u32 {
        // SAFETY: the registration lives as long as self.
        unsafe { (*self.mr).lkey }
    }

    /// The key that the other end's NIC says.
    pub fn remote_key(&self) -> u32 {
        // SAFETY: as above.
        unsafe { (*self.mr).rkey }
    }

    /// The buffer that is registered.
    pub fn memory(&mut self) -> &mut Watched<M> {
        &mut self.memory
    }
}

impl<M: Memory> Drop for Region<M> {
    fn drop(&mut self) {
        if let Ok(verbs) = verbs() {
            // SAFETY: made by `new`, undone once, before the buffer goes.
            unsafe { verbs.ibv_dereg_mr(self.mr) };
        }
    }
}
