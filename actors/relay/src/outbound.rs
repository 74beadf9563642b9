//! Publishes what is shared and not published yet: objects first, then the key, then the batch, then the record of it.
//! After a crash the next attempt repeats the step, and recognises by the stream's sequence what is done.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use baton_conversation::filter::FILTER_VERSION;
use baton_conversation::hash::ContentHash;
use baton_conversation::record::{SequenceNumber, SessionId, StreamId, Timestamp};
use baton_events::projection::table::Row;
use baton_events::session::{EpisodeRef, Event, State};
use baton_journal::{Journal, session_stream};
use baton_sharing::batch::{self, Batch, Chunk, Conversation, MAX_EVENT_BYTES, MAX_EVENTS, Notice, StoredEvent};
use baton_sharing::form;
use baton_sharing::paths::Paths;
use baton_sharing::published::{last_conversation_only, publishable};
use baton_store::chunks::{ChunkRef, ChunkStore, Header, Manifest};

use crate::inbound::{Change, episode_of};
use crate::keys::{Keys, Name, Secret};
use crate::record::{Intended, Line, MadeOf, Record, SharedSession, Staged, gone};
use crate::seal::{self, Kind};
use crate::transport::{self, Relay, Slot, Stream};

/// Bytes of sealed chunks recorded at once, before they are put on the relay.
const NOTED_BYTES: usize = 8 * 1024 * 1024;
/// Events read at once.
const STEP: usize = 512;

/// Why something was not published.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The relay failed or refused.
    #[error(transparent)]
    Relay(#[from] transport::Error),
    /// This machine failed.
    #[error("{0}")]
    Here(String),
}

fn local_error(error: impl ToString) -> Error {
    Error::Here(error.to_string())
}

/// The content to publish of a session, before it is sealed.
pub(crate) struct Draft {
    /// The events, with their sequence numbers in the session's stream.
    pub(crate) events: Vec<(SequenceNumber, Event)>,
    pub(crate) conversation: Option<DraftConversation>,
    /// True if something was redacted since the last publication.
    pub(crate) is_redacted: bool,
}

/// A conversation as it will be published.
pub(crate) struct DraftConversation {
    pub(crate) header: Header,
    pub(crate) chunks: Vec<DraftChunk>,
    made_of: MadeOf,
}

/// A chunk as it will be published.
pub(crate) struct DraftChunk {
    pub(crate) reference: ChunkRef,
    pub(crate) content: Content,
}

/// The lines of a chunk.
pub(crate) enum Content {
    /// They are on the relay already.
    Published(ContentHash),
    /// They are not.
    New(Vec<u8>),
}

/// Makes drafts: reads events and chunks. Blocks for the disk.
pub(crate) struct Drafts {
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) chunks: Arc<ChunkStore>,
    /// The person's home directory.
    pub(crate) user_home: Option<String>,
}

impl Drafts {
    /// Prepares what is not published yet of a session.
    ///
    /// # Errors
    ///
    /// If its events or its conversation cannot be read.
    pub(crate) fn prepare(&self, id: &SessionId, row: &Row, known: Option<&SharedSession>) -> Result<Draft, Error> {
        let paths = Paths::new(row.state.place.as_ref(), self.user_home.as_deref());
        let (stream, mut after) = (StreamId::session(id), SequenceNumber(known.map_or(0, |known| known.through)));
        let (mut events, mut is_redacted) = (Vec::new(), false);
        while after < row.version {
            let records = self.journal.read_stream(&stream, after, STEP).map_err(local_error)?;
            let Some(last) = records.last() else { break };
            after = last.sequence;
            for record in records.iter().filter(|record| record.sequence <= row.version) {
                let event = session_stream::decode(record).map_err(local_error)?.event;
                is_redacted |= matches!(event, Event::Redacted { .. });
                events.extend(publishable(&event, &paths).map(|event| (record.sequence, event)));
            }
        }
        last_conversation_only(&mut events);
        let mut conversation = None;
        if let Some(at) = events.iter().position(|(_, event)| episode_of(event).is_some()) {
            match &row.state.episode {
                // The conversation that the event names may be deleted already; the current one never is.
                Some(current) => {
                    let made = self.conversation(id, current, &paths, known)?;
                    let references = made.chunks.iter().map(|chunk| chunk.reference.clone()).collect();
                    let (manifest, _) = Manifest::assemble(made.header.clone(), references).map_err(local_error)?;
                    let episode = EpisodeRef { manifest, ..current.clone() };
                    events[at].1 = match &events[at].1 {
                        Event::Indexed { effect, .. } => Event::Indexed { effect: *effect, episode },
                        _ => Event::Redacted { episode: Some(episode), notes: Vec::new() },
                    };
                    conversation = Some(made);
                }
                None => drop(events.remove(at)),
            }
        }
        Ok(Draft { events, conversation, is_redacted })
    }

    fn conversation(
        &self,
        id: &SessionId,
        current: &EpisodeRef,
        paths: &Paths,
        known: Option<&SharedSession>,
    ) -> Result<DraftConversation, Error> {
        let manifest = self.chunks.manifest(id, &current.manifest).map_err(local_error)?;
        let before = known.filter(|known| known.made_of.rules == FILTER_VERSION);
        let published: BTreeMap<&str, &Chunk> = before
            .and_then(|known| Some((known, known.conversation.as_ref()?)))
            .into_iter()
            .flat_map(|(known, conversation)| known.made_of.chunks.iter().map(String::as_str).zip(&conversation.chunks))
            .collect();
        let mut chunks = Vec::with_capacity(manifest.chunks.len());
        for chunk in &manifest.chunks {
            if let Some(there) = published.get(chunk.name.as_str()) {
                let reference = ChunkRef { name: there.name.to_string(), items: there.items, bytes: there.bytes };
                chunks.push(DraftChunk { reference, content: Content::Published(there.object) });
                continue;
            }
            let mut lines = Vec::new();
            let read = self.chunks.chunk(id, chunk).map_err(local_error)?;
            for line in read.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                let line = std::str::from_utf8(line).map_err(local_error)?;
                lines.extend(paths.published_line(line).map_err(local_error)?);
                lines.push(b'\n');
            }
            let reference =
                ChunkRef { name: ContentHash::of(&lines).to_string(), items: chunk.items, bytes: lines.len() as u64 };
            chunks.push(DraftChunk { reference, content: Content::New(lines) });
        }
        let header = Header {
            generation: manifest.header.generation,
            filter_version: manifest.header.filter_version,
            item_version: manifest.header.item_version,
            ..Header::default()
        };
        let names = manifest.chunks.iter().map(|chunk| chunk.name.clone()).collect();
        Ok(DraftConversation { header, chunks, made_of: MadeOf { rules: FILTER_VERSION, chunks: names } })
    }
}

/// What was published of a session so far.
pub(crate) struct Published<'a> {
    /// The state to continue from; `None` if the session is republished from the start.
    pub(crate) known: Option<&'a SharedSession>,
    /// Objects that an earlier, interrupted attempt has put on the relay.
    pub(crate) begun: Option<&'a Staged>,
    /// All objects that may be there.
    pub(crate) objects: &'a BTreeSet<ContentHash>,
    /// The sequence of its stream on the relay.
    pub(crate) reached: u64,
}

/// Publishes.
pub(crate) struct Outbound<'a> {
    pub(crate) relay: &'a dyn Relay,
    pub(crate) keys: &'a Keys,
    /// The folder of all records.
    pub(crate) folder: &'a Path,
    /// Held while a line is added to this home's record.
    pub(crate) recording: &'a Arc<tokio::sync::Mutex<()>>,
    pub(crate) now: Timestamp,
    /// False once the session may no longer be published.
    pub(crate) goes_on: &'a (dyn Fn() -> bool + Sync),
}

impl Outbound<'_> {
    fn check(&self) -> Result<(), Error> {
        if (self.goes_on)() { Ok(()) } else { Err(local_error("it is no longer shared, or the relay is paused")) }
    }

    fn stream(&self, stream: Name) -> Stream {
        Stream { writer: self.keys.team.writer_name(&self.keys.writer()), stream }
    }

    fn header(&self, kind: Kind, stream: Name, sequence: u64) -> seal::Header {
        let Stream { writer, stream } = self.stream(stream);
        seal::Header { kind, epoch: self.keys.team.current().0, writer, stream, sequence }
    }

    /// Publishes a notice to all members, as the one after `sequence`.
    pub(crate) async fn publish_notice(&self, sequence: u64, notice: Notice) -> Result<Change, Error> {
        let name = self.send_notice(sequence, self.keys.team.current().0, &notice).await?;
        let gone = gone(self.keys, &self.keys.writer(), &notice);
        self.record(name, Line { sequence: sequence + 1, notice: Some(notice), gone, ..Line::default() }).await
    }

    /// Publishes a notice without recording it, sealed by the key of an epoch: a notice with new keys is sealed by the
    /// previous ones. Returns the name of its stream.
    pub(crate) async fn send_notice(&self, sequence: u64, epoch: u32, notice: &Notice) -> Result<Name, Error> {
        let name = self.keys.team.notices_name(&self.keys.writer());
        let header = seal::Header { epoch, ..self.header(Kind::Notice, name, sequence + 1) };
        let key = self
            .keys
            .team
            .key_of_epoch(epoch)
            .ok_or_else(|| local_error(format!("there is no key of epoch {epoch}")))?;
        let frame = seal::seal(&header, &notice.encode(), key, &self.keys.signing()).map_err(local_error)?;
        self.relay.publish(self.stream(name), sequence, frame).await?;
        Ok(name)
    }

    /// Destroys the key of a session, and its chunks.
    pub(crate) async fn destroy(&self, session: &SessionId, objects: &BTreeSet<ContentHash>) -> Result<(), Error> {
        let name = self.keys.team.session_name(&self.keys.writer(), session);
        self.relay.delete(Slot::Named(self.keys.team.key_name(name))).await?;
        self.purge_for_republishing(session, objects).await
    }

    /// Purges what is published of a session so that it is republished under new keys.
    pub(crate) async fn purge_for_republishing(
        &self,
        session: &SessionId,
        objects: &BTreeSet<ContentHash>,
    ) -> Result<(), Error> {
        self.relay.purge(self.stream(self.keys.team.session_name(&self.keys.writer(), session))).await?;
        for object in objects {
            self.relay.delete(Slot::Object(*object)).await?;
        }
        Ok(())
    }

    /// Publishes a draft. Adds what was recorded to `changes`, also if a later part fails. Returns true if no objects
    /// are left on the relay except those of the published conversation.
    pub(crate) async fn publish_session(
        &self,
        id: &SessionId,
        through: SequenceNumber,
        draft: Draft,
        Published { known, begun, objects, reached }: Published<'_>,
        changes: &mut Vec<Change>,
    ) -> Result<bool, Error> {
        if draft.events.is_empty() {
            return Ok(false);
        }
        // Anybody may have forged this number.
        if reached > u64::MAX / 2 {
            return Err(transport::Error::Conflict { actual: reached }.into());
        }
        let stream = self.keys.team.session_name(&self.keys.writer(), id);
        let key = match (known, begun) {
            (Some(known), _) => known.key.clone(),
            (None, Some(begun)) => begun.key.clone(),
            (None, None) => Secret::random().map_err(local_error)?,
        };
        let (conversation, made_of) = match draft.conversation {
            None => (None, None),
            Some(made) => {
                let (conversation, made_of) = self.put_objects(id, stream, made, &key, changes).await?;
                (Some(conversation), Some(made_of))
            }
        };
        if known.is_none() {
            if changes.is_empty() {
                changes.push(self.record_intent(id, stream, &key, Vec::new()).await?);
            }
            self.put_key(stream, &key).await?;
        }
        let mut state = known.map(|known| known.state.clone()).unwrap_or_default();
        let parts = split_into_parts(&draft.events);
        let count = parts.len();
        for (number, part) in parts.into_iter().enumerate() {
            let Part { reaches, events, names_one } = part;
            // The last part also covers events that are not published.
            let last = if number + 1 < count { reaches } else { through };
            let mut batch = Batch {
                v: batch::VERSION,
                session: id.clone(),
                begin: known.is_none() && number == 0,
                through: last.0,
                events,
                conversation: conversation.clone().filter(|_| names_one),
                form: ContentHash([0; 32]),
            };
            state = batch.fold(state).map_err(local_error)?;
            batch.form = form::hash(id, &state);
            let sequence = reached + number as u64;
            let header = self.header(Kind::Batch, stream, sequence + 1);
            // Do not publish what others would refuse.
            let message = batch.encode();
            Batch::decode(&message).map_err(local_error)?;
            let frame = seal::seal(&header, &message, &key, &self.keys.signing()).map_err(local_error)?;
            self.check()?;
            self.relay.publish(self.stream(stream), sequence, frame).await?;
            let made_of = made_of.clone().filter(|_| names_one);
            let (sequence, batch, key) = (sequence + 1, Some(batch), Some(key.clone()));
            let change = self.record(stream, Line { sequence, batch, key, made_of, ..Line::default() }).await?;
            changes.push(Change { state: Some(state.clone()), ..change });
        }
        // Readers that are behind need the last conversation only.
        let Some(now) = conversation else { return Ok(false) };
        let now: BTreeSet<ContentHash> = now.chunks.iter().map(|chunk| chunk.object).collect();
        for object in objects.difference(&now) {
            self.relay.delete(Slot::Object(*object)).await?;
        }
        Ok(true)
    }

    /// Records the objects that will be put on the relay for a session.
    async fn record_intent(
        &self,
        session: &SessionId,
        stream: Name,
        key: &Secret,
        objects: Vec<ContentHash>,
    ) -> Result<Change, Error> {
        let intended = Some(Intended { session: session.clone(), objects });
        self.record(stream, Line { key: Some(key.clone()), intended, ..Line::default() }).await
    }

    /// Puts the sealed key of a session into its slot.
    async fn put_key(&self, stream: Name, key: &Secret) -> Result<(), Error> {
        let (_, epoch_key) = self.keys.team.current();
        let header = self.header(Kind::Key, stream, 0);
        let sealed = seal::seal(&header, &key.0, epoch_key, &self.keys.signing()).map_err(local_error)?;
        Ok(self.relay.put(Slot::Named(self.keys.team.key_name(stream)), sealed).await?)
    }

    /// Puts the missing chunks, some at a time, each time after recording them.
    async fn put_objects(
        &self,
        session: &SessionId,
        stream: Name,
        made: DraftConversation,
        key: &Secret,
        changes: &mut Vec<Change>,
    ) -> Result<(Conversation, MadeOf), Error> {
        let mut chunks = Vec::with_capacity(made.chunks.len());
        let (mut sealed, mut bytes) = (Vec::new(), 0);
        let count = made.chunks.len();
        for (number, DraftChunk { reference, content }) in made.chunks.into_iter().enumerate() {
            let object = match content {
                Content::Published(object) => object,
                Content::New(lines) => {
                    let of = seal::seal_object(&lines, key, &stream.0).map_err(local_error)?;
                    let object = ContentHash::of(&of);
                    bytes += of.len();
                    sealed.push((object, of));
                    object
                }
            };
            let name = ContentHash::parse(&reference.name).ok_or_else(|| local_error("a chunk has no valid name"))?;
            chunks.push(Chunk { name, items: reference.items, bytes: reference.bytes, object });
            if !sealed.is_empty() && (bytes >= NOTED_BYTES || number + 1 == count) {
                let names = sealed.iter().map(|(object, _)| *object).collect();
                changes.push(self.record_intent(session, stream, key, names).await?);
                for (object, sealed) in sealed.drain(..) {
                    self.check()?;
                    self.relay.put(Slot::Object(object), sealed).await?;
                }
                bytes = 0;
            }
        }
        let Header { generation, filter_version, item_version, .. } = made.header;
        Ok((Conversation { generation, filter_version, item_version, chunks }, made.made_of))
    }

    async fn record(&self, stream: Name, line: Line) -> Result<Change, Error> {
        let (writer, line) = (
            self.keys.writer(),
            Line { at: self.now, stream: stream.to_string(), epoch: self.keys.team.current().0, ..line },
        );
        let record = Record::new(self.folder, &writer);
        let recording = self.recording.clone().lock_owned().await;
        blocking(move || {
            let _recording = recording;
            let size = record.append(&line).map_err(local_error)?;
            Ok(Change { writer, line, state: None, size, refused: None })
        })
        .await
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T, Error> + Send + 'static) -> Result<T, Error> {
    baton_base::task::spawn_blocking(work).await.map_err(local_error)?
}

/// The events of one batch.
struct Part {
    /// Sequence number of the last one in the session's stream.
    reaches: SequenceNumber,
    events: Vec<StoredEvent>,
    /// True if one names a conversation.
    names_one: bool,
}

/// Divides events into batches.
fn split_into_parts(events: &[(SequenceNumber, Event)]) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    let mut bytes = 0;
    for (sequence, event) in events {
        let (stored, names_one) = (StoredEvent::new(event), episode_of(event).is_some());
        let size = stored.data.get().len();
        match parts.last_mut().filter(|part| part.events.len() < MAX_EVENTS && bytes + size <= MAX_EVENT_BYTES) {
            Some(part) => {
                part.events.push(stored);
                (part.reaches, part.names_one) = (*sequence, part.names_one || names_one);
                bytes += size;
            }
            None => {
                parts.push(Part { reaches: *sequence, events: vec![stored], names_one });
                bytes = size;
            }
        }
    }
    parts
}

/// True if a session may have something to publish.
pub(crate) fn is_owed(state: &State, version: SequenceNumber, known: Option<&SharedSession>) -> bool {
    state.episode.is_some() && known.is_none_or(|known| known.through != version.0)
}
