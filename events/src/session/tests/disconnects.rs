//! The end of a session's last MCP connection: a hint that becomes a close unless activity takes it back.

use super::*;

const LEFT: &str = "
    30s signal mcp_disconnect   -> signalled(mcp_disconnect) | active wake=70s";

fn after_leaving(then: &str) {
    after(&format!("{OPEN}{LEFT}"), then);
}

#[test]
fn nothing_comes_after_it_and_it_is_a_close() {
    after_leaving(
        "70s wake                     -> idle | inactive wake=90s
         89s wake                     -> | inactive wake=90s
         90s wake                     -> requested ended started | indexing end=mcp_disconnect owes=index..300
         91s complete                 -> indexed | indexed end=mcp_disconnect episode=1
         999s wake                    -> | indexed end=mcp_disconnect episode=1",
    );
    // The same for a session whose content a query has indexed.
    after(
        OPEN,
        "20s close lazy_query         -> requested started | indexing owes=index..300
         21s complete                 -> indexed | indexed episode=1 wake=1810s
         30s signal mcp_disconnect    -> signalled(mcp_disconnect) | indexed episode=1 wake=90s
         90s wake                     -> requested skipped ended | indexed end=mcp_disconnect episode=1",
    );
    after(
        OPEN,
        "20s close lazy_query         -> requested started | indexing owes=index..300
         30s signal mcp_disconnect    -> signalled(mcp_disconnect) | indexing owes=index..300 wake=90s
         90s wake                     -> requested ended | indexing end=mcp_disconnect owes=index..300",
    );
    after(
        OPEN,
        "20s policy timeout=0         ->
         30s signal mcp_disconnect    -> signalled(mcp_disconnect) | active wake=70s
         90s wake                     -> requested ended started | indexing end=mcp_disconnect owes=index..300",
    );
}

#[test]
fn what_comes_after_it_takes_it_back() {
    after_leaving(
        "31s observe                  -> appended | active wake=91s\n 91s wake -> idle | inactive wake=1831s",
    );
    for kind in ["user_prompt_submit", "stop", "other"] {
        after_leaving(&format!(
            "40s signal {kind} -> signalled({kind}) | active wake=100s
             100s wake -> idle | inactive wake=1840s"
        ));
    }
    after_leaving(
        "40s signal session_start resume -> signalled(session_start) | active wake=70s
         70s wake                     -> idle | inactive wake=1810s",
    );
}

#[test]
fn what_is_older_than_it_does_not_take_it_back() {
    after_leaving(
        "31s observe at=30            -> appended | active wake=90s
         32s observe meta             -> appended | active wake=90s
         33s signal stop at=29        -> signalled(stop) | active wake=90s
         90s wake                     -> requested ended started | indexing end=mcp_disconnect owes=index..500",
    );
}

#[test]
fn a_hint_that_comes_too_late_is_none() {
    after(
        OPEN,
        "20s signal mcp_disconnect at=9 -> signalled(mcp_disconnect) | active wake=70s
         70s wake                     -> idle | inactive wake=1810s",
    );
    after(
        OPEN,
        "20s signal user_prompt_submit -> signalled(user_prompt_submit) | active wake=80s
         21s signal mcp_disconnect at=19 -> signalled(mcp_disconnect) | active wake=80s
         80s wake                     -> idle | inactive wake=1820s",
    );
    after(
        INDEXED,
        "30s signal mcp_disconnect    -> signalled(mcp_disconnect) | indexed end=explicit episode=1
         40s observe prompt           -> appended resumed | active episode=1 wake=100s
         100s wake                    -> idle | inactive episode=1 wake=1840s",
    );
}

#[test]
fn a_tool_call_in_flight_does_not_outlive_it() {
    // The agent was killed during the call: its result never comes.
    after(
        OPEN,
        "20s observe call             -> appended | active wake=21680s
         30s signal mcp_disconnect    -> signalled(mcp_disconnect) | active wake=90s
         90s wake                     -> requested ended started | indexing end=mcp_disconnect owes=index..400",
    );
    // The agent lives: the result and what follows resume the session.
    after(
        OPEN,
        "20s observe call             -> appended | active wake=21680s
         30s signal mcp_disconnect    -> signalled(mcp_disconnect) | active wake=90s
         90s wake                     -> requested ended started | indexing end=mcp_disconnect owes=index..400
         91s complete                 -> indexed | indexed end=mcp_disconnect episode=1
         210s observe                 -> appended resumed | active episode=1 wake=270s
         270s wake                    -> idle | inactive episode=1 wake=2010s",
    );
}

#[test]
fn time_asleep_does_not_count() {
    // The machine slept for an hour after the connection closed.
    after_leaving(
        "70s wake                     -> idle | inactive wake=90s
         3640s wake asleep=3600 apart=3600 -> | inactive wake=90s
         3690s wake asleep=3600 apart=3600 -> requested ended started | indexing end=mcp_disconnect owes=index..300",
    );
    // It slept before: then there is nothing to wait for.
    after(
        OPEN,
        "70s wake                     -> idle | inactive wake=1810s
         3700s signal mcp_disconnect  -> signalled(mcp_disconnect) | inactive wake=1810s
         3759s wake asleep=3600       -> | inactive wake=1810s
         3760s wake asleep=3600       -> requested ended started | indexing end=mcp_disconnect owes=index..300",
    );
}

#[test]
fn an_empty_session_is_let_go_by_it() {
    check(
        "0s discover                  -> discovered | active wake=60s
         1s signal mcp_disconnect     -> signalled(mcp_disconnect) | active wake=60s
         61s wake                     -> requested ended abandoned | unindexed(empty) end=mcp_disconnect",
    );
}

#[test]
fn a_hook_that_tells_the_end_is_believed_before_it() {
    after_leaving(
        "31s signal session_end prompt_input_exit at=30 -> ended signalled(session_end) \
             | active end=hook_prompt_input_exit owes=close(hook_prompt_input_exit) wake=70s
         31s wake                     -> requested started | indexing end=hook_prompt_input_exit owes=index..300
         32s complete                 -> indexed | indexed end=hook_prompt_input_exit episode=1
         90s wake                     -> | indexed end=hook_prompt_input_exit episode=1",
    );
}
