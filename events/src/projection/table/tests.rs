use super::*;
use crate::session::{Agent, EffectId, FileIdentity, GaveUp, Kind, Place, Tier, episode_uuid};

fn id(text: &str) -> SessionId {
    SessionId::new(text).unwrap()
}

fn discovered(at: i64) -> Event {
    Event::Discovered {
        agent: Agent::ClaudeCode,
        path: "/t".to_owned(),
        identity: FileIdentity::default(),
        kind: Kind::Main,
        at: Timestamp(at),
    }
}

#[test]
fn a_snapshot_does_not_see_what_comes_after_it() {
    let mut table = SessionTable::default();
    table.apply(Position(1), &id("a"), SequenceNumber(1), &discovered(0));
    let snapshot = table.clone();
    table.apply(Position(2), &id("b"), SequenceNumber(1), &discovered(0));
    table.apply(Position(3), &id("a"), SequenceNumber(2), &Event::WentIdle);
    assert_eq!((snapshot.len(), snapshot.position()), (1, Position(1)));
    assert_eq!(snapshot.get(&id("a")).map(|row| row.version), Some(SequenceNumber(1)));
    assert_eq!((table.len(), table.position()), (2, Position(3)));
}

#[test]
fn its_hash_tells_what_was_folded_and_nothing_else() {
    let mut table = SessionTable::default();
    let empty = table.state_hash();
    table.apply(Position(1), &id("b"), SequenceNumber(1), &discovered(0));
    table.apply(Position(2), &id("a"), SequenceNumber(1), &discovered(0));
    let mut other = SessionTable::default();
    other.apply(Position(7), &id("a"), SequenceNumber(1), &discovered(0));
    for (id, row) in table.iter().filter(|(id, _)| id.as_str() == "b") {
        other.restore(id.clone(), Row::clone(row));
    }
    other.skip(Position(9), true);
    assert_eq!(table.state_hash(), other.state_hash(), "the same sessions by another way");
    assert_ne!(table.state_hash(), empty);
    other.apply(Position(10), &id("a"), SequenceNumber(2), &Event::WentIdle);
    assert_ne!(table.state_hash(), other.state_hash());
}

#[test]
fn sessions_that_owe_an_enrichment_are_found_without_the_others() {
    let mut table = SessionTable::default();
    let found =
        |table: &SessionTable| -> Vec<String> { table.enriching().map(|(id, _)| id.as_str().to_owned()).collect() };
    let owed = || Event::EnrichmentOwed { at: Timestamp(0), asked: false };
    let given_up = Event::EnrichmentGivenUp { content: ContentHash([1; 32]), why: GaveUp::Refused };
    table.apply(Position(1), &id("a"), SequenceNumber(1), &discovered(0));
    table.apply(Position(2), &id("b"), SequenceNumber(1), &owed());
    table.apply(Position(3), &id("c"), SequenceNumber(1), &owed());
    let snapshot = table.clone();
    table.apply(Position(4), &id("b"), SequenceNumber(2), &given_up);
    table.apply(Position(5), &id("c"), SequenceNumber(2), &Event::WentIdle);
    assert_eq!((found(&snapshot), found(&table)), (vec!["b".to_owned(), "c".to_owned()], vec!["c".to_owned()]));
    let mut restored = SessionTable::default();
    table.iter().for_each(|(id, row)| restored.restore(id.clone(), Row::clone(row)));
    assert_eq!(found(&restored), ["c"], "as a checkpoint keeps it");
}

#[test]
fn sessions_with_something_to_index_are_found_without_the_others() {
    let mut table = SessionTable::default();
    let found =
        |table: &SessionTable| -> Vec<String> { table.unsettled().map(|(id, _)| id.as_str().to_owned()).collect() };
    for (position, name) in (1..).zip(["a", "b", "c"]) {
        table.apply(Position(position), &id(name), SequenceNumber(1), &discovered(0));
    }
    assert_eq!(found(&table), ["a", "b", "c"]);
    table.apply(Position(4), &id("a"), SequenceNumber(2), &indexed(1, 1, 10));
    table.apply(Position(5), &id("b"), SequenceNumber(2), &Event::WentIdle);
    table.apply(Position(6), &id("c"), SequenceNumber(2), &Event::Forgotten);
    assert_eq!(found(&table), ["b"]);
    let mut restored = SessionTable::default();
    table.iter().for_each(|(id, row)| restored.restore(id.clone(), Row::clone(row)));
    assert_eq!(found(&restored), ["b"], "as a checkpoint keeps it");
}

fn indexed(hash: u8, filter_version: u32, to: u64) -> Event {
    let hash = ContentHash([hash; 32]);
    Event::Indexed {
        effect: EffectId { generation: 1, start: 1 },
        episode: EpisodeRef {
            uuid: episode_uuid(&id("a"), &hash),
            tier: Tier::Extractive,
            hash,
            filter_version,
            generation: 1,
            to,
            manifest: hash,
            items: 1,
            at: Timestamp(0),
        },
    }
}

fn located(project: &str) -> Event {
    Event::Located { place: Place::new(project, project) }
}

/// A session's events; after each, whether its episode is shown.
fn check_shown(story: &[(Step, bool)]) {
    let mut table = SessionTable::default();
    let (mut of_session, mut of_home) = (0, 0);
    for (at, (told, shown)) in (1..).zip(story) {
        match told {
            Step::Session(event) => {
                of_session += 1;
                table.apply(Position(at), &id("a"), SequenceNumber(of_session), event);
            }
            Step::Clear(group) => {
                of_home += 1;
                let event = home::Event::GroupCleared { group: group.map(str::to_owned), up_to: Position(at - 1) };
                table.apply_home(Position(at), SequenceNumber(of_home), event);
            }
            Step::Back(group) => {
                of_home += 1;
                let event = home::Event::GroupRestored { group: group.map(str::to_owned) };
                table.apply_home(Position(at), SequenceNumber(of_home), event);
            }
        }
        let row = table.get(&id("a")).unwrap();
        assert_eq!(table.visible_episode(row).is_some(), *shown, "after {at}: {told:?}");
        assert_eq!(table.is_deleted(row), !shown && row.state.episode.is_some(), "after {at}");
    }
}

#[derive(Debug)]
enum Step {
    Session(Box<Event>),
    Clear(Option<&'static str>),
    Back(Option<&'static str>),
}

fn step(event: Event) -> Step {
    Step::Session(Box::new(event))
}

#[test]
fn a_deleted_episode_is_shown_again_when_its_content_is_another() {
    let deleted = |hash: u8| Event::EpisodeDeleted { episode: episode_uuid(&id("a"), &ContentHash([hash; 32])) };
    check_shown(&[
        (step(located("/p")), false),
        (step(indexed(1, 1, 10)), true),
        (step(deleted(2)), true),
        (step(deleted(1)), false),
        (step(Event::WentIdle), false),
        (step(indexed(1, 1, 10)), false),
        // The same bytes through another filter.
        (step(indexed(2, 2, 10)), false),
        (step(indexed(3, 2, 20)), true),
        (step(indexed(2, 2, 30)), true),
        (step(deleted(2)), false),
        (step(Event::Forgotten), false),
    ]);
}

#[test]
fn a_cleared_group_shows_what_comes_after() {
    let moved = |group: &str| Event::GroupAssigned { group: group.to_owned() };
    check_shown(&[
        (step(located("/p")), false),
        (step(indexed(1, 1, 10)), true),
        (Step::Clear(Some("/q")), true),
        (Step::Clear(Some("/p")), false),
        (step(indexed(1, 1, 10)), false),
        (step(indexed(2, 2, 10)), false),
        (step(indexed(3, 2, 20)), true),
        (Step::Clear(Some("/p")), false),
        (step(Event::WentIdle), false),
        // A session put into another group is shown there.
        (step(moved("g")), true),
        (Step::Clear(Some("/p")), true),
        (Step::Clear(Some("g")), false),
    ]);
}

#[test]
fn what_was_deleted_or_cleared_comes_back() {
    let of = |hash: u8| episode_uuid(&id("a"), &ContentHash([hash; 32]));
    let restored = |hash| step(Event::EpisodeRestored { episode: of(hash) });
    check_shown(&[
        (step(located("/p")), false),
        (step(indexed(1, 1, 10)), true),
        (step(Event::EpisodeDeleted { episode: of(1) }), false),
        (restored(1), true),
        (Step::Clear(Some("/p")), false),
        (restored(1), true),
        (Step::Clear(None), false),
        (step(Event::EpisodeDeleted { episode: of(1) }), false),
        (Step::Back(None), false),
        (restored(2), false),
        (restored(1), true),
        (Step::Clear(Some("/p")), false),
        (Step::Back(Some("/p")), true),
    ]);
}

#[test]
fn what_was_cleared_with_all_stays_so_in_another_group() {
    check_shown(&[
        (step(located("/p")), false),
        (step(indexed(1, 1, 10)), true),
        (Step::Clear(None), false),
        (step(Event::GroupAssigned { group: "g".to_owned() }), false),
        (step(indexed(3, 2, 20)), true),
    ]);
}

#[test]
fn belongings_are_those_of_the_rows() {
    let mut table = SessionTable::default();
    let assigned = |group: &str| Event::GroupAssigned { group: group.to_owned() };
    let events = [
        ("a", located("/p")),
        ("b", located("/p")),
        ("a", assigned("g")),
        ("b", assigned("g")),
        ("b", Event::WentIdle),
        ("c", located("/q")),
        ("a", assigned("h")),
        ("b", Event::Forgotten),
        ("c", assigned("h")),
    ];
    for (at, (name, event)) in (1..).zip(&events) {
        table.apply(Position(at), &id(name), SequenceNumber(at), event);
        let expected: BTreeSet<Belonging> = table.iter().map(|(_, row)| Belonging::from(&row.state)).collect();
        assert!(table.belongings().eq(&expected), "after {event:?}: {:?}", table.belongings().collect::<Vec<_>>());
    }
    assert_eq!(table.belongings().count(), 3);
}

#[test]
fn memos_and_deletions_are_in_the_hash_and_nothing_else_of_the_home() {
    let mut table = SessionTable::default();
    let empty = table.state_hash();
    let root = home::NamedRoot { config_dir: "/c".to_owned(), named_by: "mcp".to_owned() };
    table.apply_home(Position(1), SequenceNumber(1), home::Event::RootAdded(root));
    assert_eq!(table.state_hash(), empty, "as logs of before were counted");
    let uuid = Uuid::from_u128(1);
    let memo = Memo {
        source: memo::Source::Text,
        group: "g".to_owned(),
        words: ContentHash([1; 32]),
        bytes: 1,
        reference_time: None,
        at: Timestamp(0),
    };
    table.apply_memo(Position(2), uuid, SequenceNumber(1), &memo::Event::Added(memo));
    assert!(table.memo(uuid).is_some());
    let told = table.state_hash();
    assert_ne!(told, empty);
    table.apply_home(
        Position(3),
        SequenceNumber(2),
        home::Event::GroupCleared { group: Some("g".to_owned()), up_to: Position(2) },
    );
    assert!(table.memo(uuid).is_none() && table.memo_row(uuid).is_some());
    assert_ne!(table.state_hash(), told);
    let mut other = SessionTable::default();
    other.restore_home(HomeRow::clone(table.home()));
    for (uuid, row) in table.memos() {
        other.restore_memo(uuid, MemoRow { since: Position(99), ..MemoRow::clone(row) });
    }
    assert_eq!(other.state_hash(), table.state_hash(), "the same by another way");
    assert!(other.memo_groups().eq(["g"]) && table.memo_groups().eq(["g"]));
    table.apply_memo(Position(4), uuid, SequenceNumber(2), &memo::Event::Deleted);
    assert_eq!(table.memo_groups().count(), 0);
    assert!(table.memo(uuid).is_none());
    assert_ne!(other.state_hash(), table.state_hash());
}

#[test]
fn it_tells_whose_time_has_come() {
    let mut table = SessionTable::default();
    table.apply(Position(1), &id("a"), SequenceNumber(1), &discovered(0));
    table.apply(Position(2), &id("b"), SequenceNumber(1), &discovered(5_000));
    let policy = |_: &State| Policy::default();
    assert_eq!(table.due(policy, Timestamp(59_999)), (vec![], Some(Timestamp(60_000))));
    assert_eq!(table.due(policy, Timestamp(60_000)), (vec![id("a")], Some(Timestamp(65_000))));
}
