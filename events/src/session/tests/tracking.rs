//! Switches, stopped and forced tracking, groups, and forgetting.

use super::*;

#[test]
fn a_stopped_session_is_touched_by_no_layer_until_tracked() {
    after(
        INDEXED,
        "30s untrack                  -> stopped | unindexed(untracked) end=explicit episode=1
         31s untrack                  -> | unindexed(untracked) end=explicit episode=1
         32s close explicit           -> refused: untracked
         33s observe                  -> refused: untracked
         34s rewrite                  -> refused: untracked
         35s reindex                  -> refused: untracked
         99999s wake                  -> | unindexed(untracked) end=explicit episode=1
         99999s track                 -> tracked | indexed end=explicit episode=1",
    );
    after(
        OPEN,
        "20s close explicit           -> requested ended started | indexing end=explicit owes=index..300
         21s untrack                  -> stopped | unindexed(untracked) end=explicit
         22s complete                 -> refused: untracked
         23s track                    -> tracked | active end=explicit wake=70s",
    );
}

#[test]
fn a_switched_off_project_owes_nothing() {
    after(
        OPEN,
        "20s close explicit           -> requested ended started | indexing end=explicit owes=index..300
         21s policy untracked         ->
         22s wake                     -> | indexing end=explicit
         23s close explicit           -> refused: switched off
         23s close lazy_query         -> refused: switched off
         24s policy tracked           ->
         25s wake                     -> | indexing end=explicit owes=index..300
         25s policy untracked         ->
         26s complete                 -> indexed | indexed end=explicit episode=1
         27s reindex                  -> refused: switched off
         28s untrack                  -> stopped | unindexed(untracked) end=explicit episode=1",
    );
}

#[test]
fn forcing_is_recorded_once_and_taken_back_by_a_stop() {
    after(
        INDEXED,
        "30s track                    -> | indexed end=explicit episode=1
         31s track force              -> forced | indexed end=explicit episode=1
         32s track force              -> | indexed end=explicit episode=1
         33s track                    -> | indexed end=explicit episode=1
         34s untrack                  -> stopped | unindexed(untracked) end=explicit episode=1
         35s track force              -> tracked forced | indexed end=explicit episode=1
         36s untrack                  -> stopped | unindexed(untracked) end=explicit episode=1
         37s track                    -> tracked | indexed end=explicit episode=1",
    );
    check("0s track force -> refused: not discovered");
    let mut world = World::new();
    for (line, forced) in [
        ("0s discover     -> discovered | active wake=60s", false),
        ("1s track force  -> forced | active wake=60s", true),
        ("2s untrack      -> stopped | unindexed(untracked)", false),
        ("3s track        -> tracked | active wake=60s", false),
        ("4s track force  -> forced | active wake=60s", true),
        ("5s forget       -> forgotten | forgotten", false),
    ] {
        world.step(line);
        assert_eq!(world.aggregate.state().forced, forced, "after {line}");
    }
}

#[test]
fn a_forgotten_session_stays_forgotten_until_restored() {
    after(
        INDEXED,
        "30s forget                   -> forgotten | forgotten
         31s discover                 -> | forgotten
         32s discover /other.jsonl    -> | forgotten
         33s observe                  -> refused: forgotten
         34s close explicit           -> refused: forgotten
         35s forget                   -> | forgotten
         35s wake                     -> | forgotten
         36s restore                  -> restored | active generation=2 wake=70s
         37s restore                  -> refused: not forgotten",
    );
    after(
        INDEXED,
        "30s forget                   -> forgotten | forgotten
         31s restore gone             -> restored | unindexed(gone) generation=2",
    );
}

#[test]
fn what_only_hooks_have_told_of_is_forgotten_before_its_transcript_comes() {
    check(
        "0s forget                    -> forgotten | forgotten
         1s discover                  -> | forgotten
         2s signal session_end clear  -> refused: forgotten
         3s restore gone              -> restored | active generation=2
         4s close explicit            -> refused: not discovered
         4s discover                  -> discovered | active generation=2 wake=64s",
    );
    check(
        "0s signal session_start startup -> signalled(session_start) | active wake=1800s
         1s forget                    -> forgotten | forgotten
         2s discover                  -> | forgotten
         3s restore                   -> restored | active generation=2 wake=1800s
         4s discover                  -> discovered | active generation=2 wake=64s",
    );
}

#[test]
fn a_forgotten_sessions_note_and_job_are_void() {
    let mut world = world(INDEXED, "");
    world.record(
        vec![Event::CloseRequested { reason: CloseReason::Explicit, note: Some(ContentHash([7; 32])) }],
        None,
        Timestamp(30_000),
    );
    world.step("31s observe prompt -> appended resumed | active episode=1 wake=91s");
    world.step("32s close lazy_query -> requested started | indexing episode=1 owes=index..400");
    world.step("33s forget -> forgotten | forgotten");
    assert_eq!(world.aggregate.state().close_note, None);
    world.step("34s complete hash=2 -> refused: forgotten");
    world.step("35s fail gone -> refused: forgotten");
    world.replay();
}

#[test]
fn a_group_is_assigned_once() {
    after(
        OPEN,
        "20s assign team              -> assigned | active wake=70s
         21s assign team              -> | active wake=70s",
    );
}
