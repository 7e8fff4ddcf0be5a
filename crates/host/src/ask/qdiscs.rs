//! What the kernel counts at the queueing discipline of each interface in the calling thread's
//! network namespace, by rtnetlink (`RTM_GETQDISC`), as `tc -s qdisc` prints it.

use super::dump::dump;
use netlink_packet_core::{Nla, NlasIterator};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage, TcOption, TcStats2};
use std::ffi::CStr;
use std::io;

/// What the outermost discipline of one interface counted since it was put there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Qdisc {
    /// The interface's name.
    pub interface: String,
    /// Packets that found no room, or were dropped on purpose.
    pub dropped: u64,
    /// Times that a packet had to wait since a rate was reached.
    pub overlimits: u64,
    /// Packets that the driver handed back.
    pub requeued: u64,
    /// Packets that wait in it now.
    pub waiting: u64,
    /// Whether it holds the filters of what comes in (ingress, clsact), and queues nothing.
    pub is_ingress: bool,
    /// The bucket of tbf.
    pub bucket: Option<Bucket>,
}

/// A token bucket, as tc-tbf(8) has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// What flows into it, in bytes a second.
    pub bytes_per_second: u64,
    /// What it holds (burst), in bytes.
    pub bytes: u64,
}

/// Of linux/pkt_sched.h: `TCA_TBF_PARMS` (struct tc_tbf_qopt), and the rate where 32 bits do not
/// hold it (`TCA_TBF_RATE64`).
const PARAMETERS: u16 = 1;
const RATE_64: u16 = 4;
/// Where that struct has the rate of its tc_ratespec, and the time that fills the bucket.
const RATE_AT: usize = 8;
const BUFFER_AT: usize = 28;
/// A tick of the scheduler's clock (`PSCHED_SHIFT`), in nanoseconds.
const TICK_NS: u128 = 64;

/// The place of such filters (`TC_H_INGRESS`, which clsact shares).
const INGRESS: TcHandle = TcHandle { major: 0xffff, minor: 0xfff1 };

/// The outermost disciplines that count anything; most interfaces made of software have none.
pub fn ask() -> io::Result<Vec<Qdisc>> {
    let mut found = Vec::new();
    dump(RouteNetlinkMessage::GetQueueDiscipline(TcMessage::default()), |message| {
        if let RouteNetlinkMessage::NewQueueDiscipline(qdisc) = message {
            found.extend(row(&qdisc, name(qdisc.header.index)));
        }
    })?;
    Ok(found)
}

/// Inner disciplines are left out: what they drop their parent counts too (`htb_enqueue`, and
/// `mq_dump`, which adds its queues up).
fn row(qdisc: &TcMessage, interface: Option<String>) -> Option<Qdisc> {
    let is_ingress = qdisc.header.parent == INGRESS;
    if qdisc.header.parent != TcHandle::ROOT && !is_ingress {
        return None;
    }
    let queue = qdisc.attributes.iter().find_map(|attribute| match attribute {
        TcAttribute::Stats2(all) => all.iter().find_map(|one| match one {
            TcStats2::Queue(queue) => Some(*queue),
            _ => None,
        }),
        _ => None,
    })?;
    Some(Qdisc {
        interface: interface?,
        dropped: queue.drops.into(),
        overlimits: queue.overlimits.into(),
        requeued: queue.requeues.into(),
        waiting: queue.qlen.into(),
        is_ingress,
        bucket: bucket(qdisc),
    })
}

fn bucket(qdisc: &TcMessage) -> Option<Bucket> {
    let is_of_it = |one: &TcAttribute| matches!(one, TcAttribute::Kind(kind) if kind == "tbf");
    qdisc.attributes.iter().find(|one| is_of_it(one))?;
    let options = qdisc.attributes.iter().find_map(|attribute| match attribute {
        TcAttribute::Options(options) => options.iter().find_map(|option| match option {
            TcOption::Other(nested) => Some(nested),
            _ => None,
        }),
        _ => None,
    })?;
    let mut bytes = vec![0; options.value_len()];
    options.emit_value(&mut bytes);
    let nested: Vec<_> = NlasIterator::new(&bytes[..]).flatten().collect();
    let of = |kind: u16| nested.iter().find(|one| one.kind() == kind).map(|one| one.value());
    let parameters = of(PARAMETERS)?;
    let word = |at: usize| {
        Some(u64::from(u32::from_ne_bytes(parameters.get(at..at + 4)?.try_into().ok()?)))
    };
    let rate_64 = of(RATE_64).and_then(|value| Some(u64::from_ne_bytes(value.try_into().ok()?)));
    let bytes_per_second = rate_64.map_or_else(|| word(RATE_AT), Some)?;
    let fills_ns = u128::from(word(BUFFER_AT)?) * TICK_NS;
    let bytes = u128::from(bytes_per_second) * fills_ns / 1_000_000_000;
    Some(Bucket { bytes_per_second, bytes: u64::try_from(bytes).ok()? })
}

/// The name of an interface in the calling thread's namespace; `None` once it is gone.
pub(super) fn name(index: i32) -> Option<String> {
    let mut text = [0; libc::IF_NAMESIZE];
    // SAFETY: the buffer has the length that the call may write, its end included.
    let told = unsafe { libc::if_indextoname(u32::try_from(index).ok()?, text.as_mut_ptr()) };
    if told.is_null() {
        return None;
    }
    // SAFETY: the call succeeded, so that the buffer has a string with its end.
    let text = unsafe { CStr::from_ptr(text.as_ptr()) };
    Some(text.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use netlink_packet_route::tc::TcStatsQueue;

    #[test]
    fn the_outermost_discipline_is_told_and_others_are_not() {
        let mut queue = TcStatsQueue::default();
        (queue.drops, queue.overlimits, queue.requeues, queue.qlen) = (3, 40, 5, 2);
        let mut message = TcMessage::with_index(2);
        message.attributes = vec![TcAttribute::Stats2(vec![TcStats2::Queue(queue)])];
        assert_eq!(row(&message, Some("e0".into())), None, "an inner one");
        message.header.parent = TcHandle::ROOT;
        let told = row(&message, Some("e0".into()));
        let of_e0 = Qdisc {
            interface: "e0".into(),
            dropped: 3,
            overlimits: 40,
            requeued: 5,
            waiting: 2,
            is_ingress: false,
            bucket: None,
        };
        assert_eq!(told, Some(of_e0.clone()));
        message.header.parent = INGRESS;
        let filters = row(&message, Some("e0".into()));
        assert_eq!(filters, Some(Qdisc { is_ingress: true, ..of_e0 }));
        message.header.parent = TcHandle::ROOT;
        assert_eq!(row(&message, None), None, "an interface that is gone");
    }

    #[test]
    fn a_token_bucket_has_its_rate_and_size() {
        use netlink_packet_core::DefaultNla;
        let told = |kind: &str, options: &[u8]| {
            let mut message = TcMessage::with_index(2);
            let options = TcOption::Other(DefaultNla::new(2, options.to_vec()));
            message.attributes =
                vec![TcAttribute::Kind(kind.into()), TcAttribute::Options(vec![options])];
            bucket(&message)
        };
        // As the kernel tells `tbf rate 1gbit burst 2000 limit 1mb`: 40 bytes of parameters.
        let mut parameters = vec![40_u8, 0, 1, 0];
        let mut of_struct = [0_u8; 36];
        of_struct[RATE_AT..RATE_AT + 4].copy_from_slice(&125_000_000_u32.to_ne_bytes());
        of_struct[BUFFER_AT..BUFFER_AT + 4].copy_from_slice(&250_u32.to_ne_bytes());
        parameters.extend(of_struct);
        let slow = Bucket { bytes_per_second: 125_000_000, bytes: 2000 };
        assert_eq!(told("tbf", &parameters), Some(slow));
        assert_eq!(told("htb", &parameters), None);
        assert_eq!(told("tbf", &parameters[..30]), None, "cut short");
        assert_eq!(told("tbf", &[]), None);
        // 100 Gb/s do not fit into 32 bits: the struct then has their most.
        let mut fast = parameters.clone();
        fast.extend([12, 0, 4, 0]);
        fast.extend(12_500_000_000_u64.to_ne_bytes());
        let told = told("tbf", &fast);
        assert_eq!(told, Some(Bucket { bytes_per_second: 12_500_000_000, bytes: 200_000 }));
    }

    #[test]
    fn the_kernel_answers() {
        assert!(ask().is_ok(), "{:?}", ask());
        assert_eq!(name(1).as_deref(), Some("lo"));
        assert_eq!(name(-1), None);
    }
}
