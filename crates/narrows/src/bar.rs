//! The line of progress at the foot of a terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;

/// A bar of one line, where standard error is a terminal.
pub fn bar() -> Option<ProgressBar> {
    std::io::stderr().is_terminal().then(|| {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{bar:12} {pos}/{len} {wide_msg}") {
            bar.set_style(style);
        }
        bar
    })
}
