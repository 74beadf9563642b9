//! A corpus of any size: generated transcripts, shaped like real ones, with the same bytes for the same seed.
//!
//! Sizes, kinds of lines and the shares of the bytes follow measurements of real transcripts: most are tool results and
//! their copies, little is what people and agents say to each other. Words follow Zipf's law over a vocabulary of
//! 8,192, besides names, paths, numbers and hashes, which keep growing with the corpus. `corpus.json` describes the
//! result.

mod plan;
mod project;
pub(super) mod random;
mod session;
pub(super) mod talk;
mod text;
mod transcript;
mod vocabulary;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Error, io_error};
use vocabulary::{COMMON, RARE, Vocabulary};

/// Name of the file beside `projects/`.
const MANIFEST: &str = "corpus.json";

/// The corpus to write.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Number of sessions, without subagents' transcripts.
    pub sessions: u32,
    /// Size of all transcripts in bytes; reached within a few percent.
    pub bytes: u64,
    /// Another seed gives other sessions.
    pub seed: u64,
    /// True if nearly all of it is to be prose: prompts and answers of several paragraphs, few tool results, no
    /// subagents.
    pub dense: bool,
}

/// Description of a corpus: the content of `corpus.json`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Corpus {
    /// The seed.
    pub seed: u64,
    /// Number of sessions, without subagents.
    pub sessions: u32,
    /// Number of transcripts, including subagents'.
    pub transcripts: u64,
    /// Number of projects.
    pub projects: usize,
    /// Size of all transcripts.
    pub bytes: u64,
    /// Lines of all transcripts.
    pub lines: u64,
    /// Length of lines in bytes: median, 90th and 99th percentile.
    pub line_bytes: [usize; 3],
    /// Bytes by kind of content; the rest is the envelope of records.
    pub bytes_of: BTreeMap<String, u64>,
    /// A word that one session in 500 contains.
    pub rare_word: String,
    /// A word that nearly every session contains.
    pub common_word: String,
    /// Path of the largest transcript, relative to the corpus.
    pub largest: PathBuf,
}

impl Corpus {
    /// The common word, the same for every seed.
    pub(super) const COMMON_WORD: &str = COMMON;
    /// The rare word.
    pub(super) const RARE_WORD: &str = RARE;

    /// Writes transcripts below `into/projects` and describes them.
    pub fn write(options: Options, into: &Path) -> Result<Self, Error> {
        let projects_folder = into.join("projects");
        let occupied = fs::read_dir(&projects_folder).is_ok_and(|mut entries| entries.next().is_some());
        if occupied {
            return Err(Error::Occupied(projects_folder));
        }
        let vocabulary = Vocabulary::new(options.seed);
        let projects = plan::all_projects(options, &vocabulary);
        let mut corpus = Self {
            seed: options.seed,
            sessions: options.sessions,
            projects: projects.len(),
            rare_word: RARE.to_owned(),
            common_word: COMMON.to_owned(),
            ..Self::default()
        };
        let (mut lengths, mut largest) = (Vec::new(), 0);
        for plan in plan::all_plans(options) {
            let project = &projects[plan.project];
            let path = Path::new("projects").join(plan.path(&project.slug()));
            let transcript = session::write(&plan, options.seed, project, &vocabulary);
            let absolute = into.join(&path);
            if let Some(folder) = absolute.parent() {
                fs::create_dir_all(folder).map_err(io_error("create", folder))?;
            }
            fs::write(&absolute, &transcript.text).map_err(io_error("write", &absolute))?;
            corpus.transcripts += 1;
            corpus.bytes += transcript.text.len() as u64;
            if transcript.text.len() > largest && plan.agent.is_none() {
                (corpus.largest, largest) = (path, transcript.text.len());
            }
            for (what, bytes) in transcript.shares {
                *corpus.bytes_of.entry(what.to_owned()).or_default() += bytes;
            }
            let starts = std::iter::once(0).chain(transcript.marks.iter().map(|(_, end)| *end));
            lengths.extend(starts.zip(&transcript.marks).map(|(start, (_, end))| end - start));
        }
        corpus.lines = lengths.len() as u64;
        lengths.sort_unstable();
        corpus.line_bytes =
            [50, 90, 99].map(|percent| lengths.get(lengths.len() * percent / 100).copied().unwrap_or(0));
        let manifest = into.join(MANIFEST);
        let text = serde_json::to_string_pretty(&corpus).map_err(|error| Error::NothingMeasured(error.to_string()))?;
        fs::write(&manifest, text + "\n").map_err(io_error("write", &manifest))?;
        Ok(corpus)
    }

    /// Reads the description of an existing corpus.
    pub(super) fn read(from: &Path) -> Result<Self, Error> {
        let text = fs::read(from.join(MANIFEST)).map_err(|_| Error::NoCorpus(from.to_owned()))?;
        serde_json::from_slice(&text).map_err(|_| Error::NoCorpus(from.to_owned()))
    }
}

/// A session being worked in: each line with its time, from `now_ms` on.
pub(super) fn live(seed: u64, now_ms: i64) -> Live {
    let vocabulary = Vocabulary::new(seed);
    let project = project::Project::new(seed, 0, &vocabulary);
    let plan = plan::live(seed, now_ms);
    let transcript = session::write(&plan, seed, &project, &vocabulary);
    let mut start = 0;
    let lines = transcript.marks.iter().map(|(at_ms, end)| {
        let line = transcript.text[start..*end].to_owned();
        start = *end;
        (*at_ms, line)
    });
    Live { path: Path::new("projects").join(plan.path(&project.slug())), lines: lines.collect() }
}

/// A session to replay.
#[derive(Debug)]
pub(super) struct Live {
    /// Path of its transcript, relative to the corpus.
    pub(super) path: PathBuf,
    /// Each line with the time when it is written, in milliseconds since 1970.
    pub(super) lines: Vec<(i64, String)>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use sha2::{Digest, Sha256};

    const SMALL: Options = Options { sessions: 24, bytes: 3_000_000, seed: 11, dense: false };

    const DENSE: Options = Options { dense: true, ..SMALL };

    fn files(below: &Path) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for entry in fs::read_dir(below).unwrap().flatten() {
            match entry.path() {
                path if path.is_dir() => found.extend(files(&path)),
                path => found.push(path),
            }
        }
        found.sort();
        found
    }

    fn hash(below: &Path) -> Vec<u8> {
        let mut hash = Sha256::new();
        for path in files(below) {
            hash.update(path.strip_prefix(below).unwrap().to_str().unwrap());
            hash.update(fs::read(&path).unwrap());
        }
        hash.finalize().to_vec()
    }

    #[test]
    fn the_same_seed_gives_the_same_bytes_and_another_gives_others() {
        let folder = tempfile::tempdir().unwrap();
        let hash_of = |name: &str, options| {
            let into = folder.path().join(name);
            Corpus::write(options, &into).unwrap();
            hash(&into)
        };
        let first = hash_of("first", SMALL);
        assert_eq!(first, hash_of("again", SMALL));
        assert_ne!(first, hash_of("other", Options { seed: 12, ..SMALL }));
        assert_eq!(hash_of("dense", DENSE), hash_of("dense again", DENSE));
        assert!(matches!(Corpus::write(SMALL, &folder.path().join("first")), Err(Error::Occupied(_))));
    }

    #[test]
    fn every_line_is_a_record_and_the_shape_is_that_of_real_transcripts() {
        let folder = tempfile::tempdir().unwrap();
        let corpus = Corpus::write(SMALL, folder.path()).unwrap();
        assert_eq!(Corpus::read(folder.path()).unwrap(), corpus);
        let (mut bytes, mut lines, mut transcripts, mut prompts) = (0, 0, 0, 0);
        for path in files(&folder.path().join("projects")) {
            let text = fs::read_to_string(&path).unwrap();
            (bytes, transcripts) = (bytes + text.len() as u64, transcripts + 1);
            for line in text.lines() {
                let record: serde_json::Value =
                    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
                lines += 1;
                prompts += u64::from(record["message"]["content"].is_string());
            }
        }
        assert_eq!((bytes, lines, transcripts), (corpus.bytes, corpus.lines, corpus.transcripts));
        assert!(bytes.abs_diff(SMALL.bytes) < SMALL.bytes / 5, "{bytes}");
        assert!(prompts > 24 && prompts < lines / 8, "{prompts} of {lines}");
        let share = |what: &str| 100 * corpus.bytes_of[what] / bytes;
        let results = share("tool results") + share("tool results, copy for the screen") + share("progress");
        assert!((45..=85).contains(&results), "{results} %");
        assert!(share("assistant text") + share("user text") <= 8);
        assert!(folder.path().join(&corpus.largest).is_file());
    }

    #[test]
    fn a_dense_corpus_is_prose() {
        let folder = tempfile::tempdir().unwrap();
        let corpus = Corpus::write(DENSE, folder.path()).unwrap();
        assert_eq!(corpus.transcripts, u64::from(DENSE.sessions));
        assert!(corpus.bytes.abs_diff(DENSE.bytes) < DENSE.bytes / 5, "{}", corpus.bytes);
        let share = |what: &str| 100 * corpus.bytes_of.get(what).copied().unwrap_or(0) / corpus.bytes;
        assert!(share("assistant text") + share("user text") >= 70, "{corpus:?}");
        assert!(share("tool results") <= 5, "{corpus:?}");
    }

    #[test]
    fn a_live_session_goes_on_from_now() {
        let live = live(11, 1_790_000_000_000);
        assert!(live.lines.len() > 100);
        assert!(live.lines.windows(2).all(|pair| pair[0].0 <= pair[1].0));
        let first: serde_json::Value = serde_json::from_str(&live.lines[1].1).unwrap();
        assert!(first["timestamp"].as_str().unwrap().starts_with("2026-09-21T"), "{first}");
    }
}
