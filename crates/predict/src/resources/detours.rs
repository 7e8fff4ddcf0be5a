//! What lengthens the way of a line that a device writes, beside memory's load: its address is
//! translated (IOMMU), or its memory is the other processor's.

use super::{Group, Parameter, of, parameter};
use crate::domains::Domains;
use crate::engine::Predictor;
use narrows_model::result::Provenance;

/// What a device waits for a translation that the IOMMU has not kept, in nanoseconds: reads of
/// 64 B took 777 ns on average from 64 MiB in pages of 4 KiB, and 488 without translation. A
/// device's writes were not timed.
const WALK_NS: f64 = 777.0 - 488.0;
const WALK_SOURCE: &str = "pcie-bench/data (SIGCOMM 2018), one Xeon E5-2630 v4: 777 ns a read with translation, 488 without";
/// Lines of a page, and of the packet of PCI Express (256 B) that comes first and waits for the
/// walk.
const PAGE_LINES: f64 = 64.0;
const PACKET_LINES: f64 = 4.0;

/// What a line takes more, in nanoseconds: most likely, at least and at most.
#[derive(Default)]
pub(super) struct Detours {
    pub ns: f64,
    pub least_ns: f64,
    pub most_ns: f64,
    pub with: Vec<Parameter>,
    /// `; addresses are translated`.
    pub says: String,
}

impl Predictor {
    /// Of lines to this group's memory. Where nobody knows of a translation there is none.
    pub(super) fn detours(&self, domains: &Domains, group: &Group) -> Detours {
        let mut all = Detours::default();
        if self.server.asked.iommu.as_ref().is_some_and(|iommu| iommu.is_on) {
            all.translated();
        }
        if group.work != group.socket {
            all.over_the_link(self, domains);
        }
        all
    }
}

impl Detours {
    /// Pages are walked once each, for the first packet into them; at least none is (all are kept),
    /// at most each line waits for a walk.
    fn translated(&mut self) {
        self.ns += WALK_NS * PACKET_LINES / PAGE_LINES;
        self.most_ns += WALK_NS;
        let source = Provenance::Measured(WALK_SOURCE.to_owned());
        self.with.push(of("walk of a page table", WALK_NS, "ns", &source));
        self.says += "; addresses are translated, one walk a page assumed";
    }

    /// The link takes as long as it takes a core's reads, which nobody has published of a device's
    /// writes: none to twice that.
    fn over_the_link(&mut self, engine: &Predictor, domains: &Domains) {
        let ratio = &engine.parameters.remote_over_local;
        let longer_ns = domains.core_read.unloaded_ns * (ratio.value - 1.0);
        self.ns += longer_ns;
        self.most_ns += 2.0 * longer_ns;
        self.with.push(parameter("the other processor's memory over the own", "x", ratio));
        self.says += "; the link between processors as long as for a core's reads, assumed";
    }
}
