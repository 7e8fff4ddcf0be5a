//! `narrows search HOST`: which options make traffic to a host slower than it should be. What is
//! looked at next follows from the runs before; what is named rests on pairs of runs alone.

use super::early::{self, EndedEarly};
use super::measurement::{self, Measurement, Met, Opened, Sides};
use super::variants::other_control;
use crate::args::AnomalyArgs;
use crate::cause::Cause;
use crate::cmd::demands;
use crate::failure::{Failure, VERDICT};
use crate::output::{self, Amid, Planned};
use crate::progress::Whole;
use crate::screen;
use narrows_control::key;
use narrows_model::Nanos;
use narrows_model::explored::Point;
use narrows_model::options::runs;
use narrows_model::record::{Outcome, Record};
use narrows_model::study::Study;
use narrows_model::study_kind::StudyKind;
use narrows_model::trial::{EndHost, Trial};
use narrows_model::workload::Workload;
use narrows_plan::Step;
use narrows_plan::anomalies::{COOLDOWN_SECONDS, Shared, Space, Traffic, Wanted};
use narrows_plan::diagnose::Order;
use narrows_plan::direct as plan;
use narrows_plan::study::Settings;
use narrows_report::anomalies;
use narrows_runner::CourseEnd;
use narrows_runner::controller::Controller;
use narrows_stats::{Anomalies, Exploration, Look, look};
use narrows_workloads::rdma;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// MTU of a path that the kernel does not know.
const MTU_BYTES: u64 = 1500;
/// Runs that are made until one says something.
const TRIES: u32 = 3;

pub fn run(args: &AnomalyArgs) -> Result<u8, Failure> {
    let mut settings = Settings::default();
    settings.tell(&runs::LOAD, Workload::TCP_STREAM.to_string());
    let measurement = asked(args, settings);
    let met = measurement::meet(&measurement)?;
    let space = space(args, &met)?;
    let seed = match args.seed {
        Some(seed) => seed,
        None => narrows_plan::seed_from(key::chance()?),
    };
    let explored = Some(space.explored.clone());
    let study = Study { seed, repeats: 1, explored, ..measurement.head(&met)? };
    let opened = measurement::begin(&measurement, met, study, Vec::new())?;
    let session = Session {
        args,
        exploration: Exploration::new(&space.explored, seed),
        space,
        opened,
        order: Order::default(),
        trials: BTreeMap::new(),
        refusal: None,
        began: Instant::now(),
        whole: Whole::default(),
    };
    session.run()
}

fn asked(args: &AnomalyArgs, settings: Settings) -> Measurement<'_> {
    Measurement::of(StudyKind::Search, &args.peer, settings)
}

/// What is varied between these hosts.
fn space(args: &AnomalyArgs, met: &Met) -> Result<Space, Failure> {
    let there = met.peer_hosts.first();
    let has_rdma = there.is_some_and(|there| !there.rdma.is_empty()) && !met.host.rdma.is_empty();
    let traffic = if args.traffic.is_empty() {
        let able = has_rdma && rdma::available(None).is_ok();
        Traffic::ALL.into_iter().filter(|of| *of != Traffic::Rdma || able).collect()
    } else {
        args.traffic.clone()
    };
    if traffic.contains(&Traffic::Rdma) {
        rdma::available(None)?;
    }
    let control =
        other_control(&met.host).filter(|own| there.and_then(other_control) == Some(*own));
    let wanted = Wanted {
        minutes: args.minutes,
        traffic,
        controls: control.map(str::to_owned).into_iter().collect(),
        has_nodes: met.host.nodes.len() > 1,
        mtu_bytes: met.far.path_mtu().map_or(MTU_BYTES, |mtu| mtu.0),
        devices: there.map_or_else(Vec::new, |there| Shared::of(&met.host, there)),
        sleeps: there.into_iter().chain([&met.host]).any(Wanted::must_sleep),
    };
    Space::of(&wanted).map_err(|why| Failure::of(Cause::NO_TIME, why.to_string()))
}

struct Session<'a> {
    args: &'a AnomalyArgs,
    space: Space,
    opened: Opened,
    exploration: Exploration,
    order: Order,
    /// Indices of the trials of points; `None` where a host cannot run one.
    trials: BTreeMap<Point, Option<usize>>,
    /// Why the first point that cannot be run cannot.
    refusal: Option<Failure>,
    began: Instant,
    whole: Whole,
}

impl Session<'_> {
    /// Makes all runs and says what they show.
    fn run(mut self) -> Result<u8, Failure> {
        let file = self.opened.file.clone();
        let ran = early::course(self.explore())?;
        let end = output::ended(&self.opened.store, ran, &self.opened.stop)?;
        output::nothing_measured(&file)?;
        if let Some(refusal) = self.refusal.take_if(|_| self.exploration.made() == 0) {
            return Err(refusal);
        }
        let verdict = self.present()?;
        output::made(&file, "");
        let out = &self.args.peer.out;
        demands::judged(&file, &out.demands, output::exit_code(&end, verdict))
    }

    fn explore(&mut self) -> Result<(), EndedEarly> {
        loop {
            let block = self.exploration.next(self.left());
            if block.is_empty() {
                return Ok(());
            }
            let looks = self.block(&block)?;
            self.exploration.take(&block, &looks);
        }
    }

    /// Runs that fit into the time that is left, as long as runs took until now.
    fn left(&self) -> u32 {
        let past = self.began.elapsed();
        let made = self.exploration.made();
        let each = match made {
            0 => self.space.run_seconds(),
            made => past.as_secs_f64() / f64::from(made),
        };
        (self.time_left().as_secs_f64() / each) as u32
    }

    fn time_left(&self) -> Duration {
        let all = Duration::from_secs_f64(self.args.minutes * 60.0);
        all.saturating_sub(self.began.elapsed())
    }

    /// Makes the runs of a block; none of them where a host cannot run one.
    fn block(&mut self, block: &[Point]) -> Result<Vec<Option<Look>>, EndedEarly> {
        let trials: Result<Vec<Option<usize>>, EndedEarly> =
            block.iter().map(|point| self.trial_of(point)).collect();
        let Some(trials) = trials?.into_iter().collect::<Option<Vec<usize>>>() else {
            return Ok(vec![None; block.len()]);
        };
        let mut looks = Vec::new();
        for step in self.order.block(&trials) {
            looks.push(self.look(step)?);
        }
        Ok(looks)
    }

    /// Makes a run, again where what came of it says nothing: where the windows of its ends lie
    /// apart.
    fn look(&mut self, step: Step) -> Result<Option<Look>, EndedEarly> {
        let mut step = step;
        for _ in 0..TRIES {
            let (is_done, look) = self.one(step)?;
            if look.is_some() || !is_done {
                return Ok(look);
            }
            let again = self.order.block(&[step.trial]).into_iter().next();
            step = again.map_or(step, |again| Step { block: step.block, ..again });
        }
        Ok(None)
    }

    /// Makes one run: whether it was made to its end, and what it says.
    fn one(&mut self, step: Step) -> Result<(bool, Option<Look>), EndedEarly> {
        let own = asked(self.args, Settings::default());
        let (made, left) = (self.exploration.made(), self.left());
        self.whole.done = made as usize;
        self.whole.about = (made + left) as usize;
        self.whole.left = self.time_left();
        let Opened { far, study, trials, store, stop, .. } = &mut self.opened;
        let (launcher, ends) = (own.launcher()?, far.ends());
        let mut controller = Controller { launcher, ends, together: false, stop, onlooker: None };
        let planned = Planned { study, trials, steps: &[step], store };
        let (mut is_done, mut looked) = (false, None);
        let out = &self.args.peer.out;
        let seen = &mut |trial: &Trial, record: &Record| {
            (is_done, looked) = (record.outcome == Outcome::Done, look(trial, record));
        };
        let amid = Amid { whole: Some(&mut self.whole), seen };
        let ran = output::run_amid(&mut controller, &planned, out, amid);
        match ran.map_err(EndedEarly::Broken)? {
            CourseEnd::Stopped => Err(EndedEarly::Stopped),
            CourseEnd::Complete | CourseEnd::HostsGone => Ok((is_done, looked)),
        }
    }

    /// The trial of a point, which is stored before its first run.
    fn trial_of(&mut self, point: &Point) -> Result<Option<usize>, EndedEarly> {
        if let Some(known) = self.trials.get(point) {
            return Ok(*known);
        }
        let at = match self.made(point) {
            Ok(trial) => {
                let opened = &mut self.opened;
                opened.store.put_more(std::slice::from_ref(&trial), &[]).map_err(Failure::from)?;
                opened.trials.push(trial);
                Some(opened.trials.len() - 1)
            }
            Err(why) => {
                self.refusal.get_or_insert(why);
                None
            }
        };
        self.trials.insert(point.clone(), at);
        Ok(at)
    }

    fn made(&self, point: &Point) -> Result<Trial, Failure> {
        let opened = &self.opened;
        let round_trip = opened.far.round_trip();
        let sides = Sides {
            host: &opened.host,
            peer_hosts: &opened.peer_hosts,
            interface: opened.study.interfaces.to(EndHost::Peer(0)),
            round_trip,
        };
        let trial =
            asked(self.args, self.space.settings(point)).trial(opened.study.path, &sides)?;
        let cooldown = COOLDOWN_SECONDS + 2.0 * round_trip.as_secs_f64();
        let trial = plan::cooled(trial, Nanos::from_seconds(cooldown));
        let of = self.space.explored.of(point);
        let label = format!("{}, {}", of.name, of.name_of(point));
        let levels = self.space.explored.levels(point);
        let trial = Trial { levels, ..plan::labelled(trial, &label) };
        opened.far.can(std::slice::from_ref(&trial))?;
        Ok(trial)
    }

    /// Prints what was found, and writes a study for each.
    fn present(&self) -> Result<u8, Failure> {
        let (file, out) = (&self.opened.file, &self.args.peer.out);
        let stored = narrows_store::read(file)?;
        let Some(all) = narrows_stats::anomalies(&stored) else { return Ok(0) };
        let files = self.write_studies(&all)?;
        let verdict = if all.found.is_empty() { 0 } else { VERDICT };
        if out.json_stream || out.verbose || !matches!(out.format(), "text" | "json") {
            output::present(file, out, None)?;
        } else if out.format() == "json" {
            let says: Vec<String> = all.found.iter().map(anomalies::sentence).collect();
            let document = serde_json::json!({
                "schema_version": narrows_model::SCHEMA_VERSION,
                "study": file,
                "seed": stored.study.seed,
                "ended": stored.ended,
                "says": says,
                "study_files": files,
                "anomalies": all,
            });
            let text = serde_json::to_string_pretty(&document).unwrap_or_default();
            output::print_exact(&(text + "\n"))?;
        } else {
            let text = anomalies::page(&all, &screen::of_output());
            output::print(&text)?;
        }
        for study in &files {
            let peer = self.args.peer.hosts.join(", ");
            note!("again: narrows study run {} --peer {peer}", study.display());
        }
        Ok(verdict)
    }

    /// A study for each anomaly, beside the file.
    fn write_studies(&self, all: &Anomalies) -> Result<Vec<PathBuf>, Failure> {
        let numbered = all.found.iter().enumerate();
        let written = numbered.map(|(at, anomaly)| {
            let about = anomalies::sentence(anomaly);
            let text = self.space.definition(&about, &anomaly.point, &anomaly.beside);
            let text = text.map_err(|why| Failure::of(Cause::DEFINITION, why.to_string()))?;
            let path = beside(&self.opened.file, at + 1);
            output::write_whole(&path, &text)?;
            Ok(path)
        });
        written.collect()
    }
}

/// The file of a study's n-th anomaly.
fn beside(file: &Path, number: usize) -> PathBuf {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    file.with_file_name(format!("{stem}-anomaly-{number}.toml"))
}
