//! Checks the path of the notes, which must be neither among transcripts nor among Baton's own files.

use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use super::parse::{Parsed, Remark};
use crate::settings::Vault;
use baton_base::bounded_fs;

/// The folder of the home's own vault.
const OWN: &str = "vault";

/// The reason why `vault.path` is refused, if it is. Files of the home or of an agent would be taken for notes, or
/// notes for theirs.
pub(super) fn why_refused(parsed: &Parsed, home: Option<&Path>, watched: &[PathBuf]) -> Option<Remark> {
    let (path, line) = parsed.values.get("vault.path")?;
    let path = Path::new(path.as_str()?);
    let root = parsed.values.get("vault.root").and_then(|(root, _)| root.as_str());
    let usual = Vault::default().root;
    let vault = resolved_in_time(path);
    let notes = vault.join(root.unwrap_or(&usual));
    let refused = |why: String| Some(Remark { line: Some(*line), what: format!("vault.path: {why}") });
    if vault.parent().is_none() {
        return refused(format!(
            "{} is the root of a disk, and everything there would be taken for part of the vault; name a folder below it, or null",
            path.display()
        ));
    }
    if let Some(home) = home.map(resolved) {
        if notes.starts_with(&home) && !notes.starts_with(home.join(OWN)) {
            return refused(format!(
                "it lies in BATON_HOME, which has other files; remove the key to use {}, or name a folder elsewhere",
                home.join(OWN).display()
            ));
        }
        if home.starts_with(&notes) {
            return refused("BATON_HOME lies among its notes; name another folder".to_owned());
        }
    }
    let configured = parsed.values.get("session_tracking.watch_directories").and_then(|(paths, _)| paths.as_array());
    let watched: Vec<PathBuf> = match configured {
        Some(paths) => paths.iter().filter_map(|path| Some(PathBuf::from(path.as_str()?))).collect(),
        None => watched.to_vec(),
    };
    let meets = |watched: &PathBuf| {
        let watched = resolved(watched);
        notes.starts_with(&watched) || watched.starts_with(&notes)
    };
    match watched.iter().find(|watched| meets(watched)) {
        Some(watched) => {
            refused(format!("it lies where transcripts are read ({}); name a folder elsewhere", watched.display()))
        }
        None => None,
    }
}

/// How long resolving the path may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// Like [`resolved`], but a path on a disk that does not answer stays as it is written.
fn resolved_in_time(path: &Path) -> PathBuf {
    let sought = path.to_owned();
    bounded_fs::within(PATIENCE, move || resolved(&sought)).unwrap_or_else(|| plain(path))
}

/// A path without `.` and `..`, from its text alone.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

/// A path without links and `..`; the part that does not exist stays as it is written.
fn resolved(path: &Path) -> PathBuf {
    let plain = plain(path);
    for known in plain.ancestors() {
        if let (Ok(real), Ok(rest)) = (std::fs::canonicalize(known), plain.strip_prefix(known)) {
            return if rest.as_os_str().is_empty() { real } else { real.join(rest) };
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_path_is_read_without_its_detours() {
        assert_eq!(plain(Path::new("/a/./b/../c")), Path::new("/a/c"));
    }

    #[test]
    fn notes_lie_neither_among_transcripts_nor_among_our_own_files() {
        let temp = tempfile::tempdir().unwrap();
        let at = |name: &str| temp.path().join(name);
        for folder in ["home/log", "home/vault", "agent/projects", "mine"] {
            std::fs::create_dir_all(at(folder)).unwrap();
        }
        #[cfg(unix)]
        for (to, from) in [("home/log", "link"), ("/", "top")] {
            std::os::unix::fs::symlink(at(to), at(from)).unwrap();
        }
        let look = |path: &str, root: Option<&str>, watched: Option<&str>| {
            let mut parsed = Parsed::default();
            parsed.values.insert("vault.path", (json!(at(path)), 3));
            if let Some(root) = root {
                parsed.values.insert("vault.root", (json!(root), 4));
            }
            if let Some(watched) = watched {
                parsed.values.insert("session_tracking.watch_directories", (json!([at(watched)]), 5));
            }
            why_refused(&parsed, Some(&at("home")), &[at("agent/projects")]).map(|remark| remark.to_string())
        };
        for (path, root, watched, why) in [
            ("mine", None, None, ""),
            ("missing", None, None, ""),
            ("home/vault", None, None, ""),
            ("home", Some("vault"), None, ""),
            ("home", None, None, "in BATON_HOME"),
            ("home/log", None, None, "in BATON_HOME"),
            ("mine/../home/log", None, None, "in BATON_HOME"),
            ("", Some("home"), None, "in BATON_HOME"),
            ("agent", None, None, ""),
            ("agent", Some("projects"), None, "transcripts are read"),
            ("agent/projects/deep/below", None, None, "transcripts are read"),
            ("", Some("agent"), None, "transcripts are read"),
            ("mine", None, Some("mine/claude/logs"), "transcripts are read"),
            ("/", None, None, "vault.path: / is the root of a disk"),
            ("/", Some("claude"), None, "name a folder below it"),
            ("/..", None, None, "root of a disk"),
            ("mine/../../../../../../../../../../../..", None, None, "root of a disk"),
            ("agent/projects", None, Some("mine"), ""),
        ] {
            let told = look(path, root, watched).unwrap_or_default();
            assert!(told.contains(why) && told.is_empty() == why.is_empty(), "{path} {root:?}: {told:?}");
        }
        if cfg!(unix) {
            assert!(look("link", None, None).unwrap().contains("in BATON_HOME"), "a link does not hide it");
            assert!(look("top", None, None).unwrap().contains("root of a disk"), "nor that");
        }
    }
}
