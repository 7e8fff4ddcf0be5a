//! The file of a study of an application. It is its user's own: the only place that commands come
//! from.

use crate::AppError;
use crate::contract::{
    COMMUNICATION, CPU_HAD, CPU_USE, Contract, FIGURE, SYSTEM, Written, is_plain,
};
use narrows_model::units::Unit;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

/// More cells than this are a slip of the pen.
const CELLS_MAX: usize = 10_000;
/// The most that the input files are together, in bytes.
const INPUT_BYTES_MAX: usize = 8 << 20;
/// The largest MTU of a veth pair, in bytes.
const MTU_MAX: u32 = 65_535;
/// The smallest that IPv4 can do with (RFC 791).
const MTU_MIN: u32 = 68;

/// A study as its file has it.
#[derive(Clone, Debug)]
pub struct Definition {
    /// Its name; also the beginning of the name of its results.
    pub name: String,
    /// What it asks, in a sentence or two.
    pub about: String,
    /// The program and its words; each rank runs it.
    pub command: Vec<String>,
    /// Programs with their words that make the input in the folder of each run, before it and
    /// without the launcher.
    pub prepare: Vec<Vec<String>>,
    /// Packages of Debian that have its programs, named where one is not there.
    pub packages: Vec<String>,
    /// Variables that the ranks have beside the user's.
    pub environment: BTreeMap<String, String>,
    /// Files that are written into the folder of each run, by name.
    pub files: BTreeMap<String, String>,
    /// Numbers of ranks, ascending.
    pub ranks: Vec<u32>,
    /// Runs of each cell.
    pub repeats: u32,
    /// Seconds after which a run is ended.
    pub limit_seconds: u32,
    /// Under this share of its CPUs a run is rejected.
    pub cpu_use_least: f64,
    /// The figure that counts: a time, or a rate.
    pub figure: Contract,
    /// Share of the time that its ranks communicate, where it tells.
    pub communication: Option<Contract>,
    /// Share of its CPUs that it had, where it tells.
    pub cpu_use: Option<Contract>,
    pub checks: Vec<Check>,
    /// Where it runs, and over which fabrics.
    pub places: Vec<Place>,
}

/// A number that says whether the result is right.
#[derive(Clone, Debug)]
pub struct Check {
    /// What it is called in reports and in the file.
    pub name: String,
    pub contract: Contract,
    pub want: f64,
    /// How far it may lie off, in the same unit.
    pub within: f64,
}

impl Check {
    pub fn is_right(&self, value: f64) -> bool {
        (value - self.want).abs() <= self.within
    }
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// Name that is unique in the study.
    pub name: String,
    /// Fabrics, as `narrows mpi` has them.
    pub fabrics: Vec<String>,
    /// Two network namespaces of this host, joined by a veth pair, are the hosts.
    #[serde(default)]
    pub namespaces: bool,
    /// Hosts; none of both is this host.
    #[serde(default)]
    pub hosts: Vec<String>,
    /// CPUs of each host, where that is known: more ranks are marked.
    pub cpus_per_host: Option<u32>,
    /// MTUs of the veth pair, in bytes.
    #[serde(default)]
    pub mtu: Vec<u32>,
    /// Whether the veth pair may carry segments longer than its MTU, as a NIC with offloads does.
    pub segmentation: Option<bool>,
    /// Congestion control of the veth pair.
    pub congestion: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    name: String,
    #[serde(default)]
    about: String,
    command: Vec<String>,
    #[serde(default)]
    prepare: Vec<Vec<String>>,
    #[serde(default)]
    packages: Vec<String>,
    #[serde(default)]
    environment: BTreeMap<String, String>,
    #[serde(default)]
    files: BTreeMap<String, String>,
    ranks: Vec<u32>,
    repeats: u32,
    #[serde(default = "ten_minutes")]
    limit_seconds: u32,
    #[serde(default = "nine_tenths")]
    cpu_use_least_percent: f64,
    figure: Written,
    communication: Option<Written>,
    cpu_use: Option<Written>,
    #[serde(default)]
    check: Vec<RawCheck>,
    place: Vec<Place>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCheck {
    name: String,
    want: f64,
    within: f64,
    regex: Option<String>,
    pointer: Option<String>,
    file: Option<String>,
}

fn ten_minutes() -> u32 {
    600
}

fn nine_tenths() -> f64 {
    90.0
}

impl Definition {
    /// Reads the text of a study's file.
    pub fn parse(text: &str) -> Result<Self, AppError> {
        let raw: Raw = toml::from_str(text).map_err(|error| {
            let before = error.span().map_or(0, |span| text[..span.start].matches('\n').count());
            AppError::new(format!("line {}", before + 1), error.message())
        })?;
        let share = |written: &Written, at| Contract::of(written, at, &[Unit::Share]);
        let figures = [Unit::Nanos, Unit::PerSecond, Unit::FlopsPerSecond, Unit::BytesPerSecond];
        let definition = Self {
            figure: Contract::of(&raw.figure, "figure", &figures)?,
            communication: raw
                .communication
                .map(|written| share(&written, "communication"))
                .transpose()?,
            cpu_use: raw.cpu_use.map(|written| share(&written, "cpu_use")).transpose()?,
            checks: raw.check.into_iter().map(check).collect::<Result<_, _>>()?,
            name: raw.name,
            about: raw.about,
            command: raw.command,
            prepare: raw.prepare,
            packages: raw.packages,
            environment: raw.environment,
            files: raw.files,
            ranks: raw.ranks,
            repeats: raw.repeats,
            limit_seconds: raw.limit_seconds,
            cpu_use_least: raw.cpu_use_least_percent / 100.0,
            places: raw.place,
        };
        definition.sound()?;
        Ok(definition)
    }

    /// How many cells there are at most: each place, fabric and MTU with every number of ranks.
    fn cells(&self) -> usize {
        let curves = self.places.iter().map(|at| at.fabrics.len() * at.mtu.len().max(1));
        curves.sum::<usize>() * self.ranks.len() + 1
    }

    fn sound(&self) -> Result<(), AppError> {
        if !is_plain(&self.name) {
            return Err(AppError::new("name", "is letters, digits, dashes, dots: it names a file"));
        }
        self.sound_command()?;
        self.sound_numbers()?;
        if let Some(name) = self.files.keys().find(|name| !is_plain(name)) {
            return Err(AppError::new("files", format!("'{name}' is no plain name of a file")));
        }
        if self.files.values().map(String::len).sum::<usize>() > INPUT_BYTES_MAX {
            return Err(AppError::new("files", "are more than 8 MiB together"));
        }
        let mut names = BTreeSet::new();
        for place in &self.places {
            if !names.insert(place.name.as_str()) {
                return Err(place.error("is given twice"));
            }
            place.sound()?;
        }
        if self.places.is_empty() {
            return Err(AppError::new("place", "names where it runs, and is missing"));
        }
        if self.cells() > CELLS_MAX {
            return Err(AppError::new("place", format!("more than {CELLS_MAX} cells")));
        }
        Ok(())
    }

    fn sound_command(&self) -> Result<(), AppError> {
        if self.prepare.iter().any(|words| is_no_command(words)) {
            return Err(AppError::new("prepare", "has programs, each with its words in a list"));
        }
        if self.packages.iter().any(|name| !is_plain(name)) {
            return Err(AppError::new("packages", "are names of Debian's packages, each a text"));
        }
        if is_no_command(&self.command) {
            return Err(AppError::new("command", "is the program and its words, each a text"));
        }
        let odd = |name: &str| {
            name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        match self.environment.iter().find(|(name, value)| odd(name) || value.contains('\0')) {
            Some((name, _)) => {
                Err(AppError::new("environment", format!("'{name}' is no variable")))
            }
            None => Ok(()),
        }
    }

    fn sound_numbers(&self) -> Result<(), AppError> {
        let rising = self.ranks.windows(2).all(|pair| pair[0] < pair[1]);
        if self.ranks.is_empty() || !rising || !self.ranks.iter().all(|n| (1..=100_000).contains(n))
        {
            return Err(AppError::new("ranks", "are 1 to 100000, each once, ascending"));
        }
        if !(1..=1000).contains(&self.repeats) {
            return Err(AppError::new("repeats", "is 1 to 1000"));
        }
        if !(1..=604_800).contains(&self.limit_seconds) {
            return Err(AppError::new("limit_seconds", "is 1 to 604800"));
        }
        if !(0.0..=1.0).contains(&self.cpu_use_least) {
            return Err(AppError::new("cpu_use_least_percent", "is 0 to 100"));
        }
        let mut names = BTreeSet::from([FIGURE, COMMUNICATION, CPU_USE, CPU_HAD, SYSTEM]);
        for check in &self.checks {
            if !names.insert(&check.name) {
                let at = format!("check '{}'", check.name);
                return Err(AppError::new(at, "is the name of another figure of the study"));
            }
            if !check.want.is_finite() || !check.within.is_finite() || check.within < 0.0 {
                let at = format!("check '{}'", check.name);
                return Err(AppError::new(at, "want and within are numbers, within not below 0"));
            }
        }
        Ok(())
    }
}

fn is_no_command(words: &[String]) -> bool {
    words.first().is_none_or(String::is_empty) || words.iter().any(|word| word.contains('\0'))
}

fn check(raw: RawCheck) -> Result<Check, AppError> {
    let at = format!("check '{}'", raw.name);
    let RawCheck { name, want, within, regex, pointer, file } = raw;
    let written = Written { regex, pointer, file, ..Written::default() };
    Ok(Check { name, want, within, contract: Contract::bare(&written, &at)? })
}

impl Place {
    fn error(&self, why: impl Into<String>) -> AppError {
        AppError::new(format!("place '{}'", self.name), why)
    }

    fn sound(&self) -> Result<(), AppError> {
        if self.name.trim().is_empty() || self.name.chars().any(char::is_control) {
            return Err(self.error("has no name"));
        }
        let once: BTreeSet<&String> = self.fabrics.iter().collect();
        if self.fabrics.is_empty() || once.len() < self.fabrics.len() {
            return Err(self.error("names its fabrics, each once"));
        }
        if self.namespaces && !self.hosts.is_empty() {
            return Err(self.error("is either hosts or namespaces"));
        }
        if let Some(host) = self.hosts.iter().find(|host| host.starts_with('-')) {
            return Err(self.error(format!("'{host}' is no host")));
        }
        let of_pair = !self.mtu.is_empty() || self.segmentation.is_some();
        if (of_pair || self.congestion.is_some()) && !self.namespaces {
            let why = "only namespaces have an mtu, segmentation and congestion of their own: \
                       those of other hosts are not narrows' to set";
            return Err(self.error(why));
        }
        let rising = self.mtu.windows(2).all(|pair| pair[0] < pair[1]);
        if !rising || !self.mtu.iter().all(|mtu| (MTU_MIN..=MTU_MAX).contains(mtu)) {
            return Err(self.error(format!("mtu is {MTU_MIN} to {MTU_MAX}, ascending")));
        }
        match &self.congestion {
            Some(name) if !is_plain(name) => {
                Err(self.error(format!("'{name}' is no congestion control")))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_has_a_name_of_its_own() {
        let with = |names: [&str; 2]| {
            let check = |name: &str| {
                format!("[[check]]\nname = '{name}'\nregex = '(.*)'\nwant = 1\nwithin = 0\n")
            };
            let text = "name = 'a'\ncommand = ['a']\nranks = [1]\nrepeats = 6\n[figure]\n\
                        regex = '(.*)'\nunit = 's'\n[[place]]\nname = 'b'\nfabrics = ['shm']\n";
            Definition::parse(&(text.to_owned() + &names.map(check).concat()))
        };
        assert!(with(["energy", "mass"]).is_ok());
        for names in [
            ["energy", "energy"],
            ["energy", CPU_USE],
            [FIGURE, "energy"],
            ["energy", SYSTEM],
            ["energy", CPU_HAD],
        ] {
            let error = with(names).expect_err("a name twice");
            assert!(error.why.contains("another figure"), "{error}");
        }
    }

    const STUDY: &str = "name = 'a'\ncommand = ['a', 'b']\nranks = [1, 2]\nrepeats = 6\n\
        limit_seconds = 9\ncpu_use_least_percent = 80\nprepare = [['p']]\n\
        [environment]\nSET = '1'\n[files]\n'in.txt' = 'x'\n\
        [figure]\nregex = '(.*)'\nunit = 's'\n\
        [[check]]\nname = 'sum'\nregex = '(.*)'\nwant = 4\nwithin = 0.5\n\
        [[place]]\nname = 'pair'\nfabrics = ['tcp:e', 'shm']\nnamespaces = true\n\
        mtu = [1500, 9000]\ncongestion = 'reno'\n";

    /// A study with one line in the place of another.
    fn changed(from: &str, to: &str) -> Result<Definition, AppError> {
        assert!(STUDY.contains(from), "{from}");
        Definition::parse(&STUDY.replacen(from, to, 1))
    }

    #[test]
    fn a_study_is_what_its_file_says_and_what_it_does_not_say_has_its_default() {
        let said = changed("", "").expect("a study");
        assert_eq!((said.repeats, said.limit_seconds, said.cpu_use_least), (6, 9, 0.8));
        assert_eq!(
            (said.ranks.as_slice(), said.places[0].mtu.as_slice()),
            (&[1, 2][..], &[1500, 9000][..])
        );
        assert_eq!((said.command.len(), said.prepare.len()), (2, 1));
        assert_eq!(said.environment["SET"], "1");
        assert_eq!(said.files["in.txt"], "x");
        let check = &said.checks[0];
        assert!([3.5, 4.0, 4.5].into_iter().all(|value| check.is_right(value)));
        assert!(![3.4, 4.6, f64::NAN].into_iter().any(|value| check.is_right(value)));
        let unsaid = changed("limit_seconds = 9\ncpu_use_least_percent = 80\n", "");
        let unsaid = unsaid.expect("a study");
        assert_eq!((unsaid.limit_seconds, unsaid.cpu_use_least), (600, 0.9));
    }

    #[test]
    fn numbers_and_names_have_their_bounds() {
        for (from, to) in [
            ("repeats = 6", "repeats = 1"),
            ("repeats = 6", "repeats = 1000"),
            ("limit_seconds = 9", "limit_seconds = 604800"),
            ("cpu_use_least_percent = 80", "cpu_use_least_percent = 100"),
            ("cpu_use_least_percent = 80", "cpu_use_least_percent = 0"),
            ("ranks = [1, 2]", "ranks = [100000]"),
            ("within = 0.5", "within = 0"),
            ("mtu = [1500, 9000]", "mtu = [68, 65535]"),
            ("name = 'a'", "name = 'A-1.x_y'"),
        ] {
            assert!(changed(from, to).is_ok(), "{to}: {:?}", changed(from, to).err());
        }
        for (from, to, at, says) in [
            ("repeats = 6", "repeats = 0", "repeats", "1 to 1000"),
            ("repeats = 6", "repeats = 1001", "repeats", "1 to 1000"),
            ("limit_seconds = 9", "limit_seconds = 0", "limit_seconds", "1 to 604800"),
            ("limit_seconds = 9", "limit_seconds = 604801", "limit_seconds", "1 to 604800"),
            ("percent = 80", "percent = 101", "cpu_use_least_percent", "0 to 100"),
            ("percent = 80", "percent = -1", "cpu_use_least_percent", "0 to 100"),
            ("ranks = [1, 2]", "ranks = []", "ranks", "ascending"),
            ("ranks = [1, 2]", "ranks = [2, 2]", "ranks", "ascending"),
            ("ranks = [1, 2]", "ranks = [0]", "ranks", "1 to 100000"),
            ("ranks = [1, 2]", "ranks = [100001]", "ranks", "1 to 100000"),
            ("within = 0.5", "within = -0.1", "check 'sum'", "not below 0"),
            ("want = 4", "want = inf", "check 'sum'", "numbers"),
            ("mtu = [1500, 9000]", "mtu = [67]", "place 'pair'", "68 to 65535"),
            ("mtu = [1500, 9000]", "mtu = [65536]", "place 'pair'", "68 to 65535"),
            ("mtu = [1500, 9000]", "mtu = [9000, 1500]", "place 'pair'", "ascending"),
            ("congestion = 'reno'", "congestion = 'a b'", "place 'pair'", "no congestion control"),
            ("namespaces = true", "hosts = ['n1']", "place 'pair'", "only namespaces"),
            ("namespaces = true", "namespaces = true\nhosts = ['n1']", "place 'pair'", "either"),
            ("fabrics = ['tcp:e', 'shm']", "fabrics = []", "place 'pair'", "each once"),
            ("['tcp:e', 'shm']", "['shm', 'shm']", "place 'pair'", "each once"),
            ("name = 'pair'", "name = ' '", "place ' '", "has no name"),
            ("name = 'a'", "name = '../a'", "name", "it names a file"),
            ("name = 'a'", "name = '-a'", "name", "it names a file"),
            ("command = ['a', 'b']", "command = []", "command", "the program"),
            ("command = ['a', 'b']", "command = ['']", "command", "the program"),
            ("prepare = [['p']]", "prepare = [[]]", "prepare", "programs"),
            ("SET = '1'", "'S-T' = '1'", "environment", "no variable"),
            ("'in.txt' = 'x'", "'../in' = 'x'", "files", "no plain name"),
            ("repeats = 6", "repeats = 6\nodd = 1", "line 5", "unknown field"),
        ] {
            let error = changed(from, to).expect_err(to);
            assert!(error.at == at && error.why.contains(says), "{to}: {error}");
        }
        let twice = "congestion = 'reno'\n[[place]]\nname = 'pair'\nfabrics = ['shm']";
        let error = changed("congestion = 'reno'", twice).expect_err("twice");
        assert_eq!((error.at.as_str(), error.why.as_str()), ("place 'pair'", "is given twice"));
        // One fabric over 9999 numbers of ranks has as many cells, and one is counted for one rank.
        let many = |count: u32| {
            let ranks: Vec<String> = (1..=count).map(|n| n.to_string()).collect();
            let text = STUDY.replace("'tcp:e', 'shm'", "'shm'").replace("mtu = [1500, 9000]", "");
            Definition::parse(
                &text.replace("ranks = [1, 2]", &format!("ranks = [{}]", ranks.join(", "))),
            )
        };
        assert!(many(9999).is_ok());
        assert!(many(10_000).is_err_and(|error| error.why == "more than 10000 cells"));
    }
}
