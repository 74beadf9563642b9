//! Rules for source files: forbidden words, crates and names, and length.

use super::manifest::dependencies;
use super::tree::{File, check, contains_word, lines};

/// Words that the core's sources must not contain: those that clippy.toml cannot ban, or only by the exact path.
const CORE_FORBIDDEN_WORDS: &[(&str, &str)] = &[
    ("std::fs", "the core opens no files: take bytes"),
    ("std::env", "the core reads no environment: take an argument"),
    ("std::net", "the core has no network"),
    ("std::process", "the core starts no processes"),
    ("std::thread", "the core is synchronous"),
    ("Instant::now", "the core has no clock: take a Timestamp"),
    ("SystemTime", "the core has no clock: take a Timestamp"),
    ("now_utc", "the core has no clock: take a Timestamp"),
    ("now_v7", "the core has no clock and no randomness: take an id"),
    ("new_v4", "the core has no randomness: take an id"),
    ("HashMap", "iteration order must not depend on a seed: BTreeMap"),
    ("HashSet", "iteration order must not depend on a seed: BTreeSet"),
    ("async fn", "the core is synchronous"),
];

/// Crates that a folder may not name: dependencies go events <- actors <- src <- tests.
const FORBIDDEN_CRATES: &[(&str, &[&str])] = &[("events/", &["baton_actors", "baton"]), ("actors/", &["baton"])];

/// Names that say nothing about the content.
const VAGUE_NAMES: &[&str] = &["common", "helper", "helpers", "misc", "mod", "types", "util", "utils"];

/// Most lines of a file.
const MAX_LINES: usize = 500;

/// Files that may be longer: path, most lines, reason.
pub(crate) const LONGER: &[(&str, usize, &str)] = &[];

/// Most lines of code of a crate, without comments, blank lines and tests.
pub(crate) const MAX_CRATE_LINES: usize = 15_000;

/// Crates that may be larger: folder, most lines, reason.
pub(crate) const LARGER: &[(&str, usize, &str)] = &[];

/// Lines of code below a crate's `src`, without comments, blank lines and tests.
pub(crate) fn lines_of_crate(files: &[File], folder: &str) -> usize {
    let sources = if folder.is_empty() { "src/".to_owned() } else { format!("{folder}/src/") };
    let own = files.iter().filter(|file| file.is_rust() && file.path.starts_with(&sources));
    let is_code = |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with("//");
    own.map(|file| file.product_lines().filter(|(_, line)| is_code(line)).count()).sum()
}

/// Reports a crate that is too large, or an exception that is no longer needed.
pub(crate) fn crate_length(folder: &str, lines: usize, larger: &[(&str, usize, &str)]) -> Option<String> {
    match larger.iter().find(|(known, ..)| *known == folder) {
        Some(_) if lines <= MAX_CRATE_LINES => Some(format!("{folder}: is small enough; remove it from LARGER")),
        Some((_, most, _)) if lines <= *most => None,
        None if lines <= MAX_CRATE_LINES => None,
        _ => Some(format!("{folder}: {lines} lines of code; split the crate")),
    }
}

/// Crates named against the direction of dependencies, in manifests and sources.
pub(crate) fn forbidden_crates(file: &File) -> Vec<String> {
    let Some((folder, barred)) = FORBIDDEN_CRATES.iter().find(|(folder, _)| file.path.starts_with(folder)) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let mut say = |line, name: &str| {
        found.push(format!(
            "{}:{line}: {folder} may not name {name}; the arrow is events <- actors <- src <- tests",
            file.path
        ));
    };
    if file.path.ends_with("Cargo.toml") {
        let names = |name: &str| barred.contains(&name.replace('-', "_").as_str());
        dependencies(&file.text).iter().filter(|(.., name)| names(name)).for_each(|(line, _, name)| say(*line, name));
    } else if file.is_rust() {
        for (number, line) in lines(&file.text) {
            let names =
                |name: &&&str| contains_word(line, &format!("{name}::")) || line.trim() == format!("use {name};");
            barred.iter().filter(names).for_each(|name| say(number, name));
        }
    }
    found
}

/// Files, folders and modules whose names say nothing.
pub(crate) fn vague_names(file: &File) -> Vec<String> {
    let mut found = Vec::new();
    for part in file.path.split('/').map(|part| part.trim_end_matches(".rs")) {
        if file.is_rust() && VAGUE_NAMES.contains(&part) {
            found.push(format!("{}: {part} says nothing; name the file for what it holds", file.path));
        }
    }
    for (number, line) in lines(&file.text).filter(|_| file.is_rust()) {
        let name = line
            .trim()
            .trim_start_matches("pub ")
            .strip_prefix("mod ")
            .and_then(|rest| rest.split([' ', ';', '{']).next());
        if let Some(drawer) = name.filter(|name| VAGUE_NAMES.contains(name)) {
            found.push(format!("{}:{number}: mod {drawer} says nothing; name it for what it holds", file.path));
        }
    }
    found
}

/// Reports a file that is too long, or an exception that is no longer needed.
pub(crate) fn file_length(file: &File, longer: &[(&str, usize, &str)]) -> Option<String> {
    let lines = file.text.lines().count();
    match longer.iter().find(|(path, ..)| *path == file.path) {
        Some(_) if lines <= MAX_LINES => Some(format!("{}: is short enough; remove it from LONGER", file.path)),
        Some((_, most, _)) if lines <= *most => None,
        None if lines <= MAX_LINES || !file.is_rust() => None,
        _ => Some(format!("{}: {lines} lines; make it a folder named after the same noun", file.path)),
    }
}

/// Unfinished work, lints silenced and tests ignored without a reason, paths of one machine, and words forbidden in the
/// core.
pub(crate) fn forbidden_words(file: &File) -> Vec<String> {
    let mut found = Vec::new();
    let mut say = |line, reason: &str| found.push(format!("{}:{line}: {reason}", file.path));
    for (number, line) in lines(&file.text).filter(|_| file.is_rust()) {
        let code = line.trim_start();
        if contains_word(code, "todo!") || contains_word(code, "unimplemented!") {
            say(number, "unfinished code: finish it or leave it out");
        }
        if (code.starts_with("#[allow(") || code.starts_with("#![allow(")) && !has_reason(&file.text, number) {
            say(number, "a lint is silenced without a reason: #[expect(…, reason = \"…\")]");
        }
        if code.starts_with("#[ignore") && !code.starts_with("#[ignore = \"") {
            say(number, "a test is ignored without a reason: #[ignore = \"…\"]");
        }
    }
    for (number, line) in file.product_lines().filter(|_| file.is_rust()) {
        for place in ["\"/work/", "\"/root/", "\"/tmp/"] {
            if line.contains(place) {
                say(number, "a path of one machine: take it from the environment");
            }
        }
        if let Some((word, reason)) = CORE_FORBIDDEN_WORDS.iter().find(|(word, _)| contains_word(line, word))
            && file.path.starts_with("events/")
        {
            say(number, &format!("{word}: {reason}"));
        }
    }
    found
}

/// True if the attribute that begins on this line gives a reason before it ends.
pub(crate) fn has_reason(text: &str, line: usize) -> bool {
    let attribute: String = text.lines().skip(line - 1).take(8).collect();
    attribute.split(")]").next().is_some_and(|attribute| attribute.contains("reason = \""))
}

#[test]
fn sources_that_break_a_rule_are_found() {
    let of = File::new;
    check(
        forbidden_crates(&of("events/src/a.rs", "//! baton-actors\nuse baton_actors::x;\nuse baton::y;")),
        &["rs:2", "rs:3"],
    );
    check(
        forbidden_crates(&of("actors/src/a.rs", "use baton_events::x;\nlet a = baton::cli::y;\nmy_baton::z;")),
        &["rs:2"],
    );
    check(forbidden_crates(&of("events/Cargo.toml", "[dependencies]\nbaton-actors.workspace = true\n")), &["toml:2"]);
    check(
        forbidden_crates(&of("actors/Cargo.toml", "[dev-dependencies]\nbaton = { path = \"..\" }\nbaton-events = 1")),
        &["toml:2"],
    );
    check(forbidden_crates(&of("src/a.rs", "use baton_actors::x;")), &[]);

    check(vague_names(&of("src/utils.rs", "")), &["utils says nothing"]);
    check(vague_names(&of("src/common/a.rs", "mod b;\npub mod helpers {\nmod modest;")), &["common says", "a.rs:2"]);
    check(vague_names(&of("src/a/mod.rs", "")), &["mod says nothing"]);
    check(vague_names(&of("docs/types.md", "mod utils;")), &[]);

    let longer = [("src/b.rs", 700, "a reason")];
    let long = |path: &str, lines: usize| file_length(&of(path, &"x\n".repeat(lines)), &longer).into_iter().collect();
    check(long("src/a.rs", MAX_LINES), &[]);
    check(long("src/a.rs", MAX_LINES + 1), &["src/a.rs: 501 lines"]);
    check(long("tests/it/a.rs", MAX_LINES + 1), &["tests/it/a.rs: 501 lines"]);
    check(long("src/b.rs", 700), &[]);
    check(long("src/b.rs", 701), &["701 lines"]);
    check(long("src/b.rs", MAX_LINES), &["is short enough"]);
    check(long("README.md", MAX_LINES + 1), &[]);

    let code =
        of("events/a/src/b.rs", "//! Doc.\n\nfn a() {}\n// why\n    b();\n#[cfg(test)]\nmod tests {\nfn c() {}\n}");
    let others = [of("events/a/src/tests.rs", "fn a() {}"), of("events/src/a.rs", "fn a() {}"), code];
    assert_eq!((lines_of_crate(&others, "events/a"), lines_of_crate(&others, "events")), (2, 1));
    let larger = [("big", 20_000, "a reason")];
    let grown = |folder: &str, lines: usize| crate_length(folder, lines, &larger).into_iter().collect();
    check(grown("small", MAX_CRATE_LINES), &[]);
    check(grown("small", MAX_CRATE_LINES + 1), &["small: 15001 lines of code"]);
    check(grown("big", 20_000), &[]);
    check(grown("big", 20_001), &["split the crate"]);
    check(grown("big", MAX_CRATE_LINES), &["is small enough"]);

    check(forbidden_words(&of("src/a.rs", "#[ignore]\n#[ignore = \"slow\"]")), &["rs:1: a test is ignored"]);
    check(
        forbidden_words(&of("src/a.rs", "x(\"/tmp/a\");\n#[cfg(test)]\nmod tests {\nx(\"/tmp/b\");")),
        &["rs:1: a path of one machine"],
    );
    check(forbidden_words(&of("src/a/tests.rs", "x(\"/root/a\");")), &[]);
    check(
        forbidden_words(&of("events/src/a.rs", "use std::fs::File;\nlet x: MyHashMapLike;\nUuid::new_v4();")),
        &["rs:1", "rs:3"],
    );
    check(forbidden_words(&of("actors/src/a.rs", "use std::fs::File;")), &[]);
}
