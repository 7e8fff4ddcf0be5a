//! One job at a time that loads this host's memory: a lock that the kernel drops with its process.

use crate::HostError;
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use std::fs::File;
use std::path::Path;

/// What the lock lies on: each mount of sysfs has it, anybody may read it, and nobody writes it.
const MEMORY: &str = "/sys/devices/system/cpu";

/// This process is the only one that measures memory jobs beside traffic, as far as those go that
/// see the same sysfs: a container with one of its own does not.
#[derive(Debug)]
pub struct Alone {
    _lock: Option<Flock<File>>,
}

impl Alone {
    /// Takes the lock, or says that another has it. A host without that folder has none to take.
    pub fn take() -> Result<Self, HostError> {
        Self::on(Path::new(MEMORY))
    }

    fn on(folder: &Path) -> Result<Self, HostError> {
        let Ok(file) = File::open(folder) else { return Ok(Self { _lock: None }) };
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(lock) => Ok(Self { _lock: Some(lock) }),
            Err((_, Errno::EWOULDBLOCK)) => Err(HostError::Machine(
                "another narrows loads this host's memory: each would measure the other".to_owned(),
            )),
            // A file system without locks.
            Err(_) => Ok(Self { _lock: None }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_is_told_and_the_next_one_is_not() {
        let folder = std::env::temp_dir().join(format!("narrows-alone-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let first = Alone::on(&folder).expect("nobody else");
        let second = Alone::on(&folder).map(drop).map_err(|why| why.to_string());
        assert!(second.is_err_and(|why| why.contains("loads this host's memory")));
        drop(first);
        assert!(Alone::on(&folder).is_ok_and(|alone| alone._lock.is_some()));
        std::fs::remove_dir(&folder).expect("an empty folder");
        assert!(Alone::on(&folder).is_ok_and(|alone| alone._lock.is_none()), "nothing to lock");
    }
}
