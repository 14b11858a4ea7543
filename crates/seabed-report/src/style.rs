//! Colours and style sheets: one set of rules, filled with light colours, dark ones, or variables that switch.
//!
//! The eight line colours can be distinguished by colour-blind people (Okabe and Ito's, with the yellow and the black
//! replaced); dashes and markers differ as well.

/// (name, light, dark).
const COLOURS: [(&str, &str, &str); 20] = [
    ("ink", "#1b2530", "#e6ebf0"),
    ("soft", "#52606d", "#a9b6c2"),
    ("paper", "#ffffff", "#12181f"),
    ("card", "#f6f8fa", "#1a222b"),
    ("rule", "#d5dce3", "#344250"),
    ("grid", "#e7ebef", "#27323d"),
    ("base", "#5f6b76", "#aab6c1"),
    ("c0", "#0072b2", "#58b0ea"),
    ("c1", "#d55e00", "#ff9350"),
    ("c2", "#00845f", "#3ccf9f"),
    ("c3", "#b84b86", "#ee9cc9"),
    ("c4", "#a86f00", "#eec04f"),
    ("c5", "#6a51c9", "#b3a3ff"),
    ("c6", "#1e8fb5", "#86dcf5"),
    ("c7", "#7a5a3a", "#d3b08c"),
    ("heat", "#5fb0e5", "#1f6fa8"),
    ("true", "#d55e00", "#ff9350"),
    ("node", "#eef3f8", "#233140"),
    ("good", "#00704f", "#4fd6a9"),
    ("bad", "#b23c17", "#ff9f7a"),
];

/// How many colours lines have.
pub(crate) const LINE_COLOURS: usize = 8;

/// How a line is drawn: the class of its colour, its dashes and its marker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Look {
    pub(crate) class: &'static str,
    pub(crate) dash: &'static str,
    pub(crate) marker: Marker,
}

/// The shape at a line's points.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Marker {
    Circle,
    Square,
    Triangle,
    Diamond,
    Cross,
}

const CLASSES: [&str; LINE_COLOURS] = ["c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"];
const DASHES: [&str; 3] = ["", "7 3", "2 3"];
const MARKERS: [Marker; 4] = [Marker::Circle, Marker::Square, Marker::Triangle, Marker::Diamond];

/// The look of the `index`-th line; neighbours differ in all three parts, and the first 96 in at least one.
pub(crate) fn look(index: usize) -> Look {
    let (turn, colour) = (index / LINE_COLOURS, index % LINE_COLOURS);
    Look {
        class: CLASSES[colour],
        dash: DASHES[(colour + turn) % DASHES.len()],
        marker: MARKERS[(colour + turn / DASHES.len()) % MARKERS.len()],
    }
}

/// The line that others are compared with is grey.
pub(crate) const BASELINE: Look = Look { class: "base", dash: "5 2 1 2", marker: Marker::Cross };

/// Rules for what is inside figures, with `$name` for a colour.
const FIGURE: &str = "\
svg{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;font-size:12px}
svg text{fill:$ink}
svg .title{font-size:13px;font-weight:600}
svg .soft{fill:$soft}
svg .small{font-size:10.5px}
svg .bold{font-weight:600}
svg .mid{text-anchor:middle}
svg .end{text-anchor:end}
svg .grid{stroke:$grid;stroke-width:1;fill:none}
svg .axis{stroke:$soft;stroke-width:1;fill:none}
svg .line{fill:none;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}
svg .band{fill-opacity:.2;stroke:none}
svg .mark{stroke-width:1.6}
svg .hollow{fill:$paper}
svg .node{fill:$node;stroke:$soft;stroke-width:1}
svg .edge{fill:none;stroke:$ink}
svg .edge.true{stroke:$c0}
svg .edge.false{stroke:$c1}
svg .head{fill:$ink}
svg .head.true{fill:$c0}
svg .head.false{fill:$c1}
svg .cell{fill:$heat}
svg .empty{fill:$card}
svg .edgecell{fill:none;stroke:$true;stroke-width:1.8}
svg .diagonal{stroke:$rule;stroke-width:1.5;fill:none}
";

/// Rules for the page around the figures.
const PAGE: &str = "\
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;text-size-adjust:100%}
body{margin:0;background:$paper;color:$ink;font:16px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif}
main{max-width:1200px;margin:0 auto;padding:16px}
h1{font-size:1.6rem;line-height:1.25;margin:.6em 0}
h2{font-size:1.3rem;line-height:1.25;margin:1.8em 0 .5em;padding-top:.6em;border-top:1px solid $rule}
h3{font-size:1.08rem;margin:1.5em 0 .5em}
h1,h2,h3,p,td,th{overflow-wrap:anywhere}
p{margin:.4em 0;max-width:75ch}
.note{color:$soft;font-size:.88rem}
.figures{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,340px),1fr));gap:12px}
.pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,340px),1fr));gap:12px}
.panels{display:grid;grid-template-columns:repeat(auto-fill,minmax(150px,1fr));gap:8px}
.figures svg,.pair svg,.panels svg{display:block;width:100%;height:auto}
.figures svg{max-width:480px}
.pair svg{max-width:580px}
.note svg{vertical-align:-2px}
.legend{margin:.4em 0}
.legend svg{vertical-align:middle}
.legend span{display:inline-block;margin:0 1.2em .2em 0;font-size:.92rem;white-space:normal}
.scroll{overflow-x:auto;max-width:100%}
.scroll svg{display:block}
table{border-collapse:collapse;font-size:.88rem;font-variant-numeric:tabular-nums}
.texts td,.texts th{overflow-wrap:normal;word-break:normal;vertical-align:top}
.texts td:first-child,.texts th{white-space:nowrap}
th,td{padding:3px 10px 3px 0;text-align:left;border-bottom:1px solid $rule;vertical-align:top}
.number{text-align:right;white-space:nowrap}
thead th{color:$soft;font-weight:500}
tbody th{font-weight:400;min-width:6.5em}
tr.group th{font-weight:600;padding-top:12px;border-bottom:1px solid $soft}
.good{color:$good;font-weight:600}
.bad{color:$bad;font-weight:600}
pre{background:$card;border:1px solid $rule;border-radius:6px;padding:10px;overflow-x:auto;font-size:.82rem}
summary{cursor:pointer;margin:.8em 0}
@media (max-width:600px){
.areas,.areas thead,.areas tbody{display:block}
.areas tr{display:grid;grid-template-columns:6fr 29fr 31fr 18fr 16fr;border-bottom:1px solid $rule}
.areas.needed tr{grid-template-columns:6fr 25fr 37fr 16fr 16fr}
.areas th,.areas td{font-size:.78rem;padding:2px 0 2px 3px;border-bottom:0}
.areas tbody th{grid-column:1/-1;padding-left:0}
.areas thead th:first-child{display:none}
.areas thead .number{white-space:normal}
}
";

/// Lines' colours as strokes and fills.
fn colour_rules() -> String {
    let names = CLASSES.iter().chain(["base"].iter());
    names.map(|name| format!("svg .s-{name}{{stroke:${name}}}\nsvg .f-{name}{{fill:${name}}}\n")).collect()
}

fn filled(rules: &str, colour: impl Fn(&(&'static str, &'static str, &'static str)) -> String) -> String {
    // Longer names first: `$c` must not eat the start of `$card`.
    let mut colours = COLOURS;
    colours.sort_by_key(|entry| std::cmp::Reverse(entry.0.len()));
    colours
        .iter()
        .fold(rules.to_string(), |text, entry| text.replace(&format!("${}", entry.0), &colour(entry)))
}

/// What a figure needs to stand alone.
pub(crate) fn figure_rules_light() -> String {
    filled(&(FIGURE.to_string() + &colour_rules()), |entry| entry.1.to_string())
}

/// The style sheet of a page, light or dark as the reader prefers.
pub(crate) fn page_rules() -> String {
    let set = |pick: fn(&(&str, &str, &str)) -> String| COLOURS.iter().map(pick).collect::<String>();
    let light = set(|entry| format!("--{}:{};", entry.0, entry.1));
    let dark = set(|entry| format!("--{}:{};", entry.0, entry.2));
    let rules = filled(&(PAGE.to_string() + FIGURE + &colour_rules()), |entry| format!("var(--{})", entry.0));
    format!(
        ":root{{color-scheme:light dark;{light}}}\n@media (prefers-color-scheme:dark){{:root{{{dark}}}}}\n\
         @media print{{:root{{{light}}}}}\n{rules}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_colour_is_known() {
        assert!(!figure_rules_light().contains(['$']), "a rule names a colour that is not defined");
        assert!(!figure_rules_light().contains("var("));
        assert!(!page_rules().contains('$'));
    }

    #[test]
    fn lines_look_different() {
        let looks: Vec<Look> = (0..96).map(look).collect();
        for i in 0..looks.len() {
            assert!((0..i).all(|j| looks[i] != looks[j]), "line {i}");
        }
    }
}
