//! One committed state of the index, ready to be searched: its segments with the columns that queries need.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use baton_conversation::record::{SessionId, Timestamp};
use baton_conversation::usage::Course;
use baton_redaction::redact;
use tantivy::columnar::{Column, StrColumn};
use tantivy::index::{SegmentId, SegmentReader};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocAddress, DocSet, Searcher, TERMINATED, Term};

use super::Error;
use super::schema::{Fields, PLACE_BORDER, column, kind};
use super::turn_table::{SegmentTurns, TurnTable};

/// A committed state. Cheap to clone; immutable.
#[derive(Clone)]
pub(super) struct Snapshot {
    pub(super) searcher: Searcher,
    pub(super) fields: Fields,
    /// In the order of the searcher's segment readers.
    pub(super) segments: Vec<Arc<Segment>>,
    /// Keys of facts that are hidden from all queries.
    pub(super) gone: Arc<BTreeSet<u64>>,
    pub(super) turns_by_session: Arc<OnceLock<TurnTable>>,
    /// All sessions that any snapshot of this memory had, with their numbers.
    pub(super) known_sessions: Arc<Mutex<HashMap<Arc<str>, u32>>>,
    /// Number of session documents, including deleted ones not yet merged away, as in all counts of the index.
    pub(super) sessions: u64,
    /// Number of turn documents, likewise.
    pub(super) turns: u64,
    /// Number of mention documents, likewise.
    pub(super) mentions: u64,
    /// Number of assertion documents, likewise.
    pub(super) assertions: u64,
    /// Number of outcome documents, likewise.
    pub(super) outcomes: u64,
}

/// The usage of an indexed session. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionCourse {
    /// The session.
    pub session: SessionId,
    /// Its usage over its course; empty if its transcript tells of none.
    pub course: Arc<Course>,
}

/// The parts of a segment that deletions do not change.
pub(super) struct Segment {
    pub(super) id: SegmentId,
    pub(super) session: Column<u64>,
    pub(super) place: Column<u64>,
    pub(super) ordinal: Column<u64>,
    generation: Column<u64>,
    /// `None` if no turn of the segment has a record id.
    pub(super) record: Option<Column<u64>>,
    /// Key of a turn's text, by which its vector is found. `None` if no turn of the segment has one.
    pub(super) content: Option<Column<u64>>,
    /// `None` if nothing in the segment has a time.
    pub(super) at: Option<Column<i64>>,
    /// When sessions began; `None` likewise.
    pub(super) since: Option<Column<i64>>,
    /// Number of tokens of turns; `None` if the segment has none.
    length: Option<Column<u64>>,
    /// The segment's turns, read when it is first searched.
    turns: OnceLock<SegmentTurns>,
    /// `None` if the segment has neither mentions nor assertions.
    pub(super) graph: Option<GraphColumns>,
    pub(super) titles: TitleColumns,
    /// The usage of the segment's sessions, read when it is first asked for.
    pub(super) courses: OnceLock<Vec<(u32, SessionCourse)>>,
    /// Session ids by their ordinal in `session`.
    pub(super) ids: Vec<Arc<str>>,
    /// Numbers of these sessions, the same in all segments.
    numbers: Vec<u32>,
    /// Places by their ordinal in `place`.
    pub(super) places: Vec<GroupAndProject>,
}

/// The columns of mentions and assertions. A column is `None` if no document of the segment has the field.
pub(super) struct GraphColumns {
    pub(super) subject: Column<u64>,
    pub(super) label: Option<Column<u64>>,
    pub(super) source: Option<Column<u64>>,
    pub(super) target: Option<Column<u64>>,
    pub(super) since: Option<Column<i64>>,
    pub(super) seen: Option<Column<i64>>,
    pub(super) created: Option<Column<i64>>,
    pub(super) count: Option<Column<u64>>,
    pub(super) relation: Option<Column<u64>>,
    pub(super) last: Option<Column<i64>>,
    pub(super) rests: Option<Column<u64>>,
    pub(super) settles: Option<Column<u64>>,
}

/// The group and project of a session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct GroupAndProject {
    pub(super) group: Box<str>,
    pub(super) project: Option<Box<str>>,
}

/// Generation, size and place of an indexed session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Head {
    pub(super) generation: u64,
    pub(super) units: usize,
    pub(super) place: GroupAndProject,
}

impl GroupAndProject {
    /// Parses what [`document::place`](super::document::place) wrote.
    pub(super) fn parse(text: &str) -> Self {
        let (group, project) = text.split_once(PLACE_BORDER).unwrap_or((text, ""));
        Self { group: group.into(), project: (!project.is_empty()).then(|| project.into()) }
    }

    /// True if `wanted` (redacted, as stored paths are) names the group, the project, or a directory above one of them.
    /// Unknown projects do not match.
    pub(super) fn is_in(&self, wanted: &str) -> bool {
        let wanted = redact(wanted);
        let directory = wanted.trim_end_matches(['/', '\\']);
        let below = |path: &str| {
            path.strip_prefix(directory).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '\\']))
        };
        if wanted.is_empty() {
            return false;
        }
        *self.group == wanted || below(&self.group) || self.project.as_deref().is_some_and(below)
    }
}

impl Snapshot {
    /// Reads the columns of a searcher's segments, reusing those that `previous` has opened already.
    pub(super) fn open(searcher: Searcher, fields: Fields, previous: Option<&Self>) -> Result<Self, Error> {
        let known: BTreeMap<SegmentId, &Arc<Segment>> =
            previous.iter().flat_map(|snapshot| &snapshot.segments).map(|segment| (segment.id, segment)).collect();
        let known_sessions = previous.map(|snapshot| Arc::clone(&snapshot.known_sessions)).unwrap_or_default();
        let mut segments = Vec::with_capacity(searcher.segment_readers().len());
        for reader in searcher.segment_readers() {
            segments.push(match known.get(&reader.segment_id()) {
                Some(segment) => Arc::clone(segment),
                None => Arc::new(Segment::open(reader, &known_sessions)?),
            });
        }
        let of_kind = |kind| searcher.doc_freq(&Term::from_field_u64(fields.kind, kind));
        let (sessions, mentions, assertions, outcomes) =
            (of_kind(kind::SESSION)?, of_kind(kind::MENTION)?, of_kind(kind::ASSERTION)?, of_kind(kind::OUTCOMES)?);
        let all: u64 = searcher.segment_readers().iter().map(|reader| u64::from(reader.max_doc())).sum();
        let turns = all.saturating_sub(sessions + mentions + assertions + outcomes);
        let (gone, turns_by_session) = Default::default();
        Ok(Self {
            searcher,
            fields,
            segments,
            gone,
            turns_by_session,
            known_sessions,
            sessions,
            turns,
            mentions,
            assertions,
            outcomes,
        })
    }

    /// The turns in the order of their sessions.
    pub(super) fn turn_table(&self) -> &TurnTable {
        self.turns_by_session.get_or_init(|| {
            let readers = self.searcher.segment_readers().iter();
            let turns = self.segments.iter().map(|segment| segment.turns());
            TurnTable::new(&readers.zip(turns).collect::<Vec<_>>())
        })
    }

    /// Address of the live document of a session.
    pub(super) fn session(&self, id: &str) -> Result<Option<DocAddress>, Error> {
        let term = Term::from_field_text(self.fields.episode_of, id);
        for (number, reader) in self.searcher.segment_readers().iter().enumerate() {
            let index = reader.inverted_index(self.fields.episode_of)?;
            let Some(mut postings) = index.read_postings(&term, IndexRecordOption::Basic)? else { continue };
            while postings.doc() != TERMINATED {
                if !reader.is_deleted(postings.doc()) {
                    return Ok(Some(DocAddress::new(number as u32, postings.doc())));
                }
                postings.advance();
            }
        }
        Ok(None)
    }

    /// Generation, size and place of a session; `None` if it is not indexed.
    pub(super) fn head(&self, id: &str) -> Result<Option<Head>, Error> {
        let Some(address) = self.session(id)? else { return Ok(None) };
        Ok(self.head_at(address))
    }

    /// The same from the session document at `address`.
    pub(super) fn head_at(&self, address: DocAddress) -> Option<Head> {
        let segment = self.segments.get(address.segment_ord as usize)?;
        let place = segment.places.get(segment.place.first(address.doc_id)? as usize)?.clone();
        let units = segment.ordinal.first(address.doc_id)?;
        Some(Head { generation: segment.generation.first(address.doc_id)?, units: usize::try_from(units).ok()?, place })
    }
}

impl Snapshot {
    /// Time of a turn, or of a session's end, if known.
    pub(super) fn time_at(&self, address: DocAddress) -> Option<Timestamp> {
        self.segments.get(address.segment_ord as usize)?.at.as_ref()?.first(address.doc_id).map(Timestamp)
    }

    /// First and last time of the session whose document is at `address`, as far as known.
    pub(super) fn span_at(&self, address: DocAddress) -> Option<(Timestamp, Timestamp)> {
        let segment = self.segments.get(address.segment_ord as usize)?;
        let moment = |column: &Option<Column<i64>>| column.as_ref()?.first(address.doc_id).map(Timestamp);
        let to = moment(&segment.at)?;
        Some((moment(&segment.since).unwrap_or(to).min(to), to))
    }
}

impl Segment {
    fn open(reader: &SegmentReader, known_sessions: &Mutex<HashMap<Arc<str>, u32>>) -> Result<Self, Error> {
        let columns = reader.fast_fields();
        let text = |name: &str| columns.str(name)?.ok_or_else(|| Error::Broken(format!("no column {name}")));
        let (session, place) = (text(column::SESSION)?, text(column::PLACE)?);
        let mut known = known_sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut ids, mut numbers) = (Vec::new(), Vec::new());
        for id in dictionary(&session)? {
            let next = known.len() as u32;
            let (id, number) =
                known.get_key_value(&*id).map_or((Arc::from(id), next), |(id, at)| (Arc::clone(id), *at));
            known.entry(Arc::clone(&id)).or_insert(number);
            ids.push(id);
            numbers.push(number);
        }
        Ok(Self {
            id: reader.segment_id(),
            ids,
            numbers,
            places: dictionary(&place)?.iter().map(|text| GroupAndProject::parse(text)).collect(),
            session: session.ords().clone(),
            place: place.ords().clone(),
            ordinal: columns.u64(column::ORDINAL)?,
            generation: columns.u64(column::GENERATION)?,
            record: columns.column_opt::<u64>(column::RECORD)?,
            content: columns.column_opt::<u64>(column::CONTENT)?,
            at: columns.column_opt::<i64>(column::AT)?,
            length: columns.column_opt::<u64>(column::LENGTH)?,
            turns: OnceLock::new(),
            since: columns.column_opt(column::SINCE)?,
            titles: TitleColumns::open(reader)?,
            courses: OnceLock::new(),
            graph: match columns.column_opt::<u64>(column::SUBJECT)? {
                None => None,
                Some(subject) => Some(GraphColumns {
                    subject,
                    label: columns.column_opt(column::LABEL)?,
                    source: columns.column_opt(column::SOURCE)?,
                    target: columns.column_opt(column::TARGET)?,
                    since: columns.column_opt(column::SINCE)?,
                    seen: columns.column_opt(column::SEEN)?,
                    created: columns.column_opt(column::CREATED)?,
                    count: columns.column_opt(column::COUNT)?,
                    relation: columns.column_opt(column::RELATION)?,
                    last: columns.column_opt(column::LAST)?,
                    rests: columns.column_opt(column::RESTS)?,
                    settles: columns.column_opt(column::SETTLES)?,
                }),
            },
        })
    }

    /// The segment's turns; `None` if it has none.
    pub(super) fn turns(&self) -> Option<&SegmentTurns> {
        let place = |doc| self.number_of(doc).zip(self.ordinal.first(doc));
        self.length.as_ref().map(|length| self.turns.get_or_init(|| SegmentTurns::read(length, place)))
    }

    /// Number of tokens of a turn.
    pub(super) fn length_of(&self, doc: u32) -> Option<u64> {
        self.length.as_ref()?.first(doc)
    }

    /// The number of a document's session, the same in all segments.
    pub(super) fn number_of(&self, doc: u32) -> Option<u32> {
        self.numbers.get(self.session.first(doc)? as usize).copied()
    }

    /// The session of a document.
    pub(super) fn id_of(&self, doc: u32) -> Option<&str> {
        self.ids.get(self.session.first(doc)? as usize).map(|id| &**id)
    }
}

/// The columns of titles in a segment. A column is `None` if no document of the segment has the field.
pub(super) struct TitleColumns {
    leaf: Option<Column<u64>>,
    pub(super) silent: Option<Column<u64>>,
    /// Sorted: record key of a titled session, document of the session that gives the title, and index among its
    /// titles.
    pub(super) leaves: Vec<(u64, u32, u32)>,
}

impl TitleColumns {
    fn open(reader: &SegmentReader) -> Result<Self, Error> {
        let columns = reader.fast_fields();
        let leaf: Option<Column<u64>> = columns.column_opt(column::LEAF)?;
        let mut leaves = Vec::new();
        if let Some(leaf) = &leaf {
            for doc in 0..reader.max_doc() {
                leaves.extend(leaf.values_for_doc(doc).zip(0..).map(|(key, number)| (key, doc, number)));
            }
        }
        leaves.sort_unstable();
        Ok(Self { leaf, silent: columns.column_opt(column::SILENT)?, leaves })
    }

    /// Both columns of a document, for the dump.
    pub(super) fn describe(&self, doc: u32) -> String {
        let all = |column: &Option<Column<u64>>| -> Vec<u64> {
            column.iter().flat_map(|column| column.values_for_doc(doc)).collect()
        };
        format!("{:x?}", [&self.leaf, &self.silent].map(all))
    }

    /// The documents that give a title to the holder of a record, each with the index among its titles.
    pub(super) fn titles_for(&self, key: u64) -> impl Iterator<Item = (u32, u32)> {
        let from = self.leaves.partition_point(|(known, ..)| *known < key);
        let found = self.leaves.get(from..).unwrap_or_default().iter();
        found.take_while(move |(known, ..)| *known == key).map(|(_, doc, number)| (*doc, *number))
    }
}

/// All texts of a column, in ordinal order.
fn dictionary(column: &StrColumn) -> Result<Vec<Box<str>>, Error> {
    let mut texts = Vec::with_capacity(column.num_terms());
    let mut stream = column.dictionary().stream().map_err(|error| Error::Broken(error.to_string()))?;
    while stream.advance() {
        texts.push(String::from_utf8_lossy(stream.key()).into());
    }
    Ok(texts)
}

/// Groups addresses by segment; each document comes with its index in `addresses`, in ascending document order.
pub(super) fn by_segment(addresses: &[DocAddress]) -> BTreeMap<u32, Vec<(u32, usize)>> {
    let mut segments: BTreeMap<u32, Vec<(u32, usize)>> = BTreeMap::new();
    for (at, address) in addresses.iter().enumerate() {
        segments.entry(address.segment_ord).or_default().push((address.doc_id, at));
    }
    segments.values_mut().for_each(|documents| documents.sort_unstable());
    segments
}
