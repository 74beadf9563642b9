//! Puts together what the members of one entity or fact say.

use std::cmp::Reverse;
use std::ops::ControlFlow;

use baton_conversation::record::{SessionId, Timestamp};
use baton_graph::{Claim, Label, valued_fact_uuid};
use tantivy::columnar::Column;
use tantivy::schema::Value;
use tantivy::{DocAddress, TantivyDocument, Term};
use uuid::Uuid;

use super::admission::{Admission, claims, first};
use super::with_rest;
use crate::Error;
use crate::limits::GROUP_EPISODES;
use crate::schema::text;
use crate::snapshot::{GraphColumns, Snapshot};

/// All members of one entity or fact.
#[derive(Default)]
pub(super) struct Group<'a> {
    /// Label, if it is an entity.
    pub(super) label: Option<Label>,
    pub(super) group_id: String,
    pub(super) created: Option<Timestamp>,
    pub(super) since: Option<Timestamp>,
    pub(super) seen: Option<Timestamp>,
    pub(super) count: u64,
    /// Last time a fact was stated.
    pub(super) last: Option<Timestamp>,
    /// Claims that a fact rests on, from any of its sessions.
    pub(super) rests: Vec<Claim>,
    /// Number of sessions; each has one member.
    pub(super) sessions: u64,
    /// The latest [`GROUP_EPISODES`] members, latest first.
    members: Vec<(Reverse<i64>, &'a str, DocAddress)>,
}

/// Stored fields of a member.
pub(super) struct Member {
    pub(super) title: String,
    pub(super) text: String,
    pub(super) source: Uuid,
    pub(super) target: Uuid,
    pub(super) value: String,
    pub(super) episode: Uuid,
    /// True if it comes from a model's answer and not from a rule.
    pub(super) by_model: bool,
    /// Time of its line.
    pub(super) at: Option<Timestamp>,
    session: Option<SessionId>,
    line: u64,
}

/// Reads the group of a key.
pub(super) fn read<'a>(admission: &Admission<'a>, subject: u64) -> Result<Group<'a>, Error> {
    let mut group = Group::default();
    let term = Term::from_field_u64(admission.snapshot.fields.subject, subject);
    admission.for_each(&term, |address, segment, columns| {
        let doc = address.doc_id;
        if let Some(place) = segment.place.first(doc).and_then(|number| segment.places.get(number as usize))
            && group.group_id.is_empty()
        {
            group.group_id = place.group.to_string();
        }
        let earlier = |known: Option<Timestamp>, column| match (known, first(column, doc).map(Timestamp)) {
            (Some(known), Some(new)) => Some(known.min(new)),
            (known, new) => known.or(new),
        };
        group.created = earlier(group.created, &columns.created);
        group.since = earlier(group.since, &columns.since);
        let seen = first(&columns.seen, doc);
        group.seen = group.seen.max(seen.map(Timestamp));
        group.label = group.label.or_else(|| columns.label(doc));
        group.last = group.last.max(first(&columns.last, doc).map(Timestamp));
        group.rests.extend(claims(&columns.rests, doc));
        group.count = group.count.saturating_add(first(&columns.count, doc).unwrap_or(0));
        let session = segment.id_of(doc).unwrap_or_default();
        group.members.push((Reverse(seen.unwrap_or(i64::MIN)), session, address));
    })?;
    group.rests.sort_unstable();
    group.rests.dedup();
    group.sessions = group.members.len() as u64;
    if group.members.len() > GROUP_EPISODES {
        group.members.select_nth_unstable(GROUP_EPISODES);
        group.members.truncate(GROUP_EPISODES);
    }
    group.members.sort_unstable();
    Ok(group)
}

impl Group<'_> {
    /// Reads at most `most` of the latest members.
    pub(super) fn latest(&self, snapshot: &Snapshot, most: usize) -> Result<Vec<Member>, Error> {
        self.members.iter().take(most).map(|(_, session, address)| member(snapshot, session, *address)).collect()
    }
}

/// Returns an entity's name; empty if no admitted session has it.
pub(super) fn name(admission: &Admission<'_>, subject: u64) -> Result<String, Error> {
    let snapshot = admission.snapshot;
    let term = Term::from_field_u64(snapshot.fields.subject, subject);
    let mut found = None;
    admission.try_for_each(&term, |address, _, columns| match columns.label(address.doc_id) {
        Some(_) => {
            found = Some(address);
            ControlFlow::Break(())
        }
        None => ControlFlow::Continue(()),
    })?;
    let Some(address) = found else { return Ok(String::new()) };
    let document: TantivyDocument = snapshot.searcher.doc(address)?;
    Ok(text(&document, snapshot.fields.title).to_owned())
}

/// Returns the stored text of a document.
pub(super) fn stored_text(snapshot: &Snapshot, address: DocAddress) -> Result<String, Error> {
    let document: TantivyDocument = snapshot.searcher.doc(address)?;
    Ok(text(&document, snapshot.fields.text).to_owned())
}

fn member(snapshot: &Snapshot, session: &str, address: DocAddress) -> Result<Member, Error> {
    let fields = &snapshot.fields;
    let document: TantivyDocument = snapshot.searcher.doc(address)?;
    let ends = document.get_first(fields.ends).and_then(|value| value.as_bytes()).unwrap_or_default();
    let columns = snapshot.segments.get(address.segment_ord as usize).and_then(|segment| segment.graph.as_ref());
    let key = |column: fn(&GraphColumns) -> &Option<Column<u64>>| first(column(columns?), address.doc_id);
    // A mention has one uuid of its own at most.
    let source = key(|columns| &columns.source).or_else(|| columns?.subject.first(address.doc_id));
    let target = key(|columns| &columns.target);
    let (rests, _) = ends.as_chunks::<8>();
    let end = |key: Option<u64>, at: usize| key.zip(rests.get(at)).map(|(key, rest)| with_rest(key, *rest));
    Ok(Member {
        title: text(&document, fields.title).to_owned(),
        text: text(&document, fields.text).to_owned(),
        source: end(source, 0).unwrap_or_default(),
        target: end(target, 1).unwrap_or_default(),
        value: text(&document, fields.value).to_owned(),
        episode: text(&document, fields.uuid).parse().unwrap_or_default(),
        by_model: document.get_first(fields.by_model).is_some(),
        at: columns.and_then(|columns| first(&columns.since, address.doc_id)).map(Timestamp),
        session: SessionId::new(session),
        line: document.get_first(fields.line).and_then(|value| value.as_u64()).unwrap_or(0),
    })
}

impl Member {
    /// Uuid of a fact.
    pub(super) fn fact(&self, group: &str) -> Uuid {
        valued_fact_uuid(group, &self.title, self.source, self.target, &self.value)
    }

    /// Session and transcript line.
    pub(super) fn place(self) -> Option<(SessionId, u64)> {
        self.session.map(|session| (session, self.line))
    }
}
