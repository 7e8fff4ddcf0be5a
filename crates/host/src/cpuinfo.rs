//! Processors by `/proc/cpuinfo` alone, where a report holds no copy of sysfs.

use crate::Root;
use narrows_model::Fact;
use narrows_model::host::CpuPlace;
use std::collections::{BTreeMap, BTreeSet};
use thiserror::Error;

/// Why the list does not tell all processors.
#[derive(Debug, Error)]
enum BadList {
    #[error("no processor is listed")]
    Empty,
    #[error("'{0}' is not a CPU number")]
    Number(String),
    #[error("cut short: the last CPU lacks lines that the first has")]
    LastIsCut,
    #[error("cut short: {there} of {told} CPUs of a processor are listed")]
    Fewer { there: usize, told: usize },
}

const FILE: &str = "proc/cpuinfo";

/// One CPU as the file lists it, with what it says of its package.
#[derive(Clone, Copy)]
struct Listed {
    place: CpuPlace,
    /// CPUs of the package that are online.
    siblings: Option<usize>,
    /// Cores of the package.
    cores: Option<usize>,
}

/// The CPUs that the file lists; an error where a package has fewer than it says.
pub fn online(root: &Root) -> Fact<Vec<u32>> {
    root.text(FILE).and_then(|text| match listed(&text)? {
        all if all.is_empty() => Err(BadList::Empty),
        all => Ok(all.iter().map(|one| one.place.cpu).collect()),
    })
}

/// Package and core of each of them; a core only where their numbers are its own.
pub fn places(root: &Root) -> Vec<CpuPlace> {
    let text = root.text(FILE);
    let all = text.value().and_then(|text| listed(text).ok()).unwrap_or_default();
    let mut cores: BTreeMap<Option<u32>, BTreeSet<Option<u32>>> = BTreeMap::new();
    for one in &all {
        cores.entry(one.place.package).or_default().insert(one.place.core);
    }
    // Old kernels number the cores of each node of a package from 0.
    let is_unique = |one: &Listed| one.cores == cores.get(&one.place.package).map(BTreeSet::len);
    all.iter()
        .map(|one| if is_unique(one) { one.place } else { CpuPlace { core: None, ..one.place } })
        .collect()
}

fn listed(text: &str) -> Result<Vec<Listed>, BadList> {
    let mut all: Vec<Listed> = Vec::new();
    for (name, value) in text.lines().filter_map(|line| line.split_once(':')) {
        let number = value.trim().parse::<u32>().ok();
        if name.trim() == "processor" {
            let cpu = number.ok_or_else(|| BadList::Number(value.trim().to_owned()))?;
            let place = CpuPlace { cpu, ..CpuPlace::default() };
            all.push(Listed { place, siblings: None, cores: None });
        }
        let Some(last) = all.last_mut() else { continue };
        match name.trim() {
            "physical id" => last.place.package = number,
            "core id" => last.place.core = number,
            "siblings" => last.siblings = number.map(|number| number as usize),
            "cpu cores" => last.cores = number.map(|number| number as usize),
            _ => {}
        }
    }
    if all.iter().any(|one| one.siblings.is_some() != all[0].siblings.is_some()) {
        return Err(BadList::LastIsCut);
    }
    for one in &all {
        let there = all.iter().filter(|other| other.place.package == one.place.package).count();
        if let Some(told) = one.siblings.filter(|told| *told > there) {
            return Err(BadList::Fewer { there, told });
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Tree;

    fn root(text: &str) -> Root {
        let mut tree = Tree::default();
        tree.put(FILE, text.as_bytes().to_vec());
        Root::of_tree(tree)
    }

    /// CPUs of two processors with two cores of two threads each.
    fn two(of: usize) -> String {
        let cpu = |n: usize| {
            format!(
                "processor\t: {n}\nmodel name\t: X\nphysical id\t: {}\nsiblings\t: 4\n\
                 core id\t\t: {}\ncpu cores\t: 2\n\n",
                n / 2 % 2,
                n % 2
            )
        };
        (0..of).map(cpu).collect()
    }

    #[test]
    fn processors_are_read_from_the_list_alone() {
        let root = root(&two(8));
        let cpu = crate::cpu::read(&root, Fact::absent("x"));
        assert_eq!(cpu.online.value().map(Vec::len), Some(8));
        let cores: BTreeSet<_> = cpu.places.iter().map(|at| (at.package, at.core)).collect();
        assert_eq!(cores.len(), 4);
    }

    #[test]
    fn a_list_that_is_cut_short_is_no_smaller_host() {
        let online = online(&root(&two(6)));
        assert!(matches!(online, Fact::Malformed { .. }), "{online:?}");
        assert!(places(&root(&two(6))).is_empty());
        let text = two(8);
        let at = text.rfind("siblings").expect("the last CPU");
        let inside = super::online(&root(&text[..at]));
        assert!(matches!(inside, Fact::Malformed { .. }), "{inside:?}");
    }

    #[test]
    fn cores_whose_numbers_are_not_their_own_are_not_told() {
        let text = two(8).replace("cpu cores\t: 2", "cpu cores\t: 4");
        assert!(places(&root(&text)).iter().all(|place| place.core.is_none()));
    }
}
