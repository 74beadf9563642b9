use baton_conversation::hash::ContentHash;
use baton_conversation::item::Agent;
use baton_conversation::record::{Position, SequenceNumber};
use baton_events::session::{
    CloseReason, End, FileIdentity, Handoff, Kind, Phase, Place, Policy, Signals, State, Tier, Transcript,
    UnindexedReason,
};
use uuid::Uuid;

use super::candidate::may_be_in_use;
use super::*;
use baton_config::settings::pattern::Pattern;
use baton_config::settings::{Settings, Switches};

/// The current time, in seconds.
const NOW: i64 = 100_000;

fn at(seconds: i64) -> Timestamp {
    Timestamp(seconds * 1_000)
}

fn id(text: &str) -> SessionId {
    SessionId::new(text).unwrap()
}

fn uuid(text: &str) -> Uuid {
    Uuid::new_v5(&Uuid::NAMESPACE_URL, text.as_bytes())
}

fn episode(of: &str) -> EpisodeRef {
    EpisodeRef {
        uuid: uuid(of),
        hash: ContentHash([1; 32]),
        manifest: ContentHash([2; 32]),
        tier: Tier::Extractive,
        generation: 1,
        to: 1,
        filter_version: 1,
        items: 1,
        at: at(0),
    }
}

/// Parses a session: `project=/p` (default `/a`), `worked=10`, `end=20` or `timeout=20`, `episode`, `claims=x` or
/// `offered=x` (of session x), `started=5`, `active=5`, `left=5` (its connection), `follows=x`, a phase, `subagent`.
fn state(name: &str, words: &str) -> State {
    let mut project = "/a";
    let mut state = State { phase: Phase::Active, ..State::default() };
    for word in words.split_whitespace() {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        let when = || at(value.parse().expect("seconds"));
        let end = |reason| Some(End { reason, at: when(), by_self: false });
        let handoff = |claimed| Some(Handoff { episode: uuid(value), from: id(value), at: at(0), claimed });
        match key {
            "project" => project = value,
            "worked" => state.last_conversation_at = Some(when()),
            "end" => (state.end, state.phase) = (end(CloseReason::HookClear), Phase::Indexed),
            "timeout" => (state.end, state.phase) = (end(CloseReason::InactivityTimeout), Phase::Indexed),
            "episode" => state.episode = Some(episode(name)),
            "claims" => state.handoff = handoff(true),
            "offered" => state.handoff = handoff(false),
            "started" => state.signals.started_at = Some(when()),
            "active" => state.signals.active_at = Some(when()),
            "left" => state.signals.disconnected_at = Some(when()),
            "owed" => state.signals = Signals { close_owed: Some(CloseReason::HookClear), ..state.signals },
            "new" => state.phase = Phase::New,
            "indexing" => state.phase = Phase::Indexing,
            "failed" => state.phase = Phase::Failed,
            "gone" => state.phase = Phase::Unindexed(UnindexedReason::Gone),
            "forgotten" => state.phase = Phase::Forgotten,
            "group" => state.group = Some(value.to_owned()),
            "subagent" => {
                let kind = Kind::Subagent { parent: None };
                let (path, identity) = (String::new(), FileIdentity::default());
                state.transcript = Some(Transcript { agent: Agent::ClaudeCode, path, identity, kind });
            }
            other => panic!("{other}?"),
        }
    }
    state.place = (state.phase != Phase::New).then(|| Place::new(project, project));
    state
}

/// Parses sessions, one per line: `name words`.
fn table(sessions: &str) -> SessionTable {
    let mut table = SessionTable::default();
    for line in sessions.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (name, words) = line.split_once(' ').unwrap_or((line, ""));
        table.restore(id(name), Row { version: SequenceNumber(1), state: state(name, words), since: Position(1) });
    }
    table
}

#[track_caller]
fn check(sessions: &str, first: Option<&str>, after: Option<i64>, expected: &str) {
    let exclude = vec![Pattern::new("/hidden").unwrap()];
    let settings = Settings { switches: Switches::new(Vec::new(), exclude), ..Settings::default() };
    let (me, first) = (id("me"), first.map(id));
    let criteria = Criteria { project: "/a", excluded: vec![&me], first: first.as_ref(), after: after.map(at) };
    let found = candidates(&table(sessions), &settings, at(NOW), &criteria);
    let named: Vec<String> =
        found.iter().map(|it| format!("{}{}", it.id, if it.under_way { "~" } else { "" })).collect();
    assert_eq!(named.join(" "), expected, "{sessions}");
}

#[test]
fn the_newest_session_that_is_over_comes_first() {
    check("", None, None, "");
    check("x worked=10 end=20 episode\ny worked=11 end=15 episode\nz worked=12 end=12 episode", None, None, "x y z");
    // A timeout counts as an end at the last activity.
    check("x worked=10 timeout=9000 episode\ny worked=11 end=15 episode", None, None, "y x");
    check("me worked=10 end=20 episode\nx worked=10 end=12 episode", None, None, "x");
    check("x end=20 episode project=/b\ny end=10 episode project=/a/b", None, None, "");
    check("x worked=10 end=20 episode project=/hidden group=/a", None, None, "");
    check("x worked=10 end=20 episode project=/b group=/a", None, None, "x");
    let many: String = (1..=50).map(|n| format!("s{n:02} worked={n} end={n} episode\n")).collect();
    check(&many, None, None, "s50 s49 s48 s47 s46 s45 s44 s43");
    check(&many, Some("s07"), None, "s07 s50 s49 s48 s47 s46 s45 s44");
}

#[test]
fn who_still_runs_or_has_nothing_takes_nothing_away() {
    let older = "\nx worked=10 end=20 episode";
    for passed_over in [
        "y worked=99000 episode",
        "y worked=99000",
        "y worked=50 end=60",
        "y worked=50 end=60 gone",
        "y worked=50 end=60 episode subagent",
        "y worked=50 end=60 forgotten",
        "y worked=50 end=60 new episode",
        "y worked=50 end=60 episode started=99990",
    ] {
        check(&format!("{passed_over}{older}"), None, None, "x");
    }
    // Begun again and left without a message: its earlier end counts.
    check(&format!("y worked=50 end=60 episode started=97000{older}"), None, None, "y x");
    check(&format!("y worked=50 end=60 episode started=99000 left=99100{older}"), None, None, "y x");
    check(&format!("y worked=50 episode gone{older}"), None, None, "y x");
    check(&format!("y worked=50 end=60 episode failed{older}"), None, None, "y x");
}

#[test]
fn who_is_being_indexed_is_waited_for() {
    check("y worked=50 end=60 indexing\nx worked=10 end=20 episode", None, None, "y~ x");
    check("y worked=50 end=60 episode owed\nx worked=10 end=20 episode", None, None, "y~ x");
}

#[test]
fn who_goes_on_is_told_what_ended_since() {
    let sessions = "x worked=10 end=20 episode\ny worked=30 end=40 episode\nz worked=50 timeout=9000 episode";
    check(sessions, None, Some(15), "z y x");
    check(sessions, None, Some(40), "z");
    check(sessions, None, Some(50), "");
}

#[test]
fn a_claim_holds_also_when_its_session_is_over() {
    // Sessions, and which of them has claimed x.
    for (sessions, claimed_by) in [
        ("y claims=x worked=99000", Some("y")),
        ("y claims=x worked=10", Some("y")),
        ("y offered=x worked=99000", None),
        ("y claims=z worked=99000", None),
        ("y claims=x worked=50 end=60", Some("y")),
        ("y claims=x worked=50 end=60 started=99990", Some("y")),
        ("y claims=x forgotten", None),
        ("y claims=x new started=99990", Some("y")),
        ("y claims=x new started=10 active=99990", Some("y")),
        ("y claims=x new started=10", Some("y")),
        ("y claims=x new started=99000 left=99100", Some("y")),
        ("me claims=x worked=99000", None),
    ] {
        let found = claimer(&table(sessions), &id("x"), uuid("x"), Some(&id("me")));
        assert_eq!(found.as_ref().map(SessionId::as_str), claimed_by, "{sessions}");
    }
    // Another filter gives the same conversation another episode, but what was said since was not handed over.
    for (worked, claimed_by) in [("worked=0", Some("y")), ("worked=10", None)] {
        let sessions = table(&format!("x {worked} end=20 episode\ny claims=x worked=50"));
        let found = claimer(&sessions, &id("x"), uuid("anew"), None);
        assert_eq!(found.as_ref().map(SessionId::as_str), claimed_by, "{worked}");
    }
}

#[test]
fn without_a_timeout_silence_counts_as_well() {
    let policy = Policy { inactivity_timeout_ms: 0, ..Policy::default() };
    assert!(may_be_in_use(&state("y", "new started=99000"), &policy, at(NOW)));
    assert!(!may_be_in_use(&state("y", "new started=97000"), &policy, at(NOW)));
}

#[test]
fn ten_thousand_sessions_are_looked_through_at_once() {
    let sessions: String =
        (0..10_000).map(|n| format!("s{n} worked={n} end={n} episode project=/p{}\n", n % 50)).collect();
    let (table, settings, me) = (table(&sessions), Settings::default(), id("me"));
    let criteria = Criteria { project: "/p7", excluded: vec![&me], first: None, after: None };
    let begun = std::time::Instant::now();
    let found = candidates(&table, &settings, at(NOW), &criteria);
    let took = begun.elapsed();
    assert_eq!((found.len(), found[0].id.as_str()), (candidate::MOST, "s9957"));
    // Generous, because tests are built without optimisation and run in parallel.
    assert!(took < std::time::Duration::from_millis(500), "{took:?}");
}
