//! What holds each network cell, in one sentence: the limit with how sure it is, what was looked at
//! and is not the limit, and what would be the next. Of several findings the one counts that is
//! nearest to the cause: a policer makes TCP retransmit, and not the other way round.

use crate::measured::{Cell, cells};
use crate::names;
use crate::rules::{
    congestion_window, handshake_loss, nic_shaped, packet_cost, path_outages, path_rate_limit,
    receive_window, round_trip_time, round_trips_stall, segment_size, send_buffer,
    slow_start_unfinished, tcp_retransmits,
};
use crate::signals::BUFFERS_SHARE;
use crate::unheard::{Unheard, unheard};
use crate::worth::{FACTOR_MAX, Worth, worth};
use crate::{Case, Judged, findings, is_of_host};
use holds::Holds;
use named::{NAMED, Named};
use narrows_model::reading::keys;
use narrows_model::result::{Estimate, Finding, PredictedPath, ResourceAt};
use narrows_stats::Bursts;
pub use of_ends::PACE;
use of_ends::{is_starved, of_ends};
use schemars::JsonSchema;
use second::second;
use serde::{Deserialize, Serialize};
use slower::Slower;
use small_window::small_window;
use std::fmt;

/// How sure a limit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Sureness {
    /// The same traffic without it was measured in turn, and moved more.
    Compared,
    /// The kernel counted it in these runs.
    Counted,
    /// It follows from what several counters show together.
    Inferred,
    /// It fits, and was not compared with its absence.
    Possible,
    /// Nothing that was looked at explains the figure.
    Unexplained,
}

impl fmt::Display for Sureness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Compared => "measured: another moves more on the same path",
            Self::Counted => "counted",
            Self::Inferred => "inferred from several counters",
            Self::Possible => "possible, not compared",
            Self::Unexplained => "unexplained",
        })
    }
}

/// The next limit, by the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Next {
    /// What it is.
    pub resource: ResourceAt,
    /// What it allows.
    pub allows: Estimate,
    /// That by what was measured.
    pub factor: f64,
}

/// What holds one cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Limit {
    /// The cell's label.
    pub cell: String,
    /// The rule that names it; `None` for a full CPU and where nothing explains the figure.
    pub rule: Option<String>,
    /// What it is, in some words.
    pub what: String,
    /// How sure it is.
    pub sureness: Sureness,
    /// What was looked at and is not the limit.
    pub excludes: Vec<String>,
    /// What would hold it then, where the model knows.
    pub next: Option<Next>,
    /// What to do about it, where no rule says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// What removing it is worth; `None` where neither a measurement nor the model knows.
    #[serde(default)]
    pub worth: Option<Worth>,
    /// What is worth a change beside it, though it is not what holds the cell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second: Option<Second>,
}

/// What comes second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Second {
    /// The rule that names it.
    pub rule: String,
    /// What was seen, as a clause.
    pub says: String,
}

impl Limit {
    /// Whether what was counted names it, and not as a mere possibility: by a rule, or as the pace
    /// that was asked for, a full CPU or a sender that sent nothing.
    pub fn is_named(&self) -> bool {
        use Sureness::{Compared, Counted, Inferred};
        matches!(self.sureness, Compared | Counted | Inferred)
    }
}

/// Limits that are a symptom: what causes them a probe of the path tells.
const SYMPTOMS: [&str; 8] = [
    names::PATH_MTU_BLACK_HOLE,
    names::HANDSHAKE_LOSS,
    names::PATH_POLICED,
    names::PATH_VOLUME,
    names::PATH_OUTAGES,
    names::TCP_RETRANSMITS,
    names::DATAGRAMS_DROPPED,
    // A queue on the way there looks much the same.
    names::ACKNOWLEDGEMENTS_SLOW,
];

impl Limit {
    /// Whether a probe of the path would say more of it.
    pub fn is_symptom(&self) -> bool {
        self.rule.as_deref().is_some_and(|rule| SYMPTOMS.contains(&rule))
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.sureness {
            Sureness::Unexplained => write!(f, "{}: {}", self.cell, self.what)?,
            sureness => write!(f, "{}: {} limits ({sureness})", self.cell, self.what)?,
        }
        if !self.excludes.is_empty() {
            write!(f, "; not {}", self.excludes.join(", not "))?;
        }
        if let Some(next) = &self.next {
            let gbps = next.allows.value / 1e9;
            write!(f, "; next limit: {}, {gbps:.1} Gb/s", next.resource)?;
            if next.factor <= FACTOR_MAX {
                write!(f, ", {:.1} x", next.factor)?;
            }
            f.write_str(" (modelled)")?;
        }
        match (&self.rule, &self.worth) {
            (Some(_), Some(worth)) => write!(f, "; removing it is worth {worth}")?,
            (Some(_), None) => f.write_str("; what removing it is worth is unknown")?,
            (None, _) => {}
        }
        self.second.as_ref().map_or(Ok(()), |second| write!(f, "; second: {}", second.says))
    }
}

/// Lower shares than this are no loss that holds a stream.
const LOST_SHARE: f64 = 0.001;
/// A shorter wait is no queue.
const WAITED_NS: f64 = 300e3;
/// The next limit must be this much above what was measured.
const NEXT_FACTOR: f64 = 1.1;

/// Whether a rule can name a limit.
pub fn can_name(rule: &str) -> bool {
    NAMED.iter().any(|named| named.rule == rule)
}

/// What holds each network cell that was measured.
pub fn limits(case: &Case<'_>, judged: &[Judged]) -> Vec<Limit> {
    let found = findings(judged);
    // A probe is no traffic that anything holds back.
    let all = cells(case).filter(|cell| !cell.is_probe());
    let measured = all.map(|cell| limit(case, &cell, &found));
    let unheard = unheard(case).into_iter().map(|cell| dropped(&cell));
    measured.chain(unheard).chain(tools::paced(case)).collect()
}

/// What holds a cell whose class of packets does not come.
fn dropped(cell: &Unheard<'_>) -> Limit {
    let Unheard { trial, dscp, passes, .. } = cell;
    Limit {
        cell: trial.label.clone(),
        rule: Some(names::PATH_CLASS.to_owned()),
        what: format!("a class of packets that the path drops (DSCP {dscp}; DSCP {passes} passes)"),
        sureness: Sureness::Compared,
        excludes: Vec::new(),
        next: None,
        action: None,
        worth: None,
        second: None,
    }
}

fn limit(case: &Case<'_>, cell: &Cell<'_>, found: &[&Finding]) -> Limit {
    let is_found = |rule: &str| {
        let mut of = found.iter().filter(|one| one.rule == rule);
        of.any(|one| concerns(one, cell) || other_cells::tell(case, cell, one))
    };
    let all: Vec<&Named> = NAMED.iter().filter(|named| is_found(named.rule)).collect();
    let holding = all.iter().find(|named| (named.holds)(cell) == Holds::Yes);
    let named = holding.map(|named| named.answer(named.sureness, case, cell));
    let is_cap = holding.is_some_and(|named| CAPS.contains(&named.rule));
    let slower = Slower::of(case, cell);
    let both = slower.as_ref().filter(|_| !is_cap);
    let shared = both.and_then(|slower| slower.shared(case, cell, found));
    let leads = both.filter(|_| !is_starved(cell) && shared.is_none());
    let Answer { rule, what, sureness, action } = leads
        .map(Slower::answer)
        .or(shared)
        .or(named)
        .or_else(|| of_ends(cell, found))
        .or_else(|| {
            let of = all.iter().find(|named| (named.holds)(cell) == Holds::Perhaps);
            of.map(|named| named.answer(Sureness::Possible, case, cell))
        })
        .or_else(|| small_window(cell))
        .unwrap_or_else(|| Answer {
            rule: None,
            what: "nothing that was checked explains the rate".to_owned(),
            sureness: Sureness::Unexplained,
            action: None,
        });
    let next = next(case, cell);
    Limit {
        cell: cell.trial.label.clone(),
        worth: worth(case, cell, rule.as_deref(), next.as_ref().map(|next| next.allows)),
        next,
        excludes: excluded(cell, rule.as_deref()),
        action,
        second: second(case, cell, rule.as_deref(), found, &all, slower),
        rule,
        what,
        sureness,
    }
}

/// Whether a finding is of a cell: a rule about runs names its cell in the evidence, and one about
/// a host holds for all.
fn concerns(finding: &Finding, cell: &Cell<'_>) -> bool {
    let runs = cell.runs();
    is_of_host(&finding.rule) || finding.evidence.iter().any(|seen| seen.from == runs)
}

/// What limits a cell.
struct Answer {
    /// The rule that names it, where one does.
    rule: Option<String>,
    what: String,
    sureness: Sureness,
    /// What to do, where no rule says it.
    action: Option<String>,
}

impl Answer {
    /// What was counted of the ends, and no rule names.
    fn counted(what: String, action: &str) -> Self {
        Self { rule: None, what, sureness: Sureness::Counted, action: Some(action.to_owned()) }
    }

    /// What a rule names.
    fn named(rule: &str, what: String, sureness: Sureness) -> Self {
        Self { rule: Some(rule.to_owned()), what, sureness, action: None }
    }

    /// What several counters show together, and no rule names.
    fn inferred(what: String, action: &str) -> Self {
        Self { rule: None, what, sureness: Sureness::Inferred, action: Some(action.to_owned()) }
    }
}

impl Named {
    fn answer(&self, sureness: Sureness, case: &Case<'_>, cell: &Cell<'_>) -> Answer {
        let why = small(self.rule, cell).or_else(|| losses_come(self.rule, case, cell));
        let why = why.map_or(String::new(), |why| format!(" ({why})"));
        Answer::named(self.rule, format!("{}{why}", self.what), sureness)
    }
}

/// What keeps a buffer small that a rule names, or which of several it is.
fn small(rule: &str, cell: &Cell<'_>) -> Option<String> {
    let why = match rule {
        names::ROUND_TRIP_TIME => return round_trip_time::why(cell),
        names::ROUND_TRIPS_STALL => return round_trips_stall::why(cell),
        names::PACKET_COST => return packet_cost::dear_end(cell),
        names::CONGESTION_WINDOW => return congestion_window::of_route(cell),
        names::NIC_SHAPED => return nic_shaped::of_sender(cell),
        names::SEGMENT_SIZE => return segment_size::beside_mtu(cell),
        names::PATH_OUTAGES => return path_outages::why(cell),
        names::HANDSHAKE_LOSS => return handshake_loss::place(cell).map(str::to_owned),
        names::SLOW_START_UNFINISHED => return slow_start_unfinished::why(cell),
        names::PATH_CAPACITY => return deep_queue(cell),
        names::CPU_QUOTA => return holds::of_quota(cell),
        names::RECEIVE_WINDOW => receive_window::why,
        names::SEND_BUFFER => send_buffer::why,
        _ => return None,
    };
    Some(match cell.trial.params.socket_buffer_bytes {
        Some(asked) => format!("{asked} were asked for"),
        None => why(cell).says,
    })
}

/// A queue that is longer than a path needs, where the packets of a stream wait in it.
fn deep_queue(cell: &Cell<'_>) -> Option<String> {
    let trips = cell.trips()?;
    let waited_ns = trips.middle_ns - trips.shortest_ns;
    let is_deep = waited_ns >= DEEP_NS && waited_ns >= DEEP_TIMES * trips.shortest_ns;
    is_deep.then(|| {
        format!(
            "behind a queue of {:.0} ms, where a round trip takes {:.0} ms without",
            waited_ns / 1e6,
            trips.shortest_ns / 1e6
        )
    })
}

/// A queue that lasts longer is felt in every other use of the path.
const DEEP_NS: f64 = 1e8;
/// And is longer than the path by so much.
const DEEP_TIMES: f64 = 3.0;

/// How losses come: at random, as is known of what, or in bursts.
fn losses_come(rule: &str, case: &Case<'_>, cell: &Cell<'_>) -> Option<String> {
    let says = match rule {
        names::TCP_RETRANSMITS if tcp_retransmits::large_alone(cell).is_some() => {
            "of large packets alone: small ones of a probe pass"
        }
        names::TCP_RETRANSMITS if matches!(cell.bursts(), Some(Bursts::AtRandom { .. })) => {
            "at random: packet trains lose as many sent at once as apart"
        }
        names::TCP_RETRANSMITS | names::TCP_SACK | names::TCP_OPTIONS_REMOVED => {
            let row = tcp_retransmits::row(cell).filter(|row| *row >= tcp_retransmits::ROW_MIN)?;
            return Some(format!("in bursts, about {row:.0} packets at a time"));
        }
        names::DATAGRAMS_DROPPED if !cell.is_lost_at_receiver() => {
            let others: Vec<Cell<'_>> = cells(case).collect();
            path_rate_limit::is_alike_when_slower(cell, &others).filter(|alike| *alike)?;
            "the same share at half of the pace: at random, or where others keep a queue full"
        }
        _ => return None,
    };
    Some(says.to_owned())
}

/// Limits that an end or the path sets to any congestion control: what another one moves under the
/// same limit says nothing against it.
const CAPS: [&str; 18] = [
    // As a route bounds it; what else keeps it small is only possible.
    names::CONGESTION_WINDOW,
    names::CPU_QUOTA,
    names::CPU_WITHHELD,
    names::END_STANDS_STILL,
    names::END_TRACED,
    names::NEIGHBOUR_CHANGED,
    names::NIC_SHAPED,
    names::PATH_BAD_MEMBER,
    names::PATH_CAPACITY_VARIES,
    names::PATH_CLASS,
    names::PATH_DROPS_ECN,
    names::PATH_FLOW_LIMIT,
    names::PATH_HALF_DUPLEX,
    names::PATH_HOLDS_PACKETS,
    names::RECEIVE_MEMORY,
    names::RECEIVE_WINDOW,
    names::SEND_BUFFER,
    names::USER_QUEUE,
];

impl Limit {
    /// Whether an end or the path sets it to any congestion control.
    pub fn is_cap(&self) -> bool {
        self.is_named() && self.rule.as_deref().is_some_and(|rule| CAPS.contains(&rule))
    }
}

/// What was counted and is not at its limit.
fn excluded(cell: &Cell<'_>, rule: Option<&str>) -> Vec<String> {
    let mut all = Vec::new();
    let cpu = cell.summary.cpu.as_ref();
    let shares = cpu.map(|cpu| [cpu.sender_share, cpu.receiver_share]);
    let busiest = shares.into_iter().flatten().flatten().reduce(f64::max);
    if let Some(busiest) = busiest.filter(|_| !cell.is_busy()) {
        all.push(format!("the threads' CPUs (busiest {:.0} %)", 100.0 * busiest));
    }
    if !cell.is_tcp_stream() {
        return all;
    }
    let is_free = |counter| cell.limited_share(counter).is_some_and(|share| share < BUFFERS_SHARE);
    if rule != Some(names::RECEIVE_WINDOW) && is_free(keys::LIMITED_BY_WINDOW) {
        all.push("the window".to_owned());
    }
    if !matches!(rule, Some(names::SEND_BUFFER | names::TCP_SEND_BUFFERS))
        && is_free(keys::LIMITED_BY_BUFFER)
    {
        all.push("the send buffer".to_owned());
    }
    let is_loss = rule == Some(names::TCP_RETRANSMITS);
    let few = cell.losses().filter(|losses| losses.lost < LOST_SHARE && !is_loss);
    if let Some(losses) = few {
        all.push(format!("loss ({:.3} %)", 100.0 * losses.lost));
    }
    if let Some(trips) = cell.trips().filter(|trips| trips.waited_ns() < WAITED_NS) {
        all.push(format!(
            "a queue (smoothed round trips from {:.0} us on, {:.0} without load)",
            trips.least_ns / 1e3,
            trips.shortest_ns / 1e3
        ));
    }
    all
}

/// The lowest ceiling of the model above what was measured, on the sender's interface.
fn next(case: &Case<'_>, cell: &Cell<'_>) -> Option<Next> {
    let measured = cell.rates()?.middle;
    let interface = cell.summary.settings.sender()?.interface.clone()?;
    // Between two ends of one machine no NIC is passed.
    let is_nic = cell.sender().and_then(|end| end.nic()).is_some_and(|nic| nic.physical);
    let path = if cell.summary.is_one_host() && !is_nic {
        PredictedPath::Veth
    } else {
        PredictedPath::Interface(interface)
    };
    let mut of = case.predictions.iter();
    let prediction = of.find(|one| one.path == path && one.workload == cell.trial.kind)?;
    let above = prediction.ceilings.iter().filter(|ceiling| {
        ceiling.only_if.is_none() && ceiling.range.value > NEXT_FACTOR * measured
    });
    let ceiling = above.min_by(|a, b| a.range.value.total_cmp(&b.range.value))?;
    let factor = ceiling.range.value / measured;
    (cell.is_network_stream()).then(|| Next {
        resource: ceiling.resource.clone(),
        allows: ceiling.range,
        factor,
    })
}

mod holds;
mod named;
mod of_ends;
mod other_cells;
mod second;
mod slower;
mod small_window;
#[cfg(test)]
mod tests;
mod tools;
