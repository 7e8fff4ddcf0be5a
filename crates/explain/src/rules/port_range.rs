//! `port-range`: will connections soon find no port?
//!
//! Each connection to one service takes a port of this range, and keeps it for a minute after it
//! was closed (TIME-WAIT); the usual range has 28,232.

use crate::setting::{Reading, Trouble, judge as setting};
use crate::{Case, Rule};
use narrows_model::result::Verdict;

pub static RULE: Rule = Rule {
    name: "port-range",
    asks: "Will connections soon run out of ports?",
    of_host: true,
    judge,
};

fn judge(case: &Case<'_>) -> Verdict {
    setting(case, &RULE, "net.ipv4.ip_local_port_range", |value| {
        let mut ends = value.split(' ').map(|word| word.parse::<u32>().ok());
        let (Some(first), Some(last)) = (ends.next().flatten(), ends.next().flatten()) else {
            return Reading::Garbled;
        };
        let ports = last.saturating_sub(first).saturating_add(1);
        let few = (ports < 4096).then(|| Trouble {
            says: format!("Outgoing connections have {ports} ports: tests of many run out of them"),
            remedy: "sysctl -w net.ipv4.ip_local_port_range=\"32768 60999\"".into(),
        });
        few.into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::testing::{is_clear, is_found, is_unknown, of_setting};

    #[test]
    fn planted_values_are_found_and_healthy_ones_are_not() {
        assert!(is_found(&of_setting(&RULE, "net.ipv4.ip_local_port_range", "50000 50999")));
        for value in ["32768 60999", "1024 65535"] {
            assert!(is_clear(&of_setting(&RULE, "net.ipv4.ip_local_port_range", value)), "{value}");
        }
        assert!(is_unknown(&of_setting(&RULE, "another", "x")));
    }
}
