//! A daemon with years of history: time to answer each kind of question, memory, and time to rebuild its searchable
//! memory from the log.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use baton::client::Client;
use baton::environment::Environment;
use baton_ask::stopwords::is_stop;
use baton_protocol::answer::{Hit, Search, Status};
use baton_protocol::{FactsParams, HowParams, PatternsParams, RecallParams, SearchParams, TimelineParams, method};
use serde::Serialize;
use serde_json::Value;

use super::daemon_process::DaemonProcess;
use super::process::{self, cpu_seconds};
use super::sample::Sample;
use super::table::megabytes;
use super::workspace::Workspace;
use super::{Corpus, Error, Memory, Spread, Table, io_error};

/// Calls of each kind, so that the 99th percentile is one of them.
const CALLS: usize = 100;
/// Time for the calls of one kind; a slow kind gets fewer calls.
const TIME_PER_KIND: Duration = Duration::from_secs(10);
/// Different questions of one kind.
const QUESTIONS: usize = 20;

/// Cost of a history of this size.
#[derive(Clone, Debug, Serialize)]
pub struct Daemon {
    /// How this was measured.
    pub how: &'static str,
    /// Sessions, including subagents.
    pub sessions: u64,
    /// Documents in the memory: turns, sessions, entities, facts, outcomes.
    pub documents: u64,
    /// Calls on one open connection, by kind of question.
    pub questions: BTreeMap<&'static str, Question>,
    /// Memory of a daemon that was started over this history and has answered all these questions. Absent where the
    /// system does not report it, like the other figures of processes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Memory>,
    /// Rebuilding the memory from the log and the conversations.
    pub rebuild: Rebuild,
}

/// One kind of question.
#[derive(Clone, Debug, Serialize)]
pub struct Question {
    /// An example.
    pub asked: String,
    /// Times of the answers.
    pub call: Spread,
    /// Processor time of the daemon per call, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_cpu_ms: Option<f64>,
}

/// Rebuilding the memory.
#[derive(Clone, Debug, Serialize)]
pub struct Rebuild {
    /// From starting a daemon without a memory until its memory has caught up with the log.
    pub wall_seconds: f64,
    /// Documents per second.
    pub documents_per_second: f64,
    /// Processor time, all threads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_seconds: Option<f64>,
    /// Memory of the daemon right after.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Memory>,
}

/// Indexes a corpus, asks questions, deletes the memory and waits until it is rebuilt.
pub(super) fn measure(workspace: &Workspace, claude: &Path, corpus: &Corpus) -> Result<Daemon, Error> {
    let home = workspace.path().join("history");
    baton_base::durable::create_private_folder(&home).map_err(io_error("create", &home))?;
    let environment = Environment::isolated(home.clone(), claude.to_owned());
    let mut first = DaemonProcess::start(&environment)?;
    let mut client = first.client(&environment)?;
    search(&mut client, &corpus.common_word, true)?;
    let indexed = DaemonProcess::wait_until_caught_up(&mut client)?;
    let sessions = sessions_of(&indexed);
    if sessions != corpus.transcripts {
        return Err(Error::NothingMeasured(format!("{sessions} of {} sessions are indexed", corpus.transcripts)));
    }
    drop(client);
    first.end(&environment)?;

    let mut daemon = DaemonProcess::start(&environment)?;
    let mut client = daemon.client(&environment)?;
    let questions = ask_all(&mut client, corpus)?;
    let documents = DaemonProcess::status(&mut client)?.memory.documents;
    let memory = process::memory(client.welcome().pid);
    drop(client);
    daemon.end(&environment)?;

    let folder = home.join("memory");
    std::fs::remove_dir_all(&folder).map_err(io_error("remove", &folder))?;
    let since = Instant::now();
    let mut daemon = DaemonProcess::start(&environment)?;
    let mut client = daemon.client(&environment)?;
    let rebuilt = DaemonProcess::wait_until_caught_up(&mut client)?;
    let wall_seconds = since.elapsed().as_secs_f64();
    if sessions_of(&rebuilt) != sessions || rebuilt.memory.documents == 0 {
        return Err(Error::NothingMeasured(format!("{} documents are there again", rebuilt.memory.documents)));
    }
    let pid = client.welcome().pid;
    let rebuild = Rebuild {
        wall_seconds,
        documents_per_second: rebuilt.memory.documents as f64 / wall_seconds,
        cpu_seconds: cpu_seconds(pid),
        memory: process::memory(pid),
    };
    search(&mut client, &corpus.common_word, false)?;
    drop(client);
    daemon.end(&environment)?;
    Ok(Daemon {
        how: "A daemon over the corpus, started anew once all was indexed; each kind of question 100 times on one connection, \
              20 different ones, in 10 s at most; every call looks at all transcripts first, as always. Then its memory is \
              deleted, and it is started again: until the memory has followed the log, files in the page cache.",
        sessions,
        documents,
        questions,
        memory,
        rebuild,
    })
}

fn sessions_of(status: &Status) -> u64 {
    [&status.sessions, &status.subagents].into_iter().filter_map(|counts| counts.get("indexed")).sum()
}

fn search(client: &mut Client, query: &str, wait: bool) -> Result<Vec<Hit>, Error> {
    let params = SearchParams { query: query.to_owned(), limit: 10, wait, ..SearchParams::default() };
    let found: Search = client.call(method::SEARCH, &params, |_| {})?;
    Ok(found.hits)
}

/// Asks questions of every kind.
fn ask_all(client: &mut Client, corpus: &Corpus) -> Result<BTreeMap<&'static str, Question>, Error> {
    let hits = search(client, &format!("{} error", corpus.common_word), false)?;
    let words = Words::from_hits(&hits);
    let project = hits.iter().find_map(|hit| hit.project.clone()).unwrap_or_default();
    let (one, two) = (|at: usize| words.single(at), |at: usize| words.phrase(at));
    let rare = &corpus.rare_word;
    type Asks<'a> = (&'static str, &'static str, Box<dyn Fn(usize) -> (String, Value) + 'a>);
    let searching = |text: String| {
        let params = SearchParams { query: text.clone(), limit: 10, ..SearchParams::default() };
        (text, to_value(&params))
    };
    let kinds: Vec<Asks<'_>> = vec![
        ("rare_word", method::SEARCH, Box::new(|_| searching(rare.clone()))),
        ("two_words", method::SEARCH, Box::new(|at| searching(two(at)))),
        ("phrase", method::SEARCH, Box::new(|at| searching(format!("\"{}\"", two(at))))),
        ("prefix", method::SEARCH, Box::new(|at| searching(format!("{}*", prefix_of(one(at)))))),
        ("negation", method::SEARCH, Box::new(|at| searching(format!("{} -{rare}", one(at))))),
        ("filter_tool", method::SEARCH, Box::new(|at| searching(format!("{} tool:Bash", one(at))))),
        ("filter_project", method::SEARCH, Box::new(|at| searching(format!("{} project:{project}", one(at))))),
        ("filter_time", method::SEARCH, Box::new(|at| searching(format!("{} after:2020-01-01", one(at))))),
        (
            "facts",
            method::FACTS,
            Box::new(|at| {
                let text = two(at);
                (text.clone(), to_value(&FactsParams { query: text, ..FactsParams::default() }))
            }),
        ),
        (
            "recall",
            method::RECALL,
            Box::new(|at| {
                let text = two(at);
                (text.clone(), to_value(&RecallParams { query: text, ..RecallParams::default() }))
            }),
        ),
        (
            "how",
            method::HOW,
            Box::new(|_| {
                let command = "cargo test".to_owned();
                (command.clone(), to_value(&HowParams { command, ..HowParams::default() }))
            }),
        ),
        ("patterns", method::PATTERNS, Box::new(|_| ("all projects".to_owned(), to_value(&PatternsParams::default())))),
        ("timeline", method::TIMELINE, Box::new(|_| ("all projects".to_owned(), to_value(&TimelineParams::default())))),
    ];
    let mut questions = BTreeMap::new();
    for (kind, method, question) in kinds {
        questions.insert(kind, ask(client, method, &question)?);
    }
    Ok(questions)
}

/// Asks questions of one kind, at least one.
fn ask(client: &mut Client, method: &str, question: &dyn Fn(usize) -> (String, Value)) -> Result<Question, Error> {
    let pid = client.welcome().pid;
    let (before, begun) = (cpu_seconds(pid), Instant::now());
    let (mut sample, mut calls) = (Sample::default(), 0);
    while calls < CALLS && (calls == 0 || begun.elapsed() < TIME_PER_KIND) {
        let (text, params) = question(calls % QUESTIONS);
        let answer: Value = sample.time(|| client.call(method, &params, |_| {}))?;
        calls += 1;
        // Words of the corpus must be found; whether it contains commands or facts is up to chance.
        if answer.get("hits").and_then(Value::as_array).is_some_and(Vec::is_empty) {
            return Err(Error::NothingMeasured(format!("nothing is found for {text:?}")));
        }
    }
    let call_cpu_ms = before.zip(cpu_seconds(pid)).map(|(then, now)| (now - then) * 1000.0 / calls as f64);
    Ok(Question { asked: question(0).0, call: sample.spread(), call_cpu_ms })
}

fn to_value(params: &impl Serialize) -> Value {
    serde_json::to_value(params).unwrap_or_default()
}

/// The first letters of a word.
fn prefix_of(word: &str) -> String {
    word.chars().take(4).collect()
}

/// Pairs of adjacent words from the hits.
struct Words(Vec<[String; 2]>);

impl Words {
    fn from_hits(hits: &[Hit]) -> Self {
        let mut pairs = Vec::new();
        for hit in hits {
            let words: Vec<&str> = hit.snippet.split(' ').collect();
            // A stop word is not indexed, and no prefix finds it.
            let is_word =
                |word: &str| word.len() > 4 && word.bytes().all(|byte| byte.is_ascii_lowercase()) && !is_stop(word);
            for pair in words.windows(2).filter(|pair| pair[0] != pair[1] && pair.iter().all(|word| is_word(word))) {
                pairs.push([pair[0].to_owned(), pair[1].to_owned()]);
            }
        }
        if pairs.is_empty() {
            pairs.push([Corpus::COMMON_WORD.to_owned(), "error".to_owned()]);
        }
        Self(pairs)
    }

    fn single(&self, at: usize) -> &str {
        &self.0[at % self.0.len()][0]
    }

    fn phrase(&self, at: usize) -> String {
        self.0[at % self.0.len()].join(" ")
    }
}

impl Daemon {
    pub(super) fn table(&self) -> Table {
        let mut table = Table::new("Daemon with a history", self.how);
        table.row("size", format!("{} sessions, {} documents", self.sessions, self.documents));
        for (kind, question) in &self.questions {
            table.row(&kind.replace('_', " "), format!("{}: {:?}", question.call.text(), question.asked));
            if let Some(ms) = question.call_cpu_ms {
                table.row("  processor for a call", format!("{ms:.1} ms"));
            }
        }
        if let Some(memory) = self.memory {
            table.row("memory", memory.text());
        }
        let rebuild = &self.rebuild;
        let rate = format!("{:.1} s, {:.0} documents/s", rebuild.wall_seconds, rebuild.documents_per_second);
        table.row("memory made anew from the log", rate);
        if let Some(seconds) = rebuild.cpu_seconds {
            table.row("  processor for that", format!("{seconds:.1} s"));
        }
        if let Some(memory) = rebuild.memory {
            table.row("  memory of the daemon, most", megabytes(memory.peak_bytes));
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_made_of_words_that_stand_side_by_side() {
        let hit = |snippet: &str| Hit { snippet: snippet.to_owned(), ..Hit::default() };
        let check = |snippets: &[&str], expected: &[&str]| {
            let words = Words::from_hits(&snippets.iter().map(|snippet| hit(snippet)).collect::<Vec<_>>());
            let phrases: Vec<String> = (0..expected.len()).map(|at| words.phrase(at)).collect();
            assert_eq!(phrases, expected, "{snippets:?}");
        };
        check(&["the sturdy heron Wanders along rivers", "quiet quiet waters"], &["sturdy heron", "along rivers"]);
        check(&["sturdy herons"], &["sturdy herons", "sturdy herons"]);
        check(&[], &["test error"]);
    }
}
