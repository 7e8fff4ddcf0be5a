//! Where a change of settings was made: a network namespace of one boot of a machine.

use crate::HostError;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::os::unix::fs::MetadataExt;

/// The network namespace of this thread, as the kernel names it.
const NAMESPACE: &str = "/proc/thread-self/ns/net";
/// The id that the kernel draws at each boot.
const BOOT: &str = "/proc/sys/kernel/random/boot_id";

/// A network namespace, which has settings of its own, and the boot that it lives in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// Inode of the namespace.
    pub namespace: u64,
    /// Id of the boot.
    pub boot: String,
}

impl Origin {
    /// That of this thread, now.
    pub fn here() -> Result<Self, HostError> {
        let failed = |what: &str, error| HostError::Machine(format!("{what}: {error}"));
        let namespace = std::fs::metadata(NAMESPACE).map_err(|error| failed(NAMESPACE, error))?;
        let boot = std::fs::read_to_string(BOOT).map_err(|error| failed(BOOT, error))?;
        Ok(Self { namespace: namespace.ino(), boot: boot.trim().to_owned() })
    }

    /// Whether a change made there may be undone here.
    pub fn check(made: Option<&Self>, what: &str) -> Result<(), HostError> {
        let here = Self::here()?;
        match made {
            Some(made) if *made == here => Ok(()),
            Some(made) if made.boot != here.boot => Err(HostError::Elsewhere(format!(
                "{what} was written before this boot; its settings are gone with that boot"
            ))),
            Some(made) => Err(HostError::Elsewhere(format!(
                "{what} was written in {made}, and this is {here}: nothing is put back here"
            ))),
            None => Err(HostError::Elsewhere(format!(
                "{what} does not say in which network namespace it was written"
            ))),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "network namespace net:[{}]", self.namespace)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_undone_in_its_own_namespace_and_boot_alone() {
        let here = Origin::here().expect("this thread's");
        let link = std::fs::read_link("/proc/thread-self/ns/net").expect("a link");
        assert_eq!(format!("network namespace {}", link.display()), here.to_string());
        assert_eq!(here.boot.len(), 36, "{}", here.boot);
        assert!(Origin::check(Some(&here), "it").is_ok());
        let there = Origin { namespace: here.namespace + 1, ..here.clone() };
        let before = Origin { boot: "another".into(), ..here.clone() };
        for (made, says) in [
            (Some(&there), format!("it was written in {there}, and this is {here}: nothing is")),
            (Some(&before), "it was written before this boot".to_owned()),
            (None, "it does not say in which network namespace".to_owned()),
        ] {
            let why = Origin::check(made, "it").expect_err("elsewhere").to_string();
            assert!(why.starts_with(&says), "{why}");
        }
    }
}
