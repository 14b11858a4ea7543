//! Line charts: values against interventional samples or experiments, with bands, markers and a legend beside the plot.

use std::fmt::Write;

use crate::scale::{Scale, drawable};
use crate::style::{Look, Marker};
use crate::svg::{Figure, at, escape, fitted, text_width};

/// What a chart shows.
pub(crate) struct Chart {
    pub(crate) title: String,
    pub(crate) x_label: String,
    /// With its unit.
    pub(crate) y_label: String,
    /// Does a line keep the value of a point until the next one? Otherwise points are joined by straight lines.
    pub(crate) steps: bool,
    pub(crate) series: Vec<Series>,
}

/// One line of a chart.
pub(crate) struct Series {
    pub(crate) label: String,
    pub(crate) look: Look,
    /// In the order of x.
    pub(crate) points: Vec<Point>,
}

/// One point of a line; a gap without `y`.
pub(crate) struct Point {
    pub(crate) x: f64,
    pub(crate) y: Option<f64>,
    /// Half the width of the band.
    pub(crate) error: Option<f64>,
    /// Shown when the pointer is over it.
    pub(crate) note: String,
}

impl Point {
    fn value(&self) -> Option<f64> {
        self.y.filter(|y| drawable(*y))
    }

    /// The value minus and plus its error, or the value itself twice if there is none.
    fn band(&self) -> Option<(f64, f64)> {
        let error = self.error.filter(|e| drawable(*e)).unwrap_or(0.0);
        self.value().map(|y| (y - error, y + error))
    }
}

const WIDTH: f64 = 360.0;
const HEIGHT: f64 = 246.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = 344.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 200.0;

impl Chart {
    /// Is there anything to draw?
    pub(crate) fn has_values(&self) -> bool {
        self.series.iter().flat_map(|series| &series.points).any(|point| point.value().is_some())
    }

    /// Is there a line to draw? A chart of dots says less than a sentence.
    pub(crate) fn has_lines(&self) -> bool {
        let values = |series: &Series| series.points.iter().filter(|point| point.value().is_some()).count();
        self.series.iter().any(|series| values(series) > 1)
    }

    /// The chart without its legend.
    pub(crate) fn draw(&self) -> Figure {
        let points = || self.series.iter().flat_map(|series| &series.points);
        let x = Scale::covering(points().map(|point| point.x), true, LEFT, RIGHT, 5);
        let bands = points().filter_map(Point::band).flat_map(|(low, high)| [low, high]);
        // Shares have a tick at one half, where the median is read.
        let y = Scale::covering(bands, false, BOTTOM, TOP, if self.steps { 4 } else { 5 });
        let mut body = String::new();
        let title = fitted(&self.title, 13.0, WIDTH - 20.0);
        let _ = writeln!(body, "<text class=\"title\" x=\"12\" y=\"18\">{}</text>", escape(&title));
        axes(&mut body, &x, &y, false);
        let middle = at((LEFT + RIGHT) / 2.0);
        let _ = writeln!(
            body,
            "<text class=\"soft mid\" x=\"{middle}\" y=\"236\">{}</text>\n\
             <text class=\"soft mid\" transform=\"translate(16 {}) rotate(-90)\">{}</text>",
            escape(&self.x_label),
            at((TOP + BOTTOM) / 2.0),
            escape(&self.y_label)
        );
        body.push_str("<g class=\"plot\">\n");
        for series in &self.series {
            series.draw_bands(&mut body, &x, &y);
        }
        for series in &self.series {
            series.draw_line(&mut body, &x, &y, self.steps);
        }
        body.push_str("</g>\n");
        Figure { width: WIDTH, height: HEIGHT, title: self.title.clone(), body }
    }

    /// The chart with its legend below.
    pub(crate) fn draw_with_legend(&self) -> Figure {
        self.draw().above(&legend(&self.series, WIDTH))
    }
}

/// Ticks, their numbers, the grid and the base line, placed by the two scales.
pub(crate) fn axes(body: &mut String, x: &Scale, y: &Scale, small: bool) {
    let (class, gap, drop, below) =
        if small { ("soft small", 4.0, 3.5, 14.0) } else { ("soft", 6.0, 4.0, 17.0) };
    let (left, right, bottom) = (x.from, at(x.to), at(y.from));
    for &tick in &y.ticks {
        let place = y.place(tick);
        let _ = writeln!(
            body,
            "<path class=\"grid\" d=\"M{} {}H{right}\"/><text class=\"{class} end\" x=\"{}\" y=\"{}\">{}</text>",
            at(left),
            at(place),
            at(left - gap),
            at(place + drop),
            y.label(tick)
        );
    }
    for &tick in &x.ticks {
        let place = at(x.place(tick));
        let _ = writeln!(
            body,
            "<path class=\"axis\" d=\"M{place} {bottom}v4\"/>\
             <text class=\"{class} mid\" x=\"{place}\" y=\"{}\">{}</text>",
            at(y.from + below),
            x.label(tick)
        );
    }
    let _ = writeln!(body, "<path class=\"axis\" d=\"M{} {bottom}H{right}\"/>", at(left));
}

impl Series {
    /// Runs of neighbouring points that have values.
    fn pieces(&self) -> impl Iterator<Item = &[Point]> {
        let split = self.points.split(|point| point.value().is_none());
        split.filter(|piece| !piece.is_empty())
    }

    fn draw_bands(&self, body: &mut String, x: &Scale, y: &Scale) {
        if self.points.iter().all(|point| point.error.is_none()) {
            return;
        }
        for piece in self.pieces().filter(|piece| piece.len() > 1) {
            let upper = piece.iter().map(|p| (p.x, p.band().map_or(0.0, |band| band.1)));
            let lower = piece.iter().rev().map(|p| (p.x, p.band().map_or(0.0, |band| band.0)));
            let corners: Vec<String> = upper
                .chain(lower)
                .map(|(px, py)| format!("{} {}", at(x.place(px)), at(y.place(py))))
                .collect();
            let _ =
                writeln!(body, "<path class=\"band f-{}\" d=\"M{}Z\"/>", self.look.class, corners.join("L"));
        }
    }

    fn draw_line(&self, body: &mut String, x: &Scale, y: &Scale, steps: bool) {
        let class = self.look.class;
        for piece in self.pieces().filter(|piece| piece.len() > 1) {
            let place = |p: &Point| [at(x.place(p.x)), at(y.place(p.value().unwrap_or(0.0)))];
            let joined = |[x, y]: [String; 2]| if steps { format!("H{x}V{y}") } else { format!("L{x} {y}") };
            let rest: String = piece[1..].iter().map(|point| joined(place(point))).collect();
            let path = place(&piece[0]).join(" ") + &rest;
            let _ = writeln!(body, "<path class=\"line s-{class}\"{} d=\"M{path}\"/>", dashes(self.look));
        }
        // About fifteen markers per line, however many rounds there are.
        let every = self.points.len().div_ceil(15).max(1);
        for (k, point) in self.points.iter().enumerate() {
            let alone = |k: usize| self.points.get(k).is_none_or(|p| p.value().is_none());
            let lonely = alone(k + 1) && (k == 0 || alone(k - 1));
            if let Some(value) = point.value().filter(|_| k % every == 0 || lonely) {
                let _ = writeln!(
                    body,
                    "<g>{}<title>{}</title></g>",
                    marker(self.look, x.place(point.x), y.place(value)),
                    escape(&point.note)
                );
            }
        }
    }
}

fn dashes(look: Look) -> String {
    if look.dash.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{}\"", look.dash) }
}

/// The shape of a line's points, about 7 pixels wide.
pub(crate) fn marker(look: Look, x: f64, y: f64) -> String {
    let class = format!("mark s-{0} f-{0}", look.class);
    let path = |d: String| format!("<path class=\"{class}\" d=\"{d}\"/>");
    match look.marker {
        Marker::Circle => format!("<circle class=\"{class}\" cx=\"{}\" cy=\"{}\" r=\"2.8\"/>", at(x), at(y)),
        Marker::Square => path(format!("M{} {}h5v5h-5Z", at(x - 2.5), at(y - 2.5))),
        Marker::Triangle => path(format!("M{} {}l3.2 5.6h-6.4Z", at(x), at(y - 3.4))),
        Marker::Diamond => path(format!("M{} {}l3.4 3.4l-3.4 3.4l-3.4 -3.4Z", at(x), at(y - 3.4))),
        Marker::Cross => path(format!("M{} {}l5.6 5.6m0 -5.6l-5.6 5.6", at(x - 2.8), at(y - 2.8))),
    }
}

/// The sample of a line in a legend, 30 by 14.
pub(crate) fn swatch(look: Look) -> String {
    format!(
        "<path class=\"line s-{}\"{} d=\"M1 7H29\"/>{}",
        look.class,
        dashes(look),
        marker(look, 15.0, 7.0)
    )
}

/// All lines by name, in as many rows as the width needs.
pub(crate) fn legend(series: &[Series], width: f64) -> Figure {
    let (mut x, mut y, mut body) = (12.0, 6.0, String::from("<g class=\"legend\">\n"));
    for line in series {
        let label = fitted(&line.label, 12.0, width - 60.0);
        let needed = 36.0 + text_width(&label, 12.0) + 16.0;
        if x > 12.0 && x + needed > width {
            (x, y) = (12.0, y + 20.0);
        }
        let _ = writeln!(
            body,
            "<g transform=\"translate({} {})\">{}<text x=\"36\" y=\"11\">{}</text></g>",
            at(x),
            at(y),
            swatch(line.look),
            escape(&label)
        );
        x += needed;
    }
    body.push_str("</g>\n");
    Figure { width, height: y + 24.0, title: "legend".into(), body }
}
