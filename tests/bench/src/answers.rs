//! How true Baton's words are: episodes and answers, compared with what a careful reader says of the same sessions.
//!
//! Episodes are made in this process, as an index job makes them. Questions are asked of a throwaway daemon over the
//! same transcripts with the commands that a person types. All comparisons are by rule (lines, words, patterns), so they
//! are the same in every run, and an approximation: a statement may have the words and mean something else.

mod episode;
mod figures;
mod gold;
mod matching;
mod questions;

use std::path::{Path, PathBuf};

use baton_conversation::item::{Agent, Item};
use baton_conversation::transcript::{Cursor, NullSink, OpenCalls};
use baton_episode::digest::{Episode, Show, digest};
use baton_events::session::TailDigest;
use baton_store::transcript_reader::{self, Pass, Start};
use serde::Serialize;

use super::daemon_process::DaemonProcess;
use super::workspace::Workspace;
use super::{Error, Table, TestDaemon, io_error};

pub use episode::{JudgedEpisode, Statement, Verdict};
pub use figures::{Counts, EpisodeFigures, Points, QuestionFigures};
use gold::{Gold, Session};
pub use questions::{Form, JudgedAnswer};

/// What is compared.
#[derive(Clone, Debug)]
pub struct Options {
    /// Files of gold.
    pub gold: Vec<PathBuf>,
    /// Claude Code's directory, with `projects/`.
    pub claude: Option<PathBuf>,
    /// Codex's directory, with `sessions/`.
    pub codex: Option<PathBuf>,
    /// True to ask no questions, which need a daemon.
    pub without_questions: bool,
}

/// How true Baton's words are.
#[derive(Clone, Debug, Serialize)]
pub struct Answers {
    /// By file.
    pub files: Vec<JudgedFile>,
    /// Episodes of all files.
    pub episodes: EpisodeFigures,
    /// Questions of all files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub questions: Option<QuestionFigures>,
}

/// The comparison with one file of gold.
#[derive(Clone, Debug, Serialize)]
pub struct JudgedFile {
    /// Its name.
    pub file: String,
    /// Figures of its episodes.
    pub episodes: EpisodeFigures,
    /// Figures of its questions, if they were asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub questions: Option<QuestionFigures>,
    /// Each session.
    pub sessions: Vec<JudgedEpisode>,
    /// Each answer.
    pub answers: Vec<JudgedAnswer>,
}

/// Compares. Calls `progress` with each step.
pub fn measure(options: &Options, progress: &dyn Fn(&str)) -> Result<Answers, Error> {
    let absolute = |directory: &PathBuf| directory.canonicalize().map_err(io_error("read", directory));
    let claude = options.claude.as_ref().map(absolute).transpose()?;
    let codex = options.codex.as_ref().map(absolute).transpose()?;
    let gold = options.gold.iter().map(|path| Ok((path, Gold::read(path)?))).collect::<Result<Vec<_>, Error>>()?;
    progress("reading sessions");
    let mut answers = Answers { files: Vec::new(), episodes: EpisodeFigures::default(), questions: None };
    for (path, gold) in &gold {
        let mut file = JudgedFile {
            file: path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned(),
            episodes: EpisodeFigures::default(),
            questions: None,
            sessions: Vec::new(),
            answers: Vec::new(),
        };
        for session in &gold.sessions {
            let episode = read_episode(session, claude.as_deref(), codex.as_deref())
                .map_err(|what| Error::Data { path: path.to_path_buf(), what })?;
            let judged = episode::judge(session, &episode);
            file.episodes += judged.figures;
            file.sessions.push(judged);
        }
        answers.episodes += file.episodes;
        answers.files.push(file);
    }
    if !options.without_questions && gold.iter().any(|(_, gold)| !gold.questions.is_empty()) {
        progress("indexing all sessions");
        let workspace = Workspace::new()?;
        let daemon = start_daemon(&workspace, claude, codex, answers.episodes.sessions)?;
        let mut total = QuestionFigures::default();
        for (file, (_, gold)) in answers.files.iter_mut().zip(&gold) {
            progress(&format!("asking the questions of {}", file.file));
            for question in &gold.questions {
                file.answers.extend(questions::ask(&daemon, question)?);
            }
            let figures = questions::figures(&file.answers);
            total += &figures;
            file.questions = Some(figures);
        }
        answers.questions = Some(total);
    }
    Ok(answers)
}

/// Reads a transcript and makes its episode, as an index job does. The error names the session.
fn read_episode(session: &Session, claude: Option<&Path>, codex: Option<&Path>) -> Result<Episode, String> {
    let failed = |why: &str| format!("session {} ({}): {why}", session.session_id, session.path);
    let source = session.source().ok_or_else(|| failed("this is no transcript"))?;
    let (directory, option) = match source.agent {
        Agent::ClaudeCode => (claude, "--claude"),
        Agent::Codex => (codex, "--codex"),
        other => return Err(failed(&format!("sessions of {} are not scored", other.title()))),
    };
    let path = directory.ok_or_else(|| failed(&format!("name the directory it is in with {option}")))?;
    let path = path.join(&session.path).to_string_lossy().into_owned();
    let start = Start { source, path, cursor: Cursor::default(), tail: TailDigest::default() };
    let read = |pass| match pass {
        Pass::Read(done) => Ok(done.cursor.offset),
        Pass::Gone => Err(failed(&format!("it is not below the directory of {option}"))),
        Pass::Rewritten { .. } => Err(failed("it changes while it is read")),
        Pass::Unreadable { reason, .. } => Err(failed(&reason)),
    };
    let end = read(transcript_reader::look(&start, u64::MAX, &mut NullSink))?;
    let mut items: Vec<Item> = Vec::new();
    read(transcript_reader::items(&start, OpenCalls::default(), end, &mut items))?;
    Ok(digest(&items, &Show::default()))
}

/// Starts a daemon over the transcripts, which it only reads, and waits until they are indexed.
fn start_daemon(
    workspace: &Workspace,
    claude: Option<PathBuf>,
    codex: Option<PathBuf>,
    sessions: usize,
) -> Result<TestDaemon, Error> {
    let empty = workspace.path().join("claude");
    std::fs::create_dir_all(empty.join("projects")).map_err(io_error("create", &empty))?;
    let mut daemon = TestDaemon::start_on(&claude.unwrap_or(empty), codex.as_deref())?;
    daemon.ask("anything", true)?;
    let status = DaemonProcess::wait_until_caught_up(&mut daemon.client)?;
    let indexed = status.sessions.get("indexed").copied().unwrap_or(0);
    if indexed < sessions as u64 {
        let what = format!("{indexed} sessions are indexed, the gold has {sessions}; states: {:?}", status.sessions);
        return Err(Error::NothingMeasured(what));
    }
    Ok(daemon)
}

impl Answers {
    /// The figures as tables; with `detail`, each statement and each answer too.
    pub fn tables(&self, detail: bool) -> Vec<Table> {
        let mut tables = Vec::new();
        for file in &self.files {
            if detail {
                tables.extend(file.sessions.iter().map(episode_table));
                tables.extend(file.answers.iter().map(answer_table));
            }
            tables.push(file.episodes.table(&file.file));
            tables.extend(file.questions.as_ref().map(|questions| questions.table(&file.file)));
        }
        if self.files.len() > 1 {
            tables.push(self.episodes.table("in total"));
            tables.extend(self.questions.as_ref().map(|questions| questions.table("in total")));
        }
        tables
    }
}

fn episode_table(judged: &JudgedEpisode) -> Table {
    let mut table = Table::new(&format!("Session {}", judged.session_id), &judged.path);
    let quality = if judged.figures.good_titles == 1 { "good" } else { "-" };
    table.row(&format!("title       {quality}"), format!("{} | {}", judged.title, judged.gold_title));
    for statement in &judged.statements {
        let lines: Vec<String> = statement.lines.iter().map(u64::to_string).collect();
        let name = format!("{:12}{:11} {}", statement.list, statement.verdict.text(), lines.join(","));
        let gold = statement.gold.as_ref().map_or_else(String::new, |gold| format!(" | {gold}"));
        table.row(&format!("{name:33} "), format!("{}{gold}", statement.text));
    }
    table
}

fn answer_table(judged: &JudgedAnswer) -> Table {
    let JudgedAnswer { id, kind, score, command, .. } = judged;
    let mut table = Table::new(&format!("Question {id} ({kind}): {score}"), command);
    table.row("gold", judged.gold.clone());
    judged.missing_keys.iter().for_each(|key| table.row("key without a match", key.clone()));
    judged.answer.iter().for_each(|line| table.row("answer", line.clone()));
    table
}
