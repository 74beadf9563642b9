//! The main job, measured from outside: transcripts on disk in, answers out.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use baton_events::protocol::answer::{Search, Status};
use baton_events::protocol::{SearchParams, method};
use baton_events::record::Timestamp;

use super::report::{Appending, Disk, Index, MainJob, Memory, Searching};
use super::sample::Sample;
use super::{Error, corpus, io_error, process};
use crate::client::Client;
use crate::environment::Environment;
use crate::examples::{self, Throwaway};

/// Bytes of an MB.
const MB: f64 = 1_000_000.0;
/// Appends of each kind.
const APPENDS: usize = 50;
/// Calls for each query.
const CALLS: usize = 200;
/// Processes for each query, and for `status`.
const PROCESSES: usize = 50;
/// Longest silence of the daemon: far more than indexing takes.
const PATIENCE: Duration = Duration::from_secs(600);

/// What is measured.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Size of the corpus, in bytes.
    pub bytes: u64,
}

/// Measures. `tell` is told what is being done.
pub fn main_job(options: Options, tell: impl Fn(&str)) -> Result<MainJob, Error> {
    let examples = examples::folder().map_err(io_error("find", Path::new(".")))?;
    let folder = tempfile::Builder::new().prefix("baton-bench-").tempdir();
    let folder = folder.map_err(io_error("create a directory in", &std::env::temp_dir()))?;
    let claude = folder.path().join("claude");
    tell(&format!("writing {} MB of transcripts", options.bytes / 1_000_000));
    let corpus = corpus::write(&examples, &claude, options.bytes)?;

    tell("indexing them");
    let since = Instant::now();
    let throwaway = Throwaway::start(&claude)?;
    let mut run = Run::new(&throwaway)?;
    let index = run.index(since, &corpus)?;
    let disk = run.disk(corpus.bytes);
    let after = process::resident_bytes(run.client.welcome().pid);

    tell("appending and searching");
    let append = BTreeMap::from([
        ("known_session", run.append_to(&corpus.largest)?),
        ("new_session", run.new_sessions(corpus.largest.parent().unwrap_or(&claude))?),
    ]);
    tell("searching");
    let rare = word(0);
    let mut search = BTreeMap::new();
    for (name, query) in
        [("rare_word", rare.as_str()), ("common_word", "test"), ("five_words", "refresh token race several tabs")]
    {
        search.insert(name, run.search(query)?);
    }
    let status_process = run.status()?;
    let memory = after.zip(process::resident_bytes(run.client.welcome().pid)).map(|((_, after), (peak, end))| Memory {
        peak_bytes: peak,
        after_index_bytes: after,
        at_end_bytes: end,
    });
    Ok(MainJob {
        raw_bytes: corpus.bytes,
        transcripts: corpus.files,
        index,
        memory,
        disk,
        append,
        search,
        status_process,
    })
}

/// One throwaway daemon and a connection to it.
struct Run<'a> {
    environment: &'a Environment,
    client: Client,
    words: usize,
}

impl<'a> Run<'a> {
    fn new(throwaway: &'a Throwaway) -> Result<Self, Error> {
        let client = throwaway.client()?;
        client.be_patient(PATIENCE);
        Ok(Self { environment: throwaway.environment(), client, words: 0 })
    }

    /// Waits for the first answer from everything.
    fn index(&mut self, since: Instant, corpus: &corpus::Corpus) -> Result<Index, Error> {
        self.ask("refresh token", true)?;
        let wall_seconds = since.elapsed().as_secs_f64();
        let cpu_seconds = process::cpu_seconds(self.client.welcome().pid);
        let status: Status = self.client.call(method::STATUS, &(), |_| {})?;
        let indexed = status.sessions.get("indexed").copied().unwrap_or(0);
        if indexed != corpus.files || status.memory.lag > 0 {
            let (files, lag) = (corpus.files, status.memory.lag);
            return Err(Error::Untrue(format!("{indexed} of {files} sessions are indexed, memory lags by {lag}")));
        }
        let megabytes = corpus.bytes as f64 / MB;
        Ok(Index {
            wall_seconds,
            cpu_seconds,
            mb_per_second: megabytes / wall_seconds,
            mb_per_cpu_second: cpu_seconds.map(|seconds| megabytes / seconds),
            events: status.log.position,
        })
    }

    fn disk(&self, raw_bytes: u64) -> Disk {
        let home = &self.environment.home;
        let parts = [
            ("log/segments", home.join("log/segments")),
            ("log/sled", home.join("log/sled")),
            ("blobs", home.join("blobs")),
            ("memory", home.join("memory")),
        ];
        let all = process::folder(home);
        Disk {
            parts: parts.into_iter().map(|(name, path)| (name, process::folder(&path))).collect(),
            all,
            share_of_raw: all.bytes_on_disk as f64 / raw_bytes as f64,
        }
    }

    fn append_to(&mut self, transcript: &Path) -> Result<Appending, Error> {
        self.append(|_| transcript.to_owned())
    }

    fn new_sessions(&mut self, project: &Path) -> Result<Appending, Error> {
        self.append(|number| project.join(format!("00000000-0000-4000-8000-{number:012x}.jsonl")))
    }

    fn append(&mut self, path: impl Fn(usize) -> PathBuf) -> Result<Appending, Error> {
        let (mut to_answer, mut search_call) = (Sample::default(), Sample::default());
        for _ in 0..APPENDS {
            let word = word(self.words);
            let path = path(self.words);
            let lines = exchange(&path, &word, self.words);
            self.words += 1;
            to_answer.take(|| {
                let file = OpenOptions::new().create(true).append(true).open(&path);
                file.and_then(|mut file| file.write_all(lines.as_bytes())).map_err(io_error("append to", &path))?;
                let found = search_call.take(|| self.ask(&word, false))?;
                match found.hits.iter().any(|hit| hit.snippet.contains(&word)) {
                    true => Ok(()),
                    false => Err(Error::Untrue(format!("an append to {} was not found", path.display()))),
                }
            })?;
        }
        Ok(Appending { to_answer: to_answer.spread(), search_call: search_call.spread() })
    }

    fn search(&mut self, query: &str) -> Result<Searching, Error> {
        let (mut call, mut process) = (Sample::default(), Sample::default());
        for _ in 0..CALLS {
            let found = call.take(|| self.ask(query, false))?;
            if found.hits.is_empty() {
                return Err(Error::Untrue(format!("nothing is found for {query:?}")));
            }
        }
        let mut arguments = vec!["search", "--json", "--no-wait"];
        arguments.extend(query.split(' '));
        for _ in 0..PROCESSES {
            process.take(|| self.run(&arguments))?;
        }
        Ok(Searching { query: query.to_owned(), call: call.spread(), process: process.spread() })
    }

    fn status(&self) -> Result<super::Spread, Error> {
        let mut process = Sample::default();
        for _ in 0..PROCESSES {
            process.take(|| self.run(&["status"]))?;
        }
        Ok(process.spread())
    }

    fn ask(&mut self, query: &str, wait: bool) -> Result<Search, Error> {
        let params = SearchParams { query: query.to_owned(), limit: 10, wait, ..SearchParams::default() };
        Ok(self.client.call(method::SEARCH, &params, |_| {})?)
    }

    /// This program, as a person runs it.
    fn run(&self, arguments: &[&str]) -> Result<(), Error> {
        let program = std::env::current_exe().map_err(io_error("find", Path::new("baton")))?;
        let ended = Command::new(&program)
            .args(arguments)
            .env("BATON_HOME", &self.environment.home)
            .env("CLAUDE_CONFIG_DIR", &self.environment.claude_config_dir)
            .stdin(Stdio::null())
            .output()
            .map_err(io_error("run", &program))?;
        match ended.status.success() && !ended.stdout.is_empty() {
            true => Ok(()),
            false => Err(Error::Untrue(format!("`baton {}` failed", arguments.join(" ")))),
        }
    }
}

/// A word that is nowhere else, one for each number.
fn word(number: usize) -> String {
    const DIGITS: &[u8; 16] = b"bcdfghjklmnpqrtv";
    let digits = (0..4).map(|place| char::from(DIGITS[(number >> (4 * place)) & 15]));
    "zwq".chars().chain(digits).collect()
}

/// A typed prompt with a word, and a reply.
fn exchange(path: &Path, word: &str, number: usize) -> String {
    let session = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
    let at = Timestamp(i64::try_from(now).unwrap_or(i64::MAX)).to_string();
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
