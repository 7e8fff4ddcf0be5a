//! One rank: makes the runs, and at rank 0 stores them.

use super::sheet::{Sheet, cells};
use super::world::{World, gathered};
use crate::args::MpiArgs;
use crate::cause::Cause;
use crate::cmd::launcher::beside_parent;
use crate::failure::{Failure, MACHINE};
use narrows_control::key;
use narrows_model::Nanos;
use narrows_mpi::carried::{self, HostSeen};
use narrows_mpi::fabric::Fabric;
use narrows_mpi::pattern::{self, Message, Pattern, RankRole};
use narrows_mpi::samples::{self, Summary};
use narrows_mpi::{Flavour, Mpi};
use nix::sys::prctl;
use nix::sys::signal::Signal;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Set once the settings of a fabric are.
const SET: &str = "NARROWS_MPI_FABRIC_SET";
/// How long a rank waits for the library to let it go, when all is measured and stored.
const LEAVES_WITHIN: Duration = Duration::from_secs(5);
/// Interfaces whose bytes are told: those that sent most.
const INTERFACES_TOLD: usize = 8;

/// Runs a rank.
pub fn run(args: &MpiArgs, launched: (Flavour, usize)) -> Result<u8, Failure> {
    // It ends with what started it, whatever ends that.
    let _ = prctl::set_pdeathsig(Signal::SIGKILL);
    let library = args.libmpi.clone().or_else(|| beside_parent(launched.0));
    let loaded = narrows_mpi::load(library.as_deref(), Some(launched.0))?;
    narrows_mpi::ready(&loaded, Some(launched))?;
    if let Some(fabric) = args.fabric.as_ref().filter(|_| env::var_os(SET).is_none()) {
        let variables = fabric
            .variables(loaded.flavour, &loaded.version)
            .map_err(|why| Failure::of(Cause::MPI_FABRIC, why.to_string()))?;
        // A library reads its settings when it starts; the process stays the launcher's.
        let mut again = Command::new(super::super::own_binary()?);
        let error = again.args(env::args_os().skip(1)).envs(variables).env(SET, "1").exec();
        return Err(Failure::of(Cause::MACHINE, format!("starting itself again: {error}")));
    }
    is_there(args)?;
    let limit = Duration::from_secs_f64(args.limit_seconds());
    let mpi = loaded.start(Some(launched.1))?;
    if mpi.size() < 2 {
        return Err(Failure::of(Cause::MPI_RANKS, "one rank has no partner"));
    }
    // After the library's own threads have their CPUs; it ends a rank that waits for one that is
    // not there any more.
    let world = World::meet(mpi);
    thread::spawn(move || {
        thread::sleep(limit);
        note!("this rank was still waiting after {} s", limit.as_secs());
        std::process::exit(i32::from(MACHINE));
    });
    let done = work(args, &world)?;
    let code = match (done, &args.file) {
        (Some(file), None) => super::present(args, &file)?,
        _ => 0,
    };
    // MPICH 4.0.2 over UCX and TCP waits now and then for a rank that has let go already.
    thread::spawn(move || {
        thread::sleep(LEAVES_WITHIN);
        note!("the MPI library did not let this rank go; all runs were made by then");
        std::process::exit(i32::from(code));
    });
    world.mpi.finish();
    Ok(code)
}

/// Refuses a fabric whose interface or device this host lacks: some libraries take another in
/// silence.
fn is_there(args: &MpiArgs) -> Result<(), Failure> {
    let sent = carried::sent();
    let absent = args.fabric.as_ref().and_then(|it| {
        let interface = it.absent(|name| sent.contains_key(name)).map(|name| ("interface", name));
        interface.or_else(|| Some(("RDMA device", it.absent_device()?)))
    });
    let Some((what, name)) = absent else { return Ok(()) };
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let says = format!("there is no {what} {name} on {}", host.trim());
    Err(Failure::of(Cause::MPI_FABRIC, says))
}

/// Makes all runs; rank 0 gives the file that they are in.
fn work(args: &MpiArgs, world: &World) -> Result<Option<std::path::PathBuf>, Failure> {
    let mpi = &*world.mpi;
    let own = args.seed.map_or_else(|| key::chance().map(narrows_plan::seed_from), Ok)?;
    let mut seed = own.to_ne_bytes();
    mpi.share(&mut seed);
    let seed = u64::from_ne_bytes(seed);
    let mut sheet = None;
    if mpi.rank() == 0 {
        sheet = Some(Sheet::open(args, world, seed)?);
    }
    let cells = cells(args);
    for step in narrows_plan::blocks(cells.len(), args.repeats, seed) {
        let Some((pattern, message)) = cells.get(step.trial) else { continue };
        let began = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let clock = Instant::now();
        let seen = run_once(args, world, *pattern, message);
        if let (Some(sheet), Some((ranks, hosts))) = (&mut sheet, seen) {
            let times = [began, clock.elapsed()].map(|time| Nanos(time.as_nanos() as u64));
            sheet.put(
                step,
                (*pattern, message),
                &ranks,
                &carried::judge(args.fabric.as_ref(), &hosts),
                times,
            )?;
        }
    }
    sheet.map(Sheet::end).transpose()
}

/// What rank 0 is told of a run.
type Seen = (Vec<Summary>, Vec<HostSeen>);

/// One run, and at rank 0 what all ranks say of it.
fn run_once(args: &MpiArgs, world: &World, pattern: Pattern, message: &Message) -> Option<Seen> {
    let mpi = &*world.mpi;
    let part = RankRole::of(pattern, mpi.rank(), &world.hosts);
    let before = carried::sent();
    let summary = pattern::run(mpi, pattern, message, &part, Duration::from_secs_f64(args.seconds));
    let ranks = summaries(mpi, &summary);
    let device = args.fabric.as_ref().and_then(Fabric::device);
    let told = gathered(mpi, &told(&carried::since(&before), device));
    if mpi.rank() != 0 {
        return None;
    }
    let message_bytes = if pattern.is_collective() { 0 } else { message.bytes as u64 };
    let of_host = HostSeen { message_bytes, ..HostSeen::default() };
    let mut hosts = vec![of_host; world.host_count()];
    for ((rank, host), text) in ranks.iter().zip(&world.hosts).zip(&told) {
        let Some(host) = hosts.get_mut(*host) else { continue };
        host.away_bytes += rank.away_bytes;
        host.within_bytes += rank.within_bytes;
        // Every rank of a host reads the same counters: the first one's are kept.
        if host.sent_bytes.is_empty() {
            host.sent_bytes = interfaces(text);
        }
    }
    Some((ranks, hosts))
}

fn summaries(mpi: &dyn Mpi, own: &Summary) -> Vec<Summary> {
    let bytes: Vec<u8> = own.words().iter().flat_map(|word| word.to_ne_bytes()).collect();
    let mut all = if mpi.rank() == 0 { vec![0; bytes.len() * mpi.size()] } else { Vec::new() };
    mpi.gather(&bytes, &mut all);
    let words: Vec<u64> = all
        .chunks_exact(size_of::<u64>())
        .map(|word| word.try_into().map(u64::from_ne_bytes).unwrap_or_default())
        .collect();
    words
        .chunks_exact(samples::WORDS)
        .map(|words| words.try_into().map(Summary::from_words).unwrap_or_default())
        .collect()
}

/// The interface that was asked for, whatever it sent, and those that sent most.
fn told(sent: &BTreeMap<String, u64>, asked: Option<&str>) -> String {
    let mut most: Vec<(&String, &u64)> = sent.iter().collect();
    most.sort_by_key(|(name, bytes)| (asked != Some(name.as_str()), Reverse(**bytes)));
    let most = most.into_iter().take(INTERFACES_TOLD);
    most.map(|(name, bytes)| format!("{name} {bytes}\n")).collect()
}

fn interfaces(text: &str) -> BTreeMap<String, u64> {
    text.lines()
        .filter_map(|line| {
            let (name, bytes) = line.rsplit_once(' ')?;
            Some((name.to_owned(), bytes.parse().ok()?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::alone::{Alone, args};
    use super::*;

    #[test]
    fn interfaces_that_sent_most_are_told_and_read_again() {
        let sent: BTreeMap<String, u64> = (0..12).map(|n| (format!("eth{n}"), 100 * n)).collect();
        let asked = told(&sent, Some("eth3"));
        assert!(asked.starts_with("eth3 300\neth11 1100\n"), "{asked}");
        let text = told(&sent, None);
        assert!(text.starts_with("eth11 1100\neth10 1000\n"), "{text}");
        let read = interfaces(&text);
        assert_eq!(read.len(), INTERFACES_TOLD);
        assert!(read.iter().all(|(name, bytes)| sent.get(name) == Some(bytes)), "{read:?}");
        assert_eq!(interfaces("a b 7\nnonsense\nc x\n"), [("a b".to_owned(), 7)].into());
    }

    #[test]
    fn what_each_rank_timed_is_gathered_as_it_was() {
        let own = Summary {
            count: 1,
            min_ns: 2,
            p50_ns: 3,
            p90_ns: 4,
            p99_ns: 5,
            max_ns: 6,
            total_ns: 7,
            away_bytes: 8,
            within_bytes: 9,
        };
        assert_eq!(summaries(&Alone { ranks: 3 }, &own), vec![own; 3]);
    }

    #[test]
    fn a_run_is_of_all_ranks_and_its_bytes_of_their_hosts() {
        let names = vec!["n1".to_owned(), "n2".to_owned()];
        let mpi = Box::new(Alone { ranks: 2 });
        let world = World { mpi, hosts: vec![0, 1], names, oversubscribed: false };
        let message = Message::of(1000, 1);
        let seen = run_once(&args("mpi -t 0.05"), &world, Pattern::PingPong, &message);
        let (ranks, hosts) = seen.expect("rank 0");
        assert_eq!((ranks.len(), hosts.len()), (2, 2));
        assert!(ranks[0].count > 0 && ranks[0] == ranks[1], "{ranks:?}");
        for host in hosts {
            let of_one = (ranks[0].away_bytes, ranks[0].within_bytes);
            assert_eq!((host.away_bytes, host.within_bytes), of_one);
        }
    }
}
