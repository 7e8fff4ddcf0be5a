//! `narrows study run` and `narrows study resume`: runs until nothing is left that fits the
//! machine.

use super::audience::Onlooker;
use super::{of_results, outlook, parse, unparsed};
use crate::args::{ResumeArgs, RunArgs, SessionArgs};
use crate::cause::Cause;
use crate::cmd::{calling, demands, own_binary};
use crate::failure::{Failure, PRECISION, VERDICT};
use crate::live::{Lines, Live};
use crate::{input, output, stop, watch};
use narrows_control::{Calling, key};
use narrows_hostctl::container::Launcher;
use narrows_hostctl::guard;
use narrows_model::study::Ended;
use narrows_model::trial::Trial;
use narrows_plan::study::Left;
use narrows_runner::controller::Controller;
use narrows_runner::live::LiveClock;
use narrows_runner::outside::Outside;
use narrows_runner::{
    Begun, CourseEnd, Defined, Machines, Refusal, SessionPlan, StudyEngine, check_engines, unlike,
};
use narrows_store::Store;
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;
use std::sync::atomic::Ordering;

/// The setting by which a study sets huge pages aside.
const NR_HUGEPAGES: &str = "vm.nr_hugepages";
/// Between the names of a study's hosts, as they are stored.
const BETWEEN_NAMES: &str = ", ";

/// `narrows study run FILE`.
pub fn run(args: &RunArgs) -> Result<u8, Failure> {
    check_terminal(&args.session)?;
    let text = input::text(&args.file)?;
    let defined = parse(&text, args.quick, &args.file)?;
    output::check_folder(&args.out)?;
    let end = if args.quick { "-quick" } else { "" };
    let file = args.out.join(format!("{}{end}.narrows", defined.definition.name));
    if file.exists() {
        let says = format!("{} exists already and is not overwritten", file.display());
        return Err(Failure::of(Cause::STUDY_BEGUN, says));
    }
    let machines = reach(&defined, &args.session, None)?;
    let new = New {
        defined: &defined,
        text: &text,
        written_in: Some(&args.file),
        file: &file,
        quick: args.quick,
        seed: args.seed,
        baseline: None,
        session: &args.session,
    };
    begin(&new, machines)
}

/// A study that is to be begun.
pub struct New<'a> {
    pub defined: &'a Defined,
    /// The definition as it is stored.
    pub text: &'a str,
    /// The file that somebody wrote it in; `None` of one that a command made.
    pub written_in: Option<&'a Path>,
    /// The file of results, which must not be there yet.
    pub file: &'a Path,
    /// Whether it is cut short to be tried.
    pub quick: bool,
    /// Seed of the order; without it that of the definition, else one is drawn.
    pub seed: Option<u64>,
    /// A factor's level whose cells say nothing without others beside them.
    pub baseline: Option<(&'a str, &'a str)>,
    /// How it is printed, and whether anything is run.
    pub session: &'a SessionArgs,
}

/// Begins a study on these machines and runs it to its end; the exit code.
pub fn begin(new: &New<'_>, mut machines: Machines) -> Result<u8, Failure> {
    let New { defined, text, file, quick, session, .. } = *new;
    let plan = session_plan(defined, new.written_in, &machines, session)?;
    let seed = new
        .seed
        .or(defined.definition.seed)
        .map_or_else(|| key::chance().map(narrows_plan::seed_from), Ok)?;
    let engine = StudyEngine::begin(defined, seed, &plan);
    if new.baseline.is_some() || !session.dry_run {
        plan.check_any_runs(new.baseline)?;
    }
    if session.dry_run {
        return outlook::print(defined, &plan, engine.schedule(), &machines.path_says());
    }
    let search = defined.definition.search.as_ref();
    demands::check_all(&plan.trials, search, &session.demands)?;
    let names: Vec<&str> = plan.site.peers.iter().map(|far| far.name.as_str()).collect();
    let names = names.join(BETWEEN_NAMES);
    let peer = Some(names.as_str()).filter(|names| !names.is_empty());
    let begun = Begun { seed, quick, peer, began_unix_ns: output::now() };
    let mut draft = Store::draft(file, &begun.head(defined, &plan), &plan.site.host)?;
    draft.put_definition(text)?;
    draft.put_trials(&plan.trials)?;
    draft.put_peer_hosts(&plan.site.peer_hosts())?;
    let study = Study { defined, plan: &plan, file, args: session };
    study.finish(engine, &mut machines, &draft.publish()?)
}

/// `narrows study resume FILE`.
pub fn resume(args: &ResumeArgs) -> Result<u8, Failure> {
    check_terminal(&args.session)?;
    let stored = narrows_store::read(&args.file)?;
    let defined = of_results(&stored, &args.file)?;
    let mut machines = reach(&defined, &args.session, stored.study.peer.as_deref())?;
    let plan = session_plan(&defined, Some(&args.file), &machines, &args.session)?;
    if plan.site.path != stored.study.path {
        let (was, now) = (stored.study.path, machines.path_says());
        return Err(Refusal::OtherPath { was, now }.into());
    }
    let unlike = unlike(&defined, &stored, &plan.site);
    if !unlike.is_empty() {
        if !args.changed {
            return Err(Refusal::OtherMachine(unlike).into());
        }
        let says: Vec<String> = unlike.iter().map(ToString::to_string).collect();
        note!("going on with a machine that differs: {}", says.join("; "));
    }
    let engine = StudyEngine::resume(&defined, &stored, &plan);
    if args.session.dry_run {
        return outlook::print(&defined, &plan, engine.schedule(), &machines.path_says());
    }
    let study = Study { defined: &defined, plan: &plan, file: &args.file, args: &args.session };
    study.finish(engine, &mut machines, &Store::open(&args.file)?)
}

/// `narrows study restore`.
pub fn restore() -> Result<u8, Failure> {
    let restored = guard::restore()?;
    output::print(&format!("{restored} settings put back\n"))?;
    Ok(0)
}

/// What is asked of the terminal, before anything is written.
fn check_terminal(args: &SessionArgs) -> Result<(), Failure> {
    if args.tui { watch::check_terminal() } else { Ok(()) }
}

/// Reaches the machines: those that the study names, else those of the command line, else those
/// that it was begun with.
fn reach(defined: &Defined, args: &SessionArgs, begun: Option<&str>) -> Result<Machines, Failure> {
    check_engines(defined)?;
    let named = defined.definition.peers();
    let hosts = match (named.is_empty(), args.peer.is_empty(), begun) {
        (false, true, _) => named,
        (false, false, _) => {
            let (peers, named) = (args.peer.join(","), named.join(", "));
            let says = format!("--peer {peers}: the study names its hosts: {named}");
            return Err(Failure::of(Cause::PEERS, says));
        }
        (true, true, Some(begun)) => begun.split(BETWEEN_NAMES).map(str::to_owned).collect(),
        (true, ..) => args.peer.clone(),
    };
    // What a study would do is known without them, but for what they have. One that refuses is an
    // error now, as it is when the study is run.
    reach_hosts(&hosts, args).or_else(|why| {
        let how = match &why {
            _ if !args.dry_run || hosts.is_empty() => return Err(why),
            why if why.is_no_key() => "not asked",
            why if why.is_no_answer() => "did not answer",
            _ => return Err(why),
        };
        note!("{how}: {}; what they have is not known: {}", hosts.join(", "), why.says());
        Ok(Machines::unasked(&hosts))
    })
}

/// Reaches these hosts; without any, both ends are on this one.
pub fn reach_hosts(hosts: &[String], args: &SessionArgs) -> Result<Machines, Failure> {
    if hosts.is_empty() {
        return Ok(Machines::reach(&[], None)?);
    }
    let key = args.key.given()?;
    let key = calling::key_for(hosts, key)?;
    let call = Calling { port: args.port, family: None, key };
    let (called, brought) = calling::bring(hosts, &call)?;
    let mut machines = Machines::reach(hosts, Some((&called, &call)))?;
    machines.keep(brought);
    for far in &machines.site.peers {
        if let Some(why) = &far.away {
            note!("cells with {} are left out: {why}", far.name);
        }
    }
    Ok(machines)
}

fn session_plan(
    defined: &Defined,
    file: Option<&Path>,
    machines: &Machines,
    args: &SessionArgs,
) -> Result<SessionPlan, Failure> {
    // From here: a plan may try launchers, which Ctrl-C would leave behind.
    let stop = stop::flag()?;
    let binary = own_binary()?;
    let why_not = |trial: &Trial| {
        machines
            .why_not(trial, &stop)
            .or_else(|| without_pages(defined, trial))
            .or_else(|| {
                let cell = defined.cells.iter().find(|cell| cell.id == trial.id)?;
                machines.without_setting(trial, cell.settings.sysctl.keys())
            })
            // An outlook fetches no image.
            .or_else(|| {
                if args.dry_run {
                    return None;
                }
                machines.without_container(trial, &binary, crate::said::note, &stop)
            })
    };
    let make = if args.dry_run { SessionPlan::outlook } else { SessionPlan::of };
    let plan = make(defined, &machines.site, &said(args), &why_not);
    if stop.load(Ordering::Relaxed) {
        return Err(Failure::of(Cause::STOPPED, Ended::BY_SIGNAL));
    }
    plan.map_err(|refusal| match (refusal, file) {
        (Refusal::Definition(error), Some(file)) => unparsed(&error, file),
        (other, _) => other.into(),
    })
}

/// What huge pages a trial lacks, where no cell sets them aside itself.
fn without_pages(defined: &Defined, trial: &Trial) -> Option<String> {
    if defined.cells.iter().any(|cell| cell.settings.sysctl.contains_key(NR_HUGEPAGES)) {
        return None;
    }
    let pages = narrows_workloads::check_pages(&trial.kind, &trial.params);
    pages.err().map(|why| format!("pages: {why}"))
}

/// What the user says of factors that no fact tells.
fn said(args: &SessionArgs) -> BTreeMap<String, String> {
    args.at.iter().flat_map(|said| said.0.clone()).collect()
}

/// Stands for a level that the user chooses.
const LEVEL: &str = "LEVEL";

/// A study that is run into a file.
struct Study<'a> {
    defined: &'a Defined,
    plan: &'a SessionPlan,
    file: &'a Path,
    args: &'a SessionArgs,
}

impl Study<'_> {
    /// Runs what is left and prints the results; the exit code.
    fn finish(
        &self,
        mut engine: StudyEngine<'_>,
        machines: &mut Machines,
        store: &Store,
    ) -> Result<u8, Failure> {
        let end = self.run(&mut engine, machines, store)?;
        let stored = narrows_store::read(self.file)?;
        let analysis = narrows_report::Analysis::of(&stored);
        output::present_study(self.file, &self.args.format, &analysis)?;
        self.say_changes(&engine);
        output::made(self.file, "");
        if end == CourseEnd::Complete {
            output::nothing_measured(self.file)?;
        } else {
            note!("go on with: {}", self.resume(&[]));
        }
        let lefts: Vec<Left> = engine.schedule().all_left().collect();
        let verdict = if lefts.contains(&Left::GivenUp) || !analysis.slow_paths.is_empty() {
            VERDICT
        } else if lefts.contains(&Left::NotPrecise) {
            PRECISION
        } else {
            0
        };
        demands::judged_of(&stored, &self.args.demands, output::exit_code(&end, verdict))
    }

    fn run(
        &self,
        engine: &mut StudyEngine<'_>,
        machines: &mut Machines,
        store: &Store,
    ) -> Result<CourseEnd, Failure> {
        let (binary, stop) = (own_binary()?, stop::flag()?);
        let (ends, mut settings) = machines.parts(&binary);
        let launcher = Launcher::plain(binary.clone());
        let live = if self.args.tui { None } else { Live::of(Lines::Unprinted) };
        let mut onlooker = Onlooker {
            defined: self.defined,
            plan: self.plan,
            file: self.file,
            tui: self.args.tui,
            live: live.clone(),
            shown: None,
            failure: None,
        };
        let ran = engine.run(&mut Outside {
            ends: &mut Controller {
                launcher,
                ends,
                together: false,
                stop: &stop,
                onlooker: live.map(|live| live as Rc<dyn narrows_runner::Onlooker>),
            },
            settings: &mut settings,
            disk: store,
            clock: &LiveClock::start(),
            stop: &stop,
            audience: &mut onlooker,
        });
        ran.map_err(|error| {
            let more = format!("; go on with: {}", self.resume(&[]));
            output::kept(self.file, &more);
            onlooker.failure.take().unwrap_or_else(|| error.into())
        })
    }

    /// What is to be done by hand for what is left.
    fn say_changes(&self, engine: &StudyEngine<'_>) {
        let elsewhere = engine.schedule().elsewhere(self.plan);
        let changes = self.plan.changes(self.defined, &elsewhere, &said(self.args));
        if !changes.is_empty() {
            note!("left for another state of the machine, any of:");
            changes.iter().for_each(|change| note!("  {change}"));
            note!("then: {}", self.resume(&elsewhere));
        }
    }

    /// The command that goes on, at the machine's state as it is or as cells of these indices want
    /// it: what the user said of factors must be said again.
    fn resume(&self, wanted: &[usize]) -> String {
        let to_say = self.plan.to_say(self.defined, wanted);
        let said =
            to_say.iter().map(|(factor, level)| format!("{factor}={}", level.unwrap_or(LEVEL)));
        let said = said.collect::<Vec<_>>().join(",");
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.,=:/".contains(c);
        let at = match said.chars().all(is_plain) {
            _ if said.is_empty() => String::new(),
            true => format!(" --at {said}"),
            false => format!(" --at '{said}'"),
        };
        format!("narrows study resume {}{at}", self.file.display())
    }
}
