//! A network namespace that is there already: of `ip netns`, of a container's process, or a path.

use crate::HostError;
use nix::sched::{CloneFlags, setns};
use std::fs::File;
use std::io::ErrorKind;
use std::path::PathBuf;

/// Where `ip netns` keeps its names.
const NAMED: &str = "/run/netns";

/// The file of a namespace: a path as it is, a number as a process, else a name of `ip netns`.
fn file(name: &str) -> PathBuf {
    match name {
        path if path.contains('/') => PathBuf::from(path),
        pid if pid.parse::<u32>().is_ok() => PathBuf::from(format!("/proc/{pid}/ns/net")),
        name => PathBuf::from(NAMED).join(name),
    }
}

/// Takes the calling thread, and all that it starts from here on, into the namespace.
pub fn enter(name: &str) -> Result<(), HostError> {
    let path = file(name);
    let failed = |error: std::io::Error| {
        let says = format!("entering the network namespace {name} ({}): {error}", path.display());
        match error.kind() {
            ErrorKind::NotFound => HostError::NoNamespace(says),
            _ => HostError::Machine(says),
        }
    };
    let opened = File::open(&path).map_err(failed)?;
    setns(opened, CloneFlags::CLONE_NEWNET).map_err(|error| failed(error.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::namespaces::Namespaces;
    use crate::origin::Origin;
    use std::os::unix::fs::MetadataExt;
    use std::thread;

    #[test]
    fn names_processes_and_paths_are_told_apart() {
        assert_eq!(file("blue"), PathBuf::from("/run/netns/blue"));
        assert_eq!(file("42"), PathBuf::from("/proc/42/ns/net"));
        assert_eq!(file("/proc/1/fd/3"), PathBuf::from("/proc/1/fd/3"));
        let none = enter("no-such-namespace").expect_err("none");
        assert!(matches!(none, HostError::NoNamespace(_)), "{none}");
        let says =
            "entering the network namespace no-such-namespace (/run/netns/no-such-namespace)";
        assert!(none.to_string().starts_with(says), "{none}");
        assert!(matches!(enter("/dev/null"), Err(HostError::Machine(_))), "it is no namespace");
    }

    #[test]
    fn a_thread_that_enters_is_in_the_namespace_and_others_are_not() {
        let Ok(pair) = Namespaces::make() else {
            eprintln!("skipped: a_thread_that_enters: needs root for network namespaces");
            return;
        };
        let own = Origin::here().expect("own");
        let there = pair.receiver_path();
        let inode = std::fs::metadata(&there).expect("a namespace").ino();
        let entered = thread::spawn(move || {
            enter(&there)?;
            Origin::here()
        });
        let entered = entered.join().expect("a thread").expect("entered");
        assert_eq!((entered.namespace, &entered.boot), (inode, &own.boot));
        assert_ne!(inode, own.namespace);
        assert_eq!(Origin::here().expect("own"), own);
    }
}
