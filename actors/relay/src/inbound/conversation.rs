//! Fetches the conversation that a batch names.

use std::collections::BTreeSet;

use baton_base::durable;
use baton_conversation::hash::ContentHash;
use baton_conversation::record::SessionId;
use baton_events::schema::item;
use baton_events::session::Event;
use baton_sharing::batch::{self, Batch, Chunk, Conversation};
use baton_store::chunks::{self, CHUNK_BYTES, ChunkRef, Header, LINE_MAX_BYTES, Manifest, ManifestId};

use super::{Inbound, KnownWriter, NotTaken, blocking, episode_of, failed, held, refused};
use crate::keys::{Secret, WriterId};
use crate::record::{Record, SharedSession};
use crate::seal;
use crate::transport::{self, Slot};

/// Most bytes of a writer's conversations, before compression.
const MAX_BYTES: u64 = 16 * 1024 * 1024 * 1024;
/// Up to this many files are made durable one by one.
const FEW_FILES: usize = 64;

impl Inbound<'_> {
    /// Fetches the missing chunks, and makes the conversation durable.
    pub(super) async fn fetch_conversation(
        &self,
        writer: &KnownWriter,
        known: Option<&SharedSession>,
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
        if conversation.item_version > item::ITEM_VERSION {
            return Err(batch::Error::Newer.into());
        }
        let (id, _) = manifest(conversation)?;
        let items: u64 = conversation.chunks.iter().map(|chunk| chunk.items).sum();
        if id != episode.manifest || items != episode.items {
            return Err(refused("its conversation is not the one that its event names"));
        }
        let stored = conversation.chunks.iter().map(|chunk| chunk.bytes).fold(0, u64::saturating_add);
        if writer.stored.saturating_add(stored) > MAX_BYTES {
            return Err(refused(format!(
                "its writer has {MAX_BYTES} bytes of conversations, the most that are accepted"
            )));
        }
        let known = known.and_then(|known| known.conversation.as_ref());
        let recorded = known.iter().flat_map(|known| &known.chunks).map(|chunk| chunk.name).collect();
        let fetched = self.fetch(&writer.id, &batch.session, conversation, &recorded, key).await;
        fetched.map_err(|error| match error {
            NotTaken::Held { why, .. } => NotTaken::Held { why, stored },
            error => error,
        })
    }

    /// Fetches the missing and damaged chunks of a conversation and makes it durable. Chunks in `recorded` are durable
    /// already.
    pub(crate) async fn fetch(
        &self,
        writer: &WriterId,
        session: &SessionId,
        conversation: &Conversation,
        recorded: &BTreeSet<ContentHash>,
        key: &Secret,
    ) -> Result<(), NotTaken> {
        let (id, bytes) = manifest(conversation)?;
        let (blobs, session) = (Record::new(self.folder, writer).blobs(), session.clone());
        let stream = self.keys.team.session_name(writer, &session);
        let mut files = Vec::new();
        let path_of = |chunk: &Chunk| blobs.folder_of(&session).join(reference(chunk).file_name());
        // Missing chunks first: the others need not be read while the conversation is incomplete.
        let (there, missing): (Vec<&Chunk>, Vec<&Chunk>) =
            conversation.chunks.iter().partition(|chunk| path_of(chunk).exists());
        let is_missing = missing.len();
        for (at, chunk) in missing.into_iter().chain(there).enumerate() {
            // A crash may have truncated a chunk, but only one that is not recorded.
            let path = path_of(chunk);
            if !recorded.contains(&chunk.name) {
                files.push(path.clone());
            }
            if at >= is_missing {
                let name = chunk.name;
                let (blobs, session, chunk) = (blobs.clone(), session.clone(), reference(chunk));
                let is_whole = || blocking(move || Ok(blobs.chunk(&session, &chunk).is_ok()));
                if recorded.contains(&name) || is_whole().await? {
                    continue;
                }
            }
            if chunk.bytes > (LINE_MAX_BYTES.max(CHUNK_BYTES) + 1) as u64 {
                return Err(refused("a chunk is longer than any"));
            }
            let got = self.relay.get(Slot::Object(chunk.object)).await.map_err(|error| match error {
                transport::Error::Place(why) => held(why),
                error => error.into(),
            });
            let Some(object) = got? else {
                return Err(held("a part of its conversation has not arrived yet"));
            };
            if ContentHash::of(&object) != chunk.object {
                return Err(held("a part of its conversation is damaged on the relay"));
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
                    // Its content does not match its name.
                    chunks::Error::Damaged { .. } => refused(error),
                    // A full disk is not the writer's fault.
                    error => failed(error),
                })
            })
            .await?;
        }
        blocking(move || {
            let folder = blobs.folder_of(&session);
            let manifest = folder.join(format!("{id}.json"));
            durable::remove_file(&manifest).map_err(failed)?;
            blobs.put_manifest(&session, &id, &bytes).map_err(failed)?;
            files.push(manifest);
            // A sync of the whole file system would wait for other programs' writes.
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

fn manifest(conversation: &Conversation) -> Result<(ManifestId, Vec<u8>), NotTaken> {
    let Conversation { generation, filter_version, item_version, .. } = *conversation;
    let header = Header { generation, filter_version, item_version, ..Header::default() };
    Manifest::assemble(header, conversation.chunks.iter().map(reference).collect()).map_err(refused)
}

pub(super) fn reference(chunk: &Chunk) -> ChunkRef {
    ChunkRef { name: chunk.name.to_string(), items: chunk.items, bytes: chunk.bytes }
}
