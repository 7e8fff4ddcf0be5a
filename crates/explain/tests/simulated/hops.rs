//! What is planted into the next hop and the routers behind it.

use super::causes::{Cause, read, senders};
use narrows_model::load::NextHop;

/// Causes of the way from hop to hop.
pub const CAUSES: &[Cause] = &[
    Cause {
        name: "a neighbour that does not answer for a while",
        rules: &["neighbour-changed"],
        plant: |study, noise| {
            senders(study, |end| {
                let lost = 1 + u32::from(noise.share() < 0.5);
                let hop = NextHop { is_router: false, addresses: 1, changes: 0, lost };
                end.next_hop = Some(hop);
            });
        },
    },
    Cause {
        name: "packets without a hop left",
        rules: &["hops-exceeded", "tcp-retransmits"],
        plant: |study, noise| {
            senders(study, |end| {
                read(end, "netstat", "Icmp.InTimeExcds_events", noise.about(4.0));
                read(end, "tcp-info", "flow0.retransmitted_segments", noise.about(11_000.0));
                read(end, "netstat", "TcpExt.TCPSackRecovery_events", noise.about(9_000.0));
            });
        },
    },
];
