//! `-- events FOLDER`: compares the event files of Intel's processors in `crates/counters/events`
//! with the lists that they name, in a checkout of Intel's perfmon repository (BSD-3-Clause);
//! with `--write` it writes their codes anew. Which event counts what stays the files' own.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use toml_edit::{DocumentMut, Table};

/// An event as a list has it: number and mask, the extension of the mask above its eight bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Code {
    event: u64,
    umask: u64,
}

/// All events of the lists of a family, by name; a name may have several codes where its
/// processors differ.
type Events = BTreeMap<String, Vec<Code>>;

/// Compares, or writes, all files; how many events differ or are in no list.
pub fn run(folder: &Path, lists: &Path, write: bool) -> Result<usize, Box<dyn Error>> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder)?.map(|one| one.map(|one| one.path())).collect::<Result<_, _>>()?;
    files.retain(|path| path.extension().is_some_and(|end| end == "toml"));
    files.sort();
    let mut wrong = 0;
    for path in files {
        let text = fs::read_to_string(&path)?;
        let mut document: DocumentMut = text.parse()?;
        let source = document.get("source").and_then(|source| source.as_str()).unwrap_or_default();
        let Some(events) = events(lists, source)? else { continue };
        let found = compare(&mut document, &events);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        println!("{name}: {} as in the lists, {} not", found.same, found.says.len());
        found.says.iter().for_each(|says| println!("  {says}"));
        wrong += found.says.len();
        if write && document.to_string() != text {
            fs::write(&path, document.to_string())?;
        }
    }
    Ok(wrong)
}

/// The events of the lists that a source names, with those of cores and of experiments beside
/// them; `None` where it names none of them.
fn events(folder: &Path, source: &str) -> Result<Option<Events>, Box<dyn Error>> {
    let words = source.split([' ', ',', ';']);
    let named: BTreeSet<&str> = words.filter(|word| word.ends_with("_uncore.json")).collect();
    if named.is_empty() {
        return Ok(None);
    }
    let mut all = Events::new();
    for list in named {
        for end in ["uncore", "uncore_experimental", "core"] {
            let path = folder.join(list.replace("_uncore.json", &format!("_{end}.json")));
            if end == "uncore" || path.exists() {
                read(&path, &mut all)?;
            }
        }
    }
    Ok(Some(all))
}

fn read(path: &Path, all: &mut Events) -> Result<(), Box<dyn Error>> {
    let text = fs::read_to_string(path).map_err(|why| format!("{}: {why}", path.display()))?;
    let list: Value = serde_json::from_str(&text)?;
    let rows = list.get("Events").unwrap_or(&list).as_array().cloned().unwrap_or_default();
    for row in rows {
        let number = |field: &str| row.get(field).and_then(Value::as_str).and_then(hexadecimal);
        let Some((name, event)) =
            row.get("EventName").and_then(Value::as_str).zip(number("EventCode"))
        else {
            continue;
        };
        let umask = number("UMaskExt").unwrap_or(0) << 8 | number("UMask").unwrap_or(0);
        let codes = all.entry(name.to_owned()).or_default();
        if !codes.contains(&Code { event, umask }) {
            codes.push(Code { event, umask });
        }
    }
    Ok(())
}

/// `0x2E`; an event with several codes has no one.
fn hexadecimal(text: &str) -> Option<u64> {
    u64::from_str_radix(text.trim().trim_start_matches("0x"), 16).ok()
}

/// What a file says that its lists do not.
#[derive(Default)]
struct Found {
    same: usize,
    says: Vec<String>,
}

/// Compares all coded events of a file, and gives each that differs the code of the lists.
fn compare(document: &mut DocumentMut, events: &Events) -> Found {
    let mut found = Found::default();
    let groups = document.get_mut("group").and_then(|groups| groups.as_array_of_tables_mut());
    for group in groups.into_iter().flat_map(|groups| groups.iter_mut()) {
        let of = group.get_mut("event").and_then(|all| all.as_array_of_tables_mut());
        for event in of.into_iter().flat_map(|events| events.iter_mut()) {
            compare_one(event, events, &mut found);
        }
    }
    found
}

fn compare_one(event: &mut Table, events: &Events, found: &mut Found) {
    let name = event.get("name").and_then(|name| name.as_str()).unwrap_or_default().to_owned();
    let Some(codes) = event.get_mut("event").and_then(|codes| codes.as_array_mut()) else { return };
    let written: Vec<String> =
        codes.iter().filter_map(|code| code.as_str().map(str::to_owned)).collect();
    let names = names(&name);
    let listed: Option<Vec<&Vec<Code>>> = names.iter().map(|name| events.get(name)).collect();
    let Some(listed) = listed else {
        found.says.push(format!("{name}: in no list"));
        return;
    };
    let Some(wanted) = wanted(&listed, written.len()) else {
        found.says.push(format!("{name}: the lists do not agree on one code, or on this many"));
        return;
    };
    let anew: Vec<String> =
        written.iter().zip(&wanted).map(|(was, code)| rewritten(was, *code)).collect();
    if anew == written {
        found.same += 1;
        return;
    }
    found.says.push(format!("{name}: {} is {} in the lists", written.join(" "), anew.join(" ")));
    for (at, code) in anew.iter().enumerate() {
        codes.replace(at, code.as_str());
    }
}

/// The names of an event's codes: `UNC_X.READ, .WRITE` and `UNC_X_PCH0, _PCH1` have two; what has a
/// blank is a remark.
fn names(written: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for part in written.split(", ").filter(|part| !part.contains(' ')) {
        let whole = match (part.chars().next(), all.last()) {
            (Some(mark @ ('.' | '_')), Some(before)) => {
                let stem = before.rfind(mark).map_or(before.as_str(), |at| &before[..at]);
                format!("{stem}{part}")
            }
            _ => part.to_owned(),
        };
        all.push(whole);
    }
    all
}

/// The codes of names: one each, or all masks of one event in one code.
fn wanted(listed: &[&Vec<Code>], count: usize) -> Option<Vec<Code>> {
    let each: Option<Vec<Code>> = listed
        .iter()
        .map(|codes| match codes.as_slice() {
            [code] => Some(*code),
            _ => None,
        })
        .collect();
    let each = each?;
    if each.len() == count {
        return Some(each);
    }
    let first = each.first().filter(|_| count == 1)?;
    let is_one = each.iter().all(|code| code.event == first.event);
    let umask = each.iter().fold(0, |all, code| all | code.umask);
    is_one.then(|| vec![Code { event: first.event, umask }])
}

/// A code as it is written, with the number and mask of a list; other fields stay.
fn rewritten(was: &str, code: Code) -> String {
    let mut all = vec![format!("event={:#04x}", code.event)];
    if code.umask != 0 {
        all.push(format!("umask={:#04x}", code.umask));
    }
    let others =
        was.split(',').filter(|one| !one.starts_with("event=") && !one.starts_with("umask="));
    all.extend(others.map(str::to_owned));
    all.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events() -> Events {
        let one = |event, umask| vec![Code { event, umask }];
        [
            ("UNC_M_CAS_COUNT.RD", one(4, 3)),
            ("UNC_M_CAS_COUNT.WR", one(4, 12)),
            ("UNC_M_FULL_PCH0", one(0x22, 0)),
            ("UNC_M_FULL_PCH1", one(0x16, 0)),
            ("UNC_M_OTHER", vec![Code { event: 1, umask: 0 }, Code { event: 2, umask: 0 }]),
        ]
        .map(|(name, codes)| (name.to_owned(), codes))
        .into()
    }

    /// What is said of one event, and its codes afterwards.
    fn of(name: &str, codes: &str) -> (Vec<String>, String) {
        let text = format!("[[group]]\n[[group.event]]\nname = \"{name}\"\nevent = {codes}\n");
        let mut document: DocumentMut = text.parse().expect("TOML");
        let found = compare(&mut document, &events());
        let after = document.to_string();
        (found.says, after.lines().last().unwrap_or_default().to_owned())
    }

    #[test]
    fn codes_are_those_of_the_names() {
        assert!(of("UNC_M_CAS_COUNT.RD", r#"["event=0x04,umask=0x03"]"#).0.is_empty());
        let (says, after) = of("UNC_M_CAS_COUNT.RD", r#"["event=0x04,umask=0x0f"]"#);
        assert_eq!(says.len(), 1);
        assert_eq!(after, r#"event = ["event=0x04,umask=0x03"]"#);
        assert!(of("UNC_M_CAS_COUNT.RD, .WR", r#"["event=0x04,umask=0x0f"]"#).0.is_empty());
        assert!(of("UNC_M_FULL_PCH0, _PCH1", r#"["event=0x22", "event=0x16"]"#).0.is_empty());
        let thresh = r#"["event=0x22,thresh=34"]"#;
        assert!(of("UNC_M_FULL_PCH0, 34 lines or more", thresh).0.is_empty());
        let (_, after) = of("UNC_M_FULL_PCH1, 34 lines or more", thresh);
        assert_eq!(after, r#"event = ["event=0x16,thresh=34"]"#);
    }

    #[test]
    fn what_no_list_tells_is_said_and_left() {
        let (says, after) = of("UNC_M_NONE", r#"["event=0x04"]"#);
        assert_eq!(
            (says, after.as_str()),
            (vec!["UNC_M_NONE: in no list".to_owned()], r#"event = ["event=0x04"]"#)
        );
        assert!(of("UNC_M_OTHER", r#"["event=0x01"]"#).0[0].contains("do not agree"));
        assert!(of("UNC_M_FULL_PCH0, _PCH1", r#"["event=0x22"]"#).0[0].contains("do not agree"));
    }
}
