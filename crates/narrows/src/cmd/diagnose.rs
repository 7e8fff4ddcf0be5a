//! `narrows diagnose HOST`: measures, asks what is likely, changes one thing at a time and says
//! which one moved the figure.

use super::demands;
use super::early::{self, EndedEarly};
use super::measurement::{self, Measurement, Opened};
use crate::args::DiagnoseArgs;
use crate::failure::Failure;
use crate::output::{self, Amid, Planned};
use crate::progress::Whole;
use crate::{cmd, screen};
use narrows_explain::tune::{Advice, Profile, advise};
use narrows_hostctl::guard::Guard;
use narrows_model::host::Host;
use narrows_model::load::CpuList;
use narrows_model::options::runs;
use narrows_model::study_kind::StudyKind;
use narrows_model::trial::Trial;
use narrows_model::workload::Workload;
use narrows_model::{Bytes, Change};
use narrows_plan::Step;
use narrows_plan::diagnose::{Known, Order, changes, paced, under};
use narrows_report::diagnosis::{Diagnosis, hypotheses};
use narrows_report::{Analysis, diagnosed};
use narrows_runner::CourseEnd;
use narrows_runner::controller::Controller;
use narrows_runner::unmet;
use narrows_stats::{Capacity, TENTH, capacity, changed};
use std::time::{Duration, Instant};

/// No change is tried later, so that the whole takes less than three minutes.
const TRY_UNTIL: Duration = Duration::from_secs(100);
/// And none is confirmed later.
const CONFIRM_UNTIL: Duration = Duration::from_secs(150);
/// Warm-up of each run in seconds: there are some sixty.
const WARMUP_S: f64 = 0.25;
/// Changes that are confirmed.
const CONFIRMED: usize = 3;
/// Settings of the kernel that are tried.
const SETTINGS: usize = 4;
/// Of what a path carries so much is payload of full segments at 1500 B, less a twentieth.
const PACE_SHARE: f64 = 0.9;

pub fn run(args: &DiagnoseArgs) -> Result<u8, Failure> {
    let began = Instant::now();
    let measurement = asked(args);
    let opened = measurement::open(&measurement)?;
    let guard = args.apply.then(|| Guard::start(&cmd::own_binary()?).map_err(Failure::from));
    let session = Session {
        args,
        measurement: &measurement,
        opened,
        order: Order::default(),
        settings: Vec::new(),
        guard: guard.transpose()?,
        began,
        whole: Whole::default(),
    };
    let (file, end) = session.measure()?;
    present(args, &file)?;
    output::made(&file, "");
    output::nothing_measured(&file)?;
    demands::judged(&file, &args.peer.out.demands, output::exit_code(&end, 0))
}

/// What is measured before anything is changed.
pub(super) fn asked(args: &DiagnoseArgs) -> Measurement<'_> {
    let mut settings = args.told.of_load(&Workload::TCP_STREAM);
    settings.tell(&runs::WARMUP_SECONDS, WARMUP_S);
    Measurement { diagnose: true, ..Measurement::of(StudyKind::Diagnose, &args.peer, settings) }
}

/// Prints the answers.
fn present(args: &DiagnoseArgs, file: &std::path::Path) -> Result<(), Failure> {
    let out = &args.peer.out;
    if out.json_stream || out.verbose || !matches!(out.format(), "text" | "json") {
        return output::present(file, out, None).map(drop);
    }
    let stored = narrows_store::read(file)?;
    let diagnosis = Diagnosis::of(&Analysis::of(&stored));
    if out.format() == "json" {
        let document = serde_json::json!({
            "schema_version": narrows_model::SCHEMA_VERSION,
            "study": file,
            "diagnosis": diagnosis,
        });
        let text = serde_json::to_string_pretty(&document).unwrap_or_default();
        return output::print_exact(&(text + "\n"));
    }
    let to = args.peer.hosts.join(", ");
    output::print(&diagnosed::text(&diagnosis, &to, &output::details(file), &screen::of_output()))
}

/// A setting that a trial changes: its trial's index, its file, what it was and what it is to be.
struct Set {
    trial: usize,
    path: String,
    was: String,
    wanted: String,
}

struct Session<'a> {
    args: &'a DiagnoseArgs,
    measurement: &'a Measurement<'a>,
    opened: Opened,
    order: Order,
    settings: Vec<Set>,
    guard: Option<Guard>,
    began: Instant,
    /// How far all runs are.
    whole: Whole,
}

impl Session<'_> {
    /// Makes all runs; the file, and how they ended.
    fn measure(mut self) -> Result<(std::path::PathBuf, CourseEnd), Failure> {
        let ran = early::course(self.try_all())?;
        // Settings are back before anything is said.
        self.guard = None;
        let end = output::ended(&self.opened.store, ran, &self.opened.stop)?;
        Ok((self.opened.file, end))
    }

    fn try_all(&mut self) -> Result<(), EndedEarly> {
        let probe = self.opened.trials.len() - 1;
        let first: &[usize] = if probe > 0 { &[0, 1, 0, 0] } else { &[0, 0, 0] };
        for step in self.order.block(first) {
            self.make(&[step])?;
            if self.is_apart()? {
                return Ok(());
            }
        }
        self.plan_changes()?;
        for trial in self.by_likelihood()? {
            if self.began.elapsed() < TRY_UNTIL {
                let steps = self.order.quadruple(0, trial);
                self.make(&steps)?;
            }
        }
        // Two pairs a quadruple, and all changes in turn: a slow minute falls on all of them.
        let picked = self.picked()?;
        for _ in 0..self.args.peer.repeats.div_ceil(2) {
            for trial in &picked {
                if self.began.elapsed() < CONFIRM_UNTIL {
                    let steps = self.order.quadruple(0, *trial);
                    self.make(&steps)?;
                }
            }
        }
        Ok(())
    }

    /// Whether the ends did not find each other in as many runs as are no chance: no change would
    /// help, and each would wait for its own in vain.
    fn is_apart(&self) -> Result<bool, EndedEarly> {
        let stored = narrows_store::read(&self.opened.file).map_err(Failure::from)?;
        Ok(unmet::never_meets(&stored, &self.opened.trials[0].id))
    }

    /// Makes runs one by one, each under the settings that it is to have.
    fn make(&mut self, steps: &[Step]) -> Result<(), EndedEarly> {
        for step in steps {
            let set = self.settings.iter().position(|set| set.trial == step.trial);
            self.set(set, |set| &set.wanted)?;
            let ran = self.one(step);
            self.set(set, |set| &set.was)?;
            match ran? {
                CourseEnd::Complete | CourseEnd::HostsGone => {}
                CourseEnd::Stopped => return Err(EndedEarly::Stopped),
            }
        }
        Ok(())
    }

    /// Gives a setting one of its values. The guard knows what it was, whatever happens here.
    fn set(&mut self, which: Option<usize>, value: fn(&Set) -> &String) -> Result<(), EndedEarly> {
        let set = which.and_then(|at| self.settings.get(at));
        if let (Some(set), Some(guard)) = (set, &mut self.guard) {
            guard.set(&set.path, value(set)).map_err(Failure::from)?;
        }
        Ok(())
    }

    fn one(&mut self, step: &Step) -> Result<CourseEnd, EndedEarly> {
        let Opened { far, study, trials, store, stop, .. } = &mut self.opened;
        let launcher = self.measurement.launcher()?;
        let ends = far.ends();
        let mut controller = Controller { launcher, ends, together: false, stop, onlooker: None };
        let steps = std::slice::from_ref(step);
        let planned = Planned { study, trials, steps, store };
        self.whole.left = CONFIRM_UNTIL.saturating_sub(self.began.elapsed());
        self.whole.about = about(self.whole.done, self.began.elapsed());
        let amid = Amid { whole: Some(&mut self.whole), seen: &mut |_, _| () };
        let ran = output::run_amid(&mut controller, &planned, &self.args.peer.out, amid);
        self.whole.done += 1;
        ran.map_err(EndedEarly::Broken)
    }

    /// Adds the trials of all changes that these hosts and the agent's owner allow.
    fn plan_changes(&mut self) -> Result<(), EndedEarly> {
        let base = self.opened.trials[0].clone();
        let known = known(&self.opened.host, self.opened.peer_hosts.first(), &base);
        let mut more = changes(&base, &known);
        more.extend(self.paces(&base)?);
        more.retain(|trial| self.opened.far.can(std::slice::from_ref(trial)).is_ok());
        if self.guard.is_some() {
            for advice in settings(&self.opened.host) {
                let trial = self.opened.trials.len() + more.len();
                more.push(under(&base, &advice.setting, &advice.wanted));
                let (path, was) = (advice.files[0].clone(), advice.now.clone());
                self.settings.push(Set { trial, path, was, wanted: advice.wanted });
            }
        }
        self.opened.store.put_more(&more, &[]).map_err(Failure::from)?;
        self.opened.trials.extend(more);
        Ok(())
    }

    /// Paces that follow from what was measured until now.
    fn paces(&self, base: &Trial) -> Result<Vec<Trial>, EndedEarly> {
        let stored = narrows_store::read(&self.opened.file).map_err(Failure::from)?;
        let analysis = Analysis::of(&stored);
        let probes = stored.records.iter().filter_map(|record| record.sender()?.probe.as_deref());
        let ways = probes.map(|one| if base.params.is_reverse() { &one.back } else { &one.there });
        let carries = ways.filter_map(capacity).find_map(|known| match known {
            Capacity::Between { low_bps, .. } => Some(low_bps),
            Capacity::AtLeast { .. } => None,
        });
        let pace = carries.and_then(|bps| paced(base, Change::Pace, (PACE_SHARE * bps) as u64));
        let reached = analysis.summaries.iter().find(|summary| summary.label == base.label);
        let reached = reached.and_then(|summary| summary.estimate).filter(|one| one.value > 1e6);
        let half = reached.and_then(|one| paced(base, Change::HalfPace, (one.value / 2.0) as u64));
        Ok(pace.into_iter().chain(half).collect())
    }

    /// The trials that change something, those first that the findings make likely.
    fn by_likelihood(&self) -> Result<Vec<usize>, EndedEarly> {
        let stored = narrows_store::read(&self.opened.file).map_err(Failure::from)?;
        let likely = hypotheses(&Analysis::of(&stored));
        let likely: Vec<Change> = likely.iter().flat_map(|one| one.changes).copied().collect();
        let trials = self.opened.trials.iter().enumerate();
        let changes = trials.filter_map(|(at, trial)| Some((at, Change::of(trial)?)));
        let mut ranked: Vec<(usize, usize)> = changes
            .map(|(at, change)| {
                let rank = likely.iter().position(|one| *one == change);
                (rank.unwrap_or(likely.len()), at)
            })
            .collect();
        ranked.sort_unstable();
        Ok(ranked.into_iter().map(|(_, at)| at).collect())
    }

    /// The trials whose effect is measured: those that moved the figure most as they were tried,
    /// and, where none did, the likeliest.
    fn picked(&self) -> Result<Vec<usize>, EndedEarly> {
        let stored = narrows_store::read(&self.opened.file).map_err(Failure::from)?;
        let tried = changed(&stored);
        let mut moved: Vec<(f64, usize)> = tried
            .iter()
            .filter(|one| one.tried_ratio > TENTH)
            .filter_map(|one| {
                let at = self.opened.trials.iter().position(|trial| trial.id == one.trial)?;
                Some((one.tried_ratio, at))
            })
            .collect();
        moved.sort_by(|a, b| b.0.total_cmp(&a.0));
        moved.truncate(CONFIRMED);
        if moved.is_empty() {
            return Ok(self.by_likelihood()?.into_iter().take(1).collect());
        }
        Ok(moved.into_iter().map(|(_, at)| at).collect())
    }
}

/// Runs that a diagnosis usually makes.
const RUNS_ABOUT: usize = 60;

/// How many runs there will be where so many took so long.
fn about(done: usize, past: Duration) -> usize {
    match done {
        0..4 => RUNS_ABOUT,
        _ => (done as f64 * CONFIRM_UNTIL.as_secs_f64() / past.as_secs_f64().max(0.1)) as usize,
    }
}

/// What the two hosts have.
fn known(here: &Host, there: Option<&Host>, base: &Trial) -> Known {
    let sender = if base.params.is_reverse() { there } else { Some(here) };
    let congestion = sender.and_then(super::variants::other_control).map(str::to_owned);
    let both = most(here).zip(there.and_then(most));
    let buffer_bytes = both.map(|(here, there)| Bytes(here.min(there)));
    Known { congestion, buffer_bytes, cpus: cpus(here, there) }
}

fn most(host: &Host) -> Option<u64> {
    let of = |name: &str| host.tuning.get(name)?.value()?.trim().parse::<u64>().ok();
    Some(of("net.core.rmem_max")?.min(of("net.core.wmem_max")?))
}

/// The first CPUs of this host and the last of the other: apart where both are one machine.
fn cpus(here: &Host, there: Option<&Host>) -> Option<(CpuList, CpuList)> {
    let near = here.cpu.online.value()?.first()?;
    let far = there?.cpu.online.value()?.last()?;
    (near != far).then(|| (CpuList(vec![*near]), CpuList(vec![*far])))
}

/// Settings of this host's network that advice would change, each a file.
fn settings(host: &Host) -> Vec<Advice> {
    let advised = advise(host, Profile::Throughput, None).advice.into_iter();
    advised
        .filter(|advice| matches!(&advice.files[..], [file] if file.starts_with("/proc/sys/net/")))
        .take(SETTINGS)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::Fact;
    use narrows_model::load::Params;
    use narrows_model::trial::{EndSpec, NetworkPath};
    use narrows_plan::direct as plan;

    fn host(cpus: &[u32], control: &str, buffers: [&str; 2]) -> Host {
        let mut host = Host::default();
        let known = |value: &str| Fact::known(value.to_owned(), "test");
        host.cpu.online = Fact::known(cpus.to_vec(), "test");
        for (name, value) in [
            ("net.ipv4.tcp_congestion_control", control),
            ("net.ipv4.tcp_available_congestion_control", "cubic bbr"),
            ("net.core.rmem_max", buffers[0]),
            ("net.core.wmem_max", buffers[1]),
        ] {
            host.tuning.insert(name.to_owned(), known(value));
        }
        host
    }

    #[test]
    fn the_number_of_runs_follows_from_how_long_those_before_took() {
        let after = |done: usize, seconds: u64| about(done, Duration::from_secs(seconds));
        assert_eq!(after(0, 0), 60);
        assert_eq!(after(20, 30), 100);
        assert_eq!(after(20, 100), 30);
    }

    #[test]
    fn what_is_tried_is_what_both_hosts_have() {
        let here = host(&[1, 2, 3], "cubic", ["4000\n", "3000"]);
        let there = host(&[4, 5], "bbr", ["5000", "2000"]);
        let trial = |is_reverse: bool| {
            let params = Params::of_network(Bytes(65_536), 1);
            let ends = EndSpec::anywhere(is_reverse);
            let mut trial =
                plan::trial_of(Workload::TCP_STREAM, params, ends, NetworkPath::Peer, plan::WINDOW);
            trial.params.stream.get_or_insert_default().reverse = is_reverse;
            trial
        };
        let of = known(&here, Some(&there), &trial(false));
        assert_eq!(of.congestion.as_deref(), Some("bbr"), "this host sends");
        assert_eq!(of.buffer_bytes, Some(Bytes(2000)), "the least of four");
        let cpus = of.cpus.map(|(near, far)| (near.0, far.0));
        assert_eq!(cpus, Some((vec![1], vec![5])), "the first here and the last there");
        let back = known(&here, Some(&there), &trial(true));
        assert_eq!(back.congestion.as_deref(), Some("cubic"), "the other host sends");
        assert_eq!(known(&here, None, &trial(true)).congestion, None);
        assert_eq!(known(&here, None, &trial(false)).buffer_bytes, None);
        let one = host(&[1], "cubic", ["1", "x"]);
        let of = known(&one, Some(&one), &trial(false));
        assert!(of.cpus.is_none() && of.buffer_bytes.is_none());
    }
}
