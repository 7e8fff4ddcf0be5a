//! `rdma`: counters of every port of every RDMA device, and what its driver counts beside them,
//! from `/sys/class/infiniband/*/ports/*/{counters,hw_counters}`. They count all traffic of a port,
//! not ours alone.

use crate::{Look, Registered, Scene, watch};
use narrows_model::reading::{Key, Scope, Source, Unit};
use std::path::Path;

const DEVICES: &str = "/sys/class/infiniband";

pub static SOURCE: Registered = Registered {
    source: Source::Rdma,
    says: "bytes, packets and errors of RDMA ports, and what their drivers count",
    is_sampled: false,
    open: |scene| watch(scene, look),
};

fn look(_: &Scene<'_>) -> Option<Look> {
    let mut look = Look::default();
    read(Path::new(DEVICES), &mut look);
    look.seen()
}

fn names(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

fn read(devices: &Path, look: &mut Look) {
    for device in names(devices) {
        let ports = devices.join(&device).join("ports");
        for port in names(&ports) {
            for folder in ["counters", "hw_counters"] {
                let folder = ports.join(&port).join(folder);
                for counter in names(&folder) {
                    let text = std::fs::read_to_string(folder.join(&counter)).unwrap_or_default();
                    if let Some((name, unit, count)) = parse(&counter, &text) {
                        let port = Scope::Nic(format!("{device}/{port}"));
                        look.total(Key::counter(Source::Rdma, port, name, unit), count);
                    }
                }
            }
        }
    }
}

/// A counter's name without its unit, its unit and its count. Data is counted in words of four
/// bytes (InfiniBand specification, volume 1, section 16.1.3.5); how long a driver's counters live
/// is none.
fn parse(counter: &str, text: &str) -> Option<(String, Unit, u64)> {
    let count: u64 = text.trim().parse().ok()?;
    Some(match counter {
        "lifespan" => return None,
        "port_xmit_data" => ("xmit".to_owned(), Unit::Bytes, count.saturating_mul(4)),
        "port_rcv_data" => ("rcv".to_owned(), Unit::Bytes, count.saturating_mul(4)),
        "port_xmit_packets" => ("xmit".to_owned(), Unit::Packets, count),
        "port_rcv_packets" => ("rcv".to_owned(), Unit::Packets, count),
        name if name.ends_with("_packets") || name.ends_with("_pkts") => {
            let name = name.trim_end_matches("_packets").trim_end_matches("_pkts");
            (name.to_owned(), Unit::Packets, count)
        }
        name => (name.to_owned(), Unit::Events, count),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_bytes_and_every_key_has_a_unit() {
        let told = |name: &str, unit, count| Some((name.to_owned(), unit, count));
        assert_eq!(parse("port_xmit_data", "250\n"), told("xmit", Unit::Bytes, 1000));
        assert_eq!(parse("sent_pkts", "7"), told("sent", Unit::Packets, 7));
        assert_eq!(parse("out_of_sequence", "1"), told("out_of_sequence", Unit::Events, 1));
        assert_eq!(parse("lifespan", "10"), None);
        assert_eq!(parse("symbol_error", "Invalid argument"), None);
        let data = parse("port_rcv_data", &u64::MAX.to_string());
        assert_eq!(data, told("rcv", Unit::Bytes, u64::MAX));
    }

    #[test]
    fn a_folder_of_a_device_is_read() {
        let top = std::env::temp_dir().join(format!("narrows-rdma-{}", std::process::id()));
        let port = top.join("rxe0/ports/1");
        std::fs::create_dir_all(port.join("hw_counters")).expect("folder");
        std::fs::write(port.join("hw_counters/sent_pkts"), "12\n").expect("file");
        let mut look = Look::default();
        read(&top, &mut look);
        std::fs::remove_dir_all(&top).expect("clean");
        assert_eq!(look.of("rdma", "rxe0/1.sent_packets"), Some(12));
    }
}
