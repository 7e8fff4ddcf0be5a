//! Whether hosts have the nodes that a trial's buffers are to be on: without one every run fails.

use crate::Unplaced;
use crate::memory::nodes_with_memory;
use narrows_model::host::Host;
use narrows_model::trial::{EndHost, Trial};

/// The first end of a trial whose host is known and has no memory on the end's node, and why. A
/// host whose nodes cannot be read may have it.
pub fn without_node<'a>(
    trial: &Trial,
    known: impl Fn(EndHost) -> Option<&'a Host>,
) -> Option<(EndHost, Unplaced)> {
    trial.ends.iter().find_map(|end| {
        let (node, host) = (end.place.node?, known(end.host)?);
        let with_memory = nodes_with_memory(host);
        if with_memory.is_empty() || with_memory.contains(&node) {
            return None;
        }
        let is_there = host.nodes.iter().any(|one| one.id == node);
        let why = if is_there { Unplaced::NoMemory(node) } else { Unplaced::Node(node) };
        Some((end.host, why))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::direct::trial_of;
    use narrows_model::host::Node;
    use narrows_model::load::Params;
    use narrows_model::trial::{EndSpec, NetworkPath};
    use narrows_model::workload::Workload;
    use narrows_model::{Bytes, Fact, Nanos};

    fn host(memory: &[u64]) -> Host {
        let node = |(id, bytes): (u32, &u64)| Node {
            id,
            memory_bytes: Fact::known(Bytes(*bytes), "test"),
            ..Node::default()
        };
        Host { nodes: (0..).zip(memory).map(node).collect(), ..Host::default() }
    }

    #[test]
    fn buffers_need_a_node_with_memory_at_the_end_that_they_are_of() {
        let (two, one, bare) = (host(&[1 << 30, 0]), host(&[1 << 30]), host(&[]));
        let of = |here: u32, there: u32, peer: Option<&Host>| {
            let mut ends = EndSpec::anywhere(false);
            for end in &mut ends {
                let node = if end.host == EndHost::Controller { here } else { there };
                end.place.node = Some(node);
            }
            let params = Params::of_network(Bytes(64), 1);
            let path = NetworkPath::Peer;
            let trial = trial_of(Workload::TCP_STREAM, params, ends, path, Nanos(1));
            without_node(&trial, |at| if at == EndHost::Controller { Some(&two) } else { peer })
        };
        assert_eq!(of(0, 0, Some(&one)), None);
        assert_eq!(of(1, 0, Some(&one)), Some((EndHost::Controller, Unplaced::NoMemory(1))));
        assert_eq!(of(7, 0, Some(&one)), Some((EndHost::Controller, Unplaced::Node(7))));
        assert_eq!(of(0, 1, Some(&one)), Some((EndHost::Peer(0), Unplaced::Node(1))));
        assert_eq!(of(0, 1, None), None, "a host that does not describe itself");
        assert_eq!(of(0, 1, Some(&bare)), None, "a host whose nodes cannot be read");
    }
}
