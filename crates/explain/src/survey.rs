//! What a rule saw on its way to a verdict. The verdict follows from that alone: clear only when
//! something was looked at and nothing of what should have been is missing.

use crate::evidence::evidence;
use narrows_model::host::{Host, Nic};
use narrows_model::result::{
    Devices, Evidence, Finding, Inapplicable, LookedAt, Missing, NotSo, Verdict,
};
use narrows_model::{Fact, Source};

/// What was seen so far.
#[derive(Default)]
pub struct Survey {
    looked_at: Vec<Evidence>,
    findings: Vec<Finding>,
    missing: Vec<Missing>,
}

impl Survey {
    /// Something was looked at and is as it should be.
    pub fn fine(&mut self, says: impl Into<String>, from: impl Into<String>) {
        self.looked_at.push(evidence(says, from));
    }
    /// Something is wrong.
    pub fn found(&mut self, finding: Finding) {
        self.findings.push(finding);
    }
    /// Something should have been looked at and could not be.
    pub fn lacks(&mut self, missing: Missing) {
        self.missing.push(missing);
    }
    /// A fact's value; without one it is noted as missing.
    pub fn need<'f, T>(&mut self, name: impl Into<String>, fact: &'f Fact<T>) -> Option<&'f T> {
        if fact.value().is_none() {
            self.lacks(Missing::fact(name, fact));
        }
        fact.value()
    }
    /// The NICs of at least this rate that are not down. Of one whose rate is not told it is not
    /// known whether it belongs to them.
    pub fn fast_nics<'h>(&mut self, host: &'h Host, least_bps: f64) -> Vec<&'h Nic> {
        let up = host.physical_nics().filter(|nic| !is_down(nic));
        up.filter(|nic| {
            let speed = self.need(format!("speed of {}", nic.name), &nic.speed_bps);
            speed.is_some_and(|speed| speed.0 >= least_bps)
        })
        .collect()
    }
    /// The verdict; `why` there was nothing to look at, where nothing is missing.
    pub fn conclude(self, why: Inapplicable) -> Verdict {
        self.conclude_or(|| Verdict::NotApplicable { why })
    }
    /// The verdict, or another where nothing was there to look at and nothing is missing.
    pub fn conclude_or(self, nothing: impl FnOnce() -> Verdict) -> Verdict {
        if !self.findings.is_empty() {
            return Verdict::Found { findings: self.findings };
        }
        if !self.missing.is_empty() {
            return Verdict::Unknown { missing: self.missing, looked_at: self.looked_at };
        }
        match LookedAt::try_from(self.looked_at) {
            Ok(looked_at) => Verdict::Clear { looked_at },
            Err(_) => nothing(),
        }
    }
}

/// Whether files of the host's kernel were read, so that one which is not there says something. Of
/// a host that is described by what programs printed, nobody looked for them.
pub fn is_kernel_read(host: &Host) -> bool {
    let online = &host.cpu.online;
    (online.value().is_some() && is_kernels(online.source()))
        || known(&host.kernel)
        || host.tuning.values().any(known)
}

fn known(fact: &Fact<String>) -> bool {
    fact.value().is_some() && is_kernels(fact.source())
}

fn is_kernels(from: &Source) -> bool {
    ["/proc/", "/sys/"].iter().any(|tree| from.0.starts_with(tree))
}

/// The question does not arise, by what is not there; unknown where nobody looked for that.
pub fn absent(host: &Host, what: &str, because: NotSo) -> Verdict {
    if is_kernel_read(host) {
        Verdict::NotApplicable { why: not_so(because) }
    } else {
        Verdict::unknown(Missing::unread(what))
    }
}

/// Whether an interface carries nothing.
pub fn is_down(nic: &Nic) -> bool {
    nic.state.value().is_some_and(|state| state == "down")
}

/// There is no such device.
pub fn no_device(of: Devices) -> Inapplicable {
    Inapplicable::NoDevice { of }
}

/// The host is not so.
pub fn not_so(because: NotSo) -> Inapplicable {
    Inapplicable::NotSo { because }
}

/// Why what firmware says of modules is not judged: a hypervisor has made it up.
pub fn of_guest(host: &Host) -> Option<Inapplicable> {
    let name = narrows_dimm::guest::hypervisor(host.product.value()?)?;
    Some(not_so(NotSo::ModulesOfGuest(name)))
}
