//! The statistics on real series: 2,076 iperf3 runs between clouds, where they are at hand. What is
//! printed here stands in docs/stats.md.

use narrows_model::units::Unit;
use narrows_stats::{Change, compare, median, median_interval, repeats_needed};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

/// Runs of one pair of hosts over one path, in time, each with its session.
type Series = Vec<(String, f64)>;

fn series() -> Option<Vec<Series>> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/corpora/stats/iperf3-cloud-wan-2021.csv");
    let Ok(text) = std::fs::read(&file) else {
        let _ =
            std::io::stderr().write_all(b"skipped: series: the folder with series is not there\n");
        return None;
    };
    let mut reader = csv::Reader::from_reader(text.as_slice());
    let head = reader.headers().expect("a head").clone();
    let at = |name: &str| head.iter().position(|column| column == name).expect("a column");
    let keys = ["host", "target", "proxy", "path_kind"].map(at);
    let (session, rate) = (at("session"), at("received_bps"));
    let mut all = BTreeMap::<Vec<String>, Series>::new();
    for row in reader.records().map(|row| row.expect("a row")) {
        let key = keys.iter().map(|at| row[*at].to_owned()).collect();
        let value: f64 = row[rate].parse().expect("a rate");
        all.entry(key).or_default().push((row[session].to_owned(), value));
    }
    Some(all.into_values().collect())
}

fn values(series: &Series) -> Vec<f64> {
    series.iter().map(|(_, value)| *value).collect()
}

#[test]
fn intervals_cover_as_often_as_they_say() {
    let Some(all) = series() else { return };
    let runs: usize = all.iter().map(Vec::len).sum();
    assert!(runs > 2000, "{runs}");
    let mut random = Pcg64::seed_from_u64(1);
    for n in [6, 10, 30] {
        let (mut covered, mut tried) = (0u32, 0u32);
        for series in all.iter().filter(|series| series.len() >= 20) {
            let population = values(series);
            let truth = median(&population).expect("values");
            for _ in 0..400 {
                let drawn: Vec<f64> =
                    (0..n).map(|_| population[random.random_range(0..population.len())]).collect();
                let interval = median_interval(&drawn, 0.95, Unit::BitsPerSecond).expect("values");
                covered += u32::from(interval.low <= truth && truth <= interval.high);
                tried += 1;
            }
        }
        let share = f64::from(covered) / f64::from(tried);
        println!("coverage of the 95 % interval, n {n}: {:.1} % of {tried}", share * 100.0);
        assert!((0.945..=0.995).contains(&share), "n {n}: {share}");
    }
}

/// Two halves of one series must not differ: shuffled halves are what the test promises, halves in
/// time show what sessions do to it.
#[test]
fn false_alarms_are_as_rare_as_promised_for_shuffled_runs() {
    let Some(all) = series() else { return };
    let mut random = Pcg64::seed_from_u64(2);
    let alarm = |a: &[f64], b: &[f64]| {
        let change = compare(a, b, 0.02, 1, true).map(|compared| compared.change);
        (change.is_some(), matches!(change, Some(Change::Worse | Change::Better)))
    };
    let (mut shuffled, mut in_time) = ((0u32, 0u32), (0u32, 0u32));
    for series in all.iter().filter(|series| series.len() >= 20) {
        let mut runs = values(series);
        let half = runs.len() / 2;
        let (told, alarmed) = alarm(&runs[..half], &runs[half..]);
        in_time = (in_time.0 + u32::from(told), in_time.1 + u32::from(alarmed));
        for _ in 0..100 {
            runs.shuffle(&mut random);
            let (told, alarmed) = alarm(&runs[..half], &runs[half..]);
            shuffled = (shuffled.0 + u32::from(told), shuffled.1 + u32::from(alarmed));
        }
    }
    let share = |(tried, alarmed): (u32, u32)| f64::from(alarmed) / f64::from(tried.max(1));
    println!(
        "false alarms beyond 2 %: shuffled halves {:.2} % of {}, halves in time {:.0} % of {}",
        share(shuffled) * 100.0,
        shuffled.0,
        share(in_time) * 100.0,
        in_time.0
    );
    assert!(share(shuffled) <= 0.05, "{shuffled:?}");
    assert!(share(in_time) > share(shuffled), "sessions cluster: blocks are needed");
}

#[test]
fn wide_series_need_many_repeats() {
    let Some(all) = series() else { return };
    let mut needs: Vec<Option<usize>> = all
        .iter()
        .filter(|series| series.len() >= 20)
        .map(|series| repeats_needed(&values(series), 0.05, 0.95))
        .collect();
    needs.sort_by_key(|need| need.unwrap_or(usize::MAX));
    let at = |share: f64| needs[((needs.len() - 1) as f64 * share) as usize];
    println!(
        "repeats for 5 %, over {} series: quartiles {:?}, {:?}, {:?}; beyond 5000 in {}",
        needs.len(),
        at(0.25),
        at(0.5),
        at(0.75),
        needs.iter().filter(|need| need.is_none()).count()
    );
    assert!(at(0.25).is_some_and(|need| need >= 6));
}
