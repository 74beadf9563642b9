//! Characters of two, three and four bytes at every limit of the core: no character is split.
//!
//! A limit counts bytes or characters and is a named constant. Texts are made to end, begin and change at these
//! numbers, and go all the way from the transcript to the search document.
#![expect(clippy::disallowed_methods, reason = "the constants of the core are read from its files")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::{remember, transcript};

/// Larger limits are tried with one beginning only.
const LARGE: usize = 700;
/// Larger limits are not tried: they limit counts, or files.
const LARGEST: usize = 9_000;

/// Beginnings of the texts, so that different readers see what follows.
const BEGINNINGS: &[&str] =
    &["", "key=", "password: \"", "curl -u a:", "Error: ", "I decided to use ", "- ", "`", "https://", "Next: ", "> "];

/// Returns every number that a `usize` constant of the core has.
fn bounds() -> BTreeSet<usize> {
    fn walk(folder: &Path, found: &mut BTreeSet<usize>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.extend(fs::read_to_string(&path).unwrap().lines().filter_map(bound));
            }
        }
    }
    let mut found = BTreeSet::new();
    let core = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for folder in fs::read_dir(core).unwrap().map(|entry| entry.unwrap().path()) {
        let sources = if folder.ends_with("src") { folder } else { folder.join("src") };
        if sources.is_dir() {
            walk(&sources, &mut found);
        }
    }
    found
}

fn bound(line: &str) -> Option<usize> {
    let (_, value) = line.split_once(": usize = ").filter(|(name, _)| name.contains("const "))?;
    let factors = value.trim_end_matches(';').split('*').map(|number| number.trim().replace('_', "").parse::<usize>());
    factors.collect::<Result<Vec<_>, _>>().ok().map(|factors| factors.iter().product())
}

#[test]
fn no_bound_of_the_core_parts_a_character() {
    let bounds = bounds();
    assert!(bounds.len() > 40 && bounds.contains(&512), "the constants were not read: {bounds:?}");
    let mut tried = 0;
    for bound in bounds.into_iter().filter(|bound| (8..=LARGEST).contains(bound)) {
        for (number, beginning) in BEGINNINGS.iter().enumerate() {
            let large = bound > LARGE;
            if large && number > 0 {
                continue;
            }
            for character in ['ü', '语', '😀'] {
                let width = character.len_utf8();
                // Shifts the limit to every byte of a character, whatever precedes the text.
                for offset in 0..width {
                    let count = (bound + 2 * width).div_ceil(width);
                    let words = if number % 2 == 0 { "" } else { " a1" };
                    let text =
                        format!("{beginning}{}{}{words}", "x".repeat(offset), character.to_string().repeat(count));
                    remember(&transcript(&text));
                    tried += 1;
                }
            }
        }
    }
    assert!(tried > 500, "only {tried} texts");
}
