//! Outside generators of packets: what they say they sent beside what interfaces and a program of
//! narrows counted, and that they end, and leave an interface as it was, however a run ends.

mod common;

use common::starved::patiently;
use common::{err, fails, folder, is_root, narrows, out, run, skip};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Generators that may be here, with their programs.
const GENERATORS: [(&str, &str); 3] =
    [("testpmd", "dpdk-testpmd"), ("testpmd-af-xdp", "dpdk-testpmd"), ("trafgen", "trafgen")];

fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|dir| dir.join(program).is_file())
}

/// Whether a generator can be run here; where it cannot, that is said.
fn is_there(test: &str, (tool, program): (&str, &str)) -> bool {
    let is = is_root() && is_installed(program);
    if !is {
        skip(&format!("{test} {tool}"), &format!("needs root and {program}"));
    }
    is
}

fn json(output: &Output) -> Value {
    let failed = |error| panic!("{error}: {}\n{}", out(output), err(output));
    serde_json::from_str(&out(output)).unwrap_or_else(failed)
}

fn figure(of: &Value, key: &str) -> f64 {
    of[key].as_f64().unwrap_or_else(|| panic!("{key}: {of}"))
}

fn packets(words: &str, name: &str) -> Command {
    let mut command = narrows();
    command.arg("packets").args(words.split_whitespace()).args(["-J", "--repeats", "1", "--out"]);
    command.arg(folder(name));
    command
}

/// Sent by the tool's count, left by the interface's, came by ours: of one run between namespaces
/// nothing is lost, and others' packets are a handful. False where testpmd over AF_XDP says that it
/// sent more than left, as it does by some 0.4 % on a quiet machine, and is named for it.
fn counts_agree(result: &Value) -> bool {
    let way = &result["directions"][0];
    assert_eq!((&way["from"], &way["to"]), (&"narrows1".into(), &"narrows0".into()), "{way}");
    let [sent, came, left, arrived] =
        ["sent_packets", "received_packets", "out_packets", "in_packets"]
            .map(|key| figure(way, key));
    let labels = result["labels"].to_string();
    if result["engine"] == "testpmd-af-xdp" && sent > left {
        assert!(labels.contains("tool-miscounts"), "{result}");
        return false;
    }
    assert_eq!(sent, came, "{way}");
    assert!((sent..sent + 200.0).contains(&left), "and neighbours' questions: {way}");
    assert_eq!(left, arrived, "{way}");
    assert!(labels.contains("tool-sent") && !labels.contains("tool-miscounts"), "{labels}");
    true
}

#[test]
fn what_a_generator_says_it_sent_is_what_left_and_what_came() {
    for tool in GENERATORS {
        if !is_there("counts", tool) {
            continue;
        }
        patiently("counts", || {
            for size in ["64", "1518"] {
                let words = format!("--engine {} --size {size} -t 0.5", tool.0);
                let output = run(&mut packets(&words, "generators-counts"));
                let result = &json(&output)["results"][0];
                assert!(
                    figure(&result["estimate"], "value") > 1000.0,
                    "{}: {result}",
                    err(&output)
                );
                let code = i32::from(!counts_agree(result));
                assert_eq!(output.status.code(), Some(code), "{}: {}", tool.0, err(&output));
            }
        });
    }
}

#[test]
fn a_generator_keeps_the_rate_over_whole_seconds() {
    if !is_there("rate", GENERATORS[2]) {
        return;
    }
    patiently("rate", || {
        let words = "--engine trafgen --rate 5k -t 2";
        let output = run(&mut packets(words, "generators-rate"));
        assert_eq!(output.status.code(), Some(0), "{}", err(&output));
        let result = &json(&output)["results"][0];
        let rate = figure(&result["estimate"], "value");
        assert!((4900.0..=5100.0).contains(&rate), "{rate}");
        assert!(counts_agree(result), "{result}");
    });
}

/// A trafgen that sends as it is told and multiplies what it says.
fn liar(name: &str, times: &str) -> std::path::PathBuf {
    let dir = folder(name);
    let file = dir.join("trafgen");
    let script = format!(
        "#!/bin/sh\nPATH=/usr/sbin:/usr/bin:/sbin:/bin\n\
         [ \"$1\" = --version ] && exec trafgen --version\ntrap : INT\n\
         trafgen \"$@\" >{0}/said &\nwait\nwait\n\
         awk '/packets outgoing/ {{ $(NF-2) = int($(NF-2) {times}) }} {{ print }}' {0}/said\n",
        dir.display()
    );
    std::fs::write(&file, script).expect("a script");
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).expect("permissions");
    dir
}

/// Its figure is what came, whatever it says, and what it says is not believed.
#[test]
fn a_tool_that_lies_is_caught() {
    if !is_there("lies", GENERATORS[2]) {
        return;
    }
    let path = std::env::var("PATH").unwrap_or_default();
    patiently("lies", || {
        for (name, times, is_caught) in
            [("more", "* 2", true), ("less", "/ 2", true), ("as-is", "* 1", false)]
        {
            let dir = liar(&format!("generators-liar-{name}"), times);
            let mut command = packets("--engine trafgen -t 0.3", "generators-lies");
            let output = run(command.env("PATH", format!("{}:{path}", dir.display())));
            let result = &json(&output)["results"][0];
            let labels = result["labels"].to_string();
            assert_eq!(labels.contains("tool-miscounts"), is_caught, "{name}: {result}");
            assert_eq!(output.status.code(), Some(i32::from(is_caught)), "{}", err(&output));
            let way = &result["directions"][0];
            let came = figure(way, "received_packets");
            assert!(came > 1000.0 && figure(&result["estimate"], "value") > 1000.0, "{way}");
            let says = figure(way, "sent_packets") / came;
            let wanted = match name {
                "more" => 2.0,
                "less" => 0.5,
                _ => 1.0,
            };
            assert!((says - wanted).abs() < 0.01, "{name}: {way}");
        }
    });
}

/// Two ports in a network of their own, which stays as long as this does.
struct Ports(Child);

impl Ports {
    fn make(test: &str) -> Option<Self> {
        let lines = "mount -t sysfs none /sys && ip link set lo up && \
                     ip link add p0 type veth peer name p1 && ip link set p0 up && \
                     ip link set p1 up && exec sleep 600";
        let mut holder = Command::new("unshare");
        holder.args(["-n", "-m", "sh", "-c", lines]).stderr(Stdio::null());
        let ports = Self(holder.spawn().ok()?);
        if until(|| ports.shows("p1").contains("state UP")) {
            return Some(ports);
        }
        skip(test, "needs root and ip(8) for a veth pair");
        None
    }

    fn inside(&self, words: &[&str]) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["-t", &self.0.id().to_string(), "-n", "-m"]).args(words);
        command.env_remove("NARROWS_KEY");
        command
    }

    fn shows(&self, port: &str) -> String {
        let shown = self.inside(&["ip", "-d", "link", "show", port]).output();
        shown.map(|shown| out(&shown)).unwrap_or_default()
    }

    fn packets(&self, words: &str) -> Command {
        let mut command = self.inside(&[env!("CARGO_BIN_EXE_narrows"), "packets"]);
        command.args(["--nic", "p0,p1", "-J", "--repeats", "1"]).args(words.split_whitespace());
        command
    }

    /// Command lines of all that runs in its network, without what holds it.
    fn running(&self) -> Vec<String> {
        let network = |pid: u32| std::fs::read_link(format!("/proc/{pid}/ns/net")).ok();
        let own = network(self.0.id());
        let all = std::fs::read_dir("/proc").expect("/proc").flatten();
        let all = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let others = all.filter(|pid: &u32| *pid != self.0.id() && network(*pid) == own);
        let line = |pid| std::fs::read(format!("/proc/{pid}/cmdline")).ok();
        let lines = others.filter_map(line).filter(|line| !line.is_empty());
        lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " ")).collect()
    }
}

impl Drop for Ports {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
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

/// Neither a flag of the port that sends nor a program before the one that counts.
fn is_as_before(ports: &Ports) -> bool {
    let shown = ports.shows("p0") + &ports.shows("p1");
    shown.contains("p0") && !shown.contains("PROMISC") && !shown.contains("prog/xdp")
}

#[test]
fn a_port_is_as_it_was_after_a_run_and_after_a_kill() {
    for tool in [GENERATORS[0], GENERATORS[2]] {
        if !is_there("kill", tool) {
            continue;
        }
        let Some(ports) = Ports::make("kill") else { return };
        let dir = folder("generators-kill");
        let words = format!("--engine {} --rate max -t", tool.0);
        let output = run(ports.packets(&format!("{words} 0.5 --out")).arg(&dir));
        assert_eq!(output.status.code(), Some(0), "{}: {}", tool.0, err(&output));
        let way = json(&output)["results"][0]["directions"][0].clone();
        assert_eq!((&way["from"], &way["to"]), (&"p0".into(), &"p1".into()), "{way}");
        assert_eq!(way["sent_packets"], way["received_packets"], "{way}");
        assert!(is_as_before(&ports), "{}", ports.shows("p0"));
        let mut command = ports.packets(&format!("{words} 60 --out"));
        command.arg(&dir).stdout(Stdio::null()).stderr(Stdio::null());
        let mut running = command.spawn().expect("narrows");
        let sends = until(|| {
            let is_there = ports.running().iter().any(|line| line.starts_with(tool.1));
            is_there && ports.shows("p1").contains("prog/xdp")
        });
        let changed = until(|| tool.0 == "trafgen" || ports.shows("p0").contains("PROMISC"));
        // As a crash would end it: the kernel ends the generator, with all that it has forked.
        running.kill().expect("kill");
        running.wait().expect("ended");
        assert!(sends && changed, "{}: {}", tool.0, ports.shows("p0"));
        assert!(until(|| ports.running().is_empty()), "{:?}", ports.running());
        assert!(until(|| is_as_before(&ports)), "{}", ports.shows("p0"));
    }
}

#[test]
fn frames_of_a_generator_go_where_a_user_says_and_no_further() {
    if !is_there("whom", GENERATORS[2]) {
        return;
    }
    let Some(ports) = Ports::make("whom") else { return };
    let dir = folder("generators-whom");
    let of =
        |words: &str| run(ports.packets(&format!("--engine trafgen -t 1 {words} --out")).arg(&dir));
    let unpaced = of("");
    assert_eq!(unpaced.status.code(), Some(2), "a rate must be named: {}", err(&unpaced));
    for (mac, says) in
        [("01:00:5e:00:00:01", "is a group address"), ("02:00:00:00:00:09", "is not the peer's")]
    {
        let refused = of(&format!("--rate max --mac {mac}"));
        let said = err(&refused) + &out(&refused);
        assert!(refused.status.code() != Some(0) && said.contains(says), "{mac}: {said}");
        let left = ports.inside(&["cat", "/proc/net/dev"]).output().expect("counters");
        let sent: u64 = out(&left)
            .lines()
            .find_map(|line| {
                line.trim().strip_prefix("p0:")?.split_whitespace().nth(9)?.parse().ok()
            })
            .expect("a counter");
        assert!(sent < 100, "nothing was sent: {sent}");
    }
}

#[test]
fn what_a_generator_cannot_do_is_said_before_anything_is_sent() {
    let refused = |words: &str, code: i32, says: &str| {
        fails(narrows().arg("packets").args(words.split_whitespace()), code, says);
    };
    refused("--engine trafgen --zero-loss --rate 1M", 2, "trafgen is given one rate");
    refused("192.0.2.1 --engine trafgen --rate 1k", 2, "sends between namespaces or two ports");
    refused("--engine trafgen --interval 0.5", 2, "counted over the whole window");
    if !is_root() {
        return skip("refused", "needs root for network namespaces");
    }
    refused("--engine trafgen --rate 1k -t 0.5", 2, "a window of whole seconds");
    refused("--engine testpmd --rate 1k", 2, "testpmd keeps no rate");
    refused("--engine trafgen --sender ring", 2, "trafgen does not take 'sender'");
    refused("--engine iperf3", 2, "iperf3 runs tcp-stream, udp-stream, not packets");
    refused("--engine nonsense", 2, "engine 'nonsense' is none of iperf, ");
    if !Path::new("/proc/net/pktgen").is_dir() {
        refused("--engine pktgen", 5, "this kernel has no pktgen: modprobe pktgen");
    }
}

#[test]
fn the_help_names_every_generator() {
    let help = run(narrows().args(["packets", "--help"]));
    let words: Vec<String> =
        out(&help).split(|c: char| !c.is_alphanumeric() && c != '-').map(str::to_owned).collect();
    for name in GENERATORS.map(|(name, _)| name).into_iter().chain(["pktgen"]) {
        assert!(words.iter().any(|word| word == name), "{name}");
    }
}

/// Ours and others' are levels of one factor, and so columns of one figure.
#[test]
fn a_study_names_generators_beside_our_own() {
    if !GENERATORS.into_iter().all(|tool| is_there("study", tool)) {
        return;
    }
    let dir = folder("generators-study");
    let file = dir.join("study.toml");
    let text = "name = 'generators'\nrepeats = 1\n\
                [base]\nload = 'packets'\nseconds = 0.3\n\
                [[factor]]\nname = 'engine'\nlevels = [\n\
                { name = 'narrows', sender = 'ring', receiver = 'xdp' },\n\
                { name = 'trafgen', engine = 'trafgen' },\n\
                { name = 'testpmd', engine = 'testpmd' },\n\
                { name = 'testpmd, AF_XDP', engine = 'testpmd-af-xdp' },\n\
                { name = 'to nobody', engine = 'trafgen', rate = '1k' },\n]\n\
                [report]\nacross = 'engine'\n";
    std::fs::write(&file, text).expect("the study's file");
    patiently("study", || {
        let mut command = narrows();
        command.args(["study", "run"]).arg(&file).args(["--format", "json", "--out"]).arg(&dir);
        let output = run(&mut command);
        let results = json(&output)["results"].as_array().expect("results").clone();
        let done: Vec<&Value> = results.iter().filter(|cell| cell["done"] == 1).collect();
        assert_eq!(done.len(), 4, "{}", err(&output));
        assert!(done.iter().all(|cell| figure(&cell["estimate"], "value") > 1000.0), "{done:?}");
        for cell in done.iter().filter(|cell| !cell["engine"].is_null()) {
            counts_agree(cell);
        }
        assert!(err(&output).contains("a window of whole seconds"), "{}", err(&output));
    });
}
