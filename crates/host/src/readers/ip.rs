//! `ip link` and `ip address`, as JSON (`-j`) and as text: interfaces, MTU, state, what stands on
//! what; with `-d` the kind and, from
//! iproute2 5.16 on, the device behind them.

use super::{BadText, Reader, json, short};
use crate::parts::{PartialHost, bare_path};
use crate::pci;
use narrows_model::host::Nic;
use narrows_model::{Bytes, Fact};
use serde_json::Value;

const PROGRAM: &str = "ip";

/// Interfaces, what stands on what, and MTUs in bytes.
pub static READER: Reader = Reader { name: PROGRAM, is, read };

fn is(text: &str) -> bool {
    json::names(text, &["ifname", "ifindex"]) || text.lines().take(4).any(|l| head(l).is_some())
}

fn read(text: &str, from: &str) -> Result<PartialHost, BadText> {
    let mut part = PartialHost::of(PROGRAM, from);
    let nics = if text.trim_start().starts_with('[') {
        let document = json::document(text, PROGRAM)?;
        let links = document.as_array().map(Vec::as_slice).unwrap_or_default();
        links.iter().filter_map(|link| of_json(link, from)).collect()
    } else {
        of_text(text, from)?
    };
    for (nic, mac) in nics.into_iter().filter(|(nic, _): &Link| nic.name != "lo") {
        if let Some(mac) = mac.filter(|_| nic.kind.value().is_none()) {
            part.marks.macs.insert(nic.name.clone(), mac);
        }
        part.host.nics.push(nic);
    }
    if part.host.nics.is_empty() {
        Err(BadText::Nothing { program: PROGRAM, why: "no interface but lo" })
    } else {
        Ok(part)
    }
}

/// An interface and its hardware address.
type Link = (Nic, Option<String>);

fn of_json(link: &Value, from: &str) -> Option<Link> {
    let mut nic = Nic { name: json::text(link, "ifname")?.to_owned(), ..Nic::default() };
    let kind = link.get("linkinfo").and_then(|info| json::text(info, "info_kind"));
    nic.kind = json::told(kind, from);
    nic.state = json::told(json::text(link, "operstate").map(str::to_lowercase).as_deref(), from);
    nic.mtu_bytes = json::count(link, "mtu")
        .map_or_else(|| Fact::absent(from), |mtu| Fact::known(Bytes(mtu), from));
    nic.master = json::told(json::text(link, "master"), from);
    nic.qdisc = json::told(json::text(link, "qdisc"), from);
    nic.lower = json::text(link, "link").map(str::to_owned).into_iter().collect();
    nic.path = json::text(link, "parentdev").map(bare_path).unwrap_or_default();
    nic.physical = !nic.path.is_empty();
    let mac = json::text(link, "permaddr").or_else(|| json::text(link, "address"));
    Some((nic, mac.map(str::to_owned)))
}

/// `2: eth0: <BROADCAST,UP> mtu 1500 qdisc mq state UP`: the name and the words behind it.
fn head(line: &str) -> Option<(&str, &str)> {
    let (index, rest) = line.split_once(": ")?;
    index.parse::<u32>().ok()?;
    let (name, words) = rest.split_once(": <")?;
    Some((name, words))
}

fn of_text(text: &str, from: &str) -> Result<Vec<Link>, BadText> {
    let mut links: Vec<Link> = Vec::new();
    for line in text.lines() {
        if let Some((name, words)) = head(line) {
            links.push((of_head(name, words, from)?, None));
        } else if let Some((nic, mac)) = links.last_mut() {
            let words: Vec<&str> = line.split_whitespace().collect();
            of_detail(nic, mac, &words, from);
        }
    }
    Ok(links)
}

fn of_head(name: &str, words: &str, from: &str) -> Result<Nic, BadText> {
    let words: Vec<&str> = words.split_whitespace().collect();
    let (name, lower) = name.split_once('@').map_or((name, None), |(n, l)| (n, Some(l)));
    let mut nic = Nic { name: name.to_owned(), ..Nic::default() };
    match after(&words, "mtu") {
        Some(mtu) => {
            nic.mtu_bytes = Fact::known(Bytes(mtu.parse().map_err(|_| bad(mtu))?), from);
        }
        None => {
            let missing = format!("the MTU of {name}");
            return Err(BadText::CutShort { program: PROGRAM, missing });
        }
    }
    nic.state = json::told(after(&words, "state").map(str::to_lowercase).as_deref(), from);
    nic.master = json::told(after(&words, "master"), from);
    nic.qdisc = json::told(after(&words, "qdisc"), from);
    nic.lower = lower.filter(|l| *l != "NONE").map(str::to_owned).into_iter().collect();
    Ok(nic)
}

fn bad(text: &str) -> BadText {
    BadText::Value { program: PROGRAM, what: "MTU", text: short(text) }
}

/// The word behind a word.
fn after<'a>(words: &[&'a str], key: &str) -> Option<&'a str> {
    let at = words.iter().position(|word| *word == key)?;
    words.get(at + 1).copied()
}

/// Lines below: the hardware address; with `-d` the kind and the device's address.
fn of_detail(nic: &mut Nic, mac: &mut Option<String>, words: &[&str], from: &str) {
    let Some(first) = words.first() else { return };
    if first.starts_with("link/") {
        *mac = words.get(1).map(|mac| (*mac).to_owned());
    }
    if ["bridge", "bond", "vlan", "veth", "vxlan", "tun", "macvlan"].contains(first) {
        nic.kind = Fact::known((*first).to_owned(), from);
    }
    if let Some(address) = after(words, "parentdev").filter(|text| pci::is_address(text)) {
        nic.path = bare_path(address);
        nic.physical = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JSON: &str = r#"[{"ifindex":1,"ifname":"lo","mtu":65536},
        {"ifindex":2,"ifname":"ens1f0","mtu":9000,"qdisc":"mq","operstate":"UP","master":"bond0",
        "address":"02:00:00:00:00:01","num_tx_queues":64,"num_rx_queues":32,
        "parentbus":"pci","parentdev":"0000:3b:00.0"},
        {"ifindex":3,"ifname":"bond0","mtu":9000,"operstate":"UP",
        "linkinfo":{"info_kind":"bond"}},
        {"ifindex":4,"ifname":"bond0.7","link":"bond0","mtu":1500,
        "linkinfo":{"info_kind":"vlan"}}]"#;

    const TEXT: &str = "1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN\n\
        \x20   link/loopback 00:00:00:00:00:00 brd 00:00:00:00:00:00\n\
        2: ens1f0: <BROADCAST,UP> mtu 9000 qdisc mq master bond0 state UP mode DEFAULT\n\
        \x20   link/ether 02:00:00:00:00:01 brd ff:ff:ff:ff:ff:ff promiscuity 0 numtxqueues 64 \
        numrxqueues 32 gso_max_size 65536 parentbus pci parentdev 0000:3b:00.0\n\
        3: bond0: <BROADCAST,MASTER,UP> mtu 9000 qdisc noqueue state UP\n\
        \x20   link/ether 02:00:00:00:00:01\n\
        \x20   bond mode 802.3ad miimon 100\n\
        4: bond0.7@bond0: <BROADCAST,UP> mtu 1500 qdisc noqueue state UP\n\
        \x20   vlan protocol 802.1Q id 7\n";

    #[test]
    fn interfaces_are_alike_from_json_and_from_text() {
        for text in [JSON, TEXT] {
            assert!(is(text));
            let part = read(text, "ip").expect("interfaces");
            let nics = &part.host.nics;
            let names: Vec<&str> = nics.iter().map(|nic| nic.name.as_str()).collect();
            assert_eq!(names, ["ens1f0", "bond0", "bond0.7"]);
            assert_eq!(nics[0].mtu_bytes.value(), Some(&Bytes(9000)));
            // What memory was set aside for is not what is used.
            assert_eq!(nics[0].queues.value(), None);
            assert_eq!(nics[0].path[0].address, "0000:3b:00.0");
            assert_eq!(nics[0].master.value().map(String::as_str), Some("bond0"));
            assert_eq!(nics[0].state.value().map(String::as_str), Some("up"));
            assert_eq!(nics[1].kind.value().map(String::as_str), Some("bond"));
            assert_eq!(
                (nics[2].lower.as_slice(), nics[2].physical),
                (["bond0".to_owned()].as_slice(), false)
            );
            assert_eq!(part.marks.macs.len(), 1, "only of devices: {:?}", part.marks.macs);
        }
        for cut in [40, 100, 200, JSON.len() - 1] {
            assert!(matches!(read(&JSON[..cut], "cut"), Err(BadText::Json { .. })), "{cut}");
        }
        let cut = &TEXT[..TEXT.find("mtu 1500").expect("last")];
        assert!(matches!(read(cut, "cut"), Err(BadText::CutShort { .. })));
    }
}
