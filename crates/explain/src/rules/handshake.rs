//! `handshake-loss`: were connections slow or refused as they were made?
//!
//! A first packet that is lost is sent again after a second, then after two more: the mean time to
//! connect is that of the timer. The kernel counts first packets that were sent again
//! (`TCPSynRetrans`), and at the other end those that found the accept queue full
//! (`ListenOverflows`). The two together tell a full queue from a loss on the path, and a
//! firewall's limit on new connections from neither.

use crate::measured::{self, Blind, Cell, Looked, finding};
use crate::{Case, Rule};
use narrows_model::reading::keys;
use narrows_model::result::{Verdict, Weight};
use narrows_model::workload::Workload;

pub static RULE: Rule = Rule {
    name: "handshake-loss",
    asks: "Were connections slow or refused as they were made?",
    of_host: false,
    judge,
};

/// The kernel waits so long before it sends a first packet again (`TCP_TIMEOUT_INIT`, RFC 6298).
const WAITS_NS: f64 = 1e9;
/// Share of the flows' time that was waited so, in the median run.
const WAITED_SHARE: f64 = 0.05;
/// Connections turned away, in the median run.
const REFUSED_MIN: f64 = 1.0;

fn judge(case: &Case<'_>) -> Verdict {
    let idle = Some("makes connections in its window");
    measured::judge(case, "a run that makes connections (--connect)", idle, look)
}

fn look(cell: &Cell<'_>) -> Looked {
    if cell.trial.kind != Workload::Connect {
        return Err(Blind::OtherKind);
    }
    let again = cell
        .sent_count(keys::SYN_RETRANSMITTED)
        .ok_or_else(|| cell.lacks("the kernel's count of first packets"))?;
    let refused = cell.received_count(keys::LISTEN_OVERFLOWS).unwrap_or(0.0);
    let made = cell.of_sender(|end| Some(end.flows.iter().map(|flow| flow.messages as f64).sum()));
    let seen = format!(
        "{again:.0} first packets sent again for {:.0} connections; {refused:.0} found the accept \
         queue full",
        made.unwrap_or(0.0)
    );
    let window_ns = cell.of_sender(|end| Some(end.window_ns.0 as f64)).unwrap_or(0.0);
    let flows = f64::from(cell.trial.params.streams.max(1));
    if again < 1.0 || again * WAITS_NS < WAITED_SHARE * flows * window_ns {
        return cell.saw(seen, None);
    }
    let label = &cell.trial.label;
    let (says, remedy) = match refused >= REFUSED_MIN {
        true => (
            format!(
                "The accept queue of the listening end was full in {label}: {refused:.0} \
                 connections were turned away and tried again after a second or more"
            ),
            "raise net.core.somaxconn and the program's listen backlog at the listening end, or \
             accept with more threads"
                .to_owned(),
        ),
        false => (
            format!(
                "First packets of connections were lost in {label}: {again:.0} SYN were sent \
                 again, each after a second or more, and no accept queue was full"
            ),
            "look for what drops SYN between the ends: a firewall's limit on new connections (nft \
             list ruleset, iptables -S: limit, hashlimit, connlimit), a full connection table, SYN \
             protection; then for loss on the path"
                .to_owned(),
        ),
    };
    let from = finding(&RULE, cell, Weight::Advice, says, seen.clone(), &remedy);
    cell.saw(seen, Some(from))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, read, read_receiver, stream};
    use crate::setting::testing::{is_clear, is_idle, is_unknown};

    #[test]
    fn lost_and_refused_handshakes_are_told_apart() {
        let of = |again: u64, refused: u64| {
            let mut study = stream("tcp-connect");
            read(&mut study, "netstat", "TcpExt.TCPSynRetrans_events", again);
            read_receiver(&mut study, "netstat", "TcpExt.ListenOverflows_events", refused);
            of_study(&RULE, &study)
        };
        let says = |verdict: &Verdict| match verdict {
            Verdict::Found { findings } => findings[0].says.clone(),
            other => panic!("{other:?}"),
        };
        assert!(says(&of(4, 3)).contains("accept queue of the listening end was full"));
        assert!(says(&of(4, 0)).contains("First packets of connections were lost"));
        assert!(is_clear(&of(0, 0)));
        let mut many = stream("tcp-connect");
        many.trials[0].params.streams = 100;
        read(&mut many, "netstat", "TcpExt.TCPSynRetrans_events", 4);
        assert!(is_clear(&of_study(&RULE, &many)), "a hundred flows hardly felt it");
        assert!(is_unknown(&of_study(&RULE, &stream("tcp-connect"))));
        assert!(is_idle(&of_study(&RULE, &stream("tcp-stream"))));
    }
}
