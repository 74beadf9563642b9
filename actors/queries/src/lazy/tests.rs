//! Tests of what a query reads first, and of what it leaves out.
use super::*;
use baton_base::transcript_file::FileStat;
use baton_config::settings::Settings;
use baton_conversation::item::Agent;
use baton_conversation::record::{SequenceNumber, Timestamp};
use baton_events::projection::table::SessionTable;
use baton_events::session::{Event, FileIdentity, Kind};

#[test]
fn what_fits_is_read_and_a_giant_blocks_nobody() {
    let wanted = |name: &str, bytes| StaleSession {
        id: SessionId::new(name).unwrap(),
        file: None,
        is_new: false,
        is_large: false,
        bytes,
        at: Timestamp(0),
    };
    let names = |wanted: Vec<StaleSession>| wanted.iter().map(|wanted| wanted.id.to_string()).collect::<Vec<_>>();
    let chosen = vec![wanted("giant", 500), wanted("a", 60), wanted("b", 60), wanted("c", 40)];
    let (first, beyond) = split_by_bound(chosen.clone(), 100, 9);
    assert_eq!((names(first), names(beyond)), (vec!["a".into(), "c".into()], vec!["giant".into(), "b".into()]));
    let (first, beyond) = split_by_bound(chosen, 1_000, 1);
    assert_eq!((first.len(), beyond.len()), (1, 3));
}

#[test]
fn a_session_that_lacks_is_counted_once() {
    let wanted = |is_new| StaleSession {
        id: SessionId::new("s").unwrap(),
        file: None,
        is_new,
        is_large: false,
        bytes: 1,
        at: Timestamp(0),
    };
    let both = [wanted(true), wanted(true), wanted(false)];
    // Never read, in the backlog, wanted; and the number besides the wanted ones.
    for (never_read, in_backlog, wanted, expected) in [
        (10, 0, &[][..], 10),
        (10, 0, &both, 8),
        (0, 10, &both, 7),
        (10, 10, &both, 8),
        (10, 20, &both, 17),
        (1, 2, &both, 0),
    ] {
        assert_eq!(count_others(never_read, in_backlog, wanted), expected, "{never_read} {in_backlog}");
    }
}

#[tokio::test(start_paused = true)]
async fn who_waits_goes_on_with_the_progress_and_not_at_the_next_look() {
    let (begun, done) = (Instant::now(), watch::Sender::new(0));
    let mut progress = done.subscribe();
    let mut interval = tokio::time::interval_at(begun + PROGRESS_INTERVAL, PROGRESS_INTERVAL);
    let working = baton_base::task::spawn(async move {
        tokio::time::sleep(PROGRESS_INTERVAL / 10).await;
        done.send_replace(1);
    });
    assert!(!progress_or_time(&mut progress, &mut interval).await);
    assert_eq!(begun.elapsed(), PROGRESS_INTERVAL / 10);
    working.await.unwrap();
    // No further progress is possible, so it must not be polled in a loop.
    assert!(progress_or_time(&mut progress, &mut interval).await);
    assert_eq!(begun.elapsed(), PROGRESS_INTERVAL);
}

fn file(session: &str) -> FileSeen {
    FileSeen {
        session: SessionId::new(session).unwrap(),
        agent: Agent::ClaudeCode,
        kind: Kind::Main,
        path: format!("/p/{session}.jsonl").into(),
        stat: FileStat::default(),
        identity: FileIdentity::default(),
    }
}

#[test]
fn unread_bytes_that_fit_are_read_in_however_many_sessions_they_lie() {
    let wanted = |number: usize, file: Option<FileSeen>| StaleSession {
        id: SessionId::new(&format!("s{number}")).unwrap(),
        file,
        is_new: false,
        is_large: false,
        bytes: 10,
        at: Timestamp(0),
    };
    let grown = (0..500).map(|number| wanted(number, Some(file(&format!("s{number}")))));
    let read = (500..600).map(|number| wanted(number, None));
    let (first, beyond) = split_by_bound(grown.chain(read).collect(), 10_000, limits::LAZY_SESSIONS);
    assert_eq!((first.len(), beyond.len()), (500 + limits::LAZY_SESSIONS, 100 - limits::LAZY_SESSIONS));
    // A few sessions that were never read are awaited; many of them are a backfill.
    let new = |count| -> Vec<StaleSession> {
        let new = |number| StaleSession { is_new: true, ..wanted(number, Some(file(&format!("s{number}")))) };
        (0..count).map(new).collect()
    };
    assert!(!is_backfill(&new(limits::LAZY_SESSIONS)) && is_backfill(&new(limits::LAZY_SESSIONS + 1)));
    assert_eq!(split_by_bound(new(limits::LAZY_SESSIONS), 10_000, limits::LAZY_SESSIONS).1.len(), 0);
}

#[test]
fn a_stopped_session_is_not_new_however_little_was_read_of_it() {
    let (mut table, settings) = (SessionTable::default(), Settings::default());
    let id = SessionId::new("stopped").unwrap();
    let discovered = Event::Discovered {
        agent: Agent::ClaudeCode,
        path: "/p/other.jsonl".to_owned(),
        identity: FileIdentity::default(),
        kind: Kind::Main,
        at: Timestamp(0),
    };
    let new = |table: &SessionTable| crate::discovery::split_unread(table, &settings, vec![file("stopped")]).0.len();
    assert_eq!(new(&table), 1);
    table.apply(Position(1), &id, SequenceNumber(1), &discovered);
    assert_eq!(new(&table), 1);
    table.apply(Position(2), &id, SequenceNumber(2), &Event::TrackingStopped);
    assert_eq!(new(&table), 0);
}
