//! Runs whose payload cannot be, in words.

use super::value;
use narrows_model::load::Role;
use narrows_model::units::Unit;
use narrows_model::workload::Metric;
use narrows_stats::{Label, Side, Summary};

/// How many runs have no value since they counted more than came, and how much more the worst did.
pub fn refused(summary: &Summary) -> String {
    let runs = summary.reconciled.iter().filter(|run| run.is_impossible());
    let sides = runs.clone().flat_map(|run| &run.sides);
    let worst = sides.max_by(|a, b| a.excess_share.total_cmp(&b.excess_share));
    let (refused, all) = (runs.count(), summary.reconciled.len());
    let text = format!("{}: {refused} of {all} runs have no value", Label::Impossible.says());
    match worst {
        Some(side) => {
            format!("{text}; in one{} {}", which(summary, side), side_says(summary, side))
        }
        None => text,
    }
}

/// Which pair a side is of, where there are several.
fn which(summary: &Summary, side: &Side) -> String {
    let many = summary.reconciled.iter().flat_map(|run| &run.sides).any(|side| side.pair > 0);
    if many { format!(" pair {} counted too much:", side.pair + 1) } else { String::new() }
}

fn side_says(summary: &Summary, side: &Side) -> String {
    let of_bytes = matches!(summary.metric, Metric::Goodput | Metric::PacketRate);
    let unit = if of_bytes { Unit::BytesPerSecond } else { Unit::PerSecond };
    // Amounts, told as what they are a run: the units of rates are those of amounts a second.
    let amount = |n: u64| value(n as f64, unit).trim_end_matches("/s").to_owned();
    let seen =
        side.tcp_info_bytes.map_or(side.carried_at_most, |tcp| tcp.min(side.carried_at_most));
    let by = match side.tcp_info_bytes {
        Some(tcp) if tcp < side.carried_at_most => "TCP received".to_owned(),
        _ => {
            let end = if side.interface_of == Role::Receiver { "receiver" } else { "sender" };
            format!("{} of the {end} carried", side.interface)
        }
    };
    format!("{} were counted where {by} {}", amount(side.counted), amount(seen))
}
