//! What the tests of the program share.
#![allow(dead_code)]

pub mod bench;
pub mod imported;
pub mod starved;

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// The program, without the caller's key in its environment.
pub fn narrows() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_narrows"));
    command.env_remove("NARROWS_KEY");
    command
}

/// A fresh folder for one test.
pub fn folder(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).expect("folder");
    dir
}

/// Runs a command to its end, within a minute and a half.
pub fn run(command: &mut Command) -> Output {
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("program starts");
    // Both pipes are drained while it runs: a document is larger than a pipe.
    let drain = |mut pipe: Box<dyn Read + Send>| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            pipe.read_to_end(&mut bytes).map(|_| bytes)
        })
    };
    let stdout = drain(Box::new(child.stdout.take().expect("stdout")));
    let stderr = drain(Box::new(child.stderr.take().expect("stderr")));
    let deadline = Instant::now() + Duration::from_secs(90);
    let status = loop {
        if let Some(status) = child.try_wait().expect("wait") {
            break status;
        }
        if Instant::now() > deadline {
            let _ = child.kill();
            panic!("still running after 90 s: {command:?}");
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    let bytes = |pipe: std::thread::JoinHandle<std::io::Result<Vec<u8>>>| {
        pipe.join().expect("reader").expect("output")
    };
    Output { status, stdout: bytes(stdout), stderr: bytes(stderr) }
}

/// Text of standard output.
pub fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Text of standard error.
pub fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Checks that a command fails with this code, and says so in one error and one hint.
pub fn fails(command: &mut Command, code: i32, says: &str) -> Output {
    let output = run(command);
    let text = err(&output);
    assert_eq!(output.status.code(), Some(code), "{command:?}\n{text}");
    assert!(text.contains(says), "{command:?}\nwanted: {says}\n{text}");
    if code != 2 || text.contains("hint:") {
        assert_eq!(text.matches("hint:").count(), 1, "{text}");
        assert_eq!(text.matches("error:").count(), 1, "{text}");
    }
    output
}

/// Says that a test was not made, past the harness's capture.
pub fn skip(test: &str, why: &str) {
    let text = format!("skipped: {test}: {why}\n");
    // In one piece: the harness writes between.
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// True for root.
pub fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}

/// The only `.narrows` file in a folder.
pub fn study(dir: &Path) -> PathBuf {
    let mut found: Vec<PathBuf> = std::fs::read_dir(dir)
        .expect("folder")
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "narrows"))
        .collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

/// Waits until a study in a folder has so many runs on disk; with none, until it has a file. How
/// long a program takes to begin is the machine's affair.
pub fn until_stored(dir: &Path, runs: usize) {
    let deadline = Instant::now() + Duration::from_secs(60);
    let has_them = || {
        let mut files = std::fs::read_dir(dir).expect("folder").flatten().map(|file| file.path());
        let file = files.find(|path| path.extension().is_some_and(|end| end == "narrows"));
        let stored = file.and_then(|file| narrows_store::read(&file).ok());
        stored.is_some_and(|stored| stored.records.len() >= runs)
    };
    while !has_them() {
        assert!(Instant::now() < deadline, "{}: {runs} runs are not stored", dir.display());
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// An agent that ends with the test.
pub struct Served {
    child: Child,
    /// The key it printed.
    pub key: String,
    /// The port it listens on.
    pub port: u16,
}

/// Starts `narrows serve` on a free port with more arguments; `before` is a command to run it
/// through.
pub fn serve(before: &[&str], arguments: &[&str]) -> Served {
    serve_at(before, &[&["-p", "0"], arguments].concat())
}

/// The same, on a port among the arguments. The key is empty where the agent does not print it.
pub fn serve_at(before: &[&str], arguments: &[&str]) -> Served {
    let binary = env!("CARGO_BIN_EXE_narrows");
    let mut words: Vec<&str> = before.to_vec();
    words.extend([binary, "serve"]);
    words.extend(arguments);
    let mut child = Command::new(words[0])
        .args(&words[1..])
        .env_remove("NARROWS_KEY")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("agent starts");
    let mut lines = BufReader::new(child.stdout.take().expect("pipe")).lines();
    let mut line = || lines.next().expect("a line").expect("text");
    let first = line();
    let port = first.split("port ").nth(1).and_then(|rest| rest.split([';', ' ']).next());
    let port = port.and_then(|port| port.parse().ok()).unwrap_or_else(|| panic!("{first}"));
    let command = [line(), line()].concat();
    let key = command.split("NARROWS_KEY=").nth(1).and_then(|rest| rest.split(' ').next());
    Served { child, key: key.unwrap_or_default().to_owned(), port }
}

impl Served {
    /// Process id of the agent.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }
    /// The process that speaks with peers.
    pub fn listener(&self) -> u32 {
        let confined = |pid: &u32| status(*pid, "Seccomp") == "2";
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            if let Some(pid) = children(self.pid(), "listener").into_iter().find(confined) {
                return pid;
            }
            assert!(Instant::now() < deadline, "no listener");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    /// Ends the agent at once, as a crash would.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Children of a process that run a part of this program, `listener` or `worker`. Where root was
/// given up, they know their own file by a number only.
pub fn children(of: u32, part: &str) -> Vec<u32> {
    let (of, end) = (of.to_string(), format!("\0{part}\0"));
    let is_part = |pid: &u32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let parent = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1));
        line.ends_with(end.as_bytes()) && parent == Some(&of)
    };
    let all = std::fs::read_dir("/proc").expect("/proc").flatten();
    all.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(is_part).collect()
}

/// A line of a process's status, by its name.
pub fn status(pid: u32, name: &str) -> String {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
}

impl Drop for Served {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Processes that run this program's `worker`.
pub fn workers() -> Vec<u32> {
    let binary = env!("CARGO_BIN_EXE_narrows");
    std::fs::read_dir("/proc")
        .expect("/proc")
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid: &u32| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            line.starts_with(binary.as_bytes()) && line.ends_with(b"\0worker\0")
        })
        .collect()
}

/// dmidecode's text of a processor with six channels, A to F, of which these hold a module.
pub fn table(full: &str) -> String {
    let mut text = "# dmidecode 3.3\nSMBIOS 3.2.0 present.\n\n\
        Handle 0x0010, DMI type 4, 48 bytes\nProcessor Information\n\
        \tSocket Designation: CPU1\n\tType: Central Processor\n\tFamily: Xeon\n\
        \tManufacturer: Intel(R) Corporation\n\
        \tVersion: Intel(R) Xeon(R) Gold 6226 CPU @ 2.70GHz\n\
        \tStatus: Populated, Enabled\n\tCore Count: 12\n\n\
        Handle 0x0020, DMI type 16, 23 bytes\nPhysical Memory Array\n\
        \tLocation: System Board Or Motherboard\n\tUse: System Memory\n\
        \tError Correction Type: Multi-bit ECC\n\tMaximum Capacity: 768 GB\n\
        \tNumber Of Devices: 6\n\n"
        .to_owned();
    for (index, channel) in ('A'..='F').enumerate() {
        let held = match full.contains(channel) {
            true => {
                "Total Width: 72 bits\n\tData Width: 64 bits\n\tSize: 16 GB\n\tType: DDR4\n\
                 \tSpeed: 2933 MT/s\n\tConfigured Memory Speed: 2933 MT/s"
            }
            false => {
                "Total Width: Unknown\n\tData Width: Unknown\n\tSize: No Module Installed\n\
                 \tType: Unknown\n\tSpeed: Unknown\n\tConfigured Memory Speed: Unknown"
            }
        };
        text += &format!(
            "Handle 0x{:04X}, DMI type 17, 84 bytes\nMemory Device\n\tArray Handle: 0x0020\n\t{held}\n\
             \tForm Factor: DIMM\n\tSet: None\n\tLocator: CPU1_DIMM_{channel}1\n\
             \tBank Locator: NODE 1 CHANNEL {index}\n\tType Detail: Synchronous\n\n",
            0x30 + index
        );
    }
    text
}
