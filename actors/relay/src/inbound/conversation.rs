//! Stores the conversation that a batch names.

use super::*;

/// Up to so many files are made durable one by one.
const FEW_FILES: usize = 64;

impl Inbound<'_> {
    /// Removes what was stored of a session beside what is recorded.
    pub(super) async fn discard(
        &self,
        writer: &KnownWriter,
        known: Option<&Shared>,
        id: &SessionId,
    ) -> Result<(), NotTaken> {
        let current = known.and_then(|known| known.state.episode.as_ref()).map(|episode| episode.manifest);
        let (blobs, id) = (Record::new(self.folder, &writer.id).blobs(), id.clone());
        let discarding = baton_base::task::spawn_blocking(move || match current {
            Some(current) => blobs.collect(&id, &[current]).map(drop),
            None => blobs.forget(&id).map(drop),
        });
        let discarded = discarding.await.map_err(|error| NotTaken::Failed(error.to_string()))?;
        discarded.map_err(|error| NotTaken::Failed(error.to_string()))
    }

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
        let total = |chunks: &[Chunk]| chunks.iter().map(|chunk| chunk.bytes).fold(0, u64::saturating_add);
        if writer.stored.saturating_add(total(&conversation.chunks)) > MAX_BYTES {
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
            let Some(object) = self.relay.get(Slot::Object(chunk.object)).await? else {
                return Err(NotTaken::Held("a part of its conversation has not arrived yet".to_owned()));
            };
            if object_name(&object) != chunk.object {
                return Err(NotTaken::Held("a part of its conversation is damaged on the relay".to_owned()));
            }
            let most = usize::try_from(chunk.bytes).map_err(refused)?;
            let lines = seal::unseal_object(&object, key, stream, most)?;
            let (blobs, session, chunk) = (blobs.clone(), session.clone(), reference(chunk));
            let storing = baton_base::task::spawn_blocking(move || {
                for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                    item::decode(line).map_err(refused)?;
                }
                if path.exists() {
                    std::fs::remove_file(&path).map_err(|error| NotTaken::Failed(error.to_string()))?;
                }
                blobs.put_chunk(&session, &chunk, &lines).map_err(|error| match error {
                    chunks::Error::Io { .. } => NotTaken::Failed(error.to_string()),
                    error => refused(error),
                })
            });
            storing.await.map_err(|error| NotTaken::Failed(error.to_string()))??;
        }
        let storing = baton_base::task::spawn_blocking(move || {
            let folder = blobs.folder_of(&session);
            files.push(folder.join(format!("{id}.json")));
            std::fs::remove_file(folder.join(format!("{id}.json"))).or_else(|error| match error.kind() {
                std::io::ErrorKind::NotFound => Ok(()),
                _ => Err(error),
            })?;
            blobs.put_manifest(&session, &id, &bytes).map_err(|error| std::io::Error::other(error.to_string()))?;
            // A sync of the whole file system waits for what other programs write.
            match files.len() <= FEW_FILES {
                true => files
                    .iter()
                    .try_for_each(|file| durable::sync_file(file))
                    .and_then(|()| durable::sync_folder(&folder))?,
                false => durable::sync_below(&folder)?,
            }
            durable::sync_parent(&folder)
        });
        storing.await.map_err(std::io::Error::other).flatten().map_err(|error| NotTaken::Failed(error.to_string()))
    }
}

fn reference(chunk: &Chunk) -> ChunkRef {
    ChunkRef { name: chunk.name.to_string(), items: chunk.items, bytes: chunk.bytes }
}
