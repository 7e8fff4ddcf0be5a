//! One job at a time that loads this host's memory: a lock that the kernel drops with its process.

use crate::HostError;
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use std::fs::File;
use std::path::Path;

/// What the locks lie on: anybody may read these, and nobody writes them. A network namespace has
/// a sysfs of its own, and a PID namespace a procfs.
const SHARED: [&str; 2] = ["/proc/cpuinfo", "/sys/devices/system/cpu"];

/// This process is the only one that measures memory jobs beside traffic, as far as those go that
/// see the same procfs or sysfs: a container with both of its own does not.
#[derive(Debug)]
pub struct Alone {
    _locks: Vec<Flock<File>>,
}

impl Alone {
    /// Takes the locks, or says that another has one. A host without those files has none to take.
    pub fn take() -> Result<Self, HostError> {
        Self::on(&SHARED.map(Path::new))
    }

    fn on(shared: &[&Path]) -> Result<Self, HostError> {
        let locks: Result<Vec<_>, _> = shared.iter().filter_map(|path| locked(path)).collect();
        locks.map(|_locks| Self { _locks })
    }
}

/// The lock on a file or folder; `None` where there is none, or its file system has no locks.
fn locked(path: &Path) -> Option<Result<Flock<File>, HostError>> {
    let file = File::open(path).ok()?;
    match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
        Ok(lock) => Some(Ok(lock)),
        Err((_, Errno::EWOULDBLOCK)) => Some(Err(HostError::Machine(
            "another narrows loads this host's memory: each would measure the other".to_owned(),
        ))),
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_is_told_and_the_next_one_is_not() {
        let made = std::env::temp_dir().join(format!("narrows-alone-{}", std::process::id()));
        let folders = [made.join("proc"), made.join("sys")];
        for folder in &folders {
            std::fs::create_dir_all(folder).expect("a folder");
        }
        let both = [folders[0].as_path(), folders[1].as_path()];
        let first = Alone::on(&both).expect("nobody else");
        // In a namespace that shares one of the two.
        for seen in [&both[..], &both[..1], &both[1..]] {
            let second = Alone::on(seen).map(drop).map_err(|why| why.to_string());
            assert!(second.is_err_and(|why| why.contains("loads this host's memory")));
        }
        drop(first);
        assert!(Alone::on(&both).is_ok_and(|alone| alone._locks.len() == 2));
        std::fs::remove_dir_all(&made).expect("what was made");
        assert!(Alone::on(&both).is_ok_and(|alone| alone._locks.is_empty()), "nothing to lock");
    }
}
