//! From an append to an answer that contains it.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use baton_conversation::record::Timestamp;
use serde::Serialize;

use super::process::CpuPerCall;
use super::sample::Sample;
use super::{Error, Spread, Table, TestDaemon, io_error};

/// Appends of each kind.
const APPENDS: usize = 100;

/// Times from an append to an answer.
#[derive(Clone, Debug, Serialize)]
pub struct Latency {
    /// How this was measured.
    pub how: &'static str,
    /// Appends to the largest transcript of the corpus.
    pub known_session: Appending,
    /// Appends that each create a transcript.
    pub new_session: Appending,
}

/// Times of appends of one kind.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Appending {
    /// From before the append to the answer.
    pub to_answer: Spread,
    /// The search alone.
    pub search_call: Spread,
    /// Processor time of the daemon per append and search, in milliseconds; absent where the system does not report it.
    pub cpu_ms: Option<f64>,
}

pub(super) fn measure(daemon: &mut TestDaemon, known: &Path) -> Result<Latency, Error> {
    let project = known.parent().unwrap_or(known).to_owned();
    let known_session = append(daemon, 0, |_| known.to_owned())?;
    let new_session =
        append(daemon, APPENDS, |number| project.join(format!("00000000-0000-4000-8000-{number:012x}.jsonl")))?;
    Ok(Latency {
        how: "A prompt and a reply with a word that is nowhere else are appended; then at once a search for that word on \
              an open connection, whose answer must have it.",
        known_session,
        new_session,
    })
}

fn append(daemon: &mut TestDaemon, first: usize, path: impl Fn(usize) -> PathBuf) -> Result<Appending, Error> {
    let (mut to_answer, mut search_call) = (Sample::default(), Sample::default());
    let cpu = CpuPerCall::begin(daemon.pid());
    for number in first..first + APPENDS {
        let (word, path) = (word(number), path(number));
        let lines = exchange(&path, &word, number);
        to_answer.time(|| {
            let file = OpenOptions::new().create(true).append(true).open(&path);
            file.and_then(|mut file| file.write_all(lines.as_bytes())).map_err(io_error("append to", &path))?;
            let found = search_call.time(|| daemon.ask(&word, false))?;
            match found.hits.iter().any(|hit| hit.snippet.contains(&word)) {
                true => Ok(()),
                false => Err(Error::NothingMeasured(format!("an append to {} was not found", path.display()))),
            }
        })?;
    }
    let cpu_ms = cpu.end(APPENDS);
    Ok(Appending { to_answer: to_answer.spread(), search_call: search_call.spread(), cpu_ms })
}

impl Latency {
    pub(super) fn table(&self) -> Table {
        let mut table = Table::new("Append to answer", self.how);
        for (name, appending) in [("known session", self.known_session), ("new session", self.new_session)] {
            table.row(name, appending.to_answer.text());
            table.row("  of that, the search", appending.search_call.text());
            if let Some(ms) = appending.cpu_ms {
                table.row("  processor for one", format!("{ms:.1} ms"));
            }
        }
        table
    }
}

/// A word for each number that occurs nowhere else.
pub(super) fn word(number: usize) -> String {
    const DIGITS: &[u8; 16] = b"bcdfghjklmnpqrtv";
    let digits = (0..4).map(|place| char::from(DIGITS[(number >> (4 * place)) & 15]));
    "zwq".chars().chain(digits).collect()
}

/// Milliseconds since 1970.
pub(super) fn now_ms() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
    i64::try_from(now).unwrap_or(i64::MAX)
}

/// A typed prompt and a reply, both with the word.
pub(super) fn exchange(path: &Path, word: &str, number: usize) -> String {
    let session = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
    let at = Timestamp(now_ms()).to_string();
    let record = |kind: &str, uuid: &str, message: serde_json::Value| {
        let record = serde_json::json!({
            "parentUuid": null, "isSidechain": false, "userType": "external", "cwd": "/home/dev/projects/ledger-api",
            "sessionId": session, "version": "2.1.219", "gitBranch": "main", "type": kind, "message": message,
            "uuid": uuid, "timestamp": at,
        });
        format!("{record}\n")
    };
    let prompt = format!("please note that {word} is what the release is called, and go on with the transfers");
    let reply = format!("Noted: the release is called {word}. The transfers come next.");
    let prompt = record(
        "user",
        &format!("00000000-0000-4001-8000-{number:012x}"),
        serde_json::json!({ "role": "user", "content": prompt }),
    );
    let reply = record(
        "assistant",
        &format!("00000000-0000-4002-8000-{number:012x}"),
        serde_json::json!({
            "model": "claude-opus-4-5", "id": format!("msg_bench{number:08x}"), "type": "message", "role": "assistant",
            "content": [{ "type": "text", "text": reply }], "stop_reason": "end_turn",
            "usage": { "input_tokens": 10, "output_tokens": 20 },
        }),
    );
    prompt + &reply
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_append_has_a_word_of_its_own_in_prompt_and_reply() {
        let words: BTreeSet<String> = (0..1000).map(word).collect();
        assert_eq!(words.len(), 1000);
        let lines = exchange(Path::new("/p/s-1.jsonl"), &word(7), 7);
        let records: Vec<serde_json::Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(records.len(), 2);
        for record in records {
            assert_eq!(record["sessionId"], "s-1");
            assert!(record["message"].to_string().contains(&word(7)));
            assert!(Timestamp::parse(record["timestamp"].as_str().unwrap()).is_some());
        }
    }
}
