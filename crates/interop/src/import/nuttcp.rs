//! nuttcp's line.

use super::{Output, Run, Tool, Unusable, nothing, quantity};
use narrows_model::units::Unit;

/// How output of nuttcp is recognised and read.
pub static TOOL: Tool = Tool { name: "nuttcp", recognises, parse };

fn recognises(text: &str) -> bool {
    text.contains("%TX") && text.contains("%RX")
}

fn parse(text: &str) -> Result<Output, Unusable> {
    let runs = text.lines().filter(|line| recognises(line)).map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let before = |unit: &str| {
            let at = words.iter().position(|word| *word == unit)?;
            words.get(at.checked_sub(1)?)?.parse::<f64>().ok()
        };
        let udp = line.contains("drop/pkt");
        let rate = words.iter().position(|word| word.ends_with("bps")).and_then(|at| {
            let unit = words[at].replace("bps", "b/s");
            quantity(words.get(at.checked_sub(1)?)?, &unit).map(|(value, _)| value)
        });
        let run = Run::new(if udp { "udp-stream" } else { "tcp-stream" });
        let share = |unit: &str| before(unit).map(|percent| percent / 100.0);
        run.figure("rate", rate, Unit::BitsPerSecond)
            .figure("lost", share("%loss"), Unit::Share)
            .figure("CPU of the transmitter", share("%TX"), Unit::Share)
            .figure("CPU of the receiver", share("%RX"), Unit::Share)
    });
    nothing(runs.collect(), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read() {
        let text = " 1491.5000 MB /   1.00 sec = 12518.9575 Mbps 97 %TX 29 %RX 0 retrans 0.05 msRTT\n   \
            11.9219 MB /   1.00 sec =  100.0226 Mbps 99 %TX 0 %RX 0 / 1526 drop/pkt 0.00 %loss\n";
        let runs = parse(text).expect("runs").runs;
        assert_eq!(runs[0].figures[0].value.round(), 12_518_957_500.0);
        assert_eq!((runs[1].kind.as_str(), runs[1].figures[1].value), ("udp-stream", 0.0));
    }
}
