//! A writer that is killed in the middle of storing a run.

mod common;

use narrows_model::host::Host;
use narrows_model::study::StoredStudy;
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

/// A maker killed at any instant leaves nothing under the study's name, or a whole study.
#[test]
fn a_study_appears_whole_or_not_at_all() {
    let dir = common::folder("drafts");
    let file = dir.join("x.narrows");
    let study = StoredStudy::unmeasured(Host::default());
    let mut draft = Store::draft(&file, &study.study, &study.host).expect("a draft");
    draft.put_trials(&common::trials()).expect("trials");
    assert!(!file.exists(), "it is not there before it is whole");
    let unseen = |dir: &std::path::Path| {
        let all = std::fs::read_dir(dir).expect("folder").flatten();
        all.map(|entry| entry.path()).filter(|path| *path != file).collect::<Vec<_>>()
    };
    assert_eq!(unseen(&dir).len(), 1);
    // What a killed maker has left is in nobody's way, and removed when it is old.
    let left = dir.join(".x.narrows.1-0.making");
    std::fs::copy(&unseen(&dir)[0], &left).expect("a copy");
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    std::fs::File::options().write(true).open(&left).expect("file").set_modified(old).expect("old");
    let other = Store::draft(&file, &study.study, &study.host).expect("another draft");
    assert!(!left.exists() && unseen(&dir).len() == 2);
    drop(draft.publish().expect("it appears"));
    assert_eq!(read(&file).expect("a study").trials.len(), 2);
    // Somebody else's file is not replaced, also when it came after the draft.
    let refused = other.publish().map(drop).expect_err("it is there");
    assert!(matches!(refused, narrows_store::StoreError::Exists(_)), "{refused}");
    assert!(matches!(
        Store::draft(&file, &study.study, &study.host).map(drop),
        Err(narrows_store::StoreError::Exists(_))
    ));
    assert_eq!(read(&file).expect("a study").trials.len(), 2);
    assert_eq!(unseen(&dir), Vec::<std::path::PathBuf>::new());
    drop(Store::draft(&dir.join("y.narrows"), &study.study, &study.host).expect("a draft"));
    assert_eq!(unseen(&dir), Vec::<std::path::PathBuf>::new(), "one that is given up is gone");
}
