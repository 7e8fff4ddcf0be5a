//! Names of functions of the own program and its libraries: what is mapped where, and the symbol
//! tables of ELF files of 64 bits in this machine's byte order. A file without one names nothing.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// A stretch of a file that is mapped as code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapped {
    from: u64,
    to: u64,
    offset: u64,
    /// The file, or a name such as `[vdso]`.
    pub path: String,
}

/// The executable mappings in a text of `/proc/self/maps`.
pub fn mapped(text: &str) -> Vec<Mapped> {
    text.lines().filter_map(stretch).collect()
}

/// `7f00-7f80 r-xp 00001000 fe:00 123   /usr/lib/libc.so.6`.
fn stretch(line: &str) -> Option<Mapped> {
    let mut words = line.split_ascii_whitespace();
    let (from, to) = words.next()?.split_once('-')?;
    if !words.next()?.contains('x') {
        return None;
    }
    let offset = hex(words.next()?)?;
    let path = words.nth(2)?.to_owned();
    Some(Mapped { from: hex(from)?, to: hex(to)?, offset, path })
}

fn hex(text: &str) -> Option<u64> {
    u64::from_str_radix(text, 16).ok()
}

/// The functions of the files that are mapped; each file is read when it is first asked for.
#[derive(Default)]
pub struct Programs {
    mapped: Vec<Mapped>,
    files: BTreeMap<String, Option<Functions>>,
}

impl Programs {
    /// Of what is mapped.
    pub fn of(mapped: Vec<Mapped>) -> Self {
        Self { mapped, files: BTreeMap::new() }
    }

    /// The function at an address, and its file; the name is `None` where the file does not tell.
    pub fn find(&mut self, address: u64) -> Option<(Option<String>, String)> {
        let map = self.mapped.iter().find(|map| map.from <= address && address < map.to)?;
        let path = map.path.clone();
        let offset = address - map.from + map.offset;
        let known = self.files.entry(path.clone());
        let functions = known.or_insert_with(|| Functions::read(&File::open(&path).ok()?).ok());
        let name = functions.as_ref().and_then(|all| all.find(offset)).map(demangled);
        let file = path.rsplit('/').next().unwrap_or(&path).to_owned();
        Some((name, file))
    }
}

/// The functions of one file, by where they begin in it.
struct Functions(Vec<(u64, u64, String)>);

/// A segment of a file that is loaded: where it is in memory, in the file, and its length.
struct Segment {
    address: u64,
    offset: u64,
    length: u64,
}

/// A section of a file.
struct Section {
    kind: u32,
    offset: u64,
    length: u64,
    link: u32,
}

/// Kinds of sections: functions of the file, and those that it offers to others.
const SYMBOL_TABLES: [u32; 2] = [2, 11];
/// Length of a symbol.
const SYMBOL_BYTES: usize = 24;
/// No table or list of names of more than this is read.
const TABLE_BYTES_MAX: u64 = 256 << 20;

fn bytes(file: &File, at: u64, length: u64) -> io::Result<Vec<u8>> {
    if length > TABLE_BYTES_MAX {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut bytes = vec![0; length as usize];
    file.read_exact_at(&mut bytes, at)?;
    Ok(bytes)
}

/// A number of so many bytes, or zero beyond the end.
fn number(bytes: &[u8], at: usize, length: usize) -> u64 {
    let Some(part) = bytes.get(at..at + length) else { return 0 };
    let mut whole = [0; 8];
    whole[..length].copy_from_slice(part);
    u64::from_le_bytes(whole)
}

impl Functions {
    fn read(file: &File) -> io::Result<Self> {
        let head = bytes(file, 0, 64)?;
        // Magic, 64 bits, little-endian: what the machines are that this program runs on.
        if head[..6] != [0x7f, b'E', b'L', b'F', 2, 1] {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let (segments, sections) = (segments(file, &head)?, sections(file, &head)?);
        let mut all = Vec::new();
        for table in sections.iter().filter(|section| SYMBOL_TABLES.contains(&section.kind)) {
            let Some(names) = sections.get(table.link as usize) else { continue };
            let symbols = bytes(file, table.offset, table.length)?;
            let names = bytes(file, names.offset, names.length)?;
            let symbols = symbols.chunks_exact(SYMBOL_BYTES);
            all.extend(symbols.filter_map(|symbol| function(symbol, &names, &segments)));
        }
        all.sort();
        Ok(Self(all))
    }

    fn find(&self, offset: u64) -> Option<&str> {
        let after = self.0.partition_point(|(from, ..)| *from <= offset);
        let (from, length, name) = self.0.get(after.checked_sub(1)?)?;
        // Assembly often has no length.
        (*length == 0 || offset - from < *length).then_some(name)
    }
}

fn segments(file: &File, head: &[u8]) -> io::Result<Vec<Segment>> {
    let (at, each, count) = (number(head, 32, 8), number(head, 54, 2), number(head, 56, 2));
    let table = bytes(file, at, each * count)?;
    Ok(table
        .chunks_exact(each.max(1) as usize)
        .filter(|entry| number(entry, 0, 4) == 1)
        .map(|entry| Segment {
            offset: number(entry, 8, 8),
            address: number(entry, 16, 8),
            length: number(entry, 32, 8),
        })
        .collect())
}

fn sections(file: &File, head: &[u8]) -> io::Result<Vec<Section>> {
    let (at, each, count) = (number(head, 40, 8), number(head, 58, 2), number(head, 60, 2));
    let table = bytes(file, at, each * count)?;
    Ok(table
        .chunks_exact(each.max(1) as usize)
        .map(|entry| Section {
            kind: number(entry, 4, 4) as u32,
            offset: number(entry, 24, 8),
            length: number(entry, 32, 8),
            link: number(entry, 40, 4) as u32,
        })
        .collect())
}

/// Where a symbol is in its file, how long it is, and its name; `None` where it is no function.
fn function(symbol: &[u8], names: &[u8], segments: &[Segment]) -> Option<(u64, u64, String)> {
    let kind = symbol.get(4)? & 0xf;
    let (address, length) = (number(symbol, 8, 8), number(symbol, 16, 8));
    // A function, or one that is chosen as the file is loaded, such as memcpy.
    if !(kind == 2 || kind == 10) || address == 0 {
        return None;
    }
    let segment =
        segments.iter().find(|s| s.address <= address && address - s.address < s.length)?;
    let name = names.get(number(symbol, 0, 4) as usize..)?.split(|byte| *byte == 0).next()?;
    let name = String::from_utf8_lossy(name).into_owned();
    Some((address - segment.address + segment.offset, length, name))
}

/// What a compiler writes for signs that a symbol cannot have.
const ESCAPES: [(&str, &str); 8] = [
    ("$C$", ", "),
    ("$LT$", "<"),
    ("$GT$", ">"),
    ("$u20$", " "),
    ("$RF$", "&"),
    ("$u7b$", "{"),
    ("$u7d$", "}"),
    ("..", "::"),
];

/// `_ZN7narrows4main17h0123456789abcdefE` as `narrows::main`; other names as they are.
fn demangled(name: &str) -> String {
    let mut plain = path_of(name).unwrap_or_else(|| name.to_owned());
    for (escape, sign) in ESCAPES {
        plain = plain.replace(escape, sign);
    }
    plain
}

/// The parts of a mangled name but for the hash at their end, which tells versions apart.
fn path_of(name: &str) -> Option<String> {
    let inner = name.strip_prefix("_ZN")?;
    let (mut rest, _) = inner.split_once("E.").or_else(|| Some((inner.strip_suffix('E')?, "")))?;
    let mut parts = Vec::new();
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let length: usize = rest[..digits].parse().ok()?;
        parts.push(rest.get(digits..digits + length)?);
        rest = &rest[digits + length..];
    }
    let hashed = parts.last().is_some_and(|part| part.len() == 17 && part.starts_with('h'));
    parts.truncate(parts.len() - usize::from(hashed));
    Some(parts.join("::"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_code_that_is_mapped_from_a_file_is_looked_at() {
        let text = "55d0-55e0 r--p 00000000 fe:00 1 /usr/bin/narrows\n\
            55e0-55f0 r-xp 00010000 fe:00 1 /usr/bin/narrows\n\
            7ff0-7ff8 r-xp 00000000 00:00 0\n\
            7ffc-7ffe r-xp 00000000 00:00 0 [vdso]\n";
        let all = mapped(text);
        let paths: Vec<&str> = all.iter().map(|map| &*map.path).collect();
        assert_eq!(paths, ["/usr/bin/narrows", "[vdso]"]);
        assert_eq!((all[0].from, all[0].to, all[0].offset), (0x55e0, 0x55f0, 0x10000));
    }

    #[test]
    fn names_are_written_as_in_the_source() {
        for (mangled, plain) in [
            ("_ZN7narrows3cmd3run17h0123456789abcdefE", "narrows::cmd::run"),
            ("_ZN7narrows3cmd3run17h0123456789abcdefE.llvm.77", "narrows::cmd::run"),
            (
                "_ZN38_$LT$std..fs..File$u20$as$u20$Read$GT$4read17h0123456789abcdefE",
                "_<std::fs::File as Read>::read",
            ),
            ("memcpy", "memcpy"),
            ("_ZN99shortE", "_ZN99shortE"),
        ] {
            assert_eq!(demangled(mangled), plain);
        }
    }

    /// Its address is known, and so must its name be.
    #[inline(never)]
    fn a_function_with_a_name() -> usize {
        std::hint::black_box(a_function_with_a_name as *const () as usize)
    }

    #[test]
    fn a_function_of_this_program_is_found_by_its_address() {
        let text = std::fs::read_to_string("/proc/self/maps").expect("maps");
        let mut programs = Programs::of(mapped(&text));
        let (name, _) = programs.find(a_function_with_a_name() as u64).expect("mapped");
        assert!(name.is_some_and(|name| name.ends_with("a_function_with_a_name")));
        assert!(programs.find(1).is_none());
    }

    #[test]
    fn a_table_beyond_256_mib_is_not_read() {
        let file = File::open("/proc/self/exe").expect("this program");
        let kind = |length| bytes(&file, 0, length).expect_err("a short file").kind();
        assert_eq!(kind((256 << 20) + 1), io::ErrorKind::InvalidData);
        let short = File::open("/dev/null").expect("nothing");
        let within = bytes(&short, 0, 256 << 20).expect_err("nothing in it").kind();
        assert_eq!(within, io::ErrorKind::UnexpectedEof);
        assert_eq!(bytes(&file, 0, 4).expect("a head"), *b"\x7fELF");
        let eight = [1, 2, 0, 0, 0, 0, 0, 9];
        assert_eq!([number(&eight, 0, 2), number(&eight, 1, 1), number(&eight, 7, 1)], [513, 2, 9]);
    }
}
