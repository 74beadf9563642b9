//! Rules of the tree that the compiler does not check: dependencies of the core, directions between crates, length and
//! names of files, length of documents, and that every invariant in ARCHITECTURE.md names an existing test. Each
//! finding states its place and the reason.

#[path = "tidy/cycle.rs"]
mod cycle;
#[path = "tidy/document.rs"]
mod document;
#[path = "tidy/invariant.rs"]
mod invariant;
#[path = "tidy/manifest.rs"]
mod manifest;
#[path = "tidy/packaging.rs"]
mod packaging;
#[path = "tidy/source.rs"]
mod source;
#[path = "tidy/tree.rs"]
mod tree;

use std::collections::BTreeSet;
use std::fs;

use tree::{check, ignored, root, tree};

/// Everything allowed at the top, besides what `.gitignore` names.
const TOP: &[&str] = &[
    ".agents",
    ".cargo",
    ".ci",
    ".claude-plugin",
    ".git",
    ".github",
    ".gitignore",
    "ARCHITECTURE.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE",
    "README.md",
    "actors",
    "clippy.toml",
    "events",
    "replay-fixtures",
    "rustfmt.toml",
    "src",
    "tests",
];

/// Fails with all findings, one per line, if there are any.
fn assert_no_findings(found: &[String]) {
    assert!(found.is_empty(), "\n{}\n", found.join("\n"));
}

fn top_level(name: &str, ignored: &BTreeSet<String>) -> Option<String> {
    let known = TOP.contains(&name) || ignored.contains(name);
    (!known).then(|| format!("{name}: not expected at the top; put it into a crate, or on the list TOP"))
}

#[test]
fn the_core_depends_on_what_is_pure() {
    let files = tree();
    let core = files.iter().filter(|file| file.path.starts_with("events/") && file.path.ends_with("Cargo.toml"));
    let manifests: Vec<(&str, &str)> = core.map(|file| (file.path.as_str(), file.text.as_str())).collect();
    assert!(manifests.len() > 1, "the core's manifests were not read: {manifests:?}");
    assert_no_findings(&manifest::core_dependencies(&manifests));
}

#[test]
fn every_crate_depends_on_lower_floors_only() {
    let files = tree();
    let manifests = files.iter().filter(|file| file.path.ends_with("Cargo.toml"));
    assert_no_findings(
        &manifests.flat_map(|file| manifest::upward_dependencies(&file.path, &file.text)).collect::<Vec<_>>(),
    );
}

#[test]
fn every_file_keeps_the_rules() {
    let files = tree();
    assert!(files.len() > 100 && files.iter().any(|file| file.path == "events/Cargo.toml"), "the tree was not read");
    // The rules themselves have to name what they forbid.
    let others = || files.iter().filter(|file| !file.path.starts_with("tests/tidy/"));
    let mut found: Vec<String> = others()
        .flat_map(|file| {
            [source::forbidden_crates(file), source::vague_names(file), source::forbidden_words(file)].concat()
        })
        .collect();
    found.extend(files.iter().filter_map(|file| source::file_length(file, source::LONGER)));
    found.extend(files.iter().flat_map(manifest::registries));
    let there = |path: &str| files.iter().any(|file| file.path == path);
    found.extend(
        source::LONGER
            .iter()
            .filter(|(path, ..)| !there(path))
            .map(|(path, ..)| format!("{path}: does not exist; remove it from source::LONGER")),
    );
    assert_no_findings(&found);
}

/// The folder of every crate of the product, with its number of lines of code.
fn crates(files: &[tree::File]) -> Vec<(String, usize)> {
    let manifests = files.iter().filter_map(|file| file.path.strip_suffix("Cargo.toml"));
    let manifests = manifests.filter(|folder| !folder.starts_with("tests/"));
    let folders = manifests.map(|folder| folder.trim_end_matches('/').to_owned());
    folders.map(|folder| (folder.clone(), source::lines_of_crate(files, &folder))).collect()
}

#[test]
fn no_crate_is_too_large_to_hold_in_mind() {
    let crates = crates(&tree());
    assert!(crates.len() > 10 && crates.iter().all(|(_, lines)| *lines > 20), "{crates:?}");
    assert_no_findings(
        &crates
            .iter()
            .filter_map(|(folder, lines)| source::crate_length(folder, *lines, source::LARGER))
            .collect::<Vec<_>>(),
    );
}

#[test]
fn no_modules_use_each_other() {
    let files = tree();
    let found: Vec<String> = crates(&files).iter().flat_map(|(folder, _)| cycle::cycles(&files, folder)).collect();
    assert_no_findings(&found);
}

#[test]
#[ignore = "prints the lines of code of each crate"]
#[expect(clippy::print_stdout, reason = "that is what it is for")]
fn lines_of_each_crate() {
    for (folder, lines) in crates(&tree()) {
        println!("{lines:6} {}", if folder.is_empty() { "." } else { &folder });
    }
}

#[test]
fn nothing_new_lies_at_the_top() {
    let entries = fs::read_dir(root()).expect("the root");
    let names = entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
    let ignored = ignored();
    assert_no_findings(&names.filter_map(|name| top_level(&name, &ignored)).collect::<Vec<_>>());
}

#[test]
fn every_invariant_names_its_test() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md");
    assert_no_findings(&invariant::invariant_tests(&text, &invariant::test_names(&tree())));
}

#[test]
fn documents_are_short_and_name_what_is_there() {
    let read = |name: &str| fs::read_to_string(root().join(name)).expect(name);
    let (readme, architecture) = (read("README.md"), read("ARCHITECTURE.md"));
    let is_there = |path: &str| root().join(path).exists();
    let mut found = document::missing_paths("README.md", &readme, is_there);
    found.extend(document::missing_paths("ARCHITECTURE.md", &architecture, is_there));
    let (lines, words) = (readme.lines().count(), architecture.split_whitespace().count());
    found.extend(document::too_long("README.md", lines, document::README_LINES, "lines"));
    found.extend(document::too_long("ARCHITECTURE.md", words, document::ARCHITECTURE_WORDS, "words"));
    assert_no_findings(&found);
}

#[test]
fn every_crate_takes_the_lints_and_runs_by_default() {
    let files = tree();
    let manifests: Vec<_> = files.iter().filter(|file| file.path.ends_with("Cargo.toml")).collect();
    let root = manifests.iter().find(|file| file.path == "Cargo.toml").expect("the root's manifest");
    // A list in the root manifest: the text between its key and the closing bracket.
    let list = |key: &str| {
        let (_, rest) = root.text.split_once(&format!("\n{key} = [")).expect("a list");
        rest.split(']').next().unwrap_or_default().to_owned()
    };
    for file in &manifests {
        assert!(file.text.contains("[lints]\nworkspace = true"), "{}: [lints] workspace = true is missing", file.path);
        let folder = file.path.trim_end_matches("Cargo.toml").trim_end_matches('/');
        let folder = if folder.is_empty() { "." } else { folder };
        assert!(list("members").contains(&format!("\"{folder}\"")), "{folder} is not a member of the workspace");
    }
    assert_eq!(list("members"), list("default-members"), "plain `cargo test` must run every crate");
}

#[test]
fn the_readme_and_the_ci_run_the_same_tests() {
    let readme = fs::read_to_string(root().join("README.md")).expect("README.md");
    for command in ["cargo run --release -- search \"refresh token\"", "cargo test"] {
        assert!(readme.lines().any(|line| line == command), "README.md lacks the command {command}");
    }
    let ci = fs::read_to_string(root().join(".ci/run")).expect(".ci/run");
    assert_eq!(ci.lines().last(), Some("cargo test"), ".ci/run ends with the test command of the README");
}

#[test]
fn what_does_not_belong_at_the_top_is_found() {
    let ignored = BTreeSet::from(["target".to_owned()]);
    check(["src", "target", "notes.txt"].iter().filter_map(|name| top_level(name, &ignored)).collect(), &["notes.txt"]);
}
