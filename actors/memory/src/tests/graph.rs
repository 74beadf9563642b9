//! Entities and facts, combined from what sessions say.

use super::*;
use crate::{Fact, GraphQuery, Node, PROJECTION_VERSION, Page, Sieve, Window};

pub(super) const NONE: GraphQuery<'static> =
    GraphQuery { text: "", exclude: &|_| false, labels: &[], sieve: ALL, center: None, limit: 10, offset: 0 };
const ALL: Sieve<'static> = Sieve {
    relations: &[],
    names: &[],
    valid: Window { after: None, before: None },
    invalid: Window { after: None, before: None },
};

/// Two projects; `auth.rs` of the shop in three sessions, that of the blog in one.
fn sample_sessions() -> Vec<Session> {
    let shop = |id: &str, files: &[&str]| Session::new(id, &["said"]).touching(files);
    let mut sessions = vec![
        shop("a", &["src/auth.rs", "src/token_store.rs"]),
        shop("b", &["src/auth.rs", "docs/design.md"]),
        shop("c", &["src/auth.rs", "src/cart.rs", "docs/design.md"]),
    ];
    sessions.push(Session::new("d", &["said"]).in_project("/srv/blog").touching(&["src/auth.rs", "style.css"]));
    sessions
}

impl Memory {
    fn nodes(&self, query: &GraphQuery<'_>) -> Page<Node> {
        self.searcher.nodes(query).unwrap()
    }

    fn facts(&self, query: &GraphQuery<'_>) -> Page<Fact> {
        self.searcher.facts(query).unwrap()
    }

    fn names(&self, query: &GraphQuery<'_>) -> Vec<String> {
        self.nodes(query).found.into_iter().map(|node| node.name).collect()
    }
}

fn file(group: &str, name: &str) -> Uuid {
    node_uuid(group, Label::File, name)
}

#[test]
fn an_entity_is_the_group_of_its_mentions() {
    let mut sessions = sample_sessions();
    sessions[1].units.push(unit(2, "more"));
    let memory = Memory::of(&sessions);
    let found = memory.nodes(&GraphQuery { text: "auth.rs", ..NONE }).found;
    let node = &found[0];
    assert_eq!((node.name.as_str(), node.label, node.group_id.as_str()), ("src/auth.rs", Label::File, "/srv/shop"));
    assert_eq!((node.uuid, node.sessions, node.count), (file("/srv/shop", "src/auth.rs"), 3, 6));
    let latest: Vec<_> = node.latest.iter().map(|(session, line)| (session.as_str(), *line)).collect();
    assert_eq!(latest, [("a", 2), ("b", 2), ("c", 2)]);
    assert_eq!(node.created_at, Some(Timestamp(1_773_480_500_001)), "of the first that was recorded");
    assert_eq!(node.first_seen, Some(Timestamp(1_773_480_000_002)));
    assert_eq!(node.last_seen, Some(Timestamp(1_773_480_413_589)));
    assert_eq!((found[1].group_id.as_str(), found[1].sessions), ("/srv/blog", 1));
}

#[test]
fn a_fact_is_the_group_of_its_assertions() {
    let one = Session::new("a", &["said"]).touching(&["x.rs"]);
    let mut other = Session::new("b", &["said", "more"]);
    other.graph = one.graph.clone();
    other.graph.assertions[0].valid_at = Some(Timestamp(7));
    let memory = Memory::of(&[one.clone(), other]);
    let found = memory.facts(&GraphQuery { text: "modified", ..NONE }).found;
    assert_eq!(found.len(), 1);
    let fact = &found[0];
    assert_eq!((fact.uuid, fact.relation), (one.graph.assertions[0].uuid, Relation::Modified));
    assert_eq!((fact.source, fact.target), (one.graph.mentions[0].uuid, file("/srv/shop", "x.rs")));
    assert_eq!(fact.fact, "session a modified x.rs");
    assert_eq!((fact.valid_at, fact.sessions), (Some(Timestamp(7)), 2));
    let of_latest = (fact.latest[0].0.as_str(), fact.at);
    assert_eq!(of_latest, ("a", one.graph.assertions[0].valid_at), "the time is that of the line");
    assert_eq!(fact.episodes, [Uuid::from_u128(2), Uuid::from_u128(3)]);
    assert_eq!(fact.reference_time, Some(Timestamp(1_773_480_413_589)));
}

#[test]
fn names_are_found_by_their_parts() {
    let memory = Memory::of(&sample_sessions());
    let check = |text: &str, labels: &[Label], names: &[&str]| {
        assert_eq!(memory.names(&GraphQuery { text, labels, ..NONE }), names, "{text:?}");
    };
    check("token_store", &[], &["src/token_store.rs"]);
    check("stores of tokens", &[], &["src/token_store.rs"]);
    check("SRC/AUTH.RS", &[Label::File], &["src/auth.rs", "src/auth.rs", "src/cart.rs", "src/token_store.rs"]);
    check("design", &[], &["docs/design.md"]);
    check("style.css", &[Label::Session], &[]);
    check("zebra", &[], &[]);
    // Most supported first, then by uuid; all sessions ended at the same time.
    assert_eq!(
        memory.names(&GraphQuery { text: "*", labels: &[Label::File], limit: 2, ..NONE }),
        ["src/auth.rs", "docs/design.md"]
    );
    assert_eq!(memory.names(&NONE).len(), 10);
}

#[test]
fn a_session_that_is_hidden_supports_nothing() {
    let memory = Memory::of(&sample_sessions());
    let hidden = |id: &str| id != "b";
    let query = GraphQuery { text: "*", exclude: &hidden, ..NONE };
    let mut names = memory.names(&query);
    names.sort();
    assert_eq!(names, ["b", "docs/design.md", "src/auth.rs"]);
    assert!(memory.nodes(&query).found.iter().all(|node| node.sessions == 1));
    assert_eq!(memory.facts(&query).found.len(), 2);
    let all = |_: &str| true;
    assert_eq!(memory.nodes(&GraphQuery { exclude: &all, ..NONE }), Page { found: vec![], more: false });
    assert!(memory.searcher.has_node(file("/srv/shop", "docs/design.md"), &hidden).unwrap());
    assert!(!memory.searcher.has_node(file("/srv/shop", "src/cart.rs"), &hidden).unwrap());
    assert!(!memory.searcher.has_node(Uuid::nil(), &|_| false).unwrap());
}

#[test]
fn entities_of_hidden_sessions_do_not_crowd_out_the_others() {
    let many: Vec<String> = (0..2 * crate::limits::GRAPH_GROUPS).map(|number| format!("src/{number}.rs")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let said = |id: &str, files: &[&str]| Session::new(id, &["said"]).touching(files);
    let memory = Memory::of(&[said("a", &many), said("b", &["src/zebra.rs"])]);
    let hidden = |id: &str| id == "a";
    let mut names = memory.names(&GraphQuery { text: "*", exclude: &hidden, ..NONE });
    names.sort();
    assert_eq!(names, ["b", "src/zebra.rs"]);
}

#[test]
fn what_is_tied_to_the_center_comes_first() {
    let memory = Memory::of(&sample_sessions());
    let center = Some(file("/srv/shop", "src/cart.rs"));
    let facts = memory.facts(&GraphQuery { text: "modified", center, ..NONE }).found;
    assert_eq!(facts[0].fact, "session c modified src/cart.rs");
    let names = memory.names(&GraphQuery { text: "*", center, ..NONE });
    assert_eq!(names[..2], ["src/cart.rs", "c"], "the center, then what shares a fact with it");
    // With a session as center, what it says comes first.
    let center = Some(node_uuid("/srv/shop", Label::Session, "b"));
    let names = memory.names(&GraphQuery { text: "src docs style", center, labels: &[Label::File], ..NONE });
    let mut first = names[..2].to_vec();
    first.sort();
    assert_eq!(first, ["docs/design.md", "src/auth.rs"]);
}

#[test]
fn pages_are_one_ranking_cut() {
    let memory = Memory::of(&sample_sessions());
    let all = memory.nodes(&GraphQuery { limit: 100, ..NONE });
    assert!(!all.more);
    let mut pages = Vec::new();
    for offset in (0..).step_by(3) {
        let page = memory.nodes(&GraphQuery { limit: 3, offset, ..NONE });
        pages.extend(page.found);
        if !page.more {
            break;
        }
    }
    assert_eq!(pages, all.found);
    assert_eq!(memory.nodes(&GraphQuery { offset: 1000, ..NONE }), Page { found: vec![], more: false });
    assert_eq!(memory.nodes(&GraphQuery { limit: 0, offset: usize::MAX, ..NONE }).found, []);
}

#[test]
fn a_replaced_episode_leaves_nothing_behind() {
    let mut sessions = sample_sessions();
    let mut memory = Memory::of(&sessions);
    sessions[2] = Session::new("c", &["said", "more"]).touching(&["src/auth.rs", "src/new.rs"]);
    memory.store.put(&sessions[2].entry(1)).unwrap();
    memory.store.commit(checkpoint(2)).unwrap();
    assert_eq!(memory.names(&GraphQuery { text: "cart.rs new.rs", limit: 1, ..NONE }), ["src/new.rs"]);
    assert_eq!(memory.nodes(&GraphQuery { text: "design", ..NONE }).found[0].sessions, 1);
    assert_eq!(memory.facts(&GraphQuery { text: "cart", ..NONE }).found, []);
    assert_eq!(memory.searcher.dump().unwrap(), Memory::of(&sessions).searcher.dump().unwrap());
    memory.store.remove(&sessions[2].id).unwrap();
    memory.store.commit(checkpoint(3)).unwrap();
    sessions.remove(2);
    assert_eq!(memory.searcher.dump().unwrap(), Memory::of(&sessions).searcher.dump().unwrap());
}

#[test]
fn entities_leave_the_ranking_of_turns_alone() {
    let without: Vec<Session> = sample_sessions().into_iter().map(|session| session.touching(&[])).collect();
    let check = |text: &str| {
        let (with, without) = (Memory::of(&sample_sessions()), Memory::of(&without));
        assert_eq!(with.ask(text), without.ask(text), "{text:?}");
        assert_eq!(with.searcher.counts(), without.searcher.counts());
    };
    check("said");
    check("title of a");
    check("auth.rs");
}

#[test]
fn a_memory_from_before_there_were_entities_is_rebuilt() {
    let Memory { dir, store, searcher } = Memory::of(&sample_sessions());
    drop((store, searcher));
    let opened = crate::Store::open_version(dir.path(), PROJECTION_VERSION - 1).unwrap();
    assert!(opened.checkpoint.is_none() && opened.wiped.is_some());
}
