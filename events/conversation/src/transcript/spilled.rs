//! Outputs of tools that are too large for the transcript: their beginning stands in it, the whole in a file beside it.

/// Most bytes of one such output that are read; of a larger one what the transcript says serves.
pub const MAX_SPILLED_BYTES: u64 = 16 * 1024 * 1024;

/// Where those files are. A reader that is given one tells of the whole output and not of its beginning; it asks only
/// when items are wanted.
pub trait Spilled {
    /// The whole output that the transcript says lies in a file of this name, if it is there, is no larger than
    /// [`MAX_SPILLED_BYTES`] and may be read.
    ///
    /// The name comes out of the transcript and may be anything: a path, `..`, empty.
    fn text(&self, name: &str) -> Option<String>;
}
