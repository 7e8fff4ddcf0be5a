//! Ways to get two ends: between two network namespaces of this host, or from inside one.

pub mod namespaces;
pub mod netns;
