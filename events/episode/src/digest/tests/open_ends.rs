use serde_json::json;

use super::Session;
use baton_conversation::item::{Body, Outcome, PERSONS_SHELL, Report};

#[track_caller]
fn check(session: Session, unresolved: &[(u64, &str)], next_steps: &[(u64, &str)]) {
    let episode = session.digest();
    let told = |list: &[super::Pointed]| list.iter().map(|end| (end.line, end.text.clone())).collect::<Vec<_>>();
    let owned = |list: &[(u64, &str)]| list.iter().map(|&(line, text)| (line, text.to_owned())).collect::<Vec<_>>();
    assert_eq!((told(&episode.unresolved), told(&episode.next_steps)), (owned(unresolved), owned(next_steps)));
}

fn start() -> Session {
    Session::default().prompt("Make the build green again")
}

#[test]
fn a_failure_is_open_until_the_work_goes_past_it() {
    let failing = || start().failed("cargo test parser", 101, "test parser::lists: boom");
    let open = (3, "cargo test parser: exit 101, test parser::lists: boom");
    check(failing(), &[open], &[]);
    check(failing().ok("ls"), &[(1, "Not finished: Make the build green again"), open], &[]);
    check(failing().ok("cargo test parser"), &[], &[]);
    // Other tests say nothing of these.
    check(failing().ok("cargo test lexer"), &[open], &[]);
    let whole = || start().failed("bun run test", 1, "boom");
    check(whole().ok("bun run test"), &[], &[]);
    check(whole().ok("bun test src/jib.test.ts"), &[(3, "bun run test: exit 1, boom")], &[]);
    check(failing().ok("git commit -m x"), &[open], &[]);
    check(failing().ok("git commit -m x").prompt("now the docs").reply("I wrote the docs of it."), &[open], &[]);
    let otherwise = failing().edit("a.rs", 1, 1).failed("cargo test parser", 101, "test parser::words: boom");
    check(otherwise, &[(7, "cargo test parser: exit 101, test parser::words: boom")], &[]);
}

#[test]
fn what_has_no_end_and_no_answer_is_open() {
    let call = |command: &str| start().call("Bash", json!({ "command": command }), None);
    check(call("make all"), &[(2, "`make all` has no result")], &[]);
    check(call("make all").result(Outcome::Interrupted, None, None), &[(2, "`make all` was interrupted")], &[]);
    check(call("ls"), &[], &[]);
    let question = json!({ "questions": [{ "question": "Which branch?" }] });
    let asked = || start().call("AskUserQuestion", question.clone(), None);
    check(asked(), &[(2, "Not answered: Which branch?")], &[]);
    check(asked().prompt("main of course").reply("I took main for it."), &[], &[]);
    check(start().reply("It is green. Shall I push it?"), &[(2, "Not answered: It is green. Shall I push it?")], &[]);
    check(start().reply("It is green. Shall I push it?").prompt("thanks"), &[], &[]);
    check(start().reply("It is green. Anything else?"), &[], &[]);
    let offer = "It is green. If you want, I can split it as well.";
    check(start().reply(offer), &[(2, "Not answered: If you want, I can split it as well.")], &[]);
    let choice = "It is green. Let me know which of the two you prefer.";
    check(start().reply(choice), &[(2, "Not answered: Let me know which of the two you prefer.")], &[]);
    check(start().reply("It is green. Let me know if you need more."), &[], &[]);
    check(start().reply("It is green.").prompt("and the docs?"), &[(3, "No answer to: and the docs?")], &[]);
}

#[test]
fn a_call_that_nobody_allowed_is_open_until_another_does_the_same() {
    let refused = |session: Session, command: &str| session.failed(command, 1, "This command requires approval");
    let half = || refused(start(), "jib --version");
    check(half().reply("I could not look."), &[(2, "Not permitted: `jib --version`")], &[]);
    check(half().ok("jib -V").reply("It is the jib of last year."), &[], &[]);
    let both = half().call("Fetch", json!({ "url": "jib.example" }), None);
    let both = both.result(Outcome::Failed, None, Some("you haven't granted it yet")).reply("I could not look.");
    check(both, &[(2, "Not permitted: `jib --version`; Fetch jib.example")], &[]);
    check(half().prompt("leave it then").reply("I left the jib alone."), &[], &[]);
}

#[test]
fn an_issue_that_was_filed_is_open_until_it_is_closed() {
    let filed = || start().ok("bd show web-4").ok("bd create --title='Mend the jib' --type=bug");
    let open = (4, "Issue filed with `bd` and not closed: Mend the jib");
    let done = |session: Session| session.reply("I mended the mast.");
    check(done(filed()), &[open], &[]);
    let twice = filed().ok("bd create 'Mend the jib' -t bug");
    check(done(twice), &[(6, open.1)], &[]);
    check(done(filed().ok("bd close web-4")), &[open], &[]);
    check(done(filed().ok("bd close web-5 --reason=done")), &[], &[]);
    check(done(start().failed("gh issue create -t Jib", 1, "no token").ok("ls")), &[], &[]);
    let two = filed().ok("gh issue create --title 'Grease the hook'");
    check(done(two), &[(6, "Issue filed with `bd`, `gh` and not closed: Mend the jib; Grease the hook")], &[]);
}

#[test]
fn what_was_announced_or_stopped_is_open() {
    let stopped = |session: Session| session.add(Body::Notice { text: "interrupted by the user".into() });
    let half = || start().edit("a.rs", 1, 1);
    check(half(), &[], &[]);
    check(stopped(half()), &[(1, "Not finished: Make the build green again")], &[]);
    check(stopped(half()).prompt("never mind").reply("I left it as it is."), &[], &[]);
    let says = || half().reply("It is behind, so I commit first, then I'll rebase it and push.");
    let broken_off = (1, "Not finished: Make the build green again");
    let call = |session: Session| session.call("Bash", json!({ "command": "git commit -m x" }), None);
    let lost = (5, "`git commit -m x` has no result");
    check(call(says()), &[broken_off, lost], &[(4, "I'll rebase it and push.")]);
    check(says().ok("git commit -m x"), &[], &[]);
    // An earlier request is the matter until a round has ended with a conclusion.
    let goes_on = |session: Session| session.prompt("continue").ok("cat a.rs");
    check(goes_on(stopped(half())), &[broken_off], &[]);
    let concluded = half().reply("I mended the parser, and the build is green.");
    check(goes_on(concluded), &[(5, "Not finished: continue")], &[]);
}

#[test]
fn what_a_person_runs_is_no_work_of_the_agent() {
    let done = || start().edit("jib.rs", 1, 1).reply("Fixed: the jib turns to its mark again.");
    let looked = done().ran_by_person("git status", Report::default());
    check(looked, &[], &[]);
    let pushed = done().call(PERSONS_SHELL, json!({ "command": "git push" }), None);
    check(pushed, &[], &[]);
    let episode = done().ran_by_person("git push", Report::default()).digest();
    assert!(episode.exchanges[0].conclusion.is_some() && episode.in_progress.is_none());
}

#[test]
fn the_list_of_things_to_do_counts_as_it_stands_at_the_end() {
    let list = |parser: &str, docs: &str| {
        json!({ "todos": [
            { "content": "Mend the parser", "status": parser, "activeForm": "x" },
            { "content": "Write docs", "status": docs },
            "…[+3 items #01234567]",
        ]})
    };
    let written = |session: Session, parser, docs| {
        session.call("TodoWrite", list(parser, docs), None).result(Outcome::Ok, None, None)
    };
    let half = || written(start(), "in_progress", "pending");
    check(half(), &[(2, "Mend the parser")], &[(2, "Write docs")]);
    check(written(half(), "completed", "pending"), &[], &[(4, "Write docs")]);
    check(written(half(), "completed", "completed"), &[], &[]);
    let task = |session: Session, subject: &str| {
        session.call("TaskCreate", json!({ "subject": subject }), None).result(Outcome::Ok, None, None)
    };
    let update = |session: Session, id: &str, status: &str| {
        let input = json!({ "taskId": id, "status": status });
        session.call("TaskUpdate", input, None).result(Outcome::Ok, None, None)
    };
    let two = || task(task(start(), "Mend the parser"), "Write docs");
    check(two(), &[], &[(2, "Mend the parser"), (4, "Write docs")]);
    check(update(update(two(), "1", "completed"), "2", "in_progress"), &[(4, "Write docs")], &[]);
    check(update(update(two(), "2", "deleted"), "9", "pending"), &[], &[(2, "Mend the parser")]);
}

#[test]
fn the_last_words_say_what_is_left_unless_something_was_changed_since() {
    let report =
        "The parser is green.\n\nNot done: the second page.\n\n## Next steps\n- Tag the release\n- Tell the team\n";
    let left = ([(2, "Not done: the second page.")], [(2, "Tag the release"), (2, "Tell the team")]);
    check(start().reply(report), &left.0, &left.1);
    check(start().reply(report).prompt("commit it").ok("git commit -m x").reply("I committed it."), &left.0, &left.1);
    check(start().reply(report).prompt("do it").edit("a.rs", 1, 1).reply("I mended the second page."), &[], &[]);
    check(
        start().reply("It is green now.").prompt("good. leave the docs for tomorrow").reply("I left the docs alone."),
        &[],
        &[(3, "User: good leave the docs for tomorrow")],
    );
    let broken_off = [(1, "Not finished: Make the build green again")];
    check(start().reply("I found it. Now let me run the tests:"), &broken_off, &[]);
    check(start().reply("I found it. Let me look at it:").ok("cat a.rs"), &broken_off, &[]);
    let then = start().reply(report).prompt("first the lexer").edit("b.rs", 1, 1).reply("I mended the lexer.");
    check(then, &left.0, &left.1);
    check(start().reply("I found it. Now let me run the tests:").ok("make"), &[], &[]);
    // A later list of next steps says nothing of what is open.
    let asked = start().reply("## Caveats\n- the lexer is slow").prompt("Which one is the parser?");
    let advice = "It is `p.rs`.\n\nSo my recommendation:\n\n- Take the old grammar";
    check(asked.reply(advice), &[(2, "the lexer is slow")], &[(4, "Take the old grammar")]);
}

#[test]
fn what_a_plan_wants_checked_by_hand_is_open_if_nobody_can_have_checked_it() {
    let plan = "Implement the following plan:\n\n# Pages\n\n## Verification\n1. `make test`\n2. Open the list of ships in the UI\n3. Click a ship:\n   - its page opens\n4. Read the log\n\nIf you need more, look there.\n";
    let done = |session: Session| session.reply("Each ship has its page.");
    let built = || Session::default().prompt(plan).edit("/srv/src/page.rs", 1, 1).ok("make test");
    let open = (1, "Not seen to be checked: Open the list of ships in the UI; Click a ship: its page opens");
    check(done(built()), &[open], &[]);
    check(done(built().ok("sed -i s/a/b/ src/list.rs")), &[open], &[]);
    check(done(built().prompt("commit it").ok("git commit -m x")), &[open], &[]);
    check(done(built().prompt("now sort the list by name").edit("/srv/src/page.rs", 1, 1)), &[], &[]);
    check(done(built().ok("curl localhost:8080/ships")), &[], &[]);
    check(done(Session::default().prompt(plan)), &[], &[]);
    let commands = plan.replace("in the UI", "").replace("Click a ship", "Every ship");
    check(done(Session::default().prompt(&commands).edit("/srv/src/page.rs", 1, 1)), &[], &[]);
}

#[test]
fn what_is_left_aside_is_open_and_a_stop_after_the_end_is_not() {
    let caveat = start().edit("a.rs", 1, 1).reply("It is green. One caveat: the old mast still leans.");
    let later = caveat.prompt("now the lexer").edit("b.rs", 1, 1).reply("The lexer is new.");
    check(later, &[(4, "One caveat: the old mast still leans.")], &[]);
    let said = "The jib is committed; the other two files remain unstaged.";
    check(start().ok("git commit -m x").reply(said), &[(4, "the other two files remain unstaged.")], &[]);
    let stopped = |session: Session| session.add(Body::Notice { text: "interrupted by the user".into() });
    check(stopped(start().edit("a.rs", 1, 1).ok("git commit -am x").reply("It is green again.")), &[], &[]);
    let plan = json!({ "plan": "# Pages" });
    let refused = |session: Session| {
        session.call("ExitPlanMode", plan.clone(), None).result(Outcome::Denied, None, None).ok("sed -i s/a/b/ a.rs")
    };
    check(refused(start()).reply("It is green again."), &[], &[]);
}

#[test]
fn a_word_that_all_is_well_asks_for_nothing() {
    let said = |text: &str| {
        let session = Session::default().prompt("Mend the winch").edit("winch.rs", 1, 1).reply("The winch is mended.");
        session.prompt(text).digest().unresolved.iter().any(|open| open.text.starts_with("No answer to"))
    };
    for well in ["works now, thanks", "perfect, that works", "looks good, I will merge it", "no"] {
        assert!(!said(well), "{well}");
    }
    for more in ["works now, but make it faster please", "no, use the other rope", "it works now, why?"] {
        assert!(said(more), "{more}");
    }
}

#[test]
fn what_an_agent_leaves_is_no_broken_off_work() {
    let ends = |said: &str| Session::default().prompt("Mend the winch").edit("winch.rs", 1, 1).reply(said).digest();
    let found = ends("The winch is mended. I'll leave the old rope.");
    assert_eq!((found.unresolved.len(), found.concluded.is_some()), (0, true), "{:?}", found.unresolved);
    assert_eq!(ends("Let me look at the rope.").unresolved.len(), 1);
}

#[test]
fn what_git_did_later_is_no_next_step() {
    let asked = || Session::default().prompt("Build the winch").edit("src/winch.rs", 3, 0);
    let next = |session: Session| session.digest().next_steps.into_iter().map(|step| step.text).collect::<Vec<_>>();
    let said = "The winch is built.\n\nNext steps:\n- Review and merge the branch\n- Paint the winch of the quay";
    let listed = || asked().reply(said).prompt("go ahead");
    assert_eq!(next(listed().ok("gh pr merge 7 --merge")), ["Paint the winch of the quay"]);
    assert_eq!(next(listed().ok("git status")), ["Review and merge the branch", "Paint the winch of the quay"]);
    assert_eq!(next(listed().failed("gh pr merge 7", 1, "not mergeable")).len(), 2);
}

#[test]
fn checks_that_still_run_are_no_error() {
    let checked = |said: &str| Session::default().prompt("Is it green?").failed("gh pr checks 7", 8, said).digest();
    assert!(checked("Build the winch pending 0 https://forge.example/runs/1").errors.is_empty());
    assert_eq!(checked("Build the winch fail 2m https://forge.example/runs/1").errors.len(), 1);
}
