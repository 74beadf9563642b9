use super::Session;
use crate::digest::Pointed;
use baton_conversation::item::{Body, Call, Item};

const BEFORE: &str = "let drum = Drum::new();";
const AFTER: &str = "let drum = Drum::with(side_latch);";

/// Adds an edit that replaces these lines.
pub(super) fn edit(session: Session, path: &str, old: &str, new: &str) -> Session {
    let mut session = session.wrote(path, new);
    let call = session.items.iter_mut().rev().nth(1);
    if let Some(Item { body: Body::Call(Call { edit: Some(edit), .. }), .. }) = call {
        edit.old_text = old.to_owned();
    }
    session
}

/// A latch is planned on the drum and built there; then a person wants it elsewhere.
fn asked() -> Session {
    let plan = "Implement the following plan:\n\n# Latch on the DrumHead\n\n## Context\n\nThe winch slips in the rain. \
                The `DrumHead` has room for a latch.\n\n## Approach\n\nPut a latch on the DrumHead.";
    let built = edit(Session::default().prompt(plan), "src/DrumHead.rs", BEFORE, AFTER);
    let built = built.reply("Done:\n- Uses `side_latch` instead of a pawl on the drum");
    built.prompt("it should not sit on the drum but instead on the mast")
}

fn says(list: &[Pointed], text: &str) -> bool {
    list.iter().any(|said| said.text.contains(text))
}

#[test]
fn what_a_persons_word_took_back_does_not_hold() {
    let undone = edit(asked(), "src/DrumHead.rs", AFTER, BEFORE).wrote("src/mast.rs", "let latch = Latch::new();");
    let episode = undone.reply("The mast has a latch.").digest();
    assert!(!says(&episode.decisions, "side_latch") && says(&episode.superseded, "side_latch"), "{episode:#?}");
    assert!(says(&episode.decisions, "it should not sit on the drum"), "{:?}", episode.decisions);
    let paths: Vec<&str> = episode.files_modified.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["src/mast.rs"]);
    assert_eq!(episode.objective, "The winch slips in the rain.");
}

#[test]
fn what_stands_anywhere_holds() {
    let moved = edit(asked(), "src/DrumHead.rs", AFTER, BEFORE).wrote("src/mast.rs", "Latch::of(side_latch)");
    for session in [moved, edit(asked(), "src/mast.rs", "let mast = 1;", "let mast = 2;")] {
        let episode = session.reply("The mast is ready.").digest();
        assert!(!says(&episode.superseded, "side_latch"), "{:?}", episode.superseded);
    }
}

#[test]
fn an_edit_that_was_put_back_mends_nothing() {
    let session = Session::default().prompt("It fails:\n\nerror: the winch slips in the rain\n");
    let tried = edit(edit(session, "src/mast.rs", BEFORE, AFTER), "src/mast.rs", AFTER, BEFORE);
    let mended = edit(tried, "src/winch.rs", BEFORE, AFTER).reply("The winch holds.").prompt("It works now");
    let found = mended.digest();
    let by = found.errors[0].resolution.as_ref().map(|by| by.text.as_str());
    assert!(by.is_some_and(|by| by.starts_with("by edits to src/winch.rs")), "{by:?}");
}
