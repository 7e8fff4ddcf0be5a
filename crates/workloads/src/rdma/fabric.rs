//! Endpoints of libfabric that know each other: names and memory are told over the flow's TCP
//! connection, as those of queue pairs are.

use super::link::{Link, Need, Room, Rooms, addresses, memory};
use super::pair::RdmaPair;
use super::settings::RdmaSettings;
use super::talk::{Talk, Word};
use crate::LoadError;
use crate::harness::ends::Flow;
use narrows_model::rdma::{RdmaConnection, RdmaEffective, RdmaService, RdmaTransport};
use narrows_rdma::fabric::{Asked, Endpoint, Info, NAME_MAX, Provider, Size};
use narrows_rdma::{Remote, Verb};
use socket2::Socket;

/// Makes the endpoint of a flow and learns the other's. A reason that one end has is told to the
/// other.
pub fn establish(
    flow: Socket,
    told: &Flow,
    settings: &RdmaSettings,
    need: &Need,
    rooms: Rooms<'_>,
) -> Result<Link, LoadError> {
    let (own, _) = addresses(&flow)?;
    let mut talk = Talk::new(flow)?;
    let made = make(told, settings, need, own).and_then(|made| meet(made, &mut talk, rooms));
    let (mut pair, remote, effective) = made.inspect_err(|error| {
        let _ = talk.say(Word::Failed, error.to_string().as_bytes());
    })?;
    let base = pair.base();
    let effective = RdmaEffective {
        depth: settings.depth,
        post_list: 1,
        signal_every: 1,
        pages: settings.pages.name().to_owned(),
        ..effective
    };
    Ok(Link { pair, base, remote, talk, told: effective, _ticker: None })
}

fn make(
    told: &Flow,
    settings: &RdmaSettings,
    need: &Need,
    own: std::net::IpAddr,
) -> Result<Endpoint<crate::harness::buffer::Buffer>, LoadError> {
    let asked = Asked {
        provider: settings.provider.as_deref(),
        domain: settings.place.device.as_deref(),
        own,
        tagged: need.verb == Verb::Send,
        // What is sent is counted where it arrives, and what is answered needs no other word.
        delivered: need.verb == Verb::Write && told.job.kind.is_stream(),
    };
    let info = Info::find(&asked)?;
    let size = Size { sends: need.sends, receives: need.receives, sleeps: settings.events };
    let tag = told.token.iter().take(8).fold(0, |tag, byte| tag << 8 | u64::from(*byte));
    let mut key = [0; 8];
    getrandom::fill(&mut key)
        .map_err(|error| LoadError::Order(format!("generating a key: {error}")))?;
    let key = u64::from_be_bytes(key);
    Ok(Endpoint::new(info, memory(told, settings, need)?, size, key, tag)?)
}

fn meet(
    mut endpoint: Endpoint<crate::harness::buffer::Buffer>,
    talk: &mut Talk,
    rooms: Rooms<'_>,
) -> Result<(RdmaPair, Remote, RdmaEffective), LoadError> {
    let Provider { name, domain } = endpoint.info().provider();
    let software = endpoint.info().provider().is_software();
    let delivers = endpoint.info().delivers;
    let lent = endpoint.lent();
    talk.say(Word::Card, &card(&endpoint.name()?, lent))?;
    let heard = talk.hear(Word::Card)?;
    let (other, remote) = read_card(&heard)
        .ok_or_else(|| LoadError::Peer("the other end's answer is malformed".into()))?;
    endpoint.join(other)?;
    let mut pair = RdmaPair::Fabric(Box::new(endpoint));
    for Room { id, address, length } in rooms(pair.base()) {
        pair.post_receive(id, address, length)?;
    }
    // Nobody sends before both are ready.
    talk.say(Word::Hello, &[])?;
    talk.hear(Word::Hello)?;
    let effective = RdmaEffective {
        chosen: format!("libfabric's first answer for {domain}"),
        device: domain,
        provider: Some(name),
        software,
        delivers,
        transport: RdmaTransport::Libfabric,
        connection: RdmaConnection::Exchange,
        service: RdmaService::ReliableDatagram,
        ..RdmaEffective::default()
    };
    Ok((pair, remote, effective))
}

fn card(name: &[u8], lent: Remote) -> Vec<u8> {
    [&lent.address.to_be_bytes(), &lent.key.to_be_bytes(), name].concat()
}

fn read_card(bytes: &[u8]) -> Option<(&[u8], Remote)> {
    let (address, rest) = bytes.split_first_chunk::<8>()?;
    let (key, name) = rest.split_first_chunk::<8>()?;
    let remote = Remote { address: u64::from_be_bytes(*address), key: u64::from_be_bytes(*key) };
    (1..=NAME_MAX).contains(&name.len()).then_some((name, remote))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_is_read_as_it_was_written_and_a_torn_one_is_not() {
        let lent = Remote { address: 0x7f00_1234_5678_9abc, key: u64::MAX - 3 };
        let written = card(b"fi_shm://77", lent);
        assert_eq!(read_card(&written), Some((&b"fi_shm://77"[..], lent)));
        assert_eq!(read_card(&written[..16]), None, "no name");
        assert_eq!(read_card(&written[..9]), None);
        assert_eq!(read_card(&card(&[7; NAME_MAX + 1], lent)), None, "no such name");
    }
}
