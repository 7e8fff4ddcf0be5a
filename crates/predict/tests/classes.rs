//! Classes of populations are what makers' guides call them, whatever the port's rate: for every
//! number of modules, the best population that a search finds, and the maker's own.

use narrows_dimm::population::{Balance, Population};
use narrows_model::host::{Host, Label, Module, Slot, SlotPlace};
use narrows_model::{Bytes, Fact};
use narrows_predict::calibration::Calibration;
use narrows_predict::{Kit, Said, of_host, search};

use Balance::{Balanced, NearBalanced, Unbalanced};

/// Rates of the port, in Gb/s: what is best may not follow from it.
const RATES_GBPS: [u32; 4] = [25, 100, 200, 400];

/// A maker's guide: the processor, speed of its modules in MT/s, channels of a controller, and the
/// class of 1, 2, 3 ... modules on one processor.
struct Guide {
    source: &'static str,
    processor: &'static str,
    mts: u32,
    empty: &'static str,
    classes: &'static [Balance],
    /// Numbers of modules that narrows calls otherwise, and what it calls them.
    otherwise: &'static [(usize, Balance)],
}

/// Balanced: all channels alike, with one or two modules. Near-balanced: one interleave set on some
/// of the channels: 1 to 3 modules on one controller, and 4 and 8 on four channels of six.
const XEON: Guide = Guide {
    source: "Dell, Balanced Memory with 2nd Generation Intel Xeon Scalable Processors, 4 to 7",
    processor: "Xeon Gold 6248",
    mts: 2933,
    empty: "0,0,0/0,0,0",
    classes: &[
        NearBalanced,
        NearBalanced,
        NearBalanced,
        NearBalanced,
        Unbalanced,
        Balanced,
        Unbalanced,
        NearBalanced,
        Unbalanced,
        Unbalanced,
        Unbalanced,
        Balanced,
    ],
    otherwise: &[],
};

/// "When any number of DIMMs other than 4, 8, 12 or 16 is populated, disjointed memory regions are
/// created": of one and of two modules on one pair of channels narrows says one set, and
/// of twelve two, of eight channels and of four: its class of several sets is unbalanced, as Lenovo
/// calls twelve on eight channels of Xeon too.
const EPYC: Guide = Guide {
    source: "Dell, Balanced Memory with 2nd Generation AMD EPYC Processors, revision 1.4, 4.1 and 4.2",
    processor: "AMD EPYC 7452",
    mts: 3200,
    empty: "0,0,0,0,0,0,0,0",
    classes: &[
        Unbalanced,
        Unbalanced,
        Unbalanced,
        NearBalanced,
        Unbalanced,
        Unbalanced,
        Unbalanced,
        Balanced,
        Unbalanced,
        Unbalanced,
        Unbalanced,
        NearBalanced,
        Unbalanced,
        Unbalanced,
        Unbalanced,
        Balanced,
    ],
    otherwise: &[(1, NearBalanced), (2, NearBalanced), (12, Unbalanced)],
};

/// Modules of each channel, as a machine would list them: letters in a row over the processors.
fn class(processor: &str, sockets: &[Vec<u32>]) -> Balance {
    let mut slots = Vec::new();
    for (socket, channels) in sockets.iter().enumerate() {
        for (channel, count) in channels.iter().enumerate() {
            let controller = (channels.len() == 6).then_some((channel / 3) as u32);
            let letter = char::from(b'A' + channel as u8).to_string();
            let at = SlotPlace {
                socket: socket as u32,
                channel: narrows_model::host::ChannelId::OfSocket(Label::from(letter.as_str())),
                controller,
            };
            let module = Module {
                size_bytes: Some(Bytes::gib(32)),
                is_dram: true,
                configured_mts: Some(2666),
                ..Module::default()
            };
            slots.extend((0..2).map(|slot| Slot {
                at: Some(at.clone()),
                locator: format!("{socket}{letter}{slot}"),
                module: (slot < *count).then(|| module.clone()),
                ..Slot::default()
            }));
        }
    }
    let mut host = Host::default();
    host.cpu.model = Fact::known(processor.to_owned(), "test");
    host.memory.slots = Fact::known(slots, "test");
    Population::of(&host).unwrap_or_else(|why| panic!("{sockets:?}: {why}")).balance
}

fn best(guide: &Guide, sockets: usize, modules: usize, gbps: u32) -> Vec<Vec<u32>> {
    let said = [
        ("cpu".to_owned(), guide.processor.to_owned()),
        ("memory.mts".to_owned(), guide.mts.to_string()),
        ("nic.gbps".to_owned(), gbps.to_string()),
    ];
    let memory = (0..sockets).map(|at| (format!("memory.socket{at}"), guide.empty.to_owned()));
    let said: Said = said.into_iter().chain(memory).collect();
    let engine = of_host(&Host::default(), &said, &Calibration::default()).expect("a server");
    let (_, found) = search(&engine, &Kit::alike(modules as u32), 1).expect("a search");
    found.into_iter().next().expect("a population").modules
}

#[test]
fn the_best_of_every_number_of_modules_has_the_makers_class() {
    for sockets in [1, 2] {
        for gbps in RATES_GBPS {
            let (mut same, mut all) = (0, 0);
            for guide in [&XEON, &EPYC] {
                for (at, makers) in guide.classes.iter().enumerate() {
                    let modules = at + 1;
                    let placed = best(guide, sockets, modules * sockets, gbps);
                    let ours = class(guide.processor, &placed);
                    let other = guide.otherwise.iter().find(|(count, _)| *count == modules);
                    let want = other.map_or(*makers, |(_, other)| *other);
                    assert_eq!(
                        ours, want,
                        "{}: {modules} a processor of {sockets}, {gbps} Gb/s: {placed:?}",
                        guide.source
                    );
                    all += 1;
                    same += usize::from(ours == *makers);
                }
            }
            println!("{sockets} processors, {gbps} Gb/s: {same} of {all} classes are the maker's");
        }
    }
}

/// Slots A1 to A12 are two rows of the six channels; of four and eight modules the manual has its
/// own order.
#[test]
fn the_makers_own_populations_have_its_classes() {
    for (at, makers) in XEON.classes.iter().enumerate() {
        let modules = at + 1;
        let slots: Vec<usize> = match modules {
            4 => vec![1, 2, 4, 5],
            8 => vec![1, 2, 4, 5, 7, 8, 10, 11],
            _ => (1..=modules).collect(),
        };
        let mut channels = vec![0; 6];
        slots.iter().for_each(|slot| channels[(slot - 1) % 6] += 1);
        assert_eq!(class(XEON.processor, &[channels.clone()]), *makers, "{modules}: {channels:?}");
    }
}
