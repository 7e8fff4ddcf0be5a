//! What a simulated window gives.

use crate::channel::Counts;

/// Lines of one side that came home, and how long each took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Side {
    pub lines: u64,
    /// Picoseconds of all of them together.
    pub time: u64,
}

impl Side {
    pub fn done(&mut self, took: u64) {
        self.lines += 1;
        self.time += took;
    }

    /// Mean time of a line from its credit's taking to its return, in nanoseconds.
    pub fn latency_ns(&self) -> f64 {
        if self.lines == 0 { 0.0 } else { self.time as f64 / self.lines as f64 / 1e3 }
    }
}

/// A number that changes, and its sum over time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Area {
    pub value: usize,
    sum: u64,
    began: u64,
    since: u64,
}

impl Area {
    pub fn set(&mut self, now: u64, value: usize) {
        self.sum += self.value as u64 * (now - self.since);
        self.since = now;
        self.value = value;
    }

    /// Begins its sum anew.
    pub fn clear(&mut self, now: u64) {
        *self = Self { value: self.value, sum: 0, began: now, since: now };
    }

    /// Its mean since then.
    pub fn mean(mut self, now: u64) -> f64 {
        self.set(now, self.value);
        self.sum as f64 / (now - self.began).max(1) as f64
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    pub window_ns: f64,
    pub cores: Side,
    pub device: Side,
    /// Means over the window: lines in flight of all cores, and of the device's reads and writes.
    pub core_credits: f64,
    pub device_credits: [f64; 2],
    /// The same of lines that the cache's agent has in hand.
    pub entries: f64,
    /// Lines in a channel's read queue, and the share of time in which its write queue is full.
    pub read_queue: f64,
    pub write_queue_full: f64,
    pub channels: Vec<Counts>,
    /// Since the machine began: credits taken and given back, and those still out.
    pub taken: u64,
    pub returned: u64,
    pub in_flight: u64,
}

impl Outcome {
    /// Lines that cores read, in GB/s.
    pub fn cores_gb_s(&self) -> f64 {
        self.cores.lines as f64 * 64.0 / self.window_ns
    }

    pub fn device_gb_s(&self) -> f64 {
        self.device.lines as f64 * 64.0 / self.window_ns
    }

    /// A count of all channels together.
    pub fn sum(&self, of: fn(&Counts) -> u64) -> f64 {
        self.channels.iter().map(of).sum::<u64>() as f64
    }

    /// What crosses the channels, in GB/s.
    pub fn memory_gb_s(&self) -> f64 {
        self.sum(|counts| counts.read + counts.written) * 64.0 / self.window_ns
    }

    /// Rows opened a line read.
    pub fn rows_a_read(&self) -> f64 {
        self.sum(|counts| counts.opened_to_read) / self.sum(|counts| counts.read).max(1.0)
    }
}
