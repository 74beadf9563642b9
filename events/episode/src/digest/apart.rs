//! An episode's text in which a program can tell apart what only a model says: what is searched.
//!
//! # Hazards
//!
//! - The marks are characters that are no word (`MODEL_BEGINS`, `MODEL_ENDS`), so nothing is found by them.
//!   Snippets are cut without them, and what was between them gets the mark that people and agents read. Such
//!   characters in somebody's own text are taken out.

use super::Episode;

/// Before what only a model says, in a text that is searched and not shown: no character of any script, and no word.
pub const MODEL_BEGINS: char = '\u{fdd0}';
/// Behind what only a model says, in the same text. Where it was cut off the end of the line stands for it.
pub const MODEL_ENDS: char = '\u{fdd1}';

impl Episode {
    /// The [content](Self::content) with every text that only a model says between [`MODEL_BEGINS`] and [`MODEL_ENDS`], for
    /// programs that ask of a piece of it who says it. It has the same words, and its bound does not count these marks. A
    /// transcript or a model that writes such characters itself says nothing by them: they are left out.
    pub fn told_apart(mut self) -> String {
        self.without_marks();
        self.marked_by(|text| *text = format!("{MODEL_BEGINS}{text}{MODEL_ENDS}")).told(true)
    }

    fn without_marks(&mut self) {
        let said = std::mem::take(&mut self.said_by_model);
        self.said_by_model = said.into_iter().map(|(line, text)| (line, cleaned(text))).collect();
        let clean = |text: &mut String| *text = cleaned(std::mem::take(text));
        [&mut self.title, &mut self.objective, &mut self.continuation_context].into_iter().for_each(clean);
        self.cwd.iter_mut().for_each(clean);
        for map in [&mut self.work_completed, &mut self.knowledge_stored] {
            let before = std::mem::take(map);
            for (name, mut said) in before {
                map.entry(cleaned(name)).or_default().append(&mut said);
            }
        }
        let lists = [
            &mut self.prompts,
            &mut self.decisions,
            &mut self.external_research,
            &mut self.unresolved,
            &mut self.next_steps,
        ];
        let maps = self.work_completed.values_mut().chain(self.knowledge_stored.values_mut());
        lists.into_iter().chain(maps).flatten().for_each(|said| clean(&mut said.text));
        for error in &mut self.errors {
            clean(&mut error.text);
            error.resolution.iter_mut().for_each(|resolution| clean(&mut resolution.text));
        }
        self.files_read.iter_mut().for_each(|file| clean(&mut file.path));
        self.files_modified.iter_mut().for_each(|file| clean(&mut file.path));
        self.commands.iter_mut().for_each(|command| clean(&mut command.text));
    }
}

fn cleaned(text: String) -> String {
    match text.contains([MODEL_BEGINS, MODEL_ENDS]) {
        true => text.replace([MODEL_BEGINS, MODEL_ENDS], ""),
        false => text,
    }
}

/// Bytes of a text without the marks.
pub(super) fn bytes(text: &str) -> usize {
    text.len() - text.matches([MODEL_BEGINS, MODEL_ENDS]).map(str::len).sum::<usize>()
}
