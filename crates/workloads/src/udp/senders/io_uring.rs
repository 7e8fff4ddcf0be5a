//! `io_uring`: 32 sends handed in at once as entries of a ring.

use super::{BATCH, Sender, SenderKind};
use crate::harness::ring::Ring;
use io_uring::opcode;
use io_uring::types::Fd;
use socket2::Socket;
use std::io;
use std::os::fd::AsRawFd;

pub static SENDER: SenderKind = SenderKind {
    name: "io_uring",
    says: "32 sends at once through io_uring",
    batch: |_| BATCH,
    make: |_, _| Ok(Box::new(Uring { ring: Ring::new(BATCH as u32, false)? })),
};

struct Uring {
    ring: Ring,
}

impl Sender for Uring {
    fn send(&mut self, flow: &Socket, bytes: &[u8], message: usize) -> io::Result<usize> {
        let entries: Vec<_> = bytes
            .chunks(message)
            .map(|piece| {
                let to = Fd(flow.as_raw_fd());
                opcode::Send::new(to, piece.as_ptr(), piece.len() as u32).build()
            })
            .collect();
        // SAFETY: every entry is complete before this function returns, and `bytes` lives so long.
        unsafe { self.ring.push(&entries)? };
        let (mut complete, mut sent, mut failed) = (0, 0, None);
        while complete < entries.len() {
            self.ring.wait(entries.len() - complete)?;
            while let Some(completion) = self.ring.completion() {
                complete += 1;
                match completion.result() {
                    error if error < 0 => failed = Some(io::Error::from_raw_os_error(-error)),
                    _ => sent += 1,
                }
            }
        }
        match failed {
            Some(error) if sent == 0 => Err(error),
            _ => Ok(sent),
        }
    }
}
