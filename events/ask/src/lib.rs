//! Query syntax, the meaning of questions, and the selection of an answer within a token budget.

pub mod query;
pub mod recall;
pub mod stopwords;
