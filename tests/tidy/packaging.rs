//! Rules for packaging: what is written down in several places agrees.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use super::tree::{check, root};

/// Longest description that the MCP registry takes.
const DESCRIPTION_CHARS: usize = 100;

/// The value of `name = "…"` in a manifest, the first one.
pub(crate) fn field<'a>(manifest: &'a str, name: &str) -> &'a str {
    let line = manifest.lines().find_map(|line| line.strip_prefix(name)?.trim_start().strip_prefix("= \""));
    line.and_then(|rest| rest.split('"').next()).unwrap_or_default()
}

/// The words in the list that begins with a line `name = [`.
fn list<'a>(text: &'a str, name: &str) -> BTreeSet<&'a str> {
    let from = text.lines().skip_while(|line| *line != format!("{name} = ["));
    from.skip(1)
        .take_while(|line| *line != "]")
        .filter_map(|line| line.trim().trim_end_matches(',').strip_prefix('"')?.strip_suffix('"'))
        .collect()
}

/// Targets that `names.json` and the release build differently.
pub(crate) fn targets(names: &Value, release: &str) -> Vec<String> {
    let known = names["targets"].as_object().cloned().unwrap_or_default();
    let line = |(target, facts): (&String, &Value)| {
        format!("- {{ target: {target}, os: {} }}", facts["runner"].as_str().unwrap_or_default())
    };
    let expected: BTreeSet<String> = known.iter().map(line).collect();
    let built: BTreeSet<String> =
        release.lines().map(str::trim).filter(|line| line.starts_with("- { target:")).map(str::to_owned).collect();
    expected.symmetric_difference(&built).map(|line| format!("names.json and release.yml differ: {line}")).collect()
}

/// Values of `Cargo.toml` that a template writes out, so that it would be stale one day.
pub(crate) fn written_out(name: &str, template: &str, manifest: &str) -> Vec<String> {
    let values = [("version", field(manifest, "version")), ("description", field(manifest, "description"))];
    let is_in = |value: &str| !value.is_empty() && template.contains(&format!("\"{value}\""));
    let found = values.into_iter().filter(|(_, value)| is_in(value));
    found
        .map(|(what, value)| format!("{name}: writes the {what} {value:?} out; use @{}@", what.to_uppercase()))
        .collect()
}

#[test]
fn what_is_packaged_agrees_with_the_manifest() {
    let read = |name: &str| fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    let (manifest, folder) = (read("Cargo.toml"), ".github/packaging");
    let names: Value = serde_json::from_str(&read(&format!("{folder}/names.json"))).expect("names.json");
    let release = read(".github/workflows/release.yml");
    let mut found = targets(&names, &release);
    let description = field(&manifest, "description");
    if description.is_empty() || description.chars().count() > DESCRIPTION_CHARS || description.contains(['"', '\\']) {
        found.push(format!("Cargo.toml: the description has at most {DESCRIPTION_CHARS} plain characters"));
    }
    let templates = root().join(folder).join("templates");
    let mut pending = vec![templates];
    let mut count = 0;
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(&folder).expect("templates").map(|entry| entry.expect("an entry").path()) {
            match entry.is_dir() {
                true => pending.push(entry),
                false => {
                    count += 1;
                    let text = fs::read_to_string(&entry).expect("a template");
                    found.extend(written_out(&entry.display().to_string(), &text, &manifest));
                }
            }
        }
    }
    assert!(count >= 7, "{count} templates");
    let (allowed, accepted) = (read(&format!("{folder}/deny.toml")), read(&format!("{folder}/about.toml")));
    assert!(list(&allowed, "allow").len() > 5);
    assert_eq!(
        list(&allowed, "allow"),
        list(&accepted, "accepted"),
        "deny.toml and about.toml allow the same licences"
    );
    // What the programs of a release are built with is what `baton update` reads.
    for variable in ["BATON_UPDATE_URL", "BATON_UPDATE_KEY"] {
        let source = read("actors/upkeep/src/newer_version.rs");
        assert!(
            source.contains(&format!("option_env!(\"{variable}\")")) && release.contains(&format!("  {variable}: ")),
            "{variable}"
        );
    }
    // What the scripts call the programs is what the package has.
    for program in ["baton", "baton-hook"] {
        assert!(
            read("Cargo.toml").contains(&format!("[\"target/release/{program}\", \"usr/bin/\", \"755\"]")),
            "{program}"
        );
    }
    assert!(found.is_empty(), "\n{}\n", found.join("\n"));
}

#[test]
fn what_disagrees_is_found() {
    let names = serde_json::json!({ "targets": { "a-b": { "runner": "r" } } });
    check(targets(&names, "include:\n  - { target: a-b, os: r }\n"), &[]);
    check(targets(&names, "  - { target: a-b, os: s }\n"), &["os: r", "os: s"]);
    let manifest = "[workspace.package]\nversion = \"0.1.0\"\n[package]\ndescription = \"What it is\"\n";
    assert_eq!(
        (field(manifest, "version"), field(manifest, "description"), field(manifest, "x")),
        ("0.1.0", "What it is", "")
    );
    check(written_out("t", "version \"@VERSION@\"", manifest), &[]);
    check(written_out("t", "version \"0.1.0\"\ndesc \"What it is\"", manifest), &["@VERSION@", "@DESCRIPTION@"]);
    assert_eq!(
        list("allow = [\n    \"MIT\",\n    \"X OR Y\",\n]\nb = [\n    \"no\",\n]\n", "allow"),
        BTreeSet::from(["MIT", "X OR Y"])
    );
}
