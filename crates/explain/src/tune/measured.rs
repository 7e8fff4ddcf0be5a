//! What a check of this host measured, and whether it still holds.

use super::{Advisor, Basis, Recommendation, Worth, sources};
use crate::controls;
use narrows_model::Fact;
use narrows_model::host::Host;
use narrows_model::record::Outcome;
use narrows_model::result::{Missing, Unmeasured};
use narrows_model::study::StoredStudy;
use narrows_model::study_kind::StudyKind;
use narrows_stats::{Summary, summarise};
use std::fmt;

/// A stored check, with what its runs say.
pub struct Measured {
    study: StoredStudy,
    summaries: Vec<Summary>,
    /// What it is called in advice: its file.
    from: String,
}

/// Why a stored check does not speak for the host as it is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stale {
    /// It is no check of a host.
    OtherCommand,
    /// It ran on another machine, or before this one was started.
    OtherBoot,
    /// Under another kernel.
    OtherKernel,
    /// No run of it ended well.
    NothingMeasured,
}

impl fmt::Display for Stale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OtherCommand => "is not a check",
            Self::OtherBoot => "is of another machine or of an earlier boot",
            Self::OtherKernel => "is of another kernel",
            Self::NothingMeasured => "measured nothing",
        })
    }
}

const SETTING: &str = "net.ipv4.tcp_congestion_control";

impl Measured {
    /// The check, if it was measured on this very boot of this host (`boot`: as runs name it).
    pub fn of(study: StoredStudy, from: &str, host: &Host, boot: &str) -> Result<Self, Stale> {
        if study.study.command != StudyKind::Check {
            return Err(Stale::OtherCommand);
        }
        let done = study.records.iter().filter(|record| record.outcome == Outcome::Done);
        let ends = done.filter_map(|record| record.sender());
        let mut boots = ends.filter_map(|end| end.effective.machine.as_deref()).peekable();
        if boots.peek().is_none() {
            return Err(Stale::NothingMeasured);
        }
        if !boots.all(|of| of == boot) {
            return Err(Stale::OtherBoot);
        }
        if study.host.kernel.value() != host.kernel.value() {
            return Err(Stale::OtherKernel);
        }
        Ok(Self { summaries: summarise(&study), study, from: from.to_owned() })
    }
}

/// Advice on the default congestion control, by what the check compared.
pub(super) fn look(advisor: &mut Advisor<'_>, measured: Option<&Measured>) {
    let Some(fact) = advisor.host.tuning.get(SETTING) else { return };
    let fact: Fact<String> = fact.clone();
    let Some(now) = fact.value() else {
        advisor.told.lacks(SETTING, Missing::fact(SETTING, &fact));
        return;
    };
    let compared = measured
        .filter(|measured| {
            measured.study.host.tuning.get(SETTING).and_then(Fact::value) == Some(now)
        })
        .and_then(|measured| {
            controls::compared(&measured.study, &measured.summaries).map(|pair| (measured, pair))
        });
    let Some((measured, (default, other))) = compared else {
        // Neither of them paces: there is nothing to compare.
        if controls::slows_down(now) {
            advisor.told.fine.push(SETTING.to_owned());
        } else {
            let of = Unmeasured::AgainstCubic { now: now.clone() };
            advisor.told.lacks(SETTING, of.into());
        }
        return;
    };
    let faster = controls::faster(now, default, other);
    let worth = faster.as_ref().map(|(used, gain)| Worth {
        low: gain.low,
        high: gain.high,
        basis: Basis::Measured,
        says: format!("TCP inside this host: {:.1} times with {used}", gain.value),
        from: format!("measured by narrows check: {}", measured.from),
    });
    let wanted = faster.map(|(used, _)| used);
    let commands = wanted.iter().map(|used| format!("sysctl -w {SETTING}={used}")).collect();
    let because = "the default held TCP back in a check of this host; keep it for traffic over long \
                   or lossy paths";
    let files = vec![format!("/proc/sys/{}", SETTING.replace('.', "/"))];
    advisor.weigh(
        &fact,
        Recommendation {
            setting: SETTING,
            wanted,
            because,
            source: sources::KERNEL_IP,
            worth,
            files,
            commands,
        },
    );
}
