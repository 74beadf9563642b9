//! Report on the team: state, members, pending and published sessions.

use baton_conversation::record::{SessionId, Timestamp};
use baton_events::projection::table::SessionTable;
use baton_protocol::answer::{
    RelayEntry, RelayInvitation, RelayLag, RelayLagOneWay, RelayLog, RelayPreview, RelayRemovals, RelayRemoved,
    RelayStatus, RelayWriter,
};
use baton_redaction::redact;
use baton_sharing::batch::{Said, StoredEvent};
use baton_views::visibility;

use crate::inbound::episode_of;
use crate::membership::{Error, Invited};
use crate::outbound::{Content, is_owed};
use crate::record::{Line, Record, Writer};
use crate::team::{Team, is_shared, machine};

/// Most bytes of lines in one preview.
const PREVIEW_BYTES: usize = 256 * 1024;
/// Most sessions whose problems are listed.
const MOST_PROBLEMS: usize = 10;

impl From<Invited> for RelayInvitation {
    fn from(invited: Invited) -> Self {
        Self { invitation: invited.invitation, expires: invited.expires.to_string() }
    }
}

fn redacted(text: &str) -> String {
    redact(text).into_owned()
}

impl Team {
    /// The state of the relay, and the members.
    pub fn status(&self) -> RelayStatus {
        let settings = self.options.settings.now();
        let relay = &settings.relay;
        let table = self.options.table.now();
        let state = self.state();
        let own = state.own.as_ref().and_then(|own| state.writers.get(own));
        let now = self.options.clock.now();
        let seconds = |since: Timestamp| u64::try_from(now.since_ms(since) / 1000).unwrap_or_default();
        let (mut behind, mut since) = (RelayLagOneWay::default(), None::<Timestamp>);
        for (id, row) in table.iter().filter(|(id, row)| relay.enabled && is_shared(&table, &settings, id, row)) {
            let known = own.and_then(|own| own.sessions.get(id));
            let is_withheld = own.is_some_and(|own| own.withheld.contains(id));
            if !is_withheld && is_owed(&row.state, row.version, known) && !state.is_settled(id, row.version) {
                behind.events += row.version.0.saturating_sub(known.map_or(0, |known| known.through));
                let size = |to: u64| known.map_or(to, |known| to.saturating_sub(known.state.read.offset));
                behind.bytes += size(row.state.read.offset);
                since = since.into_iter().chain(row.state.episode.as_ref().map(|episode| episode.at)).min();
            }
        }
        // A session that ended earlier has waited only since it is shared.
        behind.seconds = since.map_or(0, |since| seconds(since.max(state.level_at.unwrap_or(since))));
        let unpublished = || state.unpublished().next();
        behind.why = Some(&behind).filter(|it| it.events > 0).and_then(|_| state.problem.clone().or_else(unpublished));
        let waiting = state.held_since.values().copied().min();
        let unread = state.read_at.filter(|_| relay.enabled && !state.is_connected);
        let incoming = RelayLagOneWay {
            events: state.held_frames().count() as u64,
            bytes: state.held_frames().map(|frame| frame.len() as u64).sum(),
            seconds: waiting.into_iter().chain(unread).min().map_or(0, seconds),
            why: state.held.values().next().map(|held| held.why.clone()).or(unread.and(state.problem.clone())),
        };
        let mut problems: Vec<String> =
            state.problem.iter().chain(&state.warnings).map(|problem| redacted(problem)).collect();
        problems.extend(state.unpublished().take(MOST_PROBLEMS));
        if !state.lost.is_empty() {
            problems.push(format!(
                "the relay was set back to an earlier state; {} sessions of this home are published again",
                state.lost.len()
            ));
        }
        let left = own.filter(|_| !relay.enabled).map_or(0, |own| self.hidden_on_relay(own).len());
        if left > 0 {
            problems.push(format!(
                "{left} sessions that were forgotten or deleted here are removed from the relay once it is resumed"
            ));
        }
        let disagreeing = state.writers.values().flat_map(|writer| writer.sessions.values());
        match disagreeing.filter(|shared| !shared.agrees).count() {
            0 => {}
            count => problems.push(format!(
                "{count} sessions differ from their authors' version; Baton may be out of date here: update it"
            )),
        }
        match state.duplicate_count() {
            0 => {}
            count => problems.push(format!(
                "{count} sessions are published by several members; of each the first one received is shown"
            )),
        }
        if let Some((count, why)) = state.refused_frames(None) {
            problems.push(format!("{count} messages from unknown writers were refused; the last: {why}"));
        }
        match own.map_or(0, |own| own.withheld.len()) {
            0 => {}
            count => problems.push(format!(
                "{count} sessions were withdrawn from the team by another state of this home (a backup, or a copy), and are \
                 not published; `baton forget` removes one here as well, `baton relay unshare PROJECT --retract` and \
                 `share` publish a project's again"
            )),
        }
        let writers = state.writers.values().map(|writer| {
            let refused = state.refused_frames(Some(&writer.id));
            let last_at = writer.sessions.values().map(|shared| shared.state.last_activity()).max();
            RelayWriter {
                name: redacted(&state.name_of(writer)),
                machine: redacted(&writer.machine),
                writer: writer.id.to_string(),
                me: state.own.as_ref() == Some(&writer.id),
                left: writer.has_left,
                admin: state.admin.as_ref() == Some(&writer.id),
                removed: state.is_removed(&writer.id) || !writer.has_left && !state.is_member(writer),
                sessions: writer.sessions.len() as u64,
                last_at: last_at.map(|at| at.to_string()),
                refused: refused.map_or(0, |(count, _)| *count),
                last_refused: refused.map(|(_, why)| why.clone()),
            }
        });
        RelayStatus {
            relay: relay.url.as_deref().map(redacted),
            enabled: relay.enabled,
            connected: state.is_connected,
            name: self.own_name(relay),
            machine: machine(),
            writer: state.own.as_ref().map(ToString::to_string),
            files: state.own_name().map(|name| name.to_string()),
            share: relay.share.iter().map(|project| redacted(project)).collect(),
            lag: RelayLag { out: behind, incoming },
            writers: writers.collect(),
            problems,
        }
    }

    /// How much sharing a project would publish, or how much is pending in all shared ones. Blocks for reads of
    /// manifests.
    pub fn sharing_totals(&self, project: Option<&str>) -> RelayPreview {
        let (table, settings) = (self.options.table.now(), self.options.settings.now());
        let mut preview = RelayPreview { project: project.map(redacted), ..RelayPreview::default() };
        preview.was_shared = project.is_some_and(|project| settings.relay.share.iter().any(|known| known == project));
        for (id, row) in table.iter() {
            let is_asked = match project {
                Some(project) => {
                    visibility::is_in(&row.state, project)
                        && !visibility::is_hidden(&table, &settings, &[], id.as_str())
                }
                None => is_shared(&table, &settings, id, row),
            };
            if let Some(episode) = row.state.episode.as_ref().filter(|_| is_asked) {
                preview.sessions += 1;
                preview.items += episode.items;
                preview.bytes +=
                    self.options.chunks.manifest(id, &episode.manifest).map_or(0, |manifest| manifest.bytes);
            }
        }
        preview
    }

    /// Each event and each item of a session as it would be published, whether its project is shared or not. Blocks for
    /// the disk.
    ///
    /// # Errors
    ///
    /// If it is unknown, or cannot be read.
    pub fn preview(&self, table: &SessionTable, id: &SessionId) -> Result<RelayPreview, Error> {
        let row = table.get(id).ok_or_else(|| Error::Refused(format!("no session {id} is known")))?;
        let draft = self.drafts().prepare(id, row, None).map_err(|error| Error::Failed(error.to_string()))?;
        let events = draft.events.iter().map(|(_, event)| StoredEvent::new(event));
        let events = events.map(|event| serde_json::to_string(&event).unwrap_or_default());
        let mut preview = RelayPreview { sessions: 1, lines: events.collect(), ..RelayPreview::default() };
        let mut room = PREVIEW_BYTES.saturating_sub(preview.lines.iter().map(String::len).sum());
        preview.items =
            draft.events.iter().filter_map(|(_, event)| episode_of(event)).map(|episode| episode.items).sum();
        for chunk in draft.conversation.iter().flat_map(|conversation| &conversation.chunks) {
            preview.bytes += chunk.reference.bytes;
            let Content::New(lines) = &chunk.content else { continue };
            for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                let line = String::from_utf8_lossy(line).into_owned();
                match room.checked_sub(line.len()) {
                    Some(left) if preview.left_out == 0 => {
                        room = left;
                        preview.lines.push(line);
                    }
                    _ => preview.left_out += 1,
                }
            }
        }
        Ok(preview)
    }

    /// The sessions that others were asked to remove, and who has removed them.
    pub fn removals(&self) -> RelayRemovals {
        let state = self.state();
        let Some(own) = state.own.as_ref().and_then(|own| state.writers.get(own)) else {
            return RelayRemovals::default();
        };
        let others: Vec<_> = state
            .writers
            .values()
            .filter(|writer| writer.id != own.id && !writer.has_left && state.is_member(writer))
            .collect();
        let removed = own.forgotten.iter().map(|(session, tombstone)| {
            let has_done = |writer: &&&Writer| writer.acknowledged.get(own.id.as_str()) >= Some(&tombstone.notice);
            let (done, waiting): (Vec<_>, Vec<_>) = others.iter().partition(has_done);
            let names = |writers: Vec<&&Writer>| {
                writers
                    .iter()
                    .map(|writer| redacted(&format!("{} on {}", state.name_of(writer), writer.machine)))
                    .collect()
            };
            RelayRemoved { session_id: session.to_string(), removed_by: names(done), waiting_for: names(waiting) }
        });
        RelayRemovals { forgotten: removed.collect() }
    }

    /// What was published, latest first. Blocks for the disk.
    ///
    /// # Errors
    ///
    /// If the record cannot be read.
    pub fn recently_published(&self, limit: usize) -> Result<RelayLog, Error> {
        let Some(own) = self.state().own.clone() else { return Ok(RelayLog::default()) };
        let lines = Record::new(&self.folder, &own).last_lines(limit, |line| line.sequence > 0);
        let lines = lines.map_err(|error| Error::Failed(error.to_string()))?;
        Ok(RelayLog { published: lines.iter().rev().map(entry).collect() })
    }
}

fn entry(line: &Line) -> RelayEntry {
    let said = line.notice.as_ref().map(|notice| match &notice.said {
        Said::Joined { name, machine, .. } => format!("joined as {name} on {machine}"),
        Said::Left => "left".to_owned(),
        Said::Removed { writers, .. } => format!("removed {} and gave the team new keys", writers.join(", ")),
        Said::Forgot { session, .. } => format!("forgot {session}"),
        Said::Acknowledged { writer, .. } => format!("removed what {writer} wanted removed"),
    });
    let events = line.batch.iter().flat_map(|batch| batch.events.iter().map(|event| event.kind.clone()));
    let conversation = line.batch.as_ref().and_then(|batch| batch.conversation.as_ref());
    RelayEntry {
        at: line.at.to_string(),
        session_id: line.batch.as_ref().map(|batch| batch.session.to_string()),
        what: said.into_iter().chain(events).map(|what| redacted(&what)).collect(),
        items: line.items
            + conversation.iter().flat_map(|it| &it.chunks).map(|chunk| chunk.items).fold(0, u64::saturating_add),
        sequence: line.sequence,
    }
}
