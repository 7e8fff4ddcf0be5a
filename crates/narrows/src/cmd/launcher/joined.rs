//! Two network namespaces that a launcher takes for hosts: a launcher reaches others by a program
//! like ssh, and here that is narrows itself.

use crate::cause::Cause;
use crate::cmd::own_binary;
use crate::failure::Failure;
use crate::output;
use narrows_hostctl::namespaces::{ALIKE, Namespaces};
use std::fs;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The variable that has the namespaces by address: `ADDRESS=FILE`, with commas between.
pub const HOPS: &str = "NARROWS_HOPS";

/// Two namespaces, and the program that enters them; both go with it.
pub struct Joined {
    /// The two hosts, joined by a veth pair.
    pub pair: Namespaces,
    folder: PathBuf,
    agent: String,
    first: String,
}

impl Joined {
    /// Name of the interface that joins them, at both ends.
    pub const INTERFACE: &'static str = ALIKE;

    /// Makes both. Needs root.
    pub fn make() -> Result<Self, Failure> {
        let pair = Namespaces::alike()?;
        let folder = output::passing_folder("hosts");
        let agent = folder.join("agent");
        script(&folder, &agent, &own_binary()?).map_err(|error| {
            Failure::of(Cause::UNWRITABLE, format!("{}: {error}", agent.display()))
        })?;
        let [(_, first), _] = pair.hosts();
        Ok(Self { pair, agent: agent.display().to_string(), folder, first })
    }

    /// A path by which the first can be entered.
    pub fn first(&self) -> &str {
        &self.first
    }

    /// An address of each host, in the order of ranks.
    pub fn addresses(&self) -> Vec<String> {
        self.pair.hosts().iter().map(|(address, _)| address.to_string()).collect()
    }

    /// What a launcher calls to reach a host.
    pub fn agent(&self) -> &str {
        &self.agent
    }

    /// The value of [`HOPS`].
    pub fn hops(&self) -> String {
        let each = self.pair.hosts().map(|(address, path)| format!("{address}={path}"));
        each.join(",")
    }
}

impl Drop for Joined {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Launchers take one word that they split at blanks, or one file: hence a file without words.
fn script(folder: &Path, agent: &Path, own: &Path) -> std::io::Result<()> {
    // Made by nobody else, and entered by nobody else.
    fs::DirBuilder::new().mode(0o700).create(folder)?;
    let quoted = own.display().to_string().replace('\'', r"'\''");
    fs::write(agent, format!("#!/bin/sh\nexec '{quoted}' become --agent -- \"$@\"\n"))?;
    fs::set_permissions(agent, PermissionsExt::from_mode(0o700))
}
