//! Signals of hooks and connections, and their consequences: recorded before they are acknowledged, followed by the
//! close, whatever fails in between.

use std::sync::Arc;
use std::time::Duration;

use baton_conversation::record::{CommandId, SequenceNumber, SessionId, StreamId, Timestamp};
use baton_events::session::{CloseReason, Phase, Signal, SignalDetail, SignalKind, State};
use baton_tracking::session::{SignalCall, Signalled};
use serde_json::json;

use crate::faults::Fault;
use crate::world::{DEADLINE, House, NOW, World};

fn signal(kind: SignalKind, detail: Option<SignalDetail>, id: &str, at: Timestamp) -> SignalCall {
    SignalCall { signal: Signal { kind, detail, at, follows: None }, command: CommandId::new(id) }
}

fn cleared(id: &str) -> SignalCall {
    signal(SignalKind::SessionEnd, Some(SignalDetail::Clear), id, NOW)
}

async fn tell(house: &House, session: &SessionId, call: SignalCall) -> Signalled {
    house.parts().supervisor.signal(session, None, call, DEADLINE).await.unwrap()
}

/// True if the session is indexed with this end and owes no close.
fn is_over(state: &State, reason: CloseReason) -> bool {
    let ended = state.end.map(|end| end.reason) == Some(reason);
    ended && state.phase == Phase::Indexed && state.signals.close_owed.is_none()
}

/// The kinds of a session's events, in order.
fn kinds(world: &World, id: &SessionId) -> Vec<String> {
    let records = world.journal.log().read_stream(&StreamId::session(id), SequenceNumber(0), 4096).unwrap();
    records.into_iter().map(|record| record.kind).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_end_is_acknowledged_before_anything_is_read_and_closed_after() {
    let world = World::new();
    let house = world.start().await;
    let mut story = world.story("cleared");
    story.say("what of subject?");
    world.until_read(&house, &story).await;
    story.say("and its last words?");
    assert_eq!(tell(&house, story.id(), cleared("a")).await, Signalled::Recorded);
    world.until(story.id(), "over", |state| is_over(state, CloseReason::HookClear)).await;
    world.until_indexed(&story).await;
    let kinds = kinds(&world, story.id());
    let expected = ["ended", "signalled", "records_appended", "close_requested", "indexing_started", "indexed"];
    assert_eq!(kinds[kinds.len() - expected.len()..], expected, "{kinds:?}");
    assert_eq!(house.found("last words").await, ["cleared"]);
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_was_empty_when_it_was_found_is_read_as_soon_as_something_is_in_it() {
    let world = World::new();
    let house = world.start().await;
    let mut story = world.story("begun");
    story.begin();
    world.until_read(&house, &story).await;
    // Its next turn is a check interval later, after a minute.
    story.say("what of subject?");
    let read = tokio::time::timeout(DEADLINE / 2, world.until_read(&house, &story)).await;
    assert!(read.is_ok(), "it is read in its next turn only");
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i1_an_acknowledged_end_survives_a_crash_and_is_closed_with_its_reason() {
    let details = [
        (SignalDetail::Clear, CloseReason::HookClear),
        (SignalDetail::Resume, CloseReason::HookResume),
        (SignalDetail::Logout, CloseReason::HookLogout),
        (SignalDetail::PromptInputExit, CloseReason::HookPromptInputExit),
        (SignalDetail::Other, CloseReason::HookOther),
    ];
    let world = World::new();
    let mut stories = Vec::new();
    let house = world.start().await;
    for (detail, reason) in details {
        let mut story = world.story(&format!("ended-{detail}"));
        story.say("what of subject?");
        world.until_read(&house, &story).await;
        stories.push((story, detail, reason));
    }
    // From here on the log refuses what follows from an end.
    world.journal.next(u32::MAX, "close_requested", Fault::Refuse);
    for (story, detail, _) in &stories {
        let call = signal(SignalKind::SessionEnd, Some(*detail), &format!("end-{detail}"), NOW);
        assert_eq!(tell(&house, story.id(), call).await, Signalled::Recorded, "{detail}");
    }
    baton_journal::Journal::close(&*world.journal);
    house.stop().await;
    world.journal.heal();
    for (story, _, reason) in &stories {
        let state = world.state(story.id()).unwrap();
        assert_eq!((state.end.map(|end| end.reason), state.signals.close_owed), (Some(*reason), Some(*reason)));
    }
    // Without any request.
    let house = world.start_again().await;
    for (story, _, reason) in &stories {
        world.until(story.id(), "over", |state| is_over(state, *reason)).await;
        for once in ["ended", "signalled", "close_requested", "indexed"] {
            assert_eq!(world.events(story.id(), once), 1, "{once} of {}", story.id());
        }
    }
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_end_whose_actor_fails_is_recorded_once_and_closed() {
    let world = World::new();
    let house = world.start().await;
    let faults = [Fault::Panic, Fault::PanicAfter, Fault::LoseAnswer, Fault::Conflict, Fault::Late];
    let kinds = ["signalled", "close_requested", "records_appended"];
    let cases = kinds.into_iter().flat_map(|kind| faults.map(|fault| (kind, fault)));
    for (number, (kind, fault)) in cases.enumerate() {
        let mut story = world.story(&format!("session-{number}"));
        story.say(&format!("what of subject{number}?"));
        world.until_read(&house, &story).await;
        story.say("and then?");
        world.journal.next(1, kind, fault);
        let first = tell(&house, story.id(), cleared(&format!("end-{number}"))).await;
        // A hook without an answer leaves its signal in the spool, so it arrives again.
        let told = match first {
            Signalled::Failed { .. } => tell(&house, story.id(), cleared(&format!("end-{number}"))).await,
            told => told,
        };
        assert!(matches!(told, Signalled::Recorded | Signalled::Known), "{kind} {fault:?}: {told:?}");
        world.until(story.id(), "over", |state| is_over(state, CloseReason::HookClear)).await;
        world.until_indexed(&story).await;
        for once in ["ended", "signalled", "close_requested", "indexed"] {
            assert_eq!(world.events(story.id(), once), 1, "{once} after {kind} {fault:?}");
        }
    }
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i4_the_same_signal_at_once_from_many_is_recorded_once() {
    let world = World::new();
    let house = world.start().await;
    let mut story = world.story("told");
    story.say("what of subject?");
    world.until_read(&house, &story).await;
    let supervisor = house.parts().supervisor.clone();
    let calls: Vec<_> = (0..8)
        .map(|_| {
            let (supervisor, id) = (supervisor.clone(), story.id().clone());
            tokio::spawn(async move { supervisor.signal(&id, None, cleared("same"), DEADLINE).await.unwrap() })
        })
        .collect();
    let mut recorded = 0;
    for call in calls {
        match call.await.unwrap() {
            Signalled::Recorded => recorded += 1,
            other => assert_eq!(other, Signalled::Known),
        }
    }
    assert_eq!(recorded, 1);
    world.until(story.id(), "over", |state| is_over(state, CloseReason::HookClear)).await;
    // The same with a daemon that did not receive the first one.
    house.stop().await;
    let house = world.start_again().await;
    assert_eq!(tell(&house, story.id(), cleared("same")).await, Signalled::Known);
    assert_eq!(world.events(story.id(), "signalled"), 1);
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closes_and_signals_at_once_come_to_one_end_and_one_episode() {
    let world = World::new();
    let house = Arc::new(world.start().await);
    for number in 0..12 {
        let mut story = world.story(&format!("raced-{number}"));
        story.say(&format!("what of subject{number}?"));
        world.until_read(&house, &story).await;
        story.say("and at last?");
        let supervisor = house.parts().supervisor.clone();
        let hook = |kind, detail, name: &str| {
            let (supervisor, id) = (supervisor.clone(), story.id().clone());
            let call = signal(kind, detail, &format!("{name}-{number}"), NOW);
            tokio::spawn(async move { supervisor.signal(&id, None, call, DEADLINE).await.unwrap() })
        };
        let signals = [
            hook(SignalKind::PreCompact, None, "compact"),
            hook(SignalKind::SessionEnd, Some(SignalDetail::Clear), "end"),
            hook(SignalKind::McpDisconnect, None, "left"),
        ];
        let (close, search) = tokio::join!(
            house.call("close", json!({"session": story.id().as_str(), "deadline_ms": 30_000})),
            house.call("search", json!({"query": "subject"})),
        );
        assert_eq!(close.unwrap()["status"], "success");
        search.unwrap();
        for signal in signals {
            assert_eq!(signal.await.unwrap(), Signalled::Recorded);
        }
        let settled = |state: &State| state.phase == Phase::Indexed && state.signals.close_owed.is_none();
        world.until(story.id(), "at rest", settled).await;
        world.until_indexed(&story).await;
        let state = world.state(story.id()).unwrap();
        let reason = state.end.map(|end| end.reason);
        assert!(matches!(reason, Some(CloseReason::Explicit | CloseReason::HookClear)), "{reason:?}");
        assert_eq!(world.events(story.id(), "ended"), 1, "{:?}", kinds(&world, story.id()));
        assert_eq!(house.found(&format!("subject{number}")).await, [story.id().as_str()]);
    }
    Arc::into_inner(house).unwrap().stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_ended_before_its_transcript_came_is_closed_when_it_comes() {
    let world = World::new();
    let house = world.start().await;
    let (mut early, never) = (world.story("early"), world.story("never"));
    let start = || signal(SignalKind::SessionStart, Some(SignalDetail::Startup), "start", NOW);
    for id in [early.id(), never.id()] {
        assert_eq!(tell(&house, id, start()).await, Signalled::Recorded);
        assert_eq!(tell(&house, id, cleared("end")).await, Signalled::Recorded);
    }
    early.say("what of subject?");
    world.until_read(&house, &early).await;
    world.until(early.id(), "over", |state| is_over(state, CloseReason::HookClear)).await;
    assert_eq!(house.found("subject").await, ["early"]);
    let state = world.state(never.id()).unwrap();
    assert_eq!((state.phase, kinds(&world, never.id()).len()), (Phase::New, 3), "{state:?}");
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i1_nothing_is_written_is_only_said_of_a_session_in_which_nothing_is() {
    let world = World::new();
    let house = world.start().await;
    let mut story = world.story("told");
    let start = signal(SignalKind::SessionStart, Some(SignalDetail::Startup), "start", NOW);
    assert_eq!(tell(&house, story.id(), start).await, Signalled::Recorded);
    let closed = house.close(story.id()).await;
    assert_eq!(closed["status"], "success", "{closed}");
    assert!(closed["message"].as_str().unwrap().starts_with("nothing is written"), "{closed}");
    // The file exists, but its discovery cannot be recorded.
    world.journal.next(u32::MAX, "discovered", Fault::Refuse);
    story.say("what of subject?");
    let closed = house.close(story.id()).await;
    assert_eq!(closed["status"], "error", "{closed}");
    world.journal.heal();
    world.until_read(&house, &story).await;
    house.closed(story.id()).await;
    assert_eq!(world.events(story.id(), "close_requested"), 1);
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_closed_is_an_end_unless_something_comes() {
    let world = World::new();
    let house = world.start().await;
    let (mut left, mut stayed) = (world.story("left"), world.story("stayed"));
    for story in [&mut left, &mut stayed] {
        story.say("what of subject?");
        world.until_read(&house, story).await;
        let call = signal(SignalKind::McpDisconnect, None, "closed", NOW);
        assert_eq!(tell(&house, story.id(), call).await, Signalled::Recorded);
    }
    world.clock.advance(Duration::from_secs(1));
    let prompt = signal(SignalKind::UserPromptSubmit, None, "typed", NOW.plus_ms(1_000));
    assert_eq!(tell(&house, stayed.id(), prompt).await, Signalled::Recorded);
    world.clock.advance(Duration::from_secs(60));
    world.until(left.id(), "over", |state| is_over(state, CloseReason::McpDisconnect)).await;
    world.clock.advance(Duration::from_secs(60));
    world.until(stayed.id(), "idle", |state| state.phase == Phase::Inactive && state.end.is_none()).await;
    house.stop().await;
}
