//! How well each agent's reader understands the transcripts of each version of the agent. Derived from the sessions'
//! counts, so it is the same after a replay.
//!
//! # Decisions
//!
//! - A session counts for the version that its transcript names last.
//! - Records that a reader did not know stay counted after an update of Baton, because nothing is read twice. So only
//!   recently used versions are reported as ahead of the reader.

use std::collections::BTreeMap;

use baton_conversation::item::Agent;
use baton_conversation::record::Timestamp;
use baton_conversation::transcript::is_format_drift;
use baton_events::projection::table::SessionTable;
use baton_events::session::{Phase, State};
use baton_protocol::answer::{Format, UnknownRecords};

use crate::answers::redact_plain;

/// A version counts as recently used for this long.
const LATELY_MS: i64 = 30 * 24 * 3600 * 1000;
/// Fewest sessions from which it is concluded that a version has ceased to record something.
const MIN_SESSIONS: u64 = 3;
/// Fewest records of a session that is expected to have everything: an empty one has fewer.
const MIN_RECORDS: u64 = 8;
/// What every agent records, whichever version.
const PROMPT: &str = "prompt";

/// What a session may lack.
type Lacks = fn(&State) -> bool;
const PARTS: &[(&str, Lacks)] = &[
    (PROMPT, |state| state.counts.prompts == 0),
    ("reply", |state| state.counts.messages <= state.counts.prompts),
    ("time", |state| state.last_at.is_none()),
    ("directory", |state| state.place.is_none()),
];

/// All versions of all agents, those of an agent together, the one used last first.
pub(crate) fn formats(table: &SessionTable, now: Timestamp) -> Vec<Format> {
    let mut by_version = BTreeMap::<(Agent, Option<&str>), Tally>::new();
    for (_, row) in table.iter().filter(|(_, row)| row.state.phase != Phase::Forgotten) {
        let Some(transcript) = row.state.transcript.as_ref().filter(|_| row.state.counts.records > 0) else { continue };
        let version = row.state.counts.agent_version.as_deref();
        by_version.entry((transcript.agent, version)).or_default().add(&row.state);
    }
    let mut shown: Vec<_> = by_version.iter().collect();
    shown.sort_by_key(|((agent, version), tally)| (*agent, std::cmp::Reverse(tally.last_at), *version));
    let format = |(key, tally): (&(Agent, Option<&str>), &Tally)| {
        let others =
            || by_version.iter().filter(|(other, _)| other.0 == key.0 && *other != key).map(|(_, tally)| tally);
        let vanished = PARTS.iter().map(|(part, _)| *part).filter(|part| {
            let recorded_before = *part == PROMPT || others().any(|other| other.mostly_has(part));
            tally.full >= MIN_SESSIONS && tally.lacking(part) == tally.full && recorded_before
        });
        let is_in_use = tally.last_at.is_some_and(|at| now.since_ms(at) <= LATELY_MS);
        Format {
            agent: key.0.as_str().to_owned(),
            title: key.0.title().to_owned(),
            version: key.1.map(redact_plain),
            sessions: tally.sessions,
            last_activity: tally.last_at.map(|at| at.to_string()),
            unknown: tally.unknown.iter().map(|(name, count)| (redact_plain(name), count.clone())).collect(),
            complete: tally.full,
            without: tally.without.iter().map(|(part, count)| ((*part).to_owned(), *count)).collect(),
            behind: is_in_use && (!tally.unknown.is_empty() || vanished.clone().next().is_some()),
            vanished: vanished.map(str::to_owned).collect(),
        }
    };
    shown.into_iter().map(format).collect()
}

/// The sessions of one version.
#[derive(Default)]
struct Tally {
    sessions: u64,
    last_at: Option<Timestamp>,
    unknown: BTreeMap<String, UnknownRecords>,
    /// Sessions that are expected to have everything.
    full: u64,
    without: BTreeMap<&'static str, u64>,
}

impl Tally {
    fn add(&mut self, state: &State) {
        self.sessions += 1;
        self.last_at = self.last_at.max(Some(state.last_activity()));
        for (name, count) in state.counts.unknown.iter().filter(|(name, _)| is_format_drift(name)) {
            let unknown = self.unknown.entry(name.clone()).or_default();
            (unknown.records, unknown.sessions) = (unknown.records + count, unknown.sessions + 1);
        }
        if state.is_subagent() || state.counts.records < MIN_RECORDS {
            return;
        }
        self.full += 1;
        for (part, _) in PARTS.iter().filter(|(_, lacks)| lacks(state)) {
            *self.without.entry(part).or_default() += 1;
        }
    }

    fn lacking(&self, part: &str) -> u64 {
        self.without.get(part).copied().unwrap_or(0)
    }

    fn mostly_has(&self, part: &str) -> bool {
        2 * self.lacking(part) < self.full
    }
}
