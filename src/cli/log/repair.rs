//! `baton log repair`: truncates a damaged log at the end of its intact part.

use std::io::{self, BufRead, IsTerminal, Write};
use std::process::ExitCode;

use baton_base::clock::{Clock, SystemClock};
use baton_base::lock::HomeLock;
use baton_conversation::record::Position;
use baton_protocol::answer::{Lost, Repair};
use baton_upkeep::repair;

use super::super::Error;
use super::{LogAccess, open_log};
use crate::environment::Environment;
use crate::print::{self, Output, Style, Waiting};

const HELP: &str = "\
Without --cut-at it says what is damaged, where the log would have to be cut, and what that would lose; nothing is \
changed.

With it the log ends right before that position; events recorded together with it are cut off too. What is cut off is \
kept in `log/cut-<time>/` of Baton's home: the bytes of the log, the conversations that only those events name, and \
the index. The next start rebuilds index and memory. Transcripts that still exist are read on from where the log ends, \
so their sessions are found again, with the same episodes.

No daemon may run: `baton stop` ends it. What was cut off is never removed automatically.

JSON: {\"cut\",\"position\",\"chain\",\"damage\":{\"what\",\"place\",\"fix\"}|null,\"cut_at\",\"lost\":{\"events\",\
\"unreadable_bytes\",\"segments\",\"sessions\",\"sessions_set_back\",\"episodes\",\"conversation_files\",\"conversations_missing\"},\
\"kept\"}

Examples:
  baton log repair                     what is damaged, and what to do about it
  baton log repair --cut-at 1200       let the log end with position 1199; asks first
  baton log export --until 1199 -o whole.jsonl    write out the intact part first";

#[derive(Debug, clap::Args)]
#[command(after_long_help = HELP)]
pub(super) struct Args {
    /// The first position that is cut off
    #[arg(long, value_name = "POSITION", value_parser = super::super::number::<u64, 1, { u64::MAX }>)]
    cut_at: Option<u64>,
    /// Cut without asking
    #[arg(long, requires = "cut_at")]
    yes: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(environment: &Environment, args: &Args) -> Result<ExitCode, Error> {
    let lock = match open_log(environment)? {
        LogAccess::Home(lock) => lock,
        LogAccess::Daemon(client) => {
            let pid = client.welcome().pid;
            let what = format!(
                "a daemon (process {pid}) has the log open, so the log is usable; `baton stop` ends the daemon, \
                `baton log verify` asks it what is wrong"
            );
            return Err(Error::Repair(what));
        }
    };
    let outcome = match args.cut_at {
        None => find_damage(environment, &lock)?,
        Some(at) => match cut(environment, &lock, Position(at), args.yes)? {
            Some(outcome) => outcome,
            None => {
                print::note("Nothing was cut.");
                return Ok(ExitCode::FAILURE);
            }
        },
    };
    let output = Output::new();
    match args.json {
        true => output.data(&serde_json::to_string(&outcome).unwrap_or_default()),
        false => report(&output, &outcome),
    }
    Ok(if outcome.damage.is_some() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn find_damage(environment: &Environment, lock: &HomeLock) -> Result<Repair, Error> {
    let _waiting = Waiting::new("reading the log");
    repair::inspect(&environment.home, lock).map_err(|error| Error::Repair(error.to_string()))
}

/// Truncates the log, after confirmation unless `agreed`. `None` if the person declined.
fn cut(environment: &Environment, lock: &HomeLock, at: Position, agreed: bool) -> Result<Option<Repair>, Error> {
    let failed = |error: repair::Error| Error::Repair(error.to_string());
    if !agreed {
        let foreseen = repair::preview_cut(&environment.home, lock, at).map_err(failed)?;
        let at = foreseen.cut_at.unwrap_or(at.0);
        print::note(&format!("Cutting at position {at} removes {}.", lost(&foreseen.lost)));
        if !io::stdin().is_terminal() {
            return Err(Error::Usage("use --yes to cut without being asked".to_owned()));
        }
        if !agrees("Cut? What is cut off is kept. [y/N] ") {
            return Ok(None);
        }
    }
    let _waiting = Waiting::new("cutting the log");
    repair::cut(&environment.home, lock, at, SystemClock::default().now()).map(Some).map_err(failed)
}

fn agrees(question: &str) -> bool {
    let mut answer = String::new();
    let asked = write!(io::stderr(), "{question}").and_then(|()| io::stderr().flush());
    asked.is_ok()
        && io::stdin().lock().read_line(&mut answer).is_ok()
        && matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

fn lost(lost: &Lost) -> String {
    let mut parts = vec![format!("{} events that can be read", lost.events)];
    let mut add = |count: u64, what: &str| {
        if count > 0 {
            parts.push(format!("{count} {what}"));
        }
    };
    add(lost.unreadable_bytes, "bytes that cannot");
    add(lost.sessions, "sessions that are recorded only from there on");
    add(lost.episodes, "episodes");
    add(lost.conversation_files, "conversation files");
    let back = format!("{} sessions go back to an earlier state", lost.sessions_set_back);
    let missing = match lost.conversations_missing {
        0 => String::new(),
        count => format!(
            "; the earlier conversations of {count} of them are gone, and are read again if the transcripts exist"
        ),
    };
    format!("{}; {back}{missing}", parts.join(", "))
}

fn report(output: &Output, outcome: &Repair) {
    if let Some(damage) = &outcome.damage {
        output.line(&output.styled(Style::Bad, &print::plain(&format!("{}: {}", damage.place, damage.what))));
        output.line(&format!("  {}", print::plain(&damage.fix)));
        output.line("");
    }
    let ends = format!("position {}, chain {}", outcome.position, outcome.chain);
    match (outcome.cut, outcome.cut_at) {
        (true, _) => {
            output.line(&format!("The log ends at {ends}. Cut off: {}.", lost(&outcome.lost)));
            let kept = outcome.kept.as_deref().unwrap_or_default();
            output.line(&print::plain(&format!(
                "It is kept in {kept}, together with the index. The next start rebuilds index and memory."
            )));
        }
        (false, Some(at)) => {
            output.line(&format!("It is whole up to {ends}."));
            output.line(&format!("`baton log repair --cut-at {at}` would remove {}.", lost(&outcome.lost)));
        }
        (false, None) if outcome.damage.is_some() => {
            output.line(&format!("It is whole up to {ends}; nothing needs to be cut."));
        }
        (false, None) => output.line(&format!("The log is whole. It ends at {ends}; nothing needs repair.")),
    }
}
