//! Sessions in a [`Tree`] of files.
//!
//! # Hazards
//!
//! - A session that one of the databases beside it has too is not listed: it is read from there.
//! - Messages that are written to in place are noticed in sessions of the last day only.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use baton_base::limits;
use baton_base::transcript_file::{self, FileStat};
use baton_conversation::item::Agent;
use baton_conversation::transcript::{Lines, MessageFiles, SessionFiles, Tree, store_file};

use super::{Rendered, SessionSeen, database};
use crate::plain_file;

/// Age from which a session is not checked for messages changed in place.
const RECENT: Duration = Duration::from_secs(24 * 60 * 60);
/// Most files read in a folder.
const MAX_ENTRIES: usize = 50_000;
const ENDING: &str = ".json";

/// The sessions in a tree that no database has.
pub(crate) fn sessions(agent: Agent, form: &Tree, tree: &Path) -> io::Result<Arc<[SessionSeen]>> {
    let known = in_databases(agent, tree)?;
    let mut found = Vec::new();
    let projects = tree.join(form.sessions);
    for project in names(&projects)? {
        for name in names(&projects.join(&project))? {
            let Some(id) = name.strip_suffix(ENDING).filter(|id| !known.contains(*id)) else { continue };
            let path = projects.join(&project).join(&name);
            let Some(path_text) = transcript_file::path_text(&path) else { continue };
            let Ok(metadata) = path.symlink_metadata() else { continue };
            if !metadata.is_file() {
                continue;
            }
            let stat = FileStat::new(&metadata);
            let modified_ns = stat.modified_ns.max(newest(&tree.join(form.messages).join(id), stat));
            let identity = transcript_file::identity(&metadata);
            found.push(SessionSeen { path: path_text, stat: FileStat { modified_ns, ..stat }, identity });
        }
    }
    Ok(found.into())
}

/// The ids of all sessions in the databases beside a tree.
fn in_databases(agent: Agent, tree: &Path) -> io::Result<BTreeSet<String>> {
    let mut known = BTreeSet::new();
    let Some(folder) = tree.parent() else { return Ok(known) };
    for name in names(folder)? {
        let path = folder.join(name);
        if path == tree || path.to_str().is_none_or(|path| store_file(agent, path) != Some(path)) {
            continue;
        }
        match database::sessions(agent, &path) {
            Ok(sessions) => {
                known.extend(sessions.iter().filter_map(|seen| Some(seen.path.rsplit(['/', '\\']).next()?.to_owned())));
            }
            // The database has none, and never will.
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::InvalidData) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(known)
}

/// When the messages of a session with this state were last written to.
fn newest(messages: &Path, session: FileStat) -> i64 {
    let modified = |path: &Path| fs::metadata(path).map_or(0, |metadata| FileStat::new(&metadata).modified_ns);
    let last = session.modified_ns.max(modified(messages));
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().saturating_sub(RECENT);
    if u128::try_from(last).is_ok_and(|last| last < since.as_nanos()) {
        return last;
    }
    let files = names(messages).unwrap_or_default();
    files.iter().map(|name| modified(&messages.join(name))).max().unwrap_or(0).max(last)
}

/// Renders the session whose own file is at `path`.
pub(crate) fn render(form: &Tree, tree: &Path, path: &Path) -> io::Result<Rendered> {
    let mut left = limits::DOCUMENT_BYTES;
    let metadata = path.symlink_metadata()?;
    let session = read(path, &mut left)?;
    if let Err(error) = serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(&session) {
        return Err(match error.is_eof() {
            true => io::Error::new(io::ErrorKind::UnexpectedEof, "it is being written, or was left incomplete"),
            false => io::Error::new(io::ErrorKind::InvalidData, "it is no JSON object"),
        });
    }
    let id = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_owned();
    let mut files = SessionFiles { session, messages: Vec::new(), id };
    for (id, content) in contents(&tree.join(form.messages).join(&files.id), &mut left)? {
        let parts = contents(&tree.join(form.parts).join(&id), &mut left)?;
        files.messages.push(MessageFiles { id, content, parts });
    }
    let mut lines = Lines::default();
    (form.render)(&files, &mut lines);
    let (lines, title) = lines.finish();
    Ok(Rendered { metadata, lines, title })
}

/// The files of a folder, each with its name without the ending.
fn contents(folder: &Path, left: &mut u64) -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut found = Vec::new();
    for name in names(folder)? {
        let Some(id) = name.strip_suffix(ENDING).filter(|id| !id.starts_with('.')) else { continue };
        match read(&folder.join(&name), left) {
            Ok(content) => found.push((id.to_owned(), content)),
            // It was removed meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// Reads a regular file that is no link, of at most as many bytes as are left.
fn read(path: &Path, left: &mut u64) -> io::Result<Vec<u8>> {
    path.symlink_metadata()?;
    let refused = || {
        let why =
            format!("{} is no file, or the session has more than {} MB", path.display(), limits::DOCUMENT_BYTES >> 20);
        io::Error::new(io::ErrorKind::InvalidData, why)
    };
    let mut bytes = Vec::new();
    plain_file::open(&[], path, *left).ok_or_else(refused)?.take(*left + 1).read_to_end(&mut bytes)?;
    *left = left.checked_sub(bytes.len() as u64).ok_or_else(refused)?;
    Ok(bytes)
}

/// The names in a folder; none if it does not exist.
fn names(folder: &Path) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(Vec::new());
        }
        entries => entries?,
    };
    let names: Vec<String> =
        entries.take(MAX_ENTRIES + 1).filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    match names.len() > MAX_ENTRIES {
        true => Err(io::Error::new(io::ErrorKind::InvalidData, format!("{} has too many files", folder.display()))),
        false => Ok(names),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store_file::{render, sessions};
    use crate::transcript_reader::may_take_over;
    use baton_conversation::record::Timestamp;
    use baton_conversation::transcript::Source;
    use baton_events::session::TailDigest;

    const AGENT: Agent = Agent::OpenCode;

    struct Data(tempfile::TempDir);

    impl Data {
        fn new() -> Self {
            let data = Self(tempfile::tempdir().unwrap());
            data.write(
                "session/p1/ses_1.json",
                r#"{"directory":"/srv/harbor","title":"Otters","time":{"created":1000}}"#,
            );
            // Later by its name, but earlier by its time.
            data.write("message/ses_1/msg_9.json", r#"{"role":"user","time":{"created":1001}}"#);
            data.write("part/msg_9/prt_1.json", "{\n  \"type\": \"text\",\n  \"text\": \"Let the otter swim\"\n}");
            let agents = r#"{"role":"assistant","modelID":"m","time":{"created":1002,"completed":1003}}"#;
            data.write("message/ses_1/msg_2.json", agents);
            data.write("part/msg_2/prt_2.json", r#"{"type":"text","text":"It swims.","time":{"start":1,"end":2}}"#);
            data.write("part/msg_2/prt_1.json", r#"{"type":"reasoning","text":"hm","time":{"start":1,"end":2}}"#);
            data
        }

        fn tree(&self) -> std::path::PathBuf {
            self.0.path().join("storage")
        }

        fn write(&self, name: &str, content: &str) {
            let path = self.tree().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }

        fn path(&self, name: &str) -> String {
            self.tree().join(name).to_str().unwrap().to_owned()
        }

        fn read(&self) -> io::Result<Rendered> {
            render(AGENT, &self.path("session/p1/ses_1.json")).unwrap()
        }

        fn lines(&self) -> String {
            String::from_utf8(self.read().unwrap().lines).unwrap()
        }
    }

    #[test]
    fn a_session_is_its_messages_by_time_with_their_parts_and_goes_on() {
        let data = Data::new();
        let rendered = data.read().unwrap();
        assert_eq!(rendered.title.as_deref(), Some("Otters"));
        let before = String::from_utf8(rendered.lines).unwrap();
        let at = |word: &str| before.find(word).unwrap_or_else(|| panic!("{word}: {before}"));
        let order = ["/srv/harbor", "Let the otter swim", "\"hm\"", "It swims.", "\"type\":\"end\""].map(at);
        assert!(order.is_sorted(), "{before}");
        data.write("message/ses_1/msg_3.json", r#"{"role":"user","time":{"created":1004}}"#);
        data.write("part/msg_3/prt_1.json", r#"{"type":"text","text":"And now?"}"#);
        assert!(data.lines().strip_prefix(&before).is_some_and(|more| more.contains("And now?")));
        data.write(
            "session/p1/ses_1.json",
            r#"{"directory":"/srv/harbor","time":{"created":1000},"revert":{"messageID":"msg_3"}}"#,
        );
        assert_eq!(data.lines(), before, "taken back");
    }

    #[test]
    fn what_is_broken_is_counted_and_too_much_is_refused() {
        let data = Data::new();
        let before = data.lines();
        data.write("message/ses_1/msg_3.json", r#"{"role":"user","time":{"#);
        data.write("message/ses_1/.oc-msg_4.json", "{}");
        data.write("message/ses_1/msg_5.txt", "{}");
        data.write("part/msg_2/prt_3.json", "[1");
        let lines = data.lines();
        assert_eq!(
            (lines.matches("\"type\":\"unreadable\"").count(), lines.lines().count()),
            (2, before.lines().count() + 2)
        );
        data.write("session/p1/ses_1.json", "{\"id\":");
        assert_eq!(data.read().err().map(|error| error.kind()), Some(io::ErrorKind::UnexpectedEof));
        data.write("session/p1/ses_1.json", "[]");
        assert_eq!(data.read().err().map(|error| error.kind()), Some(io::ErrorKind::InvalidData));
        data.write("session/p1/ses_1.json", "{}");
        fs::File::create(data.tree().join("part/msg_2/prt_4.json")).unwrap().set_len(limits::DOCUMENT_BYTES).unwrap();
        let error = data.read().err().unwrap();
        assert!(error.kind() == io::ErrorKind::InvalidData && error.to_string().contains("32 MB"), "{error}");
        fs::remove_dir_all(data.tree()).unwrap();
        assert_eq!(data.read().err().map(|error| error.kind()), Some(io::ErrorKind::NotFound));
    }

    #[cfg(unix)]
    #[test]
    fn links_to_files_are_not_followed() {
        let data = Data::new();
        data.write("elsewhere.json", r#"{"type":"text","text":"planted"}"#);
        std::os::unix::fs::symlink(data.tree().join("elsewhere.json"), data.tree().join("session/p1/ses_2.json"))
            .unwrap();
        assert_eq!(sessions(AGENT, &data.tree()).unwrap().len(), 1);
        std::os::unix::fs::symlink(data.tree().join("elsewhere.json"), data.tree().join("part/msg_2/prt_3.json"))
            .unwrap();
        assert_eq!(data.read().err().map(|error| error.kind()), Some(io::ErrorKind::InvalidData));
    }

    #[test]
    fn a_session_that_a_database_has_is_not_listed_and_read_from_there() {
        let data = Data::new();
        data.write("session/p2/ses_2.json", r#"{"directory":"/srv/harbor"}"#);
        data.write("session/p2/notes.txt", "x");
        let listed = || {
            let seen = sessions(AGENT, &data.tree()).unwrap();
            let mut paths: Vec<String> = seen.iter().map(|seen| seen.path.clone()).collect();
            paths.sort();
            paths
        };
        let [one, two] = ["session/p1/ses_1.json", "session/p2/ses_2.json"].map(|name| data.path(name));
        assert_eq!(listed(), [one.clone(), two.clone()]);
        let path = data.0.path().join("opencode-dev.db");
        fs::write(&path, "no database").unwrap();
        assert_eq!(listed().len(), 2, "it has none");
        fs::remove_file(&path).unwrap();
        let database = rusqlite::Connection::open(&path).unwrap();
        let tables = "
            CREATE TABLE session(id, parent_id, directory, title, revert, time_created, time_updated);
            CREATE TABLE message(id, session_id, time_created, data);
            CREATE TABLE part(id, message_id, session_id, time_created, time_updated, data);
            INSERT INTO session VALUES('ses_1', NULL, '/srv/harbor', 'Otters', NULL, 1000, 1000);";
        database.execute_batch(tables).unwrap();
        drop(database);
        assert_eq!(listed(), [two]);
        let source = Source { agent: AGENT, subagent: false };
        let row = path.join("ses_1").to_str().unwrap().to_owned();
        assert!(may_take_over(source, &one, &row, 1, TailDigest::default()));
        assert!(!may_take_over(source, &row, &one, 1, TailDigest::default()), "not the other way round");
    }

    #[test]
    fn a_message_that_is_written_to_makes_its_session_newer() {
        let data = Data::new();
        let modified = || sessions(AGENT, &data.tree()).unwrap()[0].stat.modified();
        let set = |name: &str, ago: Duration| {
            let time = SystemTime::now() - ago;
            fs::File::open(data.tree().join(name)).unwrap().set_modified(time).unwrap();
            Timestamp(i64::try_from(time.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis()).unwrap())
        };
        let hours = |hours: u64| Duration::from_secs(hours * 60 * 60);
        set("session/p1/ses_1.json", hours(60));
        set("message/ses_1/msg_9.json", hours(60));
        let message = set("message/ses_1/msg_2.json", hours(1));
        let folder = set("message/ses_1", hours(40));
        assert_eq!(modified(), folder, "it is not looked into");
        set("message/ses_1", hours(2));
        assert_eq!(modified(), message);
        let session = set("session/p1/ses_1.json", Duration::ZERO);
        assert_eq!(modified(), session);
    }
}
