//! A small writer of SVG.

use std::fmt::Write;

/// A picture in the making.
pub struct Svg {
    body: String,
    width: f64,
    says: String,
}

/// Where a text is anchored.
#[derive(Clone, Copy)]
pub enum Anchor {
    /// The text begins at its place.
    Start,
    /// The text is centred on its place.
    Middle,
    /// The text ends at its place.
    End,
}

impl Svg {
    /// An empty picture; `says` is read aloud in its place.
    pub fn new(width: f64, says: &str) -> Self {
        Self { body: String::new(), width, says: says.to_owned() }
    }
    /// A straight line of a class of the style sheet.
    pub fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let _ = write!(
            self.body,
            r#"<line class="{class}" x1="{:.1}" y1="{:.1}" x2="{:.1}" y2="{:.1}"/>"#,
            from.0, from.1, to.0, to.1
        );
    }
    /// A rectangle from its upper left corner, with a tooltip unless that is empty.
    pub fn rect(&mut self, class: &str, at: (f64, f64), size: (f64, f64), tip: &str) {
        let _ = write!(
            self.body,
            r#"<rect class="{class}" x="{:.1}" y="{:.1}" width="{:.1}" height="{:.1}" rx="2">{}</rect>"#,
            at.0,
            at.1,
            size.0.max(0.0),
            size.1.max(0.0),
            title(tip)
        );
    }
    /// A small circle with a tooltip.
    pub fn dot(&mut self, class: &str, at: (f64, f64), tip: &str) {
        let _ = write!(
            self.body,
            r#"<circle class="{class}" cx="{:.1}" cy="{:.1}" r="3">{}</circle>"#,
            at.0,
            at.1,
            title(tip)
        );
    }
    /// A line through points.
    pub fn path(&mut self, class: &str, points: &[(f64, f64)]) {
        let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let _ = write!(self.body, r#"<polyline class="{class}" points="{}"/>"#, points.join(" "));
    }
    /// A closed shape through points, with a tooltip unless that is empty.
    pub fn polygon(&mut self, class: &str, points: &[(f64, f64)], tip: &str) {
        let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let _ = write!(
            self.body,
            r#"<polygon class="{class}" points="{}">{}</polygon>"#,
            points.join(" "),
            title(tip)
        );
    }
    /// A text of a class of the style sheet, escaped.
    pub fn text(&mut self, class: &str, at: (f64, f64), anchor: Anchor, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let _ = write!(
            self.body,
            r#"<text class="{class}" x="{:.1}" y="{:.1}" text-anchor="{anchor}">{}</text>"#,
            at.0,
            at.1,
            escape(text)
        );
    }
    /// A text that is read from below upwards, from its place.
    pub fn turned(&mut self, class: &str, at: (f64, f64), text: &str) {
        let _ = write!(
            self.body,
            r#"<text class="{class}" x="{:.1}" y="{:.1}" transform="rotate(-90 {:.1} {:.1})">{}</text>"#,
            at.0,
            at.1,
            at.0,
            at.1,
            escape(text)
        );
    }
    /// The picture, `height` units high.
    pub fn finish(self, height: f64) -> String {
        format!(
            r#"<svg viewBox="0 0 {:.0} {height:.0}" role="img" aria-label="{}">{}</svg>"#,
            self.width,
            escape(&self.says),
            self.body
        )
    }
}

fn title(tip: &str) -> String {
    if tip.is_empty() { String::new() } else { format!("<title>{}</title>", escape(tip)) }
}

/// Text that is safe between tags and in attributes.
fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            c if c.is_control() => safe.push(' '),
            c => safe.push(c),
        }
    }
    safe
}

/// A text cut to about `most` characters.
pub fn short(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let cut: String = text.chars().take(most.saturating_sub(1)).collect();
    format!("{}…", cut.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_names_stay_text() {
        let mut svg = Svg::new(10.0, "\"><script>");
        svg.text("t", (0.0, 0.0), Anchor::Start, "</text><script>alert(1)</script>");
        svg.dot("d", (0.0, 0.0), "<b>&");
        let drawn = svg.finish(10.0);
        assert!(!drawn.contains("<script") && !drawn.contains("<b>"), "{drawn}");
        assert_eq!(short("Ethernet controller", 9), "Ethernet…");
    }
}
