//! The sessions of a corpus: time, project, version, size and subagents.

use std::path::PathBuf;

use super::Options;
use super::project::Project;
use super::random::Random;
use super::vocabulary::Vocabulary;

/// Sessions per project; the number of projects is bounded.
const SESSIONS_PER_PROJECT: u32 = 80;
const PROJECTS: std::ops::RangeInclusive<u32> = 3..=40;
/// One session in this many has a subagent.
const PER_SUBAGENT: u32 = 4;
/// One session in this many contains the rare word.
const PER_RARE: u32 = 500;
/// Start of the last session; the first one starts a year before.
const END_MS: i64 = 1_793_000_000_000;
const YEAR_MS: i64 = 365 * 24 * 60 * 60 * 1000;

/// Sizes of real transcripts in KB by rank out of 1,000, interpolated linearly: a few take most of the bytes.
const SIZES: &[(usize, usize)] =
    &[(0, 3), (100, 6), (250, 61), (500, 375), (750, 1160), (900, 2640), (950, 3330), (990, 6000), (1000, 16_000)];

/// The format that a version of Claude Code writes.
#[derive(Debug)]
pub(super) struct Version {
    pub(super) name: &'static str,
    /// Writes progress repeatedly.
    pub(super) has_progress: bool,
    /// Writes the whole original file with each edit.
    pub(super) has_original: bool,
    /// Writes attachments, modes and titles, no snapshots, subagents in folders, and mostly empty thinking.
    pub(super) is_new: bool,
}

/// Oldest first.
const VERSIONS: [Version; 5] = [
    Version { name: "2.0.42", has_progress: false, has_original: true, is_new: false },
    Version { name: "2.0.76", has_progress: false, has_original: true, is_new: false },
    Version { name: "2.1.20", has_progress: true, has_original: true, is_new: false },
    Version { name: "2.1.118", has_progress: false, has_original: true, is_new: true },
    Version { name: "2.1.219", has_progress: false, has_original: false, is_new: true },
];

/// One transcript to write.
#[derive(Debug)]
pub(super) struct Plan {
    /// Its index in the corpus, which determines its content.
    pub(super) number: u64,
    /// The session id in its records.
    pub(super) session: String,
    /// For a subagent, its own id.
    pub(super) agent: Option<String>,
    /// Subagents that it starts.
    pub(super) spawns: Vec<String>,
    pub(super) project: usize,
    pub(super) version: &'static Version,
    pub(super) branch: String,
    pub(super) started_ms: i64,
    /// Target size.
    pub(super) bytes: usize,
    /// True if it contains the rare word.
    pub(super) says_rare: bool,
    /// True if nearly all of it is prose.
    pub(super) dense: bool,
}

impl Plan {
    /// Its path below `projects/`.
    pub(super) fn path(&self, slug: &str) -> PathBuf {
        let folder = PathBuf::from(slug);
        match &self.agent {
            None => folder.join(format!("{}.jsonl", self.session)),
            Some(agent) if self.version.is_new => {
                folder.join(&self.session).join("subagents").join(format!("agent-{agent}.jsonl"))
            }
            Some(agent) => folder.join(format!("agent-{agent}.jsonl")),
        }
    }
}

/// Number of projects for a number of sessions.
pub(super) fn projects(sessions: u32) -> usize {
    (sessions / SESSIONS_PER_PROJECT).clamp(*PROJECTS.start(), *PROJECTS.end()) as usize
}

/// All transcripts to write, oldest first, each subagent right after its session.
pub(super) fn all_plans(options: Options) -> Vec<Plan> {
    let mut random = Random::for_part(options.seed, 2);
    let sessions = options.sessions.max(1) as usize;
    let mut sizes: Vec<usize> = (0..sessions).map(|rank| size((2 * rank + 1) * 500 / sessions)).collect();
    for place in (1..sizes.len()).rev() {
        sizes.swap(place, random.below(place + 1));
    }
    let with_subagent = |session: usize| !options.dense && session as u32 % PER_SUBAGENT == 1;
    // A subagent's transcript has a fifth of its session's size.
    let raw: usize = sizes.iter().enumerate().map(|(n, size)| size + if with_subagent(n) { size / 5 } else { 0 }).sum();
    let scaled = |size: usize| (size as u128 * u128::from(options.bytes) / raw.max(1) as u128) as usize;
    let mut plans = Vec::with_capacity(sessions + sessions / PER_SUBAGENT as usize);
    for (session, size) in sizes.into_iter().enumerate() {
        let age = session * VERSIONS.len() / sessions;
        let version = &VERSIONS[(age + random.below(2)).min(VERSIONS.len() - 1)];
        let started_ms = END_MS - YEAR_MS + YEAR_MS / sessions as i64 * session as i64 + random.below(9_000_000) as i64;
        let number = plans.len() as u64;
        let mut plan = Plan {
            number,
            session: random.uuid(),
            agent: None,
            spawns: Vec::new(),
            project: random.skewed(0, projects(options.sessions) - 1),
            version,
            branch: if random.percent(40) { "main".to_owned() } else { format!("task-{}", random.between(100, 999)) },
            started_ms,
            bytes: scaled(size),
            says_rare: session as u32 % PER_RARE == options.sessions.min(PER_RARE) / 3,
            dense: options.dense,
        };
        let subagent = with_subagent(session).then(|| {
            let mut agent = String::new();
            let _ = std::fmt::Write::write_fmt(&mut agent, format_args!("{session:04x}"));
            random.hex(if version.is_new { 13 } else { 4 }, &mut agent);
            plan.spawns.push(agent.clone());
            Plan {
                number: number + 1,
                session: plan.session.clone(),
                agent: Some(agent),
                spawns: Vec::new(),
                branch: plan.branch.clone(),
                started_ms: started_ms + 90_000,
                bytes: scaled(size / 5),
                says_rare: false,
                ..plan
            }
        });
        plans.push(plan);
        plans.extend(subagent);
    }
    plans
}

/// A session that is being worked in now.
pub(super) fn live(seed: u64, now_ms: i64) -> Plan {
    Plan {
        number: u64::from(u32::MAX),
        session: Random::for_part(seed, 3).uuid(),
        agent: None,
        spawns: Vec::new(),
        project: 0,
        version: &VERSIONS[VERSIONS.len() - 1],
        branch: "main".to_owned(),
        started_ms: now_ms,
        bytes: 2_000_000,
        says_rare: false,
        dense: false,
    }
}

/// All projects of a corpus.
pub(super) fn all_projects(options: Options, vocabulary: &Vocabulary) -> Vec<Project> {
    (0..projects(options.sessions)).map(|number| Project::new(options.seed, number, vocabulary)).collect()
}

/// Size in bytes of the transcript with this rank out of 1,000.
fn size(rank: usize) -> usize {
    let above = SIZES.iter().position(|(place, _)| *place >= rank).unwrap_or(SIZES.len() - 1).max(1);
    let ((from, least), (to, most)) = (SIZES[above - 1], SIZES[above]);
    1000 * (least + (most - least) * (rank.clamp(from, to) - from) / (to - from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_real_transcripts() {
        for (rank, kb) in [(0, 3), (50, 4), (100, 6), (500, 375), (625, 767), (1000, 16_000), (2000, 16_000)] {
            assert_eq!(size(rank) / 1000, kb, "{rank}");
        }
    }

    #[test]
    fn plans_add_up_and_agree() {
        let options = Options { sessions: 600, bytes: 90_000_000, seed: 5, dense: false };
        let plans = all_plans(options);
        let all: usize = plans.iter().map(|plan| plan.bytes).sum();
        assert!((80_000_000..=90_000_000).contains(&all), "{all}");
        assert_eq!(plans.iter().filter(|plan| plan.agent.is_none()).count(), 600);
        let subagents: Vec<&Plan> = plans.iter().filter(|plan| plan.agent.is_some()).collect();
        assert_eq!(subagents.len(), 150);
        for (index, plan) in plans.iter().enumerate() {
            assert_eq!(plan.number, index as u64);
            for agent in &plan.spawns {
                assert_eq!(plans[index + 1].agent.as_ref(), Some(agent));
                assert_eq!(plans[index + 1].session, plan.session);
            }
        }
        assert_eq!(plans.iter().filter(|plan| plan.says_rare).count(), 1);
        let paths: std::collections::BTreeSet<PathBuf> = plans.iter().map(|plan| plan.path("-p")).collect();
        assert_eq!(paths.len(), plans.len());
    }
}
