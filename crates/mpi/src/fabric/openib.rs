//! Open MPI's own way to verbs, `btl openib`, up to version 4: what NetEffect's and other adapters
//! of iWARP were driven by. It is a component, which a build may leave out.

use super::{NotBuilt, Variables};
use std::fs;
use std::path::{Path, PathBuf};

/// Where the kernel lists RDMA devices.
const DEVICES: &str = "/sys/class/infiniband";
/// Names of the folder that components lie in, beside the library: Debian's has the ABI's number.
const FOLDERS: [&str; 2] = ["openmpi", "openmpi3"];
/// The component's file.
const OWN: &str = "mca_btl_openib.so";
/// A component that every build with components of their own has: beside it the others lie.
const ALWAYS: &str = "mca_btl_tcp.so";
/// The first version without it.
const GONE: u32 = 5;

/// Settings that hold a library to a device, `nes0` or `mlx4_0:1`.
pub(super) fn variables(device: &str, version: &str) -> Result<Variables, NotBuilt> {
    let why = lacks(version, library_folder().as_deref());
    let refused = why.map(|why| NotBuilt {
        library: version.to_owned(),
        fabric: format!("openib:{device}"),
        why,
    });
    refused.map_or_else(|| Ok(settings(device, is_ethernet(device, Path::new(DEVICES)))), Err)
}

/// Why a library of this version, which lies in that folder, has none; nothing where it may.
fn lacks(version: &str, folder: Option<&Path>) -> Option<String> {
    if major(version).is_some_and(|major| major >= GONE) {
        return Some(
            ": Open MPI has no openib from 5 on; ucx:DEVICE drives what it did".to_owned(),
        );
    }
    let components = components(folder?)?;
    let there = components.join(OWN).exists();
    (!there).then(|| format!(": {} has no {OWN}", components.display()))
}

/// `4` of `Open MPI v4.1.4`.
fn major(version: &str) -> Option<u32> {
    let (_, number) = version.split_once("Open MPI v")?;
    number.split('.').next()?.parse().ok()
}

/// The folder of a library's components; `None` of one that has them inside.
fn components(library: &Path) -> Option<PathBuf> {
    let mut all = FOLDERS.iter().map(|folder| library.join(folder));
    all.find(|folder| folder.join(ALWAYS).exists())
}

/// The folder of the library that this process has loaded.
fn library_folder() -> Option<PathBuf> {
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    let mut files = maps.lines().filter_map(|line| line.find('/').map(|at| &line[at..]));
    let file = files.find(|file| {
        let name = Path::new(file).file_name().map(|name| name.to_string_lossy());
        name.is_some_and(|name| name.split('.').next() == Some("libmpi"))
    })?;
    Path::new(file).parent().map(Path::to_owned)
}

/// Whether a port of the device is of Ethernet, as with iWARP and RoCE.
fn is_ethernet(device: &str, devices: &Path) -> bool {
    let (name, port) = device.split_once(':').unwrap_or((device, "1"));
    let layer = fs::read_to_string(devices.join(name).join("ports").join(port).join("link_layer"));
    layer.is_ok_and(|layer| layer.trim() == "Ethernet")
}

/// Whether this host has the device.
pub(super) fn is_there(device: &str) -> bool {
    let name = device.split_once(':').map_or(device, |(name, _)| name);
    Path::new(DEVICES).join(name).is_dir()
}

fn settings(device: &str, is_ethernet: bool) -> Variables {
    let mut all = vec![
        ("OMPI_MCA_pml", "ob1".to_owned()),
        ("OMPI_MCA_btl", "self,openib".to_owned()),
        ("OMPI_MCA_btl_openib_if_include", device.to_owned()),
        // Version 4 leaves ports of InfiniBand to UCX unless it is told otherwise.
        ("OMPI_MCA_btl_openib_allow_ib", "1".to_owned()),
    ];
    if is_ethernet {
        // Its other ways to connect are InfiniBand's alone.
        all.push(("OMPI_MCA_btl_openib_cpc_include", "rdmacm".to_owned()));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iwarp_connects_by_rdmacm_and_infiniband_as_the_library_likes() {
        let folder = folder("layers");
        for (name, layer) in [("nes0", "Ethernet\n"), ("mlx4_0", "InfiniBand\n")] {
            let port = folder.join(name).join("ports/1");
            fs::create_dir_all(&port).expect("a folder");
            fs::write(port.join("link_layer"), layer).expect("a file");
        }
        let says = |device: &str| {
            let all = settings(device, is_ethernet(device, &folder));
            all.iter().map(|(name, value)| format!("{name}={value} ")).collect::<String>()
        };
        let plain = |device: &str| {
            format!(
                "OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,openib \
                 OMPI_MCA_btl_openib_if_include={device} OMPI_MCA_btl_openib_allow_ib=1 "
            )
        };
        let rdmacm = "OMPI_MCA_btl_openib_cpc_include=rdmacm ";
        for device in ["nes0", "nes0:1"] {
            assert_eq!(says(device), plain(device) + rdmacm);
        }
        assert_eq!(says("mlx4_0:1"), plain("mlx4_0:1"));
        assert_eq!(says("nes0:2"), plain("nes0:2"), "there is no such port");
        fs::remove_dir_all(folder).expect("removed");
    }

    #[test]
    fn a_library_without_the_component_is_named_with_the_reason() {
        let folder = folder("components");
        let four = "Open MPI v4.1.4";
        assert_eq!(lacks(four, Some(&folder)), None, "its components may be inside");
        let own = folder.join("openmpi3");
        fs::create_dir_all(&own).expect("a folder");
        assert_eq!(lacks(four, Some(&folder)), None);
        fs::write(own.join(ALWAYS), "").expect("a file");
        let why = lacks(four, Some(&folder)).expect("a reason");
        assert!(why.ends_with("openmpi3 has no mca_btl_openib.so"), "{why}");
        fs::write(own.join(OWN), "").expect("a file");
        assert_eq!(lacks(four, Some(&folder)), None);
        let why = lacks("Open MPI v5.0.11", Some(&folder)).expect("a reason");
        assert!(why.contains("no openib from 5 on"), "{why}");
        fs::remove_dir_all(folder).expect("removed");
    }

    fn folder(name: &str) -> PathBuf {
        let own = format!("narrows-openib-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(own);
        fs::create_dir_all(&folder).expect("a folder");
        folder
    }
}
