//! Words that say nothing about the subject of a text.

pub use baton_words::is_stop;
