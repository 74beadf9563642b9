//! The outcome of a measurement that is not possible on every machine.

use serde::Serialize;

use super::Table;

/// A measurement, or the reason why there is none.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Outcome<T> {
    /// The measurement.
    Measured(T),
    /// Not measured.
    Skipped {
        /// The reason.
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
