//! Fuzzing: unexpected inputs, made from expected ones.
//!
//! Each input is read in every way and must give one result. Inputs with a new kind of result are kept and mutated
//! further.

use std::collections::BTreeSet;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use baton_conversation::hash::ContentHash;
use baton_conversation::item::Body;
use baton_conversation::transcript::Source;
use baton_events::schema::item;
use baton_redaction::redact;

use crate::dice::Dice;
use crate::mutation::{LONGEST, mutate};
use crate::read::{Outcome, in_pieces, sources, whole};
use crate::record;

/// Longest time for one input, whatever else the machine does.
const SLOWEST: Duration = Duration::from_secs(5);
/// Duration of a run unless set otherwise.
const SHORT: Duration = Duration::from_secs(2);
/// Most inputs kept for further mutation.
const KEPT: usize = 4_096;
/// Longest kept input, in bytes: short ones run faster and show a failure better.
const KEPT_BYTES: usize = 2_048;
/// Longest line taken from a fixture, in bytes.
const LONGEST_LINE: usize = 2 * 1024;

#[test]
#[expect(clippy::disallowed_methods, reason = "how long it may take, and where it begins, comes from outside")]
fn fuzz() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let time = number("FUZZ_SECONDS").map_or(SHORT, Duration::from_secs);
    let first = number("FUZZ_SEED").unwrap_or(1);
    let mut kept = seeds();
    let (sources, started) = (sources(), Instant::now());
    let (mut tried, mut bytes_read, mut slowest, mut shapes) = (0_u64, 0_u64, Duration::ZERO, BTreeSet::new());
    let mut said = started;
    while started.elapsed() < time {
        let seed = first.wrapping_mul(1 << 40) + tried;
        let mut dice = Dice::new(seed);
        let input = input(&mut dice, &kept);
        let source = sources[dice.below(sources.len())];
        let began = Instant::now();
        let checked = catch_unwind(AssertUnwindSafe(|| check(source, &input, &mut dice)));
        let took = began.elapsed();
        let outcome = checked.unwrap_or_else(|_| panic!("seed {seed} as {source:?}: {}", shown(&input)));
        assert!(took < SLOWEST, "seed {seed} as {source:?} took {took:?}: {}", shown(&input));
        slowest = slowest.max(took);
        (tried, bytes_read) = (tried + 1, bytes_read + input.len() as u64);
        if kept.len() < KEPT
            && input.len() <= KEPT_BYTES
            && shapes.insert((source.subagent, source.agent, shape(&outcome)))
        {
            kept.push(input);
        }
        if said.elapsed() > Duration::from_secs(60) {
            said = Instant::now();
            say(&format!(
                "{:?}: {tried} inputs, {bytes_read} bytes, {} kept, slowest {slowest:?}",
                started.elapsed(),
                kept.len()
            ));
        }
    }
    say(&format!(
        "{tried} inputs, {bytes_read} bytes, {} kept, {} shapes, slowest {slowest:?}",
        kept.len(),
        shapes.len()
    ));
    assert!(tried > 100, "only {tried} inputs in {time:?}");
}

/// Checks everything that must hold for arbitrary bytes.
fn check(source: Source, input: &[u8], dice: &mut Dice) -> Outcome {
    // The last line may be read before its newline comes, but only the newline settles how it goes on.
    let input = [input, b"\n"].concat();
    let outcome = whole(source, &input);
    assert_eq!(outcome.cursor.offset, input.len() as u64, "everything is read");
    let mut cuts: Vec<usize> = (0..1 + dice.below(3)).map(|_| dice.below(input.len() + 1)).collect();
    cuts.sort_unstable();
    let pieces = in_pieces(source, &input, &cuts);
    let both = pieces.items.iter().zip(&outcome.items);
    both.for_each(|(piece, item)| assert_eq!(piece, item, "in pieces, cut at {cuts:?}"));
    assert_eq!(pieces, outcome, "in pieces, cut at {cuts:?}");

    let mut stored = Vec::new();
    outcome.items.iter().for_each(|item| item::encode(item, &mut stored).unwrap());
    let fetched: Vec<_> = item::decode_all(&stored).collect::<Result<_, _>>().unwrap();
    let both = fetched.iter().zip(&outcome.items);
    both.for_each(|(fetched, item)| assert_eq!(fetched, item, "stored and fetched"));
    assert_eq!(fetched.len(), outcome.items.len(), "stored and fetched");
    assert_eq!(ContentHash::digest(&fetched), ContentHash::digest(&outcome.items), "hash");

    let text = String::from_utf8_lossy(&input);
    let once = redact(&text).into_owned();
    assert_eq!(redact(&once), once, "what is redacted stays as it is");
    outcome
}

/// A rough description of the result: inputs with the same one are alike.
fn shape(outcome: &Outcome) -> String {
    let kinds: BTreeSet<&str> = outcome.items.iter().map(|item| kind(&item.body)).collect();
    let seen = &outcome.seen;
    let few = |count: u64| count.min(3);
    let unknown: Vec<&str> = seen.unknown.keys().map(String::as_str).filter(|name| name.len() < 12).take(2).collect();
    format!(
        "{kinds:?} {} {} {} {unknown:?} {} {} {}",
        few(seen.malformed),
        few(seen.prompts),
        seen.first_at.is_some(),
        few(outcome.cursor.open_calls.len() as u64),
        outcome.cursor.working,
        outcome.cursor.queue.len().min(2)
    )
}

fn kind(body: &Body) -> &'static str {
    match body {
        Body::Prompt { .. } => "prompt",
        Body::Answer { .. } => "answer",
        Body::Reply { .. } => "reply",
        Body::Media { .. } => "media",
        Body::Thinking { .. } => "thinking",
        Body::Call(_) => "call",
        Body::Result(result) if result.error.is_some() => "failure",
        Body::Result(_) => "result",
        Body::Summary { .. } => "summary",
        Body::Notice { .. } => "notice",
        Body::Meta(_) => "meta",
    }
}

/// A few lines, most of them mutated.
fn input(dice: &mut Dice, kept: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..1 + dice.below(8) {
        match dice.below(3) {
            0 => {
                let (kind, seed) = (dice.below(record::kinds()), dice.roll());
                bytes.extend(record::line(kind, seed).into_bytes());
            }
            _ => bytes.extend_from_slice(&kept[dice.below(kept.len())]),
        }
        if !dice.once_in(20) {
            bytes.push(b'\n');
        }
        if bytes.len() > LONGEST {
            break;
        }
    }
    if !dice.once_in(8) {
        mutate(dice, &mut bytes, kept);
    }
    bytes.truncate(LONGEST);
    bytes
}

/// Initial lines: a few of each kind, and those of the fixtures.
fn seeds() -> Vec<Vec<u8>> {
    let kinds = (0..record::kinds()).flat_map(|kind| (0..4).map(move |seed| record::line(kind, seed).into_bytes()));
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../replay-fixtures/transcripts");
    let mut lines: Vec<Vec<u8>> = kinds.collect();
    let mut files = Vec::new();
    transcripts_below(&fixtures, &mut files);
    assert!(files.len() > 10, "no fixtures below {}", fixtures.display());
    for file in files {
        #[expect(clippy::disallowed_methods, reason = "fixtures are files")]
        let bytes = std::fs::read(file).unwrap();
        let fitting = bytes.split(|byte| *byte == b'\n').filter(|line| (1..LONGEST_LINE).contains(&line.len()));
        // A few of each are enough.
        lines.extend(fitting.step_by(7).take(40).map(<[u8]>::to_vec));
    }
    lines
}

fn transcripts_below(folder: &Path, files: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            transcripts_below(&path, files);
        } else if path.extension().is_some_and(|ending| ending == "jsonl") {
            files.push(path);
        }
    }
}

/// Prints a note for the person who watches.
fn say(note: &str) {
    let _ = writeln!(std::io::stderr(), "{note}");
}

/// An input in a form that fits a fixture.
fn shown(input: &[u8]) -> String {
    input.escape_ascii().to_string()
}
