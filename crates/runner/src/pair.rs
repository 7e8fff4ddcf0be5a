//! Runs with two ends, and many of them at once.

use crate::steps::{
    Broken, FINISH_SPARE, arm, armed, closed, fatal, finished, go, go_and_hold, prepare, release,
    released, start,
};
use narrows_control::Peer;
use narrows_control::key;
use narrows_control::{End, WorkerProcess};
use narrows_hostctl::container::Launcher;
use narrows_interop::iperf3::Iperf3Error;
use narrows_interop::iperf3::client::Iperf3Server;
use narrows_model::load::{Bind, EndReport, Job, Role};
use narrows_model::record::{Fault, Stage};
use narrows_model::trial::{Placement, Trial};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

/// How often a wait looks whether the user wants to stop.
const LOOK_UP: Duration = Duration::from_millis(50);

/// What the sink and the source of one run report.
pub type Pair = (EndReport, EndReport);

/// Where the two ends of one trial meet.
pub struct Meeting {
    /// Address on which the end that listens does so.
    pub address: IpAddr,
    /// What the end that connects is bound to.
    pub bind: Option<Bind>,
    /// Namespaces of the end that listens and of the end that connects, where they have their own.
    pub namespaces: [Option<String>; 2],
}

/// Takes the two ends of a network trial through one run; the reports of sink and source. The sink
/// listens, or in reverse the source.
pub fn run_two(
    trial: &Trial,
    listener: &mut dyn End,
    connector: &mut dyn End,
    meeting: Meeting,
    stop: &AtomicBool,
) -> Result<Pair, Broken> {
    let token = key::token().map_err(fatal)?;
    let reverse = trial.params.is_reverse();
    let (listens, connects) =
        if reverse { (Role::Sender, Role::Receiver) } else { (Role::Receiver, Role::Sender) };
    let [of_listener, of_connector] = meeting.namespaces;
    let listens = Job { namespace: of_listener, ..job(trial, listens, &token) };
    let connects = Job { namespace: of_connector, ..job(trial, connects, &token) };
    let at = (meeting.address, meeting.bind.as_ref());
    let ran = both(listener, connector, listens, connects, at, finish_within(trial), stop);
    ran.map(
        |(listened, connected)| {
            if reverse { (connected, listened) } else { (listened, connected) }
        },
    )
}

/// Takes the two ends of a network trial through one run; the reports of the end that listens and
/// of the end that connects.
fn both(
    listener: &mut dyn End,
    connector: &mut dyn End,
    listener_job: Job,
    connector_job: Job,
    (address, bind): (IpAddr, Option<&Bind>),
    finish: Duration,
    stop: &AtomicBool,
) -> Result<(EndReport, EndReport), Broken> {
    let sink_listens = listener_job.end == Role::Receiver;
    let connector_job = Job { bind: bind.cloned(), ..connector_job };
    let ports = prepare(listener, Job { address: Some(address), ..listener_job }, stop)?;
    prepare(connector, Job { address: Some(address), ..connector_job }, stop)?;
    arm(listener, Vec::new())?;
    arm(connector, ports.into_iter().map(|port| SocketAddr::new(address, port)).collect())?;
    armed(connector, stop)?;
    armed(listener, stop)?;
    // The sink goes first, so that it is there when the source's bytes come.
    if sink_listens {
        go_and_hold(listener)?;
        go_and_hold(connector)?;
    } else {
        go_and_hold(connector)?;
        go_and_hold(listener)?;
    }
    let early = closed(connector, finish, stop)?;
    let late = closed(listener, FINISH_SPARE, stop)?;
    release(connector, early.as_ref())?;
    release(listener, late.as_ref())?;
    let connected = released(connector, early, stop)?;
    let listened = released(listener, late, stop)?;
    Ok((listened, connected))
}

/// Takes this host's end and an iperf3 server through one run.
pub fn beside_iperf3(
    server: &Iperf3Server,
    trial: &Trial,
    near: &mut dyn End,
    finish: Duration,
    stop: &AtomicBool,
) -> Result<(EndReport, Option<EndReport>), Broken> {
    let reverse = trial.params.is_reverse();
    let own = if reverse { Role::Receiver } else { Role::Sender };
    let test = server.begin(trial).map_err(fatal)?;
    let own = Job {
        address: Some(server.at().ip()),
        bind: bind_of(trial),
        iperf3: Some(test.cookie().to_owned()),
        ..job(trial, own, &key::token().map_err(fatal)?)
    };
    prepare(near, own, stop)?;
    arm(near, vec![server.at(); trial.params.streams as usize])?;
    armed(near, stop)?;
    test.running().map_err(broken_test)?;
    go(near)?;
    let ours = match reverse {
        false => {
            let ours = finished(near, finish, stop)?;
            test.over().map_err(broken_test)?;
            ours
        }
        // A server that sends must be told before our end closes its connections: in its cool-down.
        true => {
            wait(trial, stop)?;
            test.over().map_err(broken_test)?;
            finished(near, finish, stop)?
        }
    };
    let theirs = test.results(trial, &ours).map_err(broken_test)?;
    Ok(if reverse { (ours, Some(theirs)) } else { (theirs, Some(ours)) })
}

/// A test that broke off is a failed run; one whose connection broke lost its other end.
fn broken_test(error: Iperf3Error) -> Broken {
    match error {
        Iperf3Error::Closed { .. } => Broken::Told(Stage::Run, error.to_string(), Fault::Apart),
        other => Broken::Failed(Stage::Run, other.to_string()),
    }
}

/// Waits from the word to go until the middle of the cool-down.
fn wait(trial: &Trial, stop: &AtomicBool) -> Result<(), Broken> {
    let line = &trial.timeline;
    let line_ns = line.warmup_ns.0 + line.window_ns.0 + line.cooldown_ns.0 / 2;
    let until = Instant::now() + Duration::from_nanos(line_ns);
    while Instant::now() < until {
        if stop.load(SeqCst) {
            return Err(Broken::Stopped);
        }
        thread::sleep(until.saturating_duration_since(Instant::now()).min(LOOK_UP));
    }
    Ok(())
}

/// One of many pairs of ends: the listening one at an agent, the connecting one here.
struct Together<'a> {
    peer: &'a mut Peer,
    near: WorkerProcess,
    trial: &'a Trial,
}

impl Together<'_> {
    /// Reports in the order sink, source.
    fn pair(&self, listened: EndReport, connected: EndReport) -> Pair {
        match self.trial.params.is_reverse() {
            true => (connected, listened),
            false => (listened, connected),
        }
    }
}

/// Runs one trial a peer, all at once: all are ready before the first begins. First all ends that
/// receive go, then all that send, so that every window has all flows in it but for the time that
/// the words to go take.
pub fn together(
    peers: &mut [Peer],
    trials: &[&Trial],
    launcher: &Launcher,
    stop: &AtomicBool,
) -> Result<Vec<Pair>, Broken> {
    let mut pairs = Vec::new();
    for (peer, trial) in peers.iter_mut().zip(trials) {
        pairs.push(ready(peer, trial, launcher, stop)?);
    }
    for receives in [true, false] {
        for Together { peer, near, trial } in &mut pairs {
            let listener_receives = !trial.params.is_reverse();
            match receives == listener_receives {
                true => go_and_hold(*peer)?,
                false => go_and_hold(near)?,
            }
        }
    }
    let mut early = Vec::new();
    for pair in &mut pairs {
        let near = closed(&mut pair.near, finish_within(pair.trial), stop)?;
        early.push((near, closed(pair.peer, FINISH_SPARE, stop)?));
    }
    for (pair, (near, far)) in pairs.iter_mut().zip(&early) {
        release(&mut pair.near, near.as_ref())?;
        release(pair.peer, far.as_ref())?;
    }
    let mut ran = Vec::new();
    for (pair, (near, far)) in pairs.iter_mut().zip(early) {
        let connected = released(&mut pair.near, near, stop)?;
        let listened = released(pair.peer, far, stop)?;
        pair.peer.stop().map_err(fatal)?;
        ran.push(pair.pair(listened, connected));
    }
    Ok(ran)
}

/// Takes one pair to the gate.
fn ready<'a>(
    peer: &'a mut Peer,
    trial: &'a Trial,
    launcher: &Launcher,
    stop: &AtomicBool,
) -> Result<Together<'a>, Broken> {
    let token = key::token().map_err(fatal)?;
    let (listens, connects) = match trial.params.is_reverse() {
        false => (Role::Receiver, Role::Sender),
        true => (Role::Sender, Role::Receiver),
    };
    let address = Some(peer.address());
    peer.start().map_err(fatal)?;
    let mut near = start(launcher)?;
    let ports = prepare(peer, Job { address, ..job(trial, listens, &token) }, stop)?;
    let connector = job(trial, connects, &token);
    prepare(&mut near, Job { address, bind: bind_of(trial), ..connector }, stop)?;
    arm(peer, Vec::new())?;
    let to = peer.address();
    arm(&mut near, ports.into_iter().map(|port| SocketAddr::new(to, port)).collect())?;
    armed(&mut near, stop)?;
    armed(peer, stop)?;
    Ok(Together { peer, near, trial })
}

/// How long a run's first report may take from the word to go.
pub fn finish_within(trial: &Trial) -> Duration {
    let line = &trial.timeline;
    let line_ns = line.warmup_ns.0 + line.window_ns.0 + line.cooldown_ns.0;
    Duration::from_nanos(line_ns) + FINISH_SPARE
}

/// Where the packets of the controller's end leave from.
pub fn bind_of(trial: &Trial) -> Option<Bind> {
    trial.controllers().and_then(|end| end.bind.clone())
}

/// The work order of one end of a trial.
pub fn job(trial: &Trial, end: Role, token: &str) -> Job {
    let Placement { cpus, binding, node } = trial.place(end).clone();
    Job {
        kind: trial.kind.clone(),
        end,
        params: trial.params.clone(),
        cpus,
        binding,
        timeline: trial.timeline,
        address: None,
        token: token.to_owned(),
        namespace: None,
        node,
        bind: None,
        iperf3: None,
        ports: None,
        grant: None,
    }
}
