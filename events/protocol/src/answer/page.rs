//! Result of `page`.

use serde::{Deserialize, Serialize};

/// Where a browser finds the pages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Page {
    /// The first address. It works once, within `valid_seconds`.
    pub url: String,
    /// How long the address works, in seconds.
    pub valid_seconds: u64,
}
