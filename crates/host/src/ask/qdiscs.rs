//! What the kernel counts at the queueing discipline of each interface in the calling thread's
//! network namespace, by rtnetlink (`RTM_GETQDISC`), as `tc -s qdisc` prints it.

use super::dump::dump;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage, TcStats2};
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
}

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
    })
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
        };
        assert_eq!(told, Some(of_e0.clone()));
        message.header.parent = INGRESS;
        let filters = row(&message, Some("e0".into()));
        assert_eq!(filters, Some(Qdisc { is_ingress: true, ..of_e0 }));
        message.header.parent = TcHandle::ROOT;
        assert_eq!(row(&message, None), None, "an interface that is gone");
    }

    #[test]
    fn the_kernel_answers() {
        assert!(ask().is_ok(), "{:?}", ask());
        assert_eq!(name(1).as_deref(), Some("lo"));
        assert_eq!(name(-1), None);
    }
}
