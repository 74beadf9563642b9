//! Events between two groups of a round.

use std::time::Duration;

use super::{DEADLINE, House, id};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_are_read_again_after_a_session_was_forgotten_between_groups() {
    let house = House::new().await;
    let (parts, clock, home) = (house.parts.clone(), house.clock.clone(), house.home.clone());
    // Two entities whose notes would get the same name.
    for (number, file) in [(1, "src/cache.rs"), (2, "src-cache.rs")] {
        house.work(number, file);
        house.close(number).await;
    }
    house.until(|status| status.notes == 2 && status.behind == 0).await;
    let mut held = parts.note_writer.hold().await;
    clock.advance(Duration::from_secs(4 * 24 * 3600));
    let checked = tokio::task::block_in_place(|| {
        let first = held.sweep(&[id(1)]).unwrap();
        // As forgetting does.
        held.drop_index();
        first + held.sweep(&[id(2)]).unwrap()
    });
    assert_eq!(checked, 2);
    let folder = home.join("vault/claude/projects/web/entities");
    for (name, part) in [("src-cache.rs", 1), ("src-cache.rs-2", 2)] {
        let text = std::fs::read_to_string(folder.join(format!("{name}.md"))).unwrap();
        let decisions: Vec<&str> = text.lines().filter(|line| line.contains("sled instead of sqlite")).collect();
        let [decision] = decisions.as_slice() else { panic!("{name}: {text}") };
        assert!(decision.contains(&format!("of-part-{part}")), "{name}: {decision}");
    }

    // A removal that has to wait for the vault is owed meanwhile.
    parts.note_writer.clear_owed_removal();
    let forgetting = baton_base::task::spawn({
        let parts = parts.clone();
        async move { parts.note_writer.forget(&[id(1)]).await }
    });
    let owed = async {
        while !parts.note_writer.owes_removal() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(DEADLINE, owed).await.expect("it is owed before it is done");
    forgetting.abort();
    assert!(parts.note_writer.owes_removal());
    drop(held);
    house.system.stop().await;
}
