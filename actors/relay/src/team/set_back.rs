//! Republishes what a relay has lost, because its files were set back to an earlier state or were purged.
//!
//! A session is republished after the sequence that it had, so that members with and without it end in the same state.
//! Notices are repeated unchanged: the first one identifies this home to others.

use std::collections::BTreeSet;

use baton_base::durable;
use baton_conversation::record::SessionId;
use baton_sharing::batch::Notice;

use super::{Member, Team, blocking};
use crate::keys::Name;
use crate::record::{Line, Record};
use crate::transport::Stream;

/// How many of the last published messages are checked: more than are published at once.
const LAST: usize = 16;
/// The file of the lost sessions, kept until all of them are republished: once a stream has continued after its old
/// sequence, the loss cannot be seen any more.
const MARK: &str = "set-back.json";
const MARK_MAX_BYTES: u64 = 16 * 1024 * 1024;

impl Team {
    /// Checks once after each opening, and after each set-back, that the relay still has what this home published.
    pub(super) async fn check_for_losses(&self, member: &Member) -> Result<(), String> {
        let failed = |error: crate::transport::Error| error.to_string();
        // An earlier state lacks the latest messages first.
        let unconfirmed = self.state().unconfirmed;
        if let Some((stream, sequence)) = unconfirmed
            && member.relay.head(stream).await.map_err(failed)? < sequence
        {
            let mut state = self.state();
            (state.is_set_back, state.has_looked_back) = (true, false);
        }
        let (own, sessions) = {
            let state = self.state();
            let Some(own) = state.writers.get(&member.keys.writer()).filter(|_| !state.has_looked_back) else {
                return Ok(());
            };
            let reached = own.sessions.iter().map(|(id, shared)| (id.clone(), shared.sequence));
            (own.id.clone(), reached.collect::<Vec<_>>())
        };
        let writer = member.keys.team.writer_name(&own);
        let record = Record::new(&self.folder, &own);
        let reading = baton_base::task::spawn_blocking(move || {
            let said = record.last_lines(usize::MAX, |line| line.notice.is_some())?;
            Ok::<_, crate::record::Error>((record.last_lines(LAST, |line| line.sequence > 0)?, said))
        });
        let read = reading.await.map_err(|error| error.to_string())?;
        let (last, said) = read.map_err(|error| error.to_string())?;
        let last = last.iter();
        let last = last.filter_map(|line| Some((Stream { writer, stream: Name::parse(&line.stream)? }, line.sequence)));
        let last: Vec<(Stream, u64)> = last.collect();
        let said: Vec<(u64, u32, Notice)> = said.into_iter().filter_map(notice_parts).collect();
        let notices = Stream { writer, stream: member.keys.team.notices_name(&own) };
        let head = member.relay.head(notices).await.map_err(failed)?;
        let mut is_last_lost = false;
        for (stream, sequence) in last {
            is_last_lost |= member.relay.head(stream).await.map_err(failed)? < sequence;
        }
        let is_lost = is_last_lost || said.iter().any(|(sequence, ..)| *sequence > head);
        let known = self.read_lost().await?;
        if !is_lost && !self.state().is_set_back && known.is_none() {
            self.state().has_looked_back = true;
            return Ok(());
        }
        // A crash must not leave this half done.
        let mut lost = known.unwrap_or_default();
        self.write_lost(lost.clone()).await?;
        for (sequence, epoch, notice) in said.into_iter().filter(|(sequence, ..)| *sequence > head) {
            let sent = self.outbound(member).send_notice(sequence - 1, epoch, &notice).await;
            sent.map_err(|error| error.to_string())?;
        }
        for (session, sequence) in sessions {
            let stream = Stream { writer, stream: member.keys.team.session_name(&own, &session) };
            if member.relay.head(stream).await.map_err(failed)? < sequence {
                lost.insert(session);
            }
        }
        self.write_lost(lost.clone()).await?;
        let mut state = self.state();
        state.lost = lost;
        tracing::warn!(sessions = state.lost.len(), "relay was set back, what it lost is published again");
        // Destroyed data may be there again.
        let gone: Vec<SessionId> =
            state.writers.get(&own).into_iter().flat_map(|own| own.forgotten.keys().cloned()).collect();
        state.may_be_back.extend(gone);
        (state.looked, state.is_set_back, state.has_looked_back) = (None, false, true);
        state.unconfirmed = None;
        Ok(())
    }

    /// Records that the relay was set back, so that it is checked even after a crash.
    pub(super) async fn mark_set_back(&self) -> Result<(), String> {
        match self.read_lost().await? {
            Some(_) => Ok(()),
            None => self.write_lost(BTreeSet::new()).await,
        }
    }

    /// The sessions that the relay has lost; `None` if it was not set back.
    async fn read_lost(&self) -> Result<Option<BTreeSet<SessionId>>, String> {
        let mark = self.folder.join(MARK);
        let lost =
            blocking(move || durable::read_json(&mark, MARK_MAX_BYTES).map_err(|error| error.to_string())).await?;
        self.state().is_marked = lost.is_some();
        Ok(lost)
    }

    pub(super) async fn write_lost(&self, lost: BTreeSet<SessionId>) -> Result<(), String> {
        self.state().is_marked = true;
        let mark = self.folder.join(MARK);
        blocking(move || {
            let bytes = serde_json::to_vec(&lost).map_err(|error| error.to_string())?;
            let written = durable::write_file(&mark, &bytes).and_then(|()| durable::sync_parent(&mark));
            written.map_err(|error| error.to_string())
        })
        .await
    }

    /// Records that everything lost has been republished.
    pub(super) async fn note_all_republished(&self) -> Result<(), String> {
        {
            let mut state = self.state();
            state.lost.clear();
            if !std::mem::take(&mut state.is_marked) {
                return Ok(());
            }
        }
        let mark = self.folder.join(MARK);
        blocking(move || durable::remove_file(&mark).map_err(|error| error.to_string())).await
    }
}

/// Its sequence, the epoch of the key that it was sealed by, and the notice.
fn notice_parts(line: Line) -> Option<(u64, u32, Notice)> {
    Some((line.sequence, line.epoch, line.notice?))
}
