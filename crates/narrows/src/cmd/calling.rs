//! How agents are called: by which key, and those that ssh brings first.

use crate::cause::Cause;
use crate::cmd;
use crate::failure::Failure;
use narrows_control::key::Key;
use narrows_control::{Calling, wire};
use narrows_runner::launch::{self, Brought, Errand, SshError};
use std::path::Path;

/// Nothing is measured with an agent without its key.
fn no_key() -> Failure {
    Failure::of(Cause::NO_KEY, "no agent key is given")
}

/// The key of the agents of these hosts: the one that was given, or a new one where all of them are
/// brought by ssh.
pub fn key_for(hosts: &[String], given: Option<Key>) -> Result<Key, Failure> {
    match given {
        Some(key) => Ok(key),
        None if hosts.iter().all(|host| launch::is_ssh(host)) => Ok(Key::random()?),
        None => Err(no_key()),
    }
}

/// Brings agents to the hosts that are named `ssh:...`: all hosts by the names they are called by.
pub fn bring(hosts: &[String], calling: &Calling) -> Result<(Vec<String>, Vec<Brought>), Failure> {
    let binary = cmd::own_binary()?;
    let mut hosts = hosts.to_vec();
    let asked = hosts.clone();
    let errand = errand(&binary, calling, false);
    let brought = launch::bring(&mut hosts, &errand)?;
    let mut named = asked.iter().filter(|host| launch::is_ssh(host));
    brought.iter().for_each(|one| tell_port(named.next().map_or("", String::as_str), one));
    Ok((hosts, brought))
}

/// What agents are brought with. The port that all know may be another where it is taken; one that
/// was chosen is what a firewall lets pass.
fn errand<'a>(binary: &'a Path, calling: &'a Calling, meets: bool) -> Errand<'a> {
    let or_free = calling.port == wire::PORT;
    Errand { binary, key: &calling.key, port: calling.port, or_free, meets }
}

/// Says where an agent listens whose port was taken.
fn tell_port(host: &str, brought: &Brought) {
    if let Some(port) = brought.other_port() {
        note!("{host}: port {} is taken there: its agent listens on port {port}", wire::PORT);
    }
}

/// The names that hosts are called by, or why ssh did not bring one, and the agents that it
/// brought.
type Called = (Vec<Result<String, SshError>>, Vec<Brought>);

/// Brings agents that may exchange data with each other, each by itself.
pub fn bring_each(hosts: &[String], calling: &Calling) -> Result<Called, Failure> {
    let binary = cmd::own_binary()?;
    let errand = errand(&binary, calling, true);
    let (mut called, mut all) = (Vec::new(), Vec::new());
    for (host, one) in hosts.iter().zip(launch::bring_each(hosts, &errand)) {
        called.push(match one {
            Some(Ok(brought)) => {
                tell_port(host, &brought);
                let address = brought.address().to_owned();
                all.push(brought);
                Ok(address)
            }
            Some(Err(why)) => Err(why),
            None => Ok(host.clone()),
        });
    }
    Ok((called, all))
}
