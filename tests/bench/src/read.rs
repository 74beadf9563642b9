//! How fast transcripts are read, and how much of them is kept.
//!
//! Everything runs in this process, on one thread, over bytes in memory: this measures the reading, not the disk.

mod giant;
mod huge;
mod tail;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use baton_conversation::hash::{ContentHash, ContentHasher};
use baton_conversation::item::{Agent, Item};
use baton_conversation::tokens::{chars_of_content, chars_of_items};
use baton_conversation::transcript::{Cursor, NullSink, OpenCalls, Reader, Sink, Source};
use serde::Serialize;

use super::table::{megabytes, percent};
use super::workspace::Workspace;
use super::{Corpus, CorpusOptions, Error, Table, io_error};

pub use giant::Giant;
pub use huge::Huge;
pub use tail::Tail;

/// Rounds for each way of reading.
const ROUNDS: usize = 7;
/// Most bytes held at once; more is measured in parts, each of which is read in all ways.
const PART_BYTES: usize = 512 * 1024 * 1024;
/// Characters of a token, for both sides of the comparison.
const CHARS_PER_TOKEN: u64 = 4;
/// Sessions of a corpus that is written for this.
const SESSIONS: u32 = 200;

/// What is read.
#[derive(Clone, Debug)]
pub struct Options {
    /// Transcripts, or folders of them; if empty, a corpus is written.
    pub files: Vec<PathBuf>,
    /// Size of that corpus, in bytes.
    pub bytes: u64,
    /// True to measure memory over very large files too.
    pub huge: bool,
}

/// Speeds of reading.
#[derive(Clone, Debug, Serialize)]
pub struct Read {
    /// How this was measured.
    pub how: &'static str,
    /// Transcripts.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
    /// Their lines.
    pub lines: u64,
    /// Counting lines only, as `wc -l` does.
    pub count_lines: Speed,
    /// Parsing every line to a `serde_json::Value`.
    pub parse_to_value: Speed,
    /// Reading for counts, as when a session is observed.
    pub read: Speed,
    /// Reading to items, filtered, redacted and hashed, as when a session is indexed.
    pub read_filter_redact_hash: Speed,
    /// How much is kept.
    pub kept: Kept,
    /// Indexing again after one appended line.
    pub tail: Tail,
    /// Memory of this process; only if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub huge: Option<Huge>,
    /// Memory of a daemon; only if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub giant: Option<Giant>,
}

/// MB of transcripts per second; an MB is 1,000,000 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Speed {
    /// Speed of the fastest round.
    pub best_mb_per_second: f64,
    /// Speed of the median round.
    pub median_mb_per_second: f64,
}

/// Tokens of four characters in `message.content`, and in what is kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Kept {
    /// Tokens in `message.content`, without signatures, images and copies for the screen.
    pub tokens_content: u64,
    /// Tokens in the items that are kept, including notes and thinking.
    pub tokens_kept: u64,
    /// Tokens in what people and the model said, which is kept whole.
    pub tokens_said: u64,
    /// Share of all tokens that is not kept, in percent.
    pub saved_percent: f64,
    /// Median of that over the transcripts that contain more than what was said.
    pub saved_percent_median: f64,
    /// Bytes read for each character kept.
    pub bytes_for_each_kept: f64,
}

pub(super) fn measure(options: &Options, progress: &impl Fn(&str)) -> Result<Read, Error> {
    let workspace = Workspace::new()?;
    // First, because the peak is that of the process.
    let huge = match options.huge {
        true => {
            progress("writing and reading a file of 5 GB");
            Some(huge::measure(workspace.path())?)
        }
        false => None,
    };
    let giant = match options.huge {
        true => {
            progress("indexing a transcript of 1 GB");
            Some(giant::measure(workspace.path())?)
        }
        false => None,
    };
    let files = match options.files.is_empty() {
        true => {
            progress("writing a corpus");
            let claude = workspace.path().join("claude");
            Corpus::write(CorpusOptions { sessions: SESSIONS, bytes: options.bytes, seed: 1, dense: false }, &claude)?;
            transcripts(&[claude])?
        }
        false => transcripts(&options.files)?,
    };
    if files.is_empty() {
        return Err(Error::NothingMeasured("there is no transcript (*.jsonl)".to_owned()));
    }
    progress("reading it");
    let mut totals = Totals::default();
    let mut part = Vec::new();
    let mut held = 0;
    for (at, path) in files.iter().enumerate() {
        let bytes = fs::read(path).map_err(io_error("read", path))?;
        held += bytes.len();
        part.push((source_of(path), bytes));
        if held >= PART_BYTES || at + 1 == files.len() {
            totals.add(&part)?;
            part.clear();
            held = 0;
        }
    }
    progress("reading a tail");
    let tail = tail::measure(workspace.path(), &files)?;
    Ok(Read { huge, giant, ..totals.into_read(files.len(), tail) })
}

/// Collects all transcripts among `named` and below them.
fn transcripts(named: &[PathBuf]) -> Result<Vec<PathBuf>, Error> {
    let mut files = Vec::new();
    let mut left = named.to_vec();
    while let Some(path) = left.pop() {
        if !path.is_dir() {
            files.push(path);
            continue;
        }
        for entry in fs::read_dir(&path).map_err(io_error("read", &path))? {
            let entry = entry.map_err(io_error("read", &path))?;
            let kind = entry.file_type().map_err(io_error("read", &entry.path()))?;
            if kind.is_dir() || (kind.is_file() && entry.path().extension().is_some_and(|end| end == "jsonl")) {
                left.push(entry.path());
            }
        }
    }
    files.sort();
    Ok(files)
}

fn source_of(path: &Path) -> Source {
    let subagent = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("agent-"));
    Source { agent: Agent::ClaudeCode, subagent }
}

/// Times of all parts, by round.
#[derive(Default)]
struct Totals {
    bytes: u64,
    lines: u64,
    /// Seconds of each round, in the order of [`Read`].
    seconds: [[f64; ROUNDS]; 4],
    tokens: [u64; 3],
    saved: Vec<f64>,
}

impl Totals {
    fn add(&mut self, part: &[(Source, Vec<u8>)]) -> Result<(), Error> {
        self.bytes += part.iter().map(|(_, bytes)| bytes.len() as u64).sum::<u64>();
        let lines = part.iter().map(|(_, bytes)| lines_of(bytes)).sum::<u64>();
        self.lines += lines;
        for round in 0..ROUNDS {
            let counted: u64 = self.time(0, round, || part.iter().map(|(_, bytes)| lines_of(bytes)).sum());
            self.time(1, round, || {
                let parse = |line: &[u8]| serde_json::from_slice::<serde_json::Value>(line).is_ok();
                part.iter().flat_map(|(_, bytes)| bytes.split(|byte| *byte == b'\n')).filter(|line| parse(line)).count()
            });
            let seen: u64 = self.time(2, round, || {
                let read = |(source, bytes): &(Source, Vec<u8>)| read(*source, bytes, &mut NullSink);
                part.iter().map(read).sum()
            });
            self.time(3, round, || {
                for (source, bytes) in part {
                    let mut hashed = Hashed::default();
                    read(*source, bytes, &mut hashed);
                    std::hint::black_box::<ContentHash>(hashed.0.finish());
                }
            });
            if counted != lines || seen < counted {
                return Err(Error::NothingMeasured(format!("{seen} of {lines} lines were read")));
            }
        }
        for (source, bytes) in part {
            self.count_kept(*source, bytes);
        }
        Ok(())
    }

    fn time<T>(&mut self, way: usize, round: usize, work: impl FnOnce() -> T) -> T {
        let since = Instant::now();
        let done = std::hint::black_box(work());
        self.seconds[way][round] += since.elapsed().as_secs_f64();
        done
    }

    /// Counts what is kept of a transcript.
    fn count_kept(&mut self, source: Source, bytes: &[u8]) {
        let content: u64 = bytes.split(|byte| *byte == b'\n').map(chars_of_content).sum();
        let mut items: Vec<Item> = Vec::new();
        read(source, bytes, &mut items);
        let kept = chars_of_items(&items);
        items.retain(is_said);
        let said = chars_of_items(&items);
        for (sum, chars) in self.tokens.iter_mut().zip([content, kept, said]) {
            *sum += chars;
        }
        // Nothing could be left out of a mere greeting.
        if content > said {
            self.saved.push(100.0 * (1.0 - kept as f64 / content as f64));
        }
    }

    fn into_read(mut self, files: usize, tail: Tail) -> Read {
        self.saved.sort_by(f64::total_cmp);
        let [content, kept, said] = self.tokens;
        let speed = |way: usize| {
            let mut seconds = self.seconds[way];
            seconds.sort_by(f64::total_cmp);
            let speed = |seconds: f64| self.bytes as f64 / 1e6 / seconds.max(f64::MIN_POSITIVE);
            Speed { best_mb_per_second: speed(seconds[0]), median_mb_per_second: speed(seconds[ROUNDS / 2]) }
        };
        Read {
            how: "One thread, bytes in memory, seven rounds in which all four ways take turns. Tokens are four characters of \
                  the content of messages, without signatures, images and copies for the screen.",
            files,
            bytes: self.bytes,
            lines: self.lines,
            count_lines: speed(0),
            parse_to_value: speed(1),
            read: speed(2),
            read_filter_redact_hash: speed(3),
            kept: Kept {
                tokens_content: content.div_ceil(CHARS_PER_TOKEN),
                tokens_kept: kept.div_ceil(CHARS_PER_TOKEN),
                tokens_said: said.div_ceil(CHARS_PER_TOKEN),
                saved_percent: if content > 0 { 100.0 * (1.0 - kept as f64 / content as f64) } else { 0.0 },
                saved_percent_median: self.saved.get(self.saved.len() / 2).copied().unwrap_or(0.0),
                bytes_for_each_kept: self.bytes as f64 / kept.max(1) as f64,
            },
            tail,
            huge: None,
            giant: None,
        }
    }
}

fn lines_of(bytes: &[u8]) -> u64 {
    let ends = bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
    ends + u64::from(bytes.last().is_some_and(|last| *last != b'\n'))
}

/// Reads a whole transcript and returns its number of lines; a torn last one counts.
fn read<S: Sink>(source: Source, bytes: &[u8], sink: &mut S) -> u64 {
    let mut reader = Reader::new(source, Cursor::default(), OpenCalls::default(), sink);
    let fed = reader.feed(bytes);
    let torn = fed < bytes.len() && reader.finish(&bytes[fed..]) == 0;
    reader.into_parts().1.lines + u64::from(torn)
}

/// True for what a person or the model said.
fn is_said(item: &Item) -> bool {
    use baton_conversation::item::Body;
    matches!(item.body, Body::Prompt { .. } | Body::Answer { .. } | Body::Reply { .. })
}

/// Hashes items without keeping them.
#[derive(Default)]
pub(super) struct Hashed(pub(super) ContentHasher);

impl Sink for Hashed {
    fn wants_text(&self) -> bool {
        true
    }

    fn item(&mut self, item: Item) {
        self.0.item(&item);
    }
}

impl Speed {
    fn text(self) -> String {
        format!("{:.0} MB/s, median {:.0} MB/s", self.best_mb_per_second, self.median_mb_per_second)
    }
}

impl Read {
    /// The figures as tables.
    pub fn tables(&self) -> Vec<Table> {
        let mut table = Table::new("Reading", self.how);
        let files = format!("{} transcripts, {}, {} lines", self.files, megabytes(self.bytes), self.lines);
        table.row("read", files);
        table.row("lines counted, as wc -l", self.count_lines.text());
        table.row("parsed to serde_json::Value", self.parse_to_value.text());
        table.row("read for counting", self.read.text());
        table.row("read, filter, redact, hash", self.read_filter_redact_hash.text());
        let kept = &self.kept;
        table.row("tokens in messages", format!("{}, of {} bytes", kept.tokens_content, self.bytes));
        table.row(
            "tokens kept",
            format!(
                "{}: {:.1} % less, median {:.1} %",
                kept.tokens_kept, kept.saved_percent, kept.saved_percent_median
            ),
        );
        let said = percent(kept.tokens_said as f64, kept.tokens_content as f64);
        table.row("of them said, kept whole", format!("{}, {said} of what is in messages", kept.tokens_said));
        table.row("bytes for each one kept", format!("{:.1}", kept.bytes_for_each_kept));
        let mut tables = vec![table, self.tail.table()];
        tables.extend(self.huge.as_ref().map(Huge::table));
        tables.extend(self.giant.as_ref().map(Giant::table));
        tables
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_reads_the_same_lines_and_what_is_said_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.jsonl");
        let prompt = r#"{"type":"user","message":{"role":"user","content":"Twelve chars"}}"#;
        let result =
            r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"LONG"}]}}"#;
        let result = result.replace("LONG", &"x".repeat(4_000));
        fs::write(&file, format!("{prompt}\n{result}\n{{\"torn")).unwrap();
        let options = Options { files: vec![folder.path().to_owned()], bytes: 0, huge: false };
        let read = measure(&options, &|_| {}).unwrap();
        assert_eq!((read.files, read.lines, read.kept.tokens_content, read.kept.tokens_said), (1, 3, 1_003, 3));
        assert!(read.kept.tokens_kept >= 3 && read.kept.saved_percent > 90.0, "{read:?}");
        assert!(read.read.best_mb_per_second >= read.read.median_mb_per_second);
        assert!(read.tail.line_bytes > 0 && read.tail.bytes >= tail::BYTES);
        let none = Options { files: vec![tempfile::tempdir().unwrap().keep()], bytes: 0, huge: false };
        assert!(matches!(measure(&none, &|_| {}), Err(Error::NothingMeasured(_))));
        fs::remove_dir(&none.files[0]).unwrap();
    }
}
