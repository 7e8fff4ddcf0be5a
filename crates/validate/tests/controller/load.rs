//! What cores and a device do.

use crate::machine::thrown;
use crate::parameters::Parameters;

/// What is done with a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// Read from memory.
    Read,
    /// Written to memory.
    Write,
    /// Written by a device into the cache (DDIO), where there is room.
    Cached,
    /// The same, and an old line goes to memory for it.
    Evicting,
    /// Read by a device, which the cache answers, and its line goes to memory.
    Flushed,
}

impl What {
    /// Whether the controller writes it.
    pub fn is_write(self) -> bool {
        self != Self::Read
    }

    /// Which of a device's credits it takes: 0 those of reads, 1 those of writes.
    pub fn pool(self) -> usize {
        usize::from(!matches!(self, Self::Read | Self::Flushed))
    }
}

/// A device, and what it has to move.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceLoad {
    pub gb_s: f64,
    /// What its slot carries, in GB/s, so how fast it makes up for time that it had to wait.
    pub link_gb_s: f64,
    /// Shares of its lines, together 1.
    pub mix: Vec<(What, f64)>,
    /// Streams that it moves by turns.
    pub streams: usize,
}

/// Who uses the memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    pub cores: usize,
    /// Lines that a core writes back for each that it reads.
    pub writes_a_read: f64,
    /// What all cores read at most, in GB/s; otherwise what their credits carry.
    pub cores_gb_s: Option<f64>,
    pub device: Option<DeviceLoad>,
}

impl Load {
    /// Cores that read lines in order, as fast as they can.
    pub fn readers(cores: usize) -> Self {
        Self { cores, writes_a_read: 0.0, cores_gb_s: None, device: None }
    }

    /// Cores that read and write each line.
    pub fn writers(cores: usize) -> Self {
        Self { writes_a_read: 1.0, ..Self::readers(cores) }
    }

    /// The same cores beside a device that does one thing, as fast as its slot carries it.
    pub fn beside(self, what: What, gb_s: f64, streams: usize) -> Self {
        let mix = vec![(what, 1.0)];
        Self { device: Some(DeviceLoad { gb_s, link_gb_s: gb_s, mix, streams }), ..self }
    }
}

/// The lines of a device: streams by turns, each in order within pages that lie anywhere.
pub struct Device {
    /// Picoseconds of its load, and of its link, a line.
    pub spacing: u64,
    pub link: u64,
    /// Shares of its lines, and how many of each are owed.
    mix: Vec<(What, f64, f64)>,
    run: u64,
    turn: u64,
    streams: Vec<u64>,
    sent: u64,
}

impl Device {
    pub fn new(parameters: &Parameters, load: &DeviceLoad, dice: &mut u64) -> Self {
        let run = parameters.device_run;
        Self {
            spacing: (64e3 / load.gb_s).round() as u64,
            link: (64e3 / load.link_gb_s).round() as u64,
            mix: load.mix.iter().map(|(what, share)| (*what, *share, 0.0)).collect(),
            run,
            turn: parameters.device_turn,
            streams: (0..load.streams).map(|_| page(dice, run)).collect(),
            sent: 0,
        }
    }

    /// The number of its next line, and what is done with it.
    pub fn next(&mut self, dice: &mut u64) -> (u64, What) {
        let stream = (self.sent / self.turn % self.streams.len() as u64) as usize;
        self.sent += 1;
        let line = self.streams[stream];
        let following = line + 1;
        self.streams[stream] =
            if following.is_multiple_of(self.run) { page(dice, self.run) } else { following };
        (line, self.due())
    }

    /// What is owed most.
    fn due(&mut self) -> What {
        for (_, share, owed) in &mut self.mix {
            *owed += *share;
        }
        let most = self.mix.iter_mut().max_by(|one, other| one.2.total_cmp(&other.2));
        match most {
            Some((what, _, owed)) => {
                *owed -= 1.0;
                *what
            }
            None => What::Read,
        }
    }
}

/// The first line of a page somewhere in 16 GiB.
fn page(dice: &mut u64, run: u64) -> u64 {
    (thrown(dice) >> 36) / run * run
}
