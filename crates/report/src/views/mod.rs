//! What `narrows host` prints of a host: one view a file, listed by name.

pub mod diff;
mod drawing;
mod memory;
mod nic;
mod pci;
mod rdma;
mod tree;
mod tuning;

use crate::drawn::Screen;
use narrows_model::host::Host;

/// One way to look at a host.
pub struct View {
    /// Its name on the command line.
    pub name: &'static str,
    /// Writes it as text for a screen, with characters that it may lack.
    write: fn(&Host, &Screen) -> String,
}

impl View {
    /// The view as this screen shows it.
    pub fn text(&self, host: &Host, screen: &Screen) -> String {
        screen.show(&(self.write)(host, screen))
    }
}

/// All views, by name.
pub static VIEWS: &[&View] = &[
    &drawing::VIEW,
    &memory::VIEW,
    &nic::VIEW,
    &pci::VIEW,
    &rdma::VIEW,
    &tree::VIEW,
    &tuning::VIEW,
];

/// The host as a picture that stands alone.
pub fn picture(host: &Host) -> String {
    let drawn = crate::plots::host::draw(host, None, None);
    crate::figures::alone(&drawn).replacen("<svg ", "<svg width=\"720\" ", 1)
}

/// The view by this name.
pub fn view(name: &str) -> Option<&'static View> {
    VIEWS.iter().copied().find(|view| view.name == name)
}

/// A value, or `unknown`.
fn or_unknown<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(|| "unknown".to_owned(), |value| value.to_string())
}
