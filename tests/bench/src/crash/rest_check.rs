//! Checks at rest: every byte of every transcript is counted once, and the memory equals a rebuilt one.

use std::fs;
use std::path::Path;

use baton::client::Client;
use baton::environment::Environment;
use baton_conversation::record::Timestamp;
use baton_memory::Store;
use baton_protocol::answer::{Search, Sessions, Track};
use baton_protocol::{SearchParams, SessionsParams, TrackParams, method};

use super::author::Transcript;
use super::daemon::Daemon;
use super::history::History;
use crate::{Error, latency, workspace};

/// Lets a daemon read and index everything, stops it, and describes everything that is wrong. A second home is built
/// below `root` from the log and the conversations.
pub(super) fn check(root: &Path, environment: &Environment, transcripts: &[Transcript]) -> Result<Vec<String>, Error> {
    if let Err(what) = settle(environment, transcripts)? {
        return Ok(vec![what]);
    }
    let copy = root.join("quiet");
    let _ = fs::remove_dir_all(&copy);
    let other = environment.with_home(copy.clone());
    for kept in ["log", "blobs"] {
        workspace::copy(&environment.home.join(kept), &copy.join(kept))?;
    }
    make_private(&copy);
    let history = match History::read(&copy.join("log"), Timestamp(latency::now_ms()), None) {
        Ok(history) => history,
        Err(what) => return Ok(vec![what]),
    };
    let mut wrong = compare_counts(&history, transcripts);
    if let Err(what) = settle(&other, transcripts)? {
        wrong.push(format!("in a home made anew: {what}"));
        return Ok(wrong);
    }
    match (dump_memory(&environment.home), dump_memory(&copy)) {
        (Ok(kept), Ok(rebuilt)) => wrong.extend(difference(&kept, &rebuilt)),
        (Err(what), _) | (_, Err(what)) => wrong.push(what),
    }
    let _ = fs::remove_dir_all(&copy);
    Ok(wrong)
}

/// Starts a daemon, tracks every session, waits for everything, and stops it. The inner `Err` says what is missing.
fn settle(environment: &Environment, transcripts: &[Transcript]) -> Result<Result<(), String>, Error> {
    let daemon = match Daemon::start(environment)? {
        Ok(daemon) => daemon,
        Err(what) => return Ok(Err(what)),
    };
    let Some(mut client) = Client::connect(environment)? else {
        return Ok(Err("a daemon that is ready does not answer".to_owned()));
    };
    let listed = SessionsParams { subagents: true, ..SessionsParams::default() };
    let search = SearchParams { query: "release".to_owned(), limit: 1, wait: true, ..SearchParams::default() };
    let sessions: Sessions = client.call(method::SESSIONS, &listed, |_| {})?;
    for row in sessions.sessions.iter().filter(|row| !row.tracked || row.why.as_deref() == Some("untracked")) {
        let params = TrackParams { session: Some(row.session_id.clone()), ..TrackParams::default() };
        let tracked: Track = client.call(method::TRACK, &params, |_| {})?;
        if tracked.status != "success" {
            return Ok(Err(format!("session {} cannot be tracked: {}", row.session_id, tracked.message)));
        }
    }
    let found: Search = client.call(method::SEARCH, &search, |_| {})?;
    let sessions: Sessions = client.call(method::SESSIONS, &listed, |_| {})?;
    let open: Vec<String> = sessions.sessions.iter().filter(|row| row.state != "indexed").map(describe).collect();
    let settled = if found.freshness.pending > 0 || !found.freshness.failed.is_empty() {
        Err(format!("not everything was read: {:?}; {}", found.freshness, open.join(", ")))
    } else if !open.is_empty() {
        Err(format!("not everything is indexed: {}", open.join(", ")))
    } else if sessions.sessions.len() != transcripts.len() {
        Err(format!("{} sessions of {} transcripts", sessions.sessions.len(), transcripts.len()))
    } else {
        Ok(())
    };
    daemon.stop(client, environment)?;
    Ok(settled)
}

fn describe(row: &baton_protocol::answer::Row) -> String {
    format!("{} is {} {}", row.session_id, row.state, row.why.as_deref().unwrap_or_default())
}

/// Compares the counts in the log with what was written.
fn compare_counts(history: &History, transcripts: &[Transcript]) -> Vec<String> {
    let mut wrong = Vec::new();
    for transcript in transcripts {
        let Some(session) = history.sessions.get(&transcript.session) else {
            wrong.push(format!("session {} is not in the log", transcript.session));
            continue;
        };
        let state = &session.state;
        let counted = (state.read.offset, state.counts.records, state.counts.malformed, state.counts.messages);
        let written = (transcript.bytes, transcript.records, transcript.malformed, transcript.messages);
        if counted != written {
            wrong.push(format!(
                "session {}: bytes, records, malformed lines and messages are {written:?}, and counted {counted:?} in \
                 generation {} ({} times begun anew)",
                transcript.session, state.generation, transcript.rewrites
            ));
        }
    }
    wrong
}

/// The content of a memory, one line per document.
fn dump_memory(home: &Path) -> Result<Vec<String>, String> {
    let opened = Store::open(&home.join("memory")).map_err(|error| format!("the memory does not open: {error}"))?;
    if let Some(why) = opened.wiped {
        return Err(format!("the memory had to be thrown away: {why:?}"));
    }
    opened.store.searcher().dump().map_err(|error| format!("the memory cannot be read: {error}"))
}

/// Describes the difference of two memories.
fn difference(kept: &[String], rebuilt: &[String]) -> Option<String> {
    if kept == rebuilt {
        return None;
    }
    let only = |here: &[String], there: &[String]| {
        let there: std::collections::BTreeSet<&String> = there.iter().collect();
        here.iter().find(|line| !there.contains(line)).cloned()
    };
    Some(format!(
        "the memory has {} documents and a rebuilt one {}; only here: {:?}; only there: {:?}",
        kept.len(),
        rebuilt.len(),
        only(kept, rebuilt),
        only(rebuilt, kept)
    ))
}

/// Makes a home accessible to its owner alone.
fn make_private(home: &Path) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let _ = fs::set_permissions(home, fs::Permissions::from_mode(0o700));
    }
    #[cfg(not(unix))]
    let _ = home;
}
