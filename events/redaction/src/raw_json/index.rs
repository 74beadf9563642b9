//! Where things end in an object, found in one pass over it: what is looked into later need not be looked through again.
//!
//! A record is read by levels (record, message, blocks, inputs), and each level must know where its values end. With an
//! index every byte is passed once for all of them; without one (a line of more values than are noted) the same is found
//! by passing them again.

use super::{Fields, Found, Scan, first_object};

/// Most things noted of one object, in notes of 12 bytes; one with more is read without an index.
const MAX_NOTES: usize = 262_144;

/// Where a container or a string lies, counted from the beginning of the indexed bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Note {
    /// Its opening bracket or quote.
    pub(super) start: u32,
    /// Behind its closing bracket or quote. While a container is open: the note of the one around it.
    pub(super) end: u32,
    /// How many of the notes that follow lie inside.
    pub inside: u32,
}

/// Notes of one object after the other, in the same memory.
#[derive(Debug, Default)]
pub struct Index(Vec<Note>);

impl Index {
    /// Looks for an object at the beginning of `bytes`, after blanks, as [`first_object`] does, and notes where all that is
    /// in it ends.
    pub fn first_object<'a>(&'a mut self, bytes: &'a [u8]) -> Found<'a> {
        match first_object(bytes) {
            Found::Object(fields) => {
                let inside = match self.note(Scan { at: fields.scan.at - 1, ..fields.scan.clone() }) {
                    Some(()) => self.0.get(1..).unwrap_or_default(),
                    // Torn, or too much of it.
                    None => &[],
                };
                Found::Object(Fields { scan: Scan { notes: inside, ..fields.scan }, ..fields })
            }
            other => other,
        }
    }

    /// Notes the container at the current place and all in it; `None` if it is torn or has too much in it.
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
