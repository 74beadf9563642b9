//! A plan that nobody approved.

use std::borrow::Cow;

use super::super::excerpt::{one_line, sentences_within, without_filter_mark};
use super::super::file;
use super::super::label::without_plan_label;
use super::super::outcome::stated_goal;
use super::super::sentence::{plain, sentences};
use super::super::timeline::Timeline;
use super::super::{LINE_CHARS, Pointed};
use super::{Kind, first_statement, is_presented, sections, text};

/// The last plan of a session, if it was refused or not answered.
pub(in crate::digest) struct Unapproved<'a> {
    text: Cow<'a, str>,
    /// Its heading and the file that it was written to.
    pub(in crate::digest) told: Pointed,
}

/// Returns the last plan if it was refused, or not answered, and nothing was changed after it.
pub(in crate::digest) fn unapproved<'a>(timeline: &Timeline<'a>) -> Option<Unapproved<'a>> {
    let deed = timeline.deeds.iter().rfind(|deed| !deed.aside && is_presented(deed))?;
    let later = timeline.deeds.iter().any(|later| later.began > deed.began && file::changes(later));
    if deed.succeeded() || later {
        return None;
    }
    let text = text(deed)?;
    let heading = text.lines().map(|line| line.trim_start_matches(['#', ' '])).find(|line| !line.is_empty())?;
    let heading = plain(&without_filter_mark(heading));
    let before = timeline.deeds.iter().filter(|other| other.began < deed.began && file::changes(other));
    let written = before.flat_map(file::written_files).map(|(path, ..)| path).next_back();
    let is_note = |path: &&str| timeline.relative_path(path).starts_with(['/', '~']) && file::is_document(path);
    let place = written.filter(is_note).map_or_else(String::new, |path| format!(" (written to {path})"));
    let told = one_line(&format!("Plan not approved: {}{place}", without_plan_label(&heading)), LINE_CHARS);
    Some(Unapproved { text, told: Pointed { text: told, line: deed.line, at: deed.at } })
}

impl Unapproved<'_> {
    /// Returns what the plan says it is for, or how it goes about it.
    pub(in crate::digest) fn gist(&self, chars: usize) -> Option<String> {
        let sections = sections(&self.text).into_iter();
        let approach = || {
            sections.filter(|section| section.kind == Kind::Approach).find_map(|section| {
                first_statement(sentences(section.text).into_iter().filter(|sentence| !sentence.quoted))
            })
        };
        stated_goal(&self.text, chars).or_else(|| Some(sentences_within(&approach()?, chars)))
    }
}
