//! No planted secret of the example sessions is in anything derived from them.
//!
//! # Hazards
//!
//! - A new planted secret in the example transcripts needs its file here. A transcript of the examples is never
//!   edited: `expected/`, `golden/` and `PLANTED.md` refer to its lines.

use baton_conversation::item::Agent;
use baton_conversation::transcript::OpenCalls;
use baton_conversation::transcript::{Cursor, Reader, Source};
use baton_conversation::turns;
use baton_episode::digest;

macro_rules! sessions {
    ($($path:literal),* $(,)?) => {
        &[$(($path, include_str!(concat!("../../../replay-fixtures/transcripts/claude/", $path)))),*]
    };
}

const LIST: &str = include_str!("../../../replay-fixtures/transcripts/claude/PLANTED.md");
const SESSIONS: &[(&str, &str)] = sessions![
    "projects/-home-dev-projects-harbor-ui/18e5b7a2-c946-4d0f-b2e8-7f3a95d1c604.jsonl",
    "projects/-home-dev-projects-harbor-ui/d6a0c3f9-4e71-4b28-8d5f-2c97e1b6a043.jsonl",
    "projects/-home-dev-projects-ledger-api/3f1c9a52-7d84-4e0b-9b61-0c5e8ad2f417.jsonl",
    "projects/-home-dev-projects-ledger-api/72d9e0b4-1c3f-4e68-97a5-d40b8f6c2e19.jsonl",
    "projects/-home-dev-projects-ledger-api/a94e0d17-52cb-4c3f-8f6e-1d7b90c3e2a8.jsonl",
    "projects/-home-dev-projects-ledger-api/b84e6a10-57d9-4c3f-9b72-0fd18e3a6c95.jsonl",
    "projects/-home-dev-projects-tide-tables/2c7a0f95-e8b4-4d63-a1f7-59d03c8e6b12.jsonl",
];
const MAIN: Source = Source { agent: Agent::ClaudeCode, subagent: false };
/// Minimum length of a part of a key, and of a passphrase, that reveals too much, in bytes.
const TELLING_BYTES: (usize, usize) = (12, 24);

/// Returns file, line and value of every planted secret.
fn planted() -> Vec<(&'static str, usize, String)> {
    let row = |line: &'static str| {
        let cells: Vec<_> = line.split('|').map(|cell| cell.trim_matches(|c| c == ' ' || c == '`')).collect();
        let [_, file, at, _, _, _, _, _] = cells[..] else { return None };
        // Blanks at the inner ends of head and tail belong to the value.
        let raw: Vec<_> = line.split('`').collect();
        let [.., head, _, tail, _] = raw[..] else { return None };
        Some((file, at.parse().ok()?, format!("{head}{tail}")))
    };
    LIST.lines().filter_map(row).collect()
}

/// Returns everything that is derived from a session, as one text.
fn made_of(session: &str) -> String {
    let mut items = Vec::new();
    let mut reader = Reader::new(MAIN, Cursor::default(), OpenCalls::default(), &mut items);
    let read = reader.feed(session.as_bytes());
    reader.finish(&session.as_bytes()[read..]);
    let (cursor, observation) = reader.into_parts();
    let episode = digest::digest(&items, &digest::Show::default());
    let units = turns::units(&items);
    let mut text = format!("{items:?}\n{cursor:?}\n{observation:?}\n{units:?}\n{episode:?}\n{}", episode.content());
    units.iter().for_each(|unit| turns::write_body(unit, &mut text));
    text
}

#[test]
fn no_planted_secret_survives_reading() {
    let planted = planted();
    assert_eq!(planted.len(), LIST.lines().filter(|line| line.starts_with("| `")).count(), "every row is read");
    assert!(planted.len() >= 10);
    for (file, line, value) in &planted {
        let (_, session) = SESSIONS.iter().find(|(path, _)| path == file).expect("the file is in the list above");
        assert!(session.lines().nth(line - 1).is_some_and(|text| text.contains(&**value)), "{file}:{line} holds it");
    }
    let mut marks = 0;
    for (file, session) in SESSIONS {
        let made = made_of(session);
        marks += made.matches("[redacted:").count();
        for (_, line, value) in planted.iter().filter(|(of, ..)| of == file) {
            let telling = if value.contains(' ') { TELLING_BYTES.1 } else { TELLING_BYTES.0 };
            for at in 0..=value.len() - telling {
                let part = &value[at..at + telling];
                assert!(!made.contains(part), "{file}:{line}: {part:?} is left");
            }
        }
    }
    assert!(marks > 0, "what a person typed is kept, but for the secrets in it");
}
