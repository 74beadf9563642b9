//! A session start with a handoff of the session before it, out of many.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;

use serde_json::{Value, json};

use super::{Handoff, Tally, hook_call};
use crate::test_daemon::TestDaemon;
use crate::workspace::Workspace;
use crate::{Corpus, CorpusOptions, Error, io_error};

/// Mean size of a transcript, in bytes.
const SMALL_BYTES: u64 = 4000;

pub(super) fn measure(
    workspace: &Workspace,
    program: &Path,
    sessions: u32,
    runs: u32,
    progress: &impl Fn(&str),
) -> Result<Handoff, Error> {
    let claude = workspace.path().join("handed");
    let bytes = u64::from(sessions) * SMALL_BYTES;
    let corpus = Corpus::write(CorpusOptions { sessions, bytes, seed: 1, dense: false }, &claude)?;
    let mut daemon = TestDaemon::start(&claude)?;
    daemon.index_all(&corpus.rare_word, corpus.transcripts)?;
    progress("starting sessions that are told of another");
    let last = claude.join(&corpus.largest);
    let directory = directory_of(&last)?;
    let folder = last.parent().unwrap_or(&claude);
    let (mut tally, mut told_bytes) = (Tally::default(), 0);
    let mut number = 0;
    tally.measure(runs, || {
        number += 1;
        let session = format!("00000000-0000-4000-9000-{number:012x}");
        let object = json!({
            "session_id": session, "transcript_path": folder.join(format!("{session}.jsonl")), "cwd": directory,
            "hook_event_name": "SessionStart", "source": "startup",
        });
        let said = hook_call::call(program, &daemon.environment().home, &claude, "SessionStart", &object)?;
        let said: Value = serde_json::from_slice(&said).unwrap_or_default();
        let context = said["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default();
        told_bytes += context.len() as u64;
        match context.is_empty() {
            true => Err(Error::NothingMeasured(format!("session {number} in {directory} is told nothing"))),
            false => Ok(()),
        }
    })?;
    let told_bytes = told_bytes / u64::from(runs.max(1));
    Ok(Handoff { sessions: corpus.transcripts, told_bytes, cost: tally.cost() })
}

/// The working directory of the session in a transcript.
fn directory_of(transcript: &Path) -> Result<String, Error> {
    let file = fs::File::open(transcript).map_err(io_error("read", transcript))?;
    let records = BufReader::new(file).lines().map_while(Result::ok);
    let directories = records.filter_map(|line| {
        let record: Value = serde_json::from_str(&line).ok()?;
        record["cwd"].as_str().map(str::to_owned)
    });
    directories
        .take(1)
        .next()
        .ok_or_else(|| Error::NothingMeasured(format!("{} names no directory", transcript.display())))
}
