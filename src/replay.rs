//! Replays an exported log offline: no daemon, no home, no index. The rules are the core's; this module reads the file.
//!
//! The file is split into blocks of whole lines. Several threads parse and hash blocks, which is most of the work,
//! while this one applies them in order. Everything between them is bounded, so a file may be larger than memory.

mod block;
mod comparison;
mod html;
mod rendering;

use std::io::Read;
use std::num::NonZero;
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::{self, JoinHandle};

use baton_events::replay;
use baton_events::replay::{Applied, DecodedLines, Options};
use baton_protocol::answer::{HistoryEvent, Replayed};

use block::{Block, Blocks};

pub use comparison::{Comparison, Verdict};
pub use html::Page;
pub use rendering::{event, position, summary};

/// Most threads that read blocks; more gain nothing, because one thread applies them.
const READERS_MAX: usize = 4;
/// Blocks queued per thread, before and after reading.
const WAITING: usize = 2;

/// Replays a log and passes its events to `each` if `options.tell` is set. Returns the result up to where it stopped;
/// if the file cannot be read further, its differences say so.
pub fn run(
    source: Box<dyn Read + Send>,
    options: Options,
    mut each: impl FnMut(&HistoryEvent) -> ControlFlow<()>,
) -> Replayed {
    let tell = options.tell;
    let mut replay = replay::Replay::new(options);
    let mut failed = None;
    'file: for read in sections(source, tell) {
        let section = match read {
            Ok(section) => section,
            Err(reason) => {
                failed = Some(reason);
                break;
            }
        };
        for (line, entry) in section.entries {
            match replay.apply(line, entry) {
                Ok(Applied::Quiet) => {}
                Ok(Applied::Event(happened)) => {
                    if each(&happened).is_break() {
                        replay.stop();
                        break 'file;
                    }
                }
                Ok(Applied::Enough) => break 'file,
                Err(error) => {
                    failed = Some(error.to_string());
                    break 'file;
                }
            }
        }
        if let Some(error) = section.failed {
            failed = Some(error.to_string());
            break;
        }
    }
    let mut summary = replay.summary();
    if let Some(reason) = failed {
        let good = match summary.position {
            0 => String::new(),
            position => format!("; up to position {position} the file is good: `--until {position}`"),
        };
        summary.differences = vec![format!("{reason}{good}")];
    }
    summary
}

type Reading = Result<DecodedLines, String>;

/// The sections of a file in order. The reading threads end with the file or with the iterator.
fn sections(source: Box<dyn Read + Send>, keep_data: bool) -> impl Iterator<Item = Reading> {
    let readers = thread::available_parallelism().map_or(1, NonZero::get).min(READERS_MAX);
    let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
    for _ in 0..readers {
        let (input, blocks) = sync_channel::<Result<Block, String>>(WAITING);
        let (sections, output) = sync_channel::<Reading>(WAITING);
        inputs.push(input);
        let reader = thread::spawn(move || {
            for block in blocks {
                let section = block.map(|block| DecodedLines::read(&block.bytes, block.first_line, keep_data));
                if sections.send(section).is_err() {
                    return;
                }
            }
        });
        outputs.push((output, Some(reader)));
    }
    let feeder = thread::spawn(move || {
        for (at, block) in Blocks::new(source).enumerate() {
            if inputs[at % inputs.len()].send(block).is_err() {
                return;
            }
        }
    });
    in_turn(outputs, feeder)
}

/// A reader's output, and its thread.
type Output = (Receiver<Reading>, Option<JoinHandle<()>>);

/// Takes one section from each reader in turn, until the next in turn has no more. That is the end of the file, unless
/// a thread panicked.
fn in_turn(mut outputs: Vec<Output>, feeder: JoinHandle<()>) -> impl Iterator<Item = Reading> {
    let (mut at, mut feeder, mut ended) = (0, Some(feeder), false);
    std::iter::from_fn(move || {
        if ended {
            return None;
        }
        let turn = at % outputs.len();
        let (output, reader) = &mut outputs[turn];
        at += 1;
        output.recv().map_or_else(
            |_| {
                ended = true;
                // A closed channel means that its reader has ended. If the reader did not panic, the feeder has ended
                // too.
                let broke =
                    |thread: &mut Option<JoinHandle<()>>| thread.take().is_some_and(|thread| thread.join().is_err());
                (broke(reader) || broke(&mut feeder)).then(|| Err("reading the file failed".to_owned()))
            },
            Some,
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_breaks_is_not_the_end_of_the_file() {
        let section = || Ok(DecodedLines { entries: Vec::new(), failed: None });
        for (breaks, expected) in [(None, 3), (Some(0), 2), (Some(1), 1), (Some(2), 3)] {
            let outputs = (0..2).map(|number| {
                let (sections, output) = sync_channel::<Reading>(WAITING);
                let reader = thread::spawn(move || {
                    // The first reader has two sections, the second one; a reader that panics loses its last.
                    let count = 2 - number - usize::from(breaks == Some(number));
                    (0..count).for_each(|_| sections.send(section()).unwrap());
                    assert_ne!(breaks, Some(number), "broken on purpose");
                });
                (output, Some(reader))
            });
            let outputs = outputs.collect();
            let feeder = thread::spawn(move || assert_ne!(breaks, Some(2), "broken on purpose"));
            let read: Vec<Reading> = in_turn(outputs, feeder).take(4).collect();
            let good = read.iter().filter(|read| read.is_ok()).count();
            assert_eq!((good, read.len() - good), (expected, usize::from(breaks.is_some())), "{breaks:?}");
        }
    }
}
