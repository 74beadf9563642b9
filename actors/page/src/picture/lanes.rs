//! Spans of time, one lane for each kind.

use maud::{Markup, html};

use super::{WIDTH, round};

const LANE: f64 = 34.0;
/// Width of the names of the lanes.
const NAMES: f64 = 130.0;
/// Least width of a span, so that it can be seen and clicked.
const LEAST: f64 = 5.0;

/// A span in a lane.
pub(crate) struct Span {
    /// Its lane.
    pub(crate) lane: usize,
    /// Milliseconds since 1970.
    pub(crate) from: i64,
    pub(crate) to: i64,
    /// The target of its link.
    pub(crate) target: String,
    /// What it is, in words.
    pub(crate) text: String,
}

/// Spans on a time axis whose ends have these names.
pub(crate) fn draw_lanes(title: &str, lanes: &[String], spans: &[Span], ends: [&str; 2]) -> Markup {
    let (Some(first), Some(last)) = (spans.iter().map(|span| span.from).min(), spans.iter().map(|span| span.to).max())
    else {
        return html! {};
    };
    let length = (last - first).max(1) as f64;
    let room = WIDTH - NAMES - LEAST;
    let place = |at: i64| NAMES + room * (at - first) as f64 / length;
    let bottom = LANE * lanes.len() as f64;
    html! {
        div.scroll { svg.picture.wide viewBox=(format!("0 0 {WIDTH} {}", bottom + 24.0)) role="group" aria-label=(title) {
            @for (number, name) in lanes.iter().enumerate() {
                @let top = LANE * number as f64;
                text x="0" y=(round(top + LANE / 2.0 + 4.0)) { (name) }
                line.axis x1=(NAMES) x2=(WIDTH) y1=(round(top + LANE / 2.0)) y2=(round(top + LANE / 2.0)) {}
            }
            @for span in spans {
                @let width = (place(span.to) - place(span.from)).max(LEAST);
                a href=(span.target) aria-label=(span.text) {
                    rect class=(format!("s{}", span.lane % 5 + 1)) x=(round(place(span.from))) width=(round(width)) rx="2"
                        y=(round(LANE * span.lane as f64 + 6.0)) height=(LANE - 12.0) { title { (span.text) } }
                }
            }
            text.faint x=(NAMES) y=(bottom + 16.0) { (ends[0]) }
            text.faint x=(WIDTH) y=(bottom + 16.0) text-anchor="end" { (ends[1]) }
        } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_lies_between_its_times_in_its_lane() {
        let span = |lane, from, to| Span { lane, from, to, target: "/session/a".to_owned(), text: "<b>".to_owned() };
        let lanes = ["Claude".to_owned(), "Codex".to_owned()];
        let svg = draw_lanes("Sessions", &lanes, &[span(0, 0, 500), span(1, 1_000, 1_000)], ["a", "b"]).into_string();
        assert!(svg.contains("class=\"s1\" x=\"130\" width=\"412.5\" rx=\"2\" y=\"6\""), "{svg}");
        assert!(svg.contains("class=\"s2\" x=\"955\" width=\"5\" rx=\"2\" y=\"40\""), "{svg}");
        assert!(svg.contains("&lt;b&gt;") && !svg.contains("<b>"), "{svg}");
        assert_eq!(draw_lanes("Sessions", &lanes, &[], ["a", "b"]).into_string(), "");
    }
}
