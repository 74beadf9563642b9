//! Draws sequences as a graph: steps are nodes, pairs of consecutive steps are edges with count and success rate.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::rate::percent;
use baton_protocol::answer::PatternSequence;

/// Maximum number of edges of a graph.
const MAX_ARROWS: usize = 30;

/// Graph format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Mermaid flowchart.
    Mermaid,
    /// Graphviz digraph.
    Dot,
}

impl Format {
    /// Parses `mermaid` or `dot`.
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "mermaid" => Some(Self::Mermaid),
            "dot" => Some(Self::Dot),
            _ => None,
        }
    }
}

/// Draws the first 30 sequences of two steps. Names are escaped; without sequences the graph is empty and valid.
pub fn draw<'a>(format: Format, pairs: impl Iterator<Item = &'a PatternSequence>) -> String {
    let mut names: Vec<&str> = Vec::new();
    let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
    let mut arrows: Vec<(usize, usize, String)> = Vec::new();
    for pair in pairs.take(MAX_ARROWS) {
        let [from, to] = &pair.steps[..] else { continue };
        let mut number = |name: &'a str| {
            *numbers.entry(name).or_insert_with(|| {
                names.push(name);
                names.len() - 1
            })
        };
        let (from, to) = (number(from), number(to));
        // A step that never fails needs no rate.
        let rate = pair.success_rate.filter(|rate| *rate < 1.0);
        let rate = rate.map(|rate| format!(", {} ok", percent(rate))).unwrap_or_default();
        arrows.push((from, to, format!("{}x{rate}", pair.count)));
    }
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = match format {
        Format::Mermaid => mermaid(&mut out, &names, &arrows),
        Format::Dot => dot(&mut out, &names, &arrows),
    };
    out
}

fn mermaid(out: &mut String, names: &[&str], arrows: &[(usize, usize, String)]) -> std::fmt::Result {
    writeln!(out, "flowchart LR")?;
    for (number, name) in names.iter().enumerate() {
        writeln!(out, "    s{number}[\"{}\"]", in_mermaid(name))?;
    }
    for (from, to, label) in arrows {
        writeln!(out, "    s{from} -->|\"{}\"| s{to}", in_mermaid(label))?;
    }
    Ok(())
}

/// Keeps letters, digits and punctuation common in program names; everything else becomes an entity.
fn in_mermaid(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            ' ' | '.' | ',' | '_' | '-' | '/' | ':' | '+' | '@' | '%' => out.push(c),
            c if c.is_alphanumeric() => out.push(c),
            c if c.is_control() => out.push(' '),
            c => out.push_str(&format!("#{};", u32::from(c))),
        }
    }
    out
}

fn dot(out: &mut String, names: &[&str], arrows: &[(usize, usize, String)]) -> std::fmt::Result {
    writeln!(out, "digraph patterns {{")?;
    writeln!(out, "    rankdir=LR;")?;
    for (number, name) in names.iter().enumerate() {
        writeln!(out, "    s{number} [label=\"{}\"];", in_dot(name))?;
    }
    for (from, to, label) in arrows {
        writeln!(out, "    s{from} -> s{to} [label=\"{}\"];", in_dot(label))?;
    }
    writeln!(out, "}}")
}

fn in_dot(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('"', "\\\"");
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn graphs_are_valid_whatever_steps_are_called() {
        let pair = |from: &str, to: &str, count, success_rate| PatternSequence {
            steps: vec![from.to_owned(), to.to_owned()],
            count,
            success_rate,
            ..PatternSequence::default()
        };
        let pairs = [pair("Edit", "cargo test", 12, Some(0.85)), pair("cargo test", "a\"]; x\\ #`|\n", 3, None)];
        assert_eq!(
            draw(Format::Mermaid, pairs.iter()),
            "flowchart LR\n    s0[\"Edit\"]\n    s1[\"cargo test\"]\n    s2[\"a#34;#93;#59; x#92; #35;#96;#124; \"]\n    \
             s0 -->|\"12x, 85% ok\"| s1\n    s1 -->|\"3x\"| s2\n"
        );
        assert_eq!(
            draw(Format::Dot, pairs.iter()),
            "digraph patterns {\n    rankdir=LR;\n    s0 [label=\"Edit\"];\n    s1 [label=\"cargo test\"];\n    \
             s2 [label=\"a\\\"]; x\\\\ #`| \"];\n    s0 -> s1 [label=\"12x, 85% ok\"];\n    s1 -> s2 [label=\"3x\"];\n}\n"
        );
        assert_eq!(draw(Format::Dot, [].iter()), "digraph patterns {\n    rankdir=LR;\n}\n");
        assert_eq!(draw(Format::Mermaid, [].iter()), "flowchart LR\n");
        assert_eq!(Format::parse("svg"), None);
    }
}
