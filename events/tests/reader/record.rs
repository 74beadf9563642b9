//! Lines as agents write them, of every known kind and some unknown ones; each is determined by a number.
//!
//! Ids, messages and texts come from small pools, so that results find their calls, messages have several parts and queued
//! prompts are delivered.

use crate::dice::Dice;

mod broken;
mod codex;
mod frame;
mod harness;
mod pool;
mod said;
mod tool;

use broken::{no_record, unknown, wrong_types};
use codex::{codex_call, codex_context, codex_event, codex_message};
use harness::{
    attachment, compact_boundary, forked, link, metadata, progress, queue_operation, queued_attachment, system, title,
};
use said::{
    compact_summary, harness_words, media, odd_block, prompt, prompt_of_blocks, reply, several_blocks, thinking,
};
use tool::{call, result, result_with_copy};

/// One line without its newline.
pub(crate) fn line(kind: usize, seed: u64) -> String {
    let mut dice = Dice::new(seed);
    KINDS[kind % KINDS.len()](&mut dice)
}

/// Number of kinds.
pub(crate) fn kinds() -> usize {
    KINDS.len()
}

type Make = fn(&mut Dice) -> String;

const KINDS: &[Make] = &[
    prompt,
    prompt,
    prompt_of_blocks,
    harness_words,
    reply,
    reply,
    thinking,
    call,
    call,
    result,
    result,
    result_with_copy,
    media,
    odd_block,
    several_blocks,
    compact_boundary,
    compact_summary,
    system,
    attachment,
    queued_attachment,
    queue_operation,
    queue_operation,
    title,
    metadata,
    progress,
    link,
    forked,
    unknown,
    wrong_types,
    no_record,
    codex_message,
    codex_event,
    codex_call,
    codex_context,
];
