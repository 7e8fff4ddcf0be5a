//! The machine: cores and a device ask for lines as their credits allow, the cache's agent takes
//! what it has entries for, and the memory controller's queues take what they have room for. A
//! queue of events by time; two machines of one seed do the same.

use crate::address::{Place, place};
use crate::channel::{Channel, Counts, Next};
use crate::load::{Device, Load, What};
use crate::outcome::{Area, Outcome, Side};
use crate::parameters::{CHANNELS, Parameters};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Who asked for a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Who {
    Core(usize),
    Device,
    /// The cache, which sends an old line to memory.
    Cache,
}

/// A line on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Line {
    pub who: Who,
    pub what: What,
    pub place: Place,
    /// When its credit was taken, in picoseconds; of a core's write that of the read before it.
    pub taken: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A line comes to the cache's agent and wants an entry.
    AtAgent(Line),
    /// It wants room in the controller's queue.
    Asks(Line),
    /// It comes there.
    AtController(Line),
    /// The agent hears that a queue has room again: of which channel, and whether of writes.
    Room(usize, bool),
    /// A channel may give its next command.
    Step(usize),
    /// A read's data, or the word that a write is queued, is back at the agent.
    Back(Line),
    /// It is home: its credit is free.
    Home(Line),
    /// The device's link brings a line.
    Send,
}

/// A core reads lines in order from somewhere on.
struct Core {
    next: u64,
    /// Lines that it has yet to write back.
    owed: f64,
    /// When its next line is due, where it is not to ask as fast as it can.
    paced: u64,
    /// So many lines behind what it reads it writes.
    behind: u64,
}

/// The device, its link, and the credits that it has out.
struct Port {
    device: Device,
    next: (u64, What),
    in_flight: [Area; 2],
    /// When its next line is due, and when its link is free.
    due: u64,
    link_free: u64,
    /// Whether a `Send` is under way.
    is_sending: bool,
}

pub struct Machine {
    parameters: Parameters,
    load: Load,
    dice: u64,
    now: u64,
    order: u64,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    channels: Vec<Channel>,
    /// When each channel is to be asked next.
    steps: Vec<u64>,
    /// Lines that wait in the agent for room in each channel's queues: reads, and writes.
    held: Vec<[VecDeque<Line>; 2]>,
    /// The room that the agent knows of in each of them.
    room: Vec<[usize; 2]>,
    unadmitted: VecDeque<Line>,
    cores: Vec<Core>,
    port: Option<Port>,
    measured: Measured,
}

/// What is counted; all but the last two since the window began.
#[derive(Default)]
struct Measured {
    cores: Side,
    device: Side,
    core_credits: Area,
    entries: Area,
    reads: Area,
    full: Area,
    taken: u64,
    returned: u64,
}

impl Machine {
    /// An idle machine of a load, its streams where the seed puts them.
    pub fn new(parameters: Parameters, load: Load, seed: u64) -> Self {
        let mut dice = seed;
        let mut cores = Vec::new();
        for _ in 0..load.cores {
            let next = thrown(&mut dice) >> 36;
            let behind = parameters.written_behind + thrown(&mut dice) % parameters.written_about;
            cores.push(Core { next, owed: 0.0, paced: 0, behind });
        }
        let port = load.device.as_ref().map(|device| {
            let mut device = Device::new(&parameters, device, &mut dice);
            let next = device.next(&mut dice);
            let in_flight = [Area::default(); 2];
            Port { device, next, in_flight, due: 0, link_free: 0, is_sending: false }
        });
        Self {
            parameters,
            load,
            dice,
            now: 0,
            order: 0,
            events: BinaryHeap::new(),
            channels: vec![Channel::new(parameters.timing, parameters.rules); CHANNELS],
            steps: vec![u64::MAX; CHANNELS],
            held: (0..CHANNELS).map(|_| Default::default()).collect(),
            room: vec![[parameters.rules.reads, parameters.rules.writes]; CHANNELS],
            unadmitted: VecDeque::new(),
            cores,
            port,
            measured: Measured::default(),
        }
    }

    /// Runs for a while that is not counted, and then for one that is, both in picoseconds.
    pub fn run(mut self, before: u64, window: u64) -> Outcome {
        for core in 0..self.load.cores {
            for _ in 0..self.parameters.core_credits {
                self.read(core);
            }
        }
        self.ask_device();
        self.until(before);
        self.clear();
        self.until(before + window);
        self.outcome(window)
    }

    fn until(&mut self, end: u64) {
        while let Some(Reverse((time, _, _))) = self.events.peek()
            && *time <= end
        {
            let Some(Reverse((time, _, event))) = self.events.pop() else { return };
            self.now = time;
            self.happens(event);
        }
        self.now = end;
    }

    fn at(&mut self, time: u64, event: Event) {
        self.order += 1;
        self.events.push(Reverse((time, self.order, event)));
    }

    fn after(&mut self, time: u64, event: Event) {
        self.at(self.now + time, event);
    }

    fn happens(&mut self, event: Event) {
        match event {
            Event::AtAgent(line) => {
                self.unadmitted.push_back(line);
                self.admit();
            }
            Event::Asks(line) => {
                let (channel, is_write) = (line.place.channel, line.what.is_write());
                self.held[channel][usize::from(is_write)].push_back(line);
                self.send_on(channel, is_write);
            }
            Event::Room(channel, is_write) => {
                self.room[channel][usize::from(is_write)] += 1;
                self.send_on(channel, is_write);
            }
            Event::AtController(line) => self.queue(line),
            Event::Step(channel) => {
                if self.steps[channel] == self.now {
                    self.steps[channel] = u64::MAX;
                    self.step(channel);
                }
            }
            Event::Back(line) => self.back(line),
            Event::Home(line) => self.home(line),
            Event::Send => self.send(),
        }
    }

    /// The agent takes lines in the order in which they came, as long as it has entries.
    fn admit(&mut self) {
        while self.measured.entries.value < self.parameters.entries
            && let Some(line) = self.unadmitted.pop_front()
        {
            self.entries(1);
            self.admitted(line);
        }
    }

    fn entries(&mut self, by: isize) {
        let entries = &mut self.measured.entries;
        entries.set(self.now, entries.value.saturating_add_signed(by));
    }

    fn admitted(&mut self, line: Line) {
        let Parameters { agent_write, core_to_agent, device_to_agent, .. } = self.parameters;
        match (line.what, line.who) {
            (What::Read, _) => self.after(0, Event::Asks(line)),
            (What::Write, Who::Core(_)) => {
                // The core has its credit back as soon as the agent has the line.
                self.after(core_to_agent, Event::Home(line));
                self.after(agent_write, to_memory(line));
            }
            (What::Write, _) => self.after(agent_write, Event::Asks(line)),
            (What::Cached, _) => {
                self.after(device_to_agent, Event::Home(line));
                self.entries(-1);
            }
            (What::Evicting | What::Flushed, _) => {
                self.after(device_to_agent, Event::Home(line));
                self.after(agent_write, to_memory(line));
            }
        }
    }

    /// The agent sends lines to a queue that it knows to have room.
    fn send_on(&mut self, channel: usize, is_write: bool) {
        let queue = usize::from(is_write);
        while self.room[channel][queue] > 0
            && let Some(line) = self.held[channel][queue].pop_front()
        {
            self.room[channel][queue] -= 1;
            self.after(self.parameters.agent_to_controller, Event::AtController(line));
        }
    }

    fn queue(&mut self, line: Line) {
        let channel = &mut self.channels[line.place.channel];
        if line.what.is_write() {
            channel.writes.push_back(line);
            // Whoever wrote it does not wait for memory itself.
            self.after(self.parameters.agent_to_controller, Event::Back(line));
        } else {
            channel.reads.push_back(line);
        }
        self.note_queues();
        self.step(line.place.channel);
    }

    fn note_queues(&mut self) {
        let writes = self.parameters.rules.writes;
        let full = self.channels.iter().filter(|one| one.writes.len() >= writes).count();
        self.measured.full.set(self.now, full);
        let reads = self.channels.iter().map(|one| one.reads.len()).sum();
        self.measured.reads.set(self.now, reads);
    }

    fn step(&mut self, channel: usize) {
        match self.channels[channel].step(self.now) {
            Next::Gave(line, end) => {
                let back = self.parameters.agent_to_controller;
                let is_write = line.what.is_write();
                self.after(back, Event::Room(channel, is_write));
                if !is_write {
                    self.at(end + back, Event::Back(line));
                }
                self.note_queues();
                self.step(channel);
            }
            Next::At(time) if time < self.steps[channel] => {
                self.steps[channel] = time;
                self.at(time, Event::Step(channel));
            }
            Next::At(_) | Next::Idle => {}
        }
    }

    /// The agent is rid of a line, and its answer goes home.
    fn back(&mut self, line: Line) {
        self.entries(-1);
        let Parameters { core_to_agent, device_to_agent, .. } = self.parameters;
        match line.who {
            Who::Core(_) => self.after(core_to_agent, Event::Home(line)),
            Who::Device => self.after(device_to_agent, Event::Home(line)),
            Who::Cache => {}
        }
        self.admit();
    }

    fn home(&mut self, line: Line) {
        match line.who {
            Who::Core(core) => {
                let core_state = &mut self.cores[core];
                let read = if line.what == What::Read { self.load.writes_a_read } else { 0.0 };
                core_state.owed += read;
                if core_state.owed >= 1.0 {
                    core_state.owed -= 1.0;
                    return self.write_back(core, line);
                }
                self.measured.cores.done(self.now - line.taken);
                self.measured.returned += 1;
                self.core_credits(-1);
                self.read(core);
            }
            Who::Device => {
                self.measured.device.done(self.now - line.taken);
                self.measured.returned += 1;
                self.device_credits(line.what, -1);
                self.ask_device();
            }
            Who::Cache => {}
        }
    }

    fn core_credits(&mut self, by: isize) {
        let credits = &mut self.measured.core_credits;
        credits.set(self.now, credits.value.saturating_add_signed(by));
    }

    fn device_credits(&mut self, what: What, by: isize) {
        if let Some(port) = &mut self.port {
            let credits = &mut port.in_flight[what.pool()];
            credits.set(self.now, credits.value.saturating_add_signed(by));
        }
    }

    /// A core takes a credit and asks for its next line.
    fn read(&mut self, core: usize) {
        let asking = &mut self.cores[core];
        let number = asking.next;
        asking.next += 1;
        let time = asking.paced.max(self.now);
        if let Some(gb_s) = self.load.cores_gb_s {
            asking.paced += (64e3 * self.load.cores as f64 / gb_s) as u64;
        }
        self.core_credits(1);
        self.measured.taken += 1;
        let (who, place) = (Who::Core(core), place(number));
        let line = Line { who, what: What::Read, place, taken: time };
        self.at(time + self.parameters.core_to_agent, Event::AtAgent(line));
    }

    /// The line that a core read takes the place of an old one, which goes to memory.
    fn write_back(&mut self, core: usize, read: Line) {
        let old = self.cores[core].next.wrapping_sub(self.cores[core].behind);
        let line = Line { what: What::Write, place: place(old), ..read };
        self.after(self.parameters.core_to_agent, Event::AtAgent(line));
    }

    /// The device sends its next line where its link and a credit of its sort are free.
    fn ask_device(&mut self) {
        let Parameters { device_read_credits, device_write_credits, .. } = self.parameters;
        let Some(port) = &mut self.port else { return };
        let pool = port.next.1.pool();
        let credits = [device_read_credits, device_write_credits][pool];
        if port.in_flight[pool].value < credits && !port.is_sending {
            port.is_sending = true;
            let time = port.due.max(port.link_free).max(self.now);
            self.at(time, Event::Send);
        }
    }

    fn send(&mut self) {
        let Some(port) = &mut self.port else { return };
        let (number, what) = port.next;
        port.next = port.device.next(&mut self.dice);
        port.is_sending = false;
        port.due += port.device.spacing;
        port.link_free = self.now + port.device.link;
        self.device_credits(what, 1);
        self.measured.taken += 1;
        let line = Line { who: Who::Device, what, place: place(number), taken: self.now };
        self.after(self.parameters.device_to_agent, Event::AtAgent(line));
        self.ask_device();
    }

    /// Forgets what was counted; what is in flight stays.
    fn clear(&mut self) {
        let Measured { core_credits, entries, reads, full, .. } = &mut self.measured;
        for area in [core_credits, entries, reads, full] {
            area.clear(self.now);
        }
        for area in self.port.iter_mut().flat_map(|port| &mut port.in_flight) {
            area.clear(self.now);
        }
        (self.measured.cores, self.measured.device) = (Side::default(), Side::default());
        for channel in &mut self.channels {
            channel.counts = Counts::default();
        }
    }

    fn outcome(self, window: u64) -> Outcome {
        let (now, measured) = (self.now, self.measured);
        let device = self.port.map_or([Area::default(); 2], |port| port.in_flight);
        let in_flight = measured.core_credits.value + device[0].value + device[1].value;
        Outcome {
            window_ns: window as f64 / 1e3,
            cores: measured.cores,
            device: measured.device,
            core_credits: measured.core_credits.mean(now),
            device_credits: device.map(|area| area.mean(now)),
            entries: measured.entries.mean(now),
            read_queue: measured.reads.mean(now) / CHANNELS as f64,
            write_queue_full: measured.full.mean(now) / CHANNELS as f64,
            channels: self.channels.iter().map(|channel| channel.counts).collect(),
            taken: measured.taken,
            returned: measured.returned,
            in_flight: in_flight as u64,
        }
    }
}

/// A line that goes on to memory without who wrote it.
fn to_memory(line: Line) -> Event {
    Event::Asks(Line { who: Who::Cache, ..line })
}

/// The next number of a seed (SplitMix64).
pub fn thrown(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*seed ^ *seed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}
