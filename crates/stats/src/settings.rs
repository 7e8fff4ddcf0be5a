//! What was in force at the ends of a cell, as each end read it back in the first run.

use narrows_model::Bytes;
use narrows_model::load::{Effective, Role};
use narrows_model::record::Record;
use narrows_model::trial::{EndHost, EndSpec, Trial};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What one end read back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EndSettings {
    pub role: Role,
    /// The host that it ran on.
    pub host: EndHost,
    /// Its sockets, threads and buffers as they were.
    pub effective: Effective,
}

/// What two ends that talk to each other read back.
#[derive(Clone, Debug, PartialEq)]
pub struct PairSettings {
    /// Host of the end that sends; of the only end of a memory kernel.
    pub from: EndHost,
    /// Host of the end that receives.
    pub to: EndHost,
    /// The sender's settings, with how the receiver receives.
    pub used: Effective,
    /// The receiver's socket buffer.
    pub receive_buffer_bytes: Option<Bytes>,
}

/// The settings of every measured end of a cell. In JSON the first pair's are `effective` too, as
/// they were before there were more.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "StoredSettings", into = "StoredSettings")]
pub struct SettingsInForce {
    /// Senders in the order of the trial's pairs, then receivers.
    ends: Vec<EndSettings>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct StoredSettings {
    effective: Effective,
    sink_receive_buffer_bytes: Option<Bytes>,
    #[serde(default)]
    ends: Vec<EndSettings>,
}

impl SettingsInForce {
    pub(crate) fn of(trial: &Trial, record: &Record) -> Self {
        let of = |role| ends_of(trial, record, role);
        Self { ends: of(Role::Sender).chain(of(Role::Receiver)).collect() }
    }

    /// All ends, senders first.
    pub fn ends(&self) -> &[EndSettings] {
        &self.ends
    }

    fn of_role(&self, role: Role) -> impl Iterator<Item = &EndSettings> {
        self.ends.iter().filter(move |end| end.role == role)
    }

    /// What each end that sends had; where none does, as of memory kernels, what the others had.
    pub fn senders(&self) -> impl Iterator<Item = &Effective> {
        let has_any = self.of_role(Role::Sender).next().is_some();
        let role = if has_any { Role::Sender } else { Role::Receiver };
        self.of_role(role).map(|end| &end.effective)
    }

    /// What the ends that receive had.
    pub fn receivers(&self) -> impl Iterator<Item = &Effective> {
        self.of_role(Role::Receiver).map(|end| &end.effective)
    }

    /// What the first end that sends had.
    pub fn sender(&self) -> Option<&Effective> {
        self.senders().next()
    }

    /// What all ends that send had alike; `None` where they differ, or have nothing.
    pub fn alike<'a, T: PartialEq>(&'a self, of: fn(&'a Effective) -> Option<T>) -> Option<T> {
        let mut all = self.senders().map(of);
        let first = all.next()??;
        all.all(|other| other.as_ref() == Some(&first)).then_some(first)
    }

    /// Takes the interfaces of some ends away, of which nothing is to be said.
    pub fn forget_interfaces(&mut self, of: impl Fn(&EndSettings) -> bool) {
        for end in self.ends.iter_mut().filter(|end| of(end)) {
            end.effective.interface = None;
        }
    }

    /// Interfaces by which the flows of any end left.
    pub fn interfaces(&self) -> impl Iterator<Item = &str> {
        self.ends.iter().filter_map(|end| end.effective.interface.as_deref())
    }

    /// What each pair had, in the order of the trial's pairs.
    pub fn pairs(&self) -> Vec<PairSettings> {
        let none = std::iter::repeat(None);
        let senders = self.of_role(Role::Sender).map(Some).chain(none);
        senders.zip(self.of_role(Role::Receiver)).map(|(from, to)| pair(from, to)).collect()
    }
}

fn ends_of(trial: &Trial, record: &Record, role: Role) -> impl Iterator<Item = EndSettings> {
    // Of an imported run nobody knows where its ends were.
    let hosts: Vec<EndHost> = trial.ends_of(role).map(|end: &EndSpec| end.host).collect();
    let hosts = hosts.into_iter().chain(std::iter::repeat(EndHost::default()));
    let ends: Vec<Effective> = record.of(role).map(|end| end.effective.clone()).collect();
    hosts.zip(ends).map(move |(host, effective)| EndSettings { role, host, effective })
}

fn pair(from: Option<&EndSettings>, to: &EndSettings) -> PairSettings {
    let sends = from.unwrap_or(to);
    let receiver = to.effective.receiver.clone();
    PairSettings {
        from: sends.host,
        to: to.host,
        used: Effective { receiver, ..sends.effective.clone() },
        receive_buffer_bytes: to.effective.receive_buffer_bytes,
    }
}

impl From<SettingsInForce> for StoredSettings {
    fn from(settings: SettingsInForce) -> Self {
        let first = settings.pairs().into_iter().next();
        Self {
            sink_receive_buffer_bytes: first.as_ref().and_then(|pair| pair.receive_buffer_bytes),
            effective: first.map(|pair| pair.used).unwrap_or_default(),
            ends: settings.ends,
        }
    }
}

impl From<StoredSettings> for SettingsInForce {
    fn from(told: StoredSettings) -> Self {
        Self { ends: told.ends }
    }
}
