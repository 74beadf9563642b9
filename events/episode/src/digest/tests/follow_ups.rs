//! What a person says about work that was done, and what became of what the agent had decided.

use super::Session;
use super::undone::edit;

fn built() -> Session {
    let built = edit(Session::default().prompt("Build the winch"), "src/winch.rs", "", "struct Winch { drum: Drum }");
    built.reply("The winch is built.")
}

#[track_caller]
fn check(session: Session, expected: &[&str]) {
    let found: Vec<String> = session.digest().decisions.into_iter().map(|said| said.text).collect();
    assert_eq!(found, expected);
}

#[test]
fn a_short_request_about_earlier_work_decides_if_the_work_shows_it() {
    let asked =
        |said: &str| edit(built().prompt(said), "src/winch.rs", "drum: Drum", "drum: Drum, brake: Grease<Brake>");
    check(asked("The brake should be on the drum"), &["User: The brake should be on the drum (`winch.rs`)"]);
    check(
        asked("grease it well and remove the brake from the drum"),
        &["User: grease it well and remove the brake from the drum (`winch.rs`)"],
    );
    check(asked("The sails should be painted"), &[]);
    check(asked("Should the brake be on the drum?"), &[]);
    check(asked("The brake should be on the drum, but it fails"), &[]);
    check(built().prompt("The brake should be on the drum").reply("It will be."), &[]);
    let noted = built().prompt("Mention the brake in the changelog").edit("CHANGELOG.md", 1, 0);
    check(noted.reply("The changelog mentions the brake."), &[]);
    let first =
        edit(Session::default().prompt("The brake should be on the drum"), "src/winch.rs", "", "brake on a drum");
    check(first, &[]);
}

#[test]
fn who_has_words_of_the_session_replaced_decides() {
    let asked =
        |said: &str| edit(built().prompt(said), "src/winch.rs", "struct Winch { drum: Drum }", "struct Hoist {}");
    check(asked("the winch struct is a hoist"), &["User: the winch struct is a hoist (`winch.rs`)"]);
    check(asked("the winch struct is broken"), &[]);
    check(asked("look at the winch struct"), &[]);
    check(asked("the winch\nstruct\nis a\nhoist"), &[]);
    let foreign = edit(built().prompt("the mast struct is a boom"), "src/mast.rs", "struct Mast {}", "struct Boom {}");
    check(foreign, &[]);
}

#[test]
fn an_answer_to_several_questions_decides() {
    let asked = |reply: &str| Session::default().prompt("Plan the winch").reply(reply);
    let said =
        format!("1. The rope should be of steel.\n2. {}", "I know of no drum that we have in the shed. ".repeat(9));
    let answer = |session: Session| session.prompt(&said).edit("src/winch.rs", 2, 0);
    check(answer(asked("Which rope? And which drum?")), &["User: The rope should be of steel."]);
    check(answer(asked("The plan is there.")), &[]);
}

#[test]
fn what_stands_in_a_pasted_text_each_time_decides_nothing() {
    let rule = "Check the winch. Keep the list of parts short and sorted. Keep the winch greased all year.";
    let twice = built().prompt(rule).edit("parts.txt", 1, 0).reply("Done.").prompt(rule).edit("parts.txt", 1, 0);
    check(twice, &[]);
    let once = built().prompt(rule).edit("parts.txt", 1, 0);
    let told = ["User: Keep the list of parts short and sorted.", "User: Keep the winch greased all year."];
    check(once, &told);
    let one = "Use the long rope, not the short one";
    let insists = built().prompt(one).edit("parts.txt", 1, 0).prompt(one).edit("parts.txt", 2, 0);
    check(insists, &[&format!("User: {one}")]);
    check(built().prompt("see\n➜ crane git:(main) ✗ ls\nUse the winch here").edit("src/winch.rs", 1, 0), &[]);
    check(built().prompt("How does it turn? Don't run anything.").reply("By its drum."), &[]);
}

#[test]
fn a_yes_takes_the_way_that_the_agent_proposes() {
    let asked = |question: &str| Session::default().prompt("Where?").reply(&format!("Both would do. {question}"));
    let question = "Should I use the drum instead of the jib?";
    check(asked(question).prompt("yes please"), &[&format!("{question} User: yes please")]);
    check(asked(question).prompt("no"), &[]);
    check(asked("Should I commit it?").prompt("yes"), &[]);
    check(asked("Shall I go on?").prompt("yes"), &[]);
}

#[test]
fn the_only_change_of_a_small_session_is_its_choice_if_the_edit_shows_it() {
    let wound = |said: &str| {
        let asked = Session::default().prompt("The rope slips off the drum");
        edit(asked, "src/winch.rs", "wind(rope)", "wind(rope, Layer::Double)").reply(said)
    };
    let told = "Changed the call to `Layer::Double`, which holds two tons.";
    check(wound(&format!("It works now. {told}")), &[told]);
    check(wound("Changed the call to `Layer::Single`, which holds two tons."), &[]);
    check(wound(&format!("{told} Added `Layer::Double` to the list of parts, too.")), &[]);
    check(wound("Changed the test to `Layer::Double`, which holds two tons."), &[]);
    let rule = "User: no, use a brake instead of a hook on it";
    check(wound(told).prompt("no, use a brake instead of a hook on it").edit("a.rs", 1, 1).reply(told), &[rule]);
}

#[test]
fn what_a_person_forbids_decides() {
    let said = "Write the message but don't commit it";
    check(built().prompt(said).reply("Winch: a drum"), &[&format!("User: {said}")]);
    check(built().prompt("Go on and don't worry").reply("I will."), &[]);
}

#[test]
fn a_fix_that_left_its_check_failing_is_no_decision() {
    let complaint = "src/winch.rs:7:2 lint/style/useDrum The drum is unused.";
    let fails = |session: Session| session.failed("bun run lint", 1, complaint);
    let said = "I use the drum instead of the rope, because the rope is unused.";
    let tried = || edit(fails(built()).reply(said), "src/winch.rs", "rope", "drum");
    check(tried().ok("bun run lint"), &[said]);
    check(fails(tried()), &[said]);
    let again = edit(fails(tried()).reply("Another way."), "src/winch.rs", "drum", "brake");
    check(again.ok("bun run lint"), &[]);
}

#[test]
fn who_reverts_all_keeps_the_part_of_the_plan_that_they_name() {
    let plan = "Implement the following plan:\n\n# Winch\n\n## Context\n\nIt slips.\n\n## Step 1: Brake of the drum\n\n\
                ### Details\n\n- Keep the pawl (it is quiet)\n\n\
                ## Step 2: Grease for the mast\n\n- Only grease from tins (tubes leak)\n";
    let begun = edit(Session::default().prompt(plan), "src/mast.rs", "a", "grease").reply("The mast is greased.");
    let asked = begun.prompt("I've reverted your changes - focus only on the brake of the drum");
    let session = edit(asked, "src/winch.rs", "b", "brake").reply("The brake is there.");
    let episode = session.digest();
    let texts = |list: &[super::Pointed]| list.iter().map(|said| said.text.clone()).collect::<Vec<_>>();
    assert!(texts(&episode.superseded).iter().all(|text| text.contains("tins")), "{:?}", episode.superseded);
    assert!(texts(&episode.decisions).iter().any(|text| text.contains("pawl")), "{:?}", episode.decisions);
    let paths: Vec<&str> = episode.files_modified.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["src/winch.rs"], "what was reverted is not changed");
}

#[test]
fn edits_that_were_put_back_do_not_count() {
    let counts = |session: Session| {
        let files = session.digest().files_modified;
        files.iter().map(|file| (file.path.clone(), file.added, file.removed)).collect::<Vec<_>>()
    };
    let first = || Session::default().cwd("/p").prompt("go").edit("/p/a.rs", 20, 3);
    let a = |added, removed| vec![("/p/a.rs".to_owned(), added, removed)];
    assert_eq!(counts(first().ok("git checkout a.rs").edit("/p/a.rs", 2, 1)), a(2, 1));
    assert_eq!(counts(first().failed("git checkout a.rs", 1, "no").edit("/p/a.rs", 2, 1)), a(22, 4));
    assert_eq!(counts(first().ok("git commit -am x").ok("git checkout a.rs").edit("/p/a.rs", 2, 1)), a(22, 4));
    let both =
        |old: &str, new: &str| edit(edit(Session::default().prompt("go"), "a.rs", old, new), "a.rs", old, "brake");
    assert_eq!(counts(first().ok("cargo fmt")), a(0, 0), "who knows what it wrote");
    assert_eq!(counts(first().ok("cargo fmt --check")), a(20, 3));
    // The same lines are replaced twice: somebody put them back in between. One line may stand at two places.
    assert_eq!(counts(both("drum\nrope\nmast", "sail")), [("a.rs".to_owned(), 1, 1)]);
    assert_eq!(counts(both("drum", "rope")), [("a.rs".to_owned(), 2, 2)]);
    assert_eq!(counts(both("drum", "a drum")), [("a.rs".to_owned(), 2, 2)]);
    // A line that the session added and something replaced: how much is left of the two edits is not known.
    let again = edit(edit(Session::default().prompt("go"), "a.rs", "drum", "rope"), "a.rs", "rope", "brake");
    assert_eq!(counts(again), [("a.rs".to_owned(), 0, 0)]);
}

#[test]
fn what_a_fixer_mended_is_known_once_the_check_runs_again() {
    let complaint = "a.ts:7:2 lint/style/useConst The drum never changes.";
    let fixed = || Session::default().prompt("go").failed("bun run lint", 1, complaint).ok("bun run lint:fix");
    let resolution = |session: Session| session.digest().errors[0].resolution.clone().map(|it| it.text);
    let by_fixer = Some("by `bun run lint:fix`".to_owned());
    assert_eq!(resolution(fixed()), by_fixer);
    assert_eq!(resolution(fixed().edit("b.ts", 1, 1).ok("bun run lint")), by_fixer);
    let again = || fixed().failed("bun run lint", 1, "a.ts:9:2 lint/style/useConst The rope never changes.");
    assert_eq!(resolution(again()), None);
    let by_edit = Some("by edits to a.ts; `bun run lint` passed".to_owned());
    assert_eq!(resolution(again().edit("a.ts", 1, 1).ok("bun run lint")), by_edit);
    assert_eq!(again().digest().errors.len(), 1);
    let other = fixed().failed("bun run lint", 1, "b.ts:1:2 lint/style/noVar The mast is a var.");
    assert_eq!(resolution(other), by_fixer);
}

#[test]
fn who_wants_nothing_yet_is_asked_nothing() {
    let asked = |prompt: &str| Session::default().prompt(prompt).reply("I'm ready. What are you looking for?").digest();
    assert!(asked("Warmup").unresolved.is_empty());
    assert!(!asked("Find where the winch is built").unresolved.is_empty());
}

#[test]
fn a_label_that_a_cut_leaves_is_no_purpose() {
    let plan = "Implement the following plan:\n\n# Oil the winch and the drum of the crane in the harbour\n\n## Context\n\n\
                The winch has two faults:\n\n**Fault 1 — `drum` turns:** The drum explicitly says \"turn one step back,\" \
                overriding the three-step choice that would correctly put the `rope` on the mast as the owner of the harbour \
                had asked for in the first place of all places there are.\n\n**Fault 2 — it slips:** The rope has no knots.\n";
    let begun = edit(Session::default().prompt(plan), "src/winch.rs", "a", "oil").reply("It is oiled.");
    let goal = edit(begun.prompt("Also paint the mast in red"), "src/mast.rs", "b", "red").digest().objective;
    assert_eq!(goal, "Oil the winch and the drum of the crane in the harbour. Then: Also paint the mast in red.");
}

#[test]
fn what_a_person_wishes_while_the_agent_works_mends_no_failure() {
    let fails = || built().prompt("Test it").failed("make test", 2, "winch_test: the rope is too short");
    let rest = |session: Session| {
        let told = session.reply("Now I paint the drum.").edit("src/drum.rs", 1, 1).ok("make test");
        told.digest().errors[0].resolution.as_ref().unwrap().text.clone()
    };
    let wish = "Paint the drum of the winch as well";
    // What the agent was at when the wish came, or what it mends before it turns to it.
    assert_eq!(rest(fails().edit("src/rope.rs", 1, 1).prompt(wish)), "by edits to src/rope.rs; `make test` passed");
    assert_eq!(rest(fails().prompt(wish).edit("src/rope.rs", 1, 1)), "by edits to src/rope.rs; `make test` passed");
    // Who answers what the agent said may tell how to mend it.
    let answered = fails().reply("The test fails.").prompt("Lengthen it").edit("src/rope.rs", 1, 1);
    assert_eq!(rest(answered), "by edits to src/rope.rs, src/drum.rs; `make test` passed");
}

#[test]
fn what_is_known_to_fail_at_the_end_is_open() {
    let open = |session: &Session| session.digest().unresolved.into_iter().map(|open| open.text).collect::<Vec<_>>();
    // A narrower run says nothing of all tests, whatever the agent says of its work.
    let wrong = "unrecognized subcommand 'bun'";
    let tested = built().prompt("Test it").failed("rtk bun test src/", 2, &format!("error: {wrong}"));
    let tested = tested.failed("bun test src/", 1, "error: Cannot find module 'rope' from 'src/rope.test.ts'");
    let tested = tested.edit("src/winch.ts", 1, 1).ok("bun test src/winch.test.ts").reply("I mended the winch.");
    assert_eq!(open(&tested), ["bun test src/: exit 1, error: Cannot find module 'rope' from 'src/rope.test.ts'"]);
    let errors = tested.digest().errors;
    let mended = errors[0].resolution.as_ref().unwrap();
    assert_eq!(mended.text, "by `bun test src/` instead of `rtk bun test src/`, which then failed otherwise");
    // A hook that is content says that it is known.
    let hooked = tested.failed("git commit -m winch", 1, "error: Cannot find module 'rope'").ok("git commit -m winch");
    assert_eq!(open(&hooked.reply("I added the brake to the winch.")), [""; 0]);
    // What a person shows and nobody mends.
    let error = "Why is this?\n\nerror: the rope is too short\n";
    let shown = Session::default().prompt(error).edit("src/log.ts", 2, 0).reply("It logs the rope's length now.");
    assert_eq!(open(&shown), ["reported: error: the rope is too short"]);
    assert_eq!(open(&shown.prompt("commit").ok("git commit -m log")), ["reported: error: the rope is too short"]);
    let shown = Session::default().prompt(error).edit("src/log.ts", 2, 0).reply("It logs the rope's length now.");
    assert_eq!(open(&shown.prompt("Now paint the drum of the winch red").edit("src/drum.ts", 1, 1)), [""; 0]);
}
