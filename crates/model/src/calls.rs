//! Names of the ways to hand bytes to the kernel and to take them from it that other code asks
//! about. The files of the workloads have these constants, so that a name is spelt in one place.

/// Datagrams that came one by one are taken joined (UDP).
pub const GRO: &str = "gro";
/// One send that the kernel or the NIC cuts into datagrams (UDP).
pub const GSO: &str = "gso";
/// The ordinary way to receive.
pub const RECV: &str = "recv";
/// The ordinary way to send datagrams.
pub const SEND: &str = "send";
/// Sent from a file, uncopied (TCP).
pub const SENDFILE: &str = "sendfile";
/// One call for many datagrams (UDP).
pub const SENDMMSG: &str = "sendmmsg";
/// Moved away unseen (TCP).
pub const SPLICE: &str = "splice";
/// Dropped by the kernel when it arrived (TCP).
pub const TRUNCATE: &str = "truncate";
/// Lent to the kernel by a pipe, uncopied (TCP).
pub const VMSPLICE: &str = "vmsplice";
/// The ordinary way to send bytes (TCP).
pub const WRITE: &str = "write";
/// Sent with MSG_ZEROCOPY (TCP).
pub const ZEROCOPY: &str = "zerocopy";

/// Frames by AF_XDP, which has a queue of the interface for itself.
pub const AF_XDP: &str = "af-xdp";
/// Frames by a ring that a packet socket shares with the kernel.
pub const RING: &str = "ring";
/// Frames by a program before the interface.
pub const XDP: &str = "xdp";

/// Ways to send or to receive that make frames themselves, or take them before the kernel does.
pub const RAW: [&str; 3] = [AF_XDP, RING, XDP];

/// Over which the kernel copies nothing.
pub const UNCOPIED: [&str; 5] = [SENDFILE, SPLICE, TRUNCATE, VMSPLICE, ZEROCOPY];

/// A call hands over many datagrams, which leave back to back.
pub const JOINED: [&str; 2] = [GSO, SENDMMSG];
