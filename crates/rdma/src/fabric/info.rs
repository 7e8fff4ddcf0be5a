//! Which provider, over what.

use super::bindings::*;
use super::{VERSION, failed, library};
use crate::NativeError;
use crate::signals::Signals;
use std::ffi::{CStr, CString, c_char};

/// Providers that do in software what NICs do.
const SOFTWARE: [&str; 6] = ["tcp", "net", "sockets", "udp", "shm", "lnx"];
/// Providers whose endpoints have IP addresses.
const BY_IP: [&str; 6] = ["tcp", "net", "sockets", "udp", "verbs", "usnic"];
/// Kinds of registration that are understood here.
const MR_MODE: u32 =
    FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;

/// What an endpoint is to be able to do.
#[derive(Clone, Debug)]
pub struct Asked<'a> {
    /// Provider; `None` takes the library's first.
    pub provider: Option<&'a str>,
    /// Its domain, which is a device.
    pub domain: Option<&'a str>,
    /// The own IP address, for providers whose endpoints have one.
    pub own: std::net::IpAddr,
    /// Tagged messages, or remote memory.
    pub tagged: bool,
    /// Requests are to complete once they are delivered, where the provider offers that; it costs
    /// an answer of the other end.
    pub delivered: bool,
}

pub struct Info {
    raw: *mut fi_info,
    /// Completions of writes say that the bytes are in the other end's memory.
    pub delivers: bool,
}

/// A provider that this host has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provider {
    /// Its name, with the layers above it.
    pub name: String,
    /// Its domain, which is a device.
    pub domain: String,
}

/// Hints that are freed with what hangs on them.
struct Hints(*mut fi_info);

impl Drop for Hints {
    fn drop(&mut self) {
        if let Ok(library) = library() {
            // SAFETY: made by the library, freed once.
            unsafe { library.fi_freeinfo(self.0) };
        }
    }
}

/// A copy that `free` frees, as the library does with what hangs on hints.
fn owned(text: &str) -> Result<*mut c_char, NativeError> {
    let text = CString::new(text).map_err(|_| NativeError::Cannot("a name with a zero".into()))?;
    // SAFETY: a string that ends.
    Ok(unsafe { libc::strdup(text.as_ptr()) })
}

fn text(raw: *const c_char) -> String {
    match raw.is_null() {
        true => String::new(),
        // SAFETY: a string of the library, which ends.
        false => unsafe { CStr::from_ptr(raw) }.to_string_lossy().into_owned(),
    }
}

impl Hints {
    fn new(asked: &Asked<'_>, delivers: bool) -> Result<Self, NativeError> {
        // SAFETY: no info to copy makes an empty one.
        let raw = unsafe { library()?.fi_dupinfo(std::ptr::null()) };
        if raw.is_null() {
            return Err(NativeError::Cannot("libfabric made no hints".into()));
        }
        let hints = Self(raw);
        // SAFETY: an empty info has all its parts; its strings are freed with it.
        unsafe {
            let info = &mut *raw;
            info.caps = u64::from(if asked.tagged { FI_TAGGED } else { FI_RMA });
            info.mode = FI_CONTEXT | FI_CONTEXT2;
            (*info.ep_attr).type_ = FI_EP_RDM;
            (*info.domain_attr).mr_mode = MR_MODE as i32;
            if asked.tagged {
                (*info.tx_attr).msg_order = u64::from(FI_ORDER_SAS);
                (*info.rx_attr).msg_order = u64::from(FI_ORDER_SAS);
            }
            if delivers {
                (*info.tx_attr).op_flags = u64::from(FI_DELIVERY_COMPLETE);
            }
            if let Some(name) = asked.provider {
                (*info.fabric_attr).prov_name = owned(name)?;
            }
            if let Some(name) = asked.domain {
                (*info.domain_attr).name = owned(name)?;
            }
        }
        Ok(hints)
    }
}

/// The first that answers to the hints; its list is its.
fn get(hints: &Hints, node: Option<&CString>) -> Result<*mut fi_info, i64> {
    let Ok(library) = library() else { return Err(-i64::from(libc::ENOSYS)) };
    let mut found = std::ptr::null_mut();
    let (node, flags) = match node {
        Some(node) => (node.as_ptr(), FI_SOURCE),
        None => (std::ptr::null(), 0),
    };
    let _kept = Signals::keep();
    // SAFETY: strings that end, hints that live, an answer that is ours.
    let answer = unsafe {
        library.fi_getinfo(VERSION, node, std::ptr::null(), flags, hints.0, &raw mut found)
    };
    if answer == 0 { Ok(found) } else { Err(answer.into()) }
}

/// The part of a provider's name that stands for what it drives.
fn core(name: &str) -> &str {
    name.split(';').find(|part| !part.starts_with("ofi_")).unwrap_or(name)
}

impl Info {
    /// One that the library does not know: it must not be dropped.
    #[cfg(test)]
    pub(super) fn made_up(raw: *mut fi_info) -> Self {
        Self { raw, delivers: false }
    }

    /// Finds a provider.
    pub fn find(asked: &Asked<'_>) -> Result<Self, NativeError> {
        let by_ip = asked.provider.is_none_or(|name| BY_IP.contains(&core(name)));
        let own = CString::new(asked.own.to_string()).ok().filter(|_| by_ip);
        let levels: &[bool] = if asked.delivered { &[true, false] } else { &[false] };
        let mut answer = 0;
        for delivers in levels {
            let hints = Hints::new(asked, *delivers)?;
            match get(&hints, own.as_ref()) {
                Ok(raw) => return Self { raw, delivers: *delivers }.on(asked.domain),
                Err(why) => answer = why,
            }
        }
        let what = if asked.tagged { "tagged messages" } else { "remote memory" };
        let name = asked.provider.unwrap_or("of libfabric");
        let own = asked.own;
        Err(match names().unwrap_or_default() {
            known if known.is_empty() => {
                failed(format!("no provider {name} has {what} over {own}"), answer)
            }
            known => NativeError::Cannot(format!(
                "no provider {name} has {what} over {own}; this host has {}",
                known.join(", ")
            )),
        })
    }

    /// Itself where it is of this device. Some providers answer with another one's.
    fn on(self, domain: Option<&str>) -> Result<Self, NativeError> {
        let found = self.provider();
        match domain.filter(|asked| *asked != found.domain) {
            None => Ok(self),
            Some(asked) => Err(NativeError::Cannot(format!(
                "{} leads to {} from here, not to {asked}",
                found.name, found.domain
            ))),
        }
    }

    pub(super) fn raw(&self) -> *mut fi_info {
        self.raw
    }

    /// The first of the list, which is the one that is used.
    fn first(&self) -> &fi_info {
        // SAFETY: found by the library, freed with self.
        unsafe { &*self.raw }
    }

    pub fn provider(&self) -> Provider {
        provider(self.first())
    }

    /// Whether programs have to call the library for anything to move, the target of a write
    /// included.
    pub fn needs_calls(&self) -> bool {
        // SAFETY: a part of the info.
        unsafe { (*self.first().domain_attr).data_progress != FI_PROGRESS_AUTO }
    }

    pub(super) fn mr_mode(&self) -> u32 {
        // SAFETY: as above.
        unsafe { (*self.first().domain_attr).mr_mode as u32 }
    }
}

impl Drop for Info {
    fn drop(&mut self) {
        if let Ok(library) = library() {
            // SAFETY: found by the library, freed once.
            unsafe { library.fi_freeinfo(self.raw) };
        }
    }
}

// SAFETY: nothing but memory, which one thread at a time reads.
unsafe impl Send for Info {}

fn provider(info: &fi_info) -> Provider {
    // SAFETY: parts of an info that the library found.
    unsafe {
        Provider {
            name: text((*info.fabric_attr).prov_name),
            domain: text((*info.domain_attr).name),
        }
    }
}

impl Provider {
    /// What it drives: its name without the layers above.
    pub fn drives(&self) -> &str {
        core(&self.name)
    }

    /// Whether programs do the work of NICs.
    pub fn is_software(&self) -> bool {
        SOFTWARE.contains(&self.drives())
    }
}

/// Every provider with remote memory and every device of it, in the library's order; or one of
/// them, and no other is asked.
pub fn providers(only: Option<&str>) -> Result<Vec<Provider>, NativeError> {
    let any = std::net::IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED);
    let asked = Asked { provider: only, domain: None, own: any, tagged: false, delivered: false };
    let hints = Hints::new(&asked, false)?;
    // The layer that makes verbs' connections into such endpoints answers only for an address.
    // SAFETY: the hints have all their parts.
    unsafe { (*(*hints.0).ep_attr).type_ = FI_EP_UNSPEC };
    let raw =
        get(&hints, None).map_err(|answer| failed("listing the providers of libfabric", answer))?;
    let list = Info { raw, delivers: false };
    let mut found = Vec::new();
    let mut next: *const fi_info = list.raw;
    while !next.is_null() {
        // SAFETY: an entry of the list, which `list` frees.
        let info = unsafe { &*next };
        let provider = provider(info);
        if !found.contains(&provider) {
            found.push(provider);
        }
        next = info.next;
    }
    Ok(found)
}

/// Names of the providers without their layers, each once.
fn names() -> Result<Vec<String>, NativeError> {
    let mut names: Vec<String> = Vec::new();
    for provider in providers(None)? {
        let name = provider.drives().to_owned();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_do_not_hide_what_is_driven() {
        let of = |name: &str| Provider { name: name.into(), domain: String::new() };
        assert!(of("tcp;ofi_rxm").is_software());
        assert!(of("shm").is_software());
        assert!(!of("verbs;ofi_rxm").is_software());
        assert!(!of("efa").is_software());
    }

    /// What is asked of the library: RMA is 1 << 2, tagged messages 1 << 3, sends in order 1 << 8,
    /// delivery 1 << 28, endpoints of reliable datagrams 3.
    #[test]
    fn hints_are_what_was_asked_for() {
        if library().is_err() {
            return;
        }
        let own = "192.0.2.1".parse().expect("an address");
        for tagged in [false, true] {
            for delivers in [false, true] {
                let asked = Asked {
                    provider: Some("tcp"),
                    domain: Some("lo"),
                    own,
                    tagged,
                    delivered: true,
                };
                let hints = Hints::new(&asked, delivers).expect("hints");
                // SAFETY: an info of the library with all its parts.
                let (info, ep, domain, tx, rx) = unsafe {
                    let info = &*hints.0;
                    (info, &*info.ep_attr, &*info.domain_attr, &*info.tx_attr, &*info.rx_attr)
                };
                assert_eq!(info.caps, if tagged { 8 } else { 4 });
                assert_eq!(info.mode, 1 << 59 | 1 << 52);
                assert_eq!((ep.type_, domain.mr_mode), (3, 4 | 16 | 32 | 64 | 512));
                let order = if tagged { 256 } else { 0 };
                assert_eq!((tx.msg_order, rx.msg_order), (order, order));
                assert_eq!(tx.op_flags, if delivers { 1 << 28 } else { 0 });
                let told = provider(info);
                assert_eq!((told.name.as_str(), told.domain.as_str()), ("tcp", "lo"));
            }
        }
        let asked =
            Asked { provider: Some("a\0b"), domain: None, own, tagged: true, delivered: false };
        let refused = Hints::new(&asked, false).map(drop).expect_err("a zero");
        assert_eq!(refused.to_string(), "a name with a zero");
    }

    #[test]
    fn a_provider_of_another_device_is_refused_and_progress_is_told() {
        let mut fabric = fi_fabric_attr::default();
        let mut domain = fi_domain_attr { mr_mode: 4 | 16, ..Default::default() };
        (fabric.prov_name, domain.name) =
            (c"tcp;ofi_rxm".as_ptr().cast_mut(), c"lo".as_ptr().cast_mut());
        for (progress, needs) in [(1, false), (2, true), (0, true)] {
            domain.data_progress = progress;
            let mut raw = fi_info {
                fabric_attr: &raw mut fabric,
                domain_attr: &raw mut domain,
                ..Default::default()
            };
            let info = std::mem::ManuallyDrop::new(Info::made_up(&raw mut raw));
            assert_eq!((info.needs_calls(), info.mr_mode()), (needs, 20));
            assert_eq!((info.provider().drives(), info.provider().domain.as_str()), ("tcp", "lo"));
        }
        assert_eq!(text(std::ptr::null()), "");
        assert_eq!(
            ["tcp;ofi_rxm", "ofi_rxm;verbs", "ofi_x", "shm"].map(core),
            ["tcp", "verbs", "ofi_x", "shm"]
        );
    }

    #[test]
    fn providers_are_listed_once_and_one_that_is_named_alone() {
        if library().is_err() {
            return;
        }
        let Ok(all) = providers(None) else { return };
        assert!(!all.is_empty(), "it answered, so that there is one");
        let of = |one: &Provider| all.iter().filter(|other| *other == one).count();
        assert!(all.iter().all(|one| of(one) == 1 && !one.name.is_empty()), "{all:?}");
        let known = names().expect("they were listed");
        assert!(
            all.iter().all(|one| known.iter().filter(|name| *name == one.drives()).count() == 1)
        );
        if let Some(first) = all.iter().find(|one| !one.name.contains(';')) {
            let only = providers(Some(&first.name)).expect("it is there");
            assert!(only.iter().all(|one| one.drives() == first.drives()), "{only:?}");
        }
    }
}
