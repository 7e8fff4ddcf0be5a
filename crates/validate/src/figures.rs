//! Single figures: rows with `name`, `value` and a declared `quantity`, which says what the figure
//! is of and so which other fields go into it. A name is for people and decides nothing; of a row
//! that declares no quantity the model says nothing.

use super::{Answer, Comparison, Kind, Row, Table};
use narrows_predict::framing;
use serde::Deserialize;

pub const QUESTION: &str = "single figures";
/// Load-to-use latency of local memory as a share of the other socket's (80.8 and 140.4 ns on a
/// Skylake-SP node, measured with a vendor's checker; field notes).
const LOCAL_OF_REMOTE: f64 = 80.8 / 140.4;
/// Share of throughput's cost that grows with latency: set by one published gain of 24 %.
const PHI: f64 = 0.325;
/// Share of a front-side bus that copies reach: set by one published share of a link.
const BUS_SHARE: f64 = 0.55;
/// Bytes of memory traffic for each payload byte, where no copy hits a cache.
const COLD_BYTES: f64 = 4.0;

/// What a figure is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Quantity {
    /// Change of a round trip's time from a remote NIC to a local one, as a share.
    LatencyChange,
    /// The same of throughput.
    ThroughputGain,
    /// Share of a CPU that receives through a local NIC, from `remote`, the share through a remote
    /// one.
    ReceiverCpu,
    /// Change of the sender's share of a CPU from a remote NIC to a local one.
    SenderCpuChange,
    /// Share of a link of `link_gbps` that sockets reach over a memory bus of `bus_gb_s`.
    ShareOfLink,
    /// Which carries less: PCI-X at `pcix_mhz`, or a link of `link_gbps`.
    Bottleneck,
    /// Time of a program with jumbo frames, from `before`, its time without.
    JumboTime,
}

impl Quantity {
    /// By its word in a table.
    fn named(word: &str) -> Option<Self> {
        let word = toml::Value::String(word.to_owned());
        word.try_into().ok()
    }
}

/// What the model says of a figure.
struct Said {
    value: Option<f64>,
    range: Option<(f64, f64)>,
    resource: &'static str,
    kind: Kind,
    how: String,
}

impl Said {
    fn of(value: f64, resource: &'static str, kind: Kind, how: &str) -> Self {
        Self { value: Some(value), range: None, resource, kind, how: how.to_owned() }
    }
}

/// The answer for a table of this kind.
pub fn answer(table: &Table) -> Option<Answer> {
    if !table.rows().any(|row| is_named(&row)) {
        return None;
    }
    let cells = table.rows().filter(is_named).map(|row| cell(&row)).collect();
    let mut answer =
        Answer { question: QUESTION, files: vec![table.name.clone()], cells, ..Answer::default() };
    outside(&mut answer);
    Some(answer)
}

fn is_named(row: &Row<'_>) -> bool {
    row.has("name") && row.has("value")
}

fn cell(row: &Row<'_>) -> Comparison {
    let name = row.text("name").unwrap_or_default();
    let mut cell = Comparison::new(row, name, row.own("value"));
    name.clone_into(&mut cell.row);
    row.text("unit").unwrap_or_default().clone_into(&mut cell.unit);
    let Some(word) = row.text("quantity") else {
        "its row declares no quantity".clone_into(&mut cell.says);
        return cell;
    };
    let Some(quantity) = Quantity::named(word) else {
        cell.says = format!("the model has no quantity '{word}'");
        return cell;
    };
    match said(row, quantity) {
        Ok(said) => {
            cell.predicted = said.value;
            (cell.low, cell.high) = (said.range.map(|r| r.0), said.range.map(|r| r.1));
            said.resource.clone_into(&mut cell.bottleneck);
            cell.kind = said.kind;
            cell.says = said.how;
        }
        Err(lacks) => cell.says = format!("'{word}' needs the field {lacks}"),
    }
    cell
}

/// What the model says; an error is the field that the row lacks.
fn said(row: &Row<'_>, quantity: Quantity) -> Result<Said, &'static str> {
    let need = |field: &'static str| row.number(field).ok_or(field);
    // A row that set a parameter says so of itself.
    let predicted = match row.flag("calibrates") {
        Some(true) => Kind::Calibration,
        _ => Kind::Prediction,
    };
    Ok(match quantity {
        Quantity::LatencyChange => Said::of(
            LOCAL_OF_REMOTE - 1.0,
            "memory latency",
            Kind::Consistency,
            "local over remote latency, as if a round trip were nothing but misses: it is not",
        ),
        Quantity::ThroughputGain => Said::of(
            PHI / LOCAL_OF_REMOTE - PHI,
            "memory latency",
            predicted,
            "a share phi of the cost grows with latency",
        ),
        Quantity::ReceiverCpu => Said::of(
            need("remote")? * LOCAL_OF_REMOTE,
            "memory latency",
            predicted,
            "the remote figure, times local over remote latency",
        ),
        Quantity::SenderCpuChange => Said::of(
            0.0,
            "cache",
            Kind::Consistency,
            "a sender copies out of its cache wherever that is",
        ),
        Quantity::ShareOfLink => {
            let (bus, link) = (need("bus_gb_s")?, need("link_gbps")?);
            let how = format!("{COLD_BYTES} B a byte over {BUS_SHARE} of a bus of {bus} GB/s");
            Said::of(8.0 * bus * BUS_SHARE / COLD_BYTES / link, "memory", predicted, &how)
        }
        Quantity::Bottleneck => bottleneck(need("pcix_mhz")?, need("link_gbps")?),
        Quantity::JumboTime => jumbo(need("before")?),
    })
}

/// Whether a PCI-X bus of 64 bits or a link carries less: the bus waits 60 clocks for each 512 that
/// it moves data in.
fn bottleneck(pcix_mhz: f64, link_gbps: f64) -> Said {
    let bus = 64.0 * pcix_mhz * 1e-3 * 512.0 / 572.0;
    let resource = if bus < link_gbps { "PCI-X" } else { "wire" };
    let how = format!("PCI-X reads {bus:.2} Gb/s, the link carries {link_gbps}: {resource}");
    Said { value: None, range: None, resource, kind: Kind::Prediction, how }
}

/// A time with jumbo frames from that without: between no gain and all of the framing's.
fn jumbo(before: f64) -> Said {
    let share = |mtu| framing::rdma(framing::Rdma::Iwarp, 65_536.0, mtu);
    let low = before * share(1500.0) / share(9000.0);
    Said {
        value: Some((before + low) / 2.0),
        range: Some((low, before)),
        resource: "wire",
        kind: Kind::Prediction,
        how: "between no gain and all of the framing's, as if the wire were all".to_owned(),
    }
}

/// Predictions whose range or value is far from what is published.
fn outside(answer: &mut Answer) {
    let remarks: Vec<String> = answer
        .cells
        .iter()
        .filter(|cell| {
            cell.kind == Kind::Prediction
                && cell.published.is_some_and(|published| match cell.low.zip(cell.high) {
                    Some((low, high)) => !(low..=high).contains(&published),
                    None => cell.error().is_some_and(|error| error.abs() > 0.1),
                })
        })
        .map(|cell| {
            let (p, m) = (cell.published.unwrap_or_default(), cell.predicted.unwrap_or_default());
            format!("not explained: {}: {p} and not {m:.3}", cell.row)
        })
        .collect();
    answer.remarks.extend(remarks);
}
