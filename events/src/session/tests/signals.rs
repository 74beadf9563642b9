//! Hooks: starts, ends, compactions, activity and handoffs.

use super::*;

#[test]
fn an_end_is_one_at_once_and_owes_a_close() {
    for (detail, reason) in [
        ("clear", "hook_clear"),
        ("resume", "hook_resume"),
        ("logout", "hook_logout"),
        ("prompt_input_exit", "hook_prompt_input_exit"),
        ("other", "hook_other"),
        ("", "hook_other"),
        ("auto", "hook_other"),
    ] {
        after(
            OPEN,
            &format!(
                "20s signal session_end {detail} at=19 -> ended signalled(session_end) \
                     | active end={reason} owes=close({reason}) wake=70s
                 20s wake                     -> requested started | indexing end={reason} owes=index..300
                 21s complete                 -> indexed | indexed end={reason} episode=1
                 9999s wake                   -> | indexed end={reason} episode=1"
            ),
        );
    }
}

#[test]
fn an_end_in_any_phase_comes_to_one_episode_with_its_reason() {
    let ended = "ended signalled(session_end)";
    after(
        OPEN,
        &format!(
            "70s wake                     -> idle | inactive wake=1810s
             80s signal session_end clear -> {ended} | inactive end=hook_clear owes=close(hook_clear) wake=1810s
             80s observe at=79            -> appended | active end=hook_clear owes=close(hook_clear) wake=139s
             80s wake                     -> requested started | indexing end=hook_clear owes=index..400"
        ),
    );
    after(
        OPEN,
        &format!(
            "20s close lazy_query         -> requested started | indexing owes=index..300
             21s signal session_end clear -> {ended} | indexing end=hook_clear owes=index..300 owes=close(hook_clear)
             21s observe at=20            -> appended(late) | indexing end=hook_clear owes=index..300 owes=close(hook_clear)
             22s complete                 -> indexed | indexed end=hook_clear episode=1 owes=close(hook_clear) wake=81s
             22s wake                     -> requested started | indexing end=hook_clear episode=1 owes=index..400
             23s complete hash=2          -> indexed | indexed end=hook_clear episode=2"
        ),
    );
    after(
        OPEN,
        &format!(
            "20s close lazy_query         -> requested started | indexing owes=index..300
             21s complete                 -> indexed | indexed episode=1 wake=1810s
             22s signal session_end clear -> {ended} | indexed end=hook_clear episode=1 owes=close(hook_clear)
             22s wake                     -> requested skipped | indexed end=hook_clear episode=1"
        ),
    );
    let retry = Policy::default().backoff_ms(&session(), 1) / 1000 + 21;
    after(
        OPEN,
        &format!(
            "20s close lazy_query         -> requested started | indexing owes=index..300
             21s fail broken              -> failed(1) | failed wake={retry}s
             22s signal session_end clear -> {ended} | failed end=hook_clear owes=close(hook_clear) wake={retry}s
             22s wake                     -> requested started | indexing end=hook_clear owes=index..300"
        ),
    );
    // There is no conversation in it; or the file cannot be read, and is not mistaken for an empty one.
    check(&format!(
        "0s discover                  -> discovered | active wake=60s
         1s signal session_end clear  -> {ended} | active end=hook_clear owes=close(hook_clear) wake=60s
         1s wake                      -> requested abandoned | unindexed(empty) end=hook_clear"
    ));
    check(&format!(
        "0s discover                  -> discovered | active wake=60s
         1s signal session_end clear  -> {ended} | active end=hook_clear owes=close(hook_clear) wake=60s
         1s wake unread               -> requested started | indexing end=hook_clear owes=index..0"
    ));
    // It was abandoned and has grown since.
    after(
        OPEN,
        &format!(
            "20s policy timeout=0         ->
             1810s wake                   -> abandoned | unindexed(timeout_disabled)
             1900s signal session_end clear -> {ended} | unindexed(timeout_disabled) end=hook_clear owes=close(hook_clear)
             1900s observe prompt at=1890 -> appended(late) | unindexed(timeout_disabled) end=hook_clear owes=close(hook_clear)
             1900s wake                   -> requested started | indexing end=hook_clear owes=index..400"
        ),
    );
}

#[test]
fn an_end_before_the_transcript_waits_for_it() {
    let ended = "5s signal session_end clear -> ended signalled(session_end) | active end=hook_clear wake=65s";
    check(&format!(
        "0s signal session_start startup -> signalled(session_start) | active wake=1800s
         {ended}
         10s discover                 -> discovered | active end=hook_clear owes=close(hook_clear) wake=70s
         10s observe records=3 at=4   -> located appended | active end=hook_clear owes=close(hook_clear) wake=64s
         10s wake                     -> requested started | indexing end=hook_clear owes=index..300
         11s complete                 -> indexed | indexed end=hook_clear episode=1"
    ));
    // It went on: the end is lifted.
    check(&format!(
        "{ended}
         10s discover                 -> discovered | active end=hook_clear owes=close(hook_clear) wake=70s
         10s observe records=3        -> located appended resumed | active wake=70s"
    ));
}

#[test]
fn a_stale_end_is_recorded_and_changes_nothing() {
    after(
        OPEN,
        "50s observe                  -> appended | active wake=110s
         60s signal session_end clear at=47 -> signalled(session_end) | active wake=110s
         61s signal session_end clear at=48 -> ended signalled(session_end) \
             | active end=hook_clear owes=close(hook_clear) wake=110s",
    );
    after(
        OPEN,
        "30s signal session_start resume -> signalled(session_start) | active wake=70s
         31s signal session_end other at=29 -> signalled(session_end) | active wake=70s
         32s signal session_end other at=31 -> ended signalled(session_end) \
             | active end=hook_other owes=close(hook_other) wake=70s",
    );
}

#[test]
fn an_end_that_stands_keeps_its_reason_and_time_and_what_is_new_is_indexed() {
    after(
        INDEXED,
        "25s observe at=21            -> appended(late) | indexed end=explicit episode=1 wake=85s
         30s signal session_end prompt_input_exit -> signalled(session_end) \
             | indexed end=explicit episode=1 owes=close(hook_prompt_input_exit) wake=85s
         30s wake                     -> requested started | indexing end=explicit episode=1 owes=index..400
         31s complete hash=2          -> indexed | indexed end=explicit episode=2
         40s signal session_end       -> signalled(session_end) | indexed end=explicit episode=2 owes=close(hook_other)
         40s wake                     -> requested skipped | indexed end=explicit episode=2",
    );
    let world = world(
        INDEXED,
        "30s signal session_end prompt_input_exit -> signalled(session_end) \
             | indexed end=explicit episode=1 owes=close(hook_prompt_input_exit)
         30s wake                     -> requested skipped | indexed end=explicit episode=1",
    );
    assert_eq!(world.aggregate.state().last_close, Some(CloseReason::Explicit), "whose word it is");
}

#[test]
fn an_agent_that_closed_itself_and_is_left_has_ended_by_its_own_word() {
    let closed = "
         20s close explicit by_self   -> requested ended started | indexing end=explicit owes=index..300
         21s complete                 -> indexed | indexed end=explicit episode=1
         30s signal stop              -> signalled(stop) | indexed end=explicit episode=1";
    after(
        &format!("{OPEN}{closed}"),
        "40s signal session_end       -> signalled(session_end) | indexed end=explicit episode=1 owes=close(hook_other)
         40s observe at=29            -> appended(late) | indexed end=explicit episode=1 owes=close(hook_other) wake=100s
         40s wake                     -> requested started | indexing end=explicit episode=1 owes=index..400",
    );
    // The prompt typed after the close is read only after the hook has reported the end.
    for (typed, resumed) in [("prompt at=35", true), ("at=39", false)] {
        let then = match resumed {
            true => {
                "appended resumed requested ended started | indexing end=hook_other episode=1 owes=index..400
                 41s wake                     -> | indexing end=hook_other episode=1 owes=index..400
                 42s observe at=39            -> appended(late) | indexing end=hook_other episode=1 owes=index..400
                 43s complete hash=2          -> indexed | indexed end=hook_other episode=2 wake=102s"
            }
            false => "appended(late) | indexed end=explicit episode=1 owes=close(hook_other) wake=101s",
        };
        after(
            &format!("{OPEN}{closed}"),
            &format!(
                "40s signal session_end       -> signalled(session_end) \
                     | indexed end=explicit episode=1 owes=close(hook_other)
                 41s observe {typed}          -> {then}"
            ),
        );
    }
    // The agent started in it again before that was read.
    after(
        &format!("{OPEN}{closed}"),
        "40s signal session_end       -> signalled(session_end) | indexed end=explicit episode=1 owes=close(hook_other)
         41s signal session_start resume -> signalled(session_start) | indexed end=explicit episode=1 owes=close(hook_other)
         42s observe prompt at=42     -> appended resumed | active episode=1 wake=102s",
    );
    // Opened again with activity, it ends anew.
    after(
        &format!("{OPEN}{closed}"),
        "100s signal session_start resume -> signalled(session_start) | indexed end=explicit episode=1
         101s signal user_prompt_submit -> signalled(user_prompt_submit) | indexed end=explicit episode=1
         110s signal session_end      -> resumed ended signalled(session_end) \
             | active end=hook_other episode=1 owes=close(hook_other) wake=70s
         110s observe prompt at=101   -> appended | active end=hook_other episode=1 owes=close(hook_other) wake=161s
         110s wake                    -> requested started | indexing end=hook_other episode=1 owes=index..400",
    );
}

#[test]
fn lines_written_after_the_end_belong_to_it_and_a_new_prompt_does_not() {
    let closed = "
         20s signal session_end clear -> ended signalled(session_end) \
             | active end=hook_clear owes=close(hook_clear) wake=70s
         20s wake                     -> requested started | indexing end=hook_clear owes=index..300
         21s complete                 -> indexed | indexed end=hook_clear episode=1";
    after(
        &format!("{OPEN}{closed}"),
        "25s observe at=21            -> appended(late) | indexed end=hook_clear episode=1 wake=85s
         26s observe meta             -> appended | indexed end=hook_clear episode=1 wake=85s
         85s wake                     -> started | indexing end=hook_clear episode=1 owes=index..500",
    );
    after(
        &format!("{OPEN}{closed}"),
        "30s observe meta             -> appended | indexed end=hook_clear episode=1
         100s signal session_start resume -> signalled(session_start) | indexed end=hook_clear episode=1
         101s signal session_end      -> signalled(session_end) | indexed end=hook_clear episode=1 owes=close(hook_other)
         101s wake                    -> requested skipped | indexed end=hook_clear episode=1
         110s signal session_start resume -> signalled(session_start) | indexed end=hook_clear episode=1
         111s signal user_prompt_submit -> signalled(user_prompt_submit) | indexed end=hook_clear episode=1
         112s observe prompt          -> appended resumed | active episode=1 wake=172s
         120s signal session_end logout -> ended signalled(session_end) \
             | active end=hook_logout episode=1 owes=close(hook_logout) wake=172s
         120s wake                    -> requested started | indexing end=hook_logout episode=1 owes=index..500
         121s complete hash=2         -> indexed | indexed end=hook_logout episode=2",
    );
}

#[test]
fn whoever_came_back_and_left_without_a_word_works_in_it_no_more() {
    let back = "100s signal session_start resume -> signalled(session_start) | indexed end=explicit episode=1";
    let left =
        "101s signal session_end -> signalled(session_end) | indexed end=explicit episode=1 owes=close(hook_other)";
    let late = "101s signal session_end at=99 -> signalled(session_end) \
                    | indexed end=explicit episode=1 owes=close(hook_other)";
    for (then, works_on) in [("", true), (left, false), (late, true)] {
        let world = world(INDEXED, &format!("{back}\n{then}"));
        let state = world.aggregate.state();
        assert_eq!(state.signals.started_at > state.end.map(|end| end.at), works_on, "{then}");
    }
}

#[test]
fn an_end_after_work_that_is_not_read_yet_is_an_end_of_its_own() {
    let closed = "
         20s signal session_end clear -> ended signalled(session_end) \
             | active end=hook_clear owes=close(hook_clear) wake=70s
         20s wake                     -> requested started | indexing end=hook_clear owes=index..300
         21s complete                 -> indexed | indexed end=hook_clear episode=1
         100s signal session_start resume -> signalled(session_start) | indexed end=hook_clear episode=1
         111s signal user_prompt_submit -> signalled(user_prompt_submit) | indexed end=hook_clear episode=1
         120s signal session_end logout -> resumed ended signalled(session_end) \
             | active end=hook_logout episode=1 owes=close(hook_logout) wake=70s";
    after(
        &format!("{OPEN}{closed}"),
        "120s observe prompt at=112   -> appended | active end=hook_logout episode=1 owes=close(hook_logout) wake=172s
         120s wake                    -> requested started | indexing end=hook_logout episode=1 owes=index..400
         121s complete hash=2         -> indexed | indexed end=hook_logout episode=2",
    );
    // A repeated signal and a delayed one have no effect.
    after(
        &format!("{OPEN}{closed}"),
        "120s signal session_end logout -> signalled(session_end) | active end=hook_logout episode=1 owes=close(hook_logout) wake=70s
         121s signal session_end other at=110 -> signalled(session_end) \
             | active end=hook_logout episode=1 owes=close(hook_logout) wake=70s",
    );
}

#[test]
fn what_goes_on_before_its_close_is_not_closed() {
    after(
        OPEN,
        "20s signal session_end clear -> ended signalled(session_end) \
             | active end=hook_clear owes=close(hook_clear) wake=70s
         25s observe prompt           -> appended resumed | active wake=85s
         26s wake                     -> | active wake=85s",
    );
}

#[test]
fn a_compaction_indexes_what_is_there_and_the_session_goes_on() {
    after(
        OPEN,
        "20s signal pre_compact auto  -> signalled(pre_compact) | active owes=close(hook_compact) wake=70s
         20s wake                     -> requested started | indexing owes=index..300
         21s signal post_compact auto -> signalled(post_compact) | indexing owes=index..300 owes=close(hook_compact)
         21s wake                     -> requested | indexing owes=index..300
         22s complete                 -> indexed | indexed episode=1 wake=1810s
         30s observe prompt           -> appended resumed | active episode=1 wake=90s",
    );
    // It does not replace an end that is owed, but an end replaces it.
    let both = "active end=hook_clear owes=close(hook_clear) wake=70s";
    after(
        OPEN,
        &format!(
            "20s signal session_end clear -> ended signalled(session_end) | {both}
             21s signal pre_compact       -> signalled(pre_compact) | {both}"
        ),
    );
    after(
        OPEN,
        &format!(
            "20s signal pre_compact       -> signalled(pre_compact) | active owes=close(hook_compact) wake=70s
             21s signal session_end clear -> ended signalled(session_end) | {both}"
        ),
    );
}

#[test]
fn another_close_serves_one_that_is_owed() {
    after(
        OPEN,
        "20s signal session_end clear -> ended signalled(session_end) \
             | active end=hook_clear owes=close(hook_clear) wake=70s
         21s close lazy_query         -> requested started | indexing end=hook_clear owes=index..300 owes=close(hook_clear)
         22s close explicit           -> requested | indexing end=hook_clear owes=index..300
         23s complete                 -> indexed | indexed end=hook_clear episode=1",
    );
    after(
        OPEN,
        "20s signal pre_compact       -> signalled(pre_compact) | active owes=close(hook_compact) wake=70s
         21s close sync               -> requested started | indexing owes=index..300",
    );
}

#[test]
fn activity_delays_and_holds_nothing_open_for_ever() {
    after(
        OPEN,
        "60s signal user_prompt_submit at=60 -> signalled(user_prompt_submit) | active wake=120s
         70s wake                     -> | active wake=120s
         80s signal stop at=30        -> signalled(stop) | active wake=120s
         120s wake                    -> idle | inactive wake=1860s
         1500s signal stop            -> signalled(stop) | inactive wake=3300s
         21600s signal stop           -> signalled(stop) | inactive wake=23400s
         23000s signal stop           -> signalled(stop) | inactive wake=23410s
         23400s wake                  -> | inactive wake=23410s
         23410s wake                  -> requested ended started | indexing end=inactivity_timeout owes=index..300",
    );
    // Nor does it wake a session that is over.
    after(INDEXED, "9000s signal user_prompt_submit -> signalled(user_prompt_submit) | indexed end=explicit episode=1");
}

#[test]
fn a_clock_that_jumps_cannot_put_a_signal_into_the_future() {
    after(
        OPEN,
        "20s signal user_prompt_submit at=99999 -> signalled(user_prompt_submit) | active wake=80s
         30s signal session_end clear at=99999 -> ended signalled(session_end) \
             | active end=hook_clear owes=close(hook_clear) wake=70s
         30s wake                     -> requested started | indexing end=hook_clear owes=index..300
         31s complete                 -> indexed | indexed end=hook_clear episode=1
         40s observe prompt           -> appended resumed | active episode=1 wake=100s",
    );
}

#[test]
fn an_end_that_was_long_on_its_way_closes_as_of_then() {
    after(
        OPEN,
        "9000s signal session_end at=12 -> ended signalled(session_end) \
             | active end=hook_other owes=close(hook_other) wake=70s
         9000s observe at=13          -> appended | active end=hook_other owes=close(hook_other) wake=73s
         9000s wake                   -> requested started | indexing end=hook_other owes=index..400",
    );
    // The timeout had closed it by then.
    after(
        OPEN,
        "1810s wake                   -> requested ended started | indexing end=inactivity_timeout owes=index..300
         1811s complete               -> indexed | indexed end=inactivity_timeout episode=1
         9000s signal session_end at=12 -> signalled(session_end) \
             | indexed end=inactivity_timeout episode=1 owes=close(hook_other)
         9000s wake                   -> requested skipped | indexed end=inactivity_timeout episode=1",
    );
}

#[test]
fn the_same_signal_twice_is_recorded_once() {
    after(
        OPEN,
        "20s signal session_end clear id=a -> ended signalled(session_end) \
             | active end=hook_clear owes=close(hook_clear) wake=70s
         21s signal session_end clear id=a -> | active end=hook_clear owes=close(hook_clear) wake=70s
         21s wake                     -> requested started | indexing end=hook_clear owes=index..300
         22s complete                 -> indexed | indexed end=hook_clear episode=1
         23s signal session_end clear id=a -> | indexed end=hook_clear episode=1",
    );
}

#[test]
fn what_is_not_tracked_records_nothing_and_what_is_owed_waits() {
    after(
        OPEN,
        "20s signal session_end clear -> ended signalled(session_end) \
             | active end=hook_clear owes=close(hook_clear) wake=70s
         21s policy untracked         ->
         22s wake                     -> | active end=hook_clear
         23s signal stop              -> refused: switched off
         23s offer                    -> refused: switched off
         23s claim                    -> refused: switched off
         24s policy tracked           ->
         25s untrack                  -> stopped | unindexed(untracked) end=hook_clear
         26s signal session_start     -> refused: untracked
         26s offer                    -> refused: untracked
         27s wake                     -> | unindexed(untracked) end=hook_clear
         28s track                    -> tracked | active end=hook_clear owes=close(hook_clear) wake=70s
         29s forget                   -> forgotten | forgotten
         30s signal session_end       -> refused: forgotten
         31s restore                  -> restored | active generation=2 wake=70s",
    );
}

#[test]
fn a_rewrite_does_not_lose_a_close_that_is_owed() {
    after(
        OPEN,
        "20s signal session_end clear -> ended signalled(session_end) \
             | active end=hook_clear owes=close(hook_clear) wake=70s
         21s rewrite                  -> rewritten | active generation=2 owes=close(hook_clear) wake=70s
         21s observe records=2 at=15  -> appended | active generation=2 owes=close(hook_clear) wake=75s
         21s wake                     -> requested ended started | indexing end=hook_clear generation=2 owes=index..200",
    );
}

#[test]
fn a_session_is_told_once_and_takes_over_once() {
    after(
        OPEN,
        "20s claim                    -> | active wake=70s
         21s offer                    -> offered | active wake=70s
         22s offer hash=2             -> | active wake=70s
         23s claim                    -> claimed | active wake=70s
         24s claim                    -> | active wake=70s
         25s offer hash=2             -> | active wake=70s",
    );
}

#[test]
fn whom_a_session_follows_stays_known() {
    let world = world(
        "",
        "0s signal session_start clear follows=before -> signalled(session_start) | active wake=1800s
         9s signal session_start compact -> signalled(session_start) | active wake=1809s
         9s signal session_start resume at=5 -> signalled(session_start) | active wake=1809s",
    );
    let signals = &world.aggregate.state().signals;
    let follows = Follows { session: SessionId::new("before").unwrap(), at: Timestamp(0) };
    assert_eq!((&signals.follows, signals.started_at), (&Some(follows), Some(Timestamp(9_000))));
}
