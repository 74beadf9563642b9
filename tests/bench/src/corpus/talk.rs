//! Generated turns in the form that the memory takes: fast enough to fill a memory with a million of them in minutes.

use baton_conversation::hash::Mark;
use baton_conversation::item::Role;
use baton_conversation::record::Timestamp;
use baton_conversation::turns::Unit;

use super::project::Project;
use super::random::Random;
use super::text::Speaker;
use super::vocabulary::{RARE, Vocabulary};

/// Number of projects.
const PROJECTS: usize = 12;
/// Turns per session.
const TURNS: usize = 66;
/// Time between two sessions, and between two turns.
const SESSION_MS: i64 = 3 * 3_600_000;
const TURN_MS: i64 = 20_000;
/// Start of the first session: 2025-01-01.
const FIRST_MS: i64 = 1_735_689_600_000;

/// The generator.
pub(crate) struct Talk {
    seed: u64,
    vocabulary: Vocabulary,
    projects: Vec<Project>,
}

/// A generated session.
pub(crate) struct Session {
    pub(crate) id: String,
    pub(crate) project: String,
    pub(crate) title: String,
    pub(crate) episode: String,
    pub(crate) units: Vec<Unit>,
}

impl Talk {
    pub(crate) fn new(seed: u64) -> Self {
        let vocabulary = Vocabulary::new(seed);
        let projects = (0..PROJECTS).map(|number| Project::new(seed, number, &vocabulary)).collect();
        Self { seed, vocabulary, projects }
    }

    /// About how many sessions have this many turns.
    pub(crate) fn sessions_of(turns: u64) -> u64 {
        turns.div_ceil(TURNS as u64).max(1)
    }

    /// A session by its number; with `rare` it contains the word that no other contains.
    pub(crate) fn session(&self, number: u64, rare: bool) -> Session {
        let random = &mut Random::for_part(self.seed, 1_000_000 + number);
        let project = &self.projects[random.below(PROJECTS)];
        let speaker = Speaker { vocabulary: &self.vocabulary, project };
        let said = |random: &mut Random, bytes: usize| {
            let mut text = String::new();
            speaker.sentences(random, bytes, &mut text);
            text.replace("\\n", "\n")
        };
        let began = FIRST_MS + i64::try_from(number).unwrap_or(0) * SESSION_MS;
        let mut units = Vec::with_capacity(TURNS);
        for turn in 0..TURNS {
            let (role, mut text) = match random.below(10) {
                0 => (Role::User, {
                    let bytes = random.skewed(60, 900);
                    said(random, bytes)
                }),
                1..4 => (Role::Assistant, {
                    let bytes = random.skewed(120, 1500);
                    said(random, bytes)
                }),
                4..7 => {
                    let (file, lines) = (&project.file(random).path, random.between(1, 400));
                    (Role::Tool, format!("Read: {}/{file}\n{lines} lines", project.directory))
                }
                7 => {
                    let (file, identifier) = (&project.file(random).path, project.identifier(random));
                    (Role::Tool, format!("Edit: {}/{file}\n+4 -2, {identifier}", project.directory))
                }
                _ => {
                    let (identifier, failed) = (project.identifier(random), random.percent(20));
                    let code = if failed { "exit 101, error[E0308]: mismatched types" } else { "exit 0, 12 lines" };
                    (Role::Tool, format!("Bash: cargo test {identifier}\n{code}"))
                }
            };
            if rare && turn == TURNS / 2 {
                text.push(' ');
                text.push_str(RARE);
            }
            let at = Timestamp(began + i64::try_from(turn).unwrap_or(0) * TURN_MS);
            let record = Some(Mark::digest(random.uuid().as_bytes()));
            units.push(Unit { line: turn as u64 + 1, part: 0, at: Some(at), role, record, text });
        }
        Session {
            id: random.uuid(),
            project: project.directory.clone(),
            title: said(random, 50),
            episode: said(random, 1200),
            units,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_always_the_same_and_one_alone_says_the_rare_word() {
        let (one, other) = (Talk::new(7).session(3, false), Talk::new(7).session(3, true));
        assert_eq!((&one.id, one.units.len()), (&other.id, TURNS));
        let says = |session: &Session| session.units.iter().filter(|unit| unit.text.contains(RARE)).count();
        assert_eq!((says(&one), says(&other)), (0, 1));
        assert_ne!(Talk::new(7).session(4, false).id, one.id);
        assert_eq!(Talk::sessions_of(100_000), 1_516);
    }
}
