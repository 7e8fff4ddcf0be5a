//! How agents are called: by which key, and those that ssh brings first.

use crate::cause::Cause;
use crate::cmd;
use crate::failure::Failure;
use narrows_control::Calling;
use narrows_control::key::Key;
use narrows_runner::launch::{self, Brought, Errand};

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
    let errand = Errand { binary: &binary, key: &calling.key, port: calling.port };
    let brought = launch::bring(&mut hosts, &errand)?;
    Ok((hosts, brought))
}
