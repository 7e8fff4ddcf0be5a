//! `congestion-control`: does the default congestion control, or the size of the socket buffers,
//! hold TCP back on fast local links?
//!
//! The first half is measured: the same stream with the default and with cubic, interleaved in one
//! study. The second is arithmetic: a flow needs rate x round trip in flight, and the kernel offers
//! about half of its largest receive buffer as window (`tcp_adv_win_scale` 1, tcp(7)).

use super::evidence;
use crate::{Case, Rule};
use narrows_facts::host::{Host, Nic};
use narrows_facts::result::{Finding, Verdict, Weight};
use narrows_facts::study::StoredStudy;
use narrows_facts::trial::Path;
use narrows_stats::{Summary, ratio_of_medians};

pub static RULE: Rule = Rule {
    name: "congestion-control",
    asks: "Does congestion control or a small socket buffer hold TCP back?",
    of_host: false,
    judge,
};

const SETTING: &str = "net.ipv4.tcp_congestion_control";
/// A gain must be at least this, at the low end of its range, to be worth a change.
const GAIN_MIN: f64 = 1.10;
/// Round trip of a busy local network, in seconds (assumed).
const ROUND_TRIP_S: f64 = 0.001;

fn judge(case: &Case<'_>) -> Verdict {
    let host = &case.study.host;
    let Some(default) = host.tuning.get(SETTING).and_then(|fact| fact.value()) else {
        return Verdict::Unknown { missing: vec![SETTING.into()] };
    };
    let mut findings: Vec<Finding> = Vec::new();
    let pair = compared(case.summaries);
    findings.extend(
        pair.and_then(|(with_default, with_other)| {
            slower_default(default, with_default, with_other)
        }),
    );
    findings.extend(host.physical_nics().filter_map(|nic| small_window(host, nic)));
    if !findings.is_empty() {
        return Verdict::Found { findings };
    }
    let window = "and the receive buffer covers every link whose speed is known";
    let because = match (pair, default.as_str()) {
        (Some((_, other)), _) => format!(
            "{default} was not clearly slower than {} here, {window}",
            other.effective.congestion.as_deref().unwrap_or("the other")
        ),
        (None, "cubic" | "reno") => format!("{default} does not pace, {window}"),
        (None, _) if measured(case.study) => {
            let missing = vec![format!("a stream with cubic beside the default {default}")];
            return Verdict::Unknown { missing };
        }
        (None, _) => return Verdict::Unknown { missing: vec!["a local TCP stream".into()] },
    };
    Verdict::Clear { because }
}

fn measured(study: &StoredStudy) -> bool {
    study.trials.iter().any(|trial| trial.kind == "tcp-stream" && trial.path != Path::Peer)
}

/// The stream with the default and the one with another congestion control, when both ran.
fn compared(all: &[Summary]) -> Option<(&Summary, &Summary)> {
    let default = all.iter().find(|summary| summary.label == "tcp-stream")?;
    let other = all.iter().find(|summary| summary.label.starts_with("tcp-stream "))?;
    (default.estimate.is_some() && other.estimate.is_some()).then_some((default, other))
}

fn slower_default(name: &str, default: &Summary, other: &Summary) -> Option<Finding> {
    let gain = ratio_of_medians(other.estimate.as_ref()?, default.estimate.as_ref()?)?;
    if gain.low < GAIN_MIN {
        return None;
    }
    // What was in use is what the sockets said, not what was asked for.
    let used = other.effective.congestion.clone()?;
    if used == name {
        return None;
    }
    let gbps = |summary: &Summary| summary.estimate.map_or(0.0, |e| e.value / 1e9);
    Some(Finding {
        rule: RULE.name.into(),
        weight: Weight::Advice,
        says: format!(
            "TCP's default congestion control, {name}, moves {:.1} Gb/s on this host's own path; \
             {used} moves {:.1} Gb/s, {:.1} times as much",
            gbps(default),
            gbps(other),
            gain.value
        ),
        evidence: vec![
            evidence(format!("{SETTING} = {name}"), "/proc/sys/net/ipv4/tcp_congestion_control"),
            evidence(
                format!("medians of {} and {} interleaved runs", default.done, other.done),
                "tcp-stream, measured in this study",
            ),
        ],
        worth: Some(gain),
        remedy: format!(
            "on a network without loss or long distance: sysctl -w {SETTING}={used}; keep {name} \
             for traffic over the internet"
        ),
    })
}

fn small_window(host: &Host, nic: &Nic) -> Option<Finding> {
    let speed = nic.speed_bps.value()?;
    let largest = host.tuning.get("net.ipv4.tcp_rmem")?.value()?.split(' ').nth(2)?;
    let largest: f64 = largest.parse().ok()?;
    let window = largest / 2.0;
    let needed = speed.0 / 8.0 * ROUND_TRIP_S;
    (window < needed).then(|| Finding {
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
            evidence(format!("largest receive buffer {largest:.0} B"), "/proc/sys/net/ipv4/tcp_rmem"),
            evidence(format!("{speed}"), nic.speed_bps.source().0.clone()),
            evidence("half of the buffer is offered as window; 1 ms is assumed", "tcp(7)"),
        ],
        worth: None,
        remedy: format!(
            "sysctl -w net.ipv4.tcp_rmem=\"4096 131072 {0:.0}\" net.ipv4.tcp_wmem=\"4096 16384 {0:.0}\"",
            (needed * 2.0).ceil()
        ),
    })
}
