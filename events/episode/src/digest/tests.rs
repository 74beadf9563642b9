use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::any_items::any_items;
use baton_conversation::item::{Act, Body, Call, Edit, Meta, Outcome, PERSONS_SHELL, Report, TitleSource, ToolResult};

mod beside;
mod commits;
mod decisions;
mod errors;
mod evidence;
mod follow_ups;
mod open_ends;
mod overruled;
mod plans;
mod reports;
mod sources;
mod state;
mod titles;
mod trees;
mod unclear;
mod undone;

/// A session written by hand: each step is one item on the next line, one second later.
#[derive(Default)]
struct Session {
    items: Vec<Item>,
    calls: usize,
}

impl Session {
    fn add(mut self, body: Body) -> Self {
        let line = self.items.len() as u64 + 1;
        let at = Some(Timestamp(1_773_480_000_000 + line as i64 * 1_000));
        self.items.push(Item { line, at, uuid: None, message: None, sidechain: false, body });
        self
    }

    fn title(self, source: TitleSource, text: &str) -> Self {
        self.add(Body::Meta(Meta::Title { source, text: text.into() }))
    }

    fn cwd(self, path: &str) -> Self {
        self.add(Body::Meta(Meta::Cwd(path.into())))
    }

    fn prompt(self, text: &str) -> Self {
        self.add(Body::Prompt { text: text.into() })
    }

    fn reply(self, text: &str) -> Self {
        self.add(Body::Reply { text: text.into() })
    }

    fn call(mut self, name: &str, input: serde_json::Value, edit: Option<(u32, u32)>) -> Self {
        self.calls += 1;
        let input: BTreeMap<_, _> = input.as_object().cloned().unwrap_or_default().into_iter().collect();
        let path = input.get("file_path").and_then(|path| path.as_str()).unwrap_or_default().to_owned();
        let edit = edit.map(|(added, removed)| Edit { path, added, removed, ..Edit::default() });
        let id = format!("toolu_{}", self.calls).into();
        self.add(Body::Call(Call {
            act: Act::of_tool(name),
            id,
            name: name.into(),
            input,
            edit,
            commit: None,
            plan: None,
            git_line: None,
        }))
    }

    fn result(self, outcome: Outcome, exit_code: Option<i32>, error: Option<&str>) -> Self {
        let id = format!("toolu_{}", self.calls).into();
        let text = format!("Tool x: {}", error.unwrap_or("fine"));
        self.add(Body::Result(ToolResult {
            id,
            name: None,
            outcome,
            exit_code,
            text,
            error: error.map(Into::into),
            duration_ms: None,
            agent: None,
            report: None,
        }))
    }

    fn ok(self, command: &str) -> Self {
        self.call("Bash", json!({ "command": command }), None).result(Outcome::Ok, None, None)
    }

    fn failed(self, command: &str, code: i32, error: &str) -> Self {
        self.call("Bash", json!({ "command": command }), None).result(Outcome::Failed, Some(code), Some(error))
    }

    fn read(self, path: &str) -> Self {
        self.call("Read", json!({ "file_path": path }), None).result(Outcome::Ok, None, None)
    }

    fn edit(self, path: &str, added: u32, removed: u32) -> Self {
        self.edit_with(path, added, removed, Outcome::Ok, None)
    }

    fn edit_with(self, path: &str, added: u32, removed: u32, outcome: Outcome, error: Option<&str>) -> Self {
        self.call("Edit", json!({ "file_path": path }), Some((added, removed))).result(outcome, None, error)
    }

    /// An edit that adds these lines.
    fn wrote(mut self, path: &str, new_text: &str) -> Self {
        self = self.call("Edit", json!({ "file_path": path }), Some((1, 1)));
        if let Some(Item { body: Body::Call(Call { edit: Some(edit), .. }), .. }) = self.items.last_mut() {
            edit.new_text = new_text.to_owned();
        }
        self.result(Outcome::Ok, None, None)
    }

    /// A command that a person ran, with what its output reports.
    fn ran_by_person(self, command: &str, report: Report) -> Self {
        let session = self.call(PERSONS_SHELL, json!({ "command": command }), None).result(Outcome::Ok, None, None);
        session.with_report(report)
    }

    /// Adds what the output of the last command reports.
    fn with_report(mut self, report: Report) -> Self {
        if let Some(Item { body: Body::Result(result), .. }) = self.items.last_mut() {
            result.report = Some(Box::new(report));
        }
        self
    }

    fn digest(&self) -> Episode {
        digest(&self.items, &Show::default())
    }
}

/// A typical session: a bug, a failing test, two edits, a passing test, a commit.
fn a_fixed_bug() -> Session {
    Session::default()
        .cwd("/home/u/p")
        .prompt("The refresh token expires too early. Please fix it.")
        .reply("Let me look at the code.")
        .read("/home/u/p/src/auth.rs")
        .failed("cd /home/u/p && cargo test -p auth", 101, "assertion failed: token.is_valid()")
        .edit("/home/u/p/src/auth.rs", 5, 2)
        .edit("/home/u/p/src/token.rs", 1, 1)
        .ok("cargo   test -p auth")
        .ok("git commit -am 'Check expiry in UTC'")
        .reply("Fixed: the expiry was compared in local time, so I moved the check to UTC. Shall I push?")
}

#[test]
fn a_developer_recognises_the_session() {
    let episode = a_fixed_bug().digest();
    assert_eq!(episode.title, "Check expiry in UTC");
    assert_eq!(episode.objective, "The refresh token expires too early. Please fix it.");
    let texts = |category: &str| episode.work_completed[category].iter().map(|p| p.text.as_str()).collect::<Vec<_>>();
    assert_eq!(texts("answers"), ["Fixed: the expiry was compared in local time, so I moved the check to UTC."]);
    assert_eq!(texts("changes"), ["src/auth.rs (+5 -2)", "src/token.rs (+1 -1)"]);
    assert_eq!(texts("commands"), ["cargo test -p auth", "git commit -am 'Check expiry in UTC'"]);
    let [error] = &episode.errors[..] else { panic!("one error: {:?}", episode.errors) };
    assert_eq!(error.text, "cargo test -p auth: exit 101, assertion failed: token.is_valid()");
    assert_eq!(error.line, 7);
    let resolution = error.resolution.as_ref().unwrap();
    assert_eq!(resolution.text, "by edits to src/auth.rs, src/token.rs; `cargo test -p auth` passed");
    assert_eq!((resolution.line, resolution.at), (8, Some(Timestamp(1_773_480_008_000))), "where it began");
    let [test, commit] = &episode.commands[..] else { panic!("two commands: {:?}", episode.commands) };
    assert_eq!((test.text.as_str(), test.count, test.outcome, test.exit_code), ("cargo test -p auth", 2, "ok", None));
    assert_eq!((test.ok, test.failed, test.alike), (1, 1, 1), "one of the two runs succeeded");
    assert_eq!((commit.line, commit.count, commit.ok, commit.failed), (14, 1, 1, 0));
    assert_eq!(
        episode.continuation_context,
        "Goal: The refresh token expires too early. Please fix it. The agent reported: Fixed: the expiry was compared in local time, so I \
         moved the check to UTC. Last commit: Check expiry in UTC. To check: `cargo test -p auth` passed. Open: Not answered: \
         Fixed: the expiry was compared in local time, so I moved the check to UTC. Shall I push? Changed: src/token.rs, src/auth.rs."
    );
}

#[track_caller]
fn check_purpose(session: Session, title: &str, objective: &str) {
    let episode = session.digest();
    assert_eq!((episode.title.as_str(), episode.objective.as_str()), (title, objective));
}

#[test]
fn title_and_objective_come_from_the_best_source() {
    use TitleSource::{Model, Person, Summary};
    let start = Session::default;
    check_purpose(start(), "", "");
    check_purpose(start().reply("Hello there."), "Hello there", "");
    check_purpose(start().prompt("Very thorough. And more of it."), "Very thorough", "Very thorough. And more of it.");
    check_purpose(start().prompt("/clear").prompt("Fix it now please"), "Fix it now please", "Fix it now please");
    check_purpose(start().prompt("/review the auth module"), "/review the auth module", "/review the auth module");
    check_purpose(start().prompt("/init"), "/init", "/init");
    check_purpose(start().prompt("hi").prompt("Add a test."), "Add a test", "Add a test.");
    check_purpose(
        start().prompt("[Image #1] Hey Claude, fix the red button please"),
        "Fix the red button please",
        "Hey Claude, fix the red button please",
    );
    check_purpose(start().prompt("Hello, world!"), "World!", "Hello, world!");
    check_purpose(start().prompt("修正して").prompt("next"), "修正して", "修正して");
    check_purpose(
        start().title(Model, "Token bug").prompt("Fix it now please").title(Summary, "Other"),
        "Token bug",
        "Fix it now please",
    );
    check_purpose(start().title(Person, "Mine").title(Model, "Old").title(Person, "Newer"), "Newer", "");
    check_purpose(start().title(Model, "Fix It Now").prompt("fix it now"), "Fix It Now", "fix it now");
    check_purpose(start().title(Model, "Fix It").prompt("fix it now"), "Fix It", "fix it now");
    let long = "A first sentence that says what is wanted here. ".repeat(20);
    let episode = start().prompt(&long).digest();
    assert!(episode.objective.ends_with("here. …") && episode.objective.chars().count() <= OBJECTIVE_CHARS + 2);
}

#[test]
fn letters_that_change_their_length_in_lower_case_break_no_title() {
    assert_eq!(Session::default().prompt("İİ please é ẞẞ").digest().title, "É ẞẞ");
}

#[test]
fn an_old_title_counts_only_in_the_session_whose_record_it_names() {
    let session = |leaf: &str| {
        let mut session = Session::default().title(TitleSource::Summary, "Token bug").prompt("Fix it now please");
        session.items[0].uuid = Some(leaf.into());
        session.items[1].uuid = Some("b".into());
        session
    };
    check_purpose(session("b"), "Token bug", "Fix it now please");
    check_purpose(session("elsewhere"), "Fix it now please", "Fix it now please");
    check_purpose(
        Session::default().title(TitleSource::Summary, "Token bug").prompt("Fix it now please"),
        "Fix it now please",
        "Fix it now please",
    );
}

#[test]
fn a_title_from_elsewhere_is_taken_where_the_transcript_gives_none() {
    let told = |session: Session, title: &str| {
        let mut episode = digest(&session.items, &Show::default());
        episode.set_title(title);
        let before = episode.clone();
        episode.set_title("Something else");
        assert_eq!(episode.title == "Something else", !before.is_titled, "the first one stays");
        before
    };
    let start = || Session::default().prompt("Fix it now please");
    let episode = told(start(), "Token\nbug");
    assert_eq!((episode.title.as_str(), episode.objective.as_str()), ("Token bug", "Fix it now please"));
    assert!(episode.content().starts_with("# Token bug\n"), "{}", episode.content());
    assert_eq!(told(start(), " "), digest(&start().items, &Show::default()));
    assert_eq!(told(start().title(TitleSource::Model, "Mine"), "Yours").title, "Mine");
}

#[test]
fn what_a_person_said_to_a_tool_stands_among_the_prompts() {
    let episode = Session::default()
        .prompt("/model opus")
        .prompt("Push the branch")
        .add(Body::Answer { text: "never push from here".into() })
        .add(Body::Answer {
            text: "User has answered your questions: \"Where?\"=\"Postgres\". You can now continue with the user's answers in mind.".into(),
        })
        .prompt("Thanks, great work!")
        .digest();
    let prompts: Vec<_> = episode.prompts.iter().map(|prompt| (prompt.line, prompt.text.as_str())).collect();
    assert_eq!(
        prompts,
        [
            (2, "Push the branch"),
            (3, "never push from here"),
            (4, "\"Where?\"=\"Postgres\"."),
            (5, "Thanks, great work!")
        ]
    );
    assert_eq!(episode.objective, "Push the branch");
    assert!(!episode.continuation_context.contains("Last of"), "{}", episode.continuation_context);
}

#[test]
fn content_tells_paths_from_the_working_directory() {
    let content = Session::default()
        .cwd("/home/u/p")
        .prompt("Look at /home/u/p/src")
        .read("/home/u/p/a.rs")
        .read("/home/u/pq/b.rs")
        .failed("make -f /home/u/p/Makefile", 2, "/home/u/p/a.c:1:2: error: no")
        .digest()
        .content();
    for part in [
        "- User: Look at /home/u/p/src\n",
        "- make -f Makefile: exit 2, a.c:1:2: error: no -> not resolved\n",
        "- `make -f Makefile`: failed, exit 2\n",
        "## Files read\n- a.rs\n- /home/u/pq/b.rs\n",
    ] {
        assert!(content.contains(part), "{part:?} in {content}");
    }
}

#[test]
fn a_subagent_counts_for_what_it_did_but_not_for_what_it_said() {
    let mut session = Session::default()
        .prompt("Main objective of this session")
        .prompt("Subagent prompt")
        .edit("a.rs", 2, 0)
        .reply("I have fixed something as the subagent.")
        .reply("I have fixed everything in the main conversation.");
    for index in 1..5 {
        session.items[index].sidechain = true;
    }
    let episode = session.digest();
    assert_eq!(episode.prompts.len(), 1);
    assert_eq!(episode.files_modified.len(), 1);
    assert_eq!(episode.work_completed["answers"].len(), 1);
    assert_eq!(episode.work_completed["answers"][0].line, 6);
    session.items.iter_mut().for_each(|item| item.sidechain = true);
    assert_eq!(session.digest().prompts.len(), 2, "a subagent's own file is a conversation");
}

#[test]
fn files_and_commands_are_counted_once_with_their_sums() {
    let episode = Session::default()
        .cwd("/p")
        .read("/p/a.rs")
        .read("a.rs")
        .read("/q/a.rs")
        .edit("/p/b.rs", 3, 1)
        .edit("b.rs", 2, 2)
        .edit("d.rs", u32::MAX, u32::MAX)
        .edit_with("c.rs", 9, 9, Outcome::Denied, None)
        .ok("cargo test")
        .failed("cd /p &&  cargo test", 101, "x")
        .call("Bash", json!({ "command": "sleep 9; cargo run" }), None)
        .digest();
    let read: Vec<_> = episode.files_read.iter().map(|file| (file.path.as_str(), file.count)).collect();
    assert_eq!(read, [("/p/a.rs", 2), ("/q/a.rs", 1)]);
    let modified: Vec<_> =
        episode.files_modified.iter().map(|file| (file.path.as_str(), file.added, file.removed)).collect();
    assert_eq!(modified, [("/p/b.rs", 5, 3), ("d.rs", u32::MAX, u32::MAX)]);
    let commands: Vec<_> = episode
        .commands
        .iter()
        .map(|command| (command.text.as_str(), command.outcome, command.exit_code, command.count))
        .collect();
    assert_eq!(commands, [("cargo test", "failed", Some(101), 2), ("sleep 9; cargo run", "unknown", None, 1)]);
}

#[track_caller]
fn check_continuation(session: Session, parts: &[&str]) {
    let text = session.digest().continuation_context;
    let mut rest = text.as_str();
    for part in parts {
        let Some(at) = rest.find(part) else { panic!("no {part:?} in order in {text:?}") };
        rest = &rest[at + part.len()..];
    }
}

#[test]
fn the_continuation_tells_what_is_open() {
    let start = || Session::default().prompt("Make the build green again");
    check_continuation(
        start().failed("make", 2, "boom").reply("I found the cause in the linker script."),
        &["Goal: Make the build green again.", "The agent reported: I found the cause", "Open: make: exit 2, boom."],
    );
    check_continuation(
        start().reply("I fixed the whole build.").prompt("/cost").prompt("And the docs?"),
        &["The agent reported: I fixed the whole build.", "Open: No answer to: And the docs?"],
    );
    check_continuation(
        start().call("Bash", json!({ "command": "make all" }), None),
        &["`make all` was still running."],
    );
    check_continuation(
        start().ok("git commit -m x").edit_with("a.c", 0, 0, Outcome::Ok, None),
        &["Not committed: a.c."],
    );
    assert_eq!(Session::default().digest().continuation_context, "");
}

#[test]
fn the_content_reads_as_text_and_is_bounded() {
    let content = a_fixed_bug().digest().content();
    for part in [
        "# Check expiry in UTC\n\nObjective: The refresh token",
        "- User: The refresh token expires too early. Please fix it.\n- Assistant: Fixed: the expiry",
        "\n## Errors\n- cargo test -p auth: exit 101, assertion failed: token.is_valid() -> resolved: by edits to src/auth.rs,",
        "\n## Files changed\n- src/auth.rs (+5 -2)\n",
        "- `cargo test -p auth`: ok at last, in 1 of 2 runs\n",
        "\n## Files read\n- src/auth.rs\n",
    ] {
        assert!(content.contains(part), "{part:?} in {content}");
    }
    assert_eq!(Episode::default().content(), "");
    let huge = (0..500).fold(Session::default(), |session, n| {
        session.prompt(&format!("{n} {}", "語".repeat(900))).failed(
            &format!("run{n} {}", "é".repeat(300)),
            1,
            &"x ".repeat(900),
        )
    });
    let episode = huge.digest();
    assert_eq!((episode.prompts.len(), episode.errors.len(), episode.commands.len()), (200, 200, 200));
    assert!(episode.prompts[199].text.starts_with("499 "), "the last ones are kept");
    assert!(episode.content().len() <= 16_000);
}

#[test]
fn all_that_was_typed_is_told_where_all_of_it_is_wanted() {
    let many = (0..500).fold(Session::default(), |session, n| session.prompt(&format!("prompt {n}")).reply("done"));
    let told = typed_by_person(&many.items, &Show::default(), 5_000);
    assert_eq!((told.len(), told[0].text.as_str(), told[499].text.as_str()), (500, "prompt 0", "prompt 499"));
    let told = typed_by_person(&many.items, &Show::default(), 3);
    assert_eq!(
        told.iter().map(|prompt| prompt.text.as_str()).collect::<Vec<_>>(),
        ["prompt 497", "prompt 498", "prompt 499"]
    );
    // Equal prompts within one minute are sent again; later ones are typed again.
    let again = (0..100).fold(Session::default(), |session, _| session.prompt("continue"));
    assert_eq!((again.digest().prompts.len(), typed_by_person(&again.items, &Show::default(), 5_000).len()), (1, 2));
    let unshown = Show { keep_user_messages: false, ..Show::default() };
    assert_eq!(typed_by_person(&many.items, &unshown, 5_000), []);
}

#[test]
fn a_list_over_its_bound_loses_the_least_worth_keeping() {
    let mut list = vec![1, 20, 3, 40, 5];
    keep(&mut list, 3, |entry| *entry >= 10);
    assert_eq!(list, [20, 40, 5]);
    keep(&mut list, 2, |_| true);
    assert_eq!(list, [40, 5]);
    keep(&mut list, 2, |_| false);
    assert_eq!(list, [40, 5]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn any_items_give_a_bounded_episode_that_points_at_them(items in any_items()) {
        let episode = digest(&items, &Show::default());
        prop_assert_eq!(&episode, &digest(&items, &Show::default()), "deterministic");
        let lines: std::collections::BTreeSet<u64> = items.iter().map(|item| item.line).collect();
        let lists = || [&episode.prompts, &episode.decisions, &episode.unresolved, &episode.next_steps, &episode.external_research];
        let pointed = || {
            let by_name = episode.work_completed.values().chain(episode.knowledge_stored.values());
            by_name.chain(lists()).flatten()
        };
        prop_assert!(lists().iter().all(|list| list.len() <= MAX_ENTRIES));
        let resolutions = || episode.errors.iter().filter_map(|error| error.resolution.as_ref());
        let all_lines = pointed().chain(resolutions()).map(|p| p.line)
            .chain(episode.errors.iter().map(|e| e.line))
            .chain(episode.files_read.iter().map(|f| f.line))
            .chain(episode.files_modified.iter().map(|f| f.line))
            .chain(episode.commands.iter().map(|c| c.line));
        for line in all_lines {
            prop_assert!(lines.contains(&line), "line {} is of no item", line);
        }
        let texts = pointed().chain(resolutions()).map(|p| &p.text)
            .chain(episode.errors.iter().map(|e| &e.text))
            .chain(episode.commands.iter().map(|c| &c.text));
        for text in texts {
            prop_assert!(text.chars().count() <= outcome::MAX_CHARS + 20 && !text.contains('\n'), "{:?}", text);
        }
        prop_assert!(episode.title.chars().count() <= TITLE_CHARS);
        prop_assert!(episode.objective.chars().count() <= OBJECTIVE_CHARS + TITLE_CHARS + 2);
        prop_assert!(episode.continuation_context.chars().count() <= continuation::MAX_CHARS + 2);
        prop_assert!(episode.content().len() <= 16_000);
    }
}
