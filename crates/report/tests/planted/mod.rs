//! Hosts and sessions of studies of memory.

use narrows_model::host::{Host, Module, Slot, SlotPlace};
use narrows_model::study::{Found, Session};
use narrows_model::trial::Path;
use narrows_model::{Bytes, Fact, Nanos};

/// A processor with two controllers of three channels; `modules` in the channels.
pub fn host(modules: [u64; 6]) -> Host {
    let mut host = Host::default();
    let model = "Intel(R) Xeon(R) Platinum 8280 CPU @ 2.70GHz";
    host.cpu.model = Fact::known(model.to_owned(), "planted");
    let slot = |(channel, size): (usize, u64)| {
        let module = Module {
            size_bytes: Some(Bytes::gib(size)),
            is_dram: true,
            configured_mts: Some(2933),
            ..Module::default()
        };
        let at = SlotPlace { socket: 0, channel: channel.to_string(), controller: None };
        Slot { at: Some(at), module: (size > 0).then_some(module), ..Slot::default() }
    };
    let slots = modules.into_iter().enumerate().map(slot).collect();
    host.memory.slots = Fact::known(slots, "planted");
    host
}

/// A session on a host, at a level of `dimms`.
pub fn session(number: u32, level: &str, host: Host) -> Session {
    let found = Found { level: level.to_owned(), read: true };
    Session {
        number,
        began_unix_ns: Nanos(0),
        narrows_version: String::new(),
        host,
        peer_hosts: Vec::new(),
        path: Path::Memory,
        levels: [("dimms".to_owned(), found)].into_iter().collect(),
        cannot: Default::default(),
        ended: None,
    }
}
