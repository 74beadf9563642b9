//! However a file grows, is torn, cut back and rewritten, following it gives the same as reading it afresh.

use std::fs::OpenOptions;
use std::io::Write;

use baton_conversation::item::{Agent, Item};
use proptest::prelude::*;

use super::*;

/// A change of the file, or a read by its follower.
#[derive(Clone, Debug)]
enum Step {
    /// Appends lines.
    Lines(Vec<(usize, usize)>),
    /// Appends a part of a line, which the next step may complete.
    Torn(usize, prop::sample::Index),
    /// Appends the rest of that line.
    Rest,
    /// Truncates the file.
    Cut(prop::sample::Index),
    /// Replaces it by another file.
    Replaced(usize),
    /// The follower reads on.
    Look,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => proptest::collection::vec((0..KINDS, 0..40_usize), 1..5).prop_map(Step::Lines),
        2 => (0..KINDS, any::<prop::sample::Index>()).prop_map(|(kind, at)| Step::Torn(kind, at)),
        2 => Just(Step::Rest),
        1 => any::<prop::sample::Index>().prop_map(Step::Cut),
        1 => (0..KINDS).prop_map(Step::Replaced),
        4 => Just(Step::Look),
    ]
}

const KINDS: usize = 8;

/// A line of a kind; a larger number makes it different and longer.
fn line(kind: usize, number: usize) -> String {
    let words = "word ".repeat(number * 20);
    let said = match kind {
        0 => return format!(r#"{{"type":"progress","data":"{words}"}}"#),
        1 => return format!(r#"{{"type":"custom-title","customTitle":"title {}"}}"#, number % 3),
        2 => return format!(r#"{{"type":"queue-operation","operation":"enqueue","content":"queued {}"}}"#, number % 3),
        3 => r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"Exit code 1\nboom"}]}"#
            .to_owned(),
        4 => format!(r#"{{"role":"user","content":"queued {}"}}"#, number % 3),
        _ => format!(r#"{{"role":"user","content":"{words} {number}"}}"#),
    };
    if kind < 6 {
        return format!(
            r#"{{"type":"user","uuid":"u{number}","timestamp":"2026-03-14T09:26:53.589Z","cwd":"/p/{}","message":{said}}}"#,
            number % 2
        );
    }
    let block = match kind {
        6 => {
            format!(r#"{{"type":"tool_use","id":"t{}","name":"Bash","input":{{"command":"ls {number}"}}}}"#, number % 3)
        }
        _ => format!(r#"{{"type":"text","text":"{words}{number}"}}"#),
    };
    format!(
        r#"{{"type":"assistant","uuid":"a{number}","requestId":"r","message":{{"id":"m{}","model":"m","usage":{{"input_tokens":1,"output_tokens":{number}}},"content":[{block}]}}}}"#,
        number % 4
    )
}

/// Follows a file.
struct Follower {
    start: Start,
    items: Vec<Item>,
    seen: Observation,
}

impl Follower {
    fn new(path: &str) -> Self {
        let source = Source { agent: Agent::ClaudeCode, subagent: false };
        let start = Start::beginning(source, path);
        Self { start, items: Vec::new(), seen: Observation::default() }
    }

    /// Reads on, from the start if the file was rewritten.
    fn look(&mut self) {
        match observe(&self.start) {
            Pass::Read(counted) => {
                let open = self.items.iter().collect();
                let mut later = Vec::new();
                let read = items(&self.start, open, counted.cursor.offset, &mut later);
                let Pass::Read(read) = read else { panic!("counted, and then {read:?}") };
                assert_eq!(
                    (&read.cursor, &read.seen),
                    (&counted.cursor, &counted.seen),
                    "counting and reading see the same"
                );
                self.items.append(&mut later);
                self.seen.absorb(&read.seen);
                (self.start.cursor, self.start.tail) = (read.cursor, read.tail);
            }
            Pass::Rewritten { .. } => {
                *self = Self::new(&self.start.path);
                self.look();
            }
            other => panic!("{other:?}"),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn who_follows_a_file_comes_to_what_reading_it_afresh_does(steps in proptest::collection::vec(step(), 1..24)) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("t.jsonl");
        let append = |bytes: &str| {
            let mut file = OpenOptions::new().create(true).append(true).open(&path).expect("the file");
            file.write_all(bytes.as_bytes()).expect("written");
        };
        append("");
        let mut follower = Follower::new(path.to_str().expect("a path of text"));
        let mut rest = String::new();
        for step in &steps {
            match step {
                Step::Lines(lines) => {
                    // A writer that goes on ignores the torn line.
                    rest.clear();
                    lines.iter().for_each(|(kind, number)| append(&format!("{}\n", line(*kind, *number))));
                }
                Step::Torn(kind, at) => {
                    let whole = format!("{}\n", line(*kind, 7));
                    let (now, later) = whole.split_at(at.index(whole.len()));
                    append(now);
                    rest = later.to_owned();
                }
                Step::Rest => append(&std::mem::take(&mut rest)),
                Step::Cut(at) => {
                    let file = OpenOptions::new().write(true).open(&path).expect("the file");
                    let length = usize::try_from(file.metadata().expect("its length").len()).expect("short");
                    file.set_len(at.index(length + 1) as u64).expect("cut");
                }
                Step::Replaced(kind) => {
                    let other = folder.path().join("other");
                    std::fs::write(&other, format!("{}\n{}\n", line(*kind, 3), line(7, 11))).expect("written");
                    std::fs::rename(&other, &path).expect("replaced");
                }
                Step::Look => follower.look(),
            }
        }
        // A torn line is held back; a newline completes it, for the follower and for a fresh reader.
        append("\n");
        follower.look();
        let mut fresh = Follower::new(&follower.start.path);
        fresh.look();
        prop_assert_eq!(&follower.items, &fresh.items);
        prop_assert_eq!(&follower.start.cursor, &fresh.start.cursor);
        prop_assert_eq!(&follower.seen, &fresh.seen);
    }
}
