//! Intel PCM's `pcm-memory`, where it is installed and the kernel counts nothing of the memory
//! controllers itself: a line of rates each tenth of a second, as comma-separated values
//! (github.com/intel/pcm, `display_bandwidth_csv`). Never both: PCM may program the counters that
//! perf_event_open(2) would take.

use narrows_model::memory_traffic::{Count, CountedBy, Quantity, Uncounted};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Its program; distributions call it either.
const PROGRAMS: [&str; 2] = ["pcm-memory", "pcm-memory.x"];
/// What counted, as reports name it.
pub const NAME: &str = "Intel PCM";
/// How often it tells.
const EVERY: Duration = Duration::from_millis(100);
/// Bytes in the megabyte that pcm-memory counts in.
const MB: f64 = 1e6;
/// Columns of a socket, and what they are.
const COLUMNS: [(&str, Quantity); 2] =
    [("Mem Read (MB/s)", Quantity::Read), ("Mem Write (MB/s)", Quantity::Written)];

/// Lines, each with when it came.
type Lines = Arc<Mutex<Vec<(Instant, String)>>>;

/// The program while it runs; it ends with this.
pub struct Pcm {
    child: Child,
    lines: Lines,
    opening: Instant,
}

fn unclear(what: impl Into<String>) -> Uncounted {
    Uncounted::PmuUnclear { pmu: "pcm-memory".to_owned(), what: what.into() }
}

/// Where the program is; `None` where it is not installed.
pub fn installed() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let dirs: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let all = dirs.iter().flat_map(|dir| PROGRAMS.map(|program| dir.join(program)));
    all.into_iter().find(|program| program.is_file())
}

impl Pcm {
    /// Starts it. It needs some tenths of a second until its first line.
    pub fn start(program: &Path) -> Result<Self, Uncounted> {
        let seconds = EVERY.as_secs_f64().to_string();
        let mut child = Command::new(program)
            .args([seconds.as_str(), "-nc", "-csv"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| unclear(error.to_string()))?;
        let lines = Lines::default();
        if let Some(pipe) = child.stdout.take() {
            let heard = Arc::clone(&lines);
            // It ends with the program.
            thread::spawn(move || {
                for line in BufReader::new(pipe).lines().map_while(Result::ok) {
                    let mut lines = heard.lock().unwrap_or_else(PoisonError::into_inner);
                    lines.push((Instant::now(), line));
                }
            });
        }
        Ok(Self { child, lines, opening: Instant::now() })
    }

    /// Notes when the window opens.
    pub fn open(&mut self) {
        self.opening = Instant::now();
    }

    /// What the lines say that are of the window alone: bytes over its length at their mean rate.
    pub fn close(mut self) -> Result<Vec<Count>, Uncounted> {
        let closing = Instant::now();
        if let Ok(Some(status)) = self.child.try_wait() {
            return Err(unclear(format!("it ended before the window closed ({status})")));
        }
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let from = self.opening + EVERY;
        let inside = |at: &Instant| (from..=closing).contains(at);
        let texts: Vec<(bool, &str)> =
            lines.iter().map(|(at, line)| (inside(at), line.as_str())).collect();
        counts(&texts, closing.duration_since(self.opening))
    }
}

impl Drop for Pcm {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A column of one socket's.
struct Column {
    at: usize,
    package: u32,
    of: Quantity,
}

/// Lines, each with whether it is of the window, as bytes over the window.
fn counts(lines: &[(bool, &str)], window: Duration) -> Result<Vec<Count>, Uncounted> {
    let columns = columns(lines.iter().map(|(_, line)| *line))?;
    let rows: Vec<Vec<&str>> = lines
        .iter()
        .filter(|(inside, line)| *inside && line.starts_with(|c: char| c.is_ascii_digit()))
        .map(|(_, line)| line.split(',').map(str::trim).collect())
        .collect();
    if rows.is_empty() {
        return Err(unclear(format!("no line came in the window; one is due each {EVERY:?}")));
    }
    let of = |column: &Column| {
        let mut sum = 0.0;
        for row in &rows {
            let told = row.get(column.at).copied().unwrap_or_default();
            let rate = told.parse::<f64>().ok().filter(|rate| rate.is_finite() && *rate >= 0.0);
            sum += rate.ok_or_else(|| unclear(format!("'{told}' is not a rate")))?;
        }
        let bytes = sum / rows.len() as f64 * MB * window.as_secs_f64();
        Ok(Count {
            of: column.of,
            by: CountedBy::Uncore,
            package: Some(column.package),
            bytes: bytes.round() as u64,
            counters: rows.len() as u32,
            ran_thousandths: None,
        })
    };
    columns.iter().map(of).collect()
}

/// The columns of each socket, by the two lines of the head: sockets, then names.
fn columns<'a>(lines: impl Iterator<Item = &'a str>) -> Result<Vec<Column>, Uncounted> {
    let lines: Vec<&str> = lines.collect();
    let names = lines.iter().position(|line| line.starts_with("Date,Time,"));
    let at = names.filter(|at| *at > 0).ok_or_else(|| unclear("it printed no head"))?;
    let sockets: Vec<&str> = lines[at - 1].split(',').map(str::trim).collect();
    let mut all = Vec::new();
    for (column, name) in lines[at].split(',').map(str::trim).enumerate() {
        let of = COLUMNS.iter().find(|(known, _)| *known == name).map(|(_, of)| *of);
        let package = sockets.get(column).and_then(|text| text.strip_prefix("SKT")?.parse().ok());
        all.extend(of.zip(package).map(|(of, package)| Column { at: column, package, of }));
    }
    let whole = all.len() >= COLUMNS.len() && all.len() % COLUMNS.len() == 0;
    let none = || unclear("its head names no reads and writes of a socket");
    if whole { Ok(all) } else { Err(none()) }
}

#[cfg(test)]
mod tests {
    use super::super::tests::Machine;
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    const HEAD: [&str; 2] = [
        ",,SKT0,SKT0,SKT0,SKT0,SKT0,SKT0,SKT1,SKT1,SKT1,SKT1,SKT1,SKT1,System,System,System",
        "Date,Time,Ch0Read,Ch0Write,Mem Read (MB/s),Mem Write (MB/s),P. Write (T/s),Memory (MB/s),\
         Ch0Read,Ch0Write,Mem Read (MB/s),Mem Write (MB/s),P. Write (T/s),Memory (MB/s),Read,Write,\
         Memory",
    ];

    fn row(skt0: (f64, f64), skt1: (f64, f64)) -> String {
        let of = |(read, write): (f64, f64)| {
            format!("  9.00,  9.00, {read:7.2}, {write:7.2},123, {:7.2}", read + write)
        };
        format!("2026-02-12,21:04:08.168,{},{},  1.0,  1.0,  2.0", of(skt0), of(skt1))
    }

    fn told(lines: &[(bool, &str)]) -> Result<Vec<(Quantity, u32, u64)>, Uncounted> {
        let counts = counts(lines, Duration::from_secs(2))?;
        let one = |count: &Count| (count.of, count.package.unwrap_or(9), count.bytes);
        Ok(counts.iter().map(one).collect())
    }

    #[test]
    fn lines_of_the_window_are_bytes_of_each_socket() {
        let early = row((999.0, 999.0), (999.0, 999.0));
        let one = row((100.0, 10.0), (4.0, 2.0));
        let two = row((300.0, 30.0), (4.0, 2.0));
        let lines =
            [(false, HEAD[0]), (false, HEAD[1]), (false, &*early), (true, &one), (true, &two)];
        let (read, written) = (Quantity::Read, Quantity::Written);
        let expected = [
            (read, 0, 400_000_000),
            (written, 0, 40_000_000),
            (read, 1, 8_000_000),
            (written, 1, 4_000_000),
        ];
        assert_eq!(told(&lines).expect("counts"), expected);
    }

    #[test]
    fn what_is_not_as_it_should_be_makes_no_figure() {
        let fine = row((1.0, 1.0), (1.0, 1.0));
        let wrong = fine.replacen("1.00", "-1.00", 1);
        let cut = &fine[..30];
        for (lines, says) in [
            (vec![(true, &*fine)], "no head"),
            (vec![(true, HEAD[1]), (true, &fine)], "no head"),
            (vec![(true, ",,SKT0"), (true, "Date,Time,Ch0Read"), (true, &fine)], "names no reads"),
            (vec![(true, HEAD[0]), (true, HEAD[1]), (false, &fine)], "no line came"),
            (vec![(true, HEAD[0]), (true, HEAD[1]), (true, &wrong)], "'-1.00' is not a rate"),
            (vec![(true, HEAD[0]), (true, HEAD[1]), (true, cut)], "is not a rate"),
        ] {
            let why = told(&lines).expect_err(says).to_string();
            assert!(why.contains(says), "{says}: {why}");
        }
    }

    /// A program in its place that prints so.
    fn program(machine: &Machine, body: &str) -> PathBuf {
        machine.put("pcm-memory", &format!("#!/bin/sh\n{body}\n"));
        let path = machine.dir().join("pcm-memory");
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&path, mode).expect("a mode");
        path
    }

    #[test]
    fn the_program_is_heard_while_the_window_is_open_and_ended_with_it() {
        let machine = Machine::new("pcm");
        let line = row((50.0, 5.0), (0.0, 0.0));
        let body = format!(
            "[ \"$1 $2 $3\" = '0.1 -nc -csv' ] || exit 3\necho '{}'\necho '{}'\nwhile :; do echo \
             '{line}'; sleep 0.05; done",
            HEAD[0], HEAD[1]
        );
        let mut pcm = Pcm::start(&program(&machine, &body)).expect("it starts");
        pcm.open();
        let process = pcm.child.id();
        thread::sleep(Duration::from_millis(600));
        let counts = pcm.close().expect("counts");
        let ratio = counts[0].bytes as f64 / counts[1].bytes as f64;
        assert!((9.9..10.1).contains(&ratio) && counts.len() == 4, "{counts:?}");
        // Half a second and more at 50 MB/s.
        assert!((30_000_000..600_000_000).contains(&counts[0].bytes), "{counts:?}");
        assert!(!Path::new(&format!("/proc/{process}/fd/1")).exists());
        let pcm = Pcm::start(&program(&machine, "exit 1")).expect("it starts");
        thread::sleep(Duration::from_millis(200));
        let why = pcm.close().expect_err("it ended").to_string();
        assert!(why.contains("pcm-memory: it ended before the window closed"), "{why}");
        assert!(Pcm::start(Path::new("/nonexistent")).is_err());
    }
}
