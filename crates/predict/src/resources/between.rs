//! `inter-socket`: the links between two processors, where work is on another than the NIC.

use super::{Gap, Stated, of, resource};
use crate::engine::Engine;
use crate::traffic::Traffic;
use narrows_model::result::Provenance;

/// Share of a link between sockets that payload reaches (measured on one node with two links), and
/// bytes a transfer.
const SOCKET_LINK_SHARE: f64 = 0.825;
const SOCKET_LINK_BYTES: f64 = 2.0;

impl Engine {
    pub(super) fn between(&self, traffic: Traffic) -> Stated {
        let Some((links, gts, from)) = &self.server.socket_links else {
            return Err(Gap::new("between the processors", "sockets.links=3x10.4"));
        };
        let gbps = links * gts * SOCKET_LINK_BYTES * 8.0 * SOCKET_LINK_SHARE;
        let says = format!("{links} links of 2 B at {gts} GT/s, of which {SOCKET_LINK_SHARE}");
        // A copy may cross once more than the device's own access does.
        let low = if traffic.is_kernel() { 0.42 } else { 0.85 };
        let measured = Provenance::Fitted("one Cascade Lake node with two links".to_owned());
        let share = of("payload share", SOCKET_LINK_SHARE, "share", &measured);
        let with = vec![of("links", *links, "", from), of("rate", *gts, "GT/s", from), share];
        Ok(resource("inter-socket", gbps, (low, 1.1), says).with(with))
    }
}
