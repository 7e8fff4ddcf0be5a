//! The sentences of an answer.

/// The answer, a sentence each.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The figure, after its cell's label.
    pub figure: String,
    /// Its interval, and the runs that it is of.
    pub spread: String,
    /// The bottleneck, how sure that is, and what disturbs it.
    pub bottleneck: String,
    /// What to do; the first of several findings.
    pub action: String,
}
