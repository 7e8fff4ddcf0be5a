//! The engine: a server, and the parameters of what it is made of. Each resource is a file of
//! `resources`, a path is put together in `reach`, and parameters are moved to what was measured
//! in `reproduce`.

use crate::calibration::Calibration;
use crate::domains;
use crate::parameters::Parameters;
use crate::refused::{Missing, Refused};
use crate::said::{Said, number};
use crate::server::{Server, fastest, server_of};
use crate::traffic::Traffic;
use narrows_model::host::{Host, Nic};

/// What is asked what a server should reach.
#[derive(Clone, Debug)]
pub struct Predictor {
    /// What the host's facts tell, and what was said.
    pub server: Server,
    /// What its resources do, as fitted or as measured.
    pub parameters: Parameters,
}

impl Predictor {
    /// The same server if memory takes what its devices write, where nobody said whether the
    /// cache does (DDIO) and that was published of this processor.
    pub fn past_the_cache(&self) -> Option<Self> {
        domains::of(self.server.platform).filter(|_| self.server.asked.ddio.is_none())?;
        let mut past = self.clone();
        past.server.asked.ddio = Some(false);
        Some(past)
    }
}

/// The key of what one node copies.
const COPY: &str = "memory.copy_gb_s";

/// Of a host's facts and what was said, asked about its fastest NIC. An error names what the model
/// needs and does not know. With a copy measured on it, memory need not be described.
pub fn of_host(host: &Host, said: &Said, measured: &Calibration) -> Result<Predictor, Refused> {
    // Where no port tells its rate, the first one's MTU and slot still count.
    let nic = fastest(host).or_else(|| host.physical_nics().next());
    let engine = of_nic(host, nic, said, measured)?;
    let bare = engine.parameters.copy_gb_s.is_some() || measured.has_streams();
    // Packets ask for what one core copies, and not for the modules.
    let packets = engine.server.paths == [Traffic::Packets.name()];
    // Their verdict names a rate as what is missing.
    let rate = engine.server.link.is_none().then_some(Missing::LinkRate).filter(|_| !packets);
    let gaps = &engine.server.memory_gaps[..];
    let memory = gaps.iter().cloned().map(Missing::Memory).filter(|_| !bare && !packets);
    let missing: Vec<Missing> = memory.chain(rate).collect();
    if missing.is_empty() { Ok(engine) } else { Err(Refused::Missing(missing)) }
}

/// The same through one NIC, or inside the host where there is none. What the host does not tell is
/// missing for the resources that need it; an error is something said, or read, that cannot be.
pub fn of_nic(
    host: &Host,
    nic: Option<&Nic>,
    said: &Said,
    measured: &Calibration,
) -> Result<Predictor, Refused> {
    let mut server = server_of(host, nic, said)?;
    let copy = number(said, COPY)?;
    let is_said = copy.is_some();
    let mut parameters = Parameters::of(copy, measured);
    if is_said && !server.modules.is_empty() {
        // A change of the modules is to show, whatever one copy of today's reaches.
        parameters.unused.push(format!(
            "{COPY}: modules are known, and what crosses a NIC is held to what these carry; a copy \
             tells where they are not known"
        ));
    }
    if let Some(gap) = elsewhere(nic, measured).filter(|_| server.modules.is_empty()) {
        parameters.copy_gb_s = None;
        server.memory_gaps = vec![gap];
    }
    Ok(Predictor { server, parameters })
}

/// Why a measured copy says nothing of a NIC: it was on another node.
fn elsewhere(nic: Option<&Nic>, measured: &Calibration) -> Option<String> {
    let (nic, node) = (nic?, measured.node?);
    let own = *nic.node.value()?;
    (own != node).then(|| format!("{} is on node {own}, measured was node {node}", nic.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(said: &[(&str, &str)]) -> String {
        let said = said.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        let refused = of_host(&Host::default(), &said.collect(), &Calibration::default());
        refused.err().map_or_else(String::new, |why| why.to_string())
    }

    #[test]
    fn all_that_is_missing_is_told_at_once() {
        let slots = "memory slots are not known: memory.socket0=1,1,1/0,0,0; ";
        let speed = "the speed of memory is not known: memory.mts=2933; ";
        let rate = "no NIC reports its speed: nic.gbps=100; ";
        let family = "the processor's family is not known: cpu=NAME, or memory.copy_gb_s=20; ";
        let them = "give them with --given";
        assert_eq!(refused(&[]), [family, slots, speed, rate, them].concat());
        let cpu = ("cpu", "Xeon Platinum 8280");
        assert_eq!(refused(&[cpu]), [slots, speed, rate, them].concat());
        let rest = [cpu, ("nic.gbps", "100"), ("memory.socket0", "1,1,1/1,1,1")];
        assert_eq!(refused(&rest), [speed, "give it with --given"].concat());
        assert_eq!(refused(&[rest[0], rest[1], rest[2], ("memory.mts", "2933")]), "");
        // A copy says all of memory.
        assert_eq!(refused(&[(COPY, "20"), ("nic.gbps", "100")]), "");
    }

    #[test]
    fn a_copy_that_modules_leave_unused_is_named() {
        let unused = |said: &[(&str, &str)]| {
            let said = said.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
            let engine = of_host(&Host::default(), &said.collect(), &Calibration::default());
            engine.expect("a server").parameters.unused
        };
        let modules = [("memory.socket0", "1,1,1/1,1,1"), ("memory.mts", "2933")];
        let bare = [("cpu", "Xeon Platinum 8280"), ("nic.gbps", "100"), (COPY, "1.76")];
        assert!(unused(&bare).is_empty(), "it stands for the modules");
        let both = unused(&[&bare[..], &modules].concat());
        assert_eq!(both.len(), 1, "{both:?}");
        assert!(both[0].starts_with("memory.copy_gb_s: modules are known"), "{both:?}");
        assert!(unused(&[&bare[..2], &modules].concat()).is_empty());
    }
}
