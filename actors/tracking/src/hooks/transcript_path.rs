//! Checks whether a path in a hook is a transcript that is read here, whether the file exists yet or not.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use baton_conversation::transcript;
use baton_conversation::transcript::Located;

use baton_base::transcript_root::Root;

/// Longest path accepted, in bytes.
const PATH_BYTES: usize = 4_096;

/// Returns the path as the watcher names it, and the session it belongs to, if it is a transcript below one of these
/// roots: absolute or below `~`, without `..`, and below the root after links are resolved. Blocks for short disk
/// reads.
pub(super) fn locate(roots: &[Root], written: &str, user_home: Option<&Path>) -> Option<(PathBuf, Located)> {
    let path = expanded(written, user_home)?;
    let real = real(&path)?;
    roots.iter().find_map(|root| {
        // An agent's first session starts before its transcript folder exists.
        let within = real.strip_prefix(self::real(&root.projects)?).ok()?;
        let below = within.to_str()?;
        let below = if cfg!(windows) { below.replace('\\', "/") } else { below.to_owned() };
        let whose = transcript::classify(root.agent, &below)?;
        Some((root.projects.join(within), whose))
    })
}

/// Returns the session of a path by its spelling alone, if it is below one of these roots. Does not access the disk.
pub(super) fn written_below(roots: &[Root], written: &str, user_home: Option<&Path>) -> Option<Located> {
    let path = expanded(written, user_home)?;
    roots.iter().find_map(|root| {
        let below = path.strip_prefix(&root.projects).ok()?.to_str()?.replace('\\', "/");
        transcript::classify(root.agent, &below)
    })
}

/// Expands `~/`. Returns `None` unless the path is absolute and without `..`.
pub(super) fn expanded(written: &str, user_home: Option<&Path>) -> Option<PathBuf> {
    if written.len() > PATH_BYTES || written.contains('\0') {
        return None;
    }
    let path = match written.strip_prefix("~/") {
        Some(rest) => user_home?.join(rest),
        None => PathBuf::from(written),
    };
    let is_plain = path.components().all(|part| !matches!(part, Component::ParentDir));
    (path.is_absolute() && is_plain).then(|| path.components().collect())
}

/// Resolves links in the part of the path that exists; the rest cannot contain any. Returns `None` for a dangling link.
fn real(path: &Path) -> Option<PathBuf> {
    let mut missing: Vec<OsString> = Vec::new();
    let mut there = path;
    loop {
        match std::fs::canonicalize(there) {
            Ok(mut real) => {
                real.extend(missing.into_iter().rev());
                return Some(real);
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && there.symlink_metadata().is_err() => {
                missing.push(there.file_name()?.to_owned());
                there = there.parent()?;
            }
            Err(_) => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn only_a_transcript_below_a_root_is_located() {
        use std::os::unix::fs::symlink;
        let temp = tempfile::tempdir().unwrap();
        let top = std::fs::canonicalize(temp.path()).unwrap();
        let projects = top.join("home/.claude/projects");
        std::fs::create_dir_all(projects.join("-p")).unwrap();
        std::fs::create_dir_all(top.join("outside/-q")).unwrap();
        std::fs::write(top.join("outside/-q/s.jsonl"), "").unwrap();
        std::fs::write(projects.join("-p/there.jsonl"), "").unwrap();
        symlink(top.join("outside/-q"), projects.join("-linked")).unwrap();
        symlink(top.join("outside/-q/s.jsonl"), projects.join("-p/s.jsonl")).unwrap();
        symlink(top.join("nowhere"), projects.join("-p/dangling.jsonl")).unwrap();
        symlink(top.join("home"), top.join("same")).unwrap();
        let root = Root::claude_code(&top.join("home/.claude"));
        // A root reached through a link is named as configured.
        let linked = Root::claude_code(&top.join("same/.claude"));
        let at = |path: &str| top.join(path).to_str().unwrap().to_owned();
        for (written, located) in [
            (at("home/.claude/projects/-p/there.jsonl"), Some("-p/there.jsonl")),
            (at("home/.claude/projects/-p/./new.jsonl"), Some("-p/new.jsonl")),
            (at("home/.claude/projects/-new/new.jsonl"), Some("-new/new.jsonl")),
            (at("same/.claude/projects/-p/there.jsonl"), Some("-p/there.jsonl")),
            ("~/.claude/projects/-p/there.jsonl".to_owned(), Some("-p/there.jsonl")),
            (at("home/.claude/projects/-p/new/subagents/agent-a1.jsonl"), Some("-p/new/subagents/agent-a1.jsonl")),
            (at("home/.claude/projects/-p/../-p/there.jsonl"), None),
            (at("home/.claude/projects/../../x.jsonl"), None),
            (at("home/.claude/projects/-p/notes.txt"), None),
            (at("home/.claude/projects"), None),
            (at("outside/-q/s.jsonl"), None),
            (at("home/.claude/projects/-linked/s.jsonl"), None),
            (at("home/.claude/projects/-p/s.jsonl"), None),
            (at("home/.claude/projects/-p/dangling.jsonl"), None),
            ("home/.claude/projects/-p/there.jsonl".to_owned(), None),
            ("-p/there.jsonl".to_owned(), None),
            ("~other/.claude/projects/-p/there.jsonl".to_owned(), None),
            (String::new(), None),
            ("/".repeat(5_000), None),
            (at("home/.claude/projects/-p/\0.jsonl"), None),
            (at("home/.claude/projects/-p/there.jsonl/x.jsonl"), None),
        ] {
            for root in [&root, &linked] {
                let found = locate(std::slice::from_ref(root), &written, Some(&top.join("home")));
                let found = found.map(|(path, _)| path);
                assert_eq!(found, located.map(|below| root.projects.join(below)), "{written}");
            }
        }
        for (written, expected) in [
            ("home/.claude/projects/-p/new.jsonl", true),
            ("home/.claude/projects/-linked/s.jsonl", true),
            ("home/.claude/projects/../projects/-p/new.jsonl", false),
            ("home/.claude/projects/-p/notes.txt", false),
            ("outside/-q/s.jsonl", false),
        ] {
            let found = written_below(std::slice::from_ref(&root), &at(written), None);
            assert_eq!(found.is_some(), expected, "{written}");
        }
        assert!(locate(&[], &at("home/.claude/projects/-p/there.jsonl"), None).is_none());

        // A root that does not exist yet, and a dangling one.
        symlink(top.join("nowhere"), top.join("gone")).unwrap();
        for (folder, expected) in [("fresh/.claude", true), ("gone", false)] {
            let root = Root::claude_code(&top.join(folder));
            let first = at(&format!("{folder}/projects/-p/first.jsonl"));
            let found = locate(std::slice::from_ref(&root), &first, None).map(|(path, _)| path);
            assert_eq!(found, expected.then(|| root.projects.join("-p/first.jsonl")), "{folder}");
            assert!(locate(std::slice::from_ref(&root), &at("outside/-q/s.jsonl"), None).is_none());
        }
    }
}
