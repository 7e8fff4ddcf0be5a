//! Runs of pairs of ends: one, or many at once. An end is a worker here or at an agent; two ends at
//! agents meet each other, and the controller, which says who meets whom and when, carries no data.

use crate::apart::told_by_both;
use crate::error::RunError;
use crate::gate::Ticket;
use crate::rates::{Counted, Onlooker, Rates};
use crate::steps::{
    Broken, FINISH_SPARE, Heard, LOOK_UP, arm, armed, closed, fatal, go_as_told, prepare, release,
    released, silent, told,
};
use narrows_control::{End, Peer, key};
use narrows_model::Nanos;
use narrows_model::load::{EndReport, Grant, Job, Role};
use narrows_model::options::runs;
use narrows_model::record::{Fault, Lost, Reported, Span};
use narrows_model::trial::{EndHost, EndSpec, NetworkPath, Trial};
use narrows_model::workload::{RdmaVerb, Transport, Workload};
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// How long two ends may take from being prepared to having met.
const MEET_WITHIN: Duration = Duration::from_secs(30);

/// What a receiver and a sender report.
pub type Two = (EndReport, EndReport);

/// Where a pair meets that does not meet at an agent.
#[derive(Clone, Debug)]
pub struct Meeting {
    /// Address on which the end that listens does so.
    pub address: IpAddr,
    /// Namespaces of the end that listens and of the end that connects, where they have their own.
    pub namespaces: [Option<String>; 2],
}

impl Meeting {
    /// On the loopback device, whatever the frames of the run pass.
    pub fn on_loopback() -> Self {
        Self { address: Ipv4Addr::LOCALHOST.into(), namespaces: [None, None] }
    }
}

/// Where an end is spoken with.
pub enum At<'a> {
    /// It is a worker of this process, or somebody's who speaks as one.
    Here(Box<dyn End + 'a>),
    /// It is the next worker of the agent of this number.
    Agent(usize),
}

impl At<'_> {
    fn agent(&self) -> Option<usize> {
        match self {
            Self::Agent(peer) => Some(*peer),
            Self::Here(_) => None,
        }
    }
}

/// A pair of ends of a trial, and where they are.
pub struct Couple<'a> {
    /// The trial that the pair is of.
    pub trial: &'a Trial,
    /// What its sender is told, and where that is.
    pub sender: (&'a EndSpec, At<'a>),
    /// What its receiver is told, and where that is.
    pub receiver: (&'a EndSpec, At<'a>),
    /// Where the two meet, unless that is at an agent.
    pub meeting: Meeting,
}

/// One end in a run.
struct Seat<'a> {
    trial: &'a Trial,
    end: &'a EndSpec,
    at: At<'a>,
    /// Number of its worker at its agent.
    worker: u32,
    /// When it was told to go, from the first that was.
    told_ns: Nanos,
    /// When it said that its window is over, or before.
    over_ns: Nanos,
    /// The report of one that holds nothing.
    early: Option<EndReport>,
    /// Whether its window is over.
    closed: bool,
}

fn receives(seat: &Seat<'_>) -> bool {
    seat.end.role == Role::Receiver || seat.trial.params.is_bidirectional()
}

/// Ends that tell what they move.
struct Telling<'a> {
    /// Of the first pair.
    trial: &'a Trial,
    /// Numbers of their seats.
    ends: Vec<usize>,
    counted: Counted,
    onlooker: &'a dyn Onlooker,
}

/// Ends while they run.
struct Run<'a> {
    peers: &'a mut [Option<Peer>],
    stop: &'a AtomicBool,
    /// Sender and receiver of the first pair, of the second, and so on.
    seats: Vec<Seat<'a>>,
    meetings: Vec<Meeting>,
    /// Whether it must be said which end failed.
    many: bool,
    /// Where it waits for others once its own pairs have met.
    ticket: Option<Ticket<'a>>,
    /// Who is told what is moved.
    onlooker: Option<&'a dyn Onlooker>,
}

/// Takes all pairs through one run at once; their reports, sender and receiver, in their order.
pub fn run<'a>(
    peers: &'a mut [Option<Peer>],
    couples: Vec<Couple<'a>>,
    stop: &'a AtomicBool,
    onlooker: Option<&'a dyn Onlooker>,
) -> Result<Vec<[Reported; 2]>, Broken> {
    carry_out(Run { onlooker, ..Run::of(peers, couples, stop) })
}

/// The same of pairs that begin when all others that have a ticket are ready too.
pub(crate) fn run_gated<'a>(
    peers: &'a mut [Option<Peer>],
    couples: Vec<Couple<'a>>,
    ticket: Ticket<'a>,
    stop: &'a AtomicBool,
) -> Result<Vec<[Reported; 2]>, Broken> {
    carry_out(Run { ticket: Some(ticket), ..Run::of(peers, couples, stop) })
}

fn carry_out(mut run: Run<'_>) -> Result<Vec<[Reported; 2]>, Broken> {
    let used: BTreeSet<usize> = run.seats.iter().filter_map(|seat| seat.at.agent()).collect();
    let ran = run.measure();
    // Whoever failed before the others began is not waited for.
    run.ticket = None;
    // Whatever became of it, no worker goes on; an agent that is gone is named already.
    for peer in used {
        let peer = run.peers.get_mut(peer).and_then(Option::as_mut);
        let stopped = peer.map_or(Ok(()), Peer::stop);
        // What is measured is measured, also where an agent is gone since: the next run finds that.
        if let (true, Err(why)) = (ran.is_ok(), stopped)
            && !why.is_gone()
        {
            return Err(fatal(why));
        }
    }
    ran
}

/// Takes the two ends of a trial through one run; the reports of receiver and sender. The receiver
/// listens, or in reverse the sender.
pub fn run_two(
    trial: &Trial,
    listener: &mut dyn End,
    connector: &mut dyn End,
    meeting: Meeting,
    stop: &AtomicBool,
) -> Result<Two, Broken> {
    let pair = trial.pairs().next().ok_or_else(|| fatal(RunError::NoPeer))?;
    let (listener, connector) = (At::Here(Box::new(listener)), At::Here(Box::new(connector)));
    let reverse = trial.params.is_reverse();
    let (receiver, sender) = if reverse { (connector, listener) } else { (listener, connector) };
    let (sender, receiver) = ((pair.sender, sender), (pair.receiver, receiver));
    let ran = run(&mut [], vec![Couple { trial, sender, receiver, meeting }], stop, None)?;
    let [sender, receiver] = ran.into_iter().next().ok_or_else(|| fatal(RunError::NoPeer))?;
    Ok((*receiver.report, *sender.report))
}

impl<'a> Run<'a> {
    fn of(peers: &'a mut [Option<Peer>], couples: Vec<Couple<'a>>, stop: &'a AtomicBool) -> Self {
        let many = couples.len() > 1 || couples.iter().any(|of| of.trial.is_of_agents());
        let mut workers = vec![0; peers.len()];
        let (mut seats, mut meetings) = (Vec::new(), Vec::new());
        for Couple { trial, sender, receiver, meeting } in couples {
            meetings.push(meeting);
            for (end, at) in [sender, receiver] {
                let next = at.agent().and_then(|peer| workers.get_mut(peer));
                let worker = next.map_or(0, |next| std::mem::replace(next, *next + 1));
                let (told_ns, over_ns, early, closed) = (Nanos(0), Nanos(0), None, false);
                seats.push(Seat { trial, end, at, worker, told_ns, over_ns, early, closed });
            }
        }
        Self { peers, stop, seats, meetings, many, ticket: None, onlooker: None }
    }

    fn measure(&mut self) -> Result<Vec<[Reported; 2]>, Broken> {
        for at in 0..self.seats.len() {
            self.start(at)?;
        }
        for sender in (0..self.seats.len()).step_by(2) {
            self.meet(sender, sender + 1)?;
        }
        let began = match self.ticket.take() {
            Some(ticket) => ticket.pass(self.stop)?,
            None => Instant::now(),
        };
        let telling = self.telling();
        // Those that receive go first, so that they are there when the bytes come.
        for role in [Role::Receiver, Role::Sender] {
            for at in 0..self.seats.len() {
                if self.seats[at].end.role == role {
                    self.seats[at].told_ns = since(began);
                    let trial = self.seats[at].trial;
                    let tells = telling.as_ref().filter(|telling| telling.ends.contains(&at));
                    let every = tells.map(|telling| telling.onlooker.every());
                    self.with(at, |end, _| go_as_told(end, trial, every))?;
                }
            }
        }
        if let Some(telling) = telling {
            self.listen(&telling, began)?;
        }
        for at in 0..self.seats.len() {
            if self.seats[at].closed {
                continue;
            }
            let within = finish_within(self.seats[at].trial);
            self.seats[at].early = self.with(at, |end, stop| closed(end, within, stop))?;
            self.seats[at].over_ns = since(began);
        }
        for at in 0..self.seats.len() {
            let early = self.seats[at].early.take();
            self.with(at, |end, _| release(end, early.as_ref()))?;
            self.seats[at].early = early;
        }
        let pairs = (0..self.seats.len()).step_by(2);
        pairs.map(|at| Ok([self.report(at)?, self.report(at + 1)?])).collect()
    }

    /// Which ends tell what they move, where somebody wants to know it and there is one rate.
    fn telling(&self) -> Option<Telling<'a>> {
        let onlooker = self.onlooker?;
        let first = self.seats.first()?.trial;
        let telling = self.seats_that_count().map(|(ends, counted)| {
            let trial = first;
            Telling { trial, ends, counted, onlooker }
        });
        if telling.is_none() {
            onlooker.untold(first);
        }
        telling
    }

    /// The ends whose counts are those of the figure, if all of them can tell; of a stream else its
    /// senders.
    fn seats_that_count(&self) -> Option<(Vec<usize>, Counted)> {
        let kind = &self.seats.first()?.trial.kind;
        let mut trials = self.seats.iter().map(|seat| seat.trial);
        if trials.any(|trial| trial.kind != *kind || runs::AFTER.of(&trial.params).is_some()) {
            return None;
        }
        let ends = match kind {
            // Of verbs that the other end takes part in both ends count, of the others the one that
            // works: which that is depends on the verb.
            Workload::Stream(Transport::Rdma(RdmaVerb::Send | RdmaVerb::WriteImm)) => {
                self.tellers(receives)
            }
            Workload::Stream(Transport::Rdma(_)) => self.tellers(|_| true),
            Workload::Stream(_) | Workload::Packets => self.tellers(receives),
            Workload::RoundTrip(_) | Workload::Connect => {
                self.tellers(|seat| seat.end.role == Role::Sender)
            }
            _ => None,
        };
        match (ends, kind) {
            (Some(ends), _) => Some((ends, Counted::Received)),
            (None, Workload::Stream(Transport::Tcp | Transport::Udp) | Workload::Packets) => {
                Some((self.tellers(|seat| !receives(seat))?, Counted::Sent))
            }
            (None, _) => None,
        }
    }

    /// The ends that count, if all of them can tell.
    fn tellers(&self, counts: fn(&Seat<'_>) -> bool) -> Option<Vec<usize>> {
        let ends = self.seats.iter().enumerate();
        let ends: Vec<usize> = ends.filter(|(_, seat)| counts(seat)).map(|(at, _)| at).collect();
        let can = !ends.is_empty() && ends.iter().all(|at| self.can_tell(*at));
        can.then_some(ends)
    }

    fn can_tell(&self, seat: usize) -> bool {
        let Some(agent) = self.seats[seat].at.agent() else { return true };
        self.peers.get(agent).and_then(Option::as_ref).is_some_and(Peer::can_tell)
    }

    /// Hears all ends that tell in turn, until their windows are over.
    fn listen(&mut self, telling: &Telling<'a>, began: Instant) -> Result<(), Broken> {
        let mut rates = Rates::of(telling.ends.len());
        let (listens, within) = (Instant::now(), finish_within(telling.trial));
        let look = LOOK_UP / u32::try_from(telling.ends.len()).unwrap_or(u32::MAX).max(1);
        while let Some(open) = telling.ends.iter().copied().find(|at| !self.seats[*at].closed) {
            if listens.elapsed() > within {
                return self.with(open, |_, _| Err(silent(within)));
            }
            for (number, at) in telling.ends.iter().copied().enumerate() {
                if self.seats[at].closed {
                    continue;
                }
                match self.with(at, |end, stop| told(end, look, stop))? {
                    Heard::Nothing => {}
                    Heard::Moved(part) => {
                        if let Some(period) = rates.add(number, part) {
                            telling.onlooker.period(telling.trial, telling.counted, &period);
                        }
                    }
                    Heard::Closed(early) => {
                        let seat = &mut self.seats[at];
                        seat.early = early.map(|report| *report);
                        (seat.closed, seat.over_ns) = (true, since(began));
                        rates.close(number);
                    }
                }
            }
        }
        Ok(())
    }

    /// Has the agent of an end start its worker; one here has been started.
    fn start(&mut self, at: usize) -> Result<(), Broken> {
        let meets = self.are_both_at_agents(at);
        let Seat { at, worker, .. } = &self.seats[at];
        let Some(number) = at.agent() else { return Ok(()) };
        let peer = there(self.peers, number)?;
        let can = if meets { peer.knows_meetings() } else { Ok(()) };
        can.and_then(|()| peer.start_worker(*worker)).map_err(|why| fatal(why).at_agent(number))
    }

    fn are_both_at_agents(&self, at: usize) -> bool {
        self.seats[at].at.agent().is_some() && self.seats[at ^ 1].at.agent().is_some()
    }

    /// Takes one pair to the gate: one end listens, the other connects. Two agents have a grant
    /// each for the other alone.
    fn meet(&mut self, sender: usize, receiver: usize) -> Result<(), Broken> {
        let token = key::token().map_err(fatal)?;
        let reverse = self.seats[sender].trial.params.is_reverse();
        let (listens, connects) = if reverse { (sender, receiver) } else { (receiver, sender) };
        let Meeting { address, namespaces: [of_listener, of_connector] } =
            self.meetings[sender / 2].clone();
        let at = self.address(listens).unwrap_or(address);
        let from = self.address(connects).filter(|_| self.are_both_at_agents(listens));
        let to = from.map(|_| at);
        let listener = Job { namespace: of_listener, ..self.job(listens, at, from, &token) };
        let far_mac = self.far_mac(connects, listens)?;
        let connector = self.job(connects, at, to, &token);
        let connector = Job { namespace: of_connector, far_mac, ..connector };
        let ports = self.with(listens, |end, stop| prepare(end, listener, stop))?;
        self.with(connects, |end, stop| prepare(end, connector, stop))?;
        let ports = ports.into_iter().map(|port| SocketAddr::new(at, port)).collect();
        self.with(listens, |end, _| arm(end, Vec::new()))?;
        self.with(connects, |end, _| arm(end, ports))?;
        let is_lent = self.seats[connects].trial.lent().is_some();
        match self.with(connects, |end, stop| armed(end, stop)) {
            Err(Broken::Told(at, why, fault)) if fault == Fault::Apart || is_lent => {
                // The end that listens has given up sooner over UDP and soon over TCP: it knows
                // what arrived there, or that it could not take what did.
                let is_udp = self.seats[listens].trial.kind.is_udp();
                let heard = self.with(listens, |end, stop| armed(end, stop));
                return Err(told_by_both(at, why, fault, heard, is_udp));
            }
            called => called?,
        }
        self.with(listens, |end, stop| armed(end, stop))
    }

    /// The MAC address of the interface that an agent lends to frames of the controller's end.
    fn far_mac(&self, near: usize, far: usize) -> Result<Option<String>, Broken> {
        let Seat { trial, end, .. } = self.seats[near];
        let lent = trial.lent().filter(|_| end.host == EndHost::Controller);
        let agent = self.seats[far].at.agent();
        let agent = agent.and_then(|agent| self.peers.get(agent)).and_then(Option::as_ref);
        let Some((name, agent)) = lent.zip(agent) else { return Ok(None) };
        Ok(Some(agent.mac_of(name).map_err(fatal)?.to_owned()))
    }

    /// The address of an end's agent.
    fn address(&self, seat: usize) -> Option<IpAddr> {
        self.peers.get(self.seats[seat].at.agent()?)?.as_ref().map(Peer::address)
    }

    /// The order of an end, which meets another agent's at `other` if at all.
    fn job(&self, seat: usize, address: IpAddr, other: Option<IpAddr>, token: &str) -> Job {
        let Seat { trial, end, .. } = self.seats[seat];
        let valid_ns = Nanos(MEET_WITHIN.as_nanos() as u64);
        let grant = other.map(|peer| Grant { trial: trial.id.0.clone(), peer, valid_ns });
        Job { address: Some(address), grant, ..job(trial, end, token) }
    }

    /// The end's report, once all windows are over, and, where it is one of many, when its window
    /// was.
    fn report(&mut self, at: usize) -> Result<Reported, Broken> {
        let early = self.seats[at].early.take();
        let report = self.with(at, |end, stop| released(end, early, stop))?;
        let (seat, window_ns) = (&self.seats[at], report.window_ns.0);
        let warm_ns = seat.told_ns.0.saturating_add(seat.trial.timeline.warmup_ns.0);
        let is_placed = seat.trial.is_of_agents() || seat.trial.pairs().count() > 1;
        let span = is_placed.then(|| Span {
            open_by_ns: Nanos(seat.over_ns.0.saturating_sub(window_ns)),
            close_from_ns: Nanos(warm_ns.saturating_add(window_ns)),
        });
        Ok(Reported { role: seat.end.role, report: Box::new(report), span })
    }

    /// Calls with an end; what goes wrong says which of many it was.
    fn with<T>(
        &mut self,
        seat: usize,
        call: impl FnOnce(&mut dyn End, &AtomicBool) -> Result<T, Broken>,
    ) -> Result<T, Broken> {
        let Seat { at, worker, end, .. } = &mut self.seats[seat];
        let (called, place) = match at {
            At::Here(here) => (call(&mut **here, self.stop), "on this host".to_owned()),
            At::Agent(number) => {
                let peer = there(self.peers, *number)?;
                let place = format!("at {}", peer.address());
                let called = call(&mut peer.worker(*worker), self.stop);
                (called.map_err(|broken| broken.at_agent(*number)), place)
            }
        };
        let who = format!("{} {place}", name(end.role));
        called.map_err(|broken| if self.many { named(broken, &who) } else { broken })
    }
}

/// The agent of a number.
fn there(peers: &mut [Option<Peer>], at: usize) -> Result<&mut Peer, Broken> {
    peers.get_mut(at).and_then(Option::as_mut).ok_or_else(|| fatal(RunError::NoPeer))
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

/// How long a run's first report may take from the word to go.
pub fn finish_within(trial: &Trial) -> Duration {
    let after = runs::AFTER.of(&trial.params).unwrap_or(0.0);
    let after = Duration::try_from_secs_f64(after).unwrap_or_default();
    trial.timeline.length() + after + FINISH_SPARE
}

/// The work order of an end, but for where it meets the other. Only the controller's own end is
/// bound to where its packets leave from: an agent's owner decides for the agent's, and may lend an
/// interface that is asked for by its name. Of two ports of this host the other end has the other.
pub fn job(trial: &Trial, end: &EndSpec, token: &str) -> Job {
    let bind = match (end.host, trial.path) {
        (EndHost::Controller, _) => end.bind.clone(),
        (EndHost::Peer(_), path) => {
            let far = trial.controllers().and_then(|near| near.bind.as_ref()?.other_end());
            far.filter(|far| path == NetworkPath::Cable || far.lent.is_some())
        }
    };
    Job {
        cpus: end.place.cpus.clone(),
        binding: end.place.binding,
        token: token.to_owned(),
        node: end.place.node,
        bind,
        ..Job::new(trial.kind.clone(), end.role, trial.params.clone(), trial.timeline)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::load::Bind;
    use narrows_model::record::Stage;

    fn trial(ends: Vec<EndSpec>, path: NetworkPath) -> Trial {
        let (warmup, window) = (Nanos(1_000_000_000), Nanos(2_000_000_000));
        Trial {
            id: narrows_model::trial::TrialId("t".into()),
            label: String::new(),
            kind: "tcp-stream".into(),
            params: narrows_model::load::Params::of_network(narrows_model::Bytes(1000), 1),
            ends,
            path,
            timeline: narrows_model::load::Timeline::new(warmup, window, Nanos(500_000_000)),
            levels: Vec::new(),
            notes: Vec::new(),
            engine: None,
        }
    }

    /// A run of three and a half seconds has half a minute more, and what it begins later.
    #[test]
    fn a_run_may_last_as_long_as_its_time_line_and_a_spare() {
        let mut of = trial(EndSpec::anywhere(false), NetworkPath::Peer);
        let line = of.timeline.length();
        assert_eq!(finish_within(&of), line + Duration::from_secs(30));
        of.params.told.tell(&runs::AFTER, 1.5);
        assert_eq!(finish_within(&of), line + Duration::from_millis(31_500));
    }

    #[test]
    fn an_end_is_told_its_own_place() {
        let mut ends = EndSpec::anywhere(false);
        ends[0].place.node = Some(1);
        ends[0].place.cpus.0 = vec![3, 4];
        let of = trial(ends, NetworkPath::Peer);
        let end = &of.ends[0];
        let told = job(&of, end, "words");
        assert_eq!((told.end, told.node, told.token.as_str()), (end.role, Some(1), "words"));
        assert_eq!(told.cpus, end.place.cpus);
        assert_eq!((told.kind, told.timeline), (of.kind.clone(), of.timeline));
        let other = job(&of, &of.ends[1], "words");
        assert_eq!((other.end, other.node), (of.ends[1].role, None));
    }

    #[test]
    fn an_agent_s_end_has_the_interface_that_is_lent_and_no_other() {
        let of = |lent: Option<&str>| {
            let mut ends = EndSpec::anywhere(false);
            let lent = lent.map(str::to_owned);
            let bind = Some(Bind { lent, ..Bind::from_words("eth0") });
            ends.iter_mut().for_each(|end| end.bind = bind.clone());
            let of = trial(ends, NetworkPath::Peer);
            of.ends.iter().map(|end| job(&of, end, "words").bind).collect::<Vec<_>>()
        };
        let near = |lent: Option<&str>| {
            Some(Bind { lent: lent.map(str::to_owned), ..Bind::from_words("eth0") })
        };
        let far = Some(Bind { lent: Some("eth0".into()), ..Bind::from_words("eth1") });
        // The end that receives is the agent's, and comes first.
        assert_eq!(of(Some("eth1")), [far, near(Some("eth1"))]);
        assert_eq!(of(None), [None, near(None)]);
    }

    #[test]
    fn of_many_ends_it_is_said_which_it_was() {
        let who = "sender at a";
        let of = |broken| match named(broken, who) {
            Broken::Failed(at, why) => format!("failed {at:?}: {why}"),
            Broken::Told(at, why, fault) => format!("told {at:?} {fault:?}: {why}"),
            Broken::Stopped => "stopped".to_owned(),
            _ => "another".to_owned(),
        };
        assert_eq!(of(Broken::Failed(Stage::Run, "x".into())), "failed Run: sender at a: x");
        let told = Broken::Told(Stage::Start, "y".into(), Fault::Apart);
        assert_eq!(of(told), "told Start Apart: sender at a: y");
        assert_eq!(of(Broken::Stopped), "stopped");
        let cause = narrows_model::record::LostBy::Exited { code: 3 };
        let lost = of(Broken::Lost(Lost { at: Stage::Run, cause }));
        assert!(lost.starts_with("told Run ") && lost.contains(": sender at a: "), "{lost}");
        let names = [Role::Sender, Role::Receiver, Role::Background].map(name);
        assert_eq!(names, ["sender", "receiver", "background load"]);
        assert!(matches!(there(&mut [], 0), Err(Broken::Fatal(RunError::NoPeer))));
    }
}
