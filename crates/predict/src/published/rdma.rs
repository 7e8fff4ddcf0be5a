//! RDMA writes by link and framing: rows with `protocol` (`ib-edr`, `rocev1`, `rocev2`, `iwarp`,
//! ...) and `gbps`, and what they have of `link_gbps`, `mtu`, `path_mtu`, `message`.

use super::{Answer, Cell, Kind, Parameter, Row, Table, defaults, median_of_others};
use crate::framing::{self, Rdma};
use std::collections::BTreeMap;

/// Data rates of InfiniBand's generations on four lanes, in Gb/s (InfiniBand specification, volume
/// 2; line coding taken off).
const GENERATIONS: [(&str, f64); 7] = [
    ("sdr", 8.0),
    ("ddr", 16.0),
    ("qdr", 32.0),
    ("fdr", 54.545),
    ("edr", 100.0),
    ("hdr", 200.0),
    ("ndr", 400.0),
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
}

/// The answer for a table of this kind.
pub fn answer(table: &Table) -> Option<Answer> {
    let is_one = |row: &Row<'_>| {
        let protocol = row.own_text("protocol").unwrap_or_default().to_lowercase();
        let known = ["ib", "roce", "iwarp"].iter().any(|start| protocol.starts_with(start));
        known && row.own("gbps").is_some()
    };
    if !table.rows().any(|row| is_one(&row)) {
        return None;
    }
    let mut answer = Answer {
        question: "RDMA writes by link and framing",
        files: vec![table.name.clone()],
        ..Answer::default()
    };
    let mut assumed = BTreeMap::new();
    let mut asks = Vec::new();
    for row in table.rows().filter(is_one) {
        let published = row.own("gbps").unwrap_or_default();
        let mut cell = Cell::new(&row, "gbps", Some(published));
        match ask(&row, published, &mut assumed) {
            Ok(ask) => {
                asks.push((answer.cells.len(), ask));
                answer.cells.push(cell);
            }
            Err(why) => {
                cell.says = why;
                answer.cells.push(cell);
            }
        }
    }
    for (cell, ask) in &asks {
        let cell = &mut answer.cells[*cell];
        let plain = ask.share * ask.link_gbps;
        // Nothing is fitted: rows of one link often state one constant, which would fit itself.
        cell.predicted = Some(plain);
        cell.left_out = Some(plain);
        cell.uncalibrated = Some((plain, 0.95 * plain, plain));
        (cell.low, cell.high) = (Some(0.95 * plain), Some(plain));
        cell.kind = Kind::Prediction;
        cell.narrowest = "wire".to_owned();
        cell.says = format!("{:.3} % of {} Gb/s is payload", ask.share * 100.0, ask.link_gbps);
    }
    remarks(&mut answer, &asks);
    answer.remarks.extend(defaults(&assumed));
    let published: Vec<f64> = asks.iter().map(|(_, ask)| ask.published).collect();
    if let Some(error) = median_of_others(&published) {
        answer.baselines.push(("median of the other rows", error));
    }
    if !asks.is_empty() {
        let rate = asks.iter().map(|(_, ask)| (ask.link_gbps / ask.published - 1.0).abs());
        answer.baselines.push(("rate of the link", rate.sum::<f64>() / asks.len() as f64));
    }
    Some(answer)
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

fn ask(
    row: &Row<'_>,
    published: f64,
    assumed: &mut BTreeMap<&'static str, String>,
) -> Result<Ask, String> {
    let protocol = row.text("protocol").unwrap_or_default().to_lowercase();
    let (kind, generation) = match protocol.as_str() {
        "rocev1" | "roce" => (Rdma::RoceV1, None),
        "rocev2" => (Rdma::RoceV2, None),
        "iwarp" => (Rdma::Iwarp, None),
        name => {
            let of = GENERATIONS.iter().find(|(generation, _)| name.ends_with(generation));
            let of = of.filter(|_| name.starts_with("ib"));
            (Rdma::InfiniBand, Some(of.ok_or(format!("the protocol '{name}' is not known"))?.0))
        }
    };
    let of_generation = |name: &str| GENERATIONS.iter().find(|(known, _)| *known == name);
    let link = match generation.and_then(of_generation) {
        Some((_, gbps)) => row.number("link_gbps").unwrap_or(*gbps),
        None => row.link_bps().ok_or("no `link_gbps` and no `nic` such as 100GbE")? / 1e9,
    };
    let mut or = |key: &'static str, otherwise: f64| {
        row.number(key).unwrap_or_else(|| {
            assumed.insert(key, otherwise.to_string());
            otherwise
        })
    };
    let message = or("message", MESSAGE);
    let mtu = match kind {
        Rdma::InfiniBand => or("path_mtu", PATH_MTU),
        Rdma::Iwarp => or("mtu", MTU),
        _ => match row.number("path_mtu") {
            Some(path_mtu) => path_mtu,
            None => framing::path_mtu(or("mtu", MTU)),
        },
    };
    let share = framing::rdma(kind, message, mtu);
    Ok(Ask { kind, generation, link_gbps: link, share, published })
}
