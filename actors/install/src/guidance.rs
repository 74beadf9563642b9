//! The blocks for files of instructions: in `CLAUDE.md` when to close a session, in other agents' files that Baton has
//! the memory of earlier ones, and when to ask it.

/// Beginning of the block's first line, by which it is found. The rest of the line is for people.
const BEGIN: &str = "<!-- baton:begin";
const END: &str = "<!-- baton:end -->";

/// The block for Claude Code: facts and three steps.
pub(crate) const HANDOFF: &str = "\
<!-- baton:begin (added by `baton install`, removed by `baton uninstall`) -->
## Session Handoff Best Practice

Baton keeps what earlier sessions asked, did, decided and left open, and tells the next session what concerns it.

Before you turn to another task, another context or another agent:

1. Call the MCP tool `session_tracking_close` with a `reason` such as \"task_complete\". It returns when this session's
   episode can be found.
2. The next agent then finds this work at once, with `search_nodes`, `search_memory_facts` and `get_episodes`.
3. Unchanged content is recognised by its hash: a close with nothing new to say costs nothing.

Without a close nothing is lost: `/clear`, the end of a session, a search and 30 minutes of silence index it as well.
<!-- baton:end -->
";

/// The block for other agents.
pub(crate) const RULES: &str = "\
<!-- baton:begin (added by `baton install --rules`, removed by `baton uninstall`) -->
The MCP server `baton` has the memory of earlier sessions here, of this agent and of others. When you begin a task, call
its tool `get_handoff` for what was left open in this directory. Before you decide something or look for the cause of an
error, call `search_nodes` with the words of the matter: it may have been decided or fixed before.
<!-- baton:end -->
";

/// Appends the block, or replaces an older one.
pub(crate) fn put_in(block: &str, text: &str) -> String {
    let newline = newline(text);
    let block = block.replace('\n', newline);
    if let Some((start, end)) = block_range(text) {
        return format!("{}{block}{}", &text[..start], &text[end..]);
    }
    match text {
        "" => block,
        // An empty line between, unless the last line was not terminated, so that removal can restore the text.
        _ => format!("{text}{newline}{block}"),
    }
}

/// Removes the block, restoring the text as it was before.
pub(crate) fn take_out(text: &str) -> String {
    let Some((start, end)) = block_range(text) else { return text.to_owned() };
    let before = &text[..start];
    let before = before.strip_suffix(newline(text)).unwrap_or(before);
    format!("{before}{}", &text[end..])
}

/// True if the text contains the block.
pub(crate) fn is_in(text: &str) -> bool {
    block_range(text).is_some()
}

/// Start of the block's first line and end of its last.
fn block_range(text: &str) -> Option<(usize, usize)> {
    let (end, line) = lines(text).find(|(_, line)| line.trim_end() == END)?;
    let start = lines(text).take_while(|(at, _)| *at < end).filter(|(_, line)| line.starts_with(BEGIN)).last()?.0;
    Some((start, end + line.len()))
}

fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    text.split_inclusive('\n').map(move |line| {
        at += line.len();
        (at - line.len(), line)
    })
}

fn newline(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_block_goes_as_it_came() {
        for before in
            ["", "\n", "# Mine", "# Mine\n", "# Mine\n\n", "a\r\nb\r\n", "a\r\nb", "<!-- baton:begin\nbut no end\n"]
        {
            let after = put_in(HANDOFF, before);
            assert!(is_in(&after), "{after}");
            assert_eq!(put_in(HANDOFF, &after), after, "{before:?}");
            assert_eq!(take_out(&after), before);
            assert_eq!(take_out(before), before);
            assert_eq!(before.contains("\r\n"), after.contains("\r\n"));
        }
        let written_below = format!("{}\nmore\n", put_in(HANDOFF, "# Mine\n"));
        assert_eq!(take_out(&written_below), "# Mine\n\nmore\n");
    }

    #[test]
    fn a_block_of_an_earlier_version_is_removed() {
        let earlier = "<!-- baton:begin (put in by `baton install`, taken out by `baton uninstall`) -->";
        let (begin, rest) = HANDOFF.split_once('\n').unwrap();
        assert_ne!(begin, earlier);
        assert_eq!(take_out(&format!("# Mine\n\n{earlier}\n{rest}more\n")), "# Mine\nmore\n");
    }

    #[test]
    fn one_block_replaces_the_other() {
        let both = put_in(RULES, &put_in(HANDOFF, "# Mine\r\n"));
        assert_eq!(both, put_in(RULES, "# Mine\r\n"));
        assert_eq!(take_out(&both), "# Mine\r\n");
    }

    #[test]
    fn an_older_block_is_replaced_where_it_stands() {
        let older = "a\n\n<!-- baton:begin v0 -->\nold\n<!-- baton:end -->\nb\n";
        let newer = put_in(HANDOFF, older);
        assert!(
            newer.starts_with("a\n\n<!-- baton:begin (") && newer.ends_with("end -->\nb\n") && !newer.contains("old\n")
        );
    }
}
