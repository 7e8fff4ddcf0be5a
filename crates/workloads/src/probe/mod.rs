//! Probes of a path: what counters cannot tell. The end that connects asks, the end that listens
//! answers; both ways are probed, and the end that asks reports ([`narrows_model::probe`]).
//!
//! [`words`] is what they say to each other, [`sizes`] the search of the largest packet that
//! passes, [`line`] the socket with what its kernel tells, [`handshakes`] connections of TCP.

pub mod answer;
pub mod ask;
pub mod handshakes;
pub mod line;
pub mod sizes;
pub mod words;
