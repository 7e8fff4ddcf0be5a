//! `narrows tcp HOST` and `narrows udp HOST`: one direct measurement.

use super::measurement::{Measurement, Met, meet, open_met};
use super::{demands, further};
use crate::args::{TcpArgs, UdpArgs};
use crate::failure::Failure;
use crate::output;
use narrows_model::study_kind::StudyKind;
use narrows_model::workload::Workload;
use narrows_plan::blocks;
use narrows_report::stream;

/// `narrows tcp HOST`.
pub fn tcp(args: &TcpArgs) -> Result<u8, Failure> {
    run(of_tcp(args))
}

/// What it asks for.
pub(super) fn of_tcp(args: &TcpArgs) -> Measurement<'_> {
    let load = match (args.socket.rr, args.connect) {
        (true, _) => Workload::TCP_RR,
        (_, true) => Workload::Connect,
        _ => Workload::TCP_STREAM,
    };
    Measurement {
        socket: Some(&args.socket),
        interval: args.socket.slices.interval,
        copy_share: args.copy_share,
        explain: args.explain,
        ..Measurement::of(StudyKind::Tcp, &args.peer, args.told.of_load(&load))
    }
}

/// `narrows udp HOST`.
pub fn udp(args: &UdpArgs) -> Result<u8, Failure> {
    run(of_udp(args))
}

/// What it asks for.
pub(super) fn of_udp(args: &UdpArgs) -> Measurement<'_> {
    let load = if args.socket.rr { Workload::UDP_RR } else { Workload::UDP_STREAM };
    Measurement {
        socket: Some(&args.socket),
        interval: args.socket.slices.interval,
        explain: args.explain,
        ..Measurement::of(StudyKind::Udp, &args.peer, args.told.of_load(&load))
    }
}

/// Makes one direct measurement.
pub fn run(measurement: Measurement<'_>) -> Result<u8, Failure> {
    let met = meet(&measurement)?;
    run_met(measurement, met)
}

/// The same between hosts that have met.
pub fn run_met(measurement: Measurement<'_>, met: Met) -> Result<u8, Failure> {
    let out = &measurement.peer.out;
    let mut opened = open_met(&measurement, met)?;
    let (study, trials) = (&opened.study, &opened.trials);
    // Trials of several peers run at once: a step a repeat.
    let count = if study.together { 1 } else { trials.len() };
    let steps = blocks(count, study.repeats, study.seed);
    if out.json_stream {
        output::print_exact(&stream::began(study, trials))?;
    }
    let asked = opened.trials.clone();
    let end = match further::course(&measurement, &mut opened, &steps) {
        Ok(end) => end,
        Err(failure) => {
            // What was measured before a peer was lost may say why.
            if out.is_for_people() && output::has_runs(&opened.file) {
                let _ = output::present_asked(&opened.file, out, None, Some(&asked));
            }
            return Err(failure);
        }
    };
    let verdict = output::present_asked(&opened.file, out, None, Some(&asked))?;
    output::made(&opened.file, "");
    output::nothing_measured(&opened.file)?;
    demands::judged(&opened.file, &out.demands, output::exit_code(&end, verdict))
}
