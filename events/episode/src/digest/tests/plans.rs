//! What a plan decides that was carried out, as the replies tell it.

use super::Session;
use baton_conversation::item::Outcome;
use serde_json::json;

#[track_caller]
fn check(plan: &str, replies: &[&str], expected: &[&str]) {
    let plan = json!({ "plan": format!("# Faster\n\n## Context\nIt is slow.\n\n{plan}") });
    let session = Session::default().prompt("go").call("ExitPlanMode", plan, None).result(Outcome::Ok, None, None);
    let session = session.edit("winch.rs", 1, 1);
    let session = replies.iter().fold(session, |session, reply| session.reply(reply));
    let found: Vec<String> = session.digest().decisions.into_iter().map(|said| said.text).collect();
    assert_eq!(found, expected, "{replies:?}");
}

#[test]
fn a_step_that_a_conclusion_names_again_is_a_choice() {
    let plan = "### Change 1: Oil every drum before lifting (`winch.rs`)\nTurn it.\n\n### Change 2: Guard the ropes against frost\n\
                Cover them.\n\n### 3. `winch.rs`\nWrite it.\n\n### 4. Add tests for the oiled drum\nTest it.";
    let oiled = "Oil every drum before lifting (`winch.rs`)";
    let guarded = "Guard the ropes against frost";
    check(plan, &["All is done:\n\n**Change 1 — Every drum is oiled before lifting**:\n- It turns."], &[oiled]);
    check(
        plan,
        &["1. **Every drum oiled before lifting**: it turns.\n2. **Ropes guarded against frost**"],
        &[oiled, guarded],
    );
    check(plan, &["- **`winch.rs`**: every drum is oiled before lifting"], &[]);
    check(plan, &["```\n# Every drum is oiled before lifting\n```"], &[]);
    check(plan, &["**Every drum is oiled before lifting**", "Done."], &[]);
    check(plan, &["- **Tests for the oiled drum** added"], &[]);
    check(plan, &["Every drum is oiled before lifting."], &[]);
}

#[test]
fn a_step_that_only_names_its_matter_is_told_with_its_first_sentence() {
    let plan = "### 1. Crane parts (new section)\nA table of all parts and what they weigh:\n| Part |\n\n### 2. Rope kinds (new)\nShort.";
    let told = "Crane parts: A table of all parts and what they weigh";
    check(plan, &["- **Crane parts** — a new section\n- **Rope kinds** — new"], &[told]);
}

#[test]
fn what_needed_nothing_after_all_is_no_choice() {
    let plan = "### 1. Winch\nAlso keep `rope_length` in the log, because the crane reads it.\n\nTurn the drum.";
    let kept = "Also keep `rope_length` in the log, because the crane reads it.";
    check(plan, &["The log has it."], &[kept]);
    let needless = "The `rope_length` is in the log already. No change needed there.";
    check(plan, &[needless, "Done."], &[needless]);
    let other = "The `drum` is in the log already. No change needed there.";
    check(plan, &[other, "Done."], &[kept, other]);
}

#[test]
fn what_declares_a_name_that_the_work_has_not_is_no_choice() {
    let plan = "### Parts\n- `ropePhase: \"up\" | \"down\"` — only 2 phases now\n- Only 2 marks on the mast, not 3\n";
    let (phases, marks) = ("`ropePhase: \"up\" | \"down\"` — only 2 phases now", "Only 2 marks on the mast, not 3");
    check(plan, &["There are only 2 phases and marks on the mast now."], &[marks]);
    check(plan, &["The `ropePhase` has only 2 phases, and the mast has 2 marks."], &[phases, marks]);
}
