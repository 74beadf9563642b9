//! An index of where values end in an object, built in one pass, so that nested values are not scanned again.
//!
//! A record is read level by level (record, message, blocks, inputs), and each level must know where its values end.
//! With an index every byte is scanned once for all levels. Without one (a line with more values than [`MAX_NOTES`])
//! each level scans again, with the same result.

use super::{Fields, Found, Scan, first_object};

/// Most entries for one object, of 12 bytes each. An object with more is read without an index.
const MAX_NOTES: usize = 262_144;

/// The extent of a container or a string, as offsets in the indexed input.
#[derive(Clone, Copy, Debug)]
pub(super) struct Note {
    /// Offset of its opening bracket or quote.
    pub(super) start: u32,
    /// Offset behind its closing bracket or quote. While a container is open: the position of the
    /// enclosing one's entry.
    pub(super) end: u32,
    /// How many of the following entries lie inside.
    pub inside: u32,
}

/// The entries of one object. Reused for one object after the other.
#[derive(Debug, Default)]
pub struct Index(Vec<Note>);

impl Index {
    /// Looks for an object at the start of `bytes`, after whitespace, as [`first_object`] does, and indexes everything
    /// in it.
    pub fn first_object<'a>(&'a mut self, bytes: &'a [u8]) -> Found<'a> {
        match first_object(bytes) {
            Found::Object(fields) => {
                let inside = match self.note(Scan { at: fields.scan.at - 1, ..fields.scan.clone() }) {
                    Some(()) => self.0.get(1..).unwrap_or_default(),
                    // Malformed, or too many values.
                    None => &[],
                };
                Found::Object(Fields { scan: Scan { notes: inside, ..fields.scan }, ..fields })
            }
            other => other,
        }
    }

    /// Indexes the container at the cursor. `None` if it is malformed or contains too many values.
    fn note(&mut self, mut scan: Scan<'_>) -> Option<()> {
        let notes = &mut self.0;
        notes.clear();
        u32::try_from(scan.bytes.len()).ok()?;
        let place = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        let mut open = 0_usize;
        while notes.len() < MAX_NOTES {
            let start = scan.at;
            let byte = *scan.bytes.get(start)?;
            scan.at += 1;
            match byte {
                b'"' => {
                    scan.pass_text()?;
                    notes.push(Note { start: place(start), end: place(scan.at), inside: 0 });
                }
                b'{' | b'[' => {
                    notes.push(Note { start: place(start), end: place(open), inside: 0 });
                    open = notes.len() - 1;
                }
                b'}' | b']' => {
                    let inside = place(notes.len() - 1 - open);
                    let around = notes[open].end;
                    notes[open].end = place(scan.at);
                    notes[open].inside = inside;
                    if open == 0 {
                        return Some(());
                    }
                    open = around as usize;
                }
                _ => {}
            }
        }
        None
    }
}
