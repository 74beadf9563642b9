//! Sessions known only from hooks: their end, and a transcript that comes after it.

use super::*;

#[test]
fn a_session_without_a_transcript_owes_nothing_and_is_let_go_as_empty() {
    check(
        "0s signal session_start startup -> signalled(session_start) | active wake=1800s
         1s offer                     -> offered | active wake=1800s
         2s signal user_prompt_submit -> signalled(user_prompt_submit) | active wake=1802s
         3s claim                     -> claimed | active wake=1802s
         4s signal pre_compact        -> signalled(pre_compact) | active wake=1802s
         5s signal mcp_disconnect     -> signalled(mcp_disconnect) | active wake=65s
         6s close explicit            -> refused: not discovered
         7s signal session_end        -> ended signalled(session_end) | active end=hook_other wake=67s
         66s wake                     -> | active end=hook_other wake=67s
         67s wake                     -> abandoned | unindexed(empty) end=hook_other
         99999s wake                  -> | unindexed(empty) end=hook_other",
    );
    // The window was killed before anything was typed: nothing reports its end, or its MCP server does.
    let begun = "0s signal session_start startup -> signalled(session_start) | active wake=1800s";
    check(&format!(
        "{begun}
         1799s wake                   -> | active wake=1800s
         1800s wake                   -> requested ended abandoned | unindexed(empty) end=inactivity_timeout"
    ));
    check(&format!(
        "{begun}
         5s signal mcp_disconnect     -> signalled(mcp_disconnect) | active wake=65s
         65s wake                     -> requested ended abandoned | unindexed(empty) end=mcp_disconnect"
    ));
    check(&format!(
        "{begun}
         1800s wake unread            -> requested ended abandoned | unindexed(empty) end=inactivity_timeout
         1801s close explicit unread  -> refused: not discovered
         1802s observe                -> refused: not discovered"
    ));
    check(
        "0s policy timeout=0          ->
         0s signal session_start startup -> signalled(session_start) | active wake=1800s
         1800s wake                   -> abandoned | unindexed(empty)",
    );
}

#[test]
fn one_that_was_let_go_unseen_is_read_once_its_transcript_comes() {
    check(
        "0s signal session_start startup -> signalled(session_start) | active wake=1800s
         5s signal session_end clear  -> ended signalled(session_end) | active end=hook_clear wake=65s
         65s wake                     -> abandoned | unindexed(empty) end=hook_clear
         70s discover                 -> discovered | active end=hook_clear owes=close(hook_clear) wake=130s
         70s observe records=3 at=4   -> located appended | active end=hook_clear owes=close(hook_clear) wake=64s
         70s wake                     -> requested started | indexing end=hook_clear owes=index..300
         71s complete                 -> indexed | indexed end=hook_clear episode=1",
    );
    check(
        "0s signal session_start startup -> signalled(session_start) | active wake=1800s
         1800s wake                   -> requested ended abandoned | unindexed(empty) end=inactivity_timeout
         1900s signal session_start resume -> signalled(session_start) | unindexed(empty) end=inactivity_timeout
         1901s signal session_end     -> signalled(session_end) | unindexed(empty) end=inactivity_timeout
         1950s signal session_start resume -> signalled(session_start) | unindexed(empty) end=inactivity_timeout
         1960s discover               -> discovered | active end=inactivity_timeout owes=close(hook_other) wake=2020s
         1961s observe prompt         -> located appended resumed | active wake=2021s",
    );
}
