//! The project of a directory as far as its path tells: worktrees that tools make beside or below a repository belong
//! to the repository, also when they are gone.
//!
//! # Decisions
//!
//! - The path decides even where a directory is there and would be a repository of its own: what a tool puts below
//!   `x-worktrees/` is work on `x`, and a session must not change its project when the directory goes.
//! - Nothing recorded changes: the project of a recorded place is derived when it is read; see
//!   [`Place`](crate::session::Place).
//! - A remote is kept as host and path alone: no scheme, no user, no password.

use std::borrow::Cow;

/// Names of directories that hold worktrees of the repository above them.
const WORKTREES: [&str; 3] = ["worktrees", ".worktrees", ".worktree"];
/// Ends of names of directories that hold worktrees of the repository beside them: `shop-worktrees/fix`.
const ENDS: [&str; 8] =
    ["-worktrees", "__worktrees", "_worktrees", ".worktrees", "-worktree", ".worktree", "-wt", ".wt"];
/// Names of directories in which people keep projects, so that none of them is a project.
const SHELVES: [&str; 21] = [
    "code",
    "desktop",
    "dev",
    "development",
    "documents",
    "downloads",
    "git",
    "github",
    "home",
    "projects",
    "repos",
    "repositories",
    "sources",
    "src",
    "srv",
    "temp",
    "tmp",
    "users",
    "work",
    "workspace",
    "workspaces",
];
/// Names that many directories have, so that two of them need not be copies.
const COMMON: [&str; 18] = [
    "app",
    "backend",
    "client",
    "clone",
    "copy",
    "cwd",
    "demo",
    "example",
    "frontend",
    "project",
    "repo",
    "repository",
    "sandbox",
    "server",
    "site",
    "test",
    "tests",
    "web",
];
/// Folders of short-lived copies, below the root.
const TEMPORARY: [&str; 5] = ["tmp/", "var/tmp/", "private/", "var/folders/", "dev/shm/"];
/// Longest remote that is kept.
const REMOTE_BYTES: usize = 300;

/// The project of a path: the repository of the worktree that the path names, else the path itself.
pub fn of_path(path: &str) -> Cow<'_, str> {
    let mut project = Cow::Borrowed(path);
    // A worktree may lie in another one.
    while let Some((outer, _)) = repository(&project) {
        project = Cow::Owned(outer);
    }
    project
}

/// A path relative to the worktree of a project in which it lies; `None` if it lies in none.
pub fn below_worktree(path: &str, project: &str) -> Option<String> {
    repository(path).filter(|(of, rest)| of == project && !rest.is_empty()).map(|(_, rest)| rest)
}

/// The last part of a path.
pub fn name(path: &str) -> &str {
    let path = path.trim_end_matches(['/', '\\']);
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// True if a project's directory is where tools put copies of repositories that lie elsewhere.
pub fn is_copy(project: &str) -> bool {
    let is_shelf_of_copies = |part: &str| WORKTREES.contains(&part);
    let below_root = project.strip_prefix('/').unwrap_or_default();
    TEMPORARY.iter().any(|folder| below_root.starts_with(folder))
        || project.contains("\\AppData\\Local\\Temp\\")
        || project.contains("/conductor/workspaces/")
        || project.split(['/', '\\']).rev().skip(1).any(is_shelf_of_copies)
}

/// True if two projects with this name are the same one if one of them is a copy.
pub fn is_telling(name: &str) -> bool {
    let lower = name.to_lowercase();
    name.chars().count() > 2 && !is_id(name) && !COMMON.contains(&&*lower) && !SHELVES.contains(&&*lower)
}

/// A remote address as host and path: `github.com/acme/shop` for `git@github.com:acme/shop.git`. `None` for anything
/// that is not on a network.
pub fn remote(address: &str) -> Option<String> {
    let address = address.trim();
    let rest = match address.split_once("://") {
        Some(("https" | "http" | "ssh" | "git" | "git+ssh", rest)) => rest.to_owned(),
        Some(_) => return None,
        // `user@host:path`; a drive letter is no host.
        None => {
            let (host, path) =
                address.split_once(':').filter(|(host, _)| host.len() > 1 && !host.contains(['/', '\\']))?;
            format!("{host}/{}", path.trim_start_matches('/'))
        }
    };
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let (host, path) = rest.split_once('/')?;
    let host = host.rsplit('@').next().unwrap_or(host);
    let host = host.split(':').next().unwrap_or(host).to_lowercase();
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    let is_fit = !host.is_empty() && !path.is_empty() && path.len() + host.len() < REMOTE_BYTES;
    (is_fit && !rest.contains(|c: char| c.is_control() || c == ' ')).then(|| format!("{host}/{path}"))
}

/// The directory that a clone is named for: `/w/shop` for `/w/shop-2` or `/w/3` with the remote `github.com/acme/shop`.
/// `None` if its own name tells as much.
pub fn named_for(project: &str, remote: &str) -> Option<String> {
    let (own, repository) = (name(project), name(remote));
    let is_numbered = || {
        let start = own.get(..repository.len()).filter(|start| start.eq_ignore_ascii_case(repository));
        let rest = start.and_then(|_| own.get(repository.len()..)).unwrap_or_default();
        rest.len() > 1 && rest.starts_with(['-', '_', '.'])
    };
    let above = project.trim_end_matches(['/', '\\']).strip_suffix(own)?;
    (own != repository && !above.is_empty() && (is_numbered() || is_id(own))).then(|| format!("{above}{repository}"))
}

/// The repository of the outermost worktree in a path, and what follows the worktree; `None` if there is none.
fn repository(path: &str) -> Option<(String, String)> {
    let separator = if path.contains('/') { '/' } else { '\\' };
    let parts: Vec<&str> = path.split(separator).collect();
    let below = |at: usize| parts.get(at).filter(|part| !part.is_empty());
    let joined = |parts: &[&str]| parts.join(&separator.to_string());
    for at in 1..parts.len() {
        let part = parts[at];
        let Some(first) = below(at + 1) else { break };
        if first.starts_with('.') {
            // No tool names a worktree so: `part` is an ordinary directory.
            continue;
        }
        // The repository, and the number of parts of the worktree.
        let found = if part == "workspaces" && parts[at - 1] == "conductor" {
            // `conductor/workspaces/shop/lima`
            below(at + 2).map(|_| (joined(&parts[..=at + 1]), at + 3))
        } else if WORKTREES.contains(&part) {
            // `shop/worktrees/fix`, `shop/.claude/worktrees/fix`
            let is_hidden = parts[at - 1].starts_with('.') && parts[at - 1].len() > 1;
            let above = &parts[..at - usize::from(is_hidden)];
            match is_shelf(above) {
                false => Some((joined(above), at + 2)),
                // `~/.codex/worktrees/3f2a/shop`, `~/worktrees/shop/fix`
                true => below(at + 2).map(|second| match is_id(first) {
                    true => (joined(&[&parts[..=at], &[*second]].concat()), at + 3),
                    false => (joined(&parts[..=at + 1]), at + 3),
                }),
            }
        } else {
            let start = ENDS.iter().find_map(|end| part.strip_suffix(end)).filter(|start| !start.is_empty());
            start.map(|start| (joined(&[&parts[..at], &[start]].concat()), at + 2))
        };
        if let Some((repository, taken)) = found.filter(|(repository, _)| repository != path) {
            return Some((repository, joined(parts.get(taken..).unwrap_or_default())));
        }
    }
    None
}

/// True if a directory is no project, as people keep projects in it.
fn is_shelf(parts: &[&str]) -> bool {
    let named: Vec<&str> = parts.iter().copied().filter(|part| !part.is_empty() && !part.ends_with(':')).collect();
    let is_home = matches!(named.as_slice(), ["home" | "Users", _] | ["root"]);
    is_home || named.last().is_none_or(|last| SHELVES.contains(&&*last.to_lowercase()))
}

/// True for a number or a hexadecimal id.
fn is_id(name: &str) -> bool {
    let is_hex = || name.len() >= 4 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit())
        || is_hex() && name.bytes().any(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worktree_belongs_to_its_repository() {
        for (path, expected) in [
            ("/home/u/projects/spotter-worktrees/spotter-fum/assets", "/home/u/projects/spotter"),
            ("/home/e/Process/agentv__worktrees/runtime-sdk/.agentv/results/w", "/home/e/Process/agentv"),
            ("/home/e/Process/agentv.worktrees/fix-suite", "/home/e/Process/agentv"),
            ("/Users/i/projects/irrlicht-wt/hook-recordings", "/Users/i/projects/irrlicht"),
            ("/Users/i/projects/irrlicht/.claude/worktrees/228/.build/cwd", "/Users/i/projects/irrlicht"),
            ("-experiments/worktrees/.claude/worktrees/agent-a4ca7529", "-experiments/worktrees"),
            ("/srv/shop/.worktrees/3", "/srv/shop"),
            ("/srv/shop/worktrees/3/src", "/srv/shop"),
            ("/home/u/worktrees/shop/fix", "/home/u/worktrees/shop"),
            ("/home/u/worktrees/shop", "/home/u/worktrees/shop"),
            ("/home/u/.codex/worktrees/3f2a/shop", "/home/u/.codex/worktrees/shop"),
            ("/home/u/.cursor/worktrees/shop/Xy1", "/home/u/.cursor/worktrees/shop"),
            ("/Users/u/conductor/workspaces/shop/lima", "/Users/u/conductor/workspaces/shop"),
            (r"C:\Users\u\shop\.claude\worktrees\fix", r"C:\Users\u\shop"),
            ("/tmp/a-worktrees/b/.worktrees/c", "/tmp/a"),
            // None of these is a worktree.
            ("/home/u/shop", "/home/u/shop"),
            ("/home/u/shop-worktrees", "/home/u/shop-worktrees"),
            ("/experiments/worktrees", "/experiments/worktrees"),
            ("/home/u/-wt/x", "/home/u/-wt/x"),
            ("/", "/"),
            ("", ""),
        ] {
            assert_eq!(of_path(path), expected, "{path}");
            assert_eq!(of_path(expected), expected, "a project is its own");
        }
    }

    #[test]
    fn a_path_below_a_worktree_is_relative_to_it() {
        for (path, expected) in [
            ("/srv/shop/.claude/worktrees/fix/src/a.rs", Some("src/a.rs")),
            ("/srv/shop-worktrees/fix/src/a.rs", Some("src/a.rs")),
            ("/srv/shop-worktrees/fix", None),
            ("/srv/shop/src/a.rs", None),
            ("/srv/cart/.worktrees/fix/src/a.rs", None),
        ] {
            assert_eq!(below_worktree(path, "/srv/shop").as_deref(), expected, "{path}");
        }
    }

    #[test]
    fn a_remote_is_host_and_path() {
        for address in [
            "https://github.com/acme/shop.git",
            "https://user:secret@GitHub.com/acme/shop/",
            "git@github.com:acme/shop.git",
            "ssh://git@github.com:22/acme/shop",
        ] {
            assert_eq!(remote(address).as_deref(), Some("github.com/acme/shop"), "{address}");
        }
        for address in ["", "/srv/git/shop.git", "../shop", "file:///srv/shop", r"C:\git\shop", "https://x", "a b:c d"]
        {
            assert_eq!(remote(address), None, "{address}");
        }
    }

    #[test]
    fn a_clone_is_named_for_its_repository_if_its_own_name_tells_nothing() {
        for (project, expected) in [
            ("/w/shop-2", Some("/w/shop")),
            ("/w/shop_copy", Some("/w/shop")),
            ("/w/3", Some("/w/shop")),
            ("/w/3fa2", Some("/w/shop")),
            ("/w/shop", None),
            ("/w/shopping", None),
            ("/w/storefront", None),
            ("/w/face", None),
            ("3", None),
        ] {
            assert_eq!(named_for(project, "github.com/acme/shop").as_deref(), expected, "{project}");
        }
    }

    #[test]
    fn copies_are_told_from_projects() {
        for (project, copy) in [
            ("/tmp/shop", true),
            ("/private/var/folders/x/T/shop", true),
            ("/home/u/.codex/worktrees/shop", true),
            ("/home/u/shop", false),
            ("/experiments/worktrees", false),
        ] {
            assert_eq!(is_copy(project), copy, "{project}");
        }
        assert!(is_telling("shop") && !is_telling("repo") && !is_telling("3fa2") && !is_telling("src"));
    }
}
