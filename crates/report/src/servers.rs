//! Servers side by side by what they do of the wire's rate in packets, as ntop's table has them:
//! each from a file of its own, measured or described, and published ones beside.

use crate::Analysis;
use crate::table;
use crate::tidy::no_formula;
use crate::wire::text::clock_from;
use crate::wire::{self, Asked, Copied, CopyFrom, DecidedBy, Frame, Standing, standing};
use crate::words::tame;
use narrows_model::host::Host;
use narrows_model::result::ResourceName;
use narrows_predict::Refused;
use narrows_predict::wire_rate::{Verdict, words};
use narrows_validate::ServerRow;
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Write;

/// The rate of a core's memcpy from which on one can reasonably expect the wire's rate of 10 GbE
/// (ntop, "Not All Servers Are Alike"): bytes read and written, as numademo counts them.
const RULE_GB_S: f64 = 16.0;

/// One server: a line of the CSV, an object of the JSON, with the same keys.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ServerRecord {
    /// Its product name, else its host name, else its file's.
    pub server: String,
    /// The file that it is from.
    pub file: String,
    /// Whether its figures are published ones and not measured or said here.
    pub published: bool,
    /// The processors' family, or the chipset where that is published.
    pub platform: Option<String>,
    /// Model of the processors.
    pub cpu: Option<String>,
    /// Clock of a core in GHz.
    pub clock_ghz: Option<f64>,
    /// Where the clock is from.
    pub clock_from: Option<String>,
    /// What one core copies in GB/s, bytes read and written both counted.
    pub memory_gb_s: Option<f64>,
    /// `measured`, `said`, `published`, or `modelled`, on which no verdict rests.
    pub memory_by: Option<String>,
    /// What it was measured or computed of.
    pub memory_from: Option<String>,
    /// Why a memcpy that was measured is not here; `None` where none was left out.
    pub memory_left_out: Option<String>,
    /// What ntop's rule of thumb says of the wire's rate: `yes` where one core copies 16 GB/s and
    /// more. `None` where that is neither measured nor said.
    pub rule: Option<String>,
    /// The interface that packets went by, else the fastest.
    pub nic: Option<String>,
    /// Rate of its port in Gb/s.
    pub link_gbps: Option<f64>,
    /// Generation and lanes of its slot, and whether that is behind the chipset.
    pub slot: Option<String>,
    /// Size of the frames with their check sequence, or IMIX.
    pub frame: String,
    /// The wire's rate in such frames, in millions of packets a second.
    pub wire_mpps: Option<f64>,
    /// The most that was measured or published, in the same unit.
    pub packets_mpps: Option<f64>,
    /// Lower end of it: its interval's, or the highest rate without loss.
    pub packets_low_mpps: Option<f64>,
    /// Upper end of it: its interval's, or the lowest rate that loses.
    pub packets_high_mpps: Option<f64>,
    /// Whether more was not asked for, or not made by the sender.
    pub packets_at_least: Option<bool>,
    /// Whether they crossed a NIC: what stays inside the host says nothing of the slot.
    pub packets_through_nic: Option<bool>,
    /// Without loss or what arrived, and where it went.
    pub packets_from: Option<String>,
    /// What a published table says of the wire's rate: `yes`, `no`, `almost`, `untested`.
    pub published_says: Option<String>,
    /// What slot, NIC, CPU and memory allow as far as they are known, by the model.
    pub allows_mpps: Option<f64>,
    /// Lower end of its 80 % range.
    pub allows_low_mpps: Option<f64>,
    /// Upper end of its 80 % range.
    pub allows_high_mpps: Option<f64>,
    /// What holds packets back, where that is known.
    pub binds: Option<String>,
    /// `yes`, `no` or `unknown`.
    pub verdict: String,
    /// `measurement` or `model`.
    pub verdict_by: String,
    /// The verdict with what binds and its range, or with what it needs.
    pub says: String,
    /// What else a published table notes of it.
    pub published_note: Option<String>,
}

/// One file of a server.
pub struct Source<'a> {
    pub name: String,
    pub asked: Asked<'a>,
}

/// What a file says of its server, with frames as the key `frame` has them.
pub fn record(source: &Source<'_>) -> Result<ServerRecord, Refused> {
    let asked = &source.asked;
    let one = standing(asked, Frame::of_said(asked.said)?)?;
    let mut record = of_host(&one, asked.host, source.name.clone());
    if let Some(cpu) = asked.said.get("cpu") {
        record.cpu = Some(cpu.clone());
        record.platform = narrows_dimm::platform::named(cpu).map(|known| known.name.clone());
    }
    Ok(record)
}

/// The host of a study with each size of frames that it has packets of.
pub fn of_study(analysis: &Analysis<'_>) -> Vec<ServerRecord> {
    let host = &analysis.stored.host;
    let each = wire::of_study(analysis);
    each.iter().map(|one| of_host(one, host, String::new())).collect()
}

fn of_host(one: &Standing, host: &Host, file: String) -> ServerRecord {
    let cpu = host.cpu.model.value();
    let mut record = of_standing(one);
    record.server = name(host).unwrap_or_else(|| stem(&file).to_owned());
    record.file = file;
    record.platform = narrows_dimm::platform::of(host).map(|platform| platform.name.clone());
    record.cpu = cpu.map(|model| processors(host, model));
    record
}

fn name(host: &Host) -> Option<String> {
    host.product.value().or_else(|| host.name.value()).cloned()
}

/// The name of a file without its folder and ending.
fn stem(file: &str) -> &str {
    let name = file.rsplit_once('/').map_or(file, |(_, name)| name);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

/// `2 x Xeon E5620` where there are several.
fn processors(host: &Host, model: &str) -> String {
    let sockets = host.cpu.sockets.value().map(Vec::as_slice).unwrap_or_default();
    match sockets.iter().filter(|socket| socket.populated).count() {
        0 | 1 => model.to_owned(),
        several => format!("{several} x {model}"),
    }
}

fn of_standing(one: &Standing) -> ServerRecord {
    let reached = one.reached.as_ref();
    ServerRecord {
        server: String::new(),
        file: String::new(),
        published: false,
        platform: None,
        cpu: None,
        clock_ghz: one.clock.as_ref().map(|clock| clock.value),
        clock_from: one.clock.as_ref().map(|clock| clock_from(clock).to_owned()),
        memory_gb_s: one.memory.as_ref().map(|memory| memory.gb_s.value),
        memory_by: one.memory.as_ref().map(|memory| memory.from.word().to_owned()),
        memory_from: one.memory.as_ref().map(|memory| memory.says.clone()),
        memory_left_out: one.no_copy.clone(),
        rule: one.memory.as_ref().and_then(rule),
        nic: one.nic.clone(),
        link_gbps: one.link_gbps,
        slot: one.slot.clone(),
        frame: one.frame.name(),
        wire_mpps: one.wire_mpps,
        packets_mpps: reached.map(|reached| reached.mpps.value),
        packets_low_mpps: reached.map(|reached| reached.mpps.low),
        packets_high_mpps: reached.map(|reached| reached.mpps.high),
        packets_at_least: reached.map(|reached| reached.is_at_least),
        packets_through_nic: reached.map(|reached| reached.through_nic),
        packets_from: reached.map(|reached| reached.says.clone()),
        published_says: None,
        allows_mpps: one.allows.map(|allows| allows.value),
        allows_low_mpps: one.allows.map(|allows| allows.low),
        allows_high_mpps: one.allows.map(|allows| allows.high),
        binds: one.binds.clone(),
        verdict: one.verdict.word().to_owned(),
        verdict_by: one.by.word().to_owned(),
        says: one.verdict.to_string(),
        published_note: None,
    }
}

/// What the rule says of a rate of one core; none of a rate that no core was seen to copy.
fn rule(copied: &Copied) -> Option<String> {
    let is_of_a_core = copied.from != CopyFrom::Modelled;
    is_of_a_core.then(|| yes_or_no(copied.gb_s.value >= RULE_GB_S).to_owned())
}

fn yes_or_no(is: bool) -> &'static str {
    if is { "yes" } else { "no" }
}

/// Published servers in the same form.
pub fn published(all: &[ServerRow], file: &str) -> Vec<ServerRecord> {
    all.iter().map(|row| of_published(row, file)).collect()
}

fn of_published(row: &ServerRow, file: &str) -> ServerRecord {
    let published = "published".to_owned();
    let binds = match &row.verdict {
        Verdict::No { binds, .. } => Some(binds.clone()),
        Verdict::Yes => Some(words(ResourceName::Wire).to_owned()),
        Verdict::Unknown { .. } => None,
    };
    // The model's range is in its verdict's words; the row itself has the middle.
    ServerRecord {
        server: row.server.clone(),
        file: file.to_owned(),
        published: true,
        platform: row.chipset.clone(),
        cpu: None,
        clock_ghz: row.clock_ghz,
        clock_from: row.clock_ghz.map(|_| published.clone()),
        memory_gb_s: row.memory_gb_s,
        memory_by: row.memory_gb_s.map(|_| published.clone()),
        memory_from: None,
        memory_left_out: None,
        rule: row.rule.map(|rule| yes_or_no(rule).to_owned()),
        nic: None,
        link_gbps: None,
        slot: Some(row.slot.clone()),
        // Tables of this form are of smallest packets unless they say another size.
        frame: row.frame_bytes.map_or(Frame::SMALLEST, Frame::Bytes).name(),
        wire_mpps: row.wire_mpps,
        packets_mpps: row.published_mpps,
        packets_low_mpps: None,
        packets_high_mpps: row.below_mpps.filter(|_| row.published_mpps.is_none()),
        packets_at_least: None,
        packets_through_nic: row.published_mpps.or(row.below_mpps).map(|_| true),
        packets_from: row.published_mpps.map(|_| published),
        published_says: Some(row.said.clone()).filter(|said| said != "-"),
        allows_mpps: row.model_mpps,
        allows_low_mpps: None,
        allows_high_mpps: None,
        binds,
        verdict: row.verdict.word().to_owned(),
        verdict_by: DecidedBy::Model.word().to_owned(),
        says: row.verdict.to_string(),
        published_note: row.note.clone(),
    }
}

/// All rows, the first the head's.
pub(crate) fn rows(all: &[ServerRecord]) -> Vec<Vec<String>> {
    let head = [
        "server",
        "platform",
        "CPU",
        "memcpy GB/s",
        "16 GB/s rule",
        "slot",
        "wire M/s",
        "packets M/s",
        "allowed M/s",
        "binds",
        "wire rate",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(all.iter().map(row));
    rows
}

/// Where the rows are from: each that was measured or said, and each published file once.
pub(crate) fn origins(all: &[ServerRecord]) -> Vec<String> {
    let own = all.iter().filter(|one| !one.published).map(sources);
    let mut lines: Vec<String> = own.collect();
    let mut files: Vec<&str> = Vec::new();
    for one in all.iter().filter(|one| one.published) {
        if !files.contains(&one.file.as_str()) {
            lines.push(format!("published, not measured here: {}", one.file));
            files.push(&one.file);
        }
        let note = one.published_note.as_ref();
        lines.extend(note.map(|note| format!("{}, by {}: {note}", one.server, one.file)));
    }
    lines
}

/// All as one table, for people.
pub fn text(all: &[ServerRecord]) -> String {
    let mut text = table::lines(&rows(all), |at| at == 6);
    for line in origins(all) {
        let _ = writeln!(text, "  {}", tame(&line));
    }
    text
}

fn row(one: &ServerRecord) -> Vec<String> {
    let or_dash = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let clock = one.clock_ghz.map(|ghz| format!("{ghz} GHz"));
    let cpu: Vec<String> = one.cpu.iter().chain(&clock).cloned().collect();
    let memory = one
        .memory_gb_s
        .map(|gb_s| format!("{gb_s:.2} {}", one.memory_by.as_deref().unwrap_or_default()));
    vec![
        one.server.clone(),
        or_dash(&one.platform),
        if cpu.is_empty() { "-".to_owned() } else { cpu.join(", ") },
        or_dash(&memory),
        or_dash(&one.rule),
        or_dash(&one.slot),
        one.wire_mpps.map_or("-".to_owned(), mpps),
        packets(one),
        allowed(one),
        or_dash(&one.binds),
        format!("{} ({})", one.says, one.verdict_by),
    ]
}

fn packets(one: &ServerRecord) -> String {
    let least = if one.packets_at_least == Some(true) { "at least " } else { "" };
    let rate = match (one.packets_mpps, one.packets_high_mpps) {
        (Some(rate), _) => format!("{least}{}", mpps(rate)),
        (None, Some(high)) => format!("below {}", mpps(high)),
        (None, None) => "-".to_owned(),
    };
    match (&one.published_says, one.packets_through_nic) {
        (Some(says), _) => format!("{rate}, said: {says}"),
        (None, Some(false)) => format!("{rate}, no NIC"),
        _ => rate,
    }
}

fn allowed(one: &ServerRecord) -> String {
    let most = if one.binds.is_none() { "at most " } else { "" };
    match (one.allows_mpps, one.allows_low_mpps, one.allows_high_mpps) {
        // A NIC that is known to reach its line rate is known to do no less.
        (Some(rate), Some(low), Some(high)) if rate <= low && low < high => {
            format!("{most}{} to {}", mpps(low), mpps(high))
        }
        (Some(rate), Some(low), Some(high)) => {
            format!("{most}{} ({} to {})", mpps(rate), mpps(low), mpps(high))
        }
        (Some(rate), ..) => mpps(rate),
        _ => "-".to_owned(),
    }
}

/// Where the figures of a row are from.
fn sources(one: &ServerRecord) -> String {
    let nic = one.nic.as_ref().map(|nic| format!("through {nic}"));
    let memory = one.memory_from.as_ref().map(|from| format!("memcpy: {from}"));
    let left_out = one.memory_left_out.as_ref().map(|why| format!("memcpy of {why}"));
    let clock = one.clock_from.as_ref().map(|from| format!("clock: {from}"));
    let packets = one.packets_from.as_ref().map(|from| format!("packets: {from}"));
    let all = [nic, packets, memory, left_out, clock];
    let all: Vec<String> = all.into_iter().flatten().collect();
    format!("{}, frames of {}: {} ({})", one.server, one.frame, one.file, all.join("; "))
}

/// Millions a second with as many digits as small rates need.
fn mpps(rate: f64) -> String {
    if rate < 0.1 { format!("{rate:.4}") } else { format!("{rate:.2}") }
}

/// A line for each, the keys of the JSON as its head.
pub fn csv(all: &[ServerRecord]) -> String {
    let mut csv = csv::Writer::from_writer(Vec::new());
    for one in all {
        // Writing to memory does not fail.
        let _ = csv.serialize(one.without_formulas());
    }
    String::from_utf8(csv.into_inner().unwrap_or_default()).unwrap_or_default()
}

impl ServerRecord {
    /// The same with the words of others as a spreadsheet may have them.
    fn without_formulas(&self) -> Self {
        let may = |text: &Option<String>| text.clone().map(no_formula);
        Self {
            server: no_formula(self.server.clone()),
            file: no_formula(self.file.clone()),
            platform: may(&self.platform),
            cpu: may(&self.cpu),
            memory_from: may(&self.memory_from),
            memory_left_out: may(&self.memory_left_out),
            nic: may(&self.nic),
            slot: may(&self.slot),
            packets_from: may(&self.packets_from),
            published_says: may(&self.published_says),
            published_note: may(&self.published_note),
            says: no_formula(self.says.clone()),
            ..self.clone()
        }
    }
}

/// All of them, for programs.
#[derive(Serialize, JsonSchema)]
pub struct ServersDocument {
    /// Version of the keys; raised when one changes its meaning.
    pub schema_version: u32,
    pub servers: Vec<ServerRecord>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_predict::Said;

    /// The post's X9SCL: its slot and processor are named, its copy is numademo's.
    const X9SCL: &[(&str, &str)] = &[
        ("nic.gbps", "10"),
        ("nic.model", "82599"),
        ("nic.pcie", "2x8"),
        ("cpu.ghz", "3.6"),
        ("memory.core_gb_s", "34.9"),
    ];

    fn of(name: &str, words: &[(&str, &str)]) -> ServerRecord {
        let host = Host::default();
        let said: Said = words.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let asked = Asked { host: &host, analysis: None, also: None, said: &said, nic: None };
        record(&Source { name: name.to_owned(), asked }).expect("a server")
    }

    #[test]
    fn one_card_in_two_slots_is_two_rows_with_the_verdicts_of_the_post() {
        let behind = [X9SCL, &[("nic.uplink", "2x4/128")]].concat();
        let all = [of("direct", X9SCL), of("behind", &behind), of("bare", &X9SCL[..2])];
        assert_eq!(all[0].says, "yes");
        assert_eq!(all[0].slot.as_deref(), Some("PCIe 2 x8"));
        assert_eq!(all[1].says, "no: chipset slot, 11.7 to 13.7 M/s");
        assert_eq!(all[1].binds.as_deref(), Some("chipset slot"));
        assert_eq!(all[1].slot.as_deref(), Some("PCIe 2 x8, behind the chipset (PCIe 2 x4)"));
        assert!(all[2].says.starts_with("unknown: needs "), "{}", all[2].says);
        assert_eq!(all[2].memory_gb_s, None);
        // The NIC does its line rate, and the CPU, which may do less, more than that.
        let fast = ServerRecord {
            allows_mpps: Some(14.88),
            allows_low_mpps: Some(14.88),
            allows_high_mpps: Some(17.29),
            ..all[0].clone()
        };
        assert_eq!(allowed(&fast), "14.88 to 17.29");
        let text = text(&all);
        let line = |of: &str| text.lines().find(|line| line.trim().starts_with(of));
        let direct = line("direct").expect("a row");
        assert!(direct.contains("34.90 said") && direct.contains("14.88"), "{text}");
        assert!(direct.ends_with("yes (model)"), "{text}");
    }

    #[test]
    fn without_the_links_speed_nothing_is_said_of_its_wire() {
        let unknown = of("veth", &X9SCL[2..]);
        assert_eq!((unknown.wire_mpps, unknown.verdict.as_str()), (None, "unknown"));
        assert!(unknown.says.contains("the link's speed"), "{}", unknown.says);
    }

    #[test]
    fn a_line_of_csv_has_the_keys_of_the_json_and_no_formula() {
        let one = of("=1+1", X9SCL);
        let lines = csv(std::slice::from_ref(&one));
        let mut lines = lines.lines();
        let head: Vec<&str> = lines.next().expect("a head").split(',').collect();
        let json = serde_json::to_value(&one).expect("JSON");
        let keys = json.as_object().expect("an object");
        assert_eq!(head.len(), keys.len());
        assert!(head.iter().all(|key| keys.contains_key(*key)), "{head:?}");
        let row = lines.next().expect("a row");
        assert!(row.starts_with("'=1+1,'=1+1,false,"), "{row}");
        assert_eq!(lines.next(), None);
    }
}
