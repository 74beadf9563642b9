//! Repeated failures: the same program or tool failed at least three times in a row.

use std::collections::BTreeMap;

use super::{MAX_RETRIES, run};
use baton_episode::digest::{Action, Attempt};
use baton_events::schema::outcomes::{Ended, Retry, millis};

/// Minimum number of consecutive failures.
const IN_A_ROW: u32 = 3;
/// Maximum number of loops held at a time, finished and open ones each.
const MAX_HELD: usize = 2_000;

/// A series of failures that has not ended.
#[derive(Default)]
struct OpenSeries {
    retry: Retry,
    /// Number of edits before its first failure.
    edits: u32,
}

/// Finds series of failures in a session's calls. An unknown result neither extends nor ends one. Bounded: if there are
/// too many, the shortest are dropped and counted.
#[derive(Default)]
pub(super) struct Retries {
    rows: BTreeMap<String, OpenSeries>,
    found: Vec<Retry>,
    edits: u32,
    left_out: usize,
}

impl Retries {
    /// Adds the next call.
    pub(super) fn push(&mut self, attempt: &Attempt<'_>) {
        match &attempt.what {
            Action::Command { ran, .. } => {
                for program in ran.iter().filter(|program| run::is_counted(program)) {
                    self.step(&program.name, run::ended(attempt.ended, program), attempt);
                }
            }
            Action::Edit(_) | Action::Other(_) => self.step(attempt.tool, attempt.ended, attempt),
            Action::Read(_) => {}
        }
        let edited = matches!(attempt.what, Action::Edit(_)) && attempt.ended == Ended::Ok;
        self.edits = self.edits.saturating_add(u32::from(edited));
        if self.found.len() > MAX_HELD {
            self.shorten();
        }
    }

    /// Returns the loops in transcript order.
    pub(super) fn finish(mut self, left_out: &mut impl FnMut(usize)) -> Vec<Retry> {
        let open = std::mem::take(&mut self.rows).into_values().map(|row| row.retry);
        self.found.extend(open.filter(|retry| retry.times >= IN_A_ROW));
        self.shorten();
        left_out(self.left_out);
        self.found
    }

    /// Keeps the longest loops, in transcript order.
    fn shorten(&mut self) {
        let found = &mut self.found;
        found.sort_by(|a, b| (a.line, &a.what).cmp(&(b.line, &b.what)));
        if found.len() > MAX_RETRIES {
            self.left_out += found.len() - MAX_RETRIES;
            found.sort_by_key(|retry| std::cmp::Reverse(retry.times));
            found.truncate(MAX_RETRIES);
            found.sort_by(|a, b| (a.line, &a.what).cmp(&(b.line, &b.what)));
        }
    }

    fn step(&mut self, what: &str, ended: Ended, attempt: &Attempt<'_>) {
        match ended {
            Ended::Failed => {
                if !self.rows.contains_key(what) {
                    if self.rows.len() >= MAX_HELD {
                        self.left_out += 1;
                        return;
                    }
                    let retry = Retry { what: what.to_owned(), line: attempt.result_line, ..Retry::default() };
                    self.rows.insert(what.to_owned(), OpenSeries { retry, edits: self.edits });
                }
                let Some(row) = self.rows.get_mut(what) else { return };
                row.retry.times = row.retry.times.saturating_add(1);
                row.retry.edits = self.edits.saturating_sub(row.edits);
                row.retry.error.clone_from(&attempt.error);
                (row.retry.to, row.retry.at) = (attempt.result_line, millis(attempt.at));
            }
            Ended::Ok => {
                if let Some(row) = self.rows.remove(what).filter(|row| row.retry.times >= IN_A_ROW) {
                    self.found.push(Retry { resolved: true, ..row.retry });
                }
            }
            Ended::Denied | Ended::Interrupted | Ended::Unknown => {}
        }
    }
}
