//! `unindexed`: what a query would index. Grown transcripts are read, but nothing is recorded.

use baton_views::visibility;

use baton_conversation::record::Timestamp;
use baton_events::session::Phase;
use baton_protocol::{UnindexedParams, answer, code};
use baton_redaction::redact;

use super::{QueryError, transcript_scan};
use crate::client::{ClientRef, failure};
use crate::discovery::Discovery;
use crate::lazy::stale;
use crate::lazy::stale::StaleSession;
use crate::resolve;
use crate::transcript_peek;
use crate::transcript_peek::TranscriptSummary;
use baton_base::clock::Clock;
use baton_base::throttle::Throttle;

/// Bytes of transcripts that are read in full; of the rest only the heads are read, and their messages are not counted.
const LOOKED_AT_BYTES: u64 = 256 * 1024 * 1024;

pub(crate) async fn unindexed(
    asked: UnindexedParams,
    discovery: Discovery<'_>,
    throttle: &Throttle,
    clock: &dyn Clock,
    client: &ClientRef,
) -> Result<answer::Unindexed, QueryError> {
    let grown = discovery.watcher.refresh().await;
    let grown = grown.map_err(|error| failure(code::INTERNAL, format!("transcripts could not be checked: {error}")))?;
    let ((table, settings), now) = (discovery.catalog.now(), clock.now());
    let wanted = stale::find_all(&table, &settings, now, grown);
    let known = asked.project.as_deref().map(|name| resolve::project(&table, &settings, name));
    // The first session of a project may not be known yet.
    let project = match (&known, &asked.project) {
        (Some(Err(_)), Some(name)) => Some(baton_views::clones::project_of(&table, name)),
        _ => known.as_ref().and_then(|known| known.as_ref().ok().cloned()),
    };
    // One table for all, because sessions keep reading meanwhile.
    let (known_then, settings_then) = (table.clone(), settings.clone());
    let total = wanted.len() as u64;
    let looked = transcript_scan::scan(throttle, client, total, move |scan_progress| {
        let (table, settings) = (known_then, settings_then);
        let mut left = LOOKED_AT_BYTES;
        let mut look = |wanted: StaleSession| {
            let row = table.get(&wanted.id);
            let state = row.map(|row| &row.state);
            if wanted.file.as_ref().is_some_and(|file| !stale::may_read_all(&settings, state, file)) {
                return None;
            }
            let glance = wanted.file.as_ref().and_then(|file| {
                let unread = file.stat.size.saturating_sub(row.map_or(0, |row| row.state.read.offset));
                if unread > left {
                    return row.is_none().then(|| transcript_peek::summarise_head(file)).flatten().map(FilePeek::Head);
                }
                left -= unread;
                transcript_peek::summarise_unread(row.map(|row| &row.state), file).map(FilePeek::All)
            });
            Some((wanted, glance))
        };
        wanted.into_iter().take_while(|_| scan_progress.next()).filter_map(&mut look).collect::<Vec<_>>()
    });
    let looked = looked.await?;
    let mut rows = Vec::new();
    for (wanted, looked) in looked {
        // A session without a known directory is judged by what was read of its file.
        let row = table.get(&wanted.id).filter(|row| row.state.place.is_some() || looked.is_none());
        let is_new = row.is_none();
        let unknown = looked.as_ref().map(|looked| transcript_peek::as_state(looked.summary())).unwrap_or_default();
        let state = row.map_or(&unknown, |row| &row.state);
        if is_new && !settings.may_read(state) {
            continue;
        }
        if project.as_deref().is_some_and(|project| !visibility::is_in(state, project)) {
            continue;
        }
        let grown = match &looked {
            Some(FilePeek::All(glance)) => glance.conversation,
            Some(FilePeek::Head(_)) => 1,
            None => u64::from(wanted.file.is_some() && is_new),
        };
        if grown == 0 && state.unindexed == 0 {
            // Only records outside of the conversation were added: a query would index nothing.
            continue;
        }
        let glance = looked.map(FilePeek::into_summary).unwrap_or_default();
        let last = glance.last_at.max(state.last_conversation_at).unwrap_or(wanted.at);
        let interval_ms = settings.policy_for(state).check_interval_ms;
        // That it went idle may be recorded a moment later.
        let is_open = grown > 0 || state.phase == Phase::Active;
        let shown = if is_open { open_state(last, now, interval_ms) } else { state.phase.as_str() };
        if !asked.include_inactive && shown != "active" {
            continue;
        }
        let path = wanted.file.as_ref().map(|file| &*file.path);
        let path = path.or(state.transcript.as_ref().map(|transcript| transcript.path.as_str()));
        rows.push(answer::UnindexedRow {
            session_id: wanted.id.to_string(),
            file_path: path.map(|path| redact(path).into_owned()),
            project: state.place.as_ref().map(|place| redact(&place.project).into_owned()),
            state: shown.to_owned(),
            last_activity: Some(last.to_string()),
            message_count: state.counts.messages + glance.messages,
            parent_session_id: state
                .parent()
                .or(glance.parent.as_ref().filter(|_| {
                    wanted.file.as_ref().is_some_and(|file| file.kind != baton_events::session::Kind::Main)
                }))
                .map(ToString::to_string),
        });
    }
    if let (true, Some(Err(unknown))) = (rows.is_empty(), known) {
        return Err(unknown.into());
    }
    rows.sort_by(|a, b| (&b.last_activity, &a.session_id).cmp(&(&a.last_activity, &b.session_id)));
    let note = discovery.catalog.settings.now().tracking_off_note();
    Ok(answer::Unindexed { status: "success".to_owned(), count: rows.len() as u64, sessions: rows, note })
}

/// How much of a file was read.
enum FilePeek {
    All(TranscriptSummary),
    Head(TranscriptSummary),
}

impl FilePeek {
    fn summary(&self) -> &TranscriptSummary {
        match self {
            Self::All(glance) | Self::Head(glance) => glance,
        }
    }

    /// The messages of a head are not reported, because they are incomplete.
    fn into_summary(self) -> TranscriptSummary {
        match self {
            Self::All(glance) => glance,
            Self::Head(glance) => TranscriptSummary { messages: 0, last_at: None, ..glance },
        }
    }
}

/// The state that a grown session has once it is read.
fn open_state(last: Timestamp, now: Timestamp, interval_ms: i64) -> &'static str {
    if now.since_ms(last) < interval_ms { "active" } else { "inactive" }
}
