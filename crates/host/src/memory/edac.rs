//! Modules as the drivers of memory controllers list them (EDAC), which ordinary users may read.

use crate::Root;
use narrows_dimm::locator;
use narrows_model::host::{ControllerModule, Module, Slot};
use narrows_model::{Bytes, Fact};

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
    match modules.is_empty() {
        true => Fact::absent(format!("/{CONTROLLERS}")),
        false => Fact::known(modules, format!("/{CONTROLLERS}")),
    }
}

fn module(root: &Root, dir: &str, controller: &str) -> Option<ControllerModule> {
    let text = |file: &str| root.text(&format!("{dir}/{file}")).value().cloned();
    let mib = *root.number(&format!("{dir}/size")).value()?;
    let (label, location) =
        (text("dimm_label").unwrap_or_default(), text("dimm_location").unwrap_or_default());
    // The driver's own label names all; where the board's names replaced it, the controller's name
    // and the location do.
    let at = locator::read(&label).or_else(|| locator::read(&format!("{controller} {location}")));
    Some(ControllerModule {
        controller: controller.to_owned(),
        at: at.map(locator::Spelt::placed),
        size_bytes: u64::try_from(mib).ok().filter(|mib| *mib > 0).map(Bytes::mib),
        technology: text("dimm_mem_type"),
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

/// The module that all of firmware's modules are like in speed and ranks.
fn alike(slots: &[Slot]) -> Option<&Module> {
    let mut modules =
        slots.iter().filter_map(|slot| slot.module.as_ref()).filter(|module| module.is_dram);
    let first = modules.next()?;
    let same = |other: &Module| {
        (other.rated_mts, other.configured_mts, other.ranks)
            == (first.rated_mts, first.configured_mts, first.ranks)
    };
    modules.all(same).then_some(first)
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
        let at: Vec<(u32, Option<u32>, String)> = slots
            .value()
            .expect("slots")
            .iter()
            .filter_map(|slot| slot.at.clone())
            .map(|at| (at.socket, at.controller, at.channel))
            .collect();
        let want = [(0, Some(0), "M0C2"), (0, Some(0), "M0C1"), (0, Some(1), "M1C0")];
        assert_eq!(at, want.map(|(socket, mc, channel)| (socket, mc, channel.to_owned())));
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
}
