//! Rules for manifests: the core's dependencies, directions between crates, and the source of packages.

use std::collections::BTreeSet;

use super::tree::{File, check, contains_word, lines};

/// All packages that the core may depend on. It must build and behave the same everywhere and at any time.
const CORE_MAY_USE: &[(&str, &str)] = &[
    ("aho-corasick", "finds all beginnings of secrets in one pass; bytes in, places out"),
    ("icu_normalizer", "composes and decomposes accents; text in, text out"),
    ("memchr", "finds line ends; bytes in, places out"),
    ("rpds", "persistent maps, so that a snapshot of the session table costs nothing"),
    ("serde", "stored and wire shapes"),
    ("serde_json", "stored and wire shapes"),
    ("sha2", "content hash, chain of records"),
    ("stop-words", "words that say nothing, by language; data only"),
    ("thiserror", "error types"),
    ("time", "RFC 3339; its clock is not used"),
    ("uuid", "name-based episode ids; its random ones are not used"),
];

/// The layers of crates, from the bottom. A crate may depend on lower layers only. The fake endpoint depends on nothing
/// and is in the layer of the program, so that only tests and benchmarks may link it.
const LAYERS: &[&[&str]] = &[
    &["baton-protocol", "baton-words"],
    &["baton-redaction"],
    &["baton-conversation"],
    &["baton-events"],
    &["baton-episode"],
    &["baton-graph"],
    &["baton-outcomes"],
    &["baton-ask", "baton-enrichment", "baton-notes", "baton-sharing"],
    &["baton-home"],
    &["baton-base", "baton-hook"],
    &["baton-config", "baton-install", "baton-journal", "baton-memory", "baton-store"],
    &["baton-memos", "baton-model", "baton-views"],
    &["baton-relay", "baton-tracking", "baton-vault"],
    &["baton-upkeep"],
    &["baton-queries"],
    &["baton-page"],
    &["baton-actors"],
    &["baton", "baton-endpoint"],
    &["baton-bench", "baton-browser"],
];

/// Packages that only its tests and benchmarks may depend on.
const CORE_TESTS_MAY_USE: &[(&str, &str)] =
    &[("divan", "benchmarks"), ("proptest", "properties of readers and codecs")];

/// The dependencies in a manifest: line, table, name.
pub(crate) fn dependencies(manifest: &str) -> Vec<(usize, String, String)> {
    let mut table = String::new();
    let mut found = Vec::new();
    for (number, line) in lines(manifest) {
        let line = line.trim();
        if let Some(header) = line.strip_prefix('[') {
            table = header.trim_matches(['[', ']']).to_owned();
            if let Some((before, name)) = table.rsplit_once("dependencies.") {
                found.push((number, format!("{before}dependencies"), name.trim_matches('"').to_owned()));
            }
        } else if table.ends_with("dependencies") && !line.starts_with('#') {
            let name = line.split(['=', '.', ' ']).next().unwrap_or_default().trim_matches('"');
            if !name.is_empty() {
                found.push((number, table.clone(), name.to_owned()));
            }
        }
    }
    found
}

/// The layer of a crate.
fn layer_of(name: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&name))
}

/// Dependencies on a crate of ours that is not in a lower layer. Tests may depend on any crate.
pub(crate) fn upward_dependencies(path: &str, manifest: &str) -> Vec<String> {
    let name =
        lines(manifest).find_map(|(_, line)| Some(line.strip_prefix("name = \"")?.trim_end_matches('"').to_owned()));
    let name = name.unwrap_or_default();
    let Some(own) = layer_of(&name) else {
        return vec![format!("{path}: {name} is in no layer; put it into LAYERS")];
    };
    // The root's list of versions is not a dependency.
    let is_own = |table: &str| !table.starts_with("dev-") && table != "workspace.dependencies";
    let against = dependencies(manifest).into_iter().filter(|(_, table, _)| is_own(table));
    against
        .filter(|(.., name)| name.starts_with("baton") && layer_of(name).is_none_or(|layer| layer >= own))
        .map(|(line, _, other)| format!("{path}:{line}: {name} may not depend on {other}: it is not in a lower layer"))
        .collect()
}

/// Dependencies of the core that are not on its list, and entries of the list that none of its manifests uses.
pub(crate) fn core_dependencies(manifests: &[(&str, &str)]) -> Vec<String> {
    let mut found = Vec::new();
    let mut unused: BTreeSet<&str> = CORE_MAY_USE.iter().chain(CORE_TESTS_MAY_USE).map(|(name, _)| *name).collect();
    for (path, manifest) in manifests {
        for (line, table, name) in dependencies(manifest) {
            let for_tests = if table.starts_with("dev-") { CORE_TESTS_MAY_USE } else { &[] };
            let mut allowed = CORE_MAY_USE.iter().chain(for_tests);
            if !name.starts_with("baton") && !allowed.any(|(allowed, _)| *allowed == name) {
                found.push(format!("{path}:{line}: the core may not depend on {name} ({table}); see CORE_MAY_USE, or put what needs it in actors/"));
            }
            unused.remove(name.as_str());
        }
        let renamed = lines(manifest).filter(|(_, line)| contains_word(line, "package") && line.contains('{'));
        found.extend(renamed.map(|(line, _)| format!("{path}:{line}: a renamed dependency hides what it is")));
    }
    found.extend(
        unused.iter().map(|name| format!("{name} is allowed in the core but not used; remove it from the list")),
    );
    found
}

/// Places that would take packages from anywhere but cargo's default registry.
pub(crate) fn registries(file: &File) -> Vec<String> {
    let mut found = Vec::new();
    let (is_lock, is_manifest) = (file.path == "Cargo.lock", file.path.ends_with(".toml"));
    let mut first_source = None;
    for (number, line) in lines(&file.text) {
        let is_source = line.starts_with("source = ");
        let other_source = is_source && *first_source.get_or_insert(line) != line || line.contains("\"git+");
        let keys = ["registry", "registries", "source", "git", "replace-with", "index"];
        let key = line.trim_start().trim_start_matches('[').split(['=', '.', ' ', ']']).next().unwrap_or_default();
        let names_one = is_manifest && (keys.contains(&key) || line.contains("registry = ") || line.contains("git = "));
        if is_lock && other_source || names_one || line.contains("sparse+") && !file.path.starts_with("tests/tidy") {
            found.push(format!("{}:{number}: packages come from one registry, without naming it", file.path));
        }
    }
    found
}

#[test]
fn manifests_that_break_a_rule_are_found() {
    let allowed =
        |list: &[(&str, &str)]| list.iter().map(|(name, _)| format!("{name}.workspace = true\n")).collect::<String>();
    let manifest = |more: &str| {
        format!("[dependencies]\n{}[dev-dependencies]\n{}{more}", allowed(CORE_MAY_USE), allowed(CORE_TESTS_MAY_USE))
    };
    check(core_dependencies(&[("m", &manifest(""))]), &[]);
    check(
        core_dependencies(&[("m", &manifest("libc.workspace = true\n"))]),
        &["m:16: the core may not depend on libc (dev-"],
    );
    check(core_dependencies(&[("m", &manifest("[target.'cfg(unix)'.dependencies]\nlibc = \"1\"\n"))]), &["on libc"]);
    check(
        core_dependencies(&[("m", &manifest("[build-dependencies.cc]\nversion = \"1\"\n"))]),
        &["on cc (build-dependencies)"],
    );
    let renamed =
        manifest("[dependencies.memchr]\n").replace("memchr.workspace = true", "memchr = { package = \"tokio\" }");
    check(core_dependencies(&[("m", &renamed)]), &["m:4: a renamed dependency"]);
    check(
        core_dependencies(&[("m", &manifest("").replace("rpds", "#"))]),
        &["rpds is allowed in the core but not used"],
    );
    let crates = |name: &str, on: &str| {
        upward_dependencies("m", &format!("[package]\nname = \"{name}\"\n[dependencies]\n{on}.workspace = true\n"))
    };
    check(crates("baton-episode", "baton-events"), &[]);
    check(crates("baton-episode", "baton-graph"), &["m:4: baton-episode may not depend on baton-graph"]);
    check(crates("baton-protocol", "baton-redaction"), &["not in a lower layer"]);
    check(crates("baton-actors", "baton-unknown"), &["m:4"]);
    check(crates("baton-unknown", "serde"), &["is in no layer"]);
    check(crates("baton", "baton-endpoint"), &["not in a lower layer"]);
    let versions =
        "name = \"baton\"\n[workspace.dependencies]\nbaton-bench = 1\n[dev-dependencies]\nbaton-endpoint = 1\n";
    check(upward_dependencies("m", versions), &[]);
    check(crates("baton", "baton-bench"), &["not in a lower layer"]);
    let of = File::new;
    let one = "source = \"registry+https://one.example/index\"";
    check(registries(&of("Cargo.lock", &format!("{one}\n{one}"))), &[]);
    let two = format!("{one}\nsource = \"registry+https://two.example/index\"");
    check(registries(&of("Cargo.lock", &two)), &["Cargo.lock:2"]);
    check(registries(&of("Cargo.lock", "source = \"git+https://one.example/x\"")), &["Cargo.lock:1"]);
    check(
        registries(&of("Cargo.toml", "[source.crates-io]\na = { git = \"x\" }\nregistry = \"y\"\nindexer = 1")),
        &["1", "2", "3"],
    );
    check(registries(&of("README.md", "sparse+https://mirror.example\ngit = yes")), &["README.md:1"]);
}
