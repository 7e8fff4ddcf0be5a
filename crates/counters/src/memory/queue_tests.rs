//! Queues of the memory controllers, cache slices and root complexes, of machines in folders.

use super::tests::{Machine, counted, grows, told};
use narrows_model::memory_queues::QueueEvent;
use narrows_model::memory_traffic::{MemoryTraffic, Quantity, Uncounted};

/// What was counted by socket: count, of it by the busiest counter, and counters.
fn of(traffic: &MemoryTraffic, of: QueueEvent) -> Vec<(u64, u64, u32)> {
    let counts = traffic.queues.iter().filter(|one| one.of == of);
    counts.map(|one| (one.count, one.busiest, one.counters)).collect()
}

/// Cascade Lake-SP with two sockets of one CPU, two channels and two root complexes each.
fn cascade_lake(name: &str) -> Machine {
    let machine = Machine::new(name);
    let format = [("event", "config:0-7"), ("umask", "config:8-15"), ("thresh", "config:24-31")];
    machine.processor("GenuineIntel", 6, 0x55).cpus(&[0, 1]);
    machine.pmu("uncore_imc_0", 20, "0-1", &format).pmu("uncore_imc_1", 21, "0-1", &format);
    machine.pmu("uncore_upi_0", 30, "0-1", &format);
    machine.pmu("uncore_irp_0", 50, "0-1", &format).pmu("uncore_irp_1", 51, "0-1", &format);
    machine.pmu("cpu", 4, "", &format).put("sys/devices/system/cpu/online", "0-1\n");
    machine
}

#[test]
fn each_event_of_a_queue_is_told_apart_by_socket() {
    let machine = cascade_lake("queues");
    let (traffic, asked) = counted(&machine, &|code, cpu| {
        Ok(grows(match (code.kind, code.config[0]) {
            (20 | 21, 0x00) => 1000,
            (20, 0x2200_0081) => 700,
            (21, 0x2200_0081) => 100,
            (20 | 21, 0x81) => 20_000,
            (20 | 21, 0x20) => 400,
            (20 | 21, 0x80) => 9000 + u64::from(cpu),
            (20 | 21, 0x10) => 300,
            (20 | 21, 0x0101 | 0x0201 | 0x0801) => 5,
            (50, 0x01) => 500,
            (50, 0x040f) => 46_000,
            (51, 0x040f) => 1000,
            (50 | 51, 0x1810) => 80,
            (50 | 51, 0x0110) => 2,
            (20 | 21, 0x0304 | 0x0c04) | (30, 0x0f02) | (4, 0x412e) => 1,
            other => panic!("{other:x?}"),
        }))
    });
    let all = |of_what| of(&traffic, of_what);
    assert_eq!(all(QueueEvent::MemoryCycles), [(2000, 1000, 2); 2]);
    assert_eq!(all(QueueEvent::WriteFull), [(800, 700, 2); 2]);
    assert_eq!(all(QueueEvent::WriteOccupancy), [(40_000, 20_000, 2); 2]);
    assert_eq!(all(QueueEvent::WriteInserts), [(800, 400, 2); 2]);
    assert_eq!(all(QueueEvent::ReadOccupancy), [(18_000, 9000, 2), (18_002, 9001, 2)]);
    assert_eq!(all(QueueEvent::ReadInserts), [(600, 300, 2); 2]);
    // Three events on two channels.
    assert_eq!(all(QueueEvent::RowsOpened), [(30, 5, 6); 2]);
    // One clock a socket is enough: all root complexes have the same.
    assert_eq!(all(QueueEvent::RootCycles), [(500, 500, 1); 2]);
    assert_eq!(all(QueueEvent::RootOccupancy), [(47_000, 46_000, 2); 2]);
    assert_eq!(all(QueueEvent::RootWrites), [(160, 80, 2); 2]);
    assert_eq!(all(QueueEvent::RootReads), [(4, 2, 2); 2]);
    assert_eq!((&*traffic.queue_gaps, all(QueueEvent::CacheCycles)), (&[][..], vec![]));
    // Two CPUs: traffic 4 events on channels, a link and the cores, queues 9 and 3, one clock.
    assert_eq!(asked.len(), 2 * (2 * 2 + 1 + 1 + 2 * 9 + 2 * 3 + 1));
}

#[test]
fn a_channel_of_two_queues_is_full_for_the_mean_of_both_and_one_without_modules_has_no_clock() {
    let machine = Machine::ice_lake("pseudo");
    let wide = 0x36 | 0x04 << 8;
    let (traffic, _) = counted(&machine, &move |code, _| {
        Ok(grows(match (code.kind, code.config[0]) {
            (20, 0x00) => 1000,
            // Its clock stands.
            (21, 0x00) => 0,
            (20, 0x22) => 600,
            (20, 0x16) => 200,
            (21, 0x22 | 0x16) => 0,
            (40, config) if config == wide | 0x00cc_43ff << 32 => 7000,
            (40, config) if config == wide | 0x00cd_43ff << 32 => 3000,
            (40, config) if config == wide | 0x00c8_f3ff << 32 => 90,
            (40, 0x00) => 250,
            _ => 1,
        }))
    });
    let all = |of_what| of(&traffic, of_what);
    assert_eq!(all(QueueEvent::MemoryCycles), [(1000, 1000, 1); 2]);
    assert_eq!(all(QueueEvent::WriteFull), [(400, 300, 4); 2]);
    assert_eq!(all(QueueEvent::CacheCycles), [(250, 250, 1); 2]);
    assert_eq!(all(QueueEvent::DeviceWriteOccupancy), [(10_000, 7000, 2); 2]);
    assert_eq!(all(QueueEvent::DeviceReadOccupancy), [(90, 90, 1); 2]);
    assert_eq!(all(QueueEvent::DeviceReadInserts), [(1, 1, 1); 2]);
    assert_eq!(traffic.bytes(Quantity::DeviceWritten), Some(2 * 2 * 64));
}

#[test]
fn a_channel_that_moves_nothing_lends_no_cycles_though_its_clock_runs() {
    let machine = cascade_lake("idle");
    let (traffic, _) = counted(&machine, &|code, cpu| {
        Ok(grows(match (code.kind, code.config[0], cpu) {
            (20 | 21, 0x00, _) => 1000,
            (20, 0x2200_0081, _) => 700,
            (21, 0x2200_0081, _) => 0,
            // Neither read, written nor opened on the first socket; on the other one row was.
            (21, 0x0304 | 0x0c04 | 0x0101 | 0x0201, _) => 0,
            (21, 0x0801, cpu) => u64::from(cpu),
            _ => 9,
        }))
    });
    assert_eq!(of(&traffic, QueueEvent::MemoryCycles), [(1000, 1000, 1), (2000, 1000, 2)]);
    assert_eq!(of(&traffic, QueueEvent::WriteFull), [(700, 700, 2); 2]);
    assert_eq!(traffic.both_ways(), Some(4 * 9 * 64));
}

#[test]
fn a_family_without_the_clock_of_its_queues_tells_no_time_in_them() {
    let machine = Machine::new("unclocked");
    machine.processor("GenuineIntel", 6, 0x8f).cpus(&[0]);
    let format = [("event", "config:0-7"), ("umask", "config:8-15")];
    machine.pmu("uncore_imc_0", 20, "0", &format);
    let (traffic, _) = counted(&machine, &|_, _| Ok(grows(9)));
    assert_eq!(of(&traffic, QueueEvent::RowsOpened), [(9, 9, 1)]);
    assert_eq!(of(&traffic, QueueEvent::MemoryCycles), []);
    assert_eq!(of(&traffic, QueueEvent::ReadOccupancy), []);
    let gaps: Vec<String> = traffic.queue_gaps.iter().map(ToString::to_string).collect();
    assert!(gaps.iter().any(|gap| gap.contains("(DCLK or HCLK)")), "{gaps:?}");
}

#[test]
fn what_of_the_queues_is_missing_costs_no_traffic_and_is_named_apart() {
    let machine = cascade_lake("unqueued");
    let (traffic, _) = counted(&machine, &|code, cpu| {
        Ok(match (code.kind, code.config[0], cpu) {
            (21, 0x80, 1) => [told(5, 1, 1)].into(),
            // Not on any other channel either, which is said once.
            (_, 0x10, 0) => return Err(std::io::Error::from_raw_os_error(libc::EMFILE)),
            (_, 0x81, _) => [told(0, 0, 0), told(100, 100, 25)].into(),
            _ => grows(9),
        })
    });
    assert_eq!(
        (of(&traffic, QueueEvent::ReadOccupancy), traffic.both_ways()),
        (vec![], Some(4608))
    );
    assert_eq!(of(&traffic, QueueEvent::ReadInserts), []);
    assert_eq!(of(&traffic, QueueEvent::MemoryCycles), [(18, 9, 2); 2]);
    let pmu = |at: u32| format!("uncore_imc_{at}");
    let event = |queue: &str| format!("UNC_M_RPQ_{queue}");
    let lost = [
        Uncounted::NotOpened { pmu: pmu(0), event: event("INSERTS"), errno: libc::EMFILE },
        Uncounted::Vanished { pmu: pmu(1), event: event("OCCUPANCY") },
    ];
    assert_eq!(traffic.queue_gaps, lost);
    assert!(traffic.gaps.iter().all(|gap| matches!(gap, Uncounted::NotSourced { .. })));
    // Shared with others: scaled, and said so.
    assert_eq!(of(&traffic, QueueEvent::WriteOccupancy), [(800, 400, 2); 2]);
    let shared = traffic.queue(QueueEvent::WriteOccupancy, Some(1)).expect("counted");
    assert_eq!(shared.ran_thousandths, Some(250));
}

#[test]
fn a_family_whose_queues_no_source_tells_of_says_so_and_counts_its_traffic() {
    let machine = Machine::new("wordless");
    machine.processor("GenuineIntel", 6, 0x3f).cpus(&[0]);
    let format = [("event", "config:0-7"), ("umask", "config:8-15")];
    machine.pmu("uncore_imc_0", 20, "0", &format);
    let (traffic, _) = counted(&machine, &|_, _| Ok(grows(9)));
    assert_eq!(of(&traffic, QueueEvent::WriteFull), [(9, 9, 1)]);
    assert_eq!(of(&traffic, QueueEvent::WriteOccupancy), []);
    assert_eq!(traffic.queue_gaps.len(), 2, "{:?}", traffic.queue_gaps);
    assert!(traffic.queue_gaps.iter().all(|gap| matches!(gap, Uncounted::NotSourced { .. })));
}
