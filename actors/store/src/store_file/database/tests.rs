//! Databases as OpenCode writes them, while it writes, and such that are damaged or of another form.

mod cursor_editor;
mod further_agents;

use std::sync::atomic::{AtomicBool, Ordering};

use baton_conversation::item::{Body, Item, Meta};
use baton_conversation::transcript::{OpenCalls, Source};
use rusqlite::params;

use super::*;
use crate::transcript_reader::{self, Pass, Start};

const SCHEMA: &str = "
    CREATE TABLE session(id text PRIMARY KEY, parent_id text, directory text NOT NULL, title text NOT NULL,
        revert text, permission text, time_created integer NOT NULL, time_updated integer NOT NULL);
    CREATE TABLE message(id text PRIMARY KEY, session_id text NOT NULL, time_created integer NOT NULL,
        time_updated integer NOT NULL, data text NOT NULL);
    CREATE TABLE part(id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL,
        time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
    CREATE TABLE event_sequence(aggregate_id text PRIMARY KEY, seq integer NOT NULL);
    CREATE INDEX message_idx ON message(session_id, time_created, id);
    CREATE INDEX part_idx ON part(message_id, id);";

/// A database and its writer.
struct Agents {
    folder: tempfile::TempDir,
    writer: Connection,
    time: i64,
}

impl Agents {
    fn new(mode: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let writer = Connection::open(folder.path().join("opencode.db")).unwrap();
        writer.pragma_update(None, "journal_mode", mode).unwrap();
        writer.pragma_update(None, "synchronous", "OFF").unwrap();
        writer.execute_batch(SCHEMA).unwrap();
        Self { folder, writer, time: 1_000 }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("opencode.db")
    }

    fn session(&mut self, id: &str) {
        self.time += 1;
        let row = "INSERT INTO session VALUES(?1, NULL, '/srv/harbor', 'New session - 1', NULL, 'secret', ?2, ?2)";
        self.writer.execute(row, params![id, self.time]).unwrap();
    }

    fn message(&mut self, session: &str, id: &str, data: &str, parts: &[&str]) {
        self.time += 1;
        let row = "INSERT OR REPLACE INTO message VALUES(?1, ?2, ?3, ?3, ?4)";
        self.writer.execute(row, params![id, session, self.time, data]).unwrap();
        for (at, part) in parts.iter().enumerate() {
            let row = "INSERT OR REPLACE INTO part VALUES(?1, ?2, ?3, ?4, ?4, ?5)";
            self.writer.execute(row, params![format!("{id}_{at:04}"), id, session, self.time, part]).unwrap();
        }
        let row = "INSERT INTO event_sequence VALUES(?1, 0) ON CONFLICT DO UPDATE SET seq = seq + 1";
        self.writer.execute(row, params![session]).unwrap();
    }

    fn asks(&mut self, session: &str, id: &str, words: &str) {
        let part = serde_json::json!({ "type": "text", "text": words }).to_string();
        self.message(session, id, r#"{"role":"user"}"#, &[&part]);
    }

    fn says(&mut self, session: &str, id: &str, words: &str) {
        let part = serde_json::json!({ "type": "text", "text": words, "time": { "end": 1 } }).to_string();
        self.message(session, id, r#"{"role":"assistant","time":{"completed":5}}"#, &[&part]);
    }

    fn sessions(&self) -> io::Result<Vec<(String, FileStat)>> {
        let seen = sessions(Agent::OpenCode, &self.path())?;
        let name = |path: &str| path.rsplit_once(".db/").unwrap().1.to_owned();
        Ok(seen.iter().map(|session| (name(&session.path), session.stat)).collect())
    }

    fn why_not(&self) -> (io::ErrorKind, String) {
        let error = self.sessions().unwrap_err();
        (error.kind(), error.to_string())
    }

    fn start(&self, session: &str) -> Start {
        let path = self.path().join(session);
        Start::beginning(Source { agent: Agent::OpenCode, subagent: false }, path.to_str().unwrap())
    }

    fn files(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

/// Reads on, and returns what was said.
fn read(start: &mut Start) -> Vec<String> {
    let to = match transcript_reader::observe(start) {
        Pass::Read(done) => done.cursor.offset,
        other => panic!("{other:?}"),
    };
    let mut items: Vec<Item> = Vec::new();
    let Pass::Read(done) = transcript_reader::items(start, OpenCalls::default(), to, &mut items) else {
        panic!("counted")
    };
    (start.cursor, start.tail) = (done.cursor, done.tail);
    let said = items.into_iter().filter_map(|item| match item.body {
        Body::Prompt { text } | Body::Reply { text } => Some(text),
        Body::Meta(Meta::Title { text, .. }) => Some(format!("title {text}")),
        _ => None,
    });
    said.collect()
}

#[test]
fn sessions_are_listed_and_read_on() {
    for mode in ["WAL", "DELETE"] {
        let mut agents = Agents::new(mode);
        agents.session("ses_1");
        agents.session("ses_2");
        agents.asks("ses_1", "msg_1", "first");
        let before = agents.sessions().unwrap();
        assert_eq!(before.iter().map(|(path, _)| &**path).collect::<Vec<_>>(), ["ses_1", "ses_2"], "{mode}");
        let mut start = agents.start("ses_1");
        assert_eq!(read(&mut start), ["first"]);
        agents.says("ses_1", "msg_2", "second");
        agents
            .writer
            .execute("UPDATE session SET title = 'Words', time_updated = 9999 WHERE id = 'ses_1'", [])
            .unwrap();
        let after = agents.sessions().unwrap();
        assert_ne!(before[0].1, after[0].1, "{mode}");
        assert_eq!(before[1].1, after[1].1, "{mode}");
        assert_eq!(read(&mut start), ["second", "title Words"]);
        assert_eq!(read(&mut start), [""; 0]);
        // An earlier message that changes makes another session of it.
        agents.says("ses_1", "msg_2", "second, corrected");
        assert!(matches!(transcript_reader::observe(&start), Pass::Rewritten { .. }), "{mode}");
        agents.writer.execute("DELETE FROM session WHERE id = 'ses_1'", []).unwrap();
        assert!(matches!(transcript_reader::observe(&start), Pass::Gone), "{mode}");
        let parent = "UPDATE session SET parent_id = 'ses_1', time_updated = 10000";
        agents.writer.execute(parent, []).unwrap();
        assert_eq!(agents.sessions().unwrap()[0].0, "ses_1/ses_2");
    }
}

#[test]
fn what_changes_in_an_older_form_is_noticed() {
    let mut agents = Agents::new("WAL");
    agents.session("ses_1");
    agents.asks("ses_1", "msg_1", "first");
    agents.writer.execute("DROP TABLE event_sequence", []).unwrap();
    let before = agents.sessions().unwrap();
    agents.writer.execute("UPDATE part SET time_updated = 77777", []).unwrap();
    assert_ne!(agents.sessions().unwrap(), before);
    assert_eq!(read(&mut agents.start("ses_1")), ["first"]);
}

#[test]
fn sessions_of_version_2_are_read_beside_earlier_ones_and_alone() {
    let mut agents = Agents::new("WAL");
    agents.session("ses_1");
    agents.asks("ses_1", "msg_1", "first");
    agents.session("ses_2");
    agents.asks("ses_2", "msg_2", "second");
    let tables = "
        CREATE TABLE session_v2(id text PRIMARY KEY, parent_id text, directory text NOT NULL, title text,
            revert text, permission text, time_created integer NOT NULL, time_updated integer NOT NULL);
        CREATE TABLE session_message(id text PRIMARY KEY, session_id text NOT NULL, type text NOT NULL,
            seq integer NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
        CREATE UNIQUE INDEX session_message_idx ON session_message(session_id, seq);
        INSERT INTO session_v2 VALUES('ses_2', NULL, '/srv/harbor', NULL, NULL, 'secret', 5, 5);
        INSERT INTO session_v2 VALUES('ses_3', 'ses_2', '/srv/harbor', 'Words', NULL, 'secret', 6, 6);";
    agents.writer.execute_batch(tables).unwrap();
    let step = |agents: &Agents, seq: i64, kind: &str, updated: i64, data: &str| {
        let row = "INSERT OR REPLACE INTO session_message VALUES(?1, 'ses_3', ?2, ?3, 7, ?4, ?5)";
        agents.writer.execute(row, params![format!("msg_{seq}"), kind, seq, updated, data]).unwrap();
    };
    step(&agents, 4, "user", 7, r#"{"text":"third"}"#);
    step(&agents, 9, "assistant", 8, r#"{"content":[{"type":"text","text":"So"}],"time":{}}"#);
    let before = agents.sessions().unwrap();
    let paths = |seen: &[(String, FileStat)]| seen.iter().map(|(path, _)| path.clone()).collect::<Vec<_>>();
    assert_eq!(paths(&before), ["ses_2", "ses_1", "ses_2/ses_3"]);
    assert_eq!(read(&mut agents.start("ses_1")), ["first"]);
    // It has been listed anew, but none of its messages has been copied.
    assert_eq!(read(&mut agents.start("ses_2")), ["second"]);
    let mut start = agents.start("ses_2/ses_3");
    assert_eq!(read(&mut start), ["third", "title Words"]);
    let text = r#"{"content":[{"type":"text","text":"So it is."}],"time":{"completed":9}}"#;
    step(&agents, 9, "assistant", 9, text);
    let after = agents.sessions().unwrap();
    assert_eq!((before[0].1, before[1].1), (after[0].1, after[1].1));
    assert_ne!(before[2].1, after[2].1);
    assert_eq!(read(&mut start), ["So it is."]);

    agents.writer.execute_batch("DROP TABLE session; DROP TABLE message; DROP TABLE part").unwrap();
    assert_eq!(paths(&agents.sessions().unwrap()), ["ses_2", "ses_2/ses_3"]);
    assert_eq!(read(&mut start), [""; 0]);
    assert_eq!(read(&mut agents.start("ses_2/ses_3")), ["third", "So it is.", "title Words"]);
}

#[test]
fn long_sessions_are_read_in_slices() {
    let mut agents = Agents::new("WAL");
    agents.session("ses_1");
    agents.writer.execute_batch("BEGIN").unwrap();
    let expected: Vec<String> = (0..3_000).map(|number| format!("words {number}")).collect();
    for (number, words) in expected.iter().enumerate() {
        agents.asks("ses_1", &format!("msg_{number:06}"), words);
    }
    agents.writer.execute_batch("COMMIT").unwrap();
    assert_eq!(read(&mut agents.start("ses_1")), expected);
    let path = agents.path();
    // A slice that is over at once still moves on by a row.
    let pieces = with(Agent::OpenCode, &path, |database| {
        let (mut came, id) = (Vec::new(), [Owned::Text(b"ses_1".to_vec())]);
        let mut key = vec![Owned::Integer(i64::MIN), Owned::Text(vec![]), Owned::Text(vec![])];
        let mut statement = database.connection.prepare(database.schema.rows).unwrap();
        let mut length = Duration::ZERO;
        loop {
            let mut rows = Vec::new();
            let over = database.slice(&mut statement, &id, &key, length, &mut rows);
            assert!(rows.len() <= 1 || length > Duration::ZERO);
            length = if rows.is_empty() { Duration::from_secs(1) } else { Duration::ZERO };
            for row in rows {
                key = row[..3].to_vec();
                came.push((
                    row[0].cell().integer(),
                    row[1].cell().bytes().to_owned(),
                    row[2].cell().bytes().to_owned(),
                ));
            }
            match over {
                Ok(true) => return Ok(came),
                Ok(false) | Err(Failure::Interrupted) => {}
                Err(Failure::Error(error)) => return Err(error),
            }
        }
    });
    let pieces = pieces.unwrap();
    assert_eq!(pieces.len(), 9_000);
    assert!(pieces.is_sorted());
}

#[test]
fn the_writer_and_its_folder_do_not_notice() {
    for mode in ["WAL", "DELETE"] {
        let mut agents = Agents::new(mode);
        agents.session("ses_1");
        let over = Arc::new(AtomicBool::new(false));
        let (path, done) = (agents.path(), over.clone());
        let reader = std::thread::spawn(move || {
            let start = Start::beginning(
                Source { agent: Agent::OpenCode, subagent: false },
                path.join("ses_1").to_str().unwrap(),
            );
            let mut reads = 0;
            while !done.load(Ordering::Relaxed) {
                if let Pass::Read(done) = transcript_reader::observe(&start) {
                    reads += u64::from(done.cursor.offset > 0);
                }
                drop(sessions(Agent::OpenCode, &path));
            }
            reads
        });
        agents.writer.busy_timeout(Duration::from_secs(10)).unwrap();
        let before = agents.files();
        for number in 0..300 {
            agents.says("ses_1", &format!("msg_{number:06}"), "words");
        }
        over.store(true, Ordering::Relaxed);
        assert!(reader.join().unwrap() > 0, "{mode}");
        assert_eq!(agents.files(), before, "{mode}");
        assert_eq!(read(&mut agents.start("ses_1")).len(), 300, "{mode}");
        if mode == "WAL" {
            let checkpoint = "PRAGMA wal_checkpoint(TRUNCATE)";
            let busy: i64 = agents.writer.query_row(checkpoint, [], |row| row.get(0)).unwrap();
            assert_eq!(busy, 0);
            assert_eq!(fs::metadata(beside(&agents.path(), "-wal")).unwrap().len(), 0);
        }
    }
}

#[test]
fn a_database_that_nobody_has_open_is_read_without_a_file_beside_it() {
    let mut agents = Agents::new("WAL");
    agents.session("ses_1");
    agents.asks("ses_1", "msg_1", "first");
    // Like an agent that was killed: its log stays.
    let (left, path) = (tempfile::tempdir().unwrap(), agents.path());
    for suffix in ["", "-wal", "-shm"] {
        fs::copy(beside(&path, suffix), left.path().join(format!("opencode.db{suffix}"))).unwrap();
    }
    let (writer, left) =
        (Connection::open_in_memory().unwrap(), Agents { folder: left, writer: agents.writer, time: 0 });
    agents.writer = writer;
    let names = ["opencode.db", "opencode.db-shm", "opencode.db-wal"];
    assert_eq!(
        (read(&mut left.start("ses_1")), left.files()),
        (vec!["first".to_owned()], names.map(str::to_owned).to_vec())
    );
    fs::remove_file(left.folder.path().join("opencode.db-shm")).unwrap();
    fs::File::options().append(true).open(beside(&left.path(), "-wal")).unwrap().set_len(1 << 20).unwrap();
    assert!(left.why_not().1.contains("-shm is missing"), "{:?}", left.why_not());
    assert_eq!(left.files(), ["opencode.db", "opencode.db-wal"]);

    // The last one that closes it takes the log away.
    drop(left);
    let mut agents = Agents::new("WAL");
    agents.session("ses_1");
    agents.asks("ses_1", "msg_1", "first");
    agents.writer = Connection::open_in_memory().unwrap();
    assert_eq!(agents.files(), ["opencode.db"]);
    assert_eq!((agents.sessions().unwrap().len(), read(&mut agents.start("ses_1"))), (1, vec!["first".to_owned()]));
    assert_eq!(agents.files(), ["opencode.db"]);
    // An agent that opens it meanwhile.
    let (path, attempts) = (agents.path(), std::cell::Cell::new(0));
    let meanwhile = std::cell::RefCell::new(None);
    let read = with(Agent::OpenCode, &path, |database| {
        attempts.set(attempts.get() + 1);
        if database.is_idle {
            let writer = Connection::open(&path).unwrap();
            writer.execute("UPDATE session SET title = 'Other'", []).unwrap();
            meanwhile.replace(Some(writer));
        }
        let mut title = String::new();
        finished(database.rows("SELECT title FROM session", &[], Vec::new(), &mut |row| {
            title = row[0].text().unwrap().to_owned();
            Ok(true)
        }))?;
        Ok(title)
    });
    assert_eq!((read.unwrap(), attempts.get()), ("Other".to_owned(), 2));
}

#[test]
fn an_unchanged_database_is_not_opened() {
    let mut agents = Agents::new("WAL");
    agents.session("ses_1");
    let path = agents.path();
    let old = SystemTime::now() - Duration::from_secs(60);
    let age = || {
        for suffix in ["", "-wal"] {
            fs::File::options().append(true).open(beside(&path, suffix)).unwrap().set_modified(old).unwrap();
        }
    };
    age();
    assert_eq!(agents.sessions().unwrap().len(), 1);
    // The same stamp: what is new is not seen.
    agents.session("ses_2");
    let size = fs::metadata(beside(&path, "-wal")).unwrap().len();
    age();
    let known = lock(&KNOWN).get(&path).map(|known| known.stamp.log.unwrap().size).unwrap();
    assert!(known < size, "the log has grown");
    assert_eq!(agents.sessions().unwrap().len(), 2);
    agents.writer.execute("DELETE FROM session", []).unwrap();
    age();
    lock(&KNOWN).get_mut(&path).unwrap().stamp = Stamp::of(&path).unwrap();
    assert_eq!(agents.sessions().unwrap().len(), 2, "not opened");
    agents.session("ses_3");
    assert_eq!(agents.sessions().unwrap().len(), 1);
}

#[test]
fn what_is_no_such_database_is_said() {
    let lasting = io::ErrorKind::InvalidData;
    let agents = Agents::new("WAL");
    let check = |change: &str, expected: &str| {
        agents.writer.execute_batch(change).unwrap();
        let (kind, why) = agents.why_not();
        assert!(kind == lasting && why.contains(expected), "{change}: {why}");
        let start = agents.start("ses_1");
        assert!(matches!(transcript_reader::observe(&start), Pass::Unreadable { lasting: true, .. }), "{change}");
    };
    check("ALTER TABLE session RENAME COLUMN directory TO place", "no column session.directory");
    check(
        "ALTER TABLE session RENAME COLUMN place TO directory; ALTER TABLE part RENAME TO held;
         CREATE VIEW part AS SELECT * FROM held",
        "part is not an ordinary table",
    );
    check("DROP VIEW part; CREATE VIRTUAL TABLE part USING rtree(id, a, b)", "part is not an ordinary table");
    check("DROP TABLE part", "no table part");
    check(
        "CREATE TABLE part(id, message_id, session_id, time_created, time_updated, raw, data AS (upper(raw)))",
        "no column part.data",
    );

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("opencode.db");
    let why = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        let error = sessions(Agent::OpenCode, &path).unwrap_err();
        (error.kind(), error.to_string())
    };
    assert_eq!(why(b"").0, io::ErrorKind::UnexpectedEof);
    assert_eq!(why(b"no database"), (lasting, "it is no SQLite database".to_owned()));
    assert_eq!(why(&[b'x'; 5_000]), (lasting, "it is no SQLite database".to_owned()));
    let mut whole = {
        let mut agents = Agents::new("DELETE");
        agents.session("ses_1");
        fs::read(agents.path()).unwrap()
    };
    whole[100..].fill(0xa5);
    assert_eq!(why(&whole).0, lasting);
    assert_eq!(
        sessions(Agent::OpenCode, &folder.path().join("opencode-x.db")).unwrap_err().kind(),
        io::ErrorKind::NotFound
    );
    #[cfg(unix)]
    {
        let link = folder.path().join("opencode-link.db");
        std::os::unix::fs::symlink(agents.path(), &link).unwrap();
        assert_eq!(sessions(Agent::OpenCode, &link).unwrap_err().to_string(), "it is a link, or no regular file");
    }
}

#[test]
fn a_locked_database_is_read_later() {
    let mut agents = Agents::new("DELETE");
    agents.session("ses_1");
    agents.writer.execute_batch("BEGIN EXCLUSIVE").unwrap();
    assert_eq!(agents.why_not(), (io::ErrorKind::WouldBlock, "its agent has locked it".to_owned()));
    assert!(lock(&LOCKED).contains(&agents.path()), "not waited for again");
    agents.writer.execute_batch("COMMIT").unwrap();
    assert_eq!(agents.sessions().unwrap().len(), 1);
    assert!(!lock(&LOCKED).contains(&agents.path()));
}

#[test]
fn what_is_too_large_is_counted_or_said() {
    let mut agents = Agents::new("WAL");
    agents.session("ses_1");
    agents.asks("ses_1", "msg_1", "first");
    agents.asks("ses_1", "msg_2", &"x".repeat(17 << 20));
    agents.asks("ses_1", "msg_3", "third");
    let mut start = agents.start("ses_1");
    let Pass::Read(done) = transcript_reader::observe(&start) else { panic!("not read") };
    assert_eq!((done.seen.oversize, done.seen.prompts), (1, 2));
    assert_eq!(read(&mut start), ["first", "third"]);
    for number in 4..8 {
        agents.asks("ses_1", &format!("msg_{number}"), &"x".repeat(12 << 20));
    }
    let Pass::Unreadable { reason, lasting } = transcript_reader::observe(&start) else { panic!("read") };
    assert_eq!((&*reason, lasting), ("it is a session of more than 32 MB", true));
}

#[test]
fn nothing_but_listed_columns_can_be_read() {
    let mut agents = Agents::new("WAL");
    agents.session("ses_1");
    agents.writer.execute_batch("CREATE TABLE account(token text)").unwrap();
    for (sql, expected) in [
        ("SELECT title FROM session", true),
        ("SELECT count(*) FROM session", true),
        ("SELECT permission FROM session", false),
        ("SELECT id FROM session WHERE permission = 'secret'", false),
        ("SELECT token FROM account", false),
        ("SELECT count(*) FROM account", false),
        ("SELECT name FROM sqlite_schema", false),
        ("SELECT hex(title) FROM session", false),
        ("PRAGMA user_version", false),
        ("DELETE FROM session", false),
        ("CREATE TEMP TABLE x(y)", false),
    ] {
        let read = with(Agent::OpenCode, &agents.path(), |database| {
            finished(database.rows(sql, &[], Vec::new(), &mut |_| Ok(true)))
        });
        assert_eq!(read.is_ok(), expected, "{sql}");
    }
}
