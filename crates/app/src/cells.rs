//! Cells of a study: every place, fabric and MTU with every number of ranks.

use crate::definition::{Definition, Place};

/// Level of a factor that a cell does not have: one rank uses no fabric.
pub const NONE: &str = "none";

/// What is run and repeated: a place, a fabric and an MTU with a number of ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppCell {
    /// Number of its place in the study.
    pub place: usize,
    /// Its fabric; none of one rank.
    pub fabric: Option<String>,
    /// MTU of the veth pair, in bytes, where the place has any.
    pub mtu: Option<u32>,
    /// Ranks, over all hosts.
    pub ranks: u32,
}

impl AppCell {
    /// Its factors with their levels.
    pub fn levels(&self, definition: &Definition) -> [(&'static str, String); 4] {
        let none = || NONE.to_owned();
        let place = definition.places.get(self.place).map_or_else(none, |at| at.name.clone());
        let mtu = self.mtu.map_or_else(none, |mtu| mtu.to_string());
        [
            (PLACE, place),
            (FABRIC, self.fabric.clone().unwrap_or_else(none)),
            (MTU, mtu),
            (RANKS, self.ranks.to_string()),
        ]
    }

    /// The same fabric with another number of ranks.
    pub fn with_ranks(&self, ranks: u32) -> Self {
        Self { ranks, ..self.clone() }
    }
}

/// The factor of places.
pub const PLACE: &str = "place";
/// The factor of fabrics.
pub const FABRIC: &str = "fabric";
/// The factor of MTUs.
pub const MTU: &str = "MTU";
/// The factor of ranks.
pub const RANKS: &str = "ranks";

/// Note of a cell: the hosts of its place; none is this host.
pub const HOSTS: &str = "hosts";

/// All cells, in the order of the file. One rank talks to nobody: it is one cell for each set of
/// hosts, at the first place that has it, since others' hosts may be faster.
pub fn cells(definition: &Definition) -> Vec<AppCell> {
    let mut cells = Vec::new();
    if definition.ranks.contains(&1) {
        let mut sets: Vec<&[String]> = Vec::new();
        for (place, at) in definition.places.iter().enumerate() {
            if !sets.contains(&at.hosts.as_slice()) {
                sets.push(&at.hosts);
                cells.push(AppCell { place, fabric: None, mtu: None, ranks: 1 });
            }
        }
    }
    for curve in curves(definition) {
        let many = definition.ranks.iter().filter(|ranks| **ranks > 1);
        cells.extend(many.map(|ranks| curve.with_ranks(*ranks)));
    }
    cells
}

/// A cell of each place, fabric and MTU, with two ranks.
pub fn curves(definition: &Definition) -> Vec<AppCell> {
    let places = definition.places.iter().enumerate();
    places.flat_map(|(place, at)| of_place(place, at)).collect()
}

fn of_place(place: usize, at: &Place) -> Vec<AppCell> {
    let one = vec![None];
    let mtus = if at.mtu.is_empty() { one } else { at.mtu.iter().copied().map(Some).collect() };
    let fabrics = at.fabrics.iter();
    let cell = |fabric: &String, mtu: &Option<u32>| AppCell {
        place,
        fabric: Some(fabric.clone()),
        mtu: *mtu,
        ranks: 2,
    };
    fabrics.flat_map(|fabric| mtus.iter().map(move |mtu| cell(fabric, mtu))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_set_of_hosts_has_a_run_of_one_rank() {
        let place = |name: &str, more: &str| {
            format!("[[place]]\nname = '{name}'\nfabrics = ['tcp:eth0']\n{more}\n")
        };
        let text = "name = 'a'\ncommand = ['a']\nranks = [1, 2]\nrepeats = 6\n[figure]\n\
                    regex = '(.*)'\nunit = 's'\n"
            .to_owned()
            + &place("here", "")
            + &place("again", "")
            + &place("old", "hosts = ['o[1-2]']")
            + &place("new", "hosts = ['n1', 'n2']");
        let definition = Definition::parse(&text).expect("a study");
        let alone = |cell: &&AppCell| cell.ranks == 1;
        let at: Vec<usize> =
            cells(&definition).iter().filter(alone).map(|cell| cell.place).collect();
        assert_eq!(at, [0, 2, 3]);
    }

    #[test]
    fn every_place_fabric_and_mtu_has_a_cell_of_each_number_of_ranks() {
        let text = "name = 'a'\ncommand = ['a']\nranks = [1, 2, 4]\nrepeats = 6\n[figure]\n\
                    regex = '(.*)'\nunit = 's'\n[[place]]\nname = 'pair'\n\
                    fabrics = ['tcp:e', 'shm']\nnamespaces = true\nmtu = [1500, 9000]\n\
                    [[place]]\nname = 'here'\nfabrics = ['shm']\n";
        let definition = Definition::parse(text).expect("a study");
        let told: Vec<String> = cells(&definition)
            .iter()
            .map(|cell| {
                cell.levels(&definition).map(|(factor, at)| format!("{factor} {at}")).join(", ")
            })
            .collect();
        let all = [
            "place pair, fabric none, MTU none, ranks 1",
            "place pair, fabric tcp:e, MTU 1500, ranks 2",
            "place pair, fabric tcp:e, MTU 1500, ranks 4",
            "place pair, fabric tcp:e, MTU 9000, ranks 2",
            "place pair, fabric tcp:e, MTU 9000, ranks 4",
            "place pair, fabric shm, MTU 1500, ranks 2",
            "place pair, fabric shm, MTU 1500, ranks 4",
            "place pair, fabric shm, MTU 9000, ranks 2",
            "place pair, fabric shm, MTU 9000, ranks 4",
            "place here, fabric shm, MTU none, ranks 2",
            "place here, fabric shm, MTU none, ranks 4",
        ];
        assert_eq!(told, all);
        assert!(curves(&definition).iter().all(|curve| curve.ranks == 2));
        assert_eq!(curves(&definition).len(), 5);
    }
}
