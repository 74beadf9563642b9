//! Adds units to a session without its other documents.

use super::{Error, Store, write};
use crate::{Added, document};

impl Store {
    /// Adds units to a session that the memory holds, in place of those from the same ordinal on. The session's other
    /// documents stay as they are until its next [`put`](Self::put), which also replaces what was added.
    ///
    /// # Errors
    ///
    /// When the index cannot be written.
    pub fn add(&mut self, added: &Added<'_>) -> Result<(), Error> {
        let result = self.try_add(added);
        self.keep_or_abandon(result)
    }

    fn try_add(&mut self, added: &Added<'_>) -> Result<(), Error> {
        let Added { origin, from, known, units } = *added;
        let (session, place, fields) = (origin.session.as_str(), document::place(&origin), self.fields);
        let writer = self.writer()?;
        if from < known {
            writer.delete_query(document::turns(&fields, session, from..known))?;
        }
        self.dirty = true;
        let Some(writer) = &self.writer else { return Err(Error::Broken("no writer".to_owned())) };
        self.drafter.begin_at(from);
        let documents = units.iter().filter_map(|unit| self.drafter.unit(&fields, &origin, &place, unit, from));
        write(writer, &self.queue, documents.collect())
    }
}
