//! A broken line affects that line alone.

use baton_conversation::item::{Body, Item, Meta};
use proptest::prelude::*;

use crate::dice::Dice;
use crate::mutation::mutate;
use crate::pieces::lines;
use crate::read::{MAIN, whole};

/// The part of an item that depends on its line alone: nothing from other lines, and nothing that is only said when it
/// changes.
fn alone(item: &Item) -> Option<String> {
    match &item.body {
        // A prompt may have been queued and counted before; queued ones depend on whether the agent worked.
        Body::Reply { text } => Some(format!("{} reply {text}", item.line)),
        Body::Thinking { text } => Some(format!("{} thinking {text}", item.line)),
        Body::Call(call) => Some(format!("{} call {} {} {:?}", item.line, call.id, call.name, call.input)),
        // Name and target come from its call.
        Body::Result(result) => Some(format!("{} result {} {:?}", item.line, result.id, result.exit_code)),
        Body::Summary { text } => Some(format!("{} summary {text}", item.line)),
        Body::Media { text } => Some(format!("{} media {text}", item.line)),
        Body::Meta(Meta::Compaction(compaction)) => Some(format!("{} {compaction:?}", item.line)),
        _ => None,
    }
}

/// Tools whose results are described by their call, or dropped with it.
fn by_its_call(line: &str) -> bool {
    line.contains("tool_result")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_broken_line_harms_no_other(lines in lines(16), which in any::<prop::sample::Index>(), seed in any::<u64>()) {
        prop_assume!(!lines.is_empty());
        let which = which.index(lines.len());
        let mut broken = lines[which].clone().into_bytes();
        mutate(&mut Dice::new(seed), &mut broken, &[]);
        // A further newline would make more lines, which is a different case.
        broken.retain(|byte| *byte != b'\n');
        let joined = |changed: &[u8]| {
            let all = lines.iter().enumerate().map(|(at, line)| if at == which { changed } else { line.as_bytes() });
            all.flat_map(|line| [line, b"\n"].concat()).collect::<Vec<u8>>()
        };
        let described = |bytes: &[u8]| {
            let outcome = whole(MAIN, bytes);
            let items = outcome.items.iter();
            let others = items.filter(|item| {
                let at = usize::try_from(item.line).unwrap() - 1;
                at != which && !by_its_call(&lines[at])
            });
            (others.filter_map(alone).collect::<Vec<_>>(), outcome.cursor.line)
        };
        prop_assert_eq!(described(&joined(&broken)), described(&joined(lines[which].as_bytes())));
    }
}
