//! All that a server is asked about: rates of paths, then round trips.

use crate::engine::Predictor;
use crate::reach::Reach;
use crate::round_trip::{TRIPS, Trip};
use crate::traffic::Traffic;

impl Predictor {
    /// What every path that is asked for should reach.
    pub fn reaches(&self) -> Vec<Reach> {
        let paths = Traffic::all(self.server.infiniband);
        let names: Vec<String> = paths.iter().map(|path| path.name()).collect();
        // `tcp` is a path's name and not the beginning of others; `rdma` is the beginning of many.
        let is = |name: &str, word: &String| {
            if names.contains(word) { name == word } else { name.starts_with(word.as_str()) }
        };
        let reaches = paths
            .into_iter()
            .filter(|path| {
                let name = path.name();
                self.server.paths.is_empty() || self.server.paths.iter().any(|word| is(&name, word))
            })
            .filter_map(|path| self.reach(path));
        reaches.chain(self.trips()).collect()
    }

    /// Round trips that are asked for: each by its name, or all as `rr`.
    fn trips(&self) -> Vec<Reach> {
        TRIPS
            .iter()
            .filter(|trip| {
                let carried = !self.server.infiniband || **trip == Trip::Rdma;
                carried
                    && (self.server.paths.is_empty()
                        || self
                            .server
                            .paths
                            .iter()
                            .any(|word| word == "rr" || *word == trip.name()))
            })
            .filter_map(|trip| self.round_trip(*trip))
            .collect()
    }
}
