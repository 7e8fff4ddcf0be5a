//! Trials that are measured in turn with the one that was asked for.

use crate::cause::Cause;
use crate::failure::Failure;
use narrows_model::Bytes;
use narrows_model::calls;
use narrows_model::host::Host;
use narrows_model::options::trips::OVERLAP;
use narrows_model::trial::Trial;
use narrows_model::workload::Workload;
use narrows_plan::direct as plan;
use std::time::Duration;

/// The trial, and the same with a receiver that drops what arrives.
pub fn with_uncopied(trials: Vec<Trial>) -> Result<Vec<Trial>, Failure> {
    let [trial] = trials.as_slice() else {
        let says = "--copy-share takes one peer".to_owned();
        return Err(Failure::of(Cause::ONE_HOST, says));
    };
    let uncopied = plan::uncopied(trial);
    Ok(trials.into_iter().chain([uncopied]).collect())
}

/// Beside the trial those that differ in what tells causes apart: a UDP stream at half of its pace
/// and with datagrams of another size, a TCP stream with another congestion control and number of
/// flows, either in best effort; and a probe of the path, which tells of all kinds.
pub fn contrasts(trials: &[Trial], senders: &[&Host]) -> Result<Vec<Trial>, Failure> {
    let [trial] = trials else {
        return Err(Failure::of(Cause::ONE_HOST, "--explain takes one peer"));
    };
    if trial.controllers().is_none() {
        let says = "--explain probes the path from here; --pattern has no end here";
        return Err(Failure::of(Cause::ONE_HOST, says));
    }
    let others = slower(trial).into_iter().chain(other_size(trial)).chain(control(trials, senders));
    let others = others.chain(one_by_one(trial)).chain(over_tcp(trial)).chain(at_once(trial));
    let others = others.chain(other_flows(trial)).chain(best_effort(trial));
    Ok(others.chain([plan::probe(trial)]).collect())
}

/// A paced UDP stream at half of its pace.
pub fn slower(trial: &Trial) -> Option<Trial> {
    let rate = trial.params.rate_bps.filter(|rate| *rate > 0 && trial.kind.is_udp())?;
    Some(plan::paced(trial, rate / 2))
}

/// Datagrams up to this size are sent twice as large without a fragment over Ethernet.
const DOUBLED_MAX: u64 = 700;

/// A paced UDP stream with datagrams of twice or half of their size.
pub fn other_size(trial: &Trial) -> Option<Trial> {
    let size = trial.params.message_bytes.0;
    let is_paced = trial.params.rate_bps.is_some_and(|rate| rate > 0);
    let other = if size <= DOUBLED_MAX { 2 * size } else { size / 2 };
    (is_paced && trial.kind == Workload::UDP_STREAM).then(|| plan::sized(trial, Bytes(other)))
}

/// A paced UDP stream whose calls hand over many datagrams, with a call for each.
pub fn one_by_one(trial: &Trial) -> Option<Trial> {
    let sender = trial.params.stream.as_ref()?.sender.as_deref()?;
    let is_paced = trial.params.rate_bps.is_some_and(|rate| rate > 0);
    (is_paced && calls::JOINED.contains(&sender)).then(|| plan::sent_by(trial, calls::SEND))
}

/// Smaller datagrams are more packets than TCP's segments of the same pace, larger ones fragments.
const FULL: std::ops::RangeInclusive<u64> = 1000..=1472;

/// TCP at the pace of a UDP stream whose datagrams fill packets.
pub fn over_tcp(trial: &Trial) -> Option<Trial> {
    let rate = trial.params.rate_bps.filter(|rate| *rate > 0 && trial.kind.is_udp())?;
    let is_plain = trial.kind == Workload::UDP_STREAM && one_by_one(trial).is_none();
    let is_full = FULL.contains(&trial.params.message_bytes.0);
    (is_plain && is_full).then(|| plan::over(trial, Workload::TCP_STREAM, rate))
}

/// UDP at twice the rate of a TCP stream that goes as fast as it can.
pub fn over_udp(trial: &Trial, reached_bps: f64) -> Option<Trial> {
    let is_free = trial.params.rate_bps.is_none_or(|rate| rate == 0);
    let is_stream = trial.kind == Workload::TCP_STREAM && reached_bps > 0.0;
    let twice = (2.0 * reached_bps) as u64;
    (is_free && is_stream).then(|| plan::over(trial, Workload::UDP_STREAM, twice))
}

/// Round trips at set times, one after the other.
pub fn at_once(trial: &Trial) -> Option<Trial> {
    let is_due = trial.params.trip.as_ref().is_some_and(|trip| trip.per_second.is_some());
    let overlaps = OVERLAP.of(&trial.params).unwrap_or(false);
    (is_due && !overlaps).then(|| plan::one_after_the_other(trial))
}

/// Flows to compare one with.
const MORE_FLOWS: u32 = 4;

/// A TCP stream without a pace with one flow in place of several, or with several in place of one.
pub fn other_flows(trial: &Trial) -> Option<Trial> {
    let is_free = trial.params.rate_bps.is_none_or(|rate| rate == 0);
    let flows = if trial.params.streams > 1 { 1 } else { MORE_FLOWS };
    (is_free && trial.kind == Workload::TCP_STREAM).then(|| plan::with_flows(trial, flows))
}

/// A stream of another class in best effort.
pub fn best_effort(trial: &Trial) -> Option<Trial> {
    let dscp = trial.params.socket.as_ref()?.dscp?;
    let is_stream = trial.kind == Workload::TCP_STREAM || trial.kind == Workload::UDP_STREAM;
    (is_stream && dscp != 0).then(|| plan::in_class(trial, 0))
}

/// The first trial with another congestion control, where it is a TCP stream that all hosts that
/// send can have another one for.
pub fn control(trials: &[Trial], senders: &[&Host]) -> Option<Trial> {
    let trial = trials.first().filter(|trial| trial.kind == Workload::TCP_STREAM)?;
    let asked = trial.params.congestion.as_deref();
    let (first, others) = senders.split_first()?;
    let name = other_than(first, asked)?;
    let all_have_it = others.iter().all(|host| other_than(host, asked) == Some(name));
    all_have_it.then(|| plan::controlled(trial, name))
}

/// The trial and a probe of its path.
pub fn with_probe(trials: Vec<Trial>) -> Result<Vec<Trial>, Failure> {
    let [trial] = trials.as_slice() else {
        return Err(Failure::of(Cause::ONE_HOST, "a diagnosis takes one peer"));
    };
    let probe = plan::probe(trial);
    Ok(trials.into_iter().chain([probe]).collect())
}

/// The stream both ways, round trips, and a probe of the path that they take.
pub fn with_both_ways(trials: Vec<Trial>, round_trip: Duration) -> Result<Vec<Trial>, Failure> {
    let [trial] = trials.as_slice() else {
        return Err(Failure::of(Cause::ONE_HOST, "a check takes one peer"));
    };
    let [back, trips] = plan::both_ways(trial, round_trip);
    let probe = plan::probe(trial);
    Ok(trials.into_iter().chain([back, trips, probe]).collect())
}

/// The congestion control to compare with: cubic, or bbr where cubic or its like is the default.
pub fn other_control(host: &Host) -> Option<&'static str> {
    other_than(host, None)
}

/// The same where one was asked for in place of the default.
fn other_than(host: &Host, asked: Option<&str>) -> Option<&'static str> {
    let setting = |name: &str| host.tuning.get(name).and_then(|fact| fact.value());
    let used = asked.or(setting("net.ipv4.tcp_congestion_control").map(String::as_str))?;
    let other = if matches!(used, "cubic" | "reno") { "bbr" } else { "cubic" };
    let known = setting("net.ipv4.tcp_available_congestion_control")?;
    known.split_whitespace().any(|name| name == other).then_some(other)
}

/// The same trial for each size.
pub fn sweep(trials: Vec<Trial>, sizes: &[Bytes]) -> Result<Vec<Trial>, Failure> {
    let [trial] = trials.as_slice() else {
        let says = "a sweep of sizes takes one peer".to_owned();
        return Err(Failure::of(Cause::ONE_HOST, says));
    };
    Ok(sizes.iter().map(|size| plan::sized(trial, *size)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::Fact;
    use narrows_model::load::Params;
    use narrows_model::trial::{EndSpec, NetworkPath};

    fn host(default: &str, available: &str) -> Host {
        let known = |value: &str| Fact::known(value.to_owned(), "test");
        let tuning = [
            ("net.ipv4.tcp_congestion_control".to_owned(), known(default)),
            ("net.ipv4.tcp_available_congestion_control".to_owned(), known(available)),
        ];
        Host { tuning: tuning.into(), ..Host::default() }
    }

    #[test]
    fn the_other_congestion_control_is_of_all_hosts_that_send() {
        let of = |kind: Workload, asked: Option<&str>, senders: &[&Host]| {
            let params = Params {
                congestion: asked.map(str::to_owned),
                ..Params::of_network(Bytes(65_536), 1)
            };
            let ends = EndSpec::anywhere(false);
            let trial = plan::trial_of(kind, params, ends, NetworkPath::Peer, plan::WINDOW);
            control(&[trial], senders)?.params.congestion
        };
        let (both, plain) = (host("cubic", "cubic reno bbr"), host("cubic", "cubic reno"));
        let stream = || Workload::TCP_STREAM;
        assert_eq!(of(stream(), None, &[&both]).as_deref(), Some("bbr"));
        assert_eq!(of(stream(), Some("bbr"), &[&both]).as_deref(), Some("cubic"));
        assert_eq!(of(stream(), None, &[&plain]), None);
        assert_eq!(of(stream(), None, &[&both, &plain]), None, "the far end has none");
        assert_eq!(of(Workload::TCP_RR, None, &[&both]), None, "no stream");
    }
}
