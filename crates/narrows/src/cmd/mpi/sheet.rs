//! Rank 0's file: cells, and each run as soon as it is made.

use super::world::World;
use crate::args::MpiArgs;
use crate::failure::Failure;
use crate::output;
use narrows_host::Root;
use narrows_model::load::{Params, Timeline};
use narrows_model::record::{External, Fault, Figure, Outcome, Record, Stage, Stamp};
use narrows_model::study::{Ended, Study};
use narrows_model::study_kind::StudyKind;
use narrows_model::trial::{EndSpec, Level, NetworkPath, Trial};
use narrows_model::units::Unit;
use narrows_model::workload::Workload;
use narrows_model::{Bytes, Nanos};
use narrows_mpi::carried::Carried;
use narrows_mpi::pattern::{Message, Pattern};
use narrows_mpi::samples::Summary;
use narrows_plan::Step;
use narrows_store::Store;
use std::path::PathBuf;

/// What made the figures of a run, beside the library.
pub const TOOL: &str = "narrows mpi";
/// The beginning of the name of the figure that says what carried the payload.
pub const CARRIED: &str = "carried by ";
/// The note of a cell that names the library.
pub const LIBRARY: &str = "library";
/// The note of a cell whose ranks are more than their host has CPUs for.
pub const OVERSUBSCRIBED: &str = "oversubscribed";

/// The file while runs are added to it.
pub struct Sheet {
    store: Store,
    trials: Vec<Trial>,
    version: String,
}

impl Sheet {
    /// A new file with its cells.
    pub fn open(args: &MpiArgs, world: &World, seed: u64) -> Result<Self, Failure> {
        if args.file.is_none() {
            output::check_folder(&args.out.out)?;
        }
        let began = output::now();
        let file = args.file.clone().unwrap_or_else(|| output::study_path(&args.out, "mpi", began));
        let apart = world.host_count() > 1;
        let path = if apart { NetworkPath::Peer } else { NetworkPath::Loopback };
        let own = narrows_host::read(&Root::live());
        let study = Study {
            peer: apart.then(|| world.names.iter().skip(1).cloned().collect::<Vec<_>>().join(", ")),
            began_unix_ns: began,
            cache_bytes: own.last_level_cache_bytes(),
            ..Study::new(StudyKind::Mpi, path, args.repeats, seed)
        };
        let trials: Vec<Trial> = cells(args)
            .iter()
            .map(|(pattern, message)| trial(args, world, path, *pattern, message))
            .collect();
        let mut draft = Store::draft(&file, &study, &own)?;
        draft.put_trials(&trials)?;
        Ok(Self { store: draft.publish()?, trials, version: world.mpi.version().to_owned() })
    }

    /// Stores a run. `times` are when it began, Unix time, and how long it took.
    pub fn put(
        &mut self,
        step: Step,
        (pattern, message): (Pattern, &Message),
        ranks: &[Summary],
        carried: &Carried,
        times: [Nanos; 2],
    ) -> Result<(), Failure> {
        let Some(trial) = self.trials.get(step.trial) else { return Ok(()) };
        let figures = figures(pattern, message, ranks, carried);
        let outcome = match carried {
            Carried::Not { why } => Outcome::Failed {
                at: Stage::Run,
                why: format!("another fabric carried it: {why}"),
                fault: Fault::Machine,
            },
            Carried::By { .. } | Carried::Unproven { .. } => Outcome::Done,
        };
        let [began_unix_ns, took_ns] = times;
        let record = Record {
            trial: trial.id.clone(),
            repeat: step.repeat,
            block: step.block,
            outcome,
            reports: Vec::new(),
            around: Stamp { began_unix_ns, took_ns, ..Stamp::default() },
            session: 0,
            external: Some(External {
                tool: TOOL.to_owned(),
                version: Some(self.version.clone()),
                command: None,
                file: None,
                figures,
                output: said(carried),
                client: None,
                packets: None,
            }),
        };
        Ok(self.store.put_record(&record)?)
    }

    /// Says that all runs were made; the file.
    pub fn end(self) -> Result<PathBuf, Failure> {
        self.store.put_ended(&Ended::Complete)?;
        Ok(self.store.path().to_owned())
    }
}

/// Patterns and messages, in order; sizes that a pattern cannot send are left out.
pub fn cells(args: &MpiArgs) -> Vec<(Pattern, Message)> {
    let mut cells = Vec::new();
    for pattern in &args.patterns {
        let sizes = args.sizes.iter().filter(|bytes| bytes.0 >= pattern.least_bytes());
        for bytes in sizes {
            let window = if pattern.is_rate() { args.messages as usize } else { 1 };
            let bytes = bytes.0 as usize;
            let one = args.one_buffer && pattern.is_rate();
            let message = if one { Message::in_one_buffer } else { Message::of };
            let cell = (*pattern, message(bytes, window));
            if !cells.contains(&cell) {
                cells.push(cell);
            }
        }
    }
    cells
}

fn trial(
    args: &MpiArgs,
    world: &World,
    path: NetworkPath,
    pattern: Pattern,
    message: &Message,
) -> Trial {
    let fabric = args.fabric.as_ref().map_or_else(|| "any fabric".to_owned(), ToString::to_string);
    let (ranks, length) = (world.mpi.size().to_string(), Bytes(message.bytes as u64).to_string());
    let buffer = if message.one_buffer { ", one buffer" } else { "" };
    let window = if pattern.is_rate() { format!(" x {}", message.window) } else { String::new() };
    let window = window + buffer;
    let label = format!("{} {fabric} {ranks} ranks {length}{window}", pattern.name());
    let window = Nanos::from_seconds(args.seconds);
    let none = Nanos(0);
    let line =
        Timeline { warmup_ns: none, window_ns: window, cooldown_ns: none, interval_ns: None };
    let params = Params::of_network(Bytes(message.bytes as u64), 1);
    let (kind, ends) = (Workload::from(pattern.word()), EndSpec::anywhere(false));
    let trial = narrows_plan::trial(&label, kind, params, ends, path, line);
    let mut notes = vec![level(LIBRARY, world.mpi.version().to_owned())];
    if world.oversubscribed {
        notes.push(level(OVERSUBSCRIBED, "a host has more ranks than CPUs for them".to_owned()));
    }
    let mut levels = vec![level("fabric", fabric), level("ranks", ranks), level("length", length)];
    levels.extend(message.one_buffer.then(|| level("buffers", "one for all messages".to_owned())));
    Trial { levels, notes, ..trial }
}

fn level(factor: &str, level: String) -> Level {
    Level { factor: factor.to_owned(), level }
}

/// The figure that counts first, then how the iterations spread.
fn figures(
    pattern: Pattern,
    message: &Message,
    ranks: &[Summary],
    carried: &Carried,
) -> Vec<Figure> {
    let unit = if pattern.is_rate() { Unit::BitsPerSecond } else { Unit::Nanos };
    let figure = |name: &str, of: fn(&Summary) -> f64| {
        let value = pattern.figure(ranks, of, message);
        Figure { name: name.to_owned(), value, unit }
    };
    let mut all = vec![
        figure("p50", |rank| rank.p50_ns as f64),
        figure("fastest", |rank| rank.min_ns as f64),
        figure("p90", |rank| rank.p90_ns as f64),
        figure("p99", |rank| rank.p99_ns as f64),
        figure("slowest", |rank| rank.max_ns as f64),
        figure("mean", Summary::mean_ns),
    ];
    if let Carried::By { what, share } = carried {
        let value = share.unwrap_or_default();
        all.push(Figure { name: format!("{CARRIED}{what}"), value, unit: Unit::Share });
    }
    all
}

fn said(carried: &Carried) -> String {
    match carried {
        Carried::By { what, share: None } => format!("{CARRIED}{what}"),
        Carried::By { what, share: Some(share) } => {
            format!("{CARRIED}{what}: {share:.3} bytes sent a byte of payload")
        }
        Carried::Not { why } => format!("carried by another fabric: {why}"),
        Carried::Unproven { why } => format!("what carried it is not proven: {why}"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::alone::{Alone, args};
    use super::super::launch::is_whole;
    use super::super::said;
    use super::*;
    use crate::kept;
    use std::fmt::Write;

    fn world(hosts: Vec<usize>, oversubscribed: bool) -> World {
        let names = ["n1", "n2"].map(str::to_owned).to_vec();
        World { mpi: Box::new(Alone { ranks: hosts.len() }), hosts, names, oversubscribed }
    }

    #[test]
    fn cells_are_patterns_by_sizes_that_they_can_send() {
        let of = |line: &str| {
            let cells = cells(&args(line)).into_iter();
            cells
                .map(|(pattern, message)| (pattern.name(), message.bytes, message.window))
                .collect::<Vec<_>>()
        };
        let pings = of("mpi pingpong --sizes 0,8,8");
        assert_eq!(pings, [("pingpong", 0, 1), ("pingpong", 8, 1)], "each once");
        let rates = of("mpi bandwidth alltoall --sizes 0,64K --messages 9");
        assert!(rates.contains(&("bandwidth", 65_536, 9)), "{rates:?}");
        assert!(!rates.contains(&("bandwidth", 0, 9)), "no bytes have no rate: {rates:?}");
        let one = args("mpi pingpong bandwidth --sizes 8 --one-buffer");
        let labels = cells(&one).into_iter().map(|(pattern, message)| {
            trial(&one, &world(vec![0, 1], false), NetworkPath::Peer, pattern, &message).label
        });
        let labels: Vec<_> = labels.collect();
        let wanted = [
            "pingpong any fabric 2 ranks 8 B",
            "bandwidth any fabric 2 ranks 8 B x 64, one buffer",
        ];
        assert_eq!(labels, wanted, "a ping-pong has one buffer anyway");
    }

    fn summary(times: u64) -> Summary {
        let [min_ns, p50_ns, p90_ns, p99_ns, max_ns] = [1, 2, 3, 4, 9].map(|n| 1000 * n * times);
        let total_ns = 40 * p50_ns;
        Summary {
            count: 10,
            min_ns,
            p50_ns,
            p90_ns,
            p99_ns,
            max_ns,
            total_ns,
            ..Summary::default()
        }
    }

    #[test]
    fn what_ranks_measured_is_stored_and_told_as_it_was_found_right() {
        let dir = std::env::temp_dir().join(format!("narrows-mpi-{}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("a folder");
        let mut text = String::new();
        for (at, (hosts, oversubscribed)) in
            [(vec![0, 1], false), (vec![0, 0], true)].into_iter().enumerate()
        {
            let out = dir.display();
            let args = args(&format!(
                "mpi pingpong bandwidth --sizes 8,64K --repeats 2 --fabric shm -t 1 --out {out}"
            ));
            let world = world(hosts, oversubscribed);
            let mut sheet = Sheet::open(&args, &world, 7).expect("a file");
            let carried = [
                Carried::By { what: "eth0".into(), share: Some(1.057_349) },
                Carried::By { what: "memory".into(), share: None },
                Carried::Unproven { why: "too few bytes".into() },
                Carried::Not { why: "eth1 had the bytes".into() },
            ];
            for step in narrows_plan::blocks(4, 2, 1) {
                let cell = cells(&args)[step.trial];
                let which = (step.trial + step.repeat as usize + at) % 4;
                let ranks = [summary(1), summary(step.trial as u64 + 1)];
                let times = [Nanos(1_000_000 * u64::from(step.repeat)), Nanos(5)];
                sheet.put(step, (cell.0, &cell.1), &ranks, &carried[which], times).expect("put");
            }
            let begun = sheet.store.path().to_owned();
            assert!(!is_whole(&begun), "its ranks are not done");
            let file = sheet.end().expect("an end");
            assert!(is_whole(&file) && !is_whole(&dir), "a file of all runs");
            let mut stored = narrows_store::read(&file).expect("a study");
            stored.records.sort_by_key(|record| (record.trial.clone(), record.repeat));
            let study = &stored.study;
            let _ = writeln!(text, "{:?} {:?} {:?}", study.peer, study.path, study.repeats);
            for trial in &stored.trials {
                let _ = writeln!(text, "{} {:?} {:?}", trial.label, trial.levels, trial.notes);
            }
            for record in &stored.records {
                let external = record.external.as_ref().expect("a tool's");
                let figures = external.figures.iter();
                let figures: Vec<_> =
                    figures.map(|f| format!("{} {} {:?}", f.name, f.value, f.unit)).collect();
                let _ = writeln!(
                    text,
                    "{:?} {} {}",
                    record.outcome,
                    external.output,
                    figures.join(", ")
                );
            }
            text += &said::text(&stored);
            std::fs::remove_file(file).expect("removed");
        }
        std::fs::remove_dir(dir).expect("removed");
        kept::is_kept_text("mpi", &text);
    }
}
