//! A host's memory network, simulated: cores with their fill buffers, a root complex with its
//! credits, the cache's agent, and a memory controller with banks and queues. It is for this test
//! alone, which asks whether the regimes of "Understanding the Host Network" (SIGCOMM 2024) come
//! out of that; nothing of it is in what people run. docs/no-link-full.md says what it shows.

mod address;
mod channel;
mod commands;
mod counted;
mod drawing;
mod known;
mod load;
mod machine;
mod outcome;
mod page;
mod parameters;
mod published;
mod regimes;
mod simulated;
mod sources;
