//! `socket`: datagrams that arrived at a flow's socket and found no room, from `SO_MEMINFO`
//! (kernel, include/uapi/linux/sock_diag.h; since 4.12).

use crate::{Sample, Source};
use std::os::fd::{AsRawFd, BorrowedFd};

pub static SOURCE: Source = Source {
    name: "socket",
    says: "packets dropped at each flow's socket for want of buffer",
    take: |scene| {
        let mut sample = Sample::default();
        for (flow, socket) in scene.sockets.iter().enumerate() {
            if let Some(drops) = drops(socket) {
                sample.counters.insert(format!("flow{flow}.dropped_packets"), drops.into());
            }
        }
        (!sample.counters.is_empty()).then_some(sample)
    },
};

/// Position of the drop counter in the array that the option returns.
const SK_MEMINFO_DROPS: usize = 8;

fn drops(socket: &BorrowedFd<'_>) -> Option<u32> {
    let mut words = [0u32; 16];
    let mut length = size_of_val(&words) as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes into `words` and says how many.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_MEMINFO,
            words.as_mut_ptr().cast(),
            &mut length,
        )
    };
    (result == 0 && length as usize / 4 > SK_MEMINFO_DROPS).then_some(words[SK_MEMINFO_DROPS])
}
