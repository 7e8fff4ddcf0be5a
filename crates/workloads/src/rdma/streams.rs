//! Bandwidth: one end keeps so many requests under way, the other end's NIC, or its program, takes
//! what comes.
//!
//! Over InfiniBand and RoCE a send that finds no buffer is sent again. Over iWARP it ends the
//! connection (RFC 5041, section 5), so there the receiver says when it has posted buffers again.

use super::link::{Link, Need, Room};
use super::settings::{RECEIVES, RdmaSettings};
use super::talk::Word;
use super::{establish, is_one_sided};
use crate::LoadError;
use crate::harness::ends::Flow;
use crate::harness::payload::Checker;
use crate::harness::socket::LOOK_UP;
use crate::harness::{Lane, LaneEnd, Phase};
use narrows_model::load::Unacknowledged;
use narrows_model::rdma::RdmaTransport;
use narrows_rdma::verbs::Access;
use narrows_rdma::{Completion, Remote, Verb, Work};
use socket2::Socket;
use std::time::{Duration, Instant};

/// Of the buffers that were posted at first, the part after which iWARP's sender is told that they
/// are posted again.
const CREDITS: u32 = 4;
/// How long an end waits for the other's last word, or for its own last requests.
const LAST_WITHIN: Duration = Duration::from_secs(3);
/// After the sender's last word, how long nothing may come before all that will has come.
const LATE_WITHIN: Duration = Duration::from_millis(200);

/// The end that asks: sends, writes, reads, or adds.
pub fn ask(verb: Verb, lane: &mut Lane, flow: Socket, told: &Flow) -> Result<LaneEnd, LoadError> {
    let settings = RdmaSettings::of(&told.job)?;
    let verify = told.stream().verify;
    let need = Need {
        verb,
        sends: settings.depth + 1,
        receives: CREDITS + 1,
        bytes: told.span(),
        pattern: verb != Verb::Read,
        access: Access {
            lands_reads: verb == Verb::Read || verify,
            relaxed: settings.relaxed,
            ..Access::default()
        },
    };
    let sends = verb == Verb::Send;
    let link = establish(flow, told, &settings, &need, &|address| {
        // A credit says that it came, and nothing else.
        let credits = if sends && !settings.is_fabric { 0..CREDITS } else { 0..0 };
        credits.map(|_| Room { id: 0, address, length: 0 }).collect()
    })?;
    let limited = sends && link.told.transport == RdmaTransport::Iwarp;
    let granted = limited.then_some(u64::from(settings.depth * RECEIVES));
    let checker = (verify && verb == Verb::Read).then(|| Checker::new(told.span())).transpose()?;
    let span = told.span();
    let alternate = settings.alternate_bytes.map(|bytes| bytes as usize);
    let sizes = Sizes { message: told.message(), alternate };
    let (posted, completed) = (0, 0);
    let mut asking =
        Asking { verb, link, settings, sizes, span, posted, completed, granted, checker };
    lane.wait_at_gate();
    asking.run(lane)?;
    asking.end(verify, told.index)
}

/// Bytes of each message by its number: of even ones, and of odd ones where these differ.
#[derive(Clone, Copy)]
struct Sizes {
    message: usize,
    alternate: Option<usize>,
}

impl Sizes {
    fn of(self, number: u64) -> usize {
        self.alternate.filter(|_| number % 2 == 1).unwrap_or(self.message)
    }

    /// Bytes of so many messages from a number on.
    fn sum(self, first: u64, count: u64) -> u64 {
        let message = self.message as u64;
        let odd = (count + first % 2) / 2;
        let less = message - self.alternate.map_or(message, |bytes| bytes as u64);
        count * message - odd * less
    }
}

struct Asking {
    verb: Verb,
    link: Link,
    settings: RdmaSettings,
    sizes: Sizes,
    span: usize,
    posted: u64,
    completed: u64,
    /// How many may be posted in all, where the other end says so.
    granted: Option<u64>,
    /// What reads brought, when that is compared.
    checker: Option<Checker>,
}

impl Asking {
    fn run(&mut self, lane: &mut Lane) -> Result<(), LoadError> {
        let (depth, list) = (u64::from(self.settings.depth), u64::from(self.settings.post_list));
        let mut works = Vec::with_capacity(list as usize);
        let mut done = [Completion::default(); 16];
        let mut in_window = 0;
        let mut patience = Patience::default();
        loop {
            let phase = lane.phase();
            if phase == Phase::Stop {
                return self.some(in_window);
            }
            let granted = self.granted.unwrap_or(u64::MAX);
            while self.posted - self.completed + list <= depth && self.posted + list <= granted {
                works.clear();
                works.extend((0..list).map(|more| self.work(self.posted + more)));
                self.link.pair.post(&works)?;
                self.posted += list;
            }
            let count = self.link.pair.take(&mut done, self.settings.events)?;
            if patience.is_over(count, self.settings.events) && phase == Phase::Window {
                return Err(stalled());
            }
            for completion in &done[..count] {
                if let Some(why) = completion.failed() {
                    over_or(lane, &why)?;
                    return self.some(in_window);
                }
                if completion.arrived {
                    self.credit()?;
                    continue;
                }
                let every = u64::from(self.settings.signal_every);
                // What it tells of ends with it.
                self.check((completion.id + 1).saturating_sub(every), every);
                lane.tally.moved(every, self.sizes.sum(self.completed, every));
                self.completed += every;
                in_window += u64::from(phase == Phase::Window);
            }
        }
    }

    /// The other end has posted buffers again.
    fn credit(&mut self) -> Result<(), LoadError> {
        let each = self.settings.depth * RECEIVES / CREDITS;
        self.granted = self.granted.map(|granted| granted + u64::from(each));
        self.link.pair.post_receive(0, self.link.base, 0)
    }

    /// A window in which nothing completed has measured nothing.
    fn some(&self, in_window: u64) -> Result<(), LoadError> {
        match in_window {
            0 => Err(LoadError::Peer(format!(
                "nothing completed within the window ({} outstanding requests of {} B): take a \
                 longer one (-D) or a smaller depth (-T)",
                self.settings.depth, self.sizes.message
            ))),
            _ => Ok(()),
        }
    }

    /// The request with this number. Every so many one is to be heard of; those before it are done
    /// by then, since they are done in order.
    fn work(&self, number: u64) -> Work {
        let at = number.wrapping_mul(self.sizes.message as u64) % self.span as u64;
        let Remote { address, key } = self.link.remote;
        Work {
            verb: self.verb,
            id: number,
            address: self.link.base + at,
            length: self.sizes.of(number) as u32,
            local_key: self.link.pair.local_key(),
            remote: Remote { address: address.wrapping_add(at), key },
            signaled: (number + 1).is_multiple_of(u64::from(self.settings.signal_every)),
            inline: self.link.told.inline && self.verb != Verb::Read,
        }
    }

    /// Compares what so many reads brought.
    fn check(&mut self, first: u64, count: u64) {
        let Some(checker) = &mut self.checker else { return };
        let mut bytes = vec![0; self.sizes.message];
        for number in first..first + count {
            let at = (number.wrapping_mul(self.sizes.message as u64) % self.span as u64) as usize;
            self.link.pair.memory().copy(at, &mut bytes);
            checker.see_at(&bytes, at);
        }
    }

    /// Waits for what is still under way, and tells the other end that it is over.
    fn end(mut self, verify: bool, flow: u32) -> Result<LaneEnd, LoadError> {
        let deadline = Instant::now() + LAST_WITHIN;
        let mut is_whole = self.finish(deadline)?;
        // Memory is lent until the last word: what asks nobody's program completes, or never will.
        if is_one_sided(self.verb) && !is_whole {
            return Err(stalled());
        }
        if verify && self.verb == Verb::Write && !self.link.pair.delivers() {
            self.flush(deadline)?;
        }
        // What is counted must end with one that is heard of.
        if is_whole && self.settings.is_counted(self.verb) && self.posted > self.completed {
            let until = self.completed + u64::from(self.settings.signal_every);
            let rest: Vec<Work> = (self.posted..until).map(|number| self.work(number)).collect();
            self.link.pair.post(&rest)?;
            self.posted = until;
            is_whole = self.finish(deadline)?;
        }
        let count = self.completed.to_be_bytes();
        let said = self.link.talk.say(Word::Done, if is_whole { &count } else { &[] });
        // The other end may have left already: it stops a moment before.
        drop(said);
        let compared = self.checker.map(|checker| checker.compared(flow));
        Ok(LaneEnd { compared, rdma: Some(self.link.told), ..LaneEnd::default() })
    }

    /// Waits for the last request that is to be heard of; false when that failed or did not come.
    fn finish(&mut self, deadline: Instant) -> Result<bool, LoadError> {
        let every = u64::from(self.settings.signal_every);
        let last = self.posted / every * every;
        let mut done = [Completion::default(); 16];
        while self.completed < last && Instant::now() < deadline {
            let count = self.link.pair.poll(&mut done)?;
            if done[..count].iter().any(|completion| completion.failed().is_some()) {
                return Ok(false);
            }
            let own = done[..count].iter().filter(|completion| !completion.arrived).count();
            self.completed += every * own as u64;
        }
        Ok(self.completed >= last)
    }

    /// Reads a byte back: what was written before it has arrived by then. The completion of a write
    /// says so over InfiniBand; over iWARP it says that TCP has it (RFC 5040, section 5.5).
    fn flush(&mut self, deadline: Instant) -> Result<(), LoadError> {
        let read =
            Work { verb: Verb::Read, length: 1, signaled: true, inline: false, ..self.work(0) };
        self.link.pair.post(&[read])?;
        let mut done = [Completion::default(); 1];
        while Instant::now() < deadline {
            if self.link.pair.poll(&mut done)? > 0 {
                return match done[0].failed() {
                    Some(why) => Err(LoadError::Peer(format!("reading back: {why}"))),
                    None => Ok(()),
                };
            }
        }
        Err(LoadError::Peer("reading back what was written: no answer".into()))
    }
}

/// What a device that went away, or an end that hangs, looks like.
pub(super) fn stalled() -> LoadError {
    LoadError::Peer(format!(
        "outstanding requests stopped completing ({STALL:?}): the device or the other end is gone"
    ))
}

/// How long nothing may complete.
const STALL: Duration = Duration::from_secs(2);

/// Looks at the clock now and then while nothing completes.
#[derive(Default)]
pub(super) struct Patience {
    since: Option<Instant>,
    looks: u32,
}

impl Patience {
    /// True once nothing has completed for too long.
    #[inline]
    pub fn is_over(&mut self, completed: usize, sleeps: bool) -> bool {
        if completed > 0 {
            *self = Self::default();
            return false;
        }
        self.looks = self.looks.wrapping_add(1);
        (sleeps || self.looks.is_multiple_of(1024))
            && self.since.get_or_insert_with(Instant::now).elapsed() > STALL
    }
}

/// The end of a run that the other end ended a moment before, or a failure.
fn over_or(lane: &mut Lane, why: &str) -> Result<(), LoadError> {
    if lane.phase() >= Phase::Cooldown {
        Ok(())
    } else {
        Err(LoadError::Peer(format!("a request failed: {why}")))
    }
}

/// The other end: its NIC alone, or its program too.
pub fn take(verb: Verb, lane: &mut Lane, flow: Socket, told: &Flow) -> Result<LaneEnd, LoadError> {
    if is_one_sided(verb) {
        stand_by(verb, lane, flow, told)
    } else {
        receive(verb, lane, flow, told)
    }
}

/// Lends memory and waits: the program takes no part.
pub(super) fn stand_by(
    verb: Verb,
    lane: &mut Lane,
    flow: Socket,
    told: &Flow,
) -> Result<LaneEnd, LoadError> {
    let settings = RdmaSettings::of(&told.job)?;
    let verify = told.stream().verify && verb == Verb::Write;
    let need = Need {
        verb,
        sends: 1,
        receives: 1,
        bytes: told.span(),
        pattern: verb == Verb::Read,
        access: Access {
            write: verb == Verb::Write,
            read: verb == Verb::Read || verify,
            atomic: verb == Verb::FetchAdd,
            relaxed: settings.relaxed,
            ..Access::default()
        },
    };
    let mut link = establish(flow, told, &settings, &need, &|_| Vec::new())?;
    lane.wait_at_gate();
    let mut stopped = None;
    let messages = loop {
        let phase = lane.phase();
        match link.hear_within(LOOK_UP, settings.events) {
            Ok(Some((_, said))) => break said.try_into().map_or(0, u64::from_be_bytes),
            Ok(None) => {}
            Err(_) if phase >= Phase::Cooldown => break 0,
            Err(error) => return Err(error),
        }
        if phase == Phase::Stop {
            let since = stopped.get_or_insert_with(Instant::now);
            if since.elapsed() > LAST_WITHIN {
                break 0;
            }
        }
    };
    if lane.phase() < Phase::Cooldown {
        return Err(LoadError::Peer("the other end finished before the window ended".into()));
    }
    let mut compared = None;
    if verify {
        if messages == 0 {
            let why = "what was written cannot be compared: the other end never said how much";
            return Err(LoadError::Peer(why.into()));
        }
        let written = messages.saturating_mul(told.message() as u64).min(told.span() as u64);
        let mut bytes = vec![0; written as usize];
        link.pair.memory().copy(0, &mut bytes);
        let mut checker = Checker::new(told.span())?;
        checker.see_at(&bytes, 0);
        compared = Some(checker.compared(told.index));
    }
    while lane.phase() != Phase::Stop {
        std::thread::sleep(LOOK_UP / 10);
    }
    Ok(LaneEnd { compared, rdma: Some(link.told), ..LaneEnd::default() })
}

/// Tells the sender that buffers were posted again: a message without a byte.
fn credit(link: &Link) -> Work {
    Work {
        verb: Verb::Send,
        id: 0,
        address: link.base,
        length: 0,
        local_key: link.pair.local_key(),
        remote: Remote::default(),
        signaled: true,
        inline: false,
    }
}

/// Posts buffers and takes what arrives.
fn receive(verb: Verb, lane: &mut Lane, flow: Socket, told: &Flow) -> Result<LaneEnd, LoadError> {
    let settings = RdmaSettings::of(&told.job)?;
    let stream = told.stream();
    let receives = settings.depth * RECEIVES;
    let header = settings.header_bytes();
    // What is compared must not be written over by what comes next. A write says itself where its
    // bytes go.
    let slots = match (verb, stream.verify) {
        (Verb::Send, true) => (told.span() / told.message()).max(receives as usize),
        _ => told.span() / told.message(),
    };
    let slots = Slots { count: slots as u64, length: told.message() + header, header };
    let need = Need {
        verb,
        sends: 2 * CREDITS,
        receives,
        bytes: slots.count as usize * slots.length,
        pattern: false,
        access: Access {
            write: verb == Verb::WriteImm,
            relaxed: settings.relaxed,
            ..Access::default()
        },
    };
    let link = establish(flow, told, &settings, &need, &|base| {
        (0..u64::from(receives))
            .map(|id| Room { id, address: base + slots.place(id), length: slots.length as u32 })
            .collect()
    })?;
    let credits = verb == Verb::Send && link.told.transport == RdmaTransport::Iwarp;
    let checker = stream.verify.then(|| Checker::new(told.span())).transpose()?;
    let mut taking = Taking {
        verb,
        link,
        slots,
        span: told.span() as u64,
        next: u64::from(receives),
        credit_every: credits.then_some(u64::from(receives / CREDITS)),
        arrived: 0,
        latest: Instant::now(),
        bytes: vec![0; told.message()],
        checker,
        is_counted: settings.is_counted(verb),
    };
    lane.wait_at_gate();
    taking.run(lane, settings.events)?;
    let unacknowledged = taking.unacknowledged()?;
    let compared = taking.checker.map(|checker| checker.compared(told.index));
    let rdma = Some(taking.link.told);
    Ok(LaneEnd { compared, unacknowledged, rdma, ..LaneEnd::default() })
}

#[derive(Clone, Copy)]
struct Slots {
    count: u64,
    /// Of each, header included.
    length: usize,
    header: usize,
}

impl Slots {
    fn place(&self, number: u64) -> u64 {
        number % self.count * self.length as u64
    }
}

struct Taking {
    verb: Verb,
    link: Link,
    slots: Slots,
    span: u64,
    /// Number of the next buffer to post.
    next: u64,
    /// After how many buffers the sender is told, where it must be.
    credit_every: Option<u64>,
    arrived: u64,
    /// When something came last.
    latest: Instant,
    /// Room for one message that is compared.
    bytes: Vec<u8>,
    checker: Option<Checker>,
    /// Whether the sender's count is waited for.
    is_counted: bool,
}

impl Taking {
    fn run(&mut self, lane: &mut Lane, sleeps: bool) -> Result<(), LoadError> {
        let mut done = [Completion::default(); 16];
        let mut stopped = None;
        while lane.phase() != Phase::Stop || !self.is_left(&mut stopped) {
            let count = self.link.pair.take(&mut done, sleeps)?;
            if count > 0 {
                self.latest = Instant::now();
            }
            for completion in &done[..count] {
                if let Some(why) = completion.failed() {
                    // What came after it is not known.
                    self.is_counted = false;
                    return over_or(lane, &why);
                }
                if completion.arrived {
                    self.check(completion.id);
                    self.again()?;
                    let bytes = u64::from(completion.bytes);
                    lane.tally.moved(1, bytes.saturating_sub(self.slots.header as u64));
                }
            }
        }
        Ok(())
    }

    /// Whether the sender needs this end no more. Where nothing moves unless this program calls, it
    /// goes on until the sender's last word: what is still under way would hold that up. So it does
    /// where messages are counted, and then until no more come.
    fn is_left(&self, stopped: &mut Option<Instant>) -> bool {
        let since = stopped.get_or_insert_with(Instant::now);
        let is_heard = || self.link.talk.is_heard().unwrap_or(true);
        match self.is_counted {
            _ if since.elapsed() > LAST_WITHIN => true,
            true => is_heard() && self.latest.elapsed() > LATE_WITHIN,
            false => !self.link.pair.needs_calls() || is_heard(),
        }
    }

    /// How many were sent and came, where the sender said how many it sent and no more come.
    fn unacknowledged(&mut self) -> Result<Option<Unacknowledged>, LoadError> {
        let is_over = self.latest.elapsed() > LATE_WITHIN;
        if !self.is_counted || !is_over || !self.link.talk.is_heard().unwrap_or(false) {
            return Ok(None);
        }
        let said = self.link.talk.hear(Word::Done)?;
        let sent = said.try_into().ok().map(u64::from_be_bytes);
        Ok(sent.map(|sent| Unacknowledged { sent, received: self.arrived }))
    }

    /// Compares a message with what was sent, where that was asked for.
    fn check(&mut self, buffer: u64) {
        if let Some(checker) = &mut self.checker {
            let at = match self.verb {
                Verb::Send => self.slots.place(buffer),
                _ => self.arrived.wrapping_mul(self.bytes.len() as u64) % self.span,
            };
            self.link.pair.memory().copy(at as usize, &mut self.bytes);
            checker.see(&self.bytes);
        }
        self.arrived += 1;
    }

    /// Posts the next buffer, and tells the sender every so often.
    fn again(&mut self) -> Result<(), LoadError> {
        let at = self.link.base + self.slots.place(self.next);
        self.link.pair.post_receive(self.next, at, self.slots.length as u32)?;
        self.next += 1;
        if self.credit_every.is_some_and(|every| self.next.is_multiple_of(every)) {
            let credit = credit(&self.link);
            self.link.pair.post(&[credit])?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Sizes;

    #[test]
    fn every_other_message_has_the_other_size() {
        let sizes = Sizes { message: 1000, alternate: Some(64) };
        assert_eq!([0, 1, 2, 3].map(|number| sizes.of(number)), [1000, 64, 1000, 64]);
        for (first, count, sum) in
            [(0, 1, 1000), (1, 1, 64), (0, 2, 1064), (1, 3, 1128), (4, 3, 2064), (7, 0, 0)]
        {
            assert_eq!(sizes.sum(first, count), sum, "{count} from {first} on");
        }
        let alike = Sizes { message: 1000, alternate: None };
        assert_eq!((alike.of(3), alike.sum(3, 4)), (1000, 4000));
    }
}
