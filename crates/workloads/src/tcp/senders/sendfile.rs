//! `sendfile`: the bytes lie in a file in memory (`memfd`), and the kernel sends its pages without
//! a copy at this end, as web servers do.

use super::{Out, Sender, SenderKind};
use crate::LoadError;
use crate::harness::payload;
use socket2::Socket;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd};

pub static SENDER: SenderKind = SenderKind {
    name: narrows_model::calls::SENDFILE,
    says: "pages of a file in memory, not copied at this end",
    // What the file is filled from, and the file.
    takes: |out| 2 * out.span as u64,
    make: |_, out| Ok(Box::new(Sendfile { file: file(out)? })),
};

struct Sendfile {
    file: File,
}

fn file(out: &Out) -> Result<File, LoadError> {
    let buffer = payload::pattern(out.span, out.node)?;
    let doing = || LoadError::system(format!("filling a file of {} bytes in memory", out.span));
    // SAFETY: the name is a C string; the descriptor, when there is one, belongs to nobody else.
    let mut file = unsafe {
        let made = libc::memfd_create(c"narrows".as_ptr(), libc::MFD_CLOEXEC);
        if made < 0 {
            return Err(doing()(io::Error::last_os_error()));
        }
        File::from_raw_fd(made)
    };
    file.write_all(&buffer.bytes()[..out.span]).map_err(doing())?;
    Ok(file)
}

impl Sender for Sendfile {
    fn send(&mut self, flow: &Socket, at: usize, length: usize) -> io::Result<usize> {
        let mut at = at as libc::off_t;
        // SAFETY: the offset is a local variable, the descriptors are open.
        let sent =
            unsafe { libc::sendfile(flow.as_raw_fd(), self.file.as_raw_fd(), &mut at, length) };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(sent as usize) }
    }
}
