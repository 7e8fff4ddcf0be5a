//! Which rule placed each slot, and why others did not.

use narrows_dimm::placement::Trace;
use narrows_model::host::{Host, Slot};
use std::fmt::Write;

/// A row a slot, then the rule that placed them, then the rules that were tried before.
pub fn write(host: &Host, trace: &Trace) -> String {
    let mut out = String::new();
    let Some(slots) = host.memory.slots.value() else {
        let gap = host.memory.slots.gap().unwrap_or_default();
        return format!("memory slots: {gap}\n");
    };
    let rule = trace.placed.as_ref().map_or("-", |placed| placed.rule.as_str());
    let wide = slots.iter().map(|slot| slot.locator.chars().count()).max().unwrap_or(0).max(4);
    let _ = writeln!(out, "{:<wide$}  socket  controller  channel  module     rule", "slot");
    for slot in slots {
        out.push_str(&row(slot, rule, wide));
    }
    out.push('\n');
    match &trace.placed {
        Some(placed) => {
            let _ = writeln!(out, "placed by {}: {}", placed.rule, placed.confidence);
            let _ = writeln!(out, "  source: {}", placed.source);
        }
        None if trace.failed.is_empty() => {
            out.push_str("no rule was tried: the places are those that the slots came with\n");
        }
        None => out.push_str("placed by no rule\n"),
    }
    if !trace.failed.is_empty() {
        out.push_str("tried before and not taken:\n");
    }
    for (rule, why) in &trace.failed {
        let _ = writeln!(out, "  {rule}: {why}");
    }
    out
}

fn row(slot: &Slot, rule: &str, wide: usize) -> String {
    let told = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
    let at = slot.at.as_ref();
    let size = slot.module.as_ref().map(|module| {
        module.size_bytes.map_or_else(|| "unknown".to_owned(), |size| size.to_string())
    });
    format!(
        "{:<wide$}  {:<6}  {:<10}  {:<7}  {:<9}  {}\n",
        slot.locator,
        told(at.map(|at| at.socket.to_string())),
        told(at.and_then(|at| at.controller).map(|controller| controller.to_string())),
        told(at.map(|at| at.channel.clone())),
        size.unwrap_or_else(|| "empty".to_owned()),
        if at.is_some() { rule } else { "-" },
    )
}
