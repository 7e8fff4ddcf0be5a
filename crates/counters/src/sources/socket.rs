//! `socket`: datagrams that arrived at a flow's socket and found no room, and how much memory those
//! take that wait in it, from `SO_MEMINFO` (kernel, include/uapi/linux/sock_diag.h; since 4.12).

use crate::{Look, Registered, Scene, watch};
use narrows_model::reading::{Scope, Source, keys};
use std::os::fd::{AsRawFd, BorrowedFd};

pub static SOURCE: Registered = Registered {
    source: Source::Socket,
    says: "packets dropped at each flow's socket for want of buffer, and the memory of those waiting",
    is_sampled: true,
    open: |scene| watch(scene, look),
};

fn look(scene: &Scene<'_>) -> Option<Look> {
    let mut look = Look::default();
    for (flow, socket) in (0..).zip(scene.sockets) {
        let Some(memory) = memory(socket) else { continue };
        let key = keys::SOCKET_DROPPED.key(Scope::Flow(flow));
        look.total(key, memory[SK_MEMINFO_DROPS].into());
        look.state(keys::WAITING, Scope::Flow(flow), memory[SK_MEMINFO_RMEM_ALLOC].into());
    }
    look.seen()
}

/// Positions in the array that the option returns: memory of what was received and not read yet
/// (whole buffers, and not their payload alone), and packets dropped.
const SK_MEMINFO_RMEM_ALLOC: usize = 0;
const SK_MEMINFO_DROPS: usize = 8;

fn memory(socket: &BorrowedFd<'_>) -> Option<[u32; 16]> {
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
    (result == 0 && length as usize / 4 > SK_MEMINFO_DROPS).then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;
    use std::os::fd::AsFd;

    #[test]
    fn what_waits_and_what_found_no_room_is_counted() {
        let receiver = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let sender = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let to = receiver.local_addr().expect("an address");
        let read = || {
            let sockets = [receiver.as_fd()];
            let look = look(&Scene { sockets: &sockets }).expect("SO_MEMINFO");
            let of = |key: &str| look.of("socket", key).expect(key);
            (of("flow0.waiting_bytes"), of("flow0.dropped_packets"))
        };
        assert_eq!(read(), (0, 0));
        for _ in 0..10 {
            sender.send_to(&[1; 1000], to).expect("sent");
        }
        let (waiting, dropped) = read();
        // Buffers are larger than what they hold.
        assert!((10_000..100_000).contains(&waiting) && dropped == 0, "{waiting}, {dropped}");
        for _ in 0..10_000 {
            sender.send_to(&[1; 1000], to).expect("sent");
        }
        let (full, dropped) = read();
        assert!(full > waiting && dropped > 0, "{full}, {dropped}");
        receiver.set_nonblocking(true).expect("a mode");
        let held = (0..).take_while(|_| receiver.recv(&mut [0; 2000]).is_ok()).count();
        assert_eq!(held as u64 + dropped, 10_010);
        assert_eq!(read(), (0, dropped));
    }
}
