//! What a background load moved while its run was made.

use crate::done::CONFIDENCE;
use crate::median_interval;
use narrows_model::load::{EndReport, Interval};
use narrows_model::record::{Lost, Record};
use narrows_model::result::Estimate;
use narrows_model::trial::Trial;
use narrows_model::units::Unit;
use narrows_model::{Bytes, Nanos};

/// The load's rate over the runs that it lasted for.
pub(crate) fn rate(done: &[&Record]) -> Option<Estimate> {
    let rates: Vec<f64> = done.iter().filter_map(|record| of_run(record)).collect();
    median_interval(&rates, CONFIDENCE, Unit::BytesPerSecond)
}

/// Runs that were to have a load, and had none to their end.
pub(crate) fn ended_early(trial: &Trial, done: &[&Record]) -> usize {
    let wanted = trial.background().is_some();
    done.iter().filter(|record| wanted && of_run(record).is_none()).count()
}

/// Why loads were lost, each cause once.
pub(crate) fn lost(done: &[&Record]) -> Vec<Lost> {
    let mut causes: Vec<Lost> = Vec::new();
    for why in done.iter().filter_map(|record| record.background()?.lost.as_ref()) {
        if !causes.contains(why) {
            causes.push(why.clone());
        }
    }
    causes
}

/// Bytes a second over the slices that overlap the windows of the run's ends on the load's host, or
/// the time of an outside tool's client; `None` where it did not last from the first to the last.
pub(crate) fn of_run(record: &Record) -> Option<f64> {
    let load = record.background().filter(|load| load.lost.is_none())?;
    let (from, to) = time_of(record, load)?;
    if load.opened_ns.0 > from || close(load) < to {
        return None;
    }
    let whole = [Interval {
        start_ns: Nanos(0),
        length_ns: load.window_ns,
        bytes: Bytes(load.flows.iter().map(|flow| flow.bytes.0).fold(0, u64::saturating_add)),
    }];
    let slices = if load.intervals.is_empty() { &whole[..] } else { &load.intervals };
    let (mut bytes, mut ns) = (0.0, 0.0);
    for slice in slices {
        let start = load.opened_ns.0.saturating_add(slice.start_ns.0);
        let end = start.saturating_add(slice.length_ns.0);
        let common = end.min(to).saturating_sub(start.max(from)) as f64;
        bytes += slice.bytes.0 as f64 * common / slice.length_ns.0.max(1) as f64;
        ns += common;
    }
    (ns > 0.0).then(|| bytes * 1e9 / ns)
}

/// From when to when a run was measured, by the load's clock.
fn time_of(record: &Record, load: &EndReport) -> Option<(u64, u64)> {
    if let Some(tool) = &record.external {
        return tool.client.map(|client| (client.began_ns.0, client.ended_ns.0));
    }
    let machine = load.effective.machine.as_deref();
    // The clock is that of a host: an end on another one cannot be compared.
    let here = || record.measured().filter(|end| end.effective.machine.as_deref() == machine);
    Some((here().map(|end| end.opened_ns.0).min()?, here().map(close).max()?))
}

fn close(end: &EndReport) -> u64 {
    end.opened_ns.0.saturating_add(end.window_ns.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::record::{ClientTime, External, Outcome, Reported, Stamp};
    use narrows_model::trial::TrialId;

    const MS: u64 = 1_000_000;

    fn end(machine: &str, opened_ms: u64, window_ms: u64) -> EndReport {
        let mut end = EndReport {
            opened_ns: Nanos(opened_ms * MS),
            window_ns: Nanos(window_ms * MS),
            ..Default::default()
        };
        end.effective.machine = Some(machine.to_owned());
        end
    }

    /// A load in slices of 100 ms that moved so many bytes each.
    fn load(opened_ms: u64, slices: &[u64]) -> EndReport {
        let slice = |(at, bytes): (usize, &u64)| Interval {
            start_ns: Nanos(at as u64 * 100 * MS),
            length_ns: Nanos(100 * MS),
            bytes: Bytes(*bytes),
        };
        let intervals = slices.iter().enumerate().map(slice).collect();
        EndReport { intervals, ..end("here", opened_ms, 100 * slices.len() as u64) }
    }

    fn run(load: Option<EndReport>, receiver: EndReport, sender: EndReport) -> Record {
        let [receiver, sender] = [receiver, sender].map(|end| Some(Box::new(end)));
        Record {
            trial: TrialId("t".into()),
            repeat: 0,
            block: 0,
            outcome: Outcome::Done,
            reports: Reported::list(receiver, sender, load.map(Box::new)),
            around: Stamp::default(),
            session: 0,
            external: None,
        }
    }

    #[test]
    fn slices_count_by_what_they_share_with_the_run() {
        // It idles before and after the run, which says nothing of the run.
        let slices = [0, 0, 1000, 3000, 2000, 0];
        let of = |from: u64, window: u64| {
            let end = || end("here", 5000 + from, window);
            of_run(&run(Some(load(5000, &slices)), end(), end()))
        };
        assert_eq!(of(200, 300), Some(20_000.0));
        // Half of the third slice and half of the fourth: (500 + 1500) / 0.1 s.
        assert_eq!(of(250, 100), Some(20_000.0));
        assert_eq!(of(0, 600), Some(10_000.0));
    }

    #[test]
    fn beside_an_outside_tool_the_time_of_its_client_counts() {
        // The server listens at first, and the job is alone.
        let slices = [9000, 9000, 1000, 3000, 2000, 9000];
        let of = |client: Option<(u64, u64)>| {
            let mut record = run(None, end("here", 0, 0), end("here", 0, 0));
            record.reports = Reported::list(None, None, Some(Box::new(load(5000, &slices))));
            let client = client.map(|(began, ended)| ClientTime {
                began_ns: Nanos(began * MS),
                ended_ns: Nanos(ended * MS),
            });
            record.external = Some(External {
                tool: "redis".to_owned(),
                version: None,
                command: None,
                file: None,
                figures: Vec::new(),
                output: String::new(),
                client,
                packets: None,
            });
            of_run(&record)
        };
        assert_eq!(of(Some((5200, 5500))), Some(20_000.0));
        assert_eq!(of(Some((5200, 5601))), None, "the client went on");
        assert_eq!(of(None), None, "nobody knows when it ran");
    }

    #[test]
    fn a_load_that_did_not_last_has_no_rate() {
        let of = |load, receiver, sender| of_run(&run(load, receiver, sender));
        let here = |from: u64, window: u64| end("here", from, window);
        let load = |opened| Some(load(opened, &[1000; 10]));
        assert!(of(load(100), here(100, 1000), here(150, 900)).is_some());
        assert!(of(load(100), here(99, 500), here(150, 500)).is_none(), "began too late");
        assert!(of(load(100), here(200, 500), here(200, 901)).is_none(), "one end went on");
        assert!(of(None, here(200, 500), here(200, 500)).is_none(), "it is gone");
        // The other host's clock is another.
        assert_eq!(of(load(100), end("there", 9, 5), here(200, 500)), Some(10_000.0));
        assert!(of(load(100), end("there", 150, 5), end("there", 150, 5)).is_none());
    }
}
