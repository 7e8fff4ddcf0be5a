//! `memory`: every slot with what is in it.

use super::{View, or_unknown};
use crate::drawn::Screen;
use crate::table::on_screen;
use narrows_model::host::{ControllerModule, Host, MemoryArray, Slot};

/// A row a slot.
pub static VIEW: View = View { name: "memory", write };

const HEAD: [&str; 8] =
    ["slot", "bank", "socket", "channel", "module", "configured MT/s", "rated MT/s", "ranks"];

fn write(host: &Host, screen: &Screen) -> String {
    let mut out = match host.memory.slots.value() {
        Some(slots) => on_screen(&HEAD, &slots.iter().map(row).collect::<Vec<_>>(), screen),
        None => {
            let gap = host.memory.slots.gap().unwrap_or_default();
            screen.prose(&format!("memory slots: {gap}"), "  ")
        }
    };
    if let Some(arrays) = host.memory.arrays.value() {
        out += "\n";
        out += &on_screen(&ARRAYS, &arrays.iter().map(array).collect::<Vec<_>>(), screen);
    }
    if let Some(modules) = host.memory.controllers.value() {
        out += "\n";
        out +=
            &on_screen(&CONTROLLERS, &modules.iter().map(controller).collect::<Vec<_>>(), screen);
    }
    out
}

const ARRAYS: [&str; 5] = ["array", "used for", "error correction", "at most", "slots"];
const CONTROLLERS: [&str; 4] = ["memory controller", "module", "place", "size"];

fn array(array: &MemoryArray) -> Vec<String> {
    vec![
        format!("{:#06x}", array.handle),
        array.used_for.clone(),
        array.correction.clone(),
        or_unknown(array.capacity_max_bytes),
        or_unknown(array.slots),
    ]
}

fn controller(module: &ControllerModule) -> Vec<String> {
    vec![
        module.controller.clone(),
        module.label.clone(),
        module.location.clone(),
        or_unknown(module.size_bytes),
    ]
}

fn row(slot: &Slot) -> Vec<String> {
    let (socket, channel) = match &slot.at {
        Some(at) => (at.socket.to_string(), at.channel.to_string()),
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
