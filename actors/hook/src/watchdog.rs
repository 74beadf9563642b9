//! Ends a hook in time: a thread that waits until the work is late and then takes over.
//!
//! There are two deadlines. At the first the watchdog gives the work up and writes what is known of the event to the
//! spool itself, because the working thread may be stuck in a system call. At the second the process exits, whatever
//! either thread is doing.
//!
//! The hook waits longer for its home and the agent's input than for the daemon: on a busy machine both are late, and
//! without them the event is lost. The daemon's time starts once the input is read.

use std::path::PathBuf;
use std::process::exit;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use baton_protocol::{HOOK_END_MS, HookParams, SignalKind};

use super::event::Event;
use super::exchange::NotTaken;
use super::input::{Field, Input};
use super::output::Output;

/// Shortest budget that can be configured; the longest depends on the event.
const BUDGET_MIN: Duration = Duration::from_millis(10);
/// Time limit for the home and the agent's input, from the start of the process. After that the event is given up:
/// unless more is configured, no hook may take longer.
const INPUT_TIMEOUT: Duration = Duration::from_millis(HOOK_END_MS);
/// Least time left for writing the spool file, even if a busy machine has used up all time.
const SPOOL_TIME_MIN: Duration = Duration::from_millis(30);
/// Stack size of these threads, which do little.
const STACK_BYTES: usize = 256 * 1024;

/// What is known of one event, and how far its handling is.
pub(super) struct Call {
    pub(super) phase: Phase,
    /// The event named on the command line.
    pub(super) event: Option<Event>,
    /// What the agent reads that is named there.
    pub(super) output: Option<Output>,
    pub(super) id: String,
    pub(super) at: SystemTime,
    pub(super) started: Instant,
    /// When the input was read and the exchange with the daemon began.
    pub(super) read_at: Option<Instant>,
    /// The home whose spool may be used, once known.
    pub(super) spool_in: Option<PathBuf>,
    /// The configured budget.
    pub(super) timeout: Option<Duration>,
}

/// Phase of the handling of an event.
pub(super) enum Phase {
    /// Checking the home; nothing is known of the event.
    Starting,
    /// Reading standard input.
    Reading(Box<Input>),
    /// Waiting for the daemon.
    Talking(HookParams),
    /// Taken by the daemon or being spooled: nothing is left to save.
    Ending,
    /// The watchdog has taken over.
    GivenUp,
}

/// State shared by the working thread and the watchdog.
pub(super) struct SharedCall {
    call: Mutex<Call>,
    changed: Condvar,
}

impl SharedCall {
    pub(super) fn new(call: Call) -> Self {
        Self { call: Mutex::new(call), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, Call> {
        self.call.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the call. Does not return once the watchdog has taken over, because the process is about to exit.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut Call) -> T) -> T {
        let mut call = self.lock();
        if matches!(call.phase, Phase::GivenUp) {
            drop(call);
            loop {
                thread::park();
            }
        }
        let before = call.give_up_at();
        let changed = change(&mut call);
        // The watchdog notices a later deadline when it wakes up at the earlier one.
        if call.give_up_at() < before {
            self.changed.notify_one();
        }
        changed
    }

    /// Ends the reading and returns the event with the parameters for the daemon.
    pub(super) fn params(&self) -> (Event, HookParams) {
        self.change(|call| {
            let (event, params) = call.read();
            call.event = Some(event.clone());
            call.read_at = Some(Instant::now());
            call.phase = Phase::Talking(params.clone());
            let left = call.give_up_at().saturating_duration_since(Instant::now());
            // Nothing is prepared for an agent that would not read it.
            let is_waiting = event.reaches_agent() || !Output::Claude.is_read(event.kind);
            let wait_ms = if is_waiting { u64::try_from(left.as_millis()).unwrap_or(u64::MAX) } else { 0 };
            (event, HookParams { wait_ms, ..params })
        })
    }

    /// Starts the watchdog. Returns false if no thread can be created.
    pub(super) fn start_watchdog(self: &Arc<Self>) -> bool {
        let shared = self.clone();
        thread::Builder::new().stack_size(STACK_BYTES).spawn(move || shared.watch()).is_ok()
    }

    fn watch(&self) {
        let mut call = self.lock();
        loop {
            let until = match call.phase {
                Phase::Ending => call.end_at(),
                _ => call.give_up_at(),
            };
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            call = self.changed.wait_timeout(call, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        let end_at = call.end_at().max(Instant::now() + SPOOL_TIME_MIN);
        let (home, took) = (call.spool_in.take(), call.started.elapsed());
        let params = match std::mem::replace(&mut call.phase, Phase::GivenUp) {
            Phase::Starting | Phase::Ending | Phase::GivenUp => exit(0),
            Phase::Talking(params) => params,
            Phase::Reading(input) => {
                call.phase = Phase::Reading(input);
                let (event, params) = call.read();
                call.phase = Phase::GivenUp;
                if event.is_untyped {
                    exit(0);
                }
                params
            }
        };
        drop(call);
        let Some(home) = home else { exit(0) };
        // Writing may hang too: another thread exits the process in time.
        let last = thread::Builder::new().stack_size(STACK_BYTES).spawn(move || {
            thread::sleep(end_at.saturating_duration_since(Instant::now()));
            exit(0);
        });
        if last.is_ok() {
            super::spool_signal(&home, NotTaken::Timeout, took, params);
        }
        exit(0);
    }
}

impl Call {
    /// The time for the daemon, and the limit for the whole process.
    fn budget(&self) -> (Duration, Duration) {
        // While the name is unknown, assume the shortest limit.
        let (usual, most) = match &self.event {
            Some(event) => (event.budget(), event.max_budget()),
            None => (Event::parse("").budget(), Event::parse("SessionEnd").max_budget()),
        };
        (self.timeout.map_or(usual, |timeout| timeout.clamp(BUDGET_MIN, most)), most)
    }

    fn end_at(&self) -> Instant {
        let (budget, most) = self.budget();
        match (&self.phase, self.read_at) {
            (Phase::Starting | Phase::Reading(_), _) => self.started + budget.max(INPUT_TIMEOUT),
            (_, Some(read_at)) => (read_at + budget).min(self.started + most),
            (_, None) => self.started + budget,
        }
    }

    /// The first deadline; the remaining time is for the spool.
    fn give_up_at(&self) -> Instant {
        self.end_at() - self.budget().0 * 2 / 5
    }

    /// Builds the event and its parameters from the input read so far.
    fn read(&mut self) -> (Event, HookParams) {
        let Phase::Reading(input) = &mut self.phase else { return (Event::parse(""), HookParams::default()) };
        let named = input.get(Field::EventName);
        let output = self.output.unwrap_or_else(|| Output::for_input(input));
        let event = self.event.clone().unwrap_or_else(|| Event::parse(named.as_deref().unwrap_or_default()));
        let mut event = event.for_agent(named.as_deref(), output);
        event.is_untyped = event.kind == SignalKind::UserPromptSubmit && input.is_untyped();
        let sessions = [Field::Session, Field::CamelSession, Field::Conversation];
        let at = self.at.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
        let params = HookParams {
            id: self.id.clone(),
            event: event.name.clone(),
            at: i64::try_from(at).unwrap_or(i64::MAX),
            session_id: sessions.into_iter().find_map(|field| input.get(field)).unwrap_or_default(),
            transcript_path: input.get(Field::Transcript),
            cwd: input.get(Field::Directory).or_else(|| input.get(Field::Roots)),
            detail: event.detail().and_then(|field| input.get(field)).map(usual_detail),
            agent_id: input.get(Field::Agent),
            agent_transcript_path: input.get(Field::AgentTranscript),
            wait_ms: 0,
        };
        (event, params)
    }
}

/// Claude Code's word for a detail; Copilot CLI has another one for a session's first start.
fn usual_detail(detail: String) -> String {
    if detail == "new" { "startup".to_owned() } else { detail }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(event: Option<&str>, input: &str, timeout_ms: Option<u64>) -> Call {
        let mut read = Input::default();
        read.push(input.as_bytes());
        Call {
            phase: Phase::Reading(Box::new(read)),
            event: event.map(Event::parse),
            output: None,
            id: "one".to_owned(),
            at: UNIX_EPOCH + Duration::from_millis(1_790_000_000_123),
            started: Instant::now(),
            read_at: None,
            spool_in: None,
            timeout: timeout_ms.map(Duration::from_millis),
        }
    }

    /// Milliseconds from the start to both deadlines, while the input is being read and after it was read `read_after`
    /// ms after the start.
    fn moments(event: Option<&str>, timeout_ms: Option<u64>, read_after: u64) -> [u128; 4] {
        let mut call = call(event, "", timeout_ms);
        let since = |at: Instant| at.duration_since(call.started).as_millis();
        let reading = [since(call.give_up_at()), since(call.end_at())];
        let event = call.event.clone().unwrap_or_else(|| Event::parse(""));
        call.event = Some(event);
        call.phase = Phase::Talking(HookParams::default());
        call.read_at = Some(call.started + Duration::from_millis(read_after));
        let since = |at: Instant| at.duration_since(call.started).as_millis();
        [reading[0], reading[1], since(call.give_up_at()), since(call.end_at())]
    }

    #[test]
    fn a_configured_time_counts_within_bounds() {
        for (event, timeout, ms) in [
            (Some("session-start"), None, 150),
            (Some("stop"), None, 100),
            (None, None, 100),
            (Some("stop"), Some(40), 40),
            (Some("stop"), Some(0), 10),
            (Some("session-start"), Some(u64::MAX), 3_000),
            (Some("stop"), Some(2_000), 2_000),
            (Some("session-end"), Some(600), 600),
            (Some("session-end"), Some(3_000), 1_000),
        ] {
            let whole = ms.max(1_000);
            let expected = [whole - ms * 2 / 5, whole, ms * 3 / 5, ms];
            assert_eq!(moments(event, timeout, 0), expected, "{event:?} {timeout:?}");
        }
        let mut starting = call(Some("stop"), "", None);
        starting.phase = Phase::Starting;
        assert_eq!(starting.end_at() - starting.started, Duration::from_secs(1), "a home may be late");
    }

    #[test]
    fn late_input_is_waited_for_and_leaves_the_daemon_its_time() {
        for (event, timeout, read_after, expected) in [
            (Some("stop"), None, 500, [960, 1_000, 560, 600]),
            (Some("session-start"), None, 930, [940, 1_000, 1_020, 1_080]),
            // Never beyond the event's upper limit.
            (Some("session-end"), None, 950, [960, 1_000, 960, 1_000]),
            (Some("session-end"), Some(1_000), 500, [600, 1_000, 600, 1_000]),
            (Some("stop"), Some(3_000), 1_700, [1_800, 3_000, 1_800, 3_000]),
        ] {
            assert_eq!(moments(event, timeout, read_after), expected, "{event:?} {timeout:?} {read_after}");
        }
    }

    #[test]
    fn every_agents_input_becomes_the_same_signal() {
        let path = "/t/a.jsonl";
        for (event, input, expected) in [
            (
                "BeforeAgent",
                r#"{"session_id":"a","transcript_path":"/t/a.jsonl","cwd":"/p","hook_event_name":"BeforeAgent","prompt":"x"}"#,
                ("UserPromptSubmit", Some(path), None, true),
            ),
            (
                "sessionStart",
                r#"{"sessionId":"a","timestamp":1790000000000,"cwd":"/p","source":"new","initialPrompt":"x"}"#,
                ("SessionStart", None, Some("startup"), true),
            ),
            (
                "agentStop",
                r#"{"sessionId":"a","cwd":"/p","transcriptPath":"/t/a.jsonl","stopReason":"end_turn"}"#,
                ("Stop", Some(path), None, true),
            ),
            ("userPromptSubmitted", r#"{"sessionId":"a","cwd":"/p"}"#, ("UserPromptSubmit", None, None, false)),
            (
                "sessionStart",
                r#"{"conversation_id":"a","hook_event_name":"sessionStart","cursor_version":"3","workspace_roots":["/p"],"transcript_path":null}"#,
                ("SessionStart", None, None, false),
            ),
        ] {
            let (told, params) = SharedCall::new(call(Some(event), input, None)).params();
            let got = (params.event.as_str(), params.transcript_path.as_deref(), params.detail.as_deref());
            assert_eq!((got.0, got.1, got.2, params.wait_ms > 0), expected, "{input}");
            assert_eq!((params.session_id.as_str(), params.cwd.as_deref()), ("a", Some("/p")), "{input}");
            assert_eq!(told.reaches_agent(), params.wait_ms > 0 && told.kind != SignalKind::Stop);
        }
    }

    #[test]
    fn only_a_prompt_can_be_untyped() {
        for (event, input, expected) in [
            ("UserPromptSubmit", r#"{"session_id":"a","prompt":""}"#, true),
            ("UserPromptSubmit", r#"{"session_id":"a","prompt":"x"}"#, false),
            ("UserPromptSubmit", r#"{"session_id":"a","prompt":7}"#, false),
            ("Stop", r#"{"session_id":"a","prompt":""}"#, false),
            ("userPromptSubmitted", r#"{"sessionId":"a","prompt":"x","parentAgentId":"b"}"#, true),
            ("userPromptSubmitted", r#"{"sessionId":"a","prompt":"x","parentAgentId":null}"#, false),
            ("agentStop", r#"{"sessionId":"a","parentAgentId":"b"}"#, false),
        ] {
            let (read, _) = SharedCall::new(call(Some(event), input, None)).params();
            assert_eq!(read.is_untyped, expected, "{event} {input}");
        }
    }

    #[test]
    fn the_command_line_names_the_event_else_the_object() {
        let input = r#"{"session_id":"s","hook_event_name":"SessionEnd","reason":"clear","source":"startup"}"#;
        for (event, name, detail) in [
            (None, "SessionEnd", Some("clear")),
            (Some("session-start"), "SessionStart", Some("startup")),
            (Some("Stop"), "Stop", None),
        ] {
            let shared = SharedCall::new(call(event, input, None));
            let (event, params) = shared.params();
            assert_eq!((event.name.as_str(), params.event.as_str(), params.detail.as_deref()), (name, name, detail));
            assert_eq!((params.session_id.as_str(), params.at), ("s", 1_790_000_000_123));
            assert!(params.wait_ms <= 90, "{}", params.wait_ms);
        }
        let (event, params) = SharedCall::new(call(None, "", None)).params();
        assert_eq!((event.kind, params.session_id.as_str()), (baton_protocol::SignalKind::Other, ""));
    }
}
