//! A relay's folder that is a git checkout: commits what this machine has added, and fetches what others have.
//!
//! Logs and objects travel on the checkout's branch. The sealed keys of sessions do not: history would keep them, and
//! with them everything that is forgotten. Each writer's keys lie on their own branch, `baton-keys/<writer>`, with a
//! single commit that is replaced whenever they change.
//!
//! Commits name no person: the host of the repository learns nothing from them.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use baton_base::transcript_file;
use baton_protocol::answer::RelayStatus;

use crate::folder::{MARK, read_whole, write_whole};
use crate::keys::Name;
use crate::seal::Frame;

/// Attempts to push while others push too.
const ATTEMPTS: usize = 5;
/// Largest sealed key or invitation.
const MAX_SLOT_BYTES: u64 = 1024 * 1024;
/// What git must not keep: keys, and files that are being written.
const EXCLUDED: &str = "/s/\n*.tmp\n";
const AUTHOR: [&str; 4] = ["-c", "user.name=baton", "-c", "user.email=baton@localhost"];
const KEYS: &str = "refs/baton-keys/";

/// The sealed keys and invitations in the folder: the writer of each, and the git hash of its content.
type Slots = BTreeMap<Name, (Name, String)>;

/// Synchronises the relay's folder, or `folder` on a machine that has not joined yet, with its remote. Returns a
/// sentence for the user.
///
/// # Errors
///
/// With git's message, or if the folder is not the root of a checkout.
pub fn sync_folder(status: &RelayStatus, folder: Option<String>) -> Result<&'static str, String> {
    let folder = folder.or_else(|| status.relay.clone()).unwrap_or_default();
    let own = status.files.as_deref().filter(|_| status.relay.as_deref() == Some(&folder));
    Ok(match sync(folder.as_ref(), own)? {
        true => "Exchanged with the repository.",
        false => "Committed; the checkout has no remote to exchange it with.",
    })
}

/// Commits, fetches what others have, and pushes. `own` is this home's name on the relay; without it nothing is
/// committed. Returns true if there is a remote. Blocks for git and its network.
fn sync(folder: &Path, own: Option<&str>) -> Result<bool, String> {
    let git = Git(folder);
    let top = git.run(["rev-parse", "--show-toplevel"]).unwrap_or_default();
    let is_own =
        std::fs::canonicalize(folder).is_ok_and(|folder| std::fs::canonicalize(&top).is_ok_and(|top| top == folder));
    if !is_own {
        return Err(format!(
            "{} is not a git checkout: clone the team's repository there, before `baton relay init` or `join`",
            folder.display()
        ));
    }
    let exclude = folder.join(git.run(["rev-parse", "--git-path", "info/exclude"])?);
    let known = std::fs::read_to_string(&exclude).unwrap_or_default();
    if !known.contains(EXCLUDED) {
        exclude.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(|error| error.to_string())?;
        std::fs::write(&exclude, known + "\n" + EXCLUDED).map_err(|error| error.to_string())?;
    }
    if own.is_some() {
        let there = [MARK, "w", "o"].into_iter().filter(|name| transcript_file::exists(&folder.join(name)));
        git.run(["add", "-A", "--"].into_iter().chain(there))?;
        if git.run(["diff", "--cached", "--quiet"]).is_err() {
            git.run(AUTHOR.into_iter().chain(["commit", "-q", "--no-verify", "-m", "relay"]))?;
        }
    }
    let remotes = git.run(["remote"])?;
    let Some(remote) = remotes.lines().next() else { return Ok(false) };
    let branch = git.run(["symbolic-ref", "--short", "HEAD"])?;
    exchange(&git, remote, &branch, own.is_some())?;
    git.run(["fetch", "-q", "--prune", remote, &format!("+refs/heads/baton-keys/*:{KEYS}*")])?;
    let mut slots = slots(&git)?;
    if let Some(own) = own.and_then(Name::parse) {
        publish_keys(&git, remote, own, &slots)?;
    }
    let named = git.run(["for-each-ref", "--format=%(refname)", KEYS])?;
    for reference in named.lines() {
        let writer = reference.strip_prefix(KEYS).and_then(Name::parse);
        if let Some(writer) = writer.filter(|writer| own != Some(&writer.to_string())) {
            write_keys(&git, reference, writer, &mut slots)?;
        }
    }
    Ok(true)
}

/// Merges what others have pushed, and pushes. Each file has one writer, so there are no conflicts.
fn exchange(git: &Git<'_>, remote: &str, branch: &str, pushes: bool) -> Result<(), String> {
    let theirs = format!("{remote}/{branch}");
    let mut refused = String::new();
    for _ in 0..ATTEMPTS {
        git.run(["fetch", "-q", remote])?;
        if git.run(["rev-parse", "-q", "--verify", &theirs]).is_ok() {
            let merging = ["merge", "-q", "--no-edit", "--no-verify", "-m", "relay", &theirs];
            git.run(AUTHOR.into_iter().chain(merging)).inspect_err(|_| drop(git.run(["merge", "--abort"])))?;
        }
        if !pushes || git.run(["rev-parse", "-q", "--verify", "HEAD"]).is_err() {
            return Ok(());
        }
        match git.run(["push", "-q", remote, &format!("HEAD:refs/heads/{branch}")]) {
            Ok(_) => return Ok(()),
            Err(why) => refused = why,
        }
    }
    Err(refused)
}

fn slots(git: &Git<'_>) -> Result<Slots, String> {
    let entries = std::fs::read_dir(git.0.join("s")).into_iter().flatten().flatten();
    let slot = |entry: std::fs::DirEntry| {
        let name = Name::parse(entry.file_name().to_str()?)?;
        let bytes = read_whole(&entry.path(), MAX_SLOT_BYTES).ok()??;
        Some((name, Frame::parse(&bytes).ok()?.header.writer))
    };
    let found: Vec<(Name, Name)> = entries.filter_map(slot).collect();
    let hashes = hash(git, &found, &[])?;
    Ok(found.into_iter().zip(hashes).map(|((name, writer), hash)| (name, (writer, hash))).collect())
}

/// The git hashes of the contents of slots; `-w` in `keep` stores them too.
fn hash(git: &Git<'_>, slots: &[(Name, Name)], keep: &[&str]) -> Result<Vec<String>, String> {
    let paths: String = slots.iter().map(|(name, _)| format!("s/{name}\n")).collect();
    let arguments = ["hash-object", "--no-filters", "--stdin-paths"].iter().chain(keep);
    let hashes = git.run_with_input(arguments, paths.as_bytes())?;
    Ok(String::from_utf8_lossy(&hashes).lines().map(str::to_owned).collect())
}

/// Replaces the branch of this home's keys, if they have changed. Removed keys do not stay in this repository.
fn publish_keys(git: &Git<'_>, remote: &str, own: Name, slots: &Slots) -> Result<(), String> {
    let own_slots: Vec<_> = slots.iter().filter(|(_, (writer, _))| *writer == own).collect();
    let lines: String = own_slots.iter().map(|(name, (_, hash))| format!("100644 blob {hash}\t{name}\n")).collect();
    let tree =
        String::from_utf8_lossy(&git.run_with_input(["mktree", "--missing"], lines.as_bytes())?).trim().to_owned();
    if git.run(["rev-parse", "-q", "--verify", &format!("{KEYS}{own}^{{tree}}")]).is_ok_and(|known| known == tree) {
        return Ok(());
    }
    let kept: Vec<(Name, Name)> = own_slots.iter().map(|(name, _)| (**name, own)).collect();
    if !hash(git, &kept, &["-w"])?.iter().eq(own_slots.iter().map(|(_, (_, hash))| hash)) {
        return Err("the keys change just now; try again".to_owned());
    }
    let commit = git.run(AUTHOR.into_iter().chain(["commit-tree", &tree, "-m", "keys"]))?;
    git.run(["push", "-q", "--force", remote, &format!("{commit}:refs/heads/baton-keys/{own}")])?;
    git.run(["update-ref", &format!("{KEYS}{own}"), &commit])?;
    git.run(["gc", "-q", "--prune=now"]).map(drop)
}

/// Writes the keys of another writer into the folder, and removes those that are gone.
fn write_keys(git: &Git<'_>, reference: &str, writer: Name, here: &mut Slots) -> Result<(), String> {
    let listed = git.run(["ls-tree", "-l", reference])?;
    let entry = |line: &str| {
        let (about, name) = line.split_once('\t')?;
        let [mode, kind, hash, size] = about.split_whitespace().collect::<Vec<_>>()[..] else { return None };
        let is_slot = (mode, kind) == ("100644", "blob") && size.parse::<u64>().ok()? <= MAX_SLOT_BYTES;
        Some((Name::parse(name)?, hash.to_owned())).filter(|_| is_slot)
    };
    let theirs: BTreeMap<Name, String> = listed.lines().filter_map(entry).collect();
    let is_new = |(name, hash): &(&Name, &String)| here.get(*name).is_none_or(|(_, known)| known != *hash);
    let new: Vec<(Name, String)> = theirs.iter().filter(is_new).map(|(name, hash)| (*name, hash.clone())).collect();
    let asked: String = new.iter().map(|(_, hash)| format!("{hash}\n")).collect();
    let answer = git.run_with_input(["cat-file", "--batch"], asked.as_bytes())?;
    let mut rest = &answer[..];
    for (name, hash) in new {
        let bytes = next_blob(&mut rest).ok_or("git: an answer of cat-file cannot be read")?;
        if Frame::parse(bytes).is_ok_and(|frame| frame.header.writer == writer) {
            write_whole(&git.0.join("s").join(name.to_string()), bytes).map_err(|error| error.to_string())?;
            here.insert(name, (writer, hash));
        }
    }
    let gone: Vec<Name> = here
        .iter()
        .filter(|(name, (by, _))| *by == writer && !theirs.contains_key(*name))
        .map(|(name, _)| *name)
        .collect();
    for name in gone {
        std::fs::remove_file(git.0.join("s").join(name.to_string())).map_err(|error| error.to_string())?;
        here.remove(&name);
    }
    Ok(())
}

/// The next content in an answer of `git cat-file --batch`: `HASH blob SIZE`, the content, an end of line.
fn next_blob<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let end = rest.iter().position(|byte| *byte == b'\n')?;
    let size = std::str::from_utf8(&rest[..end]).ok()?.rsplit_once(' ')?.1.parse().ok()?;
    let (blob, behind) = rest[end + 1..].split_at_checked(size)?;
    *rest = behind.strip_prefix(b"\n")?;
    Some(blob)
}

/// Git in a folder.
struct Git<'a>(&'a Path);

impl Git<'_> {
    /// Runs git; returns its output, or its error message.
    fn run<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Result<String, String> {
        Ok(String::from_utf8_lossy(&self.run_with_input(arguments, b"")?).trim().to_owned())
    }

    /// Runs git with an input.
    fn run_with_input<A: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
        input: &[u8],
    ) -> Result<Vec<u8>, String> {
        let mut command = Command::new("git");
        command.arg("-C").arg(self.0).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child =
            command.stderr(Stdio::piped()).spawn().map_err(|error| format!("git cannot be run: {error}"))?;
        let stdin = child.stdin.take();
        // Git may answer before it has read everything.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_are_read_one_after_the_other_and_half_a_one_is_none() {
        let answer = b"aa blob 3\nx\ny\nbb blob 0\n\ncc missing\ndd blob 9\nhalf\n";
        let mut rest = &answer[..];
        assert_eq!(next_blob(&mut rest), Some(&b"x\ny"[..]));
        assert_eq!(next_blob(&mut rest), Some(&b""[..]));
        assert_eq!(next_blob(&mut { rest }), None, "one that is missing has no size");
        for wrong in [&b"dd blob 9\nhalf\n"[..], b"dd blob 4\nhalf", b"dd blob 99999999999999999999\n", b"", b"\n"] {
            assert_eq!(next_blob(&mut &wrong[..]), None);
        }
    }
}
