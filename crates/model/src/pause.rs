//! What Ethernet pause frames can do to a link.

/// Bits that one frame holds a link for at most: 65,535 quanta of 512 bits (IEEE 802.3, annex 31B).
const HELD_BITS: f64 = 65_535.0 * 512.0;
/// Taken for the rate of a link that is not known: the faster, the less a frame holds.
pub const LINK_BPS: f64 = 400e9;

/// The share of the time that so many frames a second can pause a link at most; above one where
/// they hold it for longer than there is.
pub fn held_share(frames_per_second: f64, link_bps: f64) -> f64 {
    frames_per_second * HELD_BITS / link_bps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_holds_a_link_of_ten_gigabits_for_three_milliseconds() {
        assert!((held_share(1.0, 10e9) - 0.003_355_392).abs() < 1e-9);
        assert!((held_share(1000.0, LINK_BPS) - 0.083_884_8).abs() < 1e-9);
    }
}
