//! A first pass over a conversation before the memory indexes it: collects the totals of its entry, and as much as a
//! digest holds. Needs bounded memory for any conversation.

use std::convert::Infallible;

use baton_conversation::item::{Body, Item, Link, Meta};
use baton_conversation::queued_prompts::Withdrawn;
use baton_conversation::record::{SessionId, Timestamp};
use baton_conversation::turns::{Stream, Unit};
use baton_conversation::usage::{Course, Requests};
use baton_enrichment::{Answer, Lines};
use baton_episode::digest::{Abridged, Episode};
use baton_events::schema::outcomes::Outcomes;
use baton_graph as graph;
use baton_graph::{Graph, Surroundings};
use baton_outcomes as outcomes;
use baton_outcomes::Pieces;

use super::Interrupt;
use baton_store::conversation;
use baton_store::conversation::Conversation;

use baton_memory::{MAX_LINKS, Titles, Units};

/// The result of that pass.
#[derive(Debug, Default)]
pub(super) struct Outline {
    /// Number of items.
    pub(super) item_count: usize,
    /// Number of search units.
    pub(super) units: usize,
    /// The first unit that may differ from what the memory has.
    pub(super) changed_from: usize,
    /// The latest time in the stored conversation. The table is not used, because it includes what was read but not
    /// indexed yet: a rebuilt memory would then differ from a maintained one.
    pub(super) ended_at: Option<Timestamp>,
    /// The sessions that it links to, each once.
    pub(super) links: Vec<(Link, SessionId)>,
    /// Titles in the transcript, and what a title can be made of.
    pub(super) titles: Titles,
    /// Prompts that were withdrawn.
    pub(super) withdrawn: Withdrawn,
    /// The same, with what decides whether a later item withdraws or delivers one.
    pub(super) noted: Withdrawn,
    /// Usage of models over its course.
    pub(super) usage: Course,
    /// What makes units of items that follow.
    pub(super) stream: Stream,
    /// The search units, if the conversation is held in memory.
    made: Option<Vec<Unit>>,
    /// As much as a digest holds, unless the conversation is held in memory.
    abridged: Option<(Vec<Item>, u64)>,
}

impl Outline {
    /// Goes through a conversation. The memory already has its first `known` items.
    pub(super) fn of(
        conversation: &Conversation,
        known: Option<usize>,
        interrupt: Interrupt<'_>,
    ) -> Result<Self, baton_memory::Error> {
        // Withdrawn prompts are rare; go through it again only if there are any.
        let (outline, withdrawn) = Self::without(Withdrawn::default(), conversation, known, interrupt)?;
        let outline = match withdrawn.is_empty() {
            true => outline,
            false => Self::without(withdrawn.clone(), conversation, known, interrupt)?.0,
        };
        Ok(Self { noted: withdrawn, ..outline })
    }

    /// Goes through it, given the withdrawn prompts. Also returns those that it finds.
    fn without(
        withdrawn: Withdrawn,
        conversation: &Conversation,
        known: Option<usize>,
        interrupt: Interrupt<'_>,
    ) -> Result<(Self, Withdrawn), baton_memory::Error> {
        let mut outline = Self { withdrawn: withdrawn.clone(), ..Self::default() };
        let (mut stream, mut found) = (Stream::without(withdrawn), Withdrawn::default());
        let mut requests = Requests::default();
        match conversation {
            Conversation::Held(items) => {
                let mut made = Vec::with_capacity(items.len());
                for item in items.iter() {
                    found.note(item);
                    outline.take(item, &mut stream, &mut requests, known, |unit| made.push(unit));
                }
                made.extend(stream.pending().cloned());
                outline.made = Some(made);
            }
            Conversation::Stored(stored) => {
                let mut abridged = Abridged::default();
                for item in stored.items() {
                    interrupt.check()?;
                    let item = item.map_err(unreadable)?;
                    found.note(&item);
                    outline.take(&item, &mut stream, &mut requests, known, drop);
                    abridged.push(item);
                }
                let left_out = abridged.left_out();
                outline.abridged = Some((abridged.into_items(), left_out));
            }
        }
        if known == Some(outline.item_count) {
            stream.mark();
        }
        outline.usage = requests.course();
        (outline.units, outline.changed_from) = (stream.count(), stream.changed_from());
        outline.stream = stream;
        Ok((outline, found))
    }

    /// As much of the conversation as a digest holds.
    pub(super) fn items<'a>(&'a self, conversation: &'a Conversation) -> &'a [Item] {
        match (conversation, &self.abridged) {
            (Conversation::Held(items), _) => items,
            (Conversation::Stored(_), abridged) => abridged.as_ref().map_or(&[], |(items, _)| items),
        }
    }

    /// Number of items that are missing or shortened there.
    pub(super) fn left_out(&self) -> u64 {
        self.abridged.as_ref().map_or(0, |(_, left_out)| *left_out)
    }

    /// Extracts the outcomes. Every call counts, even if a digest holds only a part of the conversation; `correct`
    /// applies a person's corrections to the digest of each part.
    pub(super) fn outcomes(
        &self,
        conversation: &Conversation,
        episode: &Episode,
        at: Surroundings<'_>,
        correct: &dyn Fn(&mut Episode),
        interrupt: Interrupt<'_>,
    ) -> Result<Outcomes, baton_memory::Error> {
        if self.left_out() == 0 {
            return Ok(outcomes::outcomes(self.items(conversation), episode, &at));
        }
        let mut pieces = Pieces::new(at, correct);
        conversation
            .each(|item| {
                pieces.push(item.clone());
                interrupt.check().map_err(Stopped)
            })
            .map_err(|Stopped(error)| error)?;
        Ok(pieces.finish())
    }

    /// Releases the digest's items before the units are made.
    pub(super) fn let_go(&mut self) {
        if let Some((items, _)) = &mut self.abridged {
            *items = Vec::new();
        }
    }

    fn take(
        &mut self,
        item: &Item,
        stream: &mut Stream,
        requests: &mut Requests,
        known: Option<usize>,
        mut made: impl FnMut(Unit),
    ) {
        if known == Some(self.item_count) {
            stream.mark();
        }
        self.item_count += 1;
        self.titles.note(item);
        requests.note_any(item, item.at.or(self.ended_at));
        let Ok(()) = stream.push(item, &mut |unit| {
            made(unit);
            Ok::<_, Infallible>(())
        });
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

/// Extracts the facts, by rules and from a model's answer.
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

/// The search units of a conversation. Those of one that is not held in memory are made on demand.
#[derive(Debug)]
pub(super) struct Turns<'a> {
    pub(super) conversation: &'a Conversation,
    pub(super) outline: &'a Outline,
    pub(super) interrupt: Interrupt<'a>,
}

impl Units for Turns<'_> {
    fn count(&self) -> usize {
        self.outline.units
    }

    fn each(&self, take: &mut dyn FnMut(&Unit) -> Result<(), baton_memory::Error>) -> Result<(), baton_memory::Error> {
        if let Some(made) = &self.outline.made {
            return made.iter().try_for_each(take);
        }
        let (mut stream, mut take) = (Stream::without(self.outline.withdrawn.clone()), |unit: Unit| take(&unit));
        self.conversation
            .each(|item| self.interrupt.check().and_then(|()| stream.push(item, &mut take)).map_err(Stopped))
            .map_err(|Stopped(error)| error)?;
        stream.finish(&mut take)?;
        Ok(())
    }
}

/// Why the pass stopped early.
struct Stopped(baton_memory::Error);

impl From<conversation::Error> for Stopped {
    fn from(error: conversation::Error) -> Self {
        Self(unreadable(error))
    }
}

/// Converts the error of a conversation that cannot be read.
pub(super) fn unreadable(error: conversation::Error) -> baton_memory::Error {
    baton_memory::Error::Units(error.to_string())
}
