//! Transcripts that are empty, unreadable, rewritten, moved, gone or back again.

use super::*;

#[test]
fn an_empty_session_is_let_go_and_comes_back() {
    check(
        "0s discover                  -> discovered | active wake=60s
         10s observe silent           -> located appended | active wake=70s
         20s close explicit           -> requested ended abandoned | unindexed(empty) end=explicit
         21s close explicit           -> requested | unindexed(empty) end=explicit
         90s observe prompt           -> appended resumed | active wake=150s",
    );
}

#[test]
fn a_transcript_that_was_left_empty_long_ago_is_let_go_at_once() {
    check(
        "0s discover /t/a.jsonl written=-7200 -> discovered | active wake=-7140s
         0s wake                      -> requested ended abandoned | unindexed(empty) end=inactivity_timeout
         90s observe prompt           -> located appended resumed | active wake=150s",
    );
    // A file written a moment ago, or by a clock that is ahead.
    check("0s discover /t/a.jsonl written=-60 -> discovered | active wake=0s");
    check("0s discover /t/a.jsonl written=60 -> discovered | active wake=60s");
}

#[test]
fn a_session_that_cannot_be_read_is_not_taken_for_an_empty_one() {
    let retry = Policy::default().backoff_ms(&session(), 1) / 1000 + 21;
    check(&format!(
        "0s discover                  -> discovered | active wake=60s
         20s close explicit unread    -> requested ended started | indexing end=explicit owes=index..0
         21s fail unreadable          -> failed(1) | failed end=explicit wake={retry}s"
    ));
    check(
        "0s discover                  -> discovered | active wake=60s
         1800s wake unread            -> requested ended started | indexing end=inactivity_timeout owes=index..0",
    );
    // Nor for an unchanged one.
    after(
        INDEXED,
        "30s close explicit unread    -> requested started | indexing end=explicit episode=1 owes=index..300
         31s complete same            -> skipped | indexed end=explicit episode=1",
    );
}

#[test]
fn a_vanished_transcript_keeps_what_was_indexed() {
    after(OPEN, "20s vanish -> abandoned | unindexed(gone)");
    after(INDEXED, "30s vanish -> | indexed end=explicit episode=1");
    after(
        INDEXED,
        "90s observe prompt           -> appended resumed | active episode=1 wake=150s
         91s vanish                   -> abandoned | unindexed(gone) episode=1",
    );
}

#[test]
fn a_rewritten_file_begins_a_generation_and_the_episode_serves_meanwhile() {
    after(
        INDEXED,
        "30s rewrite                  -> rewritten | active episode=1 generation=2 wake=70s
         31s observe records=2        -> appended | active episode=1 generation=2 wake=91s
         40s close explicit           -> requested ended started | indexing end=explicit episode=1 generation=2 owes=index..200
         41s complete hash=1 same     -> skipped | indexed end=explicit episode=1 generation=2",
    );
}

#[test]
fn a_second_file_takes_over_only_when_told() {
    after(
        OPEN,
        "20s discover /t/b.jsonl      -> refused: second file
         21s discover /t/b.jsonl takes_over -> moved | active wake=70s",
    );
}

#[test]
fn late_words_of_an_empty_session_belong_to_its_end_and_are_indexed_in_time() {
    let empty = "
         0s discover                  -> discovered | active wake=60s
         10s observe silent           -> located appended | active wake=70s
         20s close explicit           -> requested ended abandoned | unindexed(empty) end=explicit";
    after(
        empty,
        "22s observe at=21            -> appended(late) | unindexed(empty) end=explicit wake=82s
         81s wake                     -> | unindexed(empty) end=explicit wake=82s
         82s wake                     -> started | indexing end=explicit owes=index..200
         83s complete                 -> indexed | indexed end=explicit episode=1",
    );
    after(
        empty,
        "22s observe at=21            -> appended(late) | unindexed(empty) end=explicit wake=82s
         23s close lazy_query         -> requested started | indexing end=explicit owes=index..200",
    );
    after(empty, "22s observe at=21 silent -> appended | unindexed(empty) end=explicit");
    after(empty, "22s observe at=21 prompt -> appended resumed | active wake=81s");
    after(empty, "30s observe              -> appended resumed | active wake=90s");
}

#[test]
fn a_session_that_was_never_read_stays_gone_when_it_is_closed() {
    check(
        "0s discover                  -> discovered | active wake=60s
         10s vanish                   -> abandoned | unindexed(gone)
         11s close explicit           -> requested ended | unindexed(gone) end=explicit",
    );
}

#[test]
fn a_transcript_that_is_found_again_is_indexed_although_nothing_was_added() {
    after(
        OPEN,
        "20s vanish                   -> abandoned | unindexed(gone)
         30s discover                 -> resumed | active wake=70s
         70s wake                     -> idle | inactive wake=1810s
         1810s wake                   -> requested ended started | indexing end=inactivity_timeout owes=index..300
         1811s complete               -> indexed | indexed end=inactivity_timeout episode=1",
    );
    after(
        OPEN,
        "20s vanish                   -> abandoned | unindexed(gone)
         30s discover /t/b.jsonl      -> refused: second file
         31s discover /t/b.jsonl takes_over -> moved resumed | active wake=70s
         32s discover /t/b.jsonl      -> | active wake=70s",
    );
}

#[test]
fn a_job_that_reads_where_the_transcript_was_is_void() {
    after(
        OPEN,
        "20s close explicit           -> requested ended started | indexing end=explicit owes=index..300
         21s discover /t/b.jsonl takes_over -> moved started | indexing end=explicit owes=index..300
         22s fail gone job=1          -> refused: unknown effect
         23s complete                 -> indexed | indexed end=explicit episode=1",
    );
}

#[test]
fn an_emptied_transcript_keeps_its_episode() {
    after(
        INDEXED,
        "30s rewrite                  -> rewritten | active episode=1 generation=2 wake=70s
         31s observe silent           -> appended | active episode=1 generation=2 wake=91s
         40s close explicit           -> requested ended abandoned | unindexed(empty) end=explicit episode=1 generation=2",
    );
}
