//! Counters around a run. A source is opened as the window opens, may be sampled while it is open,
//! and is closed as it closes: it tells what grew, and its states at the edges and in between. One
//! source a file in [`sources`]; reading a file and understanding its text are two functions, so
//! that the parsers can be tested on other machines' files.

mod drivers;
pub mod memory;
mod meter;
mod meters;
pub mod profile;
pub mod sources;
mod table;
pub mod thread;

pub use meter::{Look, Meter, watch};
pub use meters::Meters;
use narrows_model::reading::Source;
use std::os::fd::BorrowedFd;

/// What a source may look at.
pub struct Scene<'a> {
    /// The sockets of the flows.
    pub sockets: &'a [BorrowedFd<'a>],
}

impl Scene<'_> {
    /// A host without flows.
    pub const HOST: Scene<'static> = Scene { sockets: &[] };
}

/// One source of counters.
pub struct Registered {
    pub source: Source,
    /// What it counts, and what it does not.
    pub says: &'static str,
    /// Whether it is read while the window is open too: those are that cost little, a system call a
    /// flow.
    pub is_sampled: bool,
    /// Opens it, with a first look; `None` when this machine does not offer it.
    pub open: fn(&Scene<'_>) -> Option<Box<dyn Meter>>,
}

/// Sources that tell of the whole host.
pub const HOST: [Source; 2] = [Source::Cpu, Source::Pressure];
/// Sources that tell of one end of a network trial, read in its own namespace.
pub const END: [Source; 13] = [
    Source::Cpu,
    Source::Group,
    Source::Interface,
    Source::Netstat,
    Source::Pause,
    Source::Pressure,
    Source::Qdisc,
    Source::Rdma,
    Source::Socket,
    Source::Softnet,
    Source::TcpInfo,
    Source::Udp,
    Source::UserQueue,
];

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::reading::keys;

    #[test]
    fn every_source_is_looked_at() {
        let unread = sources::SOURCES.iter().map(|known| known.source);
        let unread: Vec<Source> =
            unread.filter(|source| !END.contains(source) && !HOST.contains(source)).collect();
        assert!(unread.is_empty(), "{unread:?}");
    }

    #[test]
    fn this_machine_counts_its_cpu_time() {
        let meters = Meters::open(&HOST, &Scene::HOST);
        let began = std::time::Instant::now();
        while began.elapsed().as_millis() < 120 {
            std::hint::black_box(0);
        }
        let readings = meters.close(&Scene::HOST);
        let busy = readings.total(keys::USER).expect("user time");
        assert!(busy >= 50_000_000, "{readings:?}");
    }
}
