//! Conversations and notes that the current state of sessions names: there, and as their names promise.

use std::collections::BTreeSet;

use baton_events::hash::ContentHash;
use baton_events::projection::table::SessionTable;
use baton_events::record::SessionId;

use super::{GoOn, Report};
use crate::chunks::{ChunkStore, Error};

/// Verifies what the sessions of `table` name. `named` tells what a session names by now: what was replaced meanwhile may be
/// gone.
pub(super) fn verify(
    chunks: &ChunkStore,
    table: &SessionTable,
    notes: &BTreeSet<(SessionId, ContentHash)>,
    named: &dyn Fn(&SessionId) -> Option<ContentHash>,
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
                // Forgotten meanwhile.
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
    for (session, note) in notes {
        match chunks.note(session, note) {
            Ok(_) => report.checked().notes += 1,
            Err(error) => report.find(
                error.to_string(),
                format!("session {session}"),
                "put `blobs/` back from a backup; nothing else has the words of that close".to_owned(),
            ),
        }
    }
}

/// Reads a conversation chunk by chunk: how many there are, and their bytes.
fn conversation(chunks: &ChunkStore, session: &SessionId, manifest: &ContentHash) -> Result<(u64, u64), Error> {
    let manifest = chunks.manifest(session, manifest)?;
    let mut bytes = 0;
    for chunk in &manifest.chunks {
        bytes += chunks.chunk(session, chunk)?.len() as u64;
    }
    Ok((manifest.chunks.len() as u64, bytes))
}
