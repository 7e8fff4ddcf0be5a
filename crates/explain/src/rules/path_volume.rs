//! `path-volume`: does the path carry less once a volume has passed?
//!
//! A token bucket of megabytes, burst credit of a cloud's instance or an allowance by volume
//! lets the first of a transfer pass fast and the rest at a rate of its own. The mean then depends
//! on how long one measures, and a short test reports a rate that no long transfer has. The step is
//! often over before the window opens: what TCP had acknowledged by then tells. A bucket that fills
//! more slowly than runs follow each other shows in the first of them alone; it is believed where
//! the path then holds all runs at one rate.
//!
//! A stream that is slowed by its first loss steps down too, after a volume that chance sets. So
//! the volume must be about the same in all runs, the rate after it must be, and losses must not be
//! the same of packets sent at once and apart.

use super::{path_capacity, path_policed};
use crate::measured::{self, Blind, Cell, Look, Looked, finding};
use crate::{Case, Rule};
use narrows_model::reading::{Moment, keys};
use narrows_model::record::Record;
use narrows_model::result::{Measure, Needed, Verdict, Weight};
use narrows_stats::{Bursts, median};

pub static RULE: Rule = Rule {
    name: "path-volume",
    asks: "Does the path carry less once a volume has passed?",
    of_host: false,
    judge,
};

/// How many times faster the first of a run must be than its last half.
const STEP: f64 = 2.0;
/// A smaller volume is a policer's ordinary bucket, and what a first loss lets pass: a choice, and
/// no bound of what buffers hold. Of a stream whose TCP did not count the time at its windows, the
/// largest receive buffer may be what filled first.
const VOLUME_MIN_BYTES: f64 = 1e6;
/// That buffer where the receiver's setting was not read: Linux's default (`tcp_rmem`).
const RECEIVE_BUFFER_BYTES: u64 = 6 << 20;
/// How far apart the volumes of the runs may be. What losses at random let pass before the first of
/// them is spread exponentially: three such are within this factor in 4 of 100 cases, six in less
/// than 1 of 1,000.
const VOLUMES_APART: f64 = 1.5;
/// Range of the runs' rates after it, as a share of their middle: that of runs which a limit on
/// bytes holds, and losses at random do not.
const RATES_SPREAD: f64 = 0.15;
/// Fewer runs may agree by accident.
const RUNS_MIN: usize = 3;
/// Fewer slices have no last half that stands.
const SLICES_MIN: usize = 6;

/// What a run moved beyond the rate of its last half before that rate began.
#[derive(Clone, Copy)]
struct Step {
    volume_bytes: f64,
    fast_bps: f64,
    slow_bps: f64,
}

fn judge(case: &Case<'_>) -> Verdict {
    measured::judge(case, Needed::TcpSlices, None, look)
}

/// Whether it finds something in a cell.
pub fn is_found(cell: &Cell<'_>) -> bool {
    matches!(look(cell), Ok(Look::Found(_)))
}

fn look(cell: &Cell<'_>) -> Looked {
    if !cell.is_tcp_stream() || cell.is_paced() {
        return Err(Blind::OtherKind);
    }
    let is_known = cell.done.iter().all(|record| before(record).is_some());
    let steps: Vec<Step> = cell.done.iter().filter_map(|record| step(cell, record)).collect();
    if steps.len() < RUNS_MIN {
        return Err(cell.lacks(Measure::Slices));
    }
    // Where a run was left out, the first of the rest need not be the first there was.
    let made = cell.study.records.iter().filter(|record| record.trial == cell.trial.id).count();
    let is_first = steps.len() == made;
    let is_emptied = is_first && !is_a_volume(&steps) && is_a_bucket(cell, &steps);
    let of = if is_emptied { &steps[..1] } else { &steps };
    let [volume, fast, slow] = [
        middle(of, |step| step.volume_bytes),
        middle(of, |step| step.fast_bps),
        middle(of, |step| step.slow_bps),
    ];
    let whose = if is_emptied { "the first run" } else { "the median run" };
    let seen = format!(
        "{:.1} MB beyond the rate of the last half before that began, at {:.0} Mb/s; then {:.0} \
         Mb/s, in {whose} of {}",
        volume / 1e6,
        fast / 1e6,
        slow / 1e6,
        steps.len()
    );
    let is_random = matches!(cell.bursts(), Some(Bursts::AtRandom { .. }));
    let is_free = !cell.is_busy() && !cell.is_limited_by_buffers();
    let wrong = (is_emptied || is_a_volume(&steps)) && is_free && !is_random;
    if wrong && volume <= uncounted_bytes(cell) {
        return Err(cell.lacks(Measure::TcpTimeAtLimits));
    }
    if !wrong && !is_known {
        return Err(cell.lacks(Measure::BytesBeforeWindow));
    }
    let wrong = wrong.then(|| {
        let until = format!("{:.1} MB have passed in {}", volume / 1e6, cell.trial.label);
        let fast = format!("{:.0} Mb/s of payload until then", fast / 1e6);
        let says = if slow > 0.0 {
            format!(
                "The path carries less once about {until}: {fast}, and {:.0} afterwards; a policer \
                 or shaper with a large bucket, burst credit, or an allowance by volume",
                slow / 1e6
            )
        } else {
            format!(
                "The path carries nothing more once about {until}: {fast}; a filter that counts a \
                 connection's bytes, or an allowance that is used up"
            )
        };
        let remedy = "measure for longer than that volume lasts (-t) and judge by what comes after \
                      it; raise the rate or the bucket where they are set (tc tbf or police burst, \
                      nft limit and ct bytes, a provider's or instance's burst credit), or send at \
                      the lower rate (--bitrate), which keeps the bucket full";
        finding(&RULE, cell, Weight::Advice, says, seen.clone(), remedy)
    });
    cell.saw(seen, wrong)
}

/// What the receiver's buffer may have taken of a stream whose TCP did not count when it was full.
fn uncounted_bytes(cell: &Cell<'_>) -> f64 {
    if cell.limited_share(keys::LIMITED_BY_WINDOW).is_some() {
        return 0.0;
    }
    let most = cell.receiver().and_then(|end| end.largest_bytes("net.ipv4.tcp_rmem"));
    most.unwrap_or(RECEIVE_BUFFER_BYTES) as f64
}

fn middle(steps: &[Step], of: fn(&Step) -> f64) -> f64 {
    median(&steps.iter().map(of).collect::<Vec<f64>>()).unwrap_or(0.0)
}

fn range(steps: &[Step], of: fn(&Step) -> f64) -> [f64; 2] {
    steps
        .iter()
        .map(of)
        .fold([f64::INFINITY, 0.0], |[low, high], value: f64| [low.min(value), high.max(value)])
}

/// Whether all runs end at one rate.
fn is_one_rate(steps: &[Step]) -> bool {
    let [low, high] = range(steps, |step| step.slow_bps);
    high - low <= RATES_SPREAD * middle(steps, |step| step.slow_bps)
}

fn is_step(step: &Step) -> bool {
    step.fast_bps >= STEP * step.slow_bps && step.volume_bytes >= VOLUME_MIN_BYTES
}

/// Whether each run steps down after about the same volume.
fn is_a_volume(steps: &[Step]) -> bool {
    let [least, most] = range(steps, |step| step.volume_bytes);
    steps.iter().all(is_step) && most <= VOLUMES_APART * least && is_one_rate(steps)
}

/// Whether the first run found a bucket full that the later ones found emptied.
fn is_a_bucket(cell: &Cell<'_>, steps: &[Step]) -> bool {
    let Some((first, others)) = steps.split_first() else { return false };
    let [_, most] = range(others, |step| step.volume_bytes);
    is_step(first)
        && first.volume_bytes >= STEP * most
        && is_one_rate(steps)
        && (path_policed::is_found(cell) || path_capacity::is_found(cell))
}

/// The same in the median run.
pub fn passed_before(cell: &Cell<'_>) -> Option<f64> {
    median(&cell.done.iter().filter_map(|record| before(record)).collect::<Vec<f64>>())
}

/// Payload that was acknowledged before the sender's window opened; `None` where nobody told.
fn before(record: &Record) -> Option<f64> {
    let each = record.sender()?.readings.each(keys::ACKNOWLEDGED_SO_FAR, Moment::Opening);
    each.map(|(_, bytes)| bytes as f64).reduce(|a, b| a + b)
}

/// Bytes and seconds of all pieces.
fn sum(pieces: &[(f64, f64)]) -> (f64, f64) {
    pieces.iter().fold((0.0, 0.0), |(bytes, time), piece| (bytes + piece.0, time + piece.1))
}

/// The step of one run; `None` where its slices do not tell.
fn step(cell: &Cell<'_>, record: &Record) -> Option<Step> {
    let slices: Vec<(f64, f64)> = record
        .receiver()?
        .intervals
        .iter()
        .map(|slice| (slice.bytes.0 as f64, slice.length_ns.0 as f64 / 1e9))
        .collect();
    let half = slices.len() / 2;
    let (bytes, seconds) = sum(&slices[half..]);
    let so_far = before(record);
    // A stream that stands still may do so for any reason where nobody told what had passed.
    let is_told = slices.len() >= SLICES_MIN && (bytes > 0.0 || so_far.is_some());
    let slow = is_told.then(|| bytes / seconds.max(1e-9))?;
    let warmup = (so_far.unwrap_or(0.0), cell.trial.timeline.warmup_ns.0 as f64 / 1e9);
    let mut pieces = vec![warmup];
    pieces.extend(&slices[..half]);
    let ends = (1..=pieces.len()).map(|end| sum(&pieces[..end])).filter(|piece| piece.1 > 0.0);
    // What passed beyond the later rate is greatest where the step is.
    let ends = ends.map(|(bytes, seconds)| (bytes - slow * seconds, bytes, seconds));
    let (beyond, bytes, seconds) = ends.max_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(Step {
        volume_bytes: beyond.max(0.0),
        fast_bps: 8.0 * bytes / seconds,
        slow_bps: 8.0 * slow,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, read, slices, stream};
    use crate::setting::testing::{is_clear, is_found, is_unknown};
    use narrows_model::host::Host;
    use narrows_model::load::Role;
    use narrows_model::record::Outcome;
    use narrows_model::study::StoredStudy;
    use narrows_model::{Fact, Nanos};

    /// Three runs with a warm-up of half a second, by their slices, and in that so many megabytes.
    fn study(slices_mb: [u64; 10], before_mb: Option<[u64; 3]>) -> StoredStudy {
        let mut study = stream("tcp-stream");
        study.trials[0].timeline.warmup_ns = Nanos(500_000_000);
        slices(&mut study, &slices_mb.map(|mb| mb * 1_000_000));
        for (record, mb) in study.records.iter_mut().zip(before_mb.unwrap_or_default()) {
            for end in record.of_mut(Role::Sender).filter(|_| before_mb.is_some()) {
                let key = "flow0.opening:acknowledged_so_far_bytes";
                end.readings.put_words("tcp-info", key, mb * 1_000_000);
            }
        }
        study
    }

    #[test]
    fn a_volume_that_passes_fast_is_found_in_the_window_and_before_it() {
        let of = |slices, before| of_study(&RULE, &study(slices, before));
        let within = [50, 50, 10, 10, 10, 10, 10, 10, 10, 10];
        assert!(is_found(&of(within, Some([250, 250, 250]))));
        assert!(is_found(&of([10; 10], Some([160, 150, 155]))), "before the window");
        assert!(is_clear(&of([10; 10], Some([50, 50, 50]))), "the same rate");
        assert!(is_clear(&of([10; 10], Some([90, 90, 90]))), "1.8 times");
        assert!(is_clear(&of([10; 10], Some([160, 250, 155]))), "another volume in each run");
        assert!(is_clear(&of([10, 10, 10, 10, 10, 50, 50, 50, 50, 50], Some([30; 3]))), "it rises");
        assert!(is_unknown(&of([10; 10], None)), "nobody told what came before");
        let found = of([10; 10], Some([160, 150, 155]));
        assert!(format!("{found:?}").contains("once about 105.0 MB have passed"), "{found:?}");
    }

    #[test]
    fn a_volume_after_which_nothing_passes_is_found_where_it_is_told() {
        let of = |before| of_study(&RULE, &study([0; 10], before));
        let found = of(Some([21, 20, 22]));
        let says = "carries nothing more once about 21.0 MB have passed";
        assert!(is_found(&found) && format!("{found:?}").contains(says), "{found:?}");
        assert!(is_clear(&of(Some([21, 2, 60]))), "a path that fails at any time");
        assert!(is_clear(&of(Some([0; 3]))), "nothing ever passed");
        assert!(is_unknown(&of(None)));
    }

    #[test]
    fn a_bucket_that_only_the_first_run_found_full_is_found_behind_a_queue() {
        let emptied = |before: [u64; 3], least_us: u64| {
            let mut study = study([10; 10], Some(before));
            for (key, value) in [
                ("rtt_min_ns", 10_000),
                ("rtt_ns", 1000 * least_us),
                ("lowest:rtt_ns", 1000 * least_us),
                ("highest:rtt_ns", 1000 * least_us),
                ("send_mss_bytes", 1448),
                ("sent_segments", 900_000),
                ("retransmitted_segments", 0),
                ("limited_by_receive_window_ns", 0),
                ("busy_ns", 1_000_000_000),
            ] {
                read(&mut study, "tcp-info", &format!("flow0.{key}"), value);
            }
            study
        };
        let of = |before, least_us| of_study(&RULE, &emptied(before, least_us));
        // 50 MB are what the later rate moves in the warm-up.
        let found = of([250, 55, 54], 20_000);
        assert!(is_found(&found), "{found:?}");
        assert!(format!("{found:?}").contains("once about 200.0 MB have passed"), "{found:?}");
        assert!(is_clear(&of([250, 55, 54], 12)), "nothing holds the stream at a rate");
        assert!(is_clear(&of([250, 160, 54], 20_000)), "two runs of three");
        assert!(is_clear(&of([54, 55, 250], 20_000)), "the last run");
        // Of four runs the first has no slices, or failed.
        let of = |change: fn(&mut Record)| {
            let mut study = emptied([250, 55, 54], 20_000);
            let mut before = study.records[0].clone();
            change(&mut before);
            study.records.iter_mut().for_each(|record| record.repeat += 1);
            study.records.insert(0, before);
            of_study(&RULE, &study)
        };
        let untold = of(|record| {
            record.of_mut(Role::Receiver).for_each(|end| end.intervals.clear());
        });
        assert!(is_clear(&untold), "{untold:?}");
        let failed = of(|record| {
            record.outcome = Outcome::Skipped { missing: Vec::new() };
        });
        assert!(is_clear(&failed), "{failed:?}");
    }

    #[test]
    fn a_receive_buffer_that_nobody_watched_is_no_volume() {
        let of = |setting: Option<&str>, counted: bool| {
            // 6 MB beyond the 5 that the later rate moves in the warm-up.
            let slices = [0, 1, 1, 1, 1, 1, 1, 1, 1, 1];
            let mut study = study(slices, Some([11, 11, 11]));
            if let Some(sizes) = setting {
                let value = Fact::known(sizes.to_owned(), "test");
                study.peer_hosts = vec![Host::default()];
                study.peer_hosts[0].tuning.insert("net.ipv4.tcp_rmem".into(), value);
            }
            if counted {
                read(&mut study, "tcp-info", "flow0.limited_by_receive_window_ns", 0);
            }
            of_study(&RULE, &study)
        };
        let unwatched = of(None, false);
        assert!(is_unknown(&unwatched), "6 MiB by default: {unwatched:?}");
        assert!(is_found(&of(None, true)), "its window was never full");
        assert!(is_unknown(&of(Some("4096 131072 6291456"), false)));
        assert!(is_found(&of(Some("4096 131072 4194304"), false)), "4 MiB at the most");
    }

    #[test]
    fn rates_that_differ_afterwards_and_losses_at_random_are_no_volume() {
        use crate::probes::testing::{way, with_probes};
        use narrows_model::probe::PathProbe;
        let mut uneven = study([10; 10], Some([160, 150, 155]));
        for slice in uneven.records[1].of_mut(Role::Receiver).flat_map(|end| &mut end.intervals) {
            slice.bytes.0 = slice.bytes.0 / 10 * 12;
        }
        assert!(is_clear(&of_study(&RULE, &uneven)));
        let with = |slow: u32| {
            let mut study = study([10; 10], Some([160, 150, 155]));
            for (key, count) in [("sent_segments", 900_000), ("retransmitted_segments", 18_000)] {
                read(&mut study, "tcp-info", &format!("flow0.{key}"), count);
            }
            let there = way(251, 60, slow);
            with_probes(&mut study, &[PathProbe { there, ..PathProbe::default() }]);
            of_study(&RULE, &study)
        };
        assert!(is_clear(&with(251)), "at random");
        assert!(is_found(&with(256)), "what is sent apart comes");
    }
}
