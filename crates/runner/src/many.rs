//! Runs of many ends at agents that meet each other. The controller says who meets whom and when,
//! and carries no data.

use crate::error::RunError;
use crate::pair::finish_within;
use crate::steps::{Broken, arm, armed, closed, fatal, go_and_hold, prepare, release, released};
use narrows_control::{Peer, PeerWorker, key};
use narrows_model::Nanos;
use narrows_model::load::{EndReport, Grant, Job, Role};
use narrows_model::record::{Fault, Lost, Reported, Span};
use narrows_model::trial::{EndHost, EndSpec, Trial};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// How long two ends may take from being prepared to having met.
const MEET_WITHIN: Duration = Duration::from_secs(30);

/// Whether ends of a trial meet at agents, without one of the controller's.
pub fn is_of_agents(trial: &Trial) -> bool {
    trial.pairs().next().is_some_and(|pair| {
        let at_agent = |end: &EndSpec| end.host != EndHost::Controller;
        at_agent(pair.sender) && at_agent(pair.receiver)
    })
}

/// One end in a run.
struct Seat<'a> {
    end: &'a EndSpec,
    /// Index of its agent.
    peer: usize,
    /// Number of its worker there.
    worker: u32,
    /// When it was told to go, from the first that was.
    told_ns: Nanos,
    /// When it said that its window is over, or before.
    over_ns: Nanos,
    /// The report of one that holds nothing.
    early: Option<EndReport>,
}

/// A trial's ends while they run.
struct Run<'a> {
    peers: &'a mut [Peer],
    trial: &'a Trial,
    stop: &'a AtomicBool,
    /// Sender and receiver of the first pair, of the second, and so on.
    seats: Vec<Seat<'a>>,
}

/// Takes all ends of a trial through one run at once; their reports in order of the pairs.
pub fn run(peers: &mut [Peer], trial: &Trial, stop: &AtomicBool) -> Result<Vec<Reported>, Broken> {
    let mut run = Run { seats: seats(trial, peers.len())?, peers, trial, stop };
    let ran = run.measure();
    // Whatever became of it, no worker goes on; an agent that is gone is named already.
    for peer in run.peers {
        let stopped = peer.stop();
        if ran.is_ok() {
            stopped.map_err(fatal)?;
        }
    }
    ran
}

fn seats(trial: &Trial, peers: usize) -> Result<Vec<Seat<'_>>, Broken> {
    let mut workers = vec![0; peers];
    let mut seats = Vec::new();
    for end in trial.pairs().flat_map(|pair| [pair.sender, pair.receiver]) {
        let EndHost::Peer(peer) = end.host else { return Err(fatal(RunError::NoPeer)) };
        let peer = peer as usize;
        let worker = workers.get_mut(peer).ok_or_else(|| fatal(RunError::NoPeer))?;
        let (told_ns, over_ns, early) = (Nanos(0), Nanos(0), None);
        seats.push(Seat { end, peer, worker: *worker, told_ns, over_ns, early });
        *worker += 1;
    }
    Ok(seats)
}

impl Run<'_> {
    fn measure(&mut self) -> Result<Vec<Reported>, Broken> {
        for seat in &self.seats {
            let peer = &mut self.peers[seat.peer];
            peer.can_meet().and_then(|()| peer.start_worker(seat.worker)).map_err(fatal)?;
        }
        for sender in (0..self.seats.len()).step_by(2) {
            self.meet(sender, sender + 1)?;
        }
        let began = Instant::now();
        for role in [Role::Receiver, Role::Sender] {
            for at in 0..self.seats.len() {
                if self.seats[at].end.role == role {
                    self.seats[at].told_ns = since(began);
                    self.with(at, |end, _| go_and_hold(end))?;
                }
            }
        }
        let within = finish_within(self.trial);
        for at in 0..self.seats.len() {
            self.seats[at].early = self.with(at, |end, stop| closed(end, within, stop))?;
            self.seats[at].over_ns = since(began);
        }
        for at in 0..self.seats.len() {
            let early = self.seats[at].early.take();
            self.with(at, |end, _| release(end, early.as_ref()))?;
            self.seats[at].early = early;
        }
        (0..self.seats.len()).map(|at| self.report(at)).collect()
    }

    /// Takes one pair to the gate: one end listens, the other connects, each with a grant for the
    /// other alone.
    fn meet(&mut self, sender: usize, receiver: usize) -> Result<(), Broken> {
        let token = key::token().map_err(fatal)?;
        let reverse = self.trial.params.is_reverse();
        let (listens, connects) = if reverse { (sender, receiver) } else { (receiver, sender) };
        let [at, from] = [listens, connects].map(|seat| self.address(seat));
        let listener = self.job(listens, at, from, &token);
        let connector = self.job(connects, at, at, &token);
        let ports = self.with(listens, |end, stop| prepare(end, listener, stop))?;
        self.with(connects, |end, stop| prepare(end, connector, stop))?;
        let ports = ports.into_iter().map(|port| SocketAddr::new(at, port)).collect();
        self.with(listens, |end, _| arm(end, Vec::new()))?;
        self.with(connects, |end, _| arm(end, ports))?;
        self.with(connects, |end, stop| armed(end, stop))?;
        self.with(listens, |end, stop| armed(end, stop))
    }

    fn address(&self, seat: usize) -> IpAddr {
        self.peers[self.seats[seat].peer].address()
    }

    fn job(&self, seat: usize, address: IpAddr, other: IpAddr, token: &str) -> Job {
        let (trial, end) = (self.trial, self.seats[seat].end);
        let valid_ns = Nanos(MEET_WITHIN.as_nanos() as u64);
        let grant = Grant { trial: trial.id.0.clone(), peer: other, valid_ns };
        Job {
            kind: trial.kind.clone(),
            end: end.role,
            params: trial.params.clone(),
            cpus: end.place.cpus.clone(),
            binding: end.place.binding,
            timeline: trial.timeline,
            address: Some(address),
            token: token.to_owned(),
            namespace: None,
            node: end.place.node,
            bind: None,
            iperf3: None,
            ports: None,
            grant: Some(grant),
        }
    }

    /// The end's report, once all windows are over.
    fn report(&mut self, at: usize) -> Result<Reported, Broken> {
        let early = self.seats[at].early.take();
        let report = self.with(at, |end, stop| released(end, early, stop))?;
        let (seat, window_ns) = (&self.seats[at], report.window_ns.0);
        let warm_ns = seat.told_ns.0.saturating_add(self.trial.timeline.warmup_ns.0);
        let span = Some(Span {
            open_by_ns: Nanos(seat.over_ns.0.saturating_sub(window_ns)),
            close_from_ns: Nanos(warm_ns.saturating_add(window_ns)),
        });
        Ok(Reported { role: seat.end.role, report: Box::new(report), span })
    }

    /// Calls with an end; what goes wrong says which end it was.
    fn with<T>(
        &mut self,
        seat: usize,
        call: impl FnOnce(&mut PeerWorker<'_>, &AtomicBool) -> Result<T, Broken>,
    ) -> Result<T, Broken> {
        let Seat { peer, worker, end, .. } = &self.seats[seat];
        let peer = &mut self.peers[*peer];
        let who = format!("{} at {}", name(end.role), peer.address());
        call(&mut peer.worker(*worker), self.stop).map_err(|broken| named(broken, &who))
    }
}

fn since(began: Instant) -> Nanos {
    Nanos(began.elapsed().as_nanos() as u64)
}

fn name(role: Role) -> &'static str {
    match role {
        Role::Sender => "sender",
        Role::Receiver => "receiver",
        Role::Background => "background load",
    }
}

fn named(broken: Broken, who: &str) -> Broken {
    match broken {
        Broken::Failed(at, why) => Broken::Failed(at, format!("{who}: {why}")),
        Broken::Told(at, why, fault) => Broken::Told(at, format!("{who}: {why}"), fault),
        Broken::Lost(Lost { at, cause }) => {
            let fault = Fault::from(&cause);
            Broken::Told(at, format!("{who}: {cause}"), fault)
        }
        other => other,
    }
}
