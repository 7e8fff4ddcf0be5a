//! `tuning`: settings that move network throughput, with where each was read.

use super::{View, table};
use narrows_facts::host::Host;

/// A row a setting.
pub static VIEW: View = View { name: "tuning", write };

fn write(host: &Host) -> String {
    let rows = host.tuning.iter().map(|(name, fact)| {
        let value = fact.value().cloned().or_else(|| fact.gap()).unwrap_or_default();
        vec![name.clone(), value, fact.source().to_string()]
    });
    table(&["setting", "value", "from"], &rows.collect::<Vec<_>>())
}
