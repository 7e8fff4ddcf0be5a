//! Workers inside a container, for comparisons of the same work inside and outside.

use crate::child;
use crate::sampling::Leave;
use narrows_model::Bytes;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::str::FromStr;
use thiserror::Error;

/// How many peers libfabric is to expect.
const FABRIC_PEERS: &str = "FI_UNIVERSE_SIZE";

/// What a worker runs in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Container {
    /// bubblewrap: own mount, process and IPC namespaces, the host's files read-only, its network.
    Bwrap,
    /// An image of podman, which must hold a C library no older than this program's.
    Podman {
        /// Name of the image.
        image: String,
        /// Network of the container, `host` for the host's own.
        network: String,
    },
}

/// Why a text names no container: it is not `bwrap`, nor `podman:` and an image.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("'{0}' is not bwrap and not podman:IMAGE")]
pub struct NoContainer(pub String);

impl FromStr for Container {
    type Err = NoContainer;

    fn from_str(text: &str) -> Result<Self, NoContainer> {
        match text.split_once(':') {
            None if text == "bwrap" => Ok(Self::Bwrap),
            Some(("podman", image)) if !image.is_empty() && !image.starts_with('-') => {
                Ok(Self::Podman { image: image.to_owned(), network: "host".to_owned() })
            }
            _ => Err(NoContainer(text.to_owned())),
        }
    }
}

/// How workers are started.
#[derive(Clone, Debug)]
pub struct Launcher {
    /// This program.
    pub binary: PathBuf,
    /// What the controller's end of a network trial runs in; `None` is this host itself.
    pub inside: Option<Container>,
    /// Most memory for what a worker is ordered to make; `None` sets no limit.
    pub memory_bytes: Option<Bytes>,
    /// Whether a worker keeps only the system calls of loads: those of an agent do.
    pub confined: bool,
    /// Leave to sample that an agent's owner gives to its workers.
    pub leave: Option<Leave>,
}

impl Launcher {
    /// Starts workers on this host itself.
    pub fn plain(binary: PathBuf) -> Self {
        Self { binary, inside: None, memory_bytes: None, confined: false, leave: None }
    }

    /// The same without a container.
    pub fn outside(&self) -> Self {
        Self::plain(self.binary.clone())
    }

    /// The command of a worker, which speaks over its standard input and output.
    pub fn command(&self) -> Command {
        match &self.inside {
            None => {
                let mut command = worker(&self.binary);
                if self.confined {
                    child::confine(&mut command);
                }
                if let Some(leave) = &self.leave {
                    leave.give(&mut command);
                }
                if let Some(most) = self.memory_bytes {
                    child::hold(&mut command, most);
                }
                command
            }
            Some(Container::Bwrap) => {
                let mut command = child::command("bwrap");
                command.args(["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]);
                command.args(["--unshare-ipc", "--unshare-pid"]);
                command.args(["--unshare-uts", "--die-with-parent", "--"]);
                command.arg(&self.binary).arg("worker");
                command
            }
            Some(Container::Podman { image, network }) => {
                let mut command = child::command("podman");
                command.args(["run", "--rm", "-i", "--network", network, "-v"]);
                command.arg(format!("{}:/narrows:ro", self.binary.display()));
                command.args([image.as_str(), "/narrows", "worker"]);
                command
            }
        }
    }
}

fn worker(binary: &Path) -> Command {
    let mut command = child::command(binary);
    command.arg("worker");
    // libfabric makes queues for 256 peers unless told how many there are, and no device has to
    // have room for so many completions (rxe has not). An endpoint of ours has one.
    if std::env::var_os(FABRIC_PEERS).is_none() {
        command.env(FABRIC_PEERS, "4");
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn containers_are_named_and_nothing_else_is_run() {
        assert_eq!("bwrap".parse(), Ok(Container::Bwrap));
        let Ok(Container::Podman { image, .. }) = "podman:debian:12".parse() else { panic!() };
        assert_eq!(image, "debian:12");
        for wrong in ["", "docker:x", "podman", "podman:", "podman:--privileged", "bwrap:x"] {
            assert!(wrong.parse::<Container>().is_err(), "{wrong}");
        }
    }
}
