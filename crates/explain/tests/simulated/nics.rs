//! NICs that drop with room on the wire, in the slot and on the CPUs, and those that look like it.

use super::Noise;
use super::causes::{Cause, read, receivers, senders};
use narrows_model::load::EndReport;
use narrows_model::study::StoredStudy;

/// What a card counts that keeps up: next to nothing.
pub fn keep_up(end: &mut EndReport) {
    read(end, "nic", "e0.waits:outbound_pci_buffer_overflow_packets", 0);
    read(end, "nic", "e0.full:rx_prio3_discards_packets", 4);
    read(end, "nic", "e0.ring:rx_out_of_buffer_packets", 4);
}

/// The peer is a machine like this one, whose card had 40 Gb/s of its 100.
pub fn half_full(study: &mut StoredStudy, noise: &mut Noise) {
    study.peer_hosts = vec![study.host.clone()];
    receivers(study, |end| {
        read(end, "interface", "e0.rx_bytes", noise.about(5e9));
        read(end, "interface", "e0.rx_packets", noise.about(560_000.0));
    });
}

/// A driver that counts drops for want of room towards memory.
pub const WAITS: Cause = Cause {
    name: "a receiver whose NIC waits for memory",
    rules: &["host-congestion"],
    plant: |study, noise| {
        half_full(study, noise);
        receivers(study, |end| {
            let lost = noise.about(9_000.0);
            read(end, "nic", "e0.waits:outbound_pci_buffer_overflow_packets", lost);
        });
    },
};

/// A driver that counts full buffers, and no reason.
pub const FULL: Cause = Cause {
    name: "a receiver's NIC that drops without saying why",
    rules: &["host-congestion"],
    plant: |study, noise| {
        half_full(study, noise);
        receivers(study, |end| {
            read(end, "nic", "e0.full:rx_prio3_discards_packets", noise.about(9_000.0));
        });
    },
};

/// Descriptors that came too late.
pub const LATE: Cause = Cause {
    name: "a receiver's CPU that posts buffers late",
    rules: &[],
    plant: |study, noise| {
        half_full(study, noise);
        receivers(study, |end| {
            read(end, "nic", "e0.full:rx_prio3_discards_packets", noise.about(9_000.0));
            read(end, "nic", "e0.ring:rx_out_of_buffer_packets", noise.about(9_000.0));
        });
    },
};

/// What the sender's own NIC counts, where data comes in at the other end.
pub const SENDER: Cause = Cause {
    name: "a sender's NIC that waits for memory",
    rules: &[],
    plant: |study, noise| {
        half_full(study, noise);
        senders(study, |end| {
            let lost = noise.about(9_000.0);
            read(end, "nic", "e0.waits:outbound_pci_buffer_overflow_packets", lost);
        });
    },
};
