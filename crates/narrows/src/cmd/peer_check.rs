//! `narrows check --peer HOST`: the check with a second host. TCP both ways, round trips and a
//! probe of the path, and the answer in five lines.

use super::demands;
use super::further;
use super::measurement::{self, Measurement};
use crate::args::{CheckArgs, PeerArgs};
use crate::failure::Failure;
use crate::{output, screen};
use narrows_model::options::runs;
use narrows_model::study_kind::StudyKind;
use narrows_model::trial::Trial;
use narrows_model::workload::Workload;
use narrows_plan::blocks;
use narrows_plan::study::Settings;
use narrows_report::Analysis;
use narrows_report::peer_check::PeerCheck;
use std::path::Path;

/// Runs of each cell, the least for a 95 % interval.
const REPEATS: u32 = 6;

pub fn run(args: &CheckArgs, peer: &str) -> Result<u8, Failure> {
    let peer = PeerArgs {
        hosts: vec![peer.to_owned()],
        port: args.port,
        key: args.key.clone(),
        repeats: args.repeats.unwrap_or(REPEATS),
        bind: None,
        ipv4: false,
        ipv6: false,
        netns: None,
        out: args.out.clone(),
    };
    let mut settings = Settings::default();
    settings.tell(&runs::LOAD, Workload::TCP_STREAM.to_string());
    if let Some(seconds) = args.seconds {
        settings.tell(&runs::SECONDS, seconds);
    }
    let measurement = Measurement {
        explain: args.explain,
        both_ways: true,
        ..Measurement::of(StudyKind::CheckPeer, &peer, settings)
    };
    let mut opened = measurement::open(&measurement)?;
    let steps = blocks(opened.trials.len(), opened.study.repeats, opened.study.seed);
    let asked = opened.trials.clone();
    let end = further::course(&measurement, &mut opened, &steps)?;
    let verdict = present(&peer, &opened.file, &asked)?;
    output::made(&opened.file, "")?;
    output::nothing_measured(&opened.file)?;
    demands::judged(&opened.file, &peer.out.demands, output::exit_code(&end, verdict))
}

/// Prints the five lines, or what was asked for in their place.
fn present(peer: &PeerArgs, file: &Path, asked: &[Trial]) -> Result<u8, Failure> {
    let out = &peer.out;
    if out.json_stream || out.verbose || out.format() != "text" {
        return output::present_asked(file, out, None, Some(asked));
    }
    let stored = narrows_store::read(file)?;
    let analysis = Analysis::of(&stored);
    let answer = PeerCheck::of(&analysis);
    output::print(&answer.text(&peer.hosts.join(", "), &screen::of_output()))?;
    Ok(if analysis.is_bad_in(asked) { crate::failure::VERDICT } else { 0 })
}
