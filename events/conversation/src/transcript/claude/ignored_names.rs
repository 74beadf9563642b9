//! Known names without conversation.
//!
//! Names that are neither here nor read elsewhere are counted as unknown.

use baton_words::WordList;

/// Types of records.
pub(super) static RECORDS: WordList = WordList::new(crate::WORDS, "claude records");

/// Subtypes of `system` records. Old versions write some without any.
pub(super) static SYSTEM: WordList = WordList::new(crate::WORDS, "claude system");

/// Types of attachments, which the harness adds for the model.
pub(super) static ATTACHMENTS: WordList = WordList::new(crate::WORDS, "claude attachments");

/// Types of `progress` records of a running tool; their content is repeated at its end.
pub(super) static PROGRESS: WordList = WordList::new(crate::WORDS, "claude progress");

/// Types of content blocks.
pub(super) static BLOCKS: WordList = WordList::new(crate::WORDS, "claude blocks");
