//! Links that follow a note which a person has renamed.

use super::sample::{day, layout, told};
use crate::vault::{conflicts, knowledge, merge, renamed};

const FROM: &str = "2026-03-14-refresh-tokens";

fn note() -> String {
    merge(None, &knowledge::mentioned(&told(), &layout(), day("2026-03-14"))[1].note).text
}

#[test]
fn links_of_blocks_follow_and_those_of_people_stay() {
    let mine = note() + "\nSee [[2026-03-14-refresh-tokens]].\n";
    let text = renamed(&mine, FROM, "Line 59 öäü").unwrap();
    assert!(text.contains("- 2026-03-14: Changed ([[Line 59 öäü]])\n"), "{text}");
    assert!(text.ends_with("See [[2026-03-14-refresh-tokens]].\n"), "{text}");
    assert_eq!((conflicts(&text), renamed(&text, FROM, "Line 59 öäü")), (0, None), "once");
    assert_eq!(renamed(&text, "2026-03-14-refresh", "x"), None, "a name that only begins alike");
    // With the name that it has now it is brought in as before.
    let mut again = told();
    again.about.note = "Line 59 öäü".to_owned();
    let wanted = &knowledge::mentioned(&again, &layout(), day("2026-03-14"))[1].note;
    assert!(!merge(Some(&text), wanted).changed);
}

#[test]
fn a_block_in_which_only_links_were_changed_is_not_a_persons() {
    let followed = note().replace("[[2026-03-14-refresh-tokens]]", "[[Line 59]]");
    assert_eq!(conflicts(&followed), 1);
    let text = renamed(&followed, FROM, "Line 59").unwrap();
    assert_eq!(conflicts(&text), 0, "{text}");
    assert!(text.contains("Changed ([[Line 59]])"), "{text}");
    let edited = followed.replace("Changed", "Changed a lot");
    assert_eq!(renamed(&edited, FROM, "Line 59"), None, "more than links");
}
