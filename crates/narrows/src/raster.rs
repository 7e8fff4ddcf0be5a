//! Figures as PNG, drawn from their SVG.

use crate::cause::Cause;
use crate::failure::Failure;
use resvg::{tiny_skia, usvg};

/// Pixels for each unit of a figure.
const SCALE: f32 = 2.0;

/// A drawer with the fonts of this system.
pub struct Rasteriser {
    options: usvg::Options<'static>,
}

impl Rasteriser {
    /// Reads the fonts.
    pub fn new() -> Result<Self, Failure> {
        let mut options = usvg::Options::default();
        let fonts = options.fontdb_mut();
        fonts.load_system_fonts();
        if fonts.is_empty() {
            let says = "no fonts are installed: figures would have no text";
            return Err(Failure::of(Cause::NO_FONTS, says));
        }
        // What the figures ask for first and this system may not have.
        let wanted = ["DejaVu Sans", "Noto Sans", "Liberation Sans"];
        let have = |name: &str| {
            let mut faces = fonts.faces();
            faces.any(|face| face.families.iter().any(|(family, _)| family == name))
        };
        let first = fonts.faces().next().and_then(|face| Some(face.families.first()?.0.clone()));
        let family = wanted.iter().find(|name| have(name)).map(|name| (*name).to_owned());
        if let Some(family) = family.or(first) {
            fonts.set_sans_serif_family(family);
        }
        Ok(Self { options })
    }

    /// A figure as PNG, on white.
    pub fn png(&self, svg: &str) -> Result<Vec<u8>, Failure> {
        let tree = usvg::Tree::from_str(svg, &self.options).map_err(no_figure)?;
        let size = tree.size().to_int_size().scale_by(SCALE);
        let size = size.ok_or_else(|| no_figure("it has no size"))?;
        let pixels = tiny_skia::Pixmap::new(size.width(), size.height());
        let mut pixels = pixels.ok_or_else(|| no_figure("it is too large"))?;
        pixels.fill(tiny_skia::Color::WHITE);
        let scale = tiny_skia::Transform::from_scale(SCALE, SCALE);
        resvg::render(&tree, scale, &mut pixels.as_mut());
        pixels.encode_png().map_err(no_figure)
    }
}

fn no_figure(why: impl std::fmt::Display) -> Failure {
    Failure::of(Cause::NO_FIGURE, format!("a figure: {why}"))
}
