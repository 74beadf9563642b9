//! Deleted episodes: hidden until the content changes; nothing else of the session changes.

use super::*;

#[test]
fn a_deleted_episode_stays_deleted_while_its_content_stays() {
    after(
        INDEXED,
        "30s delete                   -> deleted | indexed end=explicit episode=1(deleted)
         31s delete                   -> | indexed end=explicit episode=1(deleted)
         32s delete hash=2            -> refused: wrong episode
         40s close explicit           -> requested skipped | indexed end=explicit episode=1(deleted)
         41s reindex                  -> started | indexing end=explicit episode=1(deleted) owes=index..300
         42s complete                 -> indexed | indexed end=explicit episode=1(deleted)",
    );
}

#[test]
fn another_content_brings_the_session_back() {
    after(
        INDEXED,
        "30s delete                   -> deleted | indexed end=explicit episode=1(deleted)
         40s observe                  -> appended resumed | active episode=1(deleted) wake=100s
         50s close explicit           -> requested ended started | indexing end=explicit episode=1(deleted) owes=index..400
         51s complete hash=2          -> indexed | indexed end=explicit episode=2",
    );
}

#[test]
fn what_is_redacted_again_is_the_same_session_with_another_text() {
    after(
        INDEXED,
        "30s redact                   -> redacted | indexed end=explicit episode=2
         31s redact                   -> refused: wrong episode
         32s redact of=2 hash=3       -> redacted | indexed end=explicit episode=3
         33s close explicit           -> requested skipped | indexed end=explicit episode=3
         34s delete hash=3            -> deleted | indexed end=explicit episode=3(deleted)
         35s redact of=3 hash=4       -> redacted | indexed end=explicit episode=4(deleted)
         36s untrack                  -> stopped | unindexed(untracked) end=explicit episode=4(deleted)
         37s redact of=4 hash=5       -> redacted | unindexed(untracked) end=explicit episode=5(deleted)
         38s forget                   -> forgotten | forgotten
         39s redact of=5              -> refused: forgotten",
    );
    check("0s redact -> refused: not discovered");
    // While a job runs: the result of what it read before is refused, and the job is owed again.
    after(
        INDEXED,
        "30s reindex                  -> started | indexing end=explicit episode=1 owes=index..300
         31s redact                   -> redacted | indexing end=explicit episode=2 owes=index..300
         32s complete same            -> refused: wrong episode
         33s complete hash=6          -> indexed | indexed end=explicit episode=6",
    );
}

#[test]
fn what_is_shortened_keeps_its_episode_until_the_session_goes_on() {
    after(
        INDEXED,
        "30s shorten of=2             -> refused: wrong episode
         31s shorten hash=2           -> refused: wrong episode
         32s delete                   -> deleted | indexed end=explicit episode=1(deleted)
         33s shorten                  -> shortened | indexed end=explicit episode=1(deleted)
         34s shorten                  -> refused: wrong episode
         35s close explicit           -> requested skipped | indexed end=explicit episode=1(deleted)
         36s reindex                  -> started | indexing end=explicit episode=1(deleted) owes=index..300
         37s shorten of=9             -> refused: wrong episode
         38s complete same            -> skipped | indexed end=explicit episode=1(deleted)
         39s observe                  -> appended resumed | active episode=1(deleted) wake=99s
         40s close explicit           -> requested ended started | indexing end=explicit episode=1(deleted) owes=index..400
         41s complete hash=2          -> indexed | indexed end=explicit episode=2
         42s forget                   -> forgotten | forgotten
         43s shorten                  -> refused: forgotten",
    );
    check("0s shorten -> refused: not discovered");
}

#[test]
fn what_has_no_episode_has_none_to_delete() {
    check("0s delete -> refused: not discovered");
    after(OPEN, "20s delete -> refused: wrong episode");
    after(
        INDEXED,
        "30s untrack                  -> stopped | unindexed(untracked) end=explicit episode=1
         31s delete                   -> deleted | unindexed(untracked) end=explicit episode=1(deleted)
         32s forget                   -> forgotten | forgotten
         33s delete                   -> refused: forgotten",
    );
}

#[test]
fn a_deleted_or_cleared_episode_is_found_again_when_it_is_wanted_back() {
    after(
        INDEXED,
        "30s show                     -> | indexed end=explicit episode=1
         31s delete                   -> deleted | indexed end=explicit episode=1(deleted)
         32s show hash=2              -> refused: wrong episode
         33s show                     -> shown | indexed end=explicit episode=1
         34s show                     -> | indexed end=explicit episode=1
         35s show cleared             -> shown | indexed end=explicit episode=1
         36s untrack                  -> stopped | unindexed(untracked) end=explicit episode=1
         37s delete                   -> deleted | unindexed(untracked) end=explicit episode=1(deleted)
         38s show                     -> shown | unindexed(untracked) end=explicit episode=1
         39s forget                   -> forgotten | forgotten
         40s show                     -> refused: forgotten",
    );
    after(OPEN, "20s show -> refused: wrong episode");
}
