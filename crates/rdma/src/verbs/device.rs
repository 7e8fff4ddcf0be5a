//! Devices, their ports and identifiers, and protection domains.

use super::bindings::{
    IBV_MTU_256, IBV_TRANSPORT_IWARP, IBV_WC_SUCCESS, ibv_context, ibv_device, ibv_device_attr,
    ibv_gid, ibv_pd, ibv_port_attr,
};
use super::id::Id;
use super::verbs;
use crate::NativeError;
use std::ffi::CStr;
use std::net::{IpAddr, Ipv6Addr};
use std::path::Path;
use std::sync::Arc;

/// What carries a device's messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// InfiniBand's own, over InfiniBand or Ethernet (RoCE).
    InfiniBand,
    /// iWARP: over TCP.
    Iwarp,
}

/// Names of this host's devices, as libibverbs lists them: those of which it has a provider.
pub fn devices() -> Result<Vec<String>, NativeError> {
    with_list(|list| Ok(list.iter().map(|device| name_of(*device)).collect()))
}

/// Runs with the list of devices, which is freed afterwards.
fn with_list<T>(
    work: impl FnOnce(&[*mut ibv_device]) -> Result<T, NativeError>,
) -> Result<T, NativeError> {
    let verbs = verbs()?;
    let mut count = 0;
    // SAFETY: the count is ours; the answer is null or a list of so many devices.
    let list = unsafe { verbs.ibv_get_device_list(&raw mut count) };
    if list.is_null() {
        return Err(NativeError::listing());
    }
    // SAFETY: the library made `count` entries.
    let done = work(unsafe { std::slice::from_raw_parts(list, count.max(0) as usize) });
    // SAFETY: made by the call above and used no more; an opened device stays open.
    unsafe { verbs.ibv_free_device_list(list) };
    done
}

fn name_of(device: *mut ibv_device) -> String {
    let Ok(verbs) = verbs() else { return String::new() };
    // SAFETY: the device is one of a list or of an open context; its name lives as long.
    let name = unsafe { CStr::from_ptr(verbs.ibv_get_device_name(device)) };
    name.to_string_lossy().into_owned()
}

/// An entry of a port's table of identifiers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gid {
    /// Its place in the table.
    pub index: u8,
    /// The identifier, in network order.
    pub bytes: [u8; 16],
    /// `IB/RoCE v1`, `RoCE v2`; `None` where the kernel does not say.
    pub kind: Option<String>,
}

impl Gid {
    /// The IP address that it is made of, for RoCE.
    pub fn address(&self) -> IpAddr {
        IpAddr::V6(Ipv6Addr::from(self.bytes)).to_canonical()
    }

    /// True for RoCE over UDP, which routers forward.
    pub fn is_v2(&self) -> bool {
        self.kind.as_deref() == Some("RoCE v2")
    }
}

/// What a port says of itself.
#[derive(Clone, Copy, Debug)]
pub struct Port {
    /// True when it is up.
    pub is_active: bool,
    /// Its address on InfiniBand; 0 on Ethernet.
    pub lid: u16,
    /// Largest packet now, in bytes.
    pub mtu_bytes: u32,
    /// Entries of its table of identifiers.
    pub gids: u8,
}

impl Port {
    fn of(told: &ibv_port_attr) -> Self {
        Self {
            is_active: told.state == super::bindings::IBV_PORT_ACTIVE,
            lid: told.lid,
            mtu_bytes: 256 << (told.active_mtu.max(IBV_MTU_256) - IBV_MTU_256),
            gids: told.gid_tbl_len.clamp(0, 255) as u8,
        }
    }
}

/// An open device.
pub struct Device {
    context: *mut ibv_context,
}

// SAFETY: verbs may be called from any thread.
unsafe impl Send for Device {}
// SAFETY: as above; libibverbs locks what its calls share.
unsafe impl Sync for Device {}

impl Device {
    /// One that no library knows: it must not be dropped.
    #[cfg(test)]
    pub(super) fn made_up(context: *mut ibv_context) -> Self {
        Self { context }
    }

    /// Opens the device of this name.
    pub fn open(name: &str) -> Result<Self, NativeError> {
        let verbs = verbs()?;
        with_list(|list| {
            let device = list.iter().copied().find(|device| name_of(*device) == name);
            let device = device.ok_or_else(|| {
                let names: Vec<String> = list.iter().map(|device| name_of(*device)).collect();
                NativeError::Cannot(if names.is_empty() {
                    format!("no RDMA device '{name}': there is none")
                } else {
                    format!("no RDMA device '{name}': there is {}", names.join(", "))
                })
            })?;
            // SAFETY: the device is of the list, which is not freed yet.
            let context = unsafe { verbs.ibv_open_device(device) };
            if context.is_null() {
                Err(why_closed(name, NativeError::last(format!("opening the RDMA device {name}"))))
            } else {
                Ok(Self { context })
            }
        })
    }
}

/// Why a device could not be opened. libibverbs looks for its file in several ways and tells of the
/// last; that of a user who may not open the file is the first.
fn why_closed(name: &str, told: NativeError) -> NativeError {
    let classes = std::fs::read_dir("/sys/class/infiniband_verbs").into_iter().flatten().flatten();
    let Some(class) = classes.into_iter().find(|class| {
        let device = std::fs::read_to_string(class.path().join("ibdev"));
        device.is_ok_and(|device| device.trim() == name)
    }) else {
        return told;
    };
    let file = Path::new("/dev/infiniband").join(class.file_name());
    match std::fs::OpenOptions::new().read(true).write(true).open(&file) {
        Ok(_) => told,
        Err(source) => {
            let doing = format!("opening the RDMA device {name}: {}", file.display());
            NativeError::Call { doing, source }
        }
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        if let Ok(verbs) = verbs() {
            // SAFETY: opened by `open`, and whatever was made on it held it.
            unsafe { verbs.ibv_close_device(self.context) };
        }
    }
}

/// What keeps a device open.
pub(super) enum Holder {
    Opened(Device),
    /// The connection manager, for as long as the id lives.
    Managed(Id),
}

/// A protection domain: memory and queue pairs that may work together.
pub struct Domain {
    pub(super) pd: *mut ibv_pd,
    pub(super) holder: Holder,
}

// SAFETY: verbs may be called from any thread.
unsafe impl Send for Domain {}
// SAFETY: as above.
unsafe impl Sync for Domain {}

impl Domain {
    /// On an open device.
    pub fn new(device: Device) -> Result<Arc<Self>, NativeError> {
        Self::on(Holder::Opened(device))
    }

    pub(super) fn on(holder: Holder) -> Result<Arc<Self>, NativeError> {
        let mut domain = Self { pd: std::ptr::null_mut(), holder };
        // SAFETY: the context is open for as long as the holder lives.
        domain.pd = unsafe { verbs()?.ibv_alloc_pd(domain.context()) };
        if domain.pd.is_null() {
            Err(NativeError::last("making a protection domain"))
        } else {
            Ok(Arc::new(domain))
        }
    }

    pub(super) fn context(&self) -> *mut ibv_context {
        match &self.holder {
            Holder::Opened(device) => device.context,
            Holder::Managed(id) => id.context(),
        }
    }

    /// Name of the device.
    pub fn device(&self) -> String {
        // SAFETY: an open context names its device.
        name_of(unsafe { (*self.context()).device })
    }

    pub fn transport(&self) -> Transport {
        // SAFETY: as above.
        let kind = unsafe { (*(*self.context()).device).transport_type };
        if kind == IBV_TRANSPORT_IWARP { Transport::Iwarp } else { Transport::InfiniBand }
    }

    /// Reads and atomics that the device can have under way on a queue pair: as their target, and
    /// as their origin.
    pub fn reads_under_way(&self) -> Result<(u8, u8), NativeError> {
        let mut told = ibv_device_attr::default();
        // SAFETY: the context is open and the answer is ours.
        let failed = unsafe { verbs()?.ibv_query_device(self.context(), &raw mut told) };
        if failed != 0 {
            return Err(NativeError::number("asking an RDMA device what it can", failed));
        }
        Ok((least(told.max_qp_rd_atom), least(told.max_qp_init_rd_atom)))
    }

    /// Asks a port, counted from 1.
    pub fn port(&self, number: u8) -> Result<Port, NativeError> {
        let mut told = ibv_port_attr::default();
        // SAFETY: the library writes the older, shorter beginning of this structure.
        let failed =
            unsafe { verbs()?.ibv_query_port(self.context(), number, (&raw mut told).cast()) };
        if failed != 0 {
            let doing = format!("asking port {number} of {}", self.device());
            return Err(NativeError::number(doing, failed));
        }
        Ok(Port::of(&told))
    }

    /// The identifiers of a port that are set.
    pub fn gids(&self, port: u8) -> Result<Vec<Gid>, NativeError> {
        let verbs = verbs()?;
        let device = self.device();
        let mut found = Vec::new();
        for index in 0..self.port(port)?.gids {
            let mut gid = ibv_gid::default();
            // SAFETY: the context is open and the answer is ours.
            let failed = unsafe {
                verbs.ibv_query_gid(self.context(), port, i32::from(index), &raw mut gid)
            };
            // SAFETY: the union's other face is two numbers of the same sixteen bytes.
            let bytes = unsafe { gid.raw };
            if failed == 0 && bytes != [0; 16] {
                let file =
                    format!("/sys/class/infiniband/{device}/ports/{port}/gid_attrs/types/{index}");
                let kind = std::fs::read_to_string(file).ok().map(|text| text.trim().to_owned());
                found.push(Gid { index, bytes, kind });
            }
        }
        Ok(found)
    }
}

fn least(count: i32) -> u8 {
    count.clamp(0, 16) as u8
}

impl Drop for Domain {
    fn drop(&mut self) {
        if let (false, Ok(verbs)) = (self.pd.is_null(), verbs()) {
            // SAFETY: made by `on`; memory and queue pairs of it held it.
            unsafe { verbs.ibv_dealloc_pd(self.pd) };
        }
    }
}

/// The library's words for the state of a completion.
pub(crate) fn status_words(status: u32) -> String {
    let Ok(verbs) = verbs() else { return format!("status {status}") };
    if status == IBV_WC_SUCCESS {
        return "success".to_owned();
    }
    // SAFETY: the library answers with a constant string for any number.
    let words = unsafe { CStr::from_ptr(verbs.ibv_wc_status_str(status)) };
    format!("{} (status {status})", words.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identifier_has_its_address_and_only_that_of_udp_is_version_two() {
        let gid = |bytes: [u8; 16], kind: Option<&str>| Gid {
            index: 3,
            bytes,
            kind: kind.map(str::to_owned),
        };
        let mut mapped = [0; 16];
        (mapped[10], mapped[11]) = (0xff, 0xff);
        mapped[12..].copy_from_slice(&[10, 0, 0, 7]);
        assert_eq!(gid(mapped, None).address().to_string(), "10.0.0.7");
        let mut link = [0; 16];
        (link[0], link[1], link[15]) = (0xfe, 0x80, 1);
        assert_eq!(gid(link, None).address().to_string(), "fe80::1");
        let is_v2 = |kind| gid(link, kind).is_v2();
        assert!(is_v2(Some("RoCE v2")));
        assert!(!is_v2(Some("IB/RoCE v1")) && !is_v2(None));
    }

    /// By the numbers of infiniband/verbs.h: active is 4, 256 B are 1 and 4096 B are 5.
    #[test]
    fn a_port_says_its_state_its_packets_and_its_table() {
        let of = |state, active_mtu, gid_tbl_len| {
            let told =
                ibv_port_attr { state, active_mtu, gid_tbl_len, lid: 7, ..Default::default() };
            let Port { is_active, lid, mtu_bytes, gids } = Port::of(&told);
            (is_active, lid, mtu_bytes, gids)
        };
        assert_eq!(of(4, 3, 16), (true, 7, 1024, 16));
        assert_eq!(of(1, 5, 256), (false, 7, 4096, 255));
        assert_eq!(of(3, 1, -1), (false, 7, 256, 0));
        assert_eq!(of(5, 0, 255), (false, 7, 256, 255));
        assert_eq!([-1, 0, 1, 16, 17, 128].map(least), [0, 0, 1, 16, 16, 16]);
    }

    #[test]
    fn a_domain_tells_its_devices_name_and_what_carries_its_messages() {
        // InfiniBand is 0, iWARP 1; what else there is goes by InfiniBand's rules.
        for (transport_type, transport) in
            [(0, Transport::InfiniBand), (1, Transport::Iwarp), (2, Transport::InfiniBand)]
        {
            let mut made = ibv_device { transport_type, ..Default::default() };
            for (at, letter) in made.name.iter_mut().zip(*b"made0") {
                *at = letter as _;
            }
            let mut context = ibv_context { device: &raw mut made, ..Default::default() };
            let holder = Holder::Opened(Device::made_up(&raw mut context));
            // Neither is known to the library, which must not close them.
            let domain = std::mem::ManuallyDrop::new(Domain { pd: std::ptr::null_mut(), holder });
            assert_eq!(domain.transport(), transport);
            // Without the library no device has a name.
            assert_eq!(domain.device(), if verbs().is_ok() { "made0" } else { "" });
        }
    }

    #[test]
    fn a_status_is_told_in_the_librarys_words_or_by_its_number() {
        let told = status_words(12);
        match verbs() {
            Ok(_) => {
                assert_eq!(status_words(0), "success");
                assert_eq!(told, "transport retry counter exceeded (status 12)");
            }
            Err(_) => assert_eq!(told, "status 12"),
        }
    }
}
