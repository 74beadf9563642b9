//! Forgetting interrupted at each of its steps.

use std::fs;
use std::path::Path;

use baton_vault::faults;

use super::{House, id};

/// The folder of a home that holds its registers.
const REGISTERS: &str = "vault-register";

/// Returns all files below a folder, with their texts.
fn files(folder: &Path) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        match entry.file_type().unwrap().is_dir() {
            true => all.extend(files(&entry.path())),
            false => {
                let text = String::from_utf8_lossy(&fs::read(entry.path()).unwrap()).into_owned();
                all.push((entry.path().display().to_string(), text));
            }
        }
    }
    all
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &to),
            false => drop(fs::copy(entry.path(), to).unwrap()),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn interrupted_forgetting_continues_until_nothing_links_to_the_session() {
    let house = House::new().await;
    for (number, file) in [(1, "src/zebra.rs"), (2, "src/two.rs")] {
        house.work(number, file);
        house.close(number).await;
    }
    house.until(|status| status.notes == 2 && status.behind == 0).await;
    let (table, vault, home) =
        (house.parts.catalog.table.now(), house.parts.catalog.settings.now().vault.clone(), house.home.clone());
    house.system.stop().await;
    // A person has renamed the note, which the register does not know.
    let folder = home.join("vault/claude/projects/web/sessions");
    let named = |name: &str| files(&folder).into_iter().find(|(path, _)| path.contains(name)).unwrap().0;
    fs::rename(named("zebra"), folder.join("About giraffes.md")).unwrap();

    let one = (vec![id(1)], vec!["zebra", "giraffe"]);
    let all = (vec![id(1), id(2)], vec!["zebra", "giraffe", "two", "web"]);
    for ((sessions, words), parts) in [
        (&one, &["vault", REGISTERS][..]),
        (&all, &["vault", REGISTERS]),
        // The register is lost.
        (&one, &["vault"]),
    ] {
        let mut stops = 0;
        for step in 0.. {
            let temp = tempfile::tempdir().unwrap();
            for part in parts {
                copy(&home.join(part), &temp.path().join(part));
            }
            let forget = |changes| faults::forget_stopped_after(changes, temp.path(), &vault, &table, sessions);
            if forget(Some(step)).is_ok() {
                break;
            }
            stops += 1;
            assert_eq!(forget(None), Ok(Vec::new()), "{step}");
            for (path, text) in files(&temp.path().join("vault")) {
                let has = |word: &&&str| path.contains(**word) || text.contains(**word);
                assert_eq!(words.iter().find(has), None, "stopped at {step}: {path}: {text}");
            }
        }
        assert!(stops > 4, "{stops} steps");
    }
}
