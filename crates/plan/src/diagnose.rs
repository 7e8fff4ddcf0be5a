//! What `narrows diagnose` runs: the traffic itself, and the same with one thing changed, in turn.
//!
//! A change is first tried in one quadruple (as it is, changed, changed, as it is), which cancels a
//! drift of the path. What seems to move the figure is confirmed in quadruples of its own: the runs
//! by which a change was picked say nothing of how much it moves.

use crate::{Step, trial};
use narrows_model::calls;
use narrows_model::load::{CpuList, Params, Role, SocketParams, StreamParams, Wait};
use narrows_model::trial::{EndHost, EndSpec, Placement, Trial};
use narrows_model::{Bytes, Change};

/// What is known of the two hosts before anything is tried.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// Another congestion control that the sending host has.
    pub congestion: Option<String>,
    /// The largest socket buffer that both kernels give a program that asks.
    pub buffer_bytes: Option<Bytes>,
    /// CPUs for the threads of this host and of the other, apart where both are one machine.
    pub cpus: Option<(CpuList, CpuList)>,
}

/// Messages that are large enough for any path.
const LARGE_MESSAGE: Bytes = Bytes(1 << 20);
/// With these headers of TCP and IP, version 6 and timestamps included, are within 576 B.
const SMALL_SEGMENT: u32 = 500;
/// Buffers that were tuned for nothing less than 10 Gb/s over 3 ms.
const LARGE_BUFFER: Bytes = Bytes(4 << 20);

/// Every change of socket options and placement that these hosts allow, of the traffic `base`.
pub fn changes(base: &Trial, known: &Known) -> Vec<Trial> {
    let params = &base.params;
    let stream = params.stream.clone().unwrap_or_default();
    let socket = params.socket.clone().unwrap_or_default();
    let mut all = of_connection(base, known);
    let streams = (4 * params.streams).min(64);
    let own = Params { streams, ..params.clone() };
    all.push(with(base, Change::Flows, &format!("{streams} flows"), own));
    if socket.mss_bytes.is_none() {
        let socket = Some(SocketParams { mss_bytes: Some(SMALL_SEGMENT), ..socket.clone() });
        let own = Params { socket, ..params.clone() };
        all.push(with(base, Change::Segments, "segments of 500 B", own));
    }
    if let Some(cpus) = &known.cpus {
        all.push(placed(base, cpus));
    }
    if stream.sender.is_none() {
        let stream =
            Some(StreamParams { sender: Some(calls::SENDFILE.to_owned()), ..stream.clone() });
        let own = Params { stream, ..params.clone() };
        all.push(with(base, Change::ZeroCopy, "sendfile", own));
    }
    if socket.wait.is_none() {
        let socket = Some(SocketParams { wait: Some(Wait::Spin), ..socket });
        let own = Params { socket, ..params.clone() };
        all.push(with(base, Change::BusyPolling, "busy polling", own));
    }
    all.push(reversed(base, &stream));
    all
}

/// Changes of the connection and of what is written to it.
fn of_connection(base: &Trial, known: &Known) -> Vec<Trial> {
    let params = &base.params;
    let mut all = Vec::new();
    if let (Some(name), None) = (&known.congestion, &params.congestion) {
        let congestion = Some(name.clone());
        let params = Params { congestion, ..params.clone() };
        all.push(with(base, Change::Congestion, name, params));
    }
    let has_room = known.buffer_bytes.is_some_and(|most| most >= LARGE_BUFFER);
    if params.socket_buffer_bytes.is_some() {
        let own = Params { socket_buffer_bytes: None, ..params.clone() };
        all.push(with(base, Change::Buffers, "buffers that the kernel sizes", own));
    } else if has_room {
        let own = Params { socket_buffer_bytes: Some(LARGE_BUFFER), ..params.clone() };
        all.push(with(base, Change::Buffers, "buffers of 4 MiB", own));
    }
    if params.message_bytes < LARGE_MESSAGE {
        let own = Params { message_bytes: LARGE_MESSAGE, ..params.clone() };
        all.push(with(base, Change::MessageSize, "messages of 1 MiB", own));
    }
    all
}

/// The traffic at a pace in bits a second; `None` where it has one.
pub fn paced(base: &Trial, change: Change, rate_bps: u64) -> Option<Trial> {
    let params = Params { rate_bps: Some(rate_bps.max(1)), ..base.params.clone() };
    let says = format!("a pace of {:.0} Mb/s", rate_bps as f64 / 1e6);
    base.params.rate_bps.is_none().then(|| with(base, change, &says, params))
}

/// The traffic as it is, under a setting of this host that is changed around each of its runs.
pub fn under(base: &Trial, setting: &str, value: &str) -> Trial {
    let says = format!("{setting}={}", value.split_whitespace().collect::<Vec<_>>().join(" "));
    with(base, Change::Setting, &says, base.params.clone())
}

fn with(base: &Trial, change: Change, says: &str, params: Params) -> Trial {
    let label = format!("{}, {says}", base.label);
    let made =
        trial(&label, base.kind.clone(), params, base.ends.clone(), base.path, base.timeline);
    change.note(made)
}

/// The traffic with the threads of both hosts on these CPUs.
fn placed(base: &Trial, (near, far): &(CpuList, CpuList)) -> Trial {
    let ends = base.ends.iter().map(|end| {
        let cpus = if end.host == EndHost::Controller { near } else { far };
        let place = Placement { cpus: cpus.clone(), ..Placement::default() };
        EndSpec { place, ..end.clone() }
    });
    let label = format!("{}, threads on CPUs of their own", base.label);
    let (kind, params) = (base.kind.clone(), base.params.clone());
    let made = trial(&label, kind, params, ends.collect(), base.path, base.timeline);
    Change::Placement.note(made)
}

/// The traffic the other way: who sent receives.
fn reversed(base: &Trial, stream: &StreamParams) -> Trial {
    Change::Direction.note(turned_round(base, stream))
}

/// A stream the other way, as traffic of its own.
pub fn turned_round(base: &Trial, stream: &StreamParams) -> Trial {
    let stream = Some(StreamParams { reverse: !stream.reverse, ..stream.clone() });
    let params = Params { stream, ..base.params.clone() };
    let ends = base.ends.iter().map(|end| EndSpec { role: turned(end.role), ..end.clone() });
    let mut ends: Vec<EndSpec> = ends.collect();
    ends.sort_by_key(|end| end.role);
    let label = format!("{}, the other way", base.label);
    trial(&label, base.kind.clone(), params, ends, base.path, base.timeline)
}

/// Who sends receives, and the other way round.
fn turned(role: Role) -> Role {
    match role {
        Role::Receiver => Role::Sender,
        Role::Sender => Role::Receiver,
        Role::Background => Role::Background,
    }
}

/// Counts runs and blocks while steps are added, whatever is decided between them.
#[derive(Debug, Default)]
pub struct Order {
    runs: Vec<u32>,
    blocks: u32,
}

impl Order {
    /// One block of these trials, by index, in this order.
    pub fn block(&mut self, trials: &[usize]) -> Vec<Step> {
        let block = self.blocks;
        self.blocks += 1;
        trials
            .iter()
            .map(|trial| {
                if self.runs.len() <= *trial {
                    self.runs.resize(trial + 1, 0);
                }
                let repeat = self.runs[*trial];
                self.runs[*trial] += 1;
                Step { trial: *trial, repeat, block }
            })
            .collect()
    }

    /// A quadruple: as it is, changed, changed, as it is; every second one the other way round.
    pub fn quadruple(&mut self, base: usize, changed: usize) -> Vec<Step> {
        if self.blocks.is_multiple_of(2) {
            self.block(&[base, changed, changed, base])
        } else {
            self.block(&[changed, base, base, changed])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::direct::trial_of;
    use narrows_model::Nanos;
    use narrows_model::trial::NetworkPath;
    use narrows_model::workload::Workload;
    use std::collections::BTreeSet;

    fn base() -> Trial {
        let params = Params::of_network(Bytes(64 << 10), 1);
        let ends = EndSpec::anywhere(false);
        trial_of(Workload::TCP_STREAM, params, ends, NetworkPath::Peer, Nanos::from_millis(400))
    }

    #[test]
    fn each_trial_changes_one_thing_and_says_which() {
        let known = Known {
            congestion: Some("bbr".to_owned()),
            buffer_bytes: Some(Bytes(16 << 20)),
            cpus: Some((CpuList(vec![0]), CpuList(vec![1]))),
        };
        let all = changes(&base(), &known);
        let changed: BTreeSet<Change> = all.iter().filter_map(Change::of).collect();
        assert_eq!(changed.len(), all.len(), "each once");
        let ids: BTreeSet<_> =
            all.iter().map(|trial| &trial.id).chain([&base().id]).cloned().collect();
        assert_eq!(ids.len(), all.len() + 1, "each is another trial");
        assert_eq!(Change::of(&base()), None);
        // Reversed, the peer sends.
        let back = all.iter().find(|one| Change::of(one) == Some(Change::Direction));
        let back = back.expect("the other way");
        assert!(back.params.is_reverse() && back.controllers().is_some());
        assert_eq!(back.controllers().map(|end| end.role), Some(Role::Receiver));
        // What the user chose is not changed behind his back, or is what is changed.
        let asked =
            Trial { params: Params { congestion: Some("reno".into()), ..base().params }, ..base() };
        let of = |one: &Trial| Change::of(one) == Some(Change::Congestion);
        assert!(!changes(&asked, &known).iter().any(of));
        assert!(paced(&base(), Change::Pace, 1_000_000).is_some());
        let slow = paced(&base(), Change::Pace, 1_000_000).expect("a pace");
        assert_eq!(paced(&slow, Change::Pace, 1_000_000), None);
    }

    #[test]
    fn quadruples_alternate_and_count_every_run_once() {
        let mut order = Order::default();
        let steps = [order.quadruple(0, 3), order.quadruple(0, 3), order.block(&[0])].concat();
        let trials: Vec<usize> = steps.iter().map(|step| step.trial).collect();
        assert_eq!(trials, [0, 3, 3, 0, 3, 0, 0, 3, 0]);
        let runs: BTreeSet<(usize, u32)> =
            steps.iter().map(|step| (step.trial, step.repeat)).collect();
        assert_eq!(runs.len(), steps.len());
        assert_eq!(steps.last().map(|step| step.block), Some(2));
    }
}
