//! Modules as the drivers of memory controllers list them (EDAC), which ordinary users may read.

use crate::Root;
use crate::folder::Folder;
use narrows_dimm::locator;
use narrows_model::host::{ChannelId, ControllerModule, Module, Slot};
use narrows_model::{Bytes, Fact};
use std::collections::BTreeMap;

const CONTROLLERS: &str = "sys/devices/system/edac/mc";

/// Reads the modules of every controller.
pub fn read(root: &Root) -> Fact<Vec<ControllerModule>> {
    let mut modules = Vec::new();
    for controller in root.numbered(CONTROLLERS, "mc") {
        let dir = format!("{CONTROLLERS}/mc{controller}");
        let name = root.text(&format!("{dir}/mc_name"));
        let name = name.value().cloned().unwrap_or_else(|| format!("mc{controller}"));
        let folders = root.names(&dir).into_iter();
        for folder in folders.filter(|f| f.starts_with("dimm") || f.starts_with("rank")) {
            modules.extend(module(root, &format!("{dir}/{folder}"), &name));
        }
    }
    if modules.is_empty() {
        Fact::absent(format!("/{CONTROLLERS}"))
    } else {
        Fact::known(modules, format!("/{CONTROLLERS}"))
    }
}

fn module(root: &Root, dir: &str, controller: &str) -> Option<ControllerModule> {
    let of = Folder::of(root, dir);
    let mib = *of.number("size").value()?;
    let label = of.told("dimm_label").unwrap_or_default();
    let location = of.told("dimm_location").unwrap_or_default();
    // The driver's own label names all; where the board's names replaced it, the controller's name
    // and the location do.
    let at = locator::read(&label).or_else(|| locator::read(&format!("{controller} {location}")));
    Some(ControllerModule {
        controller: controller.to_owned(),
        at: at.map(locator::Spelt::placed),
        size_bytes: u64::try_from(mib).ok().filter(|mib| *mib > 0).map(Bytes::mib),
        technology: of.told("dimm_mem_type"),
        label,
        location,
    })
}

/// The slots of firmware when they are placed; else those of the controllers, when *they* are.
pub fn fill(slots: Fact<Vec<Slot>>, controllers: &Fact<Vec<ControllerModule>>) -> Fact<Vec<Slot>> {
    let placed = slots.value().is_some_and(|slots| slots.iter().any(|slot| slot.at.is_some()));
    let Fact::Known { value: modules, from } = controllers else { return slots };
    if placed || modules.iter().any(|module| module.at.is_none()) {
        return slots;
    }
    let alike = slots.value().and_then(|slots| alike(slots));
    let filled = modules.iter().filter(|module| module.size_bytes.is_some()).map(|module| Slot {
        locator: module.label.clone(),
        bank: format!("{} {}", module.controller, module.location).trim().to_owned(),
        at: module.at.clone(),
        module: Some(Module {
            size_bytes: module.size_bytes,
            technology: module.technology.clone().unwrap_or_else(|| "unknown".to_owned()),
            is_dram: !module.technology.as_deref().unwrap_or_default().contains("NVDIMM"),
            rated_mts: alike.and_then(|module| module.rated_mts),
            configured_mts: alike.and_then(|module| module.configured_mts),
            ranks: alike.and_then(|module| module.ranks),
        }),
        ..Slot::default()
    });
    Fact::Known { value: filled.collect(), from: from.clone() }
}

/// Firmware's slots without places where the driver, which asks the hardware, finds as many modules
/// of the same sizes and on other channels: then a numbering was taken wrongly, and the driver's
/// places are the better ones.
pub fn confirmed(
    mut slots: Fact<Vec<Slot>>,
    controllers: &Fact<Vec<ControllerModule>>,
) -> Fact<Vec<Slot>> {
    let driver = controllers.value().and_then(|modules| by_driver(modules));
    let firmware = slots.value().and_then(|slots| by_firmware(slots));
    let Some((driver, firmware)) = driver.zip(firmware) else { return slots };
    let contradicts = sizes(&driver) == sizes(&firmware) && shape(&driver) != shape(&firmware);
    if let Fact::Known { value, .. } = &mut slots
        && contradicts
    {
        value.iter_mut().for_each(|slot| slot.at = None);
    }
    slots
}

/// The sizes of all modules, ascending.
fn sizes(held: &[(Channel, u64)]) -> Vec<u64> {
    let mut sizes: Vec<u64> = held.iter().map(|(_, bytes)| *bytes).collect();
    sizes.sort_unstable();
    sizes
}

/// Socket and channel.
type Channel = (u32, ChannelId);

/// Where the driver finds modules; `None` where it cannot tell of one.
fn by_driver(modules: &[ControllerModule]) -> Option<Vec<(Channel, u64)>> {
    let full = modules.iter().filter(|module| module.size_bytes.is_some());
    let each = full.map(|module| {
        let at = module.at.as_ref()?;
        Some(((at.socket, at.channel.clone()), module.size_bytes?.0))
    });
    each.collect()
}

/// Where firmware's slots have modules; `None` where one is not placed or has no size.
fn by_firmware(slots: &[Slot]) -> Option<Vec<(Channel, u64)>> {
    let full = slots.iter().filter(|slot| slot.module.as_ref().is_some_and(|m| m.is_dram));
    let each = full.map(|slot| {
        let at = slot.at.as_ref()?;
        Some(((at.socket, at.channel.clone()), slot.module.as_ref()?.size_bytes?.0))
    });
    each.collect()
}

/// What each channel holds, by socket; without names, for firmware and driver have their own.
fn shape(held: &[(Channel, u64)]) -> Vec<Vec<Vec<u64>>> {
    let mut sockets: BTreeMap<u32, BTreeMap<&ChannelId, Vec<u64>>> = BTreeMap::new();
    for ((socket, channel), bytes) in held {
        sockets.entry(*socket).or_default().entry(channel).or_default().push(*bytes);
    }
    let mut shape: Vec<Vec<Vec<u64>>> = sockets
        .into_values()
        .map(|channels| {
            let mut channels: Vec<Vec<u64>> = channels.into_values().collect();
            channels.iter_mut().for_each(|sizes| sizes.sort_unstable());
            channels.sort();
            channels
        })
        .collect();
    shape.sort();
    shape
}

/// The module that all of firmware's modules are like in speed and ranks.
fn alike(slots: &[Slot]) -> Option<&Module> {
    let mut modules =
        slots.iter().filter_map(|slot| slot.module.as_ref()).filter(|module| module.is_dram);
    let first = modules.next()?;
    modules
        .all(|other| {
            (other.rated_mts, other.configured_mts, other.ranks)
                == (first.rated_mts, first.configured_mts, first.ranks)
        })
        .then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(name: &str, modules: &[(&str, &str, &str)]) -> Root {
        let dir = std::env::temp_dir().join(format!("narrows-edac-{name}-{}", std::process::id()));
        for (index, (label, location, mib)) in modules.iter().enumerate() {
            let mc = dir.join(CONTROLLERS).join(format!("mc{}", index / 2));
            let dimm = mc.join(format!("dimm{}", index % 2));
            std::fs::create_dir_all(&dimm).expect("folder");
            let write = |path: std::path::PathBuf, text: &str| {
                std::fs::write(path, text).expect("file");
            };
            write(
                mc.join("mc_name"),
                &format!("Skylake Socket#{} IMC#{}\n", index / 4, index / 2 % 2),
            );
            write(dimm.join("dimm_label"), label);
            write(dimm.join("dimm_location"), location);
            write(dimm.join("size"), mib);
            write(dimm.join("dimm_mem_type"), "Registered-DDR4\n");
        }
        Root::at(dir)
    }

    fn remove(name: &str) {
        let _ = std::fs::remove_dir_all(
            std::env::temp_dir().join(format!("narrows-edac-{name}-{}", std::process::id())),
        );
    }

    #[test]
    fn modules_are_placed_by_the_drivers_label_or_by_controller_and_location() {
        let root = root(
            "placed",
            &[
                ("CPU_SrcID#0_MC#0_Chan#2_DIMM#0", "channel 2 slot 0", "32768"),
                ("CPU_SrcID#0_MC#0_Chan#1_DIMM#0", "channel 1 slot 0", "32768"),
                ("A7", "channel 0 slot 0", "16384"),
            ],
        );
        let modules = read(&root);
        let slots = fill(Fact::absent("no table"), &modules);
        let at: Vec<(u32, Option<u32>, ChannelId)> = slots
            .value()
            .expect("slots")
            .iter()
            .filter_map(|slot| slot.at.clone())
            .map(|at| (at.socket, at.controller, at.channel))
            .collect();
        let want = [(0, Some(0), "M0C2"), (0, Some(0), "M0C1"), (0, Some(1), "M1C0")];
        assert_eq!(at, want.map(|(socket, mc, channel)| (socket, mc, channel.into())));
        let size = slots.value().and_then(|slots| slots[2].module.clone()?.size_bytes);
        assert_eq!(size, Some(Bytes::gib(16)));
        remove("placed");
    }

    #[test]
    fn one_module_that_cannot_be_placed_leaves_all_of_them() {
        let root = root(
            "unplaced",
            &[
                ("CPU_SrcID#0_MC#0_Chan#2_DIMM#0", "channel 2 slot 0", "32768"),
                ("mc#1csrow#0channel#1", "csrow 0 channel 1", "32768"),
            ],
        );
        let modules = read(&root);
        assert_eq!(modules.value().map(Vec::len), Some(2));
        assert!(matches!(fill(Fact::absent("no table"), &modules), Fact::Absent { .. }));
        remove("unplaced");
    }

    #[test]
    fn a_numbering_that_the_driver_contradicts_is_not_taken() {
        use narrows_model::host::SlotPlace;
        let root = root(
            "confirmed",
            &[
                ("CPU_SrcID#0_MC#0_Chan#0_DIMM#0", "channel 0 slot 0", "32768"),
                ("CPU_SrcID#0_MC#0_Chan#1_DIMM#0", "channel 1 slot 0", "32768"),
            ],
        );
        let modules = read(&root);
        let slots = |channels: [&str; 2], gib: u64| {
            let slot = |channel: &str| Slot {
                at: Some(SlotPlace { channel: channel.into(), ..SlotPlace::default() }),
                module: Some(Module {
                    size_bytes: Some(Bytes::gib(gib)),
                    is_dram: true,
                    ..Module::default()
                }),
                ..Slot::default()
            };
            Fact::known(channels.map(slot).to_vec(), "planted")
        };
        let is_placed = |slots: Fact<Vec<Slot>>| {
            let confirmed = confirmed(slots, &modules);
            confirmed.value().is_some_and(|slots| slots.iter().all(|slot| slot.at.is_some()))
        };
        assert!(is_placed(slots(["A", "B"], 32)), "names differ, and what they hold does not");
        assert!(!is_placed(slots(["A", "A"], 32)), "two on one channel");
        // Other modules than the driver's: nothing is said of where they are.
        assert!(is_placed(slots(["A", "A"], 16)));
        let both = fill(confirmed(slots(["A", "A"], 32), &modules), &modules);
        let at = both.value().and_then(|slots| slots[1].at.clone());
        assert_eq!(at.map(|at| at.channel), Some("M0C1".into()), "the driver's places");
        remove("confirmed");
    }

    /// Names and numbers of sockets and channels are each one's own: what counts is what they hold.
    #[test]
    fn a_shape_is_what_channels_hold_whatever_they_are_called() {
        let held = |all: &[(u32, &str, u64)]| -> Vec<(Channel, u64)> {
            all.iter().map(|(socket, channel, gib)| ((*socket, (*channel).into()), *gib)).collect()
        };
        let one = held(&[(0, "A", 16), (0, "A", 32), (0, "B", 8), (1, "A", 4)]);
        let wanted = [vec![vec![4]], vec![vec![8], vec![16, 32]]];
        assert_eq!(shape(&one), wanted);
        let renamed = held(&[(7, "X", 4), (3, "C", 32), (3, "D", 8), (3, "C", 16)]);
        assert_eq!(shape(&renamed), wanted, "sockets and channels in another order");
        let moved = held(&[(0, "A", 16), (0, "B", 32), (0, "B", 8), (1, "A", 4)]);
        assert_ne!(shape(&moved), wanted);
        assert!(shape(&[]).is_empty());
    }
}
