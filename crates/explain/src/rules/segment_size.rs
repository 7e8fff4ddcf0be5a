//! `segment-size`: are TCP's segments much smaller than the own interface allows?
//!
//! A smaller MTU at the other end or on the path shrinks every segment: packets cost CPU time each,
//! and headers a larger share of the wire. 120 B of headers and options are taken as ordinary (IPv6
//! 40, TCP 20 to 60).

use crate::measured::{self, Blind, Cell, Looked, finding};
use crate::{Case, Rule};
use narrows_model::result::{Verdict, Weight};
use narrows_model::trial::NetworkPath;

pub static RULE: Rule = Rule {
    name: "segment-size",
    asks: "Are TCP's segments much smaller than the own interface allows?",
    of_host: false,
    judge,
};

const HEADERS_BYTES: f64 = 120.0;

fn judge(case: &Case<'_>) -> Verdict {
    let needs = "a TCP stream sent over an interface whose MTU is known";
    measured::judge(case, needs, None, look)
}

fn look(cell: &Cell<'_>) -> Looked {
    let params = &cell.trial.params;
    // The size must have been left to TCP.
    let asked = params.socket.as_ref().is_some_and(|socket| socket.mss_bytes.is_some());
    if asked || params.socket_buffer_bytes.is_some() {
        return Err(Blind::OtherKind);
    }
    // Only TCP has segments. What a path allows is often learnt while the stream runs.
    let first = cell.summary.settings.sender().and_then(|end| end.mss_bytes);
    let first = first.map(f64::from).ok_or(Blind::OtherKind)?;
    let segment = cell.segment_bytes().map_or(first, |last| last.min(first));
    let nic = cell.sender().and_then(|end| end.nic());
    // An interface inside a namespace that was made for the run is not among the host's.
    if nic.is_none() && cell.trial.path != NetworkPath::Peer {
        return Err(Blind::OtherKind);
    }
    let known = nic.and_then(|nic| Some((nic.name.as_str(), nic.mtu_bytes.value()?.0 as f64)));
    let Some((name, mtu)) = known else {
        return Err(cell.lacks("the MTU of the interface in use"));
    };
    let first_path = cell.summary.settings.sender().and_then(|end| end.path_mtu_bytes);
    let first_path = first_path.map(|bytes| bytes.0 as f64);
    let path = cell.path_mtu_bytes().or(first_path);
    let shrunk = segment + HEADERS_BYTES < mtu.min(65_535.0);
    let via = path.map_or(String::new(), |path| format!(", path MTU {path:.0} B"));
    let seen = format!("segment size {segment:.0} B{via}; {name} has MTU {mtu:.0} B");
    let wrong = shrunk.then(|| {
        // Where routers reported a smaller MTU TCP knows it; otherwise the peer or a box between
        // told it in the handshake.
        let why = match path.filter(|path| *path + HEADERS_BYTES / 2.0 < mtu) {
            Some(path) => format!("the path's MTU is {path:.0} B"),
            None => {
                "the other end, its route or a box between asks for such a maximum segment size"
                    .to_owned()
            }
        };
        let says = format!(
            "TCP sends segments of {segment:.0} B in {}, {name} allows packets of {mtu:.0} B: \
             {why}",
            cell.trial.label
        );
        let remedy = "give every interface and switch of the path the same MTU, and check with: \
                      ping -M do -s SIZE; see advmss of routes (ip route show) and clamping \
                      (maxseg, TCPMSS in firewalls between)";
        finding(&RULE, cell, Weight::Advice, says, seen.clone(), remedy)
    });
    cell.saw(seen, wrong)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::testing::{of_study, read, stream};
    use crate::setting::testing::known;
    use crate::setting::testing::{is_clear, is_found, is_unknown};
    use narrows_model::Bytes;
    use narrows_model::host::Nic;
    use narrows_model::load::Role;

    #[test]
    fn short_segments_of_a_jumbo_interface_are_found() {
        let study = |mtu: u64, segment: u32, asked: bool| {
            let mut study = stream("tcp-stream");
            let nic = Nic { name: "e0".into(), mtu_bytes: known(Bytes(mtu)), ..Nic::default() };
            study.host.nics.push(nic);
            study.trials[0].params.socket_buffer_bytes = asked.then_some(Bytes(4096));
            for end in
                study.records.iter_mut().filter_map(|record| record.of_mut(Role::Sender).next())
            {
                end.effective.interface = Some("e0".into());
                end.effective.mss_bytes = Some(segment);
            }
            read(&mut study, "tcp-info", "flow0.rtt_ns", 1);
            study
        };
        assert!(is_found(&of_study(&RULE, &study(9000, 1448, false))));
        assert!(is_clear(&of_study(&RULE, &study(9000, 8948, false))));
        assert!(is_clear(&of_study(&RULE, &study(1500, 1428, false))));
        assert!(is_unknown(&of_study(&RULE, &study(9000, 1448, true))));
    }
}
