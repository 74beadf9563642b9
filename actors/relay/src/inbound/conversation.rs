//! Fetches the conversation that a batch names.

use std::collections::BTreeSet;

use baton_base::durable;
use baton_events::schema::item;
use baton_events::session::Event;
use baton_sharing::batch::{self, Batch, Chunk};
use baton_store::chunks::{self, CHUNK_BYTES, ChunkRef, Header, LINE_MAX_BYTES, Manifest};

use super::{Inbound, KnownWriter, NotTaken, blocking, episode_of, failed, refused};
use crate::folder::object_name;
use crate::keys::Secret;
use crate::record::{Record, Shared};
use crate::seal;
use crate::transport::{self, Slot};

/// Most bytes of a writer's conversations, before compression.
const MAX_BYTES: u64 = 16 * 1024 * 1024 * 1024;
/// So many files are made durable one by one.
const FEW_FILES: usize = 64;

impl Inbound<'_> {
    /// Fetches the chunks that are not here yet, and makes the conversation durable.
    pub(super) async fn conversation(
        &self,
        writer: &KnownWriter,
        known: Option<&Shared>,
        batch: &Batch,
        events: &[Event],
        key: &Secret,
    ) -> Result<(), NotTaken> {
        let mut named = events.iter().filter_map(episode_of);
        let (Some(episode), conversation) = (named.next(), batch.conversation.as_ref()) else {
            return match &batch.conversation {
                None => Ok(()),
                Some(_) => Err(refused("it has a conversation that no event names")),
            };
        };
        if named.next().is_some() {
            return Err(refused("it names several conversations"));
        }
        let conversation = conversation.ok_or_else(|| refused("the conversation that it names is missing"))?;
        let header = Header {
            generation: conversation.generation,
            filter_version: conversation.filter_version,
            item_version: conversation.item_version,
            ..Header::default()
        };
        if header.item_version > item::ITEM_VERSION {
            return Err(batch::Error::Newer.into());
        }
        let (id, bytes) =
            Manifest::assemble(header, conversation.chunks.iter().map(reference).collect()).map_err(refused)?;
        let items: u64 = conversation.chunks.iter().map(|chunk| chunk.items).sum();
        if id != episode.manifest || items != episode.items {
            return Err(refused("its conversation is not the one that its event names"));
        }
        let stored = conversation.chunks.iter().map(|chunk| chunk.bytes).fold(0, u64::saturating_add);
        let waits = |why: &str| NotTaken::Held { why: why.to_owned(), stored };
        if writer.stored.saturating_add(stored) > MAX_BYTES {
            return Err(refused(format!(
                "its writer has {MAX_BYTES} bytes of conversations, the most that are accepted"
            )));
        }
        let (blobs, session) = (Record::new(self.folder, &writer.id).blobs(), batch.session.clone());
        let stream = self.keys.team.session_name(&writer.id, &session);
        let known = known.and_then(|known| known.conversation.as_ref());
        let recorded: BTreeSet<_> = known.iter().flat_map(|known| &known.chunks).map(|chunk| chunk.name).collect();
        let mut files = Vec::new();
        for chunk in &conversation.chunks {
            // One that a crash has left may be cut off, but only where nothing was recorded behind it.
            let path = blobs.folder_of(&session).join(reference(chunk).file_name());
            if !recorded.contains(&chunk.name) {
                files.push(path.clone());
            }
            let is_whole = || recorded.contains(&chunk.name) || blobs.chunk(&session, &reference(chunk)).is_ok();
            if path.exists() && is_whole() {
                continue;
            }
            if chunk.bytes > (LINE_MAX_BYTES.max(CHUNK_BYTES) + 1) as u64 {
                return Err(refused("a chunk is longer than any"));
            }
            let got = self.relay.get(Slot::Object(chunk.object)).await.map_err(|error| match error {
                transport::Error::Place(why) => waits(&why),
                error => error.into(),
            });
            let Some(object) = got? else {
                return Err(waits("a part of its conversation has not arrived yet"));
            };
            if object_name(&object) != chunk.object {
                return Err(waits("a part of its conversation is damaged on the relay"));
            }
            let most = usize::try_from(chunk.bytes).map_err(refused)?;
            let lines = seal::unseal_object(&object, key, &stream.0, most)?;
            let (blobs, session, chunk) = (blobs.clone(), session.clone(), reference(chunk));
            blocking(move || {
                for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                    item::decode(line).map_err(refused)?;
                }
                if path.exists() {
                    std::fs::remove_file(&path).map_err(failed)?;
                }
                blobs.put_chunk(&session, &chunk, &lines).map_err(|error| match error {
                    // It does not match its name.
                    chunks::Error::Damaged { .. } => refused(error),
                    // A disk that is full is not the writer's fault.
                    error => failed(error),
                })
            })
            .await?;
        }
        blocking(move || {
            let folder = blobs.folder_of(&session);
            let manifest = folder.join(format!("{id}.json"));
            std::fs::remove_file(&manifest).or_else(|error| match error.kind() {
                std::io::ErrorKind::NotFound => Ok(()),
                _ => Err(failed(error)),
            })?;
            blobs.put_manifest(&session, &id, &bytes).map_err(failed)?;
            files.push(manifest);
            // A sync of the whole file system waits for what other programs write.
            let synced = match files.len() <= FEW_FILES {
                true => {
                    let synced = files.iter().try_for_each(|file| durable::sync_file(file));
                    synced.and_then(|()| durable::sync_folder(&folder))
                }
                false => durable::sync_below(&folder),
            };
            synced.and_then(|()| durable::sync_parent(&folder)).map_err(failed)
        })
        .await
    }
}

pub(super) fn reference(chunk: &Chunk) -> ChunkRef {
    ChunkRef { name: chunk.name.to_string(), items: chunk.items, bytes: chunk.bytes }
}
