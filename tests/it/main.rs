//! Tests of the whole program: what a person or another program sees, through the real binary and real processes.
//!
//! Each test has a [`world::World`] of its own and ends what it has started. No test relies on a sleep: a fact is asked
//! for, or waited for with a deadline.
//!
//! # Decisions
//!
//! - Most of the tests' time is spent in their daemons, which are not child processes, so `time cargo test` does not
//!   count them. An unoptimised commit of the memory takes a tenth of a second and more, so tantivy is optimised in
//!   tests too.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "in a test a broken assumption is a failed test")]

mod abuse;
mod acceptance;
mod agent;
mod agents;
mod aider;
mod backup;
mod bench;
mod browse;
mod changing_transcripts;
mod clones;
mod closing;
mod codex;
mod coding;
mod compact;
mod config;
mod correct;
mod crashes;
mod crush;
mod daemons;
mod damage;
mod databases;
mod days;
mod demo;
mod directories;
mod doctor;
mod earlier;
mod endpoint;
mod enrich;
mod episodes;
mod explain;
mod families;
mod files;
mod forget;
mod full_disk;
mod graph;
mod groups;
mod handoff;
mod history;
mod hook;
mod hooks_daemon;
mod hung;
mod hung_client;
mod install;
mod keep;
mod lazy;
mod log;
mod logs;
mod mcp;
mod memos;
mod messages;
mod moved;
mod newer;
mod oddities;
mod opencode;
mod page;
mod project;
mod query;
mod recall;
mod record;
mod record_ids;
mod reindex;
mod relay;
mod relay_kills;
mod relay_server;
mod repair;
mod replay_at;
mod reread;
mod restored;
mod resume;
mod roots;
mod screen;
mod secrets;
mod shapes;
mod short_ids;
mod sockets;
mod states;
mod surroundings;
mod sync;
mod terminal;
mod time;
mod titles;
mod today;
mod torn;
mod tour;
mod tracking;
mod transcript;
mod unread;
mod unreadable;
mod update;
mod usage;
mod vault;
mod vectors;
mod verify;
mod world;

#[test]
#[should_panic(expected = "the test left processes behind")]
fn a_process_that_a_test_leaves_behind_fails_it() {
    let world = world::World::new();
    drop(world.program("sleep", &["600"]).spawn().unwrap());
    // A program that has just been started has no environment to be recognised by for a moment.
    assert!(world::wait(|| !world.processes().is_empty()), "it is not seen");
}
