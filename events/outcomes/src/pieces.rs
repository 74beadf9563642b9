//! Outcomes of a conversation that is too long to hold: it is passed item by item and processed in pieces.
//!
//! # Decisions
//!
//! - A failure is linked to a success within the same 4 MB of items; counts cover the whole conversation.

use std::collections::BTreeSet;

use super::builder::OutcomeBuilder;
use baton_conversation::item::{Body, Item, Meta};
use baton_episode::digest::{Episode, Show, digest};
use baton_events::schema::outcomes::Outcomes;
use baton_graph::Surroundings;

/// Size of a piece, by [`Item::weight`]; the next prompt ends it.
const PIECE_BYTES: usize = 4 * 1024 * 1024;
/// A piece of this many times the size ends anywhere, since the length of one prompt's round is unbounded.
const TIMES: usize = 2;
/// Maximum number of calls without a result that are carried over into the next piece.
const MAX_OPEN: usize = 64;
/// Divisor of the piece size that gives the limit of the carried calls' bytes.
const OPEN_PART: usize = 2;

/// Counts a conversation of any length in bounded memory. Every call is counted; a failure is linked only to a success
/// of the same piece.
pub struct Pieces<'a> {
    at: Surroundings<'a>,
    /// Corrects the digest of a piece.
    correct: &'a dyn Fn(&mut Episode),
    /// See [`PIECE_BYTES`].
    piece: usize,
    builder: OutcomeBuilder,
    held: Vec<Item>,
    bytes: usize,
    /// The first working directory, and the current one.
    first: Option<Item>,
    cwd: Option<Item>,
}

impl<'a> Pieces<'a> {
    /// An empty conversation of the session described by `at`. `correct` applies a person's corrections to the digest
    /// of each piece.
    pub fn new(at: Surroundings<'a>, correct: &'a dyn Fn(&mut Episode)) -> Self {
        Self {
            at,
            correct,
            piece: PIECE_BYTES,
            builder: OutcomeBuilder::default(),
            held: Vec::new(),
            bytes: 0,
            first: None,
            cwd: None,
        }
    }

    /// Adds the next item.
    pub fn push(&mut self, item: Item) {
        let is_prompt = matches!(item.body, Body::Prompt { .. }) && !item.sidechain;
        if self.bytes > TIMES * self.piece || (is_prompt && self.bytes > self.piece) {
            self.end_piece();
        }
        if matches!(item.body, Body::Meta(Meta::Cwd(_))) {
            self.first.get_or_insert_with(|| item.clone());
            self.cwd = Some(item.clone());
        }
        self.bytes += item.weight();
        self.held.push(item);
    }

    /// Returns the outcomes of all items.
    pub fn finish(mut self) -> Outcomes {
        self.count();
        self.builder.finish()
    }

    fn end_piece(&mut self) {
        let open = self.open();
        self.held.retain(|item| !open.iter().any(|open| open == item));
        self.count();
        self.bytes = open.iter().map(Item::weight).sum();
        self.held = self.first.iter().chain(&self.cwd).cloned().chain(open).collect();
    }

    /// Returns the last calls without a result, which may still follow.
    fn open(&self) -> Vec<Item> {
        let mut answered = BTreeSet::new();
        let (mut open, mut bytes) = (Vec::new(), 0);
        for item in self.held.iter().rev() {
            match &item.body {
                Body::Result(result) => {
                    answered.insert(&*result.id);
                }
                Body::Call(call) if !call.id.is_empty() && !answered.contains(&*call.id) => {
                    bytes += item.weight();
                    if open.len() >= MAX_OPEN || bytes > self.piece / OPEN_PART {
                        break;
                    }
                    open.push(item.clone());
                }
                _ => {}
            }
        }
        open.reverse();
        open
    }

    fn count(&mut self) {
        let held = std::mem::take(&mut self.held);
        let mut episode = digest(&held, &Show::default());
        (self.correct)(&mut episode);
        self.builder.add(&held, &episode, &self.at);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::outcomes;
    use super::*;
    use baton_conversation::item::{Act, Call, Outcome, ToolResult};
    use baton_conversation::record::SessionId;

    /// Size of a piece in tests; a hundred of them are made quickly.
    const SMALL_BYTES: usize = 64 * 1024;

    fn item(line: u64, body: Body) -> Item {
        Item { line, at: None, uuid: Some(format!("u{line}").into()), message: None, sidechain: false, body }
    }

    fn call(line: u64, command: &str) -> Item {
        let input = BTreeMap::from([("command".to_owned(), command.into())]);
        item(
            line,
            Body::Call(Call {
                act: Act::Shell,
                id: format!("t{line}").into(),
                name: "Bash".to_owned(),
                input,
                edit: None,
                commit: None,
                plan: None,
                git_line: None,
            }),
        )
    }

    fn result(line: u64, of: u64, failed: bool) -> Item {
        let outcome = if failed { Outcome::Failed } else { Outcome::Ok };
        item(
            line,
            Body::Result(ToolResult {
                id: format!("t{of}").into(),
                name: Some("Bash".to_owned()),
                outcome,
                exit_code: Some(i32::from(failed)),
                text: if failed { "Bash: exit 1, error: broken" } else { "Bash: 3 lines" }.to_owned(),
                error: failed.then(|| "error: broken".to_owned()),
                duration_ms: None,
                agent: None,
                report: None,
            }),
        )
    }

    /// A conversation of `prompts` prompts, each with a run that fails every fifth time, a commit, and a long reply.
    fn conversation(prompts: u64, talk: usize) -> Vec<Item> {
        let mut items = vec![item(1, Body::Meta(Meta::Cwd("/srv/shop".to_owned())))];
        for prompt in 0..prompts {
            let line = 2 + prompt * 10;
            items.push(item(line, Body::Prompt { text: "go on".to_owned() }));
            items.extend([call(line + 1, "cargo test"), result(line + 2, line + 1, prompt % 5 == 0)]);
            items.push(item(line + 3, Body::Reply { text: "x".repeat(talk) }));
            items.extend([call(line + 4, "git commit -m x"), result(line + 5, line + 4, false)]);
        }
        items
    }

    fn at(session: &SessionId) -> Surroundings<'_> {
        Surroundings { session, group: "/srv/shop", project: Some("/srv/shop"), parent: None, follows: None }
    }

    fn in_pieces(items: &[Item], session: &SessionId) -> Outcomes {
        let mut pieces = Pieces { piece: SMALL_BYTES, ..Pieces::new(at(session), &|_| ()) };
        for item in items {
            pieces.push(item.clone());
            let most = TIMES * SMALL_BYTES + 2 * items.iter().map(Item::weight).max().unwrap_or(0);
            assert!(pieces.bytes <= most, "{} bytes are held", pieces.bytes);
        }
        pieces.finish()
    }

    #[test]
    fn a_giant_gives_its_true_counts() {
        let session = SessionId::new("s").unwrap();
        let items = conversation(1_000, 1_000);
        let told = in_pieces(&items, &session);
        let test = &told.commands[0];
        assert_eq!((test.name.as_str(), test.runs.ok, test.runs.failed), ("cargo test", 800, 200));
        assert_eq!((test.lines.len(), test.lines[0].runs), (1, test.runs));
        let steps = ["cargo test", "git commit"].map(str::to_owned);
        let both = told.sequences.iter().find(|sequence| sequence.steps == steps).unwrap();
        assert_eq!((both.ok, both.failed), (1_000, 0));
        assert_eq!((told.failures.len(), told.left_out), (super::super::MAX_FAILURES, 100));
        // Except those whose success is in the next piece.
        let fixed = told.failures.iter().filter(|failure| failure.fix.is_some()).count();
        assert!(fixed > 90, "{fixed} of 100");
        assert_eq!(told.calls.rows.len(), 2_000);
    }

    #[test]
    fn one_that_can_be_held_gives_the_same() {
        let session = SessionId::new("s").unwrap();
        for (prompts, talk) in [(0, 0), (1, 10), (10, 100), (300, 1_000)] {
            let items = conversation(prompts, talk);
            let whole = outcomes(&items, &digest(&items, &Show::default()), &at(&session));
            let pieces = in_pieces(&items, &session);
            let pieces = if prompts > 100 { Outcomes { failures: whole.failures.clone(), ..pieces } } else { pieces };
            assert_eq!(pieces, whole, "{prompts} prompts");
        }
    }

    #[test]
    fn a_prompt_without_end_is_cut_and_no_call_is_lost() {
        let session = SessionId::new("s").unwrap();
        let mut items = vec![item(1, Body::Prompt { text: "go on".to_owned() })];
        // Each result follows the next two calls.
        for n in 0..3_000u64 {
            items.push(call(2 + n * 3, "make all"));
            items.push(item(3 + n * 3, Body::Reply { text: "x".repeat(500) }));
            if n >= 2 {
                items.push(result(4 + n * 3, 2 + (n - 2) * 3, n % 4 == 0));
            }
        }
        let told = in_pieces(&items, &session);
        let runs = told.commands[0].runs;
        assert_eq!((runs.ok + runs.failed, runs.unknown, runs.all()), (2_998, 2, 3_000));
        assert_eq!(runs.failed, (2..3_000u64).filter(|n| n % 4 == 0).count() as u32);
    }
}
