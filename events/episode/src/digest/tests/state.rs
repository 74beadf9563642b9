//! What the work came to at the end of a session.

use super::*;

#[track_caller]
fn check(session: Session, expected: &str) {
    assert_eq!(session.digest().concluded.as_deref(), Some(expected));
}

fn winch() -> Session {
    let said =
        "The winch now stops at the mark:\n- `src/winch.rs`: reads the mark before each turn\n- `src/mark.rs`: new";
    Session::default().prompt("Stop the winch at the mark").edit("src/winch.rs", 4, 1).reply(said)
}

const WINCH: &str =
    "The winch now stops at the mark: `src/winch.rs`: reads the mark before each turn; `src/mark.rs`: new";

#[test]
fn a_commit_and_a_change_log_say_nothing_beyond_the_work() {
    check(winch(), WINCH);
    let committed = winch()
        .prompt("commit this")
        .ok("git commit -m 'Stop at the mark'")
        .reply("Commit `0a1b2c3` created successfully. All 219 tests pass.");
    check(committed, WINCH);
    let noted = winch()
        .prompt("update the changelog")
        .edit("CHANGELOG.md", 1, 0)
        .reply("Added the entry for the winch to `CHANGELOG.md`.");
    check(noted, WINCH);
    let explained = winch().prompt("How fast is it?").reply("It reads the mark 40 times a second. Nice and smooth.");
    check(explained, &format!("{WINCH}. It reads the mark 40 times a second."));
    let only =
        Session::default().prompt("Note the winch").edit("README.md", 1, 0).reply("`README.md` names the winch.");
    check(only, "`README.md` names the winch.");
}

#[test]
fn sentences_that_name_nothing_give_way() {
    let said = "Great, that was a nice one. Everything is so much better now. The hoist waits for `Brake::open`.";
    let hoist = winch().prompt("And the hoist?").edit("src/hoist.rs", 3, 1).reply(said);
    check(hoist.prompt("thanks").reply("Anytime, friend."), &format!("{WINCH}. The hoist waits for `Brake::open`."));
    let only = Session::default().prompt("Make it faster").edit("a.rs", 1, 1).reply("It is much faster than before.");
    check(only, "It is much faster than before.");
}

#[test]
fn what_is_told_again_is_told_as_it_is_at_last() {
    let again = winch().prompt("It still slips").edit("src/winch.rs", 1, 0).edit("src/mark.rs", 1, 0);
    let said = "The winch now stops at the mark: `src/winch.rs` reads the mark before each turn; `src/mark.rs` has a \
                margin; `src/brake.rs` is new";
    check(again.edit("src/brake.rs", 2, 0).reply(said), said);
}

#[test]
fn what_is_not_so_any_more_is_not_told() {
    let gone = winch()
        .prompt("no marks please")
        .edit("src/winch.rs", 1, 9)
        .reply("Removed `src/mark.rs`. The `Winch` turns on.");
    check(gone, "The `Winch` turns on.");
    let fails = "The `Jib` fails because `Pin::hold` is bent.";
    let found = || Session::default().prompt("Check the jib").read("src/jib.rs").reply(fails);
    check(found().prompt("commit").ok("git commit -m 'Look at the jib'"), fails);
    let worked = found().prompt("ok").edit("src/pin.rs", 3, 0).ok("make test");
    assert_eq!(worked.digest().concluded, None);
    let offered = |reply: &str| {
        let asked = Session::default().prompt("Check the jib").edit("src/jib.rs", 1, 1);
        asked.reply(&format!("The `Jib` is full of rust. It fails on `turn`. {reply}")).prompt("yes").ok("make clean")
    };
    assert_eq!(offered("Shall I clean it?").digest().concluded, None);
    check(offered("It is old."), "The `Jib` is full of rust. It fails on `turn`.");
}

#[test]
fn work_that_was_put_back_is_not_told() {
    let tried = || {
        let asked = winch().prompt("commit").ok("git commit -am 'Stop at the mark'").prompt("And the page?");
        asked.edit("app/[id]/page.tsx", 2, 1).reply("The page of `Winch` now reads `params.id` first.")
    };
    let put_back = tried().prompt("undo that").ok("git restore 'app/[id]/page.tsx'");
    check(put_back, WINCH);
    check(tried(), &format!("{WINCH}. The page of `Winch` now reads `params.id` first."));
}

#[test]
fn a_check_that_a_person_shows_failing_is_no_way_to_check() {
    let passed = || winch().ok("make test").reply("It passes.");
    let state = |session: Session| session.digest().state.check;
    assert_eq!(state(passed()).as_deref(), Some("make test"));
    let shown = passed().prompt("> make test\nerror: the winch is stuck\nmake: *** [test] Error 1");
    assert_eq!(state(shown), None);
}

#[test]
fn what_was_found_last_is_told_where_the_work_breaks_off() {
    let found = "Found it: the `Hoist` never reads the mark. It stops by the clock of `Timer` alone.";
    let looked = || winch().prompt("It slips").reply(found).read("src/timer.rs");
    check(looked(), &format!("{WINCH}. {found}"));
    check(looked().edit("src/timer.rs", 1, 1), WINCH);
    check(looked().reply("API Error: 500 overloaded"), &format!("{WINCH}. {found}"));
}

#[test]
fn a_command_is_shown_with_the_directory_below_that_it_changes_to() {
    let session = || Session::default().cwd("/srv/crane").prompt("Check the jib");
    let shown = |line: &str| {
        let Episode { commands, state, .. } = session().ok(line).digest();
        (commands[0].text.clone(), state.check.unwrap_or_default())
    };
    let told = |text: &str| (text.to_owned(), text.to_owned());
    assert_eq!(shown("cd jib && make test"), told("cd jib && make test"));
    assert_eq!(shown("cd /srv/crane/jib/; make test"), told("cd jib && make test"));
    for line in ["make test", "cd /srv/crane && make test", "cd /srv/winch && make test"] {
        assert_eq!(shown(line), told("make test"), "{line}");
    }
}

#[test]
fn a_claim_is_not_repeated_after_a_failed_check() {
    let said = "Updated 3 tests and all tests pass. `Boom` keeps its angle.";
    let work = || Session::default().prompt("Keep the angle of the boom").edit("src/boom.rs", 2, 2);
    check(work().ok("make test").reply(said), said);
    check(work().failed("make test", 2, "1 failed").reply(said), "`Boom` keeps its angle.");
}

#[test]
fn the_last_commit_is_told_with_its_push() {
    let state = |session: Session| session.digest().state;
    let once = || winch().ok("git add -A && git commit -m \"Stop at the \\\"mark\\\"\"");
    assert_eq!(state(once()).commit.as_deref(), Some("Stop at the \"mark\""));
    assert!(!state(once()).pushed && state(once().ok("git push")).pushed);
    assert!(!state(once().ok("git push").ok("git commit -m 'Next thing to do'")).pushed);
    let cut = winch().ok("git commit -m \"$(cat <<'EOF'\nStop the winch at the ma…[+80 chars #0a1b2c3d]");
    assert_eq!(state(cut).commit.as_deref(), Some("Stop the winch at the…"));
}

#[test]
fn what_a_stopped_exchange_did_is_told_by_the_next_conclusion() {
    let stopped = winch().prompt("Let the boom turn by itself").edit("src/boom.rs", 30, 2);
    let asked = stopped.prompt("Is there a shorter way?").ok("make boom");
    let said = "`turn()` in `src/boom.rs` now turns the boom by itself, and `stop()` holds it above the load, in 3 steps for \
                each of the marks, unless the winch still runs.";
    check(asked.reply(said), said);
}

#[test]
fn what_a_person_takes_back_is_no_part_of_the_session() {
    let episode = winch()
        .prompt("call it crane, and reuse the same branch instead of a new one")
        .reply("Understood: I'll reuse one stable branch instead of a new one for each run.")
        .prompt("oops wrong chat. ignore last message. the mark should be lower")
        .edit("src/mark.rs", 1, 1)
        .reply("The mark of `src/mark.rs` is lower now.")
        .digest();
    assert!(!format!("{episode:?}").contains("branch instead"), "{episode:#?}");
    assert_eq!(episode.prompts.last().map(|said| said.text.as_str()), Some("the mark should be lower"));
}

#[test]
fn a_long_prompt_is_for_what_its_heading_names() {
    let intro = "You work in the harbour. Read `AGENTS.md` and `HARBOUR.md` first. Start with `git fetch origin`.";
    let prompt =
        format!("# Task: Design a quay without a winch\n\n{intro}\n\n## Problem\n\n{}", "The quay is low. ".repeat(60));
    let objective = Session::default().prompt(&prompt).edit("docs/quay.md", 9, 0).digest().objective;
    assert_eq!(objective, "Design a quay without a winch. You work in the harbour.");
}

#[test]
fn repairs_at_the_end_are_told_after_what_they_repair() {
    let said = "The winch now stops at the mark by `Mark::read`.";
    let big = || Session::default().prompt("Stop the winch at the mark").edit("src/winch.rs", 90, 1).reply(said);
    let first = "Raised the limit of `Drum`, as it had been read from the wrong end of the rope when the load was small, \
                 which left the hook below the deck";
    let repaired = big().prompt("The hook hangs too low").edit("src/winch.rs", 4, 2).reply(first);
    let last = repaired.prompt("It hums").edit("src/winch.rs", 2, 2).reply("Greased the bearing of `Drum`.");
    check(last, &format!("{said} Greased the bearing of `Drum`."));
}

#[test]
fn the_last_request_is_told_if_nothing_was_done_for_it() {
    let asked = |session: Session| session.digest().last_request.map(|asked| asked.text);
    let next = "Now show the load on the panel of the deck";
    assert_eq!(asked(winch().prompt(next).reply("Which panel do you mean?")).as_deref(), Some(next));
    let told = winch().prompt(next).reply("Which panel do you mean?").digest().continuation_context;
    assert!(told.contains(&format!(" Asked last: {next}. ")), "{told}");
    assert_eq!(asked(winch().prompt(next).edit("src/panel.rs", 3, 0).reply("Done in `panel.rs`.")), None);
    for other in ["thanks, great", "commit it", "Stop the winch at the mark"] {
        assert_eq!(asked(winch().prompt(other).reply("It is as it was.")), None, "{other}");
    }
}

#[test]
fn a_plan_that_nobody_approved_is_told_with_its_place_and_its_goal() {
    let place = "/home/ada/plans/quiet-hook.md";
    let text = "# Plan: Show the load\n\n## Context\nNobody sees it.\n\nGoal: Show the load on the panel of the deck.";
    let session = Session::default().cwd("/srv/crane").prompt("Plan how the load is shown").edit(place, 9, 0);
    let call = session.call("ExitPlanMode", json!({ "plan": text }), None);
    let episode = call.result(Outcome::Denied, None, None).digest();
    assert_eq!(episode.unresolved[0].text, format!("Plan not approved: Show the load (written to {place})"));
    let told = "Planned, not approved: Show the load on the panel of the deck.";
    assert_eq!(episode.in_progress.as_deref(), Some(told));
}

#[test]
fn a_polite_question_is_a_goal_without_its_mark() {
    let goal = |prompt: &str| Session::default().prompt(prompt).reply("I looked.").digest().continuation_context;
    assert!(
        goal("Can you please mend `jib.rs` of the old crane? It leaks.")
            .starts_with("Goal: mend `jib.rs` of the old crane. It leaks.")
    );
    assert!(
        goal("Why does the old crane leak at night? It is dry.")
            .starts_with("Goal: Why does the old crane leak at night? It is dry.")
    );
}

#[test]
fn what_a_person_turned_down_is_told_with_their_words() {
    let said = "No, it still turns past the mark.";
    check(winch().prompt(said), &format!("{WINCH}. The person answered: {said}"));
    check(winch().prompt("Thanks, now the hoist."), WINCH);
}
