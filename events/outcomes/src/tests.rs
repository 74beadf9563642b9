//! Sessions in, outcomes out; and the combined outcomes of many sessions.

mod blame;
mod failure_account;
mod fix;

use std::collections::BTreeMap;

use serde_json::Value;

use super::*;
use baton_conversation::item::{Act, Body, Call, Edit, Outcome, Report, ToolResult, Verdict};
use baton_conversation::record::SessionId;
use baton_episode::digest::{Show, digest};
use baton_events::schema::outcomes::{Ended, Tally, decode, encode};

/// A scripted session: one item per line. The ids of its records begin with a word, or are missing.
#[derive(Default)]
pub(super) struct Script(Vec<Item>, Option<&'static str>);

impl Script {
    fn say(mut self, body: Body) -> Self {
        let line = self.0.len() as u64 + 1;
        let at = Some(Timestamp(1_773_480_000_000 + line as i64 * 1000));
        let uuid = self.1.map(|word| format!("{word}{line}").into());
        self.0.push(Item { line, at, uuid, message: None, sidechain: false, body });
        self
    }

    /// From here on records have ids.
    pub(super) fn of_records(self) -> Self {
        Self(self.0, Some("r"))
    }

    /// From here on records have other ids.
    pub(super) fn forked(self) -> Self {
        Self(self.0, Some("fork"))
    }

    /// Shifts all items by some seconds.
    pub(super) fn later(mut self, seconds: i64) -> Self {
        for item in &mut self.0 {
            item.at = item.at.map(|at| Timestamp(at.0 + seconds * 1000));
        }
        self
    }

    pub(super) fn prompt(self, text: &str) -> Self {
        self.say(Body::Prompt { text: text.to_owned() })
    }

    fn reply(self, text: &str) -> Self {
        self.say(Body::Reply { text: text.to_owned() })
    }

    fn call(self, name: &str, key: &str, value: &str, outcome: Outcome, error: &str) -> Self {
        let id: Box<str> = format!("toolu_{}", self.0.len()).into();
        let input: BTreeMap<String, Value> = [(key.to_owned(), Value::from(value))].into();
        let new_text = "\n  let crane = 1;\n  }\n".to_owned();
        let edit = (name == "Edit").then(|| Edit {
            path: value.to_owned(),
            added: 2,
            removed: 1,
            new_text,
            ..Edit::default()
        });
        let call = Call {
            act: Act::of_tool(name),
            id: id.clone(),
            name: name.to_owned(),
            input,
            edit,
            commit: None,
            plan: None,
            git_line: None,
        };
        let failed = outcome == Outcome::Failed;
        self.say(Body::Call(call)).say(Body::Result(ToolResult {
            id,
            name: Some(name.to_owned()),
            outcome,
            exit_code: failed.then_some(101),
            text: format!("{name} {value}: {}", if failed { error } else { "ok, 3 lines" }),
            error: failed.then(|| error.to_owned()),
            duration_ms: None,
            agent: None,
            report: None,
        }))
    }

    pub(super) fn ok(self, line: &str) -> Self {
        self.call("Bash", "command", line, Outcome::Ok, "")
    }

    pub(super) fn fails(self, line: &str, error: &str) -> Self {
        self.call("Bash", "command", line, Outcome::Failed, error)
    }

    /// A line with exit code 0 whose output contains a verdict.
    fn says(self, line: &str, verdict: &Verdict) -> Self {
        let before = self.0.len();
        let mut script = self.ok(line);
        if let Some(Body::Result(result)) = script.0.get_mut(before + 1).map(|item| &mut item.body) {
            result.report = Some(Box::new(Report { verdict: Some(verdict.clone()), ..Report::default() }));
        }
        script
    }

    pub(super) fn edit(self, path: &str) -> Self {
        self.call("Edit", "file_path", path, Outcome::Ok, "")
    }

    fn read(self, path: &str) -> Self {
        self.call("Read", "file_path", path, Outcome::Ok, "")
    }

    fn outcomes(&self) -> Outcomes {
        self.outcomes_in("/srv/shop")
    }

    fn outcomes_in(&self, project: &str) -> Outcomes {
        let session = SessionId::new("s").unwrap();
        let at =
            Surroundings { session: &session, group: project, project: Some(project), parent: None, follows: None };
        let outcomes = outcomes(&self.0, &digest(&self.0, &Show::default()), &at);
        assert_eq!(decode(&encode(&outcomes)).as_ref(), Some(&outcomes), "what is stored is what was meant");
        outcomes
    }

    pub(super) fn witness(&self, session: &str, project: &str) -> Witness {
        Witness {
            session: session.to_owned(),
            project: Some(project.to_owned()),
            title: format!("title of {session}"),
            at: Some(Timestamp(1_773_480_000_000)),
            calls: encode(&self.outcomes_in(project)).lines().nth(1).unwrap_or_default().to_owned(),
            outcomes: self.outcomes_in(project),
        }
    }
}

pub(super) const MOVED: &str = "error[E0382]: borrow of moved value: `token`";

#[test]
fn runs_are_counted_by_program_and_line() {
    let session = Script::default()
        .ok("cd /srv/shop && cargo test -p auth")
        .ok("cargo test -p auth")
        .fails("cargo test -p auth 2>&1", MOVED)
        .ok("cargo test --all 2>&1 | tail -5")
        .ok("cargo fmt && cargo test --all")
        .fails("cargo fmt && cargo test --all", MOVED)
        .ok("cargo test; echo done")
        .ok("cargo test || true")
        .call("Bash", "command", "cargo test -p slow", Outcome::Denied, "")
        .call("Bash", "command", "cargo test -p slow", Outcome::Interrupted, "")
        .fails("cargo test -p x", "This command requires approval")
        .ok("ls -la && git status");
    let outcomes = session.outcomes();
    let shown = |command: &baton_events::schema::outcomes::Command| format!("{} {:?}", command.name, command.runs);
    let test = &outcomes.commands[0];
    let (shared_ok, shared_failed, piped_ok) = (1, 1, 1);
    let known = Tally { ok: 2, failed: 1, shared_ok, shared_failed, piped_ok, ..Tally::default() };
    let tally = Tally { denied: 1, interrupted: 1, unknown: 3, ..known };
    assert_eq!((test.name.as_str(), test.runs), ("cargo test", tally), "{:?}", outcomes.commands);
    let format = &outcomes.commands[1];
    let tally = Tally { shared_ok: 1, unknown: 1, ..Tally::default() };
    assert_eq!((format.name.as_str(), format.runs), ("cargo fmt", tally));
    assert_eq!(outcomes.commands.len(), 2, "{:?}", outcomes.commands.iter().map(shown).collect::<Vec<_>>());
    assert_eq!(test.last_failure.as_ref().map(|excerpt| excerpt.text.as_str()), Some(MOVED));
    let first = &test.lines[0];
    assert_eq!((first.text.as_str(), first.runs.all(), first.ended), ("cargo test -p auth", 3, Ended::Failed));
}

#[test]
fn a_failure_is_followed_to_what_made_it_go_away() {
    let session = Script::default()
        .prompt("fix the login")
        .fails("cargo test -p auth", MOVED)
        .edit("/srv/shop/src/session.rs")
        .fails("cargo test -p auth", MOVED)
        .fails("cargo test -p auth", MOVED)
        .edit("/srv/shop/src/auth.rs")
        .ok("cargo add moka")
        .ok("git status")
        .ok("cargo test -p auth")
        .edit("/srv/shop/src/later.rs");
    let outcomes = session.outcomes();
    let [failure] = &outcomes.failures[..] else { panic!("{:?}", outcomes.failures) };
    assert_eq!((failure.text.as_str(), failure.command.as_str(), failure.times), (MOVED, "cargo test", 3));
    let [tried] = &failure.tried[..] else { panic!("{failure:?}") };
    assert_eq!((&tried.files[..], tried.line), (&["src/session.rs".to_owned()][..], 7));
    let fix = failure.fix.as_ref().unwrap();
    assert_eq!(fix.files, ["src/auth.rs"], "what was edited before it failed again was in vain");
    assert!(fix.commands.is_empty(), "a new dependency mends no borrow: {fix:?}");
    assert_eq!(fix.line, 17);
    let [retry] = &outcomes.retries[..] else { panic!("{:?}", outcomes.retries) };
    assert_eq!((retry.what.as_str(), retry.times, retry.edits, retry.resolved), ("cargo test", 3, 1, true));

    let asked = "   Compiling auth v0.1.0\nerror[E0382]: borrow of moved value: `token`\n  --> src/auth.rs:9:1\n\nerror: could not compile";
    let told = fix_of(asked, &[session.witness("one", "/srv/shop")]);
    assert_eq!(told.message, "seen 3 times in 1 session, went away once");
    assert_eq!(told.error, MOVED);
    let found = &told.matches[0];
    assert!(found.same && found.fixes[0].files == ["src/auth.rs"], "{found:?}");
    assert_eq!((found.fixes[0].session_id.as_str(), found.fixes[0].line), ("one", 17));
    assert_eq!(found.tried_in_vain[0].files, ["src/session.rs"]);
    assert_eq!(found.unresolved, None);
}

#[test]
fn a_failure_that_a_person_reports_goes_away_as_the_episode_says() {
    let session = Script::default()
        .prompt("The deploy fails now:\n\nerror: pathspec 'winch' did not match any files\n")
        .edit("/srv/shop/deploy.sh")
        .ok("cargo test")
        .say(Body::Reply { text: "I fixed the pathspec in the script.".to_owned() });
    let told = fix_of("error: pathspec 'winch' did not match any files", &[session.witness("one", "/srv/shop")]);
    assert_eq!(told.message, "seen once in 1 session, went away once");
    assert_eq!(told.matches[0].fixes[0].files, ["deploy.sh"]);
}

pub(super) fn fix_of(asked: &str, witnesses: &[Witness]) -> baton_protocol::answer::Fix {
    fix(&FixQuery::read(asked), witnesses, 3)
}

#[test]
fn what_never_went_away_is_said_so() {
    let session = Script::default()
        .prompt("deploy")
        .fails("npm run deploy", "Error: connect ECONNREFUSED 10.0.0.7:5432")
        .edit("deploy.json")
        .fails("npm run deploy", "Error: connect ECONNREFUSED 10.0.0.7:5432");
    let witness = [session.witness("one", "/srv/shop")];
    let told = fix_of("connect ECONNREFUSED 127.0.0.1:5432", &witness);
    assert_eq!(told.message, "seen twice in 1 session, no resolution seen");
    let found = &told.matches[0];
    assert!(found.same && found.fixes.is_empty(), "{found:?}");
    assert_eq!(found.tried_in_vain[0].files, ["deploy.json"]);
    // The last occurrence.
    assert_eq!(found.unresolved.as_ref().map(|place| place.line), Some(7));
    let like = fix_of("connect ECONNREFUSED to the queue", &witness);
    assert_eq!(like.message, "others like it were seen twice in 1 session, no resolution seen");
    let nothing = fix_of("segmentation fault", &witness);
    assert!(nothing.message.starts_with("not seen as a failure in any session") && nothing.matches.is_empty());
    for general in
        ["test failed", "FAIL", "Error: Process completed with exit code 1.", "error: script \"lint\" exited"]
    {
        assert!(fix_of(general, &witness).message.starts_with("too general"), "{general}");
        assert!(!FixQuery::read(general).has_words(), "{general}");
    }
}

#[test]
fn what_a_pipe_hides_is_no_success() {
    let error = "TypeError: parse is not iterable";
    let mut session = Script::default();
    for _ in 0..4 {
        session = session
            .prompt("repair the parser")
            .fails("npm test", error)
            .edit("/srv/shop/src/p.ts")
            .ok("npm test 2>&1 | tail -20")
            .edit("/srv/shop/src/q.ts")
            .ok("npm test || true");
    }
    let witness = [session.witness("one", "/srv/shop")];
    let told = how("npm test", &witness, None, 5);
    assert_eq!((told.runs.count, told.runs.ok, told.runs.failed, told.runs.unknown), (12, 0, 4, 8));
    assert_eq!((told.runs.success_rate, told.runs.rate_of), (Some(0.0), 4));
    assert!(told.lines.iter().all(|line| line.runs.ok == 0), "{:?}", told.lines);
    let found = fix_of(error, &witness);
    assert!(found.message.ends_with("it ran again, and how that ended is not known"), "{}", found.message);
    assert!(found.matches[0].fixes.is_empty() && found.matches[0].unresolved.is_none(), "{:?}", found.matches);
    let failing = patterns(&witness, None, 9, None);
    let of_tests = failing.sequences.iter().filter(|one| one.steps.last().is_some_and(|step| step == "npm test"));
    assert!(of_tests.clone().count() > 0 && of_tests.clone().all(|one| one.ok == 0), "{:?}", failing.sequences);

    // A run that fails with several lines is one failure per run.
    let mut session = Script::default().prompt("repair the parser");
    for line in ["npm test", "npm test -- --bail", "npm test -- p"] {
        session = session.fails(line, error).edit("/srv/shop/src/p.ts");
    }
    let told = fix_of(error, &[session.ok("npm test").witness("one", "/srv/shop")]);
    assert_eq!(told.message, "seen 3 times in 1 session, went away once");

    // The output says how it went.
    let failed = &Verdict::Failed("TypeError: parse is not iterable".to_owned());
    let session = Script::default()
        .prompt("repair the parser")
        .says("npm test 2>&1 | tail -20", failed)
        .edit("/srv/shop/src/p.ts")
        .says("npm test 2>&1 | tail -20", failed)
        .edit("/srv/shop/src/q.ts")
        .says("npm test 2>&1 | tail -20", &Verdict::Passed);
    let witness = [session.witness("one", "/srv/shop")];
    let told = how("npm test", &witness, None, 5);
    assert_eq!((told.runs.ok, told.runs.failed, told.runs.unknown), (1, 2, 0));
    let found = fix_of(error, &witness);
    assert_eq!(found.message, "seen twice in 1 session, went away once");
    assert_eq!(found.matches[0].fixes[0].files, ["src/q.ts"]);
    assert_eq!(found.matches[0].tried_in_vain[0].files, ["src/p.ts"]);
}

#[test]
fn a_whole_line_is_answered_for_itself() {
    let mut session = Script::default().fails("cargo test", "error[E0308]: mismatched types");
    for _ in 0..4 {
        session = session.ok("cargo test --release").ok("uv run pytest").fails("(source v && pytest -q)", "1 failed");
    }
    let witness = [session.witness("one", "/srv/shop")];
    let check = |asked: &str, count: u32, failure: Option<&str>, says: &str| {
        let told = how(asked, &witness, None, 5);
        assert_eq!(told.runs.count, count, "{asked}: {}", told.message);
        assert_eq!(told.last_failure.as_ref().map(|place| place.text.as_str()), failure, "{asked}");
        assert!(told.message.contains(says), "{asked}: {}", told.message);
    };
    let mismatched = Some("error[E0308]: mismatched types");
    check("cargo test --release", 4, None, "(100% of 4)");
    check("cargo test", 5, mismatched, "(80% of 5)");
    check("cargo test --nope", 5, mismatched, "no line with `--nope` is known; `cargo test` ran");
    check("uv run pytest", 4, None, "`uv run pytest` ran 4 times");
    check("pytest -q", 4, Some("1 failed"), "(0% of 4)");
    let both = limited_to_newest(with_other_projects(how("cargo test", &witness, None, 5), told_of(&witness)), 400, 7);
    assert!(both.message.ends_with("; in other projects 5 times, 80% of 5; of the newest 400 sessions only"));
}

fn told_of(witnesses: &[Witness]) -> baton_protocol::answer::Runs {
    how("cargo test", witnesses, None, 5).runs
}

#[test]
fn lines_come_to_what_is_told_of_the_whole() {
    let mut session = Script::default();
    for n in 0..5 {
        session = session
            .ok("git add -A")
            .ok(&format!("git add a{n} && git commit -m {n}"))
            .ok(&format!("git add b{n}; git commit -m {n}"))
            .ok(&format!("cargo test a{n} 2>&1 | tail -3"))
            .fails(&format!("cargo test b{n} 2>&1 | tail -3"), "error[E0308]: mismatched types")
            .says(&format!("for i in 1 2; do cargo test c{n} | tail -3; done"), &Verdict::Passed);
    }
    let witness = [session.witness("one", "/srv/shop")];
    let check = |asked: &str, count: u32, ok: u32, failed: u32| {
        let told = how(asked, &witness, None, 50);
        assert_eq!((told.runs.count, told.runs.ok, told.runs.failed), (count, ok, failed), "{}", told.message);
        let of_lines = |take: fn(&baton_protocol::answer::Runs) -> u32| -> u32 {
            told.lines.iter().map(|line| take(&line.runs)).sum()
        };
        let lines = (of_lines(|runs| runs.count), of_lines(|runs| runs.ok), of_lines(|runs| runs.failed));
        assert_eq!(lines, (count, ok, failed), "the lines of {asked}");
        assert_eq!(of_lines(|runs| runs.unknown), told.runs.unknown, "the lines of {asked}");
    };
    // If `A && B` succeeds, A succeeded; `A; B` proves nothing about A.
    check("git add", 15, 10, 0);
    check("git commit", 10, 10, 0);
    // The pipe passes failures on in all lines or in none; the loop proves nothing.
    check("cargo test", 15, 5, 5);
}

#[test]
fn how_a_command_is_run() {
    let mut one = Script::default();
    for n in 0..20 {
        one = match n % 5 {
            0 => one.fails("npm test -- --runInBand", "FAIL src/a.test.ts"),
            _ => one.ok("npm test -- --runInBand"),
        };
    }
    let two =
        Script::default().ok("npm run build").ok("npm t").call("Bash", "command", "npm test", Outcome::Interrupted, "");
    let witnesses = [two.witness("two", "/srv/shop"), one.witness("one", "/srv/shop")];
    let told = how("npm test", &witnesses, None, 5);
    // `npm t` is typed otherwise.
    assert_eq!((told.runs.count, told.runs.ok, told.runs.failed, told.runs.interrupted), (21, 16, 4, 1));
    assert_eq!(told.runs.success_rate, Some(0.8));
    assert_eq!(told.lines[0].text, "npm test -- --runInBand");
    assert_eq!(told.lines[0].runs.success_rate, Some(0.8));
    assert_eq!((told.sessions, told.lines.len()), (2, 2));
    assert_eq!(told.last_failure.as_ref().map(|place| place.text.as_str()), Some("FAIL src/a.test.ts"));
    assert_eq!(
        told.message,
        "`npm test` ran 21 times in 2 sessions: 16 succeeded, 4 failed, 1 interrupted (80% of 20)"
    );

    let only = how("npm test -- --runInBand", &witnesses, None, 5);
    assert_eq!((only.runs.count, only.lines.len()), (20, 1));
    let few = how("npm run build", &witnesses, None, 5);
    assert_eq!(few.message, "`npm run build` was seen once, too few to say how it usually ends");
    assert_eq!((few.runs.success_rate, few.lines.len()), (None, 1));
    let whole = how("npm", &witnesses, None, 5);
    let names: Vec<&str> = whole.subcommands.iter().map(|one| one.command.as_str()).collect();
    assert_eq!((whole.runs.count, names), (23, vec!["npm test", "npm run build"]));
    assert_eq!(how("rg x", &witnesses, None, 5).message, "`rg x` only looks; runs of such commands are not counted");
    assert_eq!(how("make", &witnesses, None, 5).message, "no known session ran `make`");
}

#[test]
fn words_and_wrappers_lead_to_lines_that_worked() {
    let mut session = Script::default();
    for n in 0..3 {
        session = session
            .fails("rtk bun run test 2>&1 | tail -20", "error: unrecognized subcommand 'bun'")
            .ok("bun run test")
            .ok(&format!("sed -n '{n},9p' docs/push-a-branch.md"));
    }
    let session = session.ok("rtk proxy gh api repos").ok("bun run lint").ok("git push origin x && git branch -d y");
    let witness = [session.witness("one", "/srv/shop")];
    let check = |asked: &str, lines: &[&str], says: &str| {
        let told = how(asked, &witness, None, 5);
        assert_eq!(told.lines.iter().map(|line| line.text.as_str()).collect::<Vec<_>>(), lines, "{asked}");
        assert!(told.message.contains(says), "{asked}: {}", told.message);
    };
    let wrapped = "rtk bun run test 2>&1 | tail -20";
    // The wrapper has run nothing.
    check("run the tests", &["bun run test"], "lines for `run the tests` ran 3 times");
    check("gh api", &["rtk proxy gh api repos"], "`gh api` was seen once");
    check("rtk bun run test", &["bun run test", wrapped], "; `bun run test` works");
    check("bun lint", &["bun run lint"], "no line with `bun lint` is known; other forms of it");
    check("push branch", &["git push origin x && git branch -d y"], "");
    check("deploy", &[], "no known session ran `deploy`");
    check("fast bun tests", &["bun run test"], "no line has all of `fast bun tests`; nearest: lines like it");
    check("fast tests", &[], "no known session ran");
    check("run fast tests", &["bun run test"], "no line has all of `run fast tests`; nearest: lines like it");
}

#[test]
fn sessions_are_found_by_what_they_ran_and_touched() {
    let session = Script::default().prompt("x").ok("cargo test -p a").edit("/srv/shop/src/Auth.rs").read("src/lib.rs");
    let keys: Vec<String> = search_keys(&session.outcomes()).into_iter().collect();
    assert_eq!(
        keys,
        ["c:cargo test", "d:src", "f:auth.rs", "f:lib.rs", "p:cargo", "w:a", "w:cargo", "w:p", "w:test", "x:rs"]
    );
    for (asked, expected) in [
        ("cargo test", "c:cargo test w:cargo w:test"),
        ("cd x && cargo t -p b", "c:cargo test w:cd w:x w:cargo w:t w:p w:b"),
        ("cargo", "p:cargo w:cargo"),
        ("python -m pytest -q", "p:pytest w:python w:m w:pytest w:q"),
        ("how do we deploy", "p:how w:deploy"),
        ("format the code", "p:format w:format w:fmt w:format w:prettier w:black w:rustfmt w:gofmt"),
    ] {
        assert_eq!(how_keys(asked).join(" "), expected, "{asked}");
    }
    assert_eq!(file_key("src/auth.rs"), "f:auth.rs");
}

#[test]
fn patterns_are_what_is_done_again_and_again() {
    let mut session = Script::default();
    for n in 0..4 {
        session = session
            .prompt("go on")
            .edit("a.rs")
            .edit("b.rs")
            .fails("cargo test", MOVED)
            .read("a.rs")
            .ok("git commit -m x");
        if n == 3 {
            session = session
                .fails("make deploy", "no route")
                .fails("make deploy", "no route")
                .fails("make deploy", "no route");
        }
    }
    let witnesses = [session.witness("one", "/srv/shop")];
    let told = patterns(&witnesses, Some("/srv/shop"), 10, Some(Format::Mermaid));
    let first = &told.sequences[0];
    assert_eq!(first.steps, ["Edit", "cargo test", "Read", "git commit"]);
    assert_eq!((first.count, first.success_rate), (4, Some(1.0)));
    assert_eq!(told.sequences.len(), 1, "what is only in a longer one is left out: {:?}", told.sequences);
    let failing: Vec<(&str, u32)> =
        told.mostly_failing.iter().map(|one| (one.command.as_str(), one.runs.failed)).collect();
    assert_eq!(failing, [("cargo test", 4), ("make deploy", 3)]);
    let loops: Vec<(&str, u32, u32)> =
        told.retry_loops.iter().map(|one| (one.what.as_str(), one.longest, one.without_edits)).collect();
    assert_eq!(loops, [("cargo test", 4, 0), ("make deploy", 3, 1)]);
    assert!(told.diagram.unwrap().contains("-->|\"4x, 0% ok\"|"));
    assert!(patterns(&[], None, 10, None).message.starts_with("in 0 sessions"));
}

#[test]
fn a_session_of_any_length_gives_bounded_outcomes() {
    let mut session = Script::default().prompt("x");
    for n in 0..700 {
        let line = format!("tool{n} --flag");
        session =
            session.edit(&format!("dir/f{n}.rs")).fails(&line, &format!("error: number {n} is {}", "x".repeat(400)));
    }
    let outcomes = session.outcomes();
    assert_eq!((outcomes.commands.len(), outcomes.failures.len()), (MAX_COMMANDS, MAX_FAILURES));
    assert!(outcomes.files.len() <= MAX_FILES && outcomes.left_out > 500, "{}", outcomes.left_out);
    let bytes = encode(&outcomes).len();
    assert!(bytes < 200_000, "{bytes}");
    assert_eq!(encode(&outcomes), encode(&session.outcomes()));
}
