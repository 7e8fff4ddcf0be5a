//! Hosts of descriptions: files, folders, and controllers that are asked.

use super::bmc;
use crate::args::BmcArgs;
use crate::cause::Cause;
use crate::failure::Failure;
use narrows_host::STANDARD_INPUT;
use narrows_model::host::Host;
use narrows_report::results;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

/// The host of one description.
pub fn open(path: &Path) -> Result<Host, Failure> {
    check(path)?;
    if let Some(host) = own(path)? {
        return Ok(host);
    }
    narrows_host::open(path).map_err(|error| Failure::of(Cause::NO_HOST, error.to_string()))
}

/// The host of a file that narrows wrote: the one that a study was run from, or that `host --json`
/// printed.
fn own(path: &Path) -> Result<Option<Host>, Failure> {
    if path == Path::new(STANDARD_INPUT) || !path.is_file() {
        return Ok(None);
    }
    if narrows_store::is_database(path).is_ok() {
        return Ok(Some(narrows_store::head(path)?.host));
    }
    // Only such a document begins with this key.
    let mut head = [0; DOCUMENT.len()];
    let file = std::fs::File::open(path).map_err(|error| Failure::unread(path, &error))?;
    if (&file).read_exact(&mut head).is_err() || head != *DOCUMENT {
        return Ok(None);
    }
    let document = (&head[..]).chain(file.take(DOCUMENT_BYTES_MAX));
    let wrong = |error| Failure::of(Cause::NO_HOST, format!("{}: {error}", path.display()));
    results::host_of(BufReader::new(document)).map(Some).map_err(wrong)
}

/// How `narrows host --json` begins.
const DOCUMENT: &[u8; 20] = b"{\n  \"schema_version\"";
/// Facts of the largest hosts have a few MB.
const DOCUMENT_BYTES_MAX: u64 = 256 << 20;

/// The host of several descriptions, management controllers among them.
pub fn open_together(paths: &[PathBuf], bmc: &BmcArgs) -> Result<Host, Failure> {
    let (addresses, files): (Vec<PathBuf>, Vec<PathBuf>) =
        paths.iter().cloned().partition(|path| bmc::is_address(path));
    for path in &files {
        check(path)?;
    }
    if let [file] = files.as_slice()
        && addresses.is_empty()
        && let Some(host) = own(file)?
    {
        return Ok(host);
    }
    let asked = bmc::parts(&addresses, bmc)?;
    narrows_host::open_with(&files, asked)
        .map_err(|error| Failure::of(Cause::NO_HOST, error.to_string()))
}

/// Tells what is not there or cannot be read apart from what is there and is no host.
fn check(path: &Path) -> Result<(), Failure> {
    if path == Path::new(STANDARD_INPUT) {
        return Ok(());
    }
    if bmc::is_address(path) {
        let says = format!(
            "{}: only `narrows host` and `narrows predict` ask a controller",
            path.display()
        );
        return Err(Failure::of(Cause::BMC_ADDRESS, says));
    }
    let seen = std::fs::metadata(path)
        .and_then(|data| if data.is_file() { std::fs::File::open(path).map(drop) } else { Ok(()) });
    seen.map_err(|error| Failure::unread(path, &error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::study::Study;
    use narrows_model::study_kind::StudyKind;
    use narrows_model::trial::NetworkPath;
    use narrows_model::{Fact, SCHEMA_VERSION};
    use narrows_report::results::{HostDocument, Results};
    use narrows_store::Store;

    #[test]
    fn a_host_is_read_from_what_narrows_wrote_of_it() {
        let folder = std::env::temp_dir().join(format!("narrows-own-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let name = || Fact::known("n1".to_owned(), "test");
        let host = Host { name: name(), ..Host::default() };
        let study = folder.join("a.narrows");
        let head = Study::new(StudyKind::Host, NetworkPath::Memory, 0, 0);
        drop(Store::create(&study, &head, &host).expect("a study"));
        let results = Results::of(&host);
        let document = HostDocument { schema_version: SCHEMA_VERSION, host, results };
        let text = serde_json::to_string_pretty(&document).expect("text");
        let printed = folder.join("a.json");
        std::fs::write(&printed, &text).expect("written");
        for file in [&study, &printed] {
            assert_eq!(open(file).expect("a host").name, name(), "{}", file.display());
            let one = std::slice::from_ref(file);
            let host = open_together(one, &BmcArgs::default()).expect("a host");
            assert_eq!(host.name, name());
        }
        std::fs::write(&printed, &text[..text.len() / 2]).expect("written");
        let cut = open(&printed).expect_err("half of it");
        assert!(cut.says().contains("a.json"), "{}", cut.says());
        std::fs::remove_dir_all(&folder).expect("removed");
    }
}
