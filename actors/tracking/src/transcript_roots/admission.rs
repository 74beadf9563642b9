//! Decides whether a directory named by a client may be read: anyone who can write to it can put words into the memory.
//!
//! # Decisions
//!
//! - A named root is refused where the client works and in any tracked project, also one tracked later; a directory
//!   that holds the daemon's own root counts as a home and is exempt. A refused directory that Claude Code's or Codex's
//!   variable names stops a person's command; nothing is read in its place, and no daemon is started with it. Other
//!   agents' variables often serve other purposes: of these only the agent is left out. A daemon started by a hook or
//!   the MCP server leaves any of them out: it reads the agent's usual directory if its home is `~/.baton`, otherwise
//!   nothing of that agent. Other agents' directories are read as ever.

use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};

use baton_conversation::item::Agent;
use baton_conversation::transcript::layout;

use baton_base::transcript_file;

/// Where a directory must not lie, because a project may have brought it along.
#[derive(Clone, Debug, Default)]
pub(super) struct Grounds {
    /// Projects whose sessions are tracked.
    pub(super) projects: Vec<String>,
    /// Working directories of the client.
    pub(super) works_in: Vec<String>,
    /// The daemon's own directories. A directory that holds one of them is a user's home, not a project.
    pub(super) own: Vec<PathBuf>,
}

/// A directory that may be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Admitted {
    /// The canonical path, as recorded.
    pub(super) config_dir: String,
    /// The canonical path of its transcripts.
    pub(super) transcripts: PathBuf,
}

impl Grounds {
    /// Returns the tracked project that a canonical directory lies in. Does not access the disk.
    pub(super) fn project_of(&self, directory: &Path) -> Option<&str> {
        self.projects.iter().map(String::as_str).find(|project| self.holds(Path::new(project), directory))
    }

    fn holds(&self, ground: &Path, directory: &Path) -> bool {
        directory.starts_with(ground) && !self.own.iter().any(|own| own.starts_with(ground))
    }
}

/// Returns the canonical directory, or why it is not admitted and what to do. Accesses the disk.
pub(super) fn check(agent: Agent, named: &Path, grounds: &Grounds) -> Result<Admitted, String> {
    if !named.is_absolute() {
        return Err("its path is not absolute".to_owned());
    }
    let real = fs::canonicalize(named).map_err(|error| format!("it cannot be looked at: {error}"))?;
    let path = transcript_file::path_text(&real).ok_or("its path is not UTF-8")?;
    // The transcript folder may be a link to elsewhere, so both directories must be admissible.
    let folder = layout(agent).folders.first().copied().unwrap_or_default();
    let transcripts = real.join(folder);
    let transcripts = fs::canonicalize(&transcripts).map_err(|_| format!("it holds no directory `{folder}`"))?;
    admit([&real, &transcripts], grounds)?;
    Ok(Admitted { config_dir: path, transcripts })
}

/// Returns why a folder that an environment variable names for a part of an agent's transcripts is not read, by the rules
/// of [`super::why_unfit`]. Blocks for short disk reads.
pub fn why_unfit_folder(folder: &Path, works_in: &[String]) -> Option<String> {
    let real = match fs::canonicalize(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
        Err(error) => return Some(format!("it cannot be looked at: {error}")),
        Ok(real) => real,
    };
    let own = super::homes_of(super::usual_roots());
    admit([&real], &Grounds { projects: Vec::new(), works_in: works_in.to_vec(), own }).err()
}

fn admit<const N: usize>(directories: [&PathBuf; N], grounds: &Grounds) -> Result<(), String> {
    let works_in = grounds.works_in.iter().map(PathBuf::from).filter(|place| place.is_absolute());
    let works_in: Vec<PathBuf> = works_in.map(|place| fs::canonicalize(&place).unwrap_or(place)).collect();
    for directory in directories {
        let shown = directory.display();
        let metadata = fs::metadata(directory).map_err(|error| format!("{shown} cannot be looked at: {error}"))?;
        if !metadata.is_dir() {
            return Err(format!("{shown} is not a directory"));
        }
        is_private(&metadata).map_err(|why| format!("{shown} {why}"))?;
        if let Some(top) = directory.ancestors().find(|above| above.join(".git").symlink_metadata().is_ok()) {
            return Err(format!("it lies in the git work tree {}", top.display()));
        }
        if let Some(project) = grounds.project_of(directory) {
            return Err(in_project(project));
        }
        if let Some(place) = works_in.iter().find(|place| grounds.holds(place, directory)) {
            return Err(format!("it lies in {}, where the client that names it works", place.display()));
        }
    }
    Ok(())
}

/// The reason for refusing a directory in a tracked project.
pub(super) fn in_project(project: &str) -> String {
    format!("it lies in the tracked project {project}")
}

#[cfg(unix)]
fn is_private(metadata: &Metadata) -> Result<(), String> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err("belongs to another user".to_owned());
    }
    match metadata.permissions().mode() & 0o022 {
        0 => Ok(()),
        _ => Err("can be written by others; run `chmod go-w` on it".to_owned()),
    }
}

/// Elsewhere the access control list of the user's home protects the directory.
#[cfg(not(unix))]
fn is_private(_metadata: &Metadata) -> Result<(), String> {
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn only_what_is_this_users_alone_and_no_part_of_a_work_tree_is_taken() {
        let temp = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(temp.path()).unwrap();
        let make = |name: &str| {
            let directory = root.join(name);
            fs::create_dir_all(directory.join("projects")).unwrap();
            directory
        };
        let mode = |path: &PathBuf, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        let good = make("good");
        let open = make("open");
        mode(&open, 0o777);
        let half_open = make("half-open");
        mode(&half_open.join("projects"), 0o775);
        let repository = make("repo/sub/.claude");
        fs::create_dir(root.join("repo/.git")).unwrap();
        let worktree = make("tree/.claude");
        fs::write(root.join("tree/.git"), "gitdir: /elsewhere").unwrap();
        let tracked = make("work/app/.claude");
        let unpacked = make("unpacked/.evil");
        let beside = make("user/.claude-work");
        fs::create_dir_all(root.join("user/.claude/projects")).unwrap();
        let empty = root.join("empty");
        fs::create_dir(&empty).unwrap();
        let linked = root.join("linked");
        symlink(&good, &linked).unwrap();
        let trap = root.join("trap");
        fs::create_dir(&trap).unwrap();
        symlink(repository.join("projects"), trap.join("projects")).unwrap();
        let bait = root.join("bait");
        fs::create_dir(&bait).unwrap();
        symlink(unpacked.join("projects"), bait.join("projects")).unwrap();
        let text = |name: &str| root.join(name).to_str().unwrap().to_owned();
        let grounds = Grounds {
            projects: vec![text("work/app"), text("user"), "/".to_owned()],
            works_in: vec![text("unpacked/../unpacked"), text("user"), ".".to_owned(), String::new()],
            own: vec![root.join("user/.claude")],
        };
        for (named, expected) in [
            (good.clone(), Ok(&good)),
            (linked, Ok(&good)),
            (good.join("../good/."), Ok(&good)),
            (beside.clone(), Ok(&beside)),
            (PathBuf::from("relative"), Err("not absolute")),
            (root.join("nowhere"), Err("cannot be looked at")),
            (empty, Err("holds no directory `projects`")),
            (open, Err("can be written by others")),
            (half_open, Err("can be written by others")),
            (repository, Err("lies in the git work tree")),
            (worktree, Err("lies in the git work tree")),
            (tracked, Err("lies in the tracked project")),
            (trap, Err("lies in the git work tree")),
            (unpacked, Err("where the client that names it works")),
            (bait, Err("where the client that names it works")),
        ] {
            let checked = check(Agent::ClaudeCode, &named, &grounds);
            match expected {
                Ok(taken) => assert_eq!(checked.unwrap().config_dir, taken.to_str().unwrap(), "{}", named.display()),
                Err(why) => {
                    assert!(checked.as_ref().is_err_and(|said| said.contains(why)), "{}: {checked:?}", named.display());
                }
            }
        }
    }
}
