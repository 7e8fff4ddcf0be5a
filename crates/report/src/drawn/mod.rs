//! A host as a drawing: what is drawn where, in the terminal ([`crate::views`]) and as SVG
//! ([`crate::plots::host`]). Neither decides what belongs to which socket.

pub(crate) mod canvas;
mod fold;
pub(crate) mod layout;
pub(crate) mod memory;
pub(crate) mod says;
pub(crate) mod terminal;

pub use canvas::Screen;
pub use fold::fold;
