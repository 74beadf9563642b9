//! What failed again and again: the same program or tool at least three times in a row.

use std::collections::BTreeMap;

use super::{MAX_RETRIES, run};
use crate::digest::{Attempt, What};
use crate::schema::outcomes::{Ended, Retry, millis};

/// Failures in a row that make it worth telling.
const IN_A_ROW: u32 = 3;

/// A run of failures that goes on.
#[derive(Default)]
struct Row {
    retry: Retry,
    /// Edits done when it first failed.
    edits: u32,
}

/// Runs of failures in transcript order. What ended nobody knows how neither makes nor breaks one.
pub(super) fn retries(attempts: &[Attempt<'_>], left_out: &mut impl FnMut(usize)) -> Vec<Retry> {
    let mut rows: BTreeMap<&str, Row> = BTreeMap::new();
    let mut found: Vec<Retry> = Vec::new();
    let mut edits = 0;
    for attempt in attempts {
        match &attempt.what {
            What::Command { ran, .. } => {
                for program in ran.iter().filter(|program| run::counts(program)) {
                    step(&mut rows, &mut found, &program.name, run::ended(attempt.ended, program), attempt, edits);
                }
            }
            What::Edit(_) | What::Other(_) => step(&mut rows, &mut found, attempt.tool, attempt.ended, attempt, edits),
            What::Read(_) => {}
        }
        edits += u32::from(matches!(attempt.what, What::Edit(_)) && attempt.ended == Ended::Ok);
    }
    found.extend(rows.into_values().map(|row| row.retry).filter(|retry| retry.times >= IN_A_ROW));
    found.sort_by(|a, b| (a.line, &a.what).cmp(&(b.line, &b.what)));
    left_out(found.len().saturating_sub(MAX_RETRIES));
    // The longest are kept.
    if found.len() > MAX_RETRIES {
        found.sort_by_key(|retry| std::cmp::Reverse(retry.times));
        found.truncate(MAX_RETRIES);
        found.sort_by(|a, b| (a.line, &a.what).cmp(&(b.line, &b.what)));
    }
    found
}

fn step<'a>(
    rows: &mut BTreeMap<&'a str, Row>,
    found: &mut Vec<Retry>,
    what: &'a str,
    ended: Ended,
    attempt: &Attempt<'_>,
    edits: u32,
) {
    match ended {
        Ended::Failed => {
            let row = rows.entry(what).or_default();
            if row.retry.times == 0 {
                row.retry = Retry { what: what.to_owned(), line: attempt.result_line, ..Retry::default() };
                row.edits = edits;
            }
            row.retry.times = row.retry.times.saturating_add(1);
            row.retry.edits = edits - row.edits;
            row.retry.error.clone_from(&attempt.error);
            (row.retry.to, row.retry.at) = (attempt.result_line, millis(attempt.at));
        }
        Ended::Ok => {
            if let Some(row) = rows.remove(what).filter(|row| row.retry.times >= IN_A_ROW) {
                found.push(Retry { resolved: true, ..row.retry });
            }
        }
        Ended::Denied | Ended::Interrupted | Ended::Unknown => {}
    }
}
