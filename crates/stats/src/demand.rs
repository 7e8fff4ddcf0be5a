//! What a user demands of figures, such as `tcp.median < 90 Gbit/s`, and whether it is so.

use crate::{Percentiles, SearchEnd, Searched, Summary};
use narrows_model::Nanos;
use narrows_model::units::Unit;
use narrows_model::workload::Workload;
use std::str::FromStr;
use thiserror::Error;

/// A condition on one quantity of each cell, or of each search for a rate, that a name fits.
#[derive(Clone, Debug, PartialEq)]
pub struct Demand {
    text: String,
    of: String,
    quantity: Quantity,
    order: Order,
    /// In the unit.
    bound: f64,
    unit: Unit,
}

/// What is held beside the bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quantity {
    Median,
    Least,
    Most,
    P50,
    P90,
    P99,
    P999,
    Loss,
    /// What a search for a rate found: of no cell, each of which has a rate of its own.
    Throughput,
}

const QUANTITIES: [(&str, Quantity); 9] = [
    ("median", Quantity::Median),
    ("min", Quantity::Least),
    ("max", Quantity::Most),
    ("p50", Quantity::P50),
    ("p90", Quantity::P90),
    ("p99", Quantity::P99),
    ("p99.9", Quantity::P999),
    ("loss", Quantity::Loss),
    ("throughput", Quantity::Throughput),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Below,
    AtMost,
    Above,
    AtLeast,
}

/// Longer words first: `<=` begins with `<`.
const ORDERS: [(&str, Order); 4] =
    [("<=", Order::AtMost), (">=", Order::AtLeast), ("<", Order::Below), (">", Order::Above)];

/// Units by their words, with what one of them is in the unit of figures.
const UNITS: [(&str, Unit, f64); 28] = [
    ("bit/s", Unit::BitsPerSecond, 1.0),
    ("kbit/s", Unit::BitsPerSecond, 1e3),
    ("Mbit/s", Unit::BitsPerSecond, 1e6),
    ("Gbit/s", Unit::BitsPerSecond, 1e9),
    ("Tbit/s", Unit::BitsPerSecond, 1e12),
    ("kb/s", Unit::BitsPerSecond, 1e3),
    ("Mb/s", Unit::BitsPerSecond, 1e6),
    ("Gb/s", Unit::BitsPerSecond, 1e9),
    ("Tb/s", Unit::BitsPerSecond, 1e12),
    ("B/s", Unit::BytesPerSecond, 1.0),
    ("kB/s", Unit::BytesPerSecond, 1e3),
    ("MB/s", Unit::BytesPerSecond, 1e6),
    ("GB/s", Unit::BytesPerSecond, 1e9),
    ("ns", Unit::Nanos, 1.0),
    ("us", Unit::Nanos, 1e3),
    ("ms", Unit::Nanos, 1e6),
    ("s", Unit::Nanos, 1e9),
    ("%", Unit::Share, 0.01),
    ("datagram/s", Unit::DatagramsPerSecond, 1.0),
    ("packet/s", Unit::PacketsPerSecond, 1.0),
    ("Mpps", Unit::PacketsPerSecond, 1e6),
    ("1/s", Unit::PerSecond, 1.0),
    ("k/s", Unit::PerSecond, 1e3),
    ("M/s", Unit::PerSecond, 1e6),
    ("flop/s", Unit::FlopsPerSecond, 1.0),
    ("Mflop/s", Unit::FlopsPerSecond, 1e6),
    ("Gflop/s", Unit::FlopsPerSecond, 1e9),
    ("Tflop/s", Unit::FlopsPerSecond, 1e12),
];

/// Why a text is no demand.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NoDemand {
    /// Nothing compares two sides.
    #[error("'{0}' compares nothing with <, <=, > or >=")]
    Order(String),
    /// No quantity stands behind the last dot of the left side.
    #[error("'{0}' ends with no quantity: {names}", names = names())]
    Quantity(String),
    /// The right side does not begin with a number.
    #[error("'{0}' is no number with a unit")]
    Number(String),
    /// The number has no unit, or one that is not known.
    #[error("'{0}' is no unit: {units}", units = units())]
    Unit(String),
}

fn names() -> String {
    QUANTITIES.map(|(name, _)| name).join(", ")
}

fn units() -> String {
    UNITS.map(|(name, _, _)| name).join(", ")
}

impl FromStr for Demand {
    type Err = NoDemand;

    fn from_str(text: &str) -> Result<Self, NoDemand> {
        let order = || NoDemand::Order(text.trim().to_owned());
        let at = text.find(['<', '>']).ok_or_else(order)?;
        let (left, rest) = text.split_at(at);
        let (sign, order) =
            *ORDERS.iter().find(|(sign, _)| rest.starts_with(sign)).ok_or_else(order)?;
        let (of, quantity) = quantity(left.trim())?;
        let (bound, unit) = bound(rest[sign.len()..].trim())?;
        Ok(Self { text: text.trim().to_owned(), of, quantity, order, bound, unit })
    }
}

/// The name and the quantity; the last has a dot in one of its words.
fn quantity(left: &str) -> Result<(String, Quantity), NoDemand> {
    let found = QUANTITIES.iter().find_map(|(word, quantity)| {
        let of = left.strip_suffix(word)?.strip_suffix('.')?.trim();
        (!of.is_empty()).then(|| (of.to_owned(), *quantity))
    });
    found.ok_or_else(|| NoDemand::Quantity(left.to_owned()))
}

fn bound(right: &str) -> Result<(f64, Unit), NoDemand> {
    let is_of_number = |c: char| c.is_ascii_digit() || c == '.';
    // `1/s` begins like a number: a space, or the first letter, ends the number.
    let end = right.find(|c: char| !is_of_number(c)).unwrap_or(right.len());
    let (number, unit) = right.split_at(end);
    let number: f64 = number.parse().map_err(|_| NoDemand::Number(right.to_owned()))?;
    let word = unit.trim();
    let known = UNITS.iter().find(|(name, _, _)| *name == word);
    let (_, unit, times) = known.ok_or_else(|| NoDemand::Unit(word.to_owned()))?;
    Ok((number * times, *unit))
}

/// Whether a condition is met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Met {
    /// By the figure, and by all of its interval.
    Yes,
    /// Not by any of its interval.
    No,
    /// The bound lies in the interval: more runs would tell.
    Undecided,
    /// The cell has no such figure.
    Missing,
    /// The cell's figure has another unit.
    OtherUnit(Unit),
}

impl Demand {
    /// As it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it speaks of a cell: by its label, by its workload, or by the family of that
    /// (`tcp` of `tcp-stream`).
    pub fn fits(&self, summary: &Summary) -> bool {
        let of = self.of.as_str();
        let is_kind = summary.kind.as_str() == of || summary.kind.family() == Some(of);
        self.names(summary) || is_kind && !self.is_of_search()
    }

    /// Whether it speaks of a cell by its label.
    pub fn names(&self, summary: &Summary) -> bool {
        summary.label == self.of && !self.is_of_search()
    }

    /// Whether it is of what searches found, and of no cell.
    pub fn is_of_search(&self) -> bool {
        self.quantity == Quantity::Throughput
    }

    /// Whether it speaks of a search: by what its runs have in common (`64 B`), or by `packets`.
    pub fn fits_search(&self, search: &Searched) -> bool {
        let is_named = self.of == search.of || self.of == Workload::Packets.as_str();
        self.is_of_search() && is_named && !search.back_to_back
    }

    /// Whether a cell's figure meets it.
    pub fn met(&self, summary: &Summary) -> Met {
        self.figure(summary).map_or(Met::Missing, |figure| self.met_by(figure))
    }

    /// Whether what a search found meets it, wherever between the rate that passes and the one that
    /// loses the border is. Where no rate was seen to lose, it may be anywhere above.
    pub fn met_by_search(&self, search: &Searched) -> Met {
        let unit = Unit::PacketsPerSecond;
        match search.end {
            // Known before it is over.
            SearchEnd::Unfinished if self.unit != unit => return Met::OtherUnit(unit),
            SearchEnd::Unfinished => return Met::Missing,
            SearchEnd::Found | SearchEnd::SenderBound | SearchEnd::Undecided => {}
        }
        let low = search.passes.map_or(0.0, |rate| rate as f64);
        // The rate that loses is itself no answer.
        let high = search.loses.map_or(f64::INFINITY, |rate| (rate as f64).next_down());
        self.met_by((low, high.max(low), unit))
    }

    fn met_by(&self, (low, high, unit): (f64, f64, Unit)) -> Met {
        if unit != self.unit {
            return Met::OtherUnit(unit);
        }
        let meets = |figure: f64| match self.order {
            Order::Below => figure < self.bound,
            Order::AtMost => figure <= self.bound,
            Order::Above => figure > self.bound,
            Order::AtLeast => figure >= self.bound,
        };
        match (meets(low), meets(high)) {
            (true, true) => Met::Yes,
            (false, false) => Met::No,
            _ => Met::Undecided,
        }
    }

    /// The unit that a cell's figure will have, where it is another: known before it is measured.
    pub fn other_unit(&self, planned: &Summary) -> Option<Unit> {
        let unit = match self.quantity {
            Quantity::Median | Quantity::Least | Quantity::Most => planned.metric.unit(),
            Quantity::P50 | Quantity::P90 | Quantity::P99 | Quantity::P999 => Unit::Nanos,
            Quantity::Loss => Unit::Share,
            Quantity::Throughput => Unit::PacketsPerSecond,
        };
        (unit != self.unit).then_some(unit)
    }

    /// The lower and the upper end of what is held beside the bound.
    fn figure(&self, summary: &Summary) -> Option<(f64, f64, Unit)> {
        let percentile = |of: fn(&Percentiles) -> Option<Nanos>| {
            let ns = of(summary.round_trips.as_ref()?)?.0 as f64;
            Some((ns, ns, Unit::Nanos))
        };
        let of_runs = |extreme: fn(f64, f64) -> f64| {
            let value = summary.values.iter().map(|value| value.value).reduce(extreme)?;
            Some((value, value, summary.metric.unit()))
        };
        match self.quantity {
            Quantity::Median => {
                summary.estimate.map(|figure| (figure.low, figure.high, figure.unit))
            }
            Quantity::Least => of_runs(f64::min),
            Quantity::Most => of_runs(f64::max),
            Quantity::P50 => percentile(|trips| trips.p50_ns),
            Quantity::P90 => percentile(|trips| trips.p90_ns),
            Quantity::P99 => percentile(|trips| trips.p99_ns),
            Quantity::P999 => percentile(|trips| trips.p999_ns),
            Quantity::Loss => {
                let loss = summary.loss.as_ref().filter(|loss| loss.all_datagrams() > 0)?;
                let share = loss.lost_datagrams as f64 / loss.all_datagrams() as f64;
                Some((share, share, Unit::Share))
            }
            Quantity::Throughput => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summarise;
    use narrows_model::Bytes;
    use narrows_model::host::Host;
    use narrows_model::load::{EndReport, FlowTally, Params, Timeline};
    use narrows_model::record::{Outcome, Record, Reported, Stamp};
    use narrows_model::study::StoredStudy;
    use narrows_model::trial::{EndSpec, NetworkPath, Trial, TrialId};

    fn demand(text: &str) -> Demand {
        text.parse().unwrap_or_else(|why| panic!("{text}: {why}"))
    }

    /// A cell of six runs of 9.0 to 9.5 Gb/s: the interval of its median is all of them.
    fn cell() -> Summary {
        let none = Nanos(0);
        let window_ns = Nanos(1_000_000_000);
        let timeline =
            Timeline { warmup_ns: none, window_ns, cooldown_ns: none, interval_ns: None };
        let trial = Trial {
            id: TrialId("uplink".into()),
            label: "uplink".into(),
            kind: "tcp-stream".into(),
            params: Params::of_network(Bytes(1000), 1),
            ends: EndSpec::anywhere(false),
            path: NetworkPath::Peer,
            timeline,
            levels: Vec::new(),
            notes: Vec::new(),
            engine: None,
        };
        let record = |repeat: u32| {
            let bytes = Bytes((9_000_000_000 + 100_000_000 * u64::from(repeat)) / 8);
            let flows = vec![FlowTally { bytes, messages: 1, ..FlowTally::default() }];
            let end = EndReport { window_ns, flows, ..EndReport::default() };
            Record {
                trial: trial.id.clone(),
                repeat,
                block: repeat,
                outcome: Outcome::Done,
                reports: Reported::list(Some(Box::new(end.clone())), Some(Box::new(end)), None),
                around: Stamp::default(),
                session: 0,
                external: None,
            }
        };
        let records = (0..6).map(record).collect();
        let trials = vec![trial.clone()];
        let study = StoredStudy { trials, records, ..StoredStudy::unmeasured(Host::default()) };
        summarise(&study).remove(0)
    }

    #[test]
    fn a_median_is_held_beside_the_bound_with_its_interval() {
        let cell = cell();
        for (text, met) in [
            ("tcp.median < 9.6 Gbit/s", Met::Yes),
            ("tcp.median < 9500 Mb/s", Met::Undecided),
            ("tcp.median <= 9.5Gb/s", Met::Yes),
            ("tcp.median < 9.2 Gbit/s", Met::Undecided),
            ("tcp.median < 9 Gbit/s", Met::No),
            ("tcp.median >= 9 Gbit/s", Met::Yes),
            ("tcp.median > 9 Gbit/s", Met::Undecided),
            ("tcp.min > 8.9 Gbit/s", Met::Yes),
            ("tcp.max > 9.5 Gbit/s", Met::No),
            ("tcp.p99.9 < 1 ms", Met::Missing),
            ("tcp.loss > 0 %", Met::Missing),
            ("tcp.median < 9 GB/s", Met::OtherUnit(Unit::BitsPerSecond)),
        ] {
            assert_eq!(demand(text).met(&cell), met, "{text}");
        }
    }

    #[test]
    fn a_cell_is_meant_by_its_label_its_workload_or_the_first_part_of_that() {
        let cell = cell();
        for name in ["uplink", "tcp-stream", "tcp"] {
            assert!(demand(&format!("{name}.median > 1 s")).fits(&cell), "{name}");
        }
        for name in ["udp", "tcp-rr", "tc", "up"] {
            assert!(!demand(&format!("{name}.median > 1 s")).fits(&cell), "{name}");
        }
    }

    /// A search for a rate, of frames of 64 B.
    fn search(end: SearchEnd, passes: Option<u64>, loses: Option<u64>) -> Searched {
        Searched {
            of: "64 B".to_owned(),
            back_to_back: false,
            throughput_packets_per_second: None,
            frame_bytes: 64,
            end,
            passes,
            loses,
            confidence_percent: 95.0,
            loss_percent: 0.0,
            runs: 9,
            curve: Vec::new(),
        }
    }

    #[test]
    fn what_a_search_found_lies_from_what_passes_up_to_what_loses() {
        use SearchEnd::{Found, SenderBound, Undecided, Unfinished};
        let found = search(Found, Some(980_000), Some(1_000_000));
        let none_passes = search(Found, None, Some(10_000));
        let none_loses = search(Found, Some(999_990), None);
        let bound = search(SenderBound, Some(700_000), None);
        let unfinished = search(Unfinished, None, None);
        let open = search(Undecided, Some(500_000), Some(900_000));
        for (search, condition, met) in [
            (&found, "< 0.98 Mpps", Met::No),
            (&found, ">= 980000 packet/s", Met::Yes),
            (&found, "< 0.99 Mpps", Met::Undecided),
            // What loses is not what passes, whichever way it is asked.
            (&found, "< 1 Mpps", Met::Yes),
            (&found, ">= 1 Mpps", Met::No),
            (&found, "> 999999 packet/s", Met::Undecided),
            (&found, "<= 1 Gbit/s", Met::OtherUnit(Unit::PacketsPerSecond)),
            (&none_passes, "< 10000 packet/s", Met::Yes),
            (&none_passes, "> 0 packet/s", Met::Undecided),
            (&none_loses, ">= 0.9 Mpps", Met::Yes),
            (&none_loses, ">= 1 Mpps", Met::Undecided),
            (&bound, ">= 0.7 Mpps", Met::Yes),
            (&bound, "< 0.8 Mpps", Met::Undecided),
            (&open, "< 0.5 Mpps", Met::No),
            (&open, "< 0.6 Mpps", Met::Undecided),
            (&open, "< 1 Mpps", Met::Yes),
            (&unfinished, "> 0 packet/s", Met::Missing),
            (&unfinished, "> 0 Gbit/s", Met::OtherUnit(Unit::PacketsPerSecond)),
        ] {
            let held = demand(&format!("packets.throughput {condition}")).met_by_search(search);
            assert_eq!(held, met, "{condition}: {search:?}");
        }
    }

    #[test]
    fn a_search_is_meant_by_its_frames_or_as_packets_and_no_cell_is() {
        let rate = search(SearchEnd::Found, Some(1), Some(2));
        let burst = Searched { back_to_back: true, ..rate.clone() };
        for (name, is_meant) in [("64 B", true), ("packets", true), ("128 B", false), ("", false)] {
            let Ok(demand) = format!("{name}.throughput > 1 Mpps").parse::<Demand>() else {
                assert!(name.is_empty(), "{name}");
                continue;
            };
            assert_eq!(demand.fits_search(&rate), is_meant, "{name}");
            assert!(!demand.fits_search(&burst), "{name}: frames are no rate");
        }
        assert!(!demand("packets.median > 1 Mpps").fits_search(&rate));
        let cell = cell();
        for name in ["uplink", "tcp"] {
            let demand = demand(&format!("{name}.throughput > 1 Mpps"));
            assert!(!demand.fits(&cell) && !demand.names(&cell), "{name}");
        }
    }

    #[test]
    fn what_is_no_condition_is_said() {
        let why = |text: &str| text.parse::<Demand>().expect_err(text);
        assert!(matches!(why("tcp.median = 3 s"), NoDemand::Order(_)));
        assert!(matches!(why("tcp.mean < 3 s"), NoDemand::Quantity(_)));
        assert!(matches!(why("median < 3 s"), NoDemand::Quantity(_)));
        assert!(matches!(why(".median < 3 s"), NoDemand::Quantity(_)));
        assert!(matches!(why("tcp.median < fast"), NoDemand::Number(_)));
        assert!(matches!(why("tcp.median < -3 s"), NoDemand::Number(_)));
        assert!(matches!(why("tcp.median < 1.2.3 s"), NoDemand::Number(_)));
        assert!(matches!(why("tcp.median < 3"), NoDemand::Unit(_)));
        assert!(matches!(why("tcp.median < 3 GiB/s"), NoDemand::Unit(_)));
        assert_eq!(demand("udp.p99.9 <= 3 us").bound, 3000.0);
        assert_eq!(demand("tcp-connect.median > 20 k/s").bound, 20_000.0);
        assert_eq!(demand("x.median < 2 1/s").unit, Unit::PerSecond);
    }

    #[test]
    fn a_unit_is_as_many_of_the_figures_unit_as_its_prefix_says() {
        let of = |text: &str| {
            let demand = demand(&format!("uplink.median >= 2 {text}"));
            (demand.bound, demand.unit)
        };
        let rates = [("", 1.0), ("k", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12)];
        for (prefix, times) in rates {
            assert_eq!(of(&format!("{prefix}bit/s")), (2.0 * times, Unit::BitsPerSecond));
        }
        for (prefix, times) in &rates[1..] {
            assert_eq!(of(&format!("{prefix}b/s")), (2.0 * times, Unit::BitsPerSecond));
        }
        for (prefix, times) in &rates[..4] {
            assert_eq!(of(&format!("{prefix}B/s")), (2.0 * times, Unit::BytesPerSecond));
        }
        for (text, times) in [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)] {
            assert_eq!(of(text), (2.0 * times, Unit::Nanos));
        }
        assert_eq!(of("%"), (0.02, Unit::Share));
        assert_eq!(of("Mpps"), (2e6, Unit::PacketsPerSecond));
        for (text, times) in [("1/s", 1.0), ("k/s", 1e3), ("M/s", 1e6)] {
            assert_eq!(of(text), (2.0 * times, Unit::PerSecond));
        }
        for (prefix, times) in [("", 1.0), ("M", 1e6), ("G", 1e9), ("T", 1e12)] {
            assert_eq!(of(&format!("{prefix}flop/s")), (2.0 * times, Unit::FlopsPerSecond));
        }
    }
}
