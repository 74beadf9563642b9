//! Formats a replay as text: the same bytes on every machine and terminal. Times are in UTC.

use std::fmt::Write;

use baton_protocol::answer::{HistoryEvent, Replay, Replayed, ReplayedSession};

use crate::print;

/// Stands for no value.
const NONE: &str = "-";

/// Formats an event: a line that names it, then its effects.
pub fn event(happened: &HistoryEvent) -> String {
    let HistoryEvent { position, at, stream, sequence, kind, .. } = happened;
    let mut text = format!("@{position}  {at}  {} #{sequence}  {}", line(stream), line(kind));
    let mut tell = |name: &str, value: &str| {
        // Writing to a string cannot fail.
        let _ = write!(text, "\n    {name:8} {}", line(value));
    };
    if !happened.told.is_empty() {
        tell("event", &happened.told);
    }
    if let Some(reason) = &happened.unreadable {
        tell("skipped", &format!("version {} of {kind}: {reason}", happened.v));
    }
    if let Some(why) = &happened.why {
        tell("why", why);
    }
    match (&happened.before, &happened.after) {
        (Some(before), Some(after)) if before == after => tell("state", after),
        (Some(before), Some(after)) => tell("state", &format!("{before} -> {after}")),
        _ => {}
    }
    for change in happened.changed.iter().filter(|change| change.field != "state") {
        let (before, after) = (change.before.as_deref().unwrap_or(NONE), change.after.as_deref().unwrap_or(NONE));
        tell("changed", &format!("{}: {before} -> {after}", change.field));
    }
    for owed in &happened.owed {
        tell("owed", &format!("{} {}: {}", owed.what, owed.at.as_deref().unwrap_or("now"), owed.why));
    }
    text
}

/// Formats a position of a log: the event there, the sessions as of it, and the positions beside it.
pub fn position(replay: &Replay) -> String {
    let mut text = replay.event.as_ref().map(event).unwrap_or_default();
    text.push_str("\nsessions");
    for row in &replay.sessions {
        let _ = write!(text, "\n  {}", session(row));
    }
    if replay.more > 0 {
        let _ = write!(text, "\n  and {} more", replay.more);
    }
    let _ = write!(text, "\nposition   {} of {}", replay.position, replay.last);
    if let Some(id) = &replay.session_id {
        let shown = |at: Option<u64>| at.map_or(NONE.to_owned(), |at| at.to_string());
        let (previous, next) = (shown(replay.previous), shown(replay.next));
        let _ = write!(text, "\nevents     of {}: before {previous}, after {next}", line(id));
        let (previous, next) = (shown(replay.previous_change), shown(replay.next_change));
        let _ = write!(text, "\nchanges    of its state: before {previous}, after {next}");
    }
    text
}

/// Formats the end: the sessions, notes on the file, and the final position and hashes.
pub fn summary(replayed: &Replayed) -> String {
    let mut text = String::from("sessions");
    for row in &replayed.sessions {
        let _ = write!(text, "\n  {}", session(row));
    }
    if replayed.sessions.is_empty() {
        text.push_str("\n  none");
    }
    let mut tell = |name: &str, value: &str| {
        let _ = write!(text, "\n{name:10} {value}");
    };
    tell("records", &replayed.records.to_string());
    replayed.notes.iter().for_each(|note| tell("note", &line(note)));
    replayed.differences.iter().for_each(|difference| tell("differs", &line(difference)));
    tell("position", &replayed.position.to_string());
    tell("chain", &replayed.chain);
    tell("state_hash", &replayed.state_hash);
    text
}

fn session(row: &ReplayedSession) -> String {
    let end = row.end.as_ref().map(|end| format!(", ended by {end}")).unwrap_or_default();
    let unindexed = match row.unindexed {
        0 => String::new(),
        records => format!("  not indexed {records}"),
    };
    format!(
        "{}  {}{end}  events {}  messages {}  generation {}  byte {}{unindexed}  episode {}",
        line(&row.session_id),
        row.state,
        row.version,
        row.message_count,
        row.generation,
        row.offset,
        row.episode_uuid.as_deref().unwrap_or(NONE)
    )
}

/// The text on one line, without control characters.
fn line(text: &str) -> String {
    print::one_line(text, usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_protocol::answer::{Change, Owed};

    #[test]
    fn an_event_says_everything_that_it_did() {
        let change = |field: &str, before: Option<&str>, after: Option<&str>| Change {
            field: field.to_owned(),
            before: before.map(str::to_owned),
            after: after.map(str::to_owned),
        };
        let owed = |what: &str, at: Option<&str>| Owed {
            what: what.to_owned(),
            at: at.map(str::to_owned),
            why: "because".to_owned(),
        };
        let happened = HistoryEvent {
            position: 4,
            stream: "session:a\u{1b}".to_owned(),
            sequence: 2,
            at: "1970-01-01T00:00:04.000Z".to_owned(),
            kind: "went_idle".to_owned(),
            v: 1,
            told: "nothing\nnew".to_owned(),
            why: Some("silence".to_owned()),
            before: Some("active".to_owned()),
            after: Some("inactive".to_owned()),
            changed: vec![
                change("state", Some("active"), Some("inactive")),
                change("job", Some("1.1"), None),
                change("end", None, Some("explicit")),
            ],
            owed: vec![owed("index", None), owed("close", Some("1970-01-01T00:30:00.000Z"))],
            ..HistoryEvent::default()
        };
        let expected = "@4  1970-01-01T00:00:04.000Z  session:a\u{fffd} #2  went_idle\n    event    nothing new\n    \
                        why      silence\n    state    active -> inactive\n    changed  job: 1.1 -> -\n    changed  \
                        end: - -> explicit\n    owed     index now: because\n    owed     close \
                        1970-01-01T00:30:00.000Z: because";
        assert_eq!(event(&happened), expected);
        let skipped = HistoryEvent {
            unreadable: Some("too new".to_owned()),
            after: Some("active".to_owned()),
            told: String::new(),
            why: None,
            changed: Vec::new(),
            owed: Vec::new(),
            ..happened
        };
        assert_eq!(
            event(&skipped),
            "@4  1970-01-01T00:00:04.000Z  session:a\u{fffd} #2  went_idle\n    skipped  version 1 of went_idle: too \
             new\n    state    active"
        );
    }

    #[test]
    fn the_end_says_what_the_log_comes_to() {
        let row = ReplayedSession {
            session_id: "a".to_owned(),
            version: 3,
            state: "indexed".to_owned(),
            end: Some("explicit".to_owned()),
            generation: 1,
            offset: 90,
            message_count: 2,
            unindexed: 1,
            episode_uuid: Some("u".to_owned()),
        };
        let replayed = Replayed {
            records: 3,
            sessions: vec![row.clone(), ReplayedSession { end: None, unindexed: 0, episode_uuid: None, ..row }],
            position: 3,
            chain: "c".to_owned(),
            state_hash: "h".to_owned(),
            notes: vec!["n".to_owned()],
            differences: vec!["d".to_owned()],
            ..Replayed::default()
        };
        let expected = "sessions\n  a  indexed, ended by explicit  events 3  messages 2  generation 1  byte 90  not \
                        indexed 1  episode u\n  a  indexed  events 3  messages 2  generation 1  byte 90  episode \
                        -\nrecords    3\nnote       n\ndiffers    d\nposition   3\nchain      c\nstate_hash h";
        assert_eq!(summary(&replayed), expected);
        assert!(summary(&Replayed::default()).starts_with("sessions\n  none\nrecords    0\n"));
    }
}
