//! Query syntax, the meaning of questions, and the selection of an answer within a token budget.

pub mod query;
pub mod recall;
pub mod stopwords;

/// The words of all rules, see [`baton_words`].
const WORDS: &str = include_str!("words.txt");
