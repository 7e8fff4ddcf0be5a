//! How a UDP stream hands datagrams to the kernel and takes them from it.

pub mod arrivals;
pub mod receivers;
pub mod senders;
#[cfg(test)]
mod tests;
