//! Workloads. A kind is one file in [`kinds`]; what they share (threads, pinning, phases, buffers,
//! tallies, sockets) is the [`harness`].
//!
//! An end of a trial lives in a process of its own and goes through three steps: [`Kind::prepare`]
//! (buffers, listening sockets), [`Prepared::arm`] (connections, threads at the gate) and
//! [`harness::WorkerThreads::run`] (warm-up, window, cool-down).

mod bounds;
pub mod harness;
pub mod kinds;
pub mod packets;
pub mod probe;
pub mod rdma;
pub mod takes;
pub mod tcp;
pub mod udp;

use harness::WorkerThreads;
use harness::buffer::Pages;
use narrows_model::Nanos;
use narrows_model::load::{Job, Params, Role, ThreadUsage, Timeline};
use narrows_model::options;
use narrows_model::workload::Workload;
use std::net::SocketAddr;
use thiserror::Error;

/// Reads the CPU time of the calling thread so far; `wall_ns` is the monotonic clock.
pub type ThreadMeter = fn() -> ThreadUsage;

/// What a maker of senders, receivers and the like gives back.
pub type Made<T> = Result<Box<T>, LoadError>;

/// A workload: a file of its own in `kinds`.
pub struct Kind {
    /// Workload that it runs.
    pub workload: Workload,
    /// What it does and what its bytes count.
    pub says: &'static str,
    /// Makes one end ready, up to what the other end must know.
    pub prepare: fn(&Job) -> Result<Box<dyn Prepared>, LoadError>,
}

/// One end with its buffers made and, for a receiver, its sockets listening.
pub trait Prepared: Send {
    /// Ports that this end listens on; empty for a sender and for memory kernels.
    fn ports(&self) -> Vec<u16>;
    /// Bytes of each buffer in pages of the size that was asked for; empty where none is.
    fn buffers(&self) -> Vec<u64> {
        Vec::new()
    }
    /// Connects to the receiver at `peer` (one address a listening port), or accepts; starts the
    /// threads and leaves them at the gate.
    fn arm(
        self: Box<Self>,
        peer: &[SocketAddr],
        meter: ThreadMeter,
    ) -> Result<WorkerThreads, LoadError>;
}

/// Why a workload could not run.
#[derive(Debug, Error)]
pub enum LoadError {
    /// A system call failed.
    #[error("{doing}: {source}")]
    System {
        /// What was attempted, with its address or size.
        doing: String,
        /// The system's answer.
        source: std::io::Error,
    },
    /// The job cannot be done as ordered.
    #[error("{0}")]
    Order(String),
    /// An option of the order does not fit its workload, or is out of bounds.
    #[error(transparent)]
    Option(#[from] options::Refusal),
    /// Two agents' ends do not meet, since their controller's grant does not allow it.
    #[error(transparent)]
    Grant(#[from] harness::grant::NotGranted),
    /// Responses were asked for faster than the rate of the agent's owner lets them go.
    #[error(
        "this agent's limits: its responses may have {:.1} Mb/s, and more were asked for; name a \
             rate of requests (--per-second)",
        *most_bps as f64 / 1e6
    )]
    Responses {
        /// What is left of the owner's rate, in bits a second over all flows.
        most_bps: u64,
    },
    /// The two ends do not find each other.
    #[error("{0}")]
    Apart(String),
    /// The host has no port left for a connection to an address.
    #[error("{0}")]
    NoPort(String),
    /// The other end went away.
    #[error("{0}")]
    Peer(String),
}

impl LoadError {
    /// Wraps a system error with what was being done.
    pub fn system(doing: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let doing = doing.into();
        move |source| Self::System { doing, source }
    }

    /// Whether a packet was not let out: send(2) tells a rule of the packet filter that drops or
    /// rejects as EPERM, to root too.
    pub fn is_filtered(&self) -> bool {
        matches!(self, Self::System { doing, source }
            if doing.starts_with(SENDING) && source.raw_os_error() == Some(EPERM))
    }

    /// Whether this process, or the whole host, has as many files open as it may have.
    pub fn is_out_of_files(&self) -> bool {
        matches!(self, Self::System { source, .. }
            if matches!(source.raw_os_error(), Some(libc::EMFILE | libc::ENFILE)))
    }
}

/// What is being done begins so where payload is handed to the kernel.
pub const SENDING: &str = "sending";
/// The kernel's number for it on every architecture (errno(3)).
const EPERM: i32 = 1;

/// How a workload is run; an error for a word that this narrows does not know, and for workloads of
/// outside tools.
pub fn kind(workload: &Workload) -> Result<&'static Kind, LoadError> {
    let found = kinds::KINDS.iter().copied().find(|kind| kind.workload == *workload);
    found.ok_or_else(|| LoadError::Order(format!("no workload is called '{workload}'")))
}

/// Whether this host has the pages that a workload's buffers are to be of: where too few are set
/// aside every run would fail. A memory kernel's buffers are looked at all at once, each in pages
/// of its own; of RDMA one buffer of one message, which is the least that an end has.
pub fn check_pages(workload: &Workload, params: &Params) -> Result<(), LoadError> {
    let of_memory = params.memory.as_ref().and_then(|memory| memory.pages.as_deref());
    let pages = Pages::named(of_memory)?;
    if workload.is_memory() {
        let timeline = Timeline::new(Nanos(0), Nanos(0), Nanos(0));
        let job = Job::new(workload.clone(), Role::Receiver, params.clone(), timeline);
        pages.can_hold(&(kind(workload)?.prepare)(&job)?.buffers())?;
    }
    let of_rdma = params.rdma.as_ref().and_then(|rdma| rdma.pages.as_deref());
    Pages::named(of_rdma)?.can_hold(&[params.message_bytes.0])
}

/// Makes one end ready, behind a door where it meets another agent's.
pub fn prepare(job: &Job) -> Result<Box<dyn Prepared>, LoadError> {
    let kind = check(job)?;
    harness::grant::guard(job, (kind.prepare)(job)?)
}

/// From the signal to go to the end of the cool-down.
const LINE_MAX: std::time::Duration = std::time::Duration::from_secs(3600);
/// Buffers of all flows of an end together.
const BUFFERS_BYTES_MAX: u64 = 1 << 30;

/// Checks an order against hard limits before anything is allocated or sent. An agent runs what a
/// peer orders, so these are the bounds of what a peer can make a host do.
pub fn check(job: &Job) -> Result<&'static Kind, LoadError> {
    let kind = kind(&job.kind)?;
    let order = |says: String| Err(LoadError::Order(says));
    let params = &job.params;
    let message = params.message_bytes.0;
    if let Some(size) = job.kind.message() {
        bounds::message("message", params.message_bytes, size)?;
        let buffers = message.saturating_mul(params.flows().into());
        if buffers > BUFFERS_BYTES_MAX {
            return order(format!("{buffers} B of buffers, must be at most {BUFFERS_BYTES_MAX}"));
        }
    }
    options::check(&job.kind, params)?;
    bounds::stream(job)?;
    bounds::trip(job)?;
    bounds::probe(job)?;
    bounds::iperf3(job)?;
    rdma::settings::check(job)?;
    bounds::node(job)?;
    let timeline = &job.timeline;
    if timeline.window_ns.0 < 1_000_000 || job.length() > LINE_MAX {
        return order("the time line must have a window of 1 ms or more and end in an hour".into());
    }
    bounds::interval(timeline)?;
    if job.kind.is_network() && job.address.is_none() {
        return order("a network workload needs an address".into());
    }
    if job.kind.is_memory() && params.working_set_bytes.0 < 4096 {
        return order(format!(
            "working set is {}, must be 4 KiB or more",
            params.working_set_bytes
        ));
    }
    if job.kind.is_memory() && job.end == Role::Sender {
        return order(format!("{} has one end only", job.kind));
    }
    harness::meet::token(&job.token)?;
    Ok(kind)
}
