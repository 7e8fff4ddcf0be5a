//! `congestion-control`: does the default congestion control, or the size of the socket buffers,
//! hold TCP back on fast local links?
//!
//! The first half is measured: the same stream with the default and with cubic, interleaved in one
//! study. The second is arithmetic: a flow needs rate x round trip in flight, and the kernel offers
//! about half of its largest receive buffer as window (`tcp_adv_win_scale` 1, tcp(7)).

use super::{evidence, tcp_retransmits};
use crate::controls::{compared, faster, slows_down, used};
use crate::measured::{Cell, cells, finding};
use crate::survey::{Survey, is_down, not_so};
use crate::{Case, Rule};
use narrows_model::BitsPerSecond;
use narrows_model::host::{Host, Nic};
use narrows_model::result::{
    Evidence, Finding, Missing, Needed, NotSo, Unmeasured, Verdict, Weight,
};
use narrows_model::study::StoredStudy;
use narrows_model::trial::NetworkPath;
use narrows_model::workload::Workload;
use narrows_stats::Summary;

/// Whether TCP's default congestion control is slower than another that was measured beside it.
pub static RULE: Rule = Rule {
    name: "congestion-control",
    asks: "Does congestion control or a small socket buffer hold TCP back?",
    of_host: false,
    judge,
};

const SETTING: &str = "net.ipv4.tcp_congestion_control";
const PLACE: &str = "/proc/sys/net/ipv4/tcp_congestion_control";
const BUFFERS: &str = "net.ipv4.tcp_rmem";
/// Less loss than this holds no stream by itself.
const LOST_SHARE: f64 = 0.001;
/// Round trip of a busy local network, in seconds (assumed).
const ROUND_TRIP_S: f64 = 0.001;

fn judge(case: &Case<'_>) -> Verdict {
    let host = &case.study.host;
    let Some(default) = host.tuning.get(SETTING).and_then(|fact| fact.value()) else {
        let missing = match host.tuning.get(SETTING) {
            Some(fact) => Missing::fact(SETTING, fact),
            None => Missing::unread(SETTING),
        };
        return Verdict::unknown(missing);
    };
    let mut findings: Vec<Finding> = Vec::new();
    let pair = compared(case.study, case.summaries);
    findings.extend(
        pair.and_then(|(with_default, with_other)| slower(default, with_default, with_other)),
    );
    findings.extend(cells(case).find_map(|cell| by_route(&cell)));
    let mut survey = Survey::default();
    for nic in host.physical_nics().filter(|nic| !is_down(nic)) {
        match window(host, nic) {
            Ok((seen, None)) => survey.fine(seen.says, seen.from),
            Ok((_, Some(finding))) => findings.push(finding),
            Err(missing) => survey.lacks(missing),
        }
    }
    findings.into_iter().for_each(|finding| survey.found(finding));
    match (pair, default.as_str()) {
        (Some((_, other)), _) => {
            let other = other.congestion().unwrap_or("the other");
            let says = format!("{default} was not clearly slower than {other} here");
            survey.fine(says, "tcp-stream, measured in this study");
        }
        (None, used) if slows_down(used) => {
            survey.fine(format!("{SETTING} is {default}, which does not pace"), PLACE);
        }
        (None, _) if measured(case.study) => {
            let of = Unmeasured::Cubic { default: default.clone() };
            survey.lacks(of.into());
        }
        (None, _) => survey.lacks(Unmeasured::Run(Needed::TcpLocal).into()),
    }
    survey.conclude(not_so(NotSo::NoCongestionControl))
}

/// The congestion control that a route sets where the host's default would not slow down at each
/// loss, as the sockets say and nobody asked for.
pub fn of_route(cell: &Cell<'_>) -> Option<(String, String)> {
    let used = cell.summary.congestion()?.to_owned();
    let default = cell.sender()?.setting(SETTING)?.to_owned();
    let is_asked = cell.trial.params.congestion.is_some();
    (cell.is_tcp_stream() && !is_asked && slows_down(&used) && !slows_down(&default))
        .then_some((used, default))
}

/// A stream that loses segments under what a route sets.
fn by_route(cell: &Cell<'_>) -> Option<Finding> {
    let (used, default) = of_route(cell)?;
    let lost = cell.losses()?.lost;
    (lost >= LOST_SHARE && tcp_retransmits::is_held(cell)).then(|| {
        let says = format!(
            "A route, and not the host's default, sets TCP's congestion control in {}: {used}, \
             which slows down at each loss, in place of {default}; {:.2} % of the segments were lost",
            cell.trial.label,
            100.0 * lost
        );
        let seen = format!("{used} in use; {SETTING} = {default}");
        let remedy = "take it from the route (ip route show; ip route change ... without congctl), \
                      and find what loses packets on the way";
        finding(&RULE, cell, Weight::Advice, says, seen, remedy)
    })
}

fn measured(study: &StoredStudy) -> bool {
    study
        .trials
        .iter()
        .any(|trial| trial.kind == Workload::TCP_STREAM && trial.path != NetworkPath::Peer)
}

fn slower(setting: &str, default: &Summary, other: &Summary) -> Option<Finding> {
    let own = used(default).unwrap_or_else(|| setting.to_owned());
    let name = own.as_str();
    let which = if name == setting { "default congestion control," } else { "congestion control," };
    let (used, gain) = faster(name, default, other)?;
    Some(Finding {
        rule: RULE.name.into(),
        weight: Weight::Advice,
        says: format!(
            "TCP's {which} {name}, moves {} in {}; {used} moves {}, {:.1} times as much",
            rate(default),
            default.label,
            rate(other),
            gain.value
        ),
        evidence: vec![
            evidence(format!("{name} in use; {SETTING} = {setting}"), PLACE),
            evidence(
                format!("medians of {} and {} interleaved runs", default.done, other.done),
                "tcp-stream, measured in this study",
            ),
        ],
        worth: Some(gain),
        remedy: match slows_down(&used) {
            true => format!(
                "on a network without loss or long distance: sysctl -w {SETTING}={used}; keep \
                 {name} for traffic over the internet"
            ),
            // One that does not slow down at each loss is faster where something is lost.
            false => format!(
                "find what loses packets on the way; until then sysctl -w {SETTING}={used}, which \
                 does not slow down at each loss as {name} does"
            ),
        },
    })
}

fn rate(summary: &Summary) -> BitsPerSecond {
    BitsPerSecond(summary.estimate.map_or(0.0, |estimate| estimate.value))
}

/// What the largest receive buffer allows over a NIC, and what is wrong with it.
fn window(host: &Host, nic: &Nic) -> Result<(Evidence, Option<Finding>), Missing> {
    let name = format!("speed of {}", nic.name);
    let speed = nic.speed_bps.value().ok_or_else(|| Missing::fact(name, &nic.speed_bps))?;
    let fact = host.tuning.get(BUFFERS).ok_or_else(|| Missing::unread(BUFFERS))?;
    let all = fact.value().ok_or_else(|| Missing::fact(BUFFERS, fact))?;
    let largest = all.split(' ').nth(2).and_then(|word| word.parse::<f64>().ok());
    let largest = largest.ok_or_else(|| Missing::malformed(BUFFERS, &fact.source().0, all))?;
    let window = largest / 2.0;
    let needed = speed.0 / 8.0 * ROUND_TRIP_S;
    let says = format!(
        "the receive buffer of {largest:.0} B covers {} at {speed} and a round trip of 1 ms",
        nic.name
    );
    let small = (window < needed).then(|| small_window(nic, *speed, largest));
    Ok((evidence(says, fact.source().0.clone()), small))
}

fn small_window(nic: &Nic, speed: BitsPerSecond, largest: f64) -> Finding {
    let window = largest / 2.0;
    let needed = speed.0 / 8.0 * ROUND_TRIP_S;
    Finding {
        rule: RULE.name.into(),
        weight: Weight::Advice,
        says: format!(
            "One TCP flow over {} can have about {:.1} MB in flight: enough for {:.1} Gb/s at a \
             round trip of 1 ms, not for {speed}",
            nic.name,
            window / 1e6,
            window * 8.0 / ROUND_TRIP_S / 1e9
        ),
        evidence: vec![
            evidence(
                format!("largest receive buffer {largest:.0} B"),
                "/proc/sys/net/ipv4/tcp_rmem",
            ),
            evidence(format!("{speed}"), nic.speed_bps.source().0.clone()),
            evidence("half of the buffer is offered as window; 1 ms is assumed", "tcp(7)"),
        ],
        worth: None,
        remedy: format!(
            "sysctl -w net.ipv4.tcp_rmem=\"4096 131072 {0:.0}\" net.ipv4.tcp_wmem=\"4096 16384 {0:.0}\"",
            (needed * 2.0).ceil()
        ),
    }
}
