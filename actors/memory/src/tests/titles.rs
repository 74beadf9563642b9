//! Titles that transcripts give to other sessions.

use baton_conversation::hash::Mark;
use baton_conversation::item::{Body, Item, Meta, TitleSource, ToolResult};

use super::*;

/// A record's id that is unique in the world.
fn unique(name: &str) -> String {
    format!("{name}-0000-4000-8000-000000000000")
}

fn item(uuid: &str, body: Body) -> Item {
    let uuid = (!uuid.is_empty()).then(|| unique(uuid).into());
    Item { line: 1, at: None, uuid, message: None, sidechain: false, body }
}

fn title(leaf: &str, text: &str) -> Item {
    item(leaf, Body::Meta(Meta::Title { source: TitleSource::Summary, text: text.to_owned() }))
}

fn notice(uuid: &str) -> Item {
    item(uuid, Body::Notice { text: "kept the model".to_owned() })
}

/// A session with turns from these records, last active in this minute.
fn session(id: &str, minute: i64, records: &[&str], items: &[Item]) -> Session {
    let mut session = Session::new(id, records);
    for (unit, record) in session.units.iter_mut().zip(records) {
        (unit.record, unit.at) =
            (Some(Mark::digest(unique(record).as_bytes())), Some(Timestamp(1_773_480_000_000 + minute * 60_000)));
    }
    items.iter().for_each(|item| session.titles.note(item));
    session
}

fn called(memory: &Memory, id: &str, hidden: &str) -> Option<String> {
    memory.searcher.title_of(&SessionId::new(id).unwrap(), &|id| id == hidden).unwrap()
}

#[test]
fn a_title_belongs_to_whoever_holds_the_record_whatever_comes_first() {
    let old = session("old", 1, &["o1", "o2"], &[notice("o3")]);
    let other = session("other", 2, &["p1"], &[]);
    let giver =
        session("giver", 3, &["g1"], &[title("o2", "Fix the tokens"), title("p1", "An importer"), title("x", "?")]);
    for order in [[&old, &other, &giver], [&giver, &other, &old], [&other, &giver, &old]] {
        let mut memory = Memory::of(&order.map(Session::clone));
        let titles = |memory: &Memory| ["old", "other", "giver"].map(|id| called(memory, id, ""));
        assert_eq!(titles(&memory), [Some("Fix the tokens".to_owned()), Some("An importer".to_owned()), None]);
        assert_eq!(called(&memory, "old", "giver"), None, "a hidden session gives no titles");
        memory.store.remove(&giver.id).unwrap();
        memory.store.commit(checkpoint(9)).unwrap();
        assert_eq!(titles(&memory), [None, None, None], "it is removed with the giving session");
    }
}

#[test]
fn of_several_titles_the_one_of_the_latest_session_is_taken_and_none_beside_its_own() {
    let check = |givers: &[(&str, i64, &[&str])], expected: Option<&str>| {
        let old = session("old", 1, &["o1", "o2"], &[]);
        let mut sessions = vec![old];
        for (id, minute, titles) in givers {
            let items: Vec<Item> = titles.iter().map(|text| title(text.split(' ').next().unwrap(), text)).collect();
            sessions.push(session(id, *minute, &[&format!("{id}1")], &items));
        }
        assert_eq!(called(&Memory::of(&sessions), "old", "").as_deref(), expected, "{givers:?}");
        sessions.reverse();
        assert_eq!(called(&Memory::of(&sessions), "old", "").as_deref(), expected, "{givers:?}");
    };
    check(&[("a", 5, &["o1 later"]), ("b", 4, &["o2 earlier"])], Some("o1 later"));
    check(&[("a", 5, &["o1 of a"]), ("b", 5, &["o1 of b"])], Some("o1 of b"));
    check(&[("a", 5, &["o2 first", "o1 then", "x none"])], Some("o1 then"));
    check(&[("a", 5, &["o1 first", "o2 then", "o1 again"])], Some("o1 again"));
    check(&[("a", 5, &["x none"])], None);

    let mut own = session("old", 1, &["o1"], &[]);
    own.titles = own.titles.with_own(true);
    let memory = Memory::of(&[own, session("giver", 2, &["g1"], &[title("o1", "Another")])]);
    assert_eq!(called(&memory, "old", ""), None, "it has its own");
}

#[test]
fn a_title_may_be_made_of_a_record_without_words() {
    let result = |uuid: &str| {
        let result = ToolResult {
            id: "t1".into(),
            name: None,
            outcome: baton_conversation::item::Outcome::Ok,
            exit_code: None,
            text: String::new(),
            error: None,
            duration_ms: None,
            agent: None,
            report: None,
        };
        item(uuid, Body::Result(result))
    };
    let prompt = |uuid: &str| item(uuid, Body::Prompt { text: "go on".to_owned() });
    let reply = |uuid: &str| item(uuid, Body::Reply { text: "done".to_owned() });
    for (items, leaf, expected) in [
        (vec![reply("o1"), notice("n")], "n", true),
        (vec![reply("o1"), result("r")], "r", true),
        (vec![result("r"), prompt("o1")], "r", true),
        (vec![result("r"), reply("o1")], "r", false),
    ] {
        let old = session("old", 1, &["o1"], &items);
        let memory = Memory::of(&[old, session("giver", 2, &["g1"], &[title(leaf, "Named")])]);
        assert_eq!(called(&memory, "old", "").is_some(), expected, "{leaf} of {items:?}");
    }
}

#[test]
fn what_is_kept_for_titles_is_bounded() {
    let mut titles = Titles::default();
    for number in 0..5_000 {
        titles.note(&title(&format!("l{number}"), &"long ".repeat(100)));
        titles.note(&notice(&format!("n{number}")));
    }
    let mut giver = session("giver", 2, &["g1"], &[]);
    giver.titles = titles;
    let memory = Memory::of(&[session("old", 1, &["l4999"], &[]), session("gone", 1, &["l1"], &[]), giver]);
    assert_eq!(called(&memory, "old", "").map(|title| title.chars().count()), Some(120));
    assert_eq!(called(&memory, "gone", ""), None);
}
