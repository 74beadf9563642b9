//! The text of an episode for searching, in which programs can recognise what only a model says.
//!
//! # Hazards
//!
//! - The marks are characters that are not part of any word (`MODEL_BEGINS`, `MODEL_ENDS`), so no search finds them.
//!   Snippets are cut without them, and text between them gets the mark that people and agents read. Such characters in
//!   other text are removed.

use super::{Episode, Pointed};

/// Precedes what only a model says, in text that is searched and not shown: a noncharacter, part of no word.
pub const MODEL_BEGINS: char = '\u{fdd0}';
/// Follows what only a model says, in the same text. If it was cut off, the line's end takes its place.
pub const MODEL_ENDS: char = '\u{fdd1}';

impl Episode {
    /// Returns the [content](Self::content) with every text that only a model says between [`MODEL_BEGINS`] and
    /// [`MODEL_ENDS`]. It has the same words, and the marks do not count towards its length. These characters are
    /// removed from the transcript's and the model's own text.
    pub fn content_with_marks(mut self) -> String {
        self.strip_marks();
        self.marked_by(|text| *text = format!("{MODEL_BEGINS}{text}{MODEL_ENDS}")).render(true)
    }

    fn strip_marks(&mut self) {
        let said = std::mem::take(&mut self.said_by_model);
        self.said_by_model = said.into_iter().map(|(line, text)| (line, without_mark_chars(text))).collect();
        let clean = |text: &mut String| *text = without_mark_chars(std::mem::take(text));
        [&mut self.title, &mut self.objective, &mut self.continuation_context].into_iter().for_each(clean);
        self.cwd.iter_mut().for_each(clean);
        for map in [&mut self.work_completed, &mut self.knowledge_stored] {
            let before = std::mem::take(map);
            for (name, mut said) in before {
                map.entry(without_mark_chars(name)).or_default().append(&mut said);
            }
        }
        let lists = [
            &mut self.prompts,
            &mut self.decisions,
            &mut self.superseded,
            &mut self.external_research,
            &mut self.unresolved,
            &mut self.next_steps,
        ];
        let maps = self.work_completed.values_mut().chain(self.knowledge_stored.values_mut());
        lists.into_iter().chain(maps).flatten().for_each(|said| clean(&mut said.text));
        self.corrected.iter_mut().for_each(|it| clean(&mut it.said.text));
        let overruled = std::mem::take(&mut self.overruled_by).into_iter();
        self.overruled_by = overruled
            .map(|((line, text), by)| {
                ((line, without_mark_chars(text)), Pointed { text: without_mark_chars(by.text), ..by })
            })
            .collect();
        for error in &mut self.errors {
            clean(&mut error.text);
            error.resolution.iter_mut().for_each(|resolution| clean(&mut resolution.text));
        }
        self.files_read.iter_mut().for_each(|file| clean(&mut file.path));
        self.files_modified.iter_mut().for_each(|file| clean(&mut file.path));
        self.commands.iter_mut().for_each(|command| clean(&mut command.text));
    }
}

fn without_mark_chars(text: String) -> String {
    match text.contains([MODEL_BEGINS, MODEL_ENDS]) {
        true => text.replace([MODEL_BEGINS, MODEL_ENDS], ""),
        false => text,
    }
}

/// Returns the length of a text without the marks, in bytes.
pub(super) fn bytes_without_marks(text: &str) -> usize {
    text.len() - text.matches([MODEL_BEGINS, MODEL_ENDS]).map(str::len).sum::<usize>()
}
