//! What an order says of RDMA, with what is taken where it says nothing, and its limits.

use super::choice::GidSort;
use super::is_one_sided;
use crate::harness::buffer::Pages;
use crate::harness::ends::Flow;
use crate::harness::socket::wait;
use crate::{BUFFERS_BYTES_MAX, LoadError};
use narrows_model::Bytes;
use narrows_model::load::{Job, Role, Wait};
use narrows_model::options::rdma::{ALTERNATE, GID};
use narrows_model::rdma::{RdmaConnection, RdmaPlace, RdmaService};
use narrows_model::workload::{RdmaVerb, Workload};
use narrows_rdma::Verb;
use narrows_rdma::verbs::Kind as Service;

/// Requests under way where nothing else was asked for.
const DEPTH: u32 = 128;
/// Bytes under way on a queue pair, beyond which its depth is less where no other was asked for:
/// what a 200 Gb/s path of a millisecond holds.
const UNDER_WAY_BYTES: u64 = 25 << 20;
/// Messages larger than this are heard of more often, where nothing else was asked for: hearing of
/// one costs little beside it, and what a window counts is less rough.
const NEWS_BYTES: u64 = 8192;
/// The most of them that are accepted.
const DEPTH_MAX: u32 = 16_384;
/// Bytes that a round trip copies into its request where nothing else was asked for.
const INLINE_BYTES: u32 = 64;
/// Bytes of the header that comes before an unreliable datagram (GRH).
const HEADER_BYTES: usize = 40;
/// Buffers posted for arrivals, as a multiple of the requests under way.
pub const RECEIVES: u32 = 4;
/// Buffers posted for arrivals: the one that is due and the one after it.
pub const TRIP_RECEIVES: u64 = 2;
/// Bytes of an atomic operation.
pub const ATOMIC_BYTES: u64 = 8;

/// How queue pairs find each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connection {
    /// By IP address, through the connection manager.
    Manager,
    /// By what the ends tell each other.
    Exchange,
}

impl Connection {
    /// The same as reports and files have it.
    pub fn reported(self) -> RdmaConnection {
        match self {
            Self::Manager => RdmaConnection::Manager,
            Self::Exchange => RdmaConnection::Exchange,
        }
    }
}

/// A service of queue pairs as the device has it; `None` of another version's, or of endpoints'.
fn service_of(asked: &RdmaService) -> Option<Service> {
    match asked {
        RdmaService::ReliableConnection => Some(Service::Rc),
        RdmaService::UnreliableConnection => Some(Service::Uc),
        RdmaService::UnreliableDatagram => Some(Service::Ud),
        RdmaService::ReliableDatagram | RdmaService::Other(_) => None,
    }
}

/// The same as reports and files have it.
pub fn reported(service: Service) -> RdmaService {
    match service {
        Service::Rc => RdmaService::ReliableConnection,
        Service::Uc => RdmaService::UnreliableConnection,
        Service::Ud => RdmaService::UnreliableDatagram,
    }
}

/// An order's words about RDMA, complete.
#[derive(Clone, Debug)]
pub struct RdmaSettings {
    /// Device, port and identifier of this end.
    pub place: RdmaPlace,
    /// Sort of its identifier; `None` takes what the port has.
    pub gid: Option<GidSort>,
    /// `None` takes what the device knows.
    pub connection: Option<Connection>,
    /// Service of the queue pair.
    pub service: Service,
    /// Requests under way.
    pub depth: u32,
    /// Requests posted with one call.
    pub post_list: u32,
    /// Ask for a completion every N requests.
    pub signal_every: u32,
    /// Messages up to so many bytes go inside requests.
    pub inline_bytes: u32,
    /// Largest packet; `None` is that of the port.
    pub path_mtu_bytes: Option<u32>,
    /// Size of every other message; `None` is that of all.
    pub alternate_bytes: Option<u32>,
    /// Service level (InfiniBand).
    pub service_level: u8,
    /// Traffic class (RoCE).
    pub traffic_class: u8,
    /// Whether the NIC's writes may pass each other.
    pub relaxed: bool,
    /// Pages of the buffers.
    pub pages: Pages,
    /// Whether threads sleep until something completes.
    pub events: bool,
    /// Whether it goes through libfabric.
    pub is_fabric: bool,
    /// Provider of libfabric; `None` takes its first.
    pub provider: Option<String>,
    /// Whether words were said that only queue pairs of verbs understand.
    pub queue_pair_words: bool,
}

impl RdmaSettings {
    /// Bytes that come before each arrival.
    pub fn header_bytes(&self) -> usize {
        if self.service == Service::Ud { HEADER_BYTES } else { 0 }
    }

    /// Whether messages are counted at both ends: nobody acknowledges them.
    pub fn is_counted(&self, verb: Verb) -> bool {
        self.service != Service::Rc && !is_one_sided(verb)
    }

    /// Reads an order.
    pub fn of(job: &Job) -> Result<Self, LoadError> {
        let asked = job.params.rdma.clone().unwrap_or_default();
        let trips = job.kind.is_round_trip();
        let gid = GID.of(&job.params).map(|word| GidSort::named(&word)).transpose()?;
        let connection = match &asked.connection {
            // The manager chooses a version of RoCE by itself.
            None => gid.map(|_| Connection::Exchange),
            Some(RdmaConnection::Manager) if gid.is_some() => {
                let says = "the connection manager chooses the identifier itself (default_roce_mode \
                            of configfs): leave out -R, or the sort of GID";
                return Err(order(says.into()));
            }
            Some(RdmaConnection::Manager) => Some(Connection::Manager),
            Some(RdmaConnection::Exchange) => Some(Connection::Exchange),
            Some(RdmaConnection::Other(word)) => {
                return Err(order(format!("connection '{word}' is neither cm nor exchange")));
            }
        };
        let service = asked.service.as_ref().map_or(Some(Service::Rc), service_of);
        let service = service.ok_or_else(|| order("a service is rc, uc or ud".into()))?;
        let message = job.params.message_bytes.0;
        let fits = (UNDER_WAY_BYTES / message.max(1)).clamp(2, DEPTH.into()) as u32;
        let depth = asked.depth.unwrap_or(fits);
        let post_list = asked.post_list.unwrap_or(1);
        // News must come before there is no room for another list.
        let every = if message > NEWS_BYTES { depth / 16 } else { depth / 4 };
        let is_fabric = match asked.via.as_deref() {
            None => false,
            Some("libfabric") => true,
            Some(other) => {
                return Err(order(format!("via '{other}' is neither verbs nor libfabric")));
            }
        };
        // Requests of libfabric may end in another order than they began.
        let every = if is_fabric { 1 } else { every };
        let queue_pair_words = asked.has_queue_pair_words() || gid.is_some();
        let news_max = (depth + 1).saturating_sub(post_list).max(1);
        Ok(Self {
            place: if job.end == Role::Receiver { asked.receiver } else { asked.sender },
            gid,
            connection,
            service,
            depth,
            post_list,
            signal_every: asked.signal_every.unwrap_or(every).clamp(1, news_max),
            inline_bytes: asked.inline_bytes.unwrap_or(if trips { INLINE_BYTES } else { 0 }),
            path_mtu_bytes: asked.path_mtu_bytes,
            alternate_bytes: alternate(ALTERNATE.of(&job.params), message)?,
            service_level: asked.service_level.unwrap_or(0),
            traffic_class: asked.traffic_class.unwrap_or(0),
            relaxed: asked.relaxed_ordering,
            pages: Pages::named(asked.pages.as_deref())?,
            events: wait(&job.params)? == Wait::Block,
            is_fabric,
            provider: asked.provider,
            queue_pair_words,
        })
    }
}

/// Size of every other message: buffers have room for the first, so that it is no larger.
fn alternate(asked: Option<Bytes>, message: u64) -> Result<Option<u32>, LoadError> {
    match asked {
        Some(Bytes(bytes)) if bytes > message => Err(order(format!(
            "every other message of {bytes} B is larger than the first of {message} B: exchange \
             the two"
        ))),
        bytes => Ok(bytes.and_then(|Bytes(bytes)| u32::try_from(bytes).ok())),
    }
}

fn order(says: String) -> LoadError {
    LoadError::Order(says)
}

/// The verb of a workload, as the library has it.
fn verb(kind: &Workload) -> Option<Verb> {
    Some(match kind.verb()? {
        RdmaVerb::Write => Verb::Write,
        RdmaVerb::WriteImm => Verb::WriteImm,
        RdmaVerb::Read => Verb::Read,
        RdmaVerb::Send => Verb::Send,
        RdmaVerb::Atomic => Verb::FetchAdd,
    })
}

/// Limits of RDMA workloads; nothing to say of others, which may have no words about RDMA.
pub fn check(job: &Job) -> Result<(), LoadError> {
    let Some(verb) = verb(&job.kind) else { return Ok(()) };
    let settings = RdmaSettings::of(job)?;
    let (depth, list, every) = (settings.depth, settings.post_list, settings.signal_every);
    if !(1..=depth).contains(&list) || !(1..=depth).contains(&every) {
        return Err(order(format!(
            "batches of {list} and a completion every {every}, must be 1 to the depth"
        )));
    }
    match (settings.is_fabric, &settings.provider) {
        (true, _) => through_libfabric(verb, &settings, job.ports.is_some())?,
        (false, Some(_)) => return Err(order("a provider is libfabric's: say so (--via)".into())),
        _ => {}
    }
    services(verb, &settings)?;
    let buffers = compared_bytes(job);
    if buffers > BUFFERS_BYTES_MAX {
        return Err(order(format!(
            "{buffers} B of buffers for sends that are compared, must be at most \
             {BUFFERS_BYTES_MAX}: take smaller messages or a smaller depth"
        )));
    }
    let message = job.params.message_bytes.0;
    if verb == Verb::FetchAdd && message != ATOMIC_BYTES {
        return Err(order(format!("an atomic operation has {ATOMIC_BYTES} bytes, not {message}")));
    }
    others(verb, job, &settings)
}

/// Bytes of a flow's memory at this end, as [`super::streams`] and [`super::trips`] make it, all of
/// it registered and so locked, and what is compared with beside it. Requests and completions are
/// the device's own queues, counted at 64 bytes each.
pub fn flow_bytes(told: &Flow) -> Result<u64, LoadError> {
    let settings = RdmaSettings::of(&told.job)?;
    let Some(verb) = verb(&told.job.kind) else { return Ok(0) };
    let (span, message) = (told.span(), told.message());
    let verify = told.stream().verify;
    let checker = if verify { span } else { 0 };
    let receives = settings.depth.saturating_mul(RECEIVES) as usize;
    let queues = 64 * (receives + settings.depth as usize + 1);
    let header = settings.header_bytes();
    let memory = if told.job.kind.is_round_trip() {
        let slot = (message + header).next_multiple_of(64);
        message.next_multiple_of(64) + TRIP_RECEIVES as usize * slot
    } else if told.job.end == Role::Sender || is_one_sided(verb) {
        span
    } else {
        let slots = span / message.max(1);
        let slots = if verb == Verb::Send && verify { slots.max(receives) } else { slots };
        slots.saturating_mul(message + header)
    };
    Ok(memory.saturating_add(checker).saturating_add(queues) as u64)
}

/// Bytes of sends that are compared: each needs a buffer of its own, for as long as it is posted.
fn compared_bytes(job: &Job) -> u64 {
    let compared = job.params.stream.as_ref().is_some_and(|stream| stream.verify);
    if !compared || verb(&job.kind) != Some(Verb::Send) {
        return 0;
    }
    let depth = RdmaSettings::of(job).map_or(DEPTH_MAX, |settings| settings.depth);
    let each = u64::from(depth * RECEIVES).saturating_mul(job.params.message_bytes.0);
    each.saturating_mul(job.params.flows().into())
}

/// What libfabric has of the words about RDMA.
fn through_libfabric(verb: Verb, settings: &RdmaSettings, ports: bool) -> Result<(), LoadError> {
    let order = |says: &str| Err(LoadError::Order(says.into()));
    if !is_one_sided(verb) && verb != Verb::Send || verb == Verb::FetchAdd {
        return order("through libfabric there are write, read and send");
    }
    if settings.queue_pair_words {
        return order(
            "libfabric has no port, GID, connection manager, service, list, signalling, inline \
             size, path MTU, service level, traffic class or relaxed ordering to choose",
        );
    }
    if ports {
        return order("the ports of libfabric's endpoints cannot be chosen (--data-ports)");
    }
    Ok(())
}

/// What each service can do (InfiniBand specification, volume 1, table 81).
fn services(verb: Verb, settings: &RdmaSettings) -> Result<(), LoadError> {
    let can = match settings.service {
        Service::Rc => true,
        Service::Uc => matches!(verb, Verb::Write | Verb::WriteImm | Verb::Send),
        Service::Ud => verb == Verb::Send,
    };
    let name = reported(settings.service);
    match (can, settings.connection) {
        (false, _) => Err(LoadError::Order(format!("{name} has no such verb"))),
        (_, Some(Connection::Manager)) if settings.service != Service::Rc => {
            Err(LoadError::Order(format!("{name} is connected by exchange, not by cm")))
        }
        _ => Ok(()),
    }
}

/// Words of other workloads that mean nothing here.
fn others(verb: Verb, job: &Job, settings: &RdmaSettings) -> Result<(), LoadError> {
    let order = |says: &str| Err(LoadError::Order(says.into()));
    let params = &job.params;
    let stream = params.stream.clone().unwrap_or_default();
    let verify = stream.verify;
    if wait(params)? == Wait::BusyPoll {
        return order("RDMA waits by blocking (block) or by polling (spin)");
    }
    if settings.alternate_bytes.is_some() && (verify || verb == Verb::FetchAdd) {
        return order("messages of two sizes are neither compared nor atomic operations");
    }
    if verify && verb == Verb::FetchAdd {
        return order("an atomic operation counts, it carries no payload to compare");
    }
    if verify && settings.service != Service::Rc {
        return order("only what arrives whole and in order (rc) can be compared");
    }
    if job.kind.is_round_trip() && verb == Verb::Write && settings.events {
        return order("an RDMA write wakes no thread: spin, or use write with immediate");
    }
    if job.kind.is_round_trip() && settings.service != Service::Rc && is_one_sided(verb) {
        return order("a lost write would never be answered: use rc");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::Nanos;
    use narrows_model::load::{Params, StreamParams, Timeline};
    use narrows_model::rdma::RdmaParams;

    fn job(kind: &str, message: u64, rdma: RdmaParams) -> Job {
        let span = Nanos(1_000_000);
        Job {
            address: Some([127, 0, 0, 1].into()),
            token: "00".repeat(16),
            ..Job::new(
                kind.into(),
                Role::Receiver,
                Params { rdma: Some(rdma), ..Params::of_network(Bytes(message), 1) },
                Timeline::new(span, span, span),
            )
        }
    }

    fn refusal(kind: &str, message: u64, rdma: RdmaParams) -> String {
        let refused = crate::check(&job(kind, message, rdma)).map(|kind| kind.says);
        refused.expect_err(kind).to_string()
    }

    #[test]
    fn what_no_device_can_do_is_refused_before_one_is_asked() {
        let plain = RdmaParams::default;
        let service = |name: &str| RdmaParams { service: Some(name.into()), ..plain() };
        assert!(crate::check(&job("rdma-write-stream", 65536, plain())).is_ok());
        assert!(crate::check(&job("rdma-send-stream", 1024, service("ud"))).is_ok());
        assert!(refusal("rdma-write-stream", 8, service("ud")).contains("no such verb"));
        assert!(refusal("rdma-read-stream", 8, service("uc")).contains("no such verb"));
        assert!(refusal("rdma-send-stream", 8, service("xrc")).contains("none of rc, uc, ud"));
        assert!(refusal("rdma-atomic-stream", 64, plain()).contains("8 bytes"));
        assert!(refusal("rdma-write-rr", 8, plain()).contains("wakes no thread"));
        let deep = RdmaParams { depth: Some(1 << 20), ..plain() };
        assert!(refusal("tcp-stream", 8, deep.clone()).contains("'depth' is for RDMA"));
        assert!(refusal("rdma-write-stream", 8, deep).contains("depth: 1048576 is out of"));
        let list = RdmaParams { post_list: Some(129), ..plain() };
        assert!(refusal("rdma-write-stream", 8, list).contains("batches of 129"));
        let by_manager = RdmaParams { connection: Some("cm".into()), ..service("ud") };
        assert!(refusal("rdma-send-stream", 8, by_manager).contains("exchange"));
    }

    #[test]
    fn a_peer_cannot_order_more_memory_than_there_is_for_it() {
        let mut order = job(
            "rdma-send-stream",
            64 << 20,
            RdmaParams { depth: Some(DEPTH_MAX), ..RdmaParams::default() },
        );
        assert!(crate::check(&order).is_ok(), "one message, over and over");
        let stream = StreamParams { verify: true, ..StreamParams::default() };
        order.params.stream = Some(stream);
        let refused = crate::check(&order).map(|kind| kind.says).expect_err("4 TiB").to_string();
        assert!(refused.contains("must be at most"), "{refused}");
    }

    #[test]
    fn libfabric_has_words_of_its_own() {
        let fabric = || RdmaParams { via: Some("libfabric".into()), ..RdmaParams::default() };
        for kind in ["rdma-write-stream", "rdma-read-stream", "rdma-send-stream"] {
            let deep = RdmaParams { depth: Some(9), provider: Some("tcp".into()), ..fabric() };
            assert!(crate::check(&job(kind, 64, deep)).is_ok(), "{kind}");
            let settings = RdmaSettings::of(&job(kind, 64, fabric())).expect("settings");
            assert_eq!(settings.signal_every, 1, "requests may end in any order");
        }
        assert!(refusal("rdma-atomic-stream", 8, fabric()).contains("write, read and send"));
        assert!(refusal("rdma-write-imm-rr", 8, fabric()).contains("write, read and send"));
        for words in [
            RdmaParams { service: Some("uc".into()), ..fabric() },
            RdmaParams { post_list: Some(2), ..fabric() },
            RdmaParams { connection: Some("cm".into()), ..fabric() },
            RdmaParams { receiver: RdmaPlace { port: Some(1), ..Default::default() }, ..fabric() },
        ] {
            assert!(refusal("rdma-write-stream", 8, words).contains("libfabric has no"));
        }
        let place = RdmaPlace { device: Some("eth0".into()), ..Default::default() };
        let on = RdmaParams { sender: place.clone(), receiver: place, ..fabric() };
        assert!(crate::check(&job("rdma-write-stream", 8, on)).is_ok(), "a device can be named");
        let ports = Job { ports: Some((7000, 7001)), ..job("rdma-write-stream", 8, fabric()) };
        assert!(crate::check(&ports).map(|_| ()).expect_err("ports").to_string().contains("ports"));
        let verbs = RdmaParams { provider: Some("tcp".into()), ..RdmaParams::default() };
        assert!(refusal("rdma-write-stream", 8, verbs).contains("libfabric's"));
        let other = RdmaParams { via: Some("ucx".into()), ..RdmaParams::default() };
        assert!(refusal("rdma-write-stream", 8, other).contains("none of verbs, libfabric"));
    }

    #[test]
    fn a_sort_of_identifier_is_the_queue_pairs_own() {
        let told = |rdma: RdmaParams, gid: &str| {
            let mut order = job("rdma-write-stream", 64, rdma);
            order.params.told.tell(&GID, gid.to_owned());
            order
        };
        let settings = RdmaSettings::of(&told(RdmaParams::default(), "rocev1")).expect("settings");
        assert_eq!(settings.gid, Some(GidSort::RoceV1));
        // The connection manager would take what it likes, also where no device has the address.
        assert_eq!(settings.connection, Some(Connection::Exchange));
        let refused = |rdma: RdmaParams| {
            let checked = crate::check(&told(rdma, "infiniband")).map(|_| ());
            checked.expect_err("refused").to_string()
        };
        let managed = RdmaParams { connection: Some("cm".into()), ..RdmaParams::default() };
        assert!(refused(managed).contains("chooses the identifier itself"));
        let fabric = RdmaParams { via: Some("libfabric".into()), ..RdmaParams::default() };
        assert!(refused(fabric).contains("libfabric has no"));
        assert!(crate::check(&told(RdmaParams::default(), "ib")).is_err(), "no such word");
    }

    #[test]
    fn news_come_before_there_is_no_room() {
        let of = |depth, post_list, signal_every| {
            let rdma = RdmaParams { depth, post_list, signal_every, ..RdmaParams::default() };
            let settings = RdmaSettings::of(&job("rdma-write-stream", 64, rdma)).expect("settings");
            (settings.depth, settings.post_list, settings.signal_every)
        };
        assert_eq!(of(None, None, None), (128, 1, 32));
        assert_eq!(of(Some(16), Some(16), Some(16)), (16, 16, 1));
        assert_eq!(of(Some(1), None, None), (1, 1, 1));
        // 25 MiB of 8 MiB messages are three.
        let large = RdmaSettings::of(&job("rdma-write-stream", 8 << 20, RdmaParams::default()));
        assert_eq!(large.expect("settings").depth, 3);
    }
}
