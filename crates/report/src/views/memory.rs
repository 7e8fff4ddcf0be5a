//! `memory`: every slot with what is in it.

use super::{View, or_unknown, table};
use narrows_facts::host::{Host, Slot};

/// A row a slot.
pub static VIEW: View = View { name: "memory", write };

const HEAD: [&str; 8] =
    ["slot", "bank", "socket", "channel", "module", "configured MT/s", "rated MT/s", "ranks"];

fn write(host: &Host) -> String {
    match host.memory.slots.value() {
        Some(slots) => table(&HEAD, &slots.iter().map(row).collect::<Vec<_>>()),
        None => format!("memory slots: {}\n", host.memory.slots.gap().unwrap_or_default()),
    }
}

fn row(slot: &Slot) -> Vec<String> {
    let (socket, channel) = match &slot.at {
        Some(at) => (at.socket.to_string(), at.channel.clone()),
        None => ("unknown".into(), "unknown".into()),
    };
    let place = vec![slot.locator.clone(), slot.bank.clone(), socket, channel];
    let holds = match &slot.module {
        None => vec!["empty".to_owned()],
        Some(module) => {
            let size = module.size_bytes.map_or("size unknown".to_owned(), |size| size.to_string());
            let kind = if module.is_dram { "" } else { " (no DRAM)" };
            vec![
                format!("{size} {}{kind}", module.technology),
                or_unknown(module.configured_mts),
                or_unknown(module.rated_mts),
                or_unknown(module.ranks),
            ]
        }
    };
    place.into_iter().chain(holds).collect()
}
