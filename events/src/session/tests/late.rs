//! Records that come after an end or while a job runs.

use super::*;

#[test]
fn late_records_belong_to_the_end() {
    after(
        INDEXED,
        "# dated before the end plus two seconds
         25s observe at=21            -> appended(late) | indexed end=explicit episode=1 wake=85s
         84s wake                     -> | indexed end=explicit episode=1 wake=85s
         85s wake                     -> started | indexing end=explicit episode=1 owes=index..400
         86s complete hash=2          -> indexed | indexed end=explicit episode=2",
    );
    after(
        INDEXED,
        "# typed after the end, so it goes on
         25s observe prompt at=21     -> appended resumed | active episode=1 wake=81s",
    );
    after(
        INDEXED,
        "25s observe at=21            -> appended(late) | indexed end=explicit episode=1 wake=85s
         30s close lazy_query         -> requested started | indexing end=explicit episode=1 owes=index..400",
    );
}

#[test]
fn the_last_words_of_an_agent_that_closed_itself_are_late_until_the_next_prompt() {
    after(
        OPEN,
        "20s close explicit by_self   -> requested ended started | indexing end=explicit owes=index..300
         30s observe                  -> appended(late) | indexing end=explicit owes=index..300
         31s complete                 -> indexed | indexed end=explicit episode=1 wake=90s
         95s observe prompt           -> appended resumed | active episode=1 wake=155s",
    );
}

#[test]
fn records_that_come_while_indexing_are_not_lost() {
    after(
        OPEN,
        "20s close lazy_query         -> requested started | indexing owes=index..300
         25s observe                  -> appended resumed | indexing owes=index..300
         26s observe                  -> appended | indexing owes=index..300
         27s complete                 -> indexed | active episode=1 wake=86s",
    );
}

#[test]
fn a_close_while_indexing_is_served_by_the_job_or_after_it() {
    after(
        OPEN,
        "20s close lazy_query         -> requested started | indexing owes=index..300
         21s close explicit           -> requested ended | indexing end=explicit owes=index..300
         22s complete                 -> indexed | indexed end=explicit episode=1",
    );
    after(
        OPEN,
        "20s close lazy_query         -> requested started | indexing owes=index..300
         25s observe                  -> appended resumed | indexing owes=index..300
         26s close explicit           -> requested ended | indexing end=explicit owes=index..300
         27s complete                 -> indexed started | indexing end=explicit episode=1 owes=index..400
         28s complete hash=2          -> indexed | indexed end=explicit episode=2",
    );
}

#[test]
fn a_query_does_not_take_the_word_of_who_ended_the_session() {
    let mut world = World::new();
    for line in INDEXED.lines().map(str::trim).filter(|line| !line.is_empty()) {
        world.step(line);
    }
    world.step("25s observe at=21     -> appended(late) | indexed end=explicit episode=1 wake=85s");
    world.step("30s close lazy_query  -> requested started | indexing end=explicit episode=1 owes=index..400");
    assert_eq!(world.aggregate.state().last_close, Some(CloseReason::Explicit));
}
