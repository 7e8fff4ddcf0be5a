//! Single figures by name: rows with `name`, `value` and `unit`. What the model says of a name, and
//! what kind of statement that is; of most names it says nothing.

use super::{Answer, Cell, Kind, Row, Table};
use crate::framing;

/// What this answers.
pub const QUESTION: &str = "single figures";
/// Load-to-use latency of local memory as a share of the other socket's (80.8 and 140.4 ns on a
/// Skylake-SP node, measured with a vendor's checker; field notes).
const LOCAL_OF_REMOTE: f64 = 80.8 / 140.4;
/// Share of throughput's cost that grows with latency: set by one published gain of 24 %.
const PHI: f64 = 0.325;

/// What is said of one figure: value, range, resource, kind, words.
struct Says {
    value: Option<f64>,
    range: Option<(f64, f64)>,
    resource: &'static str,
    kind: Kind,
    how: String,
}

/// The answer for a table of this kind.
pub fn answer(table: &Table) -> Option<Answer> {
    let is_one = |row: &Row<'_>| row.has("name") && row.has("value");
    if !table.rows().any(|row| is_one(&row)) {
        return None;
    }
    let mut answer =
        Answer { question: QUESTION, files: vec![table.name.clone()], ..Answer::default() };
    for row in table.rows().filter(is_one) {
        let name = row.text("name").unwrap_or_default();
        let mut cell = Cell::new(&row, name, row.own("value"));
        cell.row = name.to_owned();
        cell.unit = row.text("unit").unwrap_or_default().to_owned();
        if let Some(says) = says(table, name, cell.published) {
            cell.predicted = says.value;
            (cell.low, cell.high) = (says.range.map(|r| r.0), says.range.map(|r| r.1));
            cell.narrowest = says.resource.to_owned();
            cell.kind = says.kind;
            cell.says = says.how;
        } else {
            "the model does not speak of it".clone_into(&mut cell.says);
        }
        answer.cells.push(cell);
    }
    outside(&mut answer);
    Some(answer)
}

/// Another figure of the table.
fn figure(table: &Table, name: &str) -> Option<f64> {
    table.rows().find(|row| row.text("name") == Some(name))?.own("value")
}

fn says(table: &Table, name: &str, published: Option<f64>) -> Option<Says> {
    let one = |value, resource, kind, how: &str| {
        Some(Says { value: Some(value), range: None, resource, kind, how: how.to_owned() })
    };
    let gain = 1.0 - PHI + PHI / LOCAL_OF_REMOTE - 1.0;
    match name {
        name if name.starts_with("latency_change_vs_remote") => one(
            LOCAL_OF_REMOTE - 1.0,
            "memory latency",
            Kind::Consistency,
            "local over remote latency, as if a round trip were nothing but misses: it is not",
        ),
        name if name.starts_with("bandwidth_gain_vs_remote") => {
            // The figure of an operating system without containers is the one that set phi.
            let kind = if name.contains("_os") { Kind::Calibration } else { Kind::Prediction };
            one(gain, "memory latency", kind, "a share phi of the cost grows with latency")
        }
        "receiver_cpu_snap" => {
            let remote = figure(table, "receiver_cpu_remote")?;
            let how = "the remote figure, times local over remote latency";
            one(remote * LOCAL_OF_REMOTE, "memory latency", Kind::Prediction, how)
        }
        "sender_cpu_change" => one(
            0.0,
            "cache",
            Kind::Consistency,
            "a sender copies out of its cache wherever that is",
        ),
        "sockets_memory_ratio_max" => {
            one(4.0, "memory", Kind::Consistency, "the most of the source's own counting")
        }
        "rdma_memory_ratio" => {
            one(1.0, "memory", Kind::Consistency, "the device moves each byte once")
        }
        "saturation_share_of_link" => {
            // The front-side bus of the system's host carries at most so much.
            let bus = bus_gb_s(table)?;
            let how = format!("4 B a byte over a bus of {bus} GB/s of which 0.55 can be reached");
            one(8.0 * bus * 0.55 / 4.0 / 10.0, "memory", Kind::Calibration, &how)
        }
        "rdma_limited_by" => limit(table),
        "imb_pingpong_latency" => {
            let passes = figure(table, "of_which_switch_two_passes")?;
            let hosts = published? - passes;
            let how = format!("hosts {hosts:.1} and switch {passes:.1}: an identity");
            one(hosts + passes, "hosts", Kind::Consistency, &how)
        }
        "of_which_switch_two_passes" => {
            let switch = figure(table, "switch_latency")?;
            one(2.0 * switch, "switch", Kind::Prediction, "twice the switch's latency")
        }
        name if name.ends_with("_mtu9000") => jumbo(table, name),
        _ => None,
    }
}

/// Whether a PCI-X bus or four lanes of InfiniBand carry less, where the system's words name both.
fn limit(table: &Table) -> Option<Says> {
    let mut words = table.system.values().filter_map(toml::Value::as_str);
    let host = words.find(|text| text.contains("PCI-X") && text.contains("4x"))?;
    let digits: String =
        host.split("PCI-X ").nth(1)?.chars().take_while(char::is_ascii_digit).collect();
    // 64 bits wide, with 60 clocks of waiting for each 512 of data; four lanes of 2 Gb/s.
    let bus = 64.0 * digits.parse::<f64>().ok()? * 1e-3 * 512.0 / 572.0;
    let resource = if bus < 8.0 { "PCI-X" } else { "InfiniBand" };
    let how = format!("PCI-X reads {bus:.2} Gb/s, four lanes of InfiniBand 8: {resource}");
    Some(Says { value: None, range: None, resource, kind: Kind::Prediction, how })
}

/// A time with jumbo frames from that without: between no gain and all of the framing's.
fn jumbo(table: &Table, name: &str) -> Option<Says> {
    let before = figure(table, &name.replace("9000", "1500"))?;
    let most = framing::rdma(framing::Rdma::Iwarp, 65_536.0, 1500.0)
        / framing::rdma(framing::Rdma::Iwarp, 65_536.0, 9000.0);
    let low = before * most;
    Some(Says {
        value: Some((before + low) / 2.0),
        range: Some((low, before)),
        resource: "wire",
        kind: Kind::Prediction,
        how: "between no gain and all of the framing's, as if the wire were all".to_owned(),
    })
}

/// Rate of the memory bus that a system's words state: `3.2 GB/s`.
fn bus_gb_s(table: &Table) -> Option<f64> {
    let words = table.system.values().filter_map(toml::Value::as_str);
    words
        .filter_map(|text| text.split(" GB/s").next()?.rsplit(['(', ' ']).next()?.parse().ok())
        .next()
}

/// Predictions whose range or value is far from what is published.
fn outside(answer: &mut Answer) {
    let far = answer.cells.iter().filter(|cell| {
        let outside = |published: f64| match cell.low.zip(cell.high) {
            Some((low, high)) => !(low..=high).contains(&published),
            None => cell.error().is_some_and(|error| error.abs() > 0.1),
        };
        cell.kind == Kind::Prediction && cell.published.is_some_and(outside)
    });
    let says: Vec<String> = far
        .map(|cell| {
            let (p, m) = (cell.published.unwrap_or_default(), cell.predicted.unwrap_or_default());
            format!("not explained: {}: {p} and not {m:.3}", cell.row)
        })
        .collect();
    answer.remarks.extend(says);
}
