//! Merges one section of a note: its heading, its block, and what a person made of them.

use std::collections::{BTreeMap, BTreeSet};

use crate::block;
use crate::block::{Block, Blocks, HEADING_ONLY, content, without_line_end};
use crate::note::{Body, Line, Section};
use crate::trace::Traces;
use baton_conversation::record::Timestamp;
use baton_protocol::Zone;

/// Beginning of an entry with its own heading.
const OWN_HEADING: &str = "### ";

/// The body of a note during a merge.
pub(super) struct BodyText {
    lines: Vec<String>,
    eol: &'static str,
    changed: bool,
    missed: usize,
    /// The current blocks; cleared by every change, as finding them scans the whole text.
    blocks: Option<Blocks>,
}

/// The wanted content of a block.
struct BlockUpdate {
    /// The content to write; `None` leaves the block as it is.
    content: Option<String>,
    /// The hash to record for what was wanted.
    recorded: Option<String>,
    /// The first lines of all wanted entries.
    wanted: Vec<String>,
    /// Those of them that a person already has, or has removed, as far as the text shows.
    theirs: Vec<String>,
}

impl BlockUpdate {
    /// `is_news` is false if the same content was written before; then everything counts as theirs. `theirs` are the
    /// lines that a person has.
    fn new(
        content: String,
        is_news: bool,
        recorded: Option<String>,
        wanted: Vec<String>,
        theirs: &BTreeSet<&str>,
    ) -> Self {
        let is_theirs = |line: &&String| !is_news || theirs.contains(line.as_str());
        let theirs = wanted.iter().filter(is_theirs).cloned().collect();
        Self { content: is_news.then_some(content), recorded, wanted, theirs }
    }
}

impl BodyText {
    pub(super) fn new(text: &str, eol: &'static str) -> Self {
        let lines = text.split_inclusive('\n').map(str::to_owned).collect();
        Self { lines, eol, changed: false, missed: 0, blocks: None }
    }

    pub(super) fn is_changed(&self) -> bool {
        self.changed
    }

    /// Returns the number of blocks that a person had removed and that were written again.
    pub(super) fn missed(&self) -> usize {
        self.missed
    }

    pub(super) fn finished(&self) -> String {
        self.lines.concat()
    }

    /// Merges `all[which]`; `all` lists the sections of the note in order. `written` holds what Baton wrote last in
    /// each block.
    pub(super) fn merge_section(&mut self, all: &[Section], which: usize, written: &mut BTreeMap<String, String>) {
        let Some(section) = all.get(which) else { return };
        let name = format!("#{}", section.key);
        let known = written.get(&name).cloned();
        let lines: Vec<&str> = self.lines.iter().map(String::as_str).collect();
        let blocks = self.blocks.take().unwrap_or_else(|| Blocks::parse(&lines));
        let own = blocks.own_block(section.key).cloned();
        let taken: Vec<Block> = blocks.taken_blocks(section.key).cloned().collect();
        let strays = blocks.stray.iter().filter(|(_, key)| key == section.key);
        let stray = strays.map(|(at, _)| *at).min();
        let is_taken = !taken.is_empty() || stray.is_some();
        let mine = own.as_ref().map_or(&lines[..0], |own| &lines[own.open + 1..own.close]);
        let is_sole = matches!(section.body, Body::Sole(_));
        // Lines that were written and are in no block of Baton's any more: a person has moved or removed them.
        let gone = Traces::parse(written, section.key).excluding(mine.iter().map(|line| without_line_end(line)));
        let current = CurrentSection { lines: &lines, own: own.as_ref(), taken: &taken, stray, gone: &gone };
        let update = match &section.body {
            Body::Whole(entries) | Body::Sole(entries) => current.replace_entries(entries),
            Body::Added(new) => current.add_lines(new),
            Body::Log(entries) => current.merge_log(entries, &[]),
            Body::LogEnd(entries, zone) => current.merge_log(entries, &entries_beside(mine, entries, *zone)),
        };
        let was_there = known.as_deref().is_some_and(|known| known != HEADING_ONLY);
        if let Some(own) = own {
            let now = content(mine);
            self.blocks = Some(blocks);
            let new = update.content.unwrap_or_else(|| now.clone());
            if !is_sole {
                gone.with_lines(&update.theirs).record(written, section.key, new.lines());
            }
            if new != now {
                self.replace(own.open, own.close, &block::block(section.key, &new));
            }
            written.extend(update.recorded.map(|hash| (name, hash)));
            return;
        }
        let is_taken_away = was_there && !is_taken && known == update.recorded;
        // Empty content, a removed block without news, or a sole block that is the person's for good.
        let is_left = update.content.as_ref().is_none_or(String::is_empty)
            || is_taken_away
            || (is_sole && (is_taken || was_there));
        let gone =
            if is_sole { gone } else { gone.with_lines(if is_taken_away { &update.wanted } else { &update.theirs }) };
        if is_left {
            gone.record(written, section.key, []);
            if known.is_none() && !section.heading.is_empty() && !is_taken {
                self.heading(all, which);
                written.insert(name, HEADING_ONLY.to_owned());
            }
            return;
        }
        if section.heading.is_empty() && has_title(&lines) {
            written.insert(name, HEADING_ONLY.to_owned());
            return;
        }
        self.missed += usize::from(was_there && !is_taken);
        let new = update.content.unwrap_or_default();
        if !is_sole {
            gone.record(written, section.key, new.lines());
        }
        self.open(all, which, &new);
        written.extend(update.recorded.map(|hash| (name, hash)));
    }

    /// Writes the marker of the note where it was, or at the beginning.
    pub(super) fn note(&mut self, written: &BTreeMap<String, String>) {
        let lines: Vec<&str> = self.lines.iter().map(String::as_str).collect();
        let marker = block::note_marker(written);
        match block::written(&lines) {
            Some((at, _)) => self.replace(at, at, &marker),
            None => self.insert(0, &format!("{marker}{}", self.gap(0))),
        }
    }

    /// Adds a new block at the end of its section.
    fn open(&mut self, all: &[Section], which: usize, content: &str) {
        let section = &all[which];
        let text = block::block(section.key, content);
        let filled = if section.heading.is_empty() {
            let lines: Vec<&str> = self.lines.iter().map(String::as_str).collect();
            block::written(&lines).map_or(0, |(at, _)| at + 1)
        } else {
            let heading = self.heading(all, which);
            let lines: Vec<&str> = self.lines.iter().map(String::as_str).collect();
            let end = section_end(&lines, heading);
            (heading..end).rev().find(|at| !lines[*at].trim().is_empty()).unwrap_or(heading) + 1
        };
        self.insert(filled, &format!("\n{text}{}", self.gap(filled)));
    }

    /// Returns the line of a section's heading. A missing heading is written after the preceding section of the note,
    /// or before the following one, or at the end, with an empty line on both sides.
    fn heading(&mut self, all: &[Section], which: usize) -> usize {
        let lines: Vec<&str> = self.lines.iter().map(String::as_str).collect();
        let headings = headings(&lines);
        let of = |heading: &str| {
            let is_it = |line: &str| line.trim().trim_matches('#').trim().eq_ignore_ascii_case(heading);
            headings.iter().find(|(at, level)| *level == 2 && is_it(lines[*at])).map(|(at, _)| *at)
        };
        if let Some(at) = of(all[which].heading) {
            return at;
        }
        let blocks = Blocks::parse(&lines);
        // A person may have changed a heading: then the block below it identifies the section.
        let place = |section: &Section| {
            let is_titled = !section.heading.is_empty();
            let block = || blocks.found.iter().rev().find(|block| block.key == section.key).map(|block| block.open);
            of(section.heading).or_else(block).filter(|_| is_titled)
        };
        let begin =
            |at: usize| headings.iter().rev().find(|(line, level)| *line <= at && *level <= 2).map(|(at, _)| *at);
        let behind = all[..which].iter().rev().find_map(place).map(|at| section_end(&lines, at));
        let before = || all[which + 1..].iter().find_map(|section| begin(place(section)?));
        let at = behind.or_else(before).unwrap_or(lines.len());
        let gap = if at > 0 && !lines[at - 1].trim().is_empty() { "\n" } else { "" };
        let (line, below) = (at + gap.len(), self.gap(at));
        self.insert(at, &format!("{gap}## {}\n{below}", all[which].heading));
        line
    }

    /// Returns the separator between inserted text and the line after it.
    fn gap(&self, at: usize) -> &'static str {
        if self.lines.get(at).is_some_and(|line| !line.trim().is_empty()) { "\n" } else { "" }
    }

    fn replace(&mut self, from: usize, to: usize, text: &str) {
        // A last line without a line end stays without one.
        let ends = self.lines[to].ends_with('\n');
        let mut new = self.in_lines(text);
        if let Some(last) = new.last_mut().filter(|_| !ends) {
            *last = without_line_end(last).to_owned();
        }
        self.lines.splice(from..=to, new);
        (self.changed, self.blocks) = (true, None);
    }

    fn insert(&mut self, at: usize, text: &str) {
        if at == self.lines.len()
            && let Some(last) = self.lines.last_mut().filter(|last| !last.ends_with('\n'))
        {
            last.push_str(self.eol);
        }
        let new = self.in_lines(text);
        self.lines.splice(at..at, new);
        (self.changed, self.blocks) = (true, None);
    }

    fn in_lines(&self, text: &str) -> Vec<String> {
        text.split_inclusive('\n').map(|line| line.replace('\n', self.eol)).collect()
    }
}

/// A section as it is in the file.
struct CurrentSection<'a> {
    lines: &'a [&'a str],
    own: Option<&'a Block>,
    taken: &'a [Block],
    stray: Option<usize>,
    /// Traces of lines that must not be written again.
    gone: &'a Traces,
}

impl CurrentSection<'_> {
    /// Returns false if a block with exactly this content was taken over by a person.
    fn is_news(&self, content: &str) -> bool {
        self.own.is_some() || !self.taken.iter().any(|block| block.hash == block::hash(content))
    }

    /// Replaces the existing entries, except those that a person has taken over or removed.
    fn replace_entries(&self, entries: &[String]) -> BlockUpdate {
        let all = entries.join("\n");
        let recorded = Some(block::short_hash(&all));
        let theirs = taken_lines(self.lines, self.taken, self.stray);
        let is_left =
            |entry: &&String| !theirs.contains(first_line(entry)) && !self.gone.contains_line(first_line(entry));
        let left: Vec<&str> = entries.iter().filter(is_left).map(String::as_str).collect();
        let wanted = entries.iter().map(|entry| first_line(entry).to_owned()).collect();
        BlockUpdate::new(left.join("\n"), self.is_news(&all), recorded, wanted, &theirs)
    }

    /// Adds lines to the existing ones.
    fn add_lines(&self, new: &[Line]) -> BlockUpdate {
        let mut all: BTreeMap<String, Line> = BTreeMap::new();
        let mut put = |line: Line| match all.get_mut(&line.text) {
            Some(known) => known.join(&line.support),
            None => drop(all.insert(line.text.clone(), line)),
        };
        let lines = self.lines;
        let is_own = |at: usize| self.own.is_some_and(|own| (own.open..=own.close).contains(&at));
        let (mine, theirs): (Vec<usize>, Vec<usize>) = (0..lines.len()).partition(|at| is_own(*at));
        let read = |at: &usize| Line::parse(without_line_end(lines[*at]));
        mine.iter().skip(1).take(mine.len().saturating_sub(2)).map(read).for_each(&mut put);
        let theirs: BTreeSet<String> = match new.is_empty() {
            true => BTreeSet::new(),
            false => {
                theirs.iter().filter(|at| lines[**at].trim_start().starts_with("- ")).map(|at| read(at).text).collect()
            }
        };
        let (theirs, left): (Vec<&Line>, Vec<&Line>) = new.iter().partition(|line| theirs.contains(&line.text));
        left.into_iter().filter_map(|line| self.gone.unwritten_part(line)).for_each(&mut put);
        let content: Vec<String> = all.values().map(Line::written).collect();
        let content = content.join("\n");
        let recorded = (!content.is_empty()).then(|| block::short_hash(&content));
        let wanted = new.iter().map(Line::written).collect();
        BlockUpdate {
            recorded,
            content: Some(content),
            wanted,
            theirs: theirs.into_iter().map(Line::written).collect(),
        }
    }

    /// Orders entries by time, and keeps existing entries with their own headings.
    fn merge_log(&self, entries: &[(Timestamp, String)], before: &[(Timestamp, String)]) -> BlockUpdate {
        let wanted: Vec<String> = entries.iter().map(|(_, entry)| entry.trim_end().to_owned()).collect();
        let recorded = Some(block::short_hash(&wanted.join("\n")));
        let theirs = taken_lines(self.lines, self.taken, self.stray);
        let is_news = self.is_news(&join_entries(&wanted));
        let lines: Vec<String> = wanted.iter().map(|entry| first_line(entry).to_owned()).collect();
        let mut all: Vec<(Timestamp, String)> = before.to_vec();
        all.extend(entries.iter().zip(wanted).map(|((at, _), entry)| (*at, entry)));
        all.extend(self.own.map(|own| entries_with_headings(&self.lines[own.open + 1..own.close])).unwrap_or_default());
        let mut seen = BTreeSet::new();
        all.retain(|(_, entry)| {
            let is_first = !entry.starts_with(OWN_HEADING) || seen.insert(first_line(entry).to_owned());
            is_first && !theirs.contains(first_line(entry)) && !self.gone.contains_line(first_line(entry))
        });
        all.sort_by_key(|(at, _)| *at);
        let all: Vec<String> = all.into_iter().map(|(_, entry)| entry).collect();
        BlockUpdate::new(join_entries(&all), is_news, recorded, lines, &theirs)
    }
}

/// Returns the lines of a log that are not in `entries`, with their times: `- 2026-03-14 09:26 words`.
fn entries_beside(lines: &[&str], entries: &[(Timestamp, String)], zone: Zone) -> Vec<(Timestamp, String)> {
    let time = |line: &str| {
        let minute = line.strip_prefix("- ")?.get(..16)?;
        let wall = Timestamp::parse(&format!("{}:00Z", minute.replacen(' ', "T", 1)))?;
        Some(Timestamp(zone.first_utc(wall.0)))
    };
    let known: BTreeSet<&str> = entries.iter().map(|(_, entry)| first_line(entry)).collect();
    if !entries.iter().any(|(_, entry)| time(entry).is_some()) {
        // Prompts are not to be shown.
        return Vec::new();
    }
    let lines = lines.iter().map(|line| without_line_end(line));
    let old = lines.filter_map(|line| Some((time(line)?, line)));
    old.filter(|(_, line)| !known.contains(line)).map(|(at, line)| (at, line.to_owned())).collect()
}

/// Returns the entries with their own headings and the time in those.
fn entries_with_headings(lines: &[&str]) -> Vec<(Timestamp, String)> {
    let mut kept: Vec<(Timestamp, String)> = Vec::new();
    let mut open = false;
    for line in lines.iter().map(|line| without_line_end(line)) {
        if let Some(rest) = line.strip_prefix(OWN_HEADING) {
            let at = rest.split(' ').next().and_then(Timestamp::parse).unwrap_or_default();
            kept.push((at, line.to_owned()));
            open = true;
        } else if line.starts_with("- ") {
            open = false;
        } else if let Some((_, entry)) = kept.last_mut().filter(|_| open) {
            entry.push('\n');
            entry.push_str(line);
        }
    }
    kept.into_iter().map(|(at, entry)| (at, entry.trim_end().to_owned())).collect()
}

/// Joins entries; entries of several lines are surrounded by empty lines.
fn join_entries(entries: &[String]) -> String {
    let mut out = String::new();
    let mut before_is_long = false;
    for entry in entries {
        let is_long = entry.contains('\n');
        if !out.is_empty() {
            out.push_str(if is_long || before_is_long { "\n\n" } else { "\n" });
        }
        out.push_str(entry);
        before_is_long = is_long;
    }
    out
}

fn first_line(entry: &str) -> &str {
    entry.split('\n').next().unwrap_or_default().trim()
}

/// Returns the lines in blocks that a person has taken over, and after stray markers.
fn taken_lines<'a>(lines: &[&'a str], taken: &[Block], stray: Option<usize>) -> BTreeSet<&'a str> {
    let mut theirs: BTreeSet<&str> = BTreeSet::new();
    for block in taken {
        theirs.extend(lines[block.open + 1..block.close].iter().map(|line| line.trim()));
    }
    if let Some(at) = stray {
        let start = headings(lines).into_iter().rev().find(|(line, level)| *line < at && *level <= 2);
        let end = section_end(lines, at);
        let within = Blocks::parse(lines).mask(lines.len());
        let free = (start.map_or(at, |(line, _)| line)..end).filter(|line| !within[*line]);
        theirs.extend(free.map(|line| lines[line].trim()));
    }
    theirs.remove("");
    theirs
}

/// Returns true if a person has given the note a title.
fn has_title(lines: &[&str]) -> bool {
    headings(lines).iter().any(|(_, level)| *level == 1)
}

/// Returns the end of a heading's section: the next heading of its level or above.
fn section_end(lines: &[&str], from: usize) -> usize {
    let next = headings(lines).into_iter().find(|(at, level)| *at > from && *level <= 2);
    next.map_or(lines.len(), |(at, _)| at)
}

/// Returns line and level of each heading outside of blocks and code fences.
fn headings(lines: &[&str]) -> Vec<(usize, usize)> {
    let within = Blocks::parse(lines).mask(lines.len());
    let mut fence: Option<&str> = None;
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let text = without_line_end(line);
        let start = text.trim_start_matches(' ');
        let indent = text.len() - start.len();
        let marks = ["```", "~~~"].into_iter().find(|mark| indent < 4 && start.starts_with(mark));
        match (fence, marks) {
            _ if within[at] => {}
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            (None, None) => {
                let level = start.bytes().take_while(|b| *b == b'#').count();
                if indent < 4 && (1..=6).contains(&level) && start[level..].starts_with([' ', '\t']) {
                    found.push((at, level));
                }
            }
            _ => {}
        }
    }
    found
}
