//! The program that counts a trial's packets where they arrive and drops them; what is not the
//! trial's goes on as if it were not there.

use super::sys::{Array, Program, Table, helper, verdict};
use super::{Assembler, Condition, Insn, Label, NotAssembled, Operation, Register, Width};
use crate::LoadError;
use crate::harness::delays::BUCKETS;
use crate::packets::frame::at;
use crate::packets::stamp;
use Register::{R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, Stack};

/// Words of what is known of one flow.
mod word {
    /// The number after the highest that has come.
    pub const EXPECTED: usize = 0;
    /// Packets, each once.
    pub const PACKETS: usize = 1;
    /// Their bytes without the check sequence.
    pub const BYTES: usize = 2;
    /// Of the packets, those that say that they were sent in the sender's window.
    pub const IN_WINDOW: usize = 3;
    /// Of the packets, those that came after a later one.
    pub const LATE: usize = 4;
    /// Packets that came before.
    pub const DUPLICATES: usize = 5;
    /// Delays of the sender's window, by bucket.
    pub const DELAYS: usize = 8;
    /// Which numbers have come: which 64 a place is of, plus one, and a bit each.
    pub const SEEN: usize = DELAYS + super::BUCKETS;
    pub const COUNT: usize = SEEN + 2 * super::PLACES;
}

/// Places of 64 numbers each that are remembered: as many numbers as over sockets.
const PLACES: usize = 64;
/// As many as UDP has ports.
const PORTS: u32 = 65_536;
/// Spare places on the stack, in bytes from its end.
const KEY: i16 = -4;
const STATE_KEY: i16 = -8;
const SENT: i16 = -16;
const BUCKET: i16 = -24;

/// What is known of one flow so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// The number after the highest that has come.
    pub expected: u64,
    /// Packets, each once.
    pub packets: u64,
    /// Their bytes without the check sequence.
    pub bytes: u64,
    /// Of the packets, those that were sent in the sender's window.
    pub in_window: u64,
    /// Of the packets, those that came after a later one.
    pub late: u64,
    /// Packets that came before.
    pub duplicates: u64,
}

/// A thread's flows: the ports by which they are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ports {
    /// UDP port that the packets of this end go to.
    pub own: u16,
    /// The first of the other end's.
    pub first: u16,
    /// How many of those there are.
    pub spread: u16,
}

/// The program with what it counts.
pub struct Counter {
    program: Program,
    flows: Array,
    _ports: Table,
    spread: usize,
}

impl Counter {
    /// Has the kernel load the program for a trial's packets; each thread has as many flows.
    pub fn load(mark: [u8; 4], threads: &[Ports]) -> Result<Self, LoadError> {
        let (ports, spread) = ports(threads)?;
        let flows = Array::make(word::COUNT, spread * threads.len().max(1))?;
        let code = code(mark, ports.number(), flows.number());
        let code = code.map_err(|why| LoadError::Order(why.to_string()))?;
        let program = Program::load(&code, "narrows_count")?;
        Ok(Self { program, flows, _ports: ports, spread })
    }

    /// The program that counts, to be attached to a link.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// What has come of a thread's flows.
    pub fn counted(&self, thread: usize) -> Counted {
        let add = |all: Counted, flow: usize| {
            let get = |word: usize| self.flows.get(flow * word::COUNT + word);
            Counted {
                expected: all.expected + get(word::EXPECTED),
                packets: all.packets + get(word::PACKETS),
                bytes: all.bytes + get(word::BYTES),
                in_window: all.in_window + get(word::IN_WINDOW),
                late: all.late + get(word::LATE),
                duplicates: all.duplicates + get(word::DUPLICATES),
            }
        };
        self.flows_of(thread).fold(Counted::default(), add)
    }

    /// Delays of a thread's packets, by bucket of [`crate::harness::delays`].
    pub fn delays(&self, thread: usize) -> Vec<u64> {
        (0..BUCKETS)
            .map(|bucket| {
                self.flows_of(thread)
                    .map(|flow| self.flows.get(flow * word::COUNT + word::DELAYS + bucket))
                    .sum()
            })
            .collect()
    }

    fn flows_of(&self, thread: usize) -> std::ops::Range<usize> {
        thread * self.spread..(thread + 1) * self.spread
    }
}

/// What the table of ports has of a thread: its first flow, the other end's first port, and how
/// many flows it has, which is never 0.
fn entry(ports: &Ports, first_flow: usize) -> u64 {
    first_flow as u64 | u64::from(ports.first) << 32 | u64::from(ports.spread) << 48
}

/// A program that lets all packets go on. A veth pair gives frames that were sent raw to an end
/// with a program alone.
pub fn passing() -> Result<Program, LoadError> {
    let mut asm = Assembler::default();
    asm.exit_with(verdict::PASS);
    let code = asm.finish().map_err(|why| LoadError::Order(why.to_string()))?;
    Program::load(&code, "narrows_pass")
}

/// The program, for a table of ports and an array of flows of these numbers.
fn code(mark: [u8; 4], ports: i32, flows: i32) -> Result<Vec<Insn>, NotAssembled> {
    let mut asm = Assembler::default();
    let (pass, done) = (asm.label(), asm.label());
    find_thread(&mut asm, mark, ports, pass);
    find_flow(&mut asm, flows, pass);
    // R6 the number, R7 what is known of the flow, R8 the frame's bytes, R9 the window's bit.
    let (order, duplicate) = (asm.label(), asm.label());
    remember(&mut asm, order, duplicate);
    asm.place(order);
    let (newer, counted) = (asm.label(), asm.label());
    asm.with_value(Operation::Move, R1, 1);
    count(&mut asm, word::PACKETS, R1);
    count(&mut asm, word::BYTES, R8);
    asm.load(Width::Double, R2, R7, offset(word::EXPECTED));
    asm.jump_if(Condition::AboveOrEqual, R6, R2, newer);
    count(&mut asm, word::LATE, R1);
    asm.jump(counted);
    asm.place(newer);
    asm.with_value(Operation::Add, R6, 1);
    asm.store(Width::Double, R7, offset(word::EXPECTED), R6);
    asm.place(counted);
    asm.jump_if_value(Condition::Equal, R9, 0, done);
    count(&mut asm, word::IN_WINDOW, R1);
    delay(&mut asm, done);
    asm.jump(done);
    asm.place(duplicate);
    asm.with_value(Operation::Move, R1, 1);
    count(&mut asm, word::DUPLICATES, R1);
    asm.place(done);
    asm.exit_with(verdict::DROP);
    asm.place(pass);
    asm.exit_with(verdict::PASS);
    asm.finish()
}

fn offset(word: usize) -> i16 {
    (8 * word) as i16
}

/// Adds a register to one of the flow's words.
fn count(asm: &mut Assembler, word: usize, by: Register) {
    asm.add_atomically(R7, offset(word), by);
}

/// A table of the ports that a trial's packets go to, each thread with as many flows as the first.
pub(super) fn ports(threads: &[Ports]) -> Result<(Table, usize), LoadError> {
    let ports = Table::make(PORTS)?;
    let spread = threads.first().map_or(1, |ports| usize::from(ports.spread.max(1)));
    for (at, thread) in threads.iter().enumerate() {
        ports.set(thread.own.into(), entry(thread, at * spread))?;
    }
    Ok((ports, spread))
}

/// Leaves R7 at the frame, R8 its bytes and R9 the thread's entry; others' packets pass. The bytes
/// are those that IP tells: a difference of pointers would need CAP_PERFMON, with which programs
/// may read all of the kernel's memory, and which an agent's worker does not have.
pub(super) fn find_thread(asm: &mut Assembler, mark: [u8; 4], ports: i32, pass: Label) {
    asm.load(Width::Word, R7, R1, 0);
    asm.load(Width::Word, R8, R1, 4);
    asm.with(Operation::Move, R2, R7);
    asm.with_value(Operation::Add, R2, (at::PAYLOAD + stamp::BYTES) as i32);
    asm.jump_if(Condition::Above, R2, R8, pass);
    asm.load(Width::Half, R2, R7, at::ETHERTYPE as i16);
    asm.jump_if_value(Condition::NotEqual, R2, 0x0008, pass);
    asm.load(Width::Byte, R2, R7, at::IP as i16);
    asm.jump_if_value(Condition::NotEqual, R2, 0x45, pass);
    asm.load(Width::Byte, R2, R7, at::PROTOCOL as i16);
    asm.jump_if_value(Condition::NotEqual, R2, 17, pass);
    asm.load(Width::Half, R8, R7, at::IP_LENGTH as i16);
    asm.to_big_endian(R8, 16);
    asm.with_value(Operation::Add, R8, at::IP as i32);
    asm.load(Width::Word, R2, R7, at::PAYLOAD as i16);
    asm.jump_if_word(Condition::NotEqual, R2, u32::from_le_bytes(mark), pass);
    asm.load(Width::Half, R2, R7, at::TARGET as i16);
    asm.to_big_endian(R2, 16);
    asm.store(Width::Word, Stack, KEY, R2);
    asm.load_map(R1, ports);
    asm.with(Operation::Move, R2, Stack);
    asm.with_value(Operation::Add, R2, KEY.into());
    asm.call(helper::MAP_LOOKUP);
    asm.jump_if_value(Condition::Equal, R0, 0, pass);
    asm.load(Width::Double, R9, R0, 0);
    asm.jump_if_value(Condition::Equal, R9, 0, pass);
}

/// Leaves R3 which of the thread's flows the frame at R7 is of, by its source port; packets of
/// ports that are not the trial's pass.
pub(super) fn find_source(asm: &mut Assembler, pass: Label) {
    asm.load(Width::Half, R3, R7, at::SOURCE as i16);
    asm.to_big_endian(R3, 16);
    asm.with(Operation::Move, R4, R9);
    asm.with_value(Operation::ShiftRight, R4, 32);
    asm.with(Operation::Subtract, R3, R4);
    asm.with_value(Operation::And, R3, 0xffff);
    asm.with(Operation::Move, R5, R9);
    asm.with_value(Operation::ShiftRight, R5, 48);
    asm.jump_if(Condition::AboveOrEqual, R3, R5, pass);
}

/// Leaves R6 the number, R7 what is known of the flow and R9 the window's bit; packets of ports
/// that are not the trial's pass.
fn find_flow(asm: &mut Assembler, flows: i32, pass: Label) {
    find_source(asm, pass);
    asm.with(Operation::Add, R3, R9);
    asm.store(Width::Word, Stack, STATE_KEY, R3);
    asm.load(Width::Word, R6, R7, (at::PAYLOAD + 4) as i16);
    asm.load(Width::Half, R1, R7, (at::PAYLOAD + 8) as i16);
    asm.with(Operation::Move, R9, R1);
    asm.with_value(Operation::And, R9, 0x8000);
    asm.with_value(Operation::And, R1, 0x7fff);
    asm.with_value(Operation::ShiftLeft, R1, 32);
    asm.with(Operation::Or, R6, R1);
    asm.load(Width::Double, R1, R7, (at::PAYLOAD + 10) as i16);
    asm.store(Width::Double, Stack, SENT, R1);
    asm.load_map(R1, flows);
    asm.with(Operation::Move, R2, Stack);
    asm.with_value(Operation::Add, R2, STATE_KEY.into());
    asm.call(helper::MAP_LOOKUP);
    asm.jump_if_value(Condition::Equal, R0, 0, pass);
    asm.with(Operation::Move, R7, R0);
}

/// Notes the number R6; goes on to `duplicate` if it had come before. One too old to say is new.
fn remember(asm: &mut Assembler, order: Label, duplicate: Label) {
    let same = asm.label();
    asm.with(Operation::Move, R1, R6);
    asm.with_value(Operation::ShiftRight, R1, 6);
    asm.with(Operation::Move, R2, R1);
    asm.with_value(Operation::And, R2, PLACES as i32 - 1);
    asm.with_value(Operation::ShiftLeft, R2, 4);
    asm.with(Operation::Move, R3, R7);
    asm.with(Operation::Add, R3, R2);
    asm.with_value(Operation::Add, R1, 1);
    asm.with(Operation::Move, R4, R6);
    asm.with_value(Operation::And, R4, 63);
    asm.with_value(Operation::Move, R5, 1);
    asm.with(Operation::ShiftLeft, R5, R4);
    asm.load(Width::Double, R4, R3, offset(word::SEEN));
    asm.jump_if(Condition::Equal, R4, R1, same);
    asm.jump_if(Condition::Above, R4, R1, order);
    asm.store(Width::Double, R3, offset(word::SEEN), R1);
    asm.store(Width::Double, R3, offset(word::SEEN + 1), R5);
    asm.jump(order);
    asm.place(same);
    asm.load(Width::Double, R1, R3, offset(word::SEEN + 1));
    asm.with(Operation::Move, R2, R1);
    asm.with(Operation::And, R2, R5);
    asm.jump_if_value(Condition::NotEqual, R2, 0, duplicate);
    asm.with(Operation::Or, R1, R5);
    asm.store(Width::Double, R3, offset(word::SEEN + 1), R1);
}

/// Counts the time since the packet was sent in its bucket; one from the future in none.
fn delay(asm: &mut Assembler, done: Label) {
    asm.call(helper::KTIME);
    asm.load(Width::Double, R1, Stack, SENT);
    asm.jump_if(Condition::Above, R1, R0, done);
    asm.with(Operation::Subtract, R0, R1);
    let small = asm.label();
    asm.with(Operation::Move, R2, R0);
    asm.jump_if_value(Condition::Below, R0, 8, small);
    // R1 the octave: bits above the lowest.
    asm.with_value(Operation::Move, R1, 0);
    asm.with(Operation::Move, R3, R0);
    for bits in [32, 16, 8, 4, 2, 1] {
        let shorter = asm.label();
        asm.with(Operation::Move, R4, R3);
        asm.with_value(Operation::ShiftRight, R4, bits);
        asm.jump_if_value(Condition::Equal, R4, 0, shorter);
        asm.with(Operation::Move, R3, R4);
        asm.with_value(Operation::Add, R1, bits);
        asm.place(shorter);
    }
    asm.with_value(Operation::Subtract, R1, 3);
    asm.with(Operation::ShiftRight, R2, R1);
    asm.with_value(Operation::And, R2, 7);
    asm.with_value(Operation::Add, R1, 1);
    asm.with_value(Operation::ShiftLeft, R1, 3);
    asm.with(Operation::Add, R2, R1);
    asm.place(small);
    // By half of a place on the stack, so that the verifier takes it for any number: on paths that
    // no packet takes it would know it, and without CAP_PERFMON what is added to a pointer must be
    // as unknown by every path.
    asm.with_value(Operation::ShiftLeft, R2, 32);
    asm.store(Width::Double, Stack, BUCKET, R2);
    asm.load(Width::Word, R2, Stack, BUCKET + 4);
    asm.with_value(Operation::And, R2, BUCKETS as i32 - 1);
    asm.with_value(Operation::ShiftLeft, R2, 3);
    asm.with(Operation::Add, R2, R7);
    asm.with_value(Operation::Move, R1, 1);
    asm.add_atomically(R2, offset(word::DELAYS), R1);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packets::bpf::sys::may_load;
    use crate::packets::frame::{self, Ends};
    use crate::packets::stamp::{Stamp, now_ns};

    const MARK: [u8; 4] = [1, 2, 3, 0xff];
    const THREADS: [Ports; 2] = [
        Ports { own: 5000, first: 40_000, spread: 2 },
        Ports { own: 5001, first: 65_535, spread: 2 },
    ];

    fn packet(source: u16, target: u16, stamp: Stamp, size: usize) -> Vec<u8> {
        let ends = Ends {
            from_mac: frame::Mac([2; 6]),
            to_mac: frame::Mac([4; 6]),
            from: std::net::SocketAddrV4::new([198, 51, 100, 2].into(), source),
            to: std::net::SocketAddrV4::new([198, 51, 100, 1].into(), target),
        };
        let mut packet = frame::build(&ends, size);
        stamp.write(MARK, &mut packet[at::PAYLOAD..]);
        packet
    }

    fn stamp(number: u64) -> Stamp {
        Stamp { number, is_in_window: true, sent_ns: now_ns() }
    }

    #[test]
    fn late_doubled_and_foreign_packets_are_told_apart() {
        if !may_load() {
            return;
        }
        let counter = Counter::load(MARK, &THREADS).expect("a program");
        let run = |packet: &[u8]| counter.program().run_once(packet).expect("a run").0 as i32;
        for number in [0, 1, 3, 2, 2, 70, 70, 69] {
            let verdict = run(&packet(40_000, 5000, stamp(number), 64));
            assert_eq!(verdict, verdict::DROP, "{number}");
        }
        // The other flow of the thread has numbers of its own; before the window.
        let before = Stamp { is_in_window: false, ..stamp(0) };
        assert_eq!(run(&packet(40_001, 5000, before, 128)), verdict::DROP);
        let counted = counter.counted(0);
        let wanted = Counted {
            expected: 71 + 1,
            packets: 6 + 1,
            bytes: 6 * 60 + 124,
            in_window: 6,
            late: 2,
            duplicates: 2,
        };
        assert_eq!(counted, wanted);
        assert_eq!(counter.delays(0).iter().sum::<u64>(), 6, "those of the window");
        assert_eq!(counter.counted(1), Counted::default());
        // A port beyond the last is the first: the second flow of the second thread.
        assert_eq!(run(&packet(0, 5001, stamp(1 << 40), 64)), verdict::DROP);
        assert_eq!(counter.counted(1).expected, (1 << 40) + 1);
    }

    #[test]
    fn what_is_not_the_trial_s_passes() {
        if !may_load() {
            return;
        }
        let counter = Counter::load(MARK, &THREADS).expect("a program");
        let run = |packet: &[u8]| counter.program().run_once(packet).expect("a run").0 as i32;
        let own = packet(40_000, 5000, stamp(0), 64);
        let changed = |at: usize, to: u8| {
            let mut other = own.clone();
            other[at] = to;
            other
        };
        let foreign = [
            packet(40_002, 5000, stamp(0), 64),
            packet(40_000, 5002, stamp(0), 64),
            changed(at::ETHERTYPE, 0x86),
            changed(at::IP, 0x46),
            changed(at::PROTOCOL, 6),
            changed(at::PAYLOAD + 3, 0xfe),
            own[..59].to_vec(),
        ];
        for (index, packet) in foreign.iter().enumerate() {
            assert_eq!(run(packet), verdict::PASS, "{index}");
        }
        assert_eq!(counter.counted(0), Counted::default());
        assert_eq!(run(&own), verdict::DROP);
    }

    #[test]
    fn a_delay_is_in_its_bucket() {
        if !may_load() {
            return;
        }
        let counter = Counter::load(MARK, &THREADS).expect("a program");
        // A minute, which no machine takes for the call itself, is in a bucket or one beside it.
        let minute = 60_000_000_000;
        let sent_ns = now_ns().saturating_sub(minute);
        let future = now_ns() + minute;
        for (number, sent_ns) in [(0, sent_ns), (1, future)] {
            let late = Stamp { number, is_in_window: true, sent_ns };
            counter.program().run_once(&packet(40_000, 5000, late, 64)).expect("a run");
        }
        let delays = counter.delays(0);
        let at = crate::harness::delays::bucket(now_ns() - sent_ns);
        assert_eq!(delays[at - 1..=at].iter().sum::<u64>(), 1);
        assert_eq!(delays.iter().sum::<u64>(), 1, "none from the future");
    }
}
