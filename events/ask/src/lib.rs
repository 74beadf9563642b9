//! What a question means, and what is told of what was found, within a budget.

pub mod query;
pub mod recall;
pub mod stopwords;
