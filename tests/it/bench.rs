//! `baton bench` runs `baton-bench` if that lies beside it.

use std::path::Path;

use serde_json::Value;

use crate::world::{BATON, World, finished, text};

/// Links the program into a folder of its own, which therefore must be on the same file system.
fn alone() -> tempfile::TempDir {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let baton = folder.path().join("baton");
    std::fs::hard_link(BATON, &baton).or_else(|_| std::fs::copy(BATON, &baton).map(drop)).unwrap();
    folder
}

fn bench(world: &World, folder: &Path, arguments: &[&str]) -> crate::world::Ran {
    let baton = folder.join("baton");
    finished(world.program(baton.to_str().unwrap(), &[&["bench"], arguments].concat()).output().unwrap())
}

#[test]
fn where_the_benchmarks_are_not_built_it_says_how_to_build_them() {
    let (world, folder) = (World::new(), alone());
    for arguments in [&["all"][..], &["--help"], &[]] {
        let ran = bench(&world, folder.path(), arguments);
        assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{arguments:?}");
        assert!(ran.err.contains("`cargo build --release`"), "{arguments:?}: {}", ran.err);
        assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
    }
    let error: Value = serde_json::from_str(&bench(&world, folder.path(), &["all", "--json"]).err).unwrap();
    assert!(text(&error["error"]["message"]).contains("cargo build"), "{error}");
    assert!(!world.home().exists());
}

#[test]
fn the_benchmarks_get_all_arguments_and_their_exit_code_is_passed_on() {
    let (world, folder) = (World::new(), alone());
    std::os::unix::fs::symlink("/bin/sh", folder.path().join("baton-bench")).unwrap();
    let script = "printf '%s,' \"$@\"; exit 7";
    let ran = bench(&world, folder.path(), &["-c", script, "sh", "crash", "--kills", "3", "--json", "--help", "-h"]);
    assert_eq!((ran.code, ran.out.as_str()), (7, "crash,--kills,3,--json,--help,-h,"), "{}", ran.err);
}
