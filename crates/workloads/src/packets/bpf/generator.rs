//! The program that stamps frames and sends them: run on one frame again and again, it decides of
//! each copy whether it is due, numbers it, and hands it to an interface.

use super::sys::{Array, Program, helper, verdict};
use super::{Assembler, Condition, Insn, NotAssembled, Operation, Register, Width};
use crate::LoadError;
use crate::packets::frame::at;
use crate::packets::over::CATCH_UP;
use Register::{R0, R1, R2, R3, R4, R6, R7, R8};

/// Words of the state that the program and its thread share.
mod word {
    /// Anything but 0: frames are dropped, so that a run ends soon.
    pub const STOP: usize = 0;
    /// The highest bit of the number's upper half while the window is open.
    pub const MARK: usize = 1;
    /// Nanoseconds between two frames; both parts 0: as fast as it goes.
    pub const GAP: usize = 2;
    /// What is left of the gap, in 2^-32 of a nanosecond.
    pub const GAP_REST: usize = 3;
    /// When the next frame is due.
    pub const DUE: usize = 4;
    /// What is left of that, in 2^-32 of a nanosecond.
    pub const DUE_REST: usize = 5;
    /// Frames so far.
    pub const SENT: usize = 6;
    /// Of those, in the window.
    pub const SENT_IN_WINDOW: usize = 7;
    pub const COUNT: usize = 8;
}

/// [`CATCH_UP`], as an instruction has it.
const CATCH_UP_NS: i32 = CATCH_UP.as_nanos() as i32;

/// What [`word::MARK`] holds while the window is open.
const MARK: u64 = 1 << 15;

/// What the program is made for.
#[derive(Clone, Copy, Debug)]
pub struct Generator {
    /// Index of the interface that frames leave from.
    pub interface: u32,
    /// The first source port.
    pub source: u16,
    /// Source ports that frames go through in turn, a power of two: so many flows.
    pub spread: u16,
}

/// The shared state.
pub struct State(Array);

impl State {
    /// Makes it; `gap_ns` is between two frames, 0 as fast as it goes.
    pub fn make(gap_ns: f64) -> Result<Self, LoadError> {
        let array = Array::make(word::COUNT, 1)?;
        array.set(word::GAP, gap_ns as u64);
        array.set(word::GAP_REST, (gap_ns.fract() * 4_294_967_296.0) as u64);
        Ok(Self(array))
    }

    /// Begins the schedule.
    pub fn begin(&self, now_ns: u64) {
        self.0.set(word::DUE, now_ns);
    }

    /// Whether frames are from now on of the window.
    pub fn mark(&self, is_in_window: bool) {
        self.0.set(word::MARK, if is_in_window { MARK } else { 0 });
    }

    /// Has the program drop what is left.
    pub fn stop(&self) {
        self.0.set(word::STOP, 1);
    }

    /// Frames handed to the interface so far.
    pub fn sent(&self) -> u64 {
        self.0.get(word::SENT)
    }

    /// Of those, in the window.
    pub fn sent_in_window(&self) -> u64 {
        self.0.get(word::SENT_IN_WINDOW)
    }
}

impl Generator {
    /// Has the kernel load the program for a state.
    pub fn load(&self, state: &State) -> Result<Program, LoadError> {
        let code = self.code(state.0.number());
        let code = code.map_err(|why| LoadError::Order(why.to_string()))?;
        Program::load(&code, "narrows_send")
    }

    /// The program, for an array of this number.
    fn code(&self, state: i32) -> Result<Vec<Insn>, NotAssembled> {
        let mut asm = Assembler::default();
        let (drop, go, kept) = (asm.label(), asm.label(), asm.label());
        // R6 the frame, R7 the state.
        asm.load(Width::Word, R6, R1, 0);
        asm.load(Width::Word, R3, R1, 4);
        asm.with(Operation::Move, R2, R6);
        asm.with_value(Operation::Add, R2, (at::PAYLOAD + crate::packets::stamp::BYTES) as i32);
        asm.jump_if(Condition::Above, R2, R3, drop);
        asm.load_map_value(R7, state, 0);
        asm.load(Width::Double, R1, R7, offset(word::STOP));
        asm.jump_if_value(Condition::NotEqual, R1, 0, drop);
        asm.call(helper::KTIME);
        // R0 now. Without a gap each is due.
        asm.load(Width::Double, R1, R7, offset(word::GAP));
        asm.load(Width::Double, R3, R7, offset(word::GAP_REST));
        asm.with(Operation::Move, R2, R1);
        asm.with(Operation::Or, R2, R3);
        asm.jump_if_value(Condition::Equal, R2, 0, go);
        asm.load(Width::Double, R2, R7, offset(word::DUE));
        asm.jump_if(Condition::Above, R2, R0, drop);
        asm.with(Operation::Move, R4, R2);
        asm.with_value(Operation::Add, R4, CATCH_UP_NS);
        asm.jump_if(Condition::AboveOrEqual, R4, R0, kept);
        asm.with(Operation::Move, R2, R0);
        asm.with_value(Operation::Subtract, R2, CATCH_UP_NS);
        asm.place(kept);
        asm.load(Width::Double, R4, R7, offset(word::DUE_REST));
        asm.with(Operation::Add, R3, R4);
        asm.with(Operation::Add, R2, R1);
        asm.with(Operation::Move, R4, R3);
        asm.with_value(Operation::ShiftRight, R4, 32);
        asm.with(Operation::Add, R2, R4);
        asm.with_value(Operation::ShiftLeft, R3, 32);
        asm.with_value(Operation::ShiftRight, R3, 32);
        asm.store(Width::Double, R7, offset(word::DUE), R2);
        asm.store(Width::Double, R7, offset(word::DUE_REST), R3);
        asm.place(go);
        asm.store(Width::Double, R6, (at::PAYLOAD + 10) as i16, R0);
        self.number(&mut asm);
        asm.with_value(Operation::Move, R1, self.interface as i32);
        asm.with_value(Operation::Move, R2, 0);
        asm.call(helper::REDIRECT);
        asm.exit();
        asm.place(drop);
        asm.exit_with(verdict::DROP);
        asm.finish()
    }

    /// Source port and number of the next frame; counts it.
    fn number(&self, asm: &mut Assembler) {
        asm.load(Width::Double, R1, R7, offset(word::SENT));
        asm.with(Operation::Move, R2, R1);
        asm.with_value(Operation::Add, R2, 1);
        asm.store(Width::Double, R7, offset(word::SENT), R2);
        asm.with(Operation::Move, R2, R1);
        asm.with_value(Operation::And, R2, i32::from(self.spread) - 1);
        asm.with_value(Operation::Add, R2, i32::from(self.source));
        asm.to_big_endian(R2, 16);
        asm.store(Width::Half, R6, at::SOURCE as i16, R2);
        asm.with_value(Operation::ShiftRight, R1, self.spread.trailing_zeros() as i32);
        asm.store(Width::Word, R6, (at::PAYLOAD + 4) as i16, R1);
        asm.with_value(Operation::ShiftRight, R1, 32);
        asm.load(Width::Double, R8, R7, offset(word::MARK));
        asm.with(Operation::Or, R1, R8);
        asm.store(Width::Half, R6, (at::PAYLOAD + 8) as i16, R1);
        asm.load(Width::Double, R2, R7, offset(word::SENT_IN_WINDOW));
        asm.with_value(Operation::ShiftRight, R8, 15);
        asm.with(Operation::Add, R2, R8);
        asm.store(Width::Double, R7, offset(word::SENT_IN_WINDOW), R2);
    }
}

fn offset(word: usize) -> i16 {
    (8 * word) as i16
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packets::bpf::sys::may_load;
    use crate::packets::stamp::{Stamp, now_ns};

    const REDIRECT: u32 = 4;
    const MARKED: [u8; 4] = [9, 8, 7, 6];

    fn frame() -> Vec<u8> {
        let mut frame = vec![0; 60];
        frame[at::PAYLOAD..at::PAYLOAD + 4].copy_from_slice(&MARKED);
        frame
    }

    #[test]
    fn frames_are_numbered_flow_by_flow() {
        if !may_load() {
            return;
        }
        let state = State::make(0.0).expect("a state");
        let generator = Generator { interface: 1, source: 65_535, spread: 2 };
        let program = generator.load(&state).expect("a program");
        let mut seen = Vec::new();
        for run in 0..6 {
            state.mark(run >= 4);
            let (verdict, after) = program.run_once(&frame()).expect("a run");
            assert_eq!(verdict, REDIRECT);
            let port = u16::from_be_bytes([after[at::SOURCE], after[at::SOURCE + 1]]);
            let stamp = Stamp::read(MARKED, &after[at::PAYLOAD..]).expect("a stamp");
            assert!(stamp.sent_ns > 0);
            seen.push((port, stamp.number, stamp.is_in_window));
        }
        // The second port is the one after the last: 0.
        let wanted = [
            (65_535, 0, false),
            (0, 0, false),
            (65_535, 1, false),
            (0, 1, false),
            (65_535, 2, true),
            (0, 2, true),
        ];
        assert_eq!(seen, wanted);
        assert_eq!((state.sent(), state.sent_in_window()), (6, 2));
        state.stop();
        let (verdict, _) = program.run_once(&frame()).expect("a run");
        assert_eq!((verdict as i32, state.sent()), (verdict::DROP, 6));
    }

    #[test]
    fn a_frame_that_is_not_due_is_dropped() {
        if !may_load() {
            return;
        }
        // The first is due at once, the second in seventeen minutes.
        let state = State::make(1e12 + 0.25).expect("a state");
        let program = Generator { interface: 1, source: 1, spread: 1 }.load(&state);
        let program = program.expect("a program");
        let began = now_ns();
        state.begin(began);
        let verdicts = [0; 3].map(|_| program.run_once(&frame()).expect("a run").0);
        assert_eq!(verdicts.map(|verdict| verdict == REDIRECT), [true, false, false]);
        let later = state.0.get(word::DUE) - began;
        assert!((1_000_000_000_000..1_000_001_000_000_000).contains(&later), "{later}");
        assert_eq!((state.sent(), state.0.get(word::DUE_REST)), (1, 1 << 30));
    }

    #[test]
    fn a_schedule_that_was_held_up_is_made_up_for_by_five_milliseconds_and_no_more() {
        if !may_load() {
            return;
        }
        // A frame each quarter of a millisecond, and a second lost before the first.
        let state = State::make(250_000.0).expect("a state");
        let program = Generator { interface: 1, source: 1, spread: 1 }.load(&state);
        let program = program.expect("a program");
        let began = now_ns();
        state.begin(began - 1_000_000_000);
        let came = |_: &i32| program.run_once(&frame()).expect("a run").0 == REDIRECT;
        let sent = (0..200).filter(came).count() as u64;
        let while_it_ran = (now_ns() - began) / 250_000;
        assert!((20..=21 + while_it_ran).contains(&sent), "{sent} with {while_it_ran} due");
    }
}
