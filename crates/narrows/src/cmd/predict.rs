//! `narrows predict`: what should be reached, of a host as it is and after a change, and of
//! published tables.

use crate::args::PredictArgs;
use crate::cause::Cause;
use crate::failure::Failure;
use crate::input;
use crate::output;
use crate::screen;
use narrows_host::Root;
use narrows_model::host::Host;
use narrows_predict::calibration::Calibration;
use narrows_predict::description::{self, Description};
use narrows_predict::prices::{PARTS, cost};
use narrows_predict::under_load::NoCurve;

use narrows_predict::wire_rate::verdict;
use narrows_predict::{Found, Kit, Predictor, Refused, Said, of_host, search};
use narrows_report::documents::{
    self, PredictDocument, PredictedHost, PredictedSearch, PredictedTraffic, ReachedAlone,
};
use narrows_report::whatif::{Change, ending, population, svg, text};
use narrows_report::{Analysis, bus};
use std::path::Path;

/// Populations that a search shows.
const SHOWN: usize = 5;
/// How [`search`] puts them in order.
const RANKED: &str = "ranked as makers' guides ask for it: sockets alike, one set a socket, \
                      bandwidth of memory, then the lower of TCP and UDP";
/// A description is a page and not a book.
const DESCRIPTION_BYTES_MAX: u64 = 1 << 20;

/// A host, what was measured on it, and what a description says.
struct Base {
    host: Host,
    measured: Calibration,
    described: Description,
}

pub fn run(args: &PredictArgs) -> Result<u8, Failure> {
    if args.schema.schema {
        return super::schema::print("predict");
    }
    if !args.published.is_empty() {
        return super::published::beside(&args.published, args.json);
    }
    if let Some(folder) = &args.score {
        return super::published::scored(folder, args.json);
    }
    if args.traffic {
        return traffic(args);
    }
    once("--given", &args.given)?;
    once("--set", &args.set)?;
    once("--price", &args.price)?;
    let base = base(args)?;
    let given: Said =
        base.described.said.iter().chain(args.given.iter().map(|(k, v)| (k, v))).fold(
            Said::new(),
            |mut said, (key, value)| {
                said.insert(key.clone(), value.clone());
                said
            },
        );
    let mut all = given.clone();
    all.extend(args.set.iter().cloned());
    let mut engine =
        of_host(&base.host, &all, &base.measured).map_err(|why| refused(&why, &base, args))?;
    let today = of_host(&base.host, &given, &base.measured).ok();
    match &today {
        Some(today) => {
            engine.parameters = engine.parameters.calibrated(&today.server, &base.measured);
        }
        None if !base.measured.is_empty() => engine.parameters.unused.push(
            "what TCP and UDP reached through the NIC: the server as it is today is not known; \
             say what it does not tell with --given"
                .to_owned(),
        ),
        None => {}
    }
    if today.is_none() && base.measured.beside_reads.is_some() {
        engine.parameters.unused.push(NoCurve::Peak.unused());
    }
    if let Some(kit) = &args.search {
        return populations(args, &engine, kit);
    }
    engine.server.runs().map_err(|why| wrong(why.to_string()))?;
    let today = today.filter(|_| !args.set.is_empty()).map(|mut today| {
        today.parameters = today.parameters.calibrated(&today.server, &base.measured);
        // The same work as after the change, so that the two can be set against each other.
        today.server.paths.clone_from(&engine.server.paths);
        today
    });
    let unmoved = unmoved(args, &base, &all, &engine);
    answer(args, &base, &engine, today.as_ref(), &unmoved)
}

/// Keys that somebody said and that change nothing of any figure: nobody is to take them for
/// considered. `work.socket` has a line of its own.
fn unmoved(args: &PredictArgs, base: &Base, all: &Said, engine: &Predictor) -> Vec<String> {
    let figures = figures(engine);
    let said = args.given.iter().chain(&args.set).map(|(key, _)| key);
    let said = said.filter(|key| !OF_THEIR_OWN.contains(&key.as_str()));
    let is_unmoved = |key: &&String| {
        let mut without = all.clone();
        without.remove(*key);
        // What neighbours do needs some.
        without.retain(|other, _| *key != "neighbours" || other != "neighbours.work");
        let other = of_host(&base.host, &without, &base.measured);
        other.is_ok_and(|mut other| {
            other.parameters = engine.parameters.clone();
            self::figures(&other) == figures
        })
    };
    said.filter(is_unmoved).cloned().collect()
}

/// A path's figure, a resource's, or what is missing for one: its name, its value and its range.
type Figure = (String, Option<[f64; 3]>);

/// Every figure of an answer, without its words.
fn figures(engine: &Predictor) -> Vec<Figure> {
    let mut all = Vec::new();
    for reach in engine.reaches() {
        let own = reach.resources.iter().map(|one| {
            (format!("{} {:?}", one.name, one.only_if), Some([one.value, one.low, one.high]))
        });
        all.extend(own);
        all.extend(reach.missing.iter().map(|gap| (gap.of.to_string(), None)));
        all.push((reach.path, Some([reach.value, reach.low, reach.high])));
    }
    all
}

/// Keys that choose what is asked, and those whose effect is told elsewhere.
const OF_THEIR_OWN: [&str; 2] = ["path", "work.socket"];

/// What must cross the memory bus, beside what a study counted.
fn traffic(args: &PredictArgs) -> Result<u8, Failure> {
    let base = base(args)?;
    let study = args.from.iter().find(|from| is_study(from)).or(args.calibrate.as_ref());
    let stored = study.map(|study| narrows_store::read(study)).transpose()?;
    let analysis = stored.as_ref().map(Analysis::of);
    let copy_gb_s = base.measured.copy_gb_s.map(|copy| copy.value);
    let traffic = bus::of(&base.host, copy_gb_s, analysis.as_ref());
    output::print_json_or_text(
        args.json,
        &if args.json {
            documents::printed(&PredictDocument::Traffic(PredictedTraffic {
                schema_version: documents::VERSION,
                traffic,
            }))
        } else {
            bus::text(&traffic)
        },
    )?;
    Ok(0)
}

/// Refuses a key that one option names twice: neither value is surely the one that is meant.
fn once(option: &str, pairs: &[(String, String)]) -> Result<(), Failure> {
    for (at, (key, value)) in pairs.iter().enumerate() {
        if let Some((_, first)) = pairs[..at].iter().find(|(known, _)| known == key) {
            return Err(wrong(format!("{option} {key} is given twice: {first} and {value}")));
        }
    }
    Ok(())
}

/// What is missing may be measured instead; what is wrong has to be said in another way. What a
/// description says and no option does is told with its file.
fn refused(why: &Refused, base: &Base, args: &PredictArgs) -> Failure {
    let cause = match why {
        Refused::Missing(_) => Cause::NO_SERVER_KNOWN,
        _ => Cause::NO_PREDICTION,
    };
    let mut options = args.given.iter().chain(&args.set);
    let of_file = why.key().filter(|key| base.described.said.contains_key(*key));
    let file = of_file
        .filter(|of| !options.any(|(key, _)| key == of))
        .and(args.from.as_ref())
        .map_or_else(String::new, |file| format!("{}: ", file.display()));
    Failure::of(cause, format!("{file}{why}"))
}

fn wrong(why: String) -> Failure {
    Failure::of(Cause::NO_PREDICTION, why)
}

fn base(args: &PredictArgs) -> Result<Base, Failure> {
    let (mut measured, mut described) = (Calibration::default(), Description::default());
    let host = match &args.from {
        None => narrows_host::read(&Root::live()),
        Some(from) if super::bmc::is_address(from) => {
            super::described::open_together(std::slice::from_ref(from), &args.bmc)?
        }
        Some(from) if is_study(from) => {
            let stored = narrows_store::read(from)?;
            measured = Calibration::of(&stored, &Analysis::of(&stored).summaries);
            stored.host
        }
        Some(from) => match description(from, Cause::NO_PREDICTION)? {
            Some(found) => {
                described = found;
                Host::default()
            }
            None => super::described::open(from)?,
        },
    };
    if let Some(file) = &args.calibrate {
        let stored = narrows_store::read(file)?;
        measured = Calibration::of(&stored, &Analysis::of(&stored).summaries);
    }
    for (part, price) in &args.price {
        let price: Option<f64> = price.parse().ok().filter(|p: &f64| *p >= 0.0 && *p < 1e9);
        let price = price.ok_or_else(|| wrong(format!("--price {part}: not a price")))?;
        described.prices.retain(|(known, _)| known != part);
        described.prices.push((part.clone(), price));
    }
    match described.prices.iter().find(|(part, _)| !PARTS.contains(&part.as_str())) {
        None => Ok(Base { host, measured, described }),
        Some((part, _)) => {
            Err(wrong(format!("a price of {part}: parts are {}", PARTS.join(" and "))))
        }
    }
}

pub(super) fn is_study(path: &Path) -> bool {
    path.is_file() && narrows_store::is_database(path).is_ok()
}

/// What a TOML file describes; `None` for files of other kinds. The cause is that of one that
/// describes no server.
pub(super) fn description(path: &Path, cause: Cause) -> Result<Option<Description>, Failure> {
    let ends = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("toml"));
    if !ends || !path.is_file() {
        return Ok(None);
    }
    let unread = |why: String| Failure::of(cause, format!("{}: {why}", path.display()));
    let size = std::fs::metadata(path).map_err(|error| unread(error.to_string()))?.len();
    if size > DESCRIPTION_BYTES_MAX {
        return Err(unread(format!("{size} bytes are not a description of a server")));
    }
    let text = input::text(path)?;
    description::parse(&text).map(Some).map_err(|why| unread(why.to_string()))
}

fn answer(
    args: &PredictArgs,
    base: &Base,
    engine: &Predictor,
    today: Option<&Predictor>,
    unmoved: &[String],
) -> Result<u8, Failure> {
    let (before, after) = (today.map(Predictor::reaches), engine.reaches());
    if after.is_empty() {
        return Err(wrong(format!("no path is called {}", engine.server.paths.join(", "))));
    }
    let priced = !base.described.prices.is_empty();
    let cost = today
        .filter(|_| priced)
        .map(|today| cost(&today.server, &engine.server, &base.described.prices));
    let change = Change {
        engine,
        before: before.as_deref(),
        after: &after,
        measured: &base.measured,
        cost: cost.as_ref(),
        unmoved,
    };
    if let Some(file) = &args.svg {
        output::write_whole(file, &svg(&change))?;
    }
    let set: Said = args.set.iter().cloned().collect();
    output::print_json_or_text(
        args.json,
        &if args.json {
            documents::printed(&PredictDocument::Host(Box::new(PredictedHost {
                schema_version: documents::VERSION,
                set,
                today: before.as_deref(),
                reaches: &after,
                alone: alone(engine),
                work_plays_no_part_in: engine.untouched_by_work(),
                wire_rate: after.iter().find_map(verdict),
                measured: &base.measured,
                unused: &engine.parameters.unused,
                unmoved,
                cost: cost.as_ref(),
            })))
        } else {
            text(&change) + &ending(&change).text(&screen::of_output())
        },
    )?;
    Ok(0)
}

/// What each of several processors reaches alone, for programs.
fn alone(engine: &Predictor) -> Vec<ReachedAlone> {
    let all = engine.alone().into_iter();
    all.map(|(socket, reaches)| ReachedAlone { socket, reaches }).collect()
}

fn populations(args: &PredictArgs, engine: &Predictor, kit: &Kit) -> Result<u8, Failure> {
    let (tried, found) = search(engine, kit, usize::MAX)
        .map_err(|why| Failure::of(Cause::NO_SEARCH, why.to_string()))?;
    if found.is_empty() {
        let says = format!("{kit} do not fit this server's slots");
        return Err(Failure::of(Cause::NO_SEARCH, says));
    }
    let shown = &found[..found.len().min(SHOWN)];
    let (tcp, udp) = (most(&found, |one| one.tcp_gbps), most(&found, |one| one.udp_gbps));
    output::print_json_or_text(
        args.json,
        &if args.json {
            documents::printed(&PredictDocument::Search(PredictedSearch {
                schema_version: documents::VERSION,
                tried,
                best: shown,
                best_for_tcp: found.get(tcp),
                best_for_udp: found.get(udp),
            }))
        } else {
            let mut text = format!("{tried} populations of {kit}, {RANKED}:\n");
            for (at, one) in found.iter().enumerate() {
                let mark = best_for(at, tcp, udp);
                if at < SHOWN || mark.is_some() {
                    text += &ranked(at, one, mark);
                }
            }
            text
        },
    )?;
    Ok(0)
}

/// The first of those with the most.
fn most(found: &[Found], of: fn(&Found) -> f64) -> usize {
    let mut best = 0;
    for (at, one) in found.iter().enumerate() {
        // Sums in another order differ in their last digits, and are no better.
        if of(one) > of(&found[best]) * (1.0 + 1e-9) {
            best = at;
        }
    }
    best
}

/// What the network gets most of from this one of all.
fn best_for(at: usize, tcp: usize, udp: usize) -> Option<&'static str> {
    if at == tcp && at == udp {
        Some("TCP and UDP")
    } else if at == tcp {
        Some("TCP")
    } else {
        (at == udp).then_some("UDP")
    }
}

/// A population's line, with its number where it is not among the first.
fn ranked(at: usize, found: &Found, mark: Option<&str>) -> String {
    let number = if at < SHOWN { String::new() } else { format!("number {}, ", at + 1) };
    let mark = mark.map_or(String::new(), |mark| format!(" (best for {mark})"));
    format!("  {number}{}{mark}\n", line(found))
}

/// The modules of each channel: how many, or where they are of several sizes which.
fn placed(found: &Found) -> String {
    if found.sizes_gib.is_empty() {
        return population(&found.modules);
    }
    let sockets: Vec<String> = found
        .sizes_gib
        .iter()
        .map(|own| own.iter().map(|sizes| channel(sizes)).collect::<Vec<_>>().join(","))
        .collect();
    format!("GB by channel {}", sockets.join(" | "))
}

fn channel(sizes: &[u32]) -> String {
    match sizes {
        [] => "-".to_owned(),
        sizes => sizes.iter().map(u32::to_string).collect::<Vec<_>>().join("+"),
    }
}

fn line(found: &Found) -> String {
    let words: Vec<String> = found
        .sets
        .iter()
        .map(|sets| match sets.as_slice() {
            [] => "no memory".to_owned(),
            [one] => format!("one set of {one}"),
            many => {
                format!(
                    "sets of {}",
                    many.iter().map(usize::to_string).collect::<Vec<_>>().join("+")
                )
            }
        })
        .collect();
    let apart = match found.uneven {
        0 => String::new(),
        1 => ", sockets one module apart".to_owned(),
        many => format!(", sockets {many} modules apart"),
    };
    format!(
        "{}: {}{apart}; {:.1} GB/s at {:.0} MT/s; TCP {:.1}, UDP {:.1} Gb/s",
        placed(found),
        words.join(" and "),
        found.memory_gb_s,
        found.mts,
        found.tcp_gbps,
        found.udp_gbps
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(tcp_gbps: f64, udp_gbps: f64) -> Found {
        Found {
            modules: Vec::new(),
            sizes_gib: Vec::new(),
            uneven: 0,
            sets: Vec::new(),
            mts: 2933.0,
            memory_gb_s: 100.0,
            tcp_gbps,
            udp_gbps,
            channels: 1,
        }
    }

    #[test]
    fn the_first_of_the_most_is_the_best_for_the_network() {
        let all = [found(76.0, 71.0), found(90.4, 60.0), found(90.4 + 1e-12, 71.5)];
        let (tcp, udp) = (most(&all, |one| one.tcp_gbps), most(&all, |one| one.udp_gbps));
        assert_eq!((tcp, udp), (1, 2), "a last digit is no more");
        let marks = [0, 1, 2].map(|at| best_for(at, tcp, udp));
        assert_eq!(marks, [None, Some("TCP"), Some("UDP")]);
        assert_eq!(best_for(0, 0, 0), Some("TCP and UDP"));
        let far = ranked(SHOWN, &all[2], Some("UDP"));
        assert!(far.starts_with("  number 6, modules by channel"), "{far}");
        assert!(far.ends_with("UDP 71.5 Gb/s (best for UDP)\n"), "{far}");
    }
}
