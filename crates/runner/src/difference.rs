//! Whether a study goes on with the machine that it began on: what differs between two sessions'
//! hosts, apart from what the study itself changes by hand.

use narrows_model::Fact;
use narrows_model::host::Host;
use std::collections::BTreeSet;
use std::fmt;

/// A part of a machine that figures depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MachinePart {
    /// The host's name.
    Name,
    /// Maker and product.
    Product,
    /// Release of the kernel, as `uname -r` prints it.
    Kernel,
    /// Model of the processors.
    Processor,
    /// How many CPUs are online.
    Cpus,
    /// Sizes and speeds of the memory modules.
    Modules,
    /// Which slots hold a module, or how much memory there is.
    Population,
    /// Network cards with their drivers.
    Nics,
}

impl fmt::Display for MachinePart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Name => "name",
            Self::Product => "product",
            Self::Kernel => "kernel",
            Self::Processor => "processor",
            Self::Cpus => "CPUs online",
            Self::Modules => "kinds of memory modules",
            Self::Population => "memory population",
            Self::Nics => "network cards",
        })
    }
}

/// One part that is not as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The part that is not as it was.
    pub part: MachinePart,
    pub was: String,
    pub now: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: was {}, is {}", self.part, self.was, self.now)
    }
}

/// A part in words, to be compared and shown.
type Says = fn(&Host) -> String;

/// What differs; what was read in only one of the two differs too.
pub fn differences(was: &Host, now: &Host) -> Vec<Difference> {
    let parts: [(MachinePart, Says); 8] = [
        (MachinePart::Name, |host| word(&host.name)),
        (MachinePart::Product, |host| word(&host.product)),
        (MachinePart::Kernel, |host| word(&host.kernel)),
        (MachinePart::Processor, |host| word(&host.cpu.model)),
        (MachinePart::Cpus, |host| {
            host.cpu.online.value().map_or(unknown(), |all| all.len().to_string())
        }),
        (MachinePart::Modules, modules),
        (MachinePart::Population, population),
        (MachinePart::Nics, nics),
    ];
    let bare = [was, now].iter().all(|host| host.memory.slots.value().is_none());
    let near = total(was).zip(total(now)).is_some_and(|(was, now)| (now / was - 1.0).abs() < 0.05);
    let alike = |part: MachinePart| part == MachinePart::Population && bare && near;
    parts
        .into_iter()
        .filter_map(|(part, says)| {
            let (was, now) = (says(was), says(now));
            (was != now && !alike(part)).then_some(Difference { part, was, now })
        })
        .collect()
}

/// Without the modules' list: what a kernel keeps to itself is not the same at each boot.
fn total(host: &Host) -> Option<f64> {
    host.memory.total_bytes.value().map(|bytes| bytes.0 as f64)
}

fn unknown() -> String {
    "not known".to_owned()
}

fn word(fact: &Fact<String>) -> String {
    fact.value().map_or(unknown(), |text| text.trim().to_owned())
}

fn modules(host: &Host) -> String {
    let Some(slots) = host.memory.slots.value() else { return unknown() };
    let kinds: BTreeSet<String> = slots
        .iter()
        .filter_map(|slot| slot.module.as_ref())
        .map(|module| {
            let size = module.size_bytes.map_or(unknown(), |bytes| bytes.to_string());
            let rated = module.rated_mts.map_or(unknown(), |mts| format!("{mts} MT/s"));
            format!("{size} {} {rated}", module.technology)
        })
        .collect();
    kinds.into_iter().collect::<Vec<_>>().join(", ")
}

fn population(host: &Host) -> String {
    let Some(slots) = host.memory.slots.value() else {
        return host.memory.total_bytes.value().map_or(unknown(), |bytes| {
            format!("about {:.0} GiB", bytes.0 as f64 / f64::from(1 << 30))
        });
    };
    let filled = slots.iter().filter(|slot| slot.module.is_some());
    filled.map(|slot| slot.locator.as_str()).collect::<Vec<_>>().join(", ")
}

fn nics(host: &Host) -> String {
    let all: BTreeSet<String> = host
        .physical_nics()
        .map(|nic| {
            let driver = nic.driver.value().cloned().unwrap_or_else(unknown);
            format!("{} ({driver})", nic.name)
        })
        .collect();
    all.into_iter().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::Bytes;
    use narrows_model::host::Module;
    use narrows_model::host::Slot;

    fn host(model: &str, gib: u64, filled: &[&str]) -> Host {
        let mut host = Host::default();
        host.cpu.model = Fact::known(model.to_owned(), "test");
        let slot = |locator: &str| Slot {
            locator: locator.to_owned(),
            module: filled.contains(&locator).then(|| Module {
                size_bytes: Some(Bytes::gib(gib)),
                is_dram: true,
                ..Module::default()
            }),
            ..Slot::default()
        };
        host.memory.slots = Fact::known(["A1", "B1", "C1"].map(slot).to_vec(), "test");
        host
    }

    #[test]
    fn what_differs_is_named_part_by_part() {
        let parts = |was: &Host, now: &Host| {
            differences(was, now).iter().map(|one| one.part).collect::<Vec<_>>()
        };
        let was = host("Xeon Gold 6248", 32, &["A1"]);
        assert!(parts(&was, &was).is_empty());
        // More of the same modules is a population, larger ones are others.
        let more = host("Xeon Gold 6248", 32, &["A1", "B1"]);
        assert_eq!(parts(&was, &more), [MachinePart::Population]);
        assert_eq!(parts(&was, &host("Xeon Gold 6248", 64, &["A1"])), [MachinePart::Modules]);
        let other = host("AMD EPYC 7742", 32, &["A1"]);
        assert_eq!(parts(&was, &other), [MachinePart::Processor]);
        let says = differences(&was, &other)[0].to_string();
        assert_eq!(says, "processor: was Xeon Gold 6248, is AMD EPYC 7742");
        let total = |bytes: u64| {
            let mut host = Host::default();
            host.memory.total_bytes = Fact::known(Bytes(bytes), "test");
            host
        };
        assert!(parts(&total(64 << 30), &total((64 << 30) - (100 << 20))).is_empty());
        assert_eq!(parts(&total(64 << 30), &total(32 << 30)), [MachinePart::Population]);
    }

    #[test]
    fn each_part_is_named_with_what_it_was_and_is() {
        let fact = |text: &str| Fact::known(text.to_owned(), "test");
        let nic = |name: &str, driver: Option<&str>| narrows_model::host::Nic {
            name: name.to_owned(),
            physical: true,
            driver: driver.map_or_else(Fact::default, fact),
            ..Default::default()
        };
        let base = || {
            let mut host = host("Xeon Gold 6248", 32, &["A1"]);
            (host.name, host.product) = (fact("node7"), fact("R740"));
            (host.kernel, host.cpu.online) = (fact("6.1.0"), Fact::known(vec![0, 1, 2], "test"));
            host.nics = vec![nic("eth1", Some("ice")), nic("eth0", None)];
            host
        };
        let changed = |change: &dyn Fn(&mut Host)| {
            let mut now = base();
            change(&mut now);
            let all = differences(&base(), &now);
            all.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert!(changed(&|_| {}).is_empty());
        for (change, says) in [
            (&|host: &mut Host| host.name = fact("node8\n") as _, "name: was node7, is node8"),
            (&|host: &mut Host| host.product = fact("R750"), "product: was R740, is R750"),
            (&|host: &mut Host| host.kernel = fact("6.2.0"), "kernel: was 6.1.0, is 6.2.0"),
            (
                &|host: &mut Host| host.cpu.model = Fact::default(),
                "processor: was Xeon Gold 6248, is not known",
            ),
            (
                &|host: &mut Host| host.cpu.online = Fact::known(vec![0, 1], "test"),
                "CPUs online: was 3, is 2",
            ),
            (
                &|host: &mut Host| host.nics[0] = nic("eth1", Some("i40e")),
                "network cards: was eth0 (not known), eth1 (ice), is eth0 (not known), eth1 (i40e)",
            ),
        ] as [(&dyn Fn(&mut Host), &str); 6]
        {
            assert_eq!(changed(change), [says]);
        }
        // A card that is not physical, and the order of cards, are no difference.
        let order = |host: &mut Host| {
            host.nics.reverse();
            host.nics
                .push(narrows_model::host::Nic { name: "lo".to_owned(), ..Default::default() });
        };
        assert!(changed(&order).is_empty());
    }

    #[test]
    fn without_a_list_of_modules_memory_differs_from_a_twentieth_on() {
        let total = |bytes: u64| {
            let mut host = Host::default();
            host.memory.total_bytes = Fact::known(Bytes(bytes), "test");
            host
        };
        let says = |was: u64, now: u64| {
            let all = differences(&total(was << 30), &total(now << 30));
            all.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert!(says(100, 104).is_empty() && says(100, 96).is_empty());
        assert_eq!(says(100, 106), ["memory population: was about 100 GiB, is about 106 GiB"]);
        assert_eq!(says(100, 94), ["memory population: was about 100 GiB, is about 94 GiB"]);
        // With a list on one side there is one to compare, however near.
        let told = host("", 32, &["A1"]);
        let parts = differences(&told, &total(32)).into_iter().map(|one| one.part);
        assert!(parts.collect::<Vec<_>>().contains(&MachinePart::Population));
    }
}
