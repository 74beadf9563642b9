//! Tool lines about a file that the query names.
//!
//! # Decisions
//!
//! - Named files affect the order of turns in a session, never the order of sessions.
//! - A person's name before a colon (`Ines: late`) is ordinary text: in agents' sessions such a line is a label far more
//!   often than a speaker.

use tantivy::schema::IndexRecordOption;
use tantivy::{DocAddress, DocSet, Score, Term};

use super::Error;
use super::query::Plan;
use super::snapshot::{Snapshot, by_segment};
use super::turns::Scored;

/// Bonus of a turn about a named file, relative to the best turn's score.
const SHARE: Score = 0.25;

/// Adds the bonus to turns about named files. Only the order of turns may follow these scores: session scores are better
/// without them.
pub(super) fn raise(snapshot: &Snapshot, plan: &Plan, turns: &mut [&mut Scored]) -> Result<(), Error> {
    if plan.files.is_empty() {
        return Ok(());
    }
    let best = turns.iter().map(|turn| turn.score).fold(0.0, Score::max);
    let addresses: Vec<DocAddress> = turns.iter().map(|turn| turn.address).collect();
    let readers = snapshot.searcher.segment_readers();
    let mut named = vec![false; turns.len()];
    for (segment, docs) in by_segment(&addresses) {
        let index = readers[segment as usize].inverted_index(snapshot.fields.file_names)?;
        for file in &plan.files {
            let term = Term::from_field_text(snapshot.fields.file_names, file);
            let Some(mut postings) = index.read_postings(&term, IndexRecordOption::Basic)? else { continue };
            for (doc, place) in &docs {
                if postings.doc() < *doc {
                    postings.seek(*doc);
                }
                named[*place] |= postings.doc() == *doc;
            }
        }
    }
    for (turn, named) in turns.iter_mut().zip(named) {
        if named {
            turn.score += SHARE * best;
        }
    }
    Ok(())
}
