//! What the library is asked for, by the numbers of infiniband/verbs.h, and a device that is made
//! up.

use super::super::device::{Device, Holder};
use super::*;
use crate::work::{Remote, Status, Verb};
use std::mem::ManuallyDrop;

const ROUTE: Route =
    Route { port: 2, gid_index: 3, mtu_bytes: 1024, service_level: 4, traffic_class: 104 };

#[test]
fn a_queue_pair_is_as_large_as_asked_and_of_its_kind() {
    let queue = std::ptr::dangling_mut::<ibv_cq>();
    let size = Size { sends: 64, receives: 32, inline_bytes: 128, events: false };
    for (kind, number) in [(Kind::Rc, 2), (Kind::Uc, 3), (Kind::Ud, 4)] {
        let of = wanted(kind, &size, queue);
        assert_eq!((of.qp_type, of.send_cq, of.recv_cq), (number, queue, queue));
        assert_eq!((of.cap.max_send_wr, of.cap.max_recv_wr), (64, 32));
        assert_eq!((of.cap.max_send_sge, of.cap.max_recv_sge), (1, 1));
        assert_eq!((of.cap.max_inline_data, of.sq_sig_all), (128, 0));
    }
    let least = wanted(Kind::Rc, &Size { sends: 0, receives: 0, ..size }, queue);
    assert_eq!((least.cap.max_send_wr, least.cap.max_recv_wr), (1, 1));
}

#[test]
fn a_queue_pair_goes_through_its_states_with_what_its_kind_has() {
    let other = Address { number: 77, first_packet: 88, lid: 5, gid: [7; 16] };
    // Packet key 1 << 4, port 1 << 5, queue key 1 << 6, access 1 << 3; remote write, read, atomic.
    for (kind, access, mask) in
        [(Kind::Rc, 2 | 4 | 8, 0b11_1000), (Kind::Uc, 2, 0b11_1000), (Kind::Ud, 2, 0b111_0000)]
    {
        let (to, set) = opened(kind, 9);
        assert_eq!((to.qp_state, to.port_num, to.qp_access_flags), (1, 9, access), "{kind:?}");
        assert_eq!((to.qkey, set), (0x6e72_7277, mask), "{kind:?}");
    }
    // Address 1 << 7, MTU 1 << 8, number 1 << 20, packet 1 << 12; reads 1 << 17, timer 1 << 15.
    let connected = 1 << 7 | 1 << 8 | 1 << 20 | 1 << 12;
    for (kind, mask) in
        [(Kind::Rc, connected | 1 << 17 | 1 << 15), (Kind::Uc, connected), (Kind::Ud, 0)]
    {
        let (to, set) = receiving(kind, &other, &ROUTE, 16);
        assert_eq!((to.qp_state, to.path_mtu, to.dest_qp_num, to.rq_psn), (2, 3, 77, 88));
        assert_eq!((to.max_dest_rd_atomic, to.min_rnr_timer, set), (16, 12, mask), "{kind:?}");
        assert_eq!((to.ah_attr.dlid, to.ah_attr.port_num), (5, 2));
    }
    // Packet 1 << 16, timeout 1 << 9, retries 1 << 10 and 1 << 11, reads 1 << 13.
    let all = 1 << 16 | 1 << 9 | 1 << 10 | 1 << 11 | 1 << 13;
    for (kind, mask) in [(Kind::Rc, all), (Kind::Uc, 1 << 16), (Kind::Ud, 1 << 16)] {
        let (to, set) = sending(kind, &other, 6);
        assert_eq!((to.qp_state, to.sq_psn, to.max_rd_atomic, set), (3, 88, 6, mask), "{kind:?}");
        assert_eq!((to.timeout, to.retry_cnt, to.rnr_retry), (14, 7, 7));
    }
}

/// 256 B are 1, each twice as many one more, up to 4096 B, which are 5.
#[test]
fn packets_are_the_largest_power_of_two_that_fits() {
    for (bytes, number) in
        [(0, 1), (255, 1), (256, 1), (511, 1), (512, 2), (1500, 3), (4095, 4), (4096, 5), (9000, 5)]
    {
        let path = Route { mtu_bytes: bytes, ..ROUTE };
        let (to, _) = receiving(Kind::Rc, &Address::default(), &path, 1);
        assert_eq!(to.path_mtu, number, "{bytes} B");
    }
}

#[test]
fn a_way_has_its_port_its_level_and_over_ethernet_an_identifier() {
    for (lid, is_global) in [(0, 1), (9, 0)] {
        let way = ROUTE.to(&Address { lid, gid: [3; 16], ..Address::default() });
        assert_eq!((way.dlid, way.is_global, way.sl, way.port_num), (lid, is_global, 4, 2));
        assert_eq!((way.grh.sgid_index, way.grh.hop_limit, way.grh.traffic_class), (3, 64, 104));
        // SAFETY: the union's other face is of the same bytes.
        assert_eq!(unsafe { way.grh.dgid.raw }, [3; 16]);
    }
    assert_eq!([0, 1, 2].map(first_packet), [0, 0x37_79b1, 0x6e_f362], "24 bits of 2^32 / 1.618");
}

/// What a made-up device was given and is to answer.
#[derive(Default)]
struct Made {
    posted: Vec<(ibv_send_wr, ibv_sge)>,
    buffers: Vec<(u64, ibv_sge, i32)>,
    answer: i32,
    armed: Vec<i32>,
}

thread_local! {
    static MADE: std::cell::RefCell<Made> = std::cell::RefCell::default();
}

unsafe extern "C" fn post(
    _: *mut ibv_qp,
    first: *mut ibv_send_wr,
    _: *mut *mut ibv_send_wr,
) -> i32 {
    MADE.with_borrow_mut(|made| {
        let mut next = first;
        // SAFETY: the list that `QueuePair::post` links, whose entries have a buffer each.
        while let Some(work) = unsafe { next.as_ref() } {
            assert_eq!(work.num_sge, 1);
            // SAFETY: as above.
            made.posted.push((*work, unsafe { *work.sg_list }));
            next = work.next;
        }
        made.answer
    })
}

unsafe extern "C" fn receive(
    _: *mut ibv_qp,
    work: *mut ibv_recv_wr,
    _: *mut *mut ibv_recv_wr,
) -> i32 {
    MADE.with_borrow_mut(|made| {
        // SAFETY: what `QueuePair::post_receive` hands over, with a buffer.
        let (work, memory) = unsafe { (&*work, *(*work).sg_list) };
        assert!(work.next.is_null());
        made.buffers.push((work.wr_id, memory, work.num_sge));
        made.answer
    })
}

unsafe extern "C" fn arm(_: *mut ibv_cq, solicited_only: i32) -> i32 {
    MADE.with_borrow_mut(|made| {
        made.armed.push(solicited_only);
        made.answer
    })
}

/// Answers as many completions as it is asked for, at most `answer`.
unsafe extern "C" fn poll(_: *mut ibv_cq, most: i32, into: *mut ibv_wc) -> i32 {
    MADE.with_borrow(|made| {
        let count = made.answer.min(most);
        for at in 0..count.max(0) {
            let (status, opcode) = if at == 1 { (12, 0) } else { (0, 128 + at as u32) };
            let byte_len = 100 + at as u32;
            let told =
                ibv_wc { wr_id: 10 + at as u64, status, opcode, byte_len, ..Default::default() };
            // SAFETY: room for as many as were asked for.
            unsafe { *into.add(at as usize) = told };
        }
        count
    })
}

/// A queue pair of a made-up device; the library never hears of it, so that nothing is freed.
fn made_up() -> ManuallyDrop<QueuePair> {
    let mut context = Box::new(ibv_context::default());
    context.ops.post_send = Some(post);
    context.ops.post_recv = Some(receive);
    context.ops.poll_cq = Some(poll);
    context.ops.req_notify_cq = Some(arm);
    let context = Box::into_raw(context);
    let cq = Box::into_raw(Box::new(ibv_cq { context, ..Default::default() }));
    let qp = Box::into_raw(Box::new(ibv_qp { context, ..Default::default() }));
    let holder = Holder::Opened(Device::made_up(context));
    let domain = Arc::new(Domain { pd: std::ptr::null_mut(), holder });
    let channel = std::ptr::null_mut();
    MADE.with_borrow_mut(|made| *made = Made::default());
    ManuallyDrop::new(QueuePair {
        qp,
        kind: Kind::Rc,
        datagrams: None,
        works: Vec::new(),
        memory: Vec::new(),
        completions: Completions { cq, channel, _domain: domain.clone() },
        domain,
    })
}

fn answers(answer: i32) {
    MADE.with_borrow_mut(|made| made.answer = answer);
}

fn work(id: u64, verb: Verb) -> Work {
    Work {
        verb,
        id,
        address: 0x1000 * id,
        length: 8 * id as u32,
        local_key: 40 + id as u32,
        remote: Remote { address: 0x9000, key: 1 << 32 | 5 },
        signaled: id.is_multiple_of(2),
        inline: id == 3,
    }
}

#[test]
fn requests_are_posted_in_their_order_as_one_list() {
    let mut qp = made_up();
    qp.post(&[work(9, Verb::Read)]).expect("posted");
    MADE.with_borrow_mut(|made| made.posted.clear());
    qp.post(&[work(1, Verb::Write), work(2, Verb::Send), work(3, Verb::WriteImm)]).expect("posted");
    let told = MADE.with_borrow_mut(|made| std::mem::take(&mut made.posted));
    let heads: Vec<_> = told.iter().map(|(of, _)| (of.wr_id, of.opcode, of.send_flags)).collect();
    // Write 0, send 2, write with a word 1; told of is 2, inline 8.
    assert_eq!(heads, [(1, 0, 0), (2, 2, 2), (3, 1, 8)]);
    let memory: Vec<_> = told.iter().map(|(_, of)| (of.addr, of.length, of.lkey)).collect();
    assert_eq!(memory, [(0x1000, 8, 41), (0x2000, 16, 42), (0x3000, 24, 43)]);
    // SAFETY: a write has this face of the union.
    let there = unsafe { told[0].0.wr.rdma };
    assert_eq!((there.remote_addr, there.rkey), (0x9000, 5), "verbs have 32 bits of a key");
    qp.datagrams = Some((16 as *mut ibv_ah, 55));
    qp.post(&[work(4, Verb::Send)]).expect("posted");
    let told = MADE.with_borrow_mut(|made| std::mem::take(&mut made.posted));
    // SAFETY: a datagram has this face.
    let to = unsafe { told[0].0.wr.ud };
    assert_eq!((to.ah as usize, to.remote_qpn, to.remote_qkey), (16, 55, 0x6e72_7277));
    answers(libc::ENOMEM);
    let refused = qp.post(&[work(1, Verb::Write)]).expect_err("refused").to_string();
    assert!(refused.starts_with("posting a request: ") && refused.contains("memory"), "{refused}");
}

#[test]
fn each_verb_has_its_number_and_its_place() {
    for (verb, number) in [
        (Verb::Write, 0),
        (Verb::WriteImm, 1),
        (Verb::Send, 2),
        (Verb::Read, 4),
        (Verb::FetchAdd, 6),
    ] {
        let (of, _) = work(2, verb).request();
        assert_eq!((of.opcode, of.num_sge), (number, 1));
        // SAFETY: faces of one union of numbers, all of which were set.
        let (rdma, atomic) = unsafe { (of.wr.rdma, of.wr.atomic) };
        match verb {
            Verb::Send => assert_eq!((rdma.remote_addr, rdma.rkey), (0, 0)),
            Verb::FetchAdd => {
                assert_eq!((atomic.remote_addr, atomic.compare_add, atomic.rkey), (0x9000, 1, 5));
            }
            _ => assert_eq!((rdma.remote_addr, rdma.rkey), (0x9000, 5)),
        }
    }
}

#[test]
fn a_buffer_is_posted_with_its_number() {
    let mut qp = made_up();
    qp.post_receive(6, 0x5000, 256, 41).expect("posted");
    let told = MADE.with_borrow(|made| {
        made.buffers
            .iter()
            .map(|(id, of, count)| (*id, of.addr, of.length, of.lkey, *count))
            .collect::<Vec<_>>()
    });
    assert_eq!(told, [(6, 0x5000, 256, 41, 1)]);
    answers(-libc::EINVAL);
    let refused = qp.post_receive(6, 0, 0, 0).expect_err("refused").to_string();
    assert!(refused.starts_with("posting a buffer: "), "{refused}");
}

#[test]
fn completions_are_taken_sixteen_at_once_and_say_what_they_are() {
    let mut qp = made_up();
    let mut into = [Completion::default(); 20];
    answers(3);
    assert_eq!(qp.completions.poll(&mut into).expect("polled"), 3);
    let told = into[..4].iter().map(|one| (one.id, one.status, one.arrived, one.bytes));
    // 128 is an arrival, 129 one with a word; what failed is no arrival.
    let good = Status::Good;
    let wanted = [
        (10, good, true, 100),
        (11, Status::Verbs(12), false, 101),
        (12, good, false, 102),
        (0, good, false, 0),
    ];
    assert_eq!(told.collect::<Vec<_>>(), wanted);
    answers(20);
    assert_eq!(qp.completions.poll(&mut into).expect("polled"), 16);
    assert_eq!(qp.completions.poll(&mut into[..2]).expect("polled"), 2);
    answers(0);
    assert_eq!(qp.completions.poll(&mut into).expect("polled"), 0);
    answers(-libc::EIO);
    let failed = qp.completions.poll(&mut into).expect_err("failed").to_string();
    assert!(failed.starts_with("reading a completion queue: "), "{failed}");
    answers(0);
    qp.completions.arm().expect("armed");
    assert_eq!(MADE.with_borrow(|made| made.armed.clone()), [0], "of all completions");
    answers(libc::EIO);
    assert!(
        qp.completions.arm().expect_err("refused").to_string().starts_with("arming completions: ")
    );
    let asleep = qp.completions.sleep().expect_err("no channel").to_string();
    assert_eq!(asleep, "this queue has no events");
}

/// A completion channel is read as a file; nothing ever comes by this one.
#[test]
fn a_sleep_ends_at_a_signal_and_another_failure_is_told() {
    let mut ends = [0; 2];
    // SAFETY: two descriptors are made into an array of two.
    assert_eq!(unsafe { libc::pipe(ends.as_mut_ptr()) }, 0);
    let mut channel = ibv_comp_channel { fd: ends[0], ..Default::default() };
    let mut qp = made_up();
    qp.completions.channel = &raw mut channel;
    let ticker = crate::ticker::Ticker::start(std::time::Duration::from_millis(20));
    let slept = [(); 2].map(|()| qp.completions.sleep());
    drop(ticker.expect("a ticker"));
    // SAFETY: written before the call alone.
    unsafe { (*qp.completions.channel).fd = -1 };
    let failed = qp.completions.sleep().expect_err("no file").to_string();
    if verbs().is_ok() {
        assert!(slept.iter().all(Result::is_ok), "{slept:?}");
        assert!(failed.starts_with("waiting for a completion: "), "{failed}");
    }
    for end in ends {
        // SAFETY: made above, closed once.
        unsafe { libc::close(end) };
    }
}
