//! Corrections by a person: kept through re-reading, forgetting and restoring, except the text of a title.

use super::*;

#[test]
fn a_correction_is_recorded_once_and_changes_no_phase() {
    after(
        INDEXED,
        "30s title hash=5             -> titled | indexed end=explicit episode=1
         31s title hash=5             -> | indexed end=explicit episode=1
         32s correct wrong line=4     -> corrected(4 wrong) | indexed end=explicit episode=1
         33s correct wrong line=4     -> | indexed end=explicit episode=1
         34s correct superseded line=4 -> corrected(4 superseded) | indexed end=explicit episode=1
         35s withdraw wrong line=4    -> | indexed end=explicit episode=1
         36s withdraw superseded line=4 -> withdrawn(4 superseded) | indexed end=explicit episode=1
         37s withdraw superseded line=4 -> | indexed end=explicit episode=1
         38s title                    -> untitled | indexed end=explicit episode=1
         39s title                    -> | indexed end=explicit episode=1",
    );
}

#[test]
fn a_session_without_an_episode_has_nothing_to_correct() {
    check("0s title hash=5 -> refused: not discovered");
    after(OPEN, "20s correct done -> refused: no such content");
    after(
        INDEXED,
        "30s untrack                  -> stopped | unindexed(untracked) end=explicit episode=1
         31s correct done             -> corrected(1 done) | unindexed(untracked) end=explicit episode=1
         32s forget                   -> forgotten | forgotten
         33s correct done             -> refused: forgotten",
    );
}

#[test]
fn verdicts_outlast_whatever_becomes_of_the_session() {
    let entry = CorrectedEntry { line: 4, print: 7, verdict: Verdict::Done, at: Timestamp(31_000) };
    let title = Some(ContentHash([5; 32]));
    for (then, title) in [
        (
            "40s reindex       -> started | indexing end=explicit episode=1 owes=index..300
             41s complete      -> indexed | indexed end=explicit episode=1",
            title,
        ),
        (
            "40s observe            -> appended resumed | active episode=1 wake=100s
             50s close explicit     -> requested ended started | indexing end=explicit episode=1 owes=index..400
             51s complete hash=2    -> indexed | indexed end=explicit episode=2",
            title,
        ),
        ("40s rewrite -> rewritten | active episode=1 generation=2 wake=70s", title),
        // Its text is erased with the session.
        (
            "40s forget  -> forgotten | forgotten
             50s restore -> restored | active generation=2 wake=70s",
            None,
        ),
    ] {
        let given = "30s title hash=5         -> titled | indexed end=explicit episode=1
                     31s correct done line=4  -> corrected(4 done) | indexed end=explicit episode=1";
        let world = world(INDEXED, &format!("{given}\n{then}"));
        assert_eq!(world.aggregate.state().corrections, Corrections { title, entries: vec![entry] }, "{then}");
    }
}

#[test]
fn a_title_follows_its_redacted_text() {
    let titled = "30s title hash=7 -> titled | indexed end=explicit episode=1
                  31s redact notes -> redacted | indexed end=explicit episode=1";
    assert_eq!(world(INDEXED, titled).aggregate.state().corrections.title, Some(ContentHash([8; 32])));
}

#[test]
fn the_number_of_corrections_is_bounded() {
    let many = |lines: std::ops::Range<u64>| -> Vec<Correction> {
        let entry = |line| Correction::Entry { line, print: 7, verdict: Verdict::Done, withdrawn: false };
        lines.map(entry).collect()
    };
    let state = run(INDEXED).aggregate.state().clone();
    let decided = |state: &State, corrections: &[Correction]| {
        let command = Command::Correct(corrections.to_vec());
        decide(&session(), state, &command, &Policy::default(), Timestamp(1))
    };
    let most = MAX_CORRECTIONS as u64;
    let full = decided(&state, &many(0..most)).unwrap().iter().fold(state.clone(), evolve);
    assert_eq!(full.corrections.entries.len(), MAX_CORRECTIONS);
    assert_eq!(decided(&full, &many(0..most)), Ok(Vec::new()), "all stand already");
    assert_eq!(decided(&full, &many(most..most + 1)), Err(Rejection::TooManyCorrections));
    assert!(decided(&full, &[Correction::Title(Some(ContentHash([1; 32])))]).is_ok());
}
