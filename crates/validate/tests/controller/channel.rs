//! One channel: its banks and their open rows, its two queues, and who is next. Reads and writes
//! have the channel by turns; among those whose turn it is, lines of open rows come before others.

use crate::address::Place;
use crate::machine::Line;
use crate::parameters::{BANKS, GROUPS, RANKS, Rules, Timing};
use std::collections::VecDeque;

const ALL_BANKS: usize = RANKS * GROUPS * BANKS;

#[derive(Clone, Copy, Debug, Default)]
struct Bank {
    row: Option<u64>,
    /// When lines of the open row can be asked for, and when it can be closed.
    ready: u64,
    closable: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Rank {
    /// When its last four rows were opened, the oldest first.
    opened: [u64; 4],
    /// End of the last data written.
    written: u64,
    refreshed: u64,
    /// Of its bank groups: the last command, and the end of the last data written.
    asked: [u64; GROUPS],
    group_written: [u64; GROUPS],
}

/// What a channel did since its counts were last cleared.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    pub read: u64,
    pub written: u64,
    /// Rows opened for reads, and for writes.
    pub opened_to_read: u64,
    pub opened_to_write: u64,
    /// Turns from reads to writes.
    pub turns: u64,
}

/// What a channel does next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Next {
    /// A line's command was given; its data has passed at this time.
    Gave(Line, u64),
    /// Nothing before this time.
    At(u64),
    /// Nothing until a line comes.
    Idle,
}

#[derive(Clone, Debug)]
pub struct Channel {
    timing: Timing,
    rules: Rules,
    banks: [Bank; ALL_BANKS],
    ranks: [Rank; RANKS],
    pub reads: VecDeque<Line>,
    pub writes: VecDeque<Line>,
    is_writing: bool,
    /// Lines since the last turn.
    since_turn: usize,
    /// End of the last data, its rank, and whether it was written.
    data: (u64, usize, bool),
    pub counts: Counts,
}

impl Channel {
    /// An idle channel; its ranks are refreshed half an interval apart.
    pub fn new(timing: Timing, rules: Rules) -> Self {
        let mut ranks = [Rank::default(); RANKS];
        for (at, rank) in ranks.iter_mut().enumerate() {
            rank.refreshed = timing.refresh_every * at as u64 / RANKS as u64;
        }
        Self {
            timing,
            rules,
            banks: [Bank::default(); ALL_BANKS],
            ranks,
            reads: VecDeque::new(),
            writes: VecDeque::new(),
            is_writing: false,
            since_turn: 0,
            data: (0, 0, false),
            counts: Counts::default(),
        }
    }

    /// Gives the next command if its time has come.
    pub fn step(&mut self, now: u64) -> Next {
        self.turn();
        self.refresh(now);
        let is_writing = self.is_writing;
        self.open_rows(now);
        let queue = if is_writing { &self.writes } else { &self.reads };
        let times = queue.iter().enumerate().filter(|(_, line)| self.is_open(line.place));
        let next =
            times.map(|(at, line)| (self.earliest(line.place, is_writing).max(now), at)).min();
        match next {
            None => Next::Idle,
            Some((time, _)) if time > now => Next::At(time),
            Some((_, at)) => self.give(now, at),
        }
    }

    fn is_open(&self, place: Place) -> bool {
        self.banks[place.bank].row == Some(place.row)
    }

    /// Whose turn it is: writes begin at one mark and end at the other.
    fn turn(&mut self) {
        if self.is_over(0) {
            self.is_writing = !self.is_writing;
            self.since_turn = 0;
            self.counts.turns += u64::from(self.is_writing);
        }
    }

    /// Whether it is the other queue's turn, or will be after so many lines more.
    fn is_over(&self, ahead: usize) -> bool {
        let Rules { high, low, reads_least, writes_most, .. } = self.rules;
        let (reads, writes) = (self.reads.len(), self.writes.len());
        let since = self.since_turn + ahead;
        if self.is_writing {
            let is_enough = writes <= low + ahead || since >= writes_most;
            writes == 0 || (reads > 0 && is_enough)
        } else if reads == 0 {
            writes > low
        } else {
            writes + ahead >= high && since >= reads_least
        }
    }

    /// Closes all rows of a rank whose refresh is due; none opens until it is over.
    fn refresh(&mut self, now: u64) {
        for (at, rank) in self.ranks.iter_mut().enumerate() {
            if now < rank.refreshed + self.timing.refresh_every {
                continue;
            }
            rank.refreshed += self.timing.refresh_every;
            let banks = &mut self.banks[at * GROUPS * BANKS..][..GROUPS * BANKS];
            let closable = banks.iter().map(|bank| bank.closable).max().unwrap_or(0);
            let over = closable.max(now) + self.timing.close + self.timing.refresh;
            banks.fill(Bank { row: None, ready: 0, closable: over });
        }
    }

    /// Opens, bank by bank, the row of the oldest line that waits, where no line of the open one
    /// does; then, where the turn is due, of the other queue in banks that this one leaves alone.
    fn open_rows(&mut self, now: u64) {
        let mut busy = 0;
        self.open_for(now, self.is_writing, &mut busy);
        if self.is_over(self.rules.ahead) {
            self.open_for(now, !self.is_writing, &mut busy);
        }
    }

    /// Opens rows for one queue in all banks that are not busy, and says which are then.
    fn open_for(&mut self, now: u64, is_write: bool, busy: &mut u32) {
        let queue = if is_write { &self.writes } else { &self.reads };
        for line in queue {
            *busy |= u32::from(self.is_open(line.place)) << line.place.bank;
        }
        for line in queue {
            let Place { bank, rank, row, .. } = line.place;
            if *busy & (1 << bank) != 0 {
                continue;
            }
            *busy |= 1 << bank;
            let (bank, rank) = (&mut self.banks[bank], &mut self.ranks[rank]);
            let closed = match bank.row {
                Some(_) => bank.closable.max(now) + self.timing.close,
                None => bank.closable.max(now),
            };
            let apart = rank.opened[3] + self.timing.opens_apart;
            let opened = closed.max(apart).max(rank.opened[0] + self.timing.four_opens);
            rank.opened = [rank.opened[1], rank.opened[2], rank.opened[3], opened];
            *bank = Bank {
                row: Some(row),
                ready: opened + self.timing.open,
                closable: opened + self.timing.open_least,
            };
            let counts = &mut self.counts;
            *if is_write { &mut counts.opened_to_write } else { &mut counts.opened_to_read } += 1;
        }
    }

    /// When a line of an open row can be asked for.
    fn earliest(&self, place: Place, is_write: bool) -> u64 {
        let timing = &self.timing;
        let rank = &self.ranks[place.rank];
        let (end, last_rank, was_write) = self.data;
        let turns = was_write != is_write || last_rank != place.rank;
        let free = end + if turns { timing.turn } else { 0 };
        let to_data = if is_write { timing.write } else { timing.read };
        let group = rank.asked[place.group] + timing.same_group;
        let mut time = self.banks[place.bank].ready.max(group).max(free.saturating_sub(to_data));
        if !is_write {
            let same = rank.group_written[place.group] + timing.write_to_read_same;
            time = time.max(same).max(rank.written + timing.write_to_read);
        }
        time
    }

    fn give(&mut self, now: u64, at: usize) -> Next {
        let is_write = self.is_writing;
        let queue = if is_write { &mut self.writes } else { &mut self.reads };
        let Some(line) = queue.remove(at) else { return Next::Idle };
        let timing = &self.timing;
        let place = line.place;
        let end = now + if is_write { timing.write } else { timing.read } + timing.burst;
        let (bank, rank) = (&mut self.banks[place.bank], &mut self.ranks[place.rank]);
        self.data = (end, place.rank, is_write);
        rank.asked[place.group] = now;
        self.since_turn += 1;
        if is_write {
            rank.written = end;
            rank.group_written[place.group] = end;
            bank.closable = bank.closable.max(end + timing.write_to_close);
            self.counts.written += 1;
        } else {
            bank.closable = bank.closable.max(now + timing.read_to_close);
            self.counts.read += 1;
        }
        Next::Gave(line, end)
    }
}
