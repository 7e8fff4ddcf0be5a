//! Drawings of a host: by shape of the machine as they were looked at, and what holds of all.

use narrows_dimm::population::sockets;
use narrows_model::host::{
    Cache, CpuPlace, Device, DeviceKind, Host, Module, Nic, Node, PciHop, PciLink, Slot, SlotPlace,
};
use narrows_model::{BitsPerSecond, Bytes, Fact};
use narrows_report::drawn::Screen;
use narrows_report::results::Results;
use narrows_report::views;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use textwrap::core::display_width;

fn known<T>(value: T) -> Fact<T> {
    Fact::known(value, "planted")
}

/// A machine of some shape.
struct Shape {
    model: &'static str,
    sockets: u32,
    /// Slots of each channel, and the modules in them.
    channels: &'static [&'static str],
    deep: usize,
    filled: usize,
    nodes_per_socket: u32,
}

impl Shape {
    fn host(&self) -> Host {
        let mut host = Host { name: known("planted".into()), ..Host::default() };
        host.product = known("a machine".into());
        host.cpu.model = known(self.model.into());
        let cpus = 4 * self.sockets * self.nodes_per_socket;
        host.cpu.online = known((0..cpus).collect());
        let place = |cpu: u32| CpuPlace {
            cpu,
            package: Some(cpu / 4 / self.nodes_per_socket),
            core: Some(cpu),
            node: Some(cpu / 4),
            ..CpuPlace::default()
        };
        host.cpu.places = (0..cpus).map(place).collect();
        let own = |id: u32| (4 * id..4 * id + 4).collect::<Vec<u32>>();
        let node = |id: u32| Node {
            id,
            cpus: own(id),
            memory_bytes: known(Bytes::gib(64)),
            ..Node::default()
        };
        let nodes = self.sockets * self.nodes_per_socket;
        host.nodes = (0..nodes).map(node).collect();
        let cache = |id: u32| Cache {
            level: 3,
            kind: "Unified".into(),
            size_bytes: Bytes(16 << 20),
            cpus: own(id),
        };
        host.cpu.caches = (0..nodes).map(cache).collect();
        if !self.channels.is_empty() {
            host.memory.slots = known((0..self.sockets).flat_map(|n| self.slots(n)).collect());
        }
        host
    }

    fn slots(&self, socket: u32) -> Vec<Slot> {
        let slot = |channel: &&str, depth: usize| Slot {
            locator: format!("P{socket}-{channel}{depth}"),
            at: Some(SlotPlace { socket, channel: (*channel).into(), controller: None }),
            module: (depth < self.filled).then(|| Module {
                size_bytes: Some(Bytes::gib(16)),
                technology: "DDR4".into(),
                is_dram: true,
                rated_mts: Some(3200),
                configured_mts: Some(2666),
                ..Module::default()
            }),
            ..Slot::default()
        };
        let deep = |channel| (0..self.deep).map(move |depth| slot(channel, depth));
        self.channels.iter().flat_map(deep).collect()
    }
}

fn hop(address: String, name: &str, width: u32) -> PciHop {
    let link = PciLink { speed_gts: 8.0, width, speed_max_gts: 8.0, width_max: 16 };
    PciHop { address, name: name.into(), link: known(link), ..PciHop::default() }
}

/// Adds a NIC of 100 Gb/s at a node, or nobody knows where, by a link of so many lanes.
fn plug(host: &mut Host, node: Option<u32>, width: u32) {
    let number = host.nics.len();
    let root = hop(format!("0000:{number:02x}:01.0"), "Sky Lake-E PCI Express Root Port A", width);
    let card = hop(format!("0000:{number:02x}:00.0"), "Mellanox ConnectX-5 of two ports", width);
    let path = vec![root, card];
    host.devices.push(Device {
        kind: DeviceKind::Network,
        address: format!("0000:{number:02x}:00.0"),
        names: vec![format!("ens{number}f0")],
        driver: known("mlx5_core".into()),
        node: node.map_or(Fact::default(), known),
        is_virtual: false,
        path: path.clone(),
    });
    host.nics.push(Nic {
        name: format!("ens{number}f0"),
        physical: true,
        driver: known("mlx5_core".into()),
        speed_bps: known(BitsPerSecond(100e9)),
        node: node.map_or(Fact::default(), known),
        path,
        ..Nic::default()
    });
}

const XEON: &str = "Intel(R) Xeon(R) Gold 6154 CPU @ 3.00GHz";
const SIX: &[&str] = &["A", "B", "C", "D", "E", "F"];
const EIGHT: &[&str] = &["A", "B", "C", "D", "E", "F", "G", "H"];
const TWELVE: &[&str] = &["A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K", "L"];

/// Machines by the shape that their drawing must have.
fn machines() -> Vec<(&'static str, Host)> {
    let xeon = |sockets, filled| Shape {
        model: XEON,
        sockets,
        channels: SIX,
        deep: 2,
        filled,
        nodes_per_socket: 1,
    };
    let mut two = xeon(2, 1).host();
    plug(&mut two, Some(0), 16);
    plug(&mut two, Some(1), 8);
    plug(&mut two, None, 16);
    let mut four = xeon(4, 2).host();
    plug(&mut four, Some(3), 16);
    let mut epyc = Shape {
        model: "AMD EPYC 9654 96-Core Processor",
        sockets: 1,
        channels: TWELVE,
        deep: 1,
        filled: 1,
        nodes_per_socket: 4,
    }
    .host();
    plug(&mut epyc, Some(2), 16);
    let desktop = Shape {
        model: "Intel(R) Core(TM) i7-8700 CPU @ 3.20GHz",
        sockets: 1,
        channels: &["ChannelA", "ChannelB"],
        deep: 2,
        filled: 1,
        nodes_per_socket: 1,
    };
    let arm = Shape { model: "Neoverse-N1", channels: EIGHT, ..xeon(2, 1) };
    let virtual_machine = Shape { channels: &[], ..xeon(1, 0) };
    let mut guest = virtual_machine.host();
    plug(&mut guest, None, 16);
    let mut unplaced = desktop.host();
    if let Fact::Known { value, .. } = &mut unplaced.memory.slots {
        value.iter_mut().for_each(|slot| slot.at = None);
    }
    vec![
        ("one-socket-four-nodes", epyc),
        ("two-sockets", two),
        ("four-sockets", four),
        ("eight-sockets", xeon(8, 1).host()),
        ("desktop", desktop.host()),
        ("virtual-machine", guest),
        ("arm", arm.host()),
        ("slots-unknown", unplaced),
        ("nothing-known", Host::default()),
    ]
}

fn drawn(host: &Host, columns: usize, unicode: bool) -> String {
    let view = views::view("drawing").expect("the view");
    let text = view.text(host, &Screen { columns: Some(columns), unicode });
    plain(&text)
}

/// Without the escapes that colour it.
fn plain(text: &str) -> String {
    ["\x1b[1m", "\x1b[31m", "\x1b[0m"]
        .iter()
        .fold(text.to_owned(), |text, style| text.replace(style, ""))
}

/// The boxes alone: neither the sentences above nor the findings below.
fn boxes(text: &str) -> String {
    let inside = |line: &&str| line.starts_with(['┌', '│', '└', '═']);
    text.lines().filter(inside).map(|line| format!("{line}\n")).collect()
}

#[test]
fn machines_are_drawn_as_they_were_looked_at() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/drawings");
    for (name, host) in machines() {
        for columns in [80, 160] {
            let file = dir.join(format!("{name}-{columns}.txt"));
            let text = boxes(&drawn(&host, columns, true));
            if std::env::var("NARROWS_GOLDEN").is_ok_and(|golden| golden == "write") {
                std::fs::write(&file, &text).expect("golden");
            }
            let golden = std::fs::read_to_string(&file).expect("golden");
            assert_eq!(text, golden, "{}: NARROWS_GOLDEN=write writes it anew", file.display());
        }
    }
}

/// Every view in full, of one machine with unlike sockets and of one with four nodes.
#[test]
fn every_view_of_a_machine_is_as_it_was_looked_at() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/drawings");
    let of = |name: &&str| machines().into_iter().find(|(other, _)| other == name).expect("one");
    for (name, host) in ["two-sockets", "one-socket-four-nodes"].iter().map(of) {
        let screen = Screen { columns: Some(100), unicode: true };
        let views = views::VIEWS.iter().filter(|view| view.name != "drawing");
        let texts = views.map(|view| format!("==== {}\n{}", view.name, view.text(&host, &screen)));
        let results = serde_json::to_string_pretty(&Results::of(&host)).expect("JSON");
        let text = texts.collect::<String>() + "==== results\n" + &results + "\n";
        let file = dir.join(format!("{name}-views.txt"));
        if std::env::var("NARROWS_GOLDEN").is_ok_and(|golden| golden == "write") {
            std::fs::write(&file, &text).expect("golden");
        }
        let golden = std::fs::read_to_string(&file).expect("golden");
        let lines = text.lines().zip(golden.lines());
        for (at, (is, was)) in lines.enumerate() {
            assert_eq!(
                is,
                was,
                "{}:{}: NARROWS_GOLDEN=write writes it anew",
                file.display(),
                at + 1
            );
        }
        assert_eq!(text.lines().count(), golden.lines().count(), "{}", file.display());
        // A picture that can be looked at; its tags are one a line.
        let file = dir.join(format!("{name}.svg"));
        let svg = views::picture(&host).replace("><", ">\n<");
        if std::env::var("NARROWS_GOLDEN").is_ok_and(|golden| golden == "write") {
            std::fs::write(&file, &svg).expect("golden");
        }
        assert_eq!(svg, std::fs::read_to_string(&file).expect("golden"), "{}", file.display());
    }
}

/// Cells of modules: `[16]`, `[ 8]`, `[512M*]`.
fn modules(text: &str) -> usize {
    let cell = |rest: &str| {
        let inside = rest.split(']').next().unwrap_or_default().trim();
        let inside = inside.trim_end_matches('*').trim_end_matches('M');
        inside == "?" || inside.parse::<f64>().is_ok()
    };
    text.split('[').skip(1).filter(|rest| cell(rest)).count()
}

/// What must hold of the drawing of any host.
fn holds(name: &str, host: &Host) {
    let slots = host.memory.slots.value().map(Vec::as_slice).unwrap_or_default();
    let want = slots.iter().filter(|slot| slot.module.is_some()).count();
    for columns in [60, 80, 97, 115, 120, 160, 200] {
        let text = drawn(host, columns, true);
        for line in text.lines() {
            assert!(display_width(line) <= columns, "{name} at {columns}: {line}");
        }
        let ascii = drawn(host, columns, false);
        assert!(ascii.is_ascii(), "{name}: {ascii}");
        assert_eq!(ascii.lines().count(), text.lines().count(), "{name} at {columns}");
        let picture = boxes(&text);
        assert_eq!(modules(&picture), want, "{name} at {columns}:\n{picture}");
        for nic in host.physical_nics() {
            let is_it = |rest: &&str| {
                let rest = rest.strip_prefix(nic.name.as_str());
                rest.is_some_and(|rest| rest.starts_with([' ', ']']))
            };
            let times = picture.split('[').skip(1).filter(is_it).count();
            assert_eq!(times, 1, "{name} at {columns}: {}\n{picture}", nic.name);
        }
    }
    let svg = views::picture(host);
    let rects = |class: &str| svg.matches(&format!("class=\"{class}\"")).count();
    assert_eq!(rects("dimm") + rects("dimm other"), want, "{name}");
    assert_eq!(rects("nic"), host.physical_nics().count(), "{name}");
}

#[test]
fn lines_fit_and_every_module_and_nic_is_drawn_once() {
    for (name, host) in machines() {
        holds(name, &host);
    }
}

#[test]
fn what_a_host_is_built_of_stands_below_its_drawing() {
    let (_, mut host) = machines().swap_remove(1);
    assert!(!drawn(&host, 80, true).contains("\nsystem: "), "nobody tells");
    host.system = known("Debian GNU/Linux 12 (bookworm)".into());
    host.chassis = known("rack mount chassis".into());
    let text = drawn(&host, 80, true);
    let at = |wanted: &str| text.lines().position(|line| line == wanted).expect(wanted);
    let system = at("system: Debian GNU/Linux 12 (bookworm)");
    assert_eq!(at("chassis: rack mount chassis"), system + 1, "{text}");
    assert!(system > 5 && text.lines().nth(system - 1) == Some(""), "{text}");
    holds("built", &host);
}

#[test]
fn drawings_of_public_hosts_fit_and_are_whole() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpora");
    let folders = ["smbios-text", "smbios-raw", "hwloc-xml"];
    let files = folders.iter().filter_map(|name| std::fs::read_dir(dir.join(name)).ok());
    let files: Vec<PathBuf> = files.flatten().flatten().map(|entry| entry.path()).collect();
    let mut read = 0;
    for file in &files {
        // What is no description is refused, and tried elsewhere.
        let Ok(host) = narrows_host::open(file) else { continue };
        holds(&file.display().to_string(), &host);
        read += 1;
    }
    assert!(files.is_empty() || read > 60, "{read} of {} hosts were drawn", files.len());
}

#[test]
fn sockets_have_their_links_and_one_has_none() {
    for (name, host) in machines() {
        let slots = host.memory.slots.value().map(Vec::as_slice).unwrap_or_default();
        let several = sockets(slots).is_ok_and(|sockets| sockets.len() > 1);
        let text = drawn(&host, 80, true);
        assert_eq!(text.contains("═ links between sockets"), several, "{name}\n{text}");
        assert_eq!(views::picture(&host).contains("links between sockets"), several, "{name}");
        let stubs = text.matches('╞').count();
        let want = if several { sockets(slots).expect("sockets").len() } else { 0 };
        assert_eq!(stubs, want, "{name}\n{text}");
    }
}

/// The link of x8 is slower than the port of 100 Gb/s; those of x16 are not.
#[test]
fn a_link_slower_than_its_port_is_the_only_one_coloured() {
    let (_, host) = machines().swap_remove(1);
    let screen = Screen { columns: Some(160), unicode: true };
    let text = views::view("drawing").expect("the view").text(&host, &screen);
    let red: Vec<&str> = text.split("\x1b[31m").skip(1).collect();
    assert_eq!(red.len(), 1, "{text}");
    assert!(red[0].starts_with("PCIe 8 GT/s x8 "), "{text}");
}

/// Tables of hosts: no line is wider than was asked for, and no word of a cell is broken.
#[test]
fn tables_of_hosts_fit_their_screen_with_whole_words() {
    for (name, host) in machines() {
        for view in ["memory", "nic", "pci", "tuning"] {
            let view = views::view(view).expect("a view");
            let words = |text: &str| -> BTreeSet<String> {
                text.split_whitespace().map(str::to_owned).collect()
            };
            let whole = view.text(&host, &Screen::FILE);
            for columns in [60, 80, 120, 200] {
                let text = view.text(&host, &Screen { columns: Some(columns), unicode: true });
                for line in text.lines() {
                    assert!(display_width(line) <= columns, "{name} at {columns}: {line}");
                }
                let lost: Vec<String> = words(&whole).difference(&words(&text)).cloned().collect();
                assert!(lost.is_empty(), "{name} at {columns}: {lost:?}\n{text}");
            }
        }
    }
}
