//! A device that tests have in place of a real one: what is posted is carried out in this process,
//! in its order, between two ends that know each other's memory. What a real device would refuse
//! is a panic.

use crate::LoadError;
use crate::harness::buffer::Buffer;
use crate::harness::meet::Token;
use narrows_rdma::verbs::{Access, Kind as Service};
use narrows_rdma::{Completion, Verb, Watched, Work};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// As RoCE and InfiniBand do: a send that finds no buffer waits for one.
pub const ROCE: &str = "pretended";
/// As iWARP does: a send that finds no buffer ends the connection.
pub const IWARP: &str = "pretended-iwarp";
/// As some providers of libfabric do: nothing moves unless both ends call.
pub const CALLED: &str = "pretended-called";
/// What comes before a datagram.
const HEADER_BYTES: u64 = 40;

/// One end's part of a cable.
#[derive(Default)]
struct Side {
    /// Where its memory is, and how long, while it lives.
    memory: Option<(u64, u64)>,
    access: Access,
    /// The most requests that may be under way, and buffers that may be posted.
    room: (u64, usize),
    /// Number of requests that were posted, and of those that are known to be done.
    posted: u64,
    freed: u64,
    works: VecDeque<(u64, Work)>,
    rooms: VecDeque<Room>,
    /// With the number of the request.
    done: VecDeque<(u64, Completion)>,
}

type Sides = [Side; 2];

/// The key of an end's memory.
fn key(side: usize) -> u64 {
    70 + side as u64
}

/// A buffer that was posted for an arrival.
struct Room {
    id: u64,
    address: u64,
    length: u32,
}

/// What joins two ends.
struct Cable {
    sides: Mutex<Sides>,
    service: Service,
    kind: &'static str,
}

/// Cables whose second end has not come, by the flow's token and number.
static WAITING: Mutex<BTreeMap<(Token, u32), Arc<Cable>>> = Mutex::new(BTreeMap::new());

/// One end, with its memory.
pub struct End {
    cable: Arc<Cable>,
    own: usize,
    base: u64,
    memory: Watched<Buffer>,
}

impl Drop for End {
    fn drop(&mut self) {
        let mut sides = self.sides();
        sides[self.own].memory = None;
        sides[self.own].rooms.clear();
    }
}

/// The bytes at a place, which must be memory of that end.
fn bytes(side: &Side, address: u64, length: u64) -> Option<*mut u8> {
    let (base, all) = side.memory?;
    let fits = address >= base && address + length <= base + all;
    assert!(fits, "{length} B at {} of {all} B", address.wrapping_sub(base) as i64);
    Some(address as *mut u8)
}

fn copy(from: Option<*mut u8>, to: Option<*mut u8>, length: u64) {
    let (Some(from), Some(to)) = (from, to) else { return };
    // The last byte last: it is what the other end looks at.
    for at in 0..length as usize {
        // SAFETY: both lie in buffers of ends that live, since they leave under the same lock.
        unsafe { to.add(at).write_volatile(from.add(at).read_volatile()) };
    }
}

fn completion(id: u64, arrived: bool, bytes: u32) -> Completion {
    let mut completion = Completion::default();
    (completion.id, completion.arrived, completion.bytes) = (id, arrived, bytes);
    completion
}

impl Cable {
    /// Carries out what can be.
    fn move_on(&self, sides: &mut Sides) {
        for (own, other) in [(0, 1), (1, 0)] {
            while self.first(sides, own, other).is_some() {}
        }
    }

    /// Carries out the first request of an end; nothing where it has to wait.
    fn first(&self, sides: &mut Sides, own: usize, other: usize) -> Option<()> {
        let (number, work) = *sides[own].works.front()?;
        let length = u64::from(work.length);
        let here = bytes(&sides[own], work.address, length);
        let arrives = matches!(work.verb, Verb::Send | Verb::WriteImm);
        let mut is_lost = false;
        if sides[other].memory.is_none() && self.service != Service::Ud {
            sides[own].works.pop_front();
            sides[own].done.push_back((number + 1, Completion::flushed(work.id)));
            return Some(());
        }
        if arrives && sides[other].rooms.is_empty() {
            assert!(self.kind != IWARP, "a send has found no buffer");
            is_lost = self.service != Service::Rc;
            if !is_lost {
                return None;
            }
        }
        if work.verb != Verb::Send && !is_lost {
            assert_eq!(work.remote.key, key(other), "the key of the other end");
            let Access { write, read, atomic, .. } = sides[other].access;
            let there = bytes(&sides[other], work.remote.address, length);
            match work.verb {
                Verb::Read => copy(there, here, length),
                Verb::FetchAdd => {
                    copy(there, here, 8);
                    add_one(there);
                }
                _ => copy(here, there, length),
            }
            let may = match work.verb {
                Verb::Read => read,
                Verb::FetchAdd => atomic,
                _ => write,
            };
            assert!(may || sides[other].memory.is_none(), "{:?} is not allowed", work.verb);
        }
        if arrives && !is_lost {
            let room = sides[other].rooms.pop_front()?;
            let header = if self.service == Service::Ud { HEADER_BYTES } else { 0 };
            if work.verb == Verb::Send {
                assert!(length + header <= u64::from(room.length), "a buffer is too short");
                let there = bytes(&sides[other], room.address + header, length);
                copy(here, there, length);
            }
            let bytes = (length + header) as u32;
            sides[other].done.push_back((0, completion(room.id, true, bytes)));
        }
        sides[own].works.pop_front();
        if work.signaled {
            sides[own].done.push_back((number + 1, completion(work.id, false, 0)));
        }
        Some(())
    }
}

/// Adds one to the eight bytes there.
fn add_one(there: Option<*mut u8>) {
    let Some(there) = there.map(<*mut u8>::cast::<u64>) else { return };
    // SAFETY: eight bytes of a buffer that lives, as those that were copied.
    unsafe { there.write_unaligned(there.read_unaligned() + 1) };
}

impl End {
    /// One end of a flow's cable: the first that comes, or the one that it waits for. So many
    /// requests may be under way, and so many buffers posted.
    pub fn plug(
        (kind, service): (&'static str, Service),
        flow: (Token, u32),
        mut memory: Watched<Buffer>,
        access: Access,
        room: (u64, usize),
    ) -> Self {
        let base = memory.start() as u64;
        let length = memory.length() as u64;
        let mut waiting = WAITING.lock().unwrap_or_else(PoisonError::into_inner);
        let (cable, own) = match waiting.remove(&flow) {
            Some(cable) => (cable, 1),
            None => {
                let cable = Arc::new(Cable { sides: Mutex::default(), service, kind });
                waiting.insert(flow, Arc::clone(&cable));
                (cable, 0)
            }
        };
        let end = Self { cable, own, base, memory };
        let memory = Some((base, length));
        end.sides()[own] = Side { memory, access, room, ..Side::default() };
        end
    }

    fn sides(&self) -> MutexGuard<'_, Sides> {
        self.cable.sides.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn base(&self) -> u64 {
        self.base
    }

    pub fn memory(&mut self) -> &mut Watched<Buffer> {
        &mut self.memory
    }

    pub fn local_key(&self) -> u32 {
        key(self.own) as u32
    }

    pub fn needs_calls(&self) -> bool {
        self.cable.kind == CALLED
    }

    pub fn delivers(&self) -> bool {
        self.cable.kind == CALLED
    }

    pub fn post(&mut self, works: &[Work]) -> Result<(), LoadError> {
        let mut sides = self.sides();
        for work in works {
            let Side { posted, freed, room, .. } = sides[self.own];
            assert!(posted - freed < room.0, "more than {} requests are under way", room.0);
            assert_eq!(u64::from(work.local_key), key(self.own), "the own key");
            let lands = matches!(work.verb, Verb::Read | Verb::FetchAdd);
            assert!(!(lands && work.inline), "what comes back is in no request");
            assert!(!lands || work.verb == Verb::FetchAdd || sides[self.own].access.lands_reads);
            sides[self.own].works.push_back((posted, *work));
            sides[self.own].posted += 1;
        }
        if !self.needs_calls() {
            self.cable.move_on(&mut sides);
        }
        Ok(())
    }

    pub fn post_receive(&mut self, id: u64, address: u64, length: u32) -> Result<(), LoadError> {
        let mut sides = self.sides();
        let most = sides[self.own].room.1;
        assert!(sides[self.own].rooms.len() < most, "more than {most} buffers are posted");
        bytes(&sides[self.own], address, length.into());
        sides[self.own].rooms.push_back(Room { id, address, length });
        if !self.needs_calls() {
            self.cable.move_on(&mut sides);
        }
        Ok(())
    }

    pub fn poll(&mut self, into: &mut [Completion]) -> Result<usize, LoadError> {
        let mut sides = self.sides();
        self.cable.move_on(&mut sides);
        let side = &mut sides[self.own];
        let mut count = 0;
        while count < into.len()
            && let Some((freed, completion)) = side.done.pop_front()
        {
            side.freed = side.freed.max(freed);
            into[count] = completion;
            count += 1;
        }
        Ok(count)
    }

    pub fn sleep(&mut self, into: &mut [Completion]) -> Result<usize, LoadError> {
        std::thread::sleep(Duration::from_micros(100));
        self.poll(into)
    }
}
