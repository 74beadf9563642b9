//! Transcripts that grow, are rewritten and appear meanwhile, and their true content.
//!
//! One thread writes all of them, so it knows every byte. A record may be written in two pieces with others in between;
//! when the author [completes its lines](Author::complete_lines), every line is complete. Some transcripts are documents
//! that are written as a whole with each message, by another file that takes their place or in place, perhaps in two
//! pieces. Some are sessions in a database, whose last message may be there without its end.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use baton_conversation::transcript::document;
use baton_protocol::Agent;
use serde_json::json;

use crate::agent_database::{self, AgentDatabase};
use crate::corpus::random::Random;
use crate::{Error, io_error, latency};

/// Number of transcripts at the beginning, and at most.
const FIRST: usize = 12;
const MOST: usize = 48;
/// One of so many is a document, and one a session in a database.
const EVERY: usize = 4;
/// A transcript of this size is rewritten sooner or later.
const LONG_BYTES: u64 = 60_000;

/// The writer of all transcripts of one home.
pub(super) struct Author {
    folders: Folders,
    database: AgentDatabase,
    random: Random,
    /// Number of the home, so that session ids are unique.
    home: usize,
    transcripts: Vec<Transcript>,
    exchanges: usize,
}

/// Where the transcripts are.
pub(super) struct Folders {
    /// Folders of projects with lines.
    pub(super) projects: PathBuf,
    pub(super) documents: PathBuf,
    /// The database with sessions.
    pub(super) database: PathBuf,
}

/// One transcript and its true content.
pub(super) struct Transcript {
    pub(super) session: String,
    path: PathBuf,
    /// Its size.
    pub(super) bytes: u64,
    /// Lines with a record.
    pub(super) records: u64,
    /// Lines without one.
    pub(super) malformed: u64,
    /// Typed prompts and replies.
    pub(super) messages: u64,
    /// How often it was rewritten.
    pub(super) rewrites: u64,
    /// Every size that it ever had: a file with the size of an earlier reading is taken for unchanged.
    sizes: BTreeSet<u64>,
    /// The rest of a half-written line or document.
    unwritten: String,
    form: Form,
}

/// What a transcript is.
enum Form {
    /// Lines that are appended, as Claude Code does.
    Lines,
    /// A document with these messages that is written as a whole, as Amp does.
    Document(Vec<String>),
    /// A session in a database, as OpenCode keeps it, with the message that has no end yet: its id and text.
    Session(Option<(String, String)>),
}

/// The sessions that clients may name.
#[derive(Default)]
pub(super) struct KnownSessions(Mutex<Vec<String>>);

impl KnownSessions {
    fn add(&self, session: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(session.to_owned());
    }

    /// A random session out of every `of`-th one from `first` on.
    pub(super) fn pick(&self, first: usize, of: usize, random: &mut Random) -> Option<String> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let own: Vec<&String> = known.iter().skip(first).step_by(of).collect();
        (!own.is_empty()).then(|| (*random.pick(&own)).clone())
    }
}

impl Author {
    /// Creates the first transcripts.
    pub(super) fn begin(folders: Folders, home: usize, random: Random, known: &KnownSessions) -> Result<Self, Error> {
        let journal_mode = if home.is_multiple_of(2) { "WAL" } else { "DELETE" };
        let database = AgentDatabase::create(&folders.database, journal_mode)?;
        let mut author = Self { folders, database, random, home, transcripts: Vec::new(), exchanges: 0 };
        for _ in 0..FIRST {
            author.add_transcript(known)?;
        }
        Ok(author)
    }

    pub(super) fn transcripts(&self) -> &[Transcript] {
        &self.transcripts
    }

    /// Makes one random change.
    pub(super) fn make_change(&mut self, known: &KnownSessions) -> Result<(), Error> {
        if self.transcripts.len() < MOST && self.random.percent(4) {
            return self.add_transcript(known);
        }
        let index = self.random.below(self.transcripts.len());
        if self.transcripts[index].bytes > LONG_BYTES && self.random.percent(50) || self.random.percent(3) {
            return self.rewrite(index);
        }
        match self.transcripts[index].form {
            Form::Lines => {}
            Form::Document(_) => return self.add_message(index),
            Form::Session(_) => return self.add_rows(index),
        }
        let torn = self.random.percent(20);
        let lines = match self.random.below(10) {
            0 => "{\"type\":\"user\",\"message\":{\"role\"\n".to_owned(),
            1 => "{\"type\":\"file-history-snapshot\",\"messageId\":\"m\",\"snapshot\":{}}\n".to_owned(),
            _ => self.exchange(index),
        };
        let cut = if torn { self.random.below(lines.len()) } else { lines.len() };
        self.transcripts[index].append(lines, cut)
    }

    /// Completes half-written lines and messages.
    pub(super) fn complete_lines(&mut self) -> Result<(), Error> {
        for transcript in &mut self.transcripts {
            match transcript.form {
                Form::Session(_) => transcript.complete(&mut self.database)?,
                _ => transcript.append(String::new(), 0)?,
            }
        }
        Ok(())
    }

    fn add_transcript(&mut self, known: &KnownSessions) -> Result<(), Error> {
        let number = self.transcripts.len();
        let id = format!("{:08x}-0000-4000-8000-{number:012x}", self.home);
        let (folder, session, ending, form) = match number % EVERY {
            0 => (self.folders.documents.clone(), format!("T-{id}"), "json", Form::Document(Vec::new())),
            1 => {
                let session = format!("ses_{id}");
                self.database.session(&session, latency::now_ms())?;
                let path = self.folders.database.join(&session);
                self.transcripts.push(Transcript::new(path, session.clone(), Form::Session(None)));
                self.add_rows(number)?;
                known.add(&session);
                return Ok(());
            }
            _ => (self.folders.projects.join(format!("-work-{}", number % 3)), id, "jsonl", Form::Lines),
        };
        fs::create_dir_all(&folder).map_err(io_error("create", &folder))?;
        let path = folder.join(format!("{session}.{ending}"));
        self.transcripts.push(Transcript::new(path, session.clone(), form));
        if let Form::Document(_) = self.transcripts[number].form {
            self.add_message(number)?;
        } else {
            let lines = self.exchange(number);
            let whole = lines.len();
            self.transcripts[number].append(lines, whole)?;
        }
        known.add(&session);
        Ok(())
    }

    /// Rewrites a transcript in place, or replaces it by another file of the same name.
    fn rewrite(&mut self, index: usize) -> Result<(), Error> {
        if let Form::Document(messages) = &mut self.transcripts[index].form {
            messages.clear();
            self.transcripts[index].rewrites += 1;
            return self.add_message(index);
        }
        if let Form::Session(open) = &mut self.transcripts[index].form {
            *open = None;
            self.database.clear(&self.transcripts[index].session)?;
            self.transcripts[index].rewrites += 1;
            return self.add_rows(index);
        }
        let lines = self.exchange(index);
        let in_place = self.random.percent(50);
        let transcript = &mut self.transcripts[index];
        transcript.reset();
        let text = transcript.count_lines(&lines);
        let path = &transcript.path;
        if in_place {
            return fs::write(path, text).map_err(io_error("write", path));
        }
        let other = path.with_extension("new");
        fs::write(&other, text).and_then(|()| fs::rename(&other, path)).map_err(io_error("write", path))
    }

    /// Adds an exchange to a document, or a prompt alone, and writes it.
    fn add_message(&mut self, index: usize) -> Result<(), Error> {
        self.exchanges += 1;
        let (number, word) = (self.exchanges, latency::word(self.exchanges));
        let message = |role: &str, text: String| {
            let content = [json!({ "type": "text", "text": text })];
            json!({ "role": role, "messageId": number, "content": content, "meta": { "sentAt": latency::now_ms() } })
                .to_string()
        };
        let transcript = &mut self.transcripts[index];
        let Form::Document(messages) = &mut transcript.form else { return Ok(()) };
        messages.push(message("user", format!("please note that {word} is what the release is called")));
        if self.random.percent(80) {
            messages.push(message("assistant", format!("Noted: the release is called {word}.")));
        }
        let text = transcript.document()?;
        if self.random.percent(50) {
            let (path, other) = (&transcript.path, transcript.path.with_extension("new"));
            return fs::write(&other, text).and_then(|()| fs::rename(&other, path)).map_err(io_error("write", path));
        }
        // The text is ASCII, so it may be cut anywhere.
        let cut = if self.random.percent(40) { self.random.below(text.len()) } else { text.len() };
        transcript.unwritten = text[cut..].to_owned();
        fs::write(&transcript.path, &text[..cut]).map_err(io_error("write", &transcript.path))
    }

    /// Adds an exchange to a session in the database, or a prompt alone; or a reply without its end, which comes later.
    fn add_rows(&mut self, index: usize) -> Result<(), Error> {
        self.exchanges += 1;
        let (word, at) = (latency::word(self.exchanges), latency::now_ms());
        let (is_answered, is_open) = (self.random.percent(80), self.random.percent(30));
        let transcript = &mut self.transcripts[index];
        transcript.complete(&mut self.database)?;
        let (session, reply) = (&transcript.session, format!("Noted: the release is called {word}."));
        let prompt = agent_database::prompt(&format!("please note that {word} is what the release is called"));
        self.database.all_at_once(|database| {
            database.message(session, at, &prompt)?;
            match (is_answered, is_open) {
                (false, _) => Ok(0),
                (true, true) => database.message(session, at, &agent_database::beginning("Noted:", at)),
                (true, false) => {
                    let parts = json!([agent_database::text(&reply, at)]);
                    database.message(session, at, &agent_database::answer(parts, at))
                }
            }
        })?;
        transcript.form = Form::Session((is_answered && is_open).then(|| (self.database.last_message(), reply)));
        transcript.count_rows(&self.database)
    }

    fn exchange(&mut self, index: usize) -> String {
        self.exchanges += 1;
        latency::exchange(&self.transcripts[index].path, &latency::word(self.exchanges), self.exchanges)
    }
}

impl Transcript {
    fn new(path: PathBuf, session: String, form: Form) -> Self {
        let (bytes, records, malformed, messages, rewrites) = (0, 0, 0, 0, 0);
        let (sizes, unwritten) = (BTreeSet::new(), String::new());
        Self { session, path, bytes, records, malformed, messages, rewrites, sizes, unwritten, form }
    }

    /// The whole document, counted as written, and padded with blanks so that it never has an earlier size again.
    fn document(&mut self) -> Result<String, Error> {
        let Form::Document(messages) = &self.form else { return Ok(String::new()) };
        let head = r#""v":9,"id":"T","title":"Release","env":{"initial":{"cwd":"/home/dev/projects/ledger-api"}}"#;
        let mut text = format!("{{{head},\"messages\":[{}]}}", messages.join(","));
        while !self.sizes.insert(text.len() as u64) {
            text.push(' ');
        }
        let whole = document(Agent::Amp, &self.path.to_string_lossy()).and_then(|it| it.lines(text.as_bytes()).ok());
        let lines = whole.ok_or_else(|| Error::NothingMeasured(format!("no document: {text}")))?;
        self.bytes = lines.len() as u64;
        self.records = lines.iter().filter(|byte| **byte == b'\n').count() as u64;
        self.messages = messages.len() as u64;
        self.unwritten.clear();
        Ok(text)
    }

    /// Ends the message of a session in a database that has no end yet.
    fn complete(&mut self, database: &mut AgentDatabase) -> Result<(), Error> {
        let Form::Session(open) = &mut self.form else { return Ok(()) };
        let Some((message, reply)) = open.take() else { return Ok(()) };
        database.complete(&self.session, &message, latency::now_ms(), &reply)?;
        self.count_rows(database)
    }

    /// Counts what a session in a database gives.
    fn count_rows(&mut self, database: &AgentDatabase) -> Result<(), Error> {
        let lines = database.lines(&self.session)?;
        let lines = String::from_utf8_lossy(&lines);
        self.bytes = lines.len() as u64;
        self.records = lines.lines().count() as u64;
        self.messages = lines.lines().filter(|line| line.starts_with(r#"{"type":"text""#)).count() as u64;
        Ok(())
    }

    fn reset(&mut self) {
        self.rewrites += 1;
        (self.bytes, self.records, self.malformed, self.messages) = (0, 0, 0, 0);
        self.unwritten.clear();
    }

    /// Counts complete lines as written, and pads them with blanks so that the transcript never has an earlier size
    /// again.
    fn count_lines(&mut self, lines: &str) -> String {
        let mut text = String::with_capacity(lines.len());
        for line in lines.lines() {
            let mut line = line.to_owned();
            // Blanks after a record do not change it.
            while self.sizes.contains(&(self.bytes + line.len() as u64 + 1)) {
                line.push(' ');
            }
            line.push('\n');
            self.bytes += line.len() as u64;
            self.sizes.insert(self.bytes);
            match serde_json::from_str::<serde_json::Value>(&line) {
                Ok(record) => {
                    self.records += 1;
                    self.messages += u64::from(record["message"].is_object());
                }
                Err(_) => self.malformed += 1,
            }
            text.push_str(&line);
        }
        text
    }

    /// Writes the rest of the last line, then `lines` up to `cut`; the remainder is written later.
    fn append(&mut self, lines: String, cut: usize) -> Result<(), Error> {
        let mut text = std::mem::take(&mut self.unwritten);
        let taken = self.count_lines(&lines);
        let cut = cut.min(taken.len());
        // The text is ASCII, so it may be cut anywhere.
        text.push_str(&taken[..cut]);
        self.unwritten = taken[cut..].to_owned();
        write(&self.path, text.as_bytes())
    }
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    if bytes.is_empty() {
        return Ok(());
    }
    let file = OpenOptions::new().create(true).append(true).open(path);
    file.and_then(|mut file| file.write_all(bytes)).map_err(io_error("append to", path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_is_what_lies_there_when_the_author_rests() {
        let folder = tempfile::tempdir().unwrap();
        let known = KnownSessions::default();
        let place = |name: &str| folder.path().join(name);
        let folders = Folders { projects: place("p"), documents: place("d"), database: place("opencode.db") };
        let mut author = Author::begin(folders, 3, Random::new(5), &known).unwrap();
        let mut torn = 0;
        for _ in 0..1500 {
            author.make_change(&known).unwrap();
            torn += author.transcripts().iter().filter(|transcript| !transcript.unwritten.is_empty()).count();
        }
        assert!(torn > 0, "lines are half written for a while");
        author.complete_lines().unwrap();
        assert_eq!(author.transcripts().len(), MOST);
        assert!(author.transcripts().iter().any(|transcript| transcript.rewrites > 0));
        for transcript in author.transcripts() {
            let read = || fs::read_to_string(&transcript.path).unwrap();
            let lines = |text: String| {
                document(Agent::Amp, &transcript.path.to_string_lossy()).unwrap().lines(text.as_bytes()).unwrap()
            };
            let text = match transcript.form {
                Form::Lines => read(),
                Form::Document(_) => String::from_utf8(lines(read())).unwrap(),
                Form::Session(_) => String::from_utf8(author.database.lines(&transcript.session).unwrap()).unwrap(),
            };
            let records = text.lines().filter(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()).count();
            let broken = text.lines().count() - records;
            let counted = (transcript.bytes, transcript.records, transcript.malformed);
            assert_eq!((text.len() as u64, records as u64, broken as u64), counted, "{}", transcript.session);
            assert!(text.ends_with('\n') && transcript.messages > 0);
        }
        let mut random = Random::new(1);
        let picked: BTreeSet<String> = (0..200).filter_map(|_| known.pick(1, 4, &mut random)).collect();
        assert_eq!(picked.len(), MOST / 4);
        assert_eq!(known.pick(MOST, 4, &mut random), None);
    }
}
