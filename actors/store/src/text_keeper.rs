//! Forgetting: every component that stores session text is a [`TextKeeper`], and forgetting is a loop over all of them.
//!
//! The log comes first: an erasure is recorded before anything is erased, and erasing may be repeated. So the next
//! start or call completes what a crash interrupted.

use std::ops::AddAssign;
use std::pin::Pin;
use std::sync::Arc;

use baton_conversation::record::{Position, SessionId};
use baton_events::memo;
use baton_events::projection::table::SessionTable;
use baton_events::session::Phase;

use crate::chunks::Removed;

/// How often all keepers erase: work that ran meanwhile may have put something back.
const ROUNDS: usize = 2;

/// What is to be erased.
#[derive(Clone, Copy)]
pub struct Erasure<'a> {
    /// Sessions and memos. Everything of a forgotten one is erased; of any other, the text that was replaced.
    pub sessions: &'a [SessionId],
    /// The position of the log that records it.
    pub position: Position,
    /// Called for each session whose conversation is gone.
    pub step: &'a (dyn Fn() + Send + Sync),
}

/// The result of an erasure.
#[derive(Debug, Default)]
pub struct Report {
    /// What was removed.
    pub removed: Removed,
    /// Notes that keep text that people wrote.
    pub edited: Vec<String>,
    /// Sessions whose replaced text stays, with the reason: a retry changes nothing.
    pub stays: Vec<(SessionId, String)>,
    /// What failed, and why.
    pub problems: Vec<String>,
}

impl AddAssign for Report {
    fn add_assign(&mut self, more: Self) {
        self.removed += more.removed;
        self.edited.extend(more.edited);
        self.stays.extend(more.stays);
        self.problems.extend(more.problems);
    }
}

impl From<Result<Removed, String>> for Report {
    fn from(erased: Result<Removed, String>) -> Self {
        match erased {
            Ok(removed) => Self { removed, ..Self::default() },
            Err(problem) => Self { problems: vec![problem], ..Self::default() },
        }
    }
}

/// A running erasure.
pub type Erasing<'a> = Pin<Box<dyn Future<Output = Report> + Send + 'a>>;

/// A component that stores session text and must erase it when the session is forgotten.
pub trait TextKeeper: Send + Sync {
    /// Counts the files that forgetting these sessions would remove. Blocks for the disk.
    ///
    /// # Errors
    ///
    /// The reason why they cannot be counted.
    fn find(&self, _sessions: &[SessionId]) -> Result<Removed, String> {
        Ok(Removed::default())
    }

    /// Erases what the log no longer has of these sessions. Repeating it does no harm.
    fn erase<'a>(&'a self, erasure: Erasure<'a>) -> Erasing<'a>;

    /// Checks that nothing of forgotten sessions is left. Blocks for the disk.
    ///
    /// # Errors
    ///
    /// What is left.
    fn verify(&self, sessions: &[SessionId]) -> Result<(), String> {
        match self.find(sessions)?.files {
            0 => Ok(()),
            files => Err(format!("{files} files with text of it are still there")),
        }
    }
}

/// All keepers, in the order in which they erase.
pub type TextKeepers = Vec<Arc<dyn TextKeeper>>;

/// Makes all keepers erase, and verifies that nothing is left. A failure of one does not stop the others.
pub async fn erase(keepers: &TextKeepers, erasure: Erasure<'_>) -> Report {
    let mut report = Report::default();
    let mut left = Vec::new();
    for _ in 0..ROUNDS {
        for keeper in keepers {
            report += keeper.erase(erasure).await;
        }
        let (keepers, sessions) = (keepers.clone(), erasure.sessions.to_vec());
        let verifying = baton_base::task::spawn_blocking(move || {
            keepers.iter().filter_map(|keeper| keeper.verify(&sessions).err()).collect::<Vec<_>>()
        });
        left = verifying.await.unwrap_or_else(|error| vec![error.to_string()]);
        if left.is_empty() || !report.problems.is_empty() {
            break;
        }
    }
    if report.problems.is_empty() {
        report.problems = left;
    }
    report
}

/// True if the log has forgotten a session, or deleted the memo with this key.
pub fn is_gone(table: &SessionTable, id: &SessionId) -> bool {
    let memo = memo::uuid_of_key(id.as_str()).and_then(|uuid| table.memo_row(uuid));
    memo.is_some_and(|row| row.state.memo.is_none())
        || table.get(id).is_some_and(|row| row.state.phase == Phase::Forgotten)
}

/// All sessions and memos that the log has forgotten or deleted.
pub fn all_gone(table: &SessionTable) -> impl Iterator<Item = SessionId> {
    let sessions = table.iter().filter(|(_, row)| row.state.phase == Phase::Forgotten).map(|(id, _)| id.clone());
    let memos = table.memos().filter(|(_, row)| row.state.memo.is_none()).map(|(uuid, _)| memo::key(uuid));
    sessions.chain(memos)
}
