//! Cost of enriching in requests, tokens and time, with an endpoint in this process that answers after a delay.

use std::path::Path;
use std::time::{Duration, Instant};

use baton::examples;
use baton_conversation::tokens;
use baton_endpoint::{CHAT, FakeEndpoint, Fault};
use baton_protocol::answer::{Close, Costs, Enrich, Sessions, Show};
use baton_protocol::{CloseParams, CostsParams, EnrichParams, SessionsParams, ShowParams, method};
use serde::Serialize;
use serde_json::json;

use super::sample::Sample;
use super::workspace::{self, Workspace};
use super::{Corpus, CorpusOptions, Error, Spread, Table, TestDaemon, io_error};

/// Quiet time after an end, in seconds: the configurable minimum.
const QUIET_S: u64 = 1;
/// Concurrent calls while a queue is worked off.
const AT_ONCE: u32 = 8;
/// Number of closes measured.
const CLOSES: usize = 10;
/// Interval between two checks whether a session is enriched.
const LOOK: Duration = Duration::from_millis(5);
/// Timeout for one session.
const PATIENCE: Duration = Duration::from_secs(60);
/// Mean size of a session in the queue, in bytes.
const SESSION_BYTES: u64 = 40_000;

/// What is measured.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Sessions in the queue.
    pub sessions: u32,
    /// Delay of the endpoint's answers.
    pub delay: Duration,
    /// Another seed gives other sessions.
    pub seed: u64,
}

/// Cost of enriching.
#[derive(Clone, Debug, Serialize)]
pub struct Enriching {
    /// How this was measured.
    pub how: String,
    /// The example sessions; only in a checkout.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub examples: Option<Examples>,
    /// From the call of `close` to the enriched episode, including the quiet second.
    pub close_to_enriched: Spread,
    /// Delay of the endpoint's answers, in milliseconds.
    pub endpoint_ms: u64,
    /// Sessions of the queue that were enriched.
    pub drained: u64,
    /// Time for all of them.
    pub drained_seconds: f64,
    /// Time that the endpoint alone would have taken for them.
    pub endpoint_seconds: f64,
    /// Concurrent calls allowed.
    pub at_once: u32,
    /// Most concurrent calls seen.
    pub most_at_once: usize,
}

/// Enriching the example sessions.
#[derive(Clone, Debug, Serialize)]
pub struct Examples {
    /// Number of sessions.
    pub sessions: u64,
    /// Number of requests.
    pub requests: u64,
    /// Tokens of all requests, by the estimate that budgets use.
    pub tokens_sent: u64,
    /// Tokens of the largest request.
    pub tokens_sent_most: u64,
    /// Tokens of all answers.
    pub tokens_answered: u64,
}

/// Measures enriching. Calls `progress` with each step.
pub fn measure(options: Options, progress: &dyn Fn(&str)) -> Result<Enriching, Error> {
    let workspace = Workspace::new()?;
    let examples = measure_examples(&workspace, progress)?;
    let endpoint = start_endpoint()?;
    endpoint.always(CHAT, Some(Fault::Slow(options.delay)));
    progress("writing sessions");
    let claude = workspace.path().join("claude");
    let bytes = u64::from(options.sessions) * SESSION_BYTES;
    let corpus =
        Corpus::write(CorpusOptions { sessions: options.sessions, bytes, seed: options.seed, dense: false }, &claude)?;
    progress("indexing them");
    let mut daemon = TestDaemon::start(&claude)?;
    daemon.index_all("anything", corpus.transcripts)?;
    configure(&daemon, &endpoint)?;
    progress("closing some, one after another");
    let close_to_enriched = time_closes(&mut daemon)?;
    progress("enriching all others");
    let begun = Instant::now();
    let all = EnrichParams { all: true, ..EnrichParams::default() };
    let done: Enrich = daemon.client.call(method::ENRICH, &all, |_| {})?;
    let drained_seconds = begun.elapsed().as_secs_f64();
    if done.enriched == 0 || done.failures > 0 {
        return Err(Error::NothingMeasured(format!("not all sessions were enriched: {}", done.message)));
    }
    let endpoint_ms = u64::try_from(options.delay.as_millis()).unwrap_or(u64::MAX);
    Ok(Enriching {
        how: format!(
            "A daemon of its own with a model in this process that answers after {endpoint_ms} ms, {AT_ONCE} calls at once, \
             no price. The quiet time before a call is the least that can be configured, {QUIET_S} s."
        ),
        examples,
        close_to_enriched,
        endpoint_ms,
        drained: done.enriched,
        drained_seconds,
        endpoint_seconds: done.calls as f64 * options.delay.as_secs_f64() / f64::from(AT_ONCE),
        at_once: AT_ONCE,
        most_at_once: endpoint.most_at_once(),
    })
}

fn start_endpoint() -> Result<FakeEndpoint, Error> {
    FakeEndpoint::start().map_err(io_error("listen on", Path::new("127.0.0.1")))
}

fn configure(daemon: &TestDaemon, endpoint: &FakeEndpoint) -> Result<(), Error> {
    let llm =
        json!({"enabled": true, "base_url": endpoint.base_url(), "model": "fake-model", "max_concurrency": AT_ONCE});
    let config = json!({"llm": llm, "session_tracking": {"check_interval": QUIET_S}});
    let path = daemon.environment().home.join("config.json");
    std::fs::write(&path, config.to_string()).map_err(io_error("write", &path))
}

/// Enriches the example sessions; `None` outside a checkout.
fn measure_examples(workspace: &Workspace, progress: &dyn Fn(&str)) -> Result<Option<Examples>, Error> {
    let Some(folder) = examples::folder().ok().filter(|folder| folder.join("projects").is_dir()) else {
        return Ok(None);
    };
    progress("enriching the example sessions");
    let claude = workspace.path().join("examples");
    workspace::copy(&folder, &claude)?;
    let mut daemon = TestDaemon::start(&claude)?;
    daemon.ask("anything", true)?;
    let endpoint = start_endpoint()?;
    configure(&daemon, &endpoint)?;
    let all = EnrichParams { all: true, ..EnrichParams::default() };
    let done: Enrich = daemon.client.call(method::ENRICH, &all, |_| {})?;
    if done.failures > 0 || done.enriched == 0 {
        return Err(Error::NothingMeasured(format!("the examples were not enriched: {}", done.message)));
    }
    let sent = |texts: &[String]| texts.iter().map(|text| tokens::of_text(text)).sum::<u64>();
    let requests = endpoint.requests();
    let costs: Costs = daemon.client.call(method::COSTS, &CostsParams::default(), |_| {})?;
    Ok(Some(Examples {
        sessions: done.enriched,
        requests: requests.len() as u64,
        tokens_sent: costs.total.input_tokens,
        tokens_sent_most: requests.iter().map(|request| sent(&request.texts)).max().unwrap_or(0),
        tokens_answered: costs.total.output_tokens,
    }))
}

/// Times from the call of `close` to the enriched episode.
fn time_closes(daemon: &mut TestDaemon) -> Result<Spread, Error> {
    let sessions: Sessions = daemon.client.call(method::SESSIONS, &SessionsParams::default(), |_| {})?;
    let mut took = Sample::default();
    for row in sessions.sessions.iter().filter(|row| row.episode_uuid.is_some()).take(CLOSES) {
        let params =
            CloseParams { session: Some(row.session_id.clone()), deadline_ms: 30_000, ..CloseParams::default() };
        let begun = Instant::now();
        let closed: Close = daemon.client.call(method::CLOSE, &params, |_| {})?;
        if closed.status != "success" {
            return Err(Error::NothingMeasured(format!("a close failed: {}", closed.message)));
        }
        let params = ShowParams { session: row.session_id.clone() };
        loop {
            let shown: Show = daemon.client.call(method::SHOW, &params, |_| {})?;
            if shown.episode.is_some_and(|episode| episode.tier == "enriched") {
                break;
            }
            if begun.elapsed() > PATIENCE {
                return Err(Error::NothingMeasured("a closed session was not enriched".to_owned()));
            }
            std::thread::sleep(LOOK);
        }
        took.add(begun.elapsed());
    }
    Ok(took.spread())
}

impl Enriching {
    /// The figures as tables.
    pub fn tables(&self) -> Vec<Table> {
        let mut table = Table::new("Enriching", &self.how);
        if let Some(examples) = &self.examples {
            let each = examples.requests as f64 / examples.sessions.max(1) as f64;
            table.row("example sessions, requests", format!("{}, {each:.2} each", examples.sessions));
            let (sent, most) = (examples.tokens_sent / examples.sessions.max(1), examples.tokens_sent_most);
            table.row("tokens sent for each", format!("{sent} on average, {most} in the largest request"));
            table.row("tokens answered for each", (examples.tokens_answered / examples.sessions.max(1)).to_string());
        }
        table.row("close to enriched", self.close_to_enriched.text());
        let (drained, seconds, rest) = (self.drained, self.drained_seconds, self.endpoint_seconds);
        table.row(
            "queue worked off",
            format!("{drained} sessions in {seconds:.1} s, of which the endpoint {rest:.1} s"),
        );
        table.row("calls at once, at most", self.most_at_once.to_string());
        vec![table]
    }
}
