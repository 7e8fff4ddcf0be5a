//! What the simulated host is made of. Every figure has its source in `sources`; what nobody has
//! published is marked as assumed there, and none was chosen by how well the result fits.

/// Picoseconds of a clock of DDR4-2933.
const CLOCK_PS: u64 = 682;

/// Times of a DRAM channel, in picoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timing {
    /// One line over the channel.
    pub burst: u64,
    /// Between two lines of one bank group.
    pub same_group: u64,
    /// From opening a row to its first line (tRCD).
    pub open: u64,
    /// Closing a row (tRP).
    pub close: u64,
    /// From a read's command to its data (CL).
    pub read: u64,
    /// From a write's command to its data (CWL).
    pub write: u64,
    /// A row stays open at least so long (tRAS).
    pub open_least: u64,
    /// From a read to closing its row (tRTP).
    pub read_to_close: u64,
    /// From the end of written data to closing its row (tWR).
    pub write_to_close: u64,
    /// From the end of written data to a read of the same bank group (tWTR_L).
    pub write_to_read_same: u64,
    /// The same of another bank group of the rank (tWTR_S).
    pub write_to_read: u64,
    /// The channel idles between data of two directions or ranks.
    pub turn: u64,
    /// Between two openings of rows in one rank (tRRD_S).
    pub opens_apart: u64,
    /// Four openings in one rank take so long (tFAW).
    pub four_opens: u64,
    /// A rank is refreshed this often, and for how long.
    pub refresh_every: u64,
    pub refresh: u64,
}

/// The memory controller's rules of one channel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rules {
    /// Lines that the read queue holds.
    pub reads: usize,
    /// Lines that the write queue holds.
    pub writes: usize,
    /// From so many lines on writes are begun although reads wait.
    pub high: usize,
    /// Down to so many they are done; where no read waits, from more on they are begun.
    pub low: usize,
    /// At least so many reads, where there are, before writes are begun.
    pub reads_least: usize,
    /// After so many writes reads that wait have their turn, however many writes are left.
    pub writes_most: usize,
    /// So many lines before its turn the other queue's rows are opened.
    pub ahead: usize,
}

/// A processor with its root complex and memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// Lines that a core can have in flight.
    pub core_credits: usize,
    /// Lines of a device's writes that the root complex can have in flight.
    pub device_write_credits: usize,
    /// Lines of a device's reads that it can have in flight.
    pub device_read_credits: usize,
    /// Lines that the cache's agent can have in hand.
    pub entries: usize,
    /// From a core to the cache's agent, or back, in picoseconds.
    pub core_to_agent: u64,
    /// From the root complex to the agent, or back.
    pub device_to_agent: u64,
    /// From the agent to the memory controller, or back: lines, data and credits.
    pub agent_to_controller: u64,
    /// What a write takes in the agent before it asks for room in the write queue.
    pub agent_write: u64,
    pub rules: Rules,
    pub timing: Timing,
    /// A core's written line leaves the caches so many lines after it was read.
    pub written_behind: u64,
    /// And up to so many more, each core by chance.
    pub written_about: u64,
    /// Lines of a device that lie one after another, before the next page.
    pub device_run: u64,
    /// Lines of one of its streams before the next one's turn.
    pub device_turn: u64,
}

/// Ranks of a channel, bank groups of a rank, banks of a group.
pub const RANKS: usize = 2;
pub const GROUPS: usize = 4;
pub const BANKS: usize = 4;
pub const CHANNELS: usize = 2;

impl Timing {
    /// DDR4-2933 at 21-21-21.
    pub const DDR4_2933: Self = Self {
        burst: 4 * CLOCK_PS,
        same_group: 8 * CLOCK_PS,
        open: 21 * CLOCK_PS,
        close: 21 * CLOCK_PS,
        read: 21 * CLOCK_PS,
        write: 16 * CLOCK_PS,
        open_least: 47 * CLOCK_PS,
        read_to_close: 11 * CLOCK_PS,
        write_to_close: 22 * CLOCK_PS,
        write_to_read_same: 11 * CLOCK_PS,
        write_to_read: 4 * CLOCK_PS,
        turn: 2 * CLOCK_PS,
        opens_apart: 4 * CLOCK_PS,
        four_opens: 31 * CLOCK_PS,
        refresh_every: 11_439 * CLOCK_PS,
        refresh: 514 * CLOCK_PS,
    };
}

impl Rules {
    /// Turns end at the marks of the write queue alone.
    pub const MARKS: Self = Self {
        reads: 42,
        writes: 34,
        high: 29,
        low: 17,
        reads_least: 0,
        writes_most: usize::MAX,
        ahead: 8,
    };
    /// Where both wait, so many of each by turns.
    pub const fn turns(reads_least: usize, writes_most: usize) -> Self {
        Self { reads_least, writes_most, ..Self::MARKS }
    }
}

impl Parameters {
    /// The host of the paper: Xeon Gold 6234, two channels of DDR4-2933.
    pub const CASCADE_LAKE: Self = Self {
        core_credits: 11,
        device_write_credits: 92,
        device_read_credits: 164,
        entries: 230,
        core_to_agent: 5_000,
        device_to_agent: 102_500,
        agent_to_controller: 21_475,
        agent_write: 52_050,
        rules: Rules::turns(32, 48),
        timing: Timing::DDR4_2933,
        written_behind: 405_504,
        written_about: 32_768,
        device_run: 64,
        device_turn: 4,
    };
}
