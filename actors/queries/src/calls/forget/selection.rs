//! Selects the sessions to forget or to restore.

use baton_views::{clones, visibility};
use std::collections::{BTreeMap, BTreeSet};

use baton_conversation::record::{SessionId, Timestamp};
use baton_events::projection::table::SessionTable;
use baton_events::session::{Phase, State};
use baton_protocol::{Failure, ForgetParams, code};

use super::earlier_attempt::EarlierAttempt;
use super::forks;
use super::targets::{Selection, Target, add_subagents};
use crate::calls::transcript_scan::scan;
use crate::calls::{QueryError, internal};
use crate::client::{ClientRef, failure};
use crate::lazy::Coverage;
use crate::resolve::SessionResolver;
use crate::{resolve, transcript_peek};
use baton_base::throttle::Throttle;
use baton_base::transcript_file::FileSeen;
use baton_config::settings::Settings;

/// Selects the sessions that a call means.
pub(crate) struct Selector<'a> {
    pub(crate) resolver: SessionResolver<'a>,
    pub(crate) coverage: Coverage<'a>,
    pub(crate) throttle: &'a Throttle,
    pub(crate) client: &'a ClientRef,
}

impl Selector<'_> {
    /// The sessions to forget, with their subagents, forks and copies, including unknown ones that exist only as files.
    /// Named sessions that are forgotten already are included, so that what is left of them goes.
    pub(super) async fn select_to_forget(&self, asked: &ForgetParams) -> Result<Selection, QueryError> {
        check_parameters(asked)?;
        let mut selection = Selection::default();
        for text in &asked.sessions {
            let target = self.find_named(text).await?;
            if !selection.contains(&target.id) {
                selection.sessions.push(target);
            }
        }
        let grown = self.resolver.discovery.watcher.refresh().await;
        let grown = grown.map_err(|error| internal("transcripts could not be checked", error))?;
        if asked.sessions.is_empty() {
            selection.sessions = self.find_in_range(asked, &grown, |phase| phase != Phase::New).await?;
        }
        let table = self.resolver.catalog().table.now();
        add_subagents(&mut selection.sessions, &table, &grown, |_, _| true);
        forks::add_related(
            &mut selection,
            &table,
            &grown,
            self.resolver.conversations,
            self.coverage,
            self.throttle,
            self.client,
        )
        .await?;
        add_subagents(&mut selection.also, &table, &grown, |_, _| true);
        let known: BTreeSet<SessionId> = selection.sessions.iter().map(|target| target.id.clone()).collect();
        selection.also.retain(|target| !known.contains(&target.id));
        if asked.only {
            selection.left = std::mem::take(&mut selection.also);
        }
        Ok(selection)
    }

    /// The forgotten sessions to restore, with their subagents.
    pub(super) async fn select_to_restore(
        &self,
        asked: &ForgetParams,
        earlier: &EarlierAttempt,
    ) -> Result<Selection, QueryError> {
        check_parameters(asked)?;
        let mut sessions = Vec::new();
        for text in &asked.sessions {
            let target = self.find_named(text).await?;
            let phase = self.resolver.catalog().table.now().get(&target.id).map(|row| row.state.phase);
            if phase != Some(Phase::Forgotten) && !earlier.sessions.contains(&target.id) {
                let message = format!("session {} is neither forgotten nor deleted", target.id);
                return Err(failure(code::REFUSED, message).into());
            }
            sessions.push(target);
        }
        let table = self.resolver.catalog().table.now();
        if asked.sessions.is_empty() {
            let project = asked.project.as_deref();
            let is_meant = |id: &SessionId, state: &State| {
                let is_in = project.is_none_or(|project| is_called(state, project));
                let is_forgotten = state.phase == Phase::Forgotten;
                earlier.sessions.contains(id) || is_forgotten && is_in && is_before(asked, state.last_activity())
            };
            let rows = table.iter().filter(|(id, row)| is_meant(id, &row.state));
            sessions = rows.map(|(id, _)| Target::new(id.clone())).collect();
        }
        add_subagents(&mut sessions, &table, &[], |id, phase| {
            phase == Phase::Forgotten || earlier.sessions.contains(id)
        });
        // Subagents last: they would be forgotten with their parents again.
        sessions.sort_by_key(|target| table.get(&target.id).is_some_and(|row| row.state.is_subagent()));
        for target in &mut sessions {
            target.file = self.resolver.discovery.transcript_of_unseen(&target.id).await.ok().flatten();
        }
        Ok(Selection { sessions, ..Selection::default() })
    }

    /// The session that a text names, known or only a file; also one that the configuration excludes.
    async fn find_named(&self, text: &str) -> Result<Target, QueryError> {
        let known = self.resolver.find_session(text).await;
        let failure = match known {
            Ok(id) => return Ok(Target::new(id)),
            Err(failure) => failure,
        };
        if let Some(id) = SessionId::new(text)
            && self.resolver.catalog().table.now().get(&id).is_some()
        {
            return Ok(Target::new(id));
        }
        // If the text fits several sessions, the failure above describes them better.
        match self.resolver.find_undiscovered(text).await.unwrap_or_default() {
            Some(file) if self.resolver.catalog().table.now().get(&file.session).is_some() => {
                Ok(Target::new(file.session))
            }
            Some(file) => Ok(Target::of_file(file)),
            None => Err(failure.into()),
        }
    }

    /// Sessions of a project, or whose last conversation is older than a date, or both.
    async fn find_in_range(
        &self,
        asked: &ForgetParams,
        grown: &[FileSeen],
        is_wanted: impl Fn(Phase) -> bool,
    ) -> Result<Vec<Target>, QueryError> {
        let (table, settings) = self.resolver.catalog().now();
        let project = asked.project.as_ref().map(|name| project_or_forgotten(&table, &settings, name));
        let known = |name: &Result<String, Failure>| name.as_ref().ok().cloned();
        // The first session of a project may not be known yet.
        let place = project.as_ref().map(|project| {
            known(project).unwrap_or_else(|| clones::project_of(&table, asked.project.as_deref().unwrap_or_default()))
        });
        // An unknown project must match as a whole: directories below it are not included.
        let is_known = project.as_ref().is_none_or(Result::is_ok);
        let is_in = |state: &State| {
            place.as_deref().is_none_or(|project| match is_known {
                true => visibility::is_in(state, project),
                false => !project.is_empty() && state.place.as_ref().is_some_and(|place| place.project == project),
            })
        };
        let rows = table.iter().filter(|(_, row)| is_wanted(row.state.phase) && !row.state.is_unseen());
        let rows = rows.filter(|(_, row)| is_in(&row.state) && is_before(asked, row.state.last_activity()));
        let mut found: Vec<Target> = rows.map(|(id, _)| Target::new(id.clone())).collect();
        let unread: Vec<FileSeen> = grown
            .iter()
            .filter(|file| table.get(&file.session).is_none_or(|row| row.state.place.is_none()))
            .cloned()
            .collect();
        if !unread.is_empty() {
            let before = asked.before.map(Timestamp);
            let heads = scan(self.throttle, self.client, unread.len() as u64, move |scan_progress| {
                let unread = unread.into_iter().take_while(|_| scan_progress.next());
                unread.filter_map(|file| Some((read_as_needed(&file, before)?, file))).collect::<Vec<_>>()
            });
            for (seen, file) in heads.await? {
                let mut state = transcript_peek::as_state(&seen);
                state.place = state.place.map(|place| clones::joined(&table, place));
                // Without a time in its records, the file's time counts.
                let last_at = seen.last_at.unwrap_or_else(|| file.stat.modified());
                if is_in(&state) && is_before(asked, last_at) && !found.iter().any(|target| target.id == file.session) {
                    let project = state.place.map(|place| place.project);
                    let target = Target::of_file(file);
                    let parent = target.parent.clone().or(seen.parent);
                    found.push(Target { project, parent, last_at: seen.last_at, ..target });
                }
            }
        }
        match project {
            Some(Err(unknown)) if found.is_empty() => Err(unknown.into()),
            _ => Ok(found),
        }
    }
}

fn check_parameters(asked: &ForgetParams) -> Result<(), Failure> {
    if asked.project.as_deref().is_some_and(|project| project.trim().is_empty()) {
        return Err(failure(code::INVALID_PARAMS, "the name of the project is empty; `baton sessions` lists projects"));
    }
    // With `notes_of` the date applies to the notes.
    let is_range =
        asked.project.is_some() || (asked.all && asked.undo) || (asked.before.is_some() && asked.notes_of.is_none());
    match (asked.sessions.is_empty(), is_range) {
        (true, false) => Err(failure(
            code::INVALID_PARAMS,
            "name sessions, a project, a date before which they were, or with `--undo` all",
        )),
        (false, true) => Err(failure(code::INVALID_PARAMS, "name either sessions, or a project and a date")),
        _ => Ok(()),
    }
}

/// Reads the head of an unknown transcript, which does not give the last conversation; all of it if `before` depends on
/// that. A file that was not modified since `before` cannot be younger. Blocks for disk reads.
fn read_as_needed(file: &FileSeen, before: Option<Timestamp>) -> Option<transcript_peek::TranscriptSummary> {
    match before {
        Some(before) if file.stat.modified() >= before => transcript_peek::summarise_unread(None, file),
        _ => transcript_peek::summarise_head(file)
            .map(|head| transcript_peek::TranscriptSummary { last_at: None, ..head }),
    }
}

/// Like [`resolve::project`], but includes projects whose sessions are all forgotten.
fn project_or_forgotten(table: &SessionTable, settings: &Settings, name: &str) -> Result<String, Failure> {
    resolve::project(table, settings, name).or_else(|failure| {
        let mut projects: BTreeMap<&str, ()> = BTreeMap::new();
        for (_, row) in table.iter().filter(|(_, row)| is_called(&row.state, name)) {
            projects.extend(row.state.place.as_ref().map(|place| (place.project.as_str(), ())));
        }
        match projects.len() {
            1 => Ok(projects.into_keys().map(str::to_owned).collect()),
            _ => Err(failure),
        }
    })
}

/// Returns true if the session's project or group has this name, as a whole or as its last part.
fn is_called(state: &State, name: &str) -> bool {
    let name = if name.len() > 1 { name.trim_end_matches('/') } else { name };
    let last = |project: &str| project.rsplit(['/', '\\']).next() == Some(name);
    let of_place = state.place.as_ref().is_some_and(|place| place.project == name || last(&place.project));
    !name.is_empty() && (state.group_id() == Some(name) || of_place)
}

fn is_before(asked: &ForgetParams, at: Timestamp) -> bool {
    asked.before.is_none_or(|before| at < Timestamp(before))
}

#[cfg(test)]
mod tests {
    use baton_conversation::item::Agent;
    use baton_events::session::Kind;

    use super::*;
    use baton_base::transcript_file;

    #[test]
    fn what_is_old_is_told_by_its_last_word_and_by_its_file_where_that_is_enough() {
        const DAY_MS: i64 = 24 * 60 * 60 * 1000;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.jsonl");
        let record = r#"{"type":"user","uuid":"u","sessionId":"s","timestamp":"2026-03-14T09:26:53.589Z","cwd":"/srv/work","message":{"role":"user","content":"x"}}"#;
        std::fs::write(&path, format!("{record}\n")).unwrap();
        let metadata = std::fs::metadata(&path).unwrap();
        let file = FileSeen {
            session: SessionId::new("s").unwrap(),
            agent: Agent::ClaudeCode,
            kind: Kind::Main,
            path: path.to_str().unwrap().into(),
            stat: transcript_file::FileStat::new(&metadata),
            identity: transcript_file::identity(&metadata),
        };
        let (said, written) = (Timestamp::parse("2026-03-14T09:26:53.589Z").unwrap(), file.stat.modified());
        for (before, expected) in [
            // The file was written just now, but its conversation is old.
            (Some(said.plus_ms(DAY_MS)), Some(said)),
            (Some(said), Some(said)),
            (Some(written), Some(said)),
            // The file is older than that day, so its content is not read.
            (Some(written.plus_ms(DAY_MS)), None),
            (None, None),
        ] {
            let seen = read_as_needed(&file, before).unwrap();
            assert_eq!(seen.last_at, expected, "{before:?}");
            assert_eq!(seen.place.map(|place| place.cwd), Some("/srv/work".to_owned()));
        }
        std::fs::remove_file(&path).unwrap();
        assert!(read_as_needed(&file, Some(said)).is_none());
    }
}
