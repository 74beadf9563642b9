//! Entities as points with lines between. A hash of its key gives a point's place; if that is taken, it moves to the
//! next free one. So a point stays where it is while others come and go.

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};

use super::{Occupied, WIDTH, label, round};

const HEIGHT: f64 = 720.0;
/// Places on the rings around the middle, from inside to outside.
const RINGS: [usize; 4] = [12, 18, 24, 24];
/// Half axes of the innermost and of the outermost ring.
const INNER: (f64, f64) = (150.0, 100.0);
const OUTER: (f64, f64) = (320.0, 325.0);
/// Longest name that is drawn, in characters.
const NAME_CHARS: usize = 22;

/// A point.
pub(crate) struct Point {
    /// Its unique key.
    pub(crate) key: String,
    pub(crate) name: String,
    /// Its colour, from 0.
    pub(crate) series: u8,
    /// Steps from the middle.
    pub(crate) hops: u32,
    /// The target of its link.
    pub(crate) target: String,
    /// What it is, in words.
    pub(crate) text: String,
}

/// A line between two points, given by their keys.
pub(crate) struct Edge {
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) text: String,
}

/// The place of each point. Points near the middle lie on the two inner rings, others on the outer ones.
fn places(points: &[Point]) -> BTreeMap<&str, (f64, f64)> {
    let mut taken: BTreeSet<(usize, usize)> = BTreeSet::new();
    let mut places = BTreeMap::new();
    let mut sorted: Vec<&Point> = points.iter().collect();
    sorted.sort_by(|a, b| a.key.cmp(&b.key));
    for point in sorted {
        if point.hops == 0 {
            places.insert(point.key.as_str(), (WIDTH / 2.0, HEIGHT / 2.0));
            continue;
        }
        let (own, other) = if point.hops == 1 { ([0, 1], [2, 3]) } else { ([2, 3], [0, 1]) };
        let free = [own, other].into_iter().find_map(|rings| {
            let room: usize = rings.iter().map(|ring| RINGS[*ring]).sum();
            let start = usize::try_from(hash(&point.key) % room as u64).unwrap_or_default();
            let place = |number: usize| match number % room {
                inner if inner < RINGS[rings[0]] => (rings[0], inner),
                outer => (rings[1], outer - RINGS[rings[0]]),
            };
            (0..room).map(|step| place(start + step)).find(|place| !taken.contains(place))
        });
        let Some((ring, number)) = free else { continue };
        taken.insert((ring, number));
        let share = ring as f64 / (RINGS.len() - 1) as f64;
        let (x, y) = (INNER.0 + (OUTER.0 - INNER.0) * share, INNER.1 + (OUTER.1 - INNER.1) * share);
        // Neighbouring rings are turned against each other.
        let turn = (number as f64 + 0.5 * (ring % 2) as f64) / RINGS[ring] as f64 * std::f64::consts::TAU;
        places.insert(point.key.as_str(), (WIDTH / 2.0 + x * turn.cos(), HEIGHT / 2.0 + y * turn.sin()));
    }
    places
}

/// FNV-1a: the same in every run and version.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The names that have room, each with true if it is left of its point. Points near the middle come first.
fn names<'a>(points: &'a [Point], places: &BTreeMap<&str, (f64, f64)>) -> BTreeMap<&'a str, (String, bool)> {
    let mut taken = Occupied::default();
    places.values().for_each(|place| taken.occupy(*place, (12.0, 12.0)));
    let mut sorted: Vec<&Point> = points.iter().collect();
    sorted.sort_by_key(|point| (point.hops, point.key.as_str()));
    let mut names = BTreeMap::new();
    for point in sorted {
        let Some((x, y)) = places.get(point.key.as_str()) else { continue };
        let name = label(&point.name, NAME_CHARS);
        let outside = *x < WIDTH / 2.0 && point.hops > 0;
        let side = [outside, !outside].into_iter().find(|left| {
            let (x, anchor) = if *left { (x - 10.0, 1.0) } else { (x + 10.0, 0.0) };
            taken.occupy_text((x, y + 4.0), anchor, &name)
        });
        names.extend(side.map(|left| (point.key.as_str(), (name, left))));
    }
    names
}

/// The points with the lines between them.
pub(crate) fn draw_graph(title: &str, points: &[Point], edges: &[Edge]) -> Markup {
    let places = places(points);
    let names = names(points, &places);
    let mut between: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for edge in edges.iter().filter(|edge| edge.from != edge.to) {
        between.entry((&edge.from, &edge.to)).or_default().push(&edge.text);
    }
    html! {
        div.scroll { svg.picture.wide viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="group" aria-label=(title) {
            @for ((from, to), texts) in &between {
                @if let (Some((x1, y1)), Some((x2, y2))) = (places.get(from), places.get(to)) {
                    line.edge x1=(round(*x1)) y1=(round(*y1)) x2=(round(*x2)) y2=(round(*y2)) { title { (texts.join("; ")) } }
                }
            }
            @for point in points {
                @if let Some((x, y)) = places.get(point.key.as_str()) {
                    a href=(point.target) aria-label=(point.text) {
                        circle class=(format!("s{}{}", point.series, if point.hops == 0 { " center" } else { "" }))
                            cx=(round(*x)) cy=(round(*y)) r=(if point.hops == 0 { 10 } else { 6 }) { title { (point.text) } }
                        @if let Some((name, left)) = names.get(point.key.as_str()) {
                            text x=(round(if *left { x - 10.0 } else { x + 10.0 })) y=(round(y + 4.0))
                                text-anchor=(if *left { "end" } else { "start" }) { (name) }
                        }
                    }
                }
            }
        } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(key: String, hops: u32) -> Point {
        let name = format!("<{key}>");
        Point { name: name.clone(), key, series: 1, hops, target: "/graph".to_owned(), text: name }
    }

    #[test]
    fn each_point_has_a_place_and_most_keep_it_when_others_come() {
        let points: Vec<Point> =
            (0..60).map(|n| point(format!("node {n}"), u32::from(n > 0) + u32::from(n > 30))).collect();
        let all = places(&points);
        assert_eq!(all.len(), 60);
        let distinct: BTreeSet<_> = all.values().map(|(x, y)| (x.to_bits(), y.to_bits())).collect();
        assert_eq!(distinct.len(), 60, "no two points share a place");
        let fewer: Vec<Point> = points.into_iter().filter(|point| !point.key.ends_with('7')).collect();
        let kept = places(&fewer);
        let same = fewer.iter().filter(|point| kept[point.key.as_str()] == all_of(&point.key)).count();
        assert!(same * 10 >= fewer.len() * 7, "{same} of {}", fewer.len());
    }

    /// The place of a point among all sixty.
    fn all_of(key: &str) -> (f64, f64) {
        let points: Vec<Point> =
            (0..60).map(|n| point(format!("node {n}"), u32::from(n > 0) + u32::from(n > 30))).collect();
        places(&points)[key]
    }

    #[test]
    fn names_are_only_text_and_lines_join_points_that_are_there() {
        let points = [point("a".to_owned(), 0), point("b".to_owned(), 1)];
        let edge = |to: &str| Edge { from: "a".to_owned(), to: to.to_owned(), text: "told".to_owned() };
        let svg = draw_graph("Graph", &points, &[edge("b"), edge("b"), edge("gone")]).into_string();
        assert_eq!(svg.matches("<line").count(), 1, "{svg}");
        assert!(svg.contains("told; told") && svg.contains("&lt;a&gt;") && !svg.contains("<a>"), "{svg}");
    }
}
