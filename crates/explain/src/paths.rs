//! Paths inside a host that are slower than their like: what was read of both that differs.

use narrows_model::Fact;
use narrows_model::host::{Express, Host, Nic, PciHop};
use narrows_predict::pcie::links;
use narrows_predict::pcie_paths::{Uplink, uplink};
use narrows_stats::{InsidePath, PathTest, Standing};
use serde::Serialize;

/// Something that was read of two paths, and is not the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Differing {
    /// What it is, such as `link`.
    pub what: &'static str,
    /// Of the path that is slower.
    pub slow: String,
    /// Of its like.
    pub like: String,
}

/// Two paths as facts tell them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Beside {
    /// What differs, in the order in which it is told.
    pub differs: Vec<Differing>,
    /// The nodes that both are at, where they differ: two places of one sort, and no fault.
    pub nodes: Option<[String; 2]>,
    /// What could not be read of either.
    pub unread: Vec<&'static str>,
}

/// A path that is slower than its like in one test at least.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SlowPath {
    pub path: InsidePath,
    /// The like of the test in which it is named first.
    pub like: InsidePath,
    /// The tests in which it is slower: index of the test, and of its cell there.
    pub tests: Vec<(usize, usize)>,
    #[serde(flatten)]
    pub beside: Beside,
}

/// The paths that are slower than their likes, in the order of the study.
pub fn slow_paths(host: &Host, tests: &[PathTest]) -> Vec<SlowPath> {
    let mut all: Vec<SlowPath> = Vec::new();
    for (of, test) in tests.iter().enumerate() {
        for (at, cell) in test.cells.iter().enumerate() {
            let Standing::Slow { than, .. } = &cell.standing else { continue };
            if let Some(known) = all.iter_mut().find(|known| known.path == cell.path) {
                known.tests.push((of, at));
                continue;
            }
            let like = test.cells[*than].path.clone();
            let beside = beside(host, &cell.path, &like);
            all.push(SlowPath { path: cell.path.clone(), like, tests: vec![(of, at)], beside });
        }
    }
    all
}

/// What was read of two paths that differs.
pub fn beside(host: &Host, slow: &InsidePath, like: &InsidePath) -> Beside {
    let mut beside = Beside::default();
    for (slow, like) in read(host, slow).into_iter().zip(read(host, like)) {
        match (slow.value, like.value) {
            (Some(slow_says), Some(like)) if slow_says != like => {
                let what = slow.what;
                beside.differs.push(Differing { what, slow: slow_says, like });
            }
            (Some(_), Some(_)) => {}
            _ if beside.unread.contains(&slow.what) => {}
            _ => beside.unread.push(slow.what),
        }
    }
    let [slow, like] = [slow, like].map(|path| nodes(host, path));
    beside.nodes = (slow != like).then_some([slow, like]);
    beside
}

/// One thing that may be read of a path; `None` where it was not.
struct Read {
    what: &'static str,
    value: Option<String>,
}

/// What a path leads through, one card after the other.
struct Through<'a> {
    functions: &'a [PciHop],
    netdev: Option<&'a Nic>,
    firmware: Option<String>,
    rate: Option<String>,
}

fn through<'a>(host: &'a Host, path: &InsidePath) -> Vec<Through<'a>> {
    match path {
        InsidePath::Loop { device, .. } => vec![of_device(host, device)],
        InsidePath::Across { from, to } => [from, to].map(|name| of_device(host, name)).into(),
        InsidePath::Cable { from, to } => [from, to].map(|name| of_port(host, name)).into(),
    }
}

fn of_device<'a>(host: &'a Host, name: &str) -> Through<'a> {
    let device = host.rdma_device(name);
    let rate = device.and_then(|device| device.ports.first()?.rate_bps.value());
    Through {
        functions: device.map(|device| host.functions_of(device)).unwrap_or_default(),
        netdev: device.and_then(|device| host.netdev_of(device)),
        firmware: device.and_then(|device| device.firmware.value().cloned()),
        rate: rate.map(|rate| format!("{} Gb/s", rate.0 / 1e9)),
    }
}

fn of_port<'a>(host: &'a Host, name: &str) -> Through<'a> {
    let nic = host.nic(name);
    let rate = nic.and_then(|nic| nic.speed_bps.value());
    Through {
        functions: nic.map(|nic| nic.path.as_slice()).unwrap_or_default(),
        netdev: nic,
        firmware: nic.and_then(|nic| nic.firmware.value().cloned()),
        rate: rate.map(|rate| format!("{} Gb/s", rate.0 / 1e9)),
    }
}

/// Everything that is looked at, of one path; the same things in the same order of each.
fn read(host: &Host, path: &InsidePath) -> Vec<Read> {
    through(host, path).iter().flat_map(|through| of_card(host, through)).collect()
}

fn of_card(host: &Host, through: &Through<'_>) -> Vec<Read> {
    let Through { functions, netdev, firmware, rate } = through;
    let last = functions.last();
    let express = last.and_then(|hop| hop.express.value());
    let mtu = netdev.and_then(|nic| nic.mtu_bytes.value());
    [
        ("link", last.and_then(link)),
        ("slowest link above", slowest_above(functions)),
        ("MaxPayload", express.map(payload)),
        ("least MaxPayload on the way", least_payload(functions)),
        ("MaxReadReq", express.map(|set| set.max_read_request_bytes.to_string())),
        ("relaxed ordering", express.map(|set| on(set.relaxed_ordering))),
        ("link may sleep (ASPM)", express.map(|set| on(set.link_sleeps))),
        ("ACS redirect on the ports above", redirects(functions)),
        ("root port", functions.first().filter(|_| functions.len() > 1).map(root)),
        ("other devices behind its root port", sharers(host, functions)),
        ("firmware", firmware.clone()),
        ("driver", netdev.and_then(|nic| nic.driver.value().cloned())),
        ("rate of the port", rate.clone()),
        ("MTU", mtu.map(ToString::to_string)),
        ("queueing discipline", netdev.and_then(|nic| nic.qdisc.value().cloned())),
    ]
    .into_iter()
    .map(|(what, value)| Read { what, value })
    .collect()
}

fn on(is: bool) -> String {
    if is { "on" } else { "off" }.to_owned()
}

fn link(hop: &PciHop) -> Option<String> {
    let now = hop.link.value()?;
    Some(format!(
        "{} GT/s x{} of {} GT/s x{}",
        now.speed_gts, now.width, now.speed_max_gts, now.width_max
    ))
}

/// Of the links between the root port and the device's own; most devices have none.
fn slowest_above(functions: &[PciHop]) -> Option<String> {
    let joints = links(functions, None);
    let (_, above) = joints.split_last()?;
    let slowest = above.iter().min_by(|a, b| a.raw_bps.total_cmp(&b.raw_bps));
    Some(slowest.map_or("none".to_owned(), |joint| joint.says()))
}

fn payload(set: &Express) -> String {
    format!("{} of {}", set.max_payload_bytes, set.max_payload_supported_bytes)
}

/// The least of all functions, which is what their packets are cut to.
fn least_payload(functions: &[PciHop]) -> Option<String> {
    let set: Option<Vec<&Express>> = functions.iter().map(|hop| hop.express.value()).collect();
    let least = set?.into_iter().map(|set| set.max_payload_bytes).min();
    least.map(|least| least.to_string())
}

/// How many of the ports above send up what devices below tell each other.
fn redirects(functions: &[PciHop]) -> Option<String> {
    let (_, above) = functions.split_last()?;
    if above.is_empty() || above.iter().any(is_unread) {
        return None;
    }
    let redirecting = above.iter().filter_map(|hop| hop.acs.value());
    let count = redirecting.filter(|acs| acs.request_redirect || acs.completion_redirect).count();
    Some(if count == 0 { "off".to_owned() } else { format!("on at {count} of {}", above.len()) })
}

/// A port without ACS has none to read; one whose configuration nobody could read may have it.
fn is_unread(hop: &PciHop) -> bool {
    match &hop.acs {
        Fact::Known { .. } => false,
        Fact::Absent { .. } => hop.express.value().is_none(),
        Fact::Denied { .. } | Fact::Malformed { .. } => true,
    }
}

fn root(port: &PciHop) -> String {
    match uplink(port) {
        Uplink::Processor => "the processor's",
        Uplink::Chipset { .. } => "the chipset's",
        Uplink::Unknown => "of nobody knows what",
    }
    .to_owned()
}

/// Cards beside it behind the same root port.
fn sharers(host: &Host, functions: &[PciHop]) -> Option<String> {
    let (root, own) = (functions.first()?, functions.last().and_then(slot)?);
    let others = host.devices.iter().filter(|device| {
        let path = device.path.as_slice();
        path.first().is_some_and(|hop| hop.address == root.address)
            && path.last().and_then(slot) != Some(own)
    });
    (functions.len() > 1).then(|| others.count().to_string())
}

fn slot(hop: &PciHop) -> Option<&str> {
    hop.address.rsplit_once('.').map(|(slot, _)| slot)
}

/// The nodes that a path leads between.
fn nodes(host: &Host, path: &InsidePath) -> String {
    let nodes = match path {
        InsidePath::Loop { device, node } => {
            let device = host.rdma_device(device).and_then(|device| host.node_of_rdma(device));
            [device, *node]
        }
        InsidePath::Across { from, to } => [from, to].map(|name| {
            let device = host.rdma_device(name)?;
            host.node_of_rdma(device)
        }),
        InsidePath::Cable { from, to } => {
            [from, to].map(|name| host.nic(name).and_then(|nic| host.node_of_nic(nic)))
        }
    };
    let [from, to] = nodes.map(|node| node.map_or("?".to_owned(), |node| node.to_string()));
    format!("{from} to {to}")
}
