//! `rdma-port`: is an RDMA port cabled and not active?
//!
//! A port whose physical link is up and whose logical state is not ACTIVE waits for a subnet
//! manager (InfiniBand) or an address (RoCE); programs then fall back to TCP, or fail.

use super::evidence;
use crate::survey::{Survey, no_device};
use crate::{Case, Rule};
use narrows_model::result::{Devices, Finding, Verdict, Weight};

pub static RULE: Rule = Rule {
    name: "rdma-port",
    asks: "Is an RDMA port cabled and not active?",
    of_host: true,
    judge,
};

fn judge(case: &Case<'_>) -> Verdict {
    let mut survey = Survey::default();
    for device in &case.study.host.rdma {
        for port in &device.ports {
            let name = format!("{} port {}", device.name, port.number);
            let state = survey.need(format!("state of {name}"), &port.state);
            let physical = survey.need(format!("physical state of {name}"), &port.physical_state);
            let (Some(state), Some(physical)) = (state, physical) else { continue };
            let (seen, from) = (
                format!("state {state}, physical state {physical}"),
                port.state.source().0.clone(),
            );
            let linked = physical.to_lowercase().replace(['_', ' '], "").contains("linkup");
            if linked && !state.to_uppercase().contains("ACTIVE") {
                survey.found(Finding {
                    rule: RULE.name.into(),
                    weight: Weight::Advice,
                    says: format!("{name} has a link, and is {state}"),
                    evidence: vec![evidence(seen, from)],
                    worth: None,
                    remedy: "start a subnet manager (InfiniBand), or give the interface an address"
                        .into(),
                });
            } else {
                survey.fine(format!("{name}: {seen}"), from);
            }
        }
    }
    survey.conclude(no_device(Devices::Rdma))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::testing::{is_clear, is_found, known, of_host};
    use narrows_model::host::{Host, RdmaDevice, RdmaPort};

    #[test]
    fn a_waiting_port_is_found_and_an_unplugged_one_is_not() {
        let host = |state: &str, physical: &str| {
            let port = RdmaPort {
                number: 1,
                state: known(state.into()),
                physical_state: known(physical.into()),
                ..RdmaPort::default()
            };
            let device =
                RdmaDevice { name: "mlx5_0".into(), ports: vec![port], ..Default::default() };
            Host { rdma: vec![device], ..Host::default() }
        };
        assert!(is_found(&of_host(&RULE, host("2: INIT", "5: LinkUp"))));
        assert!(is_clear(&of_host(&RULE, host("4: ACTIVE", "5: LinkUp"))));
        assert!(is_clear(&of_host(&RULE, host("1: DOWN", "3: Disabled"))));
    }
}
