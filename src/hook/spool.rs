//! What nobody took: a file in the home's spool, whole or not at all, this user's alone, and never too many.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use baton_actors::durable;
use baton_events::protocol::{HookParams, SPOOL, SPOOL_DROPPED, SPOOL_FILE_BYTES, SPOOL_FILES_MAX, Spooled};
use baton_events::record::SessionId;
use baton_events::session::SignalKind;

use super::room;

/// Most that is counted of what was lost.
const DROPPED_MAX: u64 = 1_000_000;
/// Longest session id in a name of a file; the rest of the 255 bytes is for what stands around it.
const NAMED_BYTES: usize = 200;

/// Leaves a file. What cannot be left is counted, where that can be done.
pub(super) fn leave(home: &Path, spooled: &Spooled) -> io::Result<()> {
    let folder = home.join(SPOOL);
    durable::make_private_folder(&folder)?;
    // A link leads out of the home, and no daemon follows it.
    if !fs::symlink_metadata(&folder)?.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    write(&folder, spooled).or_else(|_| count_lost(&folder))
}

fn write(folder: &Path, spooled: &Spooled) -> io::Result<()> {
    let name = name(&spooled.hook).ok_or(io::ErrorKind::InvalidInput)?;
    let bytes = serde_json::to_vec(spooled).map_err(io::Error::other)?;
    let is_large = u64::try_from(bytes.len()).map_or(true, |bytes| bytes > SPOOL_FILE_BYTES);
    let path = folder.join(&name);
    // One that takes another's place is no more than there were.
    let is_full = || fs::read_dir(folder).map_or(0, |files| files.take(SPOOL_FILES_MAX).count()) >= SPOOL_FILES_MAX;
    if is_large || !room::is_for(bytes.len()) || (is_full() && !path.exists()) {
        return Err(io::ErrorKind::StorageFull.into());
    }
    let temporary = folder.join(format!("{}{}", spooled.hook.id, durable::BEING_WRITTEN));
    let written = private(OpenOptions::new().write(true).create_new(true))
        .open(&temporary)
        .and_then(|mut file| file.write_all(&bytes))
        .and_then(|()| fs::rename(&temporary, &path));
    written.inspect_err(|_| drop(fs::remove_file(&temporary)))
}

/// See [`Spooled`]. `None`: nobody could make use of it.
fn name(hook: &HookParams) -> Option<String> {
    let session = SessionId::new(&hook.session_id)?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_name = session.as_str().len() <= NAMED_BYTES && session.as_str().chars().all(is_plain);
    match SignalKind::of_hook(&hook.event).is_activity() && is_name {
        true => Some(format!("activity-{session}.json")),
        false => Some(format!("{:013}-{}.json", hook.at.max(0), hook.id)),
    }
}

/// One byte for each.
fn count_lost(folder: &Path) -> io::Result<()> {
    let mut file: File = private(OpenOptions::new().append(true).create(true)).open(folder.join(SPOOL_DROPPED))?;
    let counted = file.metadata()?.len();
    let is_room = room::is_for(usize::try_from(counted).unwrap_or(usize::MAX).saturating_add(1));
    if counted < DROPPED_MAX && is_room { file.write_all(b".") } else { Ok(()) }
}

/// For the owner only.
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
            leave(home, &spooled(event, session, id)).unwrap();
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
    fn a_full_spool_takes_only_what_replaces_something() {
        let temp = tempfile::tempdir().unwrap();
        let home = temp.path();
        leave(home, &spooled("Stop", "s", "a")).unwrap();
        for number in 1..SPOOL_FILES_MAX {
            fs::write(home.join(SPOOL).join(format!("{number:013}-x.json")), "").unwrap();
        }
        leave(home, &spooled("SessionEnd", "s", "b")).unwrap();
        leave(home, &spooled("Stop", "other", "c")).unwrap();
        leave(home, &spooled("Stop", "s", "d")).unwrap();
        assert_eq!(files(home).len(), SPOOL_FILES_MAX + 1);
        assert_eq!(fs::read(home.join(SPOOL).join(SPOOL_DROPPED)).unwrap(), b"..");
        let text = fs::read_to_string(home.join(SPOOL).join("activity-s.json")).unwrap();
        assert!(text.contains("\"id\":\"d\""), "{text}");
        let large = Spooled { why: "x".repeat(70_000), ..spooled("SessionEnd", "s", "e") };
        leave(home, &large).unwrap();
        assert_eq!(fs::read(home.join(SPOOL).join(SPOOL_DROPPED)).unwrap(), b"...");
    }

    #[test]
    fn where_nothing_can_be_written_nothing_is_there() {
        let temp = tempfile::tempdir().unwrap();
        fs::write(temp.path().join(SPOOL), "a file").unwrap();
        assert!(leave(temp.path(), &spooled("Stop", "s", "a")).is_err());
        assert!(leave(Path::new("/dev/null/home"), &spooled("Stop", "s", "a")).is_err());
        assert_eq!(fs::read_to_string(temp.path().join(SPOOL)).unwrap(), "a file");
        #[cfg(unix)]
        {
            let (home, elsewhere) = (temp.path().join("home"), temp.path().join("elsewhere"));
            fs::create_dir(&home).unwrap();
            fs::create_dir(&elsewhere).unwrap();
            std::os::unix::fs::symlink(&elsewhere, home.join(SPOOL)).unwrap();
            assert!(leave(&home, &spooled("SessionEnd", "s", "a")).is_err());
            assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0, "nothing through a link");
        }
    }
}
