//! The agent's todo list at the end of the session.

use std::collections::BTreeMap;

use serde_json::Value;

use super::timeline::{Deed, Timeline};
use baton_conversation::item::{Act, Outcome};
use baton_conversation::record::Timestamp;

/// An item that was not done.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Todo<'a> {
    pub(super) text: &'a str,
    pub(super) begun: bool,
    /// Line and time of the call that states it.
    pub(super) line: u64,
    pub(super) at: Option<Timestamp>,
}

/// Returns what is neither done nor dropped, in the order of the list. There are two kinds of lists: one that is
/// written as a whole each time, and one of numbered tasks that are created and changed individually. A subagent's list
/// is ignored.
pub(super) fn open<'a>(timeline: &Timeline<'a>) -> Vec<Todo<'a>> {
    let mut list: Vec<Todo<'a>> = Vec::new();
    let mut tasks: BTreeMap<u64, (Todo<'a>, bool)> = BTreeMap::new();
    let mut made = 0;
    let counts = |deed: &&Deed<'a>| !deed.aside && !matches!(deed.outcome(), Some(Outcome::Failed | Outcome::Denied));
    for deed in timeline.deeds.iter().filter(counts) {
        if deed.act() != Act::Todo {
            continue;
        }
        if let Some(whole) = written(deed) {
            list = whole;
            continue;
        }
        match task_id(deed) {
            None if deed.input("subject").is_some() => {
                // The harness numbers tasks from 1 in the order of creation; its answer is not kept.
                made += 1;
                if let Some(text) = deed.input("subject").filter(|text| !text.trim().is_empty()) {
                    tasks.insert(made, (Todo { text, begun: false, line: deed.line, at: deed.at }, true));
                }
            }
            Some(id) => {
                let Some((task, open)) = tasks.get_mut(&id) else { continue };
                if let Some(text) = deed.input("subject").filter(|text| !text.trim().is_empty()) {
                    (task.text, task.line, task.at) = (text, deed.line, deed.at);
                }
                if let Some(status) = deed.input("status") {
                    task.begun = status == "in_progress";
                    *open = is_open(status);
                }
            }
            None => {}
        }
    }
    list.extend(tasks.into_values().filter(|(_, open)| *open).map(|(task, _)| task));
    list
}

/// Returns the open items of a list that was written as a whole; `None` if there is no list.
fn written<'a>(deed: &Deed<'a>) -> Option<Vec<Todo<'a>>> {
    let input = &deed.call?.input;
    let list = input.get("todos").or_else(|| input.get("plan"))?.as_array()?;
    let todo = |entry: &'a Value| {
        let text =
            entry.get("content").or_else(|| entry.get("step"))?.as_str().filter(|text| !text.trim().is_empty())?;
        let status = entry.get("status").and_then(Value::as_str).unwrap_or("pending");
        is_open(status).then(|| Todo { text, begun: status == "in_progress", line: deed.line, at: deed.at })
    };
    Some(list.iter().filter_map(todo).collect())
}

fn is_open(status: &str) -> bool {
    matches!(status, "pending" | "in_progress")
}

fn task_id(deed: &Deed<'_>) -> Option<u64> {
    let id = deed.call?.input.get("taskId")?;
    id.as_u64().or_else(|| id.as_str()?.trim_start_matches('#').parse().ok())
}
