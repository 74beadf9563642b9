//! `correct`: records what a person says is wrong about a session, or lists what can be corrected.

mod wanted;

use std::collections::BTreeMap;
use std::sync::Arc;

use baton_conversation::filter::one_line;
use baton_conversation::record::SessionId;
use baton_episode::digest::{Correctable, verdicts};
use baton_events::session::{CorrectedEntry, Corrections, Phase, Verdict};
use baton_protocol::{CorrectParams, Failure, answer, code};
use baton_redaction::redact;

use super::memory::wait_findable;
use super::{QueryError, internal};
use crate::client::failure;
use crate::resolve::SessionResolver;
use crate::{answers, resolve};
use baton_base::limits;
use baton_tracking::indexer;
use baton_tracking::session::{Switch, Switched};
use baton_views::conversation::Conversations;

/// Longest title, in characters.
const TITLE_CHARS: usize = 120;

/// What can be corrected of a session.
pub(super) struct Listing {
    pub(super) entries: Vec<Correctable>,
    /// Verdicts that apply, by line and fingerprint of the entry.
    pub(super) verdicts: BTreeMap<(u64, u64), Verdict>,
    pub(super) standing: Corrections,
    title: String,
    is_titled_by_person: bool,
}

impl Listing {
    /// True if a standing verdict is about this entry.
    pub(super) fn is_about(&self, standing: &CorrectedEntry, entry: &Correctable) -> bool {
        let is_named = || {
            let key = (standing.line, standing.print);
            self.entries.iter().any(|other| (other.said.line, other.print) == key)
        };
        let is_applied = || self.verdicts.contains_key(&(entry.said.line, entry.print));
        standing.print == entry.print && (standing.line == entry.said.line || (!is_named() && is_applied()))
    }
}

pub(crate) async fn correct(
    asked: CorrectParams,
    resolver: SessionResolver<'_>,
    indexer: &indexer::Handle,
) -> Result<answer::Correct, QueryError> {
    let id = resolver.requested_session(asked.session.as_deref(), &asked.caller).await?;
    let table = || resolver.catalog().table.now();
    let before = read(resolver.conversations, &id).await?;
    let corrections = wanted::corrections(&asked, &before).map_err(|wrong| failure(code::INVALID_PARAMS, wrong))?;
    let title = asked.title.as_deref().map(title).transpose()?;
    let is_taken_back = title.is_none() && wanted::gives_no_verdict(&asked);
    if is_taken_back && asked.undo.is_empty() {
        return Ok(answer(&id, &before, 0, "name an entry by its number, or by L and its line".to_owned()));
    }
    let version = table().get(&id).map(|row| row.state.corrections.clone());
    let switch = Switch::Correct { title, corrections };
    let switched = resolver.discovery.supervisor.switch(&id, switch, limits::SESSION_CALL).await;
    match switched.map_err(|error| internal("the session did not answer", error))? {
        Switched::Done { .. } => {}
        Switched::Refused(rejection) => return Err(failure(code::REFUSED, rejection.to_string()).into()),
        Switched::Stopped(stop) => return Err(failure(code::REFUSED, stop.to_string()).into()),
        Switched::Failed { reason } => {
            return Err(failure(code::INTERNAL, format!("session {id} not corrected: {reason}")).into());
        }
    }
    let late = wait_findable(indexer, table().position()).await.unwrap_or_default();
    let after = read(resolver.conversations, &id).await?;
    let changed = changes(&version.unwrap_or_default(), &after.standing);
    let message = match changed {
        0 => "nothing changed: it was so before".to_owned(),
        _ if is_taken_back => format!("correction removed; the original is shown again{late}"),
        _ => format!("corrected; it stays so when the session is read again, and undo removes the correction{late}"),
    };
    Ok(answer(&id, &after, changed, message))
}

/// Reads what can be corrected.
async fn read(conversations: &Arc<Conversations>, id: &SessionId) -> Result<Listing, Failure> {
    let (table, settings) = conversations.catalog().now();
    let Some(row) = table.get(id).cloned() else { return Err(resolve::unknown_session(&table, id.as_str())) };
    let Some(current) = table.visible_episode(&row).cloned() else {
        let next = match (row.state.phase, &row.state.episode) {
            (Phase::Forgotten, _) => format!("it was forgotten; `baton forget --undo {id}` lifts that"),
            (_, Some(_)) => format!("its episode was deleted; `baton forget --undo {id}` shows it again"),
            (_, None) => format!("it has no episode yet; `baton close {id}` makes one"),
        };
        return Err(failure(code::REFUSED, format!("nothing to correct in session {id}: {next}")));
    };
    let (conversations, id, show) = (conversations.clone(), id.clone(), settings.filtering);
    let reading = baton_base::task::spawn_blocking(move || {
        let (_, mut episode) = conversations.uncorrected(&id, current, &show)?;
        let entries = episode.correctable(&id);
        let standing = row.state.corrections.clone();
        let verdicts = verdicts(&entries, &standing);
        conversations.correct(&id, &mut episode);
        let (title, is_titled_by_person) = (episode.title, episode.is_titled_by_person);
        Ok::<_, baton_store::conversation::Error>(Listing { entries, verdicts, standing, title, is_titled_by_person })
    });
    let read = reading.await.map_err(|error| internal("reading the episode broke", error))?;
    read.map_err(|error| internal("the episode cannot be read", error))
}

/// A title on one line, redacted.
fn title(text: &str) -> Result<String, Failure> {
    match one_line(&redact(text), TITLE_CHARS) {
        title if title.is_empty() => {
            Err(failure(code::INVALID_PARAMS, "a title needs a word; undo `title` takes yours back"))
        }
        title => Ok(title),
    }
}

/// Number of corrections in which two states differ.
fn changes(before: &Corrections, after: &Corrections) -> u64 {
    let key = |entry: &CorrectedEntry| (entry.line, entry.print, entry.verdict);
    let missing = |from: &Corrections, in_it: &Corrections| {
        let keys: Vec<_> = in_it.entries.iter().map(key).collect();
        from.entries
            .iter()
            .filter(|entry| !keys.contains(&key(entry)))
            .map(|entry| (entry.line, entry.print))
            .collect::<Vec<_>>()
    };
    let mut changed = missing(before, after);
    changed.extend(missing(after, before));
    changed.sort_unstable();
    changed.dedup();
    changed.len() as u64 + u64::from(before.title != after.title)
}

fn answer(id: &SessionId, listing: &Listing, changed: u64, message: String) -> answer::Correct {
    let entry = |(entry, number): (&Correctable, u64)| answer::CorrectEntry {
        number,
        kind: entry.kind.as_str().to_owned(),
        line: entry.said.line,
        at: entry.said.at.map(|at| at.to_string()),
        text: redact(&entry.said.text).into_owned(),
        verdict: listing.verdicts.get(&(entry.said.line, entry.print)).map(ToString::to_string),
    };
    let is_matched = |standing: &&CorrectedEntry| listing.entries.iter().any(|entry| listing.is_about(standing, entry));
    let matched = listing.standing.entries.iter().filter(is_matched).count();
    answer::Correct {
        session_id: id.to_string(),
        message,
        changed,
        title: redact(&listing.title).into_owned(),
        title_said_by: listing.is_titled_by_person.then(|| answers::PERSON.to_owned()),
        entries: listing.entries.iter().zip(1..).map(entry).collect(),
        unmatched: (listing.standing.entries.len() - matched) as u64,
    }
}
