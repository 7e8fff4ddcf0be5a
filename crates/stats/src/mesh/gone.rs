//! Hosts of a mesh that were not there when it began, or ended in its course: what the records of
//! their pairs say of them, so that no partner is held for one.

use narrows_model::Nanos;
use narrows_model::record::{Need, Outcome, Record};
use narrows_model::study::StoredStudy;
use narrows_model::trial::EndHost;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A run that is not begun is over sooner: its agent was missing before.
const BEGUN: Nanos = Nanos::from_millis(100);

/// A host that is not there, or no longer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Gone {
    /// Its place in the list of hosts that were named.
    pub host: usize,
    /// What its connection ended with.
    pub why: String,
    /// When that was seen, from the beginning of the mesh; `None` of one that never was there.
    pub after_ns: Option<Nanos>,
}

/// All of them, in order of their places. `ends` are the places of a trial's two hosts.
pub fn all(study: &StoredStudy, ends: impl Fn(&Record) -> Option<[usize; 2]>) -> Vec<Gone> {
    let mut gone: BTreeMap<usize, (Gone, bool)> = BTreeMap::new();
    for record in &study.records {
        let Some(ends) = ends(record) else { continue };
        let Outcome::Skipped { missing } = &record.outcome else { continue };
        for need in missing {
            let Need::Host { name, why } = need;
            let mut named = ends.into_iter();
            let named = named.find(|at| study.host_name(EndHost::Peer(*at as u32)) == *name);
            let Some(host) = named else { continue };
            gone.entry(host).or_insert_with(|| {
                Gone { host, why: why.clone(), after_ns: None }.seen_in(study, record)
            });
        }
    }
    let done = study.records.iter().filter(|record| record.outcome == Outcome::Done);
    let there: BTreeSet<usize> = done.filter_map(&ends).flatten().collect();
    let told = gone.into_values().map(|(gone, begun)| Gone {
        after_ns: gone.after_ns.filter(|_| begun || there.contains(&gone.host)),
        ..gone
    });
    told.collect()
}

impl Gone {
    /// Whether it was missing from the beginning.
    pub fn was_never_there(&self) -> bool {
        self.after_ns.is_none()
    }

    /// With the time that a run of it ended, and whether that run had begun.
    fn seen_in(self, study: &StoredStudy, record: &Record) -> (Self, bool) {
        let around = &record.around;
        let ended = around.began_unix_ns.0.saturating_add(around.took_ns.0);
        let after_ns = Some(Nanos(ended.saturating_sub(study.study.began_unix_ns.0)));
        (Self { after_ns, ..self }, around.took_ns >= BEGUN)
    }
}
