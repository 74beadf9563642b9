//! What sentences settle, and which sentences reverse which.

use super::*;
use crate::claim;
use crate::claim::Settled;
use baton_conversation::record::Timestamp;

/// Returns `chosen | rejected | scope`; things that are not names of one thing are in brackets.
fn told(sentence: &str) -> String {
    let shown = |thing: Option<Thing>| match thing {
        None => "-".to_owned(),
        Some(thing) if thing.named => thing.name,
        Some(thing) => format!("({})", thing.name),
    };
    let all: Vec<String> = stances(sentence)
        .into_iter()
        .map(|stance| {
            let scope = stance.scope.map_or("everywhere".to_owned(), |scope| scope);
            format!("{} | {} | {scope}", shown(stance.chosen), shown(stance.rejected))
        })
        .collect();
    all.join(" // ")
}

#[test]
fn a_choice_is_read_from_its_sentence() {
    let mut wrong = Vec::new();
    let mut check = |sentence: &str, expected: &str| {
        let found = told(sentence);
        if found != expected {
            wrong.push(format!("{sentence:?}: {found:?}, not {expected:?}"));
        }
    };
    check("We use sled instead of SQLite for the log.", "sled | sqlite | log");
    check("Use Postgres rather than MySQL, because of JSONB.", "postgres | mysql | everywhere");
    check("I chose tokio over async-std since ractor needs it.", "tokio | async-std | everywhere");
    check("Let's go with `axum` for the HTTP layer.", "axum | - | http layer");
    check("We decided on Redis for job queues.", "redis | - | job queue");
    check("use pnpm, not npm", "pnpm | npm | everywhere");
    check("We switched from Redis to Postgres for the queue.", "postgres | redis | queue");
    check("Switched the queue from Redis to Postgres.", "postgres | redis | queue");
    check("We migrated from Jest to Vitest.", "vitest | jest | everywhere");
    check("I replaced SQLite with sled.", "sled | sqlite | everywhere");
    check("We dropped GraphQL in favour of REST.", "rest | graphql | everywhere");
    check("We no longer use Redis.", "- | redis | everywhere");
    check("We don't use Redis anymore.", "- | redis | everywhere");
    check("Let's go back to SQLite.", "sqlite | - | everywhere");
    check("Decided against Kafka: too much to run.", "- | kafka | everywhere");
    check("Instead of polling we use inotify.", "inotify | (polling) | everywhere");
    check("I decided for Postgres instead of Redis because the key", "postgres | redis | everywhere");
    check("use a plain frozen dataclass with slots instead of pydantic", "(frozen dataclass) | pydantic | everywhere");
    check("We decided to use Redis for the session cache, because entries may be lost.", "redis | - | session cache");
    check("We use Redis, which might be slow in tests.", "redis | - | everywhere");
    check("always use tabs", "tabs | - | everywhere");
    check("never use npm", "- | npm | everywhere");
    check("I prefer single quotes over double quotes", "(single quotes) | (double quotes) | everywhere");
    check("we stick with yarn", "yarn | - | everywhere");
    check("For the cache we use Memcached.", "memcached | - | ");
    check("I use a slice instead of a Vec here.", "(slice) | (vec) | ");
    check("Take the cookie in the header instead of the query", "(cookie) | (query) | in header");
    check(
        "I considered using axum instead of actix because of tower, but decided to keep actix because the team knows it.",
        "actix | - | everywhere",
    );
    check("I thought about using redis instead of postgres, but we stay with postgres.", "postgres | - | everywhere");
    check("I tried vitest instead of jest, but it failed, so I went back to jest.", "jest | - | everywhere");
    check(
        "Instead of tokio I first used smol because it is small; decided to use tokio in the end.",
        "tokio | - | everywhere",
    );
    check("I decided not to use redis instead of postgres because of operations.", "- | redis | everywhere");
    check("I decided against using docker because of the size.", "- | docker | everywhere");
    check("I decided that we don't need kafka because a table is enough.", "- | kafka | everywhere");
    check("We dropped GraphQL because nobody used it.", "- | graphql | everywhere");
    check("I use Redis for the cache, but Postgres for the rest.", "redis | - | cache");
    check("I chose rust over go because of safety.", "rust | go | everywhere");
    check("I decided to keep the mutex because contention is low.", "(mutex) | - | everywhere");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn what_settles_nothing() {
    for sentence in [
        "Should we use Redis instead of Postgres?",
        "Do we use Redis because it is fast?",
        "If we use Redis, the queue survives.",
        "We might use sled for it.",
        "I would use tokio instead of threads.",
        "We tried Redis instead of Postgres.",
        "I was about to use axum instead of actix because of tower; I reverted that because it broke.",
        "I used axum instead of actix, but reverted that.",
        "Using yarn instead of npm was considered and rejected because CI has npm.",
        "The user asked why we chose sqlite instead of postgres because it does not scale.",
        "The docs say: \"We decided to use MongoDB instead of Postgres because it scales.\"",
        "The docs say: \"We decided to use MongoDB instead of Postgres.",
        "According to the guide, use MongoDB instead of Postgres.",
        "Redis was chosen over memcached by the previous team because of persistence.",
        "I suggest using Redis instead of Postgres.",
        "We used to use Redis instead of Postgres.",
        "I looked at using Redis instead of Postgres.",
        "One option is to use Redis instead of Postgres, another option is sled.",
        "I decided to use neither redis nor memcached because a map is enough.",
        "It fails because the mock returns a string.",
        "This is used by the parser.",
        "the queue is full",
        "I moved the helper to core.",
        "use it instead of that",
        "",
        "use",
        "instead of",
        "switched from",
        "back to",
    ] {
        assert_eq!(told(sentence), "", "{sentence:?}");
    }
}

/// Returns true if `later` ends what `earlier` states.
fn ends(earlier: &str, later: &str) -> bool {
    let claims = |text: &str| -> Vec<Claims> { stances(text).iter().map(|stance| stance.claims("g")).collect() };
    let settled: Vec<Settled> = claims(later)
        .into_iter()
        .flat_map(|claims| claims.settles)
        .map(|claim| {
            let at = Some(Timestamp(2));
            Settled { claim, fact: 2, since: at, last: at, recorded: at }
        })
        .collect();
    let at = Some(Timestamp(1));
    claims(earlier)
        .into_iter()
        .flat_map(|claims| claims.rests)
        .any(|rest| claim::end(1, at, at, rest, settled.iter().copied()).is_some())
}

#[test]
fn a_later_sentence_reverses_an_earlier_one() {
    let mut wrong = Vec::new();
    let mut check = |earlier: &str, later: &str| {
        if !ends(earlier, later) {
            wrong.push(format!("{earlier:?} is not ended by {later:?}"));
        }
    };
    check("We use sqlite for the log because it is simple.", "We switched from sqlite to sled.");
    check("We use SQLite for the log.", "We use sled for the log, because SQLite was slow.");
    check("Use Postgres rather than MySQL.", "We go with MySQL instead of Postgres, since the host has it.");
    check("We switched from sqlite to sled.", "Let's go back to sqlite.");
    check("We use Redis because it is fast.", "We no longer use Redis.");
    check("always use tabs", "use spaces from now on");
    check("always use npm", "please always use pnpm");
    check("I prefer single quotes", "I prefer double quotes");
    check("never use npm", "use npm instead of pnpm");
    check("We use Redis because it is in the image.", "We no longer use Redis, since it might lose jobs.");
    check("Use Redis for job queues.", "Use RabbitMQ for the job queue.");
    check("We decided to use JWT instead of cookies.", "We switched from JWT to sessions.");
    check("Decided against Kafka.", "We use Kafka now, because the load has grown.");
    check("I decided against using docker because of the size.", "I decided to use docker because CI needs it.");
    check(
        "I decided to keep the mutex because contention is low.",
        "I decided to drop the mutex because contention is high.",
    );
    check("I decided to use port 8080 because 80 is taken.", "I decided to use port 9090 because 8080 is taken.");
    check("I decided to use GraphQL because clients ask.", "We dropped GraphQL because nobody used it.");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn what_only_looks_like_a_reversal() {
    let mut wrong = Vec::new();
    let mut check = |earlier: &str, later: &str| {
        if ends(earlier, later) {
            wrong.push(format!("{earlier:?} is ended by {later:?}"));
        }
    };
    check("We use Postgres because of JSONB.", "In the tests we use SQLite instead of Postgres.");
    check("We use sqlite for the log.", "We use Postgres for the accounts.");
    check("I use a slice instead of a Vec.", "I use a Vec instead of a slice.");
    check("We use serde because it is there.", "We use regex because it is there.");
    check("We use sqlite for the log.", "Should we switch from sqlite to sled?");
    check("Use Redis for the cache.", "Use Redis for the queue.");
    check("use tabs", "use tabs");
    check("We decided to use a queue.", "We don't use a queue here.");
    check("We use tokio.", "We replaced the loop with a stream.");
    check("Use Redis for the cache.", "Don't use Redis for the locks.");
    check(
        "I decided to use actix instead of axum because the team knows it.",
        "I considered using axum instead of actix because of tower, but decided to keep actix because the team knows it.",
    );
    check("We use actix.", "I was about to use axum instead of actix; I reverted that.");
    check("We use port 8080.", "The debugger uses port 9229.");
    check("I decided to keep the mutex because contention is low.", "I dropped a mutex in the parser.");
    check("I decided to use tokio.", "I decided to use rayon for the parser because it is data parallel.");
    assert!(wrong.is_empty(), "{wrong:#?}");
}
