//! An endpoint, its memory, and where its completions are found.

use super::bindings::*;
use super::info::Info;
use super::{call, failed, library};
use crate::NativeError;
use crate::memory::{Memory, Watched};
use crate::signals::Signals;
use crate::work::{Completion, Status, Verb, Work};
use std::collections::VecDeque;
use std::ffi::c_void;
use std::time::{Duration, Instant};

/// The longest name of an endpoint.
pub const NAME_MAX: usize = 256;
/// Completions taken at once.
const TAKE: usize = 16;
/// How long a provider may take nothing.
const FULL: Duration = Duration::from_secs(2);

/// Something of the library's, closed when it goes. All of them begin with a `fid`.
struct Object<T>(*mut T);

impl<T> Object<T> {
    fn fid(&self) -> *mut fid {
        self.0.cast()
    }
}

impl<T> Drop for Object<T> {
    fn drop(&mut self) {
        if !self.0.is_null() {
            // SAFETY: opened by the library, closed once, before what it was made from.
            unsafe { call!((*self.fid()).ops, close, self.fid()) };
        }
    }
}

/// Opens something; `open` answers 0 and sets what it made.
fn open<T>(doing: &str, open: impl FnOnce(*mut *mut T) -> i64) -> Result<Object<T>, NativeError> {
    let mut made = std::ptr::null_mut();
    match open(&raw mut made) {
        0 => Ok(Object(made)),
        answer => Err(failed(doing, answer)),
    }
}

/// What an endpoint is made of, one after the other.
struct Opening<'a> {
    info: &'a Info,
    name: String,
}

impl Opening<'_> {
    fn doing(&self, what: &str) -> String {
        format!("{}: {what}", self.name)
    }

    fn good(&self, what: &str, answer: i64) -> Result<(), NativeError> {
        if answer == 0 { Ok(()) } else { Err(failed(self.doing(what), answer)) }
    }

    fn domain(&self) -> Result<(Object<fid_fabric>, Object<fid_domain>), NativeError> {
        let (library, raw) = (library()?, self.info.raw());
        let null = std::ptr::null_mut();
        let fabric = open(&self.doing("opening the fabric"), |made| {
            // SAFETY: the info lives longer than what is opened with it.
            unsafe { library.fi_fabric((*raw).fabric_attr, made, null).into() }
        })?;
        let domain = open(&self.doing("opening the domain"), |made| {
            // SAFETY: as above; the fabric was just opened.
            unsafe { call!((*fabric.0).ops, domain, fabric.0, raw, made, null) }
        })?;
        Ok((fabric, domain))
    }

    fn addresses(&self, domain: &Object<fid_domain>) -> Result<Object<fid_av>, NativeError> {
        let mut wanted = fi_av_attr { count: 1, ..Default::default() };
        open(&self.doing("opening a table of addresses"), |made| {
            let (domain, null) = (domain.0, std::ptr::null_mut());
            // SAFETY: the domain is open; attributes are copied.
            unsafe { call!((*domain).ops, av_open, domain, &raw mut wanted, made, null) }
        })
    }

    fn completions(
        &self,
        domain: &Object<fid_domain>,
        size: &Size,
    ) -> Result<Object<fid_cq>, NativeError> {
        let mut wanted = fi_cq_attr {
            size: (size.sends + size.receives) as usize + 1,
            format: FI_CQ_FORMAT_MSG,
            wait_obj: if size.sleeps { FI_WAIT_FD } else { FI_WAIT_NONE },
            ..Default::default()
        };
        let what = if size.sleeps {
            "opening a queue of completions that wakes sleepers (look instead)"
        } else {
            "opening a queue of completions"
        };
        open(&self.doing(what), |made| {
            let (domain, null) = (domain.0, std::ptr::null_mut());
            // SAFETY: as above.
            unsafe { call!((*domain).ops, cq_open, domain, &raw mut wanted, made, null) }
        })
    }

    fn endpoint(
        &self,
        domain: &Object<fid_domain>,
        av: &Object<fid_av>,
        cq: &Object<fid_cq>,
    ) -> Result<Object<fid_ep>, NativeError> {
        let ep: Object<fid_ep> = open(&self.doing("opening an endpoint"), |made| {
            let (domain, null) = (domain.0, std::ptr::null_mut());
            // SAFETY: as above.
            unsafe { call!((*domain).ops, endpoint, domain, self.info.raw(), made, null) }
        })?;
        for (to, flags) in [(av.fid(), 0), (cq.fid(), FI_SEND | FI_RECV)] {
            // SAFETY: all three are open.
            let answer = unsafe { call!((*ep.fid()).ops, bind, ep.fid(), to, flags.into()) };
            self.good("binding an endpoint", answer)?;
        }
        self.enable(ep.fid())?;
        Ok(ep)
    }

    fn enable(&self, what: *mut fid) -> Result<(), NativeError> {
        // SAFETY: it is open; the command takes nothing.
        let answer =
            unsafe { call!((*what).ops, control, what, FI_ENABLE as i32, std::ptr::null_mut()) };
        self.good("enabling an endpoint", answer)
    }

    fn registration<M: Memory>(
        &self,
        domain: &Object<fid_domain>,
        ep: &Object<fid_ep>,
        memory: &mut Watched<M>,
        key: u64,
    ) -> Result<Object<fid_mr>, NativeError> {
        let access = FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE | FI_SEND | FI_RECV;
        let (start, length) = (memory.start(), memory.length());
        let (null, access) = (std::ptr::null_mut(), u64::from(access));
        let mr: Object<fid_mr> =
            open(&self.doing(&format!("registering {length} bytes")), |made| {
                let (of, start) = (domain.fid(), start.cast());
                // SAFETY: the buffer is so long and lives until after the registration.
                unsafe {
                    call!((*domain.0).mr, reg, of, start, length, access, 0, key, 0, made, null)
                }
            })?;
        if self.info.mr_mode() & FI_MR_ENDPOINT != 0 {
            // SAFETY: both are open.
            let answer = unsafe { call!((*mr.fid()).ops, bind, mr.fid(), ep.fid(), 0) };
            self.good("binding memory to an endpoint", answer)?;
            self.enable(mr.fid())?;
        }
        Ok(mr)
    }
}

/// How large an endpoint is.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Requests under way.
    pub sends: u32,
    /// Buffers posted for arrivals.
    pub receives: u32,
    /// Whether a thread can sleep until something completes.
    pub sleeps: bool,
}

/// An endpoint and its memory. The order is that in which they are closed.
pub struct Endpoint<M: Memory> {
    ep: Object<fid_ep>,
    mr: Object<fid_mr>,
    cq: Object<fid_cq>,
    av: Object<fid_av>,
    _domain: Object<fid_domain>,
    _fabric: Object<fid_fabric>,
    info: Info,
    memory: Watched<M>,
    /// Tag of every message, which both ends know.
    tag: u64,
    /// The other end.
    peer: fi_addr_t,
    /// What the provider keeps of requests: first those of sends, then those of posted buffers.
    contexts: Box<[fi_context2]>,
    /// Of each: the number of its buffer, and whether it is to be heard of.
    notes: Box<[(u64, bool)]>,
    sends: usize,
    free_sends: Vec<usize>,
    free_receives: Vec<usize>,
    /// Taken from the provider and not yet by the program.
    taken: VecDeque<Completion>,
}

// SAFETY: one thread at a time uses it.
unsafe impl<M: Memory> Send for Endpoint<M> {}

impl<M: Memory> Endpoint<M> {
    /// Opens an endpoint. `key` is what the other end names the memory by, where the provider does
    /// not choose it, and `tag` marks its messages.
    pub fn new(info: Info, memory: M, size: Size, key: u64, tag: u64) -> Result<Self, NativeError> {
        let _kept = Signals::keep();
        let mut memory = Watched::new(memory);
        let (sends, receives) = (size.sends as usize, size.receives as usize);
        let opening = Opening { info: &info, name: info.provider().name };
        let (fabric, domain) = opening.domain()?;
        let av = opening.addresses(&domain)?;
        let cq = opening.completions(&domain, &size)?;
        let ep = opening.endpoint(&domain, &av, &cq)?;
        let mr = opening.registration(&domain, &ep, &mut memory, key)?;
        Ok(Self {
            ep,
            mr,
            cq,
            av,
            _domain: domain,
            _fabric: fabric,
            info,
            memory,
            tag,
            peer: 0,
            contexts: vec![fi_context2::default(); sends + receives].into_boxed_slice(),
            notes: vec![(0, false); sends + receives].into_boxed_slice(),
            sends,
            free_sends: (0..sends).collect(),
            free_receives: (sends..sends + receives).collect(),
            taken: VecDeque::new(),
        })
    }

    /// What it was opened with.
    pub fn info(&self) -> &Info {
        &self.info
    }

    /// Memory that the endpoint sends from and receives into.
    pub fn memory(&mut self) -> &mut Watched<M> {
        &mut self.memory
    }

    /// Where its memory begins, here.
    pub fn address(&mut self) -> u64 {
        self.memory.start() as u64
    }

    /// Where its memory begins and its key, as the other end names them.
    pub fn lent(&mut self) -> crate::work::Remote {
        let named = self.info.mr_mode() & FI_MR_VIRT_ADDR != 0;
        let address = if named { self.address() } else { 0 };
        // SAFETY: registered as long as self.
        crate::work::Remote { address, key: unsafe { (*self.mr.0).key } }
    }

    /// What the other end finds it by.
    pub fn name(&self) -> Result<Vec<u8>, NativeError> {
        let mut name = vec![0; NAME_MAX];
        let mut length = name.len();
        // SAFETY: so many bytes, ours.
        let answer = unsafe {
            let into = name.as_mut_ptr().cast();
            call!((*self.ep.0).cm, getname, self.ep.fid(), into, &raw mut length)
        };
        match answer {
            0 if length <= NAME_MAX => {
                name.truncate(length);
                Ok(name)
            }
            answer => Err(failed("asking an endpoint's name", answer)),
        }
    }

    /// Learns the other end's name.
    pub fn join(&mut self, name: &[u8]) -> Result<(), NativeError> {
        // The call takes as many bytes as its kind of address has, whatever the other end said.
        let mut padded = [0u8; 2 * NAME_MAX];
        let length = name.len().min(NAME_MAX);
        padded[..length].copy_from_slice(&name[..length]);
        let null = std::ptr::null_mut();
        // SAFETY: more bytes than any address has, and the table lives.
        let answer = unsafe {
            let from = padded.as_ptr().cast();
            call!((*self.av.0).ops, insert, self.av.0, from, 1, &raw mut self.peer, 0, null)
        };
        match answer {
            1 => Ok(()),
            // Shared memory that may not be opened is no error number.
            0 => Err(NativeError::Cannot(
                "the other end's name leads nowhere from here; over shm both ends must run on one \
                 host as one user (narrows serve --user)"
                    .into(),
            )),
            answer => Err(failed("learning the other end's name", answer)),
        }
    }

    /// Posts requests. Where the provider has no room it is called until there is some.
    pub fn post(&mut self, works: &[Work]) -> Result<(), NativeError> {
        for work in works {
            self.owns(work.address, work.length)?;
            let index = self.again(|own| own.free_sends.pop().ok_or(-i64::from(FI_EAGAIN)))?;
            self.notes[index] = (work.id, work.signaled);
            self.again(|own| match own.request(work, index) {
                0 => Ok(()),
                answer => Err(answer),
            })?;
        }
        Ok(())
    }

    /// Posts a buffer for an arrival; `id` comes back with it.
    pub fn post_receive(&mut self, id: u64, address: u64, length: u32) -> Result<(), NativeError> {
        self.owns(address, length)?;
        let index = self.again(|own| own.free_receives.pop().ok_or(-i64::from(FI_EAGAIN)))?;
        self.notes[index] = (id, true);
        self.again(|own| {
            let (ep, context) = (own.ep.0, own.context(index));
            // SAFETY: the buffer is a part of the registered memory, and the context is ours until
            // it comes back.
            let answer = unsafe {
                let description = (*own.mr.0).mem_desc;
                let (into, length) = (address as *mut c_void, length as usize);
                call!(
                    (*ep).tagged,
                    recv,
                    ep,
                    into,
                    length,
                    description,
                    own.peer,
                    own.tag,
                    0,
                    context
                )
            };
            if answer == 0 { Ok(()) } else { Err(answer) }
        })
    }

    /// Providers in software read and write where they are told, and ask no NIC.
    fn owns(&mut self, address: u64, length: u32) -> Result<(), NativeError> {
        let at = address.checked_sub(self.address());
        let end = at.and_then(|at| at.checked_add(length.into()));
        if end.is_some_and(|end| end <= self.memory.length() as u64) {
            Ok(())
        } else {
            Err(NativeError::Cannot("a request beyond the endpoint's memory".into()))
        }
    }

    fn context(&mut self, index: usize) -> *mut c_void {
        (&raw mut self.contexts[index]).cast()
    }

    fn request(&mut self, work: &Work, index: usize) -> i64 {
        let (ep, peer, tag, context) = (self.ep.0, self.peer, self.tag, self.context(index));
        let (at, length) = (work.address as *mut c_void, work.length as usize);
        let (address, key) = (work.remote.address, work.remote.key);
        // SAFETY: as in `post_receive`; what the other end's addresses name, its library checks.
        unsafe {
            let description = (*self.mr.0).mem_desc;
            match work.verb {
                Verb::Write => {
                    call!(
                        (*ep).rma,
                        write,
                        ep,
                        at,
                        length,
                        description,
                        peer,
                        address,
                        key,
                        context
                    )
                }
                Verb::Read => {
                    call!((*ep).rma, read, ep, at, length, description, peer, address, key, context)
                }
                Verb::Send => {
                    call!((*ep).tagged, send, ep, at, length, description, peer, tag, context)
                }
                Verb::WriteImm | Verb::FetchAdd => -i64::from(libc::ENOSYS),
            }
        }
    }

    /// Does what answers that there is no room until there is some.
    fn again<T>(
        &mut self,
        mut attempt: impl FnMut(&mut Self) -> Result<T, i64>,
    ) -> Result<T, NativeError> {
        let mut since = None;
        loop {
            match attempt(self) {
                Ok(done) => return Ok(done),
                Err(answer) if answer != -i64::from(FI_EAGAIN) => {
                    return Err(failed("posting a request", answer));
                }
                Err(_) => {}
            }
            if self.progress()? > 0 {
                since = None;
            } else if since.get_or_insert_with(Instant::now).elapsed() > FULL {
                let says = format!("posting a request: no room for {FULL:?}");
                return Err(NativeError::Cannot(says));
            }
        }
    }

    /// Takes what has completed; how many.
    #[inline]
    pub fn poll(&mut self, into: &mut [Completion]) -> Result<usize, NativeError> {
        if self.taken.is_empty() {
            self.progress()?;
        }
        Ok(self.hand_over(into))
    }

    /// The same, and sleeps so long where nothing has.
    pub fn sleep(&mut self, into: &mut [Completion], most: Duration) -> Result<usize, NativeError> {
        if self.taken.is_empty() {
            let cq = self.cq.0;
            let mut entries = [fi_cq_msg_entry::default(); TAKE];
            // SAFETY: so many entries, ours.
            let count = unsafe {
                let (to, wait) = (entries.as_mut_ptr().cast(), most.as_millis().max(1) as i32);
                call!((*cq).ops, sread, cq, to, TAKE, std::ptr::null(), wait)
            };
            self.take(count, &entries)?;
        }
        Ok(self.hand_over(into))
    }

    fn hand_over(&mut self, into: &mut [Completion]) -> usize {
        let count = into.len().min(self.taken.len());
        for (into, taken) in into.iter_mut().zip(self.taken.drain(..count)) {
            *into = taken;
        }
        count
    }

    /// Lets the provider work; how many requests completed.
    fn progress(&mut self) -> Result<usize, NativeError> {
        let cq = self.cq.0;
        let mut entries = [fi_cq_msg_entry::default(); TAKE];
        // SAFETY: as above.
        let count = unsafe { call!((*cq).ops, read, cq, entries.as_mut_ptr().cast(), TAKE) };
        self.take(count, &entries)
    }

    fn take(
        &mut self,
        count: i64,
        entries: &[fi_cq_msg_entry; TAKE],
    ) -> Result<usize, NativeError> {
        match usize::try_from(count) {
            Ok(count) => {
                for entry in &entries[..count.min(TAKE)] {
                    self.note(entry.op_context, entry.len, Status::Good);
                }
                Ok(count)
            }
            Err(_) if count == -i64::from(FI_EAVAIL) => {
                let mut error = fi_cq_err_entry::default();
                let cq = self.cq.0;
                // SAFETY: one entry, ours, without room for the provider's own data.
                let read = unsafe { call!((*cq).ops, readerr, cq, &raw mut error, 0) };
                if read < 0 {
                    return Err(failed("reading why a request failed", read));
                }
                self.note(error.op_context, 0, Status::Fabric(error.err));
                Ok(1)
            }
            // A signal ends a sleep.
            Err(_) if [-i64::from(FI_EAGAIN), -i64::from(libc::EINTR)].contains(&count) => Ok(0),
            Err(_) => Err(failed("reading completions", count)),
        }
    }

    /// One completion, by the context that was given with its request.
    fn note(&mut self, context: *mut c_void, bytes: usize, status: Status) {
        let from = (context as usize).wrapping_sub(self.contexts.as_ptr() as usize);
        let index = from / size_of::<fi_context2>();
        let Some(&(id, heard)) = self.notes.get(index) else {
            self.taken.push_back(Completion { status, ..Completion::default() });
            return;
        };
        let arrived = index >= self.sends;
        if arrived {
            self.free_receives.push(index)
        } else {
            self.free_sends.push(index)
        }
        if heard || status != Status::Good {
            self.taken.push_back(Completion { status, id, arrived, bytes: bytes as u32 });
        }
    }
}

#[cfg(test)]
#[path = "endpoint_tests.rs"]
mod tests;
