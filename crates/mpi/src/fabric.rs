//! Fabrics by one word for all implementations, and the settings that make each use it.

mod openib;

use crate::Flavour;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use thiserror::Error;

/// What is to carry the messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fabric {
    /// Memory of the host that the ranks share.
    Shm,
    /// TCP over an interface.
    Tcp {
        /// Its name, the same on every host.
        interface: String,
    },
    /// A provider of libfabric.
    Ofi {
        /// Its name: `tcp;ofi_rxm`, `verbs;ofi_rxm`, `psm3`.
        provider: String,
        /// The interface or domain that it is held to.
        interface: Option<String>,
    },
    /// UCX over a device: an interface, or `mlx5_0:1`.
    Ucx {
        /// Its name, as UCX has it.
        device: String,
    },
    /// Verbs by Open MPI itself, up to its version 4.
    OpenIb {
        /// Its name, with the port or without: `nes0`, `mlx4_0:1`.
        device: String,
    },
}

/// A word that is no fabric.
#[derive(Debug, Error)]
#[error(
    "{0:?} is none of shm, tcp:INTERFACE, ofi:PROVIDER[@INTERFACE], ucx:DEVICE and openib:DEVICE"
)]
pub struct NoFabric(String);

impl FromStr for Fabric {
    type Err = NoFabric;

    fn from_str(text: &str) -> Result<Self, NoFabric> {
        let wrong = || NoFabric(text.to_owned());
        if text == "shm" {
            return Ok(Self::Shm);
        }
        let (kind, rest) = text.split_once(':').ok_or_else(wrong)?;
        let (name, at) = rest.split_once('@').map_or((rest, None), |(name, at)| (name, Some(at)));
        if !is_plain(name) || at.is_some_and(|at| !is_plain(at) || kind != "ofi") {
            return Err(wrong());
        }
        let name = name.to_owned();
        match kind {
            "tcp" => Ok(Self::Tcp { interface: name }),
            "ofi" => Ok(Self::Ofi { provider: name, interface: at.map(str::to_owned) }),
            "ucx" => Ok(Self::Ucx { device: name }),
            "openib" => Ok(Self::OpenIb { device: name }),
            _ => Err(wrong()),
        }
    }
}

fn is_plain(name: &str) -> bool {
    let odd = |c: char| c.is_whitespace() || c.is_control() || c == ',';
    !name.is_empty() && !name.contains(odd)
}

impl fmt::Display for Fabric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shm => f.write_str("shm"),
            Self::Tcp { interface } => write!(f, "tcp:{interface}"),
            Self::Ofi { provider, interface: None } => write!(f, "ofi:{provider}"),
            Self::Ofi { provider, interface: Some(at) } => write!(f, "ofi:{provider}@{at}"),
            Self::Ucx { device } => write!(f, "ucx:{device}"),
            Self::OpenIb { device } => write!(f, "openib:{device}"),
        }
    }
}

/// The fabric that an implementation was not built for.
#[derive(Debug, Error)]
#[error("{library} was built without what {fabric} needs{why}")]
pub struct NotBuilt {
    /// What the library says that it is.
    pub library: String,
    /// The fabric that was asked for.
    pub fabric: String,
    /// What is known of why, behind a colon; empty where nothing is.
    pub why: String,
}

type Variables = Vec<(&'static str, String)>;

impl Fabric {
    /// The device whose counters show that it was used; `None` for memory, and where a provider
    /// chooses by itself.
    pub fn device(&self) -> Option<&str> {
        match self {
            Self::Shm => None,
            Self::Tcp { interface } => Some(interface),
            Self::Ofi { interface, .. } => interface.as_deref(),
            Self::Ucx { device } | Self::OpenIb { device } => Some(device),
        }
    }

    /// The RDMA device that it names, where this host has none of that name. One that UCX or a
    /// provider names is theirs to judge.
    pub fn absent_device(&self) -> Option<&str> {
        match self {
            Self::OpenIb { device } if !openib::is_there(device) => Some(device),
            _ => None,
        }
    }

    /// The interface that it names, where that is none of those that are there. A device of RDMA
    /// and a network in place of a name are the library's to judge.
    pub fn absent(&self, is_there: impl Fn(&str) -> bool) -> Option<&str> {
        let name = match self {
            Self::Tcp { interface } => interface,
            Self::Ofi { interface: Some(at), .. } if !self.passes_the_kernel() => at,
            _ => return None,
        };
        let is_network = name.contains('/') || name.parse::<IpAddr>().is_ok();
        (!is_network && !is_there(name)).then_some(name)
    }

    /// Whether an interface that it is held to is passed by: then the interface's counter sees
    /// nothing of it, but where RDMA is made in software.
    pub fn passes_the_kernel(&self) -> bool {
        match self {
            Self::Ofi { provider, .. } => PAST_THE_KERNEL.contains(&held_by(provider)),
            Self::OpenIb { .. } => true,
            _ => false,
        }
    }

    /// Whether UCX drives its device through verbs, and not as an interface.
    fn is_verbs(device: &str) -> bool {
        device.contains(':')
    }

    /// Variables that make a library use it, set before it starts.
    pub fn variables(&self, flavour: Flavour, version: &str) -> Result<Variables, NotBuilt> {
        match flavour {
            Flavour::OpenMpi => self.of_open_mpi(version),
            Flavour::Mpich => self.of_mpich(version),
        }
    }

    fn of_open_mpi(&self, version: &str) -> Result<Variables, NotBuilt> {
        Ok(match self {
            Self::OpenIb { device } => openib::variables(device, version)?,
            Self::Shm => {
                vec![setting("OMPI_MCA_pml", "ob1"), setting("OMPI_MCA_btl", "self,vader")]
            }
            Self::Tcp { interface } => vec![
                setting("OMPI_MCA_pml", "ob1"),
                setting("OMPI_MCA_btl", "self,tcp"),
                setting("OMPI_MCA_btl_tcp_if_include", interface),
            ],
            Self::Ofi { provider, interface } => {
                let mut all = vec![
                    setting("OMPI_MCA_pml", "cm"),
                    setting("OMPI_MCA_mtl", "ofi"),
                    setting("OMPI_MCA_mtl_ofi_provider_include", provider),
                ];
                all.extend(interface.iter().map(|at| setting(held_by(provider), at)));
                all
            }
            Self::Ucx { device } => {
                // Without the two `any` ob1 is preferred where there is no RDMA hardware.
                let mut all = vec![
                    setting("OMPI_MCA_pml", "ucx"),
                    setting("OMPI_MCA_pml_ucx_tls", "any"),
                    setting("OMPI_MCA_pml_ucx_devices", "any"),
                ];
                all.extend(Self::of_ucx(device));
                all
            }
        })
    }

    fn of_ucx(device: &str) -> Variables {
        let mut all = vec![("UCX_NET_DEVICES", device.to_owned())];
        if !Self::is_verbs(device) {
            all.push(("UCX_TLS", "tcp,self".to_owned()));
        }
        all
    }

    fn of_mpich(&self, version: &str) -> Result<Variables, NotBuilt> {
        let modules = modules(version);
        let has = |name: &str| modules.contains(&name);
        let (ucx, ofi) = (has("ucx"), has("ofi"));
        let not_local = ("MPIR_CVAR_NOLOCAL", "1".to_owned());
        let built = match self {
            Self::Shm => Some(Vec::new()),
            Self::Tcp { interface } if ucx => Some(Self::of_ucx(interface)),
            Self::Tcp { interface } if ofi => Some(vec![
                ("FI_PROVIDER", "tcp;ofi_rxm".to_owned()),
                ("FI_TCP_IFACE", interface.clone()),
            ]),
            Self::Ucx { device } if ucx => Some(Self::of_ucx(device)),
            Self::Ofi { provider, interface } if ofi => {
                let mut all = vec![("FI_PROVIDER", provider.clone())];
                all.extend(interface.iter().map(|at| setting(held_by(provider), at)));
                Some(all)
            }
            _ => None,
        };
        let why = match self {
            Self::OpenIb { .. } => ": only Open MPI has it, up to 4".to_owned(),
            _ => String::new(),
        };
        let (library, fabric) = (version.to_owned(), self.to_string());
        let mut all = built.ok_or(NotBuilt { library, fabric, why })?;
        if *self != Self::Shm {
            all.push(not_local);
        }
        // The first that it was built with is taken where none is named.
        if let (2.., Some(own)) = (modules.len(), self.module(ucx)) {
            all.push(("MPIR_CVAR_CH4_NETMOD", own.to_owned()));
        }
        Ok(all)
    }

    /// The network module of MPICH that drives it; `None` of memory.
    fn module(&self, has_ucx: bool) -> Option<&'static str> {
        match self {
            Self::Shm | Self::OpenIb { .. } => None,
            Self::Ofi { .. } => Some("ofi"),
            Self::Ucx { .. } => Some("ucx"),
            Self::Tcp { .. } => Some(if has_ucx { "ucx" } else { "ofi" }),
        }
    }
}

/// What holds the providers that do without the kernel's interfaces.
const PAST_THE_KERNEL: [&str; 3] = ["FI_VERBS_IFACE", "FI_EFA_IFACE", "PSM3_NIC"];

/// The variable that holds a provider of libfabric to an interface, or to a device: each has its
/// own. What is over another, as in `udp;ofi_rxd`, uses that one's.
fn held_by(provider: &str) -> &'static str {
    let all = [
        ("sockets", "FI_SOCKETS_IFACE"),
        ("net", "FI_NET_IFACE"),
        ("udp", "FI_UDP_IFACE"),
        ("verbs", "FI_VERBS_IFACE"),
        ("efa", "FI_EFA_IFACE"),
        ("psm3", "PSM3_NIC"),
    ];
    let mut parts = provider.split(';');
    parts
        .find_map(|part| all.iter().find(|(name, _)| *name == part))
        .map_or("FI_TCP_IFACE", |(_, variable)| variable)
}

/// Network modules that an MPICH was built with: `ch4:ucx ofi` has two.
fn modules(version: &str) -> Vec<&str> {
    let device = version.split_once("ch4:").map_or("", |(_, device)| device);
    device.split(',').next().unwrap_or_default().split_whitespace().collect()
}

fn setting(name: &'static str, value: &str) -> (&'static str, String) {
    (name, value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_and_written_alike() {
        for word in [
            "shm",
            "tcp:eth0",
            "ofi:tcp;ofi_rxm",
            "ofi:tcp;ofi_rxm@nic0",
            "ucx:mlx5_0:1",
            "openib:nes0",
            "openib:mlx4_0:1",
        ] {
            assert_eq!(word.parse::<Fabric>().expect("a fabric").to_string(), word);
        }
        for word in
            ["", "tcp", "tcp:", "tcp:a,b", "tcp:a@b", "ib:mlx5_0", "ofi:x@", "ucx:a b", "openib:"]
        {
            assert!(word.parse::<Fabric>().is_err(), "{word}");
        }
    }

    #[test]
    fn each_implementation_has_its_own_settings() {
        let tcp: Fabric = "tcp:nic0".parse().expect("a fabric");
        let set = tcp.variables(Flavour::OpenMpi, "Open MPI v4.1.4").expect("settings");
        assert!(set.contains(&("OMPI_MCA_btl_tcp_if_include", "nic0".to_owned())), "{set:?}");
        let set = tcp.variables(Flavour::Mpich, "MPICH 4.0.2, ch4:ucx").expect("settings");
        assert!(set.contains(&("UCX_NET_DEVICES", "nic0".to_owned())), "{set:?}");
        assert!(set.contains(&("MPIR_CVAR_NOLOCAL", "1".to_owned())), "{set:?}");
        let set = tcp.variables(Flavour::Mpich, "MPICH 4.2, ch4:ofi").expect("settings");
        assert!(set.contains(&("FI_TCP_IFACE", "nic0".to_owned())), "{set:?}");
        let ofi: Fabric = "ofi:tcp;ofi_rxm".parse().expect("a fabric");
        assert!(ofi.variables(Flavour::Mpich, "MPICH 4.0.2, ch4:ucx").is_err());
        let verbs: Fabric = "ucx:mlx5_0:1".parse().expect("a fabric");
        let set = verbs.variables(Flavour::OpenMpi, "").expect("settings");
        assert!(!set.iter().any(|(name, _)| *name == "UCX_TLS"), "{set:?}");
    }

    /// What a fabric sets, in one line.
    fn set(word: &str, version: &str) -> Result<String, NotBuilt> {
        let is_open = version.starts_with("Open MPI");
        let flavour = if is_open { Flavour::OpenMpi } else { Flavour::Mpich };
        let set = word.parse::<Fabric>().expect("a fabric").variables(flavour, version)?;
        let words = set.iter().map(|(name, value)| format!("{name}={value}"));
        Ok(words.collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn openib_is_refused_where_there_is_none_with_the_reason() {
        let refused = |version: &str| set("openib:nes0", version).expect_err("none").to_string();
        assert_eq!(
            refused("MPICH 4.0.2, ch4:ucx"),
            "MPICH 4.0.2, ch4:ucx was built without what openib:nes0 needs: only Open MPI has it, \
             up to 4"
        );
        assert!(refused("Open MPI v5.0.11").ends_with("ucx:DEVICE drives what it did"));
    }

    #[test]
    fn an_mpich_of_two_network_modules_is_told_which() {
        let both = "MPICH 5.0.2, ch4:ucx ofi, standard ABI 1.0";
        for (word, variables) in [
            ("shm", ""),
            (
                "ofi:tcp@nic0",
                "FI_PROVIDER=tcp FI_TCP_IFACE=nic0 MPIR_CVAR_NOLOCAL=1 MPIR_CVAR_CH4_NETMOD=ofi",
            ),
            (
                "tcp:nic0",
                "UCX_NET_DEVICES=nic0 UCX_TLS=tcp,self MPIR_CVAR_NOLOCAL=1 \
                 MPIR_CVAR_CH4_NETMOD=ucx",
            ),
            (
                "ucx:mlx5_0:1",
                "UCX_NET_DEVICES=mlx5_0:1 MPIR_CVAR_NOLOCAL=1 MPIR_CVAR_CH4_NETMOD=ucx",
            ),
        ] {
            assert_eq!(set(word, both).expect("built"), variables, "{word}");
        }
    }

    #[test]
    fn an_interface_that_is_not_there_is_named_and_a_device_is_not_asked_for() {
        let absent = |word: &str| {
            let fabric: Fabric = word.parse().expect("a fabric");
            fabric.absent(|name| name == "eth0").map(str::to_owned)
        };
        assert_eq!(absent("tcp:eth7").as_deref(), Some("eth7"));
        assert_eq!(absent("ofi:tcp;ofi_rxm@eth0.7").as_deref(), Some("eth0.7"));
        for word in [
            "tcp:eth0",
            "tcp:198.51.100.0/24",
            "ofi:tcp@198.51.100.1",
            "ofi:tcp",
            "ofi:verbs;ofi_rxm@mlx5_0",
            "ucx:mlx5_0:1",
            "ucx:mlx5_0",
            "shm",
        ] {
            assert_eq!(absent(word), None, "{word}");
        }
    }

    #[test]
    fn each_provider_is_held_to_its_interface_in_its_own_words() {
        for (provider, variable) in [
            ("tcp", "FI_TCP_IFACE"),
            ("tcp;ofi_rxm", "FI_TCP_IFACE"),
            ("net;ofi_rxm", "FI_NET_IFACE"),
            ("udp;ofi_rxd", "FI_UDP_IFACE"),
            ("sockets", "FI_SOCKETS_IFACE"),
            ("ofi_rxm;verbs", "FI_VERBS_IFACE"),
            ("efa", "FI_EFA_IFACE"),
            ("psm3", "PSM3_NIC"),
        ] {
            assert_eq!(held_by(provider), variable, "{provider}");
        }
        let passes = |word: &str| word.parse::<Fabric>().expect("a fabric").passes_the_kernel();
        assert!(passes("ofi:verbs;ofi_rxm@eth1") && passes("ofi:psm3@mlx5_0"));
        assert!(!passes("ofi:tcp@eth1") && !passes("ucx:mlx5_0:1") && !passes("tcp:eth1"));
    }

    /// Every variable of every fabric, as the documentation of each implementation has it.
    #[test]
    fn a_fabric_is_what_its_variables_say_and_no_others() {
        let (open, ucx, ofi) = ("Open MPI v4.1.4", "MPICH 4.0.2, ch4:ucx", "MPICH 4.2, ch4:ofi");
        for (word, version, variables) in [
            ("shm", open, "OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,vader"),
            (
                "tcp:nic0",
                open,
                "OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,tcp OMPI_MCA_btl_tcp_if_include=nic0",
            ),
            (
                "ofi:psm3@nic0",
                open,
                "OMPI_MCA_pml=cm OMPI_MCA_mtl=ofi OMPI_MCA_mtl_ofi_provider_include=psm3 \
                 PSM3_NIC=nic0",
            ),
            (
                "ucx:nic0",
                open,
                "OMPI_MCA_pml=ucx OMPI_MCA_pml_ucx_tls=any OMPI_MCA_pml_ucx_devices=any \
                 UCX_NET_DEVICES=nic0 UCX_TLS=tcp,self",
            ),
            ("shm", ucx, ""),
            ("tcp:nic0", ucx, "UCX_NET_DEVICES=nic0 UCX_TLS=tcp,self MPIR_CVAR_NOLOCAL=1"),
            ("ucx:mlx5_0:1", ucx, "UCX_NET_DEVICES=mlx5_0:1 MPIR_CVAR_NOLOCAL=1"),
            ("tcp:nic0", ofi, "FI_PROVIDER=tcp;ofi_rxm FI_TCP_IFACE=nic0 MPIR_CVAR_NOLOCAL=1"),
            ("ofi:psm3@nic0", ofi, "FI_PROVIDER=psm3 PSM3_NIC=nic0 MPIR_CVAR_NOLOCAL=1"),
            (
                "ofi:udp;ofi_rxd@nic0",
                ofi,
                "FI_PROVIDER=udp;ofi_rxd FI_UDP_IFACE=nic0 MPIR_CVAR_NOLOCAL=1",
            ),
            ("ofi:psm3", ofi, "FI_PROVIDER=psm3 MPIR_CVAR_NOLOCAL=1"),
        ] {
            assert_eq!(set(word, version).expect("built"), variables, "{word} of {version}");
        }
        for (word, version) in
            [("ucx:nic0", ofi), ("ofi:psm3", ucx), ("tcp:nic0", "MPICH 3.4, ch3:nemesis")]
        {
            let why = set(word, version).expect_err("not built").to_string();
            assert_eq!(why, format!("{version} was built without what {word} needs"));
        }
        let device = |word: &str| word.parse::<Fabric>().ok()?.device().map(str::to_owned);
        let devices = ["shm", "tcp:a", "ofi:b", "ofi:b@c", "ucx:d:1"].map(device);
        assert_eq!(devices.map(|it| it.unwrap_or_default()), ["", "a", "", "c", "d:1"]);
    }
}
