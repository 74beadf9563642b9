//! `baton replay`: replays an exported log, event by event, and shows the sessions as of a position of a log.
//!
//! # Decisions
//!
//! - `--json` prints one object per line, as `log tail --json` does, because events are a stream. The last line is the
//!   summary.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, IsTerminal, Read, Write as _};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use baton_conversation::record::{Position, Timestamp};
use baton_events::replay::{Options, Until};
use baton_events::session::Policy;
use baton_protocol::answer::{HistoryEvent, Message, Messages, Replay, Replayed};
use baton_protocol::{MessagesParams, ReplayParams, code, method};

use super::Error;
use crate::client;
use crate::environment::Environment;
use crate::print::{self, Output};
use crate::replay::{self, Comparison, Verdict};
use baton_base::atomic_file;

/// Text of conversations in a file for a browser, in bytes; it may end one session later.
const TEXT_BYTES: usize = 64 * 1024 * 1024;

const HELP: &str = "\
Runs the output of `baton log export` through the same rules as the daemon, without a daemon or a home. For each event \
it prints the position, time, stream and sequence, what happened and why, the session's state before and after, every \
field that has changed, and what is owed then under the default timeouts. At the end it prints the sessions, the \
position and the state_hash, which `baton log stats` prints too.

A whole export is checked on the way: no record is missing, each is linked to the one before it by its chain hash, and \
the result is the one in the file's last line. In a filtered export sessions may begin in the middle. Events of a \
newer version are shown as such and counted, but not applied. If the file contradicts itself the exit code is 1.

`--at POSITION` shows one position instead: the event there, what it did and why, and the sessions as of it. Without a \
file it is a position of this home's log, and the answer also names the positions beside it; 0 is the last one.

JSON: one object per line: for each event \
{\"position\",\"stream\",\"sequence\",\"at\",\"type\",\"v\",\"cause\",\"data\",\"told\",\"why\", \
\"before\",\"after\",\"changed\":[{\"field\",\"before\",\"after\"}],\"owed\":[{\"what\",\"at\",\"why\"}]}, and last \
{\"summary\":{\"records\", \
\"unreadable\",\"sessions\":[…],\"position\",\"chain\",\"state_hash\",\"notes\",\"differences\"}}. With `--at` and no \
file one object: {\"position\",\"last\",\"event\",\"session_id\",\"previous\",\"next\",\"previous_change\",\"next_change\", \
\"sessions\":[…],\"more\",\"states\"}.

Examples:
  baton log export -o log.jsonl && baton replay log.jsonl
  baton replay log.jsonl --session a94e0d17 --step     one session, event by event
  baton replay log.jsonl --until 2026-11-03T09:30:00Z  the state at that time
  baton replay --at 120                                the sessions as of position 120 of this home's log
  baton replay log.jsonl --at 120                      the same in a file
  baton replay log.jsonl --html log.html               a file for a browser, to look at or to send
  baton replay log.jsonl --html log.html --with-text   with what was said; think before you send it
  baton log export | baton replay - --summary          only the result
  baton replay log.jsonl > expected.txt                save it, and
  baton replay log.jsonl --against expected.txt        check that the result is still the same";

#[derive(Debug, clap::Args)]
#[command(after_long_help = HELP)]
pub(super) struct Args {
    /// The export; `-` reads standard input
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Only the event at this position, and the sessions as of it; without a file, of this home's log
    #[arg(long, value_name = "POSITION", conflicts_with_all = ["until", "step", "summary", "against"])]
    at: Option<u64>,
    /// Only this session: its id, or the beginning of it
    #[arg(long, short, value_name = "S")]
    session: Option<String>,
    /// Stop after this position, or after what was recorded up to this time (RFC 3339)
    #[arg(long, short, value_name = "POSITION|TIME", value_parser = until)]
    until: Option<Until>,
    /// Pause after each event: Enter continues, a position continues up to it, q quits
    #[arg(long, conflicts_with_all = ["summary", "against"])]
    step: bool,
    /// Only the end: the sessions, the position and the state_hash
    #[arg(long, visible_alias = "quiet")]
    summary: bool,
    /// Compare with earlier output, and show the first difference
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    against: Option<PathBuf>,
    /// Write one file that a browser shows, offline: a slider over the events, without stored data
    #[arg(long, value_name = "OUT", requires = "file", conflicts_with_all = ["at", "step", "summary", "against", "json"])]
    html: Option<PathBuf>,
    /// With --html: also what was said in the sessions, as far as this home has it, with secrets hidden
    #[arg(long, requires = "html")]
    with_text: bool,
    /// Replace an existing file
    #[arg(long, requires = "html")]
    force: bool,
    /// Print one JSON object per line
    #[arg(long, conflicts_with = "step")]
    json: bool,
}

fn until(text: &str) -> Result<Until, String> {
    if let Ok(position) = text.parse() {
        return Ok(Until::Position(Position(position)));
    }
    let moment = Timestamp::parse(text).map(Until::Time);
    moment.ok_or_else(|| "expected a position, or a time such as 2026-11-03T09:30:00Z".to_owned())
}

impl Args {
    /// True if it needs no home.
    pub(super) fn reads_a_file(&self) -> bool {
        self.file.is_some()
    }
}

/// Replays a file.
pub(super) fn file(args: &Args) -> Result<ExitCode, Error> {
    let path = args.file.as_deref().unwrap_or(Path::new("-"));
    let is_stdin = path == Path::new("-");
    if args.step && (is_stdin || !io::stdin().is_terminal()) {
        let message = "`--step` needs a terminal as standard input; leave it out to see all events at once";
        return Err(Error::Usage(message.to_owned()));
    }
    let source: Box<dyn Read + Send> = if is_stdin { Box::new(io::stdin()) } else { Box::new(open(path)?) };
    let options = Options {
        session: args.session.as_deref().map(super::session),
        until: args.at.map(|at| Until::Position(Position(at))).or(args.until).unwrap_or_default(),
        policy: Policy::default(),
        tell: !args.summary,
    };
    if let Some(expected) = &args.against {
        return compare(source, options, expected);
    }
    if let Some(out) = &args.html {
        let replayed = page(source, options, out, args)?;
        return verdict(path, &replayed);
    }
    let output = Output::new();
    let mut prompt = args.step.then(StepPrompt::default);
    let replayed = replay::run(source, options, |happened| {
        if args.at.is_some_and(|at| happened.position != at) {
            return ControlFlow::Continue(());
        }
        match args.json {
            true => output.data(&json(happened)),
            false => output.line(&replay::event(happened)),
        }
        prompt.as_mut().map_or(ControlFlow::Continue(()), |prompt| prompt.after(happened))
    });
    match args.json {
        true => output.data(&json(&serde_json::json!({ "summary": replayed }))),
        false => output.line(&replay::summary(&replayed)),
    }
    verdict(path, &replayed)
}

/// Shows a position of this home's log.
pub(super) fn live(environment: &Environment, args: &Args) -> Result<ExitCode, Error> {
    if args.at.is_none() {
        let message = "name a file written by `baton log export -o FILE`, or show this home's log with `--at POSITION`";
        return Err(Error::Usage(message.to_owned()));
    }
    let params = ReplayParams {
        at: args.at.filter(|at| *at > 0),
        session: args.session.as_deref().map(super::session),
        ..ReplayParams::default()
    };
    let result = super::ask(environment, |client| client.call_raw(method::REPLAY, &params, |_| {}))?;
    let output = Output::new();
    if args.json {
        output.json(&result);
        return Ok(ExitCode::SUCCESS);
    }
    let answer: Replay = super::parse_result(&result)?;
    output.line(&replay::position(&answer));
    Ok(ExitCode::SUCCESS)
}

fn open(path: &Path) -> Result<File, Error> {
    let next = "name a file written by `baton log export -o FILE`, or `-` for standard input";
    let failed = |reason: String| Error::File { path: path.display().to_string(), reason };
    let file = File::open(path).map_err(|error| failed(format!("{error}; {next}")))?;
    match file.metadata() {
        Ok(metadata) if metadata.is_dir() => Err(failed(format!("it is a directory; {next}"))),
        _ => Ok(file),
    }
}

fn json(value: &impl serde::Serialize) -> String {
    // Strings, numbers and JSON always have a JSON form.
    serde_json::to_string(value).unwrap_or_default()
}

/// Writes a file for a browser.
fn page(source: Box<dyn Read + Send>, options: Options, out: &Path, args: &Args) -> Result<Replayed, Error> {
    let failed = |reason: String| Error::File { path: out.display().to_string(), reason };
    if !args.force && out.symlink_metadata().is_ok() {
        return Err(failed("it exists; `--force` replaces it".to_owned()));
    }
    let folder = out.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut page = replay::Page::default();
    let replayed = replay::run(source, options, |happened| {
        page.add(happened);
        ControlFlow::Continue(())
    });
    if args.with_text {
        add_texts(&mut page)?;
    }
    let written = atomic_file::create_in(folder).and_then(|mut unfinished| {
        let mut buffered = BufWriter::new(&mut unfinished);
        page.write(&replayed, &mut buffered)?;
        buffered.flush()?;
        drop(buffered);
        unfinished.file().sync_all()?;
        unfinished.persist(out)
    });
    written.map_err(|error| failed(error.to_string()))?;
    print::note(&format!("Written to {}; open it in a browser.", print::plain(&out.display().to_string())));
    Ok(replayed)
}

/// Adds what was said in the sessions, from this home. Says how many conversations are not in it.
fn add_texts(page: &mut replay::Page) -> Result<(), Error> {
    let environment = Environment::read()?;
    let (mut bytes, mut without, mut too_many) = (0, 0_u64, 0_u64);
    for session in page.sessions().map(str::to_owned).collect::<Vec<_>>() {
        if bytes > TEXT_BYTES {
            too_many += 1;
            continue;
        }
        match said(&environment, &session) {
            Ok(said) if said.is_empty() => without += 1,
            Ok(said) => bytes += page.add_text(&session, &said),
            Err(Error::Client(client::Error::Refused(failure))) if failure.code == code::NOT_FOUND => without += 1,
            Err(error) => return Err(error),
        }
    }
    for (count, why) in [(without, "is not in this home"), (too_many, "is left out: the file would be too large")] {
        if count > 0 {
            page.note(format!("What was said in {} {why}.", print::counted(count, "session")));
        }
    }
    Ok(())
}

/// The messages of a session.
fn said(environment: &Environment, session: &str) -> Result<Vec<Message>, Error> {
    let (mut said, mut from) = (Vec::new(), Some(0));
    while let Some(line) = from {
        let params = MessagesParams { session: session.to_owned(), from: line, ..MessagesParams::default() };
        let part: Messages = super::ask(environment, |client| client.call(method::MESSAGES, &params, |_| {}))?;
        said.extend(part.messages);
        from = part.next.filter(|next| *next > line);
    }
    Ok(said)
}

/// Turns a contradiction in the file into an error.
fn verdict(path: &Path, replayed: &Replayed) -> Result<ExitCode, Error> {
    match replayed.differences.first() {
        None => Ok(ExitCode::SUCCESS),
        Some(difference) => Err(Error::Replay(format!("{}: {difference}", path.display()))),
    }
}

fn compare(source: Box<dyn Read + Send>, options: Options, path: &Path) -> Result<ExitCode, Error> {
    let failed = |error: io::Error| Error::File { path: path.display().to_string(), reason: error.to_string() };
    let mut comparison = Comparison::new(BufReader::new(open(path)?));
    let mut broken = None;
    let replayed = replay::run(source, options, |happened| match comparison.compare(&replay::event(happened)) {
        Ok(true) => ControlFlow::Continue(()),
        Ok(false) => ControlFlow::Break(()),
        Err(error) => {
            broken = Some(error);
            ControlFlow::Break(())
        }
    });
    if let Some(error) = broken {
        return Err(failed(error));
    }
    comparison.compare(&replay::summary(&replayed)).map_err(failed)?;
    let output = Output::new();
    match comparison.finish().map_err(failed)? {
        Verdict::Same(lines) => {
            output.line(&format!("same as {}: {lines} lines", path.display()));
            Ok(ExitCode::SUCCESS)
        }
        Verdict::Different { line, context, expected, came } => {
            let shown = |mark: &str, line: &str| output.line(&format!("{mark} {}", print::plain(line)));
            context.iter().for_each(|line| shown(" ", line));
            shown("-", expected.as_deref().unwrap_or("(the end)"));
            shown("+", came.as_deref().unwrap_or("(the end)"));
            let reason =
                format!("the replay differs from {} in line {line}: - is expected, + is the result", path.display());
            Err(Error::Replay(reason))
        }
    }
}

/// The prompt of `--step`.
#[derive(Default)]
struct StepPrompt {
    /// Events before this position do not prompt.
    resume_at: u64,
}

impl StepPrompt {
    fn after(&mut self, happened: &HistoryEvent) -> ControlFlow<()> {
        if happened.position < self.resume_at {
            return ControlFlow::Continue(());
        }
        loop {
            print::note("Enter: next event; a position: continue up to it; q: quit");
            let mut typed = String::new();
            match io::stdin().lock().read_line(&mut typed) {
                Ok(0) | Err(_) => return ControlFlow::Break(()),
                Ok(_) => {}
            }
            match (typed.trim(), typed.trim().parse()) {
                ("", _) => return ControlFlow::Continue(()),
                ("q" | "quit", _) => return ControlFlow::Break(()),
                (_, Ok(position)) => {
                    self.resume_at = position;
                    return ControlFlow::Continue(());
                }
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_a_position_or_a_time() {
        assert_eq!(until("12"), Ok(Until::Position(Position(12))));
        assert_eq!(until("1970-01-01T00:00:01Z"), Ok(Until::Time(Timestamp(1000))));
        assert!(until("yesterday").is_err() && until("-3").is_err());
    }
}
