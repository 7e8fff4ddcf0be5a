//! Standalone pictures as others draw them: rsvg-convert, and the drawer of `--png`.
#![cfg(feature = "png")]

mod common;

use common::{folder, narrows, out, run, skip, table};
use resvg::tiny_skia::{Pixmap, PremultipliedColorU8};
use std::path::Path;
use std::process::Command;

type Colour = [u8; 3];
const GREEN: Colour = [0x2c, 0x7a, 0x4b];
const BLUE: Colour = [0x2f, 0x6d, 0xb5];
const LINE: Colour = [0xd8, 0xdd, 0xe4];
const WHITE: Colour = [255; 3];
/// Pixels of a unit.
const ZOOM: f64 = 4.0;

struct Picture {
    pixels: Pixmap,
    scale: f64,
}

impl Picture {
    /// A drawing of a picture that is `wide` units wide.
    fn read(file: &Path, wide: f64) -> Self {
        let pixels = Pixmap::load_png(file).expect("a PNG");
        let scale = f64::from(pixels.width()) / wide;
        Self { pixels, scale }
    }

    fn at(&self, x: f64, y: f64) -> Colour {
        let (x, y) = ((x * self.scale) as u32, (y * self.scale) as u32);
        let pixel: PremultipliedColorU8 = self.pixels.pixel(x, y).expect("inside");
        [pixel.red(), pixel.green(), pixel.blue()]
    }

    /// Colours of a strip at one height, pixel by pixel.
    fn strip(&self, x: std::ops::Range<f64>, y: f64) -> Vec<Colour> {
        let pixels = (x.start * self.scale) as u32..(x.end * self.scale) as u32;
        pixels.map(|at| self.at((f64::from(at) + 0.5) / self.scale, y)).collect()
    }
}

/// Numbers of an attribute of every rectangle of a class: x, y, width, height.
fn rects(svg: &str, class: &str) -> Vec<[f64; 4]> {
    let named = format!(" class=\"{class}\"");
    let elements = svg.split('<').filter(|part| part.starts_with("rect") && part.contains(&named));
    let number = |part: &str, name: &str| {
        let value =
            part.split(&format!(" {name}=\"")).nth(1).and_then(|rest| rest.split('"').next());
        value.and_then(|value| value.parse().ok()).expect("a number")
    };
    elements.map(|part| ["x", "y", "width", "height"].map(|name| number(part, name))).collect()
}

fn drawn(svg: &Path) -> Option<Picture> {
    let png = svg.with_extension("drawn.png");
    let text = std::fs::read_to_string(svg).expect("a picture");
    let wide = text.split("viewBox=\"0 0 ").nth(1).and_then(|rest| rest.split(' ').next());
    let wide: f64 = wide.and_then(|wide| wide.parse().ok()).expect("a width");
    let mut command = Command::new("rsvg-convert");
    command.args(["--background-color", "white", "--width", &format!("{}", wide * ZOOM)]);
    match command.arg("--output").arg(&png).arg(svg).status() {
        Ok(status) => assert!(status.success(), "rsvg-convert: {status}"),
        Err(_) => return None,
    }
    Some(Picture::read(&png, wide))
}

#[test]
fn modules_and_empty_slots_have_their_colours_in_librsvg() {
    let dir = folder("pictures");
    let (from, file) = (dir.join("table.txt"), dir.join("host.svg"));
    std::fs::write(&from, table("AB D  ")).expect("file");
    let svg = out(&run(narrows().args(["host", "--svg", "--from"]).arg(&from)));
    std::fs::write(&file, &svg).expect("file");
    let Some(picture) = drawn(&file) else {
        return skip("pictures_in_librsvg", "rsvg-convert is not installed");
    };
    let (modules, empty) = (rects(&svg, "dimm"), rects(&svg, "dimm empty"));
    assert_eq!((modules.len(), empty.len()), (3, 3), "{svg}");
    for [x, y, width, height] in modules {
        let middle = picture.strip(x + 3.0..x + width - 3.0, y + height / 2.0);
        assert_eq!((middle[0], middle[middle.len() - 1]), (GREEN, GREEN));
        // The number is white on the module's colour, with nothing darker behind it.
        assert!(middle.iter().any(|[red, ..]| *red > 200), "no number is seen");
        assert!(middle.iter().all(|[red, green, _]| *red >= 0x2a && *green >= 0x78), "{middle:?}");
    }
    for [x, y, width, height] in empty {
        let inside = picture.strip(x + 3.0..x + width - 3.0, y + height / 2.0);
        assert!(inside.iter().all(|colour| *colour == WHITE), "{inside:?}");
        assert_eq!(picture.at(x + width / 2.0, y + 0.1), LINE);
    }
    let [x, y, width, height] = rects(&svg, "set set0")[0];
    assert_eq!(picture.at(x + width / 2.0, y + height / 2.0), BLUE);
    // Text stands on the picture's own ground.
    let head = picture.strip(6.0..200.0, 11.0);
    assert!(head.iter().any(|[red, ..]| *red < 0x60), "no words are seen");
    assert!(head.iter().filter(|colour| **colour == WHITE).count() > head.len() / 4);
}

#[test]
fn figures_look_alike_in_librsvg_and_as_our_png() {
    let dir = folder("pictures-figures");
    let study = dir.join("runs.narrows");
    let mut command = narrows();
    command.args(["import", "-o"]).arg(&study);
    for (index, rate) in [19.1, 19.4, 19.5, 19.6, 19.8, 20.1, 20.7, 20.9].iter().enumerate() {
        let text = format!(
            "Client connecting to 127.0.0.1, TCP port 5990\n[ ID] Interval\n\
             [  1] 0.0000-1.0153 sec  2.35 GBytes  {rate} Gbits/sec\n"
        );
        let file = dir.join(format!("{index}.txt"));
        std::fs::write(&file, text).expect("file");
        command.arg(file);
    }
    assert_eq!(run(&mut command).status.code(), Some(0));
    let mut command = narrows();
    command.arg("report").arg(&study).arg("--png").arg("--figures").arg(&dir);
    assert_eq!(run(&mut command).status.code(), Some(0));
    let mut compared = 0;
    for entry in std::fs::read_dir(&dir).expect("folder").flatten() {
        let file = entry.path();
        if file.extension().is_none_or(|ending| ending != "svg") {
            continue;
        }
        let Some(theirs) = drawn(&file) else {
            return skip("figures_in_librsvg", "rsvg-convert is not installed");
        };
        let svg = std::fs::read_to_string(&file).expect("a figure");
        let wide = f64::from(theirs.pixels.width()) / theirs.scale;
        let ours = Picture::read(&file.with_extension("png"), wide);
        for class in ["bar", "bar bottleneck", "bar conditional", "box"] {
            for [x, y, width, height] in rects(&svg, class) {
                let (x, y) = (x + width / 2.0, y + height * 0.15);
                if width * height > 40.0 {
                    assert_eq!(ours.at(x, y), theirs.at(x, y), "{class} in {}", file.display());
                    compared += usize::from(ours.at(x, y) != [0; 3]);
                }
            }
        }
        // No ground, and nothing on it, is black where no colour says so.
        for picture in [&ours, &theirs] {
            let black = picture.pixels.pixels().iter().filter(|p| p.red() == 0 && p.blue() == 0);
            let (black, all) = (black.count(), picture.pixels.pixels().len());
            assert!(black * 50 < all, "{black} of {all} pixels of {} are black", file.display());
        }
    }
    assert!(compared > 0, "no coloured area was compared");
}
