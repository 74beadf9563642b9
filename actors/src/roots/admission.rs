//! Whether a directory that a client named may be read. Whoever can write into it can put words into the memory.

use std::fs::{self, Metadata};
use std::path::Path;

use crate::files;

/// The directory as it is recorded, or why it is not taken and what to do. `projects` are those whose sessions are
/// tracked. Looks at the disk.
pub(super) fn check(named: &Path, projects: &[String]) -> Result<String, String> {
    if !named.is_absolute() {
        return Err("its path is not absolute".to_owned());
    }
    let real = fs::canonicalize(named).map_err(|error| format!("it cannot be looked at: {error}"))?;
    let path = files::text(&real).ok_or("its path is no UTF-8")?;
    // A link may lead somewhere else altogether: both must be as they have to be.
    let transcripts = real.join("projects");
    let transcripts = fs::canonicalize(&transcripts).map_err(|_| "it holds no directory `projects`".to_owned())?;
    for directory in [&real, &transcripts] {
        let shown = directory.display();
        let metadata = fs::metadata(directory).map_err(|error| format!("{shown} cannot be looked at: {error}"))?;
        if !metadata.is_dir() {
            return Err(format!("{shown} is no directory"));
        }
        is_private(&metadata).map_err(|why| format!("{shown} {why}"))?;
        if let Some(top) = directory.ancestors().find(|above| above.join(".git").symlink_metadata().is_ok()) {
            return Err(format!("it lies in the git work tree {}", top.display()));
        }
        if let Some(project) = projects.iter().find(|project| directory.starts_with(project)) {
            return Err(format!("it lies in the tracked project {project}"));
        }
    }
    Ok(path)
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

/// What protects a directory here is the list of its owner's home.
#[cfg(not(unix))]
fn is_private(_metadata: &Metadata) -> Result<(), String> {
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::PathBuf;

    use super::*;

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
        let empty = root.join("empty");
        fs::create_dir(&empty).unwrap();
        let linked = root.join("linked");
        symlink(&good, &linked).unwrap();
        let trap = root.join("trap");
        fs::create_dir(&trap).unwrap();
        symlink(repository.join("projects"), trap.join("projects")).unwrap();
        let taken = Ok(good.to_str().unwrap().to_owned());
        let projects = [root.join("work/app").to_str().unwrap().to_owned()];
        for (named, expected) in [
            (good.clone(), Ok("")),
            (linked, Ok("")),
            (good.join("../good/."), Ok("")),
            (PathBuf::from("relative"), Err("not absolute")),
            (root.join("nowhere"), Err("cannot be looked at")),
            (empty, Err("holds no directory `projects`")),
            (open, Err("can be written by others")),
            (half_open, Err("can be written by others")),
            (repository, Err("lies in the git work tree")),
            (worktree, Err("lies in the git work tree")),
            (tracked, Err("lies in the tracked project")),
            (trap, Err("lies in the git work tree")),
        ] {
            let checked = check(&named, &projects);
            match expected {
                Ok(_) => assert_eq!(checked, taken, "{}", named.display()),
                Err(why) => {
                    assert!(checked.as_ref().is_err_and(|said| said.contains(why)), "{}: {checked:?}", named.display());
                }
            }
        }
    }
}
