//! What cells run on: the launcher, the namespaces, fabrics as settings of the library.

use crate::args::AppArgs;
use crate::cause::Cause;
use crate::cmd::launcher::{Joined, Launcher, Start, hosts, own_cores};
use crate::failure::Failure;
use narrows_app::cells::AppCell;
use narrows_app::definition::{Definition, Place};
use narrows_hostctl::namespaces::MTU_BYTES;
use narrows_mpi::fabric::Fabric;
use std::collections::BTreeMap;
use std::process::Command;
use std::sync::atomic::AtomicBool;

/// Offloads by which a veth pair carries segments longer than its MTU.
const SEGMENTATION: [&str; 2] = ["tso", "gso"];

/// All that the runs of a study need.
pub struct Rig<'a> {
    /// What the study asks for.
    pub definition: &'a Definition,
    /// The launcher that there is.
    pub launcher: Launcher,
    more: &'a [String],
    /// Hosts of each place.
    hosts: Vec<Vec<String>>,
    fabrics: BTreeMap<String, Fabric>,
    version: String,
    joined: Option<Joined>,
}

impl<'a> Rig<'a> {
    /// Looks for all of it before anything is run.
    pub fn build(
        args: &'a AppArgs,
        definition: &'a Definition,
        stop: &AtomicBool,
    ) -> Result<Self, Failure> {
        let mut fabrics = BTreeMap::new();
        for name in definition.places.iter().flat_map(|place| &place.fabrics) {
            let fabric = name.parse::<Fabric>();
            let fabric = fabric.map_err(|why| Failure::of(Cause::APP_STUDY, why.to_string()))?;
            fabrics.insert(name.clone(), fabric);
        }
        let of_places = definition.places.iter().map(|place| hosts(&place.hosts));
        let launcher = Launcher::find(args.launcher.as_deref(), stop)?;
        let loaded = narrows_mpi::load(launcher.library().as_deref(), Some(launcher.flavour))?;
        let with_pair = definition.places.iter().any(|place| place.namespaces);
        Ok(Self {
            definition,
            hosts: of_places.collect::<Result<_, _>>()?,
            fabrics,
            version: loaded.version,
            more: &args.launcher_arg,
            joined: with_pair.then(Joined::make).transpose()?,
            launcher,
        })
    }

    fn place(&self, cell: &AppCell) -> Result<&Place, Failure> {
        let place = self.definition.places.get(cell.place);
        place.ok_or_else(|| Failure::of(Cause::APP_STUDY, "a cell has no place"))
    }

    fn hosts(&self, cell: &AppCell) -> &[String] {
        self.hosts.get(cell.place).map_or(&[], Vec::as_slice)
    }

    /// Whether some of a cell's ranks are on this host, by the names that its place has.
    pub fn has_ranks_here(&self, cell: &AppCell) -> bool {
        let own = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        is_among(own.trim(), self.hosts(cell))
    }

    /// The namespaces, of a cell that has them.
    fn joined(&self, cell: &AppCell) -> Option<&Joined> {
        let is_there = self.definition.places.get(cell.place).is_some_and(|at| at.namespaces);
        self.joined.as_ref().filter(|_| is_there && cell.ranks > 1)
    }

    /// Whether a host has more ranks than cores.
    pub fn is_oversubscribed(&self, cell: &AppCell) -> bool {
        let hosts = self.hosts(cell).len();
        let place = self.definition.places.get(cell.place);
        match (hosts, place.and_then(|place| place.cpus_per_host)) {
            // The namespaces are of one kernel.
            (0, None) => cell.ranks as usize > own_cores(),
            (0, Some(cpus)) => cell.ranks > cpus,
            (_, None) => false,
            (hosts, Some(cpus)) => (cell.ranks as usize).div_ceil(hosts) > cpus as usize,
        }
    }

    /// Whether ranks are held to cores: not where two hosts are one kernel, whose ranks would be
    /// held to the same.
    fn is_bound(&self, cell: &AppCell) -> bool {
        self.joined(cell).is_none() && !self.is_oversubscribed(cell)
    }

    /// Makes the veth pair what the cell says.
    fn set(&self, cell: &AppCell) -> Result<(), Failure> {
        let Some(joined) = self.joined(cell) else { return Ok(()) };
        let place = self.place(cell)?;
        joined.pair.set_mtu(cell.mtu.unwrap_or(MTU_BYTES))?;
        for feature in SEGMENTATION {
            joined.pair.set_offload(feature, place.segmentation.unwrap_or(true))?;
        }
        Ok(joined.pair.set_congestion(place.congestion.as_deref())?)
    }

    /// A command that starts the cell's ranks over its fabric; the program follows.
    pub fn command(&self, cell: &AppCell) -> Result<Command, Failure> {
        self.set(cell)?;
        let fabric = cell.fabric.as_ref().and_then(|name| self.fabrics.get(name));
        let variables = fabric
            .map_or_else(
                || Ok(Vec::new()),
                |fabric| fabric.variables(self.launcher.flavour, &self.version),
            )
            .map_err(|why| Failure::of(Cause::MPI_FABRIC, why.to_string()))?;
        let taken =
            variables.iter().find(|(name, _)| self.definition.environment.contains_key(*name));
        if let Some((name, _)) = taken {
            let says = format!("environment: {name} is what chooses the fabric");
            return Err(Failure::of(Cause::APP_STUDY, says));
        }
        let own = self.definition.environment.keys().map(String::as_str);
        let passed: Vec<&str> = variables.iter().map(|(name, _)| *name).chain(own).collect();
        let mut command = self.launcher.command(&Start {
            ranks: cell.ranks,
            hosts: self.hosts(cell),
            joined: self.joined(cell),
            bind: self.is_bound(cell),
            passed: &passed,
            more: self.more,
        })?;
        command.envs(variables.iter().map(|(name, value)| (*name, value.as_str())));
        command.envs(&self.definition.environment);
        Ok(command)
    }

    /// The cell for people.
    pub fn name(&self, cell: &AppCell) -> String {
        name(self.definition, cell)
    }
}

/// Whether a host is one of these, by name without its domain; none are this host alone.
fn is_among(own: &str, hosts: &[String]) -> bool {
    let label = |name: &'_ str| name.split('.').next().unwrap_or_default().to_lowercase();
    let is_own = |host: &String| host == "localhost" || label(host) == label(own);
    hosts.is_empty() || hosts.iter().any(is_own)
}

/// A cell of a study for people.
pub fn name(definition: &Definition, cell: &AppCell) -> String {
    let [(_, place), (_, fabric), (mtu, bytes), (ranks, number)] = cell.levels(definition);
    let mtu = cell.mtu.map_or_else(String::new, |_| format!(", {mtu} {bytes}"));
    format!("{number} {ranks}, {fabric}, {place}{mtu}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_here_where_a_place_names_this_host_or_none() {
        let hosts =
            |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        for (names, here) in [
            (&[][..], true),
            (&["n2", "n1"], true),
            (&["N1.example.org"], true),
            (&["localhost"], true),
            (&["n11", "n2"], false),
        ] {
            assert_eq!(is_among("n1", &hosts(names)), here, "{names:?}");
        }
    }
}
