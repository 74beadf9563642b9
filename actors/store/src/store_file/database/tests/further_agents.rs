//! Databases of further agents, made as their programs make them, in each known form.

use baton_conversation::item::{Body, Item, Meta};
use baton_conversation::transcript::{OpenCalls, Source, classify};
use rusqlite::Connection;

use super::super::*;
use crate::transcript_reader::{self, Pass, Start};

/// In columns and fields that are not to be read.
const PLANTED: &str = "plantedmarmotword";

struct Database {
    agent: Agent,
    folder: tempfile::TempDir,
    name: &'static str,
    writer: Connection,
}

impl Database {
    fn new(agent: Agent, name: &'static str, tables: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let writer = Connection::open(folder.path().join(name)).unwrap();
        writer.pragma_update(None, "journal_mode", "WAL").unwrap();
        writer.pragma_update(None, "synchronous", "OFF").unwrap();
        writer.execute_batch(tables).unwrap();
        Self { agent, folder, name, writer }
    }

    fn run(&self, sql: &str) {
        self.writer.execute_batch(&sql.replace("PLANTED", PLANTED)).unwrap();
    }

    /// All sessions, as paths below the folder, with what shows that they have changed.
    fn seen(&self) -> Vec<(String, FileStat)> {
        let seen = sessions(self.agent, &self.folder.path().join(self.name)).unwrap();
        let below = |path: &str| path.split_once(&format!("{}/", self.name)).unwrap().1.to_owned();
        seen.iter().map(|session| (below(&session.path), session.stat)).collect()
    }

    fn listed(&self) -> Vec<String> {
        self.seen().into_iter().map(|(path, _)| path).collect()
    }

    fn lines(&self, session: &str) -> String {
        let id = session.rsplit('/').next().unwrap();
        let lines = render(self.agent, &self.folder.path().join(self.name), id).unwrap().lines;
        String::from_utf8(lines).unwrap()
    }

    /// What a session says, and the title.
    fn told(&self, session: &str) -> Vec<String> {
        assert!(!self.lines(session).contains(PLANTED), "{}", self.lines(session));
        let located = classify(self.agent, &format!("{}/{session}", self.name)).unwrap();
        let subagent = located.kind != baton_conversation::transcript::Kind::Main;
        let path = self.folder.path().join(self.name).join(session);
        let start = Start::beginning(Source { agent: self.agent, subagent }, path.to_str().unwrap());
        let to = match transcript_reader::observe(&start) {
            Pass::Read(done) => {
                assert_eq!((done.seen.malformed, done.seen.unknown.len()), (0, 0), "{:?}", done.seen);
                done.cursor.offset
            }
            other => panic!("{other:?}"),
        };
        let mut items: Vec<Item> = Vec::new();
        let Pass::Read(_) = transcript_reader::items(&start, OpenCalls::default(), to, &mut items) else {
            panic!("counted")
        };
        items.iter().map(shown).collect()
    }
}

fn shown(item: &Item) -> String {
    let at = item.at.map_or(String::new(), |at| format!("{} ", at.0));
    match &item.body {
        Body::Prompt { text } => format!("{at}> {text}"),
        Body::Reply { text } => format!("{at}{text}"),
        Body::Thinking { text } => format!("thinks {text}"),
        Body::Summary { text } => format!("summary {text}"),
        Body::Notice { text } => format!("notice {text}"),
        Body::Media { text } => text.clone(),
        Body::Call(call) => {
            format!("{:?} {} {}", call.act, call.name, serde_json::to_string(&call.input).unwrap())
        }
        Body::Result(result) => format!("{:?} {}", result.outcome, result.text),
        Body::Meta(Meta::Cwd(text)) => format!("in {text}"),
        Body::Meta(Meta::Title { text, .. }) => format!("title {text}"),
        Body::Meta(Meta::Usage(usage)) => format!("model {}", usage.model),
        Body::Meta(Meta::Compaction(_)) => "compaction".to_owned(),
        other => format!("{other:?}"),
    }
}

const GOOSE: &str = "
    CREATE TABLE sessions(id TEXT PRIMARY KEY, name TEXT NOT NULL DEFAULT '', description TEXT NOT NULL DEFAULT '',
        user_set_name BOOLEAN DEFAULT FALSE, session_type TEXT NOT NULL DEFAULT 'user', working_dir TEXT NOT NULL,
        created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
        extension_data TEXT DEFAULT 'plantedmarmotword', parent_session_id TEXT);
    CREATE TABLE messages(id INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT, session_id TEXT NOT NULL,
        role TEXT NOT NULL, content_json TEXT NOT NULL, created_timestamp INTEGER NOT NULL,
        timestamp TIMESTAMP DEFAULT CURRENT_TIMESTAMP, tokens INTEGER, metadata_json TEXT);
    CREATE INDEX a ON messages(session_id);";

fn goose() -> Database {
    let database = Database::new(Agent::Goose, "sessions.db", GOOSE);
    database.run(
        r#"
        INSERT INTO sessions(id, name, session_type, working_dir, updated_at, parent_session_id) VALUES
          ('20260603_1', 'Otters', 'user', '/srv/harbor', '2026-06-03 10:00:00', NULL),
          ('20260603_2', 'CLI Session', 'sub_agent', '/srv/harbor', '2026-06-03 10:00:01', '20260603_1'),
          ('20260603_3', 'x', 'hidden', '/srv/harbor', '2026-06-03 10:00:02', NULL);
        INSERT INTO messages(session_id, role, content_json, created_timestamp, metadata_json) VALUES
          ('20260603_2', 'user', '[{"type":"text","text":"Find the weasel"}]', 1780480000, NULL),
          ('20260603_1', 'user', '[{"type":"text","text":"Let the otter\nswim"},
            {"type":"image","data":"PLANTED","mimeType":"image/png"}]', 1780480001, '{"userVisible":true}'),
          ('20260603_1', 'assistant', '[{"type":"thinking","thinking":"hm","signature":"PLANTED"},
            {"type":"text","text":"I look."},
            {"type":"toolRequest","id":"c1","_meta":{"goose.toolSummary.title":"PLANTED"},"toolCall":{"status":"success",
              "value":{"name":"developer__shell","arguments":{"command":"ls"}}}},
            {"type":"toolRequest","id":"c2","toolCall":{"status":"success",
              "value":{"name":"developer__text_editor","arguments":{"command":"str_replace","path":"/srv/a",
              "old_str":"x","new_str":"y\nz"}}}},
            {"type":"toolRequest","id":"c3","toolCall":{"status":"success",
              "value":{"name":"text_editor","arguments":{"command":"view","path":"/srv/a"}}}},
            {"type":"toolRequest","id":"c4","toolCall":{"status":"success",
              "value":{"name":"github__issue","arguments":{"n":1}}}}]', 1780480002, NULL),
          ('20260603_1', 'user', '[
            {"type":"toolResponse","id":"c1","toolResult":{"status":"success","value":{"content":[
              {"type":"text","text":"a\nb","annotations":{"audience":["assistant"]}},
              {"type":"text","text":"PLANTED","annotations":{"audience":["user"]}}],"isError":false}}},
            {"type":"toolResponse","id":"c2","toolResult":{"status":"error","error":"no such text"}},
            {"type":"toolResponse","id":"c3","toolResult":{"status":"success","value":[
              {"type":"text","text":"The user has declined to run this tool. DO NOT attempt"}]}},
            {"type":"toolResponse","id":"c4","toolResult":{"status":"error",
              "error":"Interrupted by the user to make a correction"}}]', 1780480002, NULL),
          ('20260603_1', 'assistant', '[{"type":"systemNotification","notificationType":"inlineMessage","msg":"Compacted"},
            {"type":"text","text":"It swims."}]', 1780480003, NULL);"#,
    );
    database
}

const OF_GOOSE: &[&str] = &[
    "in /srv/harbor",
    "1780480001000 > Let the otter\nswim",
    "[image image/png]",
    "thinks hm",
    "1780480002000 I look.",
    r#"Shell shell {"command":"ls"}"#,
    r#"Edit text_editor {"command":"str_replace","file_path":"/srv/a","new_string":"y\nz","old_string":"x"}"#,
    r#"Read text_editor {"command":"view","file_path":"/srv/a"}"#,
    r#"Mcp github__issue {"n":1}"#,
    "Ok shell ls: ok, 2 lines",
    "Failed text_editor /srv/a: failed, no such text",
    "Denied text_editor /srv/a: denied",
    "Interrupted github__issue: interrupted",
    "notice Compacted",
    "1780480003000 It swims.",
    "title Otters",
];

#[test]
fn goose_is_read_in_each_form() {
    let database = goose();
    assert_eq!(database.listed(), ["20260603_1", "20260603_1/20260603_2"]);
    assert_eq!(database.told("20260603_1"), OF_GOOSE);
    assert_eq!(database.told("20260603_1/20260603_2"), ["in /srv/harbor", "1780480000000 > Find the weasel"]);
    let before = database.seen();
    database.run("UPDATE sessions SET name = 'Seals', updated_at = '2026-06-03 11:00:00' WHERE id = '20260603_1'");
    let after = database.seen();
    assert!(before[0].1 != after[0].1 && before[1].1 == after[1].1, "{before:?} {after:?}");

    // Before version 15 no parent is named.
    database.run("ALTER TABLE sessions DROP COLUMN parent_session_id; UPDATE sessions SET name = 'Otters'");
    assert_eq!(database.listed(), ["20260603_1", "-/20260603_2"]);
    assert_eq!(database.told("20260603_1"), OF_GOOSE);
}

#[test]
fn goose_compacts_and_is_taken_back() {
    let database = goose();
    let lines = database.lines("20260603_1");
    // The prompt that came last is hidden and written again, after a summary.
    database.run(
        r#"
        INSERT INTO messages(session_id, role, content_json, created_timestamp, metadata_json) VALUES
          ('20260603_1', 'user', '[{"type":"text","text":"And now?"}]', 1780480004, '{"userVisible":false}'),
          ('20260603_1', 'user', '[{"type":"text","text":"They swam."}]', 1780480005,
            '{"userVisible":false,"agentVisible":true}'),
          ('20260603_1', 'assistant', '[{"type":"text","text":"Go on."}]', 1780480005,
            '{"userVisible":false,"agentVisible":true}'),
          ('20260603_1', 'user', '[{"type":"text","text":"And now?"}]', 1780480006, NULL),
          ('20260603_1', 'user', '[{"type":"text","text":"A call listed files."}]', 1780480007, '{"userVisible":false}'),
          ('20260603_1', 'assistant', '[{"type":"text","text":"Done."}]', 1780480008, NULL);"#,
    );
    assert!(database.lines("20260603_1").starts_with(&lines));
    let told = database.told("20260603_1");
    let last = ["compaction", "summary They swam.", "1780480006000 > And now?", "1780480008000 Done.", "title Otters"];
    assert_eq!(told[15..], last);
    let before = database.seen();
    database.run("DELETE FROM messages WHERE created_timestamp >= 1780480004");
    assert_ne!(database.seen()[0], before[0]);
    assert_eq!(database.lines("20260603_1"), lines);
}

const CRUSH: &str = "
    CREATE TABLE sessions(id TEXT PRIMARY KEY, parent_session_id TEXT, title TEXT NOT NULL,
        message_count INTEGER NOT NULL DEFAULT 0, prompt_tokens INTEGER NOT NULL DEFAULT 0, cost REAL DEFAULT 0,
        updated_at INTEGER NOT NULL, created_at INTEGER NOT NULL, summary_message_id TEXT);
    CREATE TABLE files(id TEXT PRIMARY KEY, session_id TEXT, path TEXT, content TEXT DEFAULT 'plantedmarmotword');
    CREATE TABLE messages(id TEXT PRIMARY KEY, session_id TEXT NOT NULL, role TEXT NOT NULL,
        parts TEXT NOT NULL DEFAULT '[]', model TEXT, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
        finished_at INTEGER, provider TEXT, is_summary_message INTEGER DEFAULT 0 NOT NULL);
    CREATE INDEX b ON messages(session_id);
    CREATE TRIGGER c AFTER INSERT ON messages BEGIN
        UPDATE sessions SET message_count = message_count + 1, updated_at = new.updated_at WHERE id = new.session_id;
    END;";

fn crush() -> Database {
    let database = Database::new(Agent::Crush, "crush.db", CRUSH);
    database.run(
        r#"
        INSERT INTO sessions(id, parent_session_id, title, updated_at, created_at) VALUES
          ('s1', NULL, 'Otters', 1780480000, 1780480000), ('m2$$c4', 's1', 'New Session', 1780480000, 1780480000);
        INSERT INTO messages(id, session_id, role, parts, model, created_at, updated_at) VALUES
          ('m1', 's1', 'user', '[{"type":"text","data":{"text":"Let the otter swim"}},
            {"type":"text","data":{"text":"PLANTED","hidden":true}},
            {"type":"binary","data":{"Path":"a.png","MIMEType":"image/png","Data":"PLANTED"}},
            {"type":"finish","data":{"reason":"stop","time":0}}]', '', 1780480001, 1780480001);
        INSERT INTO messages(id, session_id, role, parts, model, created_at, updated_at, finished_at) VALUES
          ('m2', 's1', 'assistant', '[{"type":"reasoning","data":{"thinking":"hm","signature":"PLANTED"}},
            {"type":"text","data":{"text":"I look."}},
            {"type":"tool_call","data":{"id":"c1","name":"bash","input":"{\"command\":\"ls\"}","finished":true}},
            {"type":"tool_call","data":{"id":"c2","name":"edit","finished":true,
              "input":"{\"file_path\":\"/srv/a\",\"old_string\":\"x\",\"new_string\":\"y\\nz\"}"}},
            {"type":"tool_call","data":{"id":"c3","name":"mcp_github_issue","input":"{\"n\":1}","finished":true}},
            {"type":"finish","data":{"reason":"tool_use","time":1780480002}}]', 'm-1', 1780480002, 1780480002, 1780480002),
          ('m3', 's1', 'tool', '[{"type":"tool_result","data":{"tool_call_id":"c1","name":"bash","is_error":false,
              "content":"no such file\nExit code 2\n\n<cwd>/srv/harbor</cwd>","metadata":"PLANTED"}},
            {"type":"tool_result","data":{"tool_call_id":"c2","name":"edit","content":"User denied permission",
              "is_error":true,"metadata":"PLANTED"}},
            {"type":"tool_result","data":{"tool_call_id":"c3","name":"mcp_github_issue","content":"fine","is_error":false}},
            {"type":"finish","data":{"reason":"stop"}}]', '', 1780480002, 1780480002, NULL),
          ('m4', 's1', 'assistant', '[{"type":"text","data":{"text":"It swims."}},
            {"type":"finish","data":{"reason":"error","message":"Overloaded","details":"try later"}}]', 'm-1',
            1780480003, 1780480003, 1780480003);
        INSERT INTO files(id) VALUES('f');"#,
    );
    database
}

const OF_CRUSH: &[&str] = &[
    "1780480001000 > Let the otter swim",
    "[image image/png]",
    "model m-1",
    "thinks hm",
    "1780480002000 I look.",
    r#"Shell bash {"command":"ls"}"#,
    r#"Edit edit {"file_path":"/srv/a","new_string":"y\nz","old_string":"x"}"#,
    r#"Mcp mcp_github_issue {"n":1}"#,
    "in /srv/harbor",
    "Failed bash ls: exit 2, no such file",
    "Denied edit /srv/a: denied",
    "Ok mcp_github_issue: 1 line, 4 B",
    "1780480003000 It swims.",
    "notice Overloaded: try later",
    "title Otters",
];

#[test]
fn crush_is_read_in_each_form() {
    let database = crush();
    assert_eq!(database.listed(), ["s1", "s1/m2$$c4"]);
    assert_eq!(database.told("s1"), OF_CRUSH);
    let summary = r#"
        INSERT INTO messages(id, session_id, role, parts, created_at, updated_at, finished_at, is_summary_message) VALUES
          ('m5', 's1', 'assistant', '[{"type":"text","data":{"text":"They swam."}},{"type":"finish","data":{}}]',
            1780480004, 1780480004, 1780480004, 1);
        UPDATE sessions SET summary_message_id = 'm5' WHERE id = 's1'"#;
    database.run(summary);
    let told = [&OF_CRUSH[..14], &["compaction", "summary They swam.", "title Otters"]].concat();
    assert_eq!(database.told("s1"), told);
    // Before messages were marked as summaries, the session named the one.
    database.run("ALTER TABLE messages DROP COLUMN is_summary_message");
    assert_eq!(database.told("s1"), told);
    database.run("ALTER TABLE sessions DROP COLUMN summary_message_id; DELETE FROM messages WHERE id = 'm5'");
    assert_eq!(database.told("s1"), OF_CRUSH);
}

#[test]
fn crush_is_read_as_far_as_it_is_finished() {
    let database = crush();
    let mut before = (database.seen(), database.lines("s1"));
    let mut counts = Vec::new();
    for step in [
        r#"INSERT INTO messages(id, session_id, role, parts, created_at, updated_at)
            VALUES('m5', 's1', 'user', '[{"type":"text","data":{"text":"And now?"}}]', 1780480005, 1780480005)"#,
        r#"INSERT INTO messages(id, session_id, role, parts, created_at, updated_at)
            VALUES('m6', 's1', 'assistant', '[{"type":"text","data":{"text":"I"}}]', 1780480005, 1780480005)"#,
        r#"INSERT INTO messages(id, session_id, role, parts, created_at, updated_at) VALUES('m7', 's1', 'tool',
            '[{"type":"tool_result","data":{"tool_call_id":"c9","name":"ls","content":"a"}}]', 1780480005, 1780480005)"#,
        r#"UPDATE messages SET finished_at = 1780480005, parts = '[{"type":"text","data":{"text":"I see."}},
            {"type":"tool_call","data":{"id":"c9","name":"ls","input":"{}"}}]' WHERE id = 'm6'"#,
        r#"INSERT INTO messages(id, session_id, role, parts, created_at, updated_at)
            VALUES('m8', 's1', 'assistant', '[{"type":"text","data":{"text":"Killed"}}]', 1780480006, 1780480006)"#,
        r#"INSERT INTO messages(id, session_id, role, parts, created_at, updated_at)
            VALUES('m9', 's1', 'user', '[{"type":"text","data":{"text":"Go on"}}]', 1780480007, 1780480007)"#,
    ] {
        database.run(step);
        let now = (database.seen(), database.lines("s1"));
        assert!(now.1.starts_with(&before.1), "{}\nis not how this begins:\n{}", before.1, now.1);
        assert_ne!(now.0[0], before.0[0], "{step}");
        counts.push(now.1.lines().count() - before.1.lines().count());
        before = now;
    }
    assert_eq!(counts, [1, 0, 0, 3, 0, 2]);
}

const HERMES: &str = "
    CREATE TABLE sessions(id TEXT PRIMARY KEY, source TEXT NOT NULL, model_config TEXT, system_prompt TEXT,
        parent_session_id TEXT, started_at REAL NOT NULL, ended_at REAL, end_reason TEXT,
        message_count INTEGER DEFAULT 0, cwd TEXT, title TEXT, rewind_count INTEGER NOT NULL DEFAULT 0);
    CREATE TABLE system_prompts(hash TEXT PRIMARY KEY, prompt TEXT NOT NULL);
    CREATE TABLE messages(id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, role TEXT NOT NULL,
        content TEXT, tool_call_id TEXT, tool_calls TEXT, tool_name TEXT, timestamp REAL NOT NULL, finish_reason TEXT,
        reasoning TEXT, reasoning_details TEXT, _compressed_summary INTEGER NOT NULL DEFAULT 0,
        active INTEGER NOT NULL DEFAULT 1, compacted INTEGER NOT NULL DEFAULT 0, api_content TEXT, display_kind TEXT);
    CREATE INDEX d ON messages(session_id, timestamp);";

fn hermes() -> Database {
    let database = Database::new(Agent::Hermes, "state.db", HERMES);
    database.run(
        r#"
        INSERT INTO system_prompts VALUES('h', 'PLANTED');
        INSERT INTO sessions(id, source, model_config, system_prompt, parent_session_id, started_at, end_reason, cwd,
          title) VALUES
          ('h1', 'cli', '{}', 'PLANTED', NULL, 1780480000.5, 'compression', '/srv/harbor', 'Otters'),
          ('h2', 'cli', '{"_delegate_from":"h1"}', 'PLANTED', 'h1', 1780480001.5, NULL, NULL, NULL),
          ('h3', 'cli', '{"_branched_from":"h2"}', 'PLANTED', 'h2', 1780480001.5, NULL, NULL, NULL),
          ('h4', 'cli', NULL, 'PLANTED', 'h1', 1780480001.5, NULL, NULL, NULL),
          ('h5', 'cli', NULL, 'PLANTED', 'h2', 1780480001.5, NULL, NULL, NULL);
        INSERT INTO messages(session_id, role, content, tool_calls, tool_call_id, reasoning, timestamp, api_content) VALUES
          ('h1', 'system', 'PLANTED', NULL, NULL, NULL, 1780480001.25, NULL),
          ('h1', 'user', 'Let the otter swim', NULL, NULL, NULL, 1780480001.25, 'PLANTED'),
          ('h1', 'assistant', 'I look.', '[
            {"id":"c1","type":"function","function":{"name":"terminal","arguments":"{\"command\": \"ls\"}"}},
            {"id":"c2","type":"function","function":{"name":"read_file","arguments":"{\"path\": \"/srv/a\"}"}},
            {"id":"c3","type":"function","function":{"name":"terminal","arguments":"{\"command\": \"rm a\"}"}}]', NULL,
            'hm', 1780480002.0, NULL),
          ('h1', 'tool', '{"output": "no such file", "exit_code": 2, "error": null}', NULL, 'c1', NULL, 1780480002.1, NULL),
          ('h1', 'tool', '{"error": "File not found"}', NULL, 'c2', NULL, 1780480002.2, NULL),
          ('h1', 'tool', '{"output": "", "exit_code": -1, "error": "BLOCKED: User denied this command"}', NULL, 'c3', NULL,
            1780480002.3, NULL),
          ('h1', 'assistant', 'It swims.', NULL, NULL, NULL, 1780480003.0, NULL),
          ('h1', 'user', '[IMPORTANT: The user has invoked the "work" skill. The full skill content is loaded below.]' ||
            char(10) || 'Some skill' || char(10) || 'The user has provided the following instruction alongside the skill '
            || 'invocation: fix the pier', NULL, NULL, NULL, 1780480004.0, NULL),
          ('h1', 'user', char(0) || 'json:[{"type":"text","text":"What is this?"},
            {"type":"image_url","image_url":{"url":"PLANTED"}}]', NULL, NULL, NULL, 1780480005.0, NULL);"#,
    );
    database
}

const OF_HERMES: &[&str] = &[
    "1780480001250 > Let the otter swim",
    "thinks hm",
    "1780480002000 I look.",
    r#"Shell terminal {"command":"ls"}"#,
    r#"Read read_file {"path":"/srv/a"}"#,
    r#"Shell terminal {"command":"rm a"}"#,
    "Failed terminal ls: exit 2, no such file",
    "Failed read_file /srv/a: failed, File not found",
    "Denied terminal rm a: denied",
    "1780480003000 It swims.",
    "1780480004000 > fix the pier",
    "1780480005000 > What is this?",
    "[image]",
    "title Otters",
];

#[test]
fn hermes_is_read_in_each_form() {
    let database = hermes();
    assert_eq!(database.listed(), ["h1", "h1/h2", "h3", "h4", "h2/h5"]);
    let told = [&["in /srv/harbor"], OF_HERMES].concat();
    assert_eq!(database.told("h1"), told);
    database.run("ALTER TABLE messages DROP COLUMN display_kind");
    assert_eq!(database.told("h1"), told);
    database.run("ALTER TABLE messages DROP COLUMN compacted");
    assert_eq!(database.told("h1"), OF_HERMES);
    assert_eq!(database.listed(), ["h1", "h1/h2", "h2/h3", "h1/h4", "h2/h5"]);
}

#[test]
fn hermes_compacts_and_is_taken_back() {
    let database = hermes();
    let lines = database.lines("h1");
    database.run(
        r#"
        UPDATE messages SET active = 0, compacted = 1 WHERE session_id = 'h1';
        INSERT INTO messages(session_id, role, content, tool_calls, timestamp, _compressed_summary, display_kind) VALUES
          ('h1', 'user', 'Let the otter swim', NULL, 1780480001.25, 0, NULL),
          ('h1', 'user', '[CONTEXT COMPACTION — REFERENCE ONLY] They swam.', NULL, 1780480006.0, 1, NULL),
          ('h1', 'assistant', 'It swims.', NULL, 1780480003.0, 0, NULL),
          ('h1', 'user', 'PLANTED', NULL, 1780480006.0, 0, 'hidden'),
          ('h1', 'user', 'And now?', NULL, 1780480007.0, 0, NULL);"#,
    );
    assert!(database.lines("h1").starts_with(&lines));
    let summary = "summary [CONTEXT COMPACTION — REFERENCE ONLY] They swam.";
    assert_eq!(database.told("h1")[14..], ["compaction", summary, "1780480007000 > And now?", "title Otters"]);
    let before = database.seen();
    database.run(
        "UPDATE messages SET active = 0 WHERE content = 'And now?';
         UPDATE sessions SET rewind_count = 1 WHERE id = 'h1'",
    );
    assert_ne!(database.seen()[0], before[0]);
    assert_eq!(database.told("h1")[14..], ["compaction", summary, "title Otters"]);
}

#[test]
fn nothing_odd_in_a_database_breaks_a_line() {
    for (database, sessions, columns) in [
        (goose(), "20260603_1", ["content_json", "created_timestamp", "metadata_json"]),
        (crush(), "s1", ["parts", "created_at", "model"]),
        (hermes(), "h1", ["content", "timestamp", "tool_calls"]),
    ] {
        for odd in [
            "'[[['",
            "'[1, null, \"x\", {}, {\"type\": 7}, {\"type\": \"brand-new\"}, {\"type\": \"text\", \"text\": 1}]'",
            "'[{\"type\":\"toolRequest\"},{\"type\":\"toolResponse\"},{\"type\":\"tool_call\"},{\"type\":\"tool_result\"}]'",
            "'{\"output\": 1, \"exit_code\": 1e99, \"error\": {}}'",
            "x'ff0a22'",
            "CAST(x'220aff7b' AS TEXT)",
            "-9223372036854775808",
            "1e300",
            "'\n\"}'",
        ] {
            for column in columns {
                database.run("BEGIN");
                database.run(&format!("UPDATE messages SET {column} = {odd}"));
                database.run("COMMIT");
                let lines = database.lines(sessions);
                let is_json = |line: &str| serde_json::from_str::<serde_json::Value>(line).is_ok();
                assert!(lines.lines().all(is_json), "{column} = {odd}: {lines}");
                assert!(!database.seen().is_empty());
            }
        }
    }
}
