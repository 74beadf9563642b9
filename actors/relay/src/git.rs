//! A relay's folder that is a git checkout: commits what this machine has added, and brings what others have.
//!
//! Logs and objects travel on the checkout's branch. The sealed keys of sessions do not: history would keep them, and
//! with them everything that is forgotten. Each writer's lie on a branch of its own, `baton-keys/<writer>`, of one commit
//! that is replaced whenever they change.
//!
//! Commits name no person: whoever keeps the repository learns nothing from them.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use baton_base::transcript_file;
use baton_protocol::answer::RelayStatus;

use crate::folder::{MARK, read_whole, write_whole};
use crate::keys::Name;
use crate::seal::Frame;

/// Attempts to push while others do.
const ATTEMPTS: usize = 5;
/// Largest sealed key or invitation.
const MAX_SLOT_BYTES: u64 = 1024 * 1024;
/// What git must not keep: keys, and files that are being written.
const EXCLUDED: &str = "/s/\n*.tmp\n";
const AUTHOR: [&str; 4] = ["-c", "user.name=baton", "-c", "user.email=baton@localhost"];
const KEYS: &str = "refs/baton-keys/";

/// What was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Synced {
    /// True if something of this machine was committed.
    pub committed: bool,
    /// True if there is a remote with which it was exchanged.
    pub exchanged: bool,
    /// Sealed keys of others that arrived or went.
    pub keys: usize,
}

/// Exchanges the folder of a relay in this state, or another one on a machine that has not joined yet. Returns what is to
/// be told.
///
/// # Errors
///
/// See [`sync`].
pub fn exchange_of(status: &RelayStatus, folder: Option<String>) -> Result<&'static str, String> {
    let folder = folder.or_else(|| status.relay.clone()).unwrap_or_default();
    let own = status.files.as_deref().filter(|_| status.relay.as_deref() == Some(&folder));
    Ok(match sync(folder.as_ref(), own)?.exchanged {
        true => "Exchanged with the repository.",
        false => "Committed; the checkout has no remote to exchange it with.",
    })
}

/// Commits, brings what others have, and pushes. `own` is this home's name on the relay; without it nothing is
/// committed. Blocks for git and its network.
///
/// # Errors
///
/// What git says, or that the folder is no checkout of its own.
pub fn sync(folder: &Path, own: Option<&str>) -> Result<Synced, String> {
    let git = Git(folder);
    let top = git.ask(["rev-parse", "--show-toplevel"]).unwrap_or_default();
    let is_own =
        std::fs::canonicalize(folder).is_ok_and(|folder| std::fs::canonicalize(&top).is_ok_and(|top| top == folder));
    if !is_own {
        return Err(format!(
            "{} is no git checkout: clone the team's repository there, before `baton relay init` or `join`",
            folder.display()
        ));
    }
    let exclude = folder.join(git.ask(["rev-parse", "--git-path", "info/exclude"])?);
    let known = std::fs::read_to_string(&exclude).unwrap_or_default();
    if !known.contains(EXCLUDED) {
        exclude.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(|error| error.to_string())?;
        std::fs::write(&exclude, known + "\n" + EXCLUDED).map_err(|error| error.to_string())?;
    }
    let mut synced = Synced::default();
    if own.is_some() {
        let there = [MARK, "w", "o"].into_iter().filter(|name| transcript_file::exists(&folder.join(name)));
        git.ask(["add", "-A", "--"].into_iter().chain(there))?;
        if git.ask(["diff", "--cached", "--quiet"]).is_err() {
            git.ask(AUTHOR.into_iter().chain(["commit", "-q", "--no-verify", "-m", "relay"]))?;
            synced.committed = true;
        }
    }
    let remotes = git.ask(["remote"])?;
    let Some(remote) = remotes.lines().next() else { return Ok(synced) };
    synced.exchanged = true;
    let branch = git.ask(["symbolic-ref", "--short", "HEAD"])?;
    exchange(&git, remote, &branch, own.is_some())?;
    git.ask(["fetch", "-q", "--prune", remote, &format!("+refs/heads/baton-keys/*:{KEYS}*")])?;
    if let Some(own) = own.and_then(Name::parse) {
        publish_keys(&git, remote, own)?;
    }
    let named = git.ask(["for-each-ref", "--format=%(refname)", KEYS])?;
    for reference in named.lines() {
        let writer = reference.strip_prefix(KEYS).and_then(Name::parse);
        if let Some(writer) = writer.filter(|writer| own != Some(&writer.to_string())) {
            synced.keys += take_keys(&git, reference, writer)?;
        }
    }
    Ok(synced)
}

/// Merges what others have pushed, and pushes. Each file has one writer, so that nothing is in conflict.
fn exchange(git: &Git<'_>, remote: &str, branch: &str, pushes: bool) -> Result<(), String> {
    let theirs = format!("{remote}/{branch}");
    let mut refused = String::new();
    for _ in 0..ATTEMPTS {
        git.ask(["fetch", "-q", remote])?;
        if git.ask(["rev-parse", "-q", "--verify", &theirs]).is_ok() {
            let merging = ["merge", "-q", "--no-edit", "--no-verify", "-m", "relay", &theirs];
            git.ask(AUTHOR.into_iter().chain(merging)).inspect_err(|_| drop(git.ask(["merge", "--abort"])))?;
        }
        if !pushes || git.ask(["rev-parse", "-q", "--verify", "HEAD"]).is_err() {
            return Ok(());
        }
        match git.ask(["push", "-q", remote, &format!("HEAD:refs/heads/{branch}")]) {
            Ok(_) => return Ok(()),
            Err(why) => refused = why,
        }
    }
    Err(refused)
}

/// The sealed keys and invitations that lie in the folder, by who wrote them.
fn slots(folder: &Path) -> BTreeMap<Name, (Name, Vec<u8>)> {
    let entries = std::fs::read_dir(folder.join("s")).into_iter().flatten().flatten();
    let slot = |entry: std::fs::DirEntry| {
        let name = Name::parse(entry.file_name().to_str()?)?;
        let bytes = read_whole(&entry.path(), MAX_SLOT_BYTES).ok()??;
        let writer = Frame::parse(&bytes).ok()?.header.writer;
        Some((name, (writer, bytes)))
    };
    entries.filter_map(slot).collect()
}

/// Replaces the branch of this home's keys, if they have changed. What is gone from it is gone from this repository.
fn publish_keys(git: &Git<'_>, remote: &str, own: Name) -> Result<(), String> {
    let own_slots: Vec<Name> =
        slots(git.0).into_iter().filter(|(_, (writer, _))| *writer == own).map(|(name, _)| name).collect();
    let paths: String = own_slots.iter().map(|name| format!("s/{name}\n")).collect();
    let hashes = git.tell(["hash-object", "-w", "--no-filters", "--stdin-paths"], paths.as_bytes())?;
    let hashes = String::from_utf8_lossy(&hashes).into_owned();
    let lines: String =
        hashes.lines().zip(&own_slots).map(|(hash, name)| format!("100644 blob {hash}\t{name}\n")).collect();
    let tree = String::from_utf8_lossy(&git.tell(["mktree"], lines.as_bytes())?).trim().to_owned();
    if git.ask(["rev-parse", "-q", "--verify", &format!("{KEYS}{own}^{{tree}}")]).is_ok_and(|known| known == tree) {
        return Ok(());
    }
    let commit = git.ask(AUTHOR.into_iter().chain(["commit-tree", &tree, "-m", "keys"]))?;
    git.ask(["push", "-q", "--force", remote, &format!("{commit}:refs/heads/baton-keys/{own}")])?;
    git.ask(["update-ref", &format!("{KEYS}{own}"), &commit])?;
    git.ask(["gc", "-q", "--prune=now"]).map(drop)
}

/// Brings the keys of another writer into the folder, and removes those that are gone. Returns how many changed.
fn take_keys(git: &Git<'_>, reference: &str, writer: Name) -> Result<usize, String> {
    let listed = git.ask(["ls-tree", reference])?;
    let entry = |line: &str| {
        let (about, name) = line.split_once('\t')?;
        let mut about = about.split(' ');
        let is_file = about.next() == Some("100644") && about.next() == Some("blob");
        Some((Name::parse(name)?, about.next().filter(|_| is_file)?.to_owned()))
    };
    let theirs: BTreeMap<Name, String> = listed.lines().filter_map(entry).collect();
    let here = slots(git.0);
    let mut changed = 0;
    for (name, hash) in &theirs {
        let bytes = git.tell(["cat-file", "blob", hash], b"")?;
        let is_theirs = Frame::parse(&bytes).is_ok_and(|frame| frame.header.writer == writer);
        let is_there = here.get(name).is_some_and(|(_, known)| *known == bytes);
        if is_theirs && !is_there {
            write_whole(&git.0.join("s").join(name.to_string()), &bytes).map_err(|error| error.to_string())?;
            changed += 1;
        }
    }
    let gone: BTreeSet<_> =
        here.into_iter().filter(|(name, (by, _))| *by == writer && !theirs.contains_key(name)).collect();
    for (name, _) in &gone {
        std::fs::remove_file(git.0.join("s").join(name.to_string())).map_err(|error| error.to_string())?;
    }
    Ok(changed + gone.len())
}

/// Git in a folder.
struct Git<'a>(&'a Path);

impl Git<'_> {
    /// Runs it; returns what it prints, or what it complains of.
    fn ask<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Result<String, String> {
        Ok(String::from_utf8_lossy(&self.tell(arguments, b"")?).trim().to_owned())
    }

    /// Runs it with an input.
    fn tell<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>, input: &[u8]) -> Result<Vec<u8>, String> {
        let mut command = Command::new("git");
        command.arg("-C").arg(self.0).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child =
            command.stderr(Stdio::piped()).spawn().map_err(|error| format!("git cannot be run: {error}"))?;
        let stdin = child.stdin.take();
        // It may answer before it has read everything.
        let written = std::thread::scope(|scope| {
            let writing = scope.spawn(move || stdin.map_or(Ok(()), |mut stdin| stdin.write_all(input)));
            let done = child.wait_with_output();
            (writing.join(), done)
        });
        let done = written.1.map_err(|error| error.to_string())?;
        match done.status.success() {
            true => Ok(done.stdout),
            false => Err(format!("git: {}", String::from_utf8_lossy(&done.stderr).trim())),
        }
    }
}
