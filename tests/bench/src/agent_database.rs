//! A database of an agent's sessions, written as OpenCode does.

use std::fs;
use std::path::Path;

use rusqlite::{Connection, params};
use serde_json::{Value, json};

use super::{Error, io_error};

/// What is read of the agent's tables, and its indexes.
const TABLES: &str = "
    CREATE TABLE event_sequence(aggregate_id text PRIMARY KEY, seq integer NOT NULL, owner_id text);
    CREATE TABLE session(id text PRIMARY KEY, project_id text, parent_id text, slug text, directory text NOT NULL,
        title text NOT NULL, revert text, time_created integer NOT NULL, time_updated integer NOT NULL);
    CREATE TABLE message(id text PRIMARY KEY, session_id text NOT NULL, time_created integer NOT NULL,
        time_updated integer NOT NULL, data text NOT NULL);
    CREATE TABLE part(id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL,
        time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
    CREATE INDEX message_of ON message(session_id, time_created, id);
    CREATE INDEX part_of ON part(message_id, id);
    CREATE INDEX part_within ON part(session_id);";

/// A connection of the agent's.
pub(super) struct AgentDatabase {
    connection: Connection,
    /// Messages so far.
    messages: u64,
}

impl AgentDatabase {
    /// Creates a database, with SQLite's `journal_mode`.
    pub(super) fn create(path: &Path, journal_mode: &str) -> Result<Self, Error> {
        let folder = path.parent().unwrap_or(path);
        fs::create_dir_all(folder).map_err(io_error("create", folder))?;
        let create = || {
            let connection = Connection::open(path)?;
            // As the agent has it.
            connection.pragma_update(None, "synchronous", "NORMAL")?;
            connection.busy_timeout(std::time::Duration::from_secs(5))?;
            connection.execute_batch(TABLES)?;
            Ok(Self { connection, messages: 0 })
        };
        let agent = create().map_err(failed)?;
        agent.journal_mode(journal_mode)?;
        Ok(agent)
    }

    /// Changes the mode.
    pub(super) fn journal_mode(&self, mode: &str) -> Result<(), Error> {
        let set = self.connection.pragma_update_and_check(None, "journal_mode", mode, |row| row.get::<_, String>(0));
        match set {
            Ok(now) if now.eq_ignore_ascii_case(mode) => Ok(()),
            Ok(now) => Err(Error::NothingMeasured(format!("an agent's database is in mode {now}"))),
            Err(error) => Err(failed(error)),
        }
    }

    /// Adds a session.
    pub(super) fn session(&self, id: &str, at: i64) -> Result<(), Error> {
        let row = "INSERT INTO session VALUES(?1, 'p', NULL, 's', '/srv/harbor', 'New session - ', NULL, ?2, ?2)";
        self.connection.execute(row, params![id, at]).map_err(failed)?;
        Ok(())
    }

    /// Adds a message, `{"data": …, "parts": […]}`, as one change of its own unless [`Self::all_at_once`]. Returns the
    /// bytes of what it consists of.
    pub(super) fn message(&mut self, session: &str, at: i64, message: &Value) -> Result<u64, Error> {
        self.messages += 1;
        let id = format!("msg_{:010}", self.messages);
        let mut write = || {
            let change = self.connection.savepoint()?;
            let data = message["data"].to_string();
            let mut bytes = data.len();
            change.execute("INSERT INTO message VALUES(?1, ?2, ?3, ?3, ?4)", params![id, session, at, data])?;
            for (number, part) in message["parts"].as_array().into_iter().flatten().enumerate() {
                let (data, id_of_part) = (part.to_string(), format!("{id}.{number:03}"));
                bytes += data.len();
                let row = "INSERT INTO part VALUES(?1, ?2, ?3, ?4, ?4, ?5)";
                change.execute(row, params![id_of_part, id, session, at, data])?;
            }
            let next = "INSERT INTO event_sequence VALUES(?1, 0, NULL) ON CONFLICT DO UPDATE SET seq = seq + 1";
            change.execute(next, [session])?;
            change.execute("UPDATE session SET time_updated = ?2 WHERE id = ?1", params![session, at])?;
            change.commit()?;
            Ok(bytes as u64)
        };
        write().map_err(failed)
    }

    /// Makes all changes of `work` one.
    pub(super) fn all_at_once<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T, Error>) -> Result<T, Error> {
        self.connection.execute_batch("BEGIN IMMEDIATE").map_err(failed)?;
        let done = work(self)?;
        self.connection.execute_batch("COMMIT").map_err(failed)?;
        Ok(done)
    }
}

/// A prompt.
pub(super) fn prompt(words: &str) -> Value {
    json!({ "data": { "role": "user" }, "parts": [{ "type": "text", "text": words }] })
}

/// A message of the agent's with these parts.
pub(super) fn answer(parts: Value, at: i64) -> Value {
    let tokens = json!({ "input": 9, "output": 400, "reasoning": 0, "cache": { "read": 90_000, "write": 0 } });
    json!({ "data": { "role": "assistant", "modelID": "m", "tokens": tokens, "time": { "created": at, "completed": at } },
        "parts": parts })
}

/// A text of the agent's that is complete.
pub(super) fn text(words: &str, at: i64) -> Value {
    json!({ "type": "text", "text": words, "time": { "start": at, "end": at } })
}

fn failed(error: rusqlite::Error) -> Error {
    Error::NothingMeasured(format!("an agent's database: {error}"))
}
