//! Required and excluded words, and filters by entity.

use baton_ask::query;
use baton_ask::query::{Question, Without};

use super::*;
use crate::query::Plan;
use crate::required_terms::TurnFilter;
use crate::texts::Texts;
use crate::turn_scores::TurnScores;
use crate::turns::Known;
use crate::{Reason, Requirements, SessionMatches};

fn sample_memory() -> Memory {
    let mut fork = Session::new("migration", &["We migrate to sled", "migrations of the migrator are done"]);
    fork.units[1].at = Timestamp::parse("2026-05-01T00:00:00Z");
    Memory::of(&[
        Session::new(
            "auth",
            &[
                "The refresh token expires too early",
                "the token was in need of a refresh",
                "Bash cargo test src/auth.rs: exit 101, error[E0308]: mismatched",
            ],
        )
        .touching(&["src/auth.rs", "Cargo.toml"]),
        Session::new("cart", &["refresh the cart with tokio", "token of the cart", "state of the art"])
            .touching(&["web/cart.ts", "docs/auth.md"]),
        fork,
        Session::new("schedule", &["the state of art is a token refresh"]).touching(&["Makefile"]),
    ])
}

fn now() -> Timestamp {
    Timestamp::parse("2026-06-01T00:00:00Z").unwrap()
}

fn ask(memory: &Memory, asked: &Question) -> Vec<Hit> {
    let requirements =
        Requirements { phrases: &asked.phrases, without: &asked.without, after: asked.after, before: asked.before };
    let query = Query { requirements, prefixes: &asked.prefixes, ..Query::new(&asked.words) };
    memory.searcher.search(&query).unwrap()
}

/// Compares the lines found by session, sorted; the order of hits does not matter here.
fn check(memory: &Memory, text: &str, expected: &str) {
    let mut found: Vec<String> = ask(memory, &query::parse(text, now()))
        .iter()
        .map(|hit| format!("{}:{}", hit.session_id, hit.line.unwrap_or(0)))
        .collect();
    found.sort();
    assert_eq!(found.join(" "), expected, "{text}");
}

#[test]
fn a_phrase_stands_word_for_word_in_the_turn() {
    let memory = sample_memory();
    check(&memory, "\"refresh token\"", "auth:1");
    check(&memory, "\"Refresh  TOKEN\"", "auth:1");
    check(&memory, "\"token refresh\"", "schedule:1");
    check(&memory, "\"state of the art\"", "cart:3");
    check(&memory, "\"in need of a\"", "auth:2");
    check(&memory, "\"of the\"", "cart:2 cart:3 migration:2");
    check(&memory, "\"src/auth.rs\"", "auth:3");
    check(&memory, "\"token\" cart", "auth:1 auth:2 cart:2 schedule:1");
    check(&memory, "\"refresh token\" \"too early\"", "auth:1");
    check(&memory, "\"refresh token\" \"mismatched\"", "");
    check(&memory, "\"token token\"", "");
    check(&memory, "\"nowhere\" token", "");
}

#[test]
fn what_is_left_out_is_not_found() {
    let memory = sample_memory();
    check(&memory, "refresh", "auth:1 auth:2 auth:3 cart:1 cart:2 cart:3 schedule:1");
    check(&memory, "refresh token -tokio -mismatch", "auth:1 auth:2 cart:2 cart:3 schedule:1");
    check(&memory, "token -refresh", "auth:3 cart:2 cart:3");
    check(&memory, "token -\"token refresh\"", "auth:1 auth:2 auth:3 cart:1 cart:2 cart:3");
    check(&memory, "token -src/auth.rs", "auth:1 auth:2 cart:1 cart:2 cart:3 schedule:1");
    check(&memory, "token -the", "auth:3");
    check(&memory, "token -nowhere", "auth:1 auth:2 auth:3 cart:1 cart:2 cart:3 schedule:1");
    // Every turn is indexed with its date and role, which its text does not say.
    check(&memory, "token -user -march", "auth:1 auth:2 auth:3 cart:1 cart:2 cart:3 schedule:1");
}

#[test]
fn a_prefix_is_every_word_that_begins_so() {
    let memory = sample_memory();
    check(&memory, "migrat*", "migration:1 migration:2");
    for longer in ["migratio*", "migration*", "migratin*", "migrato*"] {
        check(&memory, longer, "migration:1 migration:2");
    }
    // A turn is found by a word of its neighbours.
    check(&memory, "the tok* -token", "auth:3 cart:1 cart:3");
    check(&memory, "src/au*", "auth:1 auth:2 auth:3");
    check(&memory, "e03*", "auth:1 auth:2 auth:3");
    check(&memory, "zz*", "");
    check(&memory, "zz* migrat*", "migration:1 migration:2");
}

#[test]
fn moments_are_those_of_turns() {
    let memory = sample_memory();
    check(&memory, "migrat* after:2026-04", "migration:2");
    check(&memory, "migrat* before:2026-04", "migration:1");
    check(&memory, "migrat* after:2026-03-14 before:2026-03-15", "migration:1");
    check(&memory, "migrat* after:2026-06", "");
}

#[test]
fn sessions_are_known_by_what_they_have_to_do_with() {
    let memory = sample_memory();
    let ids_of = |found: SessionMatches| {
        assert!(!found.is_partial);
        found.sessions.iter().map(|id| &**id).collect::<Vec<_>>().join(" ")
    };
    for (name, expected) in [
        ("src/auth.rs", "auth"),
        ("AUTH.rs", "auth"),
        ("/srv/shop/src/auth.rs", "auth"),
        ("auth", "auth cart"),
        ("*.ts", "cart"),
        ("src/*", "auth"),
        ("makefile", "schedule"),
        ("makef", "schedule"),
        ("Cargo.toml", "auth"),
        ("nowhere.rs", ""),
        ("", ""),
        ("*", "auth cart"),
    ] {
        assert_eq!(ids_of(memory.searcher.sessions_with_file(name).unwrap()), expected, "{name}");
    }
    for (label, name, expected) in [
        (Label::Session, "cart", "cart"),
        (Label::File, "cart", "cart"),
        (Label::File, "Makefile", "schedule"),
        (Label::File, "CART.TS", "cart"),
        (Label::File, "efil", "schedule"),
        (Label::Tool, "cart", ""),
        (Label::File, "--", ""),
    ] {
        assert_eq!(ids_of(memory.searcher.sessions_with_entity(label, name).unwrap()), expected, "{name}");
    }
    let word = |text: &str| Without::Word(text.to_owned());
    let phrase = |text: &str| Without::Phrase(text.to_owned());
    for (what, expected) in [
        (word("refreshing"), "auth cart schedule"),
        (word("nowhere"), ""),
        (word("need"), "auth"),
        (word("too"), "auth"),
        (word("user"), ""),
        (word("title"), "auth cart migration schedule"),
        (phrase("refresh token"), "auth"),
        (phrase("token refresh"), "schedule"),
        (phrase("the token"), "auth"),
        (phrase("of the"), "cart migration"),
        (phrase("title of cart"), "cart"),
        (phrase("refresh tokio"), ""),
        (phrase("--"), ""),
    ] {
        assert_eq!(ids_of(memory.searcher.sessions_saying(&what).unwrap()), expected, "{what:?}");
    }
}

#[test]
fn what_a_title_alone_says_is_said() {
    let titled = |title: &str, id: &str, text: &str| Session { title: title.to_owned(), ..Session::new(id, &[text]) };
    let memory = Memory::of(&[
        titled("It is off again", "titled", "nothing"),
        titled("x", "other", "the rest"),
        titled("Login login", "login", "what about the alpha beta login today"),
    ]);
    for (what, expected) in [
        (Without::Phrase("is off".to_owned()), vec!["titled"]),
        (Without::Word("again".to_owned()), vec!["titled"]),
        (Without::Word("about".to_owned()), vec!["login"]),
        (Without::Phrase("off is".to_owned()), vec![]),
        (Without::Phrase("alpha beta login".to_owned()), vec!["login"]),
    ] {
        let found = memory.searcher.sessions_saying(&what).unwrap();
        assert_eq!(found.sessions.iter().map(|id| &**id).collect::<Vec<_>>(), expected, "{what:?}");
    }
    // Words of a title come before those of the turns.
    check(&memory, "\"alpha beta login\"", "login:1");
}

#[test]
fn a_name_fits_as_a_whole_before_it_fits_in_part() {
    let memory = Memory::of(&[
        Session::new("trunk", &["a"]).touching(&["main"]),
        Session::new("release", &["b"]).touching(&["release/main"]),
        Session::new("domain", &["c"]).touching(&["domain-split"]),
    ]);
    for (name, expected) in
        [("MAIN", "trunk"), ("release", "release"), ("omain", "domain"), ("mai", "domain release trunk")]
    {
        let found = memory.searcher.sessions_with_entity(Label::File, name).unwrap().sessions;
        assert_eq!(found.iter().map(|id| &**id).collect::<Vec<_>>().join(" "), expected, "{name}");
    }
}

#[test]
fn every_session_with_a_file_that_fits_is_there_however_many_files_fit() {
    let sessions: Vec<Session> = (0..30)
        .map(|number| {
            let files: Vec<String> = (0..60).map(|file| format!("src/s{number}/f{file}.rs")).collect();
            let files: Vec<&str> = files.iter().map(String::as_str).collect();
            Session::new(&format!("s{number}"), &["x"]).touching(&files)
        })
        .collect();
    let memory = Memory::of(&sessions);
    let found = memory.searcher.sessions_with_file("*.rs").unwrap();
    assert_eq!((found.sessions.len(), found.is_partial), (30, false));
}

#[test]
fn a_hit_says_why_it_is_there() {
    let memory = sample_memory();
    let reasons = |text: &str, session: &str, line: u64, expected: &[Reason]| {
        let hits = ask(&memory, &query::parse(text, now()));
        let hit = hits.iter().find(|hit| hit.session_id.as_str() == session && hit.line == Some(line));
        let matched: Vec<Reason> = hit.unwrap().matched.iter().copied().collect();
        assert_eq!(matched, expected, "{text}");
    };
    reasons("early", "auth", 1, &[Reason::Text]);
    reasons("early", "auth", 2, &[Reason::Context]);
    reasons("\"too early\"", "auth", 1, &[Reason::Text, Reason::Phrase]);
    reasons("E0308", "auth", 3, &[Reason::Text, Reason::Error]);
    reasons("auth.rs", "auth", 3, &[Reason::Text, Reason::File, Reason::Title, Reason::Entity]);
    reasons("title of cart", "cart", 2, &[Reason::Text, Reason::Title]);
    let hits = ask(&memory, &query::parse("schedule", now()));
    assert_eq!(hits[0].matched.iter().copied().collect::<Vec<_>>(), [Reason::Title, Reason::Episode]);
}

#[test]
fn listed_sessions_come_as_they_are_named() {
    let memory = sample_memory();
    let named: Vec<SessionId> = ["cart", "gone", "auth"].into_iter().filter_map(SessionId::new).collect();
    let hits = memory.searcher.hits_for(&named).unwrap();
    assert_eq!(ids(&hits), ["cart", "auth"]);
    assert!(hits.iter().zip(1..).all(|(hit, rank)| hit.rank == rank && hit.matched.is_empty() && hit.line.is_none()));
}

#[test]
fn a_phrase_is_found_behind_many_turns_that_only_have_its_words() {
    let mut texts: Vec<String> = (0..1_500).map(|n| format!("the needle hay {n} needle hay needle")).collect();
    texts.push("here the hay needle".to_owned());
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let memory = Memory::of(&[Session::new("stack", &texts), Session::new("other", &["hay", "needle"])]);
    let hits = ask(&memory, &query::parse("\"here the hay needle\"", now()));
    assert_eq!(hits.iter().map(|hit| hit.line).collect::<Vec<_>>(), [Some(1_501)]);
    let without = [Without::Phrase("needle hay needle".to_owned())];
    let requirements = Requirements { without: &without, ..Requirements::default() };
    let query = Query { requirements, ..Query::new("needle") };
    let found = memory.searcher.search(&query).unwrap();
    assert!(found.iter().all(|hit| !hit.snippet.contains("needle hay needle")), "{found:?}");
}

#[test]
fn a_phrase_with_hardly_a_telling_word_is_found_wherever_it_stands() {
    let mut texts: Vec<String> =
        (0..1_500).map(|n| format!("is it a function of {n}? it is not, said the function in a store")).collect();
    let long = "The page shows nothing at all since the last release of the shop. ".repeat(40);
    texts.push(format!("{long}TypeError: cart.total is not a function. {long}In the store that is known."));
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let memory = Memory::of(&[Session::new("apart", &texts[..1_500]), Session::new("shop", &texts[1_500..])]);
    for text in ["\"is not a function\"", "\"in the store\"", "\"at all since\"", "\"that is known\" function"] {
        let asked = query::parse(text, now());
        let requirements = Requirements { phrases: &asked.phrases, ..Requirements::default() };
        let found = memory.searcher.search_detailed(&Query { requirements, ..Query::new(&asked.words) }).unwrap();
        assert_eq!((ids(&found.hits), found.unread.texts), (vec!["shop".to_owned()], false), "{text}");
    }
}

#[test]
fn what_was_not_read_is_not_taken_for_missing() {
    let texts: Vec<String> = (0..50).map(|n| format!("not the needle {n}, the hay")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let memory = Memory::of(&[Session::new("stack", &texts)]);
    let snapshot = memory.searcher.snapshot();
    let phrases = ["the needle is".to_owned()];
    let requirements = Requirements { phrases: &phrases, ..Requirements::default() };
    let query = Query { requirements, ..Query::new("the needle is") };
    let plan = Plan::parse(query.text, &snapshot).unwrap();
    let filter = TurnFilter::for_phrase("the needle", &snapshot).unwrap();
    for (bytes, found, is_cut) in [(1_000_000, 50, false), (10_000, 10, true), (0, 0, true)] {
        let mut known = Known { texts: Texts::within(bytes), ..Known::default() };
        let scores = TurnScores::new(&snapshot, &plan, &filter).unwrap();
        let best = scores.best(&query, &filter, &mut known, 100).unwrap();
        assert_eq!((best.turns.len(), best.more, known.texts.is_cut), (found, false, is_cut), "{bytes}");
    }
}

#[test]
fn what_was_found_first_stays_found_when_reading_ends_later() {
    let mut texts = vec!["the needle".to_owned(); 30];
    texts.extend((0..500).map(|n| format!("needle of the hay stack in a field {n}")));
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let memory = Memory::of(&[Session::new("stack", &texts)]);
    let snapshot = memory.searcher.snapshot();
    let query = Query::new("the needle");
    let plan = Plan::parse(query.text, &snapshot).unwrap();
    let filter = TurnFilter::for_phrase("the needle", &snapshot).unwrap();
    // Enough for the first pass, of 400 texts, and a few more.
    for (bytes, is_cut) in [(432_000, true), (1_000_000, false)] {
        let mut known = Known { texts: Texts::within(bytes), ..Known::default() };
        let scores = TurnScores::new(&snapshot, &plan, &filter).unwrap();
        let best = scores.best(&query, &filter, &mut known, 100).unwrap();
        assert_eq!((best.turns.len(), known.texts.is_cut), (30, is_cut), "{bytes}");
    }
}

#[test]
fn sessions_found_by_their_episode_are_asked_before_they_are_counted() {
    let mut sessions: Vec<Session> = (0..20)
        .map(|n| Session { episode: format!("walrus walrus {n}"), ..Session::new(&format!("s{n}"), &["nothing"]) })
        .collect();
    let episode = format!("{} the purple walrus", "They talked of many other things. ".repeat(30));
    sessions.push(Session { episode, ..Session::new("parade", &["nothing"]) });
    let memory = Memory::of(&sessions);
    let asked = query::parse("\"purple walrus\"", now());
    let requirements = Requirements { phrases: &asked.phrases, ..Requirements::default() };
    let found = memory.searcher.search(&Query { requirements, sessions: 3, ..Query::new(&asked.words) }).unwrap();
    assert_eq!(ids(&found), ["parade"]);
}
