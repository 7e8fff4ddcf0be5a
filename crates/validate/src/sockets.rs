//! Kernel sockets by memory population: how many bytes a second TCP and UDP carry when the pages of
//! the stack lie in one interleave set.
//!
//! `T = min(kappa E R, 8 eta w C / m / (share of traffic in that set))`: framing E of the link's
//! rate R under a software ceiling kappa; w channels of the narrowest set, each of peak C, of which
//! copies reach eta; m bytes of memory traffic for each payload byte. The set is the narrowest of
//! the socket that the NIC and the program are on: older kernels hand out the highest pages first,
//! and firmware puts the narrow set there. Rows: `dimms`, added to sockets and controllers in turn,
//! or `channels` (modules of each channel, by controller, by socket); `tcp_gbps` and `udp_gbps`.

use super::asked::Unasked;
use super::fit::{Bound, fit};
use super::{Answer, Comparison, Kind, Parameter, Row, Table};
use narrows_dimm::platform::{self, Platform};
use narrows_predict::framing;
use narrows_predict::sockets::{ETA, Pages, Theta, ways};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use toml::Value;

/// Message of the streams, unless a row has another.
const MESSAGE_BYTES: f64 = 65_536.0;
/// More modules than this are a slip of the pen.
const MODULES_MAX: usize = 1024;
/// Draws for the range without a fit.
const DRAWS: usize = 4000;

/// What a row asks, ready to be computed.
#[derive(Clone, Debug)]
struct Ask {
    published: f64,
    udp: bool,
    /// Ways of the sets of the first socket, widest first, and of the others'.
    near: Vec<usize>,
    far: Vec<usize>,
    sockets: usize,
    /// Whether both controllers of a socket hold the same, by socket; `None` without memory.
    even: Vec<Option<bool>>,
    channel_gb_s: f64,
    link_gbps: f64,
    framing: f64,
}

/// Nothing fitted: the least that OSU's counting gives a receiver, no ceiling, and an even guess
/// between none and half of the pages on the other socket.
const PLAIN: Theta = Theta { kappa: 1.0, m: 2.0, g: 1.0, r: 0.0, q: 0.0, x: 0.25 };

fn theta(values: &[f64]) -> Theta {
    let [kappa, m, g, r, q] = [0, 1, 2, 3, 4].map(|at| values.get(at).copied().unwrap_or(0.0));
    Theta { kappa, m, g, r, q, x: 0.0 }
}

impl Ask {
    fn ceiling_gbps(&self, theta: &Theta) -> f64 {
        theta.kappa * self.framing * self.link_gbps
    }

    fn memory_gbps(&self, theta: &Theta, eta: f64) -> f64 {
        let pages = Pages {
            near: &self.near,
            far: !self.far.is_empty(),
            sockets: self.sockets,
            channel_gb_s: self.channel_gb_s,
        };
        theta.memory_gbps(&pages, self.udp, eta)
    }

    fn gbps(&self, theta: &Theta, eta: f64) -> f64 {
        self.ceiling_gbps(theta).min(self.memory_gbps(theta, eta))
    }

    fn bottleneck(&self, theta: &Theta) -> &'static str {
        if self.memory_gbps(theta, ETA) < self.ceiling_gbps(theta) {
            "memory: the narrowest interleave set"
        } else {
            "wire, under the kernel's ceiling"
        }
    }
}

/// Answers for all tables of this kind, those of one system together.
pub fn answers(tables: &[Table]) -> Vec<Answer> {
    let mut groups: Vec<(String, Vec<&Table>)> = Vec::new();
    for table in tables.iter().filter(|table| is_one(table)) {
        let system = ["cpu", "nic", "dimm", "mts"]
            .map(|key| table.system.get(key).map(ToString::to_string).unwrap_or_default())
            .join("/");
        match groups.iter_mut().find(|(known, _)| *known == system) {
            Some((_, group)) => group.push(table),
            None => groups.push((system, vec![table])),
        }
    }
    groups.into_iter().map(|(_, group)| answer(&group)).collect()
}

pub fn is_one(table: &Table) -> bool {
    table.rows().any(|row| is_populated(&row) && has_figures(&row))
}

fn is_populated(row: &Row<'_>) -> bool {
    row.has("dimms") || row.has("channels")
}

fn has_figures(row: &Row<'_>) -> bool {
    row.has("tcp_gbps") || row.has("udp_gbps")
}

fn answer(tables: &[&Table]) -> Answer {
    let mut answer = Answer {
        question: "kernel sockets by memory population",
        files: tables.iter().map(|table| table.name.clone()).collect(),
        ..Answer::default()
    };
    let mut asks = Vec::new();
    for table in tables {
        for row in table.rows() {
            for (quantity, udp) in [("tcp_gbps", false), ("udp_gbps", true)] {
                let Some(published) = row.own(quantity) else { continue };
                let mut cell = Comparison::new(&row, quantity, Some(published));
                cell.row = format!("{} of {}", cell.row, table.name);
                match ask(&row, published, udp) {
                    Ok(ask) => {
                        asks.push((answer.cells.len(), ask));
                        answer.cells.push(cell);
                    }
                    Err(why) => {
                        cell.says = why.to_string();
                        answer.cells.push(cell);
                    }
                }
            }
        }
    }
    solve(&mut answer, &asks);
    answer
}

fn solve(answer: &mut Answer, asks: &[(usize, Ask)]) {
    let all: Vec<&Ask> = asks.iter().map(|(_, ask)| ask).collect();
    if all.is_empty() {
        return;
    }
    let enough = all.len() >= 10;
    let theta = if enough { fitted(&all) } else { PLAIN };
    let mut left = Vec::new();
    for (at, (cell, ask)) in asks.iter().enumerate() {
        let cell = &mut answer.cells[*cell];
        cell.predicted = Some(ask.gbps(&theta, ETA));
        cell.bottleneck = ask.bottleneck(&theta).to_owned();
        cell.kind = if enough { Kind::Fitted } else { Kind::Prediction };
        cell.uncalibrated = Some(unfitted(ask));
        cell.says = says(ask);
        if enough {
            let others: Vec<&Ask> =
                all.iter().enumerate().filter(|(i, _)| *i != at).map(|(_, ask)| *ask).collect();
            let without = ask.gbps(&fitted(&others), ETA);
            cell.left_out = Some(without);
            left.push((without / ask.published).ln());
        }
    }
    if enough {
        ranges(answer, asks, &left)
    } else {
        for (cell, _) in asks {
            let cell = &mut answer.cells[*cell];
            (cell.low, cell.high) =
                cell.uncalibrated.map_or((None, None), |u| (Some(u.1), Some(u.2)));
        }
    }
    answer.parameters = parameters(&theta, enough, all.len());
    let published: Vec<f64> = all.iter().map(|ask| ask.published).collect();
    answer.guess_the_median(&published);
    let wire = all.iter().map(|ask| (ask.link_gbps * ask.framing / ask.published - 1.0).abs());
    answer.baselines.push(("rate of the wire", wire.sum::<f64>() / all.len() as f64));
    remarks(answer, asks, &theta);
}

/// The range in which a left-out row fell four times out of five, around each prediction.
fn ranges(answer: &mut Answer, asks: &[(usize, Ask)], left: &[f64]) {
    let off: Vec<f64> = left.iter().map(|off| off.abs()).collect();
    let Some(half) = narrows_stats::quantile(&off, 0.8) else { return };
    for (cell, _) in asks {
        let cell = &mut answer.cells[*cell];
        cell.low = cell.predicted.map(|value| value * (-half).exp());
        cell.high = cell.predicted.map(|value| value * half.exp());
    }
}

/// The parameters that fit rows best, by squared relative errors that grow only linearly beyond two
/// per cent: one odd row must not bend the rest.
fn fitted(asks: &[&Ask]) -> Theta {
    let has = |what: &dyn Fn(&Ask) -> bool| asks.iter().any(|ask| what(ask));
    let two = has(&|ask| !ask.udp && ask.sockets > 1) && has(&|ask| !ask.udp && ask.sockets == 1);
    let wider = has(&|ask| {
        ask.udp && ask.near.iter().any(|ways| ways > ask.near.iter().min().unwrap_or(ways))
    });
    let far = has(&|ask| ask.udp && !ask.far.is_empty());
    let bounds = [
        bound(true, 0.95, 0.5, 1.0),
        bound(true, 2.0, 0.8, 6.0),
        bound(two, 1.0, 0.4, 1.5),
        bound(wider, 0.0, 0.0, 0.6),
        bound(far, 0.0, 0.0, 0.6),
    ];
    let cost = |values: &[f64]| {
        let theta = theta(values);
        let each = asks.iter().map(|ask| {
            let off = (ask.gbps(&theta, ETA) / ask.published).ln();
            0.02f64.hypot(off) - 0.02
        });
        each.sum::<f64>()
    };
    theta(&fit(&bounds, cost))
}

fn bound(is: bool, start: f64, low: f64, high: f64) -> Bound {
    if is { Bound { start, low, high } } else { Bound { start, low: start, high: start } }
}

/// The model without a fit, and its 80 % range when what is not known is drawn evenly.
fn unfitted(ask: &Ask) -> (f64, f64, f64) {
    let mut random = Pcg64::seed_from_u64(1);
    let mut between = |low: f64, high: f64| low + (high - low) * random.random::<f64>();
    let draws = (0..DRAWS).map(|_| {
        let theta = Theta {
            kappa: between(0.85, 1.0),
            m: between(1.5, 3.0),
            x: between(0.0, 0.5),
            ..PLAIN
        };
        ask.gbps(&theta, between(0.62, 0.80))
    });
    let draws: Vec<f64> = draws.collect();
    let at = |q: f64| narrows_stats::quantile(&draws, q).unwrap_or(f64::NAN);
    // Nothing fitted is no ceiling under the wire, an end of what is drawn.
    let value = ask.gbps(&PLAIN, ETA);
    (value, at(0.1).min(value), at(0.9).max(value))
}

fn says(ask: &Ask) -> String {
    let even = |socket: usize| match ask.even.get(socket) {
        Some(Some(true)) => ", controllers equal",
        Some(Some(false)) => ", controllers differ",
        _ => "",
    };
    let near = format!("{}{}", ways_shown(&ask.near), even(0));
    match ask.sockets {
        1 => near,
        _ => format!("{near}; other socket {}{}", ways_shown(&ask.far), even(1)),
    }
}

fn ways_shown(sets: &[usize]) -> String {
    match sets {
        [] => "no memory".to_owned(),
        sets => {
            format!("sets of {}", sets.iter().map(usize::to_string).collect::<Vec<_>>().join("+"))
        }
    }
}

fn parameters(theta: &Theta, fitted: bool, rows: usize) -> Vec<Parameter> {
    let from = |what: &str| {
        if fitted { format!("fitted on these {rows} figures") } else { what.to_owned() }
    };
    let one = |name, value, unit, says, from| Parameter { name, value, unit, says, from };
    let mut all = vec![
        one(
            "eta",
            ETA,
            "share",
            "of the channels' peak, one read for each write",
            "measured on one Cascade Lake node (field notes)".to_owned(),
        ),
        one(
            "kappa",
            theta.kappa,
            "share",
            "of the framing's rate, the kernel's own ceiling",
            from("assumed"),
        ),
        one(
            "m",
            theta.m,
            "B/B",
            "memory bytes for each payload byte; only eta/m is told by rates",
            from("assumed: the least of OSU's counting for a receiver"),
        ),
    ];
    if fitted {
        all.push(one(
            "g",
            theta.g,
            "factor",
            "on m for TCP with two processors; no mechanism is known",
            from(""),
        ));
        all.push(one(
            "r",
            theta.r,
            "share",
            "of UDP's traffic in a wider set of the socket",
            from(""),
        ));
        all.push(one(
            "q",
            theta.q,
            "share",
            "of UDP's traffic in the other socket's memory",
            from(""),
        ));
    }
    all
}

/// Rows that stand out, and whether a module on the other socket would explain them.
fn remarks(answer: &mut Answer, asks: &[(usize, Ask)], theta: &Theta) {
    let off: Vec<f64> =
        asks.iter().map(|(_, ask)| (ask.gbps(theta, ETA) / ask.published).ln().abs()).collect();
    let Some(usual) = narrows_stats::quantile(&off, 0.8) else { return };
    let mut told: Vec<String> = Vec::new();
    for ((cell, ask), off) in asks.iter().zip(&off) {
        if *off < 3.0 * usual.max(0.01) || asks.len() < 10 {
            continue;
        }
        let row = answer.cells[*cell].row.clone();
        if told.contains(&row) {
            continue;
        }
        let same = asks.iter().filter(|(other, _)| answer.cells[*other].row == row);
        let fits = !ask.far.is_empty()
            && same.clone().all(|(_, ask)| {
                (swapped(ask).gbps(theta, ETA) / ask.published).ln().abs() <= usual.max(0.01)
            });
        let published: Vec<String> = same
            .map(|(_, ask)| format!("{} and not {:.1}", ask.published, ask.gbps(theta, ETA)))
            .collect();
        let mut text = format!("not explained: {row}: {}", published.join(", "));
        if fits {
            text += "; the populations of the two sockets exchanged would fit";
        }
        answer.remarks.push(text);
        told.push(row);
    }
    if theta.g < 0.9 && asks.len() >= 10 {
        answer.remarks.push(format!(
            "not explained: on one narrow set TCP reaches {:.0} % more with a second processor, whose \
             memory is not used; the parameter g absorbs it",
            (1.0 / theta.g - 1.0) * 100.0
        ));
    }
}

fn swapped(ask: &Ask) -> Ask {
    Ask { near: ask.far.clone(), far: ask.near.clone(), ..ask.clone() }
}

/// What a row asks; an error says what it lacks.
fn ask(row: &Row<'_>, published: f64, udp: bool) -> Result<Ask, Unasked> {
    if published <= 0.0 {
        return Err(Unasked::NotPositive);
    }
    let platform = platform_of(row)?;
    let mts = row.number("mts").or_else(|| row.text("dimm").and_then(mts_of));
    let mts = mts.ok_or(Unasked::MemorySpeed)?;
    let link = row.link_bps().ok_or(Unasked::Link)?;
    let mtu = row.number("mtu").unwrap_or(1500.0);
    let message = row.number("message").unwrap_or(MESSAGE_BYTES);
    let by_socket = population(row, platform)?;
    let ways = |socket: usize| ways(&by_socket[socket], platform).map_err(Unasked::Interleave);
    let far: Result<Vec<Vec<usize>>, Unasked> = (1..by_socket.len()).map(ways).collect();
    Ok(Ask {
        published,
        udp,
        near: ways(0)?,
        far: far?.concat(),
        sockets: by_socket.len(),
        even: by_socket
            .iter()
            .map(|modules| controllers_equal(modules, platform.controllers as usize))
            .collect(),
        channel_gb_s: mts * 8.0 / 1e3,
        link_gbps: link / 1e9,
        framing: if udp { framing::udp(mtu, message) } else { framing::tcp(mtu, true) },
    })
}

/// `DDR4-2933` runs at 2933.
pub fn mts_of(dimm: &str) -> Option<f64> {
    let (_, rest) = dimm.split_once("DDR")?;
    let (_, speed) = rest.split_once('-')?;
    let digits: String = speed.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

/// Ways of the interleave sets of every socket that a row describes.
pub(super) fn sets_of(row: &Row<'_>) -> Result<Vec<Vec<usize>>, Unasked> {
    let platform = platform_of(row)?;
    let by_socket = population(row, platform)?;
    let each = by_socket.iter().map(|modules| ways(modules, platform));
    each.collect::<Result<_, _>>().map_err(Unasked::Interleave)
}

fn platform_of(row: &Row<'_>) -> Result<&'static Platform, Unasked> {
    let cpu = row.text("cpu").ok_or(Unasked::Processor)?;
    let name = cpu.split('(').next().unwrap_or(cpu);
    platform::named(name).ok_or_else(|| Unasked::Platform(cpu.to_owned()))
}

/// Modules of every channel, by socket, controllers one after the other.
type BySocket = Vec<Vec<u32>>;

fn population(row: &Row<'_>, platform: &Platform) -> Result<BySocket, Unasked> {
    let (controllers, channels) = (platform.controllers as usize, platform.channels as usize);
    if let Some(given) = row.value("channels").and_then(Value::as_array) {
        let socket = |value: &Value| -> Option<Vec<u32>> {
            let all = value.as_array()?.iter().map(|c| {
                Some(c.as_array()?.iter().map(|value| {
                    value.as_integer().and_then(|n| u32::try_from(n).ok()).filter(|n| *n <= 8)
                }))
            });
            all.collect::<Option<Vec<_>>>()?.into_iter().flatten().collect()
        };
        return given.iter().map(|value| socket(value).ok_or(Unasked::Channels)).collect();
    }
    let dimms = row.number("dimms").ok_or(Unasked::Modules)? as usize;
    if dimms > MODULES_MAX {
        return Err(Unasked::TooManyModules(dimms));
    }
    // A second processor is there when any row says something of its memory.
    let told = row.number("sockets").map(|sockets| sockets as usize);
    let sockets = told
        .unwrap_or(
            1 + usize::from(row.table.rows().any(|row| {
                row.text("cpu2").is_some_and(|word| !word.eq_ignore_ascii_case("none"))
            })),
        )
        .clamp(1, 16);
    let mut all = vec![vec![0u32; controllers * channels]; sockets];
    for dimm in 0..dimms {
        let (socket, place) = (dimm % sockets, dimm / sockets);
        // In turn over controllers, then over the channels of each, then a second to each channel.
        let place = place % (controllers * channels);
        let (controller, channel) = (place % controllers, place / controllers);
        all[socket][controller * channels + channel] += 1;
    }
    Ok(all)
}

/// `Balanced` in the sense of the study LP1241 of one socket: both controllers hold the same.
fn controllers_equal(modules: &[u32], controllers: usize) -> Option<bool> {
    let each = modules.len() / controllers.max(1);
    let sums: Vec<u32> = modules.chunks(each.max(1)).map(|c| c.iter().sum()).collect();
    (sums.iter().sum::<u32>() > 0).then(|| sums.windows(2).all(|pair| pair[0] == pair[1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SYSTEM: &str = "[system]\ncpu = 'Intel Xeon Platinum 8280 2.6 GHz (Cascade Lake-SP)'\n\
        dimm = '32 GB DDR4-2933 RDIMM'\nnic = 'Mellanox ConnectX-4 1x100GbE/EDR VPI'\n";

    /// Regions of LP1241's populations, by the order of its slots.
    #[test]
    fn sets_are_those_of_the_study() {
        let text = format!("{SYSTEM}[[row]]\ndimms = 1\ncpu2 = 'Unbalanced'\n");
        let table = Table::parse("t", &text).expect("a table");
        let platform = platform::named("Intel Xeon Platinum 8280").expect("a platform");
        let of = |dimms: usize| {
            let fields =
                toml::Table::from_iter([("dimms".to_owned(), Value::Integer(dimms as i64))]);
            let row = Row { table: &table, at: 0, fields: &fields };
            let by_socket = population(&row, platform).expect("a population");
            let both: Vec<Vec<usize>> =
                (0..2).map(|socket| ways(&by_socket[socket], platform).expect("sets")).collect();
            let even: Vec<Option<bool>> =
                by_socket.iter().map(|s| controllers_equal(s, 2)).collect();
            (both, even)
        };
        let want: [(&[usize], &[usize]); 12] = [
            (&[1], &[]),
            (&[1], &[1]),
            (&[2], &[1]),
            (&[2], &[2]),
            (&[2, 1], &[2]),
            (&[2, 1], &[2, 1]),
            (&[4], &[2, 1]),
            (&[4], &[4]),
            (&[4, 1], &[4]),
            (&[4, 1], &[4, 1]),
            (&[6], &[4, 1]),
            (&[6], &[6]),
        ];
        for (dimms, (near, far)) in (1..=12).zip(want) {
            let (both, even) = of(dimms);
            assert_eq!((both[0].as_slice(), both[1].as_slice()), (near, far), "{dimms} DIMMs");
            let balanced = |sets: &[usize]| (!sets.is_empty()).then(|| !sets.contains(&1));
            assert_eq!(even, [balanced(near), balanced(far)], "{dimms} DIMMs");
        }
    }

    /// Rows made by the model itself, with noise: the fit finds the parameters that made them.
    #[test]
    fn planted_parameters_are_found() {
        let planted = Theta { kappa: 0.9, m: 2.4, g: 1.0, r: 0.0, q: 0.0, x: 0.0 };
        let mut random = Pcg64::seed_from_u64(3);
        let ask = |ways: usize| Ask {
            published: 1.0,
            udp: false,
            near: vec![ways],
            far: Vec::new(),
            sockets: 1,
            even: vec![Some(ways > 1)],
            channel_gb_s: 23.464,
            link_gbps: 100.0,
            framing: 0.9415,
        };
        let mut asks: Vec<Ask> = (0..12).map(|at| ask([1, 2, 4, 1, 1, 6][at % 6])).collect();
        for ask in &mut asks {
            ask.published = ask.gbps(&planted, ETA) * (1.0 + 0.01 * (random.random::<f64>() - 0.5));
        }
        let found = fitted(&asks.iter().collect::<Vec<_>>());
        assert!(
            (found.kappa / 0.9 - 1.0).abs() < 0.01 && (found.m / 2.4 - 1.0).abs() < 0.01,
            "{found:?}"
        );
    }

    #[test]
    fn what_a_row_lacks_is_said() {
        let table = Table::parse("t", "[[row]]\ndimms = 1\ntcp_gbps = 5.0\n").expect("a table");
        let answers = answers(&[table]);
        assert!(answers[0].cells[0].says.contains("`cpu`"), "{:?}", answers[0].cells);
    }
}
