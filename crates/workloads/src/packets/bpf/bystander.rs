//! The program that counts UDP packets of another program's making, by who sent them and to which
//! port, and drops them; all others go on as if it were not there.

use super::sys::{Array, Program, verdict};
use super::{Assembler, Condition, Insn, NotAssembled, Operation, Register, Width};
use crate::LoadError;
use crate::packets::frame::{Mac, at};
use Register::{R1, R2, R6, R7, R8};

/// Bytes of headers that are looked at: Ethernet, IPv6 and the ports of UDP. No frame on a wire is
/// shorter.
const LOOKED_AT: i32 = 58;
/// Where IPv6 says what it carries, and UDP's destination port is behind it.
mod at_6 {
    pub const PROTOCOL: i16 = 20;
    pub const TARGET: i16 = 56;
}
/// Ethertypes as a little-endian machine reads them.
const IPV4: i32 = 0x0008;
const IPV6: i32 = 0xdd86;
const UDP: i32 = 17;

/// Whose packets are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Whose {
    /// MAC address that they are sent from.
    pub from: Mac,
    /// UDP port that they go to.
    pub port: u16,
}

/// The program with what it counts.
pub struct Bystander {
    program: Program,
    counted: Array,
}

impl Bystander {
    /// Has the kernel load the program.
    pub fn load(whose: Whose) -> Result<Self, LoadError> {
        let counted = Array::make(1, 1)?;
        let code = code(whose, counted.number());
        let code = code.map_err(|why| LoadError::Order(why.to_string()))?;
        let program = Program::load(&code, "narrows_bystand")?;
        Ok(Self { program, counted })
    }

    /// The program, to be attached to a link.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Packets so far.
    pub fn packets(&self) -> u64 {
        self.counted.get(0)
    }
}

/// The program, for an array of this number.
fn code(whose: Whose, counted: i32) -> Result<Vec<Insn>, NotAssembled> {
    let mut asm = Assembler::default();
    let (pass, six, ours) = (asm.label(), asm.label(), asm.label());
    let [a, b, c, d, e, f] = whose.from.0;
    let [high, low] = whose.port.to_be_bytes();
    // R7 the frame.
    asm.load(Width::Word, R7, R1, 0);
    asm.load(Width::Word, R8, R1, 4);
    asm.with(Operation::Move, R2, R7);
    asm.with_value(Operation::Add, R2, LOOKED_AT);
    asm.jump_if(Condition::Above, R2, R8, pass);
    asm.load(Width::Word, R2, R7, 6);
    asm.jump_if_word(Condition::NotEqual, R2, u32::from_le_bytes([a, b, c, d]), pass);
    asm.load(Width::Half, R2, R7, 10);
    asm.jump_if_value(Condition::NotEqual, R2, u16::from_le_bytes([e, f]).into(), pass);
    asm.load(Width::Half, R2, R7, at::ETHERTYPE as i16);
    asm.jump_if_value(Condition::Equal, R2, IPV6, six);
    asm.jump_if_value(Condition::NotEqual, R2, IPV4, pass);
    asm.load(Width::Byte, R2, R7, at::IP as i16);
    asm.jump_if_value(Condition::NotEqual, R2, 0x45, pass);
    asm.load(Width::Byte, R6, R7, at::PROTOCOL as i16);
    asm.load(Width::Half, R2, R7, at::TARGET as i16);
    asm.jump(ours);
    asm.place(six);
    asm.load(Width::Byte, R6, R7, at_6::PROTOCOL);
    asm.load(Width::Half, R2, R7, at_6::TARGET);
    asm.place(ours);
    asm.jump_if_value(Condition::NotEqual, R6, UDP, pass);
    asm.jump_if_value(Condition::NotEqual, R2, u16::from_le_bytes([high, low]).into(), pass);
    asm.load_map_value(R7, counted, 0);
    asm.with_value(Operation::Move, R1, 1);
    asm.add_atomically(R7, 0, R1);
    asm.exit_with(verdict::DROP);
    asm.place(pass);
    asm.exit_with(verdict::PASS);
    asm.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packets::bpf::sys::may_load;
    use crate::packets::frame::{self, Ends};

    const FROM: Mac = Mac([2, 3, 4, 5, 6, 0xf7]);

    fn packet(from: Mac, port: u16) -> Vec<u8> {
        let at = |port| std::net::SocketAddrV4::new([198, 51, 100, 2].into(), port);
        let ends = Ends { from_mac: from, to_mac: Mac([4; 6]), from: at(9), to: at(port) };
        frame::build(&ends, 64)
    }

    /// The same over IPv6, with the least that is looked at.
    fn packet_6(protocol: u8) -> Vec<u8> {
        let mut packet = vec![0; 62];
        packet[6..12].copy_from_slice(&FROM.0);
        packet[12..15].copy_from_slice(&[0x86, 0xdd, 0x60]);
        packet[20] = protocol;
        packet[56..58].copy_from_slice(&4660_u16.to_be_bytes());
        packet
    }

    #[test]
    fn only_the_ones_own_packets_are_counted_and_dropped() {
        if !may_load() {
            return;
        }
        let counter = Bystander::load(Whose { from: FROM, port: 4660 }).expect("a program");
        let run = |packet: &[u8]| counter.program().run_once(packet).expect("a run").0 as i32;
        let changed = |at: usize, to: u8| {
            let mut packet = packet(FROM, 4660);
            packet[at] = to;
            packet
        };
        for own in [packet(FROM, 4660), packet(FROM, 4660), packet_6(17)] {
            assert_eq!(run(&own), verdict::DROP);
        }
        assert_eq!(counter.packets(), 3);
        let others = [
            packet(Mac([2, 3, 4, 5, 6, 0xf8]), 4660),
            packet(Mac([2, 3, 4, 6, 6, 0xf7]), 4660),
            packet(FROM, 4661),
            packet(FROM, 0x3412),
            changed(at::PROTOCOL, 6),
            changed(at::IP, 0x46),
            changed(at::ETHERTYPE + 1, 6),
            packet_6(58),
            packet(FROM, 4660)[..57].to_vec(),
        ];
        for (at, other) in others.iter().enumerate() {
            assert_eq!(run(other), verdict::PASS, "{at}");
        }
        assert_eq!(counter.packets(), 3, "nobody else's");
    }
}
