//! Names of the kernel's functions, from /proc/kallsyms, modules included.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::fd::{FromRawFd, RawFd};
use std::os::unix::fs::FileExt;

/// Where the kernel's symbols are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Symbols {
    /// From the file, with this process's own rights.
    Own,
    /// From the file as another process opened it, by the number that it was inherited under.
    Inherited(RawFd),
}

impl Symbols {
    /// Reads them; `None` where they are hidden.
    pub(super) fn read(self) -> Option<Kernel> {
        let file = match self {
            Self::Own => File::open("/proc/kallsyms").ok()?,
            // SAFETY: the number was given to this process for this, and nothing else here knows
            // it; were it no open file, reading would fail.
            Self::Inherited(number) => unsafe { File::from_raw_fd(number) },
        };
        Kernel::read(BufReader::with_capacity(1 << 20, FromStart { file, at: 0 }))
    }
}

/// A file from its start on, wherever others who share it have read to.
struct FromStart {
    file: File,
    at: u64,
}

impl Read for FromStart {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let length = self.file.read_at(bytes, self.at)?;
        self.at += length as u64;
        Ok(length)
    }
}

/// A function of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    at: u64,
    /// Name of the symbol, as kallsyms has it.
    pub name: Box<str>,
    /// Its module; `None` for the kernel itself.
    pub module: Option<Box<str>>,
}

/// The functions of the kernel, by address.
#[derive(Debug, Default)]
pub struct Kernel(Vec<Symbol>);

impl Kernel {
    /// Reads lines of `/proc/kallsyms`; `None` where the kernel shows zeroes in place of addresses.
    pub fn read(text: impl BufRead) -> Option<Self> {
        let mut all: Vec<Symbol> =
            text.lines().map_while(Result::ok).filter_map(|line| symbol(&line)).collect();
        all.sort_by_key(|symbol| symbol.at);
        (all.last()?.at > 0).then_some(Self(all))
    }

    /// The function at an address.
    pub fn find(&self, address: u64) -> Option<&Symbol> {
        let after = self.0.partition_point(|symbol| symbol.at <= address);
        self.0.get(after.checked_sub(1)?)
    }
}

/// `ffffffff81a00000 T tcp_sendmsg [module]`, with a tab before the module.
fn symbol(line: &str) -> Option<Symbol> {
    let mut words = line.split_ascii_whitespace();
    let at = u64::from_str_radix(words.next()?, 16).ok()?;
    if !matches!(words.next()?, "t" | "T" | "w" | "W") {
        return None;
    }
    let name = words.next()?.into();
    let module = words.next().and_then(|word| word.strip_prefix('[')?.strip_suffix(']'));
    Some(Symbol { at, name, module: module.map(Into::into) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "ffffffff81000000 T _text\n\
        ffffffff81000100 t tcp_ack\n\
        ffffffff81000200 D some_data\n\
        ffffffffc0000000 t veth_xmit\t[veth]\n\
        not a line\n\
        ffffffff81000180 W tcp_data_queue\n";

    #[test]
    fn an_address_is_in_the_function_that_begins_before_it() {
        let kernel = Kernel::read(TEXT.as_bytes()).expect("addresses");
        let name = |at| kernel.find(at).map(|symbol| &*symbol.name);
        assert_eq!(name(0xffff_ffff_8100_0100), Some("tcp_ack"));
        assert_eq!(name(0xffff_ffff_8100_017f), Some("tcp_ack"));
        assert_eq!(name(0xffff_ffff_8100_0210), Some("tcp_data_queue"), "data is no function");
        assert_eq!(name(0x1000), None);
        let module = kernel.find(0xffff_ffff_c000_0040).and_then(|symbol| symbol.module.as_deref());
        assert_eq!(module, Some("veth"));
    }

    #[test]
    fn hidden_addresses_name_nothing() {
        let hidden = "0000000000000000 T _text\n0000000000000000 t tcp_ack\n";
        assert!(Kernel::read(hidden.as_bytes()).is_none());
        assert!(Kernel::read(&b""[..]).is_none());
    }
}
