//! `splice`: what arrived is moved through a pipe to `/dev/null`, as a proxy moves it to another
//! socket: the program never sees the bytes.

use super::{Receiver, ReceiverKind};
use crate::LoadError;
use crate::harness::pipe::Pipe;
use socket2::Socket;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// Bytes of the pipe, if the system gives so many.
const PIPE_BYTES: usize = 1 << 20;

pub static RECEIVER: ReceiverKind = ReceiverKind {
    name: narrows_model::calls::SPLICE,
    says: "moved through a pipe to /dev/null, not copied to the program",
    delivers: false,
    takes: |_| PIPE_BYTES as u64,
    make: |inward| {
        let away = File::options().write(true).open("/dev/null");
        let away = away.map_err(LoadError::system("opening /dev/null"))?;
        Ok(Box::new(Splice { pipe: Pipe::new(PIPE_BYTES)?, away, message: inward.message }))
    },
};

struct Splice {
    pipe: Pipe,
    away: File,
    message: usize,
}

impl Receiver for Splice {
    fn receive(&mut self, flow: &Socket, _: &mut dyn FnMut(&[u8])) -> io::Result<usize> {
        let came = self.pipe.take_from(flow.as_raw_fd(), self.message)?;
        let mut left = came;
        while left > 0 {
            left -= self.pipe.move_to(self.away.as_raw_fd(), left)?;
        }
        Ok(came)
    }
}
