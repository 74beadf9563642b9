//! When an enrichment is owed, and what follows from each call.

use super::*;

/// A model is enabled from the beginning.
const MODEL: &str = "
    0s policy model=0s      ->
    0s discover             -> discovered | active wake=60s
    10s observe records=3   -> located appended | active wake=70s";

/// The session is also closed and indexed.
const OWED: &str = "
    0s policy model=0s      ->
    0s discover             -> discovered | active wake=60s
    10s observe records=3   -> located appended | active wake=70s
    20s close explicit      -> requested ended started owed | indexing end=explicit owes=index..300
    21s complete            -> indexed | indexed end=explicit episode=1 enrich=80s";

#[test]
fn an_end_owes_and_a_wish_for_content_does_not() {
    for reason in CloseReason::ALL {
        let ends = reason.ends_session();
        let end = if ends { format!(" end={reason}") } else { String::new() };
        let (ended, owed) = if ends { (" ended", " owed") } else { ("", "") };
        let wake = if ends { "enrich=80s" } else { "wake=1810s" };
        after(
            MODEL,
            &format!(
                "20s close {reason}   -> requested{ended} started{owed} | indexing{end} owes=index..300
                 21s complete         -> indexed | indexed{end} episode=1 {wake}"
            ),
        );
    }
}

#[test]
fn nothing_is_owed_without_a_model_nor_for_what_was_over_before_it() {
    after(
        OPEN,
        "20s close explicit      -> requested ended started | indexing end=explicit owes=index..300
         21s complete            -> indexed | indexed end=explicit episode=1
         22s policy model=22s    ->
         23s wake                -> | indexed end=explicit episode=1",
    );
    // It was not closed, and was over at 1810 s, when no model was enabled.
    after(
        OPEN,
        "2000s policy model=2000s ->
         5000s wake               -> requested ended started | indexing end=inactivity_timeout owes=index..300",
    );
    after(
        OPEN,
        "1800s policy model=1800s ->
         5000s wake               -> requested ended started owed | indexing end=inactivity_timeout owes=index..300",
    );
    // A hook reported the end before, and the close that it owes comes later.
    after(
        OPEN,
        "20s signal session_end clear -> ended signalled(session_end) | active end=hook_clear owes=close(hook_clear) wake=70s
         30s policy model=30s         ->
         31s wake                     -> requested started | indexing end=hook_clear owes=index..300",
    );
    after(
        OPEN,
        "15s policy model=15s         ->
         20s signal session_end clear -> ended signalled(session_end) | active end=hook_clear owes=close(hook_clear) wake=70s
         31s wake                     -> requested started owed | indexing end=hook_clear owes=index..300",
    );
    // It is closed explicitly since.
    after(
        INDEXED,
        "30s policy model=30s    ->
         40s close explicit      -> requested skipped owed | indexed end=explicit episode=1 enrich=100s",
    );
    // A session without conversation has no episode.
    check(
        "0s policy model=0s      ->
         0s discover             -> discovered | active wake=60s
         20s close explicit      -> requested ended abandoned | unindexed(empty) end=explicit",
    );
}

#[test]
fn an_answer_makes_the_episode_enriched_and_the_same_content_is_not_asked_about_again() {
    after(
        OWED,
        "80s call                -> called(whole) | indexed end=explicit episode=1 enrich=80s
         81s call                -> refused: call running
         82s answer good call=7  -> refused: unknown call
         82s answer good nanos=9 -> answered(good) enriched | indexed end=explicit episode=1(enriched)
         83s answer good         -> refused: unknown call
         90s close explicit      -> requested skipped | indexed end=explicit episode=1(enriched)
         91s enrich              -> | indexed end=explicit episode=1(enriched)
         92s call                -> refused: no such content
         95s reindex             -> started | indexing end=explicit episode=1(enriched) owes=index..300
         96s complete same       -> skipped | indexed end=explicit episode=1(enriched)",
    );
    let world = world(
        OWED,
        "80s call -> called(whole) | indexed end=explicit episode=1 enrich=80s
        82s answer good nanos=9 -> answered(good) enriched | indexed end=explicit episode=1(enriched)",
    );
    let state = world.aggregate.state();
    assert_eq!(state.enriched_by().map(|by| (by.answer, by.model.as_str())), Some((ContentHash([7; 32]), "m")));
    assert_eq!(state.episode.as_ref().map(|it| it.uuid), Some(episode_uuid(&session(), &ContentHash([1; 32]))));
    let known = state.enrichment().unwrap();
    assert_eq!((known.owed, known.calls, known.spent_nanos(), known.costs.len()), (None, 1, 9, 1));
}

#[test]
fn what_a_model_made_stays_when_it_is_redacted_again() {
    let world = world(
        OWED,
        "80s call                -> called(whole) | indexed end=explicit episode=1 enrich=80s
         81s redact              -> redacted | indexed end=explicit episode=2 enrich=80s
         82s answer good nanos=9 -> answered(good) enriched | indexed end=explicit episode=2(enriched)
         83s redact notes        -> redacted | indexed end=explicit episode=2(enriched)
         84s redact of=2 hash=3  -> redacted | indexed end=explicit episode=3(enriched)
         85s close explicit      -> requested skipped | indexed end=explicit episode=3(enriched)",
    );
    assert_eq!(world.aggregate.state().enriched_by().map(|by| by.answer), Some(ContentHash([8; 32])));
}

#[test]
fn it_is_quiet_for_the_check_interval_first() {
    after(
        MODEL,
        "20s close explicit by_self -> requested ended started owed | indexing end=explicit owes=index..300
         21s complete            -> indexed | indexed end=explicit episode=1 enrich=80s
         25s observe             -> appended(late) | indexed end=explicit episode=1 wake=85s
         85s wake                -> started | indexing end=explicit episode=1 owes=index..400
         86s complete hash=2     -> indexed | indexed end=explicit episode=2 enrich=85s",
    );
}

#[test]
fn an_agent_that_closed_itself_and_still_waits_for_a_tool_is_not_quiet() {
    after(
        MODEL,
        "20s close explicit by_self -> requested ended started owed | indexing end=explicit owes=index..300
         21s complete            -> indexed | indexed end=explicit episode=1 enrich=80s
         25s observe call        -> appended(late) | indexed end=explicit episode=1 wake=85s
         85s wake                -> started | indexing end=explicit episode=1 owes=index..400
         86s complete hash=2     -> indexed | indexed end=explicit episode=2 enrich=21685s
         300s observe            -> appended(late) | indexed end=explicit episode=2 wake=360s
         360s wake               -> started | indexing end=explicit episode=2 owes=index..500
         361s complete hash=3    -> indexed | indexed end=explicit episode=3 enrich=360s",
    );
    // An end by anyone else has ended its tools too.
    after(
        MODEL,
        "15s observe call        -> appended | active wake=21675s
         20s close hook_clear    -> requested ended started owed | indexing end=hook_clear owes=index..400
         21s complete            -> indexed | indexed end=hook_clear episode=1 enrich=80s",
    );
}

#[test]
fn a_paused_session_is_enriched_once_when_it_is_over() {
    after(
        OWED,
        "30s observe prompt      -> appended resumed | active episode=1 wake=90s
         40s close explicit      -> requested ended started owed | indexing end=explicit episode=1 owes=index..400
         41s complete hash=2     -> indexed | indexed end=explicit episode=2 enrich=100s
         101s call               -> called(whole) | indexed end=explicit episode=2 enrich=100s
         102s answer good        -> answered(good) enriched | indexed end=explicit episode=2(enriched)",
    );
    // An enriched episode stays until the conversation goes on, and comes back with the content.
    after(
        OWED,
        "80s call                -> called(whole) | indexed end=explicit episode=1 enrich=80s
         82s answer good         -> answered(good) enriched | indexed end=explicit episode=1(enriched)
         90s observe prompt      -> appended resumed | active episode=1(enriched) wake=150s
         95s close lazy_query    -> requested started | indexing episode=1(enriched) owes=index..400
         96s complete hash=2     -> indexed | indexed episode=2 wake=1890s
         1890s wake              -> requested skipped ended owed | indexed end=inactivity_timeout episode=2 enrich=1950s",
    );
}

#[test]
fn an_answer_for_content_that_has_changed_only_costs() {
    after(
        OWED,
        "80s call                -> called(whole) | indexed end=explicit episode=1 enrich=80s
         81s observe prompt      -> appended resumed | active episode=1 wake=141s
         82s close explicit      -> requested ended started owed | indexing end=explicit episode=1 owes=index..400
         83s complete hash=2     -> indexed | indexed end=explicit episode=2 enrich=142s
         84s answer good         -> answered(good) | indexed end=explicit episode=2 enrich=142s
         142s call hash=1        -> refused: no such content
         142s call               -> called(whole) | indexed end=explicit episode=2 enrich=142s",
    );
}

#[test]
fn late_words_after_an_enrichment_are_asked_about_again() {
    after(
        MODEL,
        "20s close explicit by_self -> requested ended started owed | indexing end=explicit owes=index..300
         21s complete            -> indexed | indexed end=explicit episode=1 enrich=80s
         80s call                -> called(whole) | indexed end=explicit episode=1 enrich=80s
         82s answer good         -> answered(good) enriched | indexed end=explicit episode=1(enriched)
         90s observe             -> appended(late) | indexed end=explicit episode=1(enriched) wake=150s
         150s wake               -> started | indexing end=explicit episode=1(enriched) owes=index..400
         151s complete hash=2    -> indexed owed | indexed end=explicit episode=2 enrich=211s",
    );
}

#[test]
fn a_bad_answer_is_asked_for_once_more_and_then_the_episode_stays() {
    for (first, second, why) in
        [("refused", "refused", "refused"), ("cut_off", "invalid", "invalid"), ("invalid", "cut_off", "cut_off")]
    {
        after(
            OWED,
            &format!(
                "80s call                -> called(whole) | indexed end=explicit episode=1 enrich=80s
                 81s answer {first}      -> answered({first}) | indexed end=explicit episode=1 enrich=80s again
                 82s call                -> called(whole again) | indexed end=explicit episode=1 enrich=80s again
                 83s answer {second}     -> answered({second}) given_up({why}) | indexed end=explicit episode=1
                 84s close explicit      -> requested skipped | indexed end=explicit episode=1
                 85s enrich              -> owed(asked) | indexed end=explicit episode=1 enrich=85s
                 85s call                -> called(whole) | indexed end=explicit episode=1 enrich=85s"
            ),
        );
    }
    after(
        OWED,
        "80s call                -> called(whole) | indexed end=explicit episode=1 enrich=80s
         81s answer refused      -> answered(refused) | indexed end=explicit episode=1 enrich=80s again
         82s call                -> called(whole again) | indexed end=explicit episode=1 enrich=80s again
         83s answer good         -> answered(good) enriched | indexed end=explicit episode=1(enriched)",
    );
}

/// The model was not sent all of an enriched session, and a person asks again.
const AGAIN: &str = "80s call                -> called(whole) | indexed end=explicit episode=1 enrich=80s
         82s answer good unseen=5 -> answered(good) enriched | indexed end=explicit episode=1(enriched)
         90s enrich              -> owed(asked) | indexed end=explicit episode=1(enriched) enrich=90s
         91s close explicit      -> requested skipped | indexed end=explicit episode=1(enriched) enrich=90s";

#[test]
fn a_wish_to_ask_again_ends_where_no_more_would_be_sent() {
    let story = format!(
        "{AGAIN}
         92s give_up hash=2 no_more_to_send -> | indexed end=explicit episode=1(enriched) enrich=90s
         92s give_up no_more_to_send -> given_up(no_more_to_send) | indexed end=explicit episode=1(enriched)
         93s give_up no_more_to_send -> | indexed end=explicit episode=1(enriched)
         94s call                -> refused: no such content"
    );
    let known = world(OWED, &story).aggregate.state().enrichment().cloned().unwrap();
    assert_eq!((known.owed, known.given_up, known.current.map(|by| by.unseen)), (None, None, Some(5)));
    // With a larger context it may be asked for again.
    after(OWED, &format!("{story}\n95s enrich -> owed(asked) | indexed end=explicit episode=1(enriched) enrich=95s"));
}

#[test]
fn what_no_model_is_ever_sent_is_nothing_to_ask_again_for() {
    after(
        OWED,
        "80s call                -> called(whole) | indexed end=explicit episode=1 enrich=80s
         82s answer good unseen=5 not_held=5 -> answered(good) enriched | indexed end=explicit episode=1(enriched)
         90s enrich              -> | indexed end=explicit episode=1(enriched)",
    );
}

#[test]
fn what_was_asked_again_in_vain_keeps_what_was_made_before() {
    let story = format!(
        "{AGAIN}
         92s call                -> called(whole) | indexed end=explicit episode=1(enriched) enrich=90s
         93s answer refused      -> answered(refused) | indexed end=explicit episode=1(enriched) enrich=90s again
         94s call                -> called(whole again) | indexed end=explicit episode=1(enriched) enrich=90s again
         95s answer refused      -> answered(refused) given_up(refused) | indexed end=explicit episode=1(enriched)"
    );
    let known = world(OWED, &story).aggregate.state().enrichment().cloned().unwrap();
    assert_eq!((known.owed, known.given_up.map(|(_, why)| why)), (None, Some(GaveUp::Refused)));
    assert_eq!(known.current.map(|by| by.unseen), Some(5));
}

#[test]
fn a_failure_that_may_pass_waits_longer_each_time_and_loses_nothing() {
    let policy = Policy::default();
    let wait = |n| policy.backoff_ms(&session(), n) / 1000;
    let (first, second) = (81 + wait(1), 300 + wait(2));
    after(
        OWED,
        &format!(
            "80s call                    -> called(whole) | indexed end=explicit episode=1 enrich=80s
             81s answer unavailable      -> answered(unavailable) | indexed end=explicit episode=1 enrich={first}s
             299s call                   -> called(whole) | indexed end=explicit episode=1 enrich={first}s
             300s answer timed_out       -> answered(timed_out) | indexed end=explicit episode=1 enrich={second}s
             400s call                   -> called(whole) | indexed end=explicit episode=1 enrich={second}s
             401s answer rate_limited after=3600 -> answered(rate_limited) | indexed end=explicit episode=1 enrich=4001s
             402s enrich                 -> owed(asked) | indexed end=explicit episode=1 enrich=402s
             402s call                   -> called(whole) | indexed end=explicit episode=1 enrich=402s
             403s answer good            -> answered(good) enriched | indexed end=explicit episode=1(enriched)"
        ),
    );
}

#[test]
fn who_asked_waits_for_one_attempt_and_the_next_one_waits_like_every_other() {
    let wait = 41 + Policy::default().backoff_ms(&session(), 1) / 1000;
    after(
        INDEXED,
        &format!(
            "40s enrich              -> owed(asked) | indexed end=explicit episode=1 enrich=40s
             40s enrich              -> | indexed end=explicit episode=1 enrich=40s
             40s call                -> called(whole) | indexed end=explicit episode=1 enrich=40s
             41s answer unreachable  -> answered(unreachable) | indexed end=explicit episode=1 enrich={}s",
            wait.max(100)
        ),
    );
    // The same for a session that goes on; the result covers what was said until then.
    after(
        OPEN,
        "20s close lazy_query    -> requested started | indexing owes=index..300
         21s complete            -> indexed | indexed episode=1 wake=1810s
         22s enrich              -> owed(asked) | indexed episode=1 enrich=22s wake=1810s
         23s observe prompt      -> appended resumed | active episode=1 enrich=22s wake=83s
         24s call                -> called(whole) | active episode=1 enrich=22s wake=83s
         25s answer good         -> answered(good) enriched | active episode=1(enriched) wake=83s",
    );
    after(OPEN, "15s enrich -> refused: no such content");
}

#[test]
fn a_request_that_is_never_accepted_is_given_up() {
    let outcome = |n: u32| match n {
        3 => "answered(rejected) given_up(rejected) | indexed end=explicit episode=1".to_owned(),
        n => format!(
            "answered(rejected) | indexed end=explicit episode=1 enrich={}s",
            i64::from(n) * 1000 + 1 + Policy::default().backoff_ms(&session(), n) / 1000
        ),
    };
    let mut story = String::new();
    for n in 1..=3_u32 {
        let before = match n {
            1 => 80,
            n => i64::from(n - 1) * 1000 + 1 + Policy::default().backoff_ms(&session(), n - 1) / 1000,
        };
        story += &format!("{n}000s call -> called(whole) | indexed end=explicit episode=1 enrich={before}s\n");
        story += &format!("{n}001s answer rejected -> {}\n", outcome(n));
    }
    after(OWED, &story);
}

#[test]
fn a_call_that_was_cut_off_costs_nobody_knows_what_and_is_made_once_more() {
    let again = 101 + Policy::default().backoff_ms(&session(), 2) / 1000;
    let story = format!(
        "80s call                -> called(whole) | indexed end=explicit episode=1 enrich=80s
         89s lose call=7         -> | indexed end=explicit episode=1 enrich=80s
         90s lose                -> answered(lost) | indexed end=explicit episode=1 enrich=80s
         90s lose                -> | indexed end=explicit episode=1 enrich=80s
         100s call               -> called(whole) | indexed end=explicit episode=1 enrich=80s
         101s lose               -> answered(lost) | indexed end=explicit episode=1 enrich={again}s"
    );
    let known = world(OWED, &story).aggregate.state().enrichment().cloned().unwrap();
    let cost = known.costs.first().unwrap();
    assert_eq!(
        (cost.calls, cost.unknown, cost.nanos, cost.unknown_nanos, known.spent_nanos()),
        (2, 2, 0, 2_000, 2_000)
    );
}

#[test]
fn answers_to_parts_are_kept_until_the_content_changes() {
    let story = "80s call part request=3  -> called(part) | indexed end=explicit episode=1 enrich=80s
         81s answer good         -> answered(good) | indexed end=explicit episode=1 enrich=80s
         82s call part request=4 -> called(part) | indexed end=explicit episode=1 enrich=80s
         83s lose                -> answered(lost) | indexed end=explicit episode=1 enrich=80s";
    let before = world(OWED, story);
    let known = before.aggregate.state().enrichment().cloned().unwrap();
    assert_eq!(known.answer_to(&ContentHash([3; 32])), Some(&ContentHash([7; 32])));
    assert_eq!(known.answer_to(&ContentHash([4; 32])), None);
    let merged = "84s call merge -> called(merge) | indexed end=explicit episode=1 enrich=80s
         85s answer good -> answered(good) enriched | indexed end=explicit episode=1(enriched)";
    let known = world(OWED, &format!("{story}\n{merged}")).aggregate.state().enrichment().cloned().unwrap();
    assert!(known.answers.is_empty(), "nobody needs them any more");
    let other = "84s observe prompt -> appended resumed | active episode=1 wake=144s
         85s close explicit      -> requested ended started owed | indexing end=explicit episode=1 owes=index..400
         86s complete hash=2     -> indexed | indexed end=explicit episode=2 enrich=145s
         145s call part request=3 -> called(part) | indexed end=explicit episode=2 enrich=145s";
    let known = world(OWED, &format!("{story}\n{other}")).aggregate.state().enrichment().cloned().unwrap();
    assert_eq!(known.answer_to(&ContentHash([3; 32])), None, "of other content");
}

#[test]
fn a_forgotten_session_keeps_its_costs_and_nothing_else() {
    let story = "80s call            -> called(whole) | indexed end=explicit episode=1 enrich=80s
         81s forget              -> forgotten | forgotten
         82s answer good nanos=5 -> answered(good) | forgotten
         83s enrich              -> refused: forgotten";
    let known = world(OWED, story).aggregate.state().enrichment().cloned().unwrap();
    assert_eq!((known.calls, known.spent_nanos(), known.owed, known.current), (1, 5, None, None));
    // Neither is a session enriched that must not be read, or whose episode is deleted.
    after(OWED, "30s untrack -> stopped | unindexed(untracked) end=explicit episode=1");
    after(OWED, "30s delete -> deleted | indexed end=explicit episode=1(deleted)");
    after(
        OWED,
        "30s policy untracked -> 
         31s enrich           -> refused: switched off",
    );
    after(
        OWED,
        "30s give_up hash=2   -> | indexed end=explicit episode=1 enrich=80s
         31s give_up          -> given_up(stored_unreadable) | indexed end=explicit episode=1",
    );
}
