//! The full-screen view of a study: cells with their boxplots as they grow, the host's pressure,
//! and what happened last.
//!
//! It is drawn between runs and never during one, so that looking costs the measurement nothing;
//! its own CPU time is shown. The terminal is not in raw mode: Ctrl-C stops the study as ever.

use crate::cause::Cause;
use crate::failure::Failure;
use narrows_model::record::{Outcome, Record};
use narrows_model::shown::line;
use narrows_model::trial::Trial;
use narrows_model::units::Unit;
use narrows_report::words;
use narrows_runner::Progress;
use narrows_stats::{box_plot, value_of};
use ratatui::backend::Backend;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style, Stylize};
use ratatui::text::Line;
use ratatui::widgets::{Block, Cell, Gauge, Paragraph, Row, Table};
use ratatui::{Frame, Terminal};
use std::collections::BTreeMap;
use std::collections::VecDeque;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Lines of what happened that are kept.
const LINES: usize = 6;

/// Makes sure that there is a terminal to fill, before anything is written.
pub fn check_terminal() -> Result<(), Failure> {
    if !std::io::stdout().is_terminal() {
        return Err(Failure::of(Cause::NOT_A_TERMINAL, "--tui needs a terminal"));
    }
    Ok(())
}

/// What is known of one cell.
#[derive(Default)]
struct Known {
    values: Vec<f64>,
    unit: Option<Unit>,
    failed: u32,
}

struct State {
    title: String,
    wanted: u32,
    cells: Vec<(String, Known)>,
    place: BTreeMap<String, usize>,
    log: VecDeque<String>,
    now: (usize, usize, String, Duration),
    began: Instant,
    pressure: String,
    own: String,
}

impl State {
    /// Of a study with these cells, and the runs that it has already.
    fn new(title: &str, wanted: u32, trials: &[Trial], records: &[Record]) -> Self {
        let cells: Vec<(String, Known)> = trials
            .iter()
            .map(|trial| (line(&trial.label).into_owned(), Known::default()))
            .collect();
        let place = trials.iter().enumerate().map(|(at, trial)| (trial.id.0.clone(), at)).collect();
        let mut state = Self {
            title: line(title).into_owned(),
            wanted,
            cells,
            place,
            log: VecDeque::new(),
            now: (0, 0, String::new(), Duration::ZERO),
            began: Instant::now(),
            pressure: String::new(),
            own: String::new(),
        };
        for record in records {
            if let Some(trial) = trials.iter().find(|trial| trial.id == record.trial) {
                state.add(trial, record);
            }
        }
        state.log.clear();
        state
    }

    /// A run that is over.
    fn add(&mut self, trial: &Trial, record: &Record) {
        let Some((label, known)) =
            self.place.get(&trial.id.0).and_then(|at| self.cells.get_mut(*at))
        else {
            return;
        };
        let says = match (&record.outcome, value_of(trial, record)) {
            (Outcome::Failed { why, .. }, _) => {
                known.failed += 1;
                format!("failed: {}", line(why).into_owned())
            }
            (skipped @ Outcome::Skipped { .. }, _) => line(&skipped.to_string()).into_owned(),
            (Outcome::Done, Some((value, unit))) => {
                known.values.push(value.value);
                known.unit = Some(unit);
                let noisy = if value.noisy { ", noisy" } else { "" };
                format!("{}{noisy}", words::value(value.value, unit))
            }
            (Outcome::Done, None) => "no value".to_owned(),
        };
        let told = format!("{label}, run {}: {says}", record.repeat + 1);
        self.log.push_back(told);
        while self.log.len() > LINES {
            self.log.pop_front();
        }
    }

    /// The run that begins.
    fn step(&mut self, progress: &Progress<'_>) {
        self.now =
            (progress.done, progress.total, line(progress.label).into_owned(), progress.left);
        self.pressure = pressure();
        self.own = own_cpu(self.began.elapsed());
    }

    fn draw(&self, frame: &mut Frame<'_>) {
        let lines = LINES as u16 + 2;
        let [head, grid, host, log] = Layout::vertical([
            Constraint::Length(3),
            Constraint::Min(4),
            Constraint::Length(2),
            Constraint::Length(lines),
        ])
        .areas(frame.area());
        let (done, total, label, left) = &self.now;
        let gauge = Gauge::default()
            .block(Block::bordered().title(self.title.as_str()))
            .gauge_style(Style::new().fg(Color::Blue))
            .ratio(*done as f64 / (*total).max(1) as f64)
            .label(format!(
                "{done} of {total} runs, {:.0} s left; now {label}",
                left.as_secs_f64()
            ));
        frame.render_widget(gauge, head);
        frame.render_widget(self.table(grid), grid);
        let about = vec![Line::from(self.pressure.as_str()), Line::from(self.own.as_str())];
        frame.render_widget(Paragraph::new(about), host);
        let lines: Vec<Line<'_>> = self.log.iter().map(|line| Line::from(line.as_str())).collect();
        frame.render_widget(Paragraph::new(lines).block(Block::bordered().title("last runs")), log);
    }

    fn table(&self, area: Rect) -> Table<'_> {
        // The cell that runs now stays in sight.
        let room = usize::from(area.height.saturating_sub(3)).max(1);
        let at = self.cells.iter().position(|(label, _)| *label == self.now.2).unwrap_or(0);
        let first = at.saturating_sub(room / 2).min(self.cells.len().saturating_sub(room));
        let shown = &self.cells[first..(first + room).min(self.cells.len())];
        let name = shown.iter().map(|(label, _)| label.chars().count()).max().unwrap_or(8);
        let name = name.min(usize::from(area.width) / 3) as u16;
        let plot = usize::from(area.width.saturating_sub(name + 10 + 14 + 6)).max(8);
        let rows = shown.iter().map(|(label, known)| {
            let count = match known.failed {
                0 => format!("{}/{}", known.values.len(), self.wanted),
                failed => format!("{}/{} !{failed}", known.values.len(), self.wanted),
            };
            let boxed = box_plot(&known.values);
            let median = boxed.as_ref().zip(known.unit);
            let median =
                median.map_or("-".to_owned(), |(plot, unit)| words::value(plot.median, unit));
            let row = Row::new([
                Cell::from(label.as_str()),
                Cell::from(count),
                Cell::from(median),
                Cell::from(self.plot(known, plot)),
            ]);
            if *label == self.now.2 { row.bold() } else { row }
        });
        let widths = [
            Constraint::Length(name),
            Constraint::Length(10),
            Constraint::Length(14),
            Constraint::Min(8),
        ];
        let head = Row::new(["cell", "runs", "median", "boxplot"]).underlined();
        Table::new(rows, widths).header(head).block(Block::bordered())
    }

    /// `|--[==|==]-----|`, on one scale for all cells with the same unit.
    fn plot(&self, known: &Known, width: usize) -> String {
        let alike = self.cells.iter().filter(|(_, other)| other.unit == known.unit);
        let all = alike.flat_map(|(_, other)| other.values.iter().copied());
        let (low, high) = all
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
        let Some(plot) = box_plot(&known.values) else { return String::new() };
        let span = (high - low).max(f64::MIN_POSITIVE);
        let at = |value: f64| {
            (((value - low) / span).clamp(0.0, 1.0) * (width - 1) as f64).round() as usize
        };
        let mut line = vec![' '; width];
        line[at(plot.whisker_low)..=at(plot.whisker_high)].fill('-');
        line[at(plot.quartile_1)..=at(plot.quartile_3)].fill('=');
        for outlier in &plot.outliers {
            line[at(*outlier)] = 'o';
        }
        line[at(plot.whisker_low)] = '|';
        line[at(plot.whisker_high)] = '|';
        line[at(plot.median)] = '#';
        line.into_iter().collect()
    }
}

/// Load and the share of time in which tasks waited for a CPU.
fn pressure() -> String {
    let load = read("/proc/loadavg");
    let load = load.split_whitespace().next().unwrap_or("-").to_owned();
    let cpu = read("/proc/pressure/cpu");
    let waits = cpu.split_whitespace().find_map(|word| word.strip_prefix("avg10="));
    format!("host: load {load}; tasks waited for a CPU {} % of ten seconds", waits.unwrap_or("-"))
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// CPU time of this process, which draws and controls, since the view began.
fn own_cpu(since: Duration) -> String {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // Fields 14 and 15, in hundredths of a second; the name before them may hold blanks.
    let fields: Vec<u64> = stat
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .skip(11)
        .take(2)
        .filter_map(|word| word.parse().ok())
        .collect();
    let seconds = fields.iter().sum::<u64>() as f64 / 100.0;
    let share = 100.0 * seconds / since.as_secs_f64().max(0.01);
    format!("narrows itself: {seconds:.1} s of CPU, {share:.1} % of one; drawn between runs only")
}

/// A view on the terminal.
pub struct Watch {
    state: State,
    terminal: Option<ratatui::DefaultTerminal>,
}

impl Watch {
    /// Takes the terminal, for a study with these cells and the runs that it has already.
    pub fn begin(
        title: &str,
        wanted: u32,
        trials: &[Trial],
        records: &[Record],
    ) -> Result<Self, Failure> {
        let state = State::new(title, wanted, trials, records);
        let terminal = taken();
        let terminal = terminal
            .map_err(|error| Failure::of(Cause::NO_TERMINAL, format!("the terminal: {error}")))?;
        Ok(Self { state, terminal: Some(terminal) })
    }

    /// A run that is over.
    pub fn ran(&mut self, trial: &Trial, record: &Record) {
        self.state.add(trial, record);
    }

    /// Draws the run that begins; a terminal that is gone is no reason to stop measuring.
    pub fn step(&mut self, progress: &Progress<'_>) {
        self.state.step(progress);
        if let Some(terminal) = &mut self.terminal {
            let _ = paint(terminal, &self.state);
        }
    }

    /// Gives the terminal back.
    fn end(&mut self) {
        if self.terminal.take().is_some() {
            let mut out = std::io::stdout();
            let _ = ratatui::crossterm::execute!(
                out,
                ratatui::crossterm::terminal::LeaveAlternateScreen,
                ratatui::crossterm::cursor::Show
            );
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.end();
    }
}

fn taken() -> std::io::Result<ratatui::DefaultTerminal> {
    let mut out = std::io::stdout();
    ratatui::crossterm::execute!(out, ratatui::crossterm::terminal::EnterAlternateScreen)?;
    Terminal::new(ratatui::backend::CrosstermBackend::new(std::io::stdout()))
}

fn paint<B: Backend>(terminal: &mut Terminal<B>, state: &State) -> Result<(), B::Error> {
    terminal.draw(|frame| state.draw(frame)).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::Nanos;
    use narrows_model::load::{Params, Timeline};
    use narrows_model::record::{External, Fault, Figure, Stage, Stamp};
    use narrows_model::trial::{EndSpec, NetworkPath, TrialId};
    use ratatui::backend::TestBackend;

    fn trial(label: &str) -> Trial {
        let timeline = Timeline {
            warmup_ns: Nanos(0),
            window_ns: Nanos(1),
            cooldown_ns: Nanos(0),
            interval_ns: None,
        };
        Trial {
            id: TrialId(label.into()),
            label: label.into(),
            kind: "tcp-stream".into(),
            params: Params::of_network(narrows_model::Bytes(1), 1),
            ends: EndSpec::anywhere(false),
            path: NetworkPath::Imported,
            timeline,
            levels: Vec::new(),
            notes: Vec::new(),
            engine: None,
        }
    }

    fn run(trial: &Trial, repeat: u32, value: Option<f64>) -> Record {
        let outcome = match value {
            Some(_) => Outcome::Done,
            None => Outcome::Failed {
                at: Stage::Run,
                why: "no \u{1b}[2Jpeer".into(),
                fault: Fault::default(),
            },
        };
        let figures =
            value.map(|value| Figure { name: "received".into(), value, unit: Unit::BitsPerSecond });
        let external = External {
            tool: "iperf3".into(),
            version: None,
            command: None,
            file: None,
            figures: figures.into_iter().collect(),
            output: String::new(),
            client: None,
            packets: None,
        };
        Record {
            trial: trial.id.clone(),
            repeat,
            block: 0,
            outcome,
            reports: Vec::new(),
            around: Stamp::default(),
            session: 0,
            external: Some(external),
        }
    }

    fn drawn(state: &State, width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a terminal");
        paint(&mut terminal, state).expect("drawn");
        format!("{}", terminal.backend())
    }

    #[test]
    fn cells_grow_and_hostile_labels_stay_text() {
        let trials = [trial("slow"), trial("fast \u{1b}[2J\n\u{202e}")];
        let first = run(&trials[0], 0, Some(1e9));
        let mut state = State::new("a study", 3, &trials, &[first]);
        for repeat in 0..3 {
            state.add(&trials[1], &run(&trials[1], repeat, Some((8.0 + f64::from(repeat)) * 1e9)));
        }
        state.add(&trials[0], &run(&trials[0], 1, None));
        let label = "slow";
        state.step(&Progress { done: 4, total: 6, label, left: Duration::from_secs(7) });
        let text = drawn(&state, 100, 24);
        for part in ["a study", "4 of 6 runs, 7 s left", "1/3 !1", "3/3", "9.00 Gb/s", "failed: no"]
        {
            assert!(text.contains(part), "{part} in\n{text}");
        }
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "a control code of the data");
        // The slower cell's box stands left of the faster one's.
        let column = |label: &str| {
            let line = text.lines().find(|line| line.contains(label) && line.contains('#'));
            line.and_then(|line| line.rfind('#')).expect("a median")
        };
        assert!(column("slow") < column("fast"), "{text}");
    }

    #[test]
    fn any_size_of_a_terminal_can_be_drawn_on() {
        let trials: Vec<Trial> = (0..40).map(|at| trial(&format!("cell {at}"))).collect();
        let records: Vec<Record> = trials
            .iter()
            .map(|trial| run(trial, 0, Some(f64::from(trial.id.0.len() as u32))))
            .collect();
        let state = State::new("many", 1, &trials, &records);
        for (width, height) in [(1, 1), (8, 3), (20, 10), (80, 24), (300, 80)] {
            drawn(&state, width, height);
        }
    }
}
