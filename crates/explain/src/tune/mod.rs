//! What to change on a host for one kind of work: each setting with what it is, what it should be,
//! why, and how. Pure; nothing here changes anything.
//!
//! Unlike a rule, which finds what is wrong, advice is a matter of what the host is for: a setting
//! that is right for throughput may be wrong for latency. Nothing here stops a service, touches the
//! packet filter or opens a port.

mod boot;
mod cards;
mod measured;
mod network;
mod power;
mod processes;
mod sources;
mod worth;

pub use measured::{Measured, Stale};
pub use worth::{Basis, Worth};

use narrows_model::Fact;
use narrows_model::host::Host;
use narrows_model::result::Missing;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::fmt;

/// What a host is to be good at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// Many bytes over few connections.
    Throughput,
    /// Short round trips.
    Latency,
    /// Many small packets.
    Packets,
    /// Verbs: InfiniBand, RoCE, iWARP.
    Rdma,
    /// Message passing between ranks.
    Mpi,
}

/// Profiles by their names.
pub const PROFILES: [(&str, Profile); 5] = [
    ("throughput", Profile::Throughput),
    ("latency", Profile::Latency),
    ("packets", Profile::Packets),
    ("rdma", Profile::Rdma),
    ("mpi", Profile::Mpi),
];

impl Profile {
    /// The profile by this name.
    pub fn named(name: &str) -> Option<Self> {
        PROFILES.iter().find(|(have, _)| *have == name).map(|(_, profile)| *profile)
    }
}

/// One setting that should be different.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Advice {
    /// Its name: a sysctl's, or `cpu.governor`, `nic.eth0.rings`.
    pub setting: String,
    pub now: String,
    pub from: String,
    pub wanted: String,
    /// What it changes, and what it costs.
    pub because: String,
    /// Who advises it: a document's title, or the kernel's own.
    pub source: String,
    /// What sort of use it is for.
    pub profile: Profile,
    /// What a change brings; `None` is not known before it is measured.
    pub worth: Option<Worth>,
    /// Files that a change writes `wanted` to; empty for what is not done here.
    pub files: Vec<String>,
    /// The commands that do the same.
    pub commands: Vec<String>,
}

/// A setting on which there is no advice, since something about it is not known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(into = "String")]
pub struct Unknown {
    /// Its name, as in [`Advice::setting`].
    pub setting: String,
    pub missing: Missing,
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.missing {
            // The setting is the fact.
            Missing::Fact { gap, .. } => write!(f, "{}: {gap}", self.setting),
            missing => write!(f, "{}: {missing}", self.setting),
        }
    }
}

impl From<Unknown> for String {
    fn from(unknown: Unknown) -> Self {
        unknown.to_string()
    }
}

/// What a host was asked, with what could not be read.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Advised {
    /// What should be different: what is worth most first, then what nobody knows the worth of, by
    /// setting, then what the model says is worth nothing here.
    pub advice: Vec<Advice>,
    /// Settings that are as they should be.
    pub fine: Vec<String>,
    /// Settings that are not there or may not be read, with why.
    pub unknown: Vec<Unknown>,
}

impl Advised {
    /// True when this setting was asked for, whatever the answer.
    pub fn knows(&self, setting: &str) -> bool {
        self.advice.iter().any(|advice| advice.setting == setting)
            || self.fine.iter().any(|name| name == setting)
            || self.unknown.iter().any(|unknown| unknown.setting == setting)
    }

    /// Keeps what is said of these settings.
    pub fn keep(&mut self, settings: &[String]) {
        self.advice.retain(|advice| settings.contains(&advice.setting));
        self.fine.retain(|name| settings.contains(name));
        self.unknown.retain(|unknown| settings.contains(&unknown.setting));
    }

    fn lacks(&mut self, setting: &str, missing: Missing) {
        self.unknown.push(Unknown { setting: setting.to_owned(), missing });
    }
}

/// Everything that should be different on a host, by its facts and by what a check measured on it.
pub fn advise(host: &Host, profile: Profile, measured: Option<&Measured>) -> Advised {
    let mut told = Advised::default();
    let mut advisor = Advisor { host, profile, told: &mut told };
    network::look(&mut advisor);
    if profile == Profile::Throughput {
        measured::look(&mut advisor, measured);
    }
    cards::look(&mut advisor);
    power::look(&mut advisor);
    processes::look(&mut advisor);
    boot::look(&mut advisor);
    told.advice.sort_by(by_worth);
    told
}

/// What is worth most first; at the same place what was measured before what was modelled.
fn by_worth(one: &Advice, other: &Advice) -> Ordering {
    let basis = |advice: &Advice| advice.worth.as_ref().map(|worth| worth.basis);
    place(one)
        .cmp(&place(other))
        .then_with(|| middle(other).total_cmp(&middle(one)))
        .then_with(|| basis(one).cmp(&basis(other)))
        .then_with(|| one.setting.cmp(&other.setting))
}

fn middle(advice: &Advice) -> f64 {
    advice.worth.as_ref().map_or(1.0, Worth::middle)
}

fn place(advice: &Advice) -> i32 {
    match &advice.worth {
        Some(worth) if worth.is_worthwhile() => 0,
        None => 1,
        Some(_) => 2,
    }
}

/// A setting and what it should be.
struct Recommendation<'a> {
    setting: &'a str,
    /// `None` when the present value is right.
    wanted: Option<String>,
    because: &'a str,
    source: &'a str,
    worth: Option<Worth>,
    /// Empty for what `--apply` leaves to the user.
    files: Vec<String>,
    commands: Vec<String>,
}

/// Why a setting should be different, and who says so.
#[derive(Clone, Copy)]
struct Reason<'a> {
    because: &'a str,
    source: &'a str,
}

/// Looks at a host for one profile and gathers what is to say.
struct Advisor<'a> {
    host: &'a Host,
    profile: Profile,
    told: &'a mut Advised,
}

impl Advisor<'_> {
    /// A setting whose value is a fact.
    fn weigh<T: ToString>(&mut self, fact: &Fact<T>, recommended: Recommendation<'_>) {
        let Some(now) = fact.value() else {
            self.told.lacks(recommended.setting, Missing::fact(recommended.setting, fact));
            return;
        };
        let now = now.to_string();
        match recommended.wanted {
            None => self.told.fine.push(recommended.setting.to_owned()),
            Some(wanted) => self.told.advice.push(Advice {
                setting: recommended.setting.to_owned(),
                now,
                from: fact.source().0.clone(),
                wanted,
                because: recommended.because.to_owned(),
                source: recommended.source.to_owned(),
                profile: self.profile,
                worth: recommended.worth,
                files: recommended.files,
                commands: recommended.commands,
            }),
        }
    }

    /// A sysctl; `want` is given its value and gives another where it should be different.
    fn sysctl(
        &mut self,
        name: &str,
        reason: Reason<'_>,
        worth: Option<Worth>,
        want: impl Fn(&str) -> Option<String>,
    ) {
        let absent = Fact::absent(format!("/proc/sys/{}", name.replace('.', "/")));
        let fact = self.host.tuning.get(name).unwrap_or(&absent).clone();
        let wanted = fact.value().and_then(|value| want(value.trim()));
        let commands = wanted.iter().map(|value| format!("sysctl -w {name}=\"{value}\"")).collect();
        let files = vec![format!("/proc/sys/{}", name.replace('.', "/"))];
        let Reason { because, source } = reason;
        let setting = name;
        self.weigh(
            &fact,
            Recommendation { setting, wanted, because, source, worth, files, commands },
        );
    }

    /// A sysctl that should be one value.
    fn sysctl_is(&mut self, name: &str, value: &str, reason: Reason<'_>) {
        self.sysctl(name, reason, None, |now| (now != value).then(|| value.to_owned()));
    }

    /// A sysctl with one number that should be no less.
    fn sysctl_at_least(&mut self, name: &str, least: u64, reason: Reason<'_>) {
        self.sysctl(name, reason, None, |now| {
            now.parse::<u64>().is_ok_and(|now| now < least).then(|| least.to_string())
        });
    }

    /// A setting that is read as text, by its name among the facts; absent where it is not.
    fn fact(&self, name: &str) -> Fact<String> {
        self.host.tuning.get(name).cloned().unwrap_or_else(|| Fact::absent(name))
    }

    /// Whether this is one of the profiles that a setting is for.
    fn is_for(&self, profiles: &[Profile]) -> bool {
        profiles.contains(&self.profile)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::testing::known;
    use narrows_model::BitsPerSecond;
    use narrows_model::host::{Cpu, IdleState, Nic};

    fn host(settings: &[(&str, &str)]) -> Host {
        let nic = Nic {
            name: "e0".into(),
            physical: true,
            speed_bps: known(BitsPerSecond(100e9)),
            ..Nic::default()
        };
        let mut host = Host { nics: vec![nic], ..Host::default() };
        host.cpu = Cpu { online: known(vec![0, 1]), ..Cpu::default() };
        for (name, value) in settings {
            host.tuning.insert((*name).into(), known((*value).into()));
        }
        host
    }

    fn setting(advised: &Advised, name: &str) -> Option<Advice> {
        advised.advice.iter().find(|advice| advice.setting == name).cloned()
    }

    #[test]
    fn buffers_follow_the_fastest_link_and_never_shrink() {
        let small = advise(
            &host(&[("net.ipv4.tcp_rmem", "4096 131072 6291456")]),
            Profile::Throughput,
            None,
        );
        let advice = setting(&small, "net.ipv4.tcp_rmem").expect("advice");
        // 100 Gb/s over a millisecond are 12.5 MB; half of the buffer is window.
        assert_eq!(advice.wanted, "4096 131072 25000000");
        assert_eq!(advice.files, ["/proc/sys/net/ipv4/tcp_rmem"]);
        let large = advise(
            &host(&[("net.ipv4.tcp_rmem", "4096 131072 99000000")]),
            Profile::Throughput,
            None,
        );
        assert!(setting(&large, "net.ipv4.tcp_rmem").is_none());
        assert!(large.fine.contains(&"net.ipv4.tcp_rmem".to_owned()));
    }

    #[test]
    fn what_cannot_be_read_is_said_and_not_advised() {
        let told = advise(&Host::default(), Profile::Throughput, None);
        assert!(told.advice.is_empty(), "{told:?}");
        assert!(told.unknown.iter().any(|one| one.setting == "cpu.governor"), "{told:?}");
    }

    #[test]
    fn profiles_differ() {
        let mut host = host(&[("net.core.busy_read", "0"), ("cpu.governor", "powersave")]);
        let state = |name: &str, us: u64| IdleState {
            name: name.into(),
            exit_latency_us: us,
            disabled_on: 0,
        };
        host.cpu.idle_states = known(vec![state("POLL", 0), state("C1", 2), state("C6", 133)]);
        let (bulk, trips) =
            (advise(&host, Profile::Throughput, None), advise(&host, Profile::Latency, None));
        assert!(setting(&bulk, "net.core.busy_read").is_none());
        assert_eq!(setting(&trips, "net.core.busy_read").expect("advice").wanted, "50");
        let governor = setting(&bulk, "cpu.governor").expect("advice");
        assert_eq!(governor.files.len(), 2);
        let deep = setting(&trips, "cpu.idle-state.C6").expect("advice");
        let folder = "/sys/devices/system/cpu";
        let files: Vec<String> =
            (0..2).map(|cpu| format!("{folder}/cpu{cpu}/cpuidle/state2/disable")).collect();
        assert_eq!(deep.files, files);
        assert!(setting(&trips, "cpu.idle-state.C1").is_none());
    }

    #[test]
    fn names_are_those_of_the_profiles() {
        for (name, profile) in PROFILES {
            assert_eq!(Profile::named(name), Some(profile));
        }
        assert_eq!(Profile::named("speed"), None);
    }
}
