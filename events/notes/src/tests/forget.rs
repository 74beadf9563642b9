//! Forgetting a session in the notes that mention it.

use super::sample::{day, layout, told, wanted};
use crate::forget;
use crate::forget::Left;
use crate::{compaction, conflicts, knowledge, merge, session, start};

#[test]
fn a_note_of_baton_alone_goes() {
    let text = merge(None, &wanted(&told()).note).text;
    assert_eq!(forget::own(&text), Left::Nothing);
    assert!(forget::is_own(&text) && !forget::is_own(&text.replace("- deploy it", "- deploy it now")));
    assert!(!forget::is_own(&(text.clone() + "mine\n")));
    for eol in ["\r\n", "\r\r\n"] {
        assert_eq!(forget::own(&text.replace('\n', eol)), Left::Nothing);
        assert_eq!(conflicts(&text.replace('\n', eol)), 0);
    }
    assert_eq!(forget::own(&compaction::archived(&text, day("2026-03-20"), session::OVER_THRESHOLD)), Left::Nothing);
    assert_eq!(forget::own("mine\n"), Left::Unchanged);
}

#[test]
fn what_a_person_wrote_stays_and_nothing_else() {
    let text = merge(None, &wanted(&told()).note).text;
    let edited = text
        .replace("type: session\n", "type: session\nmine: yes\n")
        .replace("## Open\n", "## Open\n\nMy point.\n")
        .replace("- deploy it", "- deploy it on Monday");
    let Left::Text(left) = forget::own(&edited) else { panic!("something stays") };
    assert_eq!(left, "---\nmine: yes\n---\n\n## Open\n\nMy point.\n\n## Next Steps\n\n- deploy it on Monday\n");
    assert_eq!(forget::own(&left), Left::Unchanged);
}

#[test]
fn lines_go_with_the_last_session_that_supports_them() {
    let today = day("2026-03-20");
    let (one, mut two) = (told(), told());
    two.about.note = "2026-03-14-other".to_owned();
    two.decisions.clear();
    let entity = |told| knowledge::mentioned(told, &layout(), today).pop().unwrap();
    let decided = compaction::plan(&one, &layout(), today).updates.into_iter().nth(1).unwrap();
    let mut text = merge(None, &entity(&one).note).text;
    text = merge(Some(&text), &decided.note).text;
    text = merge(Some(&text), &entity(&two).note).text;
    assert!(text.contains("- 2026-03-14: Changed ([[2026-03-14-other]], [[2026-03-14-refresh-tokens]])"), "{text}");
    let Left::Text(left) = forget::lines(&text, "2026-03-14-refresh-tokens") else {
        panic!("the other is still there")
    };
    assert!(left.contains("- 2026-03-14: Changed ([[2026-03-14-other]])\n") && !left.contains("Rotate"), "{left}");
    assert_eq!(crate::conflicts(&left), 0);
    assert_eq!(forget::lines(&left, "2026-03-14-refresh-tokens"), Left::Unchanged);
    assert_eq!(forget::lines(&left, "2026-03-14-other"), Left::Nothing);
    let theirs = left + "\nA remark.\n";
    let Left::Text(left) = forget::lines(&theirs, "2026-03-14-other") else { panic!("a remark is there") };
    assert!(left.contains("A remark.") && !left.contains("2026-03-14-other"), "{left}");
    // A session whose name begins like another's is a different one.
    assert_eq!(forget::lines(&text, "2026-03-14-refresh"), Left::Unchanged);
}

#[test]
fn pages_lose_what_is_gone() {
    let (told, today) = (told(), day("2026-03-20"));
    let page = start::wanted(&told, Some("/home/dev/shop"), &layout(), today).remove(0);
    let text = merge(None, &page.note).text;
    assert_eq!(start::project_path(&text).as_deref(), Some("/home/dev/shop"));
    let Left::Text(left) = forget::lines(&text, "claude/projects/shop/entities/src-auth.rs") else { panic!("{text}") };
    assert!(!left.contains("src-auth.rs") && left.contains("entities/shop|"), "{left}");
}

#[test]
fn a_shared_entity_goes_with_the_last_of_its_projects() {
    let (told, today) = (told(), day("2026-03-20"));
    let wanted = knowledge::mentioned(&told, &layout(), today).pop().unwrap();
    let own = merge(None, &wanted.note).text;
    let place = layout().place(&wanted.path).unwrap();
    let promoted = knowledge::promoted(&place, &knowledge::entity(&own).unwrap(), "src-auth.rs", &layout(), today);
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
    assert_eq!(forget::lines(&own, "2026-03-14-refresh-tokens"), Left::Nothing);
    assert_eq!(forget::lines(&shared, &layout().target(&place)), Left::Nothing);
}

#[test]
fn what_a_session_continues_goes_out_of_its_head() {
    let mut later = told();
    later.about.others = ["s-1", "s-2"].map(|id| baton_conversation::record::SessionId::new(id).unwrap()).to_vec();
    let text = merge(None, &wanted(&later).note).text;
    assert_eq!(forget::continued(&text, &["s-3", later.about.session.as_str()]), Left::Unchanged);
    let Left::Text(left) = forget::continued(&text, &["s-1"]) else { panic!("{text}") };
    assert!(!left.contains("s-1") && left.contains("  - s-2\n"), "{left}");
    assert_eq!((forget::continued(&left, &["s-1"]), crate::conflicts(&left)), (Left::Unchanged, 0));
    // As if it had never existed.
    later.about.others.remove(0);
    assert!(!merge(Some(&left), &wanted(&later).note).changed);
    assert_eq!(forget::continued(&text.replace("  - s-2\n", "  - s-2\n  - mine\n"), &["s-1"]), Left::Unchanged);
    assert_eq!(forget::continued("no head", &["s-1"]), Left::Unchanged);
}
