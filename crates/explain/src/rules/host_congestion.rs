//! `host-congestion`: do the receiver's NIC's writes wait inside its host?
//!
//! Beside cores that load memory, without a cache that takes devices' writes, behind small packets
//! of PCI Express or an IOMMU, a line that a NIC writes takes so long that its credits run out, and
//! packets pile up in its buffer until it drops them or asks the other end to wait, with room on
//! the wire, in the slot and on the CPUs (hostCC, SIGCOMM 2023; Understanding the Host Network,
//! SIGCOMM 2024). A driver that counts drops for want of room towards memory makes it likely; a
//! full buffer or pause frames make it possible. Where no descriptor was posted the CPU was late,
//! and that is no case of this rule.

use crate::inside::{Inside, Testimony, testimony};
use crate::measured::{self, Blind, Cell, Look, Looked, finding};
use crate::{Case, Rule};
use narrows_model::host::Host;
use narrows_model::result::{Needed, Verdict, Weight};
use narrows_model::trial::NetworkPath;

pub static RULE: Rule = Rule {
    name: "host-congestion",
    asks: "Do the receiver's NIC's writes to memory wait inside its host?",
    of_host: false,
    judge,
};

fn judge(case: &Case<'_>) -> Verdict {
    measured::judge(case, Needed::NicWitnesses, None, look)
}

/// Whether it finds it in a cell, and likely.
pub fn is_likely(cell: &Cell<'_>) -> bool {
    let is_found = matches!(look(cell), Ok(Look::Found(_)));
    is_found
        && testimony(cell).is_ok_and(|told| matches!(told.of, Inside::Waits { is_likely: true }))
}

/// Whether a cell is a stream that another host received.
pub fn is_asked_of(cell: &Cell<'_>) -> bool {
    let kind = &cell.trial.kind;
    let is_stream = cell.is_network_stream() || (kind.is_rdma() && cell.rates().is_some());
    is_stream && cell.trial.path == NetworkPath::Peer && !cell.is_probe()
}

fn look(cell: &Cell<'_>) -> Looked {
    if !is_asked_of(cell) {
        return Err(Blind::OtherKind);
    }
    let told = testimony(cell)?;
    let says = match told.of {
        Inside::Waits { is_likely } => says(cell, &told, is_likely),
        Inside::Cpu | Inside::Wire | Inside::Slot | Inside::Limit => {
            return cell.saw(format!("{}: {}", told.seen, whose(told.of)), None);
        }
        Inside::Kept => return cell.saw(told.seen, None),
    };
    let host = cell.receiver().map(|end| end.host);
    let remedy = host.map_or_else(|| remedy(&Host::default(), &told), |host| remedy(host, &told));
    let wrong = finding(&RULE, cell, Weight::Advice, says, told.seen.clone(), &remedy);
    cell.saw(told.seen, Some(wrong))
}

/// Whose case it is where it is not this rule's.
fn whose(of: Inside) -> &'static str {
    match of {
        Inside::Cpu => "a CPU was late or full, and not memory",
        Inside::Wire => "the wire is full",
        Inside::Slot => "the slot is full",
        Inside::Limit => "a provider's limit",
        Inside::Kept | Inside::Waits { .. } => "",
    }
}

fn says(cell: &Cell<'_>, told: &Testimony, is_likely: bool) -> String {
    let (sure, more, waits) = if is_likely {
        ("Likely", "", "its writes to memory wait")
    } else {
        let slow = ", or the NIC itself is slow: its driver does not tell";
        ("Possibly", slow, "its writes to memory may be waiting")
    };
    format!(
        "{sure} the inside of the receiver's host holds {} back{more}: its NIC {} had no room for \
         what came ({}), with wire, slot and CPUs not full; {waits}",
        cell.trial.label, told.nic, told.by
    )
}

/// What to do, what is known to be well left out.
fn remedy(host: &Host, told: &Testimony) -> String {
    let nic = host.nic(&told.nic);
    let node = nic.and_then(|nic| nic.node.value());
    let node = node.map_or("the NIC's node".to_owned(), |node| format!("node {node}, the NIC's"));
    let mut parts = vec![
        format!("take work that loads memory off {node}, its memory too"),
        "let the cache take the NIC's writes (DDIO on, in firmware)".to_owned(),
        "modules in every channel".to_owned(),
    ];
    let hops = nic.map_or(&[][..], |nic| nic.path.as_slice());
    let express: Vec<_> = hops.iter().filter_map(|hop| hop.express.value()).collect();
    let most = express.iter().map(|one| one.max_payload_supported_bytes.0).min();
    let set = express.iter().map(|one| one.max_payload_bytes.0).min();
    if let Some((set, most)) = set.zip(most).filter(|(set, most)| set < most) {
        parts.push(format!("PCIe payload of {most} B in place of {set} (pci=pcie_bus_perf)"));
    }
    if express.last().is_some_and(|one| !one.relaxed_ordering) {
        parts.push("relaxed ordering on".to_owned());
    }
    let iommu = host.tuning.get("iommu").and_then(|fact| fact.value());
    if iommu.is_some_and(|groups| groups.contains("DMA")) {
        parts.push("the IOMMU in passthrough (iommu=pt)".to_owned());
    }
    format!(
        "at the receiver: {}; longer rings do not help. `narrows neighbours HOST` beside memory \
         work, and `narrows credits` there, confirm it",
        parts.join("; ")
    )
}

#[cfg(test)]
mod tests {
    //! A NIC of 100 Gb/s whose host takes half of that, and everything that looks like it.

    use super::*;
    use crate::measured::testing::{of_study, read, read_receiver, stream};
    use crate::regime::{Part, regimes};
    use crate::setting::testing::{is_clear, is_found, is_unknown};
    use narrows_model::host::{Express, Nic, PciHop, PciLink};
    use narrows_model::load::Role;
    use narrows_model::study::StoredStudy;
    use narrows_model::{BitsPerSecond, Bytes, Fact};

    const OVERFLOW: &str = "e0.waits:outbound_pci_buffer_overflow_packets";
    const DISCARDS: &str = "e0.full:rx_prio3_discards_packets";
    const RING: &str = "e0.ring:rx_out_of_buffer_packets";

    /// A card of 100 Gb/s in a slot of so many lanes of 8 GT/s.
    fn card(lanes: u32) -> Nic {
        let link = PciLink { speed_gts: 8.0, width: lanes, speed_max_gts: 8.0, width_max: 16 };
        let express = Express {
            max_payload_bytes: Bytes(256),
            max_payload_supported_bytes: Bytes(512),
            relaxed_ordering: true,
            ..Express::default()
        };
        let hop = |address: &str| PciHop {
            address: address.into(),
            link: Fact::known(link, "made"),
            express: Fact::known(express, "made"),
            ..PciHop::default()
        };
        Nic {
            name: "e0".into(),
            physical: true,
            speed_bps: Fact::known(BitsPerSecond(100e9), "made"),
            node: Fact::known(1, "made"),
            path: vec![hop("0000:80:00.0"), hop("0000:81:00.0")],
            ..Nic::default()
        }
    }

    /// Runs of a second in which 6 GB came in 600,000 packets, with these counts at the receiver.
    fn study(lanes: u32, counts: &[(&str, u64)]) -> StoredStudy {
        let mut study = stream("tcp-stream");
        let mut host = Host { nics: vec![card(lanes)], ..Host::default() };
        host.tuning.insert("iommu".into(), Fact::known("DMA for 40 groups".into(), "made"));
        study.peer_hosts = vec![host];
        for end in study.records.iter_mut().flat_map(|run| &mut run.reports) {
            end.report.effective.interface = Some("e0".into());
        }
        read_receiver(&mut study, "interface", "e0.rx_bytes", 6_000_000_000);
        read_receiver(&mut study, "interface", "e0.rx_packets", 600_000);
        counts.iter().for_each(|(key, count)| read_receiver(&mut study, "nic", key, *count));
        study
    }

    fn says(study: &StoredStudy) -> String {
        let verdict = of_study(&RULE, study);
        let Verdict::Found { findings } = verdict else { panic!("{verdict:?}") };
        findings[0].says.clone()
    }

    fn part(study: &StoredStudy) -> Part {
        let summaries = narrows_stats::summarise(study);
        let all = regimes(&Case { study, summaries: &summaries, predictions: &[] });
        assert_eq!(all.len(), 1, "{all:?}");
        all[0].part
    }

    #[test]
    fn drops_for_want_of_room_towards_memory_make_it_likely() {
        let of = study(16, &[(OVERFLOW, 6_000), (RING, 0)]);
        let told = says(&of);
        assert!(told.starts_with("Likely the inside of the receiver's host"), "{told}");
        assert!(told.contains("6000 packets a run (outbound_pci_buffer_overflow)"), "{told}");
        assert_eq!(part(&of), Part::DeviceWrites);
        let Verdict::Found { findings } = of_study(&RULE, &of) else { unreachable!() };
        let [finding] = &findings[..] else { panic!("{findings:?}") };
        // 6 GB and 600,000 times 24 B a second, a hundredth more with what was dropped.
        let seen = &finding.evidence[0].says;
        assert!(seen.contains("the wire carried 49 % of its rate"), "{seen}");
        for part in ["off node 1", "DDIO", "payload of 512 B in place of 256", "iommu=pt"] {
            assert!(finding.remedy.contains(part), "{part}: {}", finding.remedy);
        }
        assert!(!finding.remedy.contains("relaxed ordering"), "it is on: {}", finding.remedy);
    }

    #[test]
    fn a_full_buffer_or_pause_make_it_possible_and_stalls_likely() {
        let full = study(16, &[(DISCARDS, 3_000), ("e0.full:rx_prio0_discards_packets", 40)]);
        let told = says(&full);
        assert!(told.starts_with("Possibly") && told.contains("3040 packets a run"), "{told}");
        assert_eq!(part(&full), Part::PerhapsDeviceWrites);
        let stalled = "e0.waits:stalled_writes_percent";
        assert!(says(&study(16, &[(DISCARDS, 3_000), (stalled, 29)])).starts_with("Possibly"));
        assert!(says(&study(16, &[(DISCARDS, 3_000), (stalled, 30)])).starts_with("Likely"));
        let mut asks = study(16, &[]);
        read_receiver(&mut asks, "pause", "e0.sent:tx_prio3_pause_frames", 5_000);
        assert!(says(&asks).contains("5000 pause frames a second sent"), "{}", says(&asks));
    }

    #[test]
    fn what_the_sender_counted_or_another_interface_is_not_the_receivers() {
        let healthy = study(16, &[(OVERFLOW, 0), (DISCARDS, 0), (RING, 0)]);
        assert!(is_clear(&of_study(&RULE, &healthy)));
        let mut swapped = healthy.clone();
        read(&mut swapped, "nic", OVERFLOW, 6_000);
        assert!(is_clear(&of_study(&RULE, &swapped)));
        let other =
            study(16, &[(OVERFLOW, 0), ("e1.waits:outbound_pci_buffer_overflow_packets", 6_000)]);
        assert!(is_clear(&of_study(&RULE, &other)));
        assert_eq!(part(&healthy), Part::Unknown, "a NIC does not tell of memory's bandwidth");
    }

    #[test]
    fn where_a_descriptor_was_missing_the_cpu_was_late() {
        let late = study(16, &[(DISCARDS, 3_000), (RING, 3_000)]);
        assert!(is_clear(&of_study(&RULE, &late)));
        assert_eq!(part(&late), Part::Cpu);
        assert_eq!(part(&study(16, &[(DISCARDS, 0), (RING, 3_000)])), Part::Cpu);
        // Drops towards memory say so, whatever else was late.
        assert!(is_found(&of_study(&RULE, &study(16, &[(OVERFLOW, 3_000), (RING, 3_000)]))));
    }

    #[test]
    fn a_full_wire_slot_or_cpu_is_no_case_of_it() {
        let mut wire = study(16, &[(OVERFLOW, 6_000)]);
        read_receiver(&mut wire, "interface", "e0.rx_bytes", 10_700_000_000);
        assert!(is_clear(&of_study(&RULE, &wire)));
        assert_eq!(part(&wire), Part::Wire);
        // 48 Gb/s of the 52 or so that eight lanes leave.
        let slot = study(8, &[(OVERFLOW, 6_000)]);
        assert!(is_clear(&of_study(&RULE, &slot)));
        assert_eq!(part(&slot), Part::Slot);
        let mut thread = study(16, &[(OVERFLOW, 6_000)]);
        for end in thread.records.iter_mut().flat_map(|run| run.of_mut(Role::Receiver)) {
            end.threads[0].system_ns = end.threads[0].wall_ns;
        }
        assert!(is_clear(&of_study(&RULE, &thread)));
        assert_eq!(part(&thread), Part::Cpu);
        let mut softirq = study(16, &[(OVERFLOW, 6_000)]);
        read_receiver(&mut softirq, "cpu", "cpu3.softirq_ns", 700_000_000);
        assert!(is_clear(&of_study(&RULE, &softirq)));
        // A neighbour that loads memory fills CPUs, and those are not the NIC's.
        let mut neighbour = study(16, &[(OVERFLOW, 6_000)]);
        for (key, ns) in [("cpu3.user_ns", 990_000_000), ("cpu3.idle_ns", 10_000_000)] {
            read_receiver(&mut neighbour, "cpu", key, ns);
        }
        assert!(is_found(&of_study(&RULE, &neighbour)));
        read_receiver(&mut neighbour, "cpu", "cpu3.softirq_ns", 200_000_000);
        assert!(is_clear(&of_study(&RULE, &neighbour)), "it handles packets too");
    }

    #[test]
    fn the_other_port_of_a_card_fills_the_slot_too() {
        let mut both = study(16, &[(OVERFLOW, 6_000)]);
        let mut other = card(16);
        other.name = "e1".into();
        both.peer_hosts[0].nics.push(other);
        assert!(is_found(&of_study(&RULE, &both)));
        read_receiver(&mut both, "interface", "e1.rx_bytes", 7_000_000_000);
        assert!(is_clear(&of_study(&RULE, &both)));
    }

    #[test]
    fn few_drops_are_an_accident() {
        assert!(is_clear(&of_study(&RULE, &study(16, &[(OVERFLOW, 59)]))), "one in ten thousand");
        assert!(is_found(&of_study(&RULE, &study(16, &[(OVERFLOW, 61)]))));
        let mut brief = study(16, &[(OVERFLOW, 19)]);
        read_receiver(&mut brief, "interface", "e0.rx_packets", 1_000);
        assert!(is_clear(&of_study(&RULE, &brief)));
        // One run of three is none either.
        let mut once = study(16, &[(OVERFLOW, 0)]);
        let end = once.records[0].of_mut(Role::Receiver).next().expect("a receiver");
        end.readings.put_words("nic", OVERFLOW, 60_000);
        assert!(is_clear(&of_study(&RULE, &once)));
    }

    #[test]
    fn nothing_is_said_without_counts_and_facts() {
        assert!(is_unknown(&of_study(&RULE, &study(16, &[]))), "no counters");
        assert!(
            is_unknown(&of_study(&RULE, &study(16, &[(RING, 0)]))),
            "late CPUs alone are counted"
        );
        let mut pause = study(16, &[]);
        read_receiver(&mut pause, "pause", "e0.sent:tx_prio3_pause_frames", 0);
        assert!(is_unknown(&of_study(&RULE, &pause)), "pause may be off");
        let mut no_rate = study(16, &[(OVERFLOW, 6_000)]);
        no_rate.peer_hosts[0].nics[0].speed_bps = Fact::absent("made");
        assert!(is_unknown(&of_study(&RULE, &no_rate)));
        let mut no_slot = study(16, &[(OVERFLOW, 6_000)]);
        no_slot.peer_hosts[0].nics[0].path.clear();
        assert!(is_unknown(&of_study(&RULE, &no_slot)));
        let mut no_facts = study(16, &[(OVERFLOW, 6_000)]);
        no_facts.peer_hosts.clear();
        assert!(is_unknown(&of_study(&RULE, &no_facts)));
        assert_eq!(part(&no_facts), Part::Unknown);
    }
}
