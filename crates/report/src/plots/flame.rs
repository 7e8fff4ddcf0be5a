//! A flame graph of one end: each function as wide as the time that it and what it called took,
//! upon who called it. It needs no script: names are in the boxes where they fit, and in tooltips.

use super::Svg;
use super::svg::{Anchor, short};
use narrows_profile::Flame;

/// Wider than other figures: it is looked at on its own.
const WIDE: f64 = 1200.0;
const ROW: f64 = 15.0;
/// A function narrower than this share is left out with all above it.
const SHARE_MIN: f64 = 0.001;
/// Width of a letter.
const LETTER: f64 = 6.2;

/// The picture; the root is at its lower edge.
pub fn draw(title: &str, flame: &Flame) -> String {
    let depth = depth(flame, flame.weight) - 1;
    let height = ROW * depth as f64;
    let mut svg = Svg::new(WIDE, title);
    let canvas = Canvas { whole: flame.weight, height };
    canvas.calls(&mut svg, flame, 0.0, 0);
    svg.finish(height + 2.0)
}

/// Rows of what is shown of a function, itself included.
fn depth(flame: &Flame, whole: u64) -> usize {
    let shown = flame.calls.iter().filter(|call| share(call, whole) >= SHARE_MIN);
    1 + shown.map(|call| depth(call, whole)).max().unwrap_or(0)
}

fn share(flame: &Flame, whole: u64) -> f64 {
    flame.weight as f64 / whole.max(1) as f64
}

struct Canvas {
    whole: u64,
    height: f64,
}

impl Canvas {
    /// Draws what a function called, from `left` on in the row of that number from below.
    fn calls(&self, svg: &mut Svg, flame: &Flame, left: f64, row: usize) {
        let mut left = left;
        for call in &flame.calls {
            let part = share(call, self.whole);
            if part < SHARE_MIN {
                break;
            }
            let width = part * WIDE;
            let top = self.height - ROW * (row + 1) as f64;
            let class = call.class.map_or("through", |class| class.key());
            let told = call.class.map_or(String::new(), |class| format!(", {class}"));
            let tip = format!("{}: {:.1} %{told}", call.name, 100.0 * part);
            svg.rect(&format!("p-{class}"), (left, top), (width - 0.5, ROW - 1.0), &tip);
            let letters = ((width - 4.0) / LETTER) as usize;
            if letters >= 4 {
                let name = short(&call.name, letters);
                svg.text("inside", (left + 2.0, top + 10.5), Anchor::Start, &name);
            }
            self.calls(svg, call, left, row + 1);
            left += width;
        }
    }
}
