//! Outside generators of packets: started on the interface that was named, to the MAC address at
//! the other end of its link, and ended with all that they started. What came is counted by a
//! program of narrows before the other interface, and held beside what the tool says of itself and
//! what both interfaces count: what was sent is not received.

mod ground;
mod held;

use super::process::{NotStarted, Running, kept};
use super::{Ended, Engine, Place};
use ground::{Ground, Looked};
use held::{AsItWas, contained, put_on};
use narrows_model::Nanos;
use narrows_model::load::Role;
use narrows_model::record::{ClientTime, External, Figure, Stage, ToolPackets};
use narrows_model::trial::Trial;
use narrows_model::units::Unit;
use narrows_workloads::harness::clock::monotonic_ns;
use narrows_workloads::packets::foreign::{Watch, target};
use narrows_workloads::packets::frame::Mac;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

/// UDP port that packets come from and go to: the one of discard, on which nobody answers.
pub const PORT: u16 = 9;
/// How long a generator may take until its first packet has come. DPDK sets up memory first.
const BEGINS_WITHIN: Duration = Duration::from_secs(20);
/// How long it has to say what it has sent once it is told to end.
const ENDS_WITHIN: Duration = Duration::from_secs(10);
/// How long a driver may take to bring its counters up to what has left.
const COUNTS_WITHIN: Duration = Duration::from_secs(2);
/// How often a wait looks up.
const LOOK_UP: Duration = Duration::from_millis(5);
/// Lines of what a tool said last, where it has failed.
const LAST_LINES: usize = 3;

/// A program that sends packets until it is told to end, and then says how many.
pub struct Generator {
    /// What it is called with.
    pub words: fn(&Order<'_>) -> Vec<String>,
    /// Packets that it says it has sent, in all that it printed.
    pub told: fn(&str) -> Option<u64>,
    /// Its version, in what it printed.
    pub version: fn(&str) -> Option<String>,
    /// Words with which it prints its version and ends; empty where each run prints it.
    pub asked_version: &'static [&'static str],
    /// Whether it binds itself to a CPU of its own choice, from which it has to be moved.
    pub places_itself: bool,
    /// Whether it sends a second's packets at once where it is told a rate: what comes is that
    /// rate over whole seconds alone.
    pub bursts_by_second: bool,
    /// What it leaves behind on its interface.
    pub leaves: Leaves,
    /// The largest frame that it is told to send, in bytes with the check sequence.
    pub frame_bytes_max: u64,
    /// What it needs of the kernel and does not find; `None` where all is there.
    pub lacks: fn() -> Option<Lack>,
}

/// What a generator leaves behind on its interface when it is killed, or always.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaves {
    /// Nothing is left.
    Nothing,
    /// The interface takes all frames until somebody switches that off.
    Promiscuous,
    /// The same, and a program before the interface where it was killed.
    Program,
}

/// What a generator needs and does not find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lack {
    pub what: &'static str,
    /// What brings it.
    pub hint: &'static str,
}

/// One run of a generator.
#[derive(Clone, Debug)]
pub struct Order<'a> {
    /// Interface that frames leave by.
    pub interface: &'a str,
    pub from_mac: Mac,
    pub to_mac: Mac,
    pub from: Ipv4Addr,
    pub to: Ipv4Addr,
    /// Bytes of each frame, with the check sequence that the NIC adds.
    pub frame_bytes: u64,
    /// Packets a second; `None` is as fast as they go.
    pub rate: Option<f64>,
    /// CPU that sends.
    pub cpu: u32,
}

/// Runs a trial's generator, counts what comes, and ends it.
pub fn run(
    (engine, generator): (&Engine, &Generator),
    trial: &Trial,
    place: &Place<'_>,
    stop: &AtomicBool,
) -> Result<External, Ended> {
    let ground = Ground::find(trial, place)?;
    let to_mac = target(ground.far.link.mac, &trial.params).map_err(at_start)?;
    let order = order(trial, &ground, to_mac);
    let version = asked_version(engine, generator, trial);
    let watch = ground
        .far
        .within(|| Watch::put(&ground.far.link, order.from_mac, PORT).map_err(at_start))?;
    let guarded = AsItWas::of(&ground, generator.leaves)?;
    let before = ground.look(&watch)?;
    let words = (generator.words)(&order);
    let program = (engine.program)(trial);
    let command = contained(program, &words, &ground);
    let tool = Running::start_heard(command).map_err(not_started)?;
    let mut one = Run { name: engine.name, tool, watch, stop };
    let began_ns = Nanos(monotonic_ns());
    let (window, text) = one.measure(&ground, generator, trial, order.cpu)?;
    let client = Some(ClientTime { began_ns, ended_ns: Nanos(monotonic_ns()) });
    drop(guarded);
    let told = (generator.told)(&text);
    let after = ground.settled(&one.watch, before.out + told.unwrap_or(0))?;
    Ok(External {
        tool: engine.name.to_owned(),
        version: version.or_else(|| (generator.version)(&text)),
        command: Some(format!("{program} {}", words.join(" "))),
        file: None,
        figures: vec![
            window.figure(format!("received, counted by {}", one.watch.name()), window.came),
            window.figure(format!("left {}", ground.near.link.name), window.out),
        ],
        output: kept(&text),
        client,
        packets: Some(Box::new(counts(&ground, told, [before, after]))),
    })
}

/// What was counted from before a generator began until after it had ended.
fn counts(ground: &Ground, told: Option<u64>, [before, after]: [Looked; 2]) -> ToolPackets {
    ToolPackets {
        from: ground.near.link.name.clone(),
        to: ground.far.link.name.clone(),
        told,
        out: after.out.saturating_sub(before.out),
        out_dropped: after.out_dropped.saturating_sub(before.out_dropped),
        came: after.came.saturating_sub(before.came),
        into: after.into.saturating_sub(before.into),
    }
}

fn order<'a>(trial: &Trial, ground: &'a Ground, to_mac: Mac) -> Order<'a> {
    let frame_bytes = trial.params.message_bytes.0;
    let bits = 8.0 * frame_bytes.max(1) as f64;
    Order {
        interface: &ground.near.link.name,
        from_mac: ground.near.link.mac,
        to_mac,
        from: ground.from,
        to: ground.to,
        frame_bytes,
        rate: trial.params.rate_bps.map(|rate| (rate as f64 / bits).round()),
        cpu: trial.place(Role::Sender).cpus.0.first().copied().unwrap_or(0),
    }
}

fn at_start(why: impl std::fmt::Display) -> Ended {
    Ended::Failed(Stage::Start, why.to_string())
}

fn not_started(why: NotStarted) -> Ended {
    at_start(why)
}

/// Its version by a call of its own, where that is how it tells.
fn asked_version(engine: &Engine, generator: &Generator, trial: &Trial) -> Option<String> {
    if generator.asked_version.is_empty() {
        return None;
    }
    let mut command = narrows_hostctl::child::command((engine.program)(trial));
    let said = command.args(generator.asked_version).output().ok()?;
    (generator.version)(&String::from_utf8_lossy(&said.stdout))
}

/// What was counted in the window.
struct Window {
    seconds: f64,
    came: u64,
    out: u64,
}

impl Window {
    fn figure(&self, name: String, packets: u64) -> Figure {
        Figure { name, value: packets as f64 / self.seconds, unit: Unit::PacketsPerSecond }
    }
}

/// A generator that runs.
struct Run<'a> {
    name: &'static str,
    tool: Running,
    watch: Watch,
    stop: &'a AtomicBool,
}

impl Run<'_> {
    /// Waits for its packets, counts those of the window, and ends it: the window, and all that it
    /// printed.
    fn measure(
        &mut self,
        ground: &Ground,
        generator: &Generator,
        trial: &Trial,
        cpu: u32,
    ) -> Result<(Window, String), Ended> {
        let before = self.watch.came();
        let began = Instant::now();
        while self.watch.came() == before {
            if began.elapsed() > BEGINS_WITHIN {
                let why = format!("no packet of {} came within 20 s", self.name);
                return Err(self.failed(&why));
            }
            self.pause(LOOK_UP)?;
        }
        if generator.places_itself {
            put_on(self.tool.group(), cpu)?;
        }
        self.pause(Duration::from_nanos(trial.timeline.warmup_ns.0))?;
        let (from, first) = (Instant::now(), ground.look(&self.watch)?);
        self.pause(Duration::from_nanos(trial.timeline.window_ns.0))?;
        let (until, last) = (Instant::now(), ground.look(&self.watch)?);
        let window = Window {
            seconds: until.duration_since(from).as_secs_f64(),
            came: last.came - first.came,
            out: last.out.saturating_sub(first.out),
        };
        let text = self.tool.interrupted(ENDS_WITHIN).ok_or_else(|| {
            let why = format!("{} did not end within 10 s and was killed", self.name);
            Ended::Failed(Stage::Collect, why)
        })?;
        if window.came == 0 {
            return Err(failed_with("no packet came in the window", &text));
        }
        Ok((window, text))
    }

    /// Lets time pass in which it must go on; a stop of the user is heard at once.
    fn pause(&mut self, time: Duration) -> Result<(), Ended> {
        let end = Instant::now() + time;
        loop {
            if self.stop.load(SeqCst) {
                return Err(Ended::Stopped);
            }
            if let Some(status) = self.tool.status() {
                let why = format!("{} ended by itself ({status})", self.name);
                return Err(self.failed(&why));
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            thread::sleep(left.min(LOOK_UP));
        }
    }

    /// Why it failed, with what it said last.
    fn failed(&mut self, why: &str) -> Ended {
        let said = self.tool.killed();
        failed_with(why, &said)
    }
}

/// A failure with the last lines that a tool said.
fn failed_with(why: &str, said: &str) -> Ended {
    let lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
    let last: Vec<&str> = lines.rev().take(LAST_LINES).collect();
    let last: Vec<&str> = last.into_iter().rev().collect();
    let said = if last.is_empty() { "it said nothing".to_owned() } else { last.join(" / ") };
    Ended::Failed(Stage::Run, format!("{why}: {said}"))
}

/// An order of frames of so many bytes, at a rate, for tests of command lines.
#[cfg(test)]
pub(in crate::engines) fn order_of_test(frame_bytes: u64, rate: Option<f64>) -> Order<'static> {
    Order {
        interface: "eth1",
        from_mac: Mac([2, 0, 0, 0, 0, 1]),
        to_mac: Mac([2, 0, 0, 0, 0, 2]),
        from: Ipv4Addr::new(198, 51, 100, 1),
        to: Ipv4Addr::new(198, 51, 100, 2),
        frame_bytes,
        rate,
        cpu: 3,
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
