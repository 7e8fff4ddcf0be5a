//! `sender-pacing`: did congestion control hold the sender back where nothing else did?
//!
//! bbr sends at a pace that it works out from the path, by the kernel's timers. Over a local path
//! of tens of microseconds those are too coarse and its pace is unsteady: 1.5 to 3.5 times below
//! cubic between namespaces. Found where a sender that paces had a short and free path, nothing was
//! lost, nothing queued, no window, buffer or CPU was full, and the rate still changed from slice
//! to slice. That it was not compared is said: another congestion control beside it tells. Where
//! other processes had the CPUs a rate is unsteady for that, and nothing is said.

use crate::measured::{self, Blind, Cell, Looked, finding};
use crate::{Case, Rule};
use narrows_model::reading::keys;
use narrows_model::result::{Activity, Measure, Needed, Verdict, Weight};
use narrows_stats::Label;

pub static RULE: Rule = Rule {
    name: "sender-pacing",
    asks: "Did congestion control hold the sender back where nothing else did?",
    of_host: false,
    judge,
};

/// Those that pace by themselves.
const PACING: [&str; 3] = ["bbr", "bbr2", "bbr3"];
/// Longer paths are what bbr is made for.
const SHORT_NS: f64 = 1e6;
/// More than a link or a shaper would let the rate change: behind shapers of 0.5 and 3 Gb/s bbr's
/// slices were within 1 % of each other, where nothing but its own pacing held it 6 to 9 % apart.
const UNSTEADY_MIN: f64 = 0.05;

/// A window or a buffer that holds the sender for half of the time is the limit itself.
const LIMITED_SHARE: f64 = 0.5;

fn judge(case: &Case<'_>) -> Verdict {
    let idle = Some(Activity::Paces);
    measured::judge(case, Needed::TcpCountersOfSender, idle, look)
}

fn look(cell: &Cell<'_>) -> Looked {
    let used = cell.summary.congestion().unwrap_or_default();
    if !cell.is_tcp_stream() || cell.is_paced() || !PACING.contains(&used) {
        return Err(Blind::OtherKind);
    }
    let trips = cell.trips().ok_or_else(|| cell.lacks(Measure::TcpRoundTrips))?;
    let unsteady = cell.unsteadiness().ok_or_else(|| cell.lacks(Measure::Slices))?;
    let lost = cell.losses().map_or(0.0, |losses| losses.lost);
    let seen = format!(
        "{used}; shortest round trip {:.0} us, {:.3} % lost, slices of the window within {:.0} % \
         of each other; neither CPU, window nor buffer was full",
        trips.shortest_ns / 1e3,
        100.0 * lost,
        100.0 * unsteady
    );
    let is_limited = [keys::LIMITED_BY_WINDOW, keys::LIMITED_BY_BUFFER]
        .into_iter()
        .any(|limit| cell.limited_share(limit).is_some_and(|share| share >= LIMITED_SHARE));
    let free = !cell.is_busy() && !is_limited && lost < 0.001;
    let held = free && trips.shortest_ns <= SHORT_NS && unsteady >= UNSTEADY_MIN;
    if held && is_starved(cell) {
        return Err(cell.lacks(Measure::UndisturbedRuns));
    }
    let wrong = held.then(|| {
        let says = format!(
            "Congestion control {used} paced the sender in {}, and nothing else held it back",
            cell.trial.label
        );
        let at = cell.sender().map_or("at the sender", |end| end.at);
        let remedy = format!(
            "compare: --congestion cubic; if that is faster, {at}: sysctl -w \
             net.ipv4.tcp_congestion_control=cubic, or take `congctl` off the route (ip route show)"
        );
        finding(&RULE, cell, Weight::Advice, says, seen.clone(), &remedy)
    });
    cell.saw(seen, wrong)
}

/// Whether others had the CPUs. The timers that pace run in the kernel's own time: they are late
/// where a host is busy, whether or not the ends' threads had to wait as well.
fn is_starved(cell: &Cell<'_>) -> bool {
    cell.is_disturbed() || cell.summary.labels.contains(&Label::Noisy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, read, slices, stream};
    use crate::setting::testing::{is_clear, is_found, is_idle, is_unknown};
    use narrows_model::Nanos;
    use narrows_model::load::Role;
    use narrows_model::study::StoredStudy;

    /// A stream of this congestion control whose slices jump by so many bytes.
    fn unsteady(congestion: &str, jump: u64, shortest_us: u64) -> StoredStudy {
        let mut study = stream("tcp-stream");
        for record in &mut study.records {
            for end in record.of_mut(Role::Sender) {
                end.effective.congestion = Some(congestion.into());
            }
        }
        let each = |n: u64| 100_000_000 + jump * (n % 2);
        slices(&mut study, &(0..10).map(each).collect::<Vec<u64>>());
        for key in ["rtt_ns", "rtt_min_ns", "lowest:rtt_ns", "highest:rtt_ns"] {
            read(&mut study, "tcp-info", &format!("flow0.{key}"), 1000 * shortest_us);
        }
        study
    }

    #[test]
    fn an_unsteady_pace_over_a_free_path_is_found() {
        let of = |congestion: &str, jump: u64, shortest_us: u64| {
            of_study(&RULE, &unsteady(congestion, jump, shortest_us))
        };
        assert!(is_found(&of("bbr", 60_000_000, 10)));
        assert!(is_clear(&of("bbr", 1_000_000, 10)), "steady");
        assert!(is_clear(&of("bbr", 60_000_000, 20_000)), "a long path");
        assert!(is_idle(&of("cubic", 60_000_000, 10)));
    }

    #[test]
    fn on_a_starved_host_nobody_knows_what_made_the_pace_unsteady() {
        // Share of their time that the threads waited for a CPU, and of the host's that others had.
        let of = |jump: u64, waited_percent: u64, others_percent: u64| {
            let mut study = unsteady("bbr", jump, 10);
            for end in study.records.iter_mut().flat_map(|record| &mut record.reports) {
                let thread = &mut end.report.threads[0];
                thread.waited_ns = Some(Nanos(waited_percent * 10_000_000));
                let ran_ns = thread.user_ns.0 + thread.system_ns.0;
                let others_ns = others_percent * 40_000_000;
                let idle_ns = 4_000_000_000 - others_ns - 2 * ran_ns;
                end.report.effective.machine = Some("one".into());
                let times = [("user", others_ns), ("system", 2 * ran_ns), ("idle", idle_ns)];
                for (key, ns) in times {
                    end.report.readings.put_words("cpu", &format!("cpu0.{key}_ns"), ns);
                }
            }
            of_study(&RULE, &study)
        };
        assert!(is_found(&of(60_000_000, 2, 0)));
        assert!(is_unknown(&of(60_000_000, 20, 0)), "the threads waited");
        assert!(is_unknown(&of(60_000_000, 2, 50)), "others had half of the host");
        assert!(is_clear(&of(1_000_000, 20, 50)), "steady all the same");
    }
}
