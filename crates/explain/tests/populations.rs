//! Interleave sets, classes and labels on the populations that were published and on those of real
//! servers.

mod common;

use common::{is_as_kept, kept};
use narrows_dimm::interleave::Set;
use narrows_dimm::population::{Balance, Population, controllers_equal};
use narrows_explain::{findings, judge_host};
use narrows_host::open;
use narrows_model::host::{Host, Module, Nic, Slot, SlotPlace};
use narrows_model::result::{FamilyFor, PopulationGap};
use narrows_model::result::{Finding, Weight};
use narrows_model::{BitsPerSecond, Bytes, Fact};
use narrows_predict::loss::Loss;
use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};

const PROCESSOR: &str = "Intel(R) Xeon(R) Platinum 8280 CPU @ 2.70GHz";

fn shared(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared").join(name);
    if path.exists() {
        return Some(path);
    }
    let text = format!("skipped: {} is not there\n", path.display());
    // In one piece: the harness writes between.
    let _ = std::io::stderr().write_all(text.as_bytes());
    None
}

/// A server of two sockets with two controllers of three channels, `counts` modules on each
/// controller in turn; the study alternates controllers inside a socket.
fn server(counts: [usize; 2]) -> Host {
    let mut host = Host::default();
    host.cpu.model = Fact::known(PROCESSOR.to_owned(), "planted");
    let mut slots = Vec::new();
    for (socket, modules) in counts.into_iter().enumerate() {
        let on = [modules.div_ceil(2), modules / 2];
        for channel in 0..6 {
            let module = Module {
                size_bytes: Some(Bytes::gib(32)),
                is_dram: true,
                configured_mts: Some(2933),
                ..Module::default()
            };
            let at = SlotPlace {
                socket: socket as u32,
                channel: channel.to_string().into(),
                controller: None,
            };
            let full = channel % 3 < on[channel / 3];
            slots.push(Slot { at: Some(at), module: full.then_some(module), ..Slot::default() });
        }
    }
    host.memory.slots = Fact::known(slots, "planted");
    host
}

fn ways(population: &Population, socket: u32) -> Vec<usize> {
    let sets = population.sets.as_ref().expect("sets");
    sets.by_socket.get(&socket).map(|sets| sets.iter().map(Set::ways).collect()).unwrap_or_default()
}

/// Rows of a published table: modules, and the words for the two processors.
fn rows(text: &str) -> Vec<(usize, [String; 2])> {
    let field = |row: &str, name: &str| {
        let line = row.lines().find_map(|line| line.strip_prefix(name)?.trim().strip_prefix('='));
        line.expect(name).trim().trim_matches('"').to_owned()
    };
    let rows = text.split("[[row]]").skip(1);
    rows.map(|row| {
        let modules = field(row, "dimms").parse().expect("a number");
        (modules, [field(row, "cpu1"), field(row, "cpu2")])
    })
    .collect()
}

#[test]
fn the_published_populations_have_the_labels_that_were_published() {
    let Some(dir) = shared("published") else { return };
    let mut compared = 0;
    for (table, sockets) in [("lenovo_table1.toml", 1), ("lenovo_table2.toml", 2)] {
        let text = std::fs::read_to_string(dir.join(table)).expect(table);
        for (modules, labels) in rows(&text) {
            let counts = match sockets {
                1 => [modules, 0],
                _ => [modules.div_ceil(2), modules / 2],
            };
            for (socket, label) in labels.iter().enumerate() {
                let mut alone = [0, 0];
                alone[socket] = counts[socket];
                if counts[socket] == 0 {
                    assert_eq!(label, "None", "{table}, {modules} modules");
                    continue;
                }
                let population = Population::of(&server(alone)).expect("population");
                let equal = controllers_equal(&population.sockets, PROCESSOR);
                assert_eq!(equal, Some(label == "Balanced"), "{table}, {modules}, {socket}");
                // On this server the label says whether any set has one way only.
                let narrow = ways(&population, socket as u32).contains(&1);
                assert_eq!(narrow, label == "Unbalanced", "{table}, {modules}, {socket}");
                compared += 1;
            }
        }
    }
    assert!(compared >= 18, "{compared}");
}

#[test]
fn classes_follow_the_sets_and_not_only_the_channels() {
    let class = |counts: [usize; 2]| Population::of(&server(counts)).expect("population").balance;
    assert_eq!(class([6, 6]), Balance::Balanced);
    assert_eq!(class([4, 4]), Balance::NearBalanced);
    assert_eq!(class([6, 4]), Balance::SocketAsymmetric);
    // Three modules on two controllers: every populated channel is alike, and still two sets.
    assert_eq!(class([3, 3]), Balance::Unbalanced);
    assert_eq!(class([4, 3]), Balance::Unbalanced);
}

/// A port of 100 Gb/s on the first socket of a server.
fn with_port(mut host: Host) -> Host {
    host.nics.push(Nic {
        name: "eth0".to_owned(),
        physical: true,
        speed_bps: Fact::known(BitsPerSecond(100e9), "planted"),
        node: Fact::known(0, "planted"),
        ..Nic::default()
    });
    host
}

fn finding(host: &Host) -> Option<Finding> {
    let judged = judge_host(host);
    findings(&judged).into_iter().find(|finding| finding.rule == "dimm-balance").cloned()
}

#[test]
fn a_population_weighs_what_it_costs_and_not_its_class() {
    let of = |modules: [usize; 2]| finding(&with_port(server(modules))).expect("a finding");
    let lost = |modules: [usize; 2]| of(modules).worth.expect("a worth").value / 1e9;
    // LP1241, tables 1 and 2: one module a processor carried 82.6 Gb/s of TCP and 70 of UDP, three
    // and eleven modules 90.8 and more, as much as twelve.
    let worst = [[1, 1], [3, 3], [5, 5], [3, 2]];
    let best = [[2, 1], [2, 2], [4, 4], [6, 5]];
    for modules in worst {
        assert_eq!(of(modules).weight, Weight::Fault, "{modules:?}");
    }
    for modules in best {
        assert_eq!(of(modules).weight, Weight::Advice, "{modules:?}");
        assert!(worst.iter().all(|bad| lost(*bad) > lost(modules) + 5.0), "{modules:?}");
    }
    let says = of([1, 1]).says;
    let costs = "uses 1 of 6; it costs 235 of 282 GB/s of memory, and ";
    assert!(says.contains(costs) && says.ends_with(" on eth0"), "{says}");
    assert!(of([6, 5]).says.ends_with("GB/s of memory, and TCP and UDP of no NIC"));
    assert_eq!(finding(&with_port(server([6, 6]))), None);
}

#[test]
fn without_a_port_a_population_weighs_what_it_costs_of_memory() {
    let of = |modules: [usize; 2]| finding(&server(modules)).expect("a finding");
    let lost = |modules: [usize; 2]| of(modules).worth.expect("a worth").value;
    let rising = [[4, 4], [6, 5], [2, 1], [1, 1], [1, 0]].map(lost);
    assert!(rising.windows(2).all(|pair| pair[0] < pair[1]), "{rising:?}");
    assert_eq!((of([1, 1]).weight, of([4, 4]).weight), (Weight::Fault, Weight::Advice));
    assert!(of([4, 4]).says.contains("no NIC reports its rate"));
    // Of four nodes each has one of its two channels: half is lost, and not seven eighths.
    let mut naples = server([0, 0]);
    naples.cpu.model = Fact::known("AMD EPYC 7601 32-Core Processor".to_owned(), "planted");
    let slots = (0..8).map(|channel| {
        let module = Module {
            size_bytes: Some(Bytes::gib(32)),
            is_dram: true,
            configured_mts: Some(2666),
            ..Module::default()
        };
        let at = SlotPlace { socket: 0, channel: channel.to_string().into(), controller: None };
        let module = (channel % 2 == 0).then_some(module);
        Slot { at: Some(at), module, ..Slot::default() }
    });
    naples.memory.slots = Fact::known(slots.collect(), "planted");
    let population = Population::of(&naples).expect("population");
    let loss = Loss::of(&naples, &population).expect("a loss");
    assert!((loss.narrowest.0 / loss.all.0 - 0.5).abs() < 1e-9, "{loss:?}");
}

/// On two controllers of three channels with like modules, one set means as many channels on each
/// controller, or one controller alone: said from what is known of each host's controllers.
#[test]
fn real_servers_have_one_set_where_their_controllers_are_alike() {
    let Some(dir) = shared("corpora") else { return };
    let text = std::fs::read_to_string(dir.join("smbios-ground-truth.json")).expect("truth");
    let hosts: Vec<Value> = serde_json::from_str(&text).expect("JSON");
    let (mut compared, mut known) = (0, 0);
    for truth in &hosts {
        let raw = truth["raw"].as_str().expect("raw");
        let host = open(&dir.join(raw)).expect(raw);
        let Ok(population) = Population::of(&host) else { continue };
        known += usize::from(population.sets.is_ok());
        for socket in truth["sockets"].as_array().expect("sockets") {
            let Some(controllers) = socket["controller_dimm_mib"].as_array() else { continue };
            let held: Vec<Vec<u64>> = controllers
                .iter()
                .map(|modules| modules.as_array().into_iter().flatten())
                .map(|modules| modules.filter_map(Value::as_u64).collect())
                .collect();
            let channels = socket["dimm_mib_by_channel"].as_object().expect("channels");
            let deep = channels.values().filter_map(Value::as_array).map(Vec::len).max();
            let mut sizes = held.iter().flatten().collect::<Vec<_>>();
            sizes.dedup();
            // Layers of several modules, or of unlike ones, are another question.
            if deep != Some(1) || sizes.len() != 1 || held.len() != 2 {
                continue;
            }
            let [a, b] = [held[0].len(), held[1].len()];
            let number = socket["socket"].as_u64().expect("number") as u32;
            let want = match a == b || a == 0 || b == 0 {
                true => vec![a + b],
                false => vec![2 * a.min(b), a.abs_diff(b)],
            };
            assert_eq!(ways(&population, number), want, "{raw}, socket {number}");
            compared += 1;
        }
    }
    assert!(compared >= 8, "{compared}");
    assert!(known >= 45, "the sets of {known} hosts are known");
}

fn reports(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).expect("folder").flatten() {
        match entry.path() {
            path if path.is_dir() => reports(&path, found),
            path => found.push(path),
        }
    }
}

/// Boards whose empty slots are called `NO DIMM` name the channels that hold something, and no
/// others: a verdict counts those of the processor.
#[test]
fn no_verdict_on_a_real_server_contradicts_its_processors_channels() {
    let Some(archive) = shared("corpora/dmi-public/server-dev.tar.xz") else { return };
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("server-dev");
    if !dir.is_dir() {
        std::fs::create_dir_all(&dir).expect("folder");
        let mut tar = std::process::Command::new("tar");
        let done = tar.arg("xf").arg(&archive).arg("-C").arg(&dir).status().expect("tar");
        assert!(done.success(), "{}", archive.display());
    }
    let mut files = Vec::new();
    reports(&dir, &mut files);
    let mut nameless = 0;
    for (index, file) in files.iter().enumerate() {
        let text = String::from_utf8_lossy(&std::fs::read(file).expect("report")).into_owned();
        let is_nameless = text.contains("\tLocator: NO DIMM");
        // The others are as many as they are alike.
        if !is_nameless && index % 8 != 0 {
            continue;
        }
        let Ok(host) = open(file) else { continue };
        let Ok(population) = Population::of(&host) else { continue };
        let Some(platform) = population.platform else { continue };
        nameless += usize::from(is_nameless);
        let all = platform.channels_per_socket() as usize;
        for socket in &population.sockets {
            assert_eq!(socket.width(), all, "{}: {}", file.display(), platform.name);
            let full = socket.populated().len() == all;
            let says_full = population.balance == Balance::Balanced;
            assert!(full || !says_full, "{}: {:?}", file.display(), population.balance);
        }
    }
    assert!(nameless >= 5, "{nameless} boards of that kind");
}

/// The controllers' driver lists modules only: the channels it does not name are empty.
#[test]
fn modules_that_only_the_driver_lists_leave_the_other_channels_empty() {
    let mut host = server([4, 0]);
    let mut slots = host.memory.slots.value().expect("slots").clone();
    slots.retain(|slot| slot.module.is_some());
    for at in slots.iter_mut().filter_map(|slot| slot.at.as_mut()) {
        let channel: u32 = at.channel.to_string().parse().expect("a number");
        at.controller = Some(channel / 3);
        at.channel = format!("M{}C{}", channel / 3, channel % 3).into();
    }
    host.memory.slots = Fact::known(slots, "/sys/devices/system/edac/mc");
    host.memory.controllers = Fact::known(Vec::new(), "/sys/devices/system/edac/mc");
    let population = Population::of(&host).expect("population");
    assert_eq!((population.balance, ways(&population, 0)), (Balance::NearBalanced, vec![4]));
    assert_eq!(population.sockets[0].channels.len(), 6);
    host.cpu.model = Fact::known("an unknown processor".to_owned(), "planted");
    assert!(
        Population::of(&host)
            .is_err_and(|missing| missing == PopulationGap::Family(FamilyFor::EmptyChannels))
    );
}

/// A server of one named processor with 0 to 2 modules on each channel of each socket.
fn populated(processor: &str, sockets: &[Vec<usize>]) -> Host {
    let mut host = Host::default();
    host.cpu.model = Fact::known(processor.to_owned(), "planted");
    let mut slots = Vec::new();
    for (socket, channels) in sockets.iter().enumerate() {
        for (channel, modules) in channels.iter().enumerate() {
            for slot in 0..2 {
                let module = Module {
                    size_bytes: Some(Bytes::gib(32)),
                    is_dram: true,
                    configured_mts: Some(3200),
                    ..Module::default()
                };
                let label = char::from(b'A' + channel as u8).to_string();
                let at =
                    SlotPlace { socket: socket as u32, channel: label.into(), controller: None };
                let module = (slot < *modules).then_some(module);
                slots.push(Slot { at: Some(at), module, ..Slot::default() });
            }
        }
    }
    host.memory.slots = Fact::known(slots, "planted");
    host
}

/// What a table says of each processor and what the host's view says of all are one rule: for every
/// family, over all ways to put none, one or two modules on each of a few channels.
#[test]
fn a_hosts_balance_is_that_of_its_sockets() {
    let (mut near, mut seen) = (0, 0);
    for (name, channels) in
        [("Xeon Platinum 8280", 6), ("Xeon Platinum 8380", 8), ("AMD EPYC 9654", 12)]
    {
        for shape in 0..3usize.pow(6) {
            let one: Vec<usize> = (0..channels).map(|at| shape / 3usize.pow(at % 6) % 3).collect();
            let host = populated(name, &[one.clone(), one.clone()]);
            let Ok(population) = Population::of(&host) else { continue };
            let each = population.by_socket();
            assert!(each.windows(2).all(|pair| pair[0] == pair[1]), "{name} {one:?}: {each:?}");
            assert_eq!(each[0], Some(population.balance), "{name} {one:?}");
            near += usize::from(population.balance == Balance::NearBalanced);
            seen += 1;
        }
    }
    assert!(seen > 1_000 && near > 10, "{seen} populations, {near} of them near-balanced");
}

/// All that is said of modules on two sockets of six channels, of four dies of two channels, and of
/// a processor that nobody described; with a port of 100 Gb/s and without.
#[test]
fn what_is_said_of_each_population_is_as_it_is_kept() {
    let mut text = String::new();
    for (processor, model) in [
        ("two controllers", PROCESSOR),
        ("four dies", "AMD EPYC 7601 32-Core Processor"),
        ("unknown", "One that nobody made"),
    ] {
        let counts = (1..=6).flat_map(|one| [[one, 0], [one, one / 2], [one, one]]);
        for (counts, has_port) in counts.flat_map(|counts| [(counts, true), (counts, false)]) {
            let mut host = server(counts);
            host.cpu.model = Fact::known(model.to_owned(), "planted");
            let host = if has_port { with_port(host) } else { host };
            let port = if has_port { "a port" } else { "no port" };
            text += &format!("{processor}, {counts:?}, {port}\n");
            let judged = judge_host(&host).into_iter().find(|one| one.rule == "dimm-balance");
            text += &format!("  {}\n", kept(&judged));
        }
    }
    is_as_kept("populations.txt", &text);
}
