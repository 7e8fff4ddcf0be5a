//! What a verdict rests on.

use narrows_model::result::Evidence;

/// A piece of evidence.
pub(crate) fn evidence(says: impl Into<String>, from: impl Into<String>) -> Evidence {
    Evidence { says: says.into(), from: from.into() }
}
