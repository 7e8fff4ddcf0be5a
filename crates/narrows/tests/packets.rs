//! `narrows packets`: rings, a search against a path that limits, and what raw frames may not do.

mod common;

use common::bench::Bench;
use common::starved::patiently;
use common::{err, fails, folder, is_root, narrows, out, run, skip};
use serde_json::Value;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

fn json(output: &Output) -> Value {
    let failed = |error| panic!("{error}: {}\n{}", out(output), err(output));
    serde_json::from_str(&out(output)).unwrap_or_else(failed)
}

/// Between namespaces, by rings at both ends or at one: every packet comes, once, at each size that
/// the interface takes.
#[test]
fn rings_carry_every_packet_of_any_size() {
    if !is_root() {
        return skip("rings", "needs root for network namespaces");
    }
    patiently("rings", || {
        for (sender, receiver, length) in
            [("ring", "ring", "64"), ("ring", "recvmmsg", "9018"), ("xdp", "ring", "594")]
        {
            let mut command = narrows();
            command.args(["packets", "--sender", sender, "--receiver", receiver, "-J"]);
            command.args(["--size", length, "--rate", "3k", "-t", "0.5", "--repeats", "1"]);
            let output = run(command.arg("--out").arg(folder("packets-rings")));
            assert_eq!(output.status.code(), Some(0), "{}", err(&output));
            let result = &json(&output)["results"][0];
            assert_eq!(result["loss"]["lost_datagrams"], 0, "{result}");
            let rate = result["estimate"]["value"].as_f64().expect("a rate");
            assert!((2000.0..=3300.0).contains(&rate), "{sender}, {receiver}: {rate}");
            let by = |end: &str| result["effective"][end].as_str().expect("a way").to_owned();
            assert_eq!((by("sender"), by("receiver")), (sender.to_owned(), receiver.to_owned()));
        }
    });
}

/// AF_XDP sockets at both ends or at one: every packet comes, once, and no more was counted than
/// the interface carried.
#[test]
fn af_xdp_carries_every_packet_and_says_who_copied() {
    if !is_root() {
        return skip("af_xdp", "needs root for network namespaces");
    }
    patiently("af_xdp", || {
        for (sender, receiver, length) in [
            ("af-xdp", "af-xdp", "64"),
            ("af-xdp", "af-xdp", "1518"),
            ("af-xdp", "recvmmsg", "594"),
            ("xdp", "af-xdp", "64"),
        ] {
            let mut command = narrows();
            command.args(["packets", "--sender", sender, "--receiver", receiver, "-J"]);
            command.args(["--size", length, "--rate", "3k", "-t", "0.5", "--repeats", "1"]);
            command.args(["--flows", if sender == "xdp" { "4" } else { "1" }]);
            let output = run(command.arg("--out").arg(folder("packets-af-xdp")));
            assert_eq!(output.status.code(), Some(0), "{}", err(&output));
            let result = &json(&output)["results"][0];
            assert_eq!(result["loss"]["lost_datagrams"], 0, "{result}");
            assert_eq!(result["loss"]["duplicate_datagrams"], 0, "{result}");
            let verdict = &result["reconciled"][0]["verdict"]["verdict"];
            assert_eq!(verdict, "agrees", "{}", result["reconciled"]);
            let rate = result["estimate"]["value"].as_f64().expect("a rate");
            assert!((2000.0..=3300.0).contains(&rate), "{sender}, {receiver}: {rate}");
            let by = |end: &str| result["effective"][end].as_str().expect("a way").to_owned();
            // A veth pair has no zero-copy.
            let said = |way: &str| if way == "af-xdp" { "af-xdp-copy" } else { way }.to_owned();
            assert_eq!((by("sender"), by("receiver")), (said(sender), said(receiver)));
        }
    });
}

/// A queue has one socket, and a chunk of memory one frame.
#[test]
fn af_xdp_says_what_an_interface_cannot_do() {
    if !is_root() {
        return skip("af_xdp_refuses", "needs root for network namespaces");
    }
    for (words, code, says) in [
        ("--sender xdp --imix", 2, "xdp repeats one frame, and imix has three sizes"),
        ("--sender af-xdp -P 2", 5, "af-xdp needs a queue for each of 2 threads"),
        ("--sender af-xdp --size 9018", 5, "af-xdp sends frames of up to 4100 B"),
        (
            "--sender ring --receiver af-xdp --size 9018",
            5,
            "af-xdp receives frames of up to 3844 B",
        ),
    ] {
        let mut command = narrows();
        command.args(["packets", "-t", "0.1", "--repeats", "1", "--rate", "1k"]);
        command.args(words.split(' ')).arg("--out").arg(folder("packets-af-xdp-refused"));
        fails(&mut command, code, says);
    }
}

/// Two threads that send have a queue each, and of two that receive each takes a queue of the two,
/// whosever packets come by it.
#[test]
fn af_xdp_takes_all_queues_of_an_interface() {
    if !is_root() {
        return skip("af_xdp_queues", "needs root for network namespaces");
    }
    let bench = Bench::new(&[]);
    for place in [&bench.here, &bench.there] {
        let interface = Bench::interface(place);
        if Bench::inside(place, &format!("ethtool -L {interface} rx 2 tx 2")).is_none() {
            return skip("af_xdp_queues", "ethtool is not there, or the host has one CPU");
        }
    }
    let nic = Bench::interface(&bench.here);
    patiently("af_xdp_queues", || {
        for ways in ["--sender af-xdp", "-R --sender sendmmsg --receiver af-xdp"] {
            let words = format!("-P 2 {ways} --rate 4k -t 0.5 --repeats 1 -J --nic {nic}");
            let words: Vec<&str> = words.split(' ').collect();
            let output = run(&mut bench.narrows("packets", &words));
            let result = &json(&output)["results"][0];
            assert_eq!(result["loss"]["lost_datagrams"], 0, "{ways}: {result}");
            let rate = result["estimate"]["value"].as_f64().expect("a rate");
            assert!((2800.0..=4400.0).contains(&rate), "{ways}: {rate}");
        }
    });
}

/// What is dropped before the interface is missing where AF_XDP counts, and no more is.
#[test]
fn a_drop_is_seen_by_af_xdp() {
    if !is_root() {
        return skip("af_xdp_drop", "needs root for network namespaces");
    }
    let bench = Bench::new(&[]);
    let (nic, far) = (Bench::interface(&bench.here), Bench::interface(&bench.there));
    for words in [
        "add table netdev packets".to_owned(),
        format!(
            "add chain netdev packets out {{ type filter hook egress device {far} priority 0 ; }}"
        ),
        "add rule netdev packets out udp length 26 limit rate over 1000/second drop".to_owned(),
    ] {
        if Bench::inside(&bench.there, &format!("nft {words}")).is_none() {
            return skip("af_xdp_drop", "nft is not there, or knows no egress");
        }
    }
    patiently("af_xdp_drop", || {
        let words = "-R --receiver af-xdp --sender sendmmsg --rate 4k -t 0.5 --repeats 1 -J --nic";
        let words: Vec<&str> = words.split(' ').chain([nic.as_str()]).collect();
        let output = run(&mut bench.narrows("packets", &words));
        let loss = &json(&output)["results"][0]["loss"];
        let figure = |key: &str| loss[key].as_u64().unwrap_or_else(|| panic!("{key}: {loss}"));
        let (came, lost) = (figure("received_datagrams"), figure("lost_datagrams"));
        let share = lost as f64 / (came + lost) as f64;
        assert!((0.55..0.9).contains(&share), "three quarters are dropped: {loss}");
        assert_eq!(loss["duplicate_datagrams"], 0, "{loss}");
    });
}

/// A mix comes whole by each way that has one, and its bytes are those that the interface carried.
#[test]
fn a_mix_of_sizes_comes_whole() {
    if !is_root() {
        return skip("imix", "needs root for network namespaces");
    }
    patiently("imix", || {
        for ways in ["", "--sender ring --receiver ring", "--sender af-xdp --receiver af-xdp"] {
            let mut command = narrows();
            command.args(["packets", "--imix", "--flows", "4", "--rate", "3k", "-t", "0.5", "-J"]);
            command.args(ways.split_whitespace()).args(["--repeats", "1"]);
            let output = run(command.arg("--out").arg(folder("packets-imix")));
            assert_eq!(output.status.code(), Some(0), "{}", err(&output));
            let result = &json(&output)["results"][0];
            assert_eq!(result["loss"]["lost_datagrams"], 0, "{result}");
            let run = &result["reconciled"][0];
            assert_eq!(run["verdict"]["verdict"], "agrees", "{run}");
            // 3790 B of payload in twelve packets; a window may cut a turn of each flow.
            let came = result["estimate"]["value"].as_f64().expect("a rate") * 0.5;
            let bytes = run["sides"][0]["counted"].as_f64().expect("bytes");
            let off = (bytes - came * 3790.0 / 12.0).abs();
            assert!(came > 500.0 && off < 8.0 * 1472.0, "{ways}: {bytes} of {came}");
        }
    });
}

/// Behind an interface that takes no large packets the twelfth of a mix is missing, and no other.
#[test]
fn a_small_mtu_costs_the_mix_its_twelfth() {
    if !is_root() {
        return skip("imix_mtu", "needs root for network namespaces");
    }
    let bench = Bench::new(&[]);
    let nic = Bench::interface(&bench.here);
    Bench::inside(&bench.here, &format!("ip link set {nic} mtu 1000")).expect("ip");
    patiently("imix_mtu", || {
        let words = "--imix -R --receiver af-xdp --sender sendmmsg --rate 4k -t 0.5 --repeats 1 -J";
        let words: Vec<&str> = words.split(' ').chain(["--nic", &nic]).collect();
        let output = run(&mut bench.narrows("packets", &words));
        let loss = &json(&output)["results"][0]["loss"];
        let figure = |key: &str| loss[key].as_u64().unwrap_or_else(|| panic!("{key}: {loss}"));
        let (came, lost) = (figure("received_datagrams"), figure("lost_datagrams"));
        let all = came + lost;
        assert!(all > 300 && lost.abs_diff(all / 12) <= 2, "one of twelve: {loss}");
    });
}

/// Both ways at once: each direction has its packets, and together they are the figure.
#[test]
fn both_ways_at_once_are_counted_each() {
    if !is_root() {
        return skip("both_ways", "needs root for network namespaces");
    }
    patiently("both_ways", || {
        for (sender, receiver) in [("ring", "ring"), ("af-xdp", "af-xdp"), ("sendmmsg", "xdp")] {
            let mut command = narrows();
            command.args(["packets", "--bidirectional", "--rate", "3k", "-t", "0.5", "-J"]);
            command.args(["--sender", sender, "--receiver", receiver, "--repeats", "1"]);
            let output = run(command.arg("--out").arg(folder("packets-both")));
            assert_eq!(output.status.code(), Some(0), "{}", err(&output));
            let result = &json(&output)["results"][0];
            assert_eq!(result["loss"]["lost_datagrams"], 0, "{result}");
            let figure = |of: &Value| of["value"].as_f64().expect("a rate");
            let (all, back) = (figure(&result["estimate"]), figure(&result["back"]));
            assert_eq!(result["back"]["unit"], "packet/s");
            assert!((4000.0..=6600.0).contains(&all), "{sender}, {receiver}: {all}");
            assert!((1800.0..=3300.0).contains(&back), "{sender}, {receiver}: {back} of {all}");
            assert!((1800.0..=3300.0).contains(&(all - back)), "{back} of {all}");
            let sides = result["reconciled"][0]["sides"].as_array().expect("sides");
            assert_eq!(sides.len(), 2, "both ends receive: {sides:?}");
        }
    });
}

/// A policer lets 2,000 packets through in a second, and 200 at once: nothing above it passes, and
/// the answer is the path's and not the sender's.
#[test]
fn a_search_ends_at_what_the_path_lets_through() {
    if !is_root() {
        return skip("zero_loss", "needs root for network namespaces");
    }
    let bench = Bench::new(&[]);
    let interface = Bench::interface(&bench.there);
    let chain = format!("{{ type filter hook ingress device {interface} priority 0 ; }}");
    // Eighteen bytes of payload and UDP's eight: nothing but what is searched with.
    let rule = "udp length 26 limit rate over 2000/second burst 200 packets drop";
    for words in [
        "add table netdev packets".to_owned(),
        format!("add chain netdev packets in {chain}"),
        format!("add rule netdev packets in {rule}"),
    ] {
        if Bench::inside(&bench.there, &format!("nft {words}")).is_none() {
            return skip("zero_loss", "nft is not there");
        }
    }
    patiently("zero_loss", || {
        let words = "--zero-loss --rate 50k --loss 10 --resolution 30 --runs-max 40 -t 0.3 \
                     --sender sendmmsg -J --nic";
        let words: Vec<&str> = words.split_whitespace().chain([interface.as_str()]).collect();
        let nic = Bench::interface(&bench.here);
        let words = [&words[..words.len() - 1], &[nic.as_str()]].concat();
        let mut command = bench.narrows("packets", &words);
        command.args(["--fail-if", "packets.throughput < 150 packet/s"]);
        command.args(["--fail-if", "64 B.throughput < 6000 packet/s"]);
        let output = run(&mut command);
        let search = &json(&output)["searches"][0];
        let figure = |key: &str| search[key].as_f64().unwrap_or_else(|| panic!("{key}: {search}"));
        let (passes, loses) =
            (figure("passes_packets_per_second"), figure("loses_packets_per_second"));
        // A tenth may be lost, and the bucket is a third of what a window of 0.3 s lets through.
        let most = 2000.0 / 0.9 * (1.0 + 200.0 / 600.0);
        assert!(passes <= most && loses > passes, "{search}");
        assert!(loses <= 2.0 * most && passes > 200.0, "{search}");
        // Judged by what was found, and not by each rate that was tried: some pass and some lose.
        let (code, says) = (output.status.code(), err(&output));
        assert_eq!(code, Some(1), "{says}");
        for judged in ["passed: fail-if: packets.throughput < 150", "failed: fail-if: 64 B.th"] {
            assert!(says.contains(judged), "{says}");
        }
    });
}

/// Before anything is measured: what cannot be judged of a search costs no time.
#[test]
fn a_search_is_asked_for_its_throughput() {
    let words = "packets --zero-loss --rate 10k --sender sendmmsg --fail-if";
    for (condition, says) in [
        ("packets.median < 1 Mpps", "speaks of no cell"),
        ("128 B.throughput < 1 Mpps", "speaks of no search"),
        ("packets.throughput < 1 Gbit/s", "is in packet/s"),
        ("packets.throughput < 1 kpps", "is no unit"),
    ] {
        if !is_root() {
            return skip("throughput", "needs root for network namespaces");
        }
        let mut command = narrows();
        command.args(words.split(' ')).arg(condition).arg("--out").arg(folder("packets-asked"));
        fails(&mut command, 2, says);
    }
    // Without a search there is none.
    let mut command = narrows();
    let words = ["packets", "--sender", "sendmmsg", "-t", "0.1", "--fail-if"];
    command.args(words).args(["packets.throughput < 1 Mpps", "--out"]);
    fails(command.arg(folder("packets-asked")), 2, "speaks of no search");
}

#[test]
fn without_namespaces_nothing_is_measured_in_their_stead() {
    if !is_root() {
        let mut command = narrows();
        let words = ["packets", "--zero-loss", "--rate", "10k", "--sender", "sendmmsg"];
        fails(command.args(words).arg("--out").arg(folder("packets-user")), 5, "namespace");
        return;
    }
    let script = "p=$(mktemp -d) && cp \"$0\" $p/narrows && chmod 755 $p && chmod 755 $p/narrows \
        && mkdir -m 777 $p/out && setpriv --reuid 65534 --regid 65534 --clear-groups $p/narrows \
        packets \"$@\" --out $p/out; c=$?; rm -rf $p; exit $c";
    for words in ["-t 0.1", "--zero-loss --rate 10k --sender sendmmsg -t 0.1"] {
        let mut command = Command::new("sh");
        command.args(["-c", script, env!("CARGO_BIN_EXE_narrows")]).args(words.split(' '));
        fails(command.env_remove("NARROWS_KEY"), 5, "namespace");
    }
}

#[test]
fn raw_frames_leave_only_as_a_user_says() {
    if !is_root() {
        return skip("raw_frames", "needs root for network namespaces");
    }
    let bench = Bench::new(&[]);
    let nic = Bench::interface(&bench.here);
    for sender in ["af-xdp", "ring", "xdp"] {
        let sender = ["--sender", sender, "-t", "0.1", "--repeats", "1"];
        let of = |words: &[&str], code: i32, says: &str| {
            fails(&mut bench.narrows("packets", &[&sender[..], words].concat()), code, says);
        };
        of(&["--rate", "1k"], 2, "raw packets need an interface");
        of(&["--nic", &nic], 2, "raw packets need a rate");
        for group in ["ff:ff:ff:ff:ff:ff", "01:00:5e:00:00:01"] {
            of(&["--nic", &nic, "--rate", "1k", "--mac", group], 5, "is a group address");
        }
        let other = "02:00:00:00:00:77";
        of(&["--nic", &nic, "--rate", "1k", "--mac", other], 5, "is not the peer's");
    }
}

/// Runs a study's file to the agent; what `--format json` says of it, and what was told beside.
fn study(bench: &Bench, name: &str, text: &str) -> (Value, String) {
    let out = folder(name);
    let file = out.join("study.toml");
    std::fs::write(&file, text).expect("the study's file");
    let mut command = Command::new("nsenter");
    command.args([&bench.here, env!("CARGO_BIN_EXE_narrows"), "study", "run"]).arg(&file);
    command.args(["--peer", &bench.address, "-p", &bench.agent.port.to_string()]);
    command.env("NARROWS_KEY", &bench.agent.key).args(["--format", "json", "--out"]).arg(&out);
    let output = run(&mut command);
    (json(&output), err(&output))
}

/// The same rules hold for a study's file: the cells of which it says too little are left out.
#[test]
fn a_study_sends_raw_frames_where_its_file_names_interface_and_rate() {
    if !is_root() {
        return skip("study_raw", "needs root for network namespaces");
    }
    let bench = Bench::new(&[]);
    let nic = Bench::interface(&bench.here);
    let text = format!(
        "name = 'raw'\nrepeats = 1\n\
         [base]\nload = 'packets'\nsender = 'ring'\nseconds = 0.5\n\
         [[factor]]\nname = 'said'\nlevels = [\n\
         {{ name = 'nothing' }},\n\
         {{ name = 'rate', rate = '3k' }},\n\
         {{ name = 'interface', bind = '{nic}' }},\n\
         {{ name = 'both', bind = '{nic}', rate = 3000 }},\n\
         {{ name = 'far end', bind = '{nic}', rate = '3k', receiver = 'xdp' }},\n]\n"
    );
    patiently("study_raw", || {
        let (ran, told) = study(&bench, "packets-study-raw", &text);
        let results = ran["results"].as_array().expect("results");
        let measured: Vec<&Value> =
            results.iter().filter(|cell| cell["done"].as_u64() > Some(0)).collect();
        assert_eq!(measured.len(), 1, "{told}");
        let rate = measured[0]["estimate"]["value"].as_f64().expect("a rate");
        assert!((2000.0..=3300.0).contains(&rate), "{rate}");
        assert_eq!(measured[0]["effective"]["sender"], "ring");
        for (cells, why) in [
            ("2 cells such as 'nothing'", "raw packets need an interface (bind = "),
            ("1 cell such as 'interface'", "max is as fast as they go (rate = "),
            ("1 cell such as 'far end'", "an interface that its owner lends"),
        ] {
            let said = told.lines().any(|line| line.contains(cells) && line.contains(why));
            assert!(said, "{cells}: {told}");
        }
    });
}

/// A controller with a program before its interface that has begun to count.
fn counting(bench: &Bench, nic: &str, receiver: &str) -> Child {
    let words = ["-R", "--receiver", receiver, "--nic", nic, "--rate", "1k", "-t", "30"];
    let mut command = bench.narrows("packets", &words);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().expect("narrows")
}

fn until(holds: impl Fn() -> bool) -> bool {
    let end = Instant::now() + Duration::from_secs(30);
    while Instant::now() < end {
        if holds() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

/// The program goes with the process that held it, and the interface takes no others' frames.
#[test]
fn a_kill_leaves_no_program_before_an_interface() {
    if !is_root() {
        return skip("kill", "needs root for network namespaces");
    }
    for receiver in ["xdp", "af-xdp"] {
        let bench = Bench::new(&[]);
        let nic = Bench::interface(&bench.here);
        let link = || Bench::inside(&bench.here, &format!("ip -d link show {nic}")).expect("ip");
        let mut running = counting(&bench, &nic, receiver);
        let attached = until(|| link().contains("prog/xdp"));
        let during = link();
        // As a crash would end it: nothing of it runs any more.
        running.kill().expect("kill");
        running.wait().expect("ended");
        assert!(attached, "{receiver}: no program was attached: {during}");
        assert!(during.contains("promiscuity 0"), "{during}");
        assert!(until(|| !link().contains("prog/xdp")), "{receiver}: {}", link());
        assert!(link().contains("promiscuity 0"), "{}", link());
    }
}

/// A veth pair claims 10 Gb/s and is no wire: its rate has to be said.
#[test]
fn the_wires_rate_of_an_interface_without_a_wire_is_asked_for() {
    if !is_root() {
        return skip("wire_rate", "needs root for network namespaces");
    }
    let bench = Bench::new(&[]);
    let nic = Bench::interface(&bench.here);
    let says = |more: &str| {
        let words = format!("--rate 1k -t 0.1 --repeats 1 --size 128 --nic {nic} {more}");
        let output =
            run(&mut bench.narrows("packets", &words.split_whitespace().collect::<Vec<_>>()));
        let said = err(&output);
        let line = said.lines().find(|line| line.contains("at the wire's rate"));
        line.unwrap_or_else(|| panic!("{said}")).to_owned()
    };
    let unknown = says("");
    assert!(unknown.contains("rate: unknown: needs the link's speed: nic.gbps=10"), "{unknown}");
    // 10 Gb/s over frames of 128 B and 20 B between them.
    let said = says("--set nic.gbps=10 --set nic.uplink=2x1/128");
    assert!(said.contains("8.45 M packets/s: no: chipset slot, "), "{said}");
}

/// A token bucket before the receiver lets 300 packets at once through, and 1600 a second after: a
/// fifth of a second fills it again.
#[test]
fn the_longest_burst_is_what_a_planted_bucket_holds() {
    if !is_root() {
        return skip("back_to_back", "needs root for network namespaces");
    }
    let bench = Bench::new(&[]);
    let (nic, far) = (Bench::interface(&bench.here), Bench::interface(&bench.there));
    for words in [
        "add table netdev packets".to_owned(),
        format!(
            "add chain netdev packets in {{ type filter hook ingress device {far} priority 0 ; }}"
        ),
        "add rule netdev packets in udp length 26 limit rate over 1600/second burst 300 packets drop"
            .to_owned(),
    ] {
        if Bench::inside(&bench.there, &format!("nft {words}")).is_none() {
            return skip("back_to_back", "nft is not there");
        }
    }
    patiently("back_to_back", || {
        let words = "--sender ring --rate max --back-to-back 2000 --resolution 20 --runs-max 40 \
                     -t 0.5 -J --nic";
        let words: Vec<&str> = words.split_whitespace().chain([nic.as_str()]).collect();
        let output = run(&mut bench.narrows("packets", &words));
        let searched = &json(&output)["searches"][0];
        assert_eq!((&searched["end"], &searched["back_to_back"]), (&"found".into(), &true.into()));
        let figure = |key: &str| searched[key].as_u64().unwrap_or_else(|| panic!("{searched}"));
        let (passes, loses) = (figure("passes_frames"), figure("loses_frames"));
        // Two steps of a tenth, and what the bucket gains while a burst of a slow sender lasts.
        assert!((240..=360).contains(&passes) && (290..=440).contains(&loses), "{searched}");
    });
}
