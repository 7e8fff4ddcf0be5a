//! Conditions on percentiles and loss, of runs whose every count is known, and why a text is none.

mod told;

use narrows_model::Nanos;
use narrows_model::load::{EndReport, Role};
use narrows_model::record::Reported;
use narrows_stats::{Demand, Met, Summary, summarise};

fn met(of: &Summary, text: &str) -> Met {
    text.parse::<Demand>().unwrap_or_else(|why| panic!("{text}: {why}")).met(of)
}

#[test]
fn a_percentile_is_the_round_trip_that_so_many_are_not_above() {
    let trial = told::trial("tcp-rr", "trips");
    let asks = EndReport {
        window_ns: Nanos(1_000_000_000),
        round_trips: vec![
            (Nanos(10_000), 6000),
            (Nanos(20_000), 3000),
            (Nanos(30_000), 900),
            (Nanos(40_000), 100),
        ],
        ..EndReport::default()
    };
    let answers = EndReport { window_ns: Nanos(1_000_000_000), ..EndReport::default() };
    let end = |role, report: EndReport| Reported { role, report: Box::new(report), span: None };
    let ends = vec![end(Role::Receiver, answers), end(Role::Sender, asks)];
    let record = told::record(&trial, 0, ends);
    let of = summarise(&told::study(vec![trial], vec![record])).remove(0);
    for (text, wanted) in [
        ("tcp-rr.p50 <= 10 us", Met::Yes),
        ("tcp-rr.p50 < 10 us", Met::No),
        ("tcp-rr.p90 <= 20 us", Met::Yes),
        ("tcp-rr.p90 < 20 us", Met::No),
        ("tcp-rr.p99 <= 30 us", Met::Yes),
        ("tcp-rr.p99 < 30 us", Met::No),
        ("tcp-rr.p99.9 <= 40 us", Met::Yes),
        ("tcp-rr.p99.9 <= 39 us", Met::No),
        ("tcp-rr.loss < 1 %", Met::Missing),
    ] {
        assert_eq!(met(&of, text), wanted, "{text}");
    }
}

#[test]
fn loss_is_the_share_of_all_that_both_ends_count() {
    let trial = told::trial("udp-stream", "datagrams");
    let record = told::record(&trial, 0, told::datagrams(1000, 875));
    let of = summarise(&told::study(vec![trial], vec![record])).remove(0);
    for (text, wanted) in [
        ("udp.loss <= 12.5 %", Met::Yes),
        ("udp.loss < 12.5 %", Met::No),
        ("udp.loss > 12.4 %", Met::Yes),
        ("udp.p50 < 1 s", Met::Missing),
    ] {
        assert_eq!(met(&of, text), wanted, "{text}");
    }
}

#[test]
fn what_is_no_condition_names_what_there_is() {
    let why = |text: &str| text.parse::<Demand>().expect_err(text).to_string();
    let quantity = why("tcp.mean < 3 s");
    assert!(
        quantity.ends_with("median, min, max, p50, p90, p99, p99.9, loss, throughput"),
        "{quantity}"
    );
    let unit = why("tcp.median < 3 furlong");
    assert!(unit.starts_with("'furlong' is no unit: bit/s, kbit/s, Mbit/s, Gbit/s"), "{unit}");
    assert_eq!(why("tcp.median < fast"), "'fast' is no number with a unit");
    let told: Demand = "tcp.median < 3 s".parse().expect("a condition");
    assert_eq!(told.text(), "tcp.median < 3 s");
}
