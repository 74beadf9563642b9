//! Sessions in, entities and facts out.

mod failures;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::*;
use baton_conversation::item::{Act, Body, Call, Edit, Link, Meta, Outcome, ToolResult};
use baton_episode::digest::{Show, digest};

/// A scripted session: one item per line.
#[derive(Default)]
struct Script(Vec<Item>);

impl Script {
    fn say(mut self, body: Body) -> Self {
        let line = self.0.len() as u64 + 1;
        let at = Some(Timestamp(1_700_000_000_000 + line as i64 * 1000));
        self.0.push(Item { line, at, uuid: None, message: None, sidechain: false, body });
        self
    }

    fn prompt(self, text: &str) -> Self {
        self.say(Body::Prompt { text: text.to_owned() })
    }

    fn call(self, name: &str, input: &[(&str, &str)], edit: Option<Edit>, result: (Outcome, &str)) -> Self {
        let id: Box<str> = format!("toolu_{}", self.0.len()).into();
        let input: BTreeMap<String, Value> =
            input.iter().map(|(key, text)| ((*key).to_owned(), Value::from(*text))).collect();
        let (outcome, line) = result;
        let failed = outcome == Outcome::Failed;
        self.say(Body::Call(Call {
            act: Act::of_tool(name),
            id: id.clone(),
            name: name.to_owned(),
            input,
            edit,
            commit: None,
            plan: None,
            git_line: None,
        }))
        .say(Body::Result(ToolResult {
            id,
            name: Some(name.to_owned()),
            outcome,
            exit_code: failed.then_some(101),
            text: format!("{name}: {line}"),
            error: failed.then(|| line.to_owned()),
            duration_ms: None,
            agent: None,
            report: None,
        }))
    }

    fn bash(self, command: &str, result: (Outcome, &str)) -> Self {
        self.call("Bash", &[("command", command)], None, result)
    }

    fn edit(self, path: &str) -> Self {
        let edit = Edit { path: path.to_owned(), added: 12, removed: 3, ..Edit::default() };
        self.call("Edit", &[("file_path", path)], Some(edit), (Outcome::Ok, "edited"))
    }

    fn read(self, path: &str) -> Self {
        self.call("Read", &[("file_path", path)], None, (Outcome::Ok, "10 lines"))
    }
}

const OK: (Outcome, &str) = (Outcome::Ok, "exit 0");

fn of(id: &str, script: &Script) -> Graph {
    let session = SessionId::new(id).unwrap();
    let at = Surroundings { session: &session, group: "shop", project: Some("/srv/shop"), parent: None, follows: None };
    graph(&script.0, &digest(&script.0, &Show::default()), &at)
}

/// Returns `Label name xcount @line` for each mention, in order.
fn mentions(graph: &Graph) -> Vec<String> {
    let told =
        |mention: &Mention| format!("{} {} x{} @{}", mention.label.as_str(), mention.name, mention.count, mention.line);
    graph.mentions.iter().map(told).collect()
}

fn facts(graph: &Graph) -> Vec<String> {
    graph.assertions.iter().map(|said| format!("{} {}", said.relation.as_str(), said.fact)).collect()
}

/// Asserts what holds for every graph.
fn sound(graph: &Graph) {
    let nodes: BTreeSet<Uuid> = graph.mentions.iter().map(|mention| mention.uuid).collect();
    assert_eq!(nodes.len(), graph.mentions.len(), "a mention twice");
    let facts: BTreeSet<Uuid> = graph.assertions.iter().map(|said| said.uuid).collect();
    assert_eq!(facts.len(), graph.assertions.len(), "an assertion twice");
    for said in &graph.assertions {
        assert!(nodes.contains(&said.source) && nodes.contains(&said.target), "{said:?} hangs in the air");
        assert!(said.line > 0 && said.fact.chars().count() <= MAX_TEXT_CHARS && !said.fact.contains('\n'), "{said:?}");
    }
    for mention in &graph.mentions {
        assert!(mention.line > 0 && mention.name.chars().count() <= MAX_NAME_CHARS, "{mention:?}");
        assert!(
            !mention.name.is_empty() && !mention.name.contains('\n') && !mention.detail.contains('\n'),
            "{mention:?}"
        );
    }
}

const BORROW: &str = "error[E0382]: borrow of moved value: `token` --> src/auth.rs:42:5";

fn repaired() -> Script {
    Script::default()
        .prompt("Fix the login, see https://docs.rs/jwt/latest and SHOP-12")
        .say(Body::Meta(Meta::Branch("fix/login".to_owned())))
        .say(Body::Meta(Meta::Cwd("/srv/shop".to_owned())))
        .read("/srv/shop/src/auth.rs")
        .bash("cd /srv/shop && cargo test -p auth 2>&1", (Outcome::Failed, BORROW))
        .edit("/srv/shop/src/auth.rs")
        .bash("cargo test -p auth", OK)
        .bash("cargo add jsonwebtoken@9 --features pem", OK)
        .call("WebFetch", &[("url", "https://docs.rs/jwt/latest?x=1")], None, OK)
        .call("mcp__tickets__close", &[("id", "SHOP-12")], None, OK)
}

#[test]
fn a_session_names_what_it_touched() {
    let graph = of("7acd37a8-1111", &repaired());
    sound(&graph);
    assert_eq!(
        mentions(&graph),
        [
            "Session session_7acd37a8 x1 @1",
            "Project shop x1 @1",
            "File src/auth.rs x2 @4",
            "Error error[E0382]: borrow of moved value: `token` --> src/auth.rs x1 @7",
            "Command cargo test x2 @6",
            "Package jsonwebtoken x1 @12",
            "Url docs.rs/jwt/latest x2 @1",
            "Domain docs.rs x2 @1",
            "Issue SHOP-12 x1 @1",
            "Branch fix/login x1 @2",
            "Command cargo add x1 @12",
            "Tool mcp__tickets__close x1 @16",
            "Tool Bash x2 @10",
            "Tool Edit x1 @8",
            "Tool Read x1 @4",
            "Tool WebFetch x1 @14",
        ]
    );
}

#[test]
fn a_session_says_how_things_bear_on_each_other() {
    let graph = of("7acd37a8-1111", &repaired());
    let facts = facts(&graph);
    let expected = [
        "MODIFIED session 7acd37a8 modified src/auth.rs (+12 -3): Fix the login, see https://docs.rs/jwt/latest and SHOP-12",
        "PART_OF docs.rs/jwt/latest is a page of docs.rs",
        "FAILED_WITH `cargo test` failed with error[E0382]: borrow of moved value: `token` --> src/auth.rs:42:5 in shop, \
         resolved by editing src/auth.rs",
        "RESOLVED_BY error[E0382]: borrow of moved value: `token` --> src/auth.rs:42:5 in shop was resolved by editing \
         src/auth.rs",
        "ADDED_PACKAGE session 7acd37a8 added package jsonwebtoken from crates.io",
        "MENTIONED session 7acd37a8 mentioned docs.rs/jwt/latest",
        "MENTIONED session 7acd37a8 mentioned issue SHOP-12",
        "ON_BRANCH session 7acd37a8 worked on branch fix/login",
        "FETCHED session 7acd37a8 fetched docs.rs/jwt/latest",
        "RAN session 7acd37a8 ran `cargo test` (2 times)",
        "RAN session 7acd37a8 ran `cargo add`",
        "READ session 7acd37a8 read src/auth.rs",
        "USED session 7acd37a8 used mcp__tickets__close",
    ];
    for fact in expected {
        assert!(facts.iter().any(|found| found == fact), "{fact}\nis not among\n{}", facts.join("\n"));
    }
    assert!(facts[0].starts_with("IN_PROJECT session 7acd37a8 worked in shop: Fix the login"), "{}", facts[0]);
    let failed = graph.assertions.iter().find(|said| said.relation == Relation::FailedWith).unwrap();
    assert_eq!((failed.line, failed.valid_at), (7, Some(Timestamp(1_700_000_007_000))));
}

#[test]
fn the_same_thing_has_the_same_uuid_in_every_session_of_a_group() {
    let one = of("1acd37a8", &repaired());
    let other = of(
        "2acd37a8",
        &Script::default()
            .prompt("again")
            .bash("cargo test", (Outcome::Failed, &BORROW.replace("42:5", "97:1")))
            .read("src/auth.rs"),
    );
    let uuids = |graph: &Graph, label: Label| -> Vec<Uuid> {
        graph.mentions.iter().filter(|mention| mention.label == label).map(|mention| mention.uuid).collect()
    };
    for label in [Label::Project, Label::File, Label::Error] {
        assert_eq!(uuids(&one, label), uuids(&other, label), "{label:?}");
        assert!(!uuids(&one, label).is_empty(), "{label:?}");
    }
    assert_ne!(uuids(&one, Label::Session), uuids(&other, Label::Session));
    let failed =
        |graph: &Graph| graph.assertions.iter().find(|said| said.relation == Relation::FailedWith).unwrap().uuid;
    assert_eq!(failed(&one), failed(&other));
    assert_ne!(node_uuid("a", Label::File, "b"), node_uuid("b", Label::File, "a"));
    assert_ne!(node_uuid("a", Label::File, "x"), node_uuid("a", Label::Branch, "x"));
    assert_eq!(
        node_uuid("shop", Label::File, "src/auth.rs").to_string(),
        "4773bb4d-5452-5c11-a5be-d9acca8d5768",
        "uuids are a promise: a change would split every entity"
    );
}

#[test]
fn nothing_said_is_nothing_known() {
    assert_eq!(of("s", &Script::default()), Graph::default());
    let graph = of("s", &Script::default().prompt(""));
    assert_eq!(mentions(&graph), ["Session session_s x1 @1", "Project shop x1 @1"]);
}

#[test]
fn what_was_refused_or_failed_touched_nothing() {
    let script = Script::default()
        .prompt("no")
        .bash("cargo add serde", (Outcome::Denied, "no"))
        .bash("npm install left-pad", (Outcome::Failed, "404"))
        .call(
            "Edit",
            &[("file_path", "Cargo.toml"), ("old_string", ""), ("new_string", "serde = \"1\"")],
            Some(Edit { path: "Cargo.toml".to_owned(), added: 1, removed: 0, ..Edit::default() }),
            (Outcome::Denied, "no"),
        );
    let graph = of("s", &script);
    let packages: Vec<_> = graph.mentions.iter().filter(|mention| mention.label == Label::Package).collect();
    assert!(packages.is_empty(), "{packages:?}");
    assert!(!facts(&graph).iter().any(|fact| fact.starts_with("MODIFIED")));
}

#[test]
fn a_manifest_that_was_edited_adds_packages() {
    let script = Script::default().prompt("add it").call(
        "Edit",
        &[
            ("file_path", "Cargo.toml"),
            ("old_string", "serde = \"1\""),
            ("new_string", "serde = \"1\"\ntime = \"0.3\""),
        ],
        Some(Edit { path: "Cargo.toml".to_owned(), added: 1, removed: 0, ..Edit::default() }),
        OK,
    );
    let facts = facts(&of("s", &script));
    assert!(facts.contains(&"ADDED_PACKAGE session s added package time from crates.io".to_owned()), "{facts:#?}");
    assert!(!facts.iter().any(|fact| fact.contains("serde")), "{facts:#?}");
}

#[test]
fn a_huge_session_is_bounded_and_keeps_what_was_changed() {
    let mut script = Script::default().prompt(&(1..400).map(|n| format!("#{n} ")).collect::<String>());
    for number in 0..400 {
        script = script.read(&format!("/srv/shop/read/{number}.rs"));
    }
    for number in 0..30 {
        script = script.edit(&format!("/srv/shop/changed/{number}.rs"));
    }
    let graph = of("s", &script);
    sound(&graph);
    let files: Vec<_> = graph.mentions.iter().filter(|mention| mention.label == Label::File).collect();
    assert_eq!(files.len(), Label::File.bound());
    assert_eq!(files.iter().filter(|file| file.name.starts_with("changed/")).count(), 30);
    assert_eq!(graph.mentions.iter().filter(|mention| mention.label == Label::Issue).count(), Label::Issue.bound());
    assert!(graph.assertions.len() <= MAX_ASSERTIONS && graph.left_out > 300, "{}", graph.left_out);
}

#[test]
fn labels_have_names() {
    for label in Label::ALL.iter().copied() {
        assert_eq!(Label::named(&label.as_str().to_lowercase()), Some(label));
    }
    for relation in Relation::ALL.iter().copied() {
        assert_eq!(Relation::named(relation.as_str()), Some(relation));
    }
    assert_eq!(Label::named("Entity"), None);
    assert!(Label::ALL.is_sorted());
}

fn of_with(script: &Script, parent: Option<&str>, follows: Option<&str>) -> Graph {
    let id = |id: &str| SessionId::new(id).unwrap();
    let (session, parent, follows) = (id("5acd37a8"), parent.map(id), follows.map(id));
    let at = Surroundings {
        session: &session,
        group: "shop",
        project: Some("/srv/shop"),
        parent: parent.as_ref(),
        follows: follows.as_ref(),
    };
    let graph = graph(&script.0, &digest(&script.0, &Show::default()), &at);
    sound(&graph);
    graph
}

/// Returns the facts of one relation, each with its value and the name of its target.
fn told(graph: &Graph, relation: Relation) -> Vec<String> {
    let name = |uuid: Uuid| graph.mentions.iter().find(|mention| mention.uuid == uuid).unwrap().name.clone();
    let said = graph.assertions.iter().filter(|said| said.relation == relation);
    said.map(|said| format!("{} = {:?}: {}", name(said.target), said.value, said.fact)).collect()
}

#[test]
fn a_decision_is_a_fact_of_its_topic() {
    let script = Script::default()
        .prompt("Store the log")
        .say(Body::Reply { text: "We use sled instead of SQLite for the log, because it needs no server.".to_owned() })
        .prompt("and please always use tabs");
    let graph = of_with(&script, None, None);
    assert_eq!(
        told(&graph, Relation::Decided),
        [
            "sled or sqlite = \"sled\": decided in shop: We use sled instead of SQLite for the log, because it needs no server."
        ]
    );
    assert_eq!(told(&graph, Relation::Prefers), ["always use tabs = \"\": the user prefers: always use tabs"]);
    let decided = graph.assertions.iter().find(|said| said.relation == Relation::Decided).unwrap();
    assert_eq!(decided.source, node_uuid("shop", Label::Project, "shop"));
    assert!(!decided.rests.is_empty() && !decided.settles.is_empty() && decided.line == 2);
    // A subagent is prompted by an agent.
    assert_eq!(told(&of_with(&script, Some("4acd37a8"), None), Relation::Prefers), [""; 0]);
}

#[test]
fn a_wish_ends_by_a_word_of_the_person_only() {
    let said = |body: Body| of_with(&Script::default().prompt("go on").edit("a.rs").say(body), None, None).assertions;
    let prompt = |text: &str| said(Body::Prompt { text: text.to_owned() });
    let ends = |later: &[Assertion], earlier: &[Assertion]| {
        let settles = later.iter().flat_map(|said| &said.settles);
        let wishes = earlier.iter().filter(|said| said.relation == Relation::Prefers);
        let rests: Vec<_> = wishes.flat_map(|said| &said.rests).collect();
        settles.into_iter().any(|new| rests.iter().any(|old| new.slot == old.slot && new.value != old.value))
    };
    let earlier = prompt("Always use tabs for indentation.");
    assert!(ends(&prompt("From now on use spaces instead of tabs"), &earlier));
    assert!(ends(&prompt("no, use spaces instead of tabs"), &earlier), "a decision of the person");
    let reply = Body::Reply { text: "I decided to use spaces instead of tabs because the file has them.".to_owned() };
    assert!(!ends(&said(reply), &earlier));
    assert!(!ends(&prompt("Always use pnpm instead of npm"), &earlier));
}

#[test]
fn an_answer_settles_its_question() {
    let script = Script::default().prompt("go on").say(Body::Answer {
        text: "User has answered your questions: \"Which database should the queue use?\"=\"Postgres\".".to_owned(),
    });
    let graph = of_with(&script, None, None);
    assert_eq!(told(&graph, Relation::Decided).len(), 1, "{:?}", facts(&graph));
    assert!(told(&graph, Relation::Decided)[0].starts_with("session_5acd37a8 = \"Postgres\": "));

    // A demand inside an answer belongs to that question and is not a permanent wish.
    let text = "User has answered your questions: \"Where should the counters live?\"=\"Postgres\", \"What happens when the \
                limit of an account is reached?\"=\"slow down, but never wait more than a minute\".";
    let graph = of_with(&Script::default().prompt("go on").say(Body::Answer { text: text.to_owned() }), None, None);
    assert_eq!(told(&graph, Relation::Prefers), [""; 0]);
    assert_eq!(told(&graph, Relation::Decided).len(), 2, "{:?}", facts(&graph));
}

#[test]
fn sessions_know_where_they_come_from() {
    let link = |link, session: &str| Body::Meta(Meta::Link { link, session: session.into() });
    let script = Script::default()
        .prompt("go on")
        .say(link(Link::ForkedFrom, "0acd37a8-1"))
        .say(link(Link::ContinuedIn, "9acd37a8-1"))
        .say(link(Link::ContinuedIn, "5acd37a8"));
    let graph = of_with(&script, Some("1acd37a8"), Some("2acd37a8"));
    let said = facts(&graph);
    for fact in [
        "SPAWNED_AGENT session 1acd37a8 spawned session 5acd37a8: Go on",
        "PRECEDED_BY session 5acd37a8 began in the place of session 2acd37a8",
        "CONTINUED_BY session 0acd37a8 goes on in session 5acd37a8",
        "CONTINUED_BY session 5acd37a8 goes on in session 9acd37a8",
    ] {
        assert!(said.iter().any(|found| found == fact), "{fact}\nis not among\n{}", said.join("\n"));
    }
    assert_eq!(said.iter().filter(|fact| fact.starts_with("CONTINUED_BY")).count(), 2);
    assert_eq!(node_uuid("shop", Label::Session, "session_1acd37a8"), graph.assertions[1].source);
}

#[test]
fn sessions_whose_ids_begin_alike_are_several() {
    // Codex gives all sessions of one minute the same id prefix.
    let of_minute = |end: u8| format!("0199a213-81c0-7800-8aa1-bbab2a0350{end:02}");
    let script = Script::default().say(Body::Prompt { text: "go on".to_owned() });
    let graph = of_with(&script, Some(&of_minute(1)), Some(&of_minute(2)));
    let sessions: Vec<_> = graph.mentions.iter().filter(|mention| mention.label == Label::Session).collect();
    assert_eq!(sessions.len(), 3, "{sessions:?}");
    assert_eq!(sessions.iter().filter(|session| session.name == "session_0199a213").count(), 2, "{sessions:?}");
    assert!(graph.assertions.iter().all(|fact| fact.source != fact.target), "{:?}", graph.assertions);
    for (id, is_its_name) in [
        ("5acd37a8-1f2e-4d3c-8b4a-5a6b7c8d9e0f", true),
        ("agent-5acd37a8a93f1b2c4", true),
        ("5acd37a8", true),
        (&of_minute(1), false),
        ("5acd37a8-1", false),
    ] {
        let id = SessionId::new(id).unwrap();
        let named = node_uuid("shop", Label::Session, &session_name(&id));
        assert_eq!(session_uuid("shop", &id) == named, is_its_name, "{id}");
    }
}

#[test]
fn a_subagent_is_one_session_to_whoever_names_it() {
    let script = Script::default().prompt("look").say(Body::Result(ToolResult {
        id: "toolu_1".into(),
        name: Some("Agent".to_owned()),
        outcome: Outcome::Ok,
        exit_code: None,
        text: "Agent: done".to_owned(),
        error: None,
        duration_ms: None,
        agent: Some("3430b97e".into()),
        report: None,
    }));
    let parent = of_with(&script, None, None);
    let child = of("agent-3430b97e", &Script::default().prompt("look around"));
    let fact =
        |graph: &Graph| graph.assertions.iter().find(|said| said.relation == Relation::SpawnedAgent).unwrap().target;
    assert_eq!(fact(&parent), child.mentions[0].uuid);
    let id = SessionId::new("agent-3430b97e").unwrap();
    let by = SessionId::new("5acd37a8").unwrap();
    let at = Surroundings { session: &id, group: "shop", project: None, parent: Some(&by), follows: None };
    let script = Script::default().prompt("look around");
    let child = graph(&script.0, &digest(&script.0, &Show::default()), &at);
    let uuid =
        |graph: &Graph| graph.assertions.iter().find(|said| said.relation == Relation::SpawnedAgent).unwrap().uuid;
    assert_eq!(uuid(&parent), uuid(&child), "both say the same fact");
    // One that was only started early did nothing.
    let script = Script::default().prompt("Warmup");
    assert_eq!(graph(&script.0, &digest(&script.0, &Show::default()), &at).mentions, []);
}

#[test]
fn what_is_moved_lies_elsewhere() {
    let script = Script::default()
        .prompt("tidy up")
        .edit("/srv/shop/src/auth.rs")
        .bash("git mv src/auth.rs src/login.rs && git rm src/old.rs", OK)
        .bash("mv src/a.rs src/b.rs", (Outcome::Failed, "no such file"))
        .call("mcp__files__move_file", &[("source", "/srv/shop/a.md"), ("destination", "/srv/shop/b.md")], None, OK)
        .bash("git commit -m \"Log in again\n\nThe token was lost.\"", OK)
        .bash("git commit -m \"$(cat <<'EOF'…[+80 chars #0a1b2c3d]", OK);
    // Of a line that was cut the subject is known.
    let mut script = script;
    let calls =
        script.0.iter_mut().filter_map(|item| if let Body::Call(call) = &mut item.body { Some(call) } else { None });
    calls.last().unwrap().commit = Some("Keep the token".to_owned());
    let graph = of_with(&script.say(Body::Meta(Meta::Cwd("/srv/shop".to_owned()))), None, None);
    let said = facts(&graph);
    for fact in [
        "RENAMED src/auth.rs was renamed to src/login.rs in shop",
        "RENAMED a.md was renamed to b.md in shop",
        "DELETED session 5acd37a8 deleted src/old.rs",
        "COMMITTED session 5acd37a8 committed \"Log in again\". The token was lost.",
        "COMMITTED session 5acd37a8 committed \"Keep the token\"",
    ] {
        assert!(said.iter().any(|found| found == fact), "{fact}\nis not among\n{}", said.join("\n"));
    }
    assert_eq!(said.iter().filter(|fact| fact.starts_with("RENAMED")).count(), 2);
    let find = |relation| graph.assertions.iter().find(|said| said.relation == relation).unwrap();
    let (changed, renamed) = (find(Relation::Modified), find(Relation::Renamed));
    assert_eq!(changed.rests[0].slot, renamed.settles[0].slot);
    assert_ne!(changed.rests[0].value, renamed.settles[0].value);
}

#[test]
fn a_file_that_is_there_again_is_not_deleted() {
    let again = Script::default().prompt("tidy up").bash("rm docs/plan.md src/old.rs", OK).edit("docs/plan.md");
    let graph = of_with(&again.bash("git commit -qm 'Write the plan anew'", OK).edit("src/new.rs"), None, None);
    assert_eq!(told(&graph, Relation::Deleted), ["src/old.rs = \"\": session 5acd37a8 deleted src/old.rs"]);
    // What was changed before a commit that prints nothing was changed for it.
    let changed = told(&graph, Relation::Modified);
    assert!(changed.iter().any(|fact| fact.ends_with("docs/plan.md (+12 -3): Write the plan anew")), "{changed:?}");
}

#[test]
fn an_error_is_open_until_it_is_resolved() {
    let graph = of_with(&repaired(), None, None);
    let find = |relation| graph.assertions.iter().find(|said| said.relation == relation).unwrap();
    let (failed, resolved) = (find(Relation::FailedWith), find(Relation::ResolvedBy));
    assert_eq!(failed.rests[0].slot, resolved.settles[0].slot);
    assert!(resolved.valid_at > failed.last_at);
}
