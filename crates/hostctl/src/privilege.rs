//! Giving up root for good, but for what loads need.

use crate::HostError;
use caps::{CapSet, Capability, CapsHashSet};
use nix::sys::prctl;
use nix::sys::resource::Resource;
use nix::unistd::{Gid, Group, Uid, User, geteuid, setgroups, setresgid, setresuid};
use std::fs::File;
use std::os::fd::{AsRawFd, IntoRawFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// What workers get: buffers by force, any congestion control, busy polling.
const KEPT: [Capability; 1] = [Capability::CAP_NET_ADMIN];
/// What they get besides where the owner lets them sample where CPU time goes (Linux 5.8).
const KEPT_TO_SAMPLE: Capability = Capability::CAP_PERFMON;
/// What they get besides where the owner lends interfaces for raw frames: packet sockets, and
/// programs before an interface (Linux 5.8).
const KEPT_FOR_FRAMES: [Capability; 2] = [Capability::CAP_NET_RAW, Capability::CAP_BPF];

/// What an agent's owner lends that takes more than ordinary loads need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lends {
    /// Samples of where CPU time goes.
    pub samples: bool,
    /// Interfaces for raw frames.
    pub frames: bool,
}

/// Becomes `user` for good: no capability but those that workers need, none of them in effect
/// here, an empty bounding set, and no new privileges by any program. Gives back a path
/// by which children can still start `binary`, however deep in root's folders it lies.
///
/// Does nothing for a process that is not root: `None`.
pub fn drop_root(user: &str, binary: &Path, lends: Lends) -> Result<Option<PathBuf>, HostError> {
    if !geteuid().is_root() {
        return Ok(None);
    }
    let file = File::open(binary).map_err(failed("own program file"))?;
    let mode = file.metadata().map_err(failed("own program file"))?;
    if mode.permissions().mode() & 0o001 == 0 {
        return Err(failed("own program file")("others may not run it"));
    }
    let ids = ids(user)?;
    // Memory that a NIC reads and writes is locked (RDMA). What may not be raised stays.
    let all = nix::sys::resource::RLIM_INFINITY;
    let _ = nix::sys::resource::setrlimit(Resource::RLIMIT_MEMLOCK, all, all);
    let held = caps::read(None, CapSet::Permitted).map_err(failed("reading"))?;
    let frames = KEPT_FOR_FRAMES.into_iter().filter(|_| lends.frames);
    let wanted = KEPT.into_iter().chain(lends.samples.then_some(KEPT_TO_SAMPLE)).chain(frames);
    let kept: CapsHashSet = wanted.filter(|cap| held.contains(cap)).collect();
    // Before the bounding set goes: nothing outside of it can become inheritable.
    caps::set(None, CapSet::Inheritable, &kept).map_err(failed("capabilities"))?;
    empty_bounding_set()?;
    prctl::set_keepcaps(true).map_err(failed("keeping capabilities"))?;
    become_user(ids)?;
    for set in [CapSet::Effective, CapSet::Permitted] {
        caps::set(None, set, &kept).map_err(failed("capabilities"))?;
    }
    caps::set(None, CapSet::Ambient, &kept).map_err(failed("capabilities"))?;
    // What starts workers does without: they get theirs from the ambient set.
    caps::clear(None, CapSet::Effective).map_err(failed("capabilities"))?;
    prctl::set_no_new_privs().map_err(failed("no new privileges"))?;
    // Without it the own /proc entries, by which children are started, belong to root.
    prctl::set_dumpable(true).map_err(failed("own /proc entries"))?;
    let number = file.as_raw_fd();
    // Held open as long as the process lives; children find it by number before they replace
    // themselves.
    let _ = file.into_raw_fd();
    Ok(Some(PathBuf::from(format!("/proc/self/fd/{number}"))))
}

/// Becomes `user` for good where this process is root, and gives up every capability: what is left
/// can start nothing that has more.
pub fn drop_root_and_all(user: &str) -> Result<(), HostError> {
    if geteuid().is_root() {
        let ids = ids(user)?;
        empty_bounding_set()?;
        become_user(ids)?;
    }
    drop_all()
}

/// Gives up every capability for good, and new privileges by any program.
pub fn drop_all() -> Result<(), HostError> {
    empty_bounding_set()?;
    for set in [CapSet::Ambient, CapSet::Inheritable, CapSet::Effective, CapSet::Permitted] {
        caps::clear(None, set).map_err(failed("capabilities"))?;
    }
    prctl::set_no_new_privs().map_err(failed("no new privileges"))
}

/// Nothing that is started from now on can have more than this process has. Needs CAP_SETPCAP:
/// without it the set stays, and no new privileges is what holds.
fn empty_bounding_set() -> Result<(), HostError> {
    if !caps::has_cap(None, CapSet::Effective, Capability::CAP_SETPCAP).unwrap_or(false) {
        return Ok(());
    }
    for cap in caps::all() {
        if caps::has_cap(None, CapSet::Bounding, cap).unwrap_or(false) {
            caps::drop(None, CapSet::Bounding, cap).map_err(failed("bounding set"))?;
        }
    }
    Ok(())
}

fn become_user((uid, gid): (Uid, Gid)) -> Result<(), HostError> {
    setgroups(&[]).map_err(failed("groups"))?;
    setresgid(gid, gid, gid).map_err(failed("group"))?;
    setresuid(uid, uid, uid).map_err(failed("user"))
}

fn failed<E: std::fmt::Display>(what: &'static str) -> impl Fn(E) -> HostError {
    move |why| HostError::Machine(format!("giving up root: {what}: {why}"))
}

fn ids(user: &str) -> Result<(Uid, Gid), HostError> {
    let found =
        User::from_name(user).ok().flatten().ok_or_else(|| HostError::NoUser(user.to_owned()))?;
    let group = Group::from_gid(found.gid).ok().flatten();
    Ok((found.uid, group.map_or(found.gid, |group| group.gid)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::{self, Folder};
    use nix::sys::resource::{RLIM_INFINITY, getrlimit};
    use std::process::Command;

    const NONE: &str = "0000000000000000";

    fn status() -> String {
        let text = std::fs::read_to_string("/proc/thread-self/status").expect("own status");
        let lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
        lines.map(|line| line + "\n").collect()
    }

    /// Not a test: a process that gives up what it has, and says what is left.
    #[test]
    fn part() {
        let Some(part) = scratch::part() else { return };
        let own = std::env::current_exe().expect("own program");
        if geteuid().is_root() {
            setgroups(&[0, 4].map(Gid::from_raw)).expect("groups to give up");
        }
        match part.as_str() {
            "workers" | "samplers" | "framers" => {
                let lends = Lends { samples: part == "samplers", frames: part == "framers" };
                let binary = drop_root("nobody", &own, lends).expect("dropped");
                let binary = binary.expect("as root");
                let ran = Command::new(binary).arg("--list").output().expect("others can run it");
                assert!(ran.status.success(), "{ran:?}");
                let most = getrlimit(Resource::RLIMIT_MEMLOCK).expect("a limit");
                println!("locked {}", most == (RLIM_INFINITY, RLIM_INFINITY));
            }
            "talker" => drop_root_and_all("nobody").expect("dropped"),
            "listener" => drop_all().expect("dropped"),
            other => panic!("{other}"),
        }
        print!("{}", status());
    }

    #[test]
    fn what_is_left_is_what_each_process_needs() {
        let user = User::from_name("nobody").ok().flatten().expect("every system has one");
        let root = geteuid().is_root();
        let held = caps::read(None, CapSet::Permitted).expect("own capabilities");
        let mask = |all: &[Capability]| {
            let bits = all.iter().filter(|cap| held.contains(cap)).map(|cap| 1u64 << cap.index());
            format!("{:016x}", bits.sum::<u64>())
        };
        let one = mask(&[Capability::CAP_NET_ADMIN]);
        let two = mask(&[Capability::CAP_NET_ADMIN, Capability::CAP_PERFMON]);
        let three =
            mask(&[Capability::CAP_NET_ADMIN, Capability::CAP_NET_RAW, Capability::CAP_BPF]);
        let ids = |uid: u32, gid: u32| {
            format!("Uid: {uid} {uid} {uid} {uid}\nGid: {gid} {gid} {gid} {gid}\n")
        };
        let nobody = ids(user.uid.as_raw(), user.gid.as_raw());
        for (part, kept, effective, becomes) in [
            ("workers", one.as_str(), NONE, Some(&nobody)),
            ("samplers", &two, NONE, Some(&nobody)),
            ("framers", &three, NONE, Some(&nobody)),
            ("talker", NONE, NONE, Some(&nobody)),
            ("listener", NONE, NONE, None),
        ] {
            if part != "listener" && !root {
                eprintln!(
                    "skipped: what_is_left_is_what_each_process_needs: needs root, to give it up"
                );
                continue;
            }
            let said = scratch::said(&mut scratch::itself("privilege::tests::part", part));
            let sets = [("Inh", kept), ("Prm", kept), ("Eff", effective), ("Amb", kept)];
            let mut lines = sets.map(|(set, has)| format!("Cap{set}: {has}\n")).to_vec();
            lines.push("NoNewPrivs: 1\n".to_owned());
            if root {
                // To empty the bounding set is a right of its own.
                lines.push(format!("CapBnd: {NONE}\n"));
            }
            if let Some(becomes) = becomes {
                lines.extend([becomes.clone(), "Groups:\n".to_owned()]);
            }
            let may_raise = held.contains(&Capability::CAP_SYS_RESOURCE);
            if may_raise && ["workers", "samplers", "framers"].contains(&part) {
                lines.push("locked true\n".to_owned());
            }
            for line in lines {
                assert!(said.contains(&line), "{part}: {line}{said}");
            }
        }
    }

    #[test]
    fn who_cannot_be_started_again_stays_root_and_others_have_nothing_to_give_up() {
        assert!(
            matches!(ids("no-such-user"), Err(HostError::NoUser(name)) if name == "no-such-user")
        );
        let folder = Folder::new("privilege");
        let program = folder.script("program", "true");
        std::fs::set_permissions(&program, PermissionsExt::from_mode(0o750)).expect("closed");
        let came = drop_root("nobody", &program, Lends::default());
        if geteuid().is_root() {
            let why = came.expect_err("others may not run it").to_string();
            assert_eq!(why, "giving up root: own program file: others may not run it");
            assert!(geteuid().is_root());
        } else {
            assert_eq!(came.expect("nothing to do"), None);
        }
    }
}
