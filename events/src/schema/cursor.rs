//! Stored shape of a transcript cursor, in events and in manifests of conversations. Marks are 16 hex digits.

use serde::{Deserialize, Serialize};

use super::is_zero;
use baton_conversation::hash::Mark;
use baton_conversation::item::TitleSource;
use baton_conversation::transcript::{Cursor, Queued, Window};

/// The shape before last prompts counted as titles.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CursorV1 {
    offset: u64,
    line: u64,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    unterminated: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    open_calls: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    own_calls: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    recent_messages: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    queued: Vec<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    working: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    queue_is_recorded: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cwd: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    branch: Option<String>,
    /// By source: summary, model, person.
    #[serde(default, skip_serializing_if = "no_titles")]
    titles: [Option<String>; 3],
}

/// The shape before removals from the queue were tracked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CursorV2 {
    offset: u64,
    line: u64,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    unterminated: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    open_calls: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    own_calls: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    recent_messages: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    queued: Vec<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    working: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    queue_is_recorded: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cwd: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    branch: Option<String>,
    /// By source: summary, model, person, last prompt. Older cursors end with the person's.
    #[serde(default, skip_serializing_if = "no_titles")]
    titles: Vec<Option<String>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    said: Vec<String>,
}

/// The current shape. Also reads the JSON of older versions, which manifests contain; their queue is dropped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CursorV3 {
    offset: u64,
    line: u64,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    unterminated: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    open_calls: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    own_calls: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    recent_messages: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    queue: Vec<QueuedV1>,
    #[serde(default, skip_serializing_if = "is_zero")]
    overcounted: u64,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    working: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cwd: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    branch: Option<String>,
    /// By source: summary, model, person, last prompt. Older cursors end with the person's.
    #[serde(default, skip_serializing_if = "no_titles")]
    titles: Vec<Option<String>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    said: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct QueuedV1 {
    mark: String,
    #[serde(default, skip_serializing_if = "is_zero")]
    line: u64,
}

fn no_titles(titles: &[Option<String>]) -> bool {
    titles.iter().all(Option::is_none)
}

/// Order in which titles are stored.
const STORED: [TitleSource; 4] =
    [TitleSource::Summary, TitleSource::Model, TitleSource::Person, TitleSource::LastPrompt];

impl From<CursorV1> for CursorV2 {
    fn from(old: CursorV1) -> Self {
        Self {
            offset: old.offset,
            line: old.line,
            unterminated: old.unterminated,
            open_calls: old.open_calls,
            own_calls: old.own_calls,
            recent_messages: old.recent_messages,
            queued: old.queued,
            working: old.working,
            queue_is_recorded: old.queue_is_recorded,
            cwd: old.cwd,
            branch: old.branch,
            titles: old.titles.to_vec(),
            said: Vec::new(),
        }
    }
}

impl From<CursorV2> for CursorV3 {
    /// Queued messages were not withdrawn then, so the queue is dropped: those delivered later are said once more.
    fn from(old: CursorV2) -> Self {
        Self {
            offset: old.offset,
            line: old.line,
            unterminated: old.unterminated,
            open_calls: old.open_calls,
            own_calls: old.own_calls,
            recent_messages: old.recent_messages,
            queue: Vec::new(),
            overcounted: 0,
            working: old.working,
            cwd: old.cwd,
            branch: old.branch,
            titles: old.titles,
            said: old.said,
        }
    }
}

impl From<&Cursor> for CursorV3 {
    fn from(cursor: &Cursor) -> Self {
        Self {
            offset: cursor.offset,
            line: cursor.line,
            unterminated: cursor.unterminated,
            open_calls: written(&cursor.open_calls),
            own_calls: written(&cursor.own_calls),
            recent_messages: written(&cursor.recent_messages),
            queue: cursor.queue.iter().map(|one| QueuedV1 { mark: one.mark.to_string(), line: one.line }).collect(),
            overcounted: cursor.overcounted,
            working: cursor.working,
            cwd: cursor.cwd.map(|mark| mark.to_string()),
            branch: cursor.branch.map(|mark| mark.to_string()),
            titles: titles(cursor),
            said: written(&cursor.said),
        }
    }
}

impl CursorV3 {
    /// The cursor; `None` if a mark is invalid.
    pub fn read(&self) -> Option<Cursor> {
        let one = |mark: &Option<String>| mark.as_deref().map_or(Some(None), |text| Mark::parse(text).map(Some));
        let mut titles = [None; 4];
        for (at, title) in self.titles.iter().enumerate() {
            titles[*STORED.get(at)? as usize] = one(title)?;
        }
        Some(Cursor {
            offset: self.offset,
            line: self.line,
            unterminated: self.unterminated,
            open_calls: read(&self.open_calls)?,
            own_calls: read(&self.own_calls)?,
            recent_messages: read(&self.recent_messages)?,
            queue: self.queue.iter().map(queued).collect::<Option<_>>()?,
            overcounted: self.overcounted,
            working: self.working,
            cwd: one(&self.cwd)?,
            branch: one(&self.branch)?,
            titles,
            said: read(&self.said)?,
        })
    }
}

/// Without an absent last title, so that a cursor from before it keeps its bytes.
fn titles(cursor: &Cursor) -> Vec<Option<String>> {
    let mut titles = STORED.map(|source| cursor.titles[source as usize].map(|mark| mark.to_string())).to_vec();
    if titles.last() == Some(&None) {
        titles.pop();
    }
    if no_titles(&titles) {
        titles.clear();
    }
    titles
}

fn written<const MAX: usize>(marks: &Window<Mark, MAX>) -> Vec<String> {
    marks.iter().map(|mark| mark.to_string()).collect()
}

fn queued(stored: &QueuedV1) -> Option<Queued> {
    Some(Queued { mark: Mark::parse(&stored.mark)?, line: stored.line })
}

fn read<const MAX: usize>(marks: &[String]) -> Option<Window<Mark, MAX>> {
    marks.iter().map(|text| Mark::parse(text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_survives_being_written_and_read() {
        let full = Cursor {
            offset: u64::MAX,
            line: 7,
            unterminated: true,
            open_calls: (0..200).map(Mark).collect(),
            own_calls: [Mark(1)].into_iter().collect(),
            recent_messages: (0..100).map(Mark).collect(),
            queue: (0..100).map(|at| Queued { mark: Mark(at), line: 1_000_000 + at }).collect(),
            overcounted: 7,
            working: true,
            cwd: Some(Mark(u64::MAX)),
            branch: None,
            titles: [None, Some(Mark(2)), None, Some(Mark(4))],
            said: (0..100).map(Mark).collect(),
        };
        for cursor in [full, Cursor::default()] {
            let text = serde_json::to_string(&CursorV3::from(&cursor)).unwrap();
            assert!(text.len() < 5120, "{} bytes in an event", text.len());
            assert_eq!(serde_json::from_str::<CursorV3>(&text).unwrap().read(), Some(cursor));
        }
        let wrong = CursorV3 { own_calls: vec!["a sentence".to_owned()], ..CursorV3::default() };
        assert_eq!(wrong.read(), None);
    }
}
