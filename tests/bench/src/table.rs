//! Printed output: a title, how it was measured, and rows.

/// A titled list of values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// The title.
    pub title: String,
    /// How it was measured, or why it was not.
    pub how: String,
    /// Name and value.
    pub rows: Vec<(String, String)>,
}

impl Table {
    pub(super) fn new(title: &str, how: &str) -> Self {
        Self { title: title.to_owned(), how: how.to_owned(), rows: Vec::new() }
    }

    pub(super) fn row(&mut self, name: &str, value: String) {
        self.rows.push((name.to_owned(), value));
    }
}

pub(super) fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1_000_000.0)
}

/// A share of a whole.
pub(super) fn percent(part: f64, whole: f64) -> String {
    format!("{:.1} %", if whole > 0.0 { 100.0 * part / whole } else { 0.0 })
}
