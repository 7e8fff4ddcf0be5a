//! Requests and completions as libibverbs has them.

use super::bindings::{
    IBV_SEND_INLINE, IBV_SEND_SIGNALED, IBV_WC_RECV, IBV_WC_RECV_RDMA_WITH_IMM, IBV_WC_SUCCESS,
    IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_RDMA_READ, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM,
    IBV_WR_SEND, ibv_send_wr, ibv_sge, ibv_wc,
};
use crate::work::{Completion, Remote, Status, Verb, Work};

impl Work {
    /// As the library wants it, but for its list of memory and its successor.
    pub(super) fn request(&self) -> (ibv_send_wr, ibv_sge) {
        let sge = ibv_sge { addr: self.address, length: self.length, lkey: self.local_key };
        let mut request = ibv_send_wr {
            wr_id: self.id,
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
                request.wr.atomic.rkey = key as u32;
                request.wr.atomic.compare_add = 1;
            }
            Verb::Write | Verb::WriteImm | Verb::Read => {
                request.wr.rdma.remote_addr = address;
                request.wr.rdma.rkey = key as u32;
            }
        }
        (request, sge)
    }
}

fn flag(wanted: bool, flag: u32) -> u32 {
    if wanted { flag } else { 0 }
}

impl Completion {
    pub(super) fn of(wc: &ibv_wc) -> Self {
        Self {
            status: match wc.status {
                IBV_WC_SUCCESS => Status::Good,
                status => Status::Verbs(status),
            },
            id: wc.wr_id,
            arrived: matches!(wc.opcode, IBV_WC_RECV | IBV_WC_RECV_RDMA_WITH_IMM),
            bytes: wc.byte_len,
        }
    }
}
