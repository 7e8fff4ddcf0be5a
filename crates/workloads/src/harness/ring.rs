//! io_uring, as senders and receivers use it: one ring a thread.

use super::buffer::Buffer;
use super::socket::LOOK_UP;
use crate::LoadError;
use io_uring::types::{BufRingEntry, CancelBuilder, Fd, SubmitArgs, Timespec};
use io_uring::{IoUring, cqueue, opcode, squeue};
use socket2::Socket;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU16, Ordering::Release};

/// A ring of one thread.
pub struct Ring {
    inner: IoUring,
    spins: bool,
}

impl Ring {
    /// A ring of so many entries; `spins` looks for completions without sleeping.
    pub fn new(entries: u32, spins: bool) -> Result<Self, LoadError> {
        let inner = IoUring::new(entries).map_err(LoadError::system(
            "setting up io_uring (is it switched off by kernel.io_uring_disabled or seccomp?)",
        ))?;
        Ok(Self { inner, spins })
    }

    /// Hands in the entries.
    ///
    /// # Safety
    /// What the entries point to must stay valid and unmoved until they are complete.
    pub unsafe fn push(&mut self, entries: &[squeue::Entry]) -> io::Result<()> {
        // SAFETY: passed on to the caller.
        let pushed = unsafe { self.inner.submission().push_multiple(entries) };
        pushed.map_err(|full| io::Error::other(full.to_string()))
    }

    /// Submits, and waits for `wanted` completions, [`LOOK_UP`] at most; fewer are an error that
    /// only means "nothing for now" where there are none.
    pub fn wait(&mut self, wanted: usize) -> io::Result<()> {
        if self.spins {
            return self.inner.submit().map(drop);
        }
        let within = Timespec::new().nsec(LOOK_UP.as_nanos() as u32);
        let args = SubmitArgs::new().timespec(&within);
        match self.inner.submitter().submit_with_args(wanted, &args) {
            Err(error) if error.raw_os_error() == Some(libc::ETIME) => Ok(()),
            done => done.map(drop),
        }
    }

    /// The next completion that is there.
    pub fn completion(&mut self) -> Option<cqueue::Entry> {
        self.inner.completion().next()
    }
}

/// A receiver that is armed once and completes again and again into buffers of a pool (multishot;
/// kernel 6.0).
pub struct Inbox {
    ring: Ring,
    entries: Buffer,
    pool: Buffer,
    slots: u16,
    slot_bytes: usize,
    tail: u16,
    armed: bool,
}

/// Group of the pool; each ring has one.
const GROUP: u16 = 0;

impl Inbox {
    /// `slots`, a power of two, of so many bytes.
    pub fn new(
        slots: u16,
        slot_bytes: usize,
        node: Option<u32>,
        spins: bool,
    ) -> Result<Self, LoadError> {
        let ring = Ring::new(64, spins)?;
        let mut pool = Buffer::with(usize::from(slots) * slot_bytes, Default::default(), node)?;
        pool.touch();
        let entries = Buffer::new(usize::from(slots) * size_of::<BufRingEntry>())?;
        let start = entries.bytes().as_ptr() as u64;
        // SAFETY: the ring of entries is page-aligned, has room for `slots` of them, and lives as
        // long as the io_uring, which is dropped with it.
        let made =
            unsafe { ring.inner.submitter().register_buf_ring_with_flags(start, slots, GROUP, 0) };
        made.map_err(LoadError::system("registering a ring of buffers (kernel 5.19)"))?;
        let mut inbox = Self { ring, entries, pool, slots, slot_bytes, tail: 0, armed: false };
        (0..slots).for_each(|slot| inbox.give_back(slot));
        Ok(inbox)
    }

    /// Gives a slot to the kernel.
    fn give_back(&mut self, slot: u16) {
        let at = usize::from(self.tail % self.slots);
        let base = self.entries.bytes_mut().as_mut_ptr().cast::<BufRingEntry>();
        // SAFETY: `at` is within the ring of entries; the kernel reads an entry only after the tail
        // has passed it, which is stored last; tail() names a field inside the first entry.
        unsafe {
            let entry = &mut *base.add(at);
            entry.set_addr(
                self.pool.bytes().as_ptr().add(usize::from(slot) * self.slot_bytes) as u64
            );
            entry.set_len(self.slot_bytes as u32);
            entry.set_bid(slot);
            self.tail = self.tail.wrapping_add(1);
            let tail = BufRingEntry::tail(base).cast::<AtomicU16>();
            (*tail).store(self.tail, Release);
        }
    }

    /// Gives `look` what arrived, piece by piece; how many bytes it was. `None` when the other end
    /// closed.
    pub fn receive(
        &mut self,
        flow: &Socket,
        look: &mut dyn FnMut(&[u8]),
    ) -> io::Result<Option<usize>> {
        if !self.armed {
            let entry = opcode::RecvMulti::new(Fd(flow.as_raw_fd()), GROUP).build();
            // SAFETY: the entry names no memory but the pool, which lives as long as the ring.
            unsafe { self.ring.push(&[entry])? };
            self.armed = true;
        }
        self.ring.wait(1)?;
        let mut received = 0;
        while let Some(completion) = self.ring.completion() {
            self.armed &= cqueue::more(completion.flags());
            let slot = cqueue::buffer_select(completion.flags());
            match (completion.result(), slot) {
                (0, None) => return Ok(if received > 0 { Some(received) } else { None }),
                // All slots were in use: armed again by the next call.
                (error, _) if error == -libc::ENOBUFS => {}
                (error, _) if error < 0 => return Err(io::Error::from_raw_os_error(-error)),
                (length, Some(slot)) => {
                    let at = usize::from(slot) * self.slot_bytes;
                    look(&self.pool.bytes()[at..at + length as usize]);
                    self.give_back(slot);
                    received += length as usize;
                }
                (_, None) => {}
            }
        }
        if received == 0 { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(Some(received)) }
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        // The kernel must not write into the pool any more when it is unmapped.
        let _ = self.ring.inner.submitter().register_sync_cancel(None, CancelBuilder::any());
    }
}
