//! Two queue pairs that know each other and each other's memory.

use super::choice::{self, Choice};
use super::pair::RdmaPair;
use super::settings::{Connection, RdmaSettings, reported};
use super::talk::{ANSWER_WITHIN, Talk, Word};
use crate::LoadError;
use crate::harness::buffer::Buffer;
use crate::harness::ends::{Flow, listens};
use crate::harness::payload;
use crate::harness::socket::LOOK_UP;
use narrows_model::Bytes;
use narrows_model::rdma::{RdmaEffective, RdmaTransport};
use narrows_rdma::ticker::Ticker;
use narrows_rdma::verbs::cm::{Half, Listener};
use narrows_rdma::verbs::{
    Access, Address, Domain, Kind as Service, QueuePair, Region, Route, Size, Transport,
};
use narrows_rdma::{Completion, Remote, Verb};
use socket2::Socket;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Looks at completions between two looks at the connection.
const LOOKS: u32 = 256;
/// Bytes of a card: number, first packet, LID, GID, address, key.
const CARD: usize = 4 + 4 + 2 + 16 + 8 + 4;

/// What an end needs of its queue pair and its memory.
pub struct Need {
    /// What is asked over it.
    pub verb: Verb,
    /// Requests under way.
    pub sends: u32,
    /// Buffers posted for arrivals.
    pub receives: u32,
    /// Length of the memory.
    pub bytes: usize,
    /// Whether it begins as what is sent, or as zeros.
    pub pattern: bool,
    /// What NICs may do with it.
    pub access: Access,
}

/// A connected queue pair, or an endpoint that knows another.
pub struct Link {
    /// It, and own memory.
    pub pair: RdmaPair,
    pub base: u64,
    /// The other end's memory.
    pub remote: Remote,
    /// The connection beside it.
    pub talk: Talk,
    pub told: RdmaEffective,
    /// Wakes this thread now and then, where it sleeps until something completes.
    pub(super) _ticker: Option<Ticker>,
}

impl Link {
    /// The other end's next word, when one comes in time. Where nothing moves unless this program
    /// calls, it calls all the while: the other end's writes and reads depend on it.
    pub fn hear_within(
        &mut self,
        within: Duration,
        sleeps: bool,
    ) -> Result<Option<(u8, Vec<u8>)>, LoadError> {
        if !self.pair.needs_calls() {
            return self.talk.hear_within(within);
        }
        let began = Instant::now();
        let mut none = [Completion::default(); 1];
        loop {
            for _ in 0..if sleeps { 1 } else { LOOKS } {
                self.pair.take(&mut none, sleeps)?;
            }
            if self.talk.is_heard()? {
                return self.talk.hear_within(within);
            }
            if began.elapsed() > within {
                return Ok(None);
            }
        }
    }
}

/// What is made before the other end is known.
struct Made {
    qp: QueuePair,
    region: Region<Buffer>,
    inline: bool,
}

/// A buffer for an arrival.
pub struct Room {
    /// What comes back with what arrived.
    pub id: u64,
    pub address: u64,
    pub length: u32,
}

/// The first buffers for arrivals, by where the memory begins; they are posted before the other end
/// sends.
pub type Rooms<'a> = &'a dyn Fn(u64) -> Vec<Room>;

/// One end, while it is being connected.
struct Maker<'a> {
    told: &'a Flow,
    settings: &'a RdmaSettings,
    need: &'a Need,
    own: IpAddr,
    other: IpAddr,
    rooms: Rooms<'a>,
}

/// Makes the queue pair of a flow and connects it. A reason that one end has is told to the other.
pub fn establish(
    flow: Socket,
    told: &Flow,
    settings: &RdmaSettings,
    need: &Need,
    rooms: Rooms<'_>,
) -> Result<Link, LoadError> {
    let (own, other) = addresses(&flow)?;
    let mut talk = Talk::new(flow)?;
    let maker = Maker { told, settings, need, own, other, rooms };
    let made = if listens(&told.job) { maker.listen(&mut talk) } else { maker.connect(&mut talk) };
    let (made, remote, effective) = made.inspect_err(|error| {
        let _ = talk.say(Word::Failed, error.to_string().as_bytes());
    })?;
    let Made { qp, region, .. } = made;
    let mut pair = RdmaPair::Verbs { qp, region };
    let base = pair.base();
    let ticker = settings.events.then(|| Ticker::start(LOOK_UP)).transpose()?;
    Ok(Link { pair, base, remote, talk, told: effective, _ticker: ticker })
}

/// The own and the other's address of a connection.
pub(super) fn addresses(flow: &Socket) -> Result<(IpAddr, IpAddr), LoadError> {
    Ok((ip_of(flow.local_addr())?, ip_of(flow.peer_addr())?))
}

fn ip_of(at: std::io::Result<socket2::SockAddr>) -> Result<IpAddr, LoadError> {
    let at = at.ok().and_then(|at| at.as_socket()).map(|at| at.ip().to_canonical());
    at.ok_or_else(|| LoadError::Peer("the connection is gone".into()))
}

/// An end's buffer: what is sent, or not a byte of what is to arrive.
pub(super) fn memory(
    told: &Flow,
    settings: &RdmaSettings,
    need: &Need,
) -> Result<Buffer, LoadError> {
    let mut buffer = Buffer::with(need.bytes, settings.pages, told.job.node)?;
    if need.pattern {
        payload::fill(buffer.bytes_mut())
    } else {
        buffer.bytes_mut().fill(0)
    }
    Ok(buffer)
}

type Connected = (Made, Remote, RdmaEffective);

impl Maker<'_> {
    fn listen(&self, talk: &mut Talk) -> Result<Connected, LoadError> {
        narrows_rdma::verbs::available()?;
        let chosen = match self.settings.connection {
            Some(Connection::Manager) => None,
            Some(Connection::Exchange) => Some(self.choose()?),
            None => choice::choose(&self.settings.place, None, self.own)?
                .filter(|choice| choice.domain.transport() == Transport::InfiniBand),
        };
        match chosen {
            Some(choice) => {
                talk.say(Word::Hello, &Hello::Exchange.write())?;
                self.exchange(choice, talk)
            }
            None => {
                let (door, at) = self.door()?;
                let own = Hello::Door(SocketAddr::new(at, door.port()?));
                talk.say(Word::Hello, &own.write())?;
                let deadline = Instant::now() + ANSWER_WITHIN;
                let half = self.wait_at(&door, talk, deadline)?;
                let made = self.make_managed(&half)?;
                half.accept(deadline)?;
                self.managed(&half, made, talk)
            }
        }
    }

    /// Waits at the door, but not when the other end has given up.
    fn wait_at(&self, door: &Listener, talk: &mut Talk, until: Instant) -> Result<Half, LoadError> {
        loop {
            let look_up = (Instant::now() + Duration::from_millis(200)).min(until);
            match door.accept(&self.told.token, look_up) {
                Ok(half) => return Ok(half),
                Err(error) if Instant::now() >= until => return Err(error.into()),
                Err(_) => {}
            }
            if let Some((_, why)) = talk.hear_within(Duration::from_millis(1))? {
                let why = String::from_utf8_lossy(&why).into_owned();
                return Err(LoadError::Peer(format!("the other end: {why}")));
            }
        }
    }

    fn connect(&self, talk: &mut Talk) -> Result<Connected, LoadError> {
        narrows_rdma::verbs::available()?;
        let Hello::Door(to) = Hello::read(&talk.hear(Word::Hello)?)
            .ok_or_else(|| LoadError::Peer("the other end sent an unexpected message".into()))?
        else {
            let choice = self.choose()?;
            if choice.domain.transport() == Transport::Iwarp {
                let device = choice.domain.device();
                return Err(LoadError::Order(format!(
                    "{device} is iWARP, which connects through the connection manager only (-R)"
                )));
            }
            return self.exchange(choice, talk);
        };
        let from = self.source(to.ip())?.map(|from| SocketAddr::new(from, 0));
        let half = Half::to(to, from, self.settings.traffic_class)?;
        let made = self.make_managed(&half)?;
        half.connect(&self.told.token, Instant::now() + ANSWER_WITHIN)?;
        self.managed(&half, made, talk)
    }

    /// The address that the connection manager begins at, by which it chooses the device; `None`
    /// leaves that to the routes.
    fn source(&self, to: IpAddr) -> Result<Option<IpAddr>, LoadError> {
        match &self.settings.place.device {
            // Both ends are here: every route leads to the other end's device.
            Some(device) if self.own.is_loopback() => choice::address_of(device, to).map(Some),
            // A device that was named may have another address than the one that led here.
            _ => Ok((to == self.other).then_some(self.own)),
        }
    }

    /// A device for an exchange.
    fn choose(&self) -> Result<Choice, LoadError> {
        let chosen = choice::choose(&self.settings.place, self.settings.gid, self.own)?;
        chosen.ok_or_else(|| {
            let own = self.own;
            LoadError::Order(format!("no RDMA device shows the address {own}: name one (-d)"))
        })
    }

    /// A door of the connection manager, on the first port that is free of those allowed.
    fn door(&self) -> Result<(Listener, IpAddr), LoadError> {
        let at = match &self.settings.place.device {
            Some(device) => choice::address_of(device, self.own)?,
            None => self.own,
        };
        let (first, last) = self.told.job.ports.unwrap_or((0, 0));
        let mut tried = None;
        for port in first..=last {
            match Listener::bind(SocketAddr::new(at, port)) {
                Ok(door) => return Ok((door, at)),
                Err(error) => tried = Some(error),
            }
        }
        Err(tried.map_or_else(|| LoadError::Order("no ports".into()), LoadError::from))
    }

    /// The queue pair and the memory. Where the device refuses what was only wished for (bytes
    /// inside requests), it does without.
    fn make(
        &self,
        domain: &Arc<Domain>,
        make: impl Fn(&Size) -> Result<QueuePair, narrows_rdma::NativeError>,
    ) -> Result<Made, LoadError> {
        let fits = self.told.message() as u64 <= u64::from(self.settings.inline_bytes);
        let inline_bytes = if fits { self.told.message() as u32 } else { 0 };
        let Need { verb, sends, receives, .. } = *self.need;
        // RFC 5040 has neither; devices that offer them over TCP do so in ways of their own.
        if domain.transport() == Transport::Iwarp && matches!(verb, Verb::WriteImm | Verb::FetchAdd)
        {
            let device = domain.device();
            return Err(LoadError::Order(format!(
                "{device} is iWARP, which has no write with immediate and no atomic operations"
            )));
        }
        if domain.transport() == Transport::Iwarp && self.settings.service != Service::Rc {
            let device = domain.device();
            let says = format!("{device} is iWARP, which has reliable connections only (rc)");
            return Err(LoadError::Order(says));
        }
        let size = Size { sends, receives, inline_bytes, events: self.settings.events };
        let asked = self.told.job.params.rdma.as_ref().and_then(|rdma| rdma.inline_bytes);
        let (mut qp, inline) = match make(&size) {
            Err(_) if inline_bytes > 0 && asked.is_none() => {
                (make(&Size { inline_bytes: 0, ..size })?, false)
            }
            made => (made?, inline_bytes > 0),
        };
        let buffer = memory(self.told, self.settings, self.need)?;
        let mut region = Region::new(domain, buffer, self.need.access)?;
        for Room { id, address, length } in (self.rooms)(region.address()) {
            qp.post_receive(id, address, length, region.local_key())?;
        }
        Ok(Made { qp, region, inline })
    }

    fn make_managed(&self, half: &Half) -> Result<Made, LoadError> {
        let device = half.domain().device();
        if let Some(asked) = self.settings.place.device.as_ref().filter(|asked| **asked != device) {
            let own = self.own;
            return Err(LoadError::Order(format!("{own} belongs to {device}, not to {asked}")));
        }
        self.make(half.domain(), |size| half.queue_pair(self.settings.service, size))
    }

    /// The rest, once the connection manager has connected the queue pairs.
    fn managed(&self, half: &Half, made: Made, talk: &mut Talk) -> Result<Connected, LoadError> {
        let domain = half.domain();
        let mut made = made;
        let port = half.port()?;
        let memory = self.trade(talk, &Address::default(), &mut made.region)?.1;
        let iwarp = domain.transport() == Transport::Iwarp;
        let asked = &self.settings.place;
        let why = match &asked.device {
            Some(device) => format!("{device} was asked for and has the address {}", self.own),
            None => format!("the connection manager found {} there", self.own),
        };
        let told = domain.port(port)?;
        let effective = RdmaEffective {
            transport: match (iwarp, told.lid) {
                (true, _) => RdmaTransport::Iwarp,
                (_, 0) => RdmaTransport::Roce,
                _ => RdmaTransport::InfiniBand,
            },
            path_mtu_bytes: (!iwarp).then_some(Bytes(told.mtu_bytes.into())),
            ..self.effective(domain, port, Connection::Manager, why, made.inline)
        };
        Ok((made, memory, effective))
    }

    /// Connects by what the ends tell each other.
    fn exchange(&self, choice: Choice, talk: &mut Talk) -> Result<Connected, LoadError> {
        let Choice { domain, port, gid, mtu_bytes, why } = choice;
        let settings = self.settings;
        let service = settings.service;
        let mut made = self.make(&domain, |size| QueuePair::new(&domain, service, size, port))?;
        let path = Route {
            port,
            gid_index: gid.as_ref().map_or(0, |gid| gid.index),
            mtu_bytes: settings.path_mtu_bytes.unwrap_or(mtu_bytes).min(mtu_bytes),
            service_level: settings.service_level,
            traffic_class: settings.traffic_class,
        };
        let message = self.told.message() as u64;
        if service == Service::Ud && message > u64::from(path.mtu_bytes) {
            let mtu = path.mtu_bytes;
            return Err(LoadError::Order(format!(
                "a datagram of {message} B is larger than the path MTU of {mtu} B"
            )));
        }
        let own = made.qp.address(&path)?;
        let (other, memory) = self.trade(talk, &own, &mut made.region)?;
        made.qp.join(&own, &other, &path)?;
        // Nobody sends before both are ready.
        talk.say(Word::Hello, &[])?;
        talk.hear(Word::Hello)?;
        let transport = match (&gid, own.lid) {
            (_, lid) if lid != 0 => RdmaTransport::InfiniBand,
            (Some(gid), _) if gid.is_v2() => RdmaTransport::RoceV2,
            _ => RdmaTransport::RoceV1,
        };
        let effective = RdmaEffective {
            transport,
            gid_index: gid.as_ref().map(|gid| gid.index),
            gid: gid.as_ref().map(|gid| gid.address().to_string()),
            path_mtu_bytes: Some(Bytes(path.mtu_bytes.into())),
            ..self.effective(&domain, port, Connection::Exchange, why, made.inline)
        };
        Ok((made, memory, effective))
    }

    fn effective(
        &self,
        domain: &Domain,
        port: u8,
        connection: Connection,
        chosen: String,
        inline: bool,
    ) -> RdmaEffective {
        let RdmaSettings { service, depth, post_list, signal_every, pages, .. } = *self.settings;
        RdmaEffective {
            device: domain.device(),
            port,
            connection: connection.reported(),
            service: reported(service),
            chosen,
            depth,
            post_list,
            signal_every,
            inline,
            pages: pages.name().to_owned(),
            ..RdmaEffective::default()
        }
    }

    /// Tells the other end where our queue pair and memory are, and hears its own.
    fn trade(
        &self,
        talk: &mut Talk,
        own: &Address,
        region: &mut Region<Buffer>,
    ) -> Result<(Address, Remote), LoadError> {
        let memory = Remote { address: region.address(), key: region.remote_key().into() };
        talk.say(Word::Card, &card(own, memory))?;
        let heard = talk.hear(Word::Card)?;
        read_card(&heard)
            .ok_or_else(|| LoadError::Peer("the other end's answer is malformed".into()))
    }
}

/// How the listening end connects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hello {
    /// By what the ends tell each other.
    Exchange,
    /// At this door of the connection manager.
    Door(SocketAddr),
}

impl Hello {
    fn write(self) -> Vec<u8> {
        let Self::Door(door) = self else { return vec![0] };
        let ip = match door.ip() {
            IpAddr::V4(v4) => v4.to_ipv6_mapped(),
            IpAddr::V6(v6) => v6,
        };
        [&[1], &door.port().to_be_bytes()[..], &ip.octets()].concat()
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0] => Some(Self::Exchange),
            [1, high, low, ip @ ..] => {
                let ip: [u8; 16] = ip.try_into().ok()?;
                let ip = IpAddr::from(ip).to_canonical();
                Some(Self::Door(SocketAddr::new(ip, u16::from_be_bytes([*high, *low]))))
            }
            _ => None,
        }
    }
}

fn card(own: &Address, memory: Remote) -> Vec<u8> {
    let mut card = Vec::with_capacity(CARD);
    card.extend_from_slice(&own.number.to_be_bytes());
    card.extend_from_slice(&own.first_packet.to_be_bytes());
    card.extend_from_slice(&own.lid.to_be_bytes());
    card.extend_from_slice(&own.gid);
    card.extend_from_slice(&memory.address.to_be_bytes());
    card.extend_from_slice(&(memory.key as u32).to_be_bytes());
    card
}

fn read_card(bytes: &[u8]) -> Option<(Address, Remote)> {
    let card: &[u8; CARD] = bytes.try_into().ok()?;
    let four = |at: usize| Some(u32::from_be_bytes(card.get(at..at + 4)?.try_into().ok()?));
    let address = Address {
        number: four(0)? & 0xff_ffff,
        first_packet: four(4)? & 0xff_ffff,
        lid: u16::from_be_bytes([card[8], card[9]]),
        gid: card.get(10..26)?.try_into().ok()?,
    };
    let memory = Remote {
        address: u64::from_be_bytes(card.get(26..34)?.try_into().ok()?),
        key: four(34)?.into(),
    };
    Some((address, memory))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hello_is_read_as_it_was_said_and_nonsense_is_not() {
        for door in ["10.0.0.1:4711", "[fe80::7]:9"] {
            let door: SocketAddr = door.parse().expect("address");
            let hello = Hello::Door(door);
            assert_eq!(Hello::read(&hello.write()), Some(hello));
        }
        assert_eq!(Hello::read(&Hello::Exchange.write()), Some(Hello::Exchange));
        for nonsense in [&[][..], &[1], &[1, 2, 3, 4], &[7; 19]] {
            assert_eq!(Hello::read(nonsense), None);
        }
    }

    #[test]
    fn a_card_is_read_as_it_was_written_and_a_torn_one_is_not() {
        let own = Address { number: 17, first_packet: 0xff_fffe, lid: 3, gid: [9; 16] };
        let memory = Remote { address: 0x7f00_1234_5678_9abc, key: 0xdead_beef };
        let written = card(&own, memory);
        assert_eq!(written.len(), CARD);
        assert_eq!(read_card(&written), Some((own, memory)));
        assert_eq!(read_card(&written[1..]), None);
        assert_eq!(read_card(&[]), None);
    }
}
