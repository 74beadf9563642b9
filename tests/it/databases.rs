//! Sessions in the databases of further agents, through the program: each is found where the agent keeps it, read on
//! while the agent writes, and nothing else of the database is read.

use rusqlite::Connection;
use serde_json::json;

use crate::forget::found_in;
use crate::world::{World, list, wait};

/// A secret of a form that no rule knows, so that only not being read keeps it out.
const PLANTED: &str = "plantedmarmotword";

struct Kept {
    agent: &'static str,
    session: &'static str,
    database: &'static str,
    /// Tables, and the session in them.
    made: &'static str,
    /// Adds a message of `{role}` that says `{words}`, `{time}` seconds after 1970.
    said: &'static str,
    resume: &'static str,
}

const ALL: &[Kept] = &[
    Kept {
        agent: "goose",
        session: "20260611_1",
        database: "user/.local/share/goose/sessions/sessions.db",
        made: "
            CREATE TABLE sessions(id TEXT PRIMARY KEY, name TEXT NOT NULL DEFAULT '', session_type TEXT NOT NULL,
                working_dir TEXT NOT NULL, created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
                updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, extension_data TEXT, parent_session_id TEXT);
            CREATE TABLE messages(id INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT, session_id TEXT NOT NULL,
                role TEXT NOT NULL, content_json TEXT NOT NULL, created_timestamp INTEGER NOT NULL, metadata_json TEXT);
            CREATE INDEX a ON messages(session_id);
            INSERT INTO sessions VALUES('20260611_1', 'Otters in the harbor', 'user', '/srv/harbor',
                '2026-06-11 19:15:00', '2026-06-11 19:15:00', 'plantedmarmotword', NULL);",
        said: r#"INSERT INTO messages VALUES(NULL, 'plantedmarmotword', '20260611_1', '{role}',
            '[{"type":"text","text":"{words}","key":"plantedmarmotword"}]', {time}, NULL);
            UPDATE sessions SET updated_at = datetime({time}, 'unixepoch')"#,
        resume: "goose session --resume --session-id 20260611_1",
    },
    Kept {
        agent: "hermes",
        session: "20260611_191500_ab12cd",
        database: "user/.hermes/state.db",
        made: "
            CREATE TABLE system_prompts(hash TEXT PRIMARY KEY, prompt TEXT NOT NULL);
            INSERT INTO system_prompts VALUES('h', 'plantedmarmotword');
            CREATE TABLE sessions(id TEXT PRIMARY KEY, source TEXT NOT NULL, model_config TEXT, system_prompt TEXT,
                parent_session_id TEXT, started_at REAL NOT NULL, ended_at REAL, end_reason TEXT,
                message_count INTEGER DEFAULT 0, cwd TEXT, title TEXT, rewind_count INTEGER NOT NULL DEFAULT 0);
            CREATE TABLE messages(id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, role TEXT NOT NULL,
                content TEXT, tool_call_id TEXT, tool_calls TEXT, timestamp REAL NOT NULL, reasoning TEXT,
                _compressed_summary INTEGER NOT NULL DEFAULT 0, active INTEGER NOT NULL DEFAULT 1,
                compacted INTEGER NOT NULL DEFAULT 0, api_content TEXT, display_kind TEXT);
            CREATE INDEX a ON messages(session_id, timestamp);
            INSERT INTO sessions VALUES('20260611_191500_ab12cd', 'cli', '{\"key\":\"plantedmarmotword\"}', 'plantedmarmotword',
                NULL, 1781205300.5, NULL, NULL, 0, '/srv/harbor', 'Otters in the harbor', 0);",
        said: "INSERT INTO messages(session_id, role, content, timestamp, api_content)
            VALUES('20260611_191500_ab12cd', '{role}', '{words}', {time}.5, 'plantedmarmotword');
            UPDATE sessions SET message_count = message_count + 1",
        resume: "hermes --resume 20260611_191500_ab12cd",
    },
    Kept {
        agent: "cursor",
        session: "5d2f1c3a-7b1e-4c55-9a01-000000000001",
        database: "user/.config/Cursor/User/globalStorage/state.vscdb",
        made: r#"
            CREATE TABLE ItemTable(key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB);
            CREATE TABLE cursorDiskKV(key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB);
            CREATE TABLE composerHeaders(composerId TEXT PRIMARY KEY, workspaceId TEXT, createdAt INTEGER,
                lastUpdatedAt INTEGER, isArchived INTEGER, isSubagent INTEGER, recency INTEGER, checkpointAt INTEGER,
                value TEXT);
            INSERT INTO ItemTable VALUES('cursorAuth/accessToken', 'plantedmarmotword');
            INSERT INTO cursorDiskKV VALUES('agentKv:blob:1', 'plantedmarmotword'),
                ('bubbleId', '{"type":1,"text":"plantedmarmotword"}'), ('composerData', 'plantedmarmotword'),
                ('composerDatb:5d2f1c3a-7b1e-4c55-9a01-000000000001', '{"name":"plantedmarmotword"}'),
                ('composer.content.5d2f', 'plantedmarmotword'), ('messageRequestContext:5d2f', 'plantedmarmotword'),
                ('bubbleId:5d2f1c3a-7b1e-4c55-9a01-000000000001:gone', '{"type":1,"text":"plantedmarmotword"}'),
                ('composerData:5d2f1c3a-7b1e-4c55-9a01-000000000001',
                 '{"blobEncryptionKey":"plantedmarmotword","text":"plantedmarmotword","status":"completed",
                   "fullConversationHeadersOnly":[]}');
            INSERT INTO composerHeaders VALUES('5d2f1c3a-7b1e-4c55-9a01-000000000001', 'plantedmarmotword', 1, 1781205300000,
                0, 0, 1, 1, '{"name":"Otters in the harbor","workspaceIdentifier":{"uri":{"fsPath":"/srv/harbor"}},
                "token":"plantedmarmotword"}');"#,
        // A row that is replaced gets a new row id.
        said: r#"INSERT INTO cursorDiskKV VALUES('bubbleId:5d2f1c3a-7b1e-4c55-9a01-000000000001:' || (9000000000 - {time}),
                json_object('type', CASE '{role}' WHEN 'user' THEN 1 ELSE 2 END, 'text', '{words}', 'richText', 'plantedmarmotword',
                  'createdAt', strftime('%Y-%m-%dT%H:%M:%fZ', {time}, 'unixepoch')));
            INSERT INTO cursorDiskKV SELECT key, json_insert(value, '$.fullConversationHeadersOnly[#]',
                json_object('bubbleId', CAST(9000000000 - {time} AS TEXT), 'type', CASE '{role}' WHEN 'user' THEN 1 ELSE 2 END))
                FROM cursorDiskKV WHERE key = 'composerData:5d2f1c3a-7b1e-4c55-9a01-000000000001'"#,
        resume: "cursor-agent --resume 5d2f1c3a-7b1e-4c55-9a01-000000000001",
    },
    Kept {
        agent: "kiro",
        session: "5d2f1c3a-7b1e-4c55-9a01-000000000002",
        database: "user/.local/share/kiro-cli/data.sqlite3",
        made: r#"
            CREATE TABLE auth_kv(key TEXT PRIMARY KEY, value TEXT);
            CREATE TABLE conversations(key TEXT PRIMARY KEY, value TEXT);
            CREATE TABLE conversations_v2(key TEXT NOT NULL, conversation_id TEXT NOT NULL, value TEXT NOT NULL,
                created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, PRIMARY KEY (key, conversation_id));
            INSERT INTO auth_kv VALUES('token', 'plantedmarmotword');
            INSERT INTO conversations VALUES('/srv/harbor', 'plantedmarmotword');
            INSERT INTO conversations_v2 VALUES('/srv/harbor', '5d2f1c3a-7b1e-4c55-9a01-000000000002',
                '{"history":[],"tools":"plantedmarmotword","context_manager":"plantedmarmotword"}', 1, 1);"#,
        said: r#"UPDATE conversations_v2 SET updated_at = 1000 * {time}, value = CASE '{role}'
                WHEN 'user' THEN json_insert(value, '$.history[#]', json_object('user', json_object('content',
                  json_object('Prompt', json_object('prompt', '{words}')), 'additional_context', 'plantedmarmotword')))
                ELSE json_set(value, '$.history[#-1].assistant', json_object('Response', json_object('message_id', 'm',
                  'content', '{words}'))) END"#,
        resume: "kiro-cli chat --resume-id 5d2f1c3a-7b1e-4c55-9a01-000000000002",
    },
];

#[test]
fn sessions_of_each_agent_with_a_database_are_found_and_read_on() {
    let world = World::new();
    let say = |kept: &Kept, database: &Connection, role: &str, words: &str, time: u64| {
        let sql = kept.said.replace("{role}", role).replace("{words}", words);
        database.execute_batch(&sql.replace("{time}", &(1_781_205_300 + time).to_string())).unwrap();
    };
    let open: Vec<(&Kept, Connection)> = ALL
        .iter()
        .map(|kept| {
            let path = world.path(kept.database);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            let database = Connection::open(path).unwrap();
            database.pragma_update(None, "journal_mode", "WAL").unwrap();
            database.execute_batch(kept.made).unwrap();
            say(kept, &database, "user", &format!("Let the otter of {} swim", kept.agent), 1);
            say(kept, &database, "assistant", &format!("The otter of {} swims.", kept.agent), 2);
            (kept, database)
        })
        .collect();
    for (kept, database) in &open {
        let agent = kept.agent;
        assert_eq!(world.found(&format!("\"otter of {agent} swims\"")), [kept.session], "{agent}: {}", world.log());
        let listed = list(&world.json(&["sessions", "--agent", agent])["sessions"]);
        assert_eq!(listed.len(), 1, "{agent}: {listed:?}");
        let about = |name: &str| listed[0][name].clone();
        assert_eq!((about("session_id"), about("project")), (json!(kept.session), json!("/srv/harbor")), "{agent}");
        assert_eq!((about("message_count"), about("unknown_types")), (json!(2), json!({})), "{agent}");
        say(kept, database, "user", &format!("Let the ferret of {agent} rest"), 3);
        let ferret = format!("\"ferret of {agent}\"");
        assert!(wait(|| world.found(&ferret) == [kept.session]), "{agent}: {}", world.log());
        let shown = world.ok(&["show", kept.session]).out;
        assert_eq!(shown.contains("# Otters in the harbor"), kept.made.contains("Otters in the harbor"), "{shown}");
        assert!(shown.contains(kept.resume), "{shown}");
    }
    assert_eq!(found_in(world.home(), &[PLANTED]), [""; 0], "only what is listed is read");
    assert_eq!(world.problems(), "[]");
}

#[test]
fn a_chat_that_also_has_a_transcript_is_one_session() {
    let world = World::new();
    let kept = ALL.iter().find(|kept| kept.agent == "cursor").unwrap();
    let path = world.path(kept.database);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let database = Connection::open(path).unwrap();
    database.execute_batch(kept.made).unwrap();
    let sql = kept.said.replace("{role}", "user").replace("{words}", "Let the otter swim");
    database.execute_batch(&sql.replace("{time}", "1781205300")).unwrap();
    assert_eq!(world.found("\"otter swim\""), [kept.session], "{}", world.log());
    let folder = world.path(format!("user/.cursor/projects/srv-harbor/agent-transcripts/{}", kept.session));
    std::fs::create_dir_all(&folder).unwrap();
    let line = |role: &str, words: &str| {
        json!({ "role": role, "message": { "content": [{ "type": "text", "text": words }] } }).to_string() + "\n"
    };
    let lines = line("user", "<user_query>Let the otter swim</user_query>") + &line("assistant", "The ferret swims.");
    std::fs::write(folder.join(format!("{}.jsonl", kept.session)), lines).unwrap();
    assert!(wait(|| world.found("\"ferret swims\"") == [kept.session]), "{}", world.log());
    assert_eq!(world.found("\"otter swim\""), [kept.session]);
    let listed = list(&world.json(&["sessions", "--agent", "cursor"])["sessions"]);
    assert_eq!((listed.len(), listed[0]["message_count"].clone()), (1, json!(2)), "{listed:?}");
    // The chat changes, and is still read from the transcript.
    let sql = kept.said.replace("{role}", "user").replace("{words}", "Only in the database");
    database.execute_batch(&sql.replace("{time}", "1781205301")).unwrap();
    assert_eq!(world.found("\"only in the database\""), [""; 0]);
    assert_eq!((world.found("\"ferret swims\""), world.problems()), (vec![kept.session.to_owned()], "[]".to_owned()));
}
