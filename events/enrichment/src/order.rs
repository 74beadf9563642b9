//! The order in which sessions are enriched: those that someone waits for, then explicitly closed ones, then those that
//! a query has hit, then the rest; within each group the longest waiting first.

use std::cmp::Reverse;

use baton_conversation::record::{SessionId, Timestamp};
use baton_events::session::EnrichJob;

/// A waiting session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Id of the session.
    pub session: SessionId,
    /// The owed job.
    pub job: EnrichJob,
    /// True if a query has hit it while it was waiting.
    pub hit: bool,
}

/// Sorts by urgency, then by due time, whether due or not.
pub fn order(candidates: &mut [Candidate]) {
    candidates.sort_by_key(|it| {
        let urgency = (Reverse(it.job.asked), Reverse(it.job.explicit), Reverse(it.hit));
        (urgency, it.job.due, it.session.clone())
    });
}

/// Returns the first candidate that is due, and the time at which the next of the others is.
pub fn next(candidates: &[Candidate], now: Timestamp) -> (Option<&Candidate>, Option<Timestamp>) {
    let waiting = candidates.iter().map(|it| it.job.due).filter(|due| *due > now);
    (candidates.iter().find(|it| it.job.due <= now), waiting.min())
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_conversation::hash::ContentHash;

    #[test]
    fn explicitly_closed_first_then_hit_then_the_rest() {
        let candidate = |id: &str, due: i64, marks: &str| Candidate {
            session: SessionId::new(id).unwrap(),
            job: EnrichJob {
                episode: uuid::Uuid::nil(),
                content: ContentHash([1; 32]),
                manifest: ContentHash([1; 32]),
                due: Timestamp(due),
                quiet: Timestamp(due),
                asked: marks.contains('a'),
                explicit: marks.contains('e'),
                again: None,
            },
            hit: marks.contains('h'),
        };
        let mut all = [
            candidate("rest-late", 9, ""),
            candidate("rest-b", 1, ""),
            candidate("rest-a", 1, ""),
            candidate("hit", 9, "h"),
            candidate("explicit", 8, "e"),
            candidate("both", 9, "eh"),
            candidate("asked", 9, "a"),
        ];
        order(&mut all);
        let ids: Vec<_> = all.iter().map(|it| it.session.as_str()).collect();
        assert_eq!(ids, ["asked", "both", "explicit", "hit", "rest-a", "rest-b", "rest-late"]);
        for (now, first, later) in
            [(0, None, Some(1)), (1, Some("rest-a"), Some(8)), (8, Some("explicit"), Some(9)), (9, Some("asked"), None)]
        {
            let (found, next) = next(&all, Timestamp(now));
            assert_eq!((found.map(|it| it.session.as_str()), next.map(|at| at.0)), (first, later), "{now}");
        }
    }
}
