//! Rates that follow from the shape of one link or of memory: rows with the fields of PCI Express
//! (`pcie_gen`, `width`), PCI-X (`pcix_mhz`), sockets' links (`upi_links`, `gt_s`), memory (`ways`
//! or `channels`, `mts`), load (`utilisation`, `idle_ns`), or of wires (`link_gbps`, `protocol`,
//! `mtu`), and a figure.

use super::{Answer, Comparison, Kind, LATENCIES, PACKETS, RATES, Row, Table, sockets, tcp};
use narrows_predict::{domains, framing, nic_model, pcie};

/// Largest read request and payload where none is given.
const MPS: f64 = 256.0;
/// Share of a link between sockets that payload reaches (measured on one node with two links).
const SOCKET_LINK_SHARE: f64 = 0.825;
/// Clocks that a PCI-X read of host memory waits before each 512 data clocks.
const PCIX_READ_WAIT: f64 = 60.0;
/// The same for writes.
const PCIX_WRITE_WAIT: f64 = 12.0;
/// Share of the wire's or the slot's packets that a NIC's engine does at least (assumed).
const ENGINE_LEAST: f64 = 0.7;
/// Half the 80 % range of what a mix reaches, as a logarithm: the five nodes scatter by 0.058
/// around their means, and a sixth lies within 1.53 (Student's t of four degrees) x sqrt(1 + 1/5)
/// of that.
const MIX_HALF: f64 = 0.097;

/// A result, its 80 % range as shares of it, and how it came about.
type Solved = (f64, (f64, f64), String);

/// One kind of row.
struct Shape {
    question: &'static str,
    /// Figures it can be asked for, with what one of them is in the unit of the result.
    figures: &'static [(&'static str, f64)],
    resource: &'static str,
    /// The result in the shape's unit, of a row and what stands before the figure's unit.
    solve: fn(&Row<'_>, &str) -> Option<Solved>,
}

const SHAPES: [Shape; 7] = [
    Shape { question: "PCI Express", figures: RATES, resource: "pcie", solve: pci_express },
    Shape { question: "PCI-X", figures: RATES, resource: "pci-x", solve: pci_x },
    Shape {
        question: "links between sockets",
        figures: RATES,
        resource: "inter-socket",
        solve: sockets_link,
    },
    Shape {
        question: "memory bandwidth by population",
        figures: &[("gb_s", 8e9), ("mb_s", 8e6)],
        resource: "memory",
        solve: memory,
    },
    Shape { question: "loaded latency", figures: LATENCIES, resource: "memory", solve: load },
    Shape { question: "packets by frame", figures: PACKETS, resource: "wire", solve: packets },
    Shape { question: "TCP and UDP by framing", figures: RATES, resource: "wire", solve: wire },
];

/// Answers for a table's rows, by shape.
pub fn answers(table: &Table) -> Vec<Answer> {
    SHAPES.iter().filter_map(|shape| answer(table, shape)).collect()
}

fn answer(table: &Table, shape: &Shape) -> Option<Answer> {
    let mut answer =
        Answer { question: shape.question, files: vec![table.name.clone()], ..Answer::default() };
    let mut published = Vec::new();
    // What streams reached over a slot or a wire is not what these carry.
    for row in table.rows().filter(|row| !tcp::is_one(row)) {
        for (name, what, one) in row.figures(shape.figures) {
            let solved = table.reads.counting(|| (shape.solve)(&row, &what));
            let Some((value, (low, high), says)) = solved else { continue };
            let mut cell = Comparison::new(&row, &name, row.own(&name));

            published.extend(cell.published);
            let value = value / one;
            cell.predicted = Some(value);
            (cell.low, cell.high) = (Some(low * value), Some(high * value));
            cell.left_out = cell.predicted;
            cell.uncalibrated = Some((value, low * value, high * value));
            cell.bottleneck = shape.resource.to_owned();
            cell.kind = Kind::Prediction;
            cell.says = says;
            answer.cells.push(cell);
        }
    }
    answer.guess_the_median(&published);
    (!answer.cells.is_empty()).then_some(answer)
}

fn generation(row: &Row<'_>) -> Option<f64> {
    let generation = row.number("pcie_gen")?;
    [2.5, 5.0, 8.0, 16.0, 32.0, 64.0].get((generation as usize).checked_sub(1)?).copied()
}

/// Which way a device moves bytes of the host's memory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Read,
    Write,
}

impl Direction {
    /// As the row declares it, else what its column is of: `read_gb_s`.
    fn of(row: &Row<'_>, what: &str) -> Option<Self> {
        match row.text("direction").unwrap_or(what).to_lowercase().as_str() {
            "read" => Some(Self::Read),
            "write" => Some(Self::Write),
            _ => None,
        }
    }
}

/// `size` bytes a transfer, `direction` `read` or `write`; without a size large transfers.
fn pci_express(row: &Row<'_>, what: &str) -> Option<Solved> {
    // What RDMA reached through a slot is another question's.
    if row.has("protocol") {
        return None;
    }
    let (speed, width) = (generation(row)?, row.number("width")? as u32);
    let payload = row.bytes("mps").unwrap_or(MPS);
    let size = row.bytes("size").unwrap_or(64.0 * payload);
    let reads = Direction::of(row, what) == Some(Direction::Read);
    let header = if reads { 20.0 } else { 24.0 };
    let share = pcie::packet_share(size, payload, header);
    let bps = pcie::packet_bps(speed, width, payload) * share;
    let says = format!(
        "{speed} GT/s x{width}, payload {payload} B: {:.1} % of packets is data",
        share * 100.0
    );
    Some((bps, (0.85, 1.0), says))
}

fn pci_x(row: &Row<'_>, what: &str) -> Option<Solved> {
    let mhz = row.number("pcix_mhz")?;
    let bytes = row.number("bits").unwrap_or(64.0) / 8.0;
    let writes = Direction::of(row, what) == Some(Direction::Write);
    let wait = if writes { PCIX_WRITE_WAIT } else { PCIX_READ_WAIT };
    let bps = bytes * 8.0 * mhz * 1e6 * 512.0 / (512.0 + wait);
    Some((bps, (0.85, 1.0), format!("{wait} clocks of waiting for each 512 of data")))
}

fn sockets_link(row: &Row<'_>, _: &str) -> Option<Solved> {
    let (links, rate) = (row.ending("links")?, row.ending("gt_s")?);
    let bps = links * rate * 2e9 * 8.0 * SOCKET_LINK_SHARE;
    let says =
        format!("{links} links of 2 B at {rate} GT/s, of which {SOCKET_LINK_SHARE} is payload");
    Some((bps, (0.85, 1.1), says))
}

/// Share of the channels' peak by what a kernel does: geometric means of five nodes from Ivy Bridge
/// to Cascade Lake (tables/memory-mlc-fitted.toml).
fn reached(mix: &str) -> f64 {
    match mix {
        "read" | "load" => domains::READS,
        "3:1" => 0.770,
        "2:1" => 0.754,
        "triad" | "add" => 0.713,
        _ => domains::EVEN,
    }
}

/// `ways` or `channels` as a number, or the population by `dimms` or `channels` of a known `cpu`.
/// A sweep over all memory takes the sets one after the other, each as long as its size over its
/// rate: sets of as many ways as modules all take the same.
fn memory(row: &Row<'_>, what: &str) -> Option<Solved> {
    // A rate beside a latency is how much of memory was used.
    if row.has("ns") || row.has("latency_ns") {
        return None;
    }
    let mts = row.number("mts").or_else(|| row.text("dimm").and_then(sockets::mts_of))?;
    let given = row.text("mix").or_else(|| row.text("kernel"));
    let mix = given.unwrap_or(if what.is_empty() { "copy" } else { what });
    let share = reached(mix);
    let by_ways = row.number("ways").or_else(|| row.number("channels"));
    let (ways, sets) = match by_ways {
        Some(ways) => (ways * row.number("sockets").unwrap_or(1.0), String::new()),
        None => {
            let by_socket = sockets::sets_of(row).ok()?;
            let words: Vec<String> = by_socket.iter().map(|sets| format!("{sets:?}")).collect();
            (
                by_socket
                    .iter()
                    .map(|sets| sets.iter().sum::<usize>() as f64 / sets.len().max(1) as f64)
                    .sum(),
                format!(", in sets of {}", words.join(" and ")),
            )
        }
    };
    let bps = ways * mts * 1e6 * 64.0 * share;
    let says = format!("{ways} channels of {mts} MT/s{sets}, of which a {mix} reaches {share}");
    Some((bps, ((-MIX_HALF).exp(), MIX_HALF.exp()), says))
}

fn load(row: &Row<'_>, _: &str) -> Option<Solved> {
    let idle = row.number("idle_ns")?;
    let used = row.number("utilisation").or_else(|| used(row))?;
    let ns = idle * domains::loaded(used);
    Some((ns, (0.85, 1.2), "a curve fitted on one Cascade Lake node".to_owned()))
}

/// Share of memory's peak that a row's own rate is.
fn used(row: &Row<'_>) -> Option<f64> {
    let (column, _, one) = row.figures(&RATES[2..]).into_iter().next()?;
    let peak_gb_s = row.number("peak_gb_s").or_else(|| {
        let mts = row.number("mts").or_else(|| row.text("dimm").and_then(sockets::mts_of))?;
        let ways = row.number("ways").or_else(|| row.number("channels"))?;
        Some(ways * row.number("sockets").unwrap_or(1.0) * mts * 8e-3)
    })?;
    let used = row.own(&column)? * one / 8e9 / peak_gb_s;
    (0.0..=1.0).contains(&used).then_some(used)
}

/// Frames that a wire carries, or the slot where it is given and less; NICs may do fewer.
fn packets(row: &Row<'_>, _: &str) -> Option<Solved> {
    // Rows with memory's rate ask what a core can do.
    if row.has("mem_mb_s") || row.has("wire_rate") {
        return None;
    }
    let frame = row.bytes("frame")?;
    let wire = framing::packets_per_second(row.link_bps()?, frame);
    let slot = row.table.reads.counting(|| generation(row).zip(row.number("width"))).map(
        |(speed, width)| {
            let bps = pcie::packet_bps(speed, width as u32, row.bytes("mps").unwrap_or(MPS));
            let can = pcie::smallest_packets(bps, frame);
            can.received.min(can.sent_batched) * 1e6
        },
    );
    let fewest = wire.min(slot.unwrap_or(wire));
    if let Some((name, engine)) = engine(row).filter(|(_, engine)| *engine < fewest) {
        let says = format!("a {name}'s engine does {:.2} million a second", engine / 1e6);
        return Some((engine, (0.86, 1.16), says));
    }
    let says = match slot {
        Some(slot) if slot < wire => "a descriptor for each through the slot",
        _ => "frames and 20 B around each; the NIC's engine is not known, or does as many",
    };
    Some((fewest, (ENGINE_LEAST, 1.0), says.to_owned()))
}

/// What the engine of one port does, of a model that is known.
fn engine(row: &Row<'_>) -> Option<(&'static str, f64)> {
    let model = nic_model(row.text("nic")?)?;
    Some((model.name.as_str(), model.port_mpps? * 1e6))
}

fn wire(row: &Row<'_>, what: &str) -> Option<Solved> {
    let given = row.text("protocol").or_else(|| row.text("path"));
    let protocol = given.unwrap_or(what).to_lowercase();
    // A population asks another question.
    if row.has("dimms") || row.has("channels") {
        return None;
    }
    let mtu = row.bytes("mtu")?;
    let link = row.link_bps()?;
    let share = match protocol.as_str() {
        "tcp" => framing::tcp(mtu, row.flag("timestamps").unwrap_or(true)),
        "udp" => framing::udp(mtu, row.bytes("message").unwrap_or(mtu - 28.0)),
        _ => return None,
    };
    // RDMA rows with these fields are another question's.
    let says = format!("{:.3} % of the wire is payload", share * 100.0);
    Some((link * share, (0.9, 1.0), says))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_told_by_their_fields() {
        let of = |row: &str| {
            let table = Table::parse("t", &format!("[[row]]\n{row}\n")).expect("a table");
            let answers = answers(&table);
            assert_eq!(answers.len(), 1, "{row}");
            answers[0].cells[0].predicted.expect("a figure")
        };
        assert!((of("pcie_gen = 3\nwidth = 8\nsize = 4096\ngbps = 1") - 52.9).abs() < 0.2);
        assert!((of("pcix_mhz = 133\ngbps = 1") - 7.62).abs() < 0.02);
        assert!((of("upi_links = 2\ngt_s = 10.4\ngb_s = 1") - 34.32).abs() < 0.01);
        assert!((of("upi_links = 2\nupi_gt_s = 10.4\nread_gb_s = 1") - 34.32).abs() < 0.01);
        assert!((of("ways = 6\nmts = 2933\nmix = 'read'\ngb_s = 1") - 121.22).abs() < 0.01);
        let system = "cpu = 'Intel Xeon Platinum 8280'\nmts = 2933\n";
        // Five of six channels: sets of four and of one, which take as long as each other.
        let five = of(&format!("{system}dimms = 5\nread_gb_s = 1"));
        assert!((five / (2.5 * 23.464 * 0.861) - 1.0).abs() < 1e-9, "{five}");
        assert!((of("utilisation = 0.0\nidle_ns = 80\nlatency_ns = 1") - 80.0).abs() < 1e-9);
        // Half of six channels, as a share and as a rate.
        let half = of("utilisation = 0.5\nidle_ns = 80\nns = 1");
        let rate = of("channels = 6\nmts = 2933\nidle_ns = 80\ngb_s = 70.392\nns = 1");
        assert!((half - rate).abs() < 1e-9 && half > 80.0, "{half} {rate}");
        let packets = of("link_gbps = 10\nframe_bytes = 64\nmpps = 1");
        assert!((packets - 14.881).abs() < 0.001, "{packets}");
        let narrow = of("link_gbps = 100\nframe = 64\npcie_gen = 3\nwidth = 8\nmpps = 1");
        assert!(narrow < 60.0, "{narrow}");
        assert!(
            (of("link_gbps = 100\nprotocol = 'tcp'\nmtu = 9000\ngbps = 1") - 99.004).abs() < 0.01
        );
        let table = Table::parse("t", "[[row]]\nname = 'x'\nvalue = 1\n").expect("a table");
        assert!(answers(&table).is_empty());
    }
}
