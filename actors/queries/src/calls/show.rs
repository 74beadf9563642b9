//! `show`: one session and its episode.

use baton_base::transcript_file::TranscriptHeads;
use baton_conversation::record::SessionId;
use baton_protocol::{Failure, ShowParams, answer};
use baton_views::conversation::title;

use super::{QueryError, internal};
use crate::answers::redact_plain;
use crate::conversation_summary;
use crate::conversation_summary::ConversationSummary;
use crate::listing::SessionRows;
use crate::related_sessions::RelatedSessions;
use crate::resolve::SessionResolver;
use crate::{answers, memo, resolve, usage};
use baton_store::model_answer::{current_answer, read_answer};
use baton_tracking::indexer;

pub(crate) async fn show(
    asked: &ShowParams,
    resolver: SessionResolver<'_>,
    rows: SessionRows,
    indexer: &indexer::Handle,
) -> Result<answer::Show, QueryError> {
    let conversations = resolver.conversations.clone();
    if let Some((uuid, added)) = memo::find_visible(conversations.catalog(), &asked.session) {
        let read = baton_base::task::spawn_blocking(move || memo::show(conversations.chunks(), uuid, &added)).await;
        let read = read.map_err(|error| internal("reading the memo broke", error))?;
        return Ok(read.map_err(|error| internal("the memo cannot be read", error))?);
    }
    let id = resolver.find_shown(&asked.session).await?;
    let (table, _) = conversations.catalog().including_others();
    let Some(row) = table.get(&id).cloned() else {
        return Err(resolve::unknown_session(&table, id.as_str()).into());
    };
    let searcher = indexer.searcher().ok();
    // The row reads a note, the episode reads its conversation: both are files.
    let read = baton_base::task::spawn_blocking(move || {
        let mut shown = rows.row(&table, &id, &row.state);
        let (current, mut summary) = match table.visible_episode(&row).cloned() {
            Some(current) => {
                let read = conversation_summary::summarise(&conversations, &id, current);
                let (current, summary) = read.map_err(|error| internal("the episode cannot be read", error))?;
                (Some(current), summary)
            }
            None => (None, ConversationSummary::default()),
        };
        // Without the memory the session is shown without its relatives.
        let settings = conversations.catalog().settings.now();
        let links = std::mem::take(&mut summary.links);
        let family =
            searcher.as_ref().and_then(|searcher| RelatedSessions::find(&id, links, &table, &settings, searcher).ok());
        let related = family.as_ref().zip(searcher.as_ref());
        let mut relations = related
            .and_then(|(family, searcher)| family.relations(&row, &summary.calls, &settings, &table, searcher).ok())
            .unwrap_or_default();
        if let Some(searcher) = &searcher {
            for relation in &mut relations {
                let other = SessionId::new(&relation.session_id);
                let title = other.and_then(|other| title(searcher, &table, &settings, &other));
                relation.title = title.as_deref().map(redact_plain);
            }
        }
        let mut unread_lines = Vec::new();
        let (usage, episode) = match current {
            Some(current) => {
                let chunks = conversations.chunks();
                let manifest = chunks.manifest(&id, &current.manifest);
                unread_lines = manifest.map(|manifest| manifest.header.unread).unwrap_or_default();
                let by = current_answer(&row.state, &current);
                if let (Some(by), Some(enrichment)) = (by, &mut shown.enrichment) {
                    enrichment.dropped_claims = read_answer(chunks, &id, &by).map_or(0, |answer| answer.dropped);
                }
                let usage = usage::session_usage(
                    &conversations,
                    &settings.prices,
                    &table,
                    family.as_ref(),
                    &summary.requests,
                    summary.inside,
                );
                let mut episode = answers::episode(&id, &current, summary.episode, &summary.numbers);
                if shown.from.is_none() {
                    episode.resume = answers::resume_line(&id, &row.state, &TranscriptHeads::default());
                }
                (Some(usage), Some(episode))
            }
            None => (None, None),
        };
        Ok::<_, Failure>(answer::Show { row: shown, unread_lines, episode, usage, relations })
    });
    Ok(read.await.map_err(|error| internal("reading the episode broke", error))??)
}
