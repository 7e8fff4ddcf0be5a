//! `rdma`: counters of every port of every RDMA device, and what its driver counts beside them,
//! from `/sys/class/infiniband/*/ports/*/{counters,hw_counters}`. They count all traffic of a port,
//! not ours alone.

use crate::{Sample, Source};
use std::path::Path;

const DEVICES: &str = "/sys/class/infiniband";

pub static SOURCE: Source = Source {
    name: "rdma",
    says: "bytes, packets and errors of RDMA ports, and what their drivers count",
    take: |_| {
        let mut sample = Sample::default();
        read(Path::new(DEVICES), &mut sample);
        (!sample.counters.is_empty()).then_some(sample)
    },
};

fn names(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

fn read(devices: &Path, sample: &mut Sample) {
    for device in names(devices) {
        let ports = devices.join(&device).join("ports");
        for port in names(&ports) {
            for folder in ["counters", "hw_counters"] {
                let folder = ports.join(&port).join(folder);
                for counter in names(&folder) {
                    let text = std::fs::read_to_string(folder.join(&counter)).unwrap_or_default();
                    if let Some((key, count)) = parse(&counter, &text) {
                        sample.counters.insert(format!("{device}/{port}.{key}"), count);
                    }
                }
            }
        }
    }
}

/// A counter with its unit at the end of its name. Data is counted in words of four bytes
/// (InfiniBand specification, volume 1, section 16.1.3.5); how long a driver's counters live is
/// none.
fn parse(counter: &str, text: &str) -> Option<(String, u64)> {
    let count: u64 = text.trim().parse().ok()?;
    Some(match counter {
        "lifespan" => return None,
        "port_xmit_data" => ("xmit_bytes".to_owned(), count.saturating_mul(4)),
        "port_rcv_data" => ("rcv_bytes".to_owned(), count.saturating_mul(4)),
        "port_xmit_packets" => ("xmit_packets".to_owned(), count),
        "port_rcv_packets" => ("rcv_packets".to_owned(), count),
        name if name.ends_with("_packets") || name.ends_with("_pkts") => (
            format!("{}_packets", name.trim_end_matches("_packets").trim_end_matches("_pkts")),
            count,
        ),
        name => (format!("{name}_events"), count),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_bytes_and_every_key_has_a_unit() {
        assert_eq!(parse("port_xmit_data", "250\n"), Some(("xmit_bytes".into(), 1000)));
        assert_eq!(parse("sent_pkts", "7"), Some(("sent_packets".into(), 7)));
        assert_eq!(parse("out_of_sequence", "1"), Some(("out_of_sequence_events".into(), 1)));
        assert_eq!(parse("lifespan", "10"), None);
        assert_eq!(parse("symbol_error", "Invalid argument"), None);
        let data = parse("port_rcv_data", &u64::MAX.to_string());
        assert_eq!(data, Some(("rcv_bytes".into(), u64::MAX)));
    }

    #[test]
    fn a_folder_of_a_device_is_read() {
        let top = std::env::temp_dir().join(format!("narrows-rdma-{}", std::process::id()));
        let port = top.join("rxe0/ports/1");
        std::fs::create_dir_all(port.join("hw_counters")).expect("folder");
        std::fs::write(port.join("hw_counters/sent_pkts"), "12\n").expect("file");
        let mut sample = Sample::default();
        read(&top, &mut sample);
        std::fs::remove_dir_all(&top).expect("clean");
        assert_eq!(sample.counters.get("rxe0/1.sent_packets"), Some(&12));
    }
}
