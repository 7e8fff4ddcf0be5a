//! The fields that a table may have, and what each question needs and uses of them. A field that is
//! not here is refused: it is misspelt, or something that the model would pass over in silence.

use super::refused::{Refused, wrong};
use super::{
    Calibration, Fields, LATENCIES, PACKETS, RATES, Row, Table, as_number, contradictions,
};
use narrows_model::nearest;
use narrows_predict::bounds::{self, Bound, OutOfBounds};
use std::fmt;
use toml::Value;

/// What may stand in a field.
enum Form {
    /// A number within this bound.
    Number(&'static Bound),
    /// A number without ends, since single figures may be changes, or a verdict in words.
    Any,
    /// A word, which the questions compare with those they know.
    Text,
    /// One of these words, in letters of either case.
    Word(&'static [&'static str]),
    Flag,
    /// Channels as a number, or the modules of each.
    Population,
    /// For people: nothing is computed of it.
    Prose,
}

/// Verbs, and perftest's programs, each of one verb.
const VERBS: &[&str] = &[
    "read",
    "send",
    "write",
    "ib_read_bw",
    "ib_read_lat",
    "ib_send_bw",
    "ib_send_lat",
    "ib_write_bw",
    "ib_write_lat",
];

const FIELDS: &[(&str, Form)] = &[
    ("app_buffer", Form::Word(&["any", "in-cache", "not-in-cache"])),
    ("before", Form::Any),
    ("bits", Form::Number(&bounds::BUS_BITS)),
    ("bound", Form::Prose),
    ("busy_poll", Form::Flag),
    ("calibrates", Form::Flag),
    ("case", Form::Word(&["any", "best", "worst"])),
    ("channels", Form::Population),
    ("channels_per_controller", Form::Number(&bounds::CHANNELS)),
    ("chipset", Form::Prose),
    ("copy_lines", Form::Number(&bounds::COPY_LINES)),
    ("copy_share", Form::Number(&bounds::SHARE)),
    ("core_slowdown", Form::Any),
    ("cores", Form::Number(&bounds::CPUS)),
    ("cores_do", Form::Text),
    ("cpu", Form::Text),
    ("cpu1", Form::Text),
    ("cpu2", Form::Text),
    ("cpu_base_ghz", Form::Number(&bounds::GHZ)),
    ("cpu_turbo_ghz", Form::Number(&bounds::GHZ)),
    ("cpus", Form::Number(&bounds::CPUS)),
    ("device_does", Form::Text),
    ("device_gb_s", Form::Number(&bounds::COPY_GB_S)),
    ("device_slowdown", Form::Any),
    ("dimm", Form::Text),
    ("dimms", Form::Number(&bounds::DIMMS)),
    ("direction", Form::Word(&["read", "write"])),
    ("frame", Form::Number(&bounds::FRAME)),
    ("host_10gbe", Form::Prose),
    ("host_ib", Form::Prose),
    ("irq", Form::Text),
    ("idle_ns", Form::Number(&bounds::LATENCY_NS)),
    ("kernel", Form::Text),
    ("link", Form::Text),
    ("link_gbps", Form::Number(&bounds::LINK_GBPS)),
    ("mem_mb_s", Form::Number(&bounds::COPY_MB_S)),
    ("memory_controllers_per_socket", Form::Number(&bounds::CONTROLLERS)),
    ("message", Form::Number(&bounds::MESSAGE)),
    ("mix", Form::Text),
    ("mpps_below", Form::Number(&bounds::MPPS)),
    ("mps", Form::Number(&bounds::PAYLOAD)),
    ("mts", Form::Number(&bounds::MTS)),
    ("mtu", Form::Number(&bounds::MTU)),
    ("name", Form::Text),
    ("nic", Form::Text),
    ("note", Form::Prose),
    ("offloads", Form::Text),
    ("os", Form::Prose),
    ("path", Form::Text),
    ("path_mtu", Form::Number(&bounds::PATH_MTU)),
    ("pcie", Form::Prose),
    ("pcie_gen", Form::Number(&bounds::PCIE_GEN)),
    ("pcix_mhz", Form::Number(&bounds::PCIX_MHZ)),
    ("peak_gb_s", Form::Number(&bounds::COPY_GB_S)),
    ("protocol", Form::Text),
    ("quantity", Form::Text),
    ("qps", Form::Number(&bounds::STREAMS)),
    ("ratio_max", Form::Any),
    ("ratio_min", Form::Any),
    ("rdma_cmd", Form::Prose),
    ("remote", Form::Number(&bounds::SHARE)),
    ("server", Form::Prose),
    ("size", Form::Number(&bounds::MESSAGE)),
    ("source", Form::Prose),
    ("rr_us", Form::Number(&bounds::FIGURE)),
    ("sockets", Form::Number(&bounds::SOCKETS)),
    ("streams", Form::Number(&bounds::STREAMS)),
    ("switches", Form::Number(&bounds::SWITCHES)),
    ("tcp_cmd", Form::Prose),
    ("test", Form::Word(VERBS)),
    ("threads", Form::Number(&bounds::STREAMS)),
    ("timestamps", Form::Flag),
    ("tool", Form::Prose),
    ("transport", Form::Text),
    ("udp_cmd", Form::Prose),
    ("unit", Form::Text),
    ("utilisation", Form::Number(&bounds::SHARE)),
    ("value", Form::Any),
    ("verb", Form::Word(VERBS)),
    ("ways", Form::Number(&bounds::WAYS)),
    ("width", Form::Number(&bounds::LANES)),
    ("wire_rate", Form::Text),
];

/// Fields that tell which machine a row is of. They go into figures where a question asks for them,
/// and may stand elsewhere too. How memory is attached is held against the processor's family.
const TELLING: [&str; 8] = [
    "channels_per_controller",
    "cpu",
    "cpu1",
    "cpu2",
    "dimm",
    "memory_controllers_per_socket",
    "nic",
    "sockets",
];

/// Whether a field may stand where nothing is computed of it.
pub fn describes(field: &str) -> bool {
    matches!(form(field), Some(Form::Prose)) || TELLING.contains(&field)
}

/// Sections of a file, and fields of `[extra]`.
const SECTIONS: [&str; 5] = ["extra", "row", "source", "system", "units"];
const EXTRA: [&str; 4] = ["pch_slot_mpps", "pch_slot_server", "rule", "rule_gb_s"];

/// Refuses what no question of docs/validate.md knows, or what cannot be.
pub fn check(table: &Fields) -> Result<(), Refused> {
    for (name, section) in table {
        if !SECTIONS.contains(&name.as_str()) {
            return Err(unknown("the file", name, &SECTIONS));
        }
        if name != "row" && !section.is_table() {
            return Err(wrong("the file", name, "is not a section"));
        }
    }
    let section = |name: &str| table.get(name).and_then(Value::as_table);
    for (field, value) in section("extra").into_iter().flatten() {
        if !EXTRA.contains(&field.as_str()) {
            return Err(unknown("[extra]", field, &EXTRA));
        }
        if field.ends_with("_s") || field.ends_with("pps") {
            number(value, &bounds::FIGURE)
                .map_err(|why| wrong("[extra]", field, &why.to_string()))?;
        }
    }
    for (field, value) in section("source").into_iter().flatten() {
        source(field, value)?;
    }
    for (field, value) in section("system").into_iter().flatten() {
        one("[system]", field, value)?;
    }
    let rows = table.get("row").and_then(Value::as_array);
    let rows = rows.map(Vec::as_slice).unwrap_or_default();
    for (at, row) in rows.iter().enumerate() {
        let at = format!("row {}", at + 1);
        let fields = row.as_table().ok_or_else(|| wrong(&at, "it", "is not a section"))?;
        fields.iter().try_for_each(|(field, value)| one(&at, field, value))?;
    }
    contradictions::check(section("system"), rows)?;
    // A unit of a column that no row has is that of a misspelt one.
    let has = |field: &String| rows.iter().any(|row| row.get(field.as_str()).is_some());
    match section("units").into_iter().flatten().find(|(field, _)| !has(field)) {
        Some((field, _)) => Err(wrong("[units]", field, "is a column that no row has")),
        None => Ok(()),
    }
}

fn unknown(at: &str, field: &str, among: &[&'static str]) -> Refused {
    Refused::Unknown {
        at: at.to_owned(),
        field: field.to_owned(),
        near: nearest(field, among.iter().copied()),
    }
}

/// A source is described in words, which nothing is computed of but whether it was fitted.
fn source(field: &str, value: &Value) -> Result<(), Refused> {
    if field == "part"
        && ![Calibration::HeldOut, Calibration::Fitted]
            .iter()
            .any(|part| value.as_str() == Some(part.word()))
    {
        Err(wrong("[source]", field, "is neither held-out nor fitted"))
    } else {
        Ok(())
    }
}

fn one(at: &str, field: &str, value: &Value) -> Result<(), Refused> {
    let Some(form) = form(field) else {
        let names: Vec<&'static str> = FIELDS.iter().map(|(name, _)| *name).collect();
        let near = nearest(field, names.iter().copied());
        return Err(Refused::Unknown { at: at.to_owned(), field: field.to_owned(), near });
    };
    let fits = match form {
        Form::Number(bound) => number(value, bound),
        Form::Any => match as_number(value).map(f64::is_finite) {
            Some(true) => Ok(()),
            None if value.is_str() => Ok(()),
            _ => Err(Unfit::Kind("is neither a number nor a text")),
        },
        Form::Text if !value.is_str() => Err(Unfit::Kind("is not a text")),
        Form::Word(words) => match value.as_str() {
            Some(text) if words.iter().any(|word| word.eq_ignore_ascii_case(text)) => Ok(()),
            _ => Err(Unfit::Word(words)),
        },
        Form::Flag if !value.is_bool() => Err(Unfit::Kind("is neither true nor false")),
        Form::Population if value.is_array() => Ok(()),
        Form::Population => number(value, &bounds::WAYS),
        Form::Text | Form::Flag | Form::Prose => Ok(()),
    };
    fits.map_err(|why| wrong(at, field, &why.to_string()))
}

/// Why a value is not one of its field's.
enum Unfit {
    /// It is of another kind than this.
    Kind(&'static str),
    Bounds(OutOfBounds),
    /// It is none of these.
    Word(&'static [&'static str]),
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind(says) => f.write_str(says),
            Self::Bounds(why) => write!(f, "= {why}"),
            Self::Word(words) => write!(f, "is none of {}", words.join(", ")),
        }
    }
}

/// By name; a size may have its unit in its name, links and their rate say between what, and a
/// figure ends with its unit.
fn form(field: &str) -> Option<&'static Form> {
    const LINKS: Form = Form::Number(&bounds::LINKS);
    const GT_S: Form = Form::Number(&bounds::GT_S);
    const FIGURE: Form = Form::Number(&bounds::FIGURE);
    let named = |name: &str| FIELDS.iter().find(|(known, _)| *known == name).map(|(_, form)| form);
    let ends = |unit: &str| {
        field.strip_suffix(unit).is_some_and(|before| before.is_empty() || before.ends_with('_'))
    };
    let figures = || [RATES, PACKETS, LATENCIES].into_iter().flatten().any(|(unit, _)| ends(unit));
    named(field).or_else(|| named(field.strip_suffix("_bytes")?)).or_else(|| match () {
        () if ends("links") => Some(&LINKS),
        () if ends("gt_s") => Some(&GT_S),
        () if figures() => Some(&FIGURE),
        () => None,
    })
}

fn number(value: &Value, bound: &'static Bound) -> Result<(), Unfit> {
    let number = as_number(value).ok_or(Unfit::Kind("is not a number"))?;
    bound.check(number).map(drop).map_err(Unfit::Bounds)
}

/// What a question needs: each of these, or one of the names separated by `|`.
const NEEDS: &[(&str, &[&str])] = &[
    ("kernel sockets by memory population", &["dimms|channels", "tcp_gbps|udp_gbps", "cpu"]),
    ("RDMA writes by link and framing", &["protocol", "gbps|gb_s|mb_s|mib_s|gib_s|mbps"]),
    ("smallest packets by poll mode", &["mem_mb_s", "mpps|wire_rate|mpps_below"]),
    ("memory bytes for each network byte", &["path", "ratio_min"]),
    ("single figures", &["name", "value", "quantity"]),
    ("PCI Express", &["pcie_gen", "width", "gbps|gb_s|mb_s|mib_s|gib_s|mbps"]),
    ("PCI-X", &["pcix_mhz", "gbps|gb_s|mb_s|mib_s|gib_s|mbps"]),
    ("links between sockets", &["links", "gt_s", "gbps|gb_s|mb_s|mib_s|gib_s|mbps"]),
    ("memory bandwidth by population", &["ways|channels|dimms", "mts|dimm", "gb_s|mb_s"]),
    ("loaded latency", &["idle_ns", "utilisation|peak_gb_s|mts|dimm", "ns"]),
    ("packets by frame", &["frame|frame_bytes", "link_gbps|nic", "mpps|kpps|pps"]),
    ("TCP and UDP by processor and streams", &["streams", "tcp_gbps|udp_gbps", "link_gbps|nic"]),
    ("round trips", &["transport", "rr_us"]),
    ("cores beside a device", &["cores", "device_gb_s", "core_slowdown|device_slowdown"]),
    ("TCP and UDP by framing", &["mtu|mtu_bytes", "link_gbps|nic", "tcp_gbps|udp_gbps|gbps"]),
];

/// The question that a row is nearest to, and what it lacks for it.
pub fn lacks(row: &Row<'_>) -> Option<(&'static str, Vec<&'static str>)> {
    let has = |need: &&str| {
        let keys = || row.fields.keys().chain(row.table.system.keys());
        need.split('|').any(|name| keys().any(|key| ends_with_word(key, name)))
    };
    let nearest = NEEDS.iter().filter_map(|(question, needs)| {
        let missing: Vec<&str> = needs.iter().copied().filter(|need| !has(need)).collect();
        let has = needs.len() - missing.len();
        (has > 0).then_some((*question, missing, has))
    });
    let nearest = nearest.min_by_key(|(_, missing, has)| (missing.len(), std::cmp::Reverse(*has)));
    nearest.map(|(question, missing, _)| (question, missing))
}

fn ends_with_word(key: &str, name: &str) -> bool {
    key.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with('_'))
}

/// What rows that no question goes with lack, in words.
pub fn remarks(table: &Table) -> Vec<String> {
    table
        .rows()
        .filter_map(|row| {
            let (question, missing) = lacks(&row).filter(|(_, missing)| !missing.is_empty())?;
            let missing: Vec<String> =
                missing.iter().map(|need| format!("`{}`", need.replace('|', "` or `"))).collect();
            Some(format!("{}: for '{question}' it lacks {}", row.label(), missing.join(" and ")))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_misspelt_or_cannot_be_is_refused_by_name() {
        let of = |text: &str| {
            Table::parse("t", text).err().map_or_else(String::new, |why| why.to_string())
        };
        let row = |fields: &str| of(&format!("[[row]]\n{fields}\ngbps = 1\n"));
        assert!(row("mtuu = 9000").contains("'mtuu'; is it 'mtu'"), "{}", row("mtuu = 9000"));
        assert!(row("ways = -3\nmts = 2933").contains("ways = -3 is not a whole number from 1"));
        assert!(row("mts = 1e9\nways = 6").contains("mts = 1000000000"));
        assert!(row("mtu = 20\nprotocol = 'tcp'").contains("row 1: mtu = 20"));
        assert!(row("mtu = 'big'").contains("mtu is not a number"));
        assert!(row("gbps_tcp = 3").contains("'gbps_tcp'"));
        // What a case is is declared, and not guessed from how a word begins.
        let direction = row("pcie_gen = 3\nwidth = 8\ndirection = 'reads'");
        assert_eq!(direction, "t: row 1: direction is none of read, write");
        let verb = row("protocol = 'ib-edr'\nverb = 'unread'");
        assert!(verb.starts_with("t: row 1: verb is none of read, send, write, ib_"), "{verb}");
        assert!(row("path = 'rdma'\nratio_min = 1\ncase = 'bestish'").contains("any, best, worst"));
        assert!(row("path = 'rdma'\nratio_min = 1\napp_buffer = 'inner'").contains("in-cache"));
        assert!(row("protocol = 'ib-edr'\ntest = 'my_read'").contains("ib_read_bw"));
        assert_eq!(row("protocol = 'ib-edr'\nverb = 'Read'"), "");
        assert!(of("[sytem]\ncpu = 'x'\n[[row]]\ngbps = 1\n").contains("is it 'system'"));
        assert!(of("[system]\nlinkgbps = 10\n[[row]]\ngbps = 1\n").contains("is it 'link_gbps'"));
        assert!(of("[units]\ntcp_gbps = 'x'\n[[row]]\ngbps = 1\n").contains("tcp_gbps"));
        assert!(of("[[row]]\ngbps = -1\n").contains("gbps = -1"));
        assert_eq!(row("message_bytes = 1024\nprotocol = 'rocev2'\nlink_gbps = 100"), "");
    }

    #[test]
    fn a_row_that_no_question_fits_is_told_what_it_lacks() {
        let table = Table::parse("t", "[[row]]\npcie_gen = 3\ngbps = 1\n").expect("a table");
        let said = remarks(&table);
        assert!(said[0].contains("for 'PCI Express' it lacks `width`"), "{said:?}");
    }
}
