//! Descriptions garbled at random: whatever becomes of one, reading and showing it never panics.

mod common;

use common::folder;
use narrows_host::open;
use narrows_interop::import::TOOLS;
use narrows_model::host::Host;
use narrows_model::trial::NetworkPath;
use narrows_plan::study::{Definition, Ends, cells, trials};
use narrows_predict::calibration::Calibration;
use narrows_predict::{description, of_host};
use narrows_report::drawn::Screen;
use narrows_report::results::Results;
use narrows_report::views;
use narrows_validate::{Table, predict};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Garbled copies of each description.
const COPIES: usize = 150;

/// A small generator, so that a failure can be repeated.
struct Chance(u64);

impl Chance {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) as usize % below.max(1)
    }

    /// Overwrites, cuts, doubles or drops a piece.
    fn garble(&mut self, bytes: &mut Vec<u8>) {
        let at = self.next(bytes.len());
        let piece = self.next(40).min(bytes.len() - at);
        match self.next(5) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..at + piece)),
            2 => {
                let copy = bytes[at..at + piece].to_vec();
                bytes.splice(at..at, copy);
            }
            3 => bytes[at] = self.next(256) as u8,
            _ => {
                // A number becomes an extreme one.
                let extreme = [&b"0"[..], b"18446744073709551615", b"-1", b"4294967296", b"1e999"];
                let digits = bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
                bytes.splice(at..at + digits, extreme[self.next(5)].iter().copied());
            }
        }
    }
}

fn show(host: &Host, other: &Host) {
    for view in views::VIEWS {
        let _ = view.text(host, &Screen { columns: Some(80), unicode: false });
    }
    let _ = views::picture(host);
    let _ = views::diff::write(&[("a", host), ("b", other)], &Screen::FILE);
    let _ = serde_json::to_string(&Results::of(host)).expect("results are JSON");
}

fn descriptions() -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpora");
    if !dir.is_dir() {
        let text = format!("skipped: {} is not there\n", dir.display());
        // In one piece: the harness writes between.
        let _ = std::io::stderr().write_all(text.as_bytes());
        return Vec::new();
    }
    [
        "smbios-raw/supermicro-1027r-wrf/DMI",
        "smbios-raw/dell-precision-t7600/DMI",
        "smbios-text/dell-poweredge-r740-102E11A0DB9A.txt",
        "smbios-text/supermicro-x11dai-n-883610D37508.txt",
        "smbios-derived/dell-poweredge-r815-8E1C4DEF3636/DMI",
        "hwloc-xml/24em64t-2n6c2t-pci.xml",
        "hwloc-xml/flux-catalyst.xml",
    ]
    .map(|path| dir.join(path))
    .to_vec()
}

#[test]
fn nothing_panics_on_a_garbled_description() {
    let dir = folder("garbled");
    // This machine's own capture is there everywhere.
    let capture = dir.join("capture.json");
    std::fs::write(&capture, narrows_host::capture()).expect("capture");
    let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
    let (mut read, mut refused) = (0, 0);
    for path in descriptions().into_iter().chain([capture]) {
        let whole = std::fs::read(&path).expect("description");
        let sound = open(&path).expect("sound");
        show(&sound, &sound);
        for _ in 0..COPIES {
            let mut bytes = whole.clone();
            for _ in 0..=chance.next(4) {
                if !bytes.is_empty() {
                    chance.garble(&mut bytes);
                }
            }
            let file = dir.join("garbled");
            std::fs::write(&file, &bytes).expect("file");
            match open(&file) {
                Ok(host) => {
                    show(&host, &sound);
                    read += 1;
                }
                Err(why) => {
                    assert!(why.to_string().contains("garbled"), "an error names its file: {why}");
                    refused += 1;
                }
            }
        }
    }
    assert!(read > 0 && refused > 0, "{read} read, {refused} refused: both must happen");
}

/// Outputs of tools, a study's file and a published table, as small as they can be.
const TEXTS: [&str; 14] = [
    "{\"start\":{\"version\":\"iperf 3.12\",\"test_start\":{\"protocol\":\"UDP\",\"num_streams\":1}},\
     \"intervals\":[],\"end\":{\"sum\":{\"bits_per_second\":1e9,\"lost_percent\":1.5}}}",
    "19700101000000,127.0.0.1,49580,127.0.0.1,5990,1,0.0-1.0,100,23000,0.1,0,99,0.0,0\n",
    "Client connecting to ::1, UDP port 5001\n[ ID] Interval\n[  1] 0.0-1.0 sec  12.5 MBytes   \
     105 Mbits/sec\n[  1] 0.0-1.0 sec  12.4 MBytes   104 Mbits/sec   0.002 ms 80/8921 (0.9%)\n",
    " 1491.5 MB /   1.00 sec = 12518.9 Mbps 97 %TX 29 %RX 0 / 1526 drop/pkt 0.00 %loss\n",
    "tcp_bw:\n    bw  =  1.66 GB/sec\ntcp_lat:\n    latency  =  42.8 us\n",
    "sockperf: == version #3.7 == \nsockperf: Summary: Latency is 24.552 usec\n\
     sockperf: ---> percentile 50.000 =   31.960\n",
    "MIGRATED TCP STREAM TEST from 0 () port 0\nbytes 10^6bits/sec\n131072  16384  16384    10.00    9406.44\n",
    " RDMA_Write BW Test\n #bytes  #iterations  BW peak[Gb/sec]  BW average[Gb/sec]\n 65536 5000 97.5 97.2\n",
    "0\tMethod: MEMCPY\tElapsed: 0.01\tMiB: 64.0\tCopy: 4279.505 MiB/s\n",
    "memory on node 1 memcpy   Avg 7047.42 MB/s Max 7059 MB/s Min 7018 MB/s\n",
    "# OSU MPI Latency Test v5.6.2\n# Size          Latency (us)\n0       1.21\n8   1.25\n",
    "name = 'x'\nrepeats = 3\n[precision]\nwithin_percent = 2\nrepeats_max = 9\n[base]\nlength = '64K'\n\
     affinity = '0,1'\n[[factor]]\nname = 'f'\nset = 'bitrate'\nlevels = ['1G', 2]\n[[factor]]\n\
     name = 'd'\nby = 'hand'\nslots_in_order = ['1', '2']\n[[exclude]]\nf = '1G'\n",
    "[system]\ncpu = 'Xeon Platinum 8280'\ndimm = 'DDR4-2933'\nnic = '1x100GbE'\n[[row]]\ndimms = 3\n\
     cpu2 = 'x'\ntcp_gbps = 90.5\n[[row]]\nchannels = [[[1,1,0],[1,0,0]]]\nudp_gbps = 70\n",
    "[[row]]\nprotocol = 'rocev2'\nlink_gbps = 100\nmtu = 9000\ngbps = 97\n[[row]]\npcie_gen = 3\n\
     width = 8\ngbps = 50\n[[row]]\nmem_mb_s = 7000\nmpps = 3.5\ncpu_turbo_ghz = 2.0\n",
];

#[test]
fn garbled_texts_of_tools_studies_and_tables_never_panic() {
    let mut chance = Chance(7);
    let host = Host::default();
    let (mut read, mut refused) = (0, 0);
    for text in TEXTS {
        for copy in 0..COPIES * 4 {
            let mut bytes = text.as_bytes().to_vec();
            for _ in 0..copy % 6 {
                if !bytes.is_empty() {
                    chance.garble(&mut bytes);
                }
            }
            let text = String::from_utf8_lossy(&bytes);
            for tool in TOOLS {
                let _ = (tool.recognises)(&text);
                let understood = (tool.parse)(&text).is_ok();
                *(if understood { &mut read } else { &mut refused }) += 1;
            }
            if let Ok(definition) = Definition::parse(&text) {
                let ends =
                    Ends { host: &host, peers: &[], path: NetworkPath::Loopback, interface: None };
                let _ = cells(&definition.quickly()).map(|cells| trials(&cells, &ends).is_ok());
            }
            if let Ok(found) = description::parse(&text)
                && let Ok(server) = of_host(&host, &found.said, &Calibration::default())
            {
                let _ = server.reaches();
            }
            if let Ok(table) = Table::parse("t", &text) {
                let _ = narrows_report::published::text(&predict(&[table]));
            }
        }
    }
    assert!(read > 1000 && refused > 1000, "{read} read, {refused} refused");
}
