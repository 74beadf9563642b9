//! A measurement that the machine may not allow.

use serde::Serialize;

use super::Table;

/// A measurement, or why there is none.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Outcome<T> {
    /// What was measured.
    Measured(T),
    /// Nothing was.
    Skipped {
        /// Why.
        skipped: String,
    },
}

impl<T> Outcome<T> {
    pub(super) fn skipped(why: impl Into<String>) -> Self {
        Self::Skipped { skipped: why.into() }
    }

    pub(super) fn table(&self, title: &str, table: impl Fn(&T) -> Table) -> Table {
        match self {
            Self::Measured(measured) => table(measured),
            Self::Skipped { skipped } => Table::new(title, skipped),
        }
    }
}
