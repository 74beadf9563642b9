//! Pictures as SVG. Each accompanies a table with the same figures.

pub(crate) mod lanes;
pub(crate) mod network;
pub(crate) mod steps;

use maud::{Markup, html};

/// Width of a picture in its own units; it is scaled to the page.
const WIDTH: f64 = 960.0;
/// Height of a bar chart.
const HEIGHT: f64 = 200.0;
/// Space below for labels.
const LABELS: f64 = 22.0;
/// The base line of columns.
const FLOOR: f64 = HEIGHT - LABELS;
/// Height of the highest column.
const HIGHEST: f64 = FLOOR - 24.0;
/// Usual width of a letter.
const CHAR_WIDTH: f64 = 6.6;
/// Most labels below a chart.
const LABELLED: usize = 8;

/// A bar of a chart.
pub(crate) struct Bar {
    /// The label below it.
    pub(crate) label: String,
    /// Its height, not negative.
    pub(crate) value: f64,
    /// The value in words.
    pub(crate) shown: String,
}

/// Bars from left to right, scaled to the highest.
pub(crate) fn bars(title: &str, bars: &[Bar]) -> Markup {
    let highest = bars.iter().map(|bar| bar.value).fold(0.0, f64::max);
    let labels: Vec<&str> = bars.iter().map(|bar| bar.label.as_str()).collect();
    let top = bars.iter().max_by(|one, other| one.value.total_cmp(&other.value)).map_or("", |bar| bar.shown.as_str());
    chart(title, &labels, (highest, top), |index, left, width| {
        let (bar, height) = (&bars[index], HIGHEST * bars[index].value / highest);
        html! {
            rect.s1 x=(left) y=(round(FLOOR - height)) width=(width) height=(round(height)) {
                title { (bar.label) ": " (bar.shown) }
            }
        }
    })
}

/// A chart with labels below its columns; `column` draws one, given its number, left edge and width. The highest value
/// is written on a line at its height; nothing is drawn if there is none.
fn chart(
    title: &str,
    labels: &[&str],
    (highest, top): (f64, &str),
    column: impl Fn(usize, f64, f64) -> Markup,
) -> Markup {
    if highest <= 0.0 {
        return html! {};
    }
    let step = WIDTH / labels.len() as f64;
    let every = labels.len().div_ceil(LABELLED);
    let count = labels.len().div_ceil(every);
    // A label is not repeated below neighbouring columns, and the last one ends with its column.
    let below = |index: usize| {
        let label = label(labels[index], 110 / count.max(5));
        let is_said = index >= every && labels[index - every] == labels[index];
        let (place, is_last) = (index / every, index / every + 1 == count && count > 1);
        let class = if place % 2 == 1 { "faint second" } else { "faint" };
        let left = round(step * (index as f64 + if is_last { 0.9 } else { 0.1 }));
        html! { @if !is_said {
            text class=(class) x=(left) y=(HEIGHT - 6.0) text-anchor=(if is_last { "end" } else { "start" }) { (label) }
        } }
    };
    html! {
        svg.picture.chart viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" aria-label=(title) {
            line.axis x1="0" x2=(WIDTH) y1=(FLOOR) y2=(FLOOR) {}
            line.axis x1="0" x2=(WIDTH) y1=(FLOOR - HIGHEST) y2=(FLOOR - HIGHEST) {}
            text.faint x="0" y=(FLOOR - HIGHEST - 6.0) { (top) }
            @for index in 0..labels.len() {
                (column(index, round(step * (index as f64 + 0.1)), round(step * 0.8)))
                @if index % every == 0 { (below(index)) }
            }
        }
    }
}

/// A bar that consists of one value for each series.
pub(crate) struct Stack {
    /// The label below it.
    pub(crate) label: String,
    /// None is negative.
    pub(crate) values: Vec<f64>,
}

/// Stacked bars from left to right, scaled to the highest, with a legend. There are at most five series.
pub(crate) fn stacks(title: &str, series: &[String], bars: &[Stack], shown: fn(f64) -> String) -> Markup {
    let highest = bars.iter().map(|bar| bar.values.iter().sum::<f64>()).fold(0.0, f64::max);
    if highest <= 0.0 {
        return html! {};
    }
    let labels: Vec<&str> = bars.iter().map(|bar| bar.label.as_str()).collect();
    let column = |index: usize, left: f64, width: f64| {
        let bar: &Stack = &bars[index];
        html! { @for (place, value) in bar.values.iter().enumerate().filter(|(_, value)| **value > 0.0) {
            @let below: f64 = bar.values[..place].iter().sum();
            @let (height, foot) = (HIGHEST * value / highest, HIGHEST * below / highest);
            rect class=(format!("s{}", place + 1)) x=(left) y=(round(FLOOR - foot - height)) width=(width) height=(round(height)) {
                title { (bar.label) ", " (series[place]) ": " (shown(*value)) }
            }
        } }
    };
    html! {
        (chart(title, &labels, (highest, &shown(highest)), column))
        ul.legend { @for (place, name) in series.iter().enumerate() {
            li { svg viewBox="0 0 12 12" aria-hidden="true" { rect class=(format!("s{}", place + 1)) width="12" height="12" {} } (name) }
        } }
    }
}

/// Something that happened.
pub(crate) struct Mark {
    /// When, in milliseconds since 1970.
    pub(crate) at: i64,
    /// Its colour, from 1.
    pub(crate) series: u8,
    /// What happened, in words.
    pub(crate) text: String,
}

/// Events on a time axis. Each mark has its text.
pub(crate) fn time_axis(title: &str, marks: &[Mark]) -> Markup {
    let (Some(first), Some(last)) = (marks.iter().map(|mark| mark.at).min(), marks.iter().map(|mark| mark.at).max())
    else {
        return html! {};
    };
    let span = (last - first).max(1) as f64;
    html! {
        svg.picture viewBox=(format!("0 0 {WIDTH} 40")) role="img" aria-label=(title) {
            line.axis x1="0" x2=(WIDTH) y1="20" y2="20" {}
            @for mark in marks {
                circle class=(format!("s{}", mark.series)) cx=(round(8.0 + (WIDTH - 16.0) * (mark.at - first) as f64 / span)) cy="20" r="6" {
                    title { (mark.text) }
                }
            }
        }
    }
}

/// A number with one decimal, as far as a picture needs it.
pub(crate) fn round(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

/// Occupied boxes of a picture, which must not overlap: left, upper, right and lower edge.
#[derive(Default)]
struct Occupied(Vec<[f64; 4]>);

impl Occupied {
    /// Occupies the box around a point.
    fn occupy(&mut self, (x, y): (f64, f64), (width, height): (f64, f64)) {
        self.0.push([x - width / 2.0, y - height / 2.0, x + width / 2.0, y + height / 2.0]);
    }

    /// Occupies the box of a line of text if it is free; `anchor` is the text's share left of `x`. Returns whether it
    /// was.
    fn occupy_text(&mut self, (x, y): (f64, f64), anchor: f64, text: &str) -> bool {
        let width = text.chars().count() as f64 * CHAR_WIDTH;
        let wanted = [x - width * anchor, y - 11.0, x + width * (1.0 - anchor), y + 3.0];
        let meets = |known: &[f64; 4]| {
            wanted[0] < known[2] && known[0] < wanted[2] && wanted[1] < known[3] && known[1] < wanted[3]
        };
        let has_room = !self.0.iter().any(meets) && wanted[0] >= 0.0 && wanted[2] <= WIDTH;
        if has_room {
            self.0.push(wanted);
        }
        has_room
    }
}

/// The beginning of a text, for a label.
fn label(text: &str, most: usize) -> String {
    let mut chars = text.chars();
    let shown: String = chars.by_ref().take(most).collect();
    if chars.next().is_some() { format!("{shown}…") } else { shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_bar_fills_the_picture() {
        let bar = |value| Bar { label: "<day>".to_owned(), value, shown: value.to_string() };
        let svg = bars("Cost", &[bar(1.0), bar(2.0), bar(0.0)]).into_string();
        assert!(
            svg.contains("height=\"154\"") && svg.contains("height=\"77\"") && svg.contains("height=\"0\""),
            "{svg}"
        );
        assert!(svg.contains("&lt;day&gt;"), "{svg}");
        assert_eq!(bars("Cost", &[bar(0.0)]).into_string() + &bars("Cost", &[]).into_string(), "");
    }

    #[test]
    fn stacked_values_stand_on_each_other() {
        let series = ["opus".to_owned(), "<own>".to_owned()];
        let stack = |values: [f64; 2]| Stack { label: "day".to_owned(), values: values.to_vec() };
        let shown = |value: f64| format!("{value} USD");
        let svg = stacks("Cost", &series, &[stack([1.0, 3.0]), stack([0.0, 2.0])], shown).into_string();
        // The axis is at 178, and 154 stands for 4.
        for rect in
            ["class=\"s1\" x=\"48\" y=\"139.5\"", "class=\"s2\" x=\"48\" y=\"24\"", "class=\"s2\" x=\"528\" y=\"101\""]
        {
            assert!(svg.contains(rect), "{rect} in {svg}");
        }
        assert!(svg.contains("day, &lt;own&gt;: 3 USD") && !svg.contains(": 0 USD"), "{svg}");
        assert_eq!(stacks("Cost", &series, &[stack([0.0, 0.0])], shown).into_string(), "");
    }
}
