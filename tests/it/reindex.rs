//! Stored conversations are made anew on request, and never otherwise.

use baton_config::settings::Settings;
use baton_events::session::{CloseReason, Event, Phase, Policy};

use crate::record::Log;
use crate::time::{Held, after};
use crate::world::{World, id, text};

fn by_filter(version: u32) -> Settings {
    Settings { policy: Policy { filter_version: version, ..Policy::default() }, ..Settings::default() }
}

#[test]
fn what_an_older_filter_made_is_made_anew_when_a_person_asks() {
    let mut held = Held::new();
    let (me, gone) = (id(1), id(2));
    held.stop();
    held.begin_with(by_filter(7));
    held.world.transcript("-work-one", &me).at(after(0)).prompt("the marmot asks").reply("the marmot is answered");
    let mut vanishing = held.world.transcript("-work-one", &gone).at(after(0));
    vanishing.prompt("the badger asks").reply("the badger is answered");
    held.at(5);
    for session in [&me, &gone] {
        held.world.ok(&["close", session]);
        assert_eq!(held.state(session).unwrap().episode.unwrap().filter_version, 7);
    }
    std::fs::remove_file(vanishing.path()).unwrap();
    held.stop();
    held.begin_with(by_filter(8));
    let of = |held: &Held, session: &str| held.state(session).unwrap().episode.unwrap();
    let before = of(&held, &me);
    // A query and the passing of time change nothing.
    assert_eq!(held.world.found("marmot"), [me.as_str()]);
    held.settle(&me);
    assert_eq!(of(&held, &me), before);
    let status = held.world.json(&["status"]);
    assert_eq!(status["older_filter"], 1, "of the other there is no transcript: {status}");
    let told = "1 session was made by an older filter; `baton reindex` rebuilds it";
    let human = held.world.ok(&["status"]).out;
    assert!(human.contains(told), "{human}");

    let done = held.world.json(&["reindex"]);
    assert_eq!(
        (&done["status"], &done["sessions"], &done["failures"]),
        (&"success".into(), &2.into(), &0.into()),
        "{done}"
    );
    let now = of(&held, &me);
    assert_eq!((now.filter_version, now.hash, now.generation, now.to), (8, before.hash, 1, before.to));
    assert_ne!(now.manifest, before.manifest, "the filter's version stands in it");
    let kept = of(&held, &gone);
    assert_eq!(
        (kept.filter_version, held.state(&gone).unwrap().phase),
        (7, Phase::Indexed),
        "by the filter that made it"
    );
    assert_eq!(held.world.json(&["status"])["older_filter"], serde_json::Value::Null);
    assert!(!held.world.ok(&["status"]).out.contains("older filter"));
    assert_eq!((held.world.found("marmot"), held.world.found("badger")), (vec![me.clone()], vec![gone]));
    assert_eq!(held.state(&me).unwrap().last_close, Some(CloseReason::Explicit), "it closes nothing");

    // Later lines are read from where that ended.
    let mut transcript = crate::transcript::Transcript::new(
        held.world.projects().join(format!("-work-one/{me}.jsonl")),
        &me,
        "/srv/-work-one",
    )
    .at(after(20));
    held.at(20);
    transcript.prompt("the marmot asks for more").reply("there is more");
    held.world.ok(&["close", &me]);
    assert!(of(&held, &me).items > now.items);
    let all = held.world.json(&["reindex", "--all"]);
    assert_eq!((&all["sessions"], &all["unchanged"]), (&2.into(), &2.into()), "{all}");
    assert_eq!(held.world.json(&["reindex", &me[..8]])["sessions"], 1);
    assert_eq!(held.world.json(&["reindex", "--project", "/srv/-work-one"])["sessions"], 2);
    held.stop();
    let log = Log::of(&held.world);
    let anew = log
        .of_session(&me)
        .filter(|event| matches!(event, Event::IndexingStarted { reason: CloseReason::Reindex, .. }));
    assert_eq!(anew.count(), 4);
}

#[test]
fn nothing_to_do_is_said_and_what_may_not_be_touched_is_left_alone() {
    let world = World::new();
    assert!(text(&world.json(&["reindex"])["message"]).contains("nothing to rebuild"));
    world.transcript("-work-one", &id(1)).prompt("the marmot asks").reply("it is answered");
    assert_eq!(world.found("marmot"), [id(1)]);
    assert_eq!(world.json(&["reindex"])["sessions"], 0);
    crate::tracking::ask(&world, "untrack", &serde_json::json!({"session": id(1)}));
    let left = world.json(&["reindex", &id(1)]);
    assert_eq!((&left["skipped"], &left["status"]), (&1.into(), &"success".into()), "{left}");
    world.ok(&["forget", "--yes", &id(1)]);
    let left = world.json(&["reindex", &id(1)]);
    assert_eq!(left["skipped"], 1, "{left}");
    assert_eq!(world.run(&["reindex", &id(1), "--all"]).code, 2);
}
