//! What kind of machine this is: product, hypervisor, container.

use crate::Root;
use narrows_dimm::guest;
use narrows_model::Fact;
use narrows_model::host::Host;

/// Maker and product, from the world-readable part of DMI, or the device tree of an Arm board.
pub fn product(root: &Root) -> Fact<String> {
    let maker = root.text("sys/class/dmi/id/sys_vendor");
    let product = root.text("sys/class/dmi/id/product_name");
    match (maker.value(), product.value()) {
        (Some(maker), Some(product)) => {
            Fact::known(format!("{maker} {product}"), "/sys/class/dmi/id")
        }
        (None, None) => {
            root.text("proc/device-tree/model").map(|text| text.trim_end_matches('\0').to_owned())
        }
        (Some(_), None) => maker,
        (None, Some(_)) => product,
    }
}

/// The hypervisor by the product alone, where nothing else was there to tell: a description by
/// firmware or by a program.
pub fn by_product(host: &mut Host) {
    if host.virtualised.value().is_some() {
        return;
    }
    let product = host.product.value();
    if let Some(name) = product.and_then(|product| guest::hypervisor(product)) {
        let from = format!("{}, the product", host.product.source().0);
        host.virtualised = Fact::known(format!("virtual machine ({name})"), from);
    }
}

/// Hypervisor and container around this system; `Absent` when none shows.
pub fn hypervisor(root: &Root) -> Fact<String> {
    let found: Vec<(String, &str)> =
        [machine(root), container(root)].into_iter().flatten().collect();
    let join = |parts: Vec<String>| parts.join(" in a ");
    match found.is_empty() {
        true => Fact::absent("/proc/cpuinfo, flag hypervisor; /.dockerenv; /run/.containerenv"),
        // The container is inside the machine.
        false => {
            let from: Vec<&str> = found.iter().map(|(_, from)| *from).collect();
            let parts = found.iter().rev().map(|(what, _)| what.clone()).collect();
            Fact::known(join(parts), from.join("; "))
        }
    }
}

fn machine(root: &Root) -> Option<(String, &'static str)> {
    if let Some(kind) = root.text("sys/hypervisor/type").value() {
        return Some((format!("virtual machine ({kind})"), "/sys/hypervisor/type"));
    }
    let cpuinfo = root.text("proc/cpuinfo");
    let flags =
        cpuinfo.value()?.lines().find_map(|line| line.strip_prefix("flags")?.split_once(':'));
    let virtual_cpu = flags?.1.split_whitespace().any(|flag| flag == "hypervisor");
    let vendor = root.text("sys/class/dmi/id/sys_vendor");
    let name = match vendor.value() {
        Some(vendor) => format!("virtual machine ({vendor})"),
        None => "virtual machine".to_owned(),
    };
    virtual_cpu.then_some((name, "/proc/cpuinfo, flag hypervisor"))
}

fn container(root: &Root) -> Option<(String, &'static str)> {
    let mark = ["/.dockerenv", "/run/.containerenv"].into_iter().find(|file| root.has(&file[1..]));
    mark.map(|mark| ("container".to_owned(), mark))
}
