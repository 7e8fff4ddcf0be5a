//! Programs for the kernel's own machine (eBPF, RFC 9669), assembled here and loaded by bpf(2):
//! neither a compiler nor a loader is needed to build or to run narrows.

mod asm;
pub mod bystander;
pub mod counter;
pub mod generator;
pub mod redirector;
pub mod sys;

pub use asm::{Assembler, Condition, Insn, Label, NotAssembled, Operation, Register, Width};
