//! How true an episode is: each of its statements against the gold of its session.

use baton_episode::digest::{Episode, Pointed};
use serde::Serialize;

use super::figures::{Counts, EpisodeFigures};
use super::gold::{Failure, Item, Session};
use super::matching::{Claim, shared_words};

/// Most words of a good title.
const TITLE_WORDS: usize = 8;

/// One session: its title, its statements, and what they miss.
#[derive(Clone, Debug, Serialize)]
pub struct JudgedEpisode {
    /// The session.
    pub session_id: String,
    /// Its transcript.
    pub path: String,
    /// The title given.
    pub title: String,
    /// The title in the gold.
    pub gold_title: String,
    /// Every statement that was given, and every one of the gold that was not.
    pub statements: Vec<Statement>,
    /// The figures.
    pub figures: EpisodeFigures,
}

/// A statement and what the gold says of it.
#[derive(Clone, Debug, Serialize)]
pub struct Statement {
    /// Its list: `decision`, `error`, `resolution`, `open` or `next`.
    pub list: &'static str,
    /// What the gold says of it.
    pub verdict: Verdict,
    /// Its line; of a missed one, all lines of the gold.
    pub lines: Vec<u64>,
    /// Its text.
    pub text: String,
    /// The matching text of the gold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gold: Option<String>,
}

/// What the gold says of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The gold says the same.
    Right,
    /// The gold says nothing like it.
    Unmatched,
    /// A slip of a tool, which counts neither way.
    Trivial,
    /// False: a decision that was undone or replaced.
    Overruled,
    /// False: the gold knows no resolution of this error.
    Unresolved,
    /// The gold says that something else resolved this error.
    OtherResolution,
    /// False: open, but the gold says that this error was resolved.
    Resolved,
    /// In the gold only.
    Missed,
}

impl Verdict {
    /// True for what contradicts the gold.
    pub fn contradicts(self) -> bool {
        matches!(self, Self::Overruled | Self::Unresolved | Self::Resolved)
    }

    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Right => "right",
            Self::Unmatched => "-",
            Self::Trivial => "trivial",
            Self::Overruled => "OVERRULED",
            Self::Unresolved => "UNRESOLVED",
            Self::OtherResolution => "other",
            Self::Resolved => "RESOLVED",
            Self::Missed => "missed",
        }
    }
}

/// Compares an episode with the gold of its session.
pub(super) fn judge(session: &Session, episode: &Episode) -> JudgedEpisode {
    let (gold, mut judge) = (&session.gold, Judge(Vec::new()));
    let all = |pointed: &[Pointed]| pointed.iter().map(claim).collect::<Vec<_>>();

    let decided = all(&episode.decisions);
    let mut decisions = judge.given("decision", &decided, &[&gold.decisions], |claim| {
        let is_overruled = gold.overruled.iter().any(|item| item.matches(claim));
        if is_overruled { Verdict::Overruled } else { Verdict::Unmatched }
    });
    judge.missed("decision", &gold.decisions, &decided, &mut decisions);

    let (errors, resolutions) = judge.errors(&gold.errors, episode);

    // What is open may be told as a next step, and the other way round.
    let may_be_open: [&[Item]; 3] = [&gold.open, &gold.next, &gold.uncommitted];
    let (open, next) = (all(&episode.unresolved), all(&episode.next_steps));
    let mut open_counts = judge.given("open", &open, &may_be_open, |claim| {
        let was_resolved = |failure: &Failure| failure.error.matches(claim) && failure.resolution().is_some();
        if gold.errors.iter().any(was_resolved) { Verdict::Resolved } else { Verdict::Unmatched }
    });
    let mut next_counts = judge.given("next", &next, &may_be_open, |_| Verdict::Unmatched);
    let remaining = [open, next].concat();
    judge.missed("open", &gold.open, &remaining, &mut open_counts);
    judge.missed("next", &gold.next, &remaining, &mut next_counts);

    let statements = judge.0;
    let count = |verdict| statements.iter().filter(|statement| statement.verdict == verdict).count();
    let (shared, words) = shared_words(&gold.title, &episode.title);
    let is_short = episode.title.split_whitespace().count() <= TITLE_WORDS;
    let enough = if words <= 3 { words.min(2) } else { words.div_ceil(2) };
    let figures = EpisodeFigures {
        sessions: 1,
        decisions,
        overruled: count(Verdict::Overruled),
        errors,
        resolutions,
        resolutions_of_unresolved: count(Verdict::Unresolved),
        other_resolutions: count(Verdict::OtherResolution),
        open: open_counts,
        open_though_resolved: count(Verdict::Resolved),
        next: next_counts,
        good_titles: usize::from(is_short && shared >= enough),
        short_titles: usize::from(is_short),
        title_words: words,
        title_words_found: shared,
        contradicting_sessions: usize::from(statements.iter().any(|statement| statement.verdict.contradicts())),
    };
    JudgedEpisode {
        session_id: session.session_id.clone(),
        path: session.path.clone(),
        title: episode.title.clone(),
        gold_title: gold.title.clone(),
        statements,
        figures,
    }
}

fn claim(pointed: &Pointed) -> Claim {
    Claim { text: pointed.text.clone(), line: pointed.line }
}

/// The statements so far.
struct Judge(Vec<Statement>);

impl Judge {
    fn push(&mut self, list: &'static str, claim: &Claim, verdict: Verdict, gold: Option<&Item>) {
        let gold = gold.map(|item| item.text.clone());
        self.0.push(Statement { list, verdict, lines: vec![claim.line], text: claim.text.clone(), gold });
    }

    fn push_missed(&mut self, list: &'static str, Item { text, lines }: Item) {
        self.0.push(Statement { list, verdict: Verdict::Missed, lines, text, gold: None });
    }

    /// Counts the claims of a list; `otherwise` judges those that match no item of `right`.
    fn given(
        &mut self,
        list: &'static str,
        claims: &[Claim],
        right: &[&[Item]],
        otherwise: impl Fn(&Claim) -> Verdict,
    ) -> Counts {
        let mut counts = Counts { given: claims.len(), ..Counts::default() };
        for claim in claims {
            let gold = right.iter().copied().flatten().find(|item| item.matches(claim));
            counts.right += usize::from(gold.is_some());
            self.push(list, claim, gold.map_or_else(|| otherwise(claim), |_| Verdict::Right), gold);
        }
        counts
    }

    /// Counts the items of the gold, and notes those that no claim matches.
    fn missed(&mut self, list: &'static str, wanted: &[Item], claims: &[Claim], counts: &mut Counts) {
        counts.gold = wanted.len();
        for item in wanted {
            match claims.iter().any(|claim| item.matches(claim)) {
                true => counts.found += 1,
                false => self.push_missed(list, item.clone()),
            }
        }
    }

    /// Errors, and the resolutions of those that have one.
    fn errors(&mut self, gold: &[Failure], episode: &Episode) -> (Counts, Counts) {
        let (trivial, counted): (Vec<&Failure>, Vec<&Failure>) = gold.iter().partition(|failure| !failure.counts());
        let (mut errors, mut resolutions, mut resolved) = (Vec::new(), Counts::default(), Vec::new());
        for given in &episode.errors {
            let error = Claim { text: given.text.clone(), line: given.line };
            let meant: Vec<usize> = (0..counted.len()).filter(|&at| counted[at].error.matches(&error)).collect();
            if meant.is_empty() && trivial.iter().any(|failure| failure.error.matches(&error)) {
                self.push("error", &error, Verdict::Trivial, None);
                continue;
            }
            if let Some(resolution) = given.resolution.as_ref().map(claim) {
                let known: Vec<(usize, Item)> =
                    meant.iter().filter_map(|&at| Some((at, counted[at].resolution()?))).collect();
                let right: Vec<&(usize, Item)> = known.iter().filter(|(_, item)| item.matches(&resolution)).collect();
                let verdict = match (right.is_empty(), known.is_empty(), meant.is_empty()) {
                    (false, ..) => Verdict::Right,
                    (true, false, _) => Verdict::OtherResolution,
                    (true, true, false) => Verdict::Unresolved,
                    (true, true, true) => Verdict::Unmatched,
                };
                resolutions.given += 1;
                resolutions.right += usize::from(!right.is_empty());
                resolved.extend(right.iter().map(|(at, _)| *at));
                let gold = right.first().copied().or(known.first());
                self.push("resolution", &resolution, verdict, gold.map(|(_, item)| item));
            }
            errors.push(error);
        }
        let wanted: Vec<Item> = counted.iter().map(|failure| failure.error.clone()).collect();
        let mut counts = self.given("error", &errors, &[&wanted], |_| Verdict::Unmatched);
        self.missed("error", &wanted, &errors, &mut counts);
        for (at, failure) in counted.iter().enumerate() {
            let Some(resolution) = failure.resolution() else { continue };
            resolutions.gold += 1;
            match resolved.contains(&at) {
                true => resolutions.found += 1,
                false => self.push_missed("resolution", resolution),
            }
        }
        (counts, resolutions)
    }
}

#[cfg(test)]
mod tests {
    use baton_episode::digest::ErrorLine;
    use serde_json::{Value, json};

    use super::*;

    fn pointed(line: u64, text: &str) -> Pointed {
        Pointed { text: text.to_owned(), line, at: None }
    }

    /// Judges an episode; returns `list verdict lines` of each statement too.
    fn check(gold: &Value, episode: &Episode, statements: &[&str]) -> EpisodeFigures {
        let session = json!({"session_id": "s", "path": "projects/p/s.jsonl", "gold": gold});
        let judged = judge(&serde_json::from_value(session).unwrap(), episode);
        let told = |said: &Statement| format!("{} {} {:?}", said.list, said.verdict.text(), said.lines);
        assert_eq!(judged.statements.iter().map(told).collect::<Vec<_>>(), statements, "{gold}");
        judged.figures
    }

    const fn counts(given: usize, right: usize, gold: usize, found: usize) -> Counts {
        Counts { given, right, gold, found }
    }

    #[test]
    fn a_decision_is_right_or_overruled_or_none() {
        let gold = json!({
            "decisions": [{"text": "Keep sled", "lines": [10, 20]}, {"text": "Drop the cache layer", "lines": [30]}],
            "overruled": [{"text": "Use redis", "lines": [4]}],
        });
        let decisions =
            vec![pointed(23, "ok"), pointed(5, "redis it is"), pointed(90, "run tests"), pointed(91, "sled")];
        let episode = Episode { decisions, ..Episode::default() };
        let expected = [
            "decision right [23]",
            "decision OVERRULED [5]",
            "decision - [90]",
            "decision right [91]",
            "decision missed [30]",
        ];
        let figures = check(&gold, &episode, &expected);
        assert_eq!((figures.decisions, figures.overruled), (counts(4, 2, 2, 1), 1));
        assert_eq!(figures.contradicting_sessions, 1);
    }

    #[test]
    fn a_slip_of_a_tool_counts_neither_way_and_a_resolution_must_be_the_one() {
        let gold = json!({"errors": [
            {"text": "undefined reference", "lines": [10], "resolution": "link zlib", "resolution_lines": [14], "kind": "flagged"},
            {"text": "timeout waiting", "lines": [30], "resolution": "", "resolution_lines": [], "kind": "user"},
            {"text": "lock poisoned", "lines": [50], "resolution": "drop guard", "resolution_lines": [60], "kind": "output"},
            {"text": "string not found", "lines": [70], "resolution": "read again", "resolution_lines": [71], "kind": "trivial"},
        ]});
        let error = |line, resolution: Option<Pointed>| ErrorLine { text: "x".to_owned(), line, at: None, resolution };
        let errors = vec![
            error(11, Some(pointed(17, "passed"))),
            error(30, Some(pointed(33, "passed"))),
            error(50, Some(pointed(80, "passed"))),
            error(72, Some(pointed(73, "passed"))),
            error(99, None),
        ];
        let expected = [
            "resolution right [17]",
            "resolution UNRESOLVED [33]",
            "resolution other [80]",
            "error trivial [72]",
            "error right [11]",
            "error right [30]",
            "error right [50]",
            "error - [99]",
            "resolution missed [60]",
        ];
        let figures = check(&gold, &Episode { errors, ..Episode::default() }, &expected);
        assert_eq!((figures.errors, figures.resolutions), (counts(4, 3, 3, 3), counts(3, 1, 2, 1)));
        assert_eq!((figures.resolutions_of_unresolved, figures.other_resolutions), (1, 1));
    }

    #[test]
    fn what_remains_may_be_told_in_either_list() {
        let gold = json!({
            "open": [{"text": "push the branch", "lines": [80]}],
            "next": [{"text": "write docs", "lines": [90]}],
            "uncommitted": [{"text": "a.rs edited", "lines": [70]}],
            "errors": [{"text": "lint", "lines": [40], "resolution": "formatted", "resolution_lines": [44]}],
        });
        let unresolved = vec![pointed(90, "docs"), pointed(70, "edited"), pointed(40, "lint failed"), pointed(20, "?")];
        let episode = Episode { unresolved, next_steps: vec![pointed(3, "push a branch")], ..Episode::default() };
        let expected = [
            "error missed [40]",
            "resolution missed [44]",
            "open right [90]",
            "open right [70]",
            "open RESOLVED [40]",
            "open - [20]",
            "next right [3]",
        ];
        let figures = check(&gold, &episode, &expected);
        assert_eq!((figures.open, figures.next), (counts(4, 2, 1, 1), counts(1, 1, 1, 1)));
        assert_eq!(figures.open_though_resolved, 1);
    }

    #[test]
    fn a_title_is_short_and_has_the_words() {
        for (title, good, short) in [
            ("Tree view for the Context tab", 1, 1),
            ("Add a context view", 1, 1),
            ("Context", 0, 1),
            ("Please be so kind and add a tree view to the tab", 0, 0),
        ] {
            let episode = Episode { title: title.to_owned(), ..Episode::default() };
            let figures = check(&json!({"title": "Tree view for the Context tab"}), &episode, &[]);
            assert_eq!((figures.good_titles, figures.short_titles), (good, short), "{title}");
        }
    }
}
