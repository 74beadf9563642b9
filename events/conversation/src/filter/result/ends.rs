//! The parts of an output that are searched, as they may be quoted.

use std::borrow::Cow;
use std::cell::OnceCell;

use super::{ERROR_HEAD_BYTES, Output};
use crate::filter::{stored_text, without_colours};

/// Bytes of the end of a command's output, as written, that are searched for a verdict.
const VERDICT_BYTES: usize = 8 * 1024;

/// The beginning and the end of an output, redacted and without colours: made once for all that ask.
pub(super) struct Ends<'o> {
    output: &'o Output<'o>,
    /// Length of the output, as written.
    written: usize,
    head: OnceCell<Option<String>>,
    tail: OnceCell<Option<String>>,
}

impl<'o> Ends<'o> {
    pub(super) fn new(output: &'o Output<'o>) -> Self {
        let texts = || output.texts.iter().map(|text| text.raw().len()).sum();
        let written = output.spilled.as_ref().map_or_else(texts, String::len);
        Self { output, written, head: OnceCell::new(), tail: OnceCell::new() }
    }

    /// The beginning, without a word that the cut may have halved.
    pub(super) fn head(&self) -> Option<&str> {
        self.head.get_or_init(|| shown(&self.output.whole_words(ERROR_HEAD_BYTES))).as_deref()
    }

    /// The end, from a line break on.
    pub(super) fn tail(&self) -> Option<&str> {
        let is_one = self.output.spilled.is_some() || self.output.texts.len() == 1;
        if is_one && self.written <= VERDICT_BYTES {
            return self.head();
        }
        self.tail.get_or_init(|| output_end(self.output)).as_deref()
    }

    /// Both, or the whole if it is short.
    pub(super) fn both(&self) -> Option<Cow<'_, str>> {
        if self.written <= ERROR_HEAD_BYTES {
            return self.head().map(Cow::Borrowed);
        }
        let both = [self.head(), self.tail()].into_iter().flatten().collect::<Vec<_>>().join("\n");
        Some(both).filter(|both| !both.is_empty()).map(Cow::Owned)
    }
}

/// The end of an output, redacted and without colours, from a line break on, because half a key is not recognised as
/// one.
fn output_end(output: &Output<'_>) -> Option<String> {
    let end = match &output.spilled {
        Some(whole) if whole.len() > VERDICT_BYTES => {
            let start = whole.bytes().skip(whole.len() - VERDICT_BYTES).position(|byte| byte == b'\n');
            start.and_then(|at| whole.get(whole.len() - VERDICT_BYTES + at..)).unwrap_or_default().to_owned()
        }
        Some(whole) => whole.clone(),
        None => output.last_text().map_or_else(String::new, |text| text.tail(VERDICT_BYTES).decode().into_owned()),
    };
    shown(&end)
}

/// A part of an output as it may be quoted.
pub(super) fn shown(head: &str) -> Option<String> {
    stored_text(&without_colours(head))
}
