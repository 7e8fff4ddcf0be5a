//! `narrows listener`: the part of an agent that speaks with strangers, started by `narrows serve`.

use crate::failure::Failure;
use narrows_control::agent::{self, Event};
use narrows_control::{ControlError, MachineError};
use std::io::{stdin, stdout};
use std::os::fd::{AsFd, OwnedFd};

/// Serves until the process that started it ends. Standard input is the socketpair to that process,
/// standard output the socket that it listens on: all that it is given.
pub fn run() -> Result<u8, Failure> {
    let starter = own(stdin().as_fd().try_clone_to_owned())?;
    let listening = own(stdout().as_fd().try_clone_to_owned())?;
    agent::serve_as_child(starter.into(), listening.into(), |event| match event {
        Event::Session(from) => note!("{}: a controller with the key", from),
        Event::TurnedAway(why) => note!("turned away: {}", why),
        Event::Dropped(from) => note!("dropped to make room: {}", from),
        Event::Ended(from) => note!("{}: done", from),
        Event::LeftOut { kind, count } => note!("and {count} {kind}, not listed"),
    })?;
    Ok(0)
}

fn own(copied: std::io::Result<OwnedFd>) -> Result<OwnedFd, ControlError> {
    copied.map_err(|error| MachineError::Socket(error).into())
}
