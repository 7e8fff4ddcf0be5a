//! Ways to get two ends: between two network namespaces of this host.

pub mod namespaces;
