//! `tcp-options-removed`: does something on the path take TCP's options away?
//!
//! Window scaling, selective acknowledgements and timestamps are agreed on in the first packets. A
//! firewall that clears options it does not know leaves both ends with a TCP of 1988: windows of 64
//! KiB, and a whole window sent again for each loss. Where both ends have an option switched on and
//! their connection has it not, it was taken away in between.

use crate::cookies;
use crate::ends::End;
use crate::measured::{self, Blind, Cell, Looked, finding};
use crate::{Case, Rule};
use narrows_model::reading::keys;
use narrows_model::result::{Measure, Needed, Verdict, Weight};

pub static RULE: Rule = Rule {
    name: "tcp-options-removed",
    asks: "Does something on the path strip TCP options?",
    of_host: false,
    judge,
};

/// An option, the setting that offers it, its name, and what its lack costs.
const OPTIONS: [(u64, &str, &str, &str); 3] = [
    (
        keys::OPTION_WINDOW_SCALE,
        "net.ipv4.tcp_window_scaling",
        "window scaling",
        "no more than 64 KiB can be on the way",
    ),
    (
        keys::OPTION_SACK,
        "net.ipv4.tcp_sack",
        "selective acknowledgements (SACK)",
        "losses cost a round trip each",
    ),
    (
        keys::OPTION_TIMESTAMPS,
        "net.ipv4.tcp_timestamps",
        "timestamps",
        "round trips are measured, and old segments recognised, less well",
    ),
];

fn judge(case: &Case<'_>) -> Verdict {
    measured::judge(case, Needed::TcpCountersOfSender, None, look)
}

fn look(cell: &Cell<'_>) -> Looked {
    if !cell.is_tcp_stream() {
        return Err(Blind::OtherKind);
    }
    let (Some(sender), Some(receiver)) = (cell.sender(), cell.receiver()) else {
        return Err(cell.lacks(Measure::SettingsOfBoth));
    };
    let mut taken = Vec::new();
    for (option, setting, name, cost) in OPTIONS {
        let agreed = cell.agreed(option).ok_or_else(|| cell.lacks(Measure::TcpOptions))?;
        let is_on = |end: &End<'_>| end.setting(setting).is_some_and(|value| value != "0");
        if !agreed && is_on(&sender) && is_on(&receiver) {
            taken.push((name, cost));
        }
    }
    let (Some((name, cost)), names) = (taken.first(), taken.iter().map(|(name, _)| *name)) else {
        return cell.saw("the connection has every option that both ends offer", None);
    };
    let names = names.collect::<Vec<&str>>().join(", ");
    if let Some(end) = cookies::without_timestamps(cell) {
        let says =
            format!("SYN cookies, always sent {}, keep without timestamps no {names}", end.at);
        return cell.saw(says, None);
    }
    let seen = format!("not agreed on, and switched on at both ends: {names}");
    let says = format!(
        "Something on the path strips TCP options in {}: {names}. Without {name} {cost}",
        cell.trial.label
    );
    let remedy = "look for a firewall, NAT or load balancer between that normalises or clears \
                  TCP's options, and let them pass";
    cell.saw(seen.clone(), Some(finding(&RULE, cell, Weight::Advice, says, seen, remedy)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, read, stream};
    use crate::setting::testing::{is_clear, is_found, is_unknown, known};
    use narrows_model::host::Host;

    #[test]
    fn an_option_that_both_ends_offer_and_have_not_is_found() {
        let of = |agreed: u64, far: &str| {
            let mut study = stream("tcp-stream");
            read(&mut study, "tcp-info", "flow0.agreed_options", agreed);
            let host = |sack: &str| {
                let mut host = Host::default();
                for (_, setting, ..) in OPTIONS {
                    host.tuning.insert(setting.into(), known("1".into()));
                }
                host.tuning.insert("net.ipv4.tcp_sack".into(), known(sack.into()));
                host
            };
            (study.host, study.peer_hosts) = (host("1"), vec![host(far)]);
            of_study(&RULE, &study)
        };
        assert!(is_clear(&of(7, "1")));
        assert!(is_found(&of(5, "1")));
        assert!(is_clear(&of(5, "0")), "an end has it off");
        // What SYN cookies cannot keep nobody took.
        let cookies = |always: &str, agreed: u64| {
            let mut study = stream("tcp-stream");
            read(&mut study, "tcp-info", "flow0.agreed_options", agreed);
            for (_, setting, ..) in OPTIONS {
                study.host.tuning.insert(setting.into(), known("1".into()));
            }
            study.peer_hosts = vec![study.host.clone()];
            let far = &mut study.peer_hosts[0].tuning;
            far.insert("net.ipv4.tcp_timestamps".into(), known("0".into()));
            far.insert("net.ipv4.tcp_syncookies".into(), known(always.into()));
            of_study(&RULE, &study)
        };
        assert!(is_clear(&cookies("2", 0)), "always, and no timestamps");
        assert!(is_found(&cookies("1", 0)), "only where the queue is full");
        assert!(is_found(&cookies("2", keys::OPTION_TIMESTAMPS)), "timestamps keep them");
        assert!(is_unknown(&of_study(&RULE, &stream("tcp-stream"))));
    }
}
