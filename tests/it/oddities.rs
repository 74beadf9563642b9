//! All oddities of `replay-fixtures/transcripts/oddities/` in one home: each is counted as its file says, and affects
//! no other.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use crate::world::{World, text};

#[path = "../../events/tests/reader/recipe.rs"]
mod recipe;

use recipe::Recipe;

#[test]
fn every_oddity_is_counted_as_expected_and_harms_no_other() {
    let world = World::new();
    let folder = world.projects().join("-srv-odd");
    std::fs::create_dir_all(&folder).unwrap();
    let recipes = recipes();
    for (name, recipe) in &recipes {
        assert!(matches!(recipe.only.as_deref(), None | Some("files")), "{name}");
        std::fs::write(folder.join(format!("{name}.jsonl")), recipe.bytes(name)).unwrap();
    }
    for (name, recipe) in &recipes {
        let Some(word) = recipe.word(name) else { continue };
        assert_eq!(world.found(&word), [name.as_str()], "{}", recipe.what);
    }
    let rows: BTreeMap<String, Value> =
        world.sessions().into_iter().map(|row| (text(&row["session_id"]), row)).collect();
    assert_eq!(rows.keys().collect::<Vec<_>>(), recipes.keys().collect::<Vec<_>>(), "each is a session");
    for (name, recipe) in &recipes {
        let row = world.show(name);
        for (said, expected) in [
            ("message_count", "messages"),
            ("malformed_lines", "malformed"),
            ("oversize_lines", "oversize"),
            ("unknown_types", "unknown"),
        ] {
            // Empty and zero values are left out.
            let is_nothing = |value: &Value| *value == json!({}) || *value == 0;
            if let Some(expected) = recipe.expected.get(expected).filter(|expected| !is_nothing(expected)) {
                assert_eq!(row[said], *expected, "{name}, {said}: {}\n{row}", recipe.what);
            } else if let Some(value) = row.get(said) {
                assert!(is_nothing(value), "{name}, {said}: {value}");
            }
        }
        let closed = world.json(&["close", name]);
        assert_eq!(closed["status"], "success", "{name}: {closed}");
    }
    assert!(!world.log().contains("panicked"), "{}", world.log());
    // The same again, from the stored conversations.
    world.stop();
    std::fs::remove_dir_all(world.home().join("memory")).unwrap();
    for (name, word) in recipes.iter().filter_map(|(name, recipe)| Some((name, recipe.word(name)?))) {
        assert_eq!(world.found(&word), [name.as_str()]);
    }
}

fn recipes() -> BTreeMap<String, Recipe> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("replay-fixtures/transcripts/oddities");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|file| file.extension().is_some_and(|ending| ending == "json"));
    let recipes = files.map(|file| {
        let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
        let recipe = Recipe::of(&std::fs::read(&file).unwrap());
        (name, recipe)
    });
    let recipes: BTreeMap<_, _> = recipes.collect();
    assert!(recipes.len() > 25, "the oddities were not found");
    recipes
}
