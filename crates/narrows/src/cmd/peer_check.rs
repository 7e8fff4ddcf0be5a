//! `narrows check --peer HOST`: the check with a second host. TCP both ways, round trips and a
//! probe of the path, then round trips beside streams, and the answer in a few lines.

use super::demands;
use super::further;
use super::measurement::{self, Measurement, Opened};
use crate::args::{CheckArgs, PeerArgs};
use crate::failure::Failure;
use crate::{output, screen};
use narrows_model::Nanos;
use narrows_model::options::runs;
use narrows_model::study::Ended;
use narrows_model::study_kind::StudyKind;
use narrows_model::trial::Trial;
use narrows_model::workload::Workload;
use narrows_plan::latency::Wanted;
use narrows_plan::study::Settings;
use narrows_plan::{Step, blocks};
use narrows_report::Analysis;
use narrows_report::peer_check::{self, PeerCheck};
use narrows_runner::CourseEnd;
use std::path::{Path, PathBuf};

/// Runs of each cell, the least for a 95 % interval.
const REPEATS: u32 = 6;
/// Runs of the probe: what one found, another of them must agree with.
const PROBES: u32 = 3;
/// Streams each way beside round trips.
const STREAMS: u32 = 4;
/// Each phase of round trips beside streams: they take 17 s.
const PHASE: Nanos = Nanos::from_millis(2000);
/// From one request to the next.
const EVERY: Nanos = Nanos::from_millis(5);

pub fn run(args: &CheckArgs, peer: &str) -> Result<u8, Failure> {
    let peer = peer_of(args, peer);
    let measurement = asked(args, &peer);
    let mut opened = measurement::open(&measurement)?;
    let steps = blocks(opened.trials.len(), opened.study.repeats, opened.study.seed);
    let steps = with_few_probes(steps, &opened.trials);
    let asked = opened.trials.clone();
    let end = further::course(&measurement, &mut opened, &steps)?;
    let file = opened.file.clone();
    let loaded = match end {
        CourseEnd::Complete if peer.out.is_for_people() => Some(under_load(&peer, opened)),
        _ => None,
    };
    let end = loaded.as_ref().map_or(end, |loaded| loaded.end);
    let verdict = present(&peer, &file, &asked, loaded.as_ref())?;
    output::made(&file, "");
    if let Some(Loaded { file: Some(file), .. }) = &loaded {
        output::made(file, ", under load");
    }
    output::nothing_measured(&file)?;
    demands::judged(&file, &peer.out.demands, output::exit_code(&end, verdict))
}

/// The peer of a check.
pub(super) fn peer_of(args: &CheckArgs, peer: &str) -> PeerArgs {
    PeerArgs {
        hosts: vec![peer.to_owned()],
        port: args.port,
        key: args.key.clone(),
        repeats: args.repeats.unwrap_or(REPEATS),
        bind: None,
        ipv4: false,
        ipv6: false,
        netns: None,
        out: args.out.clone(),
    }
}

/// What is asked of it.
pub(super) fn asked<'a>(args: &CheckArgs, peer: &'a PeerArgs) -> Measurement<'a> {
    let mut settings = Settings::default();
    settings.tell(&runs::LOAD, Workload::TCP_STREAM.to_string());
    if let Some(seconds) = args.seconds {
        settings.tell(&runs::SECONDS, seconds);
    }
    Measurement {
        explain: args.explain,
        both_ways: true,
        ..Measurement::of(StudyKind::CheckPeer, peer, settings)
    }
}

/// The steps with the first of each trial's probes alone: a probe is no sample of a figure but ten
/// trains, of which six tell, and takes up to nine seconds where packets are lost or late.
fn with_few_probes(mut steps: Vec<Step>, trials: &[Trial]) -> Vec<Step> {
    let is_probe =
        |step: &Step| trials.get(step.trial).is_some_and(|trial| trial.kind == Workload::PathProbe);
    steps.retain(|step| step.repeat < PROBES || !is_probe(step));
    steps
}

/// Round trips beside streams, in a file of their own: their runs are all at once.
struct Loaded {
    /// What is said of them.
    says: String,
    /// How they ended.
    end: CourseEnd,
    /// `None` where nothing could begin.
    file: Option<PathBuf>,
}

/// Measures round trips beside streams. What fails here costs the rest of the check nothing.
fn under_load(peer: &PeerArgs, opened: Opened) -> Loaded {
    let mut file = None;
    let (says, end) = match load(peer, opened, &mut file) {
        Ok(loaded) => loaded,
        Err(failure) => (format!("not measured: {}", failure.says()), CourseEnd::Complete),
    };
    Loaded { says, end, file }
}

fn load(
    peer: &PeerArgs,
    opened: Opened,
    made: &mut Option<PathBuf>,
) -> Result<(String, CourseEnd), Failure> {
    let mut settings = Settings::default();
    settings.tell(&runs::LOAD, Workload::UDP_RR.to_string());
    let wanted = Wanted {
        trips: Workload::UDP_RR,
        streams: STREAMS,
        phase: PHASE,
        every: EVERY,
        congestion: None,
    };
    let peer = PeerArgs { repeats: 1, ..peer.clone() };
    let measurement = Measurement {
        beside: Some(&wanted),
        ..Measurement::of(StudyKind::Latency, &peer, settings)
    };
    let mut opened = measurement::open_met(&measurement, opened.met_again()?)?;
    *made = Some(opened.file.clone());
    let steps = blocks(1, 1, opened.study.seed);
    note!("round trips beside streams, a run of its own");
    let end = further::course(&measurement, &mut opened, &steps)?;
    if end == CourseEnd::Stopped {
        return Ok((format!("not measured: {}", Ended::BY_SIGNAL), end));
    }
    let stored = narrows_store::read(&opened.file)?;
    Ok((peer_check::under_load(&Analysis::of(&stored)), end))
}

/// Prints the lines, or what was asked for in their place.
fn present(
    peer: &PeerArgs,
    file: &Path,
    asked: &[Trial],
    loaded: Option<&Loaded>,
) -> Result<u8, Failure> {
    let out = &peer.out;
    if out.json_stream || out.verbose || out.format() != "text" {
        let verdict = output::present_asked(file, out, None, Some(asked))?;
        if let Some(file) = loaded.and_then(|loaded| loaded.file.as_ref()) {
            output::present(file, out, None)?;
        }
        return Ok(verdict);
    }
    let stored = narrows_store::read(file)?;
    let analysis = Analysis::of(&stored);
    let answer = PeerCheck::of(&analysis);
    let rest = output::details(file);
    let loaded = loaded.map(|loaded| loaded.says.as_str());
    output::print(&answer.text(&peer.hosts.join(", "), loaded, &rest, &screen::of_output()))?;
    Ok(if analysis.is_bad_in(asked) { crate::failure::VERDICT } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::Bytes;
    use narrows_model::load::Params;
    use narrows_model::trial::{EndSpec, NetworkPath};
    use narrows_plan::direct as plan;

    #[test]
    fn each_figure_has_all_its_runs_and_the_probe_three() {
        let of = |kind: Workload| {
            let params = Params::of_network(Bytes(65_536), 1);
            let ends = EndSpec::anywhere(false);
            plan::trial_of(kind, params, ends, NetworkPath::Peer, plan::WINDOW)
        };
        let trials = [of(Workload::TCP_STREAM), of(Workload::PathProbe)];
        let steps = with_few_probes(blocks(trials.len(), REPEATS, 1), &trials);
        let runs = |trial: usize| steps.iter().filter(|step| step.trial == trial).count();
        assert_eq!((runs(0), runs(1)), (6, 3));
        let few = with_few_probes(blocks(trials.len(), 2, 1), &trials);
        assert_eq!(few.len(), 4, "two of each were asked for");
    }
}
