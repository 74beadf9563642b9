//! The database of Cursor's editor, as it is described: one table of keys and values, in which a row that is replaced
//! gets the next row id.

use rusqlite::{Connection, params};
use serde_json::json;

use super::super::*;

const PLANTED: &str = "plantedmarmotword";
const HEADS: &str = "CREATE TABLE composerHeaders(composerId TEXT PRIMARY KEY, workspaceId TEXT, createdAt INTEGER,
    lastUpdatedAt INTEGER, isArchived INTEGER, isSubagent INTEGER, recency INTEGER, checkpointAt INTEGER, value TEXT);";

struct Editor {
    folder: tempfile::TempDir,
    writer: Connection,
}

impl Editor {
    fn new(heads: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let writer = Connection::open(folder.path().join("state.vscdb")).unwrap();
        writer.pragma_update(None, "journal_mode", "WAL").unwrap();
        writer.pragma_update(None, "synchronous", "OFF").unwrap();
        let tables = "CREATE TABLE ItemTable(key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB);
            CREATE TABLE cursorDiskKV(key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB);
            INSERT INTO ItemTable VALUES('cursorAuth/accessToken', 'plantedmarmotword'),
                ('composerData:x', '{\"name\":\"plantedmarmotword\"}');
            INSERT INTO cursorDiskKV VALUES('agentKv:blob:1', 'plantedmarmotword'), ('bubbleId:', 'plantedmarmotword'),
                ('bubbleId:c0', 'plantedmarmotword'), ('composerData:', 'plantedmarmotword'),
                ('composerData;c1', 'plantedmarmotword'), ('bubbleId;c1:b1', 'plantedmarmotword'), (NULL, 'plantedmarmotword');";
        writer.execute_batch(tables).unwrap();
        writer.execute_batch(heads).unwrap();
        Self { folder, writer }
    }

    fn put(&self, key: &str, value: &str) {
        self.writer.execute("INSERT INTO cursorDiskKV VALUES(?1, ?2)", params![key, value]).unwrap();
    }

    /// Makes a chat with these messages; the first one is a person's.
    fn chat(&self, id: &str, messages: &[&str]) {
        let headers: Vec<_> = messages
            .iter()
            .enumerate()
            .map(|(at, message)| json!({ "bubbleId": message, "type": 1 + (at & 1) }))
            .collect();
        for (at, message) in messages.iter().enumerate() {
            self.says(id, message, 1 + (at & 1), message);
        }
        let chat =
            json!({ "fullConversationHeadersOnly": headers, "status": "completed", "blobEncryptionKey": PLANTED });
        self.put(&format!("composerData:{id}"), &chat.to_string());
    }

    fn says(&self, chat: &str, message: &str, author: usize, words: &str) {
        let value = json!({ "type": author, "text": words, "richText": PLANTED, "context": { "token": PLANTED } });
        self.put(&format!("bubbleId:{chat}:{message}"), &value.to_string());
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("state.vscdb")
    }

    fn seen(&self) -> Vec<(String, FileStat)> {
        let seen = sessions(Agent::Cursor, &self.path()).unwrap();
        let below = |path: &str| path.split_once("state.vscdb/").unwrap().1.to_owned();
        seen.iter().map(|session| (below(&session.path), session.stat)).collect()
    }

    fn lines(&self, id: &str) -> String {
        let lines = String::from_utf8(render(Agent::Cursor, &self.path(), id).unwrap().lines).unwrap();
        assert!(!lines.contains(PLANTED), "{lines}");
        lines
    }
}

#[test]
fn a_chat_is_found_by_its_key_and_changes_with_its_rows() {
    for heads in [HEADS, ""] {
        let editor = Editor::new(heads);
        editor.chat("c1", &["zz", "aa"]);
        editor.chat("c2", &["b1"]);
        editor.put("composerData:c3", "");
        let first = editor.seen();
        assert_eq!(first.iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>(), ["c1", "c2"]);
        let lines = editor.lines("c1");
        assert!(lines.find("\"zz\"") < lines.find("\"aa\""), "{lines}");
        assert!(!editor.lines("c2").contains("aa"));
        // As long as before, and only in the row of the message.
        editor.says("c1", "aa", 2, "ab");
        let second = editor.seen();
        assert_ne!(second[0].1, first[0].1, "{heads}");
        assert_eq!(second[1], first[1]);
        assert!(editor.lines("c1").contains("\"ab\""));
        // Taken back: the row stays, but the chat does not list it any more.
        editor.chat("c1", &["zz"]);
        assert_ne!(editor.seen()[0].1, second[0].1);
        assert!(!editor.lines("c1").contains("\"ab\""));
        for none in ["c0", "c9", "c1:zz", "'"] {
            assert_eq!(
                render(Agent::Cursor, &editor.path(), none).err().unwrap().kind(),
                io::ErrorKind::NotFound,
                "{none}"
            );
        }
    }
}

#[test]
fn the_list_of_chats_tells_subagents_and_times() {
    let editor = Editor::new(HEADS);
    editor.chat("c1", &["a"]);
    editor.chat("c2", &["a"]);
    let head = "INSERT INTO composerHeaders VALUES(?1, ?3, 1, ?2, 0, ?1 = 'c2', 1, 1, ?4)";
    let value = json!({ "name": "Otters", "subagentInfo": { "parentComposerId": "c1" }, "token": PLANTED }).to_string();
    for id in ["c1", "c2"] {
        editor.writer.execute(head, params![id, 1_781_205_300_000_i64, PLANTED, value]).unwrap();
    }
    let seen = editor.seen();
    assert_eq!(seen.iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>(), ["c1", "-/c2"]);
    assert_eq!(seen[0].1.modified_ns, 1_781_205_300_000_000_000);
    assert!(editor.lines("c2").starts_with(r#"{"type":"parent","at":null,"message":null,"text":"c1"}"#));
    assert_eq!(render(Agent::Cursor, &editor.path(), "c1").unwrap().title.as_deref(), Some("Otters"));
}

#[test]
fn no_statement_walks_through_the_table() {
    let editor = Editor::new(HEADS);
    let table = table(Agent::Cursor).unwrap();
    for schema in table.schemas {
        for sql in [schema.sessions, schema.session, schema.rows] {
            let mut plan = editor.writer.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
            let count = plan.parameter_count();
            let steps =
                plan.query_map(rusqlite::params_from_iter(std::iter::repeat_n("c1", count)), |row| row.get(3)).unwrap();
            let steps: Vec<String> = steps.map(Result::unwrap).collect();
            let is_range = |step: &String| !step.starts_with("SCAN") || step.contains("CONSTANT");
            assert!(steps.iter().all(is_range), "{sql}: {steps:?}");
            assert!(steps[0].contains("key>? AND key<?") || steps[0].contains("key=?"), "{sql}: {steps:?}");
        }
    }
}
