//! All that a server is asked about: rates of paths, then round trips.

use crate::reach::Reach;
use crate::round_trip::{TRIPS, Trip};
use crate::server::Server;
use crate::traffic::Traffic;

impl Server {
    /// What every path that is asked for should reach.
    pub fn reaches(&self) -> Vec<Reach> {
        let paths = Traffic::all(self.infiniband);
        let names: Vec<String> = paths.iter().map(|path| path.name()).collect();
        // `tcp` is a path's name and not the beginning of others; `rdma` is the beginning of many.
        let is = |name: &str, word: &String| match names.contains(word) {
            true => name == word,
            false => name.starts_with(word.as_str()),
        };
        let asked = |path: &Traffic| {
            let name = path.name();
            self.paths.is_empty() || self.paths.iter().any(|word| is(&name, word))
        };
        let reaches = paths.into_iter().filter(asked).filter_map(|path| self.reach(path));
        reaches.chain(self.trips()).collect()
    }

    /// Round trips that are asked for: each by its name, or all as `rr`.
    fn trips(&self) -> Vec<Reach> {
        let is = |trip: &&Trip| {
            let named = |word: &String| word == "rr" || *word == trip.name();
            let carried = !self.infiniband || **trip == Trip::Rdma;
            carried && (self.paths.is_empty() || self.paths.iter().any(named))
        };
        TRIPS.iter().filter(is).filter_map(|trip| self.round_trip(*trip)).collect()
    }
}
