//! Ways to get two ends: between two network namespaces of this host, or from inside one, or from
//! inside a container.

pub mod container;
pub mod namespaces;
pub mod netns;
