//! RDMA by link and framing: rows with `protocol` (`ib-edr`, `rocev1`, `rocev2`, `iwarp`, ...) and
//! a rate, and what they have of `verb`, `link_gbps`, `mtu`, `path_mtu`, `message`.

use super::asked::Unasked;
use super::{Answer, Comparison, Kind, Parameter, RATES, Row, Table, defaults};
use narrows_model::host::Host;
use narrows_model::result::ResourceName;
use narrows_predict::calibration::Calibration;
use narrows_predict::framing::{self, Rdma};
use narrows_predict::{Resource, Said, Verb, nic_model, of_nic};
use std::collections::BTreeMap;

/// Data rates of InfiniBand's generations on four lanes, in Gb/s (InfiniBand specification, volume
/// 2; line coding taken off).
const GENERATIONS: [(&str, f64); 8] = [
    ("sdr", 8.0),
    ("ddr", 16.0),
    ("qdr", 32.0),
    ("fdr", 54.545),
    ("edr", 100.0),
    ("hdr", 200.0),
    ("ndr", 400.0),
    ("xdr", 800.0),
];
/// Ethernet MTU where none is given.
const MTU: f64 = 1500.0;
/// Path MTU of InfiniBand where none is given.
const PATH_MTU: f64 = 4096.0;
/// Message where none is given: what the published runs have.
const MESSAGE: f64 = 65_536.0;

struct Ask {
    kind: Rdma,
    generation: Option<&'static str>,
    link_gbps: f64,
    share: f64,
    published: f64,
    /// The slot or the NIC's engine, where the row tells of them and either carries less.
    beside: Option<Resource>,
}

/// The answer for a table of this kind.
pub fn answer(table: &Table) -> Option<Answer> {
    if !table.rows().any(|row| is_of_rdma(&row)) {
        return None;
    }
    let mut answer = Answer {
        question: "RDMA writes by link and framing",
        files: vec![table.name.clone()],
        ..Answer::default()
    };
    let mut assumed = BTreeMap::new();
    let mut asks = Vec::new();
    let rows = table.rows().filter(is_of_rdma);
    let figures = rows.flat_map(|row| row.figures(RATES).into_iter().map(move |one| (row, one)));
    for (row, (column, what, one)) in &figures.collect::<Vec<_>>() {
        let published = row.own(column).unwrap_or_default();
        let mut cell = Comparison::new(row, column, Some(published));
        match ask(row, (published * one / 1e9, what), &mut assumed) {
            Ok(ask) => {
                asks.push((answer.cells.len(), ask));
                answer.cells.push(cell);
            }
            Err(why) => {
                cell.says = why.to_string();
                answer.cells.push(cell);
            }
        }
    }
    for (cell, ask) in &asks {
        let cell = &mut answer.cells[*cell];
        // In the unit of the row's figure.
        let one = ask.published / cell.published.unwrap_or(ask.published);
        let plain = ask.share * ask.link_gbps / one;
        // Nothing is fitted: rows of one link often state one constant, which would fit itself.
        cell.predicted = Some(plain);
        cell.left_out = Some(plain);
        cell.uncalibrated = Some((plain, 0.95 * plain, plain));
        (cell.low, cell.high) = (Some(0.95 * plain), Some(plain));
        cell.kind = Kind::Prediction;
        cell.bottleneck = "wire".to_owned();
        cell.says = format!("{:.3} % of {} Gb/s is payload", ask.share * 100.0, ask.link_gbps);
        let less = ask.beside.as_ref().filter(|beside| beside.value / one < plain);
        if let Some(less) = less {
            let [value, low, high] = [less.value, less.low, less.high].map(|gbps| gbps / one);
            cell.predicted = Some(value);
            cell.left_out = cell.predicted;
            cell.uncalibrated = Some((value, low, high));
            (cell.low, cell.high) = (Some(low), Some(high));
            cell.bottleneck = less.name.to_string();
            cell.says.clone_from(&less.says);
        }
    }
    remarks(&mut answer, &asks);
    answer.remarks.extend(defaults(&assumed));
    let published: Vec<f64> = asks.iter().map(|(_, ask)| ask.published).collect();
    answer.guess_the_median(&published);
    if !asks.is_empty() {
        let rate = asks.iter().map(|(_, ask)| (ask.link_gbps / ask.published - 1.0).abs());
        answer.baselines.push(("rate of the link", rate.sum::<f64>() / asks.len() as f64));
    }
    Some(answer)
}

fn is_of_rdma(row: &Row<'_>) -> bool {
    let protocol = protocol(row);
    let known = ["ib", "roce", "iwarp"].iter().any(|start| protocol.starts_with(start));
    known && !row.figures(RATES).is_empty()
}

/// `RoCE v2` and `rocev2` are one, and `InfiniBand` with the `link` `EDR` is `ib-edr`.
fn protocol(row: &Row<'_>) -> String {
    let plain = |key: &str| {
        let text = row.text(key).unwrap_or_default().to_lowercase();
        text.chars().filter(|letter| !matches!(letter, ' ' | '_')).collect::<String>()
    };
    let protocol = plain("protocol").replace("infiniband", "ib");
    if protocol == "ib" { format!("ib-{}", plain("link")) } else { protocol }
}

fn factor<'a>(asks: impl Iterator<Item = &'a Ask>) -> Option<f64> {
    let shares: Vec<f64> = asks.map(|ask| ask.published / (ask.share * ask.link_gbps)).collect();
    narrows_stats::median(&shares)
}

fn remarks(answer: &mut Answer, asks: &[(usize, Ask)]) {
    let mut told: Vec<(Rdma, Option<&str>)> = Vec::new();
    for (cell, ask) in asks {
        if told.contains(&(ask.kind, ask.generation)) {
            continue;
        }
        told.push((ask.kind, ask.generation));
        let same = asks.iter().map(|(_, other)| other);
        let same = same.filter(|o| o.kind == ask.kind && o.generation == ask.generation);
        let Some(share) = factor(same) else { continue };
        if let Some(name) = ask.generation {
            answer.parameters.push(Parameter {
                name: "link efficiency",
                value: share,
                unit: "share",
                says: "of the headers' arithmetic; no mechanism is known",
                from: format!("what the rows of {name} would need; not used"),
            });
        }
        // More than the headers leave cannot be.
        if share > 1.001 {
            let other = match ask.kind {
                Rdma::RoceV1 => Some(("RoCE version 2", Rdma::RoceV2)),
                _ => None,
            };
            let mut text = format!(
                "not explained: {} is {:.2} % above what its framing can carry",
                answer.cells[*cell].row,
                (share - 1.0) * 100.0
            );
            if let Some((name, kind)) = other {
                let fits = framing::rdma(kind, MESSAGE, framing::path_mtu(MTU)) * ask.link_gbps;
                text += &format!("; {name} would be {fits:.2} Gb/s, the name may be wrong");
            }
            answer.remarks.push(text);
        }
    }
}

/// What is asked of a queue pair: as the row declares it, else by its test, else what its column is
/// of (`read_gbps`); a write where none of them says.
fn verb(row: &Row<'_>, what: &str) -> Verb {
    let word = row.text("verb").or_else(|| row.text("test")).unwrap_or(what).to_lowercase();
    match word.as_str() {
        "read" | "rdma_read" | "ib_read_bw" | "ib_read_lat" => Verb::Read,
        "send" | "rdma_send" | "ib_send_bw" | "ib_send_lat" => Verb::Send,
        _ => Verb::Write,
    }
}

/// What the engine says of the slot and of the NIC, of the two the lower.
fn beside(row: &Row<'_>, what: &str, kind: Rdma, link_gbps: f64) -> Option<Resource> {
    let model = row.text("nic").and_then(nic_model);
    let slot = row.number("pcie_gen").zip(row.number("width"));
    if model.is_none() && slot.is_none() {
        return None;
    }
    let verb = match verb(row, what) {
        Verb::Read => "read",
        Verb::Send => "send",
        Verb::Write => "write",
    };
    let transport = match kind {
        Rdma::InfiniBand => "ib",
        Rdma::RoceV1 => "rocev1",
        Rdma::RoceV2 => "rocev2",
        Rdma::Iwarp => "iwarp",
    };
    let link = if kind == Rdma::InfiniBand { "infiniband" } else { "ethernet" };
    let mut said: Said = [("path", format!("rdma-{verb} {transport}")), ("link", link.to_owned())]
        .map(|(key, word)| (key.to_owned(), word))
        .into();
    let numbers = [
        ("nic.gbps", Some(link_gbps)),
        ("message", Some(row.bytes("message").unwrap_or(MESSAGE))),
        ("mtu", row.bytes("mtu")),
        ("streams", Some(row.number("qps").unwrap_or(1.0))),
    ];
    for (key, number) in numbers {
        if let Some(number) = number {
            said.insert(key.to_owned(), number.to_string());
        }
    }
    if let Some(model) = model {
        said.insert("nic.model".to_owned(), model.name.clone());
    }
    if let Some((generation, lanes)) = slot {
        said.insert("nic.pcie".to_owned(), format!("{generation}x{lanes}"));
    }
    let server = of_nic(&Host::default(), None, &said, &Calibration::default()).ok()?;
    let reach = server.reaches().into_iter().next()?;
    let all = reach
        .resources
        .into_iter()
        .filter(|one| matches!(one.name, ResourceName::Nic | ResourceName::Pcie));
    all.min_by(|one, other| one.value.total_cmp(&other.value))
}

fn ask(
    row: &Row<'_>,
    (published, what): (f64, &str),
    assumed: &mut BTreeMap<&'static str, String>,
) -> Result<Ask, Unasked> {
    let protocol = protocol(row);
    let (kind, generation) = match protocol.as_str() {
        "rocev1" | "roce" => (Rdma::RoceV1, None),
        "rocev2" => (Rdma::RoceV2, None),
        "iwarp" => (Rdma::Iwarp, None),
        name => {
            let of = GENERATIONS.iter().find(|(generation, _)| name.ends_with(generation));
            match of.filter(|_| name.starts_with("ib")) {
                Some((generation, _)) => (Rdma::InfiniBand, Some(*generation)),
                None if name == "ib-" => (Rdma::InfiniBand, None),
                None => return Err(Unasked::Protocol(name.to_owned())),
            }
        }
    };
    let link =
        match generation.and_then(|name| GENERATIONS.iter().find(|(known, _)| *known == name)) {
            Some((_, gbps)) => row.number("link_gbps").unwrap_or(*gbps),
            None => row.link_bps().ok_or(Unasked::Link)? / 1e9,
        };
    let mut or = |key: &'static str, otherwise: f64| {
        row.bytes(key).unwrap_or_else(|| {
            assumed.insert(key, otherwise.to_string());
            otherwise
        })
    };
    let message = or("message", MESSAGE);
    let mtu = match kind {
        // Its packets are what others call an MTU.
        Rdma::InfiniBand => match row.bytes("path_mtu").or_else(|| row.bytes("mtu")) {
            Some(path_mtu) => path_mtu,
            None => or("path_mtu", PATH_MTU),
        },
        Rdma::Iwarp => or("mtu", MTU),
        _ => match row.bytes("path_mtu") {
            Some(path_mtu) => path_mtu,
            None => framing::path_mtu(or("mtu", MTU)),
        },
    };
    // Headers that a message has once: of a write, of a read's answer, of a send.
    let once = match verb(row, what) {
        Verb::Read => 8.0,
        Verb::Send => 0.0,
        Verb::Write => 16.0,
    };
    let share = framing::verb(kind, message, mtu, once);
    let beside = beside(row, what, kind, link);
    Ok(Ask { kind, generation, link_gbps: link, share, published, beside })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_all_rows_share_may_stand_once_and_rates_have_their_unit() {
        let of = |system: &str, row: &str| {
            let text = format!("[system]\n{system}\n[[row]]\n{row}\n");
            let answer = answer(&Table::parse("t", &text).expect("a table")).expect("an answer");
            answer.cells[0].predicted.expect("a figure")
        };
        let system = "protocol = 'RoCE v2'\nlink_gbps = 100\nmtu = 1500";
        let gbps = of(system, "message = 65536\ngbps = 92.6");
        let mib = of(system, "message_bytes = 65536\nwrite_mib_s = 11038.0");
        assert!((gbps - 92.56).abs() < 0.01, "{gbps}");
        assert!((mib * 8.0 * 1_048_576.0 / 1e9 - gbps).abs() < 1e-9, "{mib}");
        // Headers that a message has once are seen in short ones.
        let edr = of("protocol = 'InfiniBand'", "link = 'EDR'\nmtu = 4096\ngbps = 97.0");
        let said = of("protocol = 'ib-edr'", "path_mtu = 4096\ngbps = 97.0");
        assert!(edr == said && (edr - 99.345).abs() < 0.01, "{edr} {said}");
        let short = |verb: &str| of(system, &format!("message = 64\nverb = '{verb}'\ngbps = 1.0"));
        assert!(short("send") > short("ib_read_bw") && short("read") > short("write"));
    }
}
