//! Removes copied records from results: if several related sessions hold a record, only the eldest is found.
//!
//! # Hazards
//!
//! - The elder of two sessions is decided by the first record, then by discovery, and for files found within ten
//!   minutes of each other by the earlier last conversation. A hidden session owns nothing. The record key is 64 bits
//!   of a digest.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use tantivy::schema::IndexRecordOption;
use tantivy::{DocAddress, DocSet, Term};

use super::Error;
use super::query::{Plan, Query};
use super::snapshot::Snapshot;
use super::turns::Scored;

/// Recognises turns that are copies, for one query. Sessions that the query excludes own nothing.
pub(super) struct CopiedRecords<'a> {
    snapshot: &'a Snapshot,
    query: &'a Query<'a>,
    /// Owners of the records looked up so far; `None` if no two findable sessions hold the record.
    owners: BTreeMap<u64, Option<Box<str>>>,
    /// Sessions checked so far, and whether the query may find them.
    admitted: BTreeMap<Box<str>, bool>,
    /// Sessions with turns that were left out.
    pub(super) with_copies: BTreeSet<Box<str>>,
}

impl<'a> CopiedRecords<'a> {
    pub(super) fn new(snapshot: &'a Snapshot, query: &'a Query<'a>) -> Self {
        Self { snapshot, query, owners: BTreeMap::new(), admitted: BTreeMap::new(), with_copies: BTreeSet::new() }
    }

    /// Removes turns whose record an elder session holds too. Of the sessions of these it also removes turns that match
    /// only by their neighbours, which may be such copies. One look-up per record.
    pub(super) fn remove_copies(&mut self, plan: &Plan, turns: &mut Vec<Scored>) -> Result<(), Error> {
        self.remove_copied(turns)?;
        if self.with_copies.is_empty() || plan.stops_only {
            return Ok(());
        }
        let doubtful: BTreeSet<DocAddress> =
            turns.iter().map(|turn| turn.address).filter(|address| self.is_of_fork(*address)).collect();
        let matching = self.matching(plan, &doubtful)?;
        turns.retain(|turn| !doubtful.contains(&turn.address) || matching.contains(&turn.address));
        Ok(())
    }

    /// Removes turns whose record an elder session holds too.
    pub(super) fn remove_copied(&mut self, turns: &mut Vec<Scored>) -> Result<(), Error> {
        let mut kept = Vec::with_capacity(turns.len());
        for turn in turns.drain(..) {
            if !self.is_copy(&turn)? {
                kept.push(turn);
            }
        }
        *turns = kept;
        Ok(())
    }

    fn is_of_fork(&self, address: DocAddress) -> bool {
        let segment = self.snapshot.segments.get(address.segment_ord as usize);
        segment.and_then(|segment| segment.id_of(address.doc_id)).is_some_and(|id| self.with_copies.contains(id))
    }

    /// Those of the turns whose own text contains a wanted token.
    fn matching(&self, plan: &Plan, turns: &BTreeSet<DocAddress>) -> Result<BTreeSet<DocAddress>, Error> {
        let mut matching = BTreeSet::new();
        let field = self.snapshot.fields.body;
        for (number, reader) in (0..).zip(self.snapshot.searcher.segment_readers()) {
            let docs: Vec<u32> =
                turns.iter().filter(|turn| turn.segment_ord == number).map(|turn| turn.doc_id).collect();
            if docs.is_empty() {
                continue;
            }
            let index = reader.inverted_index(field)?;
            for wanted in &plan.wanted {
                let term = Term::from_field_text(field, &wanted.token);
                let Some(mut postings) = index.read_postings(&term, IndexRecordOption::Basic)? else { continue };
                for doc in &docs {
                    if postings.doc() < *doc {
                        postings.seek(*doc);
                    }
                    if postings.doc() == *doc {
                        matching.insert(DocAddress::new(number, *doc));
                    }
                }
            }
        }
        Ok(matching)
    }

    fn is_copy(&mut self, turn: &Scored) -> Result<bool, Error> {
        let Some(segment) = self.snapshot.segments.get(turn.address.segment_ord as usize) else { return Ok(false) };
        let record = segment.record.as_ref().and_then(|column| column.first(turn.address.doc_id));
        let (Some(key), Some(session)) = (record, segment.id_of(turn.address.doc_id)) else { return Ok(false) };
        if !self.owners.contains_key(&key) {
            let owner = self.owner(key)?;
            self.owners.insert(key, owner);
        }
        let is_copy = self.owners.get(&key).and_then(Option::as_deref).is_some_and(|owner| owner != session);
        if is_copy {
            self.with_copies.insert(session.into());
        }
        Ok(is_copy)
    }

    /// The eldest findable session that holds a record; `None` if fewer than two sessions hold it.
    fn owner(&mut self, key: u64) -> Result<Option<Box<str>>, Error> {
        let holders = self.snapshot.holders(key)?;
        if holders.len() < 2 {
            return Ok(None);
        }
        let mut eldest: Option<&str> = None;
        for holder in holders {
            let is_elder = eldest.is_none_or(|eldest| (self.query.elder)(holder, eldest) == Ordering::Less);
            if is_elder && self.admits(holder)? {
                eldest = Some(holder);
            }
        }
        Ok(eldest.map(Into::into))
    }

    fn admits(&mut self, session: &str) -> Result<bool, Error> {
        if let Some(admitted) = self.admitted.get(session) {
            return Ok(*admitted);
        }
        let in_place = match self.query.project {
            None => true,
            Some(wanted) => self.snapshot.head(session)?.is_some_and(|head| head.place.is_in(wanted)),
        };
        let admitted = in_place && !(self.query.exclude)(session);
        self.admitted.insert(session.into(), admitted);
        Ok(admitted)
    }
}
