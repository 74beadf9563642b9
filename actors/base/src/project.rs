//! Determines the project of a working directory: the top level of its git work tree, with linked worktrees and clones
//! on the same disk joined to their repository, or else the directory itself.
//!
//! Reads the file system instead of running `git`, which may not be installed and costs more.

mod sight;

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use baton_events::project;
use baton_events::session::Place;

use sight::Sight;

/// Parent directories that are searched for `.git`.
const LEVELS: usize = 64;
/// A `.git` file is one line; a longer file is ignored.
const GIT_FILE_BYTES: u64 = 4096;
/// Bytes of git's configuration that are read.
const GIT_CONFIG_BYTES: u64 = 64 * 1024;
/// How far a clone of a clone on the same disk is followed.
const CLONES_OF_CLONES: usize = 4;

static SIGHT: Sight = Sight::new();

/// Like [`resolve`], but bounded by [`crate::limits::ROOT`]. `None` if the file system does not answer.
pub fn resolve_in_time(cwd: &str) -> Option<Place> {
    let written = cwd.to_owned();
    SIGHT.look(Path::new(cwd), move |_| resolve(&written))
}

/// The place of a directory named by a caller: as found on disk, or from the path as written if the disk does not
/// answer.
pub fn resolve_or_as_written(cwd: &str) -> Place {
    resolve_in_time(cwd).unwrap_or_else(|| {
        let cwd = without_controls(cwd);
        let project = plain(Path::new(&*cwd)).to_string_lossy().into_owned();
        Place::new(cwd, project)
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

/// The place of a working directory as it is on disk now. A directory that is gone is its own project, unless its path
/// tells another; see [`project::of_path`]. Every spelling of a directory, with links, `..` or a trailing slash, gives
/// one project. Control characters are replaced in both paths: a transcript may contain anything, and paths end up in
/// lists, on terminals and in the memory.
pub fn resolve(cwd: &str) -> Place {
    let cwd = without_controls(cwd);
    let (project, remote) = project_and_remote(&cwd, CLONES_OF_CLONES);
    // The target of a `.git` file may contain anything, too.
    named_for_repository(Place::new(&*cwd, without_controls(&project)).with_remote(remote))
}

/// This place in the directory that its clone is named for, unless another repository is there; see
/// [`project::named_for`].
pub fn named_for_repository(place: Place) -> Place {
    let Some(remote) = &place.remote else { return place };
    let Some(named) = project::named_for(&place.project, remote) else { return place };
    let there = Repository::find(Path::new(&named)).filter(|there| there.top == Path::new(&named));
    match there.is_none_or(|there| there.remote().as_ref() == Some(remote)) {
        true => place.in_project(named),
        false => place,
    }
}

/// Replaces each control character by U+FFFD.
fn without_controls(path: &str) -> Cow<'_, str> {
    match path.contains(char::is_control) {
        true => Cow::Owned(path.replace(char::is_control, "\u{fffd}")),
        false => Cow::Borrowed(path),
    }
}

/// The project of a working directory, and the address of its repository.
fn project_and_remote(cwd: &str, clones: usize) -> (String, Option<String>) {
    let written = Path::new(cwd);
    if !written.is_absolute() {
        // A path of another machine, as Windows writes them, or something that cannot be looked up.
        let project = cwd.trim_end_matches(['/', '\\']);
        return (if project.is_empty() { cwd } else { project }.to_owned(), None);
    }
    let itself = real(written).unwrap_or_else(|| plain(written));
    let told = itself.to_str().map(|path| PathBuf::from(&*project::of_path(path))).unwrap_or_else(|| itself.clone());
    let found = Repository::find(&itself)
        // Of a worktree that is gone, only directories above its repository may be left.
        .filter(|found| told == itself || found.top == told || !told.starts_with(&found.top))
        .or_else(|| Repository::find(&told).filter(|found| found.top == told));
    let Some(found) = found else { return (told.to_str().unwrap_or(cwd).to_owned(), None) };
    let address = found.address();
    if let Some(original) = address.as_deref().filter(|_| clones > 0).and_then(|address| found.original(address)) {
        return project_and_remote(&original, clones - 1);
    }
    let top = real(&found.top).unwrap_or(found.top);
    (top.to_str().unwrap_or(cwd).to_owned(), address.as_deref().and_then(project::remote))
}

/// Resolves links. `None` on Windows, where that gives paths in an unusual form.
fn real(path: &Path) -> Option<PathBuf> {
    if cfg!(windows) { None } else { fs::canonicalize(path).ok() }
}

/// A git repository on disk.
struct Repository {
    /// The top level of its main work tree; of a bare one, itself.
    top: PathBuf,
    /// Where its configuration lies.
    git: PathBuf,
}

impl Repository {
    /// The repository of a directory.
    fn find(directory: &Path) -> Option<Self> {
        directory.ancestors().take(LEVELS).find_map(|directory| {
            let git = directory.join(".git");
            let metadata = fs::metadata(&git).ok()?;
            match metadata.is_dir() {
                true => Some(Self { top: directory.to_owned(), git }),
                false if metadata.len() <= GIT_FILE_BYTES => Self::of_pointer(directory, &git),
                false => None,
            }
        })
    }

    /// The repository of a directory whose `.git` is a file. A worktree's reads `gitdir: /repo/.git/worktrees/name` and
    /// joins the project at `/repo`. A submodule's points into `modules/`, and it stays a project of its own.
    fn of_pointer(directory: &Path, git: &Path) -> Option<Self> {
        let text = fs::read_to_string(git).ok()?;
        let pointed = PathBuf::from(text.strip_prefix("gitdir:")?.trim());
        let pointed = plain(&if pointed.is_absolute() { pointed } else { directory.join(pointed) });
        let common = pointed.parent().filter(|parent| parent.ends_with("worktrees")).and_then(Path::parent);
        Some(match common {
            // `/repo/.git` belongs to `/repo`; a bare repository is its own top level.
            Some(common) if common.ends_with(".git") => {
                Self { top: common.parent()?.to_owned(), git: common.to_owned() }
            }
            Some(common) => Self { top: common.to_owned(), git: common.to_owned() },
            None => Self { top: directory.to_owned(), git: pointed },
        })
    }

    /// The address from which it was cloned, as written: that of `origin`, else of its first remote.
    fn address(&self) -> Option<String> {
        let mut text = String::new();
        File::open(self.git.join("config")).ok()?.take(GIT_CONFIG_BYTES).read_to_string(&mut text).ok()?;
        let (mut remote, mut first) = (None, None);
        for line in text.lines().map(str::trim) {
            if line.starts_with('[') {
                remote = line.strip_prefix("[remote \"").and_then(|rest| rest.strip_suffix("\"]"));
            } else if let (Some(name), Some((key, value))) = (remote, line.split_once('='))
                && key.trim() == "url"
            {
                match name {
                    "origin" => return Some(value.trim().to_owned()),
                    _ => first = first.or(Some(value.trim().to_owned())),
                }
            }
        }
        first
    }

    /// Its address on a network; see [`project::remote`].
    fn remote(&self) -> Option<String> {
        self.address().as_deref().and_then(project::remote)
    }

    /// The directory from which it was cloned, if its address is one that is there.
    fn original(&self, address: &str) -> Option<String> {
        let path = Path::new(address.strip_prefix("file://").unwrap_or(address));
        let is_path = path.is_absolute() || address.starts_with('.');
        let original =
            is_path.then(|| plain(&self.top.join(path))).filter(|path| *path != self.top && path.is_dir())?;
        original.to_str().map(str::to_owned)
    }
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

    /// Layouts as agents and people make them, beside a home that is a repository itself.
    #[test]
    fn twelve_layouts_of_one_repository_are_one_project() {
        let temp = tempfile::tempdir().unwrap();
        let root = &fs::canonicalize(temp.path()).unwrap();
        let shop = root.join("u/projects/shop");
        let clone_of = |directory: &str, address: &str| {
            let git = root.join(directory).join(".git");
            fs::create_dir_all(git.join("worktrees")).unwrap();
            let config = format!("[core]\n\tbare = false\n[remote \"origin\"]\n\turl = {address}\n\tfetch = +refs/*\n");
            fs::write(git.join("config"), config).unwrap();
        };
        let worktree = |directory: &str| {
            fs::create_dir_all(root.join(directory).join("src")).unwrap();
            let name = Path::new(directory).file_name().unwrap().to_str().unwrap();
            let pointer = format!("gitdir: {}\n", shop.join(".git/worktrees").join(name).display());
            fs::write(root.join(directory).join(".git"), pointer).unwrap();
        };
        fs::create_dir_all(root.join("u/.git")).unwrap();
        let address = "https://me:secret@github.com/acme/shop.git";
        clone_of("u/projects/shop", address);
        clone_of("u/projects/shop-10", "git@github.com:acme/shop.git");
        clone_of("u/copies/of", shop.to_str().unwrap());
        clone_of("u/copies/relative", "../../projects/shop");
        worktree("u/projects/shop/.claude/worktrees/agent-a4ca7529");
        worktree("u/elsewhere/fix");
        worktree("u/projects/shop-worktrees/3");
        let shown = shop.to_str().unwrap();
        for (layout, directory) in [
            ("the repository", "u/projects/shop"),
            ("a numbered clone", "u/projects/shop-10"),
            ("a copy on this disk", "u/copies/of"),
            ("a copy by a relative path", "u/copies/relative"),
            ("a worktree of Claude Code", "u/projects/shop/.claude/worktrees/agent-a4ca7529/src"),
            ("a worktree anywhere", "u/elsewhere/fix/src"),
            ("a worktree beside it", "u/projects/shop-worktrees/3"),
            ("one below it that is gone", "u/projects/shop/.worktrees/gone/src"),
            ("one of Claude Code that is gone", "u/projects/shop/.claude/worktrees/228/.build/cwd"),
            ("one beside it that is gone", "u/projects/shop-worktrees/gone"),
            ("another", "u/projects/shop__worktrees/gone/.agentv/results/x"),
            ("a third", "u/projects/shop-wt/gone"),
        ] {
            let place = resolve(root.join(directory).to_str().unwrap());
            assert_eq!(place.project, shown, "{layout}");
            assert_eq!(place.remote.as_deref(), Some("github.com/acme/shop"), "{layout}");
        }
        // A repository of another address keeps its name, and one without an address is its own.
        clone_of("u/projects/cart", "https://github.com/acme/trolley");
        clone_of("u/projects/trolley-2", "https://github.com/other/trolley");
        clone_of("u/projects/trolley", "https://github.com/acme/trolley");
        for (directory, expected) in
            [("u/projects/cart", "u/projects/cart"), ("u/projects/trolley-2", "u/projects/trolley-2"), ("u/x", "u")]
        {
            assert_eq!(project(&root.join(directory)), root.join(expected), "{directory}");
        }
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
