//! Giving up root for good, but for what loads need.

use crate::RunError;
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

/// Becomes `user` for good: no capability but those that children need, none of them in effect
/// here, an empty bounding set, and no new privileges by any program. Gives back a path
/// by which children can still start `binary`, however deep in root's folders it lies.
///
/// Does nothing for a process that is not root: `None`.
pub fn drop_root(user: &str, binary: &Path) -> Result<Option<PathBuf>, RunError> {
    if !geteuid().is_root() {
        return Ok(None);
    }
    let failed =
        |what: &str, why: String| RunError::Machine(format!("giving up root: {what}: {why}"));
    let file = File::open(binary).map_err(|e| failed("own program file", e.to_string()))?;
    let mode = file.metadata().map_err(|e| failed("own program file", e.to_string()))?;
    if mode.permissions().mode() & 0o001 == 0 {
        return Err(failed("own program file", "others may not run it".to_owned()));
    }
    let (uid, gid) = ids(user)?;
    // Memory that a NIC reads and writes is locked (RDMA). What may not be raised stays.
    let all = nix::sys::resource::RLIM_INFINITY;
    let _ = nix::sys::resource::setrlimit(Resource::RLIMIT_MEMLOCK, all, all);
    let held = caps::read(None, CapSet::Permitted).map_err(|e| failed("reading", e.to_string()))?;
    let kept: CapsHashSet = KEPT.into_iter().filter(|cap| held.contains(cap)).collect();
    let os = |what: &'static str| move |e: nix::Error| failed(what, e.to_string());
    // Before the bounding set goes: nothing outside of it can become inheritable.
    caps::set(None, CapSet::Inheritable, &kept)
        .map_err(|e| failed("capabilities", e.to_string()))?;
    // While it may still be done: nothing that is started can have more than is kept.
    for cap in caps::all() {
        if caps::has_cap(None, CapSet::Bounding, cap).unwrap_or(false) {
            let dropped = caps::drop(None, CapSet::Bounding, cap);
            dropped.map_err(|e| failed("bounding set", e.to_string()))?;
        }
    }
    prctl::set_keepcaps(true).map_err(os("keeping capabilities"))?;
    setgroups(&[]).map_err(os("groups"))?;
    setresgid(gid, gid, gid).map_err(os("group"))?;
    setresuid(uid, uid, uid).map_err(os("user"))?;
    for set in [CapSet::Effective, CapSet::Permitted] {
        caps::set(None, set, &kept).map_err(|e| failed("capabilities", e.to_string()))?;
    }
    caps::set(None, CapSet::Ambient, &kept).map_err(|e| failed("capabilities", e.to_string()))?;
    // The part that parses what peers say does without: children get theirs from the ambient set.
    caps::clear(None, CapSet::Effective).map_err(|e| failed("capabilities", e.to_string()))?;
    prctl::set_no_new_privs().map_err(os("no new privileges"))?;
    // Without it the own /proc entries, by which children are started, belong to root.
    prctl::set_dumpable(true).map_err(os("own /proc entries"))?;
    let number = file.as_raw_fd();
    // Held open as long as the process lives; children find it by number before they replace
    // themselves.
    let _ = file.into_raw_fd();
    Ok(Some(PathBuf::from(format!("/proc/self/fd/{number}"))))
}

fn ids(user: &str) -> Result<(Uid, Gid), RunError> {
    let unknown = || RunError::Order(format!("there is no user {user}"));
    let found = User::from_name(user).ok().flatten().ok_or_else(unknown)?;
    let group = Group::from_gid(found.gid).ok().flatten();
    Ok((found.uid, group.map_or(found.gid, |group| group.gid)))
}
