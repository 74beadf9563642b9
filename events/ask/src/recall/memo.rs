//! Answers from the notes that agents stored in the memory themselves.

use uuid::Uuid;

use super::intent::{Intent, Kind};
use super::session_entries::RankedSession;
use super::{Entry, Sort};
use baton_conversation::record::Timestamp;
use baton_events::memo;

/// Worth of a note for a plain search, and for a question of a known kind.
const WORTH: f32 = 2.0;
const WORTH_OF_A_KIND: f32 = 2.6;

/// Creates the entry of a note: its name, once, and its text.
pub fn memo_entry(uuid: Uuid, name: &str, text: &str, at: Option<Timestamp>, asked: &Intent) -> Entry {
    let session = memo::key(uuid);
    let (name, text) = (name.trim(), text.trim());
    let mut rest = text;
    while let Some(after) = rest.strip_prefix(name).filter(|_| !name.is_empty()) {
        rest = after.trim_start_matches([':', ' ']);
    }
    let told = match (name.is_empty(), rest.is_empty()) {
        (true, _) => rest.to_owned(),
        (false, true) => name.to_owned(),
        (false, false) => format!("{name}: {rest}"),
    };
    let fit = asked.fit_of(&told);
    let worth = if asked.kinds.is_empty() { WORTH } else { WORTH_OF_A_KIND };
    let ranked = RankedSession { session: &session, rank: 1, at, project: None, fit, found: &[] };
    let answers = asked.kinds.iter().any(|kind| addresses(&told, *kind));
    Entry { uuid: Some(uuid), answers, ..ranked.line(Sort::Note, &told, None, at, worth).with_fit(fit) }
}

/// Returns true if the words of a note address this kind of question.
fn addresses(text: &str, kind: Kind) -> bool {
    let words = super::intent::words(&text.replace(['\'', '’'], ""));
    let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    let says = |list: &[&str]| {
        let told = format!(" {} ", words.join(" "));
        list.iter().any(|said| told.contains(&format!(" {said} ")))
    };
    match kind {
        Kind::Latest => true,
        Kind::Open => {
            has(&["todo", "open", "pending", "unfinished", "remaining", "tomorrow", "later"])
                || says(&["next step", "still to"])
        }
        Kind::Preferences => has(&[
            "prefer",
            "prefers",
            "preferred",
            "always",
            "never",
            "likes",
            "wants",
            "dislikes",
            "prefered",
            "preference",
        ]),
        Kind::Decisions => {
            has(&["decided", "decision", "chose", "chosen", "because", "instead", "agreed", "rationale"])
                || says(&["rather than"])
        }
        Kind::Failed => {
            has(&["failed", "fails", "abandoned", "vain"])
                || says(&[
                    "did not work",
                    "didnt work",
                    "does not work",
                    "doesnt work",
                    "dead end",
                    "gave up",
                    "did not help",
                ])
        }
        Kind::Solved => has(&["fixed", "solved", "solution", "resolved", "workaround", "fix", "cure"]),
        Kind::Files => {
            text.split_whitespace().any(|word| word.contains('/') || word.contains('.') && !word.ends_with('.'))
        }
    }
}
