//! Converts states and episodes to the wire types. Every text is redacted once more with the current rules.
//!
//! # Decisions
//!
//! - A directory that is named like a key is redacted in the memory and in the vault's register; two that redact alike
//!   are one project there. The log keeps the original names, because transcripts are found by their paths.

use baton_conversation::item;
use baton_conversation::printable::plain;
use baton_conversation::record::SessionId;
use baton_conversation::transcript::{self, Kind};
use baton_episode::digest::{self, Episode as Digest, Metadata as Numbers, Pointed};
use baton_events::memo;
use baton_events::projection::table::SessionTable;
use baton_events::session::{EpisodeRef, FailureReason, Phase, State, Transcript};
use baton_protocol::answer::{
    Author, Close, CommandLine, CorrectedLine, Episode, ErrorLine, Exchange, ExchangeCommand, FileModified, FileRead,
    Hit, Line, Metadata, Problem, SupersededLine, WorkState,
};
use baton_redaction::redact;
use uuid::Uuid;

use baton_base::actor_address::CallError;
use baton_base::io_remedy::IoCause;
use baton_base::transcript_file::{FileSeen, TranscriptHeads};
use baton_tracking::session::{Closed, Outcome};
use baton_tracking::supervisor::Degraded;
use baton_tracking::watcher::{Overview, RootSeen, Unusable};

pub(super) fn redact_plain(text: &str) -> String {
    redact(text).into_owned()
}

/// The name of a session's episode.
pub(super) fn episode_name(id: &SessionId) -> String {
    plain(&format!("session_{}", id.short()))
}

/// Marks what only a model stated.
const MODEL: &str = "model";
/// Marks what a person stated about a session.
pub(super) const PERSON: &str = "person";

/// The command line that resumes a session in its agent; `None` for subagents, and for agents without one.
pub(super) fn resume_line(id: &SessionId, state: &State, heads: &TranscriptHeads) -> Option<String> {
    let is_main = |kind: &Kind| matches!(kind, Kind::Main);
    let transcript = state.transcript.as_ref().filter(|transcript| is_main(&transcript.kind));
    let transcript = transcript.filter(|_| state.parent().is_none())?;
    Some(heads.resume(transcript.agent, id, &transcript.path)?.join(" "))
}

pub(super) fn hit(table: &SessionTable, hit: baton_memory::Hit, heads: &TranscriptHeads) -> Hit {
    let memo = memo::uuid_of_key(hit.session_id.as_str()).and_then(|uuid| table.memo(uuid));
    let source = memo.map(|(_, memo)| memo.source.as_str().to_owned());
    // A memo is one hit, wherever in it the words occur.
    let kind = if source.is_some() { baton_memory::Kind::Episode } else { hit.kind };
    let row = table.get(&hit.session_id);
    let is_enriched = row.is_some_and(|row| row.state.enriched_by().is_some());
    let from = author(table, &hit.session_id);
    Hit {
        rank: u32::try_from(hit.rank).unwrap_or(u32::MAX),
        score: hit.score,
        kind: kind.as_str().to_owned(),
        session_id: hit.session_id.to_string(),
        episode_uuid: hit.episode_uuid.to_string(),
        project: hit.project.as_deref().map(redact_plain),
        title: redact_plain(&hit.title),
        snippet: redact_plain(&hit.snippet),
        line: hit.line.filter(|_| source.is_none()),
        timestamp: hit.at.map(|at| at.to_string()),
        role: hit.role.filter(|_| source.is_none()).map(|role| role.as_str().to_owned()),
        source,
        // Another person's session is resumed on its own machine.
        resume: row.filter(|_| from.is_none()).and_then(|row| resume_line(&hit.session_id, &row.state, heads)),
        said_by: (hit.by_model && is_enriched).then(|| MODEL.to_owned()),
        parent_session_id: row.and_then(|row| row.state.parent()).map(ToString::to_string),
        matched: hit.matched.iter().map(|reason| reason.as_str().to_owned()).collect(),
        from,
    }
}

/// The author of a session that is not of this home.
pub(super) fn author(table: &SessionTable, id: &SessionId) -> Option<Author> {
    let author = table.author(id)?;
    Some(Author { name: redact_plain(&plain(&author.shown)), machine: redact_plain(&plain(&author.machine)) })
}

pub(super) fn episode(id: &SessionId, current: &EpisodeRef, episode: Digest, numbers: &Numbers) -> Episode {
    let content = redact_plain(&episode.clone().with_model_marks().content());
    let lines = |found: &[Pointed]| found.iter().map(|said| line(said, &episode)).collect::<Vec<_>>();
    let own = [("objective", &episode.objective), ("continuation_context", &episode.continuation_context)];
    let by_model_alone = own.into_iter().filter(|(_, text)| episode.is_of_model(0, text));
    let by_person = episode.is_titled_by_person.then_some(("title", PERSON));
    let owned = |(name, by): (&str, &str)| (name.to_owned(), by.to_owned());
    let by_model = |line: u64, text: &str| episode.is_of_model(line, text).then(|| MODEL.to_owned());
    Episode {
        uuid: current.uuid.to_string(),
        resume: None,
        tier: current.tier.as_str().to_owned(),
        name: episode_name(id),
        title: redact_plain(&episode.title),
        objective: redact_plain(&episode.objective),
        work_completed: episode
            .work_completed
            .iter()
            .map(|(category, found)| (category.clone(), lines(found)))
            .collect(),
        decisions: lines(&episode.decisions),
        superseded: episode
            .superseded
            .iter()
            .map(|said| SupersededLine {
                entry: line(said, &episode),
                by: episode.overruled_by.get(&(said.line, said.text.clone())).map(|by| line(by, &episode)),
            })
            .collect(),
        exchanges: episode.exchanges.iter().map(|exchange| shown_exchange(exchange, &episode)).collect(),
        errors: episode
            .errors
            .iter()
            .map(|error| ErrorLine {
                error: Line {
                    text: redact_plain(&error.text),
                    line: error.line,
                    at: error.at.map(|at| at.to_string()),
                    said_by: by_model(error.line, &error.text),
                },
                resolution: error.resolution.as_ref().map(|resolution| line(resolution, &episode)),
            })
            .collect(),
        files_read: episode
            .files_read
            .iter()
            .map(|file| FileRead { path: redact_plain(&file.path), line: file.line, count: file.count })
            .collect(),
        files_modified: episode
            .files_modified
            .iter()
            .map(|file| FileModified {
                path: redact_plain(&file.path),
                line: file.line,
                added: file.added,
                removed: file.removed,
                deleted: file.deleted,
            })
            .collect(),
        commands: episode
            .commands
            .iter()
            .map(|command| CommandLine {
                text: redact_plain(&command.text),
                line: command.line,
                outcome: command.outcome.to_owned(),
                exit_code: command.exit_code,
                count: command.count,
                ok: command.ok,
                failed: command.failed,
            })
            .collect(),
        external_research: lines(&episode.external_research),
        knowledge_stored: episode
            .knowledge_stored
            .iter()
            .map(|(tool, found)| (redact_plain(tool), lines(found)))
            .collect(),
        unresolved: lines(&episode.unresolved),
        next_steps: lines(&episode.next_steps),
        state: WorkState {
            branch: episode.state.branch.as_deref().map(redact_plain),
            pull_requests: episode.state.pull_requests.iter().map(|address| redact_plain(address)).collect(),
            uncommitted: episode.state.uncommitted.iter().map(|path| redact_plain(path)).collect(),
            check: episode.state.check.as_deref().map(redact_plain),
        },
        continuation_context: redact_plain(&episode.continuation_context),
        content,
        metadata: Metadata {
            mcp_tools_used: numbers.mcp_tools_used.iter().map(|tool| redact_plain(tool)).collect(),
            start_time: numbers.start_time.map(|at| at.to_string()),
            end_time: numbers.end_time.map(|at| at.to_string()),
            duration_seconds: numbers.duration_seconds,
            message_count: numbers.message_count,
            token_count: numbers.token_count,
            filtered_token_count: numbers.filtered_token_count,
            llm_cost_estimate: numbers.llm_cost_estimate,
        },
        said_by: by_model_alone.map(|(name, _)| (name, MODEL)).chain(by_person).map(owned).collect(),
        corrected: episode
            .corrected
            .iter()
            .map(|it| CorrectedLine { verdict: it.verdict.to_string(), entry: line(&it.said, &episode) })
            .collect(),
        left_out: episode.left_out,
    }
}

fn shown_exchange(exchange: &digest::Exchange, of: &Digest) -> Exchange {
    let command = |run: &digest::Run| ExchangeCommand {
        text: redact_plain(&run.text),
        line: run.line,
        outcome: match run.outcome {
            Some(item::Outcome::Ok) => "ok",
            Some(item::Outcome::Failed) => "failed",
            Some(item::Outcome::Denied) => "denied",
            Some(item::Outcome::Interrupted) => "interrupted",
            None => "unknown",
        }
        .to_owned(),
    };
    let said = exchange.prompt.as_ref().or(exchange.conclusion.as_ref());
    Exchange {
        line: said.map_or(0, |said| said.line),
        at: said.and_then(|said| said.at).map(|at| at.to_string()),
        prompt: exchange.prompt.as_ref().map(|said| line(said, of)),
        conclusion: exchange.conclusion.as_ref().map(|said| line(said, of)),
        acts: exchange.acts.iter().map(|(act, count)| (act.as_str().to_owned(), *count)).collect(),
        files: exchange.files.iter().map(|path| redact_plain(path)).collect(),
        commands: exchange.commands.iter().map(command).collect(),
        commits: exchange.commits.iter().map(|commit| redact_plain(commit)).collect(),
        prs: exchange.pull_requests.iter().map(|address| redact_plain(address)).collect(),
        interrupted: exchange.interrupted,
    }
}

fn line(said: &Pointed, of: &Digest) -> Line {
    Line {
        text: redact_plain(&said.text),
        line: said.line,
        at: said.at.map(|at| at.to_string()),
        said_by: of.is_of_model(said.line, &said.text).then(|| MODEL.to_owned()),
    }
}

/// Answer to a close whose episode is stored but cannot be found yet, because the memory cannot index it.
pub(super) fn not_findable(id: &SessionId, closed: &Closed, why: &str) -> Close {
    let remedy = IoCause::in_message(why).remedy();
    let message = format!("the session is stored, but the searchable memory cannot take it in: {why}; {remedy}");
    Close {
        status: "error".to_owned(),
        session_id: Some(id.to_string()),
        episode_uuid: closed.episode.map(|uuid| uuid.to_string()),
        message: redact_plain(&message),
    }
}

/// The outcome of a close as a sentence, with the next step if there is one.
pub(super) fn close(id: &SessionId, closed: Result<Closed, CallError>) -> Close {
    let (success, episode, message) = match closed {
        Ok(closed) => close_outcome(id, &closed),
        Err(CallError::TimedOut) => {
            (false, None, format!("the session is still being indexed; ask `baton show {id}` in a moment"))
        }
        Err(CallError::Gone) => {
            let message = "the session failed twice over this close; `baton status` tells what to do, then close again";
            (false, None, message.to_owned())
        }
    };
    Close {
        status: if success { "success" } else { "error" }.to_owned(),
        session_id: Some(id.to_string()),
        episode_uuid: episode.map(|uuid| uuid.to_string()),
        message: redact_plain(&message),
    }
}

fn close_outcome(id: &SessionId, closed: &Closed) -> (bool, Option<Uuid>, String) {
    let messages = closed.messages;
    match &closed.outcome {
        Outcome::Stored => (true, closed.episode, format!("session closed and indexed: {messages} messages")),
        Outcome::Replaced(old) => {
            (true, closed.episode, format!("session closed; its new episode ({messages} messages) replaces {old}"))
        }
        Outcome::Unchanged => {
            (true, closed.episode, "session closed; unchanged since its last index, episode kept".to_owned())
        }
        Outcome::Empty => {
            let lines = match closed.unreadable_lines {
                0 => String::new(),
                lines => format!(" ({lines} of its lines are not readable)"),
            };
            (true, None, format!("session closed; it has no conversation to index{lines}"))
        }
        Outcome::Gone => (
            false,
            closed.episode,
            match closed.episode {
                Some(_) => "the transcript has vanished; what was indexed before stays searchable".to_owned(),
                None => "the transcript vanished before it was read; there is nothing to index".to_owned(),
            },
        ),
        Outcome::Failed { why, reason, retry_at } => (
            false,
            closed.episode,
            match IoCause::in_message(reason) {
                IoCause::Other => format!(
                    "the session could not be indexed ({why}: {reason}); it is tried again at {retry_at}, or close again"
                ),
                known if *why == FailureReason::NotStored => format!(
                    "the session could not be indexed ({reason}); {}: it is tried again at {retry_at}, or close again",
                    known.remedy()
                ),
                _ => format!(
                    "the session could not be indexed ({why}: {reason}); it is tried again at {retry_at}, or close again"
                ),
            },
        ),
        Outcome::Unreadable { reason } => {
            (false, None, format!("the transcript cannot be read: {reason}; mend that and close again"))
        }
        Outcome::Refused(rejection) => (false, closed.episode, format!("session {id} not closed: {rejection}")),
        Outcome::NotRecorded { reason } => {
            let remedy = match IoCause::in_message(reason) {
                IoCause::Other => "mend that and close again",
                known => known.remedy(),
            };
            (false, closed.episode, format!("nothing was recorded: {reason}; {remedy}"))
        }
        Outcome::Broken { reason } => (false, None, format!("the session's history cannot be read: {reason}")),
        Outcome::Busy => (false, closed.episode, "too many wait for this session; try again in a moment".to_owned()),
    }
}

/// Current problems, each with its fix.
pub(super) fn problems(overview: &Overview, table: &SessionTable, degraded: &[Degraded]) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut add = |what: String, fix: &str| problems.push(Problem { what: redact_plain(&what), fix: fix.to_owned() });
    for root in &overview.roots {
        // The folder of one agent may be missing if another agent's exists.
        let is_others = |other: &RootSeen| other.exists && other.path.file_name() != root.path.file_name();
        if !root.exists && !overview.roots.iter().any(is_others) {
            add(
                format!("there is no {}", root.path.display()),
                "start Claude Code once, or set CLAUDE_CONFIG_DIR and run `baton stop`; the next command restarts it",
            );
        } else if let Some(swept) = &root.swept {
            add(swept.describe(&root.path), &swept.fix(overview.swept_every));
        }
    }
    for path in &overview.unreachable {
        add(
            format!("cannot look into {path}"),
            "make it readable for you, or if it is a link, put the file itself there",
        );
    }
    for Unusable { path, why } in &overview.unusable {
        add(format!("{path} is not read: {why}"), "rename or replace it; nothing else depends on it");
    }
    if overview.unusable_count > overview.unusable.len() as u64 {
        let more = overview.unusable_count - overview.unusable.len() as u64;
        add(format!("{more} more are not read for such reasons"), "rename or replace those that are named here first");
    }
    for FileSeen { path, agent, session, .. } in &overview.second_files {
        let known = table.get(session).and_then(|row| row.state.transcript.as_ref());
        match known.filter(|known| known.agent != *agent) {
            Some(known) => add(
                format!(
                    "{path} of {} is not read: {} has a session with the same id, which is read from {}",
                    agent.home().title,
                    known.agent.home().title,
                    known.path
                ),
                "leave both as they are: an id stands for one session here, and each agent still has its own",
            ),
            None => add(
                format!("{path} has the name of a session that is read from another file"),
                "remove or rename one of them",
            ),
        }
    }
    if overview.left_out > 0 {
        add(format!("{} transcripts are beyond the bound", overview.left_out), "move old projects out of the root");
    }
    if table.skipped() > 0 {
        add(
            format!("{} events of the log were written by a newer version", table.skipped()),
            "install the newer version again",
        );
    }
    for (id, events) in table.unreadable() {
        let events = if events == 1 { "1 event".to_owned() } else { format!("{events} events") };
        add(
            format!(
                "{events} of session {id} cannot be read by this version of Baton: it is shown as far as the others say, and \
                 nothing new of it is recorded"
            ),
            "install the newer version again; `baton log verify` tells whether it is damage",
        );
    }
    for degraded in degraded {
        add(degraded.describe(), degraded.fix());
    }
    for (id, row) in table.iter() {
        if let (Phase::Failed, Some(failure)) = (row.state.phase, &row.state.failure) {
            let what = format!("session {id} could not be indexed: {}; next try {}", failure.why, failure.retry_at);
            add(what, "see `daemon.log` for the reason; `baton close` tries at once");
        }
        let counts = &row.state.counts;
        if let (malformed @ 1.., Some(Transcript { path, agent, .. })) = (counts.malformed, &row.state.transcript) {
            let fix = "move it out of the folder of transcripts, or mend it";
            // A document's header is a record too.
            match (counts.records, transcript::document(*agent, path)) {
                (0, _) => add(format!("{path} is not a transcript: none of its {malformed} lines is a record"), fix),
                (1, Some(_)) => {
                    add(format!("{path} is damaged: no message in it can be read ({malformed} were tried)"), fix);
                }
                _ => {}
            }
        }
    }
    problems
}
