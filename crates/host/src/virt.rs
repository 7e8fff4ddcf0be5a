//! What kind of machine this is: product, hypervisor, container.

use crate::Root;
use narrows_facts::Fact;

/// Maker and product, from the world-readable part of DMI, or the device tree of an Arm board.
pub fn product(root: &Root) -> Fact<String> {
    let maker = root.text("sys/class/dmi/id/sys_vendor");
    let product = root.text("sys/class/dmi/id/product_name");
    match (maker.value(), product.value()) {
        (Some(maker), Some(product)) => {
            Fact::known(format!("{maker} {product}"), "/sys/class/dmi/id")
        }
        (None, None) => root
            .text("proc/device-tree/model")
            .and_then(|text| Ok(text.trim_end_matches('\0').to_owned())),
        (Some(_), None) => maker,
        (None, Some(_)) => product,
    }
}

/// Hypervisor or container around this system; `Absent` when none shows.
pub fn hypervisor(root: &Root) -> Fact<String> {
    let kind = root.text("sys/hypervisor/type");
    if kind.value().is_some() {
        return kind;
    }
    if root.has(".dockerenv") || root.has("run/.containerenv") {
        return Fact::known("container".to_owned(), "/.dockerenv or /run/.containerenv");
    }
    let cpuinfo = root.text("proc/cpuinfo");
    let flags = cpuinfo.value().and_then(|text| {
        text.lines().find_map(|line| line.strip_prefix("flags")?.split_once(':').map(|(_, f)| f))
    });
    let vendor = root.text("sys/class/dmi/id/sys_vendor");
    if flags.is_some_and(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor")) {
        let known = vendor.value().map(|vendor| format!("virtual machine ({vendor})"));
        let value = known.unwrap_or_else(|| "virtual machine".to_owned());
        return Fact::known(value, "/proc/cpuinfo, flag hypervisor");
    }
    Fact::absent("/proc/cpuinfo, flag hypervisor")
}
