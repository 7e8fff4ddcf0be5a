//! Lost datagrams in words.

use crate::words::count;
use narrows_stats::Loss;

/// Share of datagrams that were lost, and where.
pub fn loss(loss: &Loss) -> String {
    let all = loss.all_datagrams();
    let mut text = match (loss.lost_datagrams, loss.last_datagrams_known) {
        _ if all == 0 => "nothing was sent".to_owned(),
        (0, true) => "no loss".to_owned(),
        (0, false) => "no gaps (whether the last datagrams arrived is unknown)".to_owned(),
        (lost, true) => format!("lost {}: {}", percent(lost, all), places(loss)),
        (lost, false) => {
            format!("lost at least {}: {}", percent(lost, all), places(loss))
        }
    };
    text += &format!(
        "; {} reordered, {} duplicates",
        loss.reordered_datagrams, loss.duplicate_datagrams
    );
    if loss.refused_at_sender_datagrams > 0 {
        let refused = count(loss.refused_at_sender_datagrams as f64);
        text += &format!("; {refused} sends refused by the sender's own host");
    }
    text
}

/// A share that is never rounded to none or to all.
fn percent(n: u64, all: u64) -> String {
    let percent = 100.0 * n as f64 / all.max(1) as f64;
    match percent {
        p if n > 0 && p < 0.005 => "less than 0.01 %".to_owned(),
        p if n < all && p > 99.99 => "more than 99.99 %".to_owned(),
        p => format!("{p:.2} %"),
    }
}

fn places(loss: &Loss) -> String {
    let all = loss.all_datagrams();
    let parts = loss.places().into_iter().filter(|(_, n)| *n > 0);
    let parts: Vec<String> =
        parts.map(|(at, n)| format!("{} {}", percent(n, all), at.says())).collect();
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_received_is_not_no_loss() {
        let whole = Loss { last_datagrams_known: true, ..Loss::default() };
        let all = Loss { lost_datagrams: 900, lost_unplaced_datagrams: 900, ..whole.clone() };
        let says = loss(&all);
        assert!(says.contains("lost 100.00 %: 100.00 % at an unknown place"), "{says}");
        assert!(loss(&whole).contains("nothing was sent"));
        assert!(loss(&Loss { received_datagrams: 9, ..whole.clone() }).contains("no loss"));
        assert!(!loss(&Loss { received_datagrams: 9, ..Loss::default() }).contains("no loss"));
        let one = Loss { received_datagrams: 1_000_000, lost_datagrams: 1, ..whole.clone() };
        assert!(loss(&one).contains("less than 0.01 %"));
        let one = Loss { received_datagrams: 1, lost_datagrams: 1_000_000, ..whole };
        assert!(loss(&one).contains("more than 99.99 %"));
    }
}
