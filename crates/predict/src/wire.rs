//! `wire`: the link's rate times the payload share of its frames.

use crate::{Protocol, Stated, framing, modelled};
use narrows_model::Bytes;
use narrows_model::host::{Host, Nic};
use narrows_model::result::{Ceiling, Provenance};

/// The wire behind a NIC.
pub fn of_nic(host: &Host, nic: &Nic, protocol: Protocol) -> Stated {
    if !nic.physical {
        return Err(format!("wire: {} has no device behind it", nic.name));
    }
    let speed = nic.speed_bps.value().ok_or_else(|| gap(nic, "speed", nic.speed_bps.gap()))?;
    let mtu = nic.mtu_bytes.value().ok_or_else(|| gap(nic, "MTU", nic.mtu_bytes.gap()))?;
    let timestamps = host.tuning.get("net.ipv4.tcp_timestamps").and_then(|fact| fact.value());
    // On is the kernel's default.
    let stamped = timestamps.is_none_or(|value| value != "0");
    let share = match protocol {
        Protocol::Tcp => framing::tcp(mtu.0 as f64, stamped),
        Protocol::Udp => framing::udp_full_frame(mtu.0 as f64),
    };
    let rate = speed.0 * share;
    Ok(Ceiling {
        resource: "wire".into(),
        range: modelled(rate, rate, rate),
        says: format!("{speed} x {:.2} % payload at MTU {}", share * 100.0, mtu.0),
        only_if: None,
        provenance: vec![
            Provenance::Read(nic.speed_bps.source().0.clone()),
            Provenance::Read(nic.mtu_bytes.source().0.clone()),
            Provenance::DataSheet("IEEE 802.3 and RFC 791 header sizes".into()),
        ],
    })
}

/// A local path has no wire.
pub fn none(mtu: Option<Bytes>) -> Stated {
    let at = mtu.map_or(String::new(), |mtu| format!(" (MTU {} B)", mtu.0));
    Err(format!("wire: there is none on a path inside the host{at}"))
}

fn gap(nic: &Nic, what: &str, why: Option<String>) -> String {
    format!("wire: {what} of {} unknown: {}", nic.name, why.unwrap_or_default())
}
