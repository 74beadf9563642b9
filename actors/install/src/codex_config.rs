//! Codex's `config.toml`, which names the MCP server: edited as text, so that every byte outside an edit is preserved.
//!
//! # Decisions
//!
//! - An edit is checked by parsing its result. A file that has the server in another form than its own table fails the
//!   check and is refused.

use std::ops::Range;
use std::path::Path;

use serde_json::Value;
use toml_edit::{Document, DocumentMut, InlineTable, Item, Table, TableLike};

use super::document::Error;
use super::foreign_file::{self, Target};
use super::server::{HOME, NAME, Registered, Server};

/// The table with all servers.
pub(super) const SERVERS: &str = "mcp_servers";

/// The file's content; empty if there is none.
pub fn read(path: &Path) -> Result<Value, foreign_file::Error> {
    let target = Target::read(path)?;
    value(target.text())
        .map_err(|error| target.unfit(&format!("cannot be used: {error}; Codex does not start with it")))
}

/// The parsed value of a text.
pub(super) fn value(text: &str) -> Result<Value, Error> {
    parsed(text).map(|document| of_table_like(document.as_table()))
}

fn parsed(text: &str) -> Result<Document<&str>, Error> {
    Document::parse(text).map_err(|error| {
        // The rest of the error quotes the file, which may hold keys.
        let line = error.span().map_or(1, |span| text.get(..span.start).unwrap_or_default().matches('\n').count() + 1);
        Error::InvalidToml(line, error.message().to_owned())
    })
}

fn of_table_like(table: &dyn TableLike) -> Value {
    Value::Object(table.iter().map(|(name, item)| (name.to_owned(), of_item(item))).collect())
}

fn of_item(item: &Item) -> Value {
    match item {
        Item::None => Value::Null,
        Item::Value(value) => of_value(value),
        Item::Table(table) => of_table_like(table),
        Item::ArrayOfTables(tables) => tables.iter().map(|table| of_table_like(table)).collect(),
    }
}

fn of_value(value: &toml_edit::Value) -> Value {
    use toml_edit::Value as Toml;
    match value {
        Toml::String(text) => text.value().as_str().into(),
        Toml::Integer(number) => (*number.value()).into(),
        Toml::Float(number) => (*number.value()).into(),
        Toml::Boolean(truth) => (*truth.value()).into(),
        Toml::Datetime(time) => time.value().to_string().into(),
        Toml::Array(list) => list.iter().map(of_value).collect(),
        Toml::InlineTable(table) => of_table_like(table),
    }
}

/// Adds the server as the last table, or renews an older entry of ours.
pub(super) fn put_in(server: &Server, text: &str) -> Result<String, Error> {
    let after = match server.in_file(&value(text)?) {
        Registered::This | Registered::Foreign(_) => return Ok(text.to_owned()),
        Registered::Nothing => append(server, text),
        Registered::Otherwise(_) | Registered::OtherHome(_) => match renew(server, text) {
            Some(renewed) => renewed,
            None => append(server, &take_out(server, text)?),
        },
    };
    let is_as_meant = value(&after).is_ok_and(|file| server.in_file(&file) == Registered::This);
    let is_reversible = without(value(text)?) == value(&after).map_or(Value::Null, without);
    if is_as_meant && is_reversible { Ok(after) } else { Err(Error::Form(SERVERS)) }
}

/// Removes the server's table and those below it.
pub(super) fn take_out(server: &Server, text: &str) -> Result<String, Error> {
    let before = value(text)?;
    if matches!(server.in_file(&before), Registered::Nothing | Registered::Foreign(_)) {
        return Ok(text.to_owned());
    }
    let document = parsed(text)?;
    let mut pieces = Vec::new();
    if let Some(servers) = document.get(SERVERS).and_then(Item::as_table_like) {
        of_member(servers, NAME, &mut pieces);
    }
    let mut lines: Vec<Range<usize>> = pieces.into_iter().map(|piece| whole_lines(text, piece)).collect();
    lines.sort_by_key(|range| (range.start, range.end));
    let mut after = String::new();
    let mut at = 0;
    for range in lines {
        after.push_str(text.get(at..range.start).unwrap_or_default());
        // The empty line that was added before it.
        if let Some(shorter) = ["\n\r\n", "\n\n"].iter().find_map(|end| Some(after.strip_suffix(end)?.len() + 1)) {
            after.truncate(shorter);
        }
        at = at.max(range.end);
    }
    after.push_str(&text[at..]);
    let is_as_meant = value(&after).is_ok_and(|file| without(file) == without(before));
    if is_as_meant { Ok(after) } else { Err(Error::Form(SERVERS)) }
}

/// The server as a table of its own.
fn append(server: &Server, text: &str) -> String {
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let string = |text: &str| toml_edit::Value::from(text).to_string();
    let mut lines = vec![
        format!("[{SERVERS}.{NAME}]"),
        format!("command = {}", string(&server.command)),
        format!("args = [{}]", string(super::server::ARGUMENT)),
    ];
    if !server.env.is_empty() {
        lines.push(format!("env = {}", env(server)));
    }
    let before = match text {
        "" => String::new(),
        ended if ended.ends_with('\n') => format!("{ended}{newline}"),
        open => format!("{open}{newline}{newline}"),
    };
    lines.iter().fold(before, |text, line| text + line + newline)
}

fn env(server: &Server) -> InlineTable {
    server.env.iter().map(|(name, value)| (*name, value.as_str())).collect()
}

/// The text with command and variables of the server's entry replaced in place. `None` if that would change more, such
/// as line ends.
fn renew(server: &Server, text: &str) -> Option<String> {
    let mut document: DocumentMut = text.parse().ok().filter(|document: &DocumentMut| document.to_string() == text)?;
    let entry = document.get_mut(SERVERS)?.get_mut(NAME)?.as_table_like_mut()?;
    set(entry, "command", &server.command)?;
    match entry.get_mut("env") {
        Some(variables) => {
            let variables = variables.as_table_like_mut()?;
            if !server.env.contains_key(HOME) {
                variables.remove(HOME);
            }
            server.env.iter().try_for_each(|(name, value)| set(variables, name, value))?;
        }
        None if server.env.is_empty() => {}
        None => drop(entry.insert("env", Item::Value(env(server).into()))),
    }
    Some(document.to_string())
}

/// Sets a member's text, and keeps the comment after it.
fn set(table: &mut dyn TableLike, name: &str, text: &str) -> Option<()> {
    match table.get_mut(name) {
        Some(item) => {
            let value = item.as_value_mut()?;
            let decor = value.decor().clone();
            *value = text.into();
            *value.decor_mut() = decor;
        }
        None => drop(table.insert(name, toml_edit::value(text))),
    }
    Some(())
}

/// The text ranges of a member: for a table its header with its values, and those of the tables below it.
fn of_member(table: &dyn TableLike, name: &str, pieces: &mut Vec<Range<usize>>) {
    let Some((key, item)) = table.get_key_value(name) else { return };
    match item {
        Item::Table(table) => of_table(table, pieces),
        Item::ArrayOfTables(tables) => tables.iter().for_each(|table| of_table(table, pieces)),
        Item::Value(value) => pieces.extend(key.span().zip(value.span()).map(|(key, value)| key.start..value.end)),
        Item::None => {}
    }
}

fn of_table(table: &Table, pieces: &mut Vec<Range<usize>>) {
    let (mut own, mut below) = (Vec::new(), Vec::new());
    for (name, item) in table {
        of_member(table, name, if item.is_value() { &mut own } else { &mut below });
    }
    // A table that is only implied by its members' names has no header.
    match table.span().filter(|_| !table.is_dotted() && !table.is_implicit()) {
        // Comments between its values go with it.
        Some(head) => pieces.push(head.start..own.iter().map(|value| value.end).fold(head.end, usize::max)),
        None => pieces.append(&mut own),
    }
    pieces.append(&mut below);
}

/// The lines that a range touches, with the last one's end.
fn whole_lines(text: &str, range: Range<usize>) -> Range<usize> {
    let start = text[..range.start].rfind('\n').map_or(0, |end| end + 1);
    let end = text[range.end..].find('\n').map_or(text.len(), |end| range.end + end + 1);
    start..end
}

/// The content without the server, and without an empty table of servers.
fn without(mut file: Value) -> Value {
    if let Some(servers) = file.get_mut(SERVERS).and_then(Value::as_object_mut) {
        servers.remove(NAME);
        if servers.is_empty()
            && let Some(file) = file.as_object_mut()
        {
            file.remove(SERVERS);
        }
    }
    file
}

#[cfg(test)]
mod tests;
