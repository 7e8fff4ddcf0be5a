//! Responses within the rate of an agent's owner: an end that answers sends what the peer asks for,
//! as often as it asks.

use narrows_model::Bytes;
use narrows_model::load::{Job, Role};
use narrows_model::workload::{RdmaVerb, Transport, Workload};
use thiserror::Error;

/// Why an end's responses cannot be held to the owner's rate.
#[derive(Debug, Error)]
pub enum NotHeld {
    /// A device answers, and no thread of this host.
    #[error(
        "this agent's limits: it sends at most {} Mb/s, and no RDMA device is held to that",
        most_bps / 1_000_000
    )]
    Device {
        /// The owner's limit in bits a second.
        most_bps: u64,
    },
    /// One response of each flow would take more than a second of the owner's rate.
    #[error(
        "this agent's limits: it sends at most {} Mb/s, and one response of each flow is {asked}",
        most_bps / 1_000_000
    )]
    Large {
        /// One response of each flow.
        asked: Bytes,
        /// The owner's limit in bits a second.
        most_bps: u64,
    },
}

/// Bits a second that an end's responses may have of the owner's rate, where others send some of
/// it; `None` where it answers nothing, or nothing bounds it. A rate of requests takes what it
/// needs, a closed loop what is left.
pub fn quota(job: &Job, most_bps: Option<u64>, others_bps: u64) -> Result<Option<u64>, NotHeld> {
    let Some(most_bps) = most_bps.filter(|_| answers(job)) else { return Ok(None) };
    if job.kind.is_rdma() {
        return Err(NotHeld::Device { most_bps });
    }
    let each = job.params.response_bytes();
    let asked = Bytes(each.0.saturating_mul(job.params.streams.into()));
    let round_bits = asked.0.saturating_mul(8);
    if round_bits > most_bps {
        return Err(NotHeld::Large { asked, most_bps });
    }
    let per_second = job.params.trip.as_ref().and_then(|trip| trip.per_second);
    let named = per_second.map(|requests| each.0.saturating_mul(8).saturating_mul(requests));
    // Where others leave no room for one response of each flow, the sum is refused.
    Ok(Some(named.unwrap_or_else(|| most_bps.saturating_sub(others_bps).max(round_bits))))
}

/// Bits a second that these ends send at most, where that is bounded.
pub fn sent_bps(jobs: &[&Job]) -> u64 {
    jobs.iter().filter_map(|job| pace(job)).fold(0, u64::saturating_add)
}

fn pace(job: &Job) -> Option<u64> {
    let sends = job.end == Role::Sender || job.params.is_bidirectional();
    if sends { job.params.rate_bps } else { job.responses_bps }
}

/// Whether an end sends as much as it is asked for, by its program or by its device.
fn answers(job: &Job) -> bool {
    let read = Workload::Stream(Transport::Rdma(RdmaVerb::Read));
    job.end == Role::Receiver && (job.kind.is_round_trip() || job.kind == read)
}
