//! What is asked of a queue pair or an endpoint, and what comes back.

/// What a work request asks of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Into the other end's memory, unseen by its program.
    Write,
    /// The same, and its program is told.
    WriteImm,
    /// From the other end's memory, unseen by its program.
    Read,
    /// Into the next buffer that the other end's program has posted.
    Send,
    /// Adds one to eight bytes of the other end's memory and fetches what was there.
    FetchAdd,
}

/// Memory of the other end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Remote {
    pub address: u64,
    /// Its key; verbs have 32 bits of it.
    pub key: u64,
}

/// A work request, as it is posted.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    pub verb: Verb,
    /// Comes back with its completion.
    pub id: u64,
    /// Own memory: where it begins.
    pub address: u64,
    pub length: u32,
    /// Its key of the own NIC.
    pub local_key: u32,
    /// The other end's memory; ignored by sends.
    pub remote: Remote,
    /// Whether it is to be heard of once it is done.
    pub signaled: bool,
    /// Whether its bytes are copied into the request, which spares the NIC a read.
    pub inline: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Status {
    #[default]
    Good,
    /// A status of libibverbs.
    Verbs(u32),
    /// An error number of libfabric.
    Fabric(i32),
}

/// One completed request, or one arrival.
#[derive(Clone, Copy, Debug, Default)]
pub struct Completion {
    pub(crate) status: Status,
    /// The number given to the request or to the posted buffer.
    pub id: u64,
    /// True for what arrived, false for what was asked.
    pub arrived: bool,
    /// Bytes that arrived.
    pub bytes: u32,
}

impl Completion {
    /// That of a request whose connection ended before it was done (`IBV_WC_WR_FLUSH_ERR`).
    pub fn flushed(id: u64) -> Self {
        Self { status: Status::Verbs(5), id, ..Self::default() }
    }
}
