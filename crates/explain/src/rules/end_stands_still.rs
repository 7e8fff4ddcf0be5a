//! `end-stands-still`: did the program of an end stand still?
//!
//! A process that is stopped, frozen by its control group or suspended with its virtual machine
//! neither runs nor waits for a CPU: data waits for it, TCP's window closes or datagrams find its
//! socket full, and CPU, path and settings look sound. The thread that reads the clock at each end
//! stands still with it, so that slices of the window last far longer than they were to, and its
//! short sleeps too. Of stops that are shorter than these TCP's own clock tells, which had nothing
//! to send meanwhile.

use crate::measured::{self, Blind, Cell, Looked, finding, waited_share};
use crate::{Case, Rule};
use narrows_model::load::{EndReport, Role};
use narrows_model::reading::keys;
use narrows_model::result::{Measure, Needed, Verdict, Weight};

pub static RULE: Rule = Rule {
    name: "end-stands-still",
    asks: "Did the program of an end stop running?",
    of_host: false,
    judge,
};

/// A slice of a tenth of a second lasts a few per cent longer where others use the CPUs.
const LATE: f64 = 1.4;
/// One or two late slices in all runs of a cell are an accident of a busy host, and so is a run in
/// which many are late while in most runs none is.
const LATE_MIN: usize = 3;
/// Share of the window by which slices lasted too long. Of some sixty paths with two busy CPUs the
/// worst had 0.06; an end that was stopped for half of the time 0.36, for three quarters 0.6.
const STILL_SHARE: f64 = 0.15;
/// The slices that bytes are told for where nobody asked for others.
const SLICE_NS: f64 = 1e8;

fn judge(case: &Case<'_>) -> Verdict {
    measured::judge(case, Needed::Slices, None, look)
}

fn look(cell: &Cell<'_>) -> Looked {
    if !cell.is_network_stream() && !cell.trial.kind.is_round_trip() {
        return Err(Blind::OtherKind);
    }
    let slice_ns = cell.trial.timeline.interval_ns.map_or(SLICE_NS, |ns| ns.0 as f64);
    let still = |role: Role| {
        let ends = || cell.done.iter().flat_map(move |record| record.of(role).take(1));
        let is_again = ends().map(|end| late_ns(end, slice_ns).count()).sum::<usize>() >= LATE_MIN;
        move |end: &EndReport| {
            let by_slices = still_share(end, slice_ns).map(|of| if is_again { of } else { 0.0 })?;
            Some(by_slices.max(stopped_share(end).unwrap_or(0.0)))
        }
    };
    let ends = [
        ("receiver", cell.of_receiver(still(Role::Receiver))),
        ("sender", cell.of_sender(still(Role::Sender))),
    ];
    let unheard = ("sender", silent_share(cell).filter(|share| *share >= SILENT_SHARE));
    let told = ends.into_iter().chain([unheard]).filter_map(|(name, share)| Some((name, share?)));
    let worst = told.max_by(|a, b| a.1.total_cmp(&b.1));
    let (name, share) = worst.ok_or_else(|| cell.lacks(Measure::Slices))?;
    let percent = 100.0 * share;
    let seen = format!("the {name}'s process stood still for {percent:.0} % of the window");
    let wrong = (share >= STILL_SHARE).then(|| {
        let says = format!(
            "The {name}'s program stood still for {percent:.0} % of the time in {}: it neither ran \
             nor waited for a CPU",
            cell.trial.label
        );
        let remedy = "see what stops the process: a debugger or SIGSTOP, the freezer of its \
                      control group (cgroup.freeze), a quota of CPU time that the process itself \
                      cannot read (cpu.max, cpu.cfs_quota_us and nr_throttled of its group, as \
                      the host sees it), checkpoints, a virtual machine that is suspended or \
                      moved; larger buffers only hide short pauses";
        finding(&RULE, cell, Weight::Advice, says, seen.clone(), remedy)
    });
    cell.saw(seen, wrong)
}

/// Shorter silences are those of other calls than the ones that send.
const SILENT_SHARE: f64 = 0.3;

/// Share of the window in which a program that writes all that TCP takes had written nothing, and
/// its threads neither ran nor waited for a CPU: stops that are shorter than a slice are not seen
/// by the clock. A call that waits for room is one of TCP's busy times. Interrupts and the
/// hypervisor may have had the CPU in a thread's place, and where others do, nothing is told.
fn silent_share(cell: &Cell<'_>) -> Option<f64> {
    if !cell.is_tcp_stream() || cell.is_paced() || cell.is_disturbed() {
        return None;
    }
    let silent = 1.0 - cell.engaged_share()?;
    let away = cell.of_sender(|end| {
        let ran = end.threads.iter().map(|thread| {
            (thread.user_ns.0 as f64 + thread.system_ns.0 as f64) / thread.wall_ns.0.max(1) as f64
        });
        let taken: u64 = [keys::SOFTIRQ, keys::IRQ, keys::STEAL]
            .into_iter()
            .map(|counter| end.readings.total(counter))
            .sum::<Option<u64>>()?;
        let taken = taken as f64 / end.window_ns.0.max(1) as f64;
        Some(1.0 - ran.reduce(f64::max)? - waited_share(end)? - taken)
    })?;
    Some(silent.min(away))
}

/// The part of the window by which an end's slices were too long, as far as its threads were
/// neither running nor waiting for a CPU, nor was the one that reads the clock.
fn still_share(end: &EndReport, slice_ns: f64) -> Option<f64> {
    let late: f64 = late_ns(end, slice_ns).map(|ns| ns - slice_ns).sum();
    (!end.intervals.is_empty()).then(|| late_share(end, late))?
}

/// The same by the short sleeps of the clock's thread, which see stops within a slice. A hypervisor
/// that ran others meanwhile has its own rule.
fn stopped_share(end: &EndReport) -> Option<f64> {
    let stolen = end.readings.total(keys::STEAL).unwrap_or(0) as f64;
    late_share(end, end.keeper_late_ns?.0 as f64 - stolen)
}

/// Such a time as a part of the window, without what the clock's thread waited for a CPU, and no
/// more than a thread of the load was away.
fn late_share(end: &EndReport, late_ns: f64) -> Option<f64> {
    let window_ns = end.window_ns.0 as f64;
    let ran = end.threads.iter().map(|thread| {
        (thread.user_ns.0 as f64 + thread.system_ns.0 as f64) / thread.wall_ns.0.max(1) as f64
    });
    let waited = end.keeper_waited_ns.map_or(0.0, |ns| ns.0 as f64);
    let busy = ran.reduce(f64::max)? + waited_share(end)?;
    (window_ns > 0.0).then(|| ((late_ns - waited) / window_ns).min(1.0 - busy).max(0.0))
}

/// How long slices lasted that came late, in nanoseconds.
fn late_ns(end: &EndReport, slice_ns: f64) -> impl Iterator<Item = f64> {
    let lengths = end.intervals.iter().map(|slice| slice.length_ns.0 as f64);
    lengths.filter(move |ns| *ns >= LATE * slice_ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, stream};
    use crate::setting::testing::{is_clear, is_found, is_unknown};
    use narrows_model::load::{Interval, Role, ThreadUsage};
    use narrows_model::{Bytes, Nanos};

    #[test]
    fn slices_that_last_too_long_are_found_where_no_cpu_was_wanting() {
        let of_runs = |kind: &str, runs: &[&[u64]], waited_ms: u64| {
            let mut study = stream(kind);
            study.records.truncate(runs.len());
            for (record, lengths_ms) in study.records.iter_mut().zip(runs) {
                for role in [Role::Receiver, Role::Sender] {
                    let end = record.of_mut(role).next().expect("an end");
                    end.threads[0].system_ns = Nanos(60_000_000);
                    end.threads[0].waited_ns = Some(Nanos(waited_ms * 1_000_000));
                    let slice = |ms: &u64| Interval {
                        start_ns: Nanos(0),
                        length_ns: Nanos(ms * 1_000_000),
                        bytes: Bytes(1000),
                    };
                    let own = if role == Role::Sender { &[100; 10][..] } else { *lengths_ms };
                    end.intervals = own.iter().map(slice).collect();
                }
            }
            of_study(&RULE, &study)
        };
        let of =
            |lengths_ms: &[u64], waited_ms: u64| of_runs("tcp-stream", &[lengths_ms; 3], waited_ms);
        let stopped = of(&[100, 201, 100, 199, 101, 200, 99], 100);
        assert!(is_found(&stopped), "{stopped:?}");
        assert!(format!("{stopped:?}").contains("receiver's program stood still for 30 %"));
        assert!(is_clear(&of(&[100, 106, 112, 100, 139, 100, 100], 100)));
        let twice = [100, 250, 100, 250, 100, 100, 100].as_slice();
        assert!(is_clear(&of_runs("tcp-stream", &[twice], 100)), "twice by chance");
        assert!(is_found(&of_runs("tcp-rr", &[twice; 3], 100)), "in each run, of round trips too");
        let (often, sound) = ([250, 250, 250, 100].as_slice(), [100; 9].as_slice());
        assert!(is_clear(&of_runs("tcp-rr", &[often, sound, sound], 100)), "in one run of three");
        // A thread that waited for a CPU in all of that time was not stopped.
        assert!(is_clear(&of(&[100, 201, 100, 199, 101, 200, 99], 900)));
        assert!(is_unknown(&of_study(&RULE, &stream("tcp-stream"))));
    }

    #[test]
    fn stops_shorter_than_a_slice_are_told_by_tcp_which_had_nothing_to_send() {
        let of = |busy_ms: u64, ran_ms: u64, waited_ms: u64, softirq_ms: u64| {
            let mut study = stream("tcp-stream");
            for record in &mut study.records {
                for role in [Role::Receiver, Role::Sender] {
                    let end = record.of_mut(role).next().expect("an end");
                    let slice = Interval {
                        start_ns: Nanos(0),
                        length_ns: Nanos(104_000_000),
                        bytes: Bytes(1000),
                    };
                    end.intervals = vec![slice; 9];
                    end.threads[0].user_ns = Nanos(0);
                    end.threads[0].system_ns = Nanos(ran_ms * 1_000_000);
                    end.threads[0].wall_ns = Nanos(1_000_000_000);
                    end.threads[0].waited_ns = Some(Nanos(waited_ms * 1_000_000));
                    let busy = busy_ms * 1_000_000;
                    end.readings.put_words("tcp-info", "flow0.busy_ns", busy);
                    for (state, ms) in [("softirq", softirq_ms), ("irq", 0), ("steal", 0)] {
                        let ns = ms * 1_000_000;
                        end.readings.put_words("cpu", &format!("cpu0.{state}_ns"), ns);
                    }
                }
            }
            of_study(&RULE, &study)
        };
        let stopped = of(380, 350, 50, 50);
        assert!(format!("{stopped:?}").contains("sender's program stood still for 55 %"));
        assert!(is_clear(&of(1000, 350, 50, 50)), "it waits for room");
        assert!(is_clear(&of(380, 900, 50, 50)), "it works");
        assert!(is_clear(&of(380, 350, 600, 50)), "it waits for a CPU");
        assert!(is_clear(&of(380, 350, 50, 350)), "the kernel handles its packets meanwhile");
    }

    #[test]
    fn a_clock_that_is_read_late_for_want_of_a_cpu_stopped_nobody() {
        let share = |keeper_waited_ms: Option<u64>| {
            let mut end = EndReport {
                window_ns: Nanos(1_000_000_000),
                keeper_waited_ns: keeper_waited_ms.map(|ms| Nanos(ms * 1_000_000)),
                ..EndReport::default()
            };
            let slice = |ms: u64| Interval {
                start_ns: Nanos(0),
                length_ns: Nanos(ms * 1_000_000),
                bytes: Bytes(1000),
            };
            end.intervals = [100, 250, 250, 200, 200].map(slice).to_vec();
            let wall_ns = Nanos(1_000_000_000);
            end.threads =
                vec![ThreadUsage { wall_ns, waited_ns: Some(Nanos(0)), ..Default::default() }];
            still_share(&end, 1e8).map(|share| (100.0 * share).round())
        };
        // Late by 150, 150, 100 and 100 of 1000 ms.
        assert_eq!(share(None), Some(50.0));
        assert_eq!(share(Some(0)), Some(50.0));
        assert_eq!(share(Some(400)), Some(10.0));
        assert_eq!(share(Some(900)), Some(0.0));
    }

    #[test]
    fn stops_within_a_slice_are_told_by_short_sleeps_of_the_clock() {
        let of = |late_ms: u64, waited_ms: u64, stolen_ms: u64, ran_ms: u64| {
            let mut study = stream("tcp-stream");
            for record in &mut study.records {
                for role in [Role::Receiver, Role::Sender] {
                    let end = record.of_mut(role).next().expect("an end");
                    let length_ns = Nanos(104_000_000);
                    let slice = Interval { start_ns: Nanos(0), length_ns, bytes: Bytes(1000) };
                    end.intervals = vec![slice; 9];
                    end.threads[0].system_ns = Nanos(ran_ms * 1_000_000);
                    end.threads[0].waited_ns = Some(Nanos(0));
                    end.keeper_waited_ns = Some(Nanos(waited_ms * 1_000_000));
                    end.readings.put_words("cpu", "cpu0.steal_ns", stolen_ms * 1_000_000);
                    let late_ms = if role == Role::Receiver { late_ms } else { 10 };
                    end.keeper_late_ns = Some(Nanos(late_ms * 1_000_000));
                }
            }
            of_study(&RULE, &study)
        };
        let stopped = of(500, 20, 0, 200);
        assert!(format!("{stopped:?}").contains("receiver's program stood still for 48 %"));
        assert!(is_clear(&of(140, 0, 0, 200)), "an accident of a busy host");
        assert!(is_clear(&of(500, 400, 0, 200)), "it waited for a CPU");
        assert!(is_clear(&of(500, 0, 400, 200)), "the hypervisor had the CPU");
        assert!(is_clear(&of(500, 0, 0, 900)), "it worked meanwhile");
    }
}
