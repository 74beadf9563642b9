//! Forgetting a session in the notes that mention it.

use super::sample::{day, facts, layout, wanted};
use crate::forget;
use crate::forget::Remainder;
use crate::{compaction, conflicts, knowledge, merge, session, start};

#[test]
fn a_note_of_baton_alone_goes() {
    let text = merge(None, &wanted(&facts()).note).text;
    assert_eq!(forget::forget_own_note(&text), Remainder::Nothing);
    assert!(forget::is_own(&text) && !forget::is_own(&text.replace("- deploy it", "- deploy it now")));
    assert!(!forget::is_own(&(text.clone() + "mine\n")));
    for eol in ["\r\n", "\r\r\n"] {
        assert_eq!(forget::forget_own_note(&text.replace('\n', eol)), Remainder::Nothing);
        assert_eq!(conflicts(&text.replace('\n', eol)), 0);
    }
    assert_eq!(
        forget::forget_own_note(&compaction::archive_copy(&text, day("2026-03-20"), session::OVER_THRESHOLD)),
        Remainder::Nothing
    );
    assert_eq!(forget::forget_own_note("mine\n"), Remainder::Unchanged);
}

#[test]
fn what_a_person_wrote_stays_and_nothing_else() {
    let text = merge(None, &wanted(&facts()).note).text;
    let edited = text
        .replace("type: session\n", "type: session\nmine: yes\n")
        .replace("## Open\n", "## Open\n\nMy point.\n")
        .replace("- deploy it", "- deploy it on Monday");
    let Remainder::Text(left) = forget::forget_own_note(&edited) else { panic!("something stays") };
    assert_eq!(left, "---\nmine: yes\n---\n\n## Open\n\nMy point.\n\n## Next Steps\n\n- deploy it on Monday\n");
    assert_eq!(forget::forget_own_note(&left), Remainder::Unchanged);
}

#[test]
fn lines_go_with_the_last_session_that_supports_them() {
    let today = day("2026-03-20");
    let (one, mut two) = (facts(), facts());
    two.about.note = "2026-03-14-other".to_owned();
    two.decisions.clear();
    let entity = |facts| knowledge::entity_notes(facts, &layout(), today).pop().unwrap();
    let decided = compaction::plan(&one, &layout(), today).updates.into_iter().nth(1).unwrap();
    let mut text = merge(None, &entity(&one).note).text;
    text = merge(Some(&text), &decided.note).text;
    text = merge(Some(&text), &entity(&two).note).text;
    assert!(text.contains("- 2026-03-14: Changed ([[2026-03-14-other]], [[2026-03-14-refresh-tokens]])"), "{text}");
    let Remainder::Text(left) = forget::forget_target(&text, "2026-03-14-refresh-tokens") else {
        panic!("the other is still there")
    };
    assert!(left.contains("- 2026-03-14: Changed ([[2026-03-14-other]])\n") && !left.contains("Rotate"), "{left}");
    assert_eq!(crate::conflicts(&left), 0);
    assert_eq!(forget::forget_target(&left, "2026-03-14-refresh-tokens"), Remainder::Unchanged);
    assert_eq!(forget::forget_target(&left, "2026-03-14-other"), Remainder::Nothing);
    let theirs = left + "\nA remark.\n";
    let Remainder::Text(left) = forget::forget_target(&theirs, "2026-03-14-other") else { panic!("a remark is there") };
    assert!(left.contains("A remark.") && !left.contains("2026-03-14-other"), "{left}");
    // A session whose name begins like another's is a different one.
    assert_eq!(forget::forget_target(&text, "2026-03-14-refresh"), Remainder::Unchanged);
}

#[test]
fn pages_lose_what_is_gone() {
    let (facts, today) = (facts(), day("2026-03-20"));
    let page = start::wanted_pages(&facts, Some("/home/dev/shop"), &layout(), today).remove(0);
    let text = merge(None, &page.note).text;
    assert_eq!(start::project_path(&text).as_deref(), Some("/home/dev/shop"));
    let Remainder::Text(left) = forget::forget_target(&text, "claude/projects/shop/entities/src-auth.rs") else {
        panic!("{text}")
    };
    assert!(!left.contains("src-auth.rs") && left.contains("entities/shop|"), "{left}");
}

#[test]
fn a_shared_entity_goes_with_the_last_of_its_projects() {
    let (facts, today) = (facts(), day("2026-03-20"));
    let wanted = knowledge::entity_notes(&facts, &layout(), today).pop().unwrap();
    let own = merge(None, &wanted.note).text;
    let role = layout().role(&wanted.path).unwrap();
    let promoted =
        knowledge::shared_entity_notes(&role, &knowledge::entity(&own).unwrap(), "src-auth.rs", &layout(), today);
    assert_eq!(promoted[0].path, "claude/shared/entities/src-auth.rs.md");
    assert_eq!(promoted[1].path, wanted.path);
    let shared = merge(None, &promoted[0].note).text;
    let own = merge(Some(&own), &promoted[1].note).text;
    assert!(shared.contains("\n- [[claude/projects/shop/entities/src-auth.rs|shop]]\n"), "{shared}");
    assert!(
        own.contains("\n- [[claude/shared/entities/src-auth.rs|src/auth.rs]] - Shared between projects\n"),
        "{own}"
    );
    assert!(!merge(Some(&own), &promoted[1].note).changed, "once");
    assert_eq!(forget::forget_target(&own, "2026-03-14-refresh-tokens"), Remainder::Nothing);
    assert_eq!(forget::forget_target(&shared, &layout().target(&role)), Remainder::Nothing);
}

#[test]
fn what_a_session_continues_goes_out_of_its_head() {
    let mut later = facts();
    later.about.others = ["s-1", "s-2"].map(|id| baton_conversation::record::SessionId::new(id).unwrap()).to_vec();
    let text = merge(None, &wanted(&later).note).text;
    assert_eq!(forget::forget_continued(&text, &["s-3", later.about.session.as_str()]), Remainder::Unchanged);
    let Remainder::Text(left) = forget::forget_continued(&text, &["s-1"]) else { panic!("{text}") };
    assert!(!left.contains("s-1") && left.contains("  - s-2\n"), "{left}");
    assert_eq!((forget::forget_continued(&left, &["s-1"]), crate::conflicts(&left)), (Remainder::Unchanged, 0));
    // As if it had never existed.
    later.about.others.remove(0);
    assert!(!merge(Some(&left), &wanted(&later).note).changed);
    assert_eq!(
        forget::forget_continued(&text.replace("  - s-2\n", "  - s-2\n  - mine\n"), &["s-1"]),
        Remainder::Unchanged
    );
    assert_eq!(forget::forget_continued("no head", &["s-1"]), Remainder::Unchanged);
}
