//! `baton log tail`: prints the last events, and with `-f` new ones.

use std::collections::{BTreeSet, VecDeque};
use std::process::ExitCode;
use std::time::Duration;

use baton_conversation::record::{Position, SessionId};
use baton_events::envelope::decode;
use baton_events::replay::Occurrence;
use baton_events::schema::session::hide_group;
use baton_journal::Exact;
use baton_protocol::answer::{HistoryEvent, LogRead};
use baton_protocol::{LogReadParams, code};
use baton_upkeep::archive;
use baton_upkeep::archive::{Offline, Source as _};

use super::super::Error;
use super::{LogAccess, open_log, remote};
use crate::client::{self, Client};
use crate::environment::Environment;
use crate::print::{self, Output, Style};

/// Interval between two tries to connect while no daemon runs.
const LOOK: Duration = Duration::from_millis(200);
/// How long one call waits for an event.
const WAIT_MS: u64 = 20_000;
/// Events per answer.
const PAGE: u32 = 512;
/// Most events that can be shown.
const LAST_MAX: u32 = 1_000_000;

const HELP: &str = "\
Prints the last events, oldest first: time, position, session, what happened and why. No event holds text of a \
conversation. With -f it keeps printing events as the daemon records them, across restarts, until Ctrl-C. A running \
daemon is asked; none is started.

With --json each event is one JSON object per line.

Examples:
  baton log tail -f                    what happens now
  baton log tail --session a94e0d17 -n all";

#[derive(Debug, clap::Args)]
#[command(after_long_help = HELP)]
pub(super) struct Args {
    /// Keep printing events as they are recorded, until Ctrl-C
    #[arg(long, short)]
    follow: bool,
    /// How many events, from the end: a number or `all`; at most the last 1,000,000
    #[arg(long, short = 'n', value_name = "EVENTS", default_value = "20", value_parser = count)]
    lines: u32,
    /// Only events of this session: its id, or the beginning of it
    #[arg(long, short, value_name = "SESSION")]
    session: Option<String>,
    /// Print one JSON object for each event
    #[arg(long)]
    json: bool,
}

fn count(text: &str) -> Result<u32, String> {
    match text {
        "all" => Ok(LAST_MAX),
        number => {
            number.parse().map(|count: u32| count.min(LAST_MAX)).map_err(|_| "expected a number or `all`".to_owned())
        }
    }
}

pub(super) fn run(environment: &Environment, args: &Args) -> Result<ExitCode, Error> {
    let output = Output::new();
    let session = args.session.as_deref().map(super::super::session);
    let mut asked =
        LogReadParams { limit: PAGE, session, last: Some(args.lines), forgotten: true, ..LogReadParams::default() };
    let mut daemon = match open_log(environment)? {
        LogAccess::Daemon(mut client) => {
            show_last(&mut client, &mut asked, &output, args)?;
            Some(client)
        }
        LogAccess::Home(_lock) => {
            show_offline(environment, &mut asked, &output, args)?;
            None
        }
    };
    if !args.follow {
        return Ok(ExitCode::SUCCESS);
    }
    asked.wait_ms = WAIT_MS;
    loop {
        let Some(client) = &mut daemon else {
            std::thread::sleep(LOOK);
            daemon = Client::connect(environment)?;
            continue;
        };
        match client.read_log(&asked) {
            Ok(read) => show(client, read, &mut asked, &output, args)?,
            // The daemon has stopped; another may start.
            Err(client::Error::Broken(_)) => daemon = None,
            Err(client::Error::Refused(failure)) if failure.code == code::STOPPING => daemon = None,
            Err(error) => return Err(error.into()),
        }
    }
}

/// Shows the last events page by page, up to the log's end at the time of the first call.
fn show_last(client: &mut Client, asked: &mut LogReadParams, output: &Output, args: &Args) -> Result<(), Error> {
    let first = client.read_log(asked)?;
    let end = first.position;
    show(client, first, asked, output, args)?;
    loop {
        let read = client.read_log(asked)?;
        let is_end = read.records.is_empty();
        let goes_on = asked.session.is_some() || asked.from <= end;
        show(client, read, asked, output, args)?;
        if is_end || !goes_on {
            return Ok(());
        }
    }
}

fn show(
    client: &mut Client,
    read: LogRead,
    asked: &mut LogReadParams,
    output: &Output,
    args: &Args,
) -> Result<(), Error> {
    (asked.from, asked.last) = (read.next, None);
    let forgotten = remote::ids(read.forgotten);
    let records = read.records.into_iter().map(remote::exact).collect::<Result<Vec<_>, _>>()?;
    let session = |exact: &Exact| decode(&exact.bytes).ok()?.stream.session_id();
    let ids = if args.json { BTreeSet::new() } else { records.iter().filter_map(session).collect() };
    let short = client.shorten(ids.iter().map(ToString::to_string).collect());
    let short_id = |id: &SessionId| short.get(id.as_str()).cloned().unwrap_or_else(|| id.to_string());
    records.iter().for_each(|exact| show_one(exact, &forgotten, &short_id, output, args));
    Ok(())
}

fn show_offline(
    environment: &Environment,
    asked: &mut LogReadParams,
    output: &Output,
    args: &Args,
) -> Result<(), Error> {
    let mut source = Offline::open(&environment.home)?;
    let session = asked.session.as_deref().map(|text| source.session(text)).transpose()?;
    let (end, wanted) = (source.tail()?.position, usize::try_from(args.lines).unwrap_or(usize::MAX));
    let from = match session {
        None => Position(end.0.saturating_sub(u64::from(args.lines)) + 1),
        Some(_) => Position(1),
    };
    let (mut last, mut count) = (VecDeque::new(), 0);
    let mut keep = |exact: Exact| {
        count += 1;
        if last.len() == wanted {
            last.pop_front();
        }
        if wanted > 0 {
            last.push_back(exact);
        }
        Ok::<_, archive::Error>(())
    };
    source.records(from, end, session.as_ref(), &mut keep)?;
    let forgotten = source.forgotten()?;
    let short_id = |id: &SessionId| source.short_id(id).to_owned();
    last.iter().for_each(|exact| show_one(exact, &forgotten, &short_id, output, args));
    (asked.from, asked.last) = (if session.is_some() { count } else { end.0 } + 1, None);
    if let Some(broken) = source.broken() {
        print::error(&print::plain(&baton_redaction::redact(broken)));
    }
    Ok(())
}

fn show_one(
    exact: &Exact,
    forgotten: &BTreeSet<SessionId>,
    short_id: &dyn Fn(&SessionId) -> String,
    output: &Output,
    args: &Args,
) {
    // The reader has decoded it before, so this does not fail.
    let Ok(mut record) = decode(&exact.bytes) else { return };
    let id = record.stream.session_id();
    if id.as_ref().is_some_and(|id| forgotten.contains(id)) {
        hide_group(&mut record);
    }
    let happened = Occurrence::decode(record, args.json).describe();
    if args.json {
        output.data(&serde_json::to_string(&happened).unwrap_or_default());
        return;
    }
    let who = id.as_ref().map_or_else(|| happened.stream.clone(), short_id);
    output.line(&line(output, &happened, &who));
}

fn line(output: &Output, happened: &HistoryEvent, who: &str) -> String {
    let what = match &happened.unreadable {
        Some(why) => output.styled(Style::Warning, &print::plain(&format!("not read: {why}"))),
        None => print::plain(&happened.told),
    };
    format!(
        "{} {} {} {} {what}",
        output.styled(Style::Faint, &happened.at),
        output.styled(Style::Faint, &format!("{:>6}", happened.position)),
        output.styled(Style::Strong, &print::plain(&format!("{who:8}"))),
        print::plain(&format!("{:18}", happened.kind)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_a_number_or_all() {
        assert_eq!((count("7"), count("all"), count("0")), (Ok(7), Ok(LAST_MAX), Ok(0)));
        assert!(count("-1").is_err() && count("many").is_err());
    }

    #[test]
    fn an_event_is_one_line_that_says_when_where_and_what() {
        let happened = HistoryEvent {
            position: 7,
            at: "2026-11-03T09:26:53.589Z".to_owned(),
            kind: "went_idle".to_owned(),
            told: "nothing new for a while".to_owned(),
            ..HistoryEvent::default()
        };
        let line = line(&Output::plain(None), &happened, "a94e0d17");
        assert_eq!(line, "2026-11-03T09:26:53.589Z      7 a94e0d17 went_idle          nothing new for a while");
    }
}
