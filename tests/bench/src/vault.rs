//! The notes of the vault: writing those of a whole history, the end of one session, compacting, checking.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use baton_conversation::record::Timestamp;
use baton_protocol::answer::{Close, Vault as VaultStatus, VaultCompact, VaultSync, VaultVerify};
use baton_protocol::{CloseParams, VaultCompactParams, VaultSyncParams, method};
use serde::Serialize;
use serde_json::{Value, json};

use super::latency::now_ms;
use super::process::{self, cpu_seconds};
use super::sample::Sample;
use super::{Corpus, Error, Memory, Spread, Table, TestDaemon, io_error};

/// Number of session ends measured.
const ENDS: usize = 20;
/// Entities of each session: the files that it changed.
const ENTITIES: usize = 10;
/// Timeout for notes to be written.
const PATIENCE: Duration = Duration::from_secs(600);
/// Interval between two checks.
const LOOK: Duration = Duration::from_millis(1);

/// Cost of notes over a history.
#[derive(Clone, Debug, Serialize)]
pub struct Vault {
    /// How this was measured.
    pub how: &'static str,
    /// Sessions written as notes.
    pub sessions: u64,
    /// Files in the vault.
    pub files: u64,
    /// From switching notes on until the last one is written.
    pub wall_seconds: f64,
    /// Processor time of the daemon meanwhile; absent where the system does not report it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_seconds: Option<f64>,
    /// Memory of the daemon before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_before: Option<Memory>,
    /// Memory after everything was written, with the peak since notes were switched on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Memory>,
    /// A second sync with nothing to do.
    pub again_seconds: f64,
    /// From calling `close` for an unread session with ten entities until it has answered and the notes are written.
    pub end: Spread,
    /// Time that the daemon itself reports for writing the notes of one end.
    pub end_written: Spread,
    /// Compacting one session: ten notes of entities, the archive read back, links.
    pub compaction: Spread,
    /// Time to read and check every note.
    pub verify_seconds: f64,
    /// Number of notes checked.
    pub notes: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Notes checked per second.
    pub notes_per_second: f64,
}

/// Measures over a daemon that has indexed the corpus.
pub(super) fn measure(daemon: &mut TestDaemon, claude: &Path, corpus: &Corpus) -> Result<Vault, Error> {
    daemon.index_all(&corpus.rare_word, corpus.transcripts)?;
    let memory_before = process::memory(daemon.pid());
    process::reset_peak(daemon.pid());
    let before = cpu_seconds(daemon.pid());
    let config = daemon.environment().home.join("config.json");
    let since = Instant::now();
    fs::write(&config, r#"{"vault":{"enabled":true}}"#).map_err(io_error("write", &config))?;
    let synced = sync(daemon)?;
    wait_until_current(daemon)?;
    let wall_seconds = since.elapsed().as_secs_f64();
    let spent = cpu_seconds(daemon.pid()).zip(before).map(|(after, before)| after - before);
    let memory = process::memory(daemon.pid());
    let written = wait_until_current(daemon)?;
    if written.notes == 0 || synced.status != "success" {
        return Err(Error::NothingMeasured(format!("no notes are there: {}", synced.message)));
    }
    let since = Instant::now();
    sync(daemon)?;
    let again_seconds = since.elapsed().as_secs_f64();
    let files = count(&daemon.environment().home.join("vault"));

    let (mut end, mut end_written, mut compaction) = (Sample::default(), Sample::default(), Sample::default());
    for number in 0..ENDS {
        let session = session(claude, number)?;
        let notes = written.notes + number as u64 + 1;
        end.time(|| {
            close(daemon, &session)?;
            wait_for_notes(daemon, notes)
        })?;
        if let Some(ms) = wait_until_current(daemon)?.last_end_ms {
            end_written.add(Duration::from_millis(ms));
        }
        let asked = VaultCompactParams { session: Some(session.clone()), dry_run: false };
        let compacted: VaultCompact = daemon.client.call(method::VAULT_COMPACT, &asked, |_| {})?;
        let [note] = compacted.notes.as_slice() else {
            return Err(Error::NothingMeasured(format!("a note was not compacted: {}", compacted.message)));
        };
        if note.error.is_some() || compacted.status != "success" {
            return Err(Error::NothingMeasured(format!("a note was not compacted: {:?}", note.error)));
        }
        compaction.add(Duration::from_millis(note.duration_ms));
    }
    let verified: VaultVerify = daemon.client.call(method::VAULT_VERIFY, &(), |_| {})?;
    if !verified.clean {
        return Err(Error::NothingMeasured(format!("{} things are wrong with the notes", verified.found)));
    }
    Ok(Vault {
        how: "All sessions of the corpus are indexed, then notes are switched on: until every session is in its note, durable. Then \
              sessions with ten changed files are closed one by one and compacted; every note is read and checked.",
        sessions: written.notes,
        files,
        wall_seconds,
        cpu_seconds: spent,
        memory_before,
        memory,
        again_seconds,
        end: end.spread(),
        end_written: end_written.spread(),
        compaction: compaction.spread(),
        verify_seconds: verified.seconds,
        notes: verified.notes,
        bytes: verified.bytes,
        notes_per_second: (verified.notes as f64 / verified.seconds.max(0.001)).round(),
    })
}

fn sync(daemon: &mut TestDaemon) -> Result<VaultSync, Error> {
    Ok(daemon.client.call(method::VAULT_SYNC, &VaultSyncParams::default(), |_| {})?)
}

fn vault_status(daemon: &mut TestDaemon) -> Result<VaultStatus, Error> {
    Ok(daemon.client.call(method::VAULT_STATUS, &(), |_| {})?)
}

/// Waits until no note is behind.
fn wait_until_current(daemon: &mut TestDaemon) -> Result<VaultStatus, Error> {
    wait_for_status(daemon, |status| status.state == "ready" && status.behind == 0)
}

/// Waits until there are `notes` notes.
fn wait_for_notes(daemon: &mut TestDaemon, notes: u64) -> Result<VaultStatus, Error> {
    wait_for_status(daemon, |status| status.notes >= notes && status.behind == 0)
}

fn wait_for_status(daemon: &mut TestDaemon, is_reached: impl Fn(&VaultStatus) -> bool) -> Result<VaultStatus, Error> {
    let begun = Instant::now();
    loop {
        let now = vault_status(daemon)?;
        if is_reached(&now) {
            return Ok(now);
        }
        if begun.elapsed() > PATIENCE {
            return Err(Error::NothingMeasured(format!("notes are not written: {} behind", now.behind)));
        }
        std::thread::sleep(LOOK);
    }
}

fn close(daemon: &mut TestDaemon, session: &str) -> Result<(), Error> {
    let asked = CloseParams { session: Some(session.to_owned()), deadline_ms: 30_000, ..CloseParams::default() };
    let closed: Close = daemon.client.call(method::CLOSE, &asked, |_| {})?;
    match closed.status.as_str() {
        "success" => Ok(()),
        _ => Err(Error::NothingMeasured(format!("a session was not closed: {}", closed.message))),
    }
}

/// Writes a session that changes ten files, and returns its id.
fn session(claude: &Path, number: usize) -> Result<String, Error> {
    let id = format!("{number:08x}-0000-4003-8000-00000be4c400");
    let path = claude.join("projects").join("-home-dev-projects-vault-bench").join(format!("{id}.jsonl"));
    let mut count = 0;
    let mut record = |kind: &str, message: Value| {
        count += 1;
        let at = Timestamp(now_ms() - 60_000 + count * 100).to_string();
        let record = json!({
            "parentUuid": null, "isSidechain": false, "userType": "external", "cwd": "/home/dev/projects/vault-bench",
            "sessionId": id, "version": "2.1.219", "gitBranch": "main", "type": kind, "message": message,
            "uuid": format!("00000000-0000-4004-8000-{number:06x}{count:06x}"), "timestamp": at,
        });
        format!("{record}\n")
    };
    let mut text = record(
        "user",
        json!({"role": "user", "content": format!("move the settings of part {number} to the new layout, file by file")}),
    );
    let mut said = 0;
    let mut assistant = |block: Value, stop: &str| {
        said += 1;
        json!({
            "model": "claude-opus-4-5", "id": format!("msg_vault{number:04x}{said:04x}"), "type": "message", "role": "assistant",
            "content": [block], "stop_reason": stop, "usage": {"input_tokens": 10, "output_tokens": 20},
        })
    };
    for file in 0..ENTITIES {
        let path = format!("/home/dev/projects/vault-bench/src/part_{number}/setting_{file}.rs");
        let call = format!("toolu_{number}_{file}");
        let input = json!({"file_path": path, "old_string": "old", "new_string": "new"});
        let used = assistant(json!({"type": "tool_use", "id": call, "name": "Edit", "input": input}), "tool_use");
        text += &record("assistant", used);
        let result = json!({"type": "tool_result", "tool_use_id": call, "content": "The file has been updated."});
        text += &record("user", json!({"role": "user", "content": [result]}));
        let why =
            format!("I decided to keep setting_{file}.rs in TOML instead of YAML, because comments survive there.");
        text += &record("assistant", assistant(json!({"type": "text", "text": why}), "end_turn"));
    }
    let write = || {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::File::create(&path)?.write_all(text.as_bytes())
    };
    write().map_err(io_error("write", &path))?;
    Ok(id)
}

/// Number of files below a folder.
fn count(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.file_type() {
            Ok(kind) if kind.is_dir() => count(&entry.path()),
            _ => 1,
        })
        .sum()
}

impl Vault {
    pub(super) fn table(&self) -> Table {
        let mut table = Table::new("Vault", self.how);
        let rate = self.sessions as f64 / self.wall_seconds;
        table.row("all sessions", format!("{} in {:.2} s, {rate:.0} a second", self.sessions, self.wall_seconds));
        if let Some(seconds) = self.cpu_seconds {
            table.row("  processor", format!("{seconds:.2} s"));
        }
        table.row("  files", self.files.to_string());
        if let (Some(before), Some(memory)) = (self.memory_before, self.memory) {
            table.row("  memory before", before.text());
            table.row("  memory, most meanwhile", super::table::megabytes(memory.peak_bytes));
        }
        table.row("once more, nothing new", format!("{:.3} s", self.again_seconds));
        table.row("close to notes, 10 entities", self.end.text());
        table.row("  of that, writing", self.end_written.text());
        table.row("compacting it", self.compaction.text());
        table.row(
            "checking every note",
            format!("{} in {:.2} s, {:.0} a second", self.notes, self.verify_seconds, self.notes_per_second),
        );
        table
    }
}
