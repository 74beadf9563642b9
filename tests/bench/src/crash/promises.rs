//! What was acknowledged, and whether a log keeps it.

use std::collections::{BTreeMap, BTreeSet};

use super::history::{History, SessionHistory};

/// Everything acknowledged to clients, over all runs of a daemon.
#[derive(Clone, Debug, Default)]
pub(super) struct Promises {
    sessions: BTreeMap<String, Promised>,
    /// Switches of projects; one whose last change is not answered is left out.
    switches: BTreeMap<String, bool>,
    /// The highest log position that an answer has named.
    position: u64,
    /// Session and episode of every search hit.
    hits: BTreeSet<(String, String)>,
    /// Number of answers by kind.
    pub(super) acknowledged: BTreeMap<&'static str, u64>,
}

/// Everything acknowledged about one session.
#[derive(Clone, Debug, Default)]
struct Promised {
    /// Command and episode of each close.
    closes: Vec<(String, Option<String>)>,
    groups: Vec<String>,
    /// Acknowledged changes of tracking.
    stops: u64,
    resumes: u64,
    /// Whether it is tracked; `None` if that was never changed, or a change is not answered.
    tracked: Option<bool>,
}

impl Promises {
    fn count(&mut self, kind: &'static str) {
        *self.acknowledged.entry(kind).or_default() += 1;
    }

    fn session(&mut self, session: &str) -> &mut Promised {
        self.sessions.entry(session.to_owned()).or_default()
    }

    pub(super) fn closed(&mut self, session: &str, command: &str, episode: Option<String>) {
        self.count("close");
        self.session(session).closes.push((command.to_owned(), episode));
    }

    pub(super) fn grouped(&mut self, session: &str, group: &str) {
        self.count("group");
        self.session(session).groups.push(group.to_owned());
    }

    /// Tracking was set; `changed` is false if it was set like that before.
    pub(super) fn tracked(&mut self, session: &str, on: bool, changed: bool) {
        self.count(if on { "track" } else { "untrack" });
        let promised = self.session(session);
        promised.tracked = Some(on);
        *if on { &mut promised.resumes } else { &mut promised.stops } += u64::from(changed);
    }

    /// A change of tracking is requested but not answered yet.
    pub(super) fn tracking_in_doubt(&mut self, session: &str) {
        self.session(session).tracked = None;
    }

    pub(super) fn switched(&mut self, project: &str, on: bool) {
        self.count("config");
        self.switches.insert(project.to_owned(), on);
    }

    /// A change of a switch is requested but not answered yet.
    pub(super) fn switch_in_doubt(&mut self, project: &str) {
        self.switches.remove(project);
    }

    pub(super) fn found(&mut self, position: u64, hits: impl IntoIterator<Item = (String, String)>) {
        self.count("search");
        self.position = self.position.max(position);
        self.hits.extend(hits);
    }

    pub(super) fn synced(&mut self) {
        self.count("sync");
    }

    /// Total number of answers.
    pub(super) fn answers(&self) -> u64 {
        self.acknowledged.values().sum()
    }

    /// The promises to check against a state that may already contain later changes.
    pub(super) fn without_tracking(mut self) -> Self {
        self.sessions.values_mut().for_each(|promised| promised.tracked = None);
        self
    }

    /// Another client has tracked every session that was not tracked.
    pub(super) fn all_tracked(&mut self) {
        self.sessions.values_mut().for_each(|promised| promised.tracked = Some(true));
    }

    /// Describes every broken promise. `switches` are those of the configuration.
    pub(super) fn broken(&self, history: &History, switches: &BTreeMap<String, bool>) -> Vec<String> {
        let mut broken = Vec::new();
        let end = history.tail.position.0;
        if self.position > end {
            broken.push(format!("an answer covered position {}, and the log ends at {end}", self.position));
        }
        let nothing = SessionHistory::default();
        for (session, promised) in &self.sessions {
            let history = history.sessions.get(session).unwrap_or(&nothing);
            broken.extend(promised.broken(history).into_iter().map(|what| format!("session {session}: {what}")));
        }
        for (session, episode) in &self.hits {
            if !history.sessions.get(session).is_some_and(|history| history.stored.contains(episode)) {
                broken.push(format!("session {session}: a search gave episode {episode}, which the log does not know"));
            }
        }
        for (project, on) in &self.switches {
            if switches.get(project) != Some(on) {
                broken.push(format!("the switch of {project} is {:?}, and was set to {on}", switches.get(project)));
            }
        }
        broken
    }
}

impl Promised {
    fn broken(&self, history: &SessionHistory) -> Vec<String> {
        let mut broken = Vec::new();
        for (command, episode) in &self.closes {
            if !history.commands.contains(command) {
                broken.push(format!("close {command} left no event"));
            }
            if let Some(episode) = episode.as_ref().filter(|episode| !history.named.contains(*episode)) {
                broken.push(format!("close {command} answered episode {episode}, which was never recorded"));
            }
        }
        if self.closes.iter().any(|(_, episode)| episode.is_some()) && history.state.episode.is_none() {
            broken.push("it was closed with an episode, and has none".to_owned());
        }
        let lost = self.groups.iter().filter(|group| !history.groups.contains(*group));
        broken.extend(lost.map(|group| format!("it was never put in group {group}")));
        for (what, promised, recorded) in
            [("stopped", self.stops, history.stops), ("resumed", self.resumes, history.resumes)]
        {
            if promised > recorded {
                broken.push(format!("tracking was {what} {promised} times, and {recorded} are recorded"));
            }
        }
        let is_tracked = !history.is_stopped();
        if self.tracked.is_some_and(|tracked| tracked != is_tracked) {
            broken.push(format!("it is {}tracked, and was set otherwise", if is_tracked { "" } else { "not " }));
        }
        broken
    }
}
