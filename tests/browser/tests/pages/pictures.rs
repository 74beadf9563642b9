//! Pictures of the pages, for people to look at.

use std::path::PathBuf;

use crate::browser::with_browser;
use crate::drawn::{addresses, examples};

/// Width and height of the screens.
const SCREENS: [(u32, u32); 2] = [(1280, 900), (380, 800)];

/// The main pages, and those of the first sessions.
const PAGES: usize = 10;
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
                for path in addresses(&world).into_iter().take(PAGES) {
                    browser.open(&path).await;
                    let name: String =
                        path.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect();
                    let file = folder.join(format!("{}-{width}-{scheme}.png", name.trim_matches('_')));
                    // A browser without a screen now and then draws nothing in time.
                    let mut drawn = browser.client.screenshot().await;
                    for _ in 1..TRIES {
                        if drawn.is_err() {
                            browser.open(&path).await;
                            drawn = browser.client.screenshot().await;
                        }
                    }
                    std::fs::write(file, drawn.unwrap()).unwrap();
                }
            }
        }
    });
}
