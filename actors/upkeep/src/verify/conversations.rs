//! Verifies that the conversations and notes that the current state names exist and match their hashes.

use baton_conversation::hash::ContentHash;
use baton_conversation::record::SessionId;
use baton_events::memo;
use baton_events::projection::table::SessionTable;

use super::{GoOn, Notes, Report};
use baton_store::chunks::{ChunkStore, Error};

/// Verifies what the sessions of `table` name, and `notes`. `named` returns the manifest that a session names now,
/// `is_named` tells whether a note is still named: replaced files may be gone.
pub(super) fn verify(
    chunks: &ChunkStore,
    table: &SessionTable,
    notes: &Notes,
    named: &dyn Fn(&SessionId) -> Option<ContentHash>,
    is_named: &dyn Fn(&SessionId, &ContentHash) -> bool,
    report: &mut Report,
    go_on: &mut GoOn<'_>,
) {
    let total = table.len() as u64;
    for (done, (session, row)) in (0..).zip(table.iter()) {
        if done % 32 == 0 && !go_on("reading conversations", done, total) {
            report.is_going_on = false;
        }
        if !report.is_going_on {
            return;
        }
        let Some(episode) = &row.state.episode else { continue };
        let mut read = conversation(chunks, session, &episode.manifest);
        if matches!(read, Err(Error::Missing { .. })) {
            match named(session) {
                // The session was forgotten meanwhile.
                None => continue,
                Some(now) if now != episode.manifest => read = conversation(chunks, session, &now),
                Some(_) => {}
            }
        }
        match read {
            Ok((files, bytes)) => {
                let checked = report.checked();
                checked.conversations += 1;
                checked.chunks += files;
                checked.conversation_bytes += bytes;
            }
            Err(error) => report.find(
                error.to_string(),
                format!("session {session}"),
                "put `blobs/` back from a backup; else the next index of the session reads its transcript again, if that is \
                 still there"
                    .to_owned(),
            ),
        }
    }
    for (owner, note) in notes.iter().flat_map(|(owner, notes)| notes.iter().map(move |note| (owner, note))) {
        let (place, whose) = match memo::uuid_of_key(owner.as_str()) {
            Some(_) => (owner.to_string(), "what was added with it"),
            None => (format!("session {owner}"), "the words of that close, of that title or of that answer of a model"),
        };
        match chunks.note(owner, note) {
            Ok(_) => report.checked().notes += 1,
            // The note was deleted or replaced meanwhile.
            Err(Error::Missing { .. }) if !is_named(owner, note) => {}
            Err(error) => {
                report.find(
                    error.to_string(),
                    place,
                    format!("put `blobs/` back from a backup; nothing else has {whose}"),
                );
            }
        }
    }
}

/// Reads a conversation chunk by chunk. Returns the number of chunks and their bytes.
fn conversation(chunks: &ChunkStore, session: &SessionId, manifest: &ContentHash) -> Result<(u64, u64), Error> {
    let manifest = chunks.manifest(session, manifest)?;
    let mut bytes = 0;
    for chunk in &manifest.chunks {
        bytes += chunks.chunk(session, chunk)?.len() as u64;
    }
    Ok((manifest.chunks.len() as u64, bytes))
}
