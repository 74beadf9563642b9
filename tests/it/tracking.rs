//! While tracking is stopped, no layer touches a session: its last episode remains in use, and the next query after the
//! stop is lifted finds what was added meanwhile.

use baton_base::transcript_file;
use baton_base::transcript_file::{FileSeen, FileStat};
use baton_conversation::item::Agent;
use baton_conversation::record::SessionId;
use baton_events::session::{CloseReason, Phase, Rejection, UnindexedReason};
use baton_tracking::session::Outcome;
use serde_json::{Value, json};

use crate::record::Log;
use crate::sockets::Raw;
use crate::time::{Held, after};
use crate::world::{DEADLINE, World, files_below, id, text};

const PROJECT: &str = "/srv/-work-one";

/// Calls a method and returns its result.
pub(crate) fn ask(world: &World, method: &str, params: &Value) -> Value {
    let answer = Raw::greeted(world).call(&json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}));
    assert!(answer["error"].is_null(), "{answer}");
    answer["result"].clone()
}

fn configure(world: &World, text: &str) {
    std::fs::create_dir_all(world.home()).unwrap();
    std::fs::write(world.home().join("config.json"), text).unwrap();
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Session,
    Project,
    Global,
}

impl Kind {
    fn stop(self, world: &World, me: &str) {
        match self {
            Self::Session => {
                let stopped = ask(world, "untrack", &json!({"session": me}));
                assert_eq!((&stopped["status"], &stopped["session_id"]), (&"success".into(), &me.into()), "{stopped}");
                let again = ask(world, "untrack", &json!({"session": me}));
                assert_eq!(again["status"], "success", "{again}");
            }
            Self::Project => drop(world.ok(&["session-tracking", "disable", "--project", PROJECT])),
            Self::Global => drop(world.ok(&["session-tracking", "disable"])),
        }
    }

    fn lift(self, world: &World, me: &str) {
        match self {
            Self::Session => {
                let tracked = ask(world, "track", &json!({"session": me}));
                assert_eq!(tracked["status"], "success", "{tracked}");
            }
            Self::Project => drop(world.ok(&["session-tracking", "enable", "--project=-work-one"])),
            Self::Global => drop(world.ok(&["session-tracking", "enable"])),
        }
    }

    /// The advice in the message of a close.
    fn way_out(self) -> &'static str {
        match self {
            Self::Session => "`track_session` lifts that",
            Self::Project => "`baton session-tracking enable --project /srv/-work-one`",
            Self::Global => "`baton session-tracking enable`",
        }
    }

    fn rejection(self) -> Rejection {
        match self {
            Self::Session => Rejection::Untracked,
            Self::Project | Self::Global => Rejection::SwitchedOff,
        }
    }
}

/// Tries every layer in turn on a session with new content.
fn no_layer_touches(kind: Kind) {
    let mut held = Held::new();
    let me = id(1);
    let mut transcript = held.open_session(&me);
    let before = held.state(&me).unwrap();
    let episode = before.episode.as_ref().unwrap().uuid;
    kind.stop(&held.world, &me);
    transcript.set_time(after(20));
    transcript.prompt("the wombat came in secret").reply("nobody saw it");

    let untouched = |held: &Held, layer: &str| {
        let state = held.state(&me).unwrap();
        assert_eq!(state.read.offset, before.read.offset, "{kind:?}: {layer} has read");
        assert_eq!(state.episode.as_ref().map(|episode| episode.uuid), Some(episode), "{kind:?}: {layer} has indexed");
        assert_eq!((state.end, state.starts), (before.end, before.starts), "{kind:?}: {layer} has closed");
    };

    // Layer 2, a query, with and without waiting.
    let found = held.world.search("wombat");
    assert_eq!((&found["hits"], &found["freshness"]["indexed_now"]), (&json!([]), &0.into()), "{kind:?}");
    assert_eq!(held.world.json(&["search", "wombat", "--no-wait"])["hits"], json!([]), "{kind:?}");
    untouched(&held, "a query");
    assert_eq!(held.world.found("marmot"), [me.as_str()], "its last episode serves");
    let row = held.world.show(&me);
    assert_eq!((&row["tracked"], &row["episode_uuid"]), (&false.into(), &text(&row["episode"]["uuid"]).into()));

    // Layer 1, an explicit close.
    let closed = held.world.close_fails(&[&me]);
    assert!(text(&closed["message"]).contains(kind.way_out()), "{closed}");
    assert_eq!(closed["episode_uuid"], *episode.to_string());
    untouched(&held, "a close");

    // Hooks, and a sync.
    for reason in [CloseReason::HookClear, CloseReason::HookCompact, CloseReason::Sync, CloseReason::McpDisconnect] {
        let outcome = held.close(&me, reason, reason.as_str()).outcome;
        assert_eq!(outcome, Outcome::Refused(kind.rejection()), "{kind:?}: {reason}");
        untouched(&held, reason.as_str());
    }

    // Layer 4, the timeout; and the sweep, which looks at all files.
    held.at(3_600);
    held.settle(&me);
    untouched(&held, "the timeout");
    held.world.ok(&["sessions"]);
    untouched(&held, "a sweep");

    // The same after a restart.
    held.stop();
    held.at(7_200);
    held.begin();
    held.settle(&me);
    untouched(&held, "a restart");
    assert_eq!(held.world.search("wombat")["hits"], json!([]), "{kind:?} after a restart");
    held.world.close_fails(&[&me]);
    untouched(&held, "a close after a restart");

    // After the stop is lifted the next query finds what was added.
    kind.lift(&held.world, &me);
    assert_eq!(held.world.found("wombat"), [me.as_str()], "{kind:?}");
    assert_eq!(held.world.show(&me)["tracked"], true);
    assert_eq!(held.state(&me).unwrap().phase, Phase::Indexed);
}

#[test]
fn no_layer_touches_a_stopped_session() {
    no_layer_touches(Kind::Session);
}

#[test]
fn no_layer_touches_a_session_of_a_stopped_project() {
    no_layer_touches(Kind::Project);
}

#[test]
fn no_layer_touches_any_session_while_tracking_is_off() {
    no_layer_touches(Kind::Global);
}

#[test]
fn a_session_that_a_switch_keeps_out_can_be_forced_in_and_the_stop_takes_it_back() {
    let world = World::new();
    world.ok(&["session-tracking", "disable"]);
    let (me, other) = (id(1), id(2));
    let mut transcript = world.transcript("-work-one", &me);
    transcript.prompt("the quokka smiles").reply("it does");
    world.transcript("-work-one", &other).prompt("the quokka sleeps");
    assert_eq!(world.found("quokka"), [""; 0]);
    assert_eq!(world.sessions(), [] as [Value; 0], "it was not even discovered");
    let shown = world.run(&["show", &me]);
    assert!(shown.code == 1 && shown.err.contains("because of the configuration"), "{}", shown.err);

    // Without force the message names both remedies.
    let refused = ask(&world, "track", &json!({"session": &me}));
    assert_eq!(refused["status"], "error");
    let message = text(&refused["message"]);
    assert!(message.contains("`baton session-tracking enable`") && message.contains("`force`"), "{message}");

    let forced = ask(&world, "track", &json!({"session": &me, "force": true}));
    assert_eq!((&forced["status"], &forced["session_id"]), (&"success".into(), &me.clone().into()), "{forced}");
    assert_eq!(world.found("quokka"), [me.as_str()], "this one alone");
    world.stop();
    transcript.prompt("and the numbat").reply("too");
    assert_eq!(world.found("numbat"), [me.as_str()], "over a restart");

    let stopped = ask(&world, "untrack", &json!({"session": &me}));
    assert_eq!(stopped["status"], "success");
    transcript.prompt("not the bilby");
    world.ok(&["session-tracking", "enable"]);
    assert_eq!(world.found("bilby"), [""; 0], "its own stop outlives the switch");
    assert_eq!(world.found("quokka").len(), 2, "the other is found now");
    ask(&world, "track", &json!({"session": &me}));
    assert_eq!(world.found("bilby"), [me.as_str()]);

    let unknown = ask(&world, "track", &json!({"session": "00000001-ffff"}));
    assert_eq!(unknown["status"], "error");
    assert!(text(&unknown["message"]).contains(&me), "near names: {unknown}");
}

#[test]
fn an_excluded_project_is_never_read_and_what_is_known_of_it_is_hidden_until_it_is_lifted() {
    let world = World::new();
    let (private, public) = (id(1), id(2));
    world.transcript("-public", &public).prompt("the tarsier in public").reply("yes");
    let mut known = world.transcript("-private", &private);
    known.prompt("the tarsier in private").reply("yes");
    assert_eq!(world.found("tarsier").len(), 2);

    configure(&world, r#"{"session_tracking": {"exclude": ["/srv/-priv*"]}}"#);
    assert_eq!(world.found("tarsier"), [public.as_str()], "hidden at once");
    assert_eq!(world.sessions().len(), 1);
    known.prompt("the loris, later");
    let fresh = id(3);
    let mut new = world.transcript("-private", &fresh);
    // The record that names the project comes late: until then there is nothing to read.
    new.metadata();
    world.ok(&["sessions"]);
    new.prompt("the loris, anew");
    assert_eq!(world.found("loris"), [""; 0]);
    for arguments in [["show", &private], ["close", &private], ["show", &fresh]] {
        let refused = world.run(&arguments);
        assert!(refused.code == 1 && refused.out.is_empty() | refused.out.contains("exclude"), "{}", refused.out);
        assert!((refused.err + &refused.out).contains("exclude") || arguments[1] == fresh, "{arguments:?}");
    }
    let forced = ask(&world, "track", &json!({"session": &fresh, "force": true}));
    assert!(
        forced["status"] == "error" && text(&forced["message"]).contains("`force` does not change that"),
        "{forced}"
    );
    world.stop();
    let log = Log::of(&world);
    assert_eq!(log.of_session(&fresh).count(), 0, "it was not even discovered");

    configure(&world, "{}");
    assert_eq!(world.found("tarsier").len(), 2, "it comes back");
    let mut found = world.found("loris");
    found.sort();
    assert_eq!(found, [private, fresh]);
}

#[test]
fn a_projects_switch_overrides_the_global_one_both_ways() {
    let world = World::new();
    configure(
        &world,
        r#"{"session_tracking": {"enabled": false, "projects": {
            "/srv/-work-*": {"enabled": true}, "/srv/-work-secret": {"enabled": false}}}}"#,
    );
    for (number, folder) in [(1, "-work-one"), (2, "-work-secret"), (3, "-other")] {
        world.transcript(folder, &id(number)).prompt("the pademelon");
    }
    assert_eq!(world.found("pademelon"), [id(1)]);
    let told = world.json(&["session-tracking", "status"]);
    assert_eq!((&told["global_enabled"], &told["active_sessions"]), (&false.into(), &1.into()), "{told}");
    assert_eq!(told["sessions"][0]["project_root"], "/srv/-work-one");
    assert_eq!(told["projects"], json!({"/srv/-work-*": true, "/srv/-work-secret": false}));

    let told = world.json(&["session-tracking", "enable", "--project", "/srv/-other"]);
    assert_eq!(told["projects"]["/srv/-other"], true, "{told}");
    assert_eq!(world.found("pademelon").len(), 2);
    world.json(&["session-tracking", "enable"]);
    // The answer lists what is still tracked, and nothing of a project that is off.
    let told = world.json(&["session-tracking", "disable", "--project=-work-one"]);
    assert_eq!(
        (&told["active_sessions"], &told["sessions"][0]["project_root"]),
        (&1.into(), &json!("/srv/-other")),
        "{told}"
    );
    let told = world.ok(&["session-tracking", "status"]).out;
    for line in ["session tracking is on", "off for /srv/-work-one", "on for /srv/-other"] {
        assert!(told.contains(line), "{told}");
    }
    let unknown = world.run(&["session-tracking", "disable", "--project", "nothing-like-it"]);
    assert!(unknown.code == 1 && unknown.err.contains("no project \"nothing-like-it\""), "{}", unknown.err);
}

/// A stop while an index job waits for its turn: the job reads and stores nothing.
fn a_job_that_waits_is_let_go(kind: Kind) {
    let held = Held::new();
    let (me, other) = (id(1), id(2));
    let mut transcript = held.open_session(&me);
    let episode = held.state(&me).unwrap().episode.unwrap().uuid;
    let stored = || files_below(&held.world.home().join("blobs").join(&me));
    let before = stored();

    // The session times out as soon as it is tracked again, and the resulting index job runs in the background.
    Kind::Session.stop(&held.world, &me);
    transcript.set_time(after(20));
    transcript.prompt("the wombat came in secret").reply("nobody saw it");
    held.at(3_600);
    let throttle = held.system().parts().throttle.clone();
    let busy = held.runtime.block_on(throttle.wait_for_background());
    Kind::Session.lift(&held.world, &me);
    held.wait_for(&me, |state| state.phase == Phase::Indexing);

    kind.stop(&held.world, &me);
    drop(busy);
    // Once a job queued later is done, anything that the first one would have stored would be there.
    held.world.transcript("-other", &other).at(after(30)).prompt("the numbat in the open");
    held.wait_for(&other, |state| state.phase == Phase::Indexed);
    assert_eq!(stored(), before, "{kind:?}");
    let state = held.state(&me).unwrap();
    let expected =
        if matches!(kind, Kind::Session) { Phase::Unindexed(UnindexedReason::Untracked) } else { Phase::Indexing };
    assert_eq!((state.phase, state.episode.map(|episode| episode.uuid)), (expected, Some(episode)), "{kind:?}");

    kind.lift(&held.world, &me);
    assert_eq!(held.world.found("wombat"), [me.as_str()], "{kind:?}");
}

#[test]
fn a_stop_reaches_a_job_that_was_handed_out() {
    a_job_that_waits_is_let_go(Kind::Session);
}

#[test]
fn a_switch_reaches_a_job_that_was_handed_out() {
    a_job_that_waits_is_let_go(Kind::Project);
}

#[test]
fn a_query_reads_what_has_grown_while_the_background_is_busy() {
    let held = Held::new();
    let me = id(1);
    let mut transcript = held.open_session(&me);
    let throttle = held.system().parts().throttle.clone();
    let busy = held.runtime.block_on(throttle.wait_for_background());
    transcript.set_time(after(20));
    transcript.prompt("the wombat came in").reply("it did");
    let found = held.world.json(&["search", "wombat", "--no-wait"]);
    assert_eq!(text(&found["hits"][0]["session_id"]), me, "{found}");
    drop(busy);
}

#[test]
fn a_stopped_session_is_not_moved_to_another_file() {
    let held = Held::new();
    let (world, me) = (&held.world, id(1));
    // Stopped before anything of it was read.
    world.ok(&["session-tracking", "disable"]);
    world.transcript("-work-one", &me).prompt("the wombat came in secret");
    Kind::Session.stop(world, &me);
    world.ok(&["session-tracking", "enable"]);
    let path = |folder: &str| world.projects().join(folder).join(format!("{me}.jsonl"));
    let before = held.state(&me).unwrap();
    assert_eq!(before.transcript.as_ref().unwrap().path, path("-work-one").to_str().unwrap());

    world.transcript("-work-two", &me).prompt("the wombat came in secret").reply("nobody saw it");
    std::fs::remove_file(path("-work-one")).unwrap();
    world.ok(&["sessions"]);
    world.close_fails(&[&me]);
    let metadata = std::fs::metadata(path("-work-two")).unwrap();
    let seen = FileSeen {
        session: SessionId::new(&me).unwrap(),
        agent: Agent::ClaudeCode,
        kind: baton_events::session::Kind::Main,
        path: path("-work-two").to_str().unwrap().into(),
        stat: FileStat::new(&metadata),
        identity: transcript_file::identity(&metadata),
    };
    let supervisor = &held.system().parts().supervisor;
    held.runtime.block_on(async {
        let session = supervisor.resolve(seen.session.clone()).await.unwrap();
        session.seen(seen.clone());
        session.index(Some(seen));
        session.wait_until_handled(DEADLINE).await.unwrap();
    });
    assert_eq!(held.state(&me).unwrap(), before);

    Kind::Session.lift(world, &me);
    assert_eq!(world.found("wombat"), [me.as_str()], "what came meanwhile is found when the stop is over");
}
