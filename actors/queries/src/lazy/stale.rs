//! Sessions that a query would miss: transcripts that have grown, and sessions that were read but not indexed.
//!
//! # Decisions
//!
//! - Unread bytes within the bound are read before the answer, in any number of sessions that were read before. More
//!   than 32 sessions that were never read mean that history is being read for the first time: a query that does not
//!   wait then answers within its budget and says how many sessions it lacks.

use baton_views::visibility;
use std::collections::{BTreeMap, HashMap, HashSet};

use baton_conversation::record::{SessionId, Timestamp};
use baton_conversation::transcript::Source;
use baton_events::projection::table::SessionTable;
use baton_events::session::{EpisodeRef, Kind, Phase, State, UnindexedReason};

use baton_base::limits;
use baton_base::project;
use baton_base::transcript_file::FileSeen;
use baton_config::settings::Settings;
use baton_store::transcript_reader;
use baton_store::transcript_reader::Peek;
use baton_tracking::indexer::is_large;

/// A session may be in use for this long after its last record.
const AT_WORK_MS: i64 = 5 * 60_000;

/// A session that a query would index.
#[derive(Clone, Debug)]
pub(crate) struct StaleSession {
    pub(crate) id: SessionId,
    /// Its file, if it has grown since it was read.
    pub(crate) file: Option<FileSeen>,
    /// True if nothing of it was ever read.
    pub(crate) is_new: bool,
    /// True if it is large and in use, so that no query waits for all of it.
    pub(crate) is_large: bool,
    /// Bytes that are not indexed.
    pub(crate) bytes: u64,
    /// Time of its last activity.
    pub(crate) at: Timestamp,
}

/// All sessions that a query would index, newest first; `grown` is in the watcher's order. Leaves out what may not be
/// read, but not unknown sessions, which find out themselves.
pub(crate) fn find_all(
    table: &SessionTable,
    settings: &Settings,
    now: Timestamp,
    grown: Vec<FileSeen>,
) -> Vec<StaleSession> {
    let (mut wanted, unknown) = (BTreeMap::new(), State::default());
    for file in grown {
        let row = table.get(&file.session);
        if !settings.may_read(row.map_or(&unknown, |row| &row.state)) {
            continue;
        }
        let indexed = row.map_or(0, |row| indexed_to(&row.state));
        let entry = StaleSession {
            id: file.session.clone(),
            is_new: row.is_none_or(|row| row.state.read.offset == 0),
            is_large: row.is_some_and(|row| is_large_growing(&row.state, &file, now)),
            bytes: file.stat.size.saturating_sub(indexed),
            at: file.stat.modified(),
            file: Some(file),
        };
        // Of several files of one session the first is read; the others are seen again afterwards.
        wanted.entry(entry.id.clone()).or_insert(entry);
    }
    for (id, row) in table.unsettled() {
        let state = &row.state;
        if is_owed(state, now) && settings.may_read(state) && !wanted.contains_key(id) {
            let bytes = state.read.offset.saturating_sub(indexed_to(state));
            let is_large = state.episode.as_ref().is_some_and(is_large) && is_at_work(state, now);
            let at = state.last_activity();
            wanted.insert(id.clone(), StaleSession { id: id.clone(), file: None, is_new: false, is_large, bytes, at });
        }
    }
    let mut wanted: Vec<StaleSession> = wanted.into_values().collect();
    wanted.sort_by_key(|wanted| std::cmp::Reverse(wanted.at));
    wanted
}

/// Returns true if all of a file may be read. If projects decide and the session's directory is unknown, the head of
/// the file is checked; a file that does not state it yet is left alone. Blocks for disk reads.
pub(crate) fn may_read_all(settings: &Settings, state: Option<&State>, file: &FileSeen) -> bool {
    let unknown = State::default();
    let state = state.unwrap_or(&unknown);
    if state.place.is_some() || !settings.depend_on_project(&file.path) {
        return settings.may_read(state);
    }
    let source = Source { agent: file.agent, subagent: file.kind != Kind::Main };
    let place = match transcript_reader::peek(source, &file.path) {
        Peek::Cwd(cwd) => match project::resolve_in_time(&cwd) {
            None => return false,
            place => place,
        },
        Peek::Nowhere => None,
        Peek::NotYet => return false,
        // The file cannot be read, and that may be reported.
        Peek::Unreadable => return true,
    };
    settings.stop_of(&State { place, forced: state.forced, ..State::default() }).is_none()
}

/// Moves the sessions of a project to the front, and keeps the order otherwise. An unknown session counts as the
/// project's if its transcript is in the same folder as transcripts of the project.
pub(super) fn project_first<'a>(table: &'a SessionTable, project: &str, wanted: &mut [StaleSession]) {
    if wanted.len() < 2 {
        return;
    }
    // There may be hundreds of thousands of sessions in a few places, so each place is judged once.
    let mut judged = HashMap::new();
    let mut is_in = |state: &&'a State| {
        let place = state.place.as_ref().map(|place| place.project.as_str());
        *judged.entry((state.group_id(), place)).or_insert_with(|| visibility::is_in(state, project))
    };
    let of_it = table.iter().map(|(_, row)| &row.state).filter(|state| is_in(state) && !state.is_subagent());
    let folders: HashSet<&str> = of_it.filter_map(|state| parent_folder(&state.transcript.as_ref()?.path)).collect();
    let is_asked = |wanted: &StaleSession| match (table.get(&wanted.id), &wanted.file) {
        (Some(row), _) if row.state.place.is_some() => visibility::is_in(&row.state, project),
        (_, Some(file)) => {
            std::iter::successors(parent_folder(&file.path), |path| parent_folder(path)).any(|at| folders.contains(at))
        }
        _ => false,
    };
    wanted.sort_by_cached_key(|wanted| !is_asked(wanted));
}

/// The parent folder of a path.
fn parent_folder(path: &str) -> Option<&str> {
    path.rsplit_once(['/', '\\']).map(|(folder, _)| folder)
}

/// Returns true if the session may be in use.
pub(super) fn is_at_work(state: &State, now: Timestamp) -> bool {
    state.is_open() && now.since_ms(state.last_activity()) < AT_WORK_MS
}

/// Returns true if a session is large with all of its file, and in use, so that it is never complete. The end of a
/// session says nothing about what was written since.
pub(super) fn is_large_growing(state: &State, file: &FileSeen, now: Timestamp) -> bool {
    let is_large = |episode: &EpisodeRef| is_large(episode) || file.stat.size > limits::LARGE_BYTES;
    let is_written = now.since_ms(file.stat.modified()) < AT_WORK_MS;
    state.episode.as_ref().is_some_and(is_large) && (is_at_work(state, now) || is_written)
}

/// The offset up to which the episode of this generation covers the transcript.
fn indexed_to(state: &State) -> u64 {
    state.checked.filter(|checked| checked.generation == state.generation).map_or(0, |checked| checked.to)
}

/// Returns true if a session was read further than it is indexed. A failed one waits for its retry, unless its
/// transcript was read further since.
fn is_owed(state: &State, now: Timestamp) -> bool {
    match state.phase {
        Phase::Active | Phase::Inactive | Phase::Unindexed(UnindexedReason::TimeoutDisabled) => {
            state.counts.messages > 0
        }
        Phase::Indexing => true,
        Phase::Indexed => state.unindexed > 0,
        Phase::Failed => state.late_index_at.is_some() || state.failure.is_none_or(|failure| failure.retry_at <= now),
        // If the file has grown or come back, the session is wanted for that reason.
        Phase::New | Phase::Unindexed(_) | Phase::Forgotten => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_base::transcript_file::FileStat;
    use baton_config::settings::Switches;
    use baton_config::settings::pattern::Pattern;
    use baton_conversation::item::Agent;
    use baton_conversation::record::{Position, SequenceNumber};
    use baton_events::session::{Event, Failure, FailureReason, FileIdentity, Place};

    fn id(text: &str) -> SessionId {
        SessionId::new(text).unwrap()
    }

    fn file(session: &str, path: &str, seconds: i64, size: u64) -> FileSeen {
        FileSeen {
            session: id(session),
            agent: Agent::ClaudeCode,
            kind: Kind::Main,
            path: path.into(),
            stat: FileStat { modified_ns: seconds * 1_000_000_000, size },
            identity: FileIdentity::default(),
        }
    }

    fn table(sessions: &[(&str, &str, &str)]) -> SessionTable {
        let mut table = SessionTable::default();
        for (number, (session, path, project)) in (1..).zip(sessions) {
            let discovered = Event::Discovered {
                agent: Agent::ClaudeCode,
                path: (*path).to_owned(),
                identity: FileIdentity::default(),
                kind: Kind::Main,
                at: Timestamp(0),
            };
            let place = Place::new(*project, *project);
            table.apply(Position(number * 2), &id(session), SequenceNumber(1), &discovered);
            table.apply(Position(number * 2 + 1), &id(session), SequenceNumber(2), &Event::Located { place });
        }
        table
    }

    #[test]
    fn the_asked_project_comes_first_then_the_newest() {
        let table = table(&[("known", "/p/-a/known.jsonl", "/a"), ("other", "/p/-b/other.jsonl", "/b")]);
        let grown = vec![
            file("known", "/p/-a/known.jsonl", 1, 10),
            file("brand-new", "/p/-a/brand-new.jsonl", 2, 10),
            file("other", "/p/-b/other.jsonl", 3, 10),
        ];
        let names = |wanted: &[StaleSession]| wanted.iter().map(|wanted| wanted.id.to_string()).collect::<Vec<_>>();
        let mut wanted = find_all(&table, &Settings::default(), Timestamp(0), grown);
        assert_eq!(names(&wanted), ["other", "brand-new", "known"]);
        project_first(&table, "/a", &mut wanted);
        assert_eq!(names(&wanted), ["brand-new", "known", "other"]);
    }

    #[test]
    fn a_failed_one_waits_for_its_time_unless_it_was_read_further() {
        let failure = Failure { why: FailureReason::Unreadable, attempts: 2, retry_at: Timestamp(100) };
        let failed = State { phase: Phase::Failed, failure: Some(failure), ..State::default() };
        assert!(!is_owed(&failed, Timestamp(99)) && is_owed(&failed, Timestamp(100)));
        assert!(is_owed(&State { late_index_at: Some(Timestamp(200)), ..failed }, Timestamp(99)));
    }

    #[test]
    fn what_may_not_be_read_is_not_wanted() {
        let mut table = table(&[("stopped", "/p/-a/stopped.jsonl", "/a")]);
        table.apply(Position(9), &id("stopped"), SequenceNumber(3), &Event::TrackingStopped);
        let grown = || vec![file("stopped", "/p/-a/stopped.jsonl", 1, 10)];
        assert!(find_all(&table, &Settings::default(), Timestamp(0), grown()).is_empty());
        table.apply(Position(10), &id("stopped"), SequenceNumber(4), &Event::TrackingResumed);
        assert_eq!(find_all(&table, &Settings::default(), Timestamp(0), grown()).len(), 1);
        let mut off = Settings::default();
        off.policy.tracked = false;
        assert!(find_all(&table, &off, Timestamp(0), grown()).is_empty());
        let unknown = || vec![file("unknown", "/p/-a/unknown.jsonl", 1, 10)];
        assert!(find_all(&table, &off, Timestamp(0), unknown()).is_empty(), "nothing could let it be read");
        off.switches = Switches::new(vec![(Pattern::new("/b").unwrap(), true)], Vec::new());
        assert_eq!(find_all(&table, &off, Timestamp(0), unknown()).len(), 1, "it may be of the project that is on");
    }

    #[test]
    fn a_file_is_looked_at_only_if_its_head_says_that_it_may_be() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.jsonl");
        let written = file("s", path.to_str().unwrap(), 1, 10);
        let mut settings = Settings::default();
        let state = |place: Option<&str>| State { place: place.map(|at| Place::new(at, at)), ..State::default() };
        let said = |cwd: &str| {
            format!(
                r#"{{"type":"user","uuid":"u","sessionId":"s","timestamp":"2026-03-14T09:26:53.589Z"{cwd},"message":{{"role":"user","content":"x"}}}}"#
            ) + "\n"
        };
        settings.switches = Switches::new(Vec::new(), vec![Pattern::new("/srv/private").unwrap()]);
        for (content, known, expected) in [
            (said(r#","cwd":"/srv/private""#), None, false),
            (said(r#","cwd":"/srv/public""#), None, true),
            (said(""), None, true),
            (String::new(), None, false),
            (said(r#","cwd":"/srv/private""#), Some("/srv/public"), true),
            (said(r#","cwd":"/srv/public""#), Some("/srv/private"), false),
        ] {
            std::fs::write(&path, &content).unwrap();
            let known = known.map(|at| state(Some(at)));
            assert_eq!(may_read_all(&settings, known.as_ref(), &written), expected, "{content} {known:?}");
        }
        settings.policy.tracked = false;
        std::fs::write(&path, said("")).unwrap();
        assert!(!may_read_all(&settings, None, &written), "it is of no project, and everything else is off");
    }
}
