//! Determines the project of a working directory: the top level of its git work tree, with linked worktrees joined to
//! their repository, or else the directory itself.
//!
//! Reads the file system instead of running `git`, which may not be installed and costs more.

mod mounts;
mod sight;

use std::borrow::Cow;
use std::fs;
use std::path::{Component, Path, PathBuf};

use baton_events::session::Place;

use sight::Sight;

/// Parent directories that are searched for `.git`.
const LEVELS: usize = 64;
/// A `.git` file is one line; a longer file is ignored.
const GIT_FILE_BYTES: u64 = 4096;

static SIGHT: Sight = Sight::new();

/// Like [`resolve`], but bounded by [`crate::limits::ROOT`]. `None` if the file system does not answer.
pub fn resolve_in_time(cwd: &str) -> Option<Place> {
    let written = cwd.to_owned();
    SIGHT.look(Path::new(cwd), move |_| resolve(&written))
}

/// The place of a directory that a caller names: as it is on disk, or as it is written if the disk does not answer.
pub fn resolve_or_as_written(cwd: &str) -> Place {
    resolve_in_time(cwd).unwrap_or_else(|| {
        let cwd = without_controls(cwd);
        Place { cwd: cwd.clone().into_owned(), project: plain(Path::new(&*cwd)).to_string_lossy().into_owned() }
    })
}

/// Checks a directory without blocking a thread. If it does not answer, it is marked as hung, so the next caller does
/// not wait for it.
pub async fn probe(cwd: &str) {
    let _ = SIGHT.look_soon(Path::new(cwd), |directory| directory.is_dir()).await;
}

/// True if the path is a directory; false if it does not answer.
pub fn is_directory(path: &str) -> bool {
    SIGHT.look(Path::new(path), Path::is_dir).unwrap_or(false)
}

/// A remark for an answer about this directory if it does not answer, else empty. Does not access the disk.
pub fn unresponsive_note(cwd: &str) -> &'static str {
    if SIGHT.is_hung(Path::new(cwd)) {
        " (its file system does not answer, so the path is used as written)"
    } else {
        ""
    }
}

/// The place of a working directory as it is on disk now. A directory that is gone is its own project. Every spelling
/// of a directory, with links, `..` or a trailing slash, gives one project. Control characters are replaced in both
/// paths: a transcript may contain anything, and paths end up in lists, on terminals and in the memory.
pub fn resolve(cwd: &str) -> Place {
    let Place { cwd, project } = as_written(&without_controls(cwd));
    // The target of a `.git` file may contain anything, too.
    Place { cwd, project: without_controls(&project).into_owned() }
}

/// Replaces each control character by U+FFFD.
fn without_controls(path: &str) -> Cow<'_, str> {
    match path.contains(char::is_control) {
        true => Cow::Owned(path.replace(char::is_control, "\u{fffd}")),
        false => Cow::Borrowed(path),
    }
}

fn as_written(cwd: &str) -> Place {
    let written = Path::new(cwd);
    if !written.is_absolute() {
        // A path of another machine, as Windows writes them, or something that cannot be looked up.
        let project = cwd.trim_end_matches(['/', '\\']);
        return Place { cwd: cwd.to_owned(), project: if project.is_empty() { cwd } else { project }.to_owned() };
    }
    let cwd_itself = real(written).unwrap_or_else(|| plain(written));
    let project = git_top_level(&cwd_itself).unwrap_or(cwd_itself);
    let project = real(&project).unwrap_or(project);
    Place { cwd: cwd.to_owned(), project: project.to_str().unwrap_or(cwd).to_owned() }
}

/// Resolves links. `None` on Windows, where that gives paths in an unusual form.
fn real(path: &Path) -> Option<PathBuf> {
    if cfg!(windows) { None } else { fs::canonicalize(path).ok() }
}

fn git_top_level(cwd: &Path) -> Option<PathBuf> {
    cwd.ancestors().take(LEVELS).find_map(|directory| {
        let git = directory.join(".git");
        let metadata = fs::metadata(&git).ok()?;
        match metadata.is_dir() {
            true => Some(directory.to_owned()),
            false if metadata.len() <= GIT_FILE_BYTES => joined_worktree(directory, &git),
            false => None,
        }
    })
}

/// The project of a directory whose `.git` is a file. A worktree's reads `gitdir: /repo/.git/worktrees/name` and joins
/// the project at `/repo`. A submodule's points into `modules/`, and it stays a project of its own.
fn joined_worktree(directory: &Path, git: &Path) -> Option<PathBuf> {
    let text = fs::read_to_string(git).ok()?;
    let pointed = PathBuf::from(text.strip_prefix("gitdir:")?.trim());
    let pointed = plain(&if pointed.is_absolute() { pointed } else { directory.join(pointed) });
    let common = pointed.parent().filter(|parent| parent.ends_with("worktrees")).and_then(Path::parent);
    Some(match common {
        // `/repo/.git` belongs to `/repo`; a bare repository is its own top level.
        Some(common) if common.ends_with(".git") => common.parent()?.to_owned(),
        Some(common) => common.to_owned(),
        None => directory.to_owned(),
    })
}

/// Resolves `.` and `..` without access to the disk.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project(cwd: &Path) -> PathBuf {
        PathBuf::from(resolve(cwd.to_str().unwrap()).project)
    }

    #[test]
    fn a_directory_belongs_to_its_git_top_level_and_worktrees_join() {
        let temp = tempfile::tempdir().unwrap();
        let root = &fs::canonicalize(temp.path()).unwrap();
        for directory in ["repo/.git/worktrees/fix", "repo/src/deep", "trees/fix/src", "plain/sub", "repo/module/lib"] {
            fs::create_dir_all(root.join(directory)).unwrap();
        }
        let pointer = format!("gitdir: {}\n", root.join("repo/.git/worktrees/fix").display());
        fs::write(root.join("trees/fix/.git"), pointer).unwrap();
        fs::write(root.join("repo/module/.git"), "gitdir: ../.git/modules/module\n").unwrap();
        assert_eq!(project(&root.join("repo/src/deep")), root.join("repo"));
        assert_eq!(project(&root.join("trees/fix/src")), root.join("repo"));
        assert_eq!(project(&root.join("repo/module/lib")), root.join("repo/module"));
        assert_eq!(project(&root.join("plain/sub")), root.join("plain/sub"));
        assert_eq!(project(Path::new("/no/such/place")), Path::new("/no/such/place"));
        assert_eq!(resolve("relative").project, "relative");
    }

    #[test]
    fn no_control_character_is_part_of_a_place() {
        for (written, expected) in [
            ("/srv/a\u{1f}/srv/other", "/srv/a\u{fffd}/srv/other"),
            ("/srv/a\nSessions: none", "/srv/a\u{fffd}Sessions: none"),
            ("/srv/\u{1b}[2Ja\u{9b}", "/srv/\u{fffd}[2Ja\u{fffd}"),
            ("C:\\a\u{1f}b", "C:\\a\u{fffd}b"),
        ] {
            let place = resolve(written);
            assert_eq!((place.cwd.as_str(), place.project.as_str()), (expected, expected), "{written:?}");
        }
        // Nor does a file that a work tree names.
        let temp = tempfile::tempdir().unwrap();
        let root = &fs::canonicalize(temp.path()).unwrap();
        fs::write(root.join(".git"), "gitdir: /srv/a\u{1f}/srv/other/.git/worktrees/x\n").unwrap();
        assert_eq!(project(root), Path::new("/srv/a\u{fffd}/srv/other"));
    }

    #[test]
    fn a_directory_is_one_project_however_it_is_written() {
        let temp = tempfile::tempdir().unwrap();
        let root = &fs::canonicalize(temp.path()).unwrap();
        let real = root.join("größe 日本/app");
        fs::create_dir_all(real.join(".git")).unwrap();
        fs::create_dir_all(real.join("src")).unwrap();
        for written in
            ["größe 日本/app", "größe 日本/app/", "größe 日本/./app", "größe 日本/app/src/..", "größe 日本/app/src/"]
        {
            assert_eq!(project(&root.join(written)), real, "{written}");
        }
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(&real, root.join("link")).unwrap();
            assert_eq!(project(&root.join("link/src")), real);
        }
        for (gone, expected) in [
            ("/gone/app/", "/gone/app"),
            ("/gone/app/../other", "/gone/other"),
            ("/", "/"),
            (r"C:\Users\dev\app", r"C:\Users\dev\app"),
            (r"C:\Users\dev\app\", r"C:\Users\dev\app"),
            ("", ""),
        ] {
            assert_eq!(resolve(gone).project, expected, "{gone}");
            assert_eq!(resolve(gone).cwd, gone);
        }
    }
}
