//! `segment-size`: are TCP's segments much smaller than the own interface allows?
//!
//! A smaller MTU at the other end or on the path shrinks every segment: packets cost CPU time each,
//! and headers a larger share of the wire. So does an interface whose own MTU is below 1280 B, and
//! a maximum segment size that the run itself asks for. 120 B of headers and options are taken as
//! ordinary (IPv6 40, TCP 20 to 60).
//!
//! A stream of datagrams above a path's MTU is cut into fragments, each a packet: where that MTU is
//! below what any link of IPv6 has, these are many and small.
//!
//! A level of a study may set the MTU of this host's interface and not that of the other one: then
//! the level's MTU was never used, and its figures are not of it.

use crate::measured::{self, Blind, Cell, Looked, finding};
use crate::{Case, Rule};
use narrows_model::result::{Finding, Measure, Needed, Verdict, Weight};
use narrows_model::trial::NetworkPath;
use narrows_model::workload::Workload;

pub static RULE: Rule = Rule {
    name: "segment-size",
    asks: "Are TCP's segments much smaller than the own interface allows?",
    of_host: false,
    judge,
};

const HEADERS_BYTES: f64 = 120.0;
/// The least MTU of a link that carries IPv6 (RFC 8200, section 5); tunnels have more.
const MTU_MIN_BYTES: f64 = 1280.0;

fn judge(case: &Case<'_>) -> Verdict {
    let needs = Needed::KnownMtu;
    measured::judge(case, needs, None, look)
}

fn look(cell: &Cell<'_>) -> Looked {
    if cell.trial.kind == Workload::UDP_STREAM {
        return look_at_datagrams(cell);
    }
    // Small buffers make TCP send short segments by themselves.
    if cell.trial.params.socket_buffer_bytes.is_some() {
        return Err(Blind::OtherKind);
    }
    // Only TCP has segments. What a path allows is often learnt while the stream runs.
    let first = cell.summary.settings.sender().and_then(|end| end.mss_bytes);
    let first = first.map(f64::from).ok_or(Blind::OtherKind)?;
    let segment = cell.segment_bytes().map_or(first, |last| last.min(first));
    let nic = cell.sender().and_then(|end| end.nic());
    // An interface inside a namespace that was made for the run is not among the host's.
    if nic.is_none() && cell.trial.path != NetworkPath::Peer {
        return Err(Blind::OtherKind);
    }
    let known = nic.and_then(|nic| Some((nic.name.as_str(), nic.mtu_bytes.value()?.0 as f64)));
    let Some((name, mtu)) = known else {
        return Err(cell.lacks(Measure::InterfaceMtu));
    };
    if let Some(unused) = unused(cell, segment) {
        return cell.saw(unused.evidence[0].says.clone(), Some(unused));
    }
    let path = path_mtu(cell);
    let via = path.map_or(String::new(), |path| format!(", path MTU {path:.0} B"));
    let seen = format!("segment size {segment:.0} B{via}; {name} has MTU {mtu:.0} B");
    let is_shrunk = segment + HEADERS_BYTES < mtu.min(65_535.0);
    let why = match is_shrunk {
        true => {
            let path = path.filter(|path| *path + HEADERS_BYTES / 2.0 < mtu);
            let asked = asks(cell, segment).filter(|_| path.is_none() && !asks_itself(cell));
            Some(asked.map_or_else(|| shrunk(cell, path), announced))
        }
        false => (mtu < MTU_MIN_BYTES).then(|| low(cell, name)),
    };
    let wrong = why.map(|(why, remedy)| {
        let says = format!(
            "TCP sends segments of {segment:.0} B in {}, {name} allows packets of {mtu:.0} B: {why}",
            cell.trial.label
        );
        finding(&RULE, cell, Weight::Advice, says, seen.clone(), &remedy)
    });
    cell.saw(seen, wrong)
}

/// Into how many fragments a path of a small MTU cuts each datagram, with that MTU in bytes; `None`
/// where they pass whole, or the MTU is no small one.
pub fn small_fragments(cell: &Cell<'_>) -> Option<(u64, u64)> {
    let message = cell.trial.params.message_bytes.0;
    let mtu = cell.summary.settings.sender().and_then(|end| end.path_mtu_bytes)?.0;
    let payload = mtu.checked_sub(IP_BYTES)? / FRAGMENT_UNIT * FRAGMENT_UNIT;
    let is_cut = message + UDP_BYTES + IP_BYTES > mtu && payload > 0;
    (is_cut && (mtu as f64) < MTU_MIN_BYTES && cell.trial.kind == Workload::UDP_STREAM)
        .then(|| ((message + UDP_BYTES).div_ceil(payload), mtu))
}

/// The small MTU, in bytes, that each datagram of a cell fills; `None` where they are smaller, cut
/// into fragments, or the MTU is no small one.
pub fn filled_small_mtu(cell: &Cell<'_>) -> Option<u64> {
    let packet = cell.trial.params.message_bytes.0 + UDP_BYTES + IP_BYTES;
    let mtu = cell.summary.settings.sender().and_then(|end| end.path_mtu_bytes)?.0;
    let is_full = packet <= mtu && packet + IPV6_BYTES - IP_BYTES + FRAGMENT_UNIT > mtu;
    let is_udp = cell.trial.kind == Workload::UDP_STREAM;
    (is_udp && is_full && (mtu as f64) < MTU_MIN_BYTES).then_some(mtu)
}

/// Headers of IPv6 (RFC 8200).
const IPV6_BYTES: u64 = 40;
/// Headers of IPv4 (RFC 791) and UDP (RFC 768); offsets of fragments count in eights.
const IP_BYTES: u64 = 20;
const UDP_BYTES: u64 = 8;
const FRAGMENT_UNIT: u64 = 8;

fn look_at_datagrams(cell: &Cell<'_>) -> Looked {
    let mtu = cell.summary.settings.sender().and_then(|end| end.path_mtu_bytes);
    let mtu = mtu.ok_or(Blind::OtherKind)?;
    let seen = format!("datagrams of {}, path MTU {mtu}", cell.trial.params.message_bytes);
    let (message, label) = (cell.trial.params.message_bytes, &cell.trial.label);
    let cut = small_fragments(cell).map(|(fragments, mtu)| {
        format!(
            "Each datagram of {message} is sent in {fragments} fragments in {label}: the path takes \
             packets of {mtu} B, and each costs the work of a large one"
        )
    });
    let full = || {
        let mtu = filled_small_mtu(cell)?;
        Some(format!(
            "Datagrams of {message} fill the packets of {mtu} B that the route or path takes in \
             {label}, and each costs the work of a large one"
        ))
    };
    let wrong = cut.or_else(full).map(|says| {
        let remedy = "raise the MTU of the interfaces and routes on the way (ip link show, ip route \
                      get ADDRESS: 1500 B on Ethernet), or send datagrams that fit one packet (-l)";
        finding(&RULE, cell, Weight::Advice, says, seen.clone(), remedy)
    });
    cell.saw(seen, wrong)
}

/// An interface that was given a larger MTU for the runs, which the segments that were agreed on
/// did not use. No route has a larger MTU than its interface has at that time.
fn unused(cell: &Cell<'_>, segment: f64) -> Option<Finding> {
    let asked = cell.trial.params.socket.as_ref().is_some_and(|socket| socket.mss_bytes.is_some());
    if asked {
        return None;
    }
    let settings = &cell.summary.settings;
    let routes = [settings.sender(), settings.receivers().next()]
        .map(|end| end.and_then(|end| end.path_mtu_bytes).map(|bytes| bytes.0 as f64));
    let ends = [cell.sender(), cell.receiver()];
    let of = |at: usize| {
        let nic = ends[at].as_ref()?.nic()?;
        Some((nic.name.as_str(), nic.mtu_bytes.value()?.0 as f64))
    };
    let raised = |at: &usize| {
        let set = of(*at).zip(routes[*at]);
        set.is_some_and(|((_, had), route)| route > had && segment + HEADERS_BYTES < route)
    };
    let at = [0, 1].into_iter().find(raised)?;
    let ((name, _), set) = of(at).zip(routes[at])?;
    let other = match (of(1 - at), routes[1 - at]) {
        (Some((far, mtu)), route) => {
            format!("{far} of the other end has {:.0} B", route.unwrap_or(0.0).max(mtu))
        }
        (None, Some(route)) => format!("the other end's route has {route:.0} B"),
        (None, None) => "the MTU of the other end is not known".to_owned(),
    };
    let seen = format!("segment size {segment:.0} B; {name} was set to MTU {set:.0} B; {other}");
    let says = format!(
        "Segments of {segment:.0} B were agreed on in {}: {name} was set to an MTU of {set:.0} B for \
         it, and {other}, so that this MTU was not used and its figures are not of it",
        cell.trial.label
    );
    let remedy = format!(
        "set it at the other end too, whose owner does that (ip link set INTERFACE mtu {set:.0}), and \
         at every switch between; or leave the level out"
    );
    Some(finding(&RULE, cell, Weight::Caution, says, seen, &remedy))
}

/// The size of a cell's segments beside what the receiver asks for and the MTUs of its ends'
/// interfaces.
pub fn beside_mtu(cell: &Cell<'_>) -> Option<String> {
    let segment = cell.segment_bytes()?;
    let [own, far] = mtus(cell);
    let own = own?;
    let asked = match asks(cell, segment) {
        Some(Asks::Receiver(_)) => " as the receiver announces",
        Some(Asks::Sender(_)) => " as the sender's net.ipv4.tcp_base_mss has it",
        Some(Asks::Between(_)) => " by what changes the receiver's announcement",
        None => "",
    };
    Some(match far {
        Some(far) if far == own => {
            format!("{segment:.0} B{asked}, and both interfaces have an MTU of {own:.0} B")
        }
        Some(far) => {
            format!("{segment:.0} B{asked}, and the interfaces' MTUs are {own:.0} and {far:.0} B")
        }
        None => {
            format!("{segment:.0} B{asked}, and the sender's interface has an MTU of {own:.0} B")
        }
    })
}

/// Whose maximum segment size a sender keeps to, in bytes with options.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Asks {
    /// The receiver's TCP announces it.
    Receiver(f64),
    /// The receiver announces more: the sender starts with this and looks for more by itself.
    Sender(f64),
    /// The receiver announces this, which is more: a firewall, its own or one between, lowers it.
    Between(f64),
}

/// Options that a segment may have, within what the other end announces (RFC 9293: 40 B at most).
const OPTIONS_BYTES: f64 = 40.0;

/// Who asks for segments of such a size, where the path's MTU does not.
fn asks(cell: &Cell<'_>, segment: f64) -> Option<Asks> {
    let is_path = path_mtu(cell).is_some_and(|path| path < segment + HEADERS_BYTES);
    let announced = cell.advertised_bytes().filter(|_| !is_path)?;
    if announced <= segment + OPTIONS_BYTES {
        return Some(Asks::Receiver(announced));
    }
    Some(starts_at(cell, segment).map_or(Asks::Between(announced), Asks::Sender))
}

/// What a sender starts with that probes for the path's MTU from the first segment on (kernel,
/// ip-sysctl.rst, `tcp_mtu_probing` 2), where segments are of that size.
fn starts_at(cell: &Cell<'_>, segment: f64) -> Option<f64> {
    let sender = cell.sender()?;
    sender.setting("net.ipv4.tcp_mtu_probing").filter(|value| *value == "2")?;
    let base: f64 = sender.setting("net.ipv4.tcp_base_mss")?.parse().ok()?;
    (base - OPTIONS_BYTES..=base).contains(&segment).then_some(base)
}

/// MTUs of the interfaces of the sender and the receiver.
fn mtus(cell: &Cell<'_>) -> [Option<f64>; 2] {
    [cell.sender(), cell.receiver()].map(|end| Some(end?.nic()?.mtu_bytes.value()?.0 as f64))
}

fn path_mtu(cell: &Cell<'_>) -> Option<f64> {
    let first = cell.summary.settings.sender().and_then(|end| end.path_mtu_bytes);
    cell.path_mtu_bytes().or(first.map(|bytes| bytes.0 as f64))
}

/// Whether the run itself asks for a maximum segment size.
fn asks_itself(cell: &Cell<'_>) -> bool {
    cell.trial.params.socket.as_ref().is_some_and(|socket| socket.mss_bytes.is_some())
}

/// What the handshake asked for, and what to do about it.
fn announced(asks: Asks) -> (String, String) {
    match asks {
        Asks::Receiver(bytes) => (
            format!("the receiver's TCP announces {bytes:.0} B, and no more"),
            "at the receiver: see advmss and mtu of its route to the sender (ip route get ADDRESS, \
             ip route show) and the MTU of its interface, and take them off or raise them"
                .to_owned(),
        ),
        Asks::Sender(bytes) => (
            format!(
                "the sender's TCP starts at {bytes:.0} B and looks for more \
                 (net.ipv4.tcp_mtu_probing 2)"
            ),
            "at the sender: sysctl -w net.ipv4.tcp_mtu_probing=1, which looks for the path's MTU \
             where large packets do not arrive and not before; or a larger start, sysctl -w \
             net.ipv4.tcp_base_mss=1024"
                .to_owned(),
        ),
        Asks::Between(bytes) => (
            format!("the receiver's TCP announces {bytes:.0} B, and a firewall lowers that on its way"),
            "see clamping of the segment size in firewalls and routers between, and in those of the \
             ends (nft: tcp option maxseg; iptables: TCPMSS); where it is meant for a smaller MTU, \
             that shows with: ping -M do -s SIZE"
                .to_owned(),
        ),
    }
}

/// Why segments are smaller than the interface allows, and what to do about it. Where routers
/// reported a smaller MTU TCP knows it; otherwise the user or the handshake asked for it.
fn shrunk(cell: &Cell<'_>, path: Option<f64>) -> (String, String) {
    let socket = cell.trial.params.socket.as_ref();
    if let Some(asked) = socket.and_then(|socket| socket.mss_bytes) {
        let why = format!("the run asks for a maximum segment size of {asked} B (--mss)");
        return (why, "leave -M (--mss) out, so that TCP takes what the path allows".to_owned());
    }
    let why = path.map_or_else(
        || {
            "the other end, its route or a box between asks for such a maximum segment size"
                .to_owned()
        },
        |path| {
            format!(
                "the sender takes the path's MTU for {path:.0} B, by what a hop between reported, now \
                 or in the last minutes, or by a route"
            )
        },
    );
    let is_alike = matches!(mtus(cell), [Some(own), Some(far)] if own == far);
    let remedy = if path.is_none() && is_alike {
        "see clamping of the segment size in firewalls and routers between (nft: tcp option \
         maxseg; iptables: TCPMSS) and advmss of routes (ip route show): the ends' interfaces have \
         one MTU; a hop with a smaller one shows with: ping -M do -s SIZE"
    } else if is_alike {
        "at the sender: ip route get ADDRESS shows whose MTU it takes: `mtu` (lock) of a route, which \
         can be taken off; or `expires`, which a hop between with a smaller MTU reported (find it \
         with ping -M do -s SIZE and raise it; ip route flush cache forgets it)"
    } else {
        "give every interface and switch of the path the same MTU, and check with: ping -M do -s \
         SIZE; see mtu (with or without lock, or remembered until it expires: ip route flush \
         cache) and advmss of the sender's routes (ip route get ADDRESS, ip route show) and clamping (maxseg, TCPMSS in firewalls between)"
    };
    (why, remedy.to_owned())
}

/// An interface whose own MTU is below what any link of IPv6 has.
fn low(cell: &Cell<'_>, name: &str) -> (String, String) {
    let at = cell.sender().map_or("at the sender", |end| end.at);
    let why = format!("{name}'s own MTU is below {MTU_MIN_BYTES} B, the least that IPv6 allows");
    (
        why,
        format!(
            "{at}: ip link set {name} mtu 1500, as Ethernet carries, or what the tunnel allows"
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, read, read_receiver, stream};
    use crate::setting::testing::known;
    use crate::setting::testing::{is_clear, is_found, is_unknown};
    use narrows_model::Bytes;
    use narrows_model::host::{Host, Nic};
    use narrows_model::load::Role;
    use narrows_model::options::SocketParams;
    use narrows_model::study::StoredStudy;

    #[test]
    fn short_segments_of_a_jumbo_interface_are_found() {
        let study = |mtu: u64, segment: u32, asked: bool| {
            let mut study = stream("tcp-stream");
            let nic = Nic { name: "e0".into(), mtu_bytes: known(Bytes(mtu)), ..Nic::default() };
            study.host.nics.push(nic);
            study.trials[0].params.socket_buffer_bytes = asked.then_some(Bytes(4096));
            for end in
                study.records.iter_mut().filter_map(|record| record.of_mut(Role::Sender).next())
            {
                end.effective.interface = Some("e0".into());
                end.effective.mss_bytes = Some(segment);
            }
            read(&mut study, "tcp-info", "flow0.rtt_ns", 1);
            study
        };
        assert!(is_found(&of_study(&RULE, &study(9000, 1448, false))));
        assert!(is_clear(&of_study(&RULE, &study(9000, 8948, false))));
        assert!(is_clear(&of_study(&RULE, &study(1500, 1428, false))));
        assert!(is_unknown(&of_study(&RULE, &study(9000, 1448, true))));
        assert!(is_clear(&of_study(&RULE, &study(1280, 1208, false))), "the least of IPv6");
        let says = |study: &StoredStudy| match of_study(&RULE, study) {
            Verdict::Found { findings } => format!("{}; {}", findings[0].says, findings[0].remedy),
            other => panic!("{other:?}"),
        };
        let low = says(&study(600, 548, false));
        assert!(low.contains("e0's own MTU") && low.contains("ip link set e0 mtu 1500"), "{low}");
        // A level set 9000 on this host, whose interface has 1500 else; the other one kept that.
        let level = |far: u64, segment: u32| {
            let mut study = study(1500, segment, false);
            let far_nic = Nic { name: "e1".into(), mtu_bytes: known(Bytes(far)), ..Nic::default() };
            study.peer_hosts = vec![Host { nics: vec![far_nic], ..Host::default() }];
            for (role, route) in [(Role::Sender, 9000), (Role::Receiver, far)] {
                for end in study.records.iter_mut().filter_map(|run| run.of_mut(role).next()) {
                    end.effective.path_mtu_bytes = Some(Bytes(route));
                    let own = if role == Role::Sender { "e0" } else { "e1" };
                    end.effective.interface = Some(own.into());
                }
            }
            study
        };
        let unused = says(&level(1500, 1448));
        for word in [
            "Segments of 1448 B",
            "e0 was set to an MTU of 9000 B",
            "e1 of the other end has 1500 B",
            "mtu 9000",
        ] {
            assert!(unused.contains(word), "{word}: {unused}");
        }
        assert!(is_clear(&of_study(&RULE, &level(9000, 8948))));
        let mut asked = study(1500, 288, false);
        asked.trials[0].params.socket =
            Some(SocketParams { mss_bytes: Some(300), ..SocketParams::default() });
        let asked = says(&asked);
        assert!(asked.contains("asks for a maximum segment size of 300 B"), "{asked}");
    }

    #[test]
    fn a_sender_that_starts_small_by_its_setting_is_told_from_clamping() {
        let of = |probing: &str, base: &str| {
            let mut study = stream("tcp-stream");
            let mtu_bytes = known(Bytes(1500));
            study.host.nics.push(Nic { name: "e0".into(), mtu_bytes, ..Nic::default() });
            for end in study.records.iter_mut().flat_map(|record| record.of_mut(Role::Sender)) {
                end.effective.interface = Some("e0".into());
                end.effective.mss_bytes = Some(244);
            }
            for (name, value) in [("mtu_probing", probing), ("base_mss", base)] {
                let name = format!("net.ipv4.tcp_{name}");
                study.host.tuning.insert(name, known(value.to_owned()));
            }
            read_receiver(&mut study, "tcp-info", "flow0.advertised_mss_bytes", 1460);
            format!("{:?}", of_study(&RULE, &study))
        };
        let starts = of("2", "256");
        assert!(
            starts.contains("starts at 256 B") && starts.contains("tcp_mtu_probing=1"),
            "{starts}"
        );
        // Segments of 244 B are not what 1024 starts with, and without probing nothing starts.
        for (probing, base) in [("2", "1024"), ("2", "240"), ("1", "256"), ("0", "256")] {
            let clamped = of(probing, base);
            assert!(clamped.contains("a firewall lowers that"), "{probing} {base}: {clamped}");
        }
    }

    #[test]
    fn datagrams_that_fill_a_small_mtu_or_are_cut_by_it_are_found() {
        let of = |message: u64, mtu: u64| {
            let mut study = stream("udp-stream");
            study.trials[0].params.message_bytes = Bytes(message);
            for end in study.records.iter_mut().flat_map(|record| record.of_mut(Role::Sender)) {
                end.effective.path_mtu_bytes = Some(Bytes(mtu));
            }
            of_study(&RULE, &study)
        };
        let said = |message: u64, mtu: u64| format!("{:?}", of(message, mtu));
        assert!(said(572, 600).contains("fill the packets of 600 B"), "{}", said(572, 600));
        assert!(said(552, 600).contains("fill the packets"), "of IPv6: {}", said(552, 600));
        assert!(said(573, 600).contains("in 2 fragments"), "{}", said(573, 600));
        // Within the eight bytes in which offsets count, beside IPv6's longer header.
        assert!(is_found(&of(545, 600)) && is_clear(&of(544, 600)));
        assert!(is_clear(&of(500, 600)), "smaller than they could be");
        assert!(is_clear(&of(1252, 1280)), "as IPv6 has it at the least");
        assert!(is_clear(&of(1472, 1500)));
    }
}
