//! What a change costs, where prices are given, and what that buys.

use crate::reach::Reach;
use crate::server::Server;
use schemars::JsonSchema;
use serde::Serialize;

/// Parts that have prices.
pub const PARTS: [&str; 2] = ["dimm", "nic"];

/// A change's cost. The currency is the prices'.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Cost {
    pub total: f64,
    /// Parts, how many and at what price each.
    pub parts: Vec<(String, u32, f64)>,
    /// What has to be bought and has no price.
    pub unpriced: Vec<String>,
}

/// What has to be bought to get from one server to the other. Modules that are moved cost nothing;
/// faster ones are all new, slower ones too. A NIC of another rate, one more, or one with a slot on
/// each processor is new.
pub fn cost(before: &Server, after: &Server, prices: &[(String, f64)]) -> Cost {
    let (had, has) = (modules(before), modules(after));
    let dimms = if speed(before) == speed(after) { has.saturating_sub(had) } else { has };
    let same = rate(before) == rate(after) && before.direct == after.direct;
    let nics = if same { ports(after).saturating_sub(ports(before)) } else { ports(after) };
    let mut cost = Cost { total: 0.0, parts: Vec::new(), unpriced: Vec::new() };
    for (part, count) in PARTS.into_iter().zip([dimms, nics]).filter(|(_, count)| *count > 0) {
        match prices.iter().find(|(name, _)| name == part) {
            Some((_, price)) => {
                cost.total += price * f64::from(count);
                cost.parts.push((part.to_owned(), count, *price));
            }
            None => cost.unpriced.push(format!("{count} {part}")),
        }
    }
    cost
}

fn modules(server: &Server) -> u32 {
    server.modules.iter().flatten().sum::<u32>()
}

fn ports(server: &Server) -> u32 {
    if server.direct { 1 } else { server.nics.len() as u32 }
}

fn speed(server: &Server) -> Option<f64> {
    server.mts.as_ref().map(|mts| mts.value)
}

fn rate(server: &Server) -> Option<f64> {
    server.link.as_ref().map(|link| link.value)
}

/// What a hundred of the currency buys of the first path; `None` where nothing is spent.
pub fn for_a_hundred(cost: &Cost, before: &[Reach], after: &[Reach]) -> Option<(String, f64)> {
    let (was, is) = before.iter().find_map(|was| {
        let is = after.iter().find(|is| is.path == was.path)?;
        Some((was, is))
    })?;
    let says = format!("{} of {}", is.unit, is.path);
    (cost.total > 0.0).then(|| (says, (is.value - was.value) / cost.total * 100.0))
}
