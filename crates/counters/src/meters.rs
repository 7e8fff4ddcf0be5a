//! Sources that are open together.

use crate::meter::Meter;
use crate::{Registered, Scene, sources};
use narrows_model::reading::{Readings, Source};

/// Sources that are open together.
#[derive(Default)]
pub struct Meters(Vec<(&'static Registered, Box<dyn Meter>)>);

impl Meters {
    /// Opens these sources; one that is not there is left out.
    pub fn open(wanted: &[Source], scene: &Scene<'_>) -> Self {
        let known = sources::SOURCES.iter().filter(|known| wanted.contains(&known.source));
        Self(known.filter_map(|known| Some((*known, (known.open)(scene)?))).collect())
    }

    /// Samples those that may be while the window is open.
    pub fn sample(&mut self, scene: &Scene<'_>) {
        let sampled = self.0.iter_mut().filter(|(known, _)| known.is_sampled);
        sampled.for_each(|(_, meter)| meter.sample(scene));
    }

    /// Reads all of them for the last time, and what they grew by.
    pub fn close(self, scene: &Scene<'_>) -> Readings {
        let mut readings = Readings::default();
        for (_, mut meter) in self.0 {
            meter.close(scene, &mut readings);
        }
        readings
    }
}
