//! What is asked of a queue pair, and what comes back.

use super::bindings::{
    IBV_SEND_INLINE, IBV_SEND_SIGNALED, IBV_WC_RECV, IBV_WC_RECV_RDMA_WITH_IMM, IBV_WC_SUCCESS,
    IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_RDMA_READ, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM,
    IBV_WR_SEND, ibv_send_wr, ibv_sge, ibv_wc,
};
use super::device::status_words;

/// Operations.
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
    /// Where it begins.
    pub address: u64,
    /// Its key.
    pub key: u32,
}

/// One request.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    /// What to do.
    pub verb: Verb,
    /// Own memory: where it begins.
    pub address: u64,
    /// Its length in bytes.
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

impl Work {
    /// As the library wants it, but for its list of memory and its successor.
    pub(super) fn request(&self) -> (ibv_send_wr, ibv_sge) {
        let sge = ibv_sge { addr: self.address, length: self.length, lkey: self.local_key };
        let flag = |wanted: bool, flag: u32| if wanted { flag } else { 0 };
        let mut request = ibv_send_wr {
            num_sge: 1,
            opcode: match self.verb {
                Verb::Write => IBV_WR_RDMA_WRITE,
                Verb::WriteImm => IBV_WR_RDMA_WRITE_WITH_IMM,
                Verb::Read => IBV_WR_RDMA_READ,
                Verb::Send => IBV_WR_SEND,
                Verb::FetchAdd => IBV_WR_ATOMIC_FETCH_AND_ADD,
            },
            send_flags: flag(self.signaled, IBV_SEND_SIGNALED) | flag(self.inline, IBV_SEND_INLINE),
            ..Default::default()
        };
        let Remote { address, key } = self.remote;
        match self.verb {
            Verb::Send => {}
            Verb::FetchAdd => {
                request.wr.atomic.remote_addr = address;
                request.wr.atomic.rkey = key;
                request.wr.atomic.compare_add = 1;
            }
            Verb::Write | Verb::WriteImm | Verb::Read => {
                request.wr.rdma.remote_addr = address;
                request.wr.rdma.rkey = key;
            }
        }
        (request, sge)
    }
}

/// One completed request, or one arrival.
#[derive(Clone, Copy, Debug, Default)]
pub struct Completion {
    status: u32,
    /// The number given to a posted buffer.
    pub id: u64,
    /// True for what arrived, false for what was asked.
    pub arrived: bool,
    /// Bytes that arrived.
    pub bytes: u32,
}

impl Completion {
    pub(super) fn of(wc: &ibv_wc) -> Self {
        Self {
            status: wc.status,
            id: wc.wr_id,
            arrived: matches!(wc.opcode, IBV_WC_RECV | IBV_WC_RECV_RDMA_WITH_IMM),
            bytes: wc.byte_len,
        }
    }

    /// Why it failed, in the library's words; `None` when it did not.
    pub fn failed(&self) -> Option<String> {
        (self.status != IBV_WC_SUCCESS).then(|| status_words(self.status))
    }
}
