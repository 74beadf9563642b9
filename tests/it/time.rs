//! What time alone causes: through the binary with old records, and with the test's clock in a daemon within this
//! process, which the binary uses like any other.

use std::sync::Arc;
use std::time::Duration;

use baton_actors::System;
use baton_actors::system::Options;
use baton_base::clock::ManualClock;
use baton_base::transcript_root::Root;
use baton_config::settings::Settings;
use baton_conversation::record::{CommandId, Recorded, SessionId, Timestamp};
use baton_events::session::{CloseReason, Event, Phase, State};
use baton_tracking::session::{CloseCall, Closed};
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::record::{Log, memory};
use crate::world::{DEADLINE, World, id, text};

#[test]
fn timeout_fallback() {
    let world = World::new();
    let old = world.transcript("-work-one", &id(1)).minutes_ago(31);
    { old }.prompt("the abandoned question about the ibex").reply("an answer nobody read");
    let young = world.transcript("-work-one", &id(2)).minutes_ago(10);
    { young }.prompt("the pause about the chamois").reply("an answer");
    world.ok(&["daemon"]);
    let shown = world.wait_for(&id(1), "the timeout", |row| row["state"] == "indexed");
    assert_eq!((&shown["close_reason"], &shown["end"]), (&"inactivity_timeout".into(), &"inactivity_timeout".into()));
    let paused = world.wait_for(&id(2), "the pause", |row| row["state"] == "inactive");
    assert_eq!((&paused["episode_uuid"], &paused["close_reason"]), (&Value::Null, &Value::Null));
    assert_eq!(world.found("ibex"), [id(1)]);
    assert_eq!(world.found("chamois"), [id(2)]);
}

/// A daemon in this process whose clock stands still until the test moves it.
pub(crate) struct Held {
    pub(crate) world: World,
    pub(crate) runtime: Runtime,
    system: Option<System>,
    pub(crate) clock: Arc<ManualClock>,
}

const START: &str = "2026-03-14T09:00:00Z";

fn start() -> Timestamp {
    Timestamp::parse(START).unwrap()
}

pub(crate) fn after(seconds: i64) -> Timestamp {
    start().plus_ms(seconds * 1000)
}

impl Held {
    pub(crate) fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let clock = Arc::new(ManualClock::new(start()));
        let mut held = Self { world: World::new(), runtime, system: None, clock };
        held.begin();
        held
    }

    pub(crate) fn begin(&mut self) {
        self.begin_with(Settings::default());
    }

    pub(crate) fn begin_with(&mut self, settings: Settings) {
        let (_, settings) = tokio::sync::watch::channel(Arc::new(settings));
        let options = Options {
            home: self.world.home().to_owned(),
            roots: vec![Root::claude_code(self.world.config())],
            settings: settings.into(),
            clock: self.clock.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        };
        self.system = Some(self.runtime.block_on(System::start(options)).unwrap());
    }

    pub(crate) fn system(&self) -> &System {
        self.system.as_ref().unwrap()
    }

    pub(crate) fn stop(&mut self) {
        self.runtime.block_on(self.system.take().unwrap().stop());
    }

    fn now(&self) -> Timestamp {
        use baton_base::clock::Clock;
        self.clock.now()
    }

    /// Moves the clock to `seconds` after the start.
    pub(crate) fn at(&self, seconds: i64) {
        let by = after(seconds).since_ms(self.now());
        self.clock.advance(Duration::from_millis(u64::try_from(by).expect("time goes on")));
    }

    pub(crate) fn close(&self, session: &str, reason: CloseReason, command: &str) -> Closed {
        let session = SessionId::new(session).unwrap();
        let call = CloseCall { reason, note: None, by_self: false, command: CommandId::new(command) };
        let supervisor = &self.system().parts().supervisor;
        self.runtime.block_on(supervisor.close(&session, None, call, DEADLINE)).unwrap()
    }

    /// Has the session read its file and apply the rules of time; returns its state afterwards.
    pub(crate) fn settle(&self, session: &str) -> State {
        let supervisor = &self.system().parts().supervisor;
        self.runtime.block_on(async {
            let handle = supervisor.resolve(SessionId::new(session).unwrap()).await.unwrap();
            handle.wake();
            handle.wait_until_handled(DEADLINE).await.unwrap();
        });
        self.state(session).unwrap()
    }

    pub(crate) fn state(&self, session: &str) -> Option<State> {
        let table = self.system().parts().catalog.table.now();
        Some(table.get(&SessionId::new(session).unwrap())?.state.clone())
    }

    pub(crate) fn wait_for(&self, session: &str, is_so: impl Fn(&State) -> bool) -> State {
        let mut table = self.system().parts().catalog.table.clone();
        let id = SessionId::new(session).unwrap();
        let came = self.runtime.block_on(async {
            let so = table.wait_for(|table| table.get(&id).is_some_and(|row| is_so(&row.state)));
            tokio::time::timeout(DEADLINE, so).await.map(drop)
        });
        came.unwrap_or_else(|_| panic!("did not come; {:#?}", self.state(session)));
        self.state(session).unwrap()
    }

    /// An open session: a prompt at 0 s, indexed for a query, and another prompt at 10 s.
    pub(crate) fn open_session(&self, session: &str) -> crate::transcript::Transcript {
        let mut transcript = self.world.transcript("-work-one", session).at(start());
        transcript.prompt("the marmot asks").reply("the marmot is answered");
        self.at(5);
        self.world.ok(&["sessions"]);
        self.close(session, CloseReason::LazyQuery, "first");
        assert_eq!(self.state(session).unwrap().phase, Phase::Indexed);
        self.at(10);
        transcript.set_time(after(10));
        transcript.prompt("the marmot asks again");
        let state = self.settle(session);
        assert_eq!((state.phase, state.counts.messages), (Phase::Active, 3));
        transcript
    }

    /// Stops the daemon and returns a session's recorded events.
    fn recorded(&mut self, session: &str) -> Vec<Recorded<Event>> {
        self.stop();
        let id = SessionId::new(session);
        let events = Log::of(&self.world).events.into_iter();
        events.filter(|event| event.stream.session_id() == id).collect()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.system.is_some() && !std::thread::panicking() {
            self.stop();
        }
    }
}

fn moments(events: &[Recorded<Event>], is_it: impl Fn(&Event) -> bool) -> Vec<i64> {
    events.iter().filter(|recorded| is_it(&recorded.event)).map(|recorded| recorded.at.since_ms(start())).collect()
}

#[test]
fn a_quiet_session_goes_idle_and_is_closed_in_its_time_and_not_before() {
    let mut held = Held::new();
    let me = id(1);
    held.open_session(&me);

    // Without activity since 10 s: inactive after 60 s.
    held.clock.advance(Duration::from_millis(59_999));
    assert_eq!(held.settle(&me).phase, Phase::Active);
    held.clock.advance(Duration::from_millis(1));
    assert_eq!(held.wait_for(&me, |state| state.phase != Phase::Active).phase, Phase::Inactive);

    // Closed after half an hour.
    held.at(10 + 1_799);
    assert_eq!(held.settle(&me).phase, Phase::Inactive);
    held.at(10 + 1_800);
    let state = held.wait_for(&me, |state| state.phase == Phase::Indexed);
    assert_eq!(state.end.map(|end| end.reason), Some(CloseReason::InactivityTimeout));
    assert_eq!(state.unindexed, 0);

    let events = held.recorded(&me);
    assert_eq!(moments(&events, |event| matches!(event, Event::WentIdle)), [70_000]);
    assert_eq!(moments(&events, |event| matches!(event, Event::Ended { .. })), [1_810_000]);
}

#[test]
fn a_session_indexed_for_a_query_is_ended_by_the_timeout_without_another_index() {
    let mut held = Held::new();
    let me = id(1);
    let mut transcript = held.world.transcript("-work-one", &me).at(start());
    transcript.prompt("the marmot asks");
    held.at(5);
    held.world.search("marmot");
    let uuid = held.state(&me).unwrap().episode.unwrap().uuid;
    held.at(1_800);
    let state = held.wait_for(&me, |state| state.end.is_some());
    assert_eq!((state.phase, state.episode.unwrap().uuid), (Phase::Indexed, uuid));
    let events = held.recorded(&me);
    assert_eq!(moments(&events, |event| matches!(event, Event::Ended { .. })), [1_800_000]);
    assert_eq!(moments(&events, |event| matches!(event, Event::Indexed { .. })), [5_000]);
}

#[test]
fn a_tool_call_in_flight_holds_a_session_open() {
    let held = Held::new();
    let (me, forgotten) = (id(1), id(2));
    let mut transcript = held.open_session(&me);
    transcript.call("toolu_long", "Bash", serde_json::json!({"command": "cargo build --release"}));
    assert_eq!(held.settle(&me).read.open_calls.len(), 1);
    for hours in [1, 2, 5] {
        held.at(hours * 3_600);
        assert_eq!(held.settle(&me).phase, Phase::Active, "after {hours} hours");
    }
    // The result arrives at last, and the session is idle from then on.
    transcript.set_time(after(5 * 3_600));
    transcript.result("toolu_long", "Finished `release` profile", false);
    assert_eq!(held.settle(&me).phase, Phase::Active);
    held.at(5 * 3_600 + 60);
    held.wait_for(&me, |state| state.phase == Phase::Inactive);
    held.at(5 * 3_600 + 1_800);
    held.wait_for(&me, |state| state.phase == Phase::Indexed);

    // A call without a result keeps it open for six hours at most.
    let base = 5 * 3_600 + 1_800;
    let mut hanging = held.world.transcript("-work-one", &forgotten).at(after(base));
    hanging.prompt("start the server");
    held.world.ok(&["sessions"]);
    held.close(&forgotten, CloseReason::LazyQuery, "first");
    hanging.call("toolu_never", "Bash", serde_json::json!({"command": "npm run dev"}));
    assert_eq!(held.settle(&forgotten).phase, Phase::Active);
    // The call is dated a second after the prompt, and limited to the clock, which is before that.
    held.at(base + 6 * 3_600 + 1_799);
    assert_ne!(held.settle(&forgotten).phase, Phase::Indexed);
    held.at(base + 6 * 3_600 + 1_801);
    let state = held.wait_for(&forgotten, |state| state.phase == Phase::Indexed);
    assert_eq!(state.end.map(|end| end.reason), Some(CloseReason::InactivityTimeout));
}

#[test]
fn full_hybrid_flow() {
    let mut held = Held::new();
    let me = id(1);
    let mut transcript = held.world.transcript("-work-one", &me).at(start());
    transcript.prompt("why does the marmot whistle?").reply("To warn the others.");
    held.at(2);

    // Layer 1: an explicit close.
    let closed = held.world.close(&me);
    assert_eq!(held.world.show(&me)["end"], "explicit");
    // A query finds it, and has nothing to index.
    let found = held.world.search("whistle");
    assert_eq!(
        (&found["freshness"]["indexed_now"], &found["hits"][0]["episode_uuid"]),
        (&0.into(), &closed.clone().into())
    );

    // Layers 2 and 3: the session continues, and a query finds the new content.
    held.at(100);
    transcript.set_time(after(100));
    transcript.prompt("and the pika?").reply("It squeaks.");
    let found = held.world.search("pika");
    assert_eq!(found["freshness"]["indexed_now"], 1, "{found}");
    let lazy = text(&found["hits"][0]["episode_uuid"]);
    assert_ne!(lazy, closed);
    let row = held.world.show(&me);
    assert_eq!(
        (&row["state"], &row["end"], &row["close_reason"]),
        (&"indexed".into(), &Value::Null, &"lazy_query".into())
    );

    // It is resumed, and the last episode remains in use meanwhile.
    held.at(200);
    transcript.set_time(after(200));
    transcript.prompt("and the vicuña?");
    let state = held.settle(&me);
    assert_eq!(state.phase, Phase::Active);
    assert_eq!(state.episode.unwrap().uuid.to_string(), lazy);

    // Layer 4: nobody closes it.
    held.at(260);
    held.wait_for(&me, |state| state.phase == Phase::Inactive);
    held.at(2_000);
    let state = held.wait_for(&me, |state| state.phase == Phase::Indexed);
    assert_eq!(state.end.map(|end| end.reason), Some(CloseReason::InactivityTimeout));
    let last = state.episode.unwrap().uuid.to_string();
    assert!(last != lazy && last != closed);
    for word in ["whistle", "pika", "vicuña"] {
        let found = held.world.search(word);
        assert_eq!(found["hits"][0]["episode_uuid"], *last, "{word}: {found}");
        assert_eq!(found["freshness"]["indexed_now"], 0);
    }

    let events = held.recorded(&me);
    let indexed: Vec<String> = events
        .iter()
        .filter_map(|recorded| match &recorded.event {
            Event::Indexed { episode, .. } => Some(episode.uuid.to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(indexed, [closed, lazy, last]);
    assert_eq!(moments(&events, |event| matches!(event, Event::Resumed)), [100_000, 200_000]);
    assert_eq!(memory(held.world.home()).iter().filter(|line| line.contains("kind=session")).count(), 1);
}

#[test]
fn what_time_brought_about_while_no_daemon_ran_is_made_up_for() {
    let mut held = Held::new();
    let me = id(1);
    held.open_session(&me);
    held.stop();
    held.at(3_600);
    held.begin();
    let state = held.wait_for(&me, |state| state.phase == Phase::Indexed);
    assert_eq!(state.end.map(|end| end.reason), Some(CloseReason::InactivityTimeout));
    assert_eq!((state.unindexed, state.counts.messages), (0, 3));
}

#[test]
fn late_records_belong_to_the_end_and_do_not_resume() {
    let mut held = Held::new();
    let me = id(1);
    let mut transcript = held.world.transcript("-work-one", &me).at(start());
    transcript.prompt("close yourself").reply("closing");
    held.at(10);
    held.world.close(&me);
    // A transcript may lag behind its hook: the record is dated before the end plus two seconds.
    transcript.set_time(after(9));
    transcript.reply("last words of the marmot");
    let state = held.settle(&me);
    assert_eq!((state.phase, state.counts.messages, state.end.is_some()), (Phase::Indexed, 3, true));
    // They are indexed in the background after a minute without activity.
    held.at(70);
    held.wait_for(&me, |state| state.unindexed == 0);
    assert_eq!(held.world.search("last words")["hits"][0]["session_id"], *me);
    let events = held.recorded(&me);
    assert_eq!(moments(&events, |event| matches!(event, Event::Resumed)), [0; 0]);
    assert_eq!(moments(&events, |event| matches!(event, Event::Indexed { .. })).len(), 2);
}
