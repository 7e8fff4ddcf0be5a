//! Every importer on a text whose every figure, unit, level and failure is known: what a tool
//! counts in bits stays bits, megabytes are those that the tool means.

use narrows_interop::import::{TOOLS, Unrecognised, recognise, tool};
use narrows_model::units::Unit;

/// `kind [factor=level ...] name=value unit ...! why it failed`, a line a run, after the version.
fn read(name: &str, text: &str) -> Vec<String> {
    assert_eq!(recognise(text).expect("a known tool").name, name);
    let output = (tool(name).expect("a tool").parse)(text).expect("runs");
    let mut lines = vec![output.version.unwrap_or_else(|| "-".to_owned())];
    for run in output.runs {
        let levels: Vec<String> =
            run.levels.iter().map(|at| format!("{}={}", at.factor, at.level)).collect();
        let mut line = format!("{} [{}]", run.kind, levels.join(" "));
        for figure in run.figures {
            let unit = match figure.unit {
                Unit::BitsPerSecond => "b/s",
                Unit::BytesPerSecond => "B/s",
                Unit::Nanos => "ns",
                Unit::PerSecond => "/s",
                Unit::Share => "share",
                _ => "?",
            };
            let value = (figure.value * 1e9).round() / 1e9;
            line += &format!(" {}={value} {unit}", figure.name);
        }
        if let Some(why) = run.failed {
            line += &format!(" ! {why}");
        }
        lines.push(line);
    }
    lines
}

#[test]
fn tools_are_found_by_name_and_by_nothing_else() {
    for one in TOOLS {
        assert_eq!(tool(one.name).expect("itself").name, one.name);
    }
    assert!(tool("netpipe").is_none());
    let names: Vec<&str> = TOOLS.iter().map(|tool| tool.name).collect();
    assert!(names.is_sorted() && names.len() == 18, "{names:?}");
    let both = "%TX %RX\nsockperf: Summary: x\n";
    let error = recognise(both).err().expect("two tools");
    assert_eq!(error, Unrecognised::Several(vec!["nuttcp", "sockperf"]));
}

#[test]
fn mbw_in_mebibytes() {
    let text = "0\tMethod: MEMCPY\tElapsed: 0.01\tMiB: 64.00000\tCopy: 4096.000 MiB/s\n\
        1\tMethod: DUMB\tElapsed: 0.01\tMiB: 64.00000\tCopy: 1.000 MiB/s\n\
        AVG\tMethod: MEMCPY\tElapsed: 0.01\tMiB: 64.00000\tCopy: 4328.712 MiB/s\n";
    assert_eq!(
        read("mbw", text),
        [
            "-",
            "memory-copy-once [method=MEMCPY MiB=64] bytes copied=4294967296 B/s",
            "memory-copy-once [method=DUMB MiB=64] bytes copied=1048576 B/s",
        ]
    );
}

#[test]
fn likwid_names_kernels_by_what_they_do() {
    let one = |test: &str| {
        let text = format!(
            "Test: {test}\nUsing 1 work groups\nUsing 4 threads\nIterations per thread:\t512\n\
             Size (Byte):\t\t64000000\nMByte/s:\t\t24382.5\n"
        );
        read("likwid-bench", &text)[1].clone()
    };
    let rest = "threads=4 size=64000000] rate=24382500000 B/s";
    assert_eq!(one("load_avx"), format!("memory-read [test=load_avx {rest}"));
    assert_eq!(one("store"), format!("memory-write [test=store {rest}"));
    assert_eq!(one("stream_mem"), format!("memory-triad [test=stream_mem {rest}"));
    assert_eq!(one("copy"), format!("memory-copy [test=copy {rest}"));
    assert!((tool("likwid-bench").expect("tool").parse)("MByte/s: 1\n").is_err());
}

#[test]
fn stream_in_megabytes_and_unvalidated_is_a_failure() {
    let text = "Number of Threads counted = 2\nFunction    Best Rate MB/s  Avg time\n\
        Copy:   22548.2  0.0\nScale:  12548.2 0.0\nAdd: 13000.0 0.1\nTriad: 14000.0  0.1\n";
    let valid = format!("{text}Solution Validates: avg error less than 1.0e-13\n");
    assert_eq!(
        read("stream", &valid),
        [
            "-",
            "memory-copy [threads=2] best=22548200000 B/s",
            "memory-scale [threads=2] best=12548200000 B/s",
            "memory-add [threads=2] best=13000000000 B/s",
            "memory-triad [threads=2] best=14000000000 B/s",
        ]
    );
    let unsaid = read("stream", text);
    assert!(unsaid[1..].iter().all(|run| run.ends_with("! the solution does not validate")));
    let older = "Function Rate (MB/s)   RMS time\nCopy: 1.5 0.1\nTriad: 2.5 0.1\n";
    assert_eq!(read("stream", older)[2], "memory-triad [threads=1] best=2500000 B/s");
}

#[test]
fn sockperf_halves_round_trips_and_counts_nothing_that_was_only_sent() {
    let text = "sockperf: == version #3.7-no.git == \n[ 0] IP = 127.0.0.1 PORT = 1 # TCP\n\
        sockperf: Summary: Latency is 24.552 usec\n\
        sockperf: ---> percentile 99.000 =   46.408\nsockperf: ---> percentile 50.000 =   31.96\n";
    let figures = "median half round trip=31960 ns average half round trip=24552 ns \
                   99 % of half round trips=46408 ns";
    assert_eq!(read("sockperf", text), ["3.7-no.git", &format!("tcp-latency [] {figures}")]);
    let sent = "sockperf: # UDP\nsockperf: Summary: Message Rate is 684685 [msg/sec]\n";
    let why = "it reports what was sent, not what was received";
    assert_eq!(read("sockperf", sent)[1], format!("udp-message-rate [] sent=684685 /s ! {why}"));
    let error = "sockperf: ERROR: connect: refused\n";
    assert_eq!(read("sockperf", error)[1], "udp-latency [] ! sockperf: ERROR: connect: refused");
}

#[test]
fn netperf_prints_megabits_and_transactions() {
    let omni = "MIGRATED TCP REQUEST/RESPONSE TEST from 0.0.0.0 () port 0\n\
        Throughput,Throughput Units,50th Percentile\nLatency Microseconds,99th Percentile Latency \
        Microseconds\n2217.06,Trans/s,442,487\n\
        MIGRATED TCP STREAM TEST from 0.0.0.0 () port 0\n\
        Throughput,Throughput Units,50th Percentile Latency Microseconds\n93.5,10^6bits/s,7\n";
    assert_eq!(
        read("netperf", omni),
        [
            "-",
            "tcp-trips-rate [] transactions=2217.06 /s median round trip=442000 ns \
             99 % of round trips=487000 ns",
            "tcp-stream [] throughput=93500000 b/s median round trip=7000 ns",
        ]
    );
    let classic = |title: &str, rows: &str| {
        let head = "Recv   Send    Send\nbytes  bytes   bytes    secs.    10^6bits/sec\n\n";
        read("netperf", &format!("MIGRATED {title} TEST from 0.0.0.0 port 0\n{head}{rows}\n"))
    };
    let tcp = classic("TCP STREAM", "131072  16384  16384    10.00    9406.44");
    assert_eq!(tcp[1..], ["tcp-stream [] throughput=9406440000 b/s"]);
    // Of UDP's lines the first tells what was sent, the second what arrived.
    let udp = classic("UDP STREAM", "212992 65507 10.00 99999 0 5000.0\n212992 10.00 88 4000.0");
    assert_eq!(udp[1..], ["udp-stream [] throughput=4000000000 b/s"]);
    let titles = [
        ("TCP Connect/Request/Response", "tcp-connect-rate"),
        ("UDP REQUEST/RESPONSE", "udp-trips-rate"),
        ("TCP REQUEST/RESPONSE", "tcp-trips-rate"),
    ];
    for (title, kind) in titles {
        let text = format!(
            "MIGRATED {title} TEST from 0.0.0.0 port 0\nThroughput,Throughput Units\n5,Trans/s\n"
        );
        assert_eq!(read("netperf", &text)[1], format!("{kind} [] transactions=5 /s"));
        let json = serde_json::json!({ "a": [1, { "b": text }] }).to_string();
        assert_eq!(read("netperf", &json)[1], format!("{kind} [] transactions=5 /s"));
    }
}

#[test]
fn nuttcp_in_megabits_and_percent() {
    let text = " 1491.5000 MB /   1.00 sec = 12518.5 Mbps 97 %TX 29 %RX 0 retrans 0.05 msRTT\n   \
        11.9219 MB /   1.00 sec =  100.5 Gbps 99 %TX 1 %RX 4 / 1526 drop/pkt 0.25 %loss\n";
    assert_eq!(
        read("nuttcp", text),
        [
            "-",
            "tcp-stream [] rate=12518500000 b/s CPU of the transmitter=0.97 share \
             CPU of the receiver=0.29 share",
            "udp-stream [] rate=100500000000 b/s lost=0.0025 share \
             CPU of the transmitter=0.99 share CPU of the receiver=0.01 share",
        ]
    );
}

#[test]
fn iperf_takes_sums_once_and_servers_reports_for_datagrams() {
    let line = |id: i32, rate: u32, rest: &str| {
        format!("19700101000000,127.0.0.1,49580,127.0.0.1,5990,{id},0.0-1.0,100,{rate}{rest}\n")
    };
    let two = line(1, 23_000, "") + &line(2, 22_000, "");
    assert_eq!(read("iperf", &two)[1], "tcp-stream [streams=2] rate=45000 b/s");
    let sum = two.clone() + &line(-1, 46_000, "");
    assert_eq!(read("iperf", &sum)[1], "tcp-stream [streams=2] rate=46000 b/s");
    let told = line(1, 900, ",0.002,1,100,1.000,0");
    assert_eq!(read("iperf", &told)[1], "udp-stream [streams=1] rate=900 b/s");
    let lost = "! the server's report did not come: only what was sent is known";
    for count in ["0", "-1"] {
        let untold = line(1, 900, &format!(",0.000,0,{count},-0.000,0"));
        let wanted = format!("udp-stream [streams=1] sent=900 b/s {lost}");
        assert_eq!(read("iperf", &untold)[1], wanted);
    }
    let words = "Client connecting to 127.0.0.1, TCP port 5990\n[ ID] Interval\n\
        [  1] 0.0-1.0 sec  2.35 GBytes  20 Gbits/sec\n[  2] 0.0-1.0 sec  2 GBytes  10 Gbits/sec\n";
    assert_eq!(read("iperf", words)[1], "tcp-stream [streams=2] rate=30000000000 b/s");
    let sum = format!("{words}[SUM] 0.0-1.0 sec  4 GBytes  31 Gbits/sec\n");
    assert_eq!(read("iperf", &sum)[1], "tcp-stream [streams=2] rate=31000000000 b/s");
    let udp = "Client connecting to ::1, UDP port 5001\n[ ID] Interval\n\
        [  1] 0.0-1.0 sec  12.5 MBytes   105 Mbits/sec\n[  1] Server Report:\n\
        [  1] 0.0-1.0 sec  12.4 MBytes   104 Mbits/sec   0.002 ms 80/8921 (0.9%)\n";
    assert_eq!(read("iperf", udp)[1], "udp-stream [streams=1] received=104000000 b/s");
    let two = udp.replace("[  1] Server", "[  2] 0.0-1.0 sec 1 MBytes 100 Mbits/sec\n[  1] Server");
    assert_eq!(read("iperf", &two)[1], format!("udp-stream [streams=2] sent=205000000 b/s {lost}"));
    let none = "Client connecting to 127.0.0.1, TCP port 5990\n[ ID] Interval\n";
    assert!((tool("iperf").expect("tool").parse)(none).is_err());
}

#[test]
fn iperf3_counts_what_was_received() {
    let text = |test: &str, end: &str| {
        format!(
            r#"{{"start":{{"version":"iperf 3.12","test_start":{test}}},"intervals":[],
                "end":{{{end},"cpu_utilization_percent":{{"host_total":50.0,
                "remote_total":25.0}}}}}}"#
        )
    };
    let cpu = "CPU here=0.5 share CPU there=0.25 share";
    let tcp = text(
        r#"{"protocol":"TCP","num_streams":2,"blksize":131072,"reverse":1}"#,
        r#""sum_sent":{"bits_per_second":9e9},"sum_received":{"bits_per_second":8e9}"#,
    );
    let levels = "streams=2 length=131072 direction=reverse";
    let wanted = format!("tcp-stream [{levels}] received=8000000000 b/s sent=9000000000 b/s {cpu}");
    assert_eq!(read("iperf3", &tcp), ["3.12", &wanted]);
    let test = r#"{"protocol":"UDP","num_streams":1,"blksize":1460,"reverse":0}"#;
    let sum =
        r#""sum":{"bits_per_second":1e9,"lost_percent":10.0,"lost_packets":10,"packets":100}"#;
    let levels = "streams=1 length=1460";
    let wanted =
        |rate: u32| format!("udp-stream [{levels}] received={rate} b/s lost=0.1 share {cpu}");
    assert_eq!(read("iperf3", &text(test, sum))[1], wanted(900_000_000));
    let both = format!(r#"{sum},"sum_received":{{"bits_per_second":7e8}}"#);
    assert_eq!(read("iperf3", &text(test, &both))[1], wanted(700_000_000));
    // Some builds state the share and no counts.
    let share = r#""sum":{"bits_per_second":1e9,"lost_percent":10.0}"#;
    assert_eq!(read("iperf3", &text(test, share))[1], wanted(900_000_000));
    let none = r#""sum":{"bits_per_second":1e9,"lost_percent":10.0,"lost_packets":0,"packets":0}"#;
    assert_eq!(read("iperf3", &text(test, none))[1], wanted(900_000_000));
    let refused = r#"{"start":{"version":"iperf 3.12","test_start":{"num_streams":1}},
        "intervals":[],"end":{},"error":"Connection refused"}"#;
    assert_eq!(read("iperf3", refused)[1], "tcp-stream [streams=1] ! Connection refused");
}

#[test]
fn perftest_in_mebibytes_or_gigabits() {
    let bw = |unit: &str| {
        format!(
            "      RDMA_Write BW Test\n #bytes #iterations BW peak[{unit}] BW average[{unit}] \
             MsgRate[Mpps]\n 65536 5000 97.5 97.25 0.18\n 8 5000 2 1 0.1\n---\n"
        )
    };
    assert_eq!(
        read("perftest", &bw("Gb/sec")),
        [
            "-",
            "rdma-write [length=65536] average=97250000000 b/s peak=97500000000 b/s",
            "rdma-write [length=8] average=1000000000 b/s peak=2000000000 b/s",
        ]
    );
    let mib = "rdma-write [length=8] average=8388608 b/s peak=16777216 b/s";
    assert_eq!(read("perftest", &bw("MB/sec"))[2], mib);
    let latency = "  Send Latency Test\n #bytes #iterations t_min[usec] t_max[usec] \
        t_typical[usec] t_avg[usec]\n 8  1000  0.93  3.18  0.95  0.98\n";
    let wanted = "rdma-send-latency [length=8] typical=950 ns average=980 ns";
    assert_eq!(read("perftest", latency)[1], wanted);
    let empty = "  Send BW Test\n #bytes #iterations BW peak[MB/sec]\n---\n";
    assert_eq!(read("perftest", empty)[1], "rdma-send [] ! its table has no row");
    let json = |more: &str, row: &str| {
        let head = r#""test_info":{"test":"RDMA_Read BW Test"}"#;
        format!(r#"{{{head},{more}"results":{{"MsgSize":64,"n_iterations":10,{row}}}}}"#)
    };
    let rates = r#""BW_average":1.0,"BW_peak":2.0"#;
    let wanted = "rdma-read [length=64] average=8388608 b/s peak=16777216 b/s";
    assert_eq!(read("perftest", &json("", rates))[1], wanted);
    let gbits = json(r#""report_gbits": true,"#, rates);
    let wanted = "rdma-read [length=64] average=1000000000 b/s peak=2000000000 b/s";
    assert_eq!(read("perftest", &gbits)[1], wanted);
    let times = json("", r#""t_typical":1.5,"t_avg":2.5"#);
    let wanted = "rdma-read-latency [length=64] typical=1500 ns average=2500 ns";
    assert_eq!(read("perftest", &times)[1], wanted);
}

#[test]
fn hpcc_imb_and_qperf() {
    let hpcc = "Begin of Summary section.\nVersionMajor=1\nVersionMinor=5\nVersionMicro=0\n\
        StarSTREAM_Copy=5.5\nSingleSTREAM_Copy=11.25\nAvgPingPongLatency_usec=1.5\n\
        AvgPingPongBandwidth_GBytes=9\nEnd of Summary section.\n";
    assert_eq!(
        read("hpcc", hpcc),
        [
            "1.5.0",
            "memory-copy [processes=one] rate=11250000000 B/s",
            "memory-copy [processes=all] rate=5500000000 B/s",
            "mpi-pingpong-latency [length=8] average=1500 ns",
            "mpi-pingpong [length=2000000] average=72000000000 b/s",
        ]
    );
    let imb = "#    Intel(R) MPI Benchmarks 2019 Update 6, MPI-1 part\n# Benchmarking PingPong\n\
        #bytes #repetitions      t[usec]   Mbytes/sec\n  0    1000    0.61    0.00\n 1024 1000 \
        1.61 600.00\n\n# Benchmarking Bcast\n#bytes #repetitions t_min[usec] t_max[usec] \
        t_avg[usec]\n 64 1000 1 3 2\n\n# All\n";
    assert_eq!(
        read("imb", imb),
        [
            "2019 Update 6",
            "mpi-pingpong-latency [length=0] time=610 ns rate=0 b/s",
            "mpi-pingpong-latency [length=1024] time=1610 ns rate=4800000000 b/s",
            "mpi-bcast-latency [length=64] time=2000 ns",
        ]
    );
    let qperf = "tcp_bw:\n    bw  =  2 GB/sec\nrc_rdma_write_lat:\n    latency  =  4.5 us\n\
        udp_bw:\n    send_bw  =  3 GB/sec\n    recv_bw  =  1 GB/sec\nrc_bw:\n bw = 0 bytes/sec\n\
        ud_bw:\n\n";
    assert_eq!(
        read("qperf", qperf),
        [
            "-",
            "tcp-stream [] received=16000000000 b/s",
            "rc-rdma-write-latency [] one-way latency=4500 ns",
            "udp-stream [] received=8000000000 b/s",
            "rc-bw [] ! it states no received, or none above zero",
            "ud-bw [] ! it states no figure",
        ]
    );
}

#[test]
fn flent_osu_and_numademo() {
    let flent = r#"{"metadata":{"NAME":"tcp_nup","FLENT_VERSION":"2.1"},"x_values":[0,1,2],
        "results":{"Ping (ms) ICMP":[23.0,null,25.0,24.0],"TCP upload sum":[900.0,910.0,905.0],
        "TCP upload::1::tcp_cwnd":[1,2,3],"TCP upload::1":[300,100,200],"UDP x":[1]}}"#;
    let mut runs = read("flent", flent);
    runs.sort();
    assert_eq!(
        runs,
        [
            "2.1",
            "ping-latency [test=tcp_nup series=Ping (ms) ICMP] median=24000000 ns",
            "tcp-stream [test=tcp_nup series=TCP upload sum] median=905000000 b/s",
            "tcp-stream [test=tcp_nup series=TCP upload::1] median=200000000 b/s",
        ]
    );
    let osu = "# OSU MPI Bi-Directional Bandwidth Test v5.6.2\n# Size      Bandwidth (MB/s)\n\
        65536   12000.5\n131072 1\n";
    assert_eq!(
        read("osu", osu),
        [
            "5.6.2",
            "mpi-bi-directional-bandwidth [length=65536] rate=96004000000 b/s",
            "mpi-bi-directional-bandwidth [length=131072] rate=8000000 b/s",
        ]
    );
    let osu = "# OSU MPI Allgather Latency Test v5.6.2\n# Size Avg Latency(us)\n8 1.25\n";
    assert_eq!(read("osu", osu)[1], "mpi-allgather-latency [length=8] time=1250 ns");
    let demo = "memory with no policy memset Avg 858.5 MB/s Max 879.5 MB/s Min 834.5 MB/s\n\
        local memory STREAM Copy 1 MB/s Scale 2 MB/s Add 3 MB/s Triad 4 MB/s\n";
    assert_eq!(
        read("numademo", demo),
        [
            "-",
            "memory-memset [policy=memory with no policy] average=858500000 B/s \
             max=879500000 B/s min=834500000 B/s",
            "memory-copy [policy=local memory] best=1000000 B/s",
            "memory-scale [policy=local memory] best=2000000 B/s",
            "memory-add [policy=local memory] best=3000000 B/s",
            "memory-triad [policy=local memory] best=4000000 B/s",
        ]
    );
}

#[test]
fn published_columns_have_the_unit_of_their_name() {
    let text = "[source]\ntitle = 'x'\n[[row]]\nn = 1\nnote = 'u'\nprotocol = 'udp'\na_gbps = 1\n\
        b_mbps = 2\nc_gb_s = 3.5\nd_mb_s = 4\ne_us = 5\nf_ns = 6\ngbps = 7\n";
    let at = |protocol: &str| format!("n=1 protocol=udp protocol={protocol}");
    let mut runs = read("published", text);
    runs[1..].sort();
    assert_eq!(
        runs[1..],
        [
            format!("a-stream [{}] published=1000000000 b/s", at("A")),
            format!("b-stream [{}] published=2000000 b/s", at("B")),
            format!("e-latency [{}] published=5000 ns", at("E")),
            format!("f-latency [{}] published=6 ns", at("F")),
            format!("memory-c [{}] published=3500000000 B/s", at("C")),
            format!("memory-d [{}] published=4000000 B/s", at("D")),
            "stream [n=1 protocol=udp] published=7000000000 b/s".to_owned(),
        ]
    );
}
