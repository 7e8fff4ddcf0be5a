//! The studies that narrows brings: what their cells ask for.

use narrows_model::Bytes;
use narrows_model::options::rdma::GID;
use narrows_plan::study::{Cell, Definition, cells};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn cells_of(file: &str) -> Vec<Cell> {
    let path = top().join("studies").join(file);
    let text = std::fs::read_to_string(&path).expect(file);
    cells(&Definition::parse(&text).expect(file)).expect(file)
}

/// LP1241 switched its adapters: InfiniBand in one mode, RoCE v1, TCP and UDP in the other.
#[test]
fn lenovos_protocols_are_those_of_the_paper_each_in_its_mode() {
    for (file, populations) in
        [("lenovo-memory-population.toml", 12), ("lenovo-one-processor.toml", 6)]
    {
        let all = cells_of(file);
        let kinds: BTreeSet<(String, String)> = all
            .iter()
            .map(|cell| {
                let level = |factor| cell.level(factor).expect(factor).to_owned();
                (level("mode"), level("protocol"))
            })
            .collect();
        let wanted = [("eth", "RoCEv1"), ("eth", "TCP"), ("eth", "UDP"), ("ib", "InfiniBand")];
        let wanted = wanted.map(|(mode, protocol)| (mode.to_owned(), protocol.to_owned()));
        assert_eq!(kinds, BTreeSet::from(wanted), "{file}");
        assert_eq!(all.len(), 4 * populations, "{file}");
        // What a port is asked to be is told to the run, which fails on another.
        for cell in &all {
            let params = cell.settings.params(Bytes::mib(8), Bytes::mib(8)).expect("parameters");
            let gid = match cell.level("protocol") {
                Some("InfiniBand") => Some("infiniband"),
                Some("RoCEv1") => Some("rocev1"),
                _ => None,
            };
            assert_eq!(GID.of(&params).as_deref(), gid, "{file}: {}", cell.label());
        }
    }
}
