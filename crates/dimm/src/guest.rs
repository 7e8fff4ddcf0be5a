//! Virtual machines by the product that their firmware names: the modules of such a table are a
//! hypervisor's invention, which tells how much memory it gave and nothing of channels.

/// Words of makers and products that hypervisors give their machines, in lower case. A bare-metal
/// instance of a cloud (`m5.metal`) bears the cloud's name too: its maker's word is no mark alone.
const HYPERVISORS: &[(&str, &str)] = &[
    ("microsoft corporation virtual machine", "Hyper-V"),
    ("vmware", "VMware"),
    ("virtualbox", "VirtualBox"),
    ("xen hvm domu", "Xen"),
    ("qemu standard pc", "QEMU"),
    ("qemu virtual machine", "QEMU"),
    ("red hat kvm", "KVM"),
    ("red hat rhev hypervisor", "KVM"),
    ("kubevirt", "KubeVirt"),
    ("openstack nova", "OpenStack"),
    ("openstack foundation", "OpenStack"),
    ("ovirt node", "oVirt"),
    ("nutanix ahv", "AHV"),
    ("google compute engine", "Google Compute Engine"),
    ("parallels virtual platform", "Parallels"),
    ("parallels international", "Parallels"),
    ("alibaba cloud ecs", "Alibaba Cloud"),
    ("bhyve", "bhyve"),
    ("bochs", "Bochs"),
];

/// The hypervisor whose machine a maker and product name; `None` for those of hardware.
pub fn hypervisor(product: &str) -> Option<&'static str> {
    let lower = product.to_lowercase();
    HYPERVISORS.iter().find(|(words, _)| lower.contains(words)).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_of_hypervisors_are_told_from_hardware() {
        for (product, want) in [
            ("Microsoft Corporation Virtual Machine", Some("Hyper-V")),
            ("VMware, Inc. VMware Virtual Platform", Some("VMware")),
            ("QEMU Standard PC (Q35 + ICH9, 2009)", Some("QEMU")),
            ("Xen HVM domU", Some("Xen")),
            ("Microsoft Corporation C2060", None),
            ("Amazon EC2 m5.metal", None),
            ("Dell Inc. PowerEdge R740", None),
            ("Nutanix NX-3060-G5", None),
            ("Alibaba Cloud X-Dragon", None),
        ] {
            assert_eq!(hypervisor(product), want, "{product}");
        }
    }
}
