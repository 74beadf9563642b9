//! Pictures of the pages, for people to look at.

use std::path::PathBuf;

use crate::browser::with_browser;
use crate::drawn::examples;

/// Width and height of the screens.
const SCREENS: [(u32, u32); 2] = [(1280, 900), (380, 800)];

/// The pages, by the name of their picture.
const PAGES: [(&str, &str); 13] = [
    ("today", "/"),
    ("sessions", "/sessions"),
    ("search", "/sessions?q=refresh+token"),
    ("session", "/session/b84e6a10-57d9-4c3f-9b72-0fd18e3a6c95"),
    ("conversation", "/session/b84e6a10-57d9-4c3f-9b72-0fd18e3a6c95?line=17"),
    ("projects", "/projects"),
    ("project", "/project?name=ledger-api"),
    ("file", "/file?path=src/webhooks.rs"),
    ("graph", "/graph?about=src/webhooks.rs"),
    ("workflows", "/workflows"),
    ("costs", "/costs"),
    ("replay", "/replay"),
    ("health", "/health"),
];
/// Attempts at a picture.
const TRIES: u32 = 3;

/// Writes a picture of each page about the examples into the folder that `BATON_PICTURES` names: `tests/pictures FOLDER`.
#[test]
#[ignore = "draws for people; tests/pictures runs it"]
fn pictures() {
    let folder = PathBuf::from(std::env::var_os("BATON_PICTURES").unwrap());
    std::fs::create_dir_all(&folder).unwrap();
    let world = examples();
    world.search("token");
    with_browser(&world, async |browser| {
        for (width, height) in SCREENS {
            for scheme in ["light", "dark"] {
                browser.look(width, height, scheme).await;
                for (name, path) in PAGES {
                    browser.open(path).await;
                    // A browser without a screen now and then draws nothing in time.
                    let mut drawn = browser.client.screenshot().await;
                    for _ in 1..TRIES {
                        if drawn.is_err() {
                            browser.open(path).await;
                            drawn = browser.client.screenshot().await;
                        }
                    }
                    std::fs::write(folder.join(format!("{name}-{width}-{scheme}.png")), drawn.unwrap()).unwrap();
                }
            }
        }
    });
}
