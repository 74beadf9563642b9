//! Who sees to it that a hook ends in time: a thread that waits until the work is late, and then does what is left.
//!
//! Two moments count. At the first the work is given up: what is known of the event is left in the spool, by this
//! thread, for the other may be stuck in a system call. At the second the process ends, whatever anybody is doing.
//!
//! The agent's own input is waited for longer than the daemon: a busy machine brings it late, and without it the event is
//! lost. The time for the daemon begins when the input is there.

use std::path::PathBuf;
use std::process::exit;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use baton_base::limits;
use baton_protocol::HookParams;

use super::event::Event;
use super::input::{Field, Input};
use super::talk::UnindexedReason;

/// Shortest time that may be configured; the longest is the event's.
const LEAST: Duration = Duration::from_millis(10);
/// How long the agent's input is waited for, from the start of the process on. An agent that needs longer has all of it
/// given up: no hook may take longer where nothing else is configured.
const INPUT: Duration = Duration::from_millis(limits::HOOK_END_MS);
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
    /// When the daemon began to be told.
    pub(super) read_at: Option<Instant>,
    /// The home in whose spool it may be left, once that is known.
    pub(super) spool_in: Option<PathBuf>,
    /// What is configured.
    pub(super) timeout: Option<Duration>,
}

/// How far it is.
pub(super) enum Phase {
    /// The home is being looked at; nothing is known of the event.
    Starting,
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
            call.read_at = Some(Instant::now());
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
            Phase::Starting | Phase::Ending | Phase::GivenUp => exit(0),
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
            super::leave(&home, UnindexedReason::Timeout, took, params);
        }
        exit(0);
    }
}

impl Call {
    /// How long the daemon is waited for, and how long the process may take.
    fn budget(&self) -> (Duration, Duration) {
        // As long as its name is not known, it may be any.
        let (usual, most) = match &self.event {
            Some(event) => (event.budget(), event.most()),
            None => (Event::of("").budget(), Event::of("SessionEnd").most()),
        };
        (self.timeout.map_or(usual, |timeout| timeout.clamp(LEAST, most)), most)
    }

    fn end_at(&self) -> Instant {
        let (budget, most) = self.budget();
        match (&self.phase, self.read_at) {
            (Phase::Reading(_), _) => self.started + budget.max(INPUT),
            (_, Some(read_at)) => (read_at + budget).min(self.started + most),
            (_, None) => self.started + budget,
        }
    }

    /// The rest of the time is for the spool.
    fn give_up_at(&self) -> Instant {
        self.end_at() - self.budget().0 * 2 / 5
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
            read_at: None,
            spool_in: None,
            timeout: timeout_ms.map(Duration::from_millis),
        }
    }

    /// Milliseconds from the start to both moments, while the input is read and once it was, so many milliseconds after the start.
    fn moments(event: Option<&str>, timeout_ms: Option<u64>, read_after: u64) -> [u128; 4] {
        let mut call = call(event, "", timeout_ms);
        let since = |at: Instant| at.duration_since(call.started).as_millis();
        let reading = [since(call.give_up_at()), since(call.end_at())];
        let event = call.event.clone().unwrap_or_else(|| Event::of(""));
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
        assert_eq!(starting.end_at() - starting.started, Duration::from_millis(100), "nothing waits for a home");
    }

    #[test]
    fn late_input_is_waited_for_and_leaves_the_daemon_its_time() {
        for (event, timeout, read_after, expected) in [
            (Some("stop"), None, 500, [960, 1_000, 560, 600]),
            (Some("session-start"), None, 930, [940, 1_000, 1_020, 1_080]),
            // Never beyond the most that the event may take.
            (Some("session-end"), None, 950, [960, 1_000, 960, 1_000]),
            (Some("session-end"), Some(1_000), 500, [600, 1_000, 600, 1_000]),
            (Some("stop"), Some(3_000), 1_700, [1_800, 3_000, 1_800, 3_000]),
        ] {
            assert_eq!(moments(event, timeout, read_after), expected, "{event:?} {timeout:?} {read_after}");
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
