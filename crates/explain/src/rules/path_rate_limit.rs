//! `path-rate-limit`: are datagrams lost because something carries only so many?
//!
//! Loss alone does not tell a limit from a bad path: at one pace both lose the same share. At half
//! of the pace a limit loses far less, or nothing, and lets through what it let through before;
//! drops at random lose the same share. So it is found only where a stream was measured at two
//! paces (`narrows udp --explain`).

use crate::measured::{Cell, cells};
use crate::survey::Survey;
use crate::{Case, Rule};
use narrows_model::load::Params;
use narrows_model::result::{Activity, Finding, Inapplicable, Unmeasured, Verdict, Weight};
use narrows_model::workload::Workload;

/// Whether a limit of the path, and not chance, takes datagrams.
pub static RULE: Rule = Rule {
    name: "path-rate-limit",
    asks: "Does a rate limit on the path drop datagrams?",
    of_host: false,
    judge,
};

/// From this share of lost datagrams on at the higher pace.
const LOST_SHARE: f64 = 0.01;
/// Of that share so much at the most is lost at the lower one, under a limit that lets nearly all
/// of the lower one pass.
const LEFT_SHARE: f64 = 0.6;
/// Under a limit that is below both paces as many come at both. At random so much less comes at the
/// lower one as is sent: three quarters of it at the most.
const SAME_RATE: f64 = 0.87;

fn judge(case: &Case<'_>) -> Verdict {
    let all: Vec<Cell<'_>> = cells(case).filter(|cell| is_paced_udp(cell)).collect();
    let mut survey = Survey::default();
    for fast in &all {
        let Some(lost) = lost_share(fast).filter(|lost| *lost >= LOST_SHARE) else {
            survey.fine(format!("next to nothing lost in {}", fast.trial.label), fast.runs());
            continue;
        };
        let slower = all.iter().filter(|slow| is_slower(slow, fast)).find_map(lost_share_of);
        match slower {
            Some((slow, less)) => told(&mut survey, (fast, lost), (slow, less)),
            // The slower one of a pair has none below it.
            None if all.iter().any(|other| is_slower(fast, other)) => {}
            None => survey.lacks(Unmeasured::HalfPace { trial: fast.trial.label.clone() }.into()),
        }
    }
    survey.conclude(Inapplicable::NoRun { that: Activity::SendsAtPace })
}

fn told(survey: &mut Survey, faster: (&Cell<'_>, f64), slower: (&Cell<'_>, f64)) {
    let ((fast, lost), (slow, less)) = (faster, slower);
    let seen = format!(
        "{:.1} % lost in {}, {:.1} % in {}",
        100.0 * lost,
        fast.trial.label,
        100.0 * less,
        slow.trial.label
    );
    let evidence = crate::evidence::evidence(seen.clone(), fast.runs());
    if fast.is_lost_at_receiver() {
        return survey.fine(seen + ": dropped in the receiver's own host", fast.runs());
    }
    if is_share_kept(faster, slower) {
        return survey.fine(seen + ": no limit, the share stays", fast.runs());
    }
    let rate = fast.rates().map_or(0.0, |rates| rates.middle / 1e6);
    survey.found(Finding {
        rule: RULE.name.into(),
        weight: Weight::Advice,
        says: format!(
            "Something on the way carries about {rate:.0} Mb/s of datagrams' payload and drops the \
             rest in {}: a shaper, a policer or a slower link, and not random loss",
            fast.trial.label
        ),
        evidence: vec![evidence],
        worth: None,
        remedy: "raise what limits it (tc -s qdisc and nft list ruleset on hosts and routers \
                 between, a provider's allowance), or send below it (--bitrate)"
            .to_owned(),
    });
}

/// Whether a stream loses the same share at a lower pace of the same study; `None` where it was
/// measured at one.
pub fn is_alike_when_slower(cell: &Cell<'_>, all: &[Cell<'_>]) -> Option<bool> {
    let lost = lost_share(cell).filter(|lost| *lost >= LOST_SHARE)?;
    let slower = all.iter().filter(|slow| is_slower(slow, cell)).find_map(lost_share_of)?;
    Some(is_share_kept((cell, lost), slower))
}

/// Whether the slower stream loses the share that the faster one does, and less of it comes: so it
/// is at random, and not so under a limit.
fn is_share_kept(faster: (&Cell<'_>, f64), slower: (&Cell<'_>, f64)) -> bool {
    let ((fast, lost), (slow, less)) = (faster, slower);
    let is_same_rate = fast
        .rates()
        .zip(slow.rates())
        .is_some_and(|(fast, slow)| slow.middle >= SAME_RATE * fast.middle);
    less > LEFT_SHARE * lost && !is_same_rate
}

fn is_paced_udp(cell: &Cell<'_>) -> bool {
    cell.trial.kind == Workload::UDP_STREAM && cell.trial.params.rate_bps.is_some_and(|bps| bps > 0)
}

/// Whether a cell is the same but for a pace of three quarters or less.
fn is_slower(slow: &Cell<'_>, fast: &Cell<'_>) -> bool {
    let is_same = without(&slow.trial.params) == without(&fast.trial.params);
    // Without a pace a stream is no slower than itself.
    is_same && pace_bps(slow) > 0 && pace_bps(slow) <= pace_bps(fast) / 4 * 3
}

fn pace_bps(cell: &Cell<'_>) -> u64 {
    cell.trial.params.rate_bps.unwrap_or(0)
}

fn without(params: &Params) -> Params {
    Params { rate_bps: None, ..params.clone() }
}

fn lost_share(cell: &Cell<'_>) -> Option<f64> {
    let loss = cell.summary.loss.as_ref()?;
    let all = loss.all_datagrams();
    (all > 0).then(|| loss.lost_datagrams as f64 / all as f64)
}

fn lost_share_of<'c, 'a>(cell: &'c Cell<'a>) -> Option<(&'c Cell<'a>, f64)> {
    Some((cell, lost_share(cell)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, stream};
    use crate::setting::testing::{is_clear, is_found, is_idle, is_unknown};
    use narrows_model::load::{Stretch, StretchOf};
    use narrows_model::study::StoredStudy;
    use narrows_model::trial::TrialId;

    /// A stream of 10,000 datagrams of which so many came, and the same at half of its pace.
    fn study(came: u64, came_of_half: Option<u64>) -> StoredStudy {
        let carry = |study: &mut StoredStudy, sent: u64, came: u64| {
            for one in study.records.iter_mut().flat_map(|record| &mut record.reports) {
                let datagrams =
                    if one.role == narrows_model::load::Role::Receiver { came } else { sent };
                one.report.flows[0].messages = datagrams;
                one.report.flows[0].bytes = narrows_model::Bytes(1472 * datagrams);
                let of = StretchOf::SenderWindow;
                one.report.flows[0].stretch = Some(Stretch { of, datagrams });
            }
        };
        let mut study = stream("udp-stream");
        study.trials[0].params.rate_bps = Some(200_000_000);
        carry(&mut study, 10_000, came);
        if let Some(came) = came_of_half {
            let mut half = stream("udp-stream");
            half.trials[0].params.rate_bps = Some(100_000_000);
            half.trials[0].label = "udp-stream at 100 Mb/s".into();
            half.trials[0].id = TrialId("b".into());
            carry(&mut half, 5_000, came);
            half.records.iter_mut().for_each(|record| record.trial = TrialId("b".into()));
            study.trials.extend(half.trials);
            study.records.extend(half.records);
        }
        study
    }

    #[test]
    fn what_the_receivers_own_host_drops_is_no_limit_of_the_path() {
        let of = |arrived: u64| {
            let mut study = study(4_800, Some(5_000));
            for one in study.records.iter_mut().flat_map(|record| &mut record.reports) {
                let is_receiver = one.role == narrows_model::load::Role::Receiver;
                let (way, packets) = if is_receiver { ("rx", arrived) } else { ("tx", 10_000) };
                let end = &mut one.report;
                end.looked_ns = Some(end.window_ns);
                end.effective.interface = Some("eth0".into());
                for (unit, count) in [("packets", packets), ("bytes", packets * (65_536 + 42))] {
                    end.readings.put_words("interface", &format!("eth0.{way}_{unit}"), count);
                }
            }
            of_study(&RULE, &study)
        };
        assert!(is_clear(&of(10_000)), "its interface took them all: {:?}", of(10_000));
        assert!(is_found(&of(4_800)), "lost on the way");
    }

    #[test]
    fn a_loss_that_goes_with_the_pace_is_a_limit_and_one_that_stays_is_not() {
        assert!(is_found(&of_study(&RULE, &study(4_800, Some(4_800)))), "the same comes through");
        assert!(is_found(&of_study(&RULE, &study(4_800, Some(5_000)))), "all comes through");
        assert!(is_found(&of_study(&RULE, &study(1_250, Some(1_260)))), "far below both paces");
        assert!(is_clear(&of_study(&RULE, &study(9_500, Some(4_750)))), "one in twenty of both");
        assert!(is_clear(&of_study(&RULE, &study(5_000, Some(2_500)))), "half of both");
        assert!(is_clear(&of_study(&RULE, &study(10_000, Some(5_000)))));
        assert!(is_unknown(&of_study(&RULE, &study(4_800, None))));
        assert!(is_idle(&of_study(&RULE, &stream("tcp-stream"))));
    }
}
