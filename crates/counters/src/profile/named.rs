//! Samples as stacks of named functions.

use super::kernel::Kernel;
use super::program::{Programs, mapped};
use super::records::{Address, Taken, addresses};
use narrows_model::profile::{Function, Mode, Stack, Task};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;

/// Stacks that are kept whole; of rarer ones the innermost frames are.
const STACKS_MAX: usize = 4000;
/// Frames of those: enough to say what they do, and too few to tell many apart.
const FRAMES_OF_RARE: usize = 8;

/// Samples with their names.
pub struct Named {
    pub functions: Vec<Function>,
    pub stacks: Vec<Stack>,
    /// Whether the kernel hid its addresses.
    pub hidden: bool,
}

/// Gives functions their names: those of the kernel, and those of this program in its own threads.
pub fn name(taken: &[Taken], stacks: &[Box<[u64]>], keeper: i32, kernel: Option<Kernel>) -> Named {
    let mut tasks = Tasks { keeper, known: HashMap::new() };
    let mut counts: BTreeMap<(Task, u32), (u64, u64)> = BTreeMap::new();
    for one in taken {
        let count = counts.entry((tasks.of(one), one.stack)).or_default();
        *count = (count.0 + 1, count.1.saturating_add(one.weight));
    }
    let mut book = Book::open(kernel);
    let mut merged: HashMap<(Task, Vec<u32>), (u64, u64)> = HashMap::new();
    for ((task, stack), count) in counts {
        let Some(stack) = stacks.get(stack as usize) else { continue };
        add(&mut merged, (task, book.frames(task, stack)), count);
    }
    let stacks = cut(merged, STACKS_MAX);
    Named { functions: book.functions, stacks, hidden: book.kernel.is_none() }
}

type Counts = HashMap<(Task, Vec<u32>), (u64, u64)>;

fn add(counts: &mut Counts, stack: (Task, Vec<u32>), (samples, weight): (u64, u64)) {
    let sum = counts.entry(stack).or_default();
    *sum = (sum.0 + samples, sum.1.saturating_add(weight));
}

/// The stacks, the most frequent first; of those beyond `most` only the innermost frames.
fn cut(counts: Counts, most: usize) -> Vec<Stack> {
    let all = sorted(counts);
    if all.len() <= most {
        return all;
    }
    let mut shorter = Counts::new();
    for (at, mut stack) in all.into_iter().enumerate() {
        if at >= most {
            stack.frames.truncate(FRAMES_OF_RARE);
        }
        add(&mut shorter, (stack.task, stack.frames), (stack.samples, stack.weight));
    }
    sorted(shorter)
}

fn sorted(counts: Counts) -> Vec<Stack> {
    let mut all: Vec<Stack> = counts
        .into_iter()
        .map(|((task, frames), (samples, weight))| Stack { task, frames, samples, weight })
        .collect();
    all.sort_by(|a, b| b.samples.cmp(&a.samples).then_with(|| a.frames.cmp(&b.frames)));
    all
}

struct Tasks {
    keeper: i32,
    known: HashMap<u32, Task>,
}

impl Tasks {
    fn of(&mut self, taken: &Taken) -> Task {
        if taken.thread as i32 == self.keeper {
            return Task::Keeper;
        }
        *self.known.entry(taken.process).or_insert_with(|| task(taken.process))
    }
}

fn task(process: u32) -> Task {
    if process == std::process::id() {
        return Task::Own;
    }
    // A process in no sight of this one's namespace is told as 0 too; its stacks show that.
    if process == 0 {
        return Task::Idle;
    }
    match fs::read(format!("/proc/{process}/cmdline")) {
        Ok(line) if line.is_empty() => Task::Kernel,
        Ok(_) | Err(_) => Task::Other,
    }
}

/// Names of addresses, each looked up once.
struct Book {
    kernel: Option<Kernel>,
    programs: Programs,
    functions: Vec<Function>,
    numbers: HashMap<Function, u32>,
    known: HashMap<(bool, Address), Option<u32>>,
}

impl Book {
    fn open(kernel: Option<Kernel>) -> Self {
        let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
        Self {
            kernel,
            programs: Programs::of(mapped(&maps)),
            functions: Vec::new(),
            numbers: HashMap::new(),
            known: HashMap::new(),
        }
    }

    /// The functions of a stack. What a program has no function for is where a walk by frame
    /// pointers went astray: the stack ends there.
    fn frames(&mut self, task: Task, stack: &[u64]) -> Vec<u32> {
        let is_own = matches!(task, Task::Own | Task::Keeper);
        let mut seen = HashSet::new();
        let frames: Vec<Address> = addresses(stack).collect();
        let numbers = frames.into_iter().map_while(|address| {
            let known = self.known.get(&(is_own, address)).copied();
            let number = known.unwrap_or_else(|| self.number(is_own, address));
            self.known.insert((is_own, address), number);
            number
        });
        // A function that calls itself is one frame.
        numbers.filter(|number| seen.insert(*number)).collect()
    }

    fn number(&mut self, is_own: bool, address: Address) -> Option<u32> {
        let function = match address {
            Address::Kernel(at) => self.of_kernel(at),
            Address::User(at) => self.of_program(is_own, at)?,
        };
        let next = self.functions.len() as u32;
        let number = *self.numbers.entry(function.clone()).or_insert(next);
        if number == next {
            self.functions.push(function);
        }
        Some(number)
    }

    fn of_kernel(&self, at: u64) -> Function {
        let symbol = self.kernel.as_ref().and_then(|kernel| kernel.find(at));
        Function {
            // Addresses differ at each boot and are no name: unnamed kernel code is one function.
            name: symbol.map_or_else(|| "[kernel]".to_owned(), |symbol| symbol.name.to_string()),
            mode: Mode::Kernel,
            of: symbol.and_then(|symbol| symbol.module.as_deref()).map(str::to_owned),
        }
    }

    fn of_program(&mut self, is_own: bool, at: u64) -> Option<Function> {
        if !is_own {
            return Some(Function { name: "[program]".to_owned(), mode: Mode::User, of: None });
        }
        let (name, file) = self.programs.find(at)?;
        let name = name.unwrap_or_else(|| format!("[{file}]"));
        Some(Function { name, mode: Mode::User, of: Some(file) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_stacks_are_shortened_and_none_is_dropped() {
        let mut counts = Counts::new();
        for at in 0..50u32 {
            let frames: Vec<u32> = (0..8).chain([100 + at]).collect();
            add(&mut counts, (Task::Own, frames), (u64::from(at) + 1, 10));
        }
        let whole: u64 = counts.values().map(|(samples, _)| samples).sum();
        let stacks = cut(counts, 10);
        assert_eq!(stacks.iter().map(|stack| stack.samples).sum::<u64>(), whole);
        assert_eq!(stacks.len(), 11, "ten whole, and one for those that begin alike");
        assert_eq!(stacks[0].samples, 40 * 41 / 2);
        assert_eq!(stacks[0].frames.len(), FRAMES_OF_RARE);
        assert_eq!(stacks[1].samples, 50);
    }

    #[test]
    fn a_process_is_this_one_none_or_another() {
        assert_eq!(task(std::process::id()), Task::Own);
        assert_eq!(task(0), Task::Idle);
        let mut other = std::process::Command::new("sleep").arg("9").spawn().expect("sleep");
        // Until it has its own words it looks like a thread of the kernel.
        let words = format!("/proc/{}/cmdline", other.id());
        while std::fs::read(&words).is_ok_and(|text| text.is_empty()) {
            std::thread::yield_now();
        }
        let told = task(other.id());
        other.kill().and_then(|()| other.wait()).expect("it ends");
        assert_eq!(told, Task::Other);
        // Gone by now, or never there: no number of a process is so large.
        assert_eq!(task(1 << 30), Task::Other);
    }
}
