//! Outputs of tools that are too large for the transcript: it contains their beginning, a file beside it the whole.

/// Largest such output that is read, in bytes; of a larger one only the beginning is used.
pub const MAX_SPILLED_BYTES: u64 = 16 * 1024 * 1024;

/// Access to those files. With it, a reader uses whole outputs instead of their beginnings; it is called only when
/// items are wanted.
pub trait Spilled {
    /// The whole output in the file of this name, if the file exists, has at most [`MAX_SPILLED_BYTES`] and may be
    /// read.
    ///
    /// The name comes from the transcript and may be anything: a path, `..`, empty.
    fn text(&self, name: &str) -> Option<String>;
}
