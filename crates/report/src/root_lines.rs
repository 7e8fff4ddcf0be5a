//! What `narrows credits --from` tells of a study: how many lines devices had in flight in this
//! host's root complex, and whether that is all that it has.

use crate::table;
use narrows_dimm::platform;
use narrows_model::study::StoredStudy;
use narrows_predict::domains::{self, Domains};
use narrows_predict::root_lines::RootLines;
use narrows_stats::{LINE_BYTES, summarise};

/// Device writes that a study counted on this host; `None` where it counted none.
pub fn of(stored: &StoredStudy) -> Option<Told> {
    let lines = RootLines::of(stored, &summarise(stored))?;
    Some(Told { lines, published: domains::of(platform::of(&stored.host)) })
}

/// What is said of them.
pub struct Told {
    lines: RootLines,
    published: Option<&'static Domains>,
}

impl Told {
    /// How many lines, and what they carry.
    pub fn answer(&self) -> [String; 2] {
        let (lines, shortest_ns) = (&self.lines, self.lines.shortest_ns());
        let most = lines.most();
        let gbps = most * LINE_BYTES * 8.0 / shortest_ns;
        match lines.credits() {
            Some(credits) => [
                format!(
                    "a root complex has {most:.1} of its devices' writes in flight at most ({:.1} to \
                     {most:.1}), however long each takes: its credits, or what the NIC lets out",
                    credits.low
                ),
                format!(
                    "at {shortest_ns:.0} ns each, the shortest here, they carry {gbps:.0} Gb/s; 100 \
                     Gb/s need {:.0} ns or less",
                    most * LINE_BYTES * 8.0 / 100.0
                ),
            ],
            None => [
                format!(
                    "a root complex had at least {most:.1} of its devices' writes in flight: they did \
                     not stop at a number while each took longer"
                ),
                "load memory more (`narrows neighbours --cores`), or take a faster NIC".to_owned(),
            ],
        }
    }

    /// Each cell, and what else is to be known.
    pub fn text(&self) -> String {
        let head = ["cell", "ns a line", "lines in flight"].map(str::to_owned).to_vec();
        let cells = self.lines.cells().iter().map(|cell| {
            vec![cell.cell.clone(), format!("{:.0}", cell.line_ns), format!("{:.1}", cell.lines)]
        });
        let rows: Vec<Vec<String>> = [head].into_iter().chain(cells).collect();
        let table = table::lines(&rows, |column| column > 0);
        let published = match self.published {
            Some(of) => of.published(),
            None => "published for this processor's family: nothing".to_owned(),
        };
        let reads = "not told: device reads, whose lines are counted with the writes";
        format!("{}\n\n{table}{reads}\n{published}\n", self.answer().join("\n"))
    }

    /// The same for programs, without its schema's version.
    pub fn json(&self) -> serde_json::Value {
        serde_json::json!({
            "device_writes": {
                "credits": self.lines.credits(),
                "lines_most": self.lines.most(),
                "line_ns_least": self.lines.shortest_ns(),
                "cells": self.lines.cells(),
            },
            "published": self.published.map(|of| serde_json::json!({
                "family": of.family,
                "source": of.source,
                "device_write_credits": of.device_write.credits,
            })),
        })
    }
}
