//! Two network namespaces with a wire between them: an agent in one, controllers in the other.

use super::{Served, folder, out, serve};
use narrows_hostctl::namespaces::Namespaces;
use std::process::Command;

/// An agent in one namespace, controllers in the other.
pub struct Bench {
    _namespaces: Namespaces,
    /// The word by which nsenter enters the controllers' namespace.
    pub here: String,
    /// The same of the agent's.
    pub there: String,
    /// Where the agent listens.
    pub address: String,
    pub agent: Served,
}

impl Bench {
    /// An agent that is told so much more.
    pub fn new(arguments: &[&str]) -> Self {
        Self::between(Namespaces::make().expect("namespaces"), arguments)
    }

    /// The same with a second wire that has no addresses: `q0` here, `q1` there, and `r1` there
    /// that leads nowhere else. `None` without ip(8).
    pub fn wired(arguments: &[&str]) -> Option<Self> {
        let namespaces = Namespaces::make().expect("namespaces");
        let here = format!("--net={}", namespaces.sender_path());
        let there = format!("--net={}", namespaces.receiver_path());
        let other = namespaces.receiver_path();
        Self::inside(&here, &format!("ip link add q0 type veth peer name q1 netns {other}"))?;
        Self::inside(&there, "ip link add r1 type veth peer name r0")?;
        Self::inside(&here, "ip link set q0 up")?;
        for link in ["q1", "r1", "r0"] {
            Self::inside(&there, &format!("ip link set {link} up"))?;
        }
        Some(Self::between(namespaces, arguments))
    }

    fn between(namespaces: Namespaces, arguments: &[&str]) -> Self {
        let there = format!("--net={}", namespaces.receiver_path());
        let here = format!("--net={}", namespaces.sender_path());
        let address = namespaces.receiver_address().to_string();
        let agent = serve(&["nsenter", &there], &[&["-B", &address], arguments].concat());
        Self { _namespaces: namespaces, here, there, address, agent }
    }

    /// What a line of words prints in a namespace; `None` where it fails.
    pub fn inside(place: &str, words: &str) -> Option<String> {
        let mut command = Command::new("nsenter");
        let output = command.arg(place).args(words.split_whitespace()).output().ok()?;
        output.status.success().then(|| out(&output))
    }

    /// The interface of a namespace.
    pub fn interface(place: &str) -> String {
        let all = Self::inside(place, "ip -o link").expect("ip");
        let mut names = all.lines().filter_map(|line| line.split(": ").nth(1)?.split('@').next());
        names.rfind(|name| *name != "lo").expect("an interface").to_owned()
    }

    /// A measurement with the agent, its results in a folder of its own.
    pub fn narrows(&self, kind: &str, words: &[&str]) -> Command {
        let mut command = Command::new("nsenter");
        command.args([&self.here, env!("CARGO_BIN_EXE_narrows"), kind, &self.address]);
        command.args(["-p", &self.agent.port.to_string()]).env("NARROWS_KEY", &self.agent.key);
        command.arg("--out").arg(folder(&format!("{kind}-{}", self.agent.port))).args(words);
        command
    }
}
