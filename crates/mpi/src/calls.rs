//! The calls of MPI that are used, for either ABI.

use crate::symbols::symbol;
use crate::{Mpi, MpiError, Window};
use libloading::os::unix::Library;
use std::cell::RefCell;
use std::ffi::{c_char, c_int, c_void};
use std::ptr;

/// What the implementations differ in.
pub trait Abi {
    /// A communicator, a type, an operation, a request.
    type Handle: Copy;
    /// The handles of the objects that every library has.
    fn handles(library: &Library) -> Result<Handles<Self::Handle>, MpiError>;
}

/// Handles of the objects that every library has.
pub struct Handles<H> {
    pub world: H,
    pub byte: H,
    pub double: H,
    pub sum: H,
    pub no_request: H,
    /// `MPI_STATUS_IGNORE` and `MPI_STATUSES_IGNORE`, which are the same in both ABIs.
    pub ignore: *mut c_void,
}

/// A message's buffer, elements, their type, the other rank, a tag, the communicator.
type Sends<H> = unsafe extern "C" fn(*const c_void, c_int, H, c_int, c_int, H) -> c_int;
type Receives<H> =
    unsafe extern "C" fn(*mut c_void, c_int, H, c_int, c_int, H, *mut c_void) -> c_int;
type Begins<H> = unsafe extern "C" fn(*const c_void, c_int, H, c_int, c_int, H, *mut H) -> c_int;
type Expects<H> = unsafe extern "C" fn(*mut c_void, c_int, H, c_int, c_int, H, *mut H) -> c_int;
type Asks<H> = unsafe extern "C" fn(H, *mut c_int) -> c_int;

struct Calls<H> {
    init: unsafe extern "C" fn(*mut c_int, *mut *mut *mut c_char) -> c_int,
    finalize: unsafe extern "C" fn() -> c_int,
    abort: unsafe extern "C" fn(H, c_int) -> c_int,
    rank: Asks<H>,
    size: Asks<H>,
    name: unsafe extern "C" fn(*mut c_char, *mut c_int) -> c_int,
    send: Sends<H>,
    receive: Receives<H>,
    isend: Begins<H>,
    irecv: Expects<H>,
    wait_all: unsafe extern "C" fn(c_int, *mut H, *mut c_void) -> c_int,
    barrier: unsafe extern "C" fn(H) -> c_int,
    sum: unsafe extern "C" fn(*const c_void, *mut c_void, c_int, H, H, H) -> c_int,
    to_all: unsafe extern "C" fn(*const c_void, c_int, H, *mut c_void, c_int, H, H) -> c_int,
    gather: unsafe extern "C" fn(*const c_void, c_int, H, *mut c_void, c_int, H, c_int, H) -> c_int,
    share: unsafe extern "C" fn(*mut c_void, c_int, H, c_int, H) -> c_int,
}

impl<H> Calls<H> {
    fn of(library: &Library) -> Result<Self, MpiError> {
        Ok(Self {
            init: symbol(library, "MPI_Init")?,
            finalize: symbol(library, "MPI_Finalize")?,
            abort: symbol(library, "MPI_Abort")?,
            rank: symbol(library, "MPI_Comm_rank")?,
            size: symbol(library, "MPI_Comm_size")?,
            name: symbol(library, "MPI_Get_processor_name")?,
            send: symbol(library, "MPI_Send")?,
            receive: symbol(library, "MPI_Recv")?,
            isend: symbol(library, "MPI_Isend")?,
            irecv: symbol(library, "MPI_Irecv")?,
            wait_all: symbol(library, "MPI_Waitall")?,
            barrier: symbol(library, "MPI_Barrier")?,
            sum: symbol(library, "MPI_Allreduce")?,
            to_all: symbol(library, "MPI_Alltoall")?,
            gather: symbol(library, "MPI_Gather")?,
            share: symbol(library, "MPI_Bcast")?,
        })
    }
}

/// A library that was started.
pub struct World<A: Abi> {
    calls: Calls<A::Handle>,
    handles: Handles<A::Handle>,
    version: String,
    rank: usize,
    size: usize,
    /// Requests under way, kept so that no window needs memory of its own.
    requests: RefCell<Vec<A::Handle>>,
}

/// The one tag: order says which message is which.
const TAG: c_int = 7;
/// More than either implementation's `MPI_MAX_PROCESSOR_NAME`.
const NAME_BYTES: usize = 512;

impl<A: Abi> World<A> {
    /// Starts MPI in this process.
    pub fn start(library: &Library, version: String) -> Result<Self, MpiError> {
        let (calls, handles) = (Calls::of(library)?, A::handles(library)?);
        // SAFETY: MPI_Init may be called without the program's arguments (MPI 4.1, section 11.2),
        // and `Loaded` starts a library once.
        let code = unsafe { (calls.init)(ptr::null_mut(), ptr::null_mut()) };
        if code != 0 {
            return Err(MpiError::NotStarted { library: version, code });
        }
        let (mut rank, mut size) = (0, 0);
        // SAFETY: both are numbers of ours, and MPI has begun.
        unsafe {
            (calls.rank)(handles.world, &mut rank);
            (calls.size)(handles.world, &mut size);
        }
        let (rank, size) = (rank as usize, size as usize);
        Ok(Self { calls, handles, version, rank, size, requests: RefCell::default() })
    }

    /// Ends all ranks where a call failed: buffers may still be written to.
    fn held(&self, code: c_int) {
        if code != 0 {
            // SAFETY: it does not come back, and takes a number.
            unsafe { (self.calls.abort)(self.handles.world, 1) };
            std::process::abort();
        }
    }
}

/// A length as MPI counts; what is longer than it can count ends the program.
fn count(length: usize) -> c_int {
    c_int::try_from(length).unwrap_or_else(|_| std::process::abort())
}

impl<A: Abi> Mpi for World<A> {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn host(&self) -> String {
        let (mut name, mut length) = ([0_u8; NAME_BYTES], 0);
        // SAFETY: the buffer is longer than the longest name of either ABI.
        self.held(unsafe { (self.calls.name)(name.as_mut_ptr().cast(), &mut length) });
        let name = name.get(..length as usize).unwrap_or_default();
        String::from_utf8_lossy(name).into_owned()
    }

    fn barrier(&self) {
        // SAFETY: no buffer is given.
        self.held(unsafe { (self.calls.barrier)(self.handles.world) });
    }

    fn send(&self, bytes: &[u8], to: usize) {
        let (at, length) = (bytes.as_ptr().cast(), count(bytes.len()));
        let Handles { world, byte, .. } = self.handles;
        // SAFETY: MPI_Send reads the slice and is done with it when it comes back.
        self.held(unsafe { (self.calls.send)(at, length, byte, count(to), TAG, world) });
    }

    fn receive(&self, into: &mut [u8], from: usize) {
        let (at, length) = (into.as_mut_ptr().cast(), count(into.len()));
        let Handles { world, byte, ignore, .. } = self.handles;
        // SAFETY: MPI_Recv writes no more than the length that it is told; a longer message is an
        // error of its own.
        let code =
            unsafe { (self.calls.receive)(at, length, byte, count(from), TAG, world, ignore) };
        self.held(code);
    }

    fn exchange(&self, window: Window<'_>, with: usize) {
        if window.out.len() < window.span(window.sends)
            || window.into.len() < window.span(window.receives)
        {
            std::process::abort();
        }
        let Window { out, into, each, stride, sends, receives } = window;
        let Handles { world, byte, no_request, ignore, .. } = self.handles;
        let (length, with) = (count(each), count(with));
        let mut requests = self.requests.borrow_mut();
        requests.clear();
        requests.resize(sends + receives, no_request);
        let (coming, going) = requests.split_at_mut(receives);
        for (n, request) in coming.iter_mut().enumerate() {
            // SAFETY: each place lies inside `into`, as was just checked, and that is borrowed
            // until MPI_Waitall below has come back. Where all are one, the library writes bytes
            // over bytes, which nobody reads.
            let at = unsafe { into.as_mut_ptr().add(n * stride) }.cast();
            // SAFETY: as above; the request's place does not move before MPI_Waitall.
            let code = unsafe { (self.calls.irecv)(at, length, byte, with, TAG, world, request) };
            self.held(code);
        }
        for (n, request) in going.iter_mut().enumerate() {
            // SAFETY: inside `out`, as was just checked; it is only read.
            let at = unsafe { out.as_ptr().add(n * stride) }.cast();
            // SAFETY: as above.
            let code = unsafe { (self.calls.isend)(at, length, byte, with, TAG, world, request) };
            self.held(code);
        }
        let (all, first) = (count(requests.len()), requests.as_mut_ptr());
        // SAFETY: so many requests are there, each begun above; statuses are not asked for.
        self.held(unsafe { (self.calls.wait_all)(all, first, ignore) });
    }

    fn sum(&self, of: &[f64], into: &mut [f64]) {
        let length = count(of.len().min(into.len()));
        let (from, to) = (of.as_ptr().cast(), into.as_mut_ptr().cast());
        let Handles { world, double, sum, .. } = self.handles;
        // SAFETY: both have so many numbers, and do not overlap.
        self.held(unsafe { (self.calls.sum)(from, to, length, double, sum, world) });
    }

    fn to_all(&self, out: &[u8], into: &mut [u8], each: usize) {
        if out.len() < each * self.size || into.len() < each * self.size {
            std::process::abort();
        }
        let (from, to) = (out.as_ptr().cast(), into.as_mut_ptr().cast());
        let Handles { world, byte, .. } = self.handles;
        let each = count(each);
        // SAFETY: both have `each` bytes for every rank, as was just checked.
        self.held(unsafe { (self.calls.to_all)(from, each, byte, to, each, byte, world) });
    }

    fn gather(&self, bytes: &[u8], into: &mut [u8]) {
        if self.rank == 0 && into.len() < bytes.len() * self.size {
            std::process::abort();
        }
        let (from, to) = (bytes.as_ptr().cast(), into.as_mut_ptr().cast());
        let Handles { world, byte, .. } = self.handles;
        let each = count(bytes.len());
        // SAFETY: at rank 0 there is room for all, as was just checked; elsewhere it is not used.
        self.held(unsafe { (self.calls.gather)(from, each, byte, to, each, byte, 0, world) });
    }

    fn share(&self, bytes: &mut [u8]) {
        let (at, length) = (bytes.as_mut_ptr().cast(), count(bytes.len()));
        let Handles { world, byte, .. } = self.handles;
        // SAFETY: every rank gives as many bytes, which are written and not kept.
        self.held(unsafe { (self.calls.share)(at, length, byte, 0, world) });
    }

    fn finish(&self) {
        // SAFETY: nothing is under way: every call above waits for what it began.
        self.held(unsafe { (self.calls.finalize)() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    thread_local!(static CALLS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) });

    fn call(says: String) -> c_int {
        CALLS.with_borrow_mut(|calls| calls.push(says));
        0
    }

    fn called() -> Vec<String> {
        CALLS.take()
    }

    /// An ABI whose handles are numbers of ours.
    struct Numbered;

    impl Abi for Numbered {
        type Handle = u8;
        fn handles(_: &Library) -> Result<Handles<u8>, MpiError> {
            Ok(handles())
        }
    }

    fn handles() -> Handles<u8> {
        Handles { world: 1, byte: 2, double: 3, sum: 4, no_request: 5, ignore: ptr::null_mut() }
    }

    extern "C" fn init(_: *mut c_int, _: *mut *mut *mut c_char) -> c_int {
        call("init".into())
    }
    extern "C" fn finalize() -> c_int {
        call("finalize".into())
    }
    extern "C" fn abort(world: u8, code: c_int) -> c_int {
        call(format!("abort {world} {code}"))
    }
    extern "C" fn asked(_: u8, _: *mut c_int) -> c_int {
        0
    }
    extern "C" fn name(_: *mut c_char, _: *mut c_int) -> c_int {
        0
    }
    extern "C" fn send(_: *const c_void, n: c_int, of: u8, to: c_int, tag: c_int, w: u8) -> c_int {
        call(format!("send {n} of {of} to {to}, {tag}, {w}"))
    }
    extern "C" fn receive(
        _: *mut c_void,
        n: c_int,
        of: u8,
        from: c_int,
        tag: c_int,
        w: u8,
        _: *mut c_void,
    ) -> c_int {
        call(format!("receive {n} of {of} from {from}, {tag}, {w}"))
    }
    extern "C" fn isend(
        at: *const c_void,
        n: c_int,
        of: u8,
        to: c_int,
        _: c_int,
        _: u8,
        request: *mut u8,
    ) -> c_int {
        // SAFETY: the bytes and the request are those of the test below.
        let (first, had) = unsafe { (*at.cast::<u8>(), *request) };
        call(format!("begin {n} of {of} to {to}: {first}, {had}"))
    }
    extern "C" fn irecv(
        at: *mut c_void,
        n: c_int,
        of: u8,
        from: c_int,
        _: c_int,
        _: u8,
        _: *mut u8,
    ) -> c_int {
        // SAFETY: the bytes are those of the test below.
        let first = unsafe { *at.cast::<u8>() };
        call(format!("expect {n} of {of} from {from}: {first}"))
    }
    extern "C" fn wait_all(n: c_int, _: *mut u8, _: *mut c_void) -> c_int {
        call(format!("wait for {n}"))
    }
    extern "C" fn barrier(world: u8) -> c_int {
        call(format!("barrier {world}"))
    }
    extern "C" fn sum(_: *const c_void, _: *mut c_void, n: c_int, of: u8, by: u8, w: u8) -> c_int {
        call(format!("{n} of {of} by {by}, {w}"))
    }
    extern "C" fn to_all(
        _: *const c_void,
        n: c_int,
        of: u8,
        _: *mut c_void,
        back: c_int,
        of_back: u8,
        w: u8,
    ) -> c_int {
        call(format!("{n} of {of} to all, {back} of {of_back}, {w}"))
    }
    extern "C" fn gather(
        _: *const c_void,
        n: c_int,
        of: u8,
        _: *mut c_void,
        each: c_int,
        _: u8,
        root: c_int,
        w: u8,
    ) -> c_int {
        call(format!("gather {n} of {of}, {each} each, at {root}, {w}"))
    }
    extern "C" fn share(_: *mut c_void, n: c_int, of: u8, root: c_int, w: u8) -> c_int {
        call(format!("share {n} of {of} from {root}, {w}"))
    }

    fn world(rank: usize, size: usize) -> World<Numbered> {
        let calls = Calls {
            init,
            finalize,
            abort,
            rank: asked,
            size: asked,
            name,
            send,
            receive,
            isend,
            irecv,
            wait_all,
            barrier,
            sum,
            to_all,
            gather,
            share,
        };
        let (version, requests) = ("told".to_owned(), RefCell::default());
        World { calls, handles: handles(), version, rank, size, requests }
    }

    #[test]
    fn every_call_has_its_lengths_ranks_and_handles() {
        let mpi = world(0, 3);
        assert_eq!((mpi.rank(), mpi.size(), mpi.version()), (0, 3, "told"));
        mpi.barrier();
        mpi.send(&[0; 9], 2);
        mpi.receive(&mut [0; 7], 1);
        mpi.sum(&[1.0; 4], &mut [0.0; 4]);
        mpi.to_all(&[0; 15], &mut [0; 15], 5);
        mpi.gather(&[0; 4], &mut [0; 12]);
        mpi.share(&mut [0; 6]);
        mpi.finish();
        let calls = [
            "barrier 1",
            "send 9 of 2 to 2, 7, 1",
            "receive 7 of 2 from 1, 7, 1",
            "4 of 3 by 4, 1",
            "5 of 2 to all, 5 of 2, 1",
            "gather 4 of 2, 4 each, at 0, 1",
            "share 6 of 2 from 0, 1",
            "finalize",
        ];
        assert_eq!(called(), calls);
        // Away from rank 0 there is no room for all, and need be none.
        world(1, 3).gather(&[0; 4], &mut []);
        assert_eq!(called(), [calls[5]]);
    }

    #[test]
    fn messages_of_a_window_lie_one_after_the_other() {
        let (out, mut into) = ([10, 11, 12, 13, 14, 15], [20, 21, 22, 23]);
        let mut exchange = |stride| {
            let into = &mut into;
            let window = Window { out: &out, into, each: 2, stride, sends: 3, receives: 2 };
            world(0, 2).exchange(window, 1);
        };
        exchange(2);
        let calls = [
            "expect 2 of 2 from 1: 20",
            "expect 2 of 2 from 1: 22",
            "begin 2 of 2 to 1: 10, 5",
            "begin 2 of 2 to 1: 12, 5",
            "begin 2 of 2 to 1: 14, 5",
            "wait for 5",
        ];
        assert_eq!(called(), calls);
        // Or all in one place.
        exchange(0);
        let (coming, going) = ("expect 2 of 2 from 1: 20", "begin 2 of 2 to 1: 10, 5");
        assert_eq!(called(), [coming, coming, going, going, going, "wait for 5"]);
    }
}
