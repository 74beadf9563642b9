//! A corpus of any size: the example sessions again and again, each copy with identities and dates of its own.
//!
//! Only identities and dates change, never a length or a word. So what a copy costs is what a session costs, but for one
//! thing that helps and must be said: the vocabulary does not grow with the corpus.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use baton_events::record::Timestamp;

use super::{Error, io_error};

/// Each copy lies this much before the one before it.
const DAYS_APART: i64 = 28;
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// What was written.
#[derive(Debug)]
pub(super) struct Corpus {
    /// Transcripts, subagents' included.
    pub(super) files: u64,
    /// Their bytes.
    pub(super) bytes: u64,
    /// The largest session: the file that is appended to.
    pub(super) largest: PathBuf,
}

/// One example file.
struct Example {
    /// Below the examples' folder.
    path: PathBuf,
    bytes: Vec<u8>,
}

impl Example {
    fn is_transcript(&self) -> bool {
        self.path.extension().is_some_and(|ending| ending == "jsonl")
    }
}

/// Writes copies of the sessions in `examples` to `into` until there are `bytes` of them.
pub(super) fn write(examples: &Path, into: &Path, bytes: u64) -> Result<Corpus, Error> {
    let mut found = Vec::new();
    collect(examples, Path::new("projects"), &mut found)?;
    if !found.iter().any(Example::is_transcript) {
        return Err(Error::NoExamples(examples.to_owned()));
    }
    let agents = agents(&found);
    let mut corpus = Corpus { files: 0, bytes: 0, largest: PathBuf::new() };
    let mut largest = 0;
    for copy in 1.. {
        let renewal = Renewal { agents: &agents, copy };
        for example in &found {
            if corpus.bytes >= bytes {
                return Ok(corpus);
            }
            let path = into.join(renewal.path(&example.path));
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder).map_err(io_error("create", folder))?;
            }
            let content = renewal.text(&example.bytes);
            fs::write(&path, &content).map_err(io_error("write", &path))?;
            if example.is_transcript() {
                corpus.files += 1;
                corpus.bytes += content.len() as u64;
                if content.len() > largest {
                    (corpus.largest, largest) = (path, content.len());
                }
            }
        }
    }
    Ok(corpus)
}

/// All files below `folder` of `root`, in the order of their names.
fn collect(root: &Path, folder: &Path, found: &mut Vec<Example>) -> Result<(), Error> {
    let absolute = root.join(folder);
    let entries = match fs::read_dir(&absolute) {
        Ok(entries) => entries,
        Err(_) => return Err(Error::NoExamples(root.to_owned())),
    };
    let mut names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
    names.sort();
    for name in names {
        let path = folder.join(name);
        let absolute = root.join(&path);
        if absolute.is_dir() {
            collect(root, &path, found)?;
        } else {
            let bytes = fs::read(&absolute).map_err(io_error("read", &absolute))?;
            found.push(Example { path, bytes });
        }
    }
    Ok(())
}

/// The ids of subagents: hex digits without the form of a uuid, known from the names of their files.
fn agents(found: &[Example]) -> BTreeSet<Vec<u8>> {
    let names = found.iter().filter(|example| example.is_transcript()).filter_map(|example| example.path.file_stem());
    names.filter_map(|name| name.to_str()?.strip_prefix("agent-")).map(|id| id.as_bytes().to_vec()).collect()
}

/// What one copy changes.
struct Renewal<'a> {
    agents: &'a BTreeSet<Vec<u8>>,
    /// From 1.
    copy: u32,
}

impl Renewal<'_> {
    fn path(&self, path: &Path) -> PathBuf {
        match path.to_str() {
            Some(text) => String::from_utf8(self.text(text.as_bytes())).map_or_else(|_| path.to_owned(), PathBuf::from),
            None => path.to_owned(),
        }
    }

    /// The text with every identity and every date of this copy. As long as it was.
    fn text(&self, text: &[u8]) -> Vec<u8> {
        let mut renewed = Vec::with_capacity(text.len());
        let mut rest = text;
        while !rest.is_empty() {
            let word = rest.iter().take_while(|byte| is_in_word(**byte)).count();
            let start = renewed.len();
            renewed.extend_from_slice(&rest[..word]);
            self.word(&mut renewed[start..]);
            let gap = rest[word..].iter().take_while(|byte| !is_in_word(**byte)).count();
            renewed.extend_from_slice(&rest[word..word + gap]);
            rest = &rest[word + gap..];
        }
        renewed
    }

    fn word(&self, word: &mut [u8]) {
        if is_uuid(word) {
            self.hex(&mut word[..8]);
        } else if ["msg_", "toolu_", "req_"].iter().any(|kind| word.starts_with(kind.as_bytes())) && word.len() >= 16 {
            let digits = format!("{:04x}", self.copy % 0x1_0000);
            let end = word.len() - 4;
            word[end..].copy_from_slice(digits.as_bytes());
        } else if is_date(word) {
            self.date(&mut word[..10]);
        } else {
            let start = if word.starts_with(b"agent-") { 6 } else { 0 };
            if self.agents.contains(&word[start..]) {
                let end = word.len().min(start + 8);
                self.hex(&mut word[start..end]);
            }
        }
    }

    /// Other hex digits for each copy, and different ones where the digits are different.
    fn hex(&self, digits: &mut [u8]) {
        let mut key = self.copy.wrapping_mul(0x9e37_79b9);
        for digit in digits {
            let value = char::from(*digit).to_digit(16).unwrap_or(0) ^ (key & 15);
            *digit = char::from_digit(value, 16).map_or(*digit, |c| c as u8);
            key = key.rotate_right(4);
        }
    }

    fn date(&self, date: &mut [u8]) {
        let day = std::str::from_utf8(date).ok().and_then(|date| Timestamp::parse(&format!("{date}T00:00:00Z")));
        if let Some(day) = day {
            let shifted = day.plus_ms(-i64::from(self.copy) * DAYS_APART * DAY_MS).to_string();
            date.copy_from_slice(&shifted.as_bytes()[..10]);
        }
    }
}

fn is_in_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_'
}

fn is_uuid(word: &[u8]) -> bool {
    word.len() == 36
        && word.iter().enumerate().all(|(index, byte)| match index {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
        })
}

/// The beginning of a moment, up to its hour: `2026-11-10T12`.
fn is_date(word: &[u8]) -> bool {
    word.len() == 13
        && word.starts_with(b"20")
        && word.iter().enumerate().all(|(index, byte)| match index {
            4 | 7 => *byte == b'-',
            10 => *byte == b'T',
            _ => byte.is_ascii_digit(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "72d9e0b4-1c3f-4e68-97a5-d40b8f6c2e19";

    fn renewed(copy: u32, text: &str) -> String {
        let agents = BTreeSet::from([b"7c1be04a".to_vec()]);
        String::from_utf8(Renewal { agents: &agents, copy }.text(text.as_bytes())).unwrap()
    }

    #[test]
    fn identities_and_dates_change_and_nothing_else() {
        for untouched in ["", "refresh token", "2026-11-10", "agent-zzz", "{\"a\":\"é\\n\"}", "msg_1", "deadbeef"] {
            assert_eq!(renewed(3, untouched), untouched);
        }
        let cases = [
            (format!("\"{ID}\""), "-1c3f-4e68-97a5-d40b8f6c2e19\""),
            ("\"2026-01-10T12:05:09.117Z\"".to_owned(), "T12:05:09.117Z\""),
            ("msg_016axC484nuxDpPZ7gikiGq0".to_owned(), "0003"),
            ("/x/agent-7c1be04a.jsonl".to_owned(), ".jsonl"),
            ("agentId: 7c1be04a (".to_owned(), " ("),
        ];
        for (text, end) in cases {
            let copy = renewed(3, &text);
            assert_ne!(copy, text);
            assert!(copy.ends_with(end), "{copy}");
            assert_eq!(copy.len(), text.len(), "{copy}");
            assert_eq!(renewed(3, &text), copy, "the same in every run");
            assert_ne!(renewed(4, &text), copy, "another in each copy");
        }
        assert_eq!(renewed(1, "2026-01-10T12:05"), "2025-12-13T12:05");
    }

    #[test]
    fn what_belongs_together_still_does() {
        let (path, line) = (format!("projects/-p/{ID}.jsonl"), format!("{{\"sessionId\":\"{ID}\"}}"));
        let id = renewed(7, &path)[12..48].to_owned();
        assert!(renewed(7, &line).contains(&id));
        assert_ne!(id, ID);
    }

    #[test]
    fn a_corpus_reaches_its_size_in_files_of_different_names() {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().join("examples/projects/-p");
        fs::create_dir_all(&project).unwrap();
        fs::write(project.join(format!("{ID}.jsonl")), "{}\n".repeat(10)).unwrap();
        let into = folder.path().join("corpus");
        let corpus = write(&folder.path().join("examples"), &into, 100).unwrap();
        assert_eq!((corpus.files, corpus.bytes), (4, 120));
        assert!(corpus.largest.is_file());
        assert_eq!(fs::read_dir(into.join("projects/-p")).unwrap().count(), 4);
        assert!(matches!(write(&into.join("projects"), &into, 1), Err(Error::NoExamples(_))));
    }
}
