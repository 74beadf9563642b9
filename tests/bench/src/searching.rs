//! Searches on an open connection, and as whole processes.

use std::collections::BTreeMap;

use serde::Serialize;

use super::process::CpuPerCall;
use super::sample::Sample;
use super::{Corpus, Error, Spread, Table, TestDaemon};

/// Number of calls for each query.
const CALLS: usize = 200;
/// Number of processes for each query, and for `status`.
const PROCESSES: usize = 50;

/// Searches with nothing new to read.
#[derive(Clone, Debug, Serialize)]
pub struct Searching {
    /// How this was measured.
    pub how: &'static str,
    /// By kind of query.
    pub queries: BTreeMap<&'static str, Query>,
    /// A whole `baton status` process: the cost of a process without a search.
    pub status_process: Spread,
}

/// Searches for one query.
#[derive(Clone, Debug, Serialize)]
pub struct Query {
    /// The query.
    pub query: String,
    /// Number of hits in one answer.
    pub hits: usize,
    /// Calls on one open connection.
    pub call: Spread,
    /// Processor time of the daemon per call, in milliseconds; absent where the system does not report it.
    pub call_cpu_ms: Option<f64>,
    /// Whole `baton search --json --no-wait` processes.
    pub process: Spread,
}

pub(super) fn measure(daemon: &mut TestDaemon, corpus: &Corpus) -> Result<Searching, Error> {
    let common = &corpus.common_word;
    let queries = [
        ("rare_word", corpus.rare_word.clone()),
        ("common_word", common.clone()),
        ("two_words", format!("{common} error")),
        ("five_words", format!("{common} error timeout connection retry")),
    ];
    let mut measured = BTreeMap::new();
    for (name, query) in queries {
        measured.insert(name, ask(daemon, query)?);
    }
    let mut status_process = Sample::default();
    for _ in 0..PROCESSES {
        status_process.time(|| daemon.run(&["status"]))?;
    }
    Ok(Searching {
        how: "Ten sessions asked for, nothing new to read; every call looks at all transcripts first, as always.",
        queries: measured,
        status_process: status_process.spread(),
    })
}

fn ask(daemon: &mut TestDaemon, query: String) -> Result<Query, Error> {
    let (mut call, mut process, mut hits) = (Sample::default(), Sample::default(), 0);
    let cpu = CpuPerCall::begin(daemon.pid());
    for _ in 0..CALLS {
        hits = call.time(|| daemon.ask(&query, false))?.hits.len();
        if hits == 0 {
            return Err(Error::NothingMeasured(format!("nothing is found for {query:?}")));
        }
    }
    let call_cpu_ms = cpu.end(CALLS);
    let mut arguments = vec!["search", "--json", "--no-wait"];
    arguments.extend(query.split(' '));
    for _ in 0..PROCESSES {
        process.time(|| daemon.run(&arguments))?;
    }
    Ok(Query { hits, call: call.spread(), call_cpu_ms, process: process.spread(), query })
}

impl Searching {
    pub(super) fn table(&self) -> Table {
        let mut table = Table::new("Search", self.how);
        for (name, query) in &self.queries {
            table.row(&name.replace('_', " "), format!("{:?}, {} hits", query.query, query.hits));
            table.row("  call", query.call.text());
            if let Some(ms) = query.call_cpu_ms {
                table.row("  processor for a call", format!("{ms:.1} ms"));
            }
            table.row("  process", query.process.text());
        }
        table.row("`baton status`, a process", self.status_process.text());
        table
    }
}
