//! The invariants in ARCHITECTURE.md and the tests that they name.

use std::collections::BTreeSet;

use super::tree::{File, check, contains_word, lines};

/// The paragraphs and table rows that begin with the id of an invariant: line, id, text.
fn invariants(text: &str) -> Vec<(usize, String, String)> {
    let mut found: Vec<(usize, String, String)> = Vec::new();
    let mut open = false;
    for (number, line) in lines(text) {
        let start = line.trim_start_matches(['|', '-', '*', '#', ' ', '`']);
        let digits =
            start.strip_prefix("I-").map(|rest| rest.chars().take_while(char::is_ascii_digit).collect::<String>());
        match digits {
            Some(digits) if !digits.is_empty() => {
                found.push((number, format!("I-{digits}"), line.to_owned()));
                open = true;
            }
            _ if line.trim().is_empty() || line.starts_with('#') => open = false,
            _ => {
                if let Some((.., paragraph)) = found.last_mut().filter(|_| open) {
                    paragraph.push(' ');
                    paragraph.push_str(line);
                }
            }
        }
    }
    found
}

/// Invariants that name no test or a missing one, and ids that are mentioned without being defined.
pub(crate) fn invariant_tests(text: &str, tests: &BTreeSet<String>) -> Vec<String> {
    let rows = invariants(text);
    let mut found = Vec::new();
    for (line, id, row) in &rows {
        let quoted = row.split('`').skip(1).step_by(2).flat_map(|code| code.split(&[',', ' '][..]));
        let last = quoted.map(|code| code.rsplit("::").next().unwrap_or_default().trim_end_matches("()"));
        // Test names are sentences; shorter words in backticks are fields, files and the like.
        let named: Vec<&str> = last.filter(|word| word.matches('_').count() > 1 || tests.contains(*word)).collect();
        for gone in named.iter().filter(|name| !tests.contains(**name) && name.matches('_').count() > 2) {
            found.push(format!("ARCHITECTURE.md:{line}: {id} names {gone}, and there is no such test"));
        }
        if !named.iter().any(|name| tests.contains(*name)) {
            found.push(format!("ARCHITECTURE.md:{line}: {id} names no test that checks it"));
        }
    }
    let known: BTreeSet<&str> = rows.iter().map(|(_, id, _)| id.as_str()).collect();
    for (number, line) in lines(text) {
        for (at, _) in line.match_indices("I-") {
            let digits: String = line[at + 2..].chars().take_while(char::is_ascii_digit).collect();
            let id = format!("I-{digits}");
            if !digits.is_empty() && contains_word(line, &id) && !known.contains(id.as_str()) {
                found.push(format!("ARCHITECTURE.md:{number}: {id} is mentioned but not defined with its test"));
            }
        }
    }
    if rows.is_empty() {
        found.push("ARCHITECTURE.md: no invariant (I-1 …) is defined with its test".to_owned());
    }
    found
}

/// Names of test functions, and of the functions of a conformance suite.
pub(crate) fn test_names(files: &[File]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        let is_suite = file.path.ends_with("/conformance.rs");
        let mut is_test = false;
        for line in file.text.lines().map(str::trim) {
            let name = line.strip_prefix("fn ").or_else(|| line.strip_prefix("async fn "));
            match name.and_then(|rest| rest.split(['(', '<']).next()) {
                Some(name) if std::mem::take(&mut is_test) || is_suite => drop(names.insert(name.to_owned())),
                Some(_) => {}
                None => {
                    let attribute = line.starts_with("#[test") || line.starts_with("#[tokio::test");
                    is_test = attribute || (is_test && line.starts_with("#["));
                }
            }
        }
    }
    names
}

#[test]
fn invariants_without_a_test_are_found() {
    let of = File::new;
    let source = "#[test]\nfn a_file_is_kept_whole() {}\n#[tokio::test]\n#[ignore = \"x\"]\nasync fn b_c_d() {}\nfn a_mere_function_of_ours() {}";
    let tests = test_names(&[of("a.rs", source)]);
    assert_eq!(tests.iter().collect::<Vec<_>>(), ["a_file_is_kept_whole", "b_c_d"]);
    let holds = |text: &str| invariant_tests(text, &tests);
    check(
        holds("- **I-1** kept: `x::a_file_is_kept_whole`,\n  also `b_c_d`\n\n| I-2 | `a_b` | `b_c_d` |\n\nSee I-2."),
        &[],
    );
    check(holds("I-1 kept, `last_read_at`.\nI-2: `b_c_d`"), &["md:1: I-1 names no test"]);
    check(holds("I-1 `b_c_d` `a_file_is_not_kept`"), &["names a_file_is_not_kept"]);
    check(holds("I-1 `b_c_d`, as I-7 says; WI-8, I-x"), &["I-7 is mentioned"]);
    check(holds("I-1 `a_mere_function_of_ours`"), &["there is no such test", "names no test"]);
    check(holds("no more"), &["no invariant"]);
}
