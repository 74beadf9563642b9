//! An exported log run again, offline: no daemon, no home, no index. The rules are the core's; here are its files.
//!
//! The file is cut into blocks of whole lines. Some threads read blocks (parsing and hashing are most of the work) while
//! this one takes them in, in order. Everything between them is bounded, so a file may be larger than the memory.

mod block;
mod comparison;
mod rendering;

use std::io::Read;
use std::num::NonZero;
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::{self, JoinHandle};

use baton_events::replay;
use baton_events::replay::{Options, Section, Applied};
use baton_protocol::answer::{HistoryEvent, Replayed};

use block::{Block, Blocks};

pub use comparison::{Comparison, Verdict};
pub use rendering::{event, summary};

/// Threads that read blocks; more than this gain nothing, for one thread takes them in.
const READERS_MAX: usize = 4;
/// Blocks that wait, for each of them, before and after it has read them.
const WAITING: usize = 2;

/// Runs a log, and shows `each` its events if they are told. What it comes to, as far as it was run: where the file cannot
/// be read further, its differences say so.
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

type Reading = Result<Section, String>;

/// The sections of a file in their order, read by threads that end with it or with its reader.
fn sections(source: Box<dyn Read + Send>, keep_data: bool) -> impl Iterator<Item = Reading> {
    let readers = thread::available_parallelism().map_or(1, NonZero::get).min(READERS_MAX);
    let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
    for _ in 0..readers {
        let (input, blocks) = sync_channel::<Result<Block, String>>(WAITING);
        let (sections, output) = sync_channel::<Reading>(WAITING);
        inputs.push(input);
        let reader = thread::spawn(move || {
            for block in blocks {
                let section = block.map(|block| Section::read(&block.bytes, block.first_line, keep_data));
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

/// What a reader has read, and the reader itself.
type Output = (Receiver<Reading>, Option<JoinHandle<()>>);

/// One from each in turn, until the one whose turn it is has no more. That is the end of the file, unless a thread broke.
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
                // Whoever has closed its channel has ended; the feeder has when a reader ended that did not break.
                let broke =
                    |thread: &mut Option<JoinHandle<()>>| thread.take().is_some_and(|thread| thread.join().is_err());
                (broke(reader) || broke(&mut feeder)).then(|| Err("reading the file broke".to_owned()))
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
        let section = || Ok(Section { entries: Vec::new(), failed: None });
        for (breaks, expected) in [(None, 3), (Some(0), 2), (Some(1), 1), (Some(2), 3)] {
            let outputs = (0..2).map(|number| {
                let (sections, output) = sync_channel::<Reading>(WAITING);
                let reader = thread::spawn(move || {
                    // The first has two, the second one; the one that breaks loses its last.
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
