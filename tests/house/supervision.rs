//! Actors that fail: rebuilt from the log, or left alone and reported.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use baton_base::clock::{Clock, ManualClock};
use baton_conversation::record::{SessionId, StreamId, Timestamp};
use baton_events::session::{CloseReason, Phase};
use baton_tracking::supervisor::Degraded;
use serde_json::json;

use crate::faults::{Fault, Read, ReadFault};
use crate::world::{DEADLINE, NOW, World};

/// One failure more than the restart budget allows.
const TOO_MANY: usize = baton_base::limits::RESTARTS + 1;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_whose_actor_fails_is_asked_again_and_recorded_once() {
    let faults = [
        ("close_requested", Fault::Panic),
        ("close_requested", Fault::PanicAfter),
        ("close_requested", Fault::LoseAnswer),
        ("close_requested", Fault::Conflict),
        ("close_requested", Fault::Late),
        ("records_appended", Fault::Panic),
        ("records_appended", Fault::PanicAfter),
        ("records_appended", Fault::LoseAnswer),
        ("records_appended", Fault::Conflict),
        ("indexed", Fault::Panic),
        ("indexed", Fault::PanicAfter),
        ("indexed", Fault::LoseAnswer),
        ("indexed", Fault::Conflict),
    ];
    let world = World::new();
    let house = world.start().await;
    for (number, (kind, fault)) in faults.into_iter().enumerate() {
        let mut story = world.story(&format!("session-{number}"));
        story.say(&format!("what of subject{number}?"));
        world.until_read(&house, &story).await;
        story.say("and then?");
        world.journal.next(1, kind, fault);
        let closed = house.close(story.id()).await;
        assert_eq!(closed["status"], "success", "{kind} {fault:?}: {closed}");
        let state = world.state(story.id()).unwrap();
        assert_eq!((state.phase, state.counts.messages), (Phase::Indexed, story.messages), "{kind} {fault:?}");
        assert_eq!(state.end.map(|end| end.reason), Some(CloseReason::Explicit), "{kind} {fault:?}");
        for once in ["close_requested", "indexing_started", "indexed", "ended"] {
            assert_eq!(world.events(story.id(), once), 1, "{once} after {kind} {fault:?}");
        }
        assert_eq!(house.found(&format!("subject{number}")).await, [story.id().as_str()], "{kind} {fault:?}");
    }
    assert_eq!(house.problems().await, "[]");
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_switch_whose_actor_fails_is_asked_again() {
    let world = World::new();
    let house = world.start().await;
    for fault in [Fault::Panic, Fault::PanicAfter, Fault::Conflict] {
        let mut story = world.story(&format!("stopped-{fault:?}"));
        story.say("what now?");
        house.closed(story.id()).await;
        world.journal.next(1, "tracking_stopped", fault);
        let stopped = house.call("untrack", json!({"session": story.id().as_str()})).await.unwrap();
        assert_eq!(stopped["status"], "success", "{fault:?}: {stopped}");
        world.journal.next(1, "tracking_resumed", fault);
        let tracked = house.call("track", json!({"session": story.id().as_str()})).await.unwrap();
        assert_eq!(tracked["status"], "success", "{fault:?}: {tracked}");
        let recorded = ["tracking_stopped", "tracking_resumed"].map(|kind| world.events(story.id(), kind));
        assert_eq!(recorded, [1, 1], "{fault:?}");
    }
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_poisoned_session_is_left_alone_named_and_tried_again() {
    let world = World::new();
    let poisoned = world.story("poisoned").id().clone();
    let tried = Arc::new(AtomicUsize::new(0));
    {
        let (tried, stream) = (tried.clone(), StreamId::session(&poisoned));
        world.journal.on_read(move |read| {
            let meant = read == Read::Stream(&stream);
            tried.fetch_add(usize::from(meant), Ordering::SeqCst);
            meant.then_some(ReadFault::Panic)
        });
    }
    let mut stories: Vec<_> = (0..8).map(|number| world.story(&format!("sound-{number}"))).collect();
    let mut poison = world.story("poisoned");
    poison.say("the words that break it");
    stories.iter_mut().for_each(|story| story.say("all is well"));
    let house = world.start().await;
    let problems = house.until_problem("poisoned keeps failing", true).await;
    assert!(problems.contains("next try") && problems.contains("baton close"), "{problems}");
    for story in &stories {
        house.closed(story.id()).await;
    }
    let tries = tried.load(Ordering::SeqCst);
    assert!(tries <= TOO_MANY, "{tries} tries");
    // A query does not retry the session, and says what is missing.
    let found = house.call("search", json!({"query": "well"})).await.unwrap();
    assert_eq!(found["freshness"]["pending_sessions"], json!(["poisoned"]), "{found}");
    assert_eq!(tried.load(Ordering::SeqCst), tries, "a query is no reason to try it again");
    // A person's close does.
    let closed = house.close(&poisoned).await;
    assert_eq!(closed["status"], "error", "{closed}");
    let message = closed["message"].as_str().unwrap();
    assert!(message.contains("keeps failing") && message.contains("daemon.log"), "{closed}");
    assert_eq!(tried.load(Ordering::SeqCst), tries + 1, "once, for it is meant");
    // After the pause it is retried once, and the next pause is longer.
    world.clock.advance(Duration::from_secs(61));
    let more = async {
        loop {
            // The failure of the person's attempt is processed after the answer, so its pause may start only now.
            let until = house.parts().degraded.now().iter().find_map(|degraded| match degraded {
                Degraded::Session { until, .. } => Some(*until),
                _ => None,
            });
            if tried.load(Ordering::SeqCst) > tries + 1 {
                break;
            }
            if until.is_some_and(|until| until > world.clock.now()) {
                world.clock.advance(Duration::from_secs(61));
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(DEADLINE, more).await.expect("the session is tried again");
    house.until_problem("poisoned keeps failing", true).await;
    world.clock.advance(Duration::from_secs(61));
    house.closed(stories[0].id()).await;
    assert!(house.problems().await.contains("poisoned keeps failing"));
    assert_eq!(tried.load(Ordering::SeqCst), tries + 2);
    // Once the fault is gone, a person's close is enough.
    world.journal.heal();
    house.closed(&poisoned).await;
    house.until_problem("poisoned", false).await;
    assert_eq!(house.found("words break").await, ["poisoned"]);
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_whose_history_cannot_be_read_says_so_and_is_read_when_it_can_be() {
    let world = World::new();
    let (mut broken, mut sound) = (world.story("broken"), world.story("sound"));
    broken.say("before it broke");
    sound.say("all is well");
    let house = world.start().await;
    let before = house.closed(broken.id()).await;
    house.stop().await;
    let stream = StreamId::session(broken.id());
    world.journal.on_read(move |read| (read == Read::Stream(&stream)).then_some(ReadFault::Fail));
    let house = world.start_again().await;
    broken.say("and after");
    house.closed(sound.id()).await;
    let closed = house.close(broken.id()).await;
    assert_eq!(closed["status"], "error", "{closed}");
    assert!(closed["message"].as_str().unwrap().contains("it was to fail"), "{closed}");
    let problems = house.until_problem("history of session broken cannot be read", true).await;
    assert!(problems.contains("it was to fail") && problems.contains("log verify"), "{problems}");
    let shown = house.call("show", json!({"session": "broken"})).await.unwrap();
    assert_eq!(shown["episode_uuid"], json!(before), "its last episode serves on");
    assert_eq!(house.found("before broke").await, ["broken"]);
    world.journal.heal();
    // Without a request it is read after its pause.
    world.clock.advance(Duration::from_secs(61));
    house.until_problem("broken", false).await;
    assert_ne!(house.closed(broken.id()).await, before);
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_memory_that_breaks_is_begun_anew_and_those_who_wait_are_answered() {
    let world = World::new();
    let house = world.start().await;
    let mut story = world.story("remembered");
    story.say("the first subject");
    house.closed(story.id()).await;
    for number in 0..3 {
        let broke = Arc::new(AtomicBool::new(false));
        {
            let broke = broke.clone();
            world.journal.on_read(move |read| {
                let meant = read == Read::Everything && !broke.swap(true, Ordering::SeqCst);
                meant.then_some(ReadFault::Panic)
            });
        }
        story.say(&format!("subject{number} comes"));
        house.closed(story.id()).await;
        assert!(broke.load(Ordering::SeqCst));
        assert_eq!(house.found(&format!("subject{number}")).await, ["remembered"]);
    }
    assert_eq!(house.found("first").await, ["remembered"]);
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_indexer_the_house_still_tells_what_it_knows() {
    let world = World::new();
    let mut story = world.story("known");
    story.say("an old subject");
    let house = world.start().await;
    let episode = house.closed(story.id()).await;
    world.journal.on_read(|read| (read == Read::Everything).then_some(ReadFault::Panic));
    story.say("a new subject");
    let closing = house.call("close", json!({"session": "known", "deadline_ms": 20_000})).await.unwrap();
    assert_eq!(closing["status"], "error", "{closing}");
    let problems = house.until_problem("the indexer keeps failing", true).await;
    assert!(problems.contains("daemon.log") && problems.contains("next try"), "{problems}");
    let shown = house.call("show", json!({"session": "known"})).await.unwrap();
    assert!(shown["episode_uuid"].is_string(), "{shown}");
    let sessions = house.call("sessions", json!({})).await.unwrap();
    assert_eq!(sessions["sessions"].as_array().unwrap().len(), 1);
    assert!(!*house.parts().stop.borrow(), "the daemon goes on");
    world.journal.heal();
    world.clock.advance(Duration::from_secs(61));
    house.until_problem("indexer", false).await;
    assert_ne!(house.closed(story.id()).await, episode);
    assert_eq!(house.found("new subject").await, ["known"]);
    house.stop().await;
}

/// A clock that makes its next caller panic, once.
struct Breaking {
    clock: ManualClock,
    breaks: AtomicBool,
}

impl Clock for Breaking {
    fn now(&self) -> Timestamp {
        assert!(!self.breaks.swap(false, Ordering::SeqCst), "the clock was to break");
        self.clock.now()
    }

    fn asleep_ms(&self, since: Timestamp) -> i64 {
        self.clock.asleep_ms(since)
    }

    fn sleep_until(&self, at: Timestamp) -> std::pin::Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        self.clock.sleep_until(at)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn when_the_supervisor_fails_the_daemon_ends_and_the_next_one_lacks_nothing() {
    let world = World::new();
    let mut story = world.story("known");
    story.say("an old subject");
    let clock = Arc::new(Breaking { clock: ManualClock::new(NOW), breaks: AtomicBool::new(false) });
    let house = world.start_with(&world.home(), world.journal.clone(), clock.clone()).await;
    let episode = house.closed(story.id()).await;
    // Another caller may ask for the time first and panic instead, so this is repeated until it is the supervisor.
    let breaking = async {
        loop {
            clock.breaks.store(true, Ordering::SeqCst);
            if house.parts().supervisor.resolve(SessionId::new("not-known").unwrap()).await.is_err() {
                return;
            }
        }
    };
    tokio::time::timeout(DEADLINE, breaking).await.expect("the supervisor breaks");
    let asked = tokio::time::timeout(DEADLINE, house.system.stop_asked()).await;
    assert!(asked.is_ok(), "the daemon ends by itself");
    house.stop().await;
    let house = world.start_again().await;
    assert_eq!(house.closed(story.id()).await, episode);
    assert_eq!(house.found("old subject").await, ["known"]);
    house.stop().await;
}
