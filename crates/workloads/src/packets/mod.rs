//! Packets one by one: what a frame holds, how frames are made, and the ways to send and to receive
//! them, one a file.
//!
//! A frame is Ethernet, IP and UDP of the flow by which the two ends have met, so that any kind of
//! receiver takes it, and so that none is ever sent to an address that has not proved itself. Its
//! payload opens with four bytes of the trial's token, a number and the time it was sent. Of two
//! ports of one host the cable is proved in the flow's stead, and beside it the way to an interface
//! that an agent's owner lends.

pub mod area;
pub mod bpf;
pub mod cable;
pub mod foreign;
pub mod frame;
pub mod lent;
pub mod link;
pub mod over;
pub mod receivers;
pub mod ring;
pub mod senders;
pub mod stamp;
pub mod xsk;
