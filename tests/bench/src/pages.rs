//! The pages of `baton ui`: time and processor time of each, and what they add to the daemon's memory.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::time::Instant;

use baton_protocol::answer::{Page as FirstAddress, Sessions};
use baton_protocol::{Caller, PageParams, SessionsParams, method};
use serde::Serialize;

use super::process::CpuPerCall;
use super::sample::Sample;
use super::table::megabytes;
use super::workspace::Workspace;
use super::{Corpus, CorpusOptions, Error, Memory, Spread, Table, TestDaemon, io_error, process};

/// Requests for each page after the first.
const REQUESTS: usize = 30;

/// Cost of the pages.
#[derive(Clone, Debug, Serialize)]
pub struct Pages {
    /// How this was measured.
    pub how: &'static str,
    /// The sessions that the daemon knows.
    pub corpus: Corpus,
    /// Each page, in the order in which they were requested.
    pub pages: Vec<Page>,
    /// The daemon's memory before the first address was requested.
    pub memory_before: Option<Memory>,
    /// Its memory right after the last page.
    pub memory_after: Option<Memory>,
}

/// Cost of one page.
#[derive(Clone, Debug, Serialize)]
pub struct Page {
    /// Its address.
    pub path: String,
    /// Size of the page.
    pub bytes: usize,
    /// The first request.
    pub first_ms: f64,
    /// Those after it.
    pub time: Spread,
    /// Processor time of the daemon for one of those, in milliseconds.
    pub cpu_ms: Option<f64>,
}

/// A browser that has used its first address.
struct Browser {
    host: String,
    port: u16,
    cookie: String,
}

/// Measures the pages. Calls `progress` with each step.
pub fn measure(options: CorpusOptions, progress: impl Fn(&str)) -> Result<Pages, Error> {
    let workspace = Workspace::new()?;
    let (corpus, mut daemon) = TestDaemon::with_corpus(options, &workspace, &progress)?;
    let list: Sessions = daemon.client.call(method::SESSIONS, &SessionsParams::default(), |_| {})?;
    let mut sessions = list.sessions;
    sessions.sort_by_key(|session| session.message_count);
    let (Some(usual), Some(long)) = (sessions.get(sessions.len() / 2), sessions.last()) else {
        return Err(Error::NothingMeasured("the daemon lists no sessions".to_owned()));
    };
    progress("asking for pages");
    let pid = daemon.pid();
    let memory_before = process::memory(pid);
    let params = PageParams { caller: Caller::default() };
    let first: FirstAddress = daemon.client.call(method::PAGE, &params, |_| {})?;
    let browser = Browser::enter(&first.url)?;
    let mut paths = vec!["/".to_owned(), "/sessions".to_owned()];
    paths.extend([&corpus.rare_word, &corpus.common_word].map(|word| format!("/sessions?q={word}")));
    paths.extend([long, usual].map(|session| format!("/session/{}", session.session_id)));
    paths.push("/projects".to_owned());
    let project = browser.link("/projects", "/project?")?;
    paths.extend([browser.link(&project, "/file?")?, project]);
    paths.extend(["/graph", "/workflows", "/costs", "/replay", "/health"].map(str::to_owned));
    let pages = paths.into_iter().map(|path| browser.measure(path, pid)).collect::<Result<_, _>>()?;
    Ok(Pages {
        how: "Each page over HTTP, in a connection of its own, as a browser with the cookie requests it: once, then 30 \
              times, with nothing new to read. Processor time of the daemon, from /proc.",
        corpus,
        pages,
        memory_before,
        memory_after: process::memory(pid),
    })
}

impl Browser {
    /// Uses a first address.
    fn enter(url: &str) -> Result<Self, Error> {
        let unknown = || Error::NothingMeasured(format!("no first address: {url}"));
        let (host, path) = url.strip_prefix("http://").and_then(|rest| rest.split_once('/')).ok_or_else(unknown)?;
        let port = host.rsplit_once(':').and_then(|(_, port)| port.parse().ok()).ok_or_else(unknown)?;
        let mut browser = Self { host: host.to_owned(), port, cookie: String::new() };
        let (head, _) = browser.get(&format!("/{path}"))?;
        let cookie = head.lines().find_map(|line| line.strip_prefix("set-cookie: ")?.split(';').next());
        browser.cookie = cookie.ok_or_else(unknown)?.to_owned();
        Ok(browser)
    }

    /// Head and body of an answer.
    fn get(&self, path: &str) -> Result<(String, String), Error> {
        let exchange = || {
            let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
            let (host, cookie) = (&self.host, &self.cookie);
            write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\nConnection: close\r\n\r\n")?;
            let mut text = String::new();
            stream.read_to_string(&mut text).map(|_| text)
        };
        let text = exchange().map_err(io_error("request", Path::new(path)))?;
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        Ok((head.to_owned(), body.to_owned()))
    }

    /// A page that is shown.
    fn page(&self, path: &str) -> Result<String, Error> {
        match self.get(path)? {
            (head, body) if head.starts_with("HTTP/1.1 200 ") => Ok(body),
            (head, _) => Err(Error::NothingMeasured(format!("{path}: {}", head.lines().next().unwrap_or_default()))),
        }
    }

    /// The first link on a page that begins with `start`.
    fn link(&self, path: &str, start: &str) -> Result<String, Error> {
        let page = self.page(path)?;
        let (_, rest) = page
            .split_once(&format!("href=\"{start}"))
            .ok_or_else(|| Error::NothingMeasured(format!("{path} has no link to {start}")))?;
        let rest = rest.split('"').next().unwrap_or_default();
        Ok(format!("{start}{}", rest.replace("&amp;", "&")))
    }

    fn measure(&self, path: String, pid: u32) -> Result<Page, Error> {
        let since = Instant::now();
        let bytes = self.page(&path)?.len();
        let first_ms = since.elapsed().as_secs_f64() * 1000.0;
        let (mut sample, cpu) = (Sample::default(), CpuPerCall::begin(pid));
        for _ in 0..REQUESTS {
            sample.time(|| self.page(&path))?;
        }
        let cpu_ms = cpu.end(REQUESTS);
        Ok(Page { path, bytes, first_ms, time: sample.spread(), cpu_ms })
    }
}

impl Pages {
    /// The figures as a table.
    pub fn table(&self) -> Table {
        let mut table = Table::new("Pages", self.how);
        table.row("sessions", format!("{} in {}", self.corpus.sessions, megabytes(self.corpus.bytes)));
        for page in &self.pages {
            let Spread { p50_ms, p99_ms, .. } = page.time;
            let cpu = page.cpu_ms.map_or(String::new(), |ms| format!(", processor {ms:.1} ms"));
            let times = format!("first {:.1} ms, p50 {p50_ms:.1} ms, highest {p99_ms:.1} ms", page.first_ms);
            let name = page.path.split_once('%').map_or(page.path.as_str(), |(start, _)| start);
            table.row(name, format!(" {times}{cpu}, {} bytes", page.bytes));
        }
        for (name, memory) in [("memory before", self.memory_before), ("memory after", self.memory_after)] {
            table.row(name, memory.map_or(process::ONLY_LINUX.to_owned(), |memory| memory.text()));
        }
        table
    }
}
