//! Words of a study's file that name nothing: no machine could run their cells.

use crate::study::Defined;
use narrows_hostctl::namespaces::{HUGE_PAGES, sysctl_path};
use narrows_interop::engines::ENGINES;
use narrows_model::nearest;
use narrows_model::options::{Opt, flows, runs};
use narrows_model::workload::{Transport, Workload};
use narrows_plan::study::{Position, Settings};
use narrows_workloads::{packets, tcp, udp};
use std::fmt;

/// A word of a study's file that names nothing which any narrows of this version knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownWord {
    /// Where the file has it, where that is known.
    pub position: Option<Position>,
    /// Key of the option that is told it.
    pub key: &'static str,
    /// What it should name, in words: a workload, a sender.
    what: &'static str,
    /// The word itself.
    pub word: String,
    /// The words that there are.
    pub known: Vec<String>,
}

impl fmt::Display for UnknownWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(position) = self.position {
            write!(f, "{position}: ")?;
        }
        write!(f, "{}: no {} is called '{}'", self.key, self.what, self.word)
    }
}

impl UnknownWord {
    /// What the user may have meant: the nearest word, or all where none is near.
    pub fn hint(&self) -> String {
        match nearest(&self.word, self.known.iter().map(String::as_str)) {
            Some(near) => format!("did you mean '{near}'?"),
            None => format!("known are {}", self.known.join(", ")),
        }
    }
}

/// Names to look an option's word up in.
struct Names {
    option: &'static Opt<String>,
    what: &'static str,
    /// The words that a workload can be told; none where it cannot be told any.
    of: fn(&Workload) -> Vec<String>,
}

const LOOKED_UP: [Names; 4] = [
    Names { option: &runs::LOAD, what: "workload", of: |_| workloads() },
    Names { option: &runs::ENGINE, what: "outside tool", of: |_| tools() },
    Names { option: &flows::SENDER, what: "sender", of: senders },
    Names { option: &flows::RECEIVER, what: "receiver", of: receivers },
];

/// Those that narrows has words for, and what outside tools alone make.
fn workloads() -> Vec<String> {
    let made = ENGINES.iter().flat_map(|engine| engine.kinds.iter().cloned());
    once(Workload::named().chain(made).map(|load| load.to_string()))
}

fn tools() -> Vec<String> {
    ENGINES.iter().map(|engine| engine.name.to_owned()).collect()
}

fn senders(load: &Workload) -> Vec<String> {
    let names: Vec<&str> = match load {
        Workload::Stream(Transport::Tcp) => tcp::senders::SENDERS.iter().map(|s| s.name).collect(),
        Workload::Stream(Transport::Udp) => udp::senders::SENDERS.iter().map(|s| s.name).collect(),
        Workload::Packets => packets::senders::names().collect(),
        _ => Vec::new(),
    };
    names.into_iter().map(str::to_owned).collect()
}

fn receivers(load: &Workload) -> Vec<String> {
    let names: Vec<&str> = match load {
        Workload::Stream(Transport::Tcp) => {
            tcp::receivers::RECEIVERS.iter().map(|receiver| receiver.name).collect()
        }
        Workload::Stream(Transport::Udp) => {
            udp::receivers::RECEIVERS.iter().map(|receiver| receiver.name).collect()
        }
        Workload::Packets => packets::receivers::names().collect(),
        _ => Vec::new(),
    };
    names.into_iter().map(str::to_owned).collect()
}

/// Refuses a study's file that has a word which names nothing. What it names and is not installed
/// here is another matter: those cells are left out, and the others run.
pub fn check_words(defined: &Defined) -> Result<(), UnknownWord> {
    let levels = defined.definition.factors.iter().flat_map(|factor| &factor.levels);
    let tables = levels.map(|level| &level.settings);
    for settings in std::iter::once(&defined.definition.base).chain(tables) {
        for names in &LOOKED_UP {
            names.check(settings, defined)?;
        }
        check_sysctl(settings)?;
    }
    Ok(())
}

/// Settings that no narrows sets: those of other parts of the kernel.
fn check_sysctl(settings: &Settings) -> Result<(), UnknownWord> {
    match settings.sysctl.keys().find(|name| sysctl_path(name).is_err()) {
        None => Ok(()),
        Some(name) => Err(UnknownWord {
            position: settings.position(SYSCTL),
            key: SYSCTL,
            what: "setting of the network",
            word: name.clone(),
            known: vec!["those that begin with net.".to_owned(), HUGE_PAGES.to_owned()],
        }),
    }
}

const SYSCTL: &str = "sysctl";

impl Names {
    fn check(&self, settings: &Settings, defined: &Defined) -> Result<(), UnknownWord> {
        let Some(word) = settings.told(self.option) else { return Ok(()) };
        let known = self.known(&word, defined);
        if known.contains(&word) {
            return Ok(());
        }
        let key = self.option.declared.key;
        let position = settings.position(key);
        Err(UnknownWord { position, key, what: self.what, word, known })
    }

    /// The words of the workloads whose cells are told this one, each once: a factor of senders
    /// goes with a factor of loads, and where it does not fit, that cell alone cannot run. Where no
    /// cell is, those of all workloads.
    fn known(&self, word: &str, defined: &Defined) -> Vec<String> {
        let told = defined.cells.iter().map(|cell| &cell.settings);
        let told = told.filter(|settings| settings.told(self.option).as_deref() == Some(word));
        let known = once(told.flat_map(|settings| (self.of)(&settings.kind())));
        if known.is_empty() {
            once(Workload::named().flat_map(|load| (self.of)(&load)))
        } else {
            known
        }
    }
}

fn once(words: impl Iterator<Item = String>) -> Vec<String> {
    let mut all = Vec::new();
    for word in words {
        if !all.contains(&word) {
            all.push(word);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(text: &str) -> Result<(), UnknownWord> {
        let text = format!("name = 'a'\nrepeats = 1\n{text}");
        check_words(&Defined::parse(&text, false).expect(&text))
    }

    #[test]
    fn a_word_that_names_nothing_is_told_with_its_place_and_the_nearest() {
        for (text, says, hint) in [
            (
                "[base]\nload = 'tcp-strem'",
                "line 4, column 8: load: no workload is called 'tcp-strem'",
                "did you mean 'tcp-stream'?",
            ),
            (
                "[[factor]]\nname = 'f'\nset = 'load'\nlevels = ['udp-rr', 'memory-cpoy']",
                "line 6, column 21: load: no workload is called 'memory-cpoy'",
                "did you mean 'memory-copy'?",
            ),
            (
                "[[factor]]\nname = 'f'\nlevels = [{ name = 'x', engine = 'iperf33' }]",
                "line 5, column 34: engine: no outside tool is called 'iperf33'",
                "did you mean 'iperf3'?",
            ),
            (
                "[base]\nsender = 'sendfiles'",
                "line 4, column 10: sender: no sender is called 'sendfiles'",
                "did you mean 'sendfile'?",
            ),
            (
                "[base]\nload = 'udp-stream'\nsender = 'sendfile'",
                "line 5, column 10: sender: no sender is called 'sendfile'",
                "known are ",
            ),
            (
                "[base]\nload = 'packets'\nreceiver = 'rign'",
                "line 5, column 12: receiver: no receiver is called 'rign'",
                "known are ",
            ),
            (
                "[base]\nload = 'tcp-rr'\nreceiver = 'splic'",
                "line 5, column 12: receiver: no receiver is called 'splic'",
                "did you mean 'splice'?",
            ),
        ] {
            let unknown = checked(text).expect_err(text);
            assert_eq!(unknown.to_string(), says);
            assert!(unknown.hint().starts_with(hint), "{text}: {}", unknown.hint());
        }
    }

    /// With one load alone, a word of another's is none of its own; packets are UDP's too.
    #[test]
    fn a_word_of_another_load_names_nothing() {
        for (load, key, words) in [
            ("packets", "sender", ["sendfile", "vmsplice"]),
            ("packets", "receiver", ["splice", "truncate"]),
            ("udp-stream", "sender", ["sendfile", "ring"]),
            ("udp-stream", "receiver", ["splice", "ring"]),
            ("tcp-stream", "sender", ["sendmmsg", "gso"]),
            ("tcp-stream", "receiver", ["recvmmsg", "gro"]),
        ] {
            for word in words {
                let text = format!("[base]\nload = '{load}'\n{key} = '{word}'");
                let unknown = checked(&text).expect_err(&text);
                assert_eq!((unknown.key, unknown.word.as_str()), (key, word));
                assert!(!unknown.known.is_empty() && !unknown.known.contains(&unknown.word));
                let own = format!("[base]\nload = '{load}'\n{key} = '{}'", unknown.known[0]);
                assert_eq!(checked(&own), Ok(()), "{own}");
            }
        }
    }

    /// What is shipped says nothing that does not exist.
    #[test]
    fn studies_that_come_with_narrows_have_known_words() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../studies");
        let mut studies = 0;
        for file in std::fs::read_dir(folder).expect("studies").flatten() {
            let text = std::fs::read_to_string(file.path()).unwrap_or_default();
            // Studies of applications have words of their own.
            let Ok(defined) = Defined::parse(&text, false) else { continue };
            assert_eq!(check_words(&defined), Ok(()), "{:?}", file.path());
            studies += 1;
        }
        assert!(studies >= 9, "{studies}");
    }

    #[test]
    fn what_there_is_is_not_refused_though_no_cell_of_this_host_can_run_it() {
        for text in [
            "",
            "[base]\nload = 'rdma-write-stream'",
            "[base]\nload = 'tcp-latency'\nengine = 'sockperf'",
            "[base]\nreceiver = 'gro'\nload = 'udp-stream'",
            // Each sender fits one of the loads.
            "[[factor]]\nname = 'l'\nset = 'load'\nlevels = ['tcp-stream', 'udp-stream']\n\
             [[factor]]\nname = 's'\nset = 'sender'\nlevels = ['sendfile', 'gso']",
            "[base]\ncongestion = 'no-such-module'",
        ] {
            assert_eq!(checked(text), Ok(()), "{text}");
        }
    }
}
