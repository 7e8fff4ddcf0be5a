//! An assembler of as much of eBPF's instruction set (RFC 9669) as the programs here need.

use std::fmt;

/// One instruction, as the kernel takes it (RFC 9669, section 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Insn {
    code: u8,
    /// Destination in the lower four bits, source in the upper ones: so on little-endian machines.
    registers: u8,
    offset: i16,
    immediate: i32,
}

/// The eleven registers; the last one points to the end of the stack and is read only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum Register {
    R0,
    R1,
    R2,
    R3,
    R4,
    R5,
    R6,
    R7,
    R8,
    R9,
    Stack,
}

/// How much a load or a store moves (RFC 9669, section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// One byte (`BPF_B`).
    Byte = 0x10,
    /// Two bytes (`BPF_H`).
    Half = 0x08,
    /// Four bytes (`BPF_W`).
    Word = 0x00,
    /// Eight bytes (`BPF_DW`).
    Double = 0x18,
}

/// Arithmetic on 64 bits (RFC 9669, section 4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Operation {
    Add = 0x00,
    Subtract = 0x10,
    Or = 0x40,
    And = 0x50,
    ShiftLeft = 0x60,
    ShiftRight = 0x70,
    Move = 0xb0,
}

/// When a jump is taken; all comparisons are unsigned (RFC 9669, section 4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Condition {
    Equal = 0x10,
    Above = 0x20,
    AboveOrEqual = 0x30,
    NotEqual = 0x50,
    Below = 0xa0,
}

/// A place that jumps go to, before or after it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label(usize);

/// Why a program is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotAssembled {
    /// A jump goes to a label that was never placed.
    NoPlace {
        /// Where the jump is, in instructions from the first.
        at: usize,
    },
    /// A jump goes farther than sixteen bits tell.
    TooFar {
        /// Where the jump is, in instructions from the first.
        at: usize,
    },
}

impl fmt::Display for NotAssembled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPlace { at } => write!(f, "the jump at {at} has no target"),
            Self::TooFar { at } => write!(f, "the jump at {at} goes too far"),
        }
    }
}

impl std::error::Error for NotAssembled {}

const LOAD: u8 = 0x61;
const STORE_VALUE: u8 = 0x62;
const STORE: u8 = 0x63;
const ATOMIC_ADD: u8 = 0xdb;
const LOAD_WIDE: u8 = 0x18;
const ARITHMETIC: u8 = 0x07;
const JUMP: u8 = 0x05;
const JUMP_32: u8 = 0x06;
const CALL: u8 = 0x85;
const EXIT: u8 = 0x95;
const TO_BIG_ENDIAN: u8 = 0xdc;
/// The second operand is a register.
const REGISTER: u8 = 0x08;
/// What the source field of a wide load says that its value is: a map, or a place in a map's first
/// value (RFC 9669, section 5.4).
const A_MAP: u8 = 1;
const A_MAP_VALUE: u8 = 2;

/// Puts instructions one after the other, and fills in jumps once all places are known.
#[derive(Default)]
pub struct Assembler {
    code: Vec<Insn>,
    places: Vec<Option<usize>>,
    jumps: Vec<(usize, Label)>,
}

impl Assembler {
    fn put(&mut self, code: u8, to: Register, from: u8, offset: i16, immediate: i32) {
        let registers = to as u8 | (from << 4);
        self.code.push(Insn { code, registers, offset, immediate });
    }

    /// A new label, not placed yet.
    pub fn label(&mut self) -> Label {
        self.places.push(None);
        Label(self.places.len() - 1)
    }

    /// Places a label before the next instruction.
    pub fn place(&mut self, label: Label) {
        self.places[label.0] = Some(self.code.len());
    }

    /// `to = *(from + offset)`
    pub fn load(&mut self, width: Width, to: Register, from: Register, offset: i16) {
        self.put(LOAD | width as u8, to, from as u8, offset, 0);
    }

    /// `*(to + offset) = from`
    pub fn store(&mut self, width: Width, to: Register, offset: i16, from: Register) {
        self.put(STORE | width as u8, to, from as u8, offset, 0);
    }

    /// `*(to + offset) = value`
    pub fn store_value(&mut self, width: Width, to: Register, offset: i16, value: i32) {
        self.put(STORE_VALUE | width as u8, to, 0, offset, value);
    }

    /// `*(to + offset) += from`, eight bytes at once for all CPUs.
    pub fn add_atomically(&mut self, to: Register, offset: i16, from: Register) {
        self.put(ATOMIC_ADD, to, from as u8, offset, 0);
    }

    /// `to = to OPERATION from`
    pub fn with(&mut self, operation: Operation, to: Register, from: Register) {
        self.put(ARITHMETIC | REGISTER | operation as u8, to, from as u8, 0, 0);
    }

    /// `to = to OPERATION value`
    pub fn with_value(&mut self, operation: Operation, to: Register, value: i32) {
        self.put(ARITHMETIC | operation as u8, to, 0, 0, value);
    }

    /// The lower `bits` (16, 32 or 64) of a register, in the order of the network.
    pub fn to_big_endian(&mut self, register: Register, bits: i32) {
        self.put(TO_BIG_ENDIAN, register, 0, 0, bits);
    }

    /// A value of 64 bits takes two instructions.
    fn load_wide(&mut self, to: Register, what: u8, low: i32, high: i32) {
        self.put(LOAD_WIDE, to, what, 0, low);
        self.put(0, Register::R0, 0, 0, high);
    }

    /// A map, for the helpers that take one.
    pub fn load_map(&mut self, to: Register, map: i32) {
        self.load_wide(to, A_MAP, map, 0);
    }

    /// A place in the first value of an array.
    pub fn load_map_value(&mut self, to: Register, map: i32, offset: i32) {
        self.load_wide(to, A_MAP_VALUE, map, offset);
    }

    /// Calls one of the kernel's helpers; `R1` to `R5` are its arguments and are lost, `R0` is what
    /// it returns.
    pub fn call(&mut self, helper: i32) {
        self.put(CALL, Register::R0, 0, 0, helper);
    }

    /// Jumps whatever there is.
    pub fn jump(&mut self, to: Label) {
        self.jumps.push((self.code.len(), to));
        self.put(JUMP, Register::R0, 0, 0, 0);
    }

    /// Jumps by two registers.
    pub fn jump_if(&mut self, condition: Condition, a: Register, b: Register, to: Label) {
        self.jumps.push((self.code.len(), to));
        self.put(JUMP | REGISTER | condition as u8, a, b as u8, 0, 0);
    }

    /// Jumps by a register and a value, which is extended with its sign.
    pub fn jump_if_value(&mut self, condition: Condition, a: Register, value: i32, to: Label) {
        self.jumps.push((self.code.len(), to));
        self.put(JUMP | condition as u8, a, 0, 0, value);
    }

    /// The same of a register's lower 32 bits.
    pub fn jump_if_word(&mut self, condition: Condition, a: Register, value: u32, to: Label) {
        self.jumps.push((self.code.len(), to));
        self.put(JUMP_32 | condition as u8, a, 0, 0, value as i32);
    }

    /// Ends the program with what is in `R0`.
    pub fn exit(&mut self) {
        self.put(EXIT, Register::R0, 0, 0, 0);
    }

    /// Ends the program with a value.
    pub fn exit_with(&mut self, value: i32) {
        self.with_value(Operation::Move, Register::R0, value);
        self.exit();
    }

    /// The program, its jumps filled in: each counts from the instruction after it.
    pub fn finish(mut self) -> Result<Vec<Insn>, NotAssembled> {
        for (at, label) in self.jumps {
            let place = self.places[label.0].ok_or(NotAssembled::NoPlace { at })?;
            let far = place as i64 - at as i64 - 1;
            self.code[at].offset = i16::try_from(far).map_err(|_| NotAssembled::TooFar { at })?;
        }
        Ok(self.code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Register::{R0, R1, R2, R6, R7};

    fn bytes(code: &[Insn]) -> Vec<u64> {
        let word = |insn: &Insn| {
            u64::from(insn.code)
                | u64::from(insn.registers) << 8
                | u64::from(insn.offset as u16) << 16
                | u64::from(insn.immediate as u32) << 32
        };
        code.iter().map(word).collect()
    }

    #[test]
    fn instructions_are_those_of_the_standard() {
        let mut asm = Assembler::default();
        asm.load(Width::Word, R2, R1, 4);
        asm.load(Width::Half, R2, R7, 12);
        asm.store(Width::Double, R7, 52, R0);
        asm.store_value(Width::Word, Register::Stack, -4, 7);
        asm.add_atomically(R7, 8, R1);
        asm.with(Operation::Move, R6, R1);
        asm.with_value(Operation::Add, R2, -1);
        asm.to_big_endian(R2, 16);
        asm.load_map(R1, 3);
        asm.load_map_value(R7, 4, 8);
        asm.call(5);
        asm.exit_with(2);
        // By the tables of RFC 9669: immediate, offset, registers and code from left to right.
        let wanted = [
            0x0000_0000_0004_1261,
            0x0000_0000_000c_7269,
            0x0000_0000_0034_077b,
            0x0000_0007_fffc_0a62,
            0x0000_0000_0008_17db,
            0x0000_0000_0000_16bf,
            0xffff_ffff_0000_0207,
            0x0000_0010_0000_02dc,
            0x0000_0003_0000_1118,
            0x0000_0000_0000_0000,
            0x0000_0004_0000_2718,
            0x0000_0008_0000_0000,
            0x0000_0005_0000_0085,
            0x0000_0002_0000_00b7,
            0x0000_0000_0000_0095,
        ];
        assert_eq!(bytes(&asm.finish().expect("a program")), wanted);
    }

    #[test]
    fn jumps_count_from_the_instruction_after_them() {
        let mut asm = Assembler::default();
        let (back, on) = (asm.label(), asm.label());
        asm.place(back);
        asm.jump_if_value(Condition::NotEqual, R1, 3, on);
        asm.jump_if(Condition::Above, R1, R2, back);
        asm.jump_if_word(Condition::Equal, R1, 0xffff_fffe, on);
        asm.place(on);
        asm.exit();
        let wanted = [
            0x0000_0003_0002_0155,
            0x0000_0000_fffe_212d,
            0xffff_fffe_0000_0116,
            0x0000_0000_0000_0095,
        ];
        assert_eq!(bytes(&asm.finish().expect("a program")), wanted);

        let mut lost = Assembler::default();
        let nowhere = lost.label();
        lost.jump(nowhere);
        assert_eq!(lost.finish(), Err(NotAssembled::NoPlace { at: 0 }));
    }
}
