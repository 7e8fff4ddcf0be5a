//! What one point must carry by what another carries, and when it falls clearly below that.

use narrows_model::explored::{Choice, Explorable, Explored, Law, Point};

/// What falls below this share of what is expected is an anomaly, whatever the noise.
const CLEARLY: f64 = 0.5;
/// And by so many standard deviations of the usual runs.
const DEVIATIONS: f64 = 4.0;
/// What a message may cost beside its bytes: a system call, and a packet of its own.
const MESSAGE_NS: f64 = 10_000.0;
/// What one verb carries of another at least.
const OF_ANOTHER: f64 = 0.5;
/// What more flows may leave of the rate of fewer.
const SHARED: f64 = 0.5;
/// Less is no trouble: the share of packets that are lost, sent again, refused or held up.
pub const TROUBLE_LEAST: f64 = 0.02;
/// And so many times what the usual runs or the other point have.
pub const TROUBLE_TIMES: f64 = 5.0;

/// The share of what is expected below which a run is clearly below it; `noise` is the standard
/// deviation of the logarithms of usual runs.
pub fn clearly(noise: f64) -> f64 {
    CLEARLY.min((-DEVIATIONS * noise).exp())
}

/// What the choice `of` must carry at least where `beside` carries `rate`, in bits a second, with
/// messages of so many bytes in both or, where their size is what differs, in the first.
pub fn least(law: Law, of: &Choice, beside: &Choice, rate: f64, message_bytes: f64) -> f64 {
    let ratio = match (of.amount, beside.amount) {
        (Some(own), Some(other)) if own > 0.0 && other > 0.0 => own / other,
        _ => 1.0,
    };
    let extra_ns = (of.message_ns - beside.message_ns).max(0.0);
    let rate = slowed(rate, extra_ns / message_bytes.max(1.0));
    match law {
        Law::Alike => rate,
        Law::Proportional | Law::Device => rate * ratio.min(1.0),
        Law::Flows if ratio > 1.0 => rate * SHARED,
        Law::Verb => rate * OF_ANOTHER,
        Law::Flows => rate * ratio,
        Law::Pace => rate.min(of.amount.unwrap_or(f64::INFINITY)),
        Law::MessageSize if ratio >= 1.0 => rate,
        Law::MessageSize => {
            let byte_ns = MESSAGE_NS * (1.0 - ratio) / message_bytes.max(1.0);
            slowed(rate, byte_ns).max(rate * ratio)
        }
    }
}

/// A rate in bits a second when each byte takes so much longer.
fn slowed(rate: f64, byte_ns: f64) -> f64 {
    rate / (1.0 + rate * byte_ns * 1e-9 / 8.0)
}

/// Bytes of a point's messages; so many that no message costs anything where none are varied.
pub fn message_bytes(explored: &Explored, point: &Point) -> f64 {
    let of = explored.of(point);
    let at = of.options.iter().position(|option| option.law == Law::MessageSize);
    at.and_then(|at| of.choice(point, at).amount).unwrap_or(f64::INFINITY)
}

/// Whether the choices of an option are more and less of something, so that there is an edge
/// between two of them.
pub fn is_ordered(option: &Explorable) -> bool {
    let is_of_names = option.law == Law::Alike || option.law.is_of_equals();
    !is_of_names && option.choices.iter().all(|choice| choice.amount.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(amount: f64, message_ns: f64) -> Choice {
        let (name, says) = (amount.to_string(), amount.to_string());
        Choice { name, says, amount: Some(amount), message_ns, is_fine: false }
    }

    #[test]
    fn each_law_says_what_is_carried_at_least() {
        let of = |law, own: f64, other: f64| {
            least(law, &choice(own, 0.0), &choice(other, 0.0), 1e9, own.min(other)) / 1e9
        };
        assert_eq!(of(Law::Alike, 1.0, 2.0), 1.0);
        assert_eq!(of(Law::Proportional, 500.0, 1000.0), 0.5);
        assert_eq!(of(Law::Proportional, 1000.0, 500.0), 1.0);
        assert_eq!(of(Law::Flows, 1.0, 4.0), 0.25);
        assert_eq!(of(Law::Verb, 1.0, 1.0), OF_ANOTHER);
        assert_eq!((of(Law::Device, 25e9, 1e11), of(Law::Device, 1e11, 25e9)), (0.25, 1.0));
        assert_eq!(of(Law::Flows, 4.0, 1.0), SHARED);
        assert_eq!(of(Law::Pace, 1e8, 1e12), 0.1);
        // Half of the size carries half at least, and large messages are alike.
        assert_eq!(of(Law::MessageSize, 64.0, 128.0), 0.5);
        assert!(of(Law::MessageSize, 65_536.0, 131_072.0) > 0.98);
        assert_eq!(of(Law::MessageSize, 128.0, 64.0), 1.0);
        // A choice may cost each message something: much of a small one, nothing of a large one.
        let dear = choice(1.0, 10_000.0);
        let plain = choice(1.0, 0.0);
        assert!(least(Law::Alike, &dear, &plain, 1e9, 64.0) < 0.06e9);
        assert!(least(Law::Alike, &dear, &plain, 1e9, 65_536.0) > 0.97e9);
    }

    #[test]
    fn what_is_carried_at_least_is_known_beforehand() {
        let of = |law, own: &Choice, beside: &Choice, bytes| {
            (least(law, own, beside, 1e9, bytes) / 1e3).round() / 1e6
        };
        let (one, two, plain) = (choice(1e4, 0.0), choice(2e4, 0.0), choice(1.0, 0.0));
        // 8 us a message of 1000 B are the 8 ns that a byte takes at 1 Gb/s.
        assert_eq!(of(Law::Alike, &choice(1.0, 8_000.0), &plain, 1000.0), 0.5);
        assert_eq!(of(Law::Alike, &choice(1.0, 8_000.0), &plain, f64::INFINITY), 1.0);
        // What costs less need not carry more.
        assert_eq!(of(Law::Alike, &plain, &choice(1.0, 8_000.0), 1000.0), 1.0);
        // Twice the messages: 10 us more for 20 kB, half a nanosecond a byte beside eight.
        assert_eq!(of(Law::MessageSize, &one, &two, 1e4), 0.941_176);
        assert_eq!(of(Law::Flows, &one, &one, 1e4), 1.0);
        let unnamed = Choice { amount: None, ..plain };
        assert_eq!(of(Law::Pace, &unnamed, &one, 1e4), 1.0);
        assert_eq!(of(Law::Proportional, &unnamed, &two, 1e4), 1.0);
    }

    #[test]
    fn noise_lowers_the_bar() {
        assert_eq!(clearly(0.1), CLEARLY);
        // Four deviations of 0.4, as a logarithm: e^-1.6.
        assert!((clearly(0.4) - 0.201_897).abs() < 1e-6);
    }
}
