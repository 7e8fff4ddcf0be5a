//! What an end may run in beside its host itself.

use std::error::Error;
use std::fmt;
use std::str::FromStr;

/// A program that runs images.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tool {
    /// Docker's client; its daemon runs the container.
    Docker,
    /// podman, without a daemon.
    Podman,
}

impl Tool {
    /// Name of its program, which is also the word for it.
    pub fn program(self) -> &'static str {
        match self {
            Self::Docker => "docker",
            Self::Podman => "podman",
        }
    }

    fn named(word: &str) -> Option<Self> {
        [Self::Docker, Self::Podman].into_iter().find(|tool| tool.program() == word)
    }
}

/// What an end runs in. A user names it `podman:IMAGE`; files have it as it is printed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Container {
    /// bubblewrap: own mount, process and IPC namespaces, the host's files read-only, its network.
    Bwrap,
    /// An image, which must hold a C library no older than this program's.
    Image {
        tool: Tool,
        /// Name of the image.
        image: String,
        /// Network of the container as the tool names it, `host` for the host's own.
        network: String,
    },
}

/// A network of its own is asked for, and it has the host's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostsNetwork;

impl fmt::Display for HostsNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "bwrap has the host's network; an image has one of its own (podman:IMAGE, docker:IMAGE)",
        )
    }
}

impl Error for HostsNetwork {}

/// Network of a container that is told none.
const HOST: &str = "host";

impl Container {
    /// The same in another network; what has the host's in any case stays.
    #[must_use]
    pub fn in_network(self, network: &str) -> Self {
        match self {
            Self::Bwrap => Self::Bwrap,
            Self::Image { tool, image, .. } => {
                Self::Image { tool, image, network: network.to_owned() }
            }
        }
    }

    /// Whether it can be in a network: bubblewrap has the host's in any case.
    pub fn check_network(&self, network: &str) -> Result<(), HostsNetwork> {
        if *self == Self::Bwrap && network != HOST { Err(HostsNetwork) } else { Ok(()) }
    }

    /// The program that must be on the path.
    pub fn program(&self) -> &'static str {
        match self {
            Self::Bwrap => "bwrap",
            Self::Image { tool, .. } => tool.program(),
        }
    }

    /// Of a file's words, as they are printed.
    pub fn stored(words: &str) -> Option<Self> {
        if words == "bwrap" {
            return Some(Self::Bwrap);
        }
        let (tool, rest) = words.split_once(' ')?;
        let (image, network) = rest.split_once(", network ")?;
        Some(Self::Image {
            tool: Tool::named(tool)?,
            image: word(image)?.to_owned(),
            network: word(network)?.to_owned(),
        })
    }
}

/// A word that no program takes for an option.
fn word(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty() && !text.starts_with('-') && !text.contains(' '))
}

/// As files have it.
impl fmt::Display for Container {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bwrap => f.write_str("bwrap"),
            Self::Image { tool, image, network } => {
                write!(f, "{} {image}, network {network}", tool.program())
            }
        }
    }
}

/// Why a text names no container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoContainer(pub String);

impl fmt::Display for NoContainer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}' is not bwrap, podman:IMAGE or docker:IMAGE", self.0)
    }
}

impl Error for NoContainer {}

impl FromStr for Container {
    type Err = NoContainer;

    fn from_str(text: &str) -> Result<Self, NoContainer> {
        let image = || {
            let (tool, image) = text.split_once(':')?;
            let (tool, image) = (Tool::named(tool)?, word(image)?.to_owned());
            Some(Self::Image { tool, image, network: HOST.to_owned() })
        };
        match text {
            "bwrap" => Ok(Self::Bwrap),
            _ => image().ok_or_else(|| NoContainer(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn containers_are_named_and_read_back_from_files() {
        for (told, stored) in [
            ("bwrap", "bwrap"),
            ("podman:debian:12", "podman debian:12, network host"),
            ("docker:localhost/narrows", "docker localhost/narrows, network host"),
        ] {
            let container: Container = told.parse().expect("a container");
            assert_eq!(container.to_string(), stored);
            // Both begin with the program that must be on the path.
            assert_eq!(told.split(':').next(), Some(container.program()));
            assert_eq!(Container::stored(stored), Some(container));
        }
        for wrong in
            ["", "lxc:x", "podman", "podman:", "podman:--privileged", "bwrap:x", "docker:a b"]
        {
            assert!(wrong.parse::<Container>().is_err(), "{wrong}");
        }
        for wrong in ["podman", "podman x", "podman --privileged, network host", "sh x, network y"]
        {
            assert_eq!(Container::stored(wrong), None, "{wrong}");
        }
        let bridged = "podman:a".parse::<Container>().expect("a container").in_network("bridge");
        assert_eq!(bridged.to_string(), "podman a, network bridge");
    }
}
