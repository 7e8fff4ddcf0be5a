//! What a build may leave out: that it did, and what goes wrong with it where it did not.

// Every build has only one of the two.
#![allow(dead_code)]

use super::Cause;

impl Cause {
    /// Pictures as PNG, which this build leaves out.
    pub const NO_PNG: Self =
        Self::machine("build it in with `cargo build --release --features png`, or take the SVG");
    /// A figure would have no text.
    pub const NO_FONTS: Self = Self::machine("install fonts-dejavu-core, or take the SVG");
    /// A figure that cannot be drawn as points.
    pub const NO_FIGURE: Self = Self::machine("take the SVG");
    /// Parquet, which this build leaves out.
    pub const NO_PARQUET: Self = Self::machine(
        "build it in with `cargo build --release --features parquet`, or take csv or jsonl",
    );
    /// The full-screen view, which this build leaves out.
    pub const NO_TUI: Self = Self::machine(
        "build it in with `cargo build --release --features tui`, or leave --tui away",
    );
    /// The terminal cannot be filled.
    pub const NO_TERMINAL: Self = Self::machine("leave --tui away");
    /// A view that fills a terminal, where there is none.
    pub const NOT_A_TERMINAL: Self = Self::usage("leave --tui away");
}
