//! Speed of merging notes into files that are long already.

use baton_notes::{Body, Line, Note, Section, conflicts, merge, verify};

fn main() {
    divan::main();
}

/// A page with `lines` lines, and a note with one more.
fn page(lines: usize) -> (String, Note) {
    let line =
        |at: usize| Line::unsupported(format!("- [[claude/projects/shop/entities/src-part{at}.rs|src/part{at}.rs]]"));
    let note = |lines: Vec<Line>| Note {
        header: Vec::new(),
        sections: [("sessions", "Sessions"), ("entities", "Entities"), ("topics", "Topics")]
            .map(|(key, heading)| Section { key, heading, body: Body::Added(lines.clone()) })
            .into(),
    };
    (merge(None, &note((0..lines).map(line).collect())).text, note(vec![line(lines)]))
}

#[divan::bench(args = [10, 1_000, 10_000])]
fn one_line_more(bencher: divan::Bencher<'_, '_>, lines: usize) {
    let (text, note) = page(lines);
    bencher.bench(|| merge(Some(&text), &note));
}

#[divan::bench(args = [10, 1_000, 10_000])]
fn looked_through(bencher: divan::Bencher<'_, '_>, lines: usize) {
    let (text, _) = page(lines);
    let known = verify::VaultIndex::new(["claude/a.md"], "claude");
    bencher.bench(|| (known.check("claude/a.md", &text).len(), conflicts(&text)));
}
