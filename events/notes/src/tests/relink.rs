//! Links that follow notes which a person has renamed.

use super::sample::{day, facts, layout};
use crate::knowledge::EntityIdentity;
use crate::{EntityNote, EntityNotes, NoteRole, conflicts, knowledge, merge, relink_entities, relink_session, start};

const FROM: &str = "2026-03-14-refresh-tokens";

fn note() -> String {
    merge(None, &knowledge::entity_notes(&facts(), &layout(), day("2026-03-14"))[1].note).text
}

#[test]
fn links_of_blocks_follow_and_those_of_people_stay() {
    let mine = note() + "\nSee [[2026-03-14-refresh-tokens]].\n";
    let text = relink_session(&mine, FROM, "Line 59 öäü").unwrap();
    assert!(text.contains("- 2026-03-14: Changed ([[Line 59 öäü]])\n"), "{text}");
    assert!(text.ends_with("See [[2026-03-14-refresh-tokens]].\n"), "{text}");
    assert_eq!((conflicts(&text), relink_session(&text, FROM, "Line 59 öäü")), (0, None), "once");
    assert_eq!(relink_session(&text, "2026-03-14-refresh", "x"), None, "a name that only begins alike");
    // Under its new name it is merged as before.
    let mut again = facts();
    again.about.note = "Line 59 öäü".to_owned();
    let wanted = &knowledge::entity_notes(&again, &layout(), day("2026-03-14"))[1].note;
    assert!(!merge(Some(&text), wanted).changed);
}

#[test]
fn a_block_in_which_only_links_were_changed_is_not_a_persons() {
    let followed = note().replace("[[2026-03-14-refresh-tokens]]", "[[Line 59]]");
    assert_eq!(conflicts(&followed), 1);
    let text = relink_session(&followed, FROM, "Line 59").unwrap();
    assert_eq!(conflicts(&text), 0, "{text}");
    assert!(text.contains("Changed ([[Line 59]])"), "{text}");
    let edited = followed.replace("Changed", "Changed a lot");
    let theirs = relink_session(&edited, FROM, "Line 59").unwrap();
    assert_eq!(conflicts(&theirs), 1, "more than links");
    let blocks = |text: &str| text.split_once("-->").map(|(_, blocks)| blocks.to_owned());
    assert_eq!(blocks(&theirs), blocks(&edited), "only what was told of it is known by its new name");
    assert_eq!(relink_session(&theirs, FROM, "Line 59"), None, "once");
}

const OLD: &str = "claude/projects/shop/entities/src-auth.rs";

fn noted(project: Option<&str>, kind: &str, name: &str, file: &str, before: Option<&str>) -> EntityNote {
    let own = |text: &str| text.to_owned();
    EntityNote { project: project.map(own), kind: own(kind), name: own(name), file: own(file), before: before.map(own) }
}

/// Applies [`relink_entities`] to the page of the project, if only the notes in `there` exist.
fn follow(text: &str, notes: &[EntityNote], there: &[&str]) -> Option<String> {
    let leads = |target: &str| !target.contains("/entities/src-auth") || there.contains(&target);
    relink_entities(text, "claude/projects/shop/shop.md", &layout(), &EntityNotes::new(notes.to_vec()), &leads)
}

fn page() -> String {
    merge(None, &start::wanted_pages(&facts(), None, &layout(), day("2026-03-14"))[0].note).text
}

#[test]
fn links_to_entities_follow_by_what_they_show() {
    let auth = |file: &str| noted(Some("shop"), "File", "src/auth.rs", file, None);
    assert!(page().contains(&format!("[[{OLD}|src/auth.rs]]")), "{}", page());
    let other = noted(Some("shop"), "Topic", "src/auth.rs", "src-auth.rs-2", None);
    for (notes, expected) in [
        (vec![auth("Auth")], Some("claude/projects/shop/entities/Auth")),
        (vec![auth("/Mine/Auth")], Some("claude/Mine/Auth")),
        // Of two entities of the same name, the renamed one is meant.
        (vec![auth("Auth"), other.clone()], Some("claude/projects/shop/entities/Auth")),
        (vec![auth("Auth"), noted(Some("shop"), "Topic", "src/auth.rs", "Another", None)], None),
        // The note that the link meant was deleted.
        (vec![other], None),
        (Vec::new(), None),
        (vec![noted(Some("web"), "File", "src/auth.rs", "Auth", None)], None),
        (vec![noted(None, "File", "src/auth.rs", "Auth", None)], None),
    ] {
        let text = follow(&page(), &notes, &[]);
        let expected = expected.map(page_with);
        assert_eq!(text.as_deref().map(without_hashes), expected.as_deref().map(without_hashes), "{notes:?}");
        text.iter().for_each(|text| assert_eq!(conflicts(text), 0, "{notes:?}"));
    }
    assert_eq!(follow(&page(), &[auth("Auth")], &[OLD]), None, "it leads somewhere");
    // Moved under its own name, and back.
    let there = follow(&page(), &[auth("/Mine/src-auth.rs")], &[]).unwrap();
    let entities = EntityNotes::new([auth("src-auth.rs")]);
    let leads = |target: &str| !target.contains("/Mine/");
    let back = relink_entities(&there, "claude/projects/shop/shop.md", &layout(), &entities, &leads).unwrap();
    assert_eq!(without_hashes(&back), without_hashes(&page()));
}

fn page_with(to: &str) -> String {
    page().replace(&format!("[[{OLD}|"), &format!("[[{to}|"))
}

/// Returns the lines that are not markers.
fn without_hashes(text: &str) -> String {
    text.lines().filter(|line| !line.starts_with("<!--")).map(|line| format!("{line}\n")).collect()
}

#[test]
fn a_block_in_which_a_program_changed_links_to_entities_is_not_a_persons() {
    let new = "claude/projects/shop/entities/Auth";
    for (link, before, is_own) in [
        (new, None, true),
        ("Auth", None, true),
        ("../entities/Auth", None, true),
        ("projects/shop/entities/Auth.md", None, true),
        ("Elsewhere", None, false),
    ] {
        let text = page_with(link);
        assert_eq!(conflicts(&text), 1, "{link}");
        let followed = follow(&text, &[noted(Some("shop"), "File", "src/auth.rs", "Auth", before)], &[]);
        let expected = is_own.then(|| without_hashes(&page_with(new)));
        let mended = followed.as_deref().filter(|text| conflicts(text) == 0);
        assert_eq!(mended.map(without_hashes), expected, "{link}");
        let edited = text.replace("|src/auth.rs]]", "|src/auth.rs]] is mine");
        let followed = follow(&edited, &[noted(Some("shop"), "File", "src/auth.rs", "Auth", before)], &[]);
        assert_eq!(without_hashes(&followed.unwrap_or_else(|| edited.clone())), without_hashes(&edited), "{link}");
    }
    // Renamed a second time: every line is known, whether or not the name before is.
    let renamed_once = follow(&page(), &[noted(Some("shop"), "File", "src/auth.rs", "Auth", None)], &[]).unwrap();
    let twice = renamed_once.replace(&format!("[[{new}|"), "[[Last|");
    for before in [Some("Auth"), None] {
        let followed = follow(&twice, &[noted(Some("shop"), "File", "src/auth.rs", "Last", before)], &[]);
        assert!(followed.is_some_and(|text| conflicts(&text) == 0), "{before:?}");
    }
    // A person has changed a line of it as well, or led the link to another note.
    for edited in [twice.replace("|src/auth.rs]]", "|src/auth.rs]], mine"), twice.replace("[[Last|", "[[Cache|")] {
        let followed = follow(&edited, &[noted(Some("shop"), "File", "src/auth.rs", "Last", None)], &[]);
        assert_eq!(without_hashes(&followed.unwrap_or_else(|| edited.clone())), without_hashes(&edited));
    }
}

#[test]
fn shared_notes_and_those_of_projects_lead_to_each_other_when_one_is_renamed() {
    let entity = EntityIdentity { kind: "File".to_owned(), name: "src/auth.rs".to_owned(), project: "shop".to_owned() };
    let own = NoteRole::Entity("shop".to_owned(), "src-auth.rs".to_owned());
    let both = knowledge::shared_entity_notes(&own, &entity, "src-auth.rs", &layout(), day("2026-03-14"));
    let shared = merge(None, &both[0].note).text;
    let mentioned = &knowledge::entity_notes(&facts(), &layout(), day("2026-03-14"))[1].note;
    let of_project = merge(Some(&merge(None, mentioned).text), &both[1].note).text;
    let notes = [
        noted(Some("shop"), "File", "src/auth.rs", "Auth", None),
        noted(None, "File", "src/auth.rs", "All of auth", None),
    ];
    let entities = EntityNotes::new(notes);
    let leads = |target: &str| !target.contains("/entities/");
    for (text, path, expected) in [
        (&shared, "claude/shared/entities/All of auth.md", "[[claude/projects/shop/entities/Auth|shop]]"),
        (&of_project, "claude/projects/shop/entities/Auth.md", "[[claude/shared/entities/All of auth|src/auth.rs]]"),
    ] {
        let text = relink_entities(text, path, &layout(), &entities, &leads).unwrap();
        assert!(text.contains(expected), "{expected}: {text}");
        assert_eq!(conflicts(&text), 0);
    }
}
