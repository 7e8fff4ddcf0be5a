//! How a TCP stream hands bytes to the kernel and takes them from it.

pub mod receivers;
pub mod senders;
#[cfg(test)]
mod tests;
