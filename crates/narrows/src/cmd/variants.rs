//! Trials that are measured in turn with the one that was asked for.

use crate::cause::Cause;
use crate::failure::Failure;
use narrows_model::Bytes;
use narrows_model::host::Host;
use narrows_model::trial::Trial;
use narrows_plan::direct as plan;

/// The trial, and the same with a receiver that drops what arrives.
pub fn with_uncopied(trials: Vec<Trial>) -> Result<Vec<Trial>, Failure> {
    let [trial] = trials.as_slice() else {
        let says = "--copy-share is of one peer".to_owned();
        return Err(Failure::of(Cause::ONE_HOST, says));
    };
    let uncopied = plan::uncopied(trial);
    Ok(trials.into_iter().chain([uncopied]).collect())
}

/// The trial, and one beside it that differs in what tells causes apart: UDP at half of its pace,
/// TCP with another congestion control where this host has one.
pub fn with_contrast(trials: Vec<Trial>, host: &Host) -> Result<Vec<Trial>, Failure> {
    let [trial] = trials.as_slice() else {
        let says = "--explain is of one peer".to_owned();
        return Err(Failure::of(Cause::ONE_HOST, says));
    };
    let beside = match trial.params.rate_bps.filter(|_| trial.kind.is_udp()) {
        Some(rate) => Some(plan::paced(trial, rate / 2)),
        None => other_control(host).map(|name| plan::controlled(trial, name)),
    };
    let probe = plan::probe(trial);
    Ok(trials.into_iter().chain(beside).chain([probe]).collect())
}

/// The same for a check of a peer, which has its probe.
pub fn with_control(trials: Vec<Trial>, host: &Host) -> Vec<Trial> {
    let beside = trials.first().zip(other_control(host));
    let beside = beside.map(|(trial, name)| plan::controlled(trial, name));
    trials.into_iter().chain(beside).collect()
}

/// The trial and a probe of its path.
pub fn with_probe(trials: Vec<Trial>) -> Result<Vec<Trial>, Failure> {
    let [trial] = trials.as_slice() else {
        return Err(Failure::of(Cause::ONE_HOST, "a diagnosis is of one peer"));
    };
    let probe = plan::probe(trial);
    Ok(trials.into_iter().chain([probe]).collect())
}

/// The stream both ways, round trips, and a probe of the path that they take.
pub fn with_both_ways(trials: Vec<Trial>) -> Result<Vec<Trial>, Failure> {
    let [trial] = trials.as_slice() else {
        return Err(Failure::of(Cause::ONE_HOST, "a check is of one peer"));
    };
    let [back, trips] = plan::both_ways(trial);
    let probe = plan::probe(trial);
    Ok(trials.into_iter().chain([back, trips, probe]).collect())
}

/// The congestion control to compare with: cubic, or bbr where cubic or its like is the default.
pub fn other_control(host: &Host) -> Option<&'static str> {
    let setting = |name: &str| host.tuning.get(name).and_then(|fact| fact.value());
    let default = setting("net.ipv4.tcp_congestion_control")?;
    let other = if matches!(default.as_str(), "cubic" | "reno") { "bbr" } else { "cubic" };
    let known = setting("net.ipv4.tcp_available_congestion_control")?;
    known.split_whitespace().any(|name| name == other).then_some(other)
}

/// The same trial for each size.
pub fn sweep(trials: Vec<Trial>, sizes: &[Bytes]) -> Result<Vec<Trial>, Failure> {
    let [trial] = trials.as_slice() else {
        let says = "a sweep of sizes is of one peer".to_owned();
        return Err(Failure::of(Cause::ONE_HOST, says));
    };
    Ok(sizes.iter().map(|size| plan::sized(trial, *size)).collect())
}
