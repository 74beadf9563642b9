//! A database of an agent's sessions, written as OpenCode does.

use std::fs;
use std::path::Path;

use baton_conversation::transcript::{Cell, DatabaseSchema, Lines, table};
use baton_protocol::Agent;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ToSql, params};
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
        let id = self.last_message();
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
            next(&change, session, at)?;
            change.commit()?;
            Ok(bytes as u64)
        };
        write().map_err(failed)
    }

    /// The id of the last message.
    pub(super) fn last_message(&self) -> String {
        format!("msg_{:010}", self.messages)
    }

    /// Completes a message: a text of the agent's of which only the beginning was there.
    pub(super) fn complete(&mut self, session: &str, id: &str, at: i64, words: &str) -> Result<(), Error> {
        let message = answer(json!([text(words, at)]), at);
        self.all_at_once(|agent| {
            let changed = [
                ("UPDATE message SET time_updated = ?2, data = ?3 WHERE id = ?1", &message["data"]),
                ("UPDATE part SET time_updated = ?2, data = ?3 WHERE message_id = ?1", &message["parts"][0]),
            ];
            for (row, data) in changed {
                agent.connection.execute(row, params![id, at, data.to_string()]).map_err(failed)?;
            }
            next(&agent.connection, session, at).map_err(failed)
        })
    }

    /// Takes all messages of a session away.
    pub(super) fn clear(&mut self, session: &str) -> Result<(), Error> {
        for table in ["message", "part"] {
            let rows = format!("DELETE FROM {table} WHERE session_id = ?1");
            self.connection.execute(&rows, [session]).map_err(failed)?;
        }
        Ok(())
    }

    /// The lines as which a session is read.
    pub(super) fn lines(&self, session: &str) -> Result<Vec<u8>, Error> {
        let Some(table) = table(Agent::OpenCode) else { return Ok(Vec::new()) };
        let is_there = |name: &str| self.connection.table_exists(None, name).unwrap_or(false);
        let fits = |schema: &&DatabaseSchema| schema.tables.iter().all(|(name, _)| is_there(name));
        let Some(schema) = table.schemas.iter().find(fits) else { return Ok(Vec::new()) };
        let (mut render, mut lines) = ((table.render)(), Lines::default());
        let mut read = || {
            self.each(schema.session, params![session], |row| {
                render.session(row, &mut lines);
                true
            })?;
            // Before the first key.
            self.each(schema.rows, params![session, i64::MIN, "", ""], |row| render.row(row, &mut lines))
        };
        read().map_err(failed)?;
        Ok(lines.finish().0)
    }

    fn each(
        &self,
        sql: &str,
        given: &[&dyn ToSql],
        mut take: impl FnMut(&[Cell<'_>]) -> bool,
    ) -> Result<(), rusqlite::Error> {
        let mut statement = self.connection.prepare(sql)?;
        let columns = statement.column_count();
        let mut rows = statement.query(given)?;
        while let Some(row) = rows.next()? {
            let mut cells = Vec::new();
            for at in 0..columns {
                cells.push(match row.get_ref(at)? {
                    ValueRef::Integer(number) => Cell::Integer(number),
                    ValueRef::Text(text) => Cell::Text(text),
                    _ => Cell::Null,
                });
            }
            if !take(&cells) {
                break;
            }
        }
        Ok(())
    }

    /// Makes all changes of `work` one.
    pub(super) fn all_at_once<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T, Error>) -> Result<T, Error> {
        self.connection.execute_batch("BEGIN IMMEDIATE").map_err(failed)?;
        let done = work(self)?;
        self.connection.execute_batch("COMMIT").map_err(failed)?;
        Ok(done)
    }
}

/// Tells that a session has changed.
fn next(connection: &Connection, session: &str, at: i64) -> rusqlite::Result<()> {
    let next = "INSERT INTO event_sequence VALUES(?1, 0, NULL) ON CONFLICT DO UPDATE SET seq = seq + 1";
    connection.execute(next, [session])?;
    connection.execute("UPDATE session SET time_updated = ?2 WHERE id = ?1", params![session, at])?;
    Ok(())
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

/// A text of the agent's of which only the beginning is there.
pub(super) fn beginning(words: &str, at: i64) -> Value {
    let data = json!({ "role": "assistant", "modelID": "m", "time": { "created": at } });
    json!({ "data": data, "parts": [{ "type": "text", "text": words, "time": { "start": at } }] })
}

/// A text of the agent's that is complete.
pub(super) fn text(words: &str, at: i64) -> Value {
    json!({ "type": "text", "text": words, "time": { "start": at, "end": at } })
}

fn failed(error: rusqlite::Error) -> Error {
    Error::NothingMeasured(format!("an agent's database: {error}"))
}
