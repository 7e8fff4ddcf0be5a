//! A host from what somebody sent: a folder with `/sys` and `/proc`, an SMBIOS table, or the text
//! of `dmidecode`.

use crate::capture;
use crate::memory::{self, dmidecode};
use crate::{Root, read};
use narrows_facts::Fact;
use narrows_facts::host::Host;
use std::path::Path;

/// Reads a host from a path; an error says what the path is not.
pub fn open(path: &Path) -> Result<Host, String> {
    let shown = path.display();
    if path.is_dir() {
        if path.join("sys").is_dir() || path.join("proc").is_dir() {
            return Ok(read(&Root::at(path)));
        }
        if path.join("DMI").is_file() {
            return open(&path.join("DMI"));
        }
        return Err(format!("{shown} holds neither sys nor proc nor a table DMI"));
    }
    let bytes = std::fs::read(path).map_err(|error| format!("{shown}: {error}"))?;
    if bytes.is_empty() {
        return Err(format!("{shown} is empty"));
    }
    let text = std::str::from_utf8(&bytes).ok();
    if let Some(text) = text.filter(|text| capture::is_capture(text)) {
        let answers = capture::parse(text).map_err(|error| format!("{shown}: {error}"))?;
        return Ok(read(&Root::replay(answers)));
    }
    let from = format!("{shown}");
    let mut host = read(&Root::at("/nonexistent/narrows"));
    if let Some(text) = text.filter(|text| dmidecode::is_report(text)) {
        let report = dmidecode::parse(text);
        host.product = known(report.system.map(|(maker, name)| format!("{maker} {name}")), &from);
        host.cpu.model = known(report.processor, &from);
        host.memory.slots = Fact::known(report.slots, from);
        return Ok(host);
    }
    let no_table = |why: String| format!("{shown} is no SMBIOS table and no dmidecode text: {why}");
    host.memory.slots = Fact::known(memory::parse_smbios(&bytes).map_err(no_table)?, from.clone());
    let (product, processor) = memory::smbios_names(&bytes);
    host.product = known(product, &from);
    host.cpu.model = known(processor, &from);
    Ok(host)
}

fn known(value: Option<String>, from: &str) -> Fact<String> {
    value.map_or_else(|| Fact::absent(from), |value| Fact::known(value, from))
}
