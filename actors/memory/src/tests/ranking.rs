//! Which hits are found, and in which order.

use baton_events::schema::outcomes::File;
use proptest::prelude::*;

use super::*;
use crate::Kind;

/// Several sessions in two projects.
fn sample_sessions() -> Vec<Session> {
    let shop = |id: &str, texts: &[&str]| Session::new(id, texts);
    let blog = |id: &str, texts: &[&str]| Session::new(id, texts).in_project("/srv/blog");
    vec![
        shop(
            "auth",
            &[
                "The refresh token expires too early, users are logged out",
                "Read src/auth.rs: 245 lines",
                "The refresh token was rotated twice; I fixed the comparison in validate_token and the tests pass",
                "Bash cargo test -p auth: exit 101, error[E0308]: mismatched types",
            ],
        ),
        shop("cart", &["Why is the cart empty after login?", "The session cookie was dropped by the proxy", "thanks"]),
        shop("deploy", &["Deploy to staging", "Edited src/deploy/pipeline.rs:88 and tokio::sync::mpsc is now bounded"]),
        blog(
            "theme",
            &["Make the theme darker", "Changed --bg-color in style.css", "the colours of links were refreshed"],
        ),
        blog("naïve", &["Die Größe der Schrift ändern", "Schriftgröße ist jetzt 18px, наивный тест ok"]),
        blog("chat", &["What is it?", "Who are you and what will you do?", "It is what it is"]),
    ]
}

#[test]
fn the_right_session_comes_first() {
    let memory = Memory::of(&sample_sessions());
    let check = |query: &str, first: &str| {
        let found = memory.sessions(query);
        assert_eq!(found.first().map(String::as_str), Some(first), "{query:?} found {found:?}");
    };
    check("refresh token", "auth");
    check("validate_token", "auth");
    check("E0308", "auth");
    check("error E0308 mismatched", "auth");
    check("src/auth.rs", "auth");
    check("what was in src/auth.rs:245", "auth");
    check("src/deploy/pipeline.rs:88", "deploy");
    check("src/deploy/pipeline.rs", "deploy");
    check("tokio::sync::mpsc", "deploy");
    check("empty carts", "cart");
    check("cookies dropping", "cart");
    check("style.css", "theme");
    check("größe", "naïve");
    check("НАИВНЫЙ", "naïve");
    check("title of deploy", "deploy");
    check("who are you", "chat");
    check("logged out users; SELECT * FROM x WHERE (a:b OR \"c", "auth");
}

#[test]
fn what_is_not_there_is_not_found() {
    let memory = Memory::of(&sample_sessions());
    for query in ["", "   ", "???", "\u{0}", "zebra", "\u{202e}", "=", "+ - && || ! ( ) { } [ ] ^ \" ~ * ? : \\ /"] {
        assert_eq!(memory.ask(query), [], "{query:?}");
    }
}

#[test]
fn a_hit_says_where_it_is() {
    let memory = Memory::of(&sample_sessions());
    let hits = memory.ask("validate_token comparison");
    let hit = &hits[0];
    assert_eq!((hit.rank, hit.kind, hit.session_id.as_str()), (1, Kind::Turn, "auth"));
    assert_eq!((hit.line, hit.role), (Some(3), Some(Role::User)));
    assert_eq!(hit.at.map(|at| at.to_string()).as_deref(), Some("2026-03-14T09:26:53.589Z"));
    assert_eq!((hit.group_id.as_str(), hit.project.as_deref()), ("/srv/shop", Some("/srv/shop")));
    assert_eq!((hit.title.as_str(), hit.episode_uuid), ("title of auth", Uuid::from_u128(5)));
    assert!(hit.snippet.contains("validate_token"), "{}", hit.snippet);
    assert!(hit.score > 0.0 && hit.score <= 2.5, "{}", hit.score);
}

#[test]
fn a_turn_is_found_by_its_date_and_by_its_neighbours() {
    let mut other = Session::new("other", &["something else about tokens"]);
    other.units[0].at = Timestamp::parse("2025-11-02T10:00:00Z");
    let memory = Memory::of(&[Session::new("one", &["refresh tokens", "the answer"]), other]);
    assert_eq!(memory.sessions("tokens in November 2025")[0], "other");
    assert_eq!(memory.sessions("2025-11-02")[0], "other");
    let hits = memory.ask("refresh");
    assert_eq!(hits.iter().map(|hit| hit.line).collect::<Vec<_>>(), [Some(1), Some(2)], "the neighbour comes second");
}

#[test]
fn one_long_session_does_not_fill_the_page() {
    let long: Vec<String> = (0..1000).map(|n| format!("refresh token attempt {n}")).collect();
    let long = Session::new("long", &long.iter().map(String::as_str).collect::<Vec<_>>());
    let filler = "and then a great deal of other text about entirely different matters ".repeat(5);
    let short = Session::new("short", &[&format!("the refresh {filler}"), "nothing"]);
    let memory = Memory::of(&[long, short]);
    let hits = memory.ask("refresh token");
    assert_eq!(ids(&hits), ["long", "short"]);
    assert_eq!(hits.iter().filter(|hit| hit.session_id.as_str() == "long").count(), 3);
    assert_eq!(hits.iter().map(|hit| hit.rank).collect::<Vec<_>>(), [1, 1, 1, 2, 2]);
}

#[test]
fn several_good_turns_beat_one() {
    let memory = Memory::of(&[
        Session::new("one", &["parser panics", "yes", "no", "well", "other", "things", "here"]),
        Session::new("three", &["parser panics", "yes", "no", "parser panics", "other", "things", "parser panics"]),
    ]);
    assert_eq!(memory.sessions("parser panics"), ["three", "one"]);
}

#[test]
fn words_beside_each_other_beat_words_apart() {
    let apart = "the token of the user was found and after that long talk about this and that we did refresh it";
    let together = "the refresh token of the user was found and after that long talk about this and that we did it";
    for (first, second) in [("a", "b"), ("b", "a")] {
        let memory = Memory::of(&[Session::new(first, &[together]), Session::new(second, &[apart])]);
        assert_eq!(memory.sessions("refresh token"), [first, second]);
    }
}

#[test]
fn a_long_query_over_many_sessions_still_finds_the_passage() {
    let words = "alpha bravo charlie delta echo foxtrot golf hotel india juliet kilo lima mike november oscar papa";
    let mut sessions: Vec<Session> = (0..400)
        .map(|number| {
            let mut shuffled: Vec<&str> = words.split(' ').collect();
            shuffled.rotate_left(number % 15 + 1);
            Session::new(&format!("s{number:03}"), &[&shuffled.join(" and a great deal of other talk between them ")])
        })
        .collect();
    sessions.push(Session::new("zz", &[words]));
    assert_eq!(Memory::of(&sessions).sessions(words)[0], "zz");
}

#[test]
fn parts_of_words_count_for_the_session() {
    let memory = Memory::of(&[
        Session::new("a", &["an error in authentication", "unrelated"]),
        Session::new("b", &["an error in navigation", "unrelated"]),
    ]);
    assert_eq!(memory.sessions("error authenticator"), ["a", "b"]);
}

#[test]
fn filters_hide_and_demote() {
    let memory = Memory::of(&sample_sessions());
    let ask = |query: &Query<'_>| ids(&memory.searcher.search(query).unwrap());
    assert_eq!(ask(&Query::new("refresh")), ["auth", "theme"]);

    let check = |project: &str, expected: &[&str]| {
        assert_eq!(ask(&Query { project: Some(project), ..Query::new("refresh") }), expected, "{project}");
    };
    check("/srv/shop", &["auth"]);
    check("/srv/shop/", &["auth"]);
    check("/srv/blog", &["theme"]);
    check("/srv", &["auth", "theme"]);
    check("/", &["auth", "theme"]);
    check("/sr", &[]);
    check("", &[]);

    let hidden = |id: &str| id == "auth";
    assert_eq!(ask(&Query { exclude: &hidden, ..Query::new("refresh") }), ["theme"]);
    let asking = SessionId::new("auth").unwrap();
    assert_eq!(ask(&Query { last: Some(&asking), ..Query::new("refresh") }), ["theme", "auth"]);
    assert_eq!(ask(&Query { sessions: 1, ..Query::new("refresh") }).len(), 1);
    assert_eq!(ask(&Query { sessions: 0, ..Query::new("refresh") }).len(), 0);
}

#[test]
fn a_session_found_by_its_episode_alone_is_an_episode_hit() {
    let mut session = Session::new("s", &["hello", "world"]);
    session.episode = "Objective: migrate the billing database".to_owned();
    let memory = Memory::of(&[session, Session::new("t", &["something about a migration of birds"])]);
    let hits = memory.ask("billing database");
    assert_eq!(hits.len(), 1);
    assert_eq!((hits[0].kind, hits[0].session_id.as_str(), hits[0].line), (Kind::Episode, "s", None));
    assert!(hits[0].snippet.contains("billing database"));
}

#[test]
fn a_huge_query_is_bounded_and_answered() {
    let memory = Memory::of(&sample_sessions());
    let query = format!("refresh token {}", "zebra äöü E0308 src/x.rs:1 ".repeat(40_000));
    assert!(query.len() > 1_000_000);
    assert_eq!(memory.sessions(&query)[0], "auth");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_text_can_be_stored_and_asked(
        texts in proptest::collection::vec("\\PC{0,60}|[a-z ]{0,60}|(\u{0}|\n|ä|token|=|:|/|[.]|[0-9]|_){0,40}", 0..5),
        query in "\\PC{0,60}|(token|refresh|the|E0308|[:/.= ])*",
    ) {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let memory = Memory::of(&[Session::new("s", &texts), Session::new("t", &["refresh the token E0308"])]);
        for asked in texts.iter().copied().chain([query.as_str()]) {
            let hits = memory.ask(asked);
            prop_assert!(hits.len() <= 6);
            prop_assert!(hits.iter().all(|hit| hit.score.is_finite() && hit.snippet.chars().count() <= 240));
        }
    }
}

#[test]
fn a_session_of_the_named_date_comes_first() {
    let session_at = |id: &str, at: &str| {
        let mut session = Session::new(id, &["the parade was loud", "and long"]);
        session.units.iter_mut().for_each(|unit| unit.at = Timestamp::parse(at));
        session
    };
    let sessions =
        ["a", "b", "c"].map(|id| session_at(id, &format!("2025-0{}-02T10:00:00Z", id.as_bytes()[0] - b'a' + 5)));
    let memory = Memory::of(&sessions);
    let check = |query: &str, first: &str| assert_eq!(memory.sessions(query)[0], first, "{query}");
    check("the parade in June", "b");
    check("the parade in May 2025", "a");
    check("the parade of 2 July", "c");
}

#[test]
fn irregular_forms_are_found_by_their_base() {
    let memory =
        Memory::of(&[Session::new("s", &["we bought tickets for the children"]), Session::new("t", &["buyer"])]);
    let check = |query: &str| assert_eq!(memory.sessions(query)[0], "s", "{query}");
    check("what did they buy");
    check("whose child is it");
    check("children buying");
}

#[test]
fn a_named_files_turns_come_first_within_their_session() {
    let mut session = Session::new("s", &["the ferry is late again", "x"]);
    session.units[1].role = Role::Tool;
    session.units[1].text = "Edit: /srv/ferry/late.rs\n+1 -1".to_owned();
    let memory = Memory::of(&[session]);
    let first = |query: &str| memory.ask(query)[0].line;
    assert_eq!(first("the late ferry"), Some(1));
    assert_eq!(first("ferry in late.rs"), Some(2));
}

#[test]
fn what_a_session_did_counts_for_it() {
    let session = |id: &str| Session::new(id, &["look at src/cart.rs, prices are rounded", "they are"]);
    let check = |doer: Session, question: &str| {
        let memory = Memory::of(&[session("a"), doer, session("c")]);
        assert_eq!(memory.sessions(question), ["b", "a", "c"], "{question}");
    };
    let mut changed = session("b");
    changed.outcomes.files = vec![File { path: "src/cart.rs".to_owned(), changed: true, ..File::default() }];
    check(changed.clone(), "who changed cart.rs");
    check(changed, "the cart");
    let mut committed = session("b");
    committed.graph.mentions.push(Mention {
        uuid: node_uuid("/srv/shop", Label::Commit, "Round prices up"),
        label: Label::Commit,
        name: "Round prices up".to_owned(),
        detail: String::new(),
        line: 1,
        at: None,
        count: 1,
        by_model: false,
    });
    check(committed, "rounded prices");
    // Reading a file is not an activity.
    let mut read = session("b");
    read.outcomes.files = vec![File { path: "src/cart.rs".to_owned(), read: 3, ..File::default() }];
    assert_eq!(Memory::of(&[session("a"), read]).sessions("cart.rs"), ["a", "b"]);
}

#[test]
fn of_two_answers_to_a_question_about_what_holds_the_later_one_comes_first() {
    let hour = 3_600_000;
    let talk = |id: &str, began: i64, texts: &[&str]| {
        let mut session = Session::new(id, texts);
        session.units.iter_mut().for_each(|unit| unit.at = Some(Timestamp(1_773_480_000_000 + began * hour)));
        session
    };
    let chosen = ["Where do we keep the login state?", "The login state is kept in a signed cookie, 24 hours"];
    let amended =
        ["The signed cookie with the login state is too large", "The login state is in Redis, the cookie has its id"];
    let beside = ["Style the login page", "The login page is fluid"];
    let memory =
        |later: i64| Memory::of(&[talk("old", 0, &chosen), talk("new", later, &amended), talk("page", 90, &beside)]);
    let check = |memory: &Memory, query: &str, first: &str| {
        assert_eq!(memory.sessions(query).first().map(String::as_str), Some(first), "{query}");
    };
    check(&memory(48), "Where is the login state?", "new");
    check(&memory(-48), "Where is the login state?", "old");
    check(&memory(48), "keep the login state in a signed cookie", "old");
    let asking = SessionId::new("new").unwrap();
    let asked = Query { last: Some(&asking), ..Query::new("Where is the login state?") };
    let found = ids(&memory(48).searcher.search(&asked).unwrap());
    assert_eq!(found.first().map(String::as_str), Some("old"), "the asking session stays last: {found:?}");
    check(&memory(48), "When was the login state kept in a signed cookie?", "old");
    check(&memory(48), "Which style has the login page?", "page");
}
