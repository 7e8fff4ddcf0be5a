//! On which nodes the ends of a trial are: whose node it is, and what stands in its name.

mod planted;

use narrows_model::host::{CpuPlace, Host};
use narrows_model::load::{Bind, Binding, CpuList, Role};
use narrows_model::seating::{Axis, EndNodes, Seating};
use narrows_model::trial::{EndHost, EndSpec, Placement};
use planted::trial;

/// A host with four CPUs, of which node 0 has the first two and node 1 the others.
fn host() -> Host {
    let mut host = Host::default();
    host.cpu.places =
        (0..4).map(|cpu| CpuPlace { cpu, node: Some(cpu / 2), ..CpuPlace::default() }).collect();
    host
}

fn numbered() -> Seating {
    let here = EndNodes { process: Some(1), memory: Some(2), interrupts: Some(3) };
    let there = EndNodes { process: Some(4), memory: Some(5), interrupts: Some(6) };
    Seating { nic: None, here, there, floating: false }
}

#[test]
fn an_axis_reads_and_moves_one_node_of_one_host() {
    for (axis, node, is_here, says) in [
        (Axis::ProcessHere, 1, true, "process here"),
        (Axis::MemoryHere, 2, true, "memory here"),
        (Axis::InterruptsHere, 3, true, "interrupts here"),
        (Axis::ProcessThere, 4, false, "process at the peer"),
        (Axis::MemoryThere, 5, false, "memory at the peer"),
        (Axis::InterruptsThere, 6, false, "interrupts at the peer"),
    ] {
        assert_eq!(numbered().node(axis), Some(node));
        assert_eq!((axis.is_here(), axis.says()), (is_here, says));
        assert_eq!(Axis::ALL[node as usize - 1], axis);
        let moved = numbered().with(axis, Some(9));
        for other in Axis::ALL {
            let wanted = if other == axis { Some(9) } else { numbered().node(other) };
            assert_eq!(moved.node(other), wanted, "{says}");
        }
        assert_eq!(moved.with(axis, None).node(axis), None);
    }
}

#[test]
fn ends_are_told_by_host_and_not_by_who_sends() {
    let on = |cpus: &[u32], node| Placement { node, ..Placement::on(cpus) };
    let mut near = EndSpec::of(Role::Sender, EndHost::Controller, on(&[2, 3], Some(0)));
    near.irq = Some(CpuList(vec![1]));
    near.bind = Some(Bind::from_words("eth1"));
    let far = EndSpec::of(Role::Receiver, EndHost::Peer(0), on(&[0], None));
    let wanted = Seating {
        nic: Some("eth1".to_owned()),
        here: EndNodes { process: Some(1), memory: Some(0), interrupts: Some(0) },
        there: EndNodes { process: Some(0), memory: None, interrupts: None },
        floating: false,
    };
    let of = |ends| Seating::of(&trial("t", ends, &[]), &host(), &host());
    assert_eq!(of(vec![far.clone(), near.clone()]), Some(wanted.clone()));
    assert_eq!(of(vec![near.clone(), far.clone()]), Some(wanted.clone()));
    let mut beside = near.clone();
    beside.role = Role::Background;
    assert_eq!(of(vec![beside.clone(), far.clone(), near.clone()]), Some(wanted.clone()));
    assert_eq!(of(vec![beside, near.clone()]), None, "one end");
    assert_eq!(of(vec![near.clone(), near.clone()]), None, "both here");
    assert_eq!(of(vec![far.clone(), far.clone()]), None, "both there");
    let mut floating = near.clone();
    floating.place.binding = Binding::All;
    let floats = of(vec![far.clone(), floating]);
    assert_eq!(floats, Some(Seating { floating: true, ..wanted.clone() }));
    let mut by_address = near;
    by_address.bind = Some(Bind::from_words("10.0.0.1"));
    assert_eq!(of(vec![far, by_address]), Some(Seating { nic: None, ..wanted }));
}

#[test]
fn an_end_over_two_nodes_or_on_no_cpu_has_no_seat() {
    let of = |near: &[u32], far: &[u32]| {
        let near = EndSpec::of(Role::Sender, EndHost::Controller, Placement::on(near));
        let far = EndSpec::of(Role::Receiver, EndHost::Peer(0), Placement::on(far));
        Seating::of(&trial("t", vec![far, near], &[]), &host(), &host())
            .map(|seating| (seating.here.process, seating.there.process))
    };
    assert_eq!(of(&[0, 1], &[3, 2]), Some((Some(0), Some(1))));
    assert_eq!(of(&[1, 2], &[3]), None, "two nodes here");
    assert_eq!(of(&[0], &[1, 2]), None, "two nodes there");
    assert_eq!(of(&[], &[0]), None, "anywhere here");
    assert_eq!(of(&[0], &[]), None, "anywhere there");
    assert_eq!(of(&[4], &[0]), None, "no such CPU");
}

#[test]
fn a_seating_is_named_by_what_lies_elsewhere() {
    let nodes = |process, memory, interrupts| EndNodes { process, memory, interrupts };
    for (end, words) in [
        (nodes(None, None, None), "any node"),
        (nodes(Some(0), Some(0), Some(0)), "node 0"),
        (nodes(Some(0), Some(1), None), "node 0, memory 1"),
        (nodes(Some(1), Some(1), Some(0)), "node 1, irq 0"),
        (nodes(Some(0), Some(1), Some(2)), "node 0, memory 1, irq 2"),
        (nodes(None, Some(0), None), "any node, memory 0"),
    ] {
        assert_eq!(end.to_string(), words);
    }
    let mut seating = numbered();
    assert_eq!(seating.to_string(), "node 1, memory 2, irq 3 > node 4, memory 5, irq 6");
    seating.nic = Some("eth0".to_owned());
    seating.here = nodes(Some(1), None, None);
    seating.floating = true;
    assert_eq!(seating.to_string(), "eth0: node 1 > node 4, memory 5, irq 6, floating");
}
