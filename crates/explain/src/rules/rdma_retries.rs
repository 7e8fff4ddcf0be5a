//! `rdma-retries`: did RDMA lose packets on the way?
//!
//! A reliable queue pair sends again from the lost packet on, so that one loss costs a window
//! (InfiniBand specification 1.3, volume 1, section 9.7.5): RoCE wants a path that does not drop,
//! by pause or priority flow control, or one that marks early. Drivers count what they had to
//! repeat; the counters are of a whole port, and others' work is in them.

use crate::measured::{self, Blind, Cell, Looked, finding};
use crate::survey::no_device;
use crate::{Case, Rule};
use narrows_model::load::EndReport;
use narrows_model::reading::Counter;
use narrows_model::reading::Source::Rdma;
use narrows_model::reading::Unit::{Events, Packets};
use narrows_model::result::{Devices, Measure, Needed, Verdict, Weight};
use narrows_stats::median;

pub static RULE: Rule = Rule {
    name: "rdma-retries",
    asks: "Did RDMA lose packets on the path?",
    of_host: false,
    judge,
};

/// Repeats a packet from which they count: what costs a window each is dear early.
const REPEATED_SHARE: f64 = 1e-4;
/// Of a run, fewer are chance.
const LEAST: u64 = 5;
/// Counters of requests that came out of order, were refused as such, or were not answered in time:
/// of mlx5, bnxt_re and irdma from knowledge of their drivers (drivers/infiniband/hw), and of rxe,
/// the only one that was seen.
const COUNTERS: [Counter; 9] = [
    Counter::of(Rdma, "out_of_sequence", Events),
    Counter::of(Rdma, "packet_seq_err", Events),
    Counter::of(Rdma, "local_ack_timeout_err", Events),
    Counter::of(Rdma, "completer_retry_err", Events),
    Counter::of(Rdma, "out_of_seq_request", Events),
    Counter::of(Rdma, "rcvd_seq_err", Events),
    Counter::of(Rdma, "seq_err_naks_rcvd", Events),
    Counter::of(Rdma, "to_retransmits", Events),
    Counter::of(Rdma, "retransSegs", Events),
];

fn judge(case: &Case<'_>) -> Verdict {
    let ran = case.study.trials.iter().any(|trial| trial.params.rdma.is_some());
    if case.study.host.rdma.is_empty() && !ran {
        return Verdict::NotApplicable { why: no_device(Devices::Rdma) };
    }
    measured::judge(case, Needed::Rdma, None, look)
}

fn look(cell: &Cell<'_>) -> Looked {
    cell.trial.params.rdma.as_ref().ok_or(Blind::OtherKind)?;
    let told: Vec<(f64, f64)> = cell
        .done
        .iter()
        .filter_map(|record| {
            let ends = [record.sender(), record.receiver()];
            let shares = ends.into_iter().flatten().filter_map(repeated);
            shares.max_by(|a, b| a.0.total_cmp(&b.0))
        })
        .collect();
    let of = |value: fn(&(f64, f64)) -> f64| {
        median(&told.iter().map(value).collect::<Vec<f64>>())
            .ok_or_else(|| cell.lacks(Measure::PortRetries))
    };
    let (share, events) = (of(|told| told.0)?, of(|told| told.1)?);
    let seen = format!("{events:.0} events a run by the port's own counters");
    let wrong = (share >= REPEATED_SHARE && events >= LEAST as f64).then(|| {
        let says = format!(
            "RDMA sent again or out of order {:.2} % of its packets in {}: the path drops",
            100.0 * share,
            cell.trial.label
        );
        let remedy = "switch on priority flow control or pause on both NICs and the switch (mlnx_qos, \
                      dcb pfc, ethtool -A), or ECN with DCQCN; look for drops at the switch's ports";
        finding(&RULE, cell, Weight::Advice, says, seen.clone(), remedy)
    });
    cell.saw(seen, wrong)
}

/// Events of a repeat for each packet of an end's ports, and how many there were.
fn repeated(end: &EndReport) -> Option<(f64, f64)> {
    let events: Vec<u64> = COUNTERS.iter().filter_map(|one| end.readings.total(*one)).collect();
    let most = events.iter().max()?;
    let packets = ["xmit", "sent", "rcv", "rcvd"].map(|name| Counter::of(Rdma, name, Packets));
    let packets = packets.into_iter().filter_map(|one| end.readings.total(one));
    let packets = packets.max().filter(|packets| *packets > 0)?;
    Some((*most as f64 / packets as f64, *most as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, read, stream};
    use crate::setting::testing::{is_clear, is_idle};
    use narrows_model::rdma::RdmaParams;

    #[test]
    fn repeats_are_found_by_what_ports_count() {
        let study = |events: u64| {
            let mut study = stream("rdma-write");
            study.trials[0].params.rdma = Some(RdmaParams::default());
            read(&mut study, "rdma", "mlx5_0/1.xmit_packets", 1_000_000);
            read(&mut study, "rdma", "mlx5_0/1.out_of_sequence_events", events);
            study
        };
        let Verdict::Found { findings } = of_study(&RULE, &study(5_000)) else { panic!("found") };
        // 5,000 of a million packets.
        let says = "RDMA sent again or out of order 0.50 % of its packets in rdma-write";
        assert!(findings[0].says.contains(says), "{}", findings[0].says);
        assert!(is_clear(&of_study(&RULE, &study(2))));
        let sockets = stream("tcp-stream");
        assert!(is_idle(&of_study(&RULE, &sockets)));
    }
}
