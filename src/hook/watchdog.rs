//! Who sees to it that a hook ends in time: a thread that waits until the work is late, and then does what is left.
//!
//! Two moments count. At the first the conversation is given up: what is known of the event is left in the spool, by this
//! thread, for the other may be stuck in a system call. At the second the process ends, whatever anybody is doing.

use std::path::PathBuf;
use std::process::exit;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use baton_events::protocol::HookParams;

use super::event::Event;
use super::input::{Field, Input};
use super::talk::Why;

/// Shortest time that may be configured; the longest is the event's.
const LEAST: Duration = Duration::from_millis(10);
/// What a file takes at least, on a machine that has kept us waiting until all time was over.
const LAST: Duration = Duration::from_millis(30);
/// Stack of these threads: they do little.
const STACK_BYTES: usize = 256 * 1024;

/// What is known of one event, and how far it is.
pub(super) struct Call {
    pub(super) phase: Phase,
    /// As the command line names it.
    pub(super) event: Option<Event>,
    pub(super) id: String,
    pub(super) at: SystemTime,
    pub(super) started: Instant,
    /// The home in whose spool it may be left, once that is known.
    pub(super) spool_in: Option<PathBuf>,
    /// What is configured.
    pub(super) timeout: Option<Duration>,
}

/// How far it is.
pub(super) enum Phase {
    /// Standard input is being read.
    Reading(Input),
    /// The daemon is being told.
    Talking(HookParams),
    /// It was taken or is being left behind: nothing is to be saved any more.
    Ending,
    /// The watchdog has taken over.
    GivenUp,
}

/// Where both threads meet.
pub(super) struct Desk {
    call: Mutex<Call>,
    changed: Condvar,
}

impl Desk {
    pub(super) fn new(call: Call) -> Self {
        Self { call: Mutex::new(call), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, Call> {
        self.call.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the call. Does not return once the watchdog has taken over: the process is about to end.
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
        // What only puts it off will be seen when the time has come.
        if call.give_up_at() < before {
            self.changed.notify_one();
        }
        changed
    }

    /// Ends the reading: the event, and what the daemon is told of it.
    pub(super) fn params(&self) -> (Event, HookParams) {
        self.change(|call| {
            let (event, params) = call.read();
            call.event = Some(event.clone());
            call.phase = Phase::Talking(params.clone());
            let left = call.give_up_at().saturating_duration_since(Instant::now());
            (event, HookParams { wait_ms: u64::try_from(left.as_millis()).unwrap_or(u64::MAX), ..params })
        })
    }

    /// Begins to watch. `false`: there can be no thread.
    pub(super) fn guard(self: &Arc<Self>) -> bool {
        let desk = self.clone();
        thread::Builder::new().stack_size(STACK_BYTES).spawn(move || desk.watch()).is_ok()
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
        let end_at = call.end_at().max(Instant::now() + LAST);
        let (home, took) = (call.spool_in.take(), call.started.elapsed());
        let params = match std::mem::replace(&mut call.phase, Phase::GivenUp) {
            Phase::Ending | Phase::GivenUp => exit(0),
            Phase::Talking(params) => params,
            Phase::Reading(input) => {
                call.phase = Phase::Reading(input);
                let (_, params) = call.read();
                call.phase = Phase::GivenUp;
                params
            }
        };
        drop(call);
        let Some(home) = home else { exit(0) };
        // The disk may be what hangs.
        let last = thread::Builder::new().stack_size(STACK_BYTES).spawn(move || {
            thread::sleep(end_at.saturating_duration_since(Instant::now()));
            exit(0);
        });
        if last.is_ok() {
            super::leave(&home, Why::Timeout, took, params);
        }
        exit(0);
    }
}

impl Call {
    fn budget(&self) -> Duration {
        // As long as its name is not known, it may be any.
        let (usual, most) = match &self.event {
            Some(event) => (event.budget(), event.most()),
            None => (Event::of("").budget(), Event::of("SessionEnd").most()),
        };
        self.timeout.map_or(usual, |timeout| timeout.clamp(LEAST, most))
    }

    fn end_at(&self) -> Instant {
        self.started + self.budget()
    }

    /// The rest of the time is for the spool.
    fn give_up_at(&self) -> Instant {
        self.started + self.budget() * 3 / 5
    }

    /// What is known of the event, as far as it was read.
    fn read(&mut self) -> (Event, HookParams) {
        let Phase::Reading(input) = &mut self.phase else { return (Event::of(""), HookParams::default()) };
        let named = input.get(Field::EventName);
        let event = self.event.clone().unwrap_or_else(|| Event::of(named.as_deref().unwrap_or_default()));
        let at = self.at.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
        let params = HookParams {
            id: self.id.clone(),
            event: event.name.clone(),
            at: i64::try_from(at).unwrap_or(i64::MAX),
            session_id: input.get(Field::Session).unwrap_or_default(),
            transcript_path: input.get(Field::Transcript),
            cwd: input.get(Field::Directory),
            detail: event.detail().and_then(|field| input.get(field)),
            agent_id: input.get(Field::Agent),
            agent_transcript_path: input.get(Field::AgentTranscript),
            wait_ms: 0,
        };
        (event, params)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(event: Option<&str>, input: &str, timeout_ms: Option<u64>) -> Call {
        let mut read = Input::default();
        read.take(input.as_bytes());
        Call {
            phase: Phase::Reading(read),
            event: event.map(Event::of),
            id: "one".to_owned(),
            at: UNIX_EPOCH + Duration::from_millis(1_790_000_000_123),
            started: Instant::now(),
            spool_in: None,
            timeout: timeout_ms.map(Duration::from_millis),
        }
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
            (None, Some(3_000), 1_000),
        ] {
            let call = call(event, "", timeout);
            assert_eq!(call.end_at() - call.started, Duration::from_millis(ms), "{event:?} {timeout:?}");
            assert_eq!(call.give_up_at() - call.started, Duration::from_millis(ms * 3 / 5), "{event:?} {timeout:?}");
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
            let desk = Desk::new(call(event, input, None));
            let (event, params) = desk.params();
            assert_eq!((event.name.as_str(), params.event.as_str(), params.detail.as_deref()), (name, name, detail));
            assert_eq!((params.session_id.as_str(), params.at), ("s", 1_790_000_000_123));
            assert!(params.wait_ms <= 90, "{}", params.wait_ms);
        }
        let (event, params) = Desk::new(call(None, "", None)).params();
        assert_eq!((event.kind, params.session_id.as_str()), (baton_events::session::SignalKind::Other, ""));
    }
}
