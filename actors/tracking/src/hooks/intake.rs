//! Checks whether a hook concerns a session that is read here, and extracts its signal.
//!
//! # Hazards
//!
//! - Only `SubagentStop`, a subagent's transcript, or an agent's name on a transcript that is not the session's own
//!   means a subagent. A session id from a hook must look like one that an agent gives, and match its transcript's
//!   name.
//!
//! # Decisions
//!
//! - A hook may be 30 days old (a laptop that was off); an older one is ignored and counted. With hooks switched off a
//!   running daemon still counts them, and nothing is spooled.

use std::path::{Path, PathBuf};
use std::time::Duration;

use baton_conversation::item::Agent;
use baton_conversation::record::{SessionId, Timestamp};
use baton_conversation::transcript;
use baton_conversation::transcript::Located;
use baton_events::session::{Place, SignalDetail, SignalKind, State};
use baton_protocol::HookParams;
use baton_redaction::redact;

use tokio::time::Instant;

use super::{CheckedHook, Hooks, transcript_path};
use baton_base::project;
use baton_views::clones;

/// Longest id of a hook, in bytes.
const ID_BYTES: usize = 128;
/// Longest session id accepted from an agent, in bytes; theirs are UUIDs.
const SESSION_ID_BYTES: usize = 128;
/// Limit of sessions known from hooks alone, without the name of a transcript.
const UNSEEN: usize = 256;
/// Maximum age of a hook; older transcripts have been deleted by the agent.
const AGE_MS: i64 = 30 * 24 * 3600 * 1000;
/// Time limit for examining the paths of a hook, because a file system may not answer.
const LOOK: Duration = Duration::from_secs(2);

/// Why a hook has no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ignored {
    /// Hooks are switched off in the configuration.
    SwitchedOff,
    /// It names no valid session, or another than its transcript's.
    Malformed,
    /// It works in the home directory, so it is caused by Baton itself.
    Own,
    /// Its transcript lies in no root.
    OutsideRoots,
    /// It names no transcript, and its session is unknown.
    UnknownSession,
    /// The same, and the limit of sessions known from hooks alone is reached.
    TooMany,
    /// Its project is excluded, or its tracking switched off.
    NotTracked,
    /// It is too old.
    TooOld,
    /// A rule refuses it: the session is forgotten or untracked.
    Refused,
}

impl Ignored {
    /// The name used in answers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SwitchedOff => "switched_off",
            Self::Malformed => "malformed",
            Self::Own => "own",
            Self::OutsideRoots => "outside_roots",
            Self::UnknownSession => "unknown_session",
            Self::TooMany => "too_many",
            Self::NotTracked => "not_tracked",
            Self::TooOld => "too_old",
            Self::Refused => "refused",
        }
    }
}

/// The parts of a hook that need a look at the disk.
struct ExaminedPaths {
    /// `Some(None)` if the hook names a transcript outside all roots.
    transcript: Option<Option<NamedTranscript>>,
    subagent: Option<(SessionId, PathBuf)>,
    place: Option<Place>,
}

/// A transcript named by a hook.
struct NamedTranscript {
    path: PathBuf,
    /// The session by the file's name; `None` if it is the file that the session is read from.
    whose: Option<Located>,
}

impl NamedTranscript {
    fn known(path: &str) -> Self {
        Self { path: PathBuf::from(path), whose: None }
    }

    /// True if it is the session's own or one of its subagents': those are reported in the parent's name.
    fn belongs_to(&self, session: &SessionId) -> bool {
        self.is_own(session) || self.whose.as_ref().is_some_and(|whose| whose.kind != transcript::Kind::Main)
    }

    /// True if it is the session's own.
    fn is_own(&self, session: &SessionId) -> bool {
        self.whose.as_ref().is_none_or(|whose| whose.session == *session)
    }
}

impl Hooks {
    /// Extracts the signal of a hook, or returns why it has no effect.
    pub(super) async fn examine(&self, hook: &HookParams) -> Result<CheckedHook, Ignored> {
        let settings = self.options.settings.now();
        if !settings.hooks.enabled {
            return Err(Ignored::SwitchedOff);
        }
        let is_id = (1..=ID_BYTES).contains(&hook.id.len()) && !hook.id.contains(char::is_control);
        let session = SessionId::new(&hook.session_id)
            .filter(|session| is_id && is_agent_id(&hook.session_id) && session.may_be_shown())
            .ok_or(Ignored::Malformed)?;
        let session = hook.transcript_path.as_deref().and_then(|path| shortened(&session, path)).unwrap_or(session);
        let row = self.options.table.now().get(&session).cloned();
        let known = row.as_deref().map(|row| &row.state);
        let looked = self.examine_paths(hook, known).await;
        if looked.place.as_ref().is_some_and(|place| settings.is_own(place)) {
            return Err(Ignored::Own);
        }
        let transcript = match looked.transcript {
            Some(None) => return Err(Ignored::OutsideRoots),
            Some(located) => located,
            None => None,
        };
        if transcript.as_ref().is_some_and(|named| !named.belongs_to(&session)) {
            return Err(Ignored::Malformed);
        }
        let of_itself = hook.transcript_path.is_some() && transcript.as_ref().is_some_and(|it| it.is_own(&session));
        let transcript = transcript.map(|named| named.path);
        let kind = kind(hook, of_itself);
        if transcript.is_none() && known.is_none() && !matches!(kind, SignalKind::SessionStart | SignalKind::SessionEnd)
        {
            return Err(Ignored::UnknownSession);
        }
        if hook.transcript_path.is_none() && known.is_none() && self.unseen() >= UNSEEN {
            return Err(Ignored::TooMany);
        }
        let stop = match known {
            // The directory in the transcript counts; before that, where the hook was called.
            Some(state) if state.place.is_some() => settings.stop_of(state),
            known => {
                let place = looked.place.clone();
                settings.stop_of(&State { place, ..known.cloned().unwrap_or_default() })
            }
        };
        if stop.is_some() {
            return Err(Ignored::NotTracked);
        }
        let now = self.options.clock.now();
        let at = Timestamp(hook.at.min(now.0));
        if now.since_ms(at) > AGE_MS {
            return Err(Ignored::TooOld);
        }
        let detail = hook.detail.as_deref().filter(|detail| !detail.is_empty()).map(detail);
        Ok(CheckedHook { session, kind, detail, at, place: looked.place, transcript, subagent: looked.subagent })
    }

    /// Returns the number of sessions of which nothing was ever read.
    fn unseen(&self) -> usize {
        self.options.table.now().iter().filter(|(_, row)| row.state.is_unseen()).count()
    }

    /// Examines the paths of a hook on disk, except those that match what is known of the session.
    async fn examine_paths(&self, hook: &HookParams, known: Option<&State>) -> ExaminedPaths {
        let known_path = known.and_then(|state| Some(state.transcript.as_ref()?.path.as_str()));
        let known_place = known.and_then(|state| state.place.clone());
        let is_known = hook.transcript_path.is_none() || hook.transcript_path.as_deref() == known_path;
        let in_place =
            hook.cwd.is_none() || known_place.as_ref().map(|place| place.cwd.as_str()) == hook.cwd.as_deref();
        if is_known && in_place && hook.agent_transcript_path.is_none() {
            // If the hook names no transcript, use the known one.
            let transcript = known_path.map(|path| Some(NamedTranscript::known(path)));
            return ExaminedPaths { transcript, subagent: None, place: known_place };
        }
        let (roots, path, agent_path) =
            (self.options.roots.possible(), hook.transcript_path.clone(), hook.agent_transcript_path.clone());
        let cwd = hook.cwd.clone().filter(|cwd| cwd.len() <= 4_096);
        let (known_path, known_named) = (known_path.map(str::to_owned), known_path.map(NamedTranscript::known));
        let table = self.options.table.now();
        let looking = self.looks.run(Instant::now() + LOOK, move || {
            let user_home = std::env::home_dir();
            let locate = |path: &str| transcript_path::locate(&roots, path, user_home.as_deref());
            let transcript = match &path {
                Some(path) if Some(path) != known_path.as_ref() => {
                    Some(locate(path).map(|(path, whose)| NamedTranscript { path, whose: Some(whose) }))
                }
                _ => known_path.map(|path| Some(NamedTranscript::known(&path))),
            };
            // Some hooks name a subagent's transcript that is never created.
            let subagent = agent_path.as_deref().and_then(locate).filter(|(path, _)| path.is_file());
            let subagent = subagent.map(|(path, whose)| (whose.session, path));
            let place = cwd.map(|cwd| clones::joined(&table, project::resolve(&cwd)));
            ExaminedPaths { transcript, subagent, place }
        });
        looking.await.unwrap_or_else(|| self.examine_without_disk(hook, known_named, known_place))
    }

    /// Judges a hook by its paths alone when the disk does not answer: a transcript is accepted if its path has the
    /// right form.
    fn examine_without_disk(
        &self,
        hook: &HookParams,
        known: Option<NamedTranscript>,
        place: Option<Place>,
    ) -> ExaminedPaths {
        let is_known = |path: &String| known.as_ref().is_some_and(|known| known.path == Path::new(path));
        let transcript = match &hook.transcript_path {
            Some(path) if !is_known(path) => {
                let user_home = std::env::home_dir();
                let whose = transcript_path::written_below(&self.options.roots.possible(), path, user_home.as_deref());
                whose.is_none().then_some(None)
            }
            _ => known.map(Some),
        };
        ExaminedPaths { transcript, subagent: None, place }
    }
}

/// The session's id as Gemini CLI names its files after it: the beginning of the one that its hooks have.
fn shortened(session: &SessionId, transcript: &str) -> Option<SessionId> {
    let name = transcript.rsplit(['/', '\\']).next()?;
    let whose = transcript::classify(Agent::Gemini, &format!("-/chats/{name}"))?.session;
    session.as_str().starts_with(whose.as_str()).then_some(whose)
}

/// True if the id looks like one that an agent gives. Other text could be anything and would stay in the log for ever.
fn is_agent_id(id: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    id.len() <= SESSION_ID_BYTES && id.bytes().all(is_plain) && redact(id) == id
}

/// Determines the kind of signal. Events of a subagent only show that its session is active. A session that runs as a
/// named agent gives the agent's name with all its own events: `of_itself` is true if the hook names the session's own
/// transcript.
fn kind(hook: &HookParams, of_itself: bool) -> SignalKind {
    let kind = SignalKind::from_hook_name(&hook.event);
    let is_said = |text: &Option<String>| text.as_deref().is_some_and(|text| !text.is_empty());
    let of_subagent = is_said(&hook.agent_transcript_path) || (is_said(&hook.agent_id) && !of_itself);
    match kind {
        SignalKind::SubagentStop => kind,
        _ if of_subagent => SignalKind::Other,
        kind => kind,
    }
}

fn detail(text: &str) -> SignalDetail {
    SignalDetail::ALL.iter().copied().find(|detail| detail.as_str() == text).unwrap_or(SignalDetail::Other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_named_as_agents_name_it() {
        for (id, expected) in [
            ("9c4a61f8-e2d7-4b05-8a3c-6f1e0d9b7254", true),
            ("agent-a1b2c3d", true),
            ("ses_0.1", true),
            (&"a".repeat(SESSION_ID_BYTES), true),
            (&"a".repeat(SESSION_ID_BYTES + 1), false),
            ("please ignore the rest", false),
            ("<b>", false),
            ("s\u{e4}tze", false),
            ("a:b", false),
            ("sk-ant-api03-a1B2c3D4e5F6a1B2c3D4e5F6", false),
        ] {
            assert_eq!(is_agent_id(id), expected, "{id}");
        }
    }

    #[test]
    fn a_transcript_is_of_the_session_that_it_is_named_after() {
        const ID: &str = "01a206aa-ab65-7331-81dc-6a9ae55a3a1c";
        let session = SessionId::new(ID).unwrap();
        let rollout = |id: &str| format!("2026/11/23/rollout-2026-11-23T05-00-00-{id}.jsonl");
        for (agent, below, own, of) in [
            (Agent::ClaudeCode, format!("-p/{ID}.jsonl"), true, true),
            (Agent::ClaudeCode, "-p/two.jsonl".to_owned(), false, false),
            (Agent::ClaudeCode, format!("-p/{ID}/subagents/agent-a1.jsonl"), false, true),
            (Agent::Codex, rollout(ID), true, true),
            (Agent::Codex, rollout("01a206aa-ab65-7331-81dc-6a9ae55a3a1d"), false, false),
        ] {
            let whose = transcript::classify(agent, &below);
            assert!(whose.is_some(), "{below}");
            let named = NamedTranscript { path: PathBuf::from(&below), whose };
            assert_eq!((named.is_own(&session), named.belongs_to(&session)), (own, of), "{below}");
        }
        assert!(NamedTranscript::known("/anywhere").is_own(&session), "the one that it is read from");
    }

    #[test]
    fn gemini_names_its_files_after_the_beginning_of_an_id() {
        let session = SessionId::new("323e2af2-e055-4fca-9641-b0eb7f68ae6a").unwrap();
        for (path, expected) in [
            ("/h/.gemini/tmp/p/chats/session-2026-11-29T07-07-323e2af2.jsonl", Some("323e2af2")),
            ("C:\\h\\chats\\session-2026-11-29T07-07-323e2af2.json", Some("323e2af2")),
            ("/h/.gemini/tmp/p/chats/session-2026-11-29T07-07-c2e6df53.jsonl", None),
            ("/h/.claude/projects/-p/323e2af2-e055-4fca-9641-b0eb7f68ae6a.jsonl", None),
            ("/h/.claude/projects/-p/323e2af2.jsonl", None),
            ("", None),
        ] {
            assert_eq!(shortened(&session, path).as_ref().map(SessionId::as_str), expected, "{path}");
        }
    }

    #[test]
    fn what_happens_to_a_subagent_is_no_end_of_its_session() {
        let (main, other) = (Some("/c/projects/-p/s1.jsonl"), Some("/c/projects/-p/s1/subagents/agent-a.jsonl"));
        use SignalKind::{Other, PreCompact, SessionEnd, SessionStart, SubagentStop};
        for (event, transcript, agent, agent_transcript, expected) in [
            ("SessionEnd", main, None, None, SessionEnd),
            ("SessionEnd", None, None, None, SessionEnd),
            // The whole session runs as a named agent.
            ("SessionEnd", main, Some("reviewer"), None, SessionEnd),
            ("SessionStart", main, Some("reviewer"), Some(""), SessionStart),
            ("PreCompact", main, Some("reviewer"), None, PreCompact),
            ("SessionEnd", other, Some("a"), None, Other),
            ("SessionEnd", None, Some("a"), None, Other),
            ("SessionEnd", main, Some("a"), other, Other),
            ("SubagentStop", main, Some("a"), other, SubagentStop),
        ] {
            let text = |text: Option<&str>| text.map(str::to_owned);
            let hook = HookParams {
                event: event.to_owned(),
                session_id: "s1".to_owned(),
                transcript_path: text(transcript),
                agent_id: text(agent),
                agent_transcript_path: text(agent_transcript),
                ..HookParams::default()
            };
            assert_eq!(kind(&hook, transcript == main && transcript.is_some()), expected, "{hook:?}");
        }
    }
}
