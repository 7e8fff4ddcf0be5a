//! By which interfaces a host reaches its peers.

use crate::trial::EndHost;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Interfaces of the host that narrows ran on which lead to its peers. Files have the first that is
/// known by itself, as narrows 0.1 wrote it, and the list where there are several peers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "Stored", into = "Stored")]
pub struct Interfaces {
    /// In order of the peers; `None` where it is not known.
    to: Vec<Option<String>>,
}

#[derive(Clone, Serialize, Deserialize, JsonSchema)]
struct Stored {
    interface: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    interfaces: Vec<Option<String>>,
}

impl Interfaces {
    /// Of one way only: to the only peer, or between two ends of this host.
    pub fn one(interface: Option<String>) -> Self {
        Self { to: interface.map(Some).into_iter().collect() }
    }

    /// The interface that leads to a host's ends; `None` where it is not known, and to the host
    /// that narrows ran on.
    pub fn to(&self, host: EndHost) -> Option<&str> {
        let EndHost::Peer(at) = host else { return None };
        self.to.get(at as usize)?.as_deref()
    }

    /// The one that leads to the first peer of which that is known.
    pub fn first(&self) -> Option<&str> {
        self.to.iter().flatten().next().map(String::as_str)
    }

    /// Whether an interface leads to any of the peers.
    pub fn has(&self, name: &str) -> bool {
        self.to.iter().flatten().any(|interface| interface == name)
    }
}

impl FromIterator<Option<String>> for Interfaces {
    /// In order of the peers.
    fn from_iter<I: IntoIterator<Item = Option<String>>>(to: I) -> Self {
        let to: Vec<Option<String>> = to.into_iter().collect();
        Self { to: if to.iter().any(Option::is_some) { to } else { Vec::new() } }
    }
}

impl From<Stored> for Interfaces {
    fn from(stored: Stored) -> Self {
        if stored.interfaces.is_empty() {
            Self::one(stored.interface)
        } else {
            Self { to: stored.interfaces }
        }
    }
}

impl From<Interfaces> for Stored {
    fn from(of: Interfaces) -> Self {
        let interface = of.first().map(str::to_owned);
        let is_told_by_one = Interfaces::one(interface.clone()) == of;
        Self { interface, interfaces: if is_told_by_one { Vec::new() } else { of.to } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(of: &Interfaces) -> String {
        serde_json::to_string(of).unwrap()
    }

    #[test]
    fn files_of_older_versions_tell_the_first_and_no_other() {
        let old: Interfaces = serde_json::from_str(r#"{"interface":"eth0"}"#).unwrap();
        assert_eq!(old.to(EndHost::Peer(0)), Some("eth0"));
        assert_eq!((old.to(EndHost::Peer(1)), old.to(EndHost::Controller)), (None, None));
        assert_eq!(stored(&old), r#"{"interface":"eth0"}"#);
        let unknown: Interfaces = serde_json::from_str(r#"{"interface":null}"#).unwrap();
        assert_eq!((&unknown, unknown.first()), (&Interfaces::default(), None));
        assert_eq!([None, None].into_iter().collect::<Interfaces>(), unknown);
    }

    #[test]
    fn each_peer_has_its_own_and_older_versions_still_find_the_first() {
        let of: Interfaces =
            [None, Some("eth1".to_owned()), Some("eth0".to_owned())].into_iter().collect();
        let text = stored(&of);
        assert_eq!(text, r#"{"interface":"eth1","interfaces":[null,"eth1","eth0"]}"#);
        assert_eq!(serde_json::from_str::<Interfaces>(&text).unwrap(), of);
        assert_eq!(of.to(EndHost::Peer(0)), None);
        assert_eq!(of.to(EndHost::Peer(2)), Some("eth0"));
        assert!(of.has("eth0") && of.has("eth1") && !of.has("lo"));
    }
}
