//! Steps in a circle, with arrows to those that follow and loops where a step is tried again.

use std::f64::consts::TAU;

use maud::{Markup, html};

use super::{Occupied, WIDTH, label, round};

const HEIGHT: f64 = 560.0;
/// Half axes of the circle.
const AXES: (f64, f64) = (380.0, 225.0);
/// Size of a step's box.
const BOX: (f64, f64) = (140.0, 26.0);
/// Most steps and most arrows; the tables have all.
const STEPS: usize = 14;
const ARROWS: usize = 24;
const NAME_CHARS: usize = 20;

/// A step that follows another.
pub(crate) struct Arrow {
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) count: u32,
    /// The share of known outcomes in which the second step worked.
    pub(crate) rate: Option<f64>,
}

/// A step that fails again and again.
pub(crate) struct Again {
    pub(crate) step: String,
    /// Most failures in a row.
    pub(crate) longest: u32,
}

/// The picture, the most frequent arrows first.
pub(crate) fn draw_steps(title: &str, arrows: &[Arrow], again: &[Again]) -> Markup {
    let mut names: Vec<&str> = Vec::new();
    let mut shown: Vec<(usize, usize, &Arrow)> = Vec::new();
    for arrow in arrows.iter().take(ARROWS) {
        let ends = [arrow.from.as_str(), arrow.to.as_str()];
        let mut new: Vec<&str> = ends.into_iter().filter(|name| !names.contains(name)).collect();
        new.dedup();
        if names.len() + new.len() <= STEPS {
            names.extend(new);
            let place = |name: &str| names.iter().position(|known| *known == name).unwrap_or_default();
            shown.push((place(ends[0]), place(ends[1]), arrow));
        }
    }
    if names.is_empty() {
        return html! {};
    }
    let place = |number: usize| {
        let turn = number as f64 / names.len() as f64 * TAU - TAU / 4.0;
        (WIDTH / 2.0 + AXES.0 * turn.cos(), HEIGHT / 2.0 + AXES.1 * turn.sin())
    };
    let loops: Vec<(usize, &Again)> =
        again.iter().filter_map(|again| Some((names.iter().position(|name| *name == again.step)?, again))).collect();
    let mut taken = Occupied::default();
    (0..names.len()).for_each(|number| taken.occupy(place(number), BOX));
    // Failures first: they matter most.
    let failed: Vec<(f64, f64, String)> = loops
        .iter()
        .map(|(step, again)| {
            let ((x, y), text) = (place(*step), format!("{}× failed", again.longest));
            taken.occupy_text((x - BOX.0 / 2.0 + 4.0, y - 32.0), 0.5, &text);
            (x - BOX.0 / 2.0 + 4.0, y - 32.0, text)
        })
        .collect();
    let drawn: Vec<Markup> = shown
        .iter()
        .map(|(from, to, arrow)| drawn_arrow(place(*from), place(*to), from == to, arrow, &mut taken))
        .collect();
    html! {
        div.scroll { svg.picture.wide viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" aria-label=(title) {
            defs { marker #arrowhead viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto-start-reverse" {
                path.head d="M0 0 8 4 0 8z" {}
            } }
            @for arrow in &drawn { (arrow) }
            @for (step, _) in &loops {
                @let (x, y) = place(*step);
                path.again d=(looped(x, y, -1.0)) {}
            }
            @for (x, y, text) in &failed { text.bad x=(round(*x)) y=(round(*y)) text-anchor="middle" { (text) } }
            @for (number, name) in names.iter().enumerate() {
                @let (x, y) = place(number);
                rect.node x=(round(x - BOX.0 / 2.0)) y=(round(y - BOX.1 / 2.0)) width=(BOX.0) height=(BOX.1) rx="6" { title { (name) } }
                text x=(round(x)) y=(round(y + 4.0)) text-anchor="middle" { (label(name, NAME_CHARS)) }
            }
        } }
    }
}

/// An arrow from box to box, bent so that the opposite one lies beside it; from a step to itself a loop. Its figures
/// are drawn where there is room, and are always in its title.
fn drawn_arrow(from: (f64, f64), to: (f64, f64), is_loop: bool, arrow: &Arrow, taken: &mut Occupied) -> Markup {
    let rate = arrow.rate.map(|rate| format!(", {:.0} %", rate * 100.0)).unwrap_or_default();
    let text = format!("{}×{rate}", arrow.count);
    let told = format!("{} → {}: {text}", arrow.from, arrow.to);
    if is_loop {
        let place = (from.0 + BOX.0 / 2.0 - 4.0, from.1 - 32.0);
        let has_room = taken.occupy_text(place, 0.5, &text);
        return html! {
            path.edge d=(looped(from.0, from.1, 1.0)) marker-end="url(#arrowhead)" { title { (told) } }
            @if has_room { text.faint x=(round(place.0)) y=(round(place.1)) text-anchor="middle" { (text) } }
        };
    }
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let bend = ((from.0 + to.0) / 2.0 - dy * 0.12, (from.1 + to.1) / 2.0 + dx * 0.12);
    let (start, end) = (edge_of(from, bend), edge_of(to, bend));
    // Near its beginning if there is room, because many arrows cross in the middle of the circle.
    let on_curve = |share: f64| {
        let rest = 1.0 - share;
        let at =
            |start: f64, bend: f64, end: f64| rest * rest * start + 2.0 * rest * share * bend + share * share * end;
        (at(start.0, bend.0, end.0), at(start.1, bend.1, end.1))
    };
    let place = [0.3, 0.4, 0.5, 0.2, 0.6, 0.7].map(on_curve).into_iter().find(|at| taken.occupy_text(*at, 0.5, &text));
    let path = format!(
        "M{} {} Q{} {} {} {}",
        round(start.0),
        round(start.1),
        round(bend.0),
        round(bend.1),
        round(end.0),
        round(end.1)
    );
    html! {
        path.edge d=(path) marker-end="url(#arrowhead)" { title { (told) } }
        @if let Some((x, y)) = place { text.faint x=(round(x)) y=(round(y)) text-anchor="middle" { (text) } }
    }
}

/// Where a line from the middle of a box to a point leaves the box.
fn edge_of(middle: (f64, f64), to: (f64, f64)) -> (f64, f64) {
    let (dx, dy) = (to.0 - middle.0, to.1 - middle.1);
    let reach = |half: f64, way: f64| if way.abs() < 1e-6 { f64::INFINITY } else { half / way.abs() };
    let share = reach(BOX.0 / 2.0, dx).min(reach(BOX.1 / 2.0, dy)).min(1.0);
    (middle.0 + dx * share, middle.1 + dy * share)
}

/// A loop at the upper side of a box, to its right or left.
fn looped(x: f64, y: f64, side: f64) -> String {
    let (x, y) = (x + side * (BOX.0 / 2.0 - 25.0), y - BOX.1 / 2.0);
    format!("M{} {} c{} -34 {} -34 {} 0", round(x), round(y), 0.0, round(side * 30.0), round(side * 20.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_drawn_once_with_their_arrows_and_loops() {
        let arrow = |from: &str, to: &str, rate| Arrow { from: from.to_owned(), to: to.to_owned(), count: 12, rate };
        let again = [Again { step: "cargo test".to_owned(), longest: 5 }, Again { step: "rm".to_owned(), longest: 3 }];
        let arrows =
            [arrow("<Edit>", "cargo test", Some(0.85)), arrow("cargo test", "<Edit>", None), arrow("ls", "ls", None)];
        let svg = draw_steps("Steps", &arrows, &again).into_string();
        assert_eq!(svg.matches("<rect").count(), 3, "{svg}");
        assert_eq!((svg.matches("marker-end").count(), svg.matches("class=\"again\"").count()), (3, 1), "{svg}");
        assert!(svg.contains("12×, 85 %") && svg.contains("5× failed") && !svg.contains("<Edit>"), "{svg}");
        assert_eq!(draw_steps("Steps", &[], &again).into_string(), "");
    }
}
