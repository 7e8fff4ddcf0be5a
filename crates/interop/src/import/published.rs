//! Published tables as TOML: `[source]`, `[units]`, `[system]` and one `[[row]]` a line of the
//! table.
//!
//! Columns whose name ends in a unit are figures, each a level of the factor `protocol` by what
//! stands before the unit. Of the others those that are numbers are factors, and those that are
//! words notes; but `any`, which says that the figure is of all levels, is one. Tables of single
//! figures and of servers have no such columns, or have them of something else: they are refused.

use super::{Output, Run, Tool, Unusable, nothing};
use narrows_model::trial::Level;
use narrows_model::units::Unit;

/// How output of published is recognised and read.
pub static TOOL: Tool = Tool { name: "published", recognises, parse };

/// Ends of columns, their unit, and what one of them is.
const UNITS: [(&str, Unit, f64); 6] = [
    ("gbps", Unit::BitsPerSecond, 1e9),
    ("mbps", Unit::BitsPerSecond, 1e6),
    ("gb_s", Unit::BytesPerSecond, 1e9),
    ("mb_s", Unit::BytesPerSecond, 1e6),
    ("us", Unit::Nanos, 1e3),
    ("ns", Unit::Nanos, 1.0),
];

/// Columns of tables of servers: what `report --servers --published` reads.
const PACKETS: [&str; 3] = ["mpps", "mpps_below", "wire_rate"];

/// The level of a factor that holds for all of its levels.
const ANY: &str = "any";

fn recognises(text: &str) -> bool {
    text.contains("[source]") && text.contains("[[row]]")
}

fn parse(text: &str) -> Result<Output, Unusable> {
    let table: toml::Table =
        toml::from_str(text).map_err(|error| Unusable::Toml(error.message().to_owned()))?;
    let rows =
        table.get("row").and_then(toml::Value::as_array).ok_or(Unusable::Lacks("[[row]]"))?;
    let rows_are =
        |has: fn(&toml::Table) -> bool| rows.iter().filter_map(toml::Value::as_table).any(has);
    // Of servers the columns with a unit are what each is made of.
    if rows_are(|row| row.contains_key("server") && PACKETS.iter().any(|of| row.contains_key(*of)))
    {
        return Err(Unusable::Servers);
    }
    if !rows.is_empty() && !rows_are(|row| row.keys().any(|name| figure(name).is_some())) {
        return Err(Unusable::SingleFigures);
    }
    let mut runs = Vec::new();
    for row in rows.iter().filter_map(toml::Value::as_table) {
        let (mut factors, mut notes) = (Vec::new(), Vec::new());
        for (name, value) in row.iter().filter(|(name, _)| figure(name).is_none()) {
            let level = Level { factor: name.clone(), level: words(value) };
            let is_note = value.is_str() && !is_protocol(name) && level.level != ANY;
            (if is_note { &mut notes } else { &mut factors }).push(level);
        }
        for (name, value) in row {
            let Some((protocol, unit, scale)) = figure(name) else { continue };
            let value = value.as_float().or(value.as_integer().map(|n| n as f64));
            let mut run = Run::new(kind(protocol, unit));
            (run.levels, run.notes) = (factors.clone(), notes.clone());
            if !protocol.is_empty() {
                run = run.level("protocol", protocol.to_uppercase());
            }
            runs.push(run.figure("published", value.map(|value| value * scale), unit));
        }
    }
    // A table has no version; what it stands in tells tables apart.
    let title = table.get("source").and_then(|source| source.get("title"));
    nothing(runs, title.and_then(toml::Value::as_str).map(str::to_owned))
}

fn is_protocol(name: &str) -> bool {
    ["protocol", "transport", "fabric"].contains(&name)
}

fn words(value: &toml::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// What stands before a column's unit, and the unit.
fn figure(name: &str) -> Option<(&str, Unit, f64)> {
    UNITS.iter().find_map(|(end, unit, scale)| {
        let before = name.strip_suffix(end)?;
        let whole = before.is_empty() || before.ends_with('_');
        whole.then(|| (before.trim_end_matches('_'), *unit, *scale))
    })
}

fn kind(protocol: &str, unit: Unit) -> String {
    match unit {
        Unit::Nanos => format!("{protocol}-latency"),
        Unit::BytesPerSecond => format!("memory-{protocol}"),
        _ if protocol.is_empty() => "stream".to_owned(),
        _ => format!("{protocol}-stream"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_a_cell_for_every_figure() {
        let text = "[source]\ntitle = 'x'\n[[row]]\ndimms = 1\ncpu1 = 'Unbalanced'\ntcp_gbps = 61.5\n\
                    udp_gbps = 63\n[[row]]\ndimms = 2\ntcp_gbps = 88.25\n";
        let runs = parse(text).expect("runs").runs;
        assert_eq!(runs.len(), 3);
        assert_eq!((runs[0].kind.as_str(), runs[0].figures[0].value), ("tcp-stream", 61.5e9));
        let names: Vec<&str> = runs[1].levels.iter().map(|level| level.level.as_str()).collect();
        assert_eq!(names, ["1", "UDP"]);
        assert_eq!(runs[0].notes[0].level, "Unbalanced");
        // Others have no runs, and are no cells made of what looks like figures.
        let single = "[source]\n[[row]]\nname = 'peak'\nvalue = 2500\nunit = 'Mb/s'\n";
        assert!(matches!(parse(single), Err(Unusable::SingleFigures)));
        let servers = "[source]\n[[row]]\nserver = 'R810'\nmem_mb_s = 6102.9\nmpps_below = 2.0\n";
        assert!(matches!(parse(servers), Err(Unusable::Servers)));
        assert!(matches!(parse("row = []\n[source]\n"), Err(Unusable::NoRun)));
        let any = "[source]\n[[row]]\ndimms = 'any'\nprotocol = 'RoCEv1'\ngbps = 92.79\n";
        let run = parse(any).expect("a run").runs.remove(0);
        let levels: Vec<&str> = run.levels.iter().map(|level| level.level.as_str()).collect();
        assert_eq!((levels, run.notes.len()), (vec!["any", "RoCEv1"], 0));
    }
}
