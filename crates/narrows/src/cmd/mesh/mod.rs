//! `narrows mesh HOSTS`: pairs among many hosts, and who of them is slow. Their ends are workers of
//! agents, or ranks of an MPI.

mod agents;
mod manifest;
mod rounds;

use self::agents::Held;
use self::rounds::Rounds;
use super::launcher::Launcher;
use super::{demands, measurement};
use crate::args::{MeshArgs, Starter};
use crate::cause::Cause;
use crate::failure::{CONNECT, Failure, STOPPED, VERDICT};
use crate::{output, screen, stop};
use narrows_control::{Peer, key};
use narrows_host::Root;
use narrows_model::host::Host;
use narrows_model::load::{Params, Timeline};
use narrows_model::record::Record;
use narrows_model::study::{Ended, Study};
use narrows_model::study_kind::StudyKind;
use narrows_model::trial::{Engine, NetworkPath, Trial};
use narrows_model::workload::Workload;
use narrows_model::{Bytes, Nanos, SCHEMA_VERSION};
use narrows_plan::mesh::{self as plan, Pair};
use narrows_plan::{direct as timing, hostset};
use narrows_report::{figures, mesh as report, mesh_windows};
use narrows_runner::launch::{is_ssh, srun};
use narrows_runner::{Crowd, RANK_PAIRS_AT_ONCE, Ranks};
use narrows_stats::mesh::{Figures, Limits, Mesh, lie_apart};
use narrows_store::Store;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// What a round takes beside its window, about: pairs meet, warm up and cool down.
const BESIDE_WINDOW: Duration = Duration::from_secs(1);
/// More suspects than these are not measured again: then it is no few hosts that are slow.
const SUSPECTS_MAX: usize = 512;

pub fn run(args: &MeshArgs) -> Result<u8, Failure> {
    if let Some(image) = &args.k8s {
        return manifest::print(image, args);
    }
    let named = hostset::expand(&args.hosts)
        .map_err(|why| Failure::of(Cause::HOST_SET, why.to_string()))?;
    let by_srun = args.start == Some(Starter::Srun);
    let names = if by_srun { srun::nodes(named)? } else { named };
    if names.len() < 2 {
        return Err(Failure::of(Cause::HOST_SET, "a mesh needs two hosts or more"));
    }
    output::check_folder(&args.out)?;
    let stop = stop::flag()?;
    let (mut crew, hosts, _held) =
        if args.mpi { ranks(names, &stop)? } else { agents::call(args, names, &stop)? };
    let mut meshed = Meshed::open(args, &crew, &hosts)?;
    let measured = meshed.measure(&mut crew, &stop);
    let stopped = measured.inspect_err(|_| output::kept(meshed.store.path(), ""))?;
    let ended = if stopped { Ended::by_signal() } else { Ended::Complete };
    meshed.store.put_ended(&ended)?;
    let path = meshed.store.path().to_owned();
    drop(meshed);
    present(args, &path, &crew, stopped)
}

/// What makes the ends of pairs.
enum Crew {
    Agents(Crowd),
    Ranks(Ranks),
}

impl Crew {
    fn names(&self) -> &[String] {
        match self {
            Self::Agents(crowd) => &crowd.names,
            Self::Ranks(ranks) => &ranks.names,
        }
    }

    /// Why each host is not there.
    fn gone(&self) -> Vec<Option<String>> {
        match self {
            Self::Agents(crowd) => crowd.gone.clone(),
            Self::Ranks(ranks) => {
                ranks.gone.iter().map(|why| why.as_ref().map(ToString::to_string)).collect()
            }
        }
    }

    /// The most pairs of a round.
    fn at_once(&self) -> usize {
        match self {
            Self::Agents(_) => usize::MAX,
            Self::Ranks(_) => RANK_PAIRS_AT_ONCE,
        }
    }

    /// Agents that are there; none where a launcher starts the ends.
    fn peers(&self) -> impl Iterator<Item = &Peer> {
        let peers = match self {
            Self::Agents(crowd) => crowd.peers.as_slice(),
            Self::Ranks(_) => &[],
        };
        peers.iter().flatten()
    }

    fn round(
        &mut self,
        trials: &[(&Trial, u32)],
        block: u32,
        stop: &AtomicBool,
    ) -> (Vec<Record>, bool) {
        match self {
            Self::Agents(crowd) => crowd.round(trials, block, stop),
            Self::Ranks(ranks) => ranks.round(trials, block, stop),
        }
    }
}

/// Who makes the ends, what their hosts are, and the agents that were started, which go with this.
type Called = (Crew, Vec<Host>, Held);

/// Names that the launcher of an MPI can take.
fn check_for_launcher(names: &[String]) -> Result<(), Failure> {
    let Some(name) = names.iter().find(|name| is_ssh(name) || name.starts_with('-')) else {
        return Ok(());
    };
    let says = format!("{name}: the launcher of an MPI takes hosts by name, without ssh:");
    Err(Failure::of(Cause::HOST_SET, says))
}

/// Sees which hosts the launcher of the MPI that there is reaches.
fn ranks(names: Vec<String>, stop: &AtomicBool) -> Result<Called, Failure> {
    check_for_launcher(&names)?;
    // Without one, this says what to install.
    Launcher::find(None, stop)?;
    let hosts = names.iter().map(|_| Host::default()).collect();
    let called = Ranks::call(names, stop);
    let ranks = called.ok_or_else(|| Failure::of(Cause::STOPPED, Ended::BY_SIGNAL))?;
    for why in ranks.gone.iter().flatten() {
        note!("{why}");
    }
    match ranks.gone.iter().flatten().next() {
        Some(why) if !ranks.is_enough() => Err(Failure::of(Cause::MPI_HOSTS, why.to_string())),
        _ => Ok((Crew::Ranks(ranks), hosts, Held::Nobody)),
    }
}

/// A mesh while it is measured.
struct Meshed<'a> {
    args: &'a MeshArgs,
    store: Store,
    of_pair: OfPair,
    trials: BTreeMap<Pair, Trial>,
    /// Runs of each pair so far.
    repeats: BTreeMap<Pair, u32>,
    rounds: Vec<Vec<Pair>>,
    /// Hosts that are not there, each with one that is.
    absent: Vec<Pair>,
    /// Rounds so far.
    block: u32,
    /// What a user sees of them.
    seen: Rounds,
}

impl<'a> Meshed<'a> {
    fn open(args: &'a MeshArgs, crew: &Crew, hosts: &[Host]) -> Result<Self, Failure> {
        let own = narrows_host::read(&Root::live());
        let seed = args.seed.map_or_else(|| key::chance().map(narrows_plan::seed_from), Ok)?;
        let (rounds, absent) = rounds_among(args, crew, seed);
        let (kind, settings) = (args.kind(), args.settings());
        let caches = hosts.iter().map(Host::last_level_cache_bytes);
        let cache = caches.fold(own.last_level_cache_bytes(), Bytes::max);
        let params: Params = settings
            .params(cache, Bytes(0))
            .map_err(|why| Failure::of(Cause::LIMIT, why.to_string()))?;
        let window = args.seconds.map_or(timing::WINDOW, Nanos::from_seconds);
        let line = if args.mpi { plan::of_ranks(window) } else { plan::timeline(window) };
        let names = crew.names().to_vec();
        let of_pair = OfPair { kind, params, line, engine: args.engine(), names };
        let pairs = rounds.iter().flatten().chain(&absent);
        let trials: BTreeMap<Pair, Trial> =
            pairs.map(|pair| (*pair, of_pair.trial(*pair))).collect();
        let all: Vec<Trial> = trials.values().cloned().collect();
        for (trial, peer) in
            all.first().iter().flat_map(|trial| crew.peers().map(move |peer| (trial, peer)))
        {
            measurement::check(trial)?;
            peer.can(trial)?;
        }
        let began = output::now();
        let study = study(crew, seed, began, &own);
        let mut draft = Store::draft(&output::stamped(&args.out, "mesh", began), &study, &own)?;
        draft.put_trials(&all)?;
        draft.put_peer_hosts(hosts)?;
        let store = draft.publish()?;
        let seen = Rounds::new(rounds.len(), Duration::from_nanos(window.0) + BESIDE_WINDOW);
        let repeats = BTreeMap::new();
        Ok(Self { args, store, of_pair, trials, repeats, rounds, absent, block: 0, seen })
    }

    /// Says in the file who is not there.
    fn note_absent(&mut self, crew: &mut Crew, stop: &AtomicBool) -> Result<(), Failure> {
        for pair in &self.absent {
            let Some(trial) = self.trials.get(pair) else { continue };
            let (records, _) = crew.round(&[(trial, 0)], self.block, stop);
            self.store.put_records(&records)?;
        }
        self.block += u32::from(!self.absent.is_empty());
        Ok(())
    }

    /// A round, and once more where its windows lay apart: then pairs had less beside them than
    /// they were to have. Whether the user stopped it.
    fn until_met(
        &mut self,
        crew: &mut Crew,
        round: &[Pair],
        stop: &AtomicBool,
    ) -> Result<bool, Failure> {
        let (stopped, is_apart) = self.round(crew, round, stop)?;
        if stopped || !is_apart {
            return Ok(stopped);
        }
        self.seen.add(1);
        Ok(self.round(crew, round, stop)?.0)
    }

    /// All rounds, and suspects again; whether the user stopped it.
    fn measure(&mut self, crew: &mut Crew, stop: &AtomicBool) -> Result<bool, Failure> {
        self.note_absent(crew, stop)?;
        for round in std::mem::take(&mut self.rounds) {
            if self.until_met(crew, &round, stop)? {
                return Ok(true);
            }
        }
        if self.args.once {
            return Ok(false);
        }
        Ok(self.again(crew, stop)? || self.crossed(crew, stop)?)
    }

    /// Suspects again; whether the user stopped it.
    fn again(&mut self, crew: &mut Crew, stop: &AtomicBool) -> Result<bool, Failure> {
        // Half as many pairs each time, until every suspect has run by itself.
        let mut at_once = (crew.names().len() / 4).clamp(1, crew.at_once());
        loop {
            let suspects = self.evaluated()?.map_or_else(Vec::new, |mesh| mesh.suspects());
            if suspects.is_empty() {
                return Ok(false);
            }
            if suspects.len() > SUSPECTS_MAX {
                note!("{} suspects, too many to be measured again", suspects.len());
                return Ok(false);
            }
            let rounds = plan::packed(&suspects, at_once);
            let alone = rounds.iter().all(|round| round.len() == 1);
            self.seen.add(rounds.len());
            for round in rounds {
                if self.until_met(crew, &round, stop)? {
                    return Ok(true);
                }
            }
            if alone {
                return Ok(false);
            }
            at_once = (at_once / 2).max(1);
        }
    }

    /// One round, and its records to disk; whether the user stopped it, and whether its windows lay
    /// apart.
    fn round(
        &mut self,
        crew: &mut Crew,
        round: &[Pair],
        stop: &AtomicBool,
    ) -> Result<(bool, bool), Failure> {
        let mut trials = Vec::new();
        for pair in round {
            let Some(trial) = self.trials.get(pair) else { continue };
            let repeat = self.repeats.entry(*pair).or_default();
            trials.push((trial, *repeat));
            *repeat += 1;
        }
        self.seen.begins(trials.len());
        let (records, stopped) = crew.round(&trials, self.block, stop);
        let ran = trials.iter().map(|(trial, _)| *trial).zip(&records);
        self.seen.ran(Figures::of(ran));
        self.block += 1;
        if !stopped {
            self.store.put_records(&records)?;
        }
        Ok((stopped, lie_apart(&records)))
    }

    /// The hosts of slow pairs with others, where no pair so far tells which of them is slow;
    /// whether the user stopped it.
    fn crossed(&mut self, crew: &mut Crew, stop: &AtomicBool) -> Result<bool, Failure> {
        let Some(mesh) = self.evaluated()? else { return Ok(false) };
        let (slow, well) = (mesh.untold(), mesh.well());
        let pairs = plan::crossed(&slow, &well, |pair| self.trials.contains_key(pair));
        if pairs.len() > SUSPECTS_MAX {
            return Ok(false);
        }
        let more: Vec<Trial> = pairs.iter().map(|pair| self.of_pair.trial(*pair)).collect();
        self.store.put_more(&more, &[])?;
        self.trials.extend(pairs.iter().copied().zip(more));
        // As few at once as suspects last were, or nearly.
        let rounds = plan::packed(&pairs, (well.len() / 8).clamp(1, crew.at_once()));
        self.seen.add(rounds.len());
        for round in rounds {
            if self.until_met(crew, &round, stop)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// What is stored so far.
    fn evaluated(&self) -> Result<Option<Mesh>, Failure> {
        Ok(Mesh::of(&narrows_store::read(self.store.path())?, limits(self.args)))
    }
}

/// The rounds among the hosts that are there, so that nobody waits for a partner that does not
/// come; and of each of the others a pair that stands in the file with why it was not begun.
fn rounds_among(args: &MeshArgs, crew: &Crew, seed: u64) -> (Vec<Vec<Pair>>, Vec<Pair>) {
    let gone = crew.gone();
    let (there, absent): (Vec<usize>, Vec<usize>) =
        (0..gone.len()).partition(|host| gone[*host].is_none());
    let placed = |(from, to): &Pair| (there[*from], there[*to]);
    let rounds = plan::at_most(&args.shape().rounds(there.len(), seed), crew.at_once());
    let rounds = rounds.iter().map(|round| round.iter().map(placed).collect()).collect();
    let absent = absent.into_iter().zip(there.iter().cycle()).map(|(host, of)| (host, *of));
    (rounds, absent.collect())
}

/// What every pair runs.
struct OfPair {
    kind: Workload,
    params: Params,
    line: Timeline,
    engine: Option<Engine>,
    names: Vec<String>,
}

impl OfPair {
    fn trial(&self, pair: Pair) -> Trial {
        let trial = plan::trial(pair, &self.kind, &self.params, self.line, &self.names);
        Trial { engine: self.engine.clone(), ..trial }
    }
}

fn limits(args: &MeshArgs) -> Limits {
    Limits { latency_times: args.latency_times, rate_share: args.rate_share }
}

fn study(crew: &Crew, seed: u64, began_unix_ns: Nanos, own: &Host) -> Study {
    Study {
        peer: Some(crew.names().join(", ")),
        began_unix_ns,
        cache_bytes: own.last_level_cache_bytes(),
        ..Study::new(StudyKind::Mesh, NetworkPath::Peer, 1, seed)
    }
}

fn present(args: &MeshArgs, path: &Path, crew: &Crew, stopped: bool) -> Result<u8, Failure> {
    let stored = narrows_store::read(path)?;
    let mesh = Mesh::of(&stored, limits(args));
    if mesh.is_none() && stopped {
        note!("stopped before a pair was measured");
        return Ok(STOPPED);
    }
    let mesh = mesh.ok_or_else(|| Failure::of(Cause::RUNS_FAILED, "no pair was measured"))?;
    let names = crew.names();
    if let Some(file) = &args.svg {
        output::write_whole(file, &figures::of_mesh(&mesh, names))?;
    }
    let text = if args.json {
        let document = serde_json::json!({
            "schema_version": SCHEMA_VERSION, "hosts": names, "gone": crew.gone(), "mesh": mesh,
            "socket_buffers": mesh_windows::all(&mesh, &stored),
        });
        serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"
    } else {
        report::text(&mesh, &stored, names, &screen::of_output())
    };
    output::print_json_or_text(args.json, &text)?;
    output::made(path, "");
    let code = match (stopped, mesh.best, mesh.named.is_empty()) {
        (true, _, _) => STOPPED,
        (false, None, _) => CONNECT,
        (false, Some(_), false) => VERDICT,
        (false, Some(_), true) => 0,
    };
    demands::judged_of(&stored, &args.demands, code)
}
