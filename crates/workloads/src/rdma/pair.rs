//! What a flow's requests go through, and its memory: a queue pair of verbs, or an endpoint of
//! libfabric.

use crate::LoadError;
use crate::harness::buffer::Buffer;
use crate::harness::socket::LOOK_UP;
use narrows_rdma::fabric::Endpoint;
use narrows_rdma::verbs::{QueuePair, Region};
use narrows_rdma::{Completion, Watched, Work};

/// One of the two.
pub enum RdmaPair {
    /// A queue pair, and memory that its NIC knows.
    Verbs {
        /// The queue pair, ready to send and receive.
        qp: QueuePair,
        /// Memory that it sends from and receives into.
        region: Region<Buffer>,
    },
    /// An endpoint, which has its memory.
    Fabric(Box<Endpoint<Buffer>>),
    /// What tests have in place of a device.
    #[cfg(test)]
    Pretended(super::pretended::End),
}

impl RdmaPair {
    pub fn base(&mut self) -> u64 {
        match self {
            Self::Verbs { region, .. } => region.address(),
            #[cfg(test)]
            Self::Pretended(end) => end.base(),
            Self::Fabric(endpoint) => endpoint.address(),
        }
    }

    /// Memory that it sends from and receives into.
    pub fn memory(&mut self) -> &mut Watched<Buffer> {
        match self {
            Self::Verbs { region, .. } => region.memory(),
            #[cfg(test)]
            Self::Pretended(end) => end.memory(),
            Self::Fabric(endpoint) => endpoint.memory(),
        }
    }

    /// The memory's key of the own NIC; 0 where there is none.
    #[inline]
    pub fn local_key(&self) -> u32 {
        match self {
            Self::Verbs { region, .. } => region.local_key(),
            #[cfg(test)]
            Self::Pretended(end) => end.local_key(),
            Self::Fabric(_) => 0,
        }
    }

    /// Posts work requests, and waits for none of them.
    #[inline]
    pub fn post(&mut self, works: &[Work]) -> Result<(), LoadError> {
        let posted = match self {
            Self::Verbs { qp, .. } => qp.post(works),
            #[cfg(test)]
            Self::Pretended(end) => return end.post(works),
            Self::Fabric(endpoint) => endpoint.post(works),
        };
        Ok(posted?)
    }

    /// Posts a buffer for an arrival; `id` comes back with it.
    #[inline]
    pub fn post_receive(&mut self, id: u64, address: u64, length: u32) -> Result<(), LoadError> {
        let posted = match self {
            Self::Verbs { qp, region } => qp.post_receive(id, address, length, region.local_key()),
            #[cfg(test)]
            Self::Pretended(end) => return end.post_receive(id, address, length),
            Self::Fabric(endpoint) => endpoint.post_receive(id, address, length),
        };
        Ok(posted?)
    }

    /// Takes what has completed; how many.
    #[inline]
    pub fn poll(&mut self, into: &mut [Completion]) -> Result<usize, LoadError> {
        Ok(match self {
            Self::Verbs { qp, .. } => qp.completions.poll(into)?,
            #[cfg(test)]
            Self::Pretended(end) => end.poll(into)?,
            Self::Fabric(endpoint) => endpoint.poll(into)?,
        })
    }

    /// Takes what has completed; where there is nothing and threads sleep, sleeps first.
    #[inline]
    pub fn take(&mut self, into: &mut [Completion], sleeps: bool) -> Result<usize, LoadError> {
        let count = self.poll(into)?;
        if count > 0 || !sleeps {
            return Ok(count);
        }
        let Self::Verbs { qp, .. } = self else { return self.sleep(into) };
        // What completes before it is armed wakes nobody.
        qp.completions.arm()?;
        let count = qp.completions.poll(into)?;
        if count > 0 {
            return Ok(count);
        }
        qp.completions.sleep()?;
        Ok(qp.completions.poll(into)?)
    }

    fn sleep(&mut self, into: &mut [Completion]) -> Result<usize, LoadError> {
        Ok(match self {
            Self::Verbs { .. } => 0,
            #[cfg(test)]
            Self::Pretended(end) => end.sleep(into)?,
            Self::Fabric(endpoint) => endpoint.sleep(into, LOOK_UP)?,
        })
    }

    /// Whether nothing moves unless this program calls, even where its part is to be written to.
    pub fn needs_calls(&self) -> bool {
        match self {
            Self::Verbs { .. } => false,
            #[cfg(test)]
            Self::Pretended(end) => end.needs_calls(),
            Self::Fabric(endpoint) => endpoint.info().needs_calls(),
        }
    }

    /// Whether a completed write is in the other end's memory. With verbs that is so over
    /// InfiniBand; over iWARP a completion says that TCP has it (RFC 5040, section 5.5).
    pub fn delivers(&self) -> bool {
        match self {
            Self::Verbs { .. } => false,
            #[cfg(test)]
            Self::Pretended(end) => end.delivers(),
            Self::Fabric(endpoint) => endpoint.info().delivers,
        }
    }
}
