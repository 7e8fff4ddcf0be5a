//! Boards that are made up, and what the rules say of them.

use narrows_dimm::board::Board;
use narrows_dimm::placement::{Trace, WhyNot, put, trace};
use narrows_model::host::{CpuSocket, Host, Identity, MemoryArray, Module, Slot};
use narrows_model::{Bytes, Fact};

/// A board with as many fitted processors; a locator with `*` behind it holds a module.
pub struct Planted {
    /// Makers and products.
    pub identity: Identity,
    /// Its sockets, fitted or not.
    pub sockets: Vec<CpuSocket>,
    /// Slots in the order of firmware's table.
    pub slots: Vec<Slot>,
}

/// A board by its maker, its product, its processors (`""` for an empty socket) and its slots.
pub fn planted(maker: &str, product: &str, processors: &[&str], slots: &[(&str, &str)]) -> Planted {
    let socket = |model: &&str| CpuSocket {
        populated: !model.is_empty(),
        model: (!model.is_empty()).then(|| (*model).to_owned()),
        ..CpuSocket::default()
    };
    let slot = |(locator, bank): &(&str, &str)| Slot {
        locator: locator.trim_end_matches('*').to_owned(),
        bank: (*bank).to_owned(),
        module: locator.ends_with('*').then(|| Module {
            size_bytes: Some(Bytes::gib(16)),
            technology: "DDR4".to_owned(),
            is_dram: true,
            ..Module::default()
        }),
        ..Slot::default()
    };
    Planted {
        identity: Identity {
            maker: maker.to_owned(),
            product: product.to_owned(),
            ..Identity::default()
        },
        sockets: processors.iter().map(socket).collect(),
        slots: slots.iter().map(slot).collect(),
    }
}

impl Planted {
    /// What was tried.
    pub fn trace(&self) -> Trace {
        let arrays: [MemoryArray; 0] = [];
        let identity = self.identity.clone();
        trace(&Board::of_firmware(identity, &self.sockets, &arrays, &self.slots), &[])
    }

    /// `rule: socket.channel socket.channel ...`, a dash for a slot without a place.
    pub fn told(&self) -> String {
        let Some(placed) = self.trace().placed else { return "nothing".to_owned() };
        let place = |at: &Option<narrows_model::host::SlotPlace>| match at {
            Some(at) => format!("{}.{}", at.socket, at.channel),
            None => "-".to_owned(),
        };
        let places: Vec<String> = placed.places.iter().map(place).collect();
        format!("{}: {}", placed.rule, places.join(" "))
    }

    /// Why a rule placed nothing.
    pub fn why_not(&self, rule: &str) -> Option<WhyNot> {
        let failed = self.trace().failed.into_iter();
        failed.filter(|(name, _)| name == rule).map(|(_, why)| why).next()
    }

    /// A host with the placed slots.
    pub fn host(&self) -> Host {
        let mut host = Host::default();
        let mut slots = self.slots.clone();
        put(&mut slots, &self.trace());
        host.cpu.sockets = Fact::known(self.sockets.clone(), "planted");
        host.memory.slots = Fact::known(slots, "planted");
        host
    }
}

/// Locators of a row, the modules' slots marked.
pub fn row(pattern: &str, numbers: std::ops::RangeInclusive<u32>, full: &[u32]) -> Vec<String> {
    let name = |number: u32| {
        let mark = if full.contains(&number) { "*" } else { "" };
        format!("{}{mark}", pattern.replace('#', &number.to_string()))
    };
    numbers.map(name).collect()
}

/// The names of slots, all with one bank string.
pub fn with_bank<'a>(rows: &'a [String], bank: &'a str) -> Vec<(&'a str, &'a str)> {
    rows.iter().map(|locator| (locator.as_str(), bank)).collect()
}
