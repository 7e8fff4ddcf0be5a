//! `narrows become`: another program in this process, in a network namespace, that ends with what
//! started it.

use super::launcher::HOPS;
use crate::args::BecomeArgs;
use crate::cause::Cause;
use crate::failure::Failure;
use narrows_hostctl::netns;
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::unistd::getppid;
use std::env;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The kernel's name of this host, of the namespace that this process is in.
const HOST_NAME: &str = "/proc/sys/kernel/hostname";

/// Becomes it; comes back with a failure only.
pub fn run(args: &BecomeArgs) -> Result<u8, Failure> {
    let mut command = if args.agent { on_host(&args.words)? } else { here(args)? };
    let error = command.exec();
    let says = format!("{}: {error}", command.get_program().to_string_lossy());
    Err(Failure::of(Cause::NO_MPI_LAUNCHER, says))
}

fn here(args: &BecomeArgs) -> Result<Command, Failure> {
    // It asks a launcher to end its ranks, which a kill would leave behind.
    with_parent(Signal::SIGTERM)?;
    let parent = getppid().as_raw().cast_unsigned();
    if args.parent.is_some_and(|named| named != parent) {
        return Err(Failure::of(Cause::STOPPED, "what started this has ended"));
    }
    let (program, words) = args.words.split_first().ok_or_else(nothing)?;
    let Some(net) = &args.net else {
        let mut command = Command::new(program);
        command.args(words);
        return Ok(command);
    };
    enter(net)?;
    let mut command = with_own_sys("exec \"$0\" \"$@\"");
    command.arg(program).args(words);
    Ok(command)
}

/// Goes into a network namespace, with mounts of its own.
fn enter(net: &str) -> Result<(), Failure> {
    netns::enter(net)?;
    unshare(CloneFlags::CLONE_NEWNS).map_err(|error| failed("mounts of its own", error.into()))
}

/// A shell that sees the devices of its network namespace under /sys, where UCX looks for them.
fn with_own_sys(then: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    let mounts = "mount --make-rprivate / && mount -t sysfs narrows /sys";
    command.arg("-c").arg(format!("{mounts} && {then}"));
    command
}

fn failed(doing: &str, error: std::io::Error) -> Failure {
    Failure::of(Cause::MACHINE, format!("{doing}: {error}"))
}

/// As ssh does: options, a host, and words for a shell there.
fn on_host(words: &[OsString]) -> Result<Command, Failure> {
    let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let at = words.iter().position(|word| !word.starts_with('-')).ok_or_else(nothing)?;
    let host = &words[at];
    let hops = env::var(HOPS).unwrap_or_default();
    let path = path_of(&hops, host).ok_or_else(|| {
        Failure::of(Cause::NO_NAMESPACE, format!("{HOPS} has no namespace for {host}"))
    })?;
    enter(path)?;
    // Launchers tell hosts apart by the names that they give themselves.
    let named = format!("narrows-{}", host.replace('.', "-"));
    unshare(CloneFlags::CLONE_NEWUTS)
        .map_err(std::io::Error::from)
        .and_then(|()| std::fs::write(HOST_NAME, named))
        .map_err(|error| failed("naming a host", error))?;
    with_parent(Signal::SIGKILL)?;
    Ok(with_own_sys(&words[at + 1..].join(" ")))
}

fn path_of<'a>(hops: &'a str, host: &str) -> Option<&'a str> {
    let mut pairs = hops.split(',').filter_map(|hop| hop.split_once('='));
    pairs.find(|(name, _)| *name == host).map(|(_, path)| path)
}

fn with_parent(signal: Signal) -> Result<(), Failure> {
    prctl::set_pdeathsig(signal).map_err(|error| failed("prctl", error.into()))
}

fn nothing() -> Failure {
    Failure::of(Cause::ORDER, "no program is named")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_found_by_its_whole_name() {
        let hops = "198.51.100.1=/proc/1/fd/3,198.51.100.2=/proc/1/fd/4";
        assert_eq!(path_of(hops, "198.51.100.2"), Some("/proc/1/fd/4"));
        assert_eq!(path_of(hops, "198.51.100"), None);
        assert_eq!(path_of("", "a"), None);
    }
}
