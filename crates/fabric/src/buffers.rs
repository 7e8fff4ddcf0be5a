//! What buffers have to hold: of switches that must not lose a frame, and of sockets that are to
//! fill a path.

use narrows_model::{BitsPerSecond, Bytes};
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;

/// `data/pfc.json` as it is written.
#[derive(Deserialize)]
struct File {
    source: String,
    pause_frame_bits: u64,
    frame_overhead_bits: u64,
    cable_ns_per_metre: f64,
    rates: Vec<Row>,
}

/// Delays of a link's rate, in times of a bit.
#[derive(Deserialize)]
struct Row {
    gbps: f64,
    interface_bits: u64,
    response_bits: u64,
}

static FILE: LazyLock<Option<File>> =
    LazyLock::new(|| serde_json::from_str(include_str!("../data/pfc.json")).ok());

/// Where the delays are from.
pub fn source() -> &'static str {
    FILE.as_ref().map_or("", |file| &file.source)
}

/// What still arrives at a port for one class after it has asked for a pause: 802.1Qbb's worst
/// case. `None` at rates whose delays nobody has published.
pub fn headroom(rate: BitsPerSecond, metres: f64, frame: Bytes) -> Option<Bytes> {
    let file = FILE.as_ref()?;
    let row = file.rates.iter().find(|row| (row.gbps * 1e9 - rate.0).abs() < 1.0)?;
    let frames = 2 * (frame.0 * 8 + file.frame_overhead_bits);
    let cable = (2.0 * metres * file.cable_ns_per_metre * rate.gbps()).ceil() as u64;
    let delays = 2 * row.interface_bits + row.response_bits;
    Some(Bytes((frames + file.pause_frame_bits + delays + cable).div_ceil(8)))
}

/// Whether a switch can keep that free.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Room {
    /// All ports have theirs at once.
    Fits,
    /// They do not; a frame can be lost, or fewer ports or classes have to be lossless.
    TooSmall,
    /// Of its buffer nothing is known, or of the delays.
    Unknown,
}

/// Ports of a switch that have the same headroom.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PortsHeld {
    pub ports: u32,
    /// What each of them carries at most.
    pub rate_bits_per_second: BitsPerSecond,
    /// The longest cable of one, in metres.
    pub metres: f64,
    /// What one class of one of them needs; `None` where nobody published the delays.
    pub headroom_bytes: Option<Bytes>,
}

impl PortsHeld {
    /// Ports with frames of so many bytes at most.
    pub fn of(ports: u32, rate: BitsPerSecond, metres: f64, frame: Bytes) -> Self {
        let headroom_bytes = headroom(rate, metres, frame);
        Self { ports, rate_bits_per_second: rate, metres, headroom_bytes }
    }
}

/// What a switch has to keep free for lossless classes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Lossless {
    /// The switch's model.
    pub switch: String,
    /// Its ports by rate and cable.
    pub ports: Vec<PortsHeld>,
    /// Of all ports and classes.
    pub needed_bytes: Option<Bytes>,
    /// What its maker says that it has.
    pub buffer_bytes: Option<Bytes>,
    pub room: Room,
}

impl Lossless {
    /// Of a switch with so many classes that must not lose a frame.
    pub fn of(
        switch: &str,
        ports: Vec<PortsHeld>,
        classes: u32,
        buffer_bytes: Option<Bytes>,
    ) -> Self {
        let needed_bytes = ports
            .iter()
            .map(|held| {
                let class = held.headroom_bytes?.0;
                Some(class * u64::from(held.ports) * u64::from(classes))
            })
            .sum::<Option<u64>>()
            .map(Bytes);
        let room = match needed_bytes.zip(buffer_bytes) {
            Some((needed, has)) if needed <= has => Room::Fits,
            Some(_) => Room::TooSmall,
            None => Room::Unknown,
        };
        Self { switch: switch.to_owned(), ports, needed_bytes, buffer_bytes, room }
    }
}

/// Bytes that are on their way when a path is full.
pub fn in_flight(rate: BitsPerSecond, round_trip_us: f64) -> Bytes {
    Bytes((rate.0 * round_trip_us * 1e-6 / 8.0).round() as u64)
}

/// The rate that one socket reaches with a buffer: all that the path has, or a buffer a round trip.
pub fn with_buffer(rate: BitsPerSecond, round_trip_us: f64, buffer: Bytes) -> BitsPerSecond {
    BitsPerSecond((buffer.0 as f64 * 8.0 / (round_trip_us * 1e-6)).min(rate.0))
}

/// The longest round trip over which a buffer fills a path, in microseconds.
pub fn longest_round_trip_us(rate: BitsPerSecond, buffer: Bytes) -> f64 {
    buffer.0 as f64 * 8.0 / rate.0 * 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gbps(rate: f64) -> BitsPerSecond {
        BitsPerSecond(rate * 1e9)
    }

    /// 9216 B both ways over 100 m: 25.1, 27.7, 36.4 and 85.0 KiB, as published for four rates.
    #[test]
    fn headroom_is_as_published() {
        assert!(source().contains("802.1Qbb"));
        for (rate, kib) in [(10.0, 25.1), (25.0, 27.7), (40.0, 36.4), (100.0, 85.0)] {
            let bytes = headroom(gbps(rate), 100.0, Bytes(9216)).expect("published");
            assert!((bytes.0 as f64 / 1024.0 - kib).abs() < 0.06, "{rate}: {bytes}");
        }
        assert_eq!(headroom(gbps(400.0), 100.0, Bytes(9216)), None, "nobody published it");
        let longer = headroom(gbps(100.0), 200.0, Bytes(9216)).expect("published");
        let shorter = headroom(gbps(100.0), 100.0, Bytes(9216)).expect("published");
        assert_eq!(longer.0 - shorter.0, 12_500, "100 m both ways at 100 Gb/s");
    }

    fn held(ports: u32, rate: f64, classes: u32, buffer: Option<Bytes>) -> Lossless {
        let ports = vec![PortsHeld::of(ports, gbps(rate), 100.0, Bytes(9216))];
        Lossless::of("switch", ports, classes, buffer)
    }

    #[test]
    fn headroom_of_all_ports_is_held_against_the_buffer() {
        let fits = held(32, 100.0, 1, Some(Bytes::mib(32)));
        assert_eq!(fits.room, Room::Fits);
        assert!((fits.needed_bytes.expect("known").0 as f64 / 1e6 - 2.79).abs() < 0.01, "{fits:?}");
        assert_eq!(held(64, 100.0, 8, Some(Bytes::mib(32))).room, Room::TooSmall);
        assert_eq!(held(32, 100.0, 1, None).room, Room::Unknown);
        assert_eq!(held(32, 400.0, 1, Some(Bytes::mib(32))).room, Room::Unknown);
    }

    #[test]
    fn paths_hold_rate_times_round_trip() {
        assert_eq!(in_flight(gbps(10.0), 15.0), Bytes(18_750));
        assert_eq!(in_flight(gbps(100.0), 10.0), Bytes(125_000));
        // The paper's rmem_max of 131071 B fills 10 Gb/s over round trips of up to 105 us.
        assert!((longest_round_trip_us(gbps(10.0), Bytes(131_071)) - 104.9).abs() < 0.1);
        assert_eq!(with_buffer(gbps(10.0), 50.0, Bytes(131_071)), gbps(10.0));
        let capped = with_buffer(gbps(10.0), 210.0, Bytes(131_071));
        assert!((capped.gbps() - 4.99).abs() < 0.01, "{capped}");
    }

    /// At 10 Gb/s over 100 m: twice 9216 B and 20 B around, 672, 2 x 8192 and 30720 bits, and
    /// 10,000 bits in the cable: 205,552 bits.
    #[test]
    fn headroom_is_to_the_byte_and_all_that_fits_exactly_fits() {
        assert_eq!(headroom(gbps(10.0), 100.0, Bytes(9216)), Some(Bytes(25_694)));
        assert_eq!(headroom(gbps(10.0), 100.05, Bytes(9216)), Some(Bytes(25_695)), "5 bits more");
        let ports = || {
            let of = |ports, metres| PortsHeld::of(ports, gbps(10.0), metres, Bytes(9216));
            vec![of(3, 100.0), of(2, 200.0)]
        };
        let needed = 2 * (3 * 25_694 + 2 * (25_694 + 1250));
        let of = |buffer| Lossless::of("switch", ports(), 2, Some(Bytes(buffer)));
        assert_eq!(of(needed).needed_bytes, Some(Bytes(needed)));
        assert_eq!((of(needed).room, of(needed - 1).room), (Room::Fits, Room::TooSmall));
        assert_eq!(
            (of(needed).switch, of(needed).buffer_bytes),
            ("switch".into(), Some(Bytes(needed)))
        );
        let held = ports()[1];
        assert_eq!((held.ports, held.rate_bits_per_second, held.metres), (2, gbps(10.0), 200.0));
        let mixed = vec![ports()[0], PortsHeld::of(1, gbps(400.0), 1.0, Bytes(64))];
        let unknown = Lossless::of("switch", mixed, 1, Some(Bytes(needed)));
        assert_eq!(
            (unknown.needed_bytes, unknown.room),
            (None, Room::Unknown),
            "of one port nothing is known"
        );
    }
}
