//! Masks the answers of a machine. Twice: the first time finds what there is to hide, the second
//! hides it wherever and however it is written.

use super::secrets::{Kind, Secrets};
use super::{Answers, Content, Owner, table};
use crate::{acs, command_line, os_release};
use narrows_model::{Fact, Source};
use std::collections::{BTreeMap, BTreeSet};

/// The file that holds the host's name.
const HOST_NAME: &str = "proc/sys/kernel/hostname";
/// The kernel's command line, of which only settings are kept.
const CMDLINE: &str = "proc/cmdline";
/// The folder of block devices.
const BLOCKS: &str = "sys/block";
/// The file that holds the SMBIOS table.
const TABLE: &str = "sys/firmware/dmi/tables/DMI";
/// The file that names the control groups, and the folder of them.
const GROUPS: [&str; 2] = ["proc/self/cgroup", "sys/fs/cgroup"];
/// Groups that every machine has, and the controllers, whose folders stand among them.
const GROUPS_KEPT: [&str; 14] = [
    "user.slice",
    "system.slice",
    "machine.slice",
    "init.scope",
    "docker",
    "lxc",
    "kubepods",
    "kubepods.slice",
    "memory",
    "cpu",
    "cpuset",
    "unified",
    "systemd",
    "cpu,cpuacct",
];
/// The folders whose entries may be named by the owner.
const OWNERS_NAMES: [&str; 2] = ["sys/class/net", "sys/class/infiniband"];
/// Lines of files that name the very machine: on Arm and s390 `/proc/cpuinfo` has some.
const LINES: [&str; 5] = ["serial", "uuid", "asset", "guid", "identification"];

/// Masks the answers.
pub fn mask(mut answers: Answers, owner: &Owner) -> Answers {
    // Single structures may hold serial numbers at any place of their strings.
    answers.files.retain(|path, _| !path.starts_with("sys/firmware/dmi/entries/"));
    if let Some(Fact::Known { value: Content::Text(line), .. }) = answers.files.get_mut(CMDLINE) {
        let kept = line.split_whitespace().filter(|word| command_line::is_setting(word));
        *line = kept.collect::<Vec<_>>().join(" ");
    }
    for (_, fact) in answers.files.iter_mut().filter(|(path, _)| path.contains("os-release")) {
        if let Fact::Known { value, .. } = fact {
            *value = Content::Text(name_of_system(value));
        }
    }
    leave_out_made_up(&mut answers);
    let mut masking = Masking::of(&answers, owner);
    drop(masking.answers(answers.clone()));
    masking.secrets.settle();
    masking.answers(answers)
}

/// Of what the system says of itself the line with its name: owners add their own.
fn name_of_system(content: &Content) -> String {
    match content {
        Content::Text(text) => os_release::line(text).unwrap_or_default().to_owned(),
        Content::Hex(_) => String::new(),
    }
}

/// Leaves out block devices without a device behind them: owners name arrays and volumes.
fn leave_out_made_up(answers: &mut Answers) {
    let is_made_up =
        |to: &Option<String>| to.as_ref().is_some_and(|to| to.contains("/virtual/block/"));
    let Answers { folders, resolved, .. } = answers;
    if let Some(names) = folders.get_mut(BLOCKS) {
        names.retain(|name| !resolved.get(&format!("{BLOCKS}/{name}")).is_some_and(is_made_up));
    }
    resolved.retain(|_, to| !is_made_up(to));
}

struct Masking {
    secrets: Secrets,
    /// Interfaces and devices whose names tell the host's, by new names.
    renamed: BTreeMap<String, String>,
    /// Names of services in control groups, and their stand-ins.
    groups: BTreeMap<String, String>,
}

impl Masking {
    fn of(answers: &Answers, owner: &Owner) -> Self {
        let mut secrets = Secrets::default();
        let text = |path: &str| match answers.files.get(path).and_then(Fact::value) {
            Some(Content::Text(text)) => Some(text.trim().to_owned()),
            _ => None,
        };
        owner.serials.iter().for_each(|serial| secrets.serial(serial));
        // Also as one word, which is how others than the kernel write them.
        owner.serials.iter().for_each(|serial| secrets.serial(&serial.replace('-', "")));
        for address in &owner.hardware {
            secrets.hide(address, Kind::Plain);
        }
        for address in &owner.addresses {
            secrets.hide(&address.to_string(), Kind::Plain);
        }
        if let Some(bytes) = answers.files.get(TABLE).and_then(Fact::value) {
            table::learn(&bytes.bytes().unwrap_or_default(), &mut secrets);
        }
        let told = answers.files.values().filter_map(|fact| match fact.value() {
            Some(Content::Text(text)) => Some(text),
            _ => None,
        });
        told.for_each(|text| learn_lines(text, &mut secrets));
        let mut hosts: Vec<String> = owner.names.clone();
        if let Some(name) = text(HOST_NAME) {
            hosts.extend(name.split_once('.').map(|(label, _)| label.to_owned()));
            hosts.push(name);
        }
        let common = common_words(answers);
        hosts.retain(|host| !common.contains(&host.to_ascii_lowercase()));
        hosts.iter().for_each(|host| secrets.name(host, "masked"));
        let groups = groups(&text(GROUPS[0]).unwrap_or_default());
        Self { renamed: renamed(answers, &hosts), groups, secrets }
    }

    fn answers(&mut self, answers: Answers) -> Answers {
        let mut masked = Answers { narrows_capture: answers.narrows_capture, ..Answers::default() };
        for (path, fact) in answers.files {
            let fact = self.file(&path, fact);
            masked.files.insert(self.path(&path), fact);
        }
        for (path, names) in answers.folders {
            let names = names.iter().map(|name| self.path(name)).collect();
            masked.folders.insert(self.path(&path), names);
        }
        for (path, fact) in answers.links {
            let fact = self.fact(fact, |masking, name| masking.path(&name));
            masked.links.insert(self.path(&path), fact);
        }
        for (path, there) in answers.there {
            masked.there.insert(self.path(&path), there);
        }
        for (path, resolved) in answers.resolved {
            let resolved = resolved.map(|path| self.path(&path));
            masked.resolved.insert(self.path(&path), resolved);
        }
        masked
    }

    fn fact<T>(&mut self, fact: Fact<T>, turn: impl FnOnce(&mut Self, T) -> T) -> Fact<T> {
        let source = |masking: &mut Self, from: Source| Source(masking.path(&from.0));
        match fact {
            Fact::Known { value, from } => {
                Fact::Known { value: turn(self, value), from: source(self, from) }
            }
            Fact::Absent { from, said } => Fact::Absent { from: source(self, from), said },
            Fact::Denied { from } => Fact::Denied { from: source(self, from) },
            Fact::Malformed { from, text } => {
                Fact::Malformed { from: source(self, from), text: self.text(&text, Kind::Plain) }
            }
        }
    }

    fn file(&mut self, path: &str, fact: Fact<Content>) -> Fact<Content> {
        let kind = kind(path);
        self.fact(fact, |masking, content| match content {
            _ if path == HOST_NAME => Content::Text("masked".to_owned()),
            _ if path == TABLE => {
                let bytes = content.bytes().ok();
                let table = bytes.and_then(|table| table::mask(&table, &mut masking.secrets));
                match table {
                    Some(mut table) => {
                        masking.secrets.hide_bytes(&mut table);
                        Content::of(&table)
                    }
                    None => Content::Text("left out: the table could not be masked".to_owned()),
                }
            }
            // Beyond the first 256 bytes a PCI function may tell its serial number.
            content if path.ends_with("/config") => {
                let mut bytes = acs::without_the_rest(&content.bytes().unwrap_or_default());
                masking.secrets.hide_bytes(&mut bytes);
                Content::of(&bytes)
            }
            Content::Hex(_) => {
                let mut bytes = content.bytes().unwrap_or_default();
                masking.secrets.hide_bytes(&mut bytes);
                Content::of(&bytes)
            }
            Content::Text(text) if path == GROUPS[0] => {
                let text = masking.path(&text);
                Content::Text(masking.text(&text, kind))
            }
            Content::Text(text) => {
                let lines = text.split_inclusive('\n').map(|line| {
                    let kind = if line.starts_with("firmware ") { Kind::Version } else { kind };
                    masking.text(line, kind)
                });
                Content::Text(lines.collect())
            }
        })
    }

    fn text(&mut self, text: &str, kind: Kind) -> String {
        let text = self.secrets.hide(text, kind);
        words(&text, &self.renamed)
    }

    fn path(&mut self, path: &str) -> String {
        let path = words(path, &self.renamed);
        let in_groups = path.trim_start_matches('/').starts_with(GROUPS[1])
            || path.lines().next().is_some_and(|line| line.splitn(3, ':').count() == 3);
        let path = if in_groups {
            parts(
                &path,
                |c| matches!(c, '/' | '\n'),
                |part| self.groups.get(part).cloned().unwrap_or_else(|| part.to_owned()),
            )
        } else {
            path
        };
        self.secrets.hide_path(&path)
    }
}

/// What the numbers of a file may be.
fn kind(path: &str) -> Kind {
    let leaf = path.rsplit('/').next().unwrap_or_default();
    match leaf {
        "fw_ver" | "os-release" | "osrelease" | "version" => Kind::Version,
        "cpumap" | "rps_cpus" | "xps_cpus" | "shared_cpu_map" | "smp_affinity" => Kind::Mask,
        _ if leaf.ends_with("_cpus") || leaf.ends_with("_map") => Kind::Mask,
        _ if leaf.ends_with("siblings") => Kind::Mask,
        _ => Kind::Plain,
    }
}

/// Learns the values of lines `name: value` or `name = value` whose name says what they are.
fn learn_lines(text: &str, secrets: &mut Secrets) {
    for part in text.lines().flat_map(|line| line.split(',')) {
        let Some((key, value)) = part.rsplit_once(['=', ':']) else { continue };
        let key = key.trim().to_ascii_lowercase();
        if LINES.iter().any(|line| key.ends_with(line)) {
            secrets.serial(value);
        }
    }
}

/// Words that every machine has: of paths, and of what a processor calls itself. A host may be
/// called like one, and the word says nothing then.
fn common_words(answers: &Answers) -> BTreeSet<String> {
    let mut text = String::new();
    for path in answers.files.keys().chain(answers.there.keys()) {
        let owners = OWNERS_NAMES.iter().any(|folder| path.starts_with(folder));
        if !owners && !path.starts_with("narrows/") && !path.contains("/net/") {
            text += &format!("/{path}");
        }
    }
    if let Some(Content::Text(cpus)) = answers.files.get("proc/cpuinfo").and_then(Fact::value) {
        let model = cpus
            .lines()
            .filter(|line| line.starts_with("model name") || line.starts_with("vendor_id"));
        model.for_each(|line| text += line);
    }
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    words.map(str::to_ascii_lowercase).chain(["localhost".to_owned()]).collect()
}

/// Interfaces and devices whose names contain one of the host's names, by new names.
fn renamed(answers: &Answers, hosts: &[String]) -> BTreeMap<String, String> {
    let names = OWNERS_NAMES.iter().filter_map(|folder| answers.folders.get(*folder)).flatten();
    let found: BTreeSet<&String> = names
        .filter(|name| {
            let name = name.to_ascii_lowercase();
            hosts.iter().any(|host| host.len() > 2 && name.contains(&host.to_ascii_lowercase()))
        })
        .collect();
    let numbered = found.into_iter().enumerate();
    numbered.map(|(at, name)| (name.clone(), format!("ifmasked{}", at + 1))).collect()
}

/// The names of control groups, which are those of services and containers, with their endings.
fn groups(text: &str) -> BTreeMap<String, String> {
    let paths = text.lines().filter_map(|line| line.splitn(3, ':').nth(2));
    let names: BTreeSet<&str> = paths.flat_map(|path| path.split('/')).collect();
    let own = names.into_iter().filter(|name| !name.is_empty() && !GROUPS_KEPT.contains(name));
    let numbered = own.enumerate();
    numbered
        .map(|(at, name)| (name.to_owned(), format!("group{}{}", at + 1, ending(name))))
        .collect()
}

fn ending(name: &str) -> &str {
    let endings = [".service", ".slice", ".scope"];
    endings.into_iter().find(|ending| name.ends_with(ending)).unwrap_or_default()
}

/// The text with whole words of letters, digits, dashes and lines replaced.
fn words(text: &str, by: &BTreeMap<String, String>) -> String {
    if by.is_empty() {
        return text.to_owned();
    }
    parts(
        text,
        |c: char| !(c.is_alphanumeric() || matches!(c, '-' | '_' | '.')),
        |word| by.get(word).cloned().unwrap_or_else(|| word.to_owned()),
    )
}

fn parts(
    text: &str,
    between: impl Fn(char) -> bool,
    mut turn: impl FnMut(&str) -> String,
) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(&between) {
        let (word, behind) = rest.split_at(at);
        let width = behind.chars().next().map_or(0, char::len_utf8);
        shown += &turn(word);
        shown += &behind[..width];
        rest = &behind[width..];
    }
    shown + &turn(rest)
}

#[cfg(test)]
#[path = "mask_tests.rs"]
mod tests;
