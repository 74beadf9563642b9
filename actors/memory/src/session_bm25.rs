//! How well whole sessions match: BM25 over one document per session, for the few sessions with the best turns.

use std::collections::BTreeMap;

use tantivy::postings::Postings;
use tantivy::query::Bm25Weight;
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocAddress, DocSet, Score, Term};

use super::query::Plan;
use super::score_weights::{Parts, divide_by_best};
use super::snapshot::{Snapshot, by_segment};
use super::{Error, proximity};

/// 4-grams of a query that are asked for, the rarest ones: common ones tell nothing, and cost most.
const GRAMS: usize = 32;
/// Milliseconds in which recency falls to a half: a quarter of a year.
const HALF_LIFE_MS: f64 = 91.0 * 86_400_000.0;

/// Score parts that come from whole sessions, in the order of `sessions`, the addresses of session documents. The part
/// of the turns is left at 0.
pub(super) fn parts(snapshot: &Snapshot, plan: &Plan, sessions: &[DocAddress]) -> Result<Vec<Parts>, Error> {
    let mut parts = vec![Parts::default(); sessions.len()];
    if plan.stops_only || sessions.is_empty() {
        return Ok(parts);
    }
    let beside =
        proximity::scores(snapshot, (&plan.bigrams, &plan.near), |word| plan.postings(word, snapshot), sessions)?;
    let mut bigrams = beside.bigrams;
    let mut near = beside.near;
    let fields = &snapshot.fields;
    let mut grams = field_scores(snapshot, fields.grams, &plan.grams, GRAMS, sessions)?;
    let mut commits = field_scores(snapshot, fields.commits, &plan.activity, usize::MAX, sessions)?;
    let mut changed = field_scores(snapshot, fields.changed, &plan.activity, usize::MAX, sessions)?;
    for scores in [&mut bigrams, &mut near, &mut grams, &mut commits, &mut changed] {
        divide_by_best(scores);
    }
    for (at, parts) in parts.iter_mut().enumerate() {
        (parts.bigrams, parts.near) = (bigrams[at], near[at]);
        (parts.grams, parts.commits, parts.changed) = (grams[at], commits[at], changed[at]);
    }
    let spans: Vec<_> = sessions.iter().map(|address| snapshot.span_at(*address)).collect();
    let newest = spans.iter().flatten().map(|(_, to)| to.0).max().unwrap_or(0);
    for (parts, span) in parts.iter_mut().zip(spans) {
        let Some((from, to)) = span else { continue };
        parts.date = if plan.dates.iter().any(|date| date.overlaps(from, to, plan.zone)) { 1.0 } else { 0.0 };
        parts.recent = 0.5_f64.powf(newest.saturating_sub(to.0) as f64 / HALF_LIFE_MS) as Score;
    }
    Ok(parts)
}

/// BM25 of the `most` rarest of `tokens` in one field of session documents.
fn field_scores(
    snapshot: &Snapshot,
    field: Field,
    tokens: &[String],
    most: usize,
    sessions: &[DocAddress],
) -> Result<Vec<Score>, Error> {
    let mut scores = vec![0.0; sessions.len()];
    let readers = snapshot.searcher.segment_readers();
    let mut indexes = Vec::with_capacity(readers.len());
    let mut tokens_in_all = 0;
    for reader in readers {
        let index = reader.inverted_index(field)?;
        tokens_in_all += index.total_num_tokens();
        indexes.push(index);
    }
    let average = tokens_in_all as Score / snapshot.sessions.max(1) as Score;
    let segments = by_segment(sessions);
    let mut norms = BTreeMap::new();
    for number in segments.keys() {
        norms.insert(*number, readers[*number as usize].get_fieldnorms_reader(field)?);
    }
    let mut terms = Vec::with_capacity(tokens.len());
    for token in tokens {
        let term = Term::from_field_text(field, token);
        let mut found = Vec::with_capacity(indexes.len());
        let mut frequency = 0;
        for (number, index) in indexes.iter().enumerate() {
            if let Some(info) = index.get_term_info(&term)? {
                frequency += u64::from(info.doc_freq);
                found.push((number as u32, info));
            }
        }
        if frequency > 0 {
            terms.push((frequency, found));
        }
    }
    terms.sort_by_key(|(frequency, _)| *frequency);
    terms.truncate(most);
    for (frequency, found) in terms {
        let weight = Bm25Weight::for_one_term_without_explain(frequency, snapshot.sessions.max(frequency), average);
        for (number, info) in found {
            let (Some(documents), Some(norms)) = (segments.get(&number), norms.get(&number)) else { continue };
            let index = &indexes[number as usize];
            let mut postings = index.read_postings_from_terminfo(&info, IndexRecordOption::WithFreqs)?;
            for (doc, at) in documents {
                if postings.doc() < *doc {
                    postings.seek(*doc);
                }
                if postings.doc() == *doc {
                    scores[*at] += weight.score(norms.fieldnorm_id(*doc), postings.term_freq());
                }
            }
        }
    }
    Ok(scores)
}
