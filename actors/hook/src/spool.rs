//! Signals that no daemon took, one file each in the home's spool: written atomically, accessible to this user only,
//! bounded in number.

use std::borrow::Cow;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use baton_home::file;
use baton_protocol::{
    HookParams, SPOOL, SPOOL_DROPPED, SPOOL_FILE_BYTES, SPOOL_FILES_MAX, SignalKind, Spooled, is_session_id,
};
use baton_redaction::redact;

use super::file_limit;

/// Highest count of lost signals.
const DROPPED_MAX: u64 = 1_000_000;
/// Longest session id in a file name; the rest of the 255 bytes is for what surrounds it.
const NAMED_BYTES: usize = 200;

/// Writes a signal to the spool. If that fails, counts it as lost, if possible.
pub(super) fn store(home: &Path, spooled: Spooled) -> io::Result<()> {
    let spooled = &Spooled { hook: without_secrets(spooled.hook), ..spooled };
    let folder = home.join(SPOOL);
    file::make_private_folder(&folder)?;
    // A symbolic link could lead out of the home; the daemon does not follow it either.
    if !fs::symlink_metadata(&folder)?.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    write(&folder, spooled).or_else(|_| count_lost(&folder))
}

/// Removes names that look like a secret, as no real session, event or agent has such a name. Paths stay as they are,
/// as in the log: without them the files they name could not be found.
fn without_secrets(hook: HookParams) -> HookParams {
    let is_clean = |text: &String| matches!(redact(text), Cow::Borrowed(_));
    let is_known = SignalKind::from_hook_name(&hook.event) != SignalKind::Other;
    let event = if is_known || is_clean(&hook.event) { hook.event } else { "Other".to_owned() };
    HookParams {
        event,
        session_id: Some(hook.session_id).filter(is_clean).unwrap_or_default(),
        detail: hook.detail.filter(is_clean),
        agent_id: hook.agent_id.filter(is_clean),
        ..hook
    }
}

fn write(folder: &Path, spooled: &Spooled) -> io::Result<()> {
    let name = name(&spooled.hook).ok_or(io::ErrorKind::InvalidInput)?;
    let bytes = serde_json::to_vec(spooled).map_err(io::Error::other)?;
    let is_large = u64::try_from(bytes.len()).map_or(true, |bytes| bytes > SPOOL_FILE_BYTES);
    let path = folder.join(&name);
    // Replacing a file does not increase the number.
    let is_full = || fs::read_dir(folder).map_or(0, |files| files.take(SPOOL_FILES_MAX).count()) >= SPOOL_FILES_MAX;
    if is_large || !file_limit::allows(bytes.len()) || (is_full() && !path.exists()) {
        return Err(io::ErrorKind::StorageFull.into());
    }
    let temporary = folder.join(format!("{}{}", spooled.hook.id, file::BEING_WRITTEN));
    let written = private(OpenOptions::new().write(true).create_new(true))
        .open(&temporary)
        .and_then(|mut file| file.write_all(&bytes))
        .and_then(|()| fs::rename(&temporary, &path));
    written.inspect_err(|_| drop(fs::remove_file(&temporary)))
}

/// The file name, see [`Spooled`]. `None` if the signal names no session and is useless.
fn name(hook: &HookParams) -> Option<String> {
    let session = Some(&hook.session_id).filter(|id| is_session_id(id))?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_name = session.len() <= NAMED_BYTES && session.chars().all(is_plain);
    match SignalKind::from_hook_name(&hook.event).is_activity() && is_name {
        true => Some(format!("activity-{session}.json")),
        false => Some(format!("{:013}-{}.json", hook.at.max(0), hook.id)),
    }
}

/// Counts a lost signal by appending one byte to a file.
fn count_lost(folder: &Path) -> io::Result<()> {
    let mut file: File = private(OpenOptions::new().append(true).create(true)).open(folder.join(SPOOL_DROPPED))?;
    let counted = file.metadata()?.len();
    let is_room = file_limit::allows(usize::try_from(counted).unwrap_or(usize::MAX).saturating_add(1));
    if counted < DROPPED_MAX && is_room { file.write_all(b".") } else { Ok(()) }
}

/// Makes new files accessible to their owner only.
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spooled(event: &str, session: &str, id: &str) -> Spooled {
        let (event, session_id, id) = (event.to_owned(), session.to_owned(), id.to_owned());
        let hook = HookParams { id, event, session_id, at: 1_790_000_000_123, ..HookParams::default() };
        Spooled { v: 1, why: "absent".to_owned(), took_us: 5, hook }
    }

    fn files(home: &Path) -> Vec<String> {
        let mut files: Vec<String> = fs::read_dir(home.join(SPOOL))
            .unwrap()
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .collect();
        files.sort();
        files
    }

    #[test]
    fn signals_are_kept_and_of_activity_the_last() {
        let temp = tempfile::tempdir().unwrap();
        let home = &temp.path().join("not/there");
        for (event, session, id) in [
            ("SessionEnd", "s", "a"),
            ("SessionEnd", "s", "b"),
            ("Stop", "s", "c"),
            ("UserPromptSubmit", "s", "d"),
            ("Stop", "ö", "e"),
            ("Stop", "", "f"),
            ("SessionStart", "a/b", "g"),
        ] {
            store(home, spooled(event, session, id)).unwrap();
        }
        let expected =
            ["1790000000123-a.json", "1790000000123-b.json", "1790000000123-e.json", "activity-s.json", SPOOL_DROPPED];
        assert_eq!(files(home), expected);
        let text = fs::read(home.join(SPOOL).join("activity-s.json")).unwrap();
        assert_eq!(serde_json::from_slice::<Spooled>(&text).unwrap(), spooled("UserPromptSubmit", "s", "d"));
        assert_eq!(fs::read(home.join(SPOOL).join(SPOOL_DROPPED)).unwrap(), b"..", "for no session");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!((mode(home), mode(&home.join(SPOOL))), (0o700, 0o700));
            for file in expected {
                assert_eq!(mode(&home.join(SPOOL).join(file)), 0o600, "{file}");
            }
        }
    }

    #[test]
    fn nothing_that_looks_like_a_key_is_left() {
        const KEY: &str = "sk-ant-api03-a1B2c3D4e5F6a1B2c3D4e5F6";
        let temp = tempfile::tempdir().unwrap();
        let home = temp.path();
        store(home, spooled("SessionEnd", KEY, "a")).unwrap();
        store(home, spooled("Stop", KEY, "b")).unwrap();
        assert_eq!(files(home), [SPOOL_DROPPED], "no session is named so");
        let mut end = spooled(KEY, "01a206aa-ab65-7331-81dc-6a9ae55a3a1c", "c");
        let rollout = format!("/x/rollout-2026-11-23T05-00-00-{}.jsonl", end.hook.session_id);
        end.hook.transcript_path = Some(rollout.clone());
        (end.hook.agent_id, end.hook.detail) = (Some(KEY.to_owned()), Some(KEY.to_owned()));
        store(home, end).unwrap();
        // An unknown event counts as activity.
        let activity = "activity-01a206aa-ab65-7331-81dc-6a9ae55a3a1c.json";
        let text = fs::read_to_string(home.join(SPOOL).join(activity)).unwrap();
        assert!(!text.contains("sk-ant") && text.contains(&rollout) && text.contains("01a206aa-ab65"), "{text}");
    }

    #[test]
    fn a_full_spool_takes_only_what_replaces_something() {
        let temp = tempfile::tempdir().unwrap();
        let home = temp.path();
        store(home, spooled("Stop", "s", "a")).unwrap();
        for number in 1..SPOOL_FILES_MAX {
            fs::write(home.join(SPOOL).join(format!("{number:013}-x.json")), "").unwrap();
        }
        store(home, spooled("SessionEnd", "s", "b")).unwrap();
        store(home, spooled("Stop", "other", "c")).unwrap();
        store(home, spooled("Stop", "s", "d")).unwrap();
        assert_eq!(files(home).len(), SPOOL_FILES_MAX + 1);
        assert_eq!(fs::read(home.join(SPOOL).join(SPOOL_DROPPED)).unwrap(), b"..");
        let text = fs::read_to_string(home.join(SPOOL).join("activity-s.json")).unwrap();
        assert!(text.contains("\"id\":\"d\""), "{text}");
        let large = Spooled { why: "x".repeat(70_000), ..spooled("SessionEnd", "s", "e") };
        store(home, large).unwrap();
        assert_eq!(fs::read(home.join(SPOOL).join(SPOOL_DROPPED)).unwrap(), b"...");
    }

    #[test]
    fn where_nothing_can_be_written_nothing_is_there() {
        let temp = tempfile::tempdir().unwrap();
        fs::write(temp.path().join(SPOOL), "a file").unwrap();
        assert!(store(temp.path(), spooled("Stop", "s", "a")).is_err());
        assert!(store(Path::new("/dev/null/home"), spooled("Stop", "s", "a")).is_err());
        assert_eq!(fs::read_to_string(temp.path().join(SPOOL)).unwrap(), "a file");
        #[cfg(unix)]
        {
            let (home, elsewhere) = (temp.path().join("home"), temp.path().join("elsewhere"));
            fs::create_dir(&home).unwrap();
            fs::create_dir(&elsewhere).unwrap();
            std::os::unix::fs::symlink(&elsewhere, home.join(SPOOL)).unwrap();
            assert!(store(&home, spooled("SessionEnd", "s", "a")).is_err());
            assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0, "nothing through a link");
        }
    }
}
