//! Which rule placed each slot, and why others did not.

use crate::drawn::Screen;
use crate::table::on_screen;
use narrows_dimm::placement::Trace;
use narrows_model::host::{Host, Slot};
use std::fmt::Write;

/// A row a slot, then the rule that placed them, then the rules that were tried before; laid out
/// for the screen.
pub fn write(host: &Host, trace: &Trace, screen: &Screen) -> String {
    let Some(slots) = host.memory.slots.value() else {
        let gap = host.memory.slots.gap().unwrap_or_default();
        return format!("memory slots: {gap}\n");
    };
    let rule = trace.placed.as_ref().map_or("-", |placed| placed.rule.as_str());
    let rows: Vec<Vec<String>> = slots.iter().map(|slot| row(slot, rule)).collect();
    let head = ["slot", "socket", "controller", "channel", "module", "rule"];
    format!("{}\n{}", on_screen(&head, &rows, screen), screen.prose(&said(trace), "    "))
}

/// What placed the slots, and what was tried before, a sentence a line.
fn said(trace: &Trace) -> String {
    let mut out = String::new();
    match &trace.placed {
        Some(placed) => {
            let _ = writeln!(out, "placed by {}: {}", placed.rule, placed.confidence);
            let _ = writeln!(out, "  source: {}", placed.source);
        }
        None if trace.failed.is_empty() => {
            out.push_str("no rule was tried: the source gave the places\n");
        }
        None => out.push_str("not placed by any rule\n"),
    }
    if !trace.failed.is_empty() {
        out.push_str("tried first and rejected:\n");
    }
    for (rule, why) in &trace.failed {
        let _ = writeln!(out, "  {rule}: {why}");
    }
    out
}

fn row(slot: &Slot, rule: &str) -> Vec<String> {
    let at = slot.at.as_ref();
    let size = slot.module.as_ref().map(|module| {
        module.size_bytes.map_or_else(|| "unknown".to_owned(), |size| size.to_string())
    });
    vec![
        slot.locator.clone(),
        told(at.map(|at| at.socket.to_string())),
        told(at.and_then(|at| at.controller).map(|controller| controller.to_string())),
        told(at.map(|at| at.channel.to_string())),
        size.unwrap_or_else(|| "empty".to_owned()),
        if at.is_some() { rule.to_owned() } else { "-".to_owned() },
    ]
}

fn told(value: Option<String>) -> String {
    value.unwrap_or_else(|| "-".to_owned())
}
