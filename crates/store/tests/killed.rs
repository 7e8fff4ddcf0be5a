//! A writer that is killed in the middle of storing a run.

use narrows_facts::host::Host;
use narrows_facts::study::StoredStudy;
use narrows_store::{Store, read};
use std::io::Write;

/// A file with a journal beside it, as a killed writer leaves it: the journal holds a page as it
/// was, and the file has it half written (<https://www.sqlite.org/fileformat2.html>, rollback
/// journal).
#[test]
fn a_half_stored_run_is_taken_back() {
    let dir = std::env::temp_dir().join(format!("narrows-killed-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).expect("folder");
    let file = dir.join("x.narrows");
    let study = StoredStudy::unmeasured(Host::default());
    drop(Store::create(&file, &study.study, &study.host).expect("a file"));
    let whole = read(&file).expect("a study");
    let bytes = std::fs::read(&file).expect("file");
    let page_bytes = usize::from(u16::from_be_bytes([bytes[16], bytes[17]]));
    let pages = (bytes.len() / page_bytes) as u32;
    let last = &bytes[bytes.len() - page_bytes..];
    let nonce = 7u32;
    let mut journal = vec![0u8; 512];
    journal[..8].copy_from_slice(&[0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]);
    for (at, number) in [(8, 1), (12, nonce), (16, pages), (20, 512), (24, page_bytes as u32)] {
        journal[at..at + 4].copy_from_slice(&number.to_be_bytes());
    }
    // The sum of every two hundredth byte, from the end.
    let places = (1..).map_while(|step| page_bytes.checked_sub(200 * step).filter(|at| *at > 0));
    let sum = places.fold(nonce, |sum, at| sum.wrapping_add(u32::from(last[at])));
    journal.extend(pages.to_be_bytes());
    journal.extend(last);
    journal.extend(sum.to_be_bytes());
    let mut path = file.as_os_str().to_owned();
    path.push("-journal");
    std::fs::File::create(&path).expect("journal").write_all(&journal).expect("journal");
    let mut torn = bytes.clone();
    torn[bytes.len() - page_bytes..].fill(0x5a);
    std::fs::write(&file, torn).expect("file");
    assert_eq!(read(&file).expect("it is taken back"), whole);
    assert!(!std::path::Path::new(&path).exists(), "the journal is done with");
    std::fs::remove_dir_all(&dir).expect("removed");
}
