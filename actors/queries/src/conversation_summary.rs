//! Summarises a conversation for display. The conversation is streamed, so its length does not matter.

use baton_store::conversation::Conversation;
use std::collections::BTreeMap;

use baton_conversation::filter::one_line;
use baton_conversation::item::{Body, Item, Link};
use baton_conversation::queued_prompts::Withdrawn;
use baton_conversation::record::SessionId;
use baton_conversation::usage::Requests;
use baton_enrichment::Lines;
use baton_episode::digest::{Abridged, Episode, Metadata, MetadataBuilder};
use baton_events::session::EpisodeRef;

use baton_memory::{MAX_LINKS, links};
use baton_store::conversation::Error as EpisodeError;
use baton_store::model_answer::current_answer;
use baton_views::conversation::Conversations;

/// Most subagents of a session that are listed and counted; no session has been seen to have more.
pub(super) const CHILDREN_MAX: usize = 512;
/// Most characters of a name that an agent gives.
pub(super) const NAME_CHARS: usize = 100;

/// Summary of a conversation.
#[derive(Default)]
pub(super) struct ConversationSummary {
    pub(super) episode: Episode,
    pub(super) numbers: Metadata,
    /// Requests of the session itself.
    pub(super) requests: Requests,
    /// Requests of subagents whose records are in the same transcript.
    pub(super) inside: Requests,
    /// The sessions it names, at most `MAX_LINKS`.
    pub(super) links: Vec<(Link, SessionId)>,
    /// Ids of the tool calls that subagents answered, by agent name; at most `CHILDREN_MAX`.
    pub(super) calls: BTreeMap<Box<str>, String>,
}

/// Summarises the conversation of an episode. Blocks for disk reads.
pub(super) fn summarise(
    conversations: &Conversations,
    id: &SessionId,
    current: EpisodeRef,
) -> Result<(EpisodeRef, ConversationSummary), EpisodeError> {
    let catalog = conversations.catalog();
    let show = catalog.settings.now().filtering;
    conversations.read(id, current, |current| {
        let conversation = Conversation::open(conversations.chunks(), id, current)?;
        let mut withdrawn = Withdrawn::default();
        conversation.each(|item| {
            withdrawn.note(item);
            Ok::<_, EpisodeError>(())
        })?;
        let by = catalog.table.now().get(id).and_then(|row| current_answer(&row.state, current));
        let (mut summary, mut abridged, mut lines) =
            (ConversationSummary::default(), Abridged::default(), Lines::default());
        let mut numbers = MetadataBuilder::excluding(withdrawn);
        conversation.each(|item| {
            numbers.note(item);
            summary.note(item);
            // A claim of the model must not rest on hidden items.
            if by.is_some() && show.keeps(&item.body) {
                lines.note(item);
            }
            abridged.push(item.clone());
            Ok::<_, EpisodeError>(())
        })?;
        summary.numbers = numbers.metadata(current.to);
        summary.episode = conversations.apply_answer(id, by.as_ref(), abridged.digest(&show), &lines);
        conversations.correct(id, &mut summary.episode);
        Ok(summary)
    })
}

impl ConversationSummary {
    fn note(&mut self, item: &Item) {
        self.requests.note(item);
        self.inside.note_inside(item);
        for link in links(std::slice::from_ref(item)) {
            if self.links.len() < MAX_LINKS && !self.links.contains(&link) {
                self.links.push(link);
            }
        }
        if let Body::Result(result) = &item.body
            && let Some(agent) = result.agent.as_deref()
            && self.calls.len() < CHILDREN_MAX
            && !self.calls.contains_key(agent)
        {
            self.calls.insert(agent.into(), one_line(&result.id, NAME_CHARS));
        }
    }
}
