use std::fs;
use std::sync::Arc;

use baton_conversation::record::{Position, SessionId, Timestamp};
use baton_events::projection::table::SessionTable;
use baton_events::session::{Event, Place};

use super::*;
use baton_base::clock::ManualClock;
use baton_config::settings::Settings;
use baton_journal::MemoryJournal;

struct World {
    temp: tempfile::TempDir,
    journal: Arc<dyn Journal>,
    settings: watch::Sender<Arc<Settings>>,
    table: watch::Sender<SessionTable>,
}

impl World {
    fn new() -> Self {
        let journal = Arc::new(MemoryJournal::new(Box::new(())));
        let (settings, table) = (watch::Sender::new(Arc::default()), watch::Sender::new(SessionTable::default()));
        Self { temp: tempfile::tempdir().unwrap(), journal, settings, table }
    }

    fn open(&self) -> Roots {
        let own = vec![Root::claude_code(&self.temp.path().join("own"))];
        let clock = Arc::new(ManualClock::new(Timestamp(0)));
        Roots::open(own, self.settings.subscribe().into(), self.table.subscribe().into(), self.journal.clone(), clock)
    }

    /// Records that a session works in a project.
    fn locate(&self, project: &Path) {
        let project = fs::canonicalize(project).unwrap().to_str().unwrap().to_owned();
        let place = Place::new(project.clone(), project);
        let id = SessionId::new(&place.project.len().to_string()).unwrap();
        self.table.send_modify(|table| table.apply(Position(1), &id, SequenceNumber(1), &Event::Located { place }));
    }

    /// Creates an admissible directory and returns its canonical path.
    fn make(&self, name: &str) -> String {
        let directory = self.temp.path().join(name);
        fs::create_dir_all(directory.join("projects")).unwrap();
        fs::canonicalize(directory).unwrap().to_str().unwrap().to_owned()
    }
}

fn origins(roots: &Roots) -> Vec<String> {
    let named = roots.with_origin().into_iter();
    named.map(|(root, by)| format!("{} {by}", root.projects.parent().unwrap().file_name().unwrap().display())).collect()
}

#[tokio::test]
async fn a_named_root_is_read_at_once_and_after_a_restart() {
    let world = World::new();
    let (first, second) = (world.make("first"), world.make("second"));
    let roots = world.open();
    let mut changes = roots.changes();
    assert_eq!(roots.admit_claude_code(&first, "mcp", &[]).await, Ok(()));
    assert!(changes.has_changed().unwrap());
    changes.mark_unchanged();
    assert_eq!(roots.admit_claude_code(&first, "cli", &[]).await, Ok(()), "known");
    assert!(!changes.has_changed().unwrap());
    assert_eq!(roots.admit_claude_code(&second, "cli", &[]).await, Ok(()));
    assert_eq!(origins(&roots), ["own default", "first mcp", "second cli"]);
    assert_eq!(world.journal.tail().position.0, 2);
    drop(roots);

    // After a restart, one of them has been moved into a repository.
    fs::create_dir(world.temp.path().join("second/.git")).unwrap();
    let roots = world.open();
    assert_eq!(origins(&roots), ["own default", "first mcp"]);
    assert_eq!(roots.refused().len(), 1);
    assert!(roots.refused()[0].why.contains("git work tree") && roots.refused()[0].named_by == "cli");
    // And back.
    fs::remove_dir(world.temp.path().join("second/.git")).unwrap();
    assert_eq!(roots.admit_claude_code(&second, "cli", &[]).await, Ok(()));
    assert_eq!(origins(&roots), ["own default", "first mcp", "second cli"]);
    assert_eq!((roots.refused(), world.journal.tail().position.0), (vec![], 2), "nothing new was recorded");
}

#[tokio::test]
async fn there_is_a_bound_and_every_refusal_is_named() {
    let world = World::new();
    let roots = world.open();
    for number in 0..ROOTS_MAX {
        roots.admit_claude_code(&world.make(&format!("n{number}")), "mcp", &[]).await.unwrap();
    }
    let why = roots.admit_claude_code(&world.make("more"), "hook", &[]).await.unwrap_err();
    assert!(why.contains("8 directories") && why.contains("watch_directories"), "{why}");
    assert_eq!(roots.now().len(), 1 + ROOTS_MAX);
    for number in 0..50 {
        roots.admit_claude_code(&format!("/nowhere/{number}"), "cli", &[]).await.unwrap_err();
    }
    assert_eq!(roots.refused().len(), REFUSED_MAX);
    let why = roots.admit_claude_code(&"/x".repeat(PATH_BYTES), "cli", &[]).await.unwrap_err();
    assert!(why.contains("too long"), "{why}");
}

#[tokio::test]
async fn what_is_configured_counts_instead() {
    let world = World::new();
    let (named, configured) = (world.make("named"), world.make("configured"));
    let roots = world.open();
    roots.admit_claude_code(&named, "mcp", &[]).await.unwrap();
    let directories = vec![Path::new(&configured).join("projects"), PathBuf::from("/not/there")];
    let settings = Settings { watch_directories: Some(directories), ..Settings::default() };
    world.settings.send_replace(Arc::new(settings));
    let told: Vec<_> = roots.with_origin().into_iter().map(|(_, by)| by).collect();
    assert_eq!(told, ["config.json", "config.json"]);
    assert_eq!(roots.admit_claude_code(&configured, "cli", &[]).await, Ok(()));
    assert_eq!(
        roots.admit_claude_code(&format!("{configured}/../configured"), "cli", &[]).await,
        Ok(()),
        "in other words"
    );
    let why = roots.admit_claude_code(&world.make("other"), "cli", &[]).await.unwrap_err();
    assert!(why.contains("config.json names the directories"), "{why}");
    world.settings.send_replace(Arc::default());
    assert_eq!(origins(&roots), ["own default", "named mcp"]);
}

#[tokio::test]
async fn what_lies_where_the_client_works_is_refused_but_not_below_a_home() {
    let world = World::new();
    let (unpacked, work) = (world.make("app/.evil"), world.make("claude-work"));
    let home = fs::canonicalize(world.temp.path()).unwrap().to_str().unwrap().to_owned();
    let roots = world.open();
    let why = roots.admit_claude_code(&unpacked, "mcp", &[format!("{home}/app")]).await.unwrap_err();
    assert!(why.contains("where the client that names it works"), "{why}");
    assert_eq!(origins(&roots), ["own default"]);
    assert_eq!(roots.refused()[0].config_dir, unpacked);
    // `own` lies in the home as well, which is no project.
    assert_eq!(roots.admit_claude_code(&work, "cli", &[home]).await, Ok(()));
    assert_eq!(origins(&roots), ["own default", "claude-work cli"]);
}

#[tokio::test]
async fn a_project_that_is_found_later_takes_the_directories_in_it_along() {
    let world = World::new();
    let (unpacked, work) = (world.make("app/.evil"), world.make("claude-work"));
    let linked = world.make("linked");
    fs::remove_dir(Path::new(&linked).join("projects")).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(Path::new(&unpacked).join("projects"), Path::new(&linked).join("projects")).unwrap();
    let roots = world.open();
    for named in [&linked, &unpacked, &work] {
        roots.admit_claude_code(named, "mcp", &[]).await.unwrap();
    }
    let named = origins(&roots);
    assert!(named.contains(&".evil mcp".to_owned()) || named.contains(&"linked mcp".to_owned()), "{named:?}");

    let check = |roots: &Roots| {
        assert_eq!(origins(roots), ["own default", "claude-work mcp"]);
        let refused = roots.refused();
        assert!(!refused.is_empty());
        for one in refused {
            assert!(one.why.contains("tracked project") && one.named_by == "mcp", "{one:?}");
        }
    };
    world.locate(&world.temp.path().join("app"));
    // Somebody has worked in the home, too.
    world.locate(world.temp.path());
    check(&roots);
    assert!(roots.admit_claude_code(&unpacked, "mcp", &[]).await.is_err(), "nor by naming it again");
    check(&roots);
    check(&world.open());
    // A project that is not tracked brings nothing in and takes nothing away.
    let off = baton_events::session::Policy { tracked: false, ..Default::default() };
    world.settings.send_replace(Arc::new(Settings { policy: off, ..Settings::default() }));
    assert!(origins(&roots).len() > 2, "{:?}", origins(&roots));
}
