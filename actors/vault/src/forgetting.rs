//! Sessions out of every note that tells of them: their own notes and the copies in the archive, the lines that only they
//! supported, whatever led to a note that goes with that, and what waits to be delivered. What people wrote stays.

mod leading;
mod leftovers;
mod scan;
mod stray;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use baton_conversation::record::SessionId;
use baton_events::projection::table::SessionTable;
use baton_notes::forget;
use baton_notes::forget::Remainder;
use baton_notes::layout::Place as Lies;
use baton_notes::{Day, name, session};

use super::index::stem;
use super::open_vault::{Desk, Note, Open};
use super::owed::to_remove;
use super::place::{Error, Place, Refused};
use super::register::{Entry, Register, name_print};
use super::relocated::{self, Places};
use baton_config::settings;
use leftovers::Sought;
use scan::{Scan, Words};

/// What is still to be taken out of notes.
pub(super) struct Owed {
    /// Sessions that were forgotten and are in some vault that is known.
    pub(super) sessions: Vec<SessionId>,
    /// Folders of notes that are elsewhere now, as far as is known, and have such sessions should they come back.
    pub(super) away: Vec<PathBuf>,
}

/// What is owed in all vaults of a home. Blocks for reads.
pub(super) fn owed(desk: &Desk, table: &SessionTable, current: &settings::Vault) -> Owed {
    let places = Places::of(desk.home(), current);
    let waiting = desk
        .pending
        .sessions()
        .filter(|id| table.get(id).is_some_and(|row| row.state.phase == baton_events::session::Phase::Forgotten));
    let of = |register: &Register, is_owed: &dyn Fn(&Entry) -> bool| {
        let mut sessions = to_remove(table, register);
        sessions.retain(|id| register.get(id).is_some_and(is_owed));
        sessions
    };
    // For a folder that is gone they are remembered, unless it is somewhere else now.
    let ids = places.ids(desk.home(), current);
    let is_found = |entry: &Entry| ids.iter().any(|id| entry.is_lost_from(id));
    let there = places.there.iter().flat_map(|register| {
        let place = relocated::place_of(register, desk.home());
        let (is_gone, id) = (place.is_gone(), place.known_id());
        let is_back = |entry: &Entry| !is_gone && entry.is_for(id.as_deref());
        of(register, &|entry| !entry.is_sealed() || is_back(entry) || is_found(entry))
    });
    let moved = places.moved.iter().flat_map(|register| of(register, &|entry| !entry.is_sealed() || is_found(entry)));
    let all: BTreeSet<SessionId> = there.chain(moved).chain(waiting.cloned()).collect();
    Owed { sessions: all.into_iter().collect(), away: places.awaited(desk.home()) }
}

/// Takes sessions out of every vault that a home ever wrote to. The error says what is still there; to ask again goes on with
/// it. `away`: see [`Owed`]. Blocks for the disk.
pub(super) fn everywhere(
    desk: &mut Desk,
    current: &settings::Vault,
    table: &SessionTable,
    sessions: &[SessionId],
    away: &mut Vec<PathBuf>,
) -> Result<Vec<String>, String> {
    let days = stray::days(table, sessions);
    let (mut problems, mut left) = (Vec::new(), Vec::new());
    let waited: BTreeSet<SessionId> = desk.pending.sessions().cloned().collect();
    let mut names = desk.pending.names(sessions);
    for id in sessions {
        if let Err(error) = desk.pending.remove(id) {
            problems.push(format!("what waited in vault-pending of session {id} is still there: {error}"));
        }
    }
    let home = desk.home().to_owned();
    let mut places = Places::of(&home, current);
    // What waits of others may name it, and is made anew.
    let registers = || places.there.iter().chain(&places.moved);
    let entries = sessions.iter().flat_map(|id| registers().filter_map(move |register| register.get(id)));
    names.extend(entries.filter_map(Entry::named).filter_map(stem).map(str::to_owned));
    let words = Words::of(names.iter().map(String::as_str).chain(sessions.iter().map(|id| id.as_str())));
    let tags: Vec<String> = names.iter().map(|name| forget::tag(name)).collect();
    let names_it = |text: &str| {
        let remembered = forget::remembered(text);
        words.are_in(text) || tags.iter().any(|tag| remembered.contains(tag))
    };
    if let Err(error) = desk.pending.remove_naming(&names_it) {
        problems.push(format!("what waits in vault-pending may still name it: {error}"));
    }
    problems.extend(places.unread.drain(..).map(|why| format!("notes may still tell of it: {why}")));
    for register in places.never.drain(..) {
        if let Err(error) = register.remove() {
            tracing::debug!(%error, "the register of a vault without notes stays");
        }
    }
    // Also where notes are off, a folder that was moved to where it is set to be is there.
    let id = Place::of(current, &home).known_id();
    let elsewhere = places.elsewhere(sessions);
    let is_moved_here = id.is_some()
        && (places.moved.iter().any(|register| register.id() == id.as_deref())
            || elsewhere.iter().any(|(folder, ..)| Some(folder) == id.as_ref()));
    if (current.enabled || is_moved_here) && !places.there.iter().any(|known| relocated::is_of(known, current)) {
        match Register::open(&home, current) {
            Ok(register) => places.there.push(register),
            Err(error) => problems.push(format!("notes may still tell of it: {}: {error}", super::register::FOLDER)),
        }
    }
    let (mut undone, mut done, mut awaited) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
    for register in std::mem::take(&mut places.there) {
        let settings = settings::Vault { path: register.path.clone(), root: register.root.clone(), ..current.clone() };
        let is_current = relocated::is_of(&register, current);
        let known = desk.known().is_some_and(|open| relocated::is_of(&open.register, &settings));
        let (place, file) = (relocated::place_of(&register, &home), register.file().to_owned());
        let mut out = |open: &mut Open| {
            let id = open.place.known_id();
            for (_, session, entry) in elsewhere.iter().filter(|(folder, ..)| Some(folder) == id.as_ref()) {
                if open.register.get(session).is_none() {
                    open.register.put(session, entry.clone());
                }
            }
            let left = out_of(open, sessions, &waited, &days);
            if open.register.has_sealed() && open.place.is_gone() {
                awaited.push(open.place.notes());
            }
            left
        };
        let removed = if is_current || known {
            desk.at(&settings).and_then(|(open, _)| out(open))
        } else {
            Open::new(settings, &home, register).and_then(|mut open| out(&mut open))
        };
        match removed {
            Ok(theirs) => {
                done.extend(place.known_id());
                left.extend(theirs);
            }
            Err(refused) => {
                undone.extend(place.known_id());
                let fix = refused.fix.clone();
                let gone = match !is_current && place.is_gone() {
                    true => format!("; if that folder is gone for good, remove {}", file.display()),
                    false => String::new(),
                };
                problems
                    .push(format!("{refused}, so notes there still tell of it; {fix}, and it is done by itself{gone}"));
            }
        }
    }
    for register in places.moved.iter_mut().filter(|register| register.id().is_none_or(|id| !undone.contains(id))) {
        if let Err(error) = register.seal(sessions, false) {
            problems.push(format!("{} still names it: {error}", register.file().display()));
        }
    }
    done.retain(|id| elsewhere.iter().any(|(folder, ..)| folder == id));
    for id in done.difference(&undone) {
        for mut register in Register::all(&home).0 {
            let settings =
                settings::Vault { path: register.path.clone(), root: register.root.clone(), ..current.clone() };
            let found = match desk.known().filter(|open| relocated::is_of(&open.register, &settings)) {
                Some(open) => open.register.found(sessions, id),
                None => register.found(sessions, id),
            };
            if let Err(error) = found {
                problems.push(format!("{} still names it: {error}", register.file().display()));
            }
        }
    }
    *away = places.awaited(&home).into_iter().chain(awaited).collect();
    if problems.is_empty() { Ok(left) } else { Err(problems.join("; ")) }
}

/// Takes sessions out of one vault; those that `waited` to be delivered may never have been in it. `days`: when they began.
/// Which notes keep something that people wrote.
fn out_of(
    open: &mut Open,
    sessions: &[SessionId],
    waited: &BTreeSet<SessionId>,
    days: &BTreeMap<SessionId, Day>,
) -> Result<Vec<String>, Refused> {
    // What is remembered for a folder of notes that was here is not looked for in another one.
    let id = open.place.known_id();
    let is_for = |session: &&SessionId| open.register.get(session).is_none_or(|entry| entry.is_for(id.as_deref()));
    let (mut known, others): (Vec<SessionId>, Vec<SessionId>) =
        sessions.iter().filter(is_for).cloned().partition(|id| open.register.get(id).is_some());
    let mut scan = None;
    // Without a register the heads of notes tell, where they can be read.
    if !others.is_empty() {
        match open.look(false) {
            Ok(()) => {
                if open.known_names().is_none() {
                    let mut found = sought(open, sessions, &BTreeSet::new());
                    open.index_seeing(&mut |path, seen| found.take(path, seen))?;
                    scan = Some(found);
                }
                let found = match scan.take() {
                    Some(found) => found,
                    None => gone_through(open, sessions, &BTreeSet::new())?,
                };
                // Without a note, too: lines may lead to one that a person has removed.
                let has_strays = |id: &SessionId| days.get(id).is_some_and(|day| stray::has_any(open, &found, *day));
                let is_told =
                    |id: &SessionId| open.known_names().is_some_and(|index| index.note(id).is_some()) || has_strays(id);
                known.extend(others.into_iter().filter(is_told));
                scan = Some(found);
            }
            // Nobody can tell.
            Err(_) if !open.register.has_notes() => {
                known.extend(others.into_iter().filter(|id| !waited.contains(id)));
            }
            Err(_) => {}
        }
    }
    if known.is_empty() {
        return Ok(Vec::new());
    }
    // Until it is done it is owed, whoever is killed; and nobody else's note gets a line of it.
    for id in &known {
        let entry = open.register.get(id).cloned().unwrap_or_default();
        open.register.put(id, Entry { stamp: String::new(), without_note: BTreeMap::new(), ..entry });
    }
    open.register.save().map_err(|error| Refused {
        what: format!("what is to be removed cannot be remembered: {error}"),
        fix: "free space on the disk of BATON_HOME".to_owned(),
    })?;
    if open.place.is_gone() && open.place.is_there() {
        // Somebody has taken all notes away from a vault that is there.
        return leftovers::nothing_left(open, &known);
    }
    open.look(false)?;
    // Names as they are now: a person may have changed them.
    let mut scan = match scan {
        Some(scan) => scan,
        None => gone_through(open, &known, &BTreeSet::new())?,
    };
    let _turn = open.place.turn()?;
    // What a killed daemon was writing may be of them. And nothing is said of what nobody may look into.
    let (_, left) = open.place.whole()?;
    // What leads to a note that was renamed is Baton's, whoever has changed the links.
    let mut has_followed = false;
    for id in &known {
        if let Note::There(path) = open.note_as_known(id)? {
            has_followed |= open.follow(id, &path)?;
        }
    }
    has_followed |= open.follow_entities()?;
    if has_followed {
        scan = gone_through(open, &known, &BTreeSet::new())?;
    }
    let (mut names, own) = own_notes(open, &known, &mut scan)?;
    let ids: Vec<&str> = known.iter().map(SessionId::as_str).collect();
    for path in scan.mentions.iter().filter(|path| !own.contains_key(*path)) {
        change(open, path, &|text| forget::forget_continued(text, &ids))?;
    }
    // A person may have renamed or removed a note that no register knows: what was called so is known by its day alone.
    for day in known.iter().filter_map(|id| days.get(id)).collect::<BTreeSet<_>>() {
        names.extend(stray::names(open, &scan, *day).map(|name| (name, Scope::default())));
    }
    leading::out(open, &names, &scan, &own)?;
    // Last, for they say what else is to be removed: whoever goes on after a kill finds that by them.
    let mut theirs = take_out(open, own)?;
    owe_namesakes(open, &names)?;
    for file in left {
        std::fs::remove_file(&file)
            .map_err(|error| Refused { what: format!("{}: {error}", file.display()), fix: "remove it".to_owned() })?;
    }
    leftovers::links_to_nothing(open, &names)?;
    open.forget_names();
    open.place.settle()?;
    open.register.forget(&known).map_err(|error| leftovers::not_forgotten(&error))?;
    // What a person has taken over, put together otherwise, or copied or moved in the vault, may still name them.
    let mut all: BTreeSet<String> = match names.keys().all(|name| scan.covers(name)) {
        true => scan.mentions.union(&scan.leading_to(names.keys())).cloned().collect(),
        false => open.place.whole()?.0.into_iter().collect(),
    };
    // What cannot be read may tell of it too.
    theirs.extend(scan.unread.iter().cloned());
    let outside = open.place.outside()?;
    theirs.extend(leftovers::untold(open, &outside, &|name| names.contains_key(name)));
    all.extend(outside.texts);
    let sought = Sought::of(&names, &known);
    theirs.extend(leftovers::telling(open, all, &|path, text| sought.is_in(open, path, text))?);
    tracing::info!(sessions = known.len(), edited = theirs.len(), reason = "forgotten", "notes removed");
    Ok(leftovers::shown(open, theirs))
}

/// What is looked for in notes of some sessions, and of the hashes of more that Baton wrote in them.
fn sought(open: &Open, sessions: &[SessionId], prints: &BTreeSet<String>) -> Scan {
    let entries = || sessions.iter().filter_map(|id| open.register.get(id));
    let names = entries().filter_map(|entry| entry.named().and_then(stem));
    let known = entries().flat_map(|entry| &entry.prints).chain(prints).map(String::as_str);
    let words = Words::of(sessions.iter().map(|id| id.as_str()).chain(names).chain(known));
    Scan::of(words, entries().filter_map(|entry| entry.called.clone()).collect())
}

/// The vault gone through for some sessions.
fn gone_through(open: &mut Open, sessions: &[SessionId], prints: &BTreeSet<String>) -> Result<Scan, Refused> {
    let mut scan = sought(open, sessions, prints);
    open.look_again_seeing(&mut |path, seen| scan.take(path, seen))?;
    Ok(scan)
}

/// Whether a letter is part of a name.
fn is_part(c: char) -> bool {
    c.is_alphanumeric() || c == '-' || c == '_'
}

/// Where a name means the note of a session that is forgotten: everywhere, unless another session's note is called so too.
#[derive(Clone, Debug, Default)]
struct Scope {
    /// The folders of projects in which it does, below the vault and with a slash; `None`: all.
    folders: Option<BTreeSet<String>>,
    /// Whether it does in what is of no project, too: the others are brought in once more, and put back what is theirs.
    is_put_back: bool,
}

impl Scope {
    /// Whether it means that note in what lies at a path.
    fn means(&self, path: &str, open: &Open) -> bool {
        let is_in = |folders: &BTreeSet<String>| folders.iter().any(|folder| path.starts_with(folder));
        let is_of_all = || matches!(open.layout.place(path), Some(Lies::Start | Lies::Preferences | Lies::Shared(_)));
        self.folders.as_ref().is_none_or(is_in) || (self.is_put_back && is_of_all())
    }

    /// Whether it may mean it there: what is of no project may be of any.
    fn may_mean(&self, open: &Open, path: &str) -> bool {
        let is_of_a_project = open.layout.place(path).is_some_and(|place| {
            matches!(
                place,
                Lies::Project(_) | Lies::Session(..) | Lies::Entity(..) | Lies::Topic(..) | Lies::Archived(..)
            )
        });
        self.means(path, open) || !is_of_a_project
    }
}

/// Names of notes that go, each with where it means such a note.
type Names = BTreeMap<String, Scope>;

/// Whether lines name a session so.
fn is_called_so(entry: &Entry, name: &str) -> bool {
    entry.named().and_then(stem) == Some(name)
}

/// Has sessions brought in once more whose notes are called like one that was forgotten: a line of theirs may have gone with it.
fn owe_namesakes(open: &mut Open, names: &Names) -> Result<(), Refused> {
    let is_namesake = |entry: &Entry| {
        let name = entry.named().and_then(stem);
        name.and_then(|name| names.get(name)).is_some_and(|scope| scope.folders.is_some())
    };
    let namesakes: Vec<(SessionId, Entry)> = open
        .register
        .entries()
        .filter(|(_, entry)| is_namesake(entry))
        .map(|(id, entry)| (id.clone(), entry.clone()))
        .collect();
    for (id, entry) in namesakes {
        // What a person has deleted is not written again because of another one.
        if !matches!(open.note_as_known(&id)?, Note::There(_)) {
            continue;
        }
        open.register.put(&id, Entry { stamp: String::new(), lacks: true, ..entry });
    }
    Ok(())
}

/// A note that a session has of its own.
struct Own {
    /// Whether what is left of it gets another name: unless that is what a person has called a note of their own.
    is_renamed: bool,
    /// Whether it also does where nothing in it is Baton's any more but its name: somebody was killed before he changed that, or
    /// a person has written it all anew.
    is_left: bool,
}

/// The notes that sessions have of their own, by their paths; and what leads to these, and where it means them.
fn own_notes(
    open: &mut Open,
    sessions: &[SessionId],
    scan: &mut Scan,
) -> Result<(Names, BTreeMap<String, Own>), Refused> {
    let (mut targets, mut own) = (BTreeSet::new(), BTreeMap::new());
    for id in sessions {
        let note = open.register.get(id).and_then(Entry::named);
        targets.extend(note.and_then(stem).map(str::to_owned));
    }
    targets.extend(scan.names.iter().cloned());
    let names = targets.clone();
    let layout = open.layout.clone();
    let entries = sessions.iter().filter_map(|id| open.register.get(id));
    let mut prints: BTreeSet<String> = entries.flat_map(|entry| entry.prints.iter().cloned()).collect();
    let is_called = |path: &str| match layout.place(path) {
        Some(Lies::Session(_, name) | Lies::Archived(_, name)) => names.contains(&name),
        _ => false,
    };
    let is_one = |id: &str| sessions.iter().any(|known| known.as_str() == id);
    let entries = sessions.iter().filter_map(|id| open.register.get(id));
    let of_them: BTreeSet<String> = entries.filter_map(|entry| entry.note.clone()).collect();
    let is_of_them = |path: &str, text: &str| match session::identity(text) {
        Some(identity) if identity.is_sure => identity.own.iter().any(|id| is_one(id)),
        // Whose head was changed, that is the note of the session that it is known for; and nobody's of which another one named
        // there may be.
        Some(identity) if of_them.contains(path) => identity.session_ids.iter().any(|id| is_one(id)),
        Some(identity) if is_called(path) => identity.own.iter().any(|id| is_one(id)),
        Some(identity) => identity.session_ids.iter().all(|id| is_one(id)),
        // A person has taken its head away: its name tells.
        None => is_called(path),
    };
    let candidates = |scan: &Scan| -> Vec<String> {
        let may_be = |path: &&String| scan.mentions.contains(*path) || is_called(path);
        scan.paths.iter().filter(may_be).cloned().collect()
    };
    let mut folders: BTreeSet<String> = BTreeSet::new();
    let mut folder_of = |path: &str, text: &str| {
        let named = session::identity(text).map(|identity| identity.project).filter(|project| !project.is_empty());
        let lies = match layout.place(path) {
            Some(Lies::Session(project, _) | Lies::Archived(project, _)) => Some(project),
            _ => None,
        };
        folders.extend(named.into_iter().chain(lies).map(|project| format!("{}/", layout.project(&project))));
    };
    for path in sessions.iter().filter_map(|id| open.register.get(id)).filter_map(Entry::named) {
        folder_of(path, "");
    }
    let mut notes = candidates(scan);
    for path in &notes {
        if let Some(text) = text_of(open, path)?.filter(|text| is_of_them(path, text)) {
            prints.extend(forget::prints(&text));
            folder_of(path, &text);
        }
    }
    // What nobody has noted was not looked for.
    if !prints.iter().all(|print| scan.covers(print)) {
        *scan = gone_through(open, sessions, &prints)?;
        notes = candidates(scan);
    }
    let is_in = |path: &str| folders.iter().any(|folder| path.starts_with(folder));
    // Nobody's by its head: what Baton wrote in it tells.
    let is_headless = |text: &str| session::identity(text).is_none() && !forget::prints(text).is_disjoint(&prints);
    for path in notes {
        let Some(text) = text_of(open, &path)? else { continue };
        if is_of_them(&path, &text) || is_headless(&text) {
            targets.extend(stem(&path).map(str::to_owned));
            let is_called_so = stem(&path).is_some_and(|name| names.contains(name));
            let is_renamed = is_of_them(&path, &text) || is_called_so || stem(&path).is_some_and(is_dated);
            own.insert(path.clone(), Own { is_renamed, is_left: is_in(&path) && is_called_so });
        }
    }
    // Names that notes of other sessions have; and whether all of these are known here.
    let mut others: BTreeMap<String, bool> = BTreeMap::new();
    for path in &scan.paths {
        let Some(name) = stem(path).filter(|name| targets.contains(*name)) else { continue };
        let Some(text) = text_of(open, path)?.filter(|text| !is_of_them(path, text)) else { continue };
        let Some(identity) = session::identity(&text) else { continue };
        let ids = identity.own.iter().filter_map(|id| SessionId::new(id));
        let is_known = ids.filter_map(|id| open.register.get(&id)).any(|entry| is_called_so(entry, name));
        *others.entry(name.to_owned()).or_insert(true) &= is_known;
    }
    let scoped = |name: String| {
        let other = others.get(&name);
        let scope = Scope { folders: other.map(|_| folders.clone()), is_put_back: other.is_some_and(|known| *known) };
        (name, scope)
    };
    Ok((targets.into_iter().map(scoped).collect(), own))
}

/// Takes what is Baton's out of the notes that sessions have of their own. Those of which something stays that a person wrote.
fn take_out(open: &mut Open, own: BTreeMap<String, Own>) -> Result<BTreeSet<String>, Refused> {
    open.place.settle()?;
    let mut theirs = BTreeSet::new();
    for (path, Own { is_renamed, is_left }) in own {
        let is_named_anew = match change(open, &path, &|text| forget::forget_own_note(text))? {
            Changed::Written => is_renamed,
            Changed::No if is_left => true,
            Changed::No | Changed::Gone => continue,
        };
        theirs.insert(if is_named_anew { rename(open, &path)? } else { path });
    }
    Ok(theirs)
}

/// What became of a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Changed {
    No,
    Written,
    Gone,
}

/// Whether a name begins with a day, as those of sessions do.
fn is_dated(name: &str) -> bool {
    name.get(..10).is_some_and(|day| Day::parse(day).is_some())
}

/// Gives what a person wrote in a note another name: the one that it has was made of what the session was about. Where it is.
fn rename(open: &mut Open, path: &str) -> Result<String, Refused> {
    let Some((folder, name)) = path.rsplit_once('/') else { return Ok(path.to_owned()) };
    let day = if is_dated(name) { name.get(..10).unwrap_or_default() } else { "undated" };
    let notes: BTreeSet<String> = open.place.whole()?.0.iter().filter_map(|path| stem(path)).map(name::key).collect();
    let free = name::free(&format!("{day}-forgotten"), |key| notes.contains(key));
    let to = format!("{folder}/{free}.md");
    let Some(text) = text_of(open, path)? else { return Ok(to) };
    let write = || -> Result<(), Error> {
        open.place.write(&open.place.read(&to)?, &text)?;
        // A power cut between the two must not take what a person wrote.
        open.place.settle()?;
        let old = open.place.read(path)?;
        let removed = match old.text.as_deref() == Some(text.as_str()) {
            true => open.place.remove(&old).map(drop),
            false => Err(Error::Changed),
        };
        // Somebody has saved it meanwhile: asked again, it goes on with what is there by then.
        if let Err(Error::Changed) = removed {
            open.place.remove(&open.place.read(&to)?)?;
        }
        removed
    };
    match write() {
        Ok(()) => Ok(to),
        Err(Error::Vault(refused)) => Err(refused),
        Err(error) => Err(Refused { what: format!("{path}: {error}"), fix: "close whatever writes it".to_owned() }),
    }
}

/// Changes a note, or removes it where nothing is left.
fn change(open: &mut Open, path: &str, with: &dyn Fn(&str) -> Remainder) -> Result<Changed, Refused> {
    for _ in 0..super::open_vault::TRIES {
        let found = match open.place.read(path) {
            Ok(found) => found,
            Err(Error::Vault(refused)) => return Err(refused),
            Err(Error::Left(_)) => return Ok(Changed::No),
            Err(Error::Changed) => continue,
        };
        let Some(text) = &found.text else { return Ok(Changed::No) };
        let (written, changed) = match with(text) {
            Remainder::Unchanged => return Ok(Changed::No),
            Remainder::Text(text) => (open.place.write(&found, &text).map(drop), Changed::Written),
            Remainder::Nothing => (open.place.remove(&found).map(drop), Changed::Gone),
        };
        match written {
            Ok(()) => return Ok(changed),
            Err(Error::Changed) => {}
            Err(Error::Vault(refused)) => return Err(refused),
            Err(Error::Left(why)) => {
                let what = format!("{path}: {why}");
                return Err(Refused { what, fix: "make the note yours to write".to_owned() });
            }
        }
    }
    Err(Refused { what: format!("{path}: {}", Error::Changed), fix: "close whatever writes it".to_owned() })
}

/// What a note says; `None` for what is none, or cannot be read.
fn text_of(open: &Open, path: &str) -> Result<Option<String>, Refused> {
    for _ in 0..super::open_vault::TRIES {
        match open.text(path) {
            Ok(text) => return Ok(text),
            Err(Error::Vault(refused)) => return Err(refused),
            Err(Error::Left(_)) => return Ok(None),
            Err(Error::Changed) => {}
        }
    }
    Err(Refused { what: format!("{path}: {}", Error::Changed), fix: "close whatever writes it".to_owned() })
}
