//! Packages that a session adds or removes: by an installer's command line, or by editing a manifest.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use serde_json::Value;

use baton_conversation::filter::Manifest;
use baton_conversation::item::Call;
use baton_episode::digest::programs;
use baton_words::lines_with_sections;

/// Maximum number of packages of one command or edit.
const MAX_PACKAGES: usize = 40;

/// A program that adds packages.
struct Installer {
    /// Registry name as people say it.
    from: &'static str,
    programs: Vec<&'static str>,
    adds: Vec<&'static str>,
    removes: Vec<&'static str>,
    /// Flags whose value is the next word.
    with_value: Vec<&'static str>,
}

static INSTALLERS: LazyLock<Vec<Installer>> = LazyLock::new(|| {
    let words = |cell: Option<&'static str>| cell.unwrap_or_default().split_whitespace().collect::<Vec<_>>();
    let installer = |(_, row): (_, &'static str)| {
        let mut cells = row.split('|');
        Installer {
            from: cells.next().unwrap_or_default().trim(),
            programs: words(cells.next()),
            adds: words(cells.next()),
            removes: words(cells.next()),
            with_value: words(cells.next()),
        }
    };
    lines_with_sections(include_str!("installers.txt")).map(installer).collect()
});

/// A package that is added or removed, and its registry.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Package {
    pub(super) name: String,
    pub(super) from: &'static str,
    pub(super) added: bool,
}

/// Returns the packages that a command line installs or removes by name, in order.
pub(super) fn changed(line: &str) -> Vec<Package> {
    let mut packages = Vec::new();
    for program in programs(line) {
        let words: Vec<&str> = program.words.iter().map(String::as_str).collect();
        let Some((installer, added, rest)) = installer(&words) else { continue };
        let mut rest = rest.iter();
        while let Some(word) = rest.next() {
            if installer.with_value.contains(word) {
                rest.next();
            } else if !word.starts_with(['-', '+'])
                && let Some(name) = package(word, installer.from)
            {
                packages.push(Package { name: name.to_owned(), from: installer.from, added });
            }
        }
    }
    packages.truncate(MAX_PACKAGES);
    packages
}

/// Finds the installer among the first words (`python -m pip install`, `uv pip install`). Returns it, whether it adds,
/// and the words after its verb.
fn installer<'w>(words: &'w [&'w str]) -> Option<(&'static Installer, bool, &'w [&'w str])> {
    words.windows(2).take(6).enumerate().find_map(|(at, pair)| {
        let program = pair[0].rsplit('/').next().unwrap_or(pair[0]);
        let found = INSTALLERS.iter().find(|known| {
            known.programs.contains(&program) && (known.adds.contains(&pair[1]) || known.removes.contains(&pair[1]))
        })?;
        Some((found, found.adds.contains(&pair[1]), &words[at + 2..]))
    })
}

/// Returns the package name in a word, without its version; `None` for a path, a URL or a file.
fn package<'w>(word: &'w str, from: &str) -> Option<&'w str> {
    let file = [".whl", ".tgz", ".txt", ".gz", ".zip", ".deb"].iter().any(|end| word.ends_with(end));
    if word.starts_with(['.', '/', '~', '$', '(']) || word.contains("://") || file {
        return None;
    }
    let name = match from {
        "PyPI" => word.split(['<', '>', '=', '!', '~', ';', '[', ' ', '@']).next()?,
        _ => {
            let scope = usize::from(word.starts_with('@'));
            word[scope..].find(['@', '=']).map_or(word, |end| &word[..scope + end])
        }
    };
    is_package(name).then_some(name)
}

fn is_package(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | '@' | ':');
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '@') && name.len() <= 120 && name.chars().all(plain)
}

/// Returns the packages that an edit of a manifest adds and removes: those only in the new text, and those only in the
/// old one. Everything in a newly written file counts as added.
pub(super) fn declared(call: &Call) -> Vec<Package> {
    let Some(edit) = &call.edit else { return Vec::new() };
    let Some(manifest) = Manifest::from_path(&edit.path) else { return Vec::new() };
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned).unwrap_or_default();
    let (mut before, mut after) = (BTreeSet::new(), BTreeSet::new());
    let mut compare = |old: String, new: String| {
        before.extend(packages(manifest, &old));
        after.extend(packages(manifest, &new));
    };
    compare(
        text(call.input.get("old_string")),
        text(call.input.get("new_string").or_else(|| call.input.get("content"))),
    );
    for edit in call.input.get("edits").and_then(Value::as_array).into_iter().flatten() {
        compare(text(edit.get("old_string")), text(edit.get("new_string")));
    }
    let package = |name: &String, added| Package { name: name.clone(), from: registry(manifest), added };
    let added = after.difference(&before).map(|name| package(name, true));
    added.chain(before.difference(&after).map(|name| package(name, false))).take(MAX_PACKAGES).collect()
}

fn registry(manifest: Manifest) -> &'static str {
    match manifest {
        Manifest::Cargo => "crates.io",
        Manifest::Node => "npm",
        Manifest::Requirements | Manifest::Python => "PyPI",
        Manifest::Go => "Go",
    }
}

fn packages(manifest: Manifest, text: &str) -> BTreeSet<String> {
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#') && !line.starts_with("//"));
    lines
        .filter_map(|line| declared_package(manifest, line))
        .filter(|name| is_package(name))
        .map(str::to_owned)
        .collect()
}

/// Returns the package that a line declares.
fn declared_package(manifest: Manifest, line: &str) -> Option<&str> {
    match manifest {
        Manifest::Cargo => keyed(line),
        Manifest::Python => keyed(line).or_else(|| {
            let quoted = line.strip_prefix(['"', '\''])?.trim_end_matches(',');
            versioned(quoted.trim_end_matches(['"', '\'']))
        }),
        Manifest::Node => {
            let (name, value) = line.trim_end_matches(',').split_once(':')?;
            let name = name.trim().strip_prefix('"')?.strip_suffix('"')?;
            let value = value.trim().strip_prefix('"')?;
            let version = value.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '^' | '~' | '>' | '*'))
                || value.starts_with("workspace:")
                || value.starts_with("latest");
            (version && !matches!(name, "version" | "node" | "npm" | "pnpm" | "yarn")).then_some(name)
        }
        Manifest::Requirements => {
            let name = line.split(['<', '>', '=', '!', '~', ';', '[', ' ', '@']).next()?;
            (!name.is_empty() && !line.starts_with('-')).then_some(name)
        }
        Manifest::Go => {
            let mut words = line.strip_prefix("require").unwrap_or(line).split_whitespace();
            let (name, version) = (words.next()?, words.next()?);
            let version = version.strip_prefix('v')?;
            (version.starts_with(|c: char| c.is_ascii_digit()) && name.contains('.')).then_some(name)
        }
    }
}

/// `name = "1.2"`, `name = { version = … }`, `name.workspace = true`.
fn keyed(line: &str) -> Option<&str> {
    let (key, value) = line.split_once('=')?;
    let (key, value) = (key.trim().trim_matches('"'), value.trim());
    if let Some(name) = key.strip_suffix(".workspace").or_else(|| key.strip_suffix(".version")) {
        return Some(name);
    }
    const OWN: [&str; 7] =
        ["edition", "python", "requires-python", "resolver", "rust-version", "target-version", "version"];
    let version = value.strip_prefix(['"', '\'']).is_some_and(|value| {
        value.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '^' | '~' | '=' | '>' | '*'))
    });
    let table = value.starts_with('{') && ["version", "path", "git", "workspace"].iter().any(|key| value.contains(key));
    ((version || table) && !OWN.contains(&key)).then_some(key)
}

/// `name>=1.2`.
fn versioned(text: &str) -> Option<&str> {
    let end = text.find(['<', '>', '=', '!', '~', '['])?;
    Some(text[..end].trim()).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use baton_conversation::item::Edit;

    fn shown(package: Package) -> String {
        format!("{}{}", if package.added { "" } else { "-" }, package.name)
    }

    #[test]
    fn a_command_adds_what_it_names() {
        let check = |line: &str, names: &str| {
            let found: Vec<String> = changed(line).into_iter().map(shown).collect();
            assert_eq!(found.join(" "), names, "{line:?}");
        };
        check("cargo add serde --features derive serde_json@1.0", "serde serde_json");
        check("cd api && npm i -D typescript@5 @types/node@20 && npm test", "typescript @types/node");
        check("npm install", "");
        check("python3 -m pip install -r requirements.txt 'httpx[http2]>=0.27' ./local", "httpx");
        check("uv add polars==1.2 --group dev; uv pip install ruff", "polars ruff");
        check("go get github.com/jackc/pgx/v5@latest ./...", "github.com/jackc/pgx/v5");
        check("sudo apt-get install -y libpq-dev", "libpq-dev");
        check("pip install https://x.org/a.whl $PKG", "");
        check("cargo test add", "");
        check("cargo remove time && npm uninstall -D left-pad", "-time -left-pad");
        check("pip uninstall -y requests; uv remove polars", "-requests -polars");
    }

    fn edit(path: &str, old: &str, new: &str) -> Call {
        let input = [("old_string", old), ("new_string", new)];
        Call {
            act: baton_conversation::item::Act::Edit,
            id: "".into(),
            name: "Edit".to_owned(),
            input: input.iter().map(|(key, text)| ((*key).to_owned(), Value::from(*text))).collect::<BTreeMap<_, _>>(),
            edit: Some(Edit { path: path.to_owned(), added: 1, removed: 1, ..Edit::default() }),
            commit: None,
            plan: None,
            git_line: None,
        }
    }

    #[test]
    fn a_manifest_adds_what_it_did_not_have() {
        let check = |path: &str, old: &str, new: &str, names: &str| {
            let found: Vec<String> = declared(&edit(path, old, new)).into_iter().map(shown).collect();
            assert_eq!(found.join(" "), names, "{path}: {new:?}");
        };
        let cargo = "[package]\nname = \"x\"\nversion = \"0.1.0\"\n[dependencies]\nserde = \"1\"\ntokio = { version = \"1\" }\n";
        check("/p/Cargo.toml", "serde = \"1\"", cargo, "tokio");
        check("Cargo.toml", "", "time.workspace = true\nedition = \"2024\"\n# a = \"1\"", "time");
        check(
            "package.json",
            "\"a\": \"1\"",
            "\"a\": \"2\",\n\"@x/b\": \"^3\",\n\"test\": \"vitest\",\n\"version\": \"1\"",
            "@x/b",
        );
        check("requirements-dev.txt", "a==1\n", "a==2\nb[c]>=1\n-r x.txt\n", "b");
        check(
            "pyproject.toml",
            "",
            "dependencies = [\n  \"httpx>=0.27\",\n  \"x\",\n]\nrequires-python = \">=3.12\"\n",
            "httpx",
        );
        check("go.mod", "", "require (\n\tgithub.com/a/b v1.2.3\n)\ngo 1.22\n", "github.com/a/b");
        check("src/main.rs", "", "serde = \"1\"", "");
        check("Cargo.toml", "serde = \"1\"\ntime = \"0.3\"", "serde = \"1\"\njiff = \"0.2\"", "jiff -time");
    }
}
