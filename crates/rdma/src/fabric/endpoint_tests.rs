//! An endpoint over a provider that is made up: what it is given, and what it answers.

use super::*;
use crate::work::Remote;
use std::cell::RefCell;
use std::mem::ManuallyDrop;

struct Plain(Box<[u8]>);

impl Memory for Plain {
    fn start(&mut self) -> *mut u8 {
        self.0.as_mut_ptr()
    }
    fn length(&self) -> usize {
        self.0.len()
    }
}

/// One call: its name, buffer, length, the other end, two numbers and the context.
type Call = (&'static str, u64, usize, u64, u64, u64, usize);

#[derive(Default)]
struct Made {
    calls: Vec<Call>,
    /// Answers of calls; 0 where there are no more.
    answers: VecDeque<i64>,
    /// Completions that are to be read, by their context and length, or an error number.
    done: VecDeque<Result<(usize, usize), i64>>,
    /// Why a request failed: its context and its number.
    error: (usize, i32),
    waited: Vec<i32>,
}

thread_local! {
    static MADE: RefCell<Made> = RefCell::default();
}

fn called(call: Call) -> isize {
    MADE.with_borrow_mut(|made| {
        made.calls.push(call);
        made.answers.pop_front().unwrap_or(0) as isize
    })
}

macro_rules! one_sided {
    ($name:ident) => {
        unsafe extern "C" fn $name(
            _: *mut fid_ep,
            at: *mut c_void,
            length: usize,
            description: *mut c_void,
            peer: fi_addr_t,
            address: u64,
            key: u64,
            context: *mut c_void,
        ) -> isize {
            assert_eq!(description as usize, 0x77);
            called((stringify!($name), at as u64, length, peer, address, key, context as usize))
        }
    };
}
one_sided!(read_from);
one_sided!(receive);

unsafe extern "C" fn write_to(
    _: *mut fid_ep,
    at: *const c_void,
    length: usize,
    description: *mut c_void,
    peer: fi_addr_t,
    address: u64,
    key: u64,
    context: *mut c_void,
) -> isize {
    assert_eq!(description as usize, 0x77);
    called(("write_to", at as u64, length, peer, address, key, context as usize))
}

unsafe extern "C" fn send(
    _: *mut fid_ep,
    at: *const c_void,
    length: usize,
    description: *mut c_void,
    peer: fi_addr_t,
    tag: u64,
    context: *mut c_void,
) -> isize {
    assert_eq!(description as usize, 0x77);
    called(("send", at as u64, length, peer, tag, 0, context as usize))
}

unsafe extern "C" fn read(_: *mut fid_cq, into: *mut c_void, most: usize) -> isize {
    MADE.with_borrow_mut(|made| {
        let entries: *mut fi_cq_msg_entry = into.cast();
        let mut count = 0;
        while count < most {
            match made.done.front().copied() {
                Some(Ok((context, len))) => {
                    let op_context = context as *mut c_void;
                    // SAFETY: room for as many as were asked for.
                    unsafe { *entries.add(count) = fi_cq_msg_entry { op_context, flags: 0, len } };
                    count += 1;
                    made.done.pop_front();
                }
                Some(Err(answer)) if count == 0 => {
                    made.done.pop_front();
                    return answer as isize;
                }
                _ => break,
            }
        }
        if count == 0 { -11 } else { count as isize }
    })
}

unsafe extern "C" fn sleep_read(
    cq: *mut fid_cq,
    into: *mut c_void,
    most: usize,
    _: *const c_void,
    wait: i32,
) -> isize {
    MADE.with_borrow_mut(|made| made.waited.push(wait));
    // SAFETY: as it was given.
    unsafe { read(cq, into, most) }
}

unsafe extern "C" fn read_error(_: *mut fid_cq, into: *mut fi_cq_err_entry, _: u64) -> isize {
    let (context, err) = MADE.with_borrow(|made| made.error);
    // SAFETY: one entry.
    unsafe {
        *into = fi_cq_err_entry { op_context: context as *mut c_void, err, ..Default::default() }
    };
    1
}

unsafe extern "C" fn insert(
    _: *mut fid_av,
    from: *const c_void,
    count: usize,
    peer: *mut fi_addr_t,
    _: u64,
    _: *mut c_void,
) -> i32 {
    // SAFETY: as many bytes as any address has, and an answer.
    let first = unsafe {
        *peer = 5;
        *from.cast::<u8>()
    };
    called(("insert", first.into(), count, 0, 0, 0, 0)) as i32
}

unsafe extern "C" fn name(_: fid_t, into: *mut c_void, length: *mut usize) -> i32 {
    // SAFETY: room for as many bytes as are told.
    unsafe {
        assert_eq!(*length, 256);
        std::ptr::copy_nonoverlapping(b"here".as_ptr(), into.cast(), 4);
        *length = 4;
    }
    called(("name", 0, 0, 0, 0, 0, 0)) as i32
}

fn leaked<T>(of: T) -> *mut T {
    Box::into_raw(Box::new(of))
}

/// Two requests and two buffers under way, of 1024 bytes; the library hears of none of it, so that
/// nothing is closed.
fn made_up(mr_mode: i32) -> ManuallyDrop<Endpoint<Plain>> {
    MADE.with_borrow_mut(|made| *made = Made::default());
    let domain_attr = leaked(fi_domain_attr { mr_mode, ..Default::default() });
    let rma =
        leaked(fi_ops_rma { read: Some(read_from), write: Some(write_to), ..Default::default() });
    let tagged =
        leaked(fi_ops_tagged { recv: Some(receive), send: Some(send), ..Default::default() });
    let cm = leaked(fi_ops_cm { getname: Some(name), ..Default::default() });
    let cq = leaked(fi_ops_cq {
        read: Some(read),
        sread: Some(sleep_read),
        readerr: Some(read_error),
        ..Default::default()
    });
    let av = leaked(fi_ops_av { insert: Some(insert), ..Default::default() });
    ManuallyDrop::new(Endpoint {
        ep: Object(leaked(fid_ep { rma, tagged, cm, ..Default::default() })),
        mr: Object(leaked(fid_mr { mem_desc: 0x77 as *mut c_void, key: 99, ..Default::default() })),
        cq: Object(leaked(fid_cq { ops: cq, ..Default::default() })),
        av: Object(leaked(fid_av { ops: av, ..Default::default() })),
        _domain: Object(std::ptr::null_mut()),
        _fabric: Object(std::ptr::null_mut()),
        info: Info::made_up(leaked(fi_info { domain_attr, ..Default::default() })),
        memory: Watched::new(Plain(vec![0; 1024].into_boxed_slice())),
        tag: 42,
        peer: 3,
        contexts: vec![fi_context2::default(); 4].into_boxed_slice(),
        notes: vec![(0, false); 4].into_boxed_slice(),
        sends: 2,
        free_sends: vec![0, 1],
        free_receives: vec![2, 3],
        taken: VecDeque::new(),
    })
}

fn work(end: &mut Endpoint<Plain>, verb: Verb, id: u64, signaled: bool) -> Work {
    Work {
        verb,
        id,
        address: end.address() + 16,
        length: 100,
        local_key: 0,
        remote: Remote { address: 0x9000, key: 7 },
        signaled,
        inline: false,
    }
}

fn calls() -> Vec<Call> {
    MADE.with_borrow_mut(|made| std::mem::take(&mut made.calls))
}

fn completes(done: &[Result<(usize, usize), i64>]) {
    MADE.with_borrow_mut(|made| made.done.extend(done));
}

fn told(taken: &[Completion]) -> Vec<(u64, Status, bool, u32)> {
    taken.iter().map(|one| (one.id, one.status, one.arrived, one.bytes)).collect()
}

#[test]
fn each_verb_is_a_call_with_the_buffer_the_other_end_and_a_context() {
    let mut end = made_up(0);
    let at = end.address() + 16;
    for (verb, wanted) in [
        (Verb::Write, ("write_to", at, 100, 3, 0x9000, 7)),
        (Verb::Read, ("read_from", at, 100, 3, 0x9000, 7)),
        (Verb::Send, ("send", at, 100, 3, 42, 0)),
    ] {
        let request = work(&mut end, verb, 11, true);
        end.post(&[request]).expect("posted");
        let (name, at, length, peer, one, other, context) = calls().remove(0);
        assert_eq!((name, at, length, peer, one, other), wanted);
        completes(&[Ok((context, 0))]);
        let mut into = [Completion::default(); 2];
        assert_eq!(end.poll(&mut into).expect("polled"), 1);
        assert_eq!(told(&into[..1]), [(11, Status::Good, false, 0)]);
    }
    let request = work(&mut end, Verb::FetchAdd, 1, true);
    assert!(end.post(&[request]).is_err() && calls().is_empty());
}

#[test]
fn arrivals_are_told_with_their_number_and_quiet_requests_are_not() {
    let mut end = made_up(0);
    let at = end.address();
    end.post_receive(21, at + 8, 64).expect("posted");
    end.post_receive(22, at, 1024).expect("posted");
    let buffers = calls();
    let of =
        |(name, at, length, peer, tag, ignored, _): Call| (name, at, length, peer, tag, ignored);
    let wanted = [("receive", at + 8, 64, 3, 42, 0), ("receive", at, 1024, 3, 42, 0)];
    assert_eq!(buffers.iter().copied().map(of).collect::<Vec<_>>(), wanted);
    let (quiet, heard) =
        (work(&mut end, Verb::Write, 31, false), work(&mut end, Verb::Write, 32, true));
    end.post(&[quiet, heard]).expect("posted");
    let requests = calls();
    completes(&[Ok((requests[0].6, 0)), Ok((buffers[1].6, 500)), Ok((requests[1].6, 0))]);
    let mut into = [Completion::default(); 1];
    assert_eq!(end.poll(&mut into).expect("polled"), 1);
    assert_eq!(told(&into), [(22, Status::Good, true, 500)]);
    assert_eq!(end.poll(&mut into).expect("what was taken"), 1);
    assert_eq!(told(&into), [(32, Status::Good, false, 0)]);
    assert_eq!(end.poll(&mut into).expect("polled"), 0);
    // All but one buffer are free again.
    assert_eq!((end.free_sends.len(), end.free_receives.len()), (2, 1));
    assert!(end.free_sends.iter().all(|at| *at < 2) && end.free_receives[0] >= 2);
}

#[test]
fn what_failed_is_told_even_where_it_was_to_be_quiet() {
    let mut end = made_up(0);
    let quiet = work(&mut end, Verb::Write, 31, false);
    end.post(&[quiet]).expect("posted");
    let context = calls()[0].6;
    MADE.with_borrow_mut(|made| made.error = (context, 111));
    completes(&[Err(-259)]);
    let mut into = [Completion::default(); 4];
    assert_eq!(end.poll(&mut into).expect("polled"), 1);
    assert_eq!(told(&into[..1]), [(31, Status::Fabric(111), false, 0)]);
    // One of no request of ours.
    completes(&[Ok((8, 1))]);
    assert_eq!(end.poll(&mut into).expect("polled"), 1);
    assert_eq!(told(&into[..1]), [(0, Status::Good, false, 0)]);
    for (answer, is_fine) in [(-11, true), (-4, true), (-5, false)] {
        completes(&[Err(answer)]);
        let polled = end.poll(&mut into).map_err(|why| why.to_string());
        match is_fine {
            true => assert_eq!(polled, Ok(0), "{answer}"),
            false => assert!(polled.is_err_and(|why| why.starts_with("reading completions: "))),
        }
    }
}

#[test]
fn a_full_provider_is_called_again_and_another_refusal_is_told() {
    let mut end = made_up(0);
    let request = work(&mut end, Verb::Send, 1, true);
    MADE.with_borrow_mut(|made| made.answers.extend([-11, -11, 0]));
    end.post(&[request]).expect("the third time");
    let all = calls();
    assert!(all.len() == 3 && all.iter().all(|call| *call == all[0]), "{all:?}");
    MADE.with_borrow_mut(|made| made.answers.push_back(-22));
    let refused = end.post(&[request]).expect_err("refused").to_string();
    assert!(refused.starts_with("posting a request: "), "{refused}");
}

#[test]
fn a_request_beyond_those_under_way_waits_for_one_of_them() {
    let mut end = made_up(0);
    let works = [1, 2, 3].map(|id| work(&mut end, Verb::Write, id, true));
    end.post(&works[..2]).expect("posted");
    let contexts = calls().iter().map(|call| call.6).collect::<Vec<_>>();
    assert_ne!(contexts[0], contexts[1]);
    completes(&[Ok((contexts[1], 0))]);
    end.post(&works[2..]).expect("posted once the second had completed");
    assert_eq!(calls()[0].6, contexts[1], "in its place");
    completes(&[Ok((contexts[1], 0)), Ok((contexts[0], 0))]);
    let mut ids = Vec::new();
    for count in [1, 2] {
        let mut into = [Completion::default(); 4];
        assert_eq!(end.poll(&mut into).expect("polled"), count, "what was taken comes first");
        ids.extend(into[..count].iter().map(|one| one.id));
    }
    assert_eq!(ids, [2, 3, 1]);
}

#[test]
fn requests_stay_inside_the_memory() {
    let mut end = made_up(0);
    let at = end.address();
    for (from, length, is_inside) in [
        (at, 1024, true),
        (at + 1024, 0, true),
        (at + 1, 1024, false),
        (at + 1025, 0, false),
        (at - 1, 1, false),
        (u64::MAX, 8, false),
    ] {
        assert_eq!(end.owns(from, length).is_ok(), is_inside, "{} {length}", from.wrapping_sub(at));
    }
    let refused = end.post_receive(1, at, 1025).expect_err("beyond").to_string();
    assert_eq!(refused, "a request beyond the endpoint's memory");
    let beyond = Work { length: 1009, ..work(&mut end, Verb::Write, 1, true) };
    assert!(end.post(&[beyond]).is_err() && calls().is_empty());
}

#[test]
fn ends_name_themselves_and_their_memory() {
    let mut end = made_up(0);
    assert_eq!(end.name().expect("a name"), b"here");
    assert_eq!((end.lent().address, end.lent().key), (0, 99));
    let mut named = made_up(16);
    let at = named.address();
    assert_eq!((named.lent().address, named.lent().key), (at, 99));
    MADE.with_borrow_mut(|made| made.answers.extend([1, 0, -22]));
    named.join(b"there").expect("learnt");
    assert_eq!((named.peer, calls()[0]), (5, ("insert", b't'.into(), 1, 0, 0, 0, 0)));
    let why = |end: &mut Endpoint<Plain>| end.join(&[1; 300]).expect_err("refused").to_string();
    assert!(why(&mut named).starts_with("the other end's name leads nowhere from here"));
    assert!(why(&mut named).starts_with("learning the other end's name: "));
}

#[test]
fn a_sleep_lasts_as_long_as_asked_a_millisecond_at_least() {
    let mut end = made_up(0);
    let mut into = [Completion::default(); 1];
    for most in [Duration::from_millis(70), Duration::ZERO, Duration::from_micros(1999)] {
        assert_eq!(end.sleep(&mut into, most).expect("nothing came"), 0);
    }
    assert_eq!(MADE.with_borrow(|made| made.waited.clone()), [70, 1, 1]);
    end.taken.push_back(Completion { id: 4, ..Completion::default() });
    assert_eq!(end.sleep(&mut into, Duration::from_millis(9)).expect("it was there"), 1);
    assert_eq!((into[0].id, MADE.with_borrow(|made| made.waited.len())), (4, 3), "no sleep");
}

/// By the numbers of libfabric's headers (rdma/fabric.h, fi_errno.h, fi_domain.h, fi_eq.h).
#[test]
fn numbers_are_those_of_the_headers() {
    let flags = [FI_READ, FI_WRITE, FI_RECV, FI_SEND, FI_REMOTE_READ, FI_REMOTE_WRITE];
    assert_eq!(flags, [8, 9, 10, 11, 12, 13].map(|bit| 1 << bit));
    assert_eq!((FI_EAGAIN, FI_EAVAIL, FI_ENABLE), (11, 259, 6));
    assert_eq!((FI_CQ_FORMAT_MSG, FI_WAIT_NONE, FI_WAIT_FD), (2, 0, 3));
    assert_eq!((FI_MR_VIRT_ADDR, FI_MR_ENDPOINT), (1 << 4, 1 << 9));
}

thread_local! {
    static CLOSED: RefCell<Vec<usize>> = RefCell::default();
}

unsafe extern "C" fn close(of: fid_t) -> i32 {
    CLOSED.with_borrow_mut(|all| all.push(of as usize));
    0
}

#[test]
fn what_was_opened_is_closed_once_and_what_was_not_is_not() {
    let ops = leaked(fi_ops { close: Some(close), ..Default::default() });
    let made = leaked(fid_cq { fid: fid { ops, ..Default::default() }, ..Default::default() });
    drop(Object::<fid_cq>(std::ptr::null_mut()));
    assert!(CLOSED.with_borrow(Vec::is_empty));
    drop(Object(made));
    assert_eq!(CLOSED.with_borrow(Vec::clone), [made as usize]);
    let opened: Result<Object<fid_cq>, _> = open("opening", |into| {
        // SAFETY: where what was made goes.
        unsafe { *into = made };
        0
    });
    assert_eq!(opened.map(|one| one.0).ok(), Some(made));
    assert_eq!(CLOSED.with_borrow(Vec::len), 2);
    let refused = open::<fid_cq>("opening", |_| -22).map(drop).expect_err("refused").to_string();
    assert!(refused.starts_with("opening: "), "{refused}");
}
