//! The program that gives a trial's packets to AF_XDP sockets, each to that of the queue by which
//! it came; what is not the trial's goes on as if it were not there.

use super::counter::{self, Ports};
use super::sys::{Program, SocketMap, Table, helper, verdict};
use super::{Assembler, Insn, NotAssembled, Operation, Register, Width};
use crate::LoadError;
use Register::{R1, R2, R3, R6};

/// Where the kernel tells the queue (`struct xdp_md`, `rx_queue_index`).
const QUEUE: i16 = 16;

/// The program with the sockets that it gives to.
pub struct Redirector {
    program: Program,
    sockets: SocketMap,
    _ports: Table,
}

impl Redirector {
    /// Has the kernel load the program for a trial's packets, of so many queues.
    pub fn load(mark: [u8; 4], threads: &[Ports], queues: u32) -> Result<Self, LoadError> {
        let (ports, _) = counter::ports(threads)?;
        let sockets = SocketMap::make(queues)?;
        let code = code(mark, ports.number(), sockets.number());
        let code = code.map_err(|why| LoadError::Order(why.to_string()))?;
        let program = Program::load(&code, "narrows_give")?;
        Ok(Self { program, sockets, _ports: ports })
    }

    /// The program, to be attached to a link.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The sockets, by queue.
    pub fn sockets(&self) -> &SocketMap {
        &self.sockets
    }
}

/// The program, for a table of ports and a map of sockets of these numbers.
fn code(mark: [u8; 4], ports: i32, sockets: i32) -> Result<Vec<Insn>, NotAssembled> {
    let mut asm = Assembler::default();
    let pass = asm.label();
    asm.with(Operation::Move, R6, R1);
    counter::find_thread(&mut asm, mark, ports, pass);
    counter::find_source(&mut asm, pass);
    asm.load_map(R1, sockets);
    asm.load(Width::Word, R2, R6, QUEUE);
    asm.with_value(Operation::Move, R3, verdict::PASS);
    asm.call(helper::REDIRECT_MAP);
    asm.exit();
    asm.place(pass);
    asm.exit_with(verdict::PASS);
    asm.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packets::bpf::sys::may_load;
    use crate::packets::frame::{self, Ends, at};
    use crate::packets::stamp::Stamp;

    const MARK: [u8; 4] = [1, 2, 3, 0xff];
    const THREADS: [Ports; 1] = [Ports { own: 5000, first: 40_000, spread: 2 }];

    fn packet(source: u16, target: u16) -> Vec<u8> {
        let ends = Ends {
            from_mac: frame::Mac([2; 6]),
            to_mac: frame::Mac([4; 6]),
            from: std::net::SocketAddrV4::new([198, 51, 100, 2].into(), source),
            to: std::net::SocketAddrV4::new([198, 51, 100, 1].into(), target),
        };
        let mut packet = frame::build(&ends, 64);
        Stamp { number: 0, is_in_window: true, sent_ns: 0 }.write(MARK, &mut packet[at::PAYLOAD..]);
        packet
    }

    /// Without a socket at the queue the trial's own pass too, so that none is lost unsaid; with
    /// one they are seen to be redirected where they really come (`receivers::af_xdp`).
    #[test]
    fn without_a_socket_all_packets_pass() {
        if !may_load() {
            return;
        }
        let redirector = Redirector::load(MARK, &THREADS, 4).expect("a program");
        for packet in [packet(40_000, 5000), packet(40_002, 5000), packet(40_000, 5001)] {
            let (verdict, after) = redirector.program().run_once(&packet).expect("a run");
            assert_eq!(verdict as i32, verdict::PASS);
            assert_eq!(after, packet);
        }
    }
}
