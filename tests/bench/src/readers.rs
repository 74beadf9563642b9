//! How fast each agent's transcripts are read from disk, as sessions and index jobs read them.
//!
//! What is read is generated: one conversation in the shapes of each agent's records. A reader that does not find every
//! prompt in it has no figure.

mod idle;
mod records;

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use baton_conversation::hash::ContentHash;
use baton_conversation::transcript::{Document, Messages, Observation, OpenCalls, Source, document, layout, table};
use baton_protocol::Agent;
use baton_store::transcript_reader::{Done, Pass, Start, items, observe};
use serde::Serialize;

use super::agent_database::AgentDatabase;
use super::corpus::random::Random;
use super::read::Hashed;
use super::table::megabytes;
use super::workspace::Workspace;
use super::{Error, Table, io_error, process};
use records::{Exchange, head};

pub use idle::{IdleOver, Options as RootsOptions, Roots, measure as roots};

/// Size of a file; a document is read as a whole.
const FILE_BYTES: u64 = 4_000_000;
/// Size of a session in a database.
const SESSION_BYTES: u64 = 400_000;
/// Rounds, of which the fastest counts.
const ROUNDS: usize = 3;

/// What is read.
#[derive(Clone, Debug)]
pub struct Options {
    /// The agents; all if empty.
    pub agents: Vec<Agent>,
    /// Bytes of transcripts per agent.
    pub bytes: u64,
}

/// Speeds of all readers.
#[derive(Clone, Debug, Serialize)]
pub struct Readers {
    /// How this was measured.
    pub how: &'static str,
    /// By agent.
    pub readers: Vec<ReaderSpeed>,
}

/// Speeds of one agent's reader.
#[derive(Clone, Debug, Serialize)]
pub struct ReaderSpeed {
    /// The agent.
    pub agent: Agent,
    /// True if its transcripts are whole JSON documents, or sessions in a database.
    pub document: bool,
    /// Files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Prompts in them.
    pub prompts: u64,
    /// Reading for counts, as when a session is observed.
    pub count: Timing,
    /// Reading to items, filtered, redacted and hashed, as when a session is indexed.
    pub index: Timing,
}

/// The fastest round.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Timing {
    /// MB of 1,000,000 bytes per second of wall time.
    pub mb_per_second: f64,
    /// Wall time.
    pub seconds: f64,
    /// Processor time of this process, as far as the system reports it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_seconds: Option<f64>,
}

/// Measures the readers. Calls `progress` with each step.
pub fn measure(options: &Options, progress: impl Fn(&str)) -> Result<Readers, Error> {
    let all = || Agent::ALL.iter().copied().filter(|agent| is_generated(*agent)).collect();
    let agents: Vec<Agent> = if options.agents.is_empty() { all() } else { options.agents.clone() };
    let readers = agents.iter().map(|agent| {
        progress(&format!("reading transcripts of {}", agent.title()));
        measure_one(*agent, options.bytes)
    });
    Ok(Readers {
        how: "Generated transcripts, files of 4 MB and sessions of 400 KB in the page cache, one thread, the fastest of three rounds. Counting \
              is what a session needs, items (filtered, redacted, hashed) what an index job needs.",
        readers: readers.collect::<Result<_, _>>()?,
    })
}

fn is_generated(agent: Agent) -> bool {
    !Exchange::new(0, &mut Random::for_part(1, 0)).records(agent).is_empty()
}

fn measure_one(agent: Agent, bytes: u64) -> Result<ReaderSpeed, Error> {
    if !is_generated(agent) {
        return Err(Error::NothingMeasured(format!("no transcripts are generated for {}", agent.title())));
    }
    let workspace = Workspace::new()?;
    let mut random = Random::for_part(1, agent as u64);
    let Written { paths: files, bytes: written, prompts } = write_all(agent, workspace.path(), bytes, &mut random)?;
    let source = Source { agent, subagent: false };
    let starts = || files.iter().map(|path| Start::beginning(source, path.to_string_lossy()));
    let mut ends = Vec::new();
    let count = time(written, || {
        ends = starts().map(count).collect::<Result<_, _>>()?;
        Ok(())
    })?;
    let mut seen = Observation::default();
    ends.iter().for_each(|(_, file)| seen.absorb(file));
    if (seen.prompts, seen.unknown.len(), seen.malformed) != (prompts, 0, 0) {
        let what =
            format!("{}: {} of {prompts} prompts are found, and {:?}", agent.title(), seen.prompts, seen.unknown);
        return Err(Error::NothingMeasured(what));
    }
    let index = time(written, || {
        starts().zip(&ends).try_for_each(|(start, (to, _))| {
            let mut hashed = Hashed::default();
            read(items(&start, OpenCalls::default(), *to, &mut hashed))?;
            std::hint::black_box::<ContentHash>(hashed.0.finish());
            Ok(())
        })
    })?;
    let is_document = database(agent).is_some() || document(agent, &files[0].to_string_lossy()).is_some();
    Ok(ReaderSpeed { agent, document: is_document, files: files.len() as u64, bytes: written, prompts, count, index })
}

/// Transcripts of one agent.
#[derive(Default)]
pub(super) struct Written {
    pub(super) paths: Vec<PathBuf>,
    pub(super) bytes: u64,
    prompts: u64,
}

/// How an agent's databases are read, if its sessions are in them and not in files.
fn database(agent: Agent) -> Option<&'static baton_conversation::transcript::Table> {
    table(agent).filter(|table| !table.yields_to_files)
}

fn write_all(agent: Agent, folder: &Path, bytes: u64, random: &mut Random) -> Result<Written, Error> {
    let ending = layout(agent).endings[0];
    if let Some(table) = database(agent) {
        let path = folder.join(format!("{}{ending}", table.prefix));
        return Ok(write_database(&path, bytes, SESSION_BYTES, random)?.1);
    }
    let mut written = Written::default();
    while written.bytes < bytes {
        let path = folder.join(written.paths.len().to_string()).join(format!("5d2f1c3a{ending}"));
        let (size, exchanges) = write(agent, &path, FILE_BYTES.min(bytes - written.bytes), random)?;
        written.paths.push(path);
        (written.bytes, written.prompts) = (written.bytes + size, written.prompts + exchanges);
    }
    Ok(written)
}

/// Writes sessions of `each` bytes into one database with a write-ahead log.
pub(super) fn write_database(
    path: &Path,
    bytes: u64,
    each: u64,
    random: &mut Random,
) -> Result<(AgentDatabase, Written), Error> {
    let (mut agent, mut written) = (AgentDatabase::create(path, "WAL")?, Written::default());
    while written.bytes < bytes {
        let session = format!("ses_{:06}", written.paths.len());
        let enough = bytes.min(written.bytes + each);
        agent.all_at_once(|agent| {
            agent.session(&session, 1)?;
            while written.bytes < enough {
                let exchange = Exchange::new(written.prompts, random);
                for message in exchange.records(Agent::OpenCode) {
                    written.bytes += agent.message(&session, exchange.ms() as i64, &message)?;
                }
                written.prompts += 1;
            }
            Ok(())
        })?;
        written.paths.push(path.join(session));
    }
    Ok((agent, written))
}

/// Writes one transcript, and returns its size and the number of prompts in it.
fn write(agent: Agent, path: &Path, bytes: u64, random: &mut Random) -> Result<(u64, u64), Error> {
    let mut write = || {
        fs::create_dir_all(path.parent().unwrap_or(path))?;
        if let Some(Document { messages: Messages::Files { folder, start }, .. }) =
            document(agent, &path.to_string_lossy())
        {
            return write_messages(path, &path.with_file_name(folder).join(start), bytes, random);
        }
        let mut file = BufWriter::new(File::create(path)?);
        let is_document = document(agent, &path.to_string_lossy()).is_some();
        // Amp's are objects, the others' are arrays.
        let (begin, between, end) = match (is_document, agent) {
            (false, _) => ("", "\n", "\n"),
            (true, Agent::Amp) => (r#"{"v":9,"id":"T-5d2f1c3a","created":1781205300000,"messages":["#, ",", "]}"),
            (true, _) => ("[", ",", "]"),
        };
        file.write_all(begin.as_bytes())?;
        let (mut size, mut exchanges) = ((begin.len() + end.len()) as u64, 0);
        let mut lines: Vec<String> = head(agent).iter().map(ToString::to_string).collect();
        while size < bytes {
            lines.extend(Exchange::new(exchanges, random).records(agent).iter().map(ToString::to_string));
            let joined = lines.join(between);
            if exchanges > 0 {
                file.write_all(between.as_bytes())?;
                size += between.len() as u64;
            }
            file.write_all(joined.as_bytes())?;
            size += joined.len() as u64;
            exchanges += 1;
            lines.clear();
        }
        file.write_all(end.as_bytes())?;
        file.flush()?;
        Ok((size, exchanges))
    };
    write().map_err(io_error("write", path))
}

/// Writes the document of a session, and a document for each message: its path is `start`, the number and a name.
fn write_messages(path: &Path, start: &Path, bytes: u64, random: &mut Random) -> io::Result<(u64, u64)> {
    fs::create_dir_all(start.parent().unwrap_or(start))?;
    let state = r#"{"id":"5d2f1c3a","workspace":{"working_dir":"/srv/harbor"}}"#;
    fs::write(path, state)?;
    let (mut size, mut exchanges, mut number) = (state.len() as u64, 0, 0);
    while size < bytes {
        for record in Exchange::new(exchanges, random).records(Agent::OpenHands) {
            let text = record.to_string();
            let mut name = start.as_os_str().to_owned();
            name.push(format!("{number:05}-5d2f1c3a.json"));
            fs::write(name, &text)?;
            (number, size) = (number + 1, size + text.len() as u64);
        }
        exchanges += 1;
    }
    Ok((size, exchanges))
}

/// Reads a transcript for counts, pass by pass. Returns its end and the counts.
fn count(mut start: Start) -> Result<(u64, Observation), Error> {
    let mut seen = Observation::default();
    loop {
        let done = read(observe(&start))?;
        seen.absorb(&done.seen);
        (start.cursor, start.tail) = (done.cursor, done.tail);
        if !done.more {
            return Ok((start.cursor.offset, seen));
        }
    }
}

fn read(pass: Pass) -> Result<Done, Error> {
    match pass {
        Pass::Read(done) => Ok(*done),
        other => Err(Error::NothingMeasured(format!("a transcript was not read: {other:?}"))),
    }
}

/// The fastest of some rounds.
fn time(bytes: u64, mut work: impl FnMut() -> Result<(), Error>) -> Result<Timing, Error> {
    let mut best: Option<Timing> = None;
    for _ in 0..ROUNDS {
        let (since, cpu) = (Instant::now(), process::cpu_seconds(std::process::id()));
        work()?;
        let seconds = since.elapsed().as_secs_f64().max(f64::MIN_POSITIVE);
        let cpu_seconds = process::cpu_seconds(std::process::id()).zip(cpu).map(|(after, before)| after - before);
        if best.is_none_or(|best| seconds < best.seconds) {
            best = Some(Timing { mb_per_second: bytes as f64 / 1e6 / seconds, seconds, cpu_seconds });
        }
    }
    best.ok_or_else(|| Error::NothingMeasured("no round".to_owned()))
}

impl Timing {
    fn text(&self) -> String {
        let cpu = self.cpu_seconds.map_or(String::new(), |cpu| format!(", {cpu:.2} s of processor"));
        format!("{:.0} MB/s ({:.2} s{cpu})", self.mb_per_second, self.seconds)
    }
}

impl Readers {
    /// The figures as a table.
    pub fn table(&self) -> Table {
        let mut table = Table::new("Readers", self.how);
        for reader in &self.readers {
            let kind = if reader.document { ", read as a whole" } else { "" };
            let what = format!("{} in {} files{kind}", megabytes(reader.bytes), reader.files);
            table.row(reader.agent.title(), what);
            table.row("  counted", reader.count.text());
            table.row("  items", reader.index.text());
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reader_understands_what_is_generated_for_it() {
        let readers = measure(&Options { agents: Vec::new(), bytes: 60_000 }, |_| {}).unwrap();
        let agents: Vec<Agent> = readers.readers.iter().map(|reader| reader.agent).collect();
        let expected: Vec<Agent> = Agent::ALL.iter().copied().filter(|agent| is_generated(*agent)).collect();
        assert_eq!(agents, expected);
        assert!(agents.len() > 15, "{agents:?}");
        for reader in &readers.readers {
            assert!(reader.bytes >= 60_000 && reader.prompts >= 6 && reader.index.mb_per_second > 0.0, "{reader:?}");
        }
        assert_eq!(readers.table().rows.len(), 3 * agents.len());
    }
}
