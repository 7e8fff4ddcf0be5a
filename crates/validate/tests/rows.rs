//! Published rows, one of each kind, beside figures worked out by hand.

use narrows_validate::{Answer, Comparison, Kind, Table, predict};

fn near(is: f64, want: f64) {
    assert!((is - want).abs() <= 2e-4 * want.abs(), "{is} is not {want}");
}

fn answers(text: &str) -> Vec<Answer> {
    predict(&[Table::parse("t", text).expect("a table")])
}

fn one(row: &str) -> (&'static str, Comparison) {
    let mut all = answers(&format!("[[row]]\n{row}\n"));
    assert_eq!(all.len(), 1, "{row}: {all:?}");
    let mut answer = all.remove(0);
    assert_eq!(answer.files, ["t"]);
    (answer.question, answer.cells.remove(0))
}

/// The figure, and its range as shares of it.
fn told(row: &str, question: &str, resource: &str, want: f64, range: (f64, f64)) {
    let (asked, cell) = one(row);
    assert_eq!((asked, cell.bottleneck.as_str()), (question, resource), "{row}");
    let is = cell.predicted.expect("a figure");
    assert!((is / want - 1.0).abs() < 2e-4, "{row}: {is} is not {want}");
    assert_eq!((cell.kind, cell.left_out), (Kind::Prediction, Some(is)));
    near(cell.low.expect("low"), range.0 * want);
    near(cell.high.expect("high"), range.1 * want);
    let (value, low, high) = cell.uncalibrated.expect("not fitted");
    assert_eq!((Some(low), Some(high), value), (cell.low, cell.high, is));
}

#[test]
fn slots_and_buses_carry_what_their_specifications_leave() {
    let slot = |row: &str, want: f64| told(row, "PCI Express", "pcie", want, (0.85, 1.0));
    // 57.886 Gb/s of packets (Neugebauer et al.); 16 of them with 24 B written, 20 read.
    slot("pcie_gen = 3\nwidth = 8\nsize = 4096\nwrite_gbps = 1", 57.886 * 4096.0 / 4480.0);
    slot("pcie_gen = 3\nwidth = 8\nsize = 4096\nread_gbps = 1", 57.886 * 4096.0 / 4416.0);
    slot("pcie_gen = 3\nwidth = 8\nsize = 4096\ndirection = 'read'\ngb_s = 1", 6.7113);
    slot("pcie_gen = 3\nwidth = 8\nmps = 512\ngb_s = 1", 57.319 / 8.0 * 512.0 / 536.0);
    // One lane of 2.5 GT/s: 2 Gb/s less 16 of 416 symbols and 4 of 1538.
    slot("pcie_gen = 1\nwidth = 1\nmb_s = 1", 1_917.875 / 8.0 * 256.0 / 280.0);
    slot("pcie_gen = 2\nwidth = 4\ngb_s = 1", 2.0 * 0.902_724 * 256.0 / 280.0);
    slot("pcie_gen = 5\nwidth = 16\ngb_s = 1", 63.0154 * 0.902_161 * 256.0 / 280.0);
    let bus = |row: &str, want: f64| told(row, "PCI-X", "pci-x", want, (0.85, 1.0));
    bus("pcix_mhz = 133\nread_gbps = 1", 8.512 * 512.0 / 572.0);
    bus("pcix_mhz = 100\nbits = 32\nread_gbps = 1", 3.2 * 512.0 / 572.0);
    bus("pcix_mhz = 133\nwrite_mb_s = 1", 1064.0 * 512.0 / 524.0);
    let links = |row: &str, want: f64| {
        told(row, "links between sockets", "inter-socket", want, (0.85, 1.1));
    };
    // UPI and QPI move two bytes a transfer; 0.825 was measured.
    links("upi_links = 3\ngt_s = 11.2\ngb_s = 1", 55.44);
    links("links = 1\ngt_s = 6.4\ngbps = 1", 84.48);
}

#[test]
fn memory_is_its_channels_and_load_makes_it_slow() {
    let ways = |row: &str, want: f64| {
        told(
            row,
            "memory bandwidth by population",
            "memory",
            want,
            ((-0.097f64).exp(), 0.097f64.exp()),
        );
    };
    // 6 x 2933 MT/s x 8 B = 140.784 GB/s.
    ways("ways = 6\nmts = 2933\ngb_s = 1", 140.784 * 0.71);
    ways("ways = 6\nmts = 2933\nread_gb_s = 1", 140.784 * 0.861);
    ways("ways = 6\nmts = 2933\nkernel = 'triad'\nmb_s = 1", 140_784.0 * 0.713);
    ways("channels = 3\nsockets = 4\ndimm = '32 GB DDR4-2933 RDIMM'\ngb_s = 1", 281.568 * 0.71);
    let load = |row: &str, want: f64| told(row, "loaded latency", "memory", want, (0.85, 1.2));
    // 80 ns and 0.555 u / (1.617 - u) more.
    load("utilisation = 0.5\nidle_ns = 80\nns = 1", 80.0 * (1.0 + 0.2775 / 1.117));
    load("utilisation = 1.0\nidle_ns = 70\nns = 1", 70.0 * (1.0 + 0.555 / 0.617));
    let half = 80.0 * (1.0 + 0.2775 / 1.117);
    load("peak_gb_s = 100\nidle_ns = 80\ngb_s = 50\nns = 1", half);
    load("peak_gb_s = 100\nidle_ns = 80\nmb_s = 50000\nns = 1", half);
    load("ways = 3\nsockets = 2\nmts = 2933\nidle_ns = 80\ngb_s = 70.392\nns = 1", half);
    // More than the peak is no share of it.
    let over = answers("[[row]]\npeak_gb_s = 100\nidle_ns = 80\ngb_s = 101\nns = 1\n");
    assert_eq!(over[0].question, "none that narrows knows");
}

#[test]
fn wires_carry_frames_and_what_their_headers_leave() {
    let packets = |row: &str, says: &str, want: f64| {
        told(row, "packets by frame", "wire", want, (0.7, 1.0));
        assert!(one(row).1.says.starts_with(says), "{row}");
    };
    packets("link_gbps = 100\nframe = 64\nmpps = 1", "frames and 20 B", 148.8095);
    packets("nic = 'ConnectX-5 25GbE'\nframe_bytes = 1518\nkpps = 1", "frames", 2_031.860);
    // 7.2357 GB/s through the slot, 24+60+24+16+24 bytes a frame that is received.
    let slot = "link_gbps = 100\nframe = 64\npcie_gen = 3\nwidth = 8\nmpps = 1";
    packets(slot, "a descriptor", 57_886.0 / 8.0 / 148.0);
    let wide = "link_gbps = 10\nframe = 64\npcie_gen = 3\nwidth = 8\npps = 1";
    packets(wide, "frames", 14_880_952.0);
    let wire = |row: &str, want: f64| told(row, "TCP and UDP by framing", "wire", want, (0.9, 1.0));
    wire("link_gbps = 100\nmtu = 1500\ntcp_gbps = 1", 94.1482);
    wire("link_gbps = 100\nmtu = 1500\ntimestamps = false\nprotocol = 'TCP'\ngb_s = 1", 11.866);
    wire("nic = '2x 10 Gb/s'\nmtu_bytes = 9000\nudp_gbps = 1", 9.92697);
    wire("link_gbps = 10\nmtu = 1500\npath = 'udp'\nmessage = 18\nmbps = 1", 2_142.857);
}

#[test]
fn rdma_is_its_headers() {
    let rdma = |row: &str, want: f64| {
        told(row, "RDMA writes by link and framing", "wire", want, (0.95, 1.0));
    };
    // 64 KiB in 16 packets of 4096 B with 26 B, and 16 of a write (InfiniBand specification).
    let share = 65_536.0 / (65_536.0 + 16.0 * 26.0 + 16.0);
    let rates = [("sdr", 8.0), ("ddr", 16.0), ("qdr", 32.0), ("fdr", 54.545), ("edr", 100.0)];
    for (name, gbps) in rates.into_iter().chain([("hdr", 200.0), ("ndr", 400.0), ("xdr", 800.0)]) {
        rdma(&format!("protocol = 'ib-{name}'\ngbps = {gbps}"), share * gbps);
    }
    rdma("protocol = 'ib-edr'\nlink_gbps = 50\ngbps = 50", share * 50.0);
    let once = |bytes: f64| 100.0 * 4096.0 / (4096.0 + 26.0 + bytes);
    rdma("protocol = 'ib-edr'\nmessage = 4096\nverb = 'read'\ngbps = 1", once(8.0));
    rdma("protocol = 'ib-edr'\nmessage = 4096\ntest = 'ib_send_bw'\ngbps = 1", once(0.0));
    rdma("protocol = 'ib-edr'\nmessage = 4096\nread_gbps = 1", once(8.0));
    let ethernet = |name: &str, more: &str| format!("protocol = '{name}'\nlink_gbps = 100\n{more}");
    let (v1, v2) = (65_536.0 / (65_536.0 + 64.0 * 94.0 + 16.0), 65_536.0 / (65_536.0 + 5264.0));
    rdma(&ethernet("roce", "gbps = 91"), 100.0 * v1);
    rdma(&ethernet("RoCE v1", "gbps = 91"), 100.0 * v1);
    rdma(&ethernet("rocev2", "mtu = 1500\nmb_s = 11000"), 12_500.0 * v2);
    rdma(&ethernet("rocev2", "path_mtu = 1024\ngib_s = 10"), 100e9 * v2 / 8.0 / 1_073_741_824.0);
    rdma(&ethernet("iwarp", "gbps = 90"), 93.628);
    rdma(&ethernet("iwarp", "mtu = 9000\ngbps = 90"), 100.0 * 8940.0 / 9038.0);
    let (_, unknown) = one("protocol = 'rocev9'\nlink_gbps = 100\ngbps = 1");
    assert_eq!((unknown.predicted, unknown.kind), (None, Kind::NotPredicted));
    assert_eq!(unknown.says, "the protocol 'rocev9' is not known");
    assert!(one("protocol = 'iwarp'\ngbps = 1").1.says.contains("no `link_gbps`"));
}

/// More than headers leave is said, and what would fit; what stands in for a field too.
#[test]
fn rdma_above_its_framing_is_not_explained() {
    let text = "[system]\nlink_gbps = 100\nprotocol = 'rocev1'\nmtu = 1500\n\
        [[row]]\nmessage = 65536\ngbps = 92.565\n[[row]]\nmessage = 65536\ngbps = 92.4\n";
    let answer = &answers(text)[0];
    assert_eq!(answer.remarks.len(), 1, "{:?}", answer.remarks);
    let said = &answer.remarks[0];
    // The median is 0.9 % and 1.08 % above 91.572, together 0.99 %.
    assert!(said.contains("is 0.99 % above") && said.contains("2 would be 92.56 Gb/s"), "{said}");
    let bases: Vec<&str> = answer.baselines.iter().map(|(name, _)| *name).collect();
    assert_eq!(bases, ["median of the other rows", "rate of the link"]);
    near(answer.baselines[0].1, ((92.4 / 92.565f64 - 1.0).abs() + 92.565 / 92.4 - 1.0) / 2.0);
    near(answer.baselines[1].1, (100.0 / 92.565 + 100.0 / 92.4) / 2.0 - 1.0);
    let edr = &answers("[[row]]\nprotocol = 'ib-edr'\ngbps = 96.76\n")[0];
    near(edr.parameters[0].value, 96.76 / 99.345);
    assert_eq!(edr.parameters[0].name, "link efficiency");
    let said = ["message is not given: 65536 assumed", "path_mtu is not given: 4096 assumed"];
    assert_eq!(edr.remarks, said);
    assert_eq!(edr.mean_error().map(|(_, n)| n), Some(1));
    near(edr.mean_error().expect("one").0, 99.345 / 96.76 - 1.0);
    assert_eq!(edr.mean_error(), edr.mean_error_left_out());
    assert_eq!(edr.mean_error(), edr.mean_error_uncalibrated());
}

const NTOP: &str = "[extra]\nrule_gb_s = 10.0\npch_slot_mpps = 12.0\n";

/// 200 cycles and 200 bytes of waiting a packet, where nothing is fitted; the wire has 14.88 M.
#[test]
fn a_core_waits_for_its_clock_and_for_memory() {
    let rows = "[[row]]\nserver = 'a'\nmem_mb_s = 11000\ncpu_turbo_ghz = 3.4\nmpps = 14.0\n\
        wire_rate = 'yes'\n[[row]]\nserver = 'b'\nmem_mb_s = 5000\ncpu_base_ghz = 2.0\n\
        mpps_below = 5.0\nwire_rate = 'no'\n[[row]]\nmem_mb_s = 50000\ncpu_turbo_ghz = 5.0\n\
        wire_rate = 'yes'\n[[row]]\nserver = 'd'\nmem_mb_s = 1000\nwire_rate = 'no'\n";
    let answer = answers(&format!("{NTOP}{rows}")).remove(0);
    assert_eq!(answer.question, "smallest packets by poll mode");
    let [a, b, c, d, slot] = answer.cells.as_slice() else { panic!("{:?}", answer.cells) };
    near(a.predicted.expect("a"), 1e3 / (200.0 / 3.4 + 200.0 / 11.0));
    let (value, low, high) = a.uncalibrated.expect("a");
    assert_eq!((Some(value), a.left_out), (a.predicted, None));
    near(low, value / 1.5);
    near(high, 14.88095);
    assert_eq!((a.kind, a.bottleneck.as_str()), (Kind::Fitted, "CPU waiting for memory"));
    assert_eq!(a.says, "wire rate: published yes, rule yes, model no");
    near(b.predicted.expect("b"), 1e3 / 140.0);
    assert_eq!((b.kind, b.published), (Kind::NotPredicted, None));
    assert_eq!(b.says, "wire rate: published no, rule no, model no");
    near(c.predicted.expect("c"), 14.88095);
    assert_eq!(c.bottleneck, "wire");
    let (_, _, high) = b.uncalibrated.expect("b");
    near(high, 1e3 / 84.0);
    let gap =
        "neither clock nor rate of memory is given; wire rate: published no, rule no, model -";
    assert_eq!((d.says.as_str(), d.predicted), (gap, None));
    // 5 GT/s x4 with 128 B: 16 Gb/s less 16 of 124 symbols and 4 of 1538.
    let bytes = 2e3 * (1.0 - 16.0 / 124.0 - 4.0 / 1538.0);
    near(slot.predicted.expect("sent"), bytes / 126.5);
    near(slot.low.expect("received"), bytes / 148.0);
    near(slot.high.expect("batched"), bytes / 99.375);
    assert_eq!((slot.published, slot.kind), (Some(12.0), Kind::Prediction));
    assert_eq!(slot.bottleneck, "chipset's uplink");
    let names: Vec<(&str, f64)> = answer.parameters.iter().map(|p| (p.name, p.value)).collect();
    assert_eq!(names, [("c", 200.0), ("B", 200.0)]);
    assert_eq!(answer.parameters[0].from, "assumed");
    near(answer.baselines[0].1, 14.88095 / 14.0 - 1.0);
    let said =
        "not explained: b, cpu_base_ghz 2.0, mpps_below 5.0: below 5 and not 7.1 M packets/s";
    let right = "verdicts on wire rate that are right: rule 4 of 4, model 3 of 4";
    assert_eq!(answer.remarks, [said, right]);
    let servers: Vec<(&str, &str)> =
        answer.servers.iter().map(|one| (one.server.as_str(), one.verdict.word())).collect();
    let [a, b, c, d, slot] = servers.as_slice() else { panic!("{servers:?}") };
    assert_eq!([*a, *b], [("a", "no"), ("b", "no")]);
    assert_eq!((c.1, *d), ("yes", ("d", "unknown")));
    assert_eq!(*slot, ("a slot behind the chipset", "no"));
    let slot = &answer.servers[4];
    assert_eq!(slot.verdict.to_string(), "no: chipset slot, 11.7 to 13.7 M/s");
    assert_eq!(
        (slot.slot.as_str(), slot.said.as_str(), slot.rule),
        ("behind the chipset", "no", None)
    );
}

/// Rows that were made with 150 cycles and 300 bytes give them back.
#[test]
fn cycles_and_waiting_are_fitted_where_there_are_rows_enough() {
    let rows = [(2.0, 10.0), (2.4, 6.0), (3.4, 9.0), (4.0, 8.0), (3.0, 5.0)];
    let mpps = |clock: f64, memory: f64| 1e3 / (150.0 / clock + 300.0 / memory);
    let text: String = rows
        .map(|(clock, memory)| {
            let mpps = mpps(clock, memory);
            format!("[[row]]\nmem_mb_s = {}\ncpu_base_ghz = {clock}\nmpps = {mpps}\n", memory * 1e3)
        })
        .concat();
    let answer = answers(&text).remove(0);
    let [c, b] = answer.parameters.as_slice() else { panic!("{:?}", answer.parameters) };
    assert!((c.value - 150.0).abs() < 0.5 && (b.value - 300.0).abs() < 1.0, "{c:?} {b:?}");
    assert_eq!(c.from, "fitted on these rows");
    for cell in &answer.cells {
        assert!(cell.error().expect("both").abs() < 1e-3, "{cell:?}");
        assert!(cell.off(cell.left_out).expect("both").abs() < 1e-2, "{cell:?}");
        assert!(cell.low <= cell.predicted && cell.predicted <= cell.high, "{cell:?}");
    }
    let wire = rows.map(|(clock, memory)| 14.88095 / mpps(clock, memory) - 1.0);
    assert_eq!(answer.baselines[1].0, "rate of the wire");
    near(answer.baselines[1].1, wire.iter().sum::<f64>() / 5.0);
}

const CASCADE: &str = "[system]\ncpu = 'Xeon Platinum 8280'\nmts = 2933\nlink_gbps = 100\n";

/// Nothing fitted: 8 x 0.71 x 23.464 / 2 = 66.638 Gb/s a channel, and the wire above.
#[test]
fn kernel_sockets_have_the_narrowest_set_or_the_wire() {
    let of = |rows: &str| {
        let mut all = answers(&format!("{CASCADE}{rows}"));
        assert_eq!(all[0].question, "kernel sockets by memory population");
        all.remove(0)
    };
    let answer = of("[[row]]\ndimms = 1\ntcp_gbps = 60.0\n[[row]]\ndimms = 6\nudp_gbps = 90.0\n");
    let [one, six] = answer.cells.as_slice() else { panic!("{:?}", answer.cells) };
    near(one.predicted.expect("a figure"), 66.6378);
    assert_eq!(one.bottleneck, "memory: the narrowest interleave set");
    assert_eq!(one.says, "sets of 1, controllers differ");
    let (value, low, high) = one.uncalibrated.expect("a range");
    assert_eq!((one.low, one.high, one.predicted), (Some(low), Some(high), Some(value)));
    // m is drawn from 1.5 to 3: about 0.71 / 2.85 and 0.71 / 1.65 of 187.7 Gb/s at the ends.
    assert!((45.0..48.0).contains(&low) && (79.0..83.0).contains(&high), "{low} {high}");
    near(six.predicted.expect("a figure"), 96.159);
    assert_eq!(six.bottleneck, "wire, under the kernel's ceiling");
    assert_eq!((six.says.as_str(), six.kind), ("sets of 6, controllers equal", Kind::Prediction));
    near(answer.baselines[1].1, (94.1482 / 60.0 + 96.159 / 90.0) / 2.0 - 1.0);
    let names: Vec<&str> = answer.parameters.iter().map(|one| one.name).collect();
    assert_eq!(names, ["eta", "kappa", "m"]);
    // On two processors a quarter is on the other's memory, where it has any.
    let two = of("[[row]]\nsockets = 2\ndimms = 2\ntcp_gbps = 60.0\nmtu = 9000\n");
    near(two.cells[0].predicted.expect("a figure"), 66.6378 / 0.75);
    assert_eq!(
        two.cells[0].says,
        "sets of 1, controllers differ; other socket sets of 1, controllers differ"
    );
    let three = of(
        "[[row]]\nchannels = [[[1, 1, 0], [1, 0, 0]], [[0, 0, 0], [0, 0, 0]]]\ntcp_gbps = 60.0\n",
    );
    assert_eq!(three.cells[0].says, "sets of 2+1, controllers differ; other socket no memory");
    near(three.cells[0].predicted.expect("a figure"), 66.6378);
    let gap = |rows: &str| of(rows).cells[0].says.clone();
    assert!(gap("[[row]]\nchannels = [1]\ntcp_gbps = 60.0\n").starts_with("`channels` is sockets"));
}

/// Rows made with kappa 0.9, m 2.4, and a tenth of UDP's traffic in the wider set.
#[test]
fn populations_give_back_what_made_them() {
    let sets = [(1.0, false), (2.0, false), (1.0, true), (4.0, false), (1.0, true), (6.0, false)];
    let text: String = sets
        .iter()
        .enumerate()
        .map(|(at, (ways, wider))| {
            let memory: f64 = 8.0 * 0.71 * ways * 23.464 / 2.4;
            let tcp = memory.min(0.9 * 94.1482);
            let udp = (memory / if *wider { 0.9 } else { 1.0 }).min(0.9 * 96.159);
            format!("[[row]]\ndimms = {}\ntcp_gbps = {tcp}\nudp_gbps = {udp}\n", at + 1)
        })
        .collect();
    let answer = answers(&format!("{CASCADE}{text}")).remove(0);
    let of = |name: &str| answer.parameters.iter().find(|p| p.name == name).expect("one").value;
    let found = [of("kappa"), of("m"), of("g"), of("r"), of("q")];
    for (is, want) in found.into_iter().zip([0.9, 2.4, 1.0, 0.1, 0.0]) {
        assert!((is - want).abs() < 3e-3, "{found:?}");
    }
    assert!(answer.cells.iter().all(|cell| cell.kind == Kind::Fitted && cell.left_out.is_some()));
    assert!(answer.mean_error().expect("cells").0 < 1e-3, "{answer:?}");
    assert!(answer.mean_error_left_out().expect("cells").0 < 1e-2);
    assert!(answer.remarks.is_empty(), "{:?}", answer.remarks);
    assert!(answer.cells.iter().all(|cell| cell.low < cell.high && cell.low <= cell.predicted));
}

#[test]
fn single_figures_are_what_their_quantity_declares() {
    let of = |rows: &[(&str, &str, &str)]| {
        let row = |(name, value, more): &(&str, &str, &str)| {
            format!("[[row]]\nname = '{name}'\nvalue = {value}\n{more}\n")
        };
        let answer = answers(&rows.iter().map(row).collect::<String>()).remove(0);
        assert_eq!(answer.question, "single figures");
        assert_eq!(answer.mean_error(), None);
        answer
    };
    let check = |cell: &Comparison, want: f64, kind: Kind| {
        near(cell.predicted.expect("a figure"), want);
        assert_eq!(cell.kind, kind, "{}", cell.row);
    };
    // Local memory takes 80.8 ns where the other socket's takes 140.4.
    let dell = of(&[
        ("a", "-0.3", "quantity = 'latency-change'"),
        ("b", "0.24", "quantity = 'throughput-gain'\ncalibrates = true"),
        ("c", "0.5", "quantity = 'throughput-gain'"),
        ("d", "0.46", "quantity = 'receiver-cpu'\nremote = 0.8"),
        ("e", "0.0", "quantity = 'sender-cpu-change'"),
    ]);
    check(&dell.cells[0], -0.424_501, Kind::Consistency);
    check(&dell.cells[1], 0.325 * (140.4 / 80.8 - 1.0), Kind::Calibration);
    check(&dell.cells[2], 0.325 * (140.4 / 80.8 - 1.0), Kind::Prediction);
    check(&dell.cells[3], 0.8 * 80.8 / 140.4, Kind::Prediction);
    check(&dell.cells[4], 0.0, Kind::Consistency);
    assert_eq!(dell.remarks, ["not explained: c: 0.5 and not 0.240"]);
    let osu = of(&[
        (
            "a",
            "0.35",
            "quantity = 'share-of-link'\nbus_gb_s = 3.2\nlink_gbps = 10\ncalibrates = true",
        ),
        ("b", "'PCI-X I/O bus'", "quantity = 'bottleneck'\npcix_mhz = 133\nlink_gbps = 8"),
        ("c", "'PCI-X I/O bus'", "quantity = 'bottleneck'\npcix_mhz = 133\nlink_gbps = 2"),
    ]);
    check(&osu.cells[0], 3.2 * 8.0 * 0.55 / 4.0 / 10.0, Kind::Calibration);
    // 64 bits at 133 MHz, 512 of 572 clocks with data: less than four lanes of 2 Gb/s.
    let limit = &osu.cells[1];
    assert_eq!((limit.bottleneck.as_str(), limit.predicted), ("PCI-X", None));
    assert!(limit.says.starts_with("PCI-X reads 7.62 Gb/s"), "{limit:?}");
    assert_eq!(osu.cells[2].bottleneck, "wire");
    // 1440 of 1538 bytes with 1500, 8940 of 9038 with 9000.
    let jumbo = of(&[("a", "90", "quantity = 'jumbo-time'\nbefore = 100")]);
    let (low, cell) = (100.0 * (1440.0 / 1538.0) / (8940.0 / 9038.0), &jumbo.cells[0]);
    near(cell.low.expect("low"), low);
    check(cell, (100.0 + low) / 2.0, Kind::Prediction);
    assert_eq!((cell.high, cell.bottleneck.as_str()), (Some(100.0), "wire"));
    assert_eq!(jumbo.remarks.len(), 1, "90 is below the range");
}

/// Names that the papers' tables have: without a quantity nothing is known of them, and what lacks
/// a field is told which.
#[test]
fn no_name_of_a_single_figure_decides_anything() {
    for name in ["latency_change_vs_remote_os", "rdma_memory_ratio", "vasp_mtu9000"] {
        let cell = answers(&format!("[[row]]\nname = '{name}'\nvalue = 1.0\n")).remove(0).cells;
        assert_eq!((cell[0].predicted, cell[0].kind), (None, Kind::NotPredicted), "{name}");
        assert_eq!(cell[0].says, "its row declares no quantity");
    }
    let row = |more: &str| answers(&format!("[[row]]\nname = 'x'\nvalue = 1.0\n{more}\n"));
    let lacks = row("quantity = 'jumbo-time'").remove(0).cells;
    assert_eq!(lacks[0].says, "'jumbo-time' needs the field before");
    let unknown = row("quantity = 'speed'").remove(0).cells;
    assert_eq!(unknown[0].says, "the model has no quantity 'speed'");
}

#[test]
fn files_are_read_with_their_mistakes_told() {
    let wrong =
        |text: &str| Table::parse("t", text).err().map_or_else(String::new, |why| why.to_string());
    assert!(wrong("a = 1\n").contains("no field is called 'a'"));
    assert!(wrong("[[row]]\nvalue = 1\n\n[[row\n").starts_with("t, line 4: "));
    assert_eq!(wrong("[system]\ncpu = 'x'\n"), "t has no [[row]]");
    assert_eq!(wrong("system = 1\n"), "t: the file: system is not a section");
    assert_eq!(wrong("row = [1]\n"), "t: row 1: it is not a section");
    assert!(wrong("[extra]\nrules = 1\n[[row]]\ngbps = 1\n").contains("[extra]: no field"));
    assert!(wrong("[extra]\nrule_gb_s = 'x'\n[[row]]\ngbps = 1\n").contains("is not a number"));
    assert!(wrong("[extra]\npch_slot_mpps = 0\n[[row]]\ngbps = 1\n").contains("pch_slot_mpps = 0"));
    assert!(wrong("[[row]]\ntimestamps = 1\n").contains("neither true nor false"));
    assert!(wrong("[[row]]\ncpu = 1\n").contains("is not a text"));
    assert!(wrong("[[row]]\nvalue = true\n").contains("neither a number nor a text"));
    assert!(wrong("[[row]]\nvalue = inf\n").contains("neither a number nor a text"));
    assert_eq!(wrong("[[row]]\nvalue = 'PCI-X'\nname = 'a'\n"), "");
    assert!(wrong("[[row]]\nchannels = 97\n").contains("channels = 97"));
    assert!(wrong("[[row]]\nupi_links = 9\n").contains("upi_links = 9"));
    assert!(wrong("[[row]]\nupi_gt_s = 101\n").contains("upi_gt_s = 101"));
    assert!(wrong("[[row]]\nxyzzyplugh = 1\n").ends_with("no field is called 'xyzzyplugh'"));
    let rest =
        &answers("[[row]]\npcie_gen = 3\ngbps = 1\n[[row]]\nlink_gbps = 1\nframe = 64\npps = 1\n");
    assert_eq!(rest.len(), 2);
    assert!(rest[1].remarks[0].ends_with("the fields of 1 of its 2 rows: gbps, pcie_gen"));
    let words = [Kind::Prediction, Kind::Fitted, Kind::Calibration, Kind::Consistency];
    let words = words.map(Kind::word);
    assert_eq!(words, ["prediction", "fitted", "calibration", "consistency"]);
    assert_eq!(Kind::NotPredicted.word(), "not predicted");
}

#[test]
fn rows_are_called_by_their_names_then_numbers_then_words() {
    let label = |row: &str| answers(&format!("[[row]]\n{row}\n"))[0].cells[0].row.clone();
    let wire = "mtu = 1500\nlink_gbps = 100\n";
    assert_eq!(label(&format!("{wire}cpu = 'x'\ntcp_gbps = 1")), "link_gbps 100, mtu 1500, cpu x");
    assert_eq!(
        label(&format!("{wire}protocol = 'tcp'\nnote = 'n'\nserver = 's'\ngbps = 1")),
        "s, tcp, link_gbps 100"
    );
    let latency = "utilisation = 0.5\nidle_ns = 80\nns = 1";
    assert_eq!(label(latency), "idle_ns 80, utilisation 0.5");
    let units = "[units]\nvalue = 'ns'\n[[row]]\nname = 'a'\nvalue = 1\nunit = 's'\n";
    assert_eq!(answers(units)[0].cells[0].unit, "s");
    let units = format!("[units]\ntcp_gbps = 'Gb/s'\n[[row]]\n{wire}tcp_gbps = 1\n");
    assert_eq!(answers(&units)[0].cells[0].unit, "Gb/s");
}

/// A row with streams asks the engine with what it tells, and nothing else.
#[test]
fn tcp_by_processor_is_the_engines_answer() {
    let row = |more: &str| {
        let row = format!(
            "cpu = 'Intel Xeon Gold 6128'\nlink_gbps = 100\nstreams = 1\ntcp_gbps = 40.0\n{more}"
        );
        one(&row)
    };
    let (question, cell) = row("mtu = 9000\ncpu_turbo_ghz = 3.4");
    assert_eq!(question, "TCP by processor and streams");
    // 0.56 cycles a byte, 300 a packet of 8948 B, 1500 a message of 64 KiB; the wire is far.
    let cycles = 0.56 + 300.0 / 8948.0 + 1500.0 / 65_536.0;
    let value = cell.predicted.expect("a figure");
    assert!((value / (8.0 * 3.4 / cycles) - 1.0).abs() < 0.01, "{cell:?}");
    assert_eq!((cell.bottleneck.as_str(), cell.kind), ("cpu", Kind::Prediction));
    assert!(cell.low < cell.predicted && cell.predicted < cell.high, "{cell:?}");
    assert_eq!(row("calibrates = true").1.kind, Kind::Calibration);
    assert!(row("").1.predicted < Some(value), "packets of 1448 B cost more");
}
