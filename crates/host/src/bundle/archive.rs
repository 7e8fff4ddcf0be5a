//! Archives as people send them: tar, plain or packed by gzip or xz, read as a stream within
//! limits, so that no archive fills memory or runs for ever.

use crate::tree::Tree;
use flate2::read::MultiGzDecoder;
use lzma_rust2::XzReader;
use std::io::{self, BufReader, Read};
use tar::{Archive, EntryType};
use thiserror::Error;

/// Unpacked, an archive of diagnostics is a few GB at most.
const UNPACKED_BYTES_MAX: u64 = 8 << 30;
/// Of that so much is kept: files of `/sys` and `/proc` and outputs of programs are small.
const KEPT_BYTES_MAX: u64 = 512 << 20;
/// Larger files are logs.
const FILE_BYTES_MAX: u64 = 16 << 20;
/// Files in an archive.
const ENTRIES_MAX: usize = 2_000_000;
/// Where a tar archive says that it is one (POSIX.1-1988, ustar).
const MAGIC_AT: usize = 257;
/// Size of a block of tar.
const BLOCK_BYTES: usize = 512;

/// Why an archive cannot be read.
#[derive(Debug, Error)]
pub enum BadArchive {
    /// It ends early, or its bytes are not what they were.
    #[error("the archive is cut short or damaged: {0}")]
    Damaged(io::Error),
    /// More in it than any report has: limits against archives made to fill a disk.
    #[error("unpacked it has more than {0}")]
    TooMuch(&'static str),
    /// A packer that is not read.
    #[error("{0} is not read: unpack it, and give the folder")]
    Packer(&'static str),
}

/// What the bytes of a packed file are.
pub enum Unpacked {
    /// Files of an archive, by the paths in it.
    Tree(Tree),
    /// One file, as `nvidia-bug-report.log.gz` is.
    File(Vec<u8>),
}

/// A marker inside an error of reading.
#[derive(Debug, Error)]
#[error("{0}")]
struct Limit(&'static str);

/// Counts what comes through, and ends it at the limit.
struct Limited<R> {
    inner: R,
    left: u64,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(into)?;
        self.left =
            self.left.checked_sub(read as u64).ok_or_else(|| io::Error::other(Limit("8 GiB")))?;
        Ok(read)
    }
}

/// Unpacks bytes; `None` where they are no archive and not packed.
pub fn unpack(bytes: &[u8]) -> Option<Result<Unpacked, BadArchive>> {
    let reader: Box<dyn Read + '_> = match bytes {
        [0x1f, 0x8b, ..] => Box::new(MultiGzDecoder::new(bytes)),
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Box::new(XzReader::new(bytes, true)),
        [b'B', b'Z', b'h', ..] => return Some(Err(BadArchive::Packer("bzip2"))),
        [b'P', b'K', 3, 4, ..] => return Some(Err(BadArchive::Packer("zip"))),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => return Some(Err(BadArchive::Packer("zstd"))),
        _ if is_tar(bytes) => {
            // Packers check their own ends; a plain archive ends in blocks of zeros.
            let end = &bytes[bytes.len() - BLOCK_BYTES.min(bytes.len())..];
            if end.iter().any(|byte| *byte != 0) {
                let error = io::Error::from(io::ErrorKind::UnexpectedEof);
                return Some(Err(BadArchive::Damaged(error)));
            }
            Box::new(bytes)
        }
        _ => return None,
    };
    Some(read(BufReader::with_capacity(
        1 << 16,
        Limited { inner: reader, left: UNPACKED_BYTES_MAX },
    )))
}

fn is_tar(head: &[u8]) -> bool {
    head.get(MAGIC_AT..MAGIC_AT + 5) == Some(b"ustar")
}

fn read(mut reader: impl Read) -> Result<Unpacked, BadArchive> {
    let mut head = Vec::with_capacity(BLOCK_BYTES);
    reader.by_ref().take(BLOCK_BYTES as u64).read_to_end(&mut head).map_err(bad)?;
    if is_tar(&head) {
        return entries(head.as_slice().chain(reader)).map(Unpacked::Tree);
    }
    let mut whole = head;
    reader.take(KEPT_BYTES_MAX).read_to_end(&mut whole).map_err(bad)?;
    if whole.len() as u64 > KEPT_BYTES_MAX {
        Err(BadArchive::TooMuch("512 MiB in one file"))
    } else {
        Ok(Unpacked::File(whole))
    }
}

fn bad(error: io::Error) -> BadArchive {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<Limit>()) {
        Some(Limit(what)) => BadArchive::TooMuch(what),
        None => BadArchive::Damaged(error),
    }
}

fn entries(reader: impl Read) -> Result<Tree, BadArchive> {
    let mut tree = Tree::default();
    let mut kept = 0;
    let mut archive = Archive::new(reader);
    for (number, entry) in archive.entries().map_err(bad)?.enumerate() {
        let mut entry = entry.map_err(bad)?;
        if number >= ENTRIES_MAX {
            return Err(BadArchive::TooMuch("2,000,000 files"));
        }
        let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        match entry.header().entry_type() {
            EntryType::Symlink => {
                if let Some(target) = entry.link_name_bytes() {
                    tree.link(&path, &String::from_utf8_lossy(&target));
                }
            }
            EntryType::Regular | EntryType::Continuous if super::is_wanted(&path, entry.size()) => {
                let mut bytes = Vec::new();
                entry.read_to_end(&mut bytes).map_err(bad)?;
                kept += bytes.len() as u64;
                if kept > KEPT_BYTES_MAX {
                    return Err(BadArchive::TooMuch("512 MiB of files that are read"));
                }
                tree.put(&path, bytes);
            }
            _ => {}
        }
    }
    Ok(tree.below_top())
}

/// The most that a file may have to be looked at.
pub fn is_small(size_bytes: u64) -> bool {
    size_bytes <= FILE_BYTES_MAX
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;

    fn archive() -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        for (path, text) in [("sos-x/sys/a", "1"), ("sos-x/sos_commands/pci/lspci", "2")] {
            let mut header = tar::Header::new_gnu();
            header.set_size(text.len() as u64);
            header.set_mode(0o644);
            header.set_cksum();
            builder.append_data(&mut header, path, text.as_bytes()).expect("entry");
        }
        builder.into_inner().expect("archive")
    }

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).expect("gzip");
        encoder.finish().expect("gzip")
    }

    #[test]
    fn an_archive_is_read_and_one_cut_short_is_not() {
        for whole in [archive(), packed(&archive())] {
            let Some(Ok(Unpacked::Tree(tree))) = unpack(&whole) else { panic!("no archive") };
            assert_eq!(tree.bytes("sys/a"), Some(b"1".as_slice()));
            // Behind the last file a plain archive has zeros, of which some may be missing.
            for cut in [whole.len() / 2, whole.len() * 3 / 5] {
                let cut = unpack(&whole[..cut]).expect("still an archive by its head");
                assert!(matches!(cut, Err(BadArchive::Damaged(_))));
            }
        }
        assert!(unpack(b"text").is_none());
        assert!(matches!(unpack(b"BZh91AY"), Some(Err(BadArchive::Packer("bzip2")))));
        let Some(Ok(Unpacked::File(text))) = unpack(&packed(b"a log")) else { panic!("no file") };
        assert_eq!(text, b"a log");
    }

    #[test]
    fn what_grows_beyond_the_limits_is_named() {
        let limited = Limited { inner: io::repeat(0), left: 1000 };
        let error = read(limited).err().map(|error| error.to_string());
        assert_eq!(error.as_deref(), Some("unpacked it has more than 8 GiB"));
        // 600 MiB of zeros in less than a MiB.
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        let zeros = vec![0; 1 << 20];
        (0..600).for_each(|_| encoder.write_all(&zeros).expect("gzip"));
        let bomb = encoder.finish().expect("gzip");
        assert!(matches!(unpack(&bomb), Some(Err(BadArchive::TooMuch(_)))));
    }
}
