//! A conversation gone through once before the memory takes it in: what an entry says of it as a whole, and as much of it as a
//! digest holds. Takes a bounded amount of memory, whatever the conversation.

use std::convert::Infallible;

use baton_conversation::item::{Body, Item, Link, Meta};
use baton_conversation::queued_prompts::Withdrawn;
use baton_conversation::record::{SessionId, Timestamp};
use baton_conversation::turns::{Stream, Unit};
use baton_enrichment::{Answer, Lines};
use baton_episode::digest::{Abridged, Episode};
use baton_events::schema::outcomes::Outcomes;
use baton_graph as graph;
use baton_graph::{Graph, Surroundings};
use baton_outcomes as outcomes;
use baton_outcomes::Pieces;

use super::Way;
use baton_store::conversation;
use baton_store::conversation::Conversation;

use baton_memory::{MAX_LINKS, Titles, Units};

/// What is known of a conversation that was gone through.
#[derive(Debug, Default)]
pub(super) struct Outline {
    /// How many items it has.
    pub(super) count: usize,
    /// How many units it gives.
    pub(super) units: usize,
    /// The first unit that may differ from what the memory has of it.
    pub(super) changed_from: usize,
    /// The latest time of a conversation. By what is stored of it, not by the table: what was read since then and is not
    /// indexed yet would stand in a memory that is built anew, and not in one that was maintained.
    pub(super) ended_at: Option<Timestamp>,
    /// The sessions that it names, each once.
    pub(super) links: Vec<(Link, SessionId)>,
    /// The titles that it gives, and by which it may be given one.
    pub(super) titles: Titles,
    /// The prompts that are withdrawn.
    pub(super) withdrawn: Withdrawn,
    /// What a digest holds of one that is not in memory.
    abridged: Option<(Vec<Item>, u64)>,
}

impl Outline {
    /// Goes through it. `known` items at its beginning are what the memory has of it already.
    pub(super) fn of(
        conversation: &Conversation,
        known: Option<usize>,
        way: Way<'_>,
    ) -> Result<Self, baton_memory::Error> {
        // Hardly any conversation has prompts that are withdrawn: another look is needed only then.
        let (outline, withdrawn) = Self::without(Withdrawn::default(), conversation, known, way)?;
        match withdrawn.is_empty() {
            true => Ok(outline),
            false => Ok(Self::without(withdrawn, conversation, known, way)?.0),
        }
    }

    /// The same where it is known which prompts are withdrawn. Which are is told with it.
    fn without(
        withdrawn: Withdrawn,
        conversation: &Conversation,
        known: Option<usize>,
        way: Way<'_>,
    ) -> Result<(Self, Withdrawn), baton_memory::Error> {
        let mut outline = Self { withdrawn: withdrawn.clone(), ..Self::default() };
        let (mut stream, mut found) = (Stream::without(withdrawn), Withdrawn::default());
        match conversation {
            Conversation::Held(items) => items.iter().for_each(|item| {
                found.note(item);
                outline.take(item, &mut stream, known);
            }),
            Conversation::Stored(stored) => {
                let mut abridged = Abridged::default();
                for item in stored.items() {
                    way.check()?;
                    let item = item.map_err(unreadable)?;
                    found.note(&item);
                    outline.take(&item, &mut stream, known);
                    abridged.push(item);
                }
                let left_out = abridged.left_out();
                outline.abridged = Some((abridged.into_items(), left_out));
            }
        }
        if known == Some(outline.count) {
            stream.mark();
        }
        (outline.units, outline.changed_from) = (stream.count(), stream.changed_from());
        Ok((outline, found))
    }

    /// As much of the conversation as a digest holds.
    pub(super) fn items<'a>(&'a self, conversation: &'a Conversation) -> &'a [Item] {
        match (conversation, &self.abridged) {
            (Conversation::Held(items), _) => items,
            (Conversation::Stored(_), abridged) => abridged.as_ref().map_or(&[], |(items, _)| items),
        }
    }

    /// How many items are not among these, or only in part.
    pub(super) fn left_out(&self) -> u64 {
        self.abridged.as_ref().map_or(0, |(_, left_out)| *left_out)
    }

    /// What was tried in it. Of a conversation of which a digest holds only a part every call counts all the same.
    pub(super) fn outcomes(
        &self,
        conversation: &Conversation,
        episode: &Episode,
        at: Surroundings<'_>,
        way: Way<'_>,
    ) -> Result<Outcomes, baton_memory::Error> {
        if self.left_out() == 0 {
            return Ok(outcomes::outcomes(self.items(conversation), episode, &at));
        }
        let mut pieces = Pieces::new(at);
        conversation
            .each(|item| {
                pieces.push(item.clone());
                way.check().map_err(Stopped)
            })
            .map_err(|Stopped(error)| error)?;
        Ok(pieces.finish())
    }

    /// Lets go of these: the units come next, and are made of what is stored.
    pub(super) fn let_go(&mut self) {
        if let Some((items, _)) = &mut self.abridged {
            *items = Vec::new();
        }
    }

    fn take(&mut self, item: &Item, stream: &mut Stream, known: Option<usize>) {
        if known == Some(self.count) {
            stream.mark();
        }
        self.count += 1;
        self.titles.note(item);
        let Ok(()) = stream.push(item, &mut |_| Ok::<_, Infallible>(()));
        match &item.body {
            Body::Meta(Meta::Link { link, session }) if self.links.len() < MAX_LINKS => {
                let session = SessionId::new(session).map(|session| (*link, session));
                self.links.extend(session.filter(|named| !self.links.contains(named)));
            }
            Body::Meta(_) => {}
            _ => self.ended_at = self.ended_at.max(item.at),
        }
    }
}

/// What a conversation says of the world, by rules and as a model said it.
pub(super) fn graph(
    items: &[Item],
    episode: &Episode,
    at: &Surroundings<'_>,
    answer: Option<&Answer>,
    lines: &Lines,
) -> Graph {
    let graph = graph::graph(items, episode, at);
    match answer {
        Some(answer) => baton_enrichment::with_model(graph, answer, at, episode.cwd.as_deref(), lines),
        None => graph,
    }
}

/// The units of a conversation, made as they are asked for.
#[derive(Debug)]
pub(super) struct Turns<'a> {
    pub(super) conversation: &'a Conversation,
    pub(super) withdrawn: &'a Withdrawn,
    pub(super) count: usize,
    pub(super) way: Way<'a>,
}

impl Units for Turns<'_> {
    fn count(&self) -> usize {
        self.count
    }

    fn each(&self, take: &mut dyn FnMut(Unit) -> Result<(), baton_memory::Error>) -> Result<(), baton_memory::Error> {
        let (mut stream, mut take) = (Stream::without(self.withdrawn.clone()), take);
        self.conversation
            .each(|item| self.way.check().and_then(|()| stream.push(item, &mut take)).map_err(Stopped))
            .map_err(|Stopped(error)| error)?;
        stream.finish(&mut take)?;
        Ok(())
    }
}

/// Why a conversation is not gone through to its end.
struct Stopped(baton_memory::Error);

impl From<conversation::Error> for Stopped {
    fn from(error: conversation::Error) -> Self {
        Self(unreadable(error))
    }
}

/// A conversation cannot be read that was readable a moment ago.
pub(super) fn unreadable(error: conversation::Error) -> baton_memory::Error {
    baton_memory::Error::Units(error.to_string())
}
