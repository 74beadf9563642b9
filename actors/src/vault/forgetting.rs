//! Sessions out of every note that tells of them: their own notes and the copies in the archive, the lines that only they
//! supported, whatever led to a note that goes with that, and what waits to be delivered. What people wrote stays.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use baton_events::projection::table::SessionTable;
use baton_events::record::SessionId;
use baton_events::vault::forget::{self, Left};
use baton_events::vault::layout::Place as Lies;
use baton_events::vault::{Day, name, session};

use super::desk::{Desk, Note, Open};
use super::index::stem;
use super::owed::to_remove;
use super::place::{Error, Place, Refused};
use super::register::{Entry, Register};
use crate::settings;

/// How often it is looked for what leads to notes that went: a line leads to an entity, its project's page to that, the page
/// of all to that.
const ROUNDS: u32 = 6;

/// Whether a place is one where notes may be: the one that is set, one where a note was noted, or one that is not empty, for who
/// is killed while he writes has noted nothing yet.
fn counts(register: &Register, current: &settings::Vault, home: &Path) -> bool {
    let is_current = register.path == current.path && register.root == current.root;
    is_current || register.had_notes() || place_of(register, home).is_filled()
}

fn place_of(register: &Register, home: &Path) -> Place {
    let (path, root) = (register.path.clone(), register.root.clone());
    Place::of(&settings::Vault { path, root, ..settings::Vault::default() }, home)
}

/// Sessions that were forgotten and are still in some vault of a home. Blocks for reads.
pub(super) fn owed(desk: &Desk, table: &SessionTable, current: &settings::Vault) -> Vec<SessionId> {
    let (mut registers, _) = Register::all(desk.home());
    registers.retain(|register| counts(register, current, desk.home()));
    let waiting = desk
        .pending
        .sessions()
        .filter(|id| table.get(id).is_some_and(|row| row.state.phase == baton_events::session::Phase::Forgotten));
    let all: BTreeSet<SessionId> =
        registers.iter().flat_map(|register| to_remove(table, register)).chain(waiting.cloned()).collect();
    all.into_iter().collect()
}

/// Takes sessions out of every vault that a home ever wrote to. The error says what is still there; to ask again goes on with
/// it. Blocks for the disk.
pub(super) fn everywhere(
    desk: &mut Desk,
    current: &settings::Vault,
    sessions: &[SessionId],
) -> Result<Vec<String>, String> {
    let (mut problems, mut left) = (Vec::new(), Vec::new());
    let waited: BTreeSet<SessionId> = desk.pending.sessions().cloned().collect();
    for id in sessions {
        if let Err(error) = desk.pending.remove(id) {
            problems.push(format!("what waited in vault-pending of session {id} is still there: {error}"));
        }
    }
    let home = desk.home().to_owned();
    let is_current = |settings: &settings::Vault| settings.path == current.path && settings.root == current.root;
    let (mut registers, unread) = Register::all(&home);
    problems.extend(unread.into_iter().map(|why| format!("notes may still tell of it: {why}")));
    // A place in which no note was ever written is none: somebody has mistyped one.
    let (kept, never): (Vec<Register>, Vec<Register>) =
        registers.into_iter().partition(|register| counts(register, current, &home));
    registers = kept;
    for register in never {
        if let Err(error) = register.remove() {
            tracing::debug!(%error, "the register of a vault without notes stays");
        }
    }
    if current.enabled
        && let Ok((open, _)) = desk.at(current)
        && open.look(false).is_ok()
        && open.index().is_ok()
    {
        registers = without_moved(open, &home, registers);
    }
    let has_current = registers.iter().any(|known| known.path == current.path && known.root == current.root);
    if current.enabled && !has_current {
        match Register::open(&home, current) {
            Ok(register) => registers.push(register),
            Err(error) => problems.push(format!("notes may still tell of it: {}: {error}", super::register::FOLDER)),
        }
    }
    for register in registers {
        let settings = settings::Vault { path: register.path.clone(), root: register.root.clone(), ..current.clone() };
        let known =
            desk.known().is_some_and(|open| open.settings.path == settings.path && open.settings.root == settings.root);
        let removed = if is_current(&settings) || known {
            desk.at(&settings).and_then(|(open, _)| out_of(open, sessions, &waited))
        } else {
            Open::new(settings, &home, register).and_then(|mut open| out_of(&mut open, sessions, &waited))
        };
        match removed {
            Ok(theirs) => left.extend(theirs),
            Err(refused) => {
                let fix = refused.fix.clone();
                problems.push(format!("{refused}, so notes there still tell of it; {fix}, and it is done by itself"));
            }
        }
    }
    if problems.is_empty() { Ok(left) } else { Err(problems.join("; ")) }
}

/// The registers without those of places from which the folder of notes was moved to where the current one is: what was written
/// there lies here now.
fn without_moved(open: &mut Open, home: &Path, registers: Vec<Register>) -> Vec<Register> {
    let Some(id) = open.register.id().map(str::to_owned) else { return registers };
    let is_moved = |register: &Register| {
        let is_other = register.path != open.register.path || register.root != open.register.root;
        is_other && register.id() == Some(id.as_str()) && place_of(register, home).is_gone()
    };
    let (moved, mut rest): (Vec<Register>, Vec<Register>) = registers.into_iter().partition(is_moved);
    for register in moved {
        for (session, entry) in register.entries().filter(|(_, entry)| entry.named().is_some()) {
            if open.register.get(session).is_none() {
                open.register.put(session, Entry { stamp: String::new(), ..entry.clone() });
            }
        }
        match open.register.save() {
            Ok(()) => {
                tracing::info!("a folder of notes was moved, and is known where it is now");
                let _ = register.remove();
            }
            // Until it is remembered here it is remembered there.
            Err(_) => rest.push(register),
        }
    }
    rest
}

/// Takes sessions out of one vault; those that `waited` to be delivered may never have been in it. Which notes keep something
/// that people wrote.
fn out_of(open: &mut Open, sessions: &[SessionId], waited: &BTreeSet<SessionId>) -> Result<Vec<String>, Refused> {
    let (mut known, others): (Vec<SessionId>, Vec<SessionId>) =
        sessions.iter().cloned().partition(|id| open.register.get(id).is_some());
    // Without a register the heads of notes tell, where they can be read.
    if !others.is_empty() {
        match open.look(false) {
            Ok(()) => {
                let index = open.index()?;
                known.extend(others.into_iter().filter(|id| index.note(id).is_some()));
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
    // Until it is done it is owed, whoever is killed.
    for id in &known {
        let entry = open.register.get(id).cloned().unwrap_or_default();
        open.register.put(id, Entry { stamp: String::new(), ..entry });
    }
    open.register.save().map_err(|error| Refused {
        what: format!("what is to be removed cannot be remembered: {error}"),
        fix: "free space on the disk of BATON_HOME".to_owned(),
    })?;
    open.look(false)?;
    // Names as they are now: a person may have changed them.
    open.look_again()?;
    let _turn = open.place.turn()?;
    // What leads to a note that was renamed is Baton's, whoever has changed the links.
    for id in &known {
        if let Note::There(path) = open.note_as_known(id)? {
            open.follow(id, &path)?;
        }
    }
    let (mut targets, mut theirs) = own_notes(open, &known)?;
    let names = targets.clone();
    let mut done = BTreeSet::new();
    for _ in 0..ROUNDS {
        targets.retain(|target, _| !done.contains(target));
        if targets.is_empty() {
            break;
        }
        let gone = lines_to(open, &targets)?;
        done.extend(targets.into_keys());
        targets = gone.into_iter().map(|target| (target, Scope::default())).collect();
    }
    owe_namesakes(open, &names);
    // What a killed daemon was writing may be of them.
    let (_, left) = open.place.whole()?;
    for file in left {
        std::fs::remove_file(&file)
            .map_err(|error| Refused { what: format!("{}: {error}", file.display()), fix: "remove it".to_owned() })?;
    }
    open.forget_names();
    open.place.settle()?;
    open.register.forget(&known).map_err(|error| Refused {
        what: format!("the register of the vault still names them: {error}"),
        fix: "free space on the disk of BATON_HOME".to_owned(),
    })?;
    // What a person has taken over, put together otherwise, or copied or moved in the vault, may still name them.
    let mut all = open.place.whole()?.0;
    // What cannot be read may tell of it too.
    theirs.extend(all.iter().filter(|path| matches!(open.text(path), Err(Error::Left(_)))).cloned());
    all.extend(open.place.outside()?);
    let whole = Scope::default();
    let mut words: Vec<(&str, &Scope)> = names.iter().map(|(name, scope)| (name.as_str(), scope)).collect();
    words.extend(known.iter().map(|id| (id.as_str(), &whole)));
    for path in all {
        let text = text_of(open, &path)?.unwrap_or_default();
        let tells = |(word, scope): &(&str, &Scope)| scope.may_mean(open, &path) && has_name(&text, word);
        if words.iter().any(tells) && !theirs.contains(&path) {
            theirs.push(path);
        }
    }
    tracing::info!(sessions = known.len(), edited = theirs.len(), reason = "forgotten", "notes removed");
    Ok(theirs.into_iter().map(|path| open.place.vault().join(path).display().to_string()).collect())
}

/// Whether a text has a name that is no part of a longer one: another session's may begin with it.
fn has_name(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    text.match_indices(name)
        .any(|(at, _)| !text[..at].ends_with(is_part) && !text[at + name.len()..].starts_with(is_part))
}

/// Where a name means the note of a session that is forgotten: everywhere, unless another session's note is called so too.
#[derive(Clone, Debug, Default)]
struct Scope {
    /// The folders of projects in which it does, below the vault and with a slash; `None`: all.
    folders: Option<BTreeSet<String>>,
}

impl Scope {
    /// Whether it means that note in what lies at a path.
    fn means(&self, path: &str) -> bool {
        let is_in = |folders: &BTreeSet<String>| folders.iter().any(|folder| path.starts_with(folder));
        self.folders.as_ref().is_none_or(is_in)
    }

    /// Whether it may mean it there: what is of no project may be of any.
    fn may_mean(&self, open: &Open, path: &str) -> bool {
        let is_of_a_project = open.layout.place(path).is_some_and(|place| {
            matches!(
                place,
                Lies::Project(_) | Lies::Session(..) | Lies::Entity(..) | Lies::Topic(..) | Lies::Archived(..)
            )
        });
        self.means(path) || !is_of_a_project
    }
}

/// Has sessions brought in once more whose notes are called like one that was forgotten: a line of theirs may have gone with it.
fn owe_namesakes(open: &mut Open, names: &BTreeMap<String, Scope>) {
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
        open.register.put(&id, Entry { stamp: String::new(), ..entry });
    }
}

/// Takes what is Baton's out of the notes that sessions have of their own. What led to these notes, and where it means them; and
/// those of which something stays that a person wrote.
fn own_notes(open: &mut Open, sessions: &[SessionId]) -> Result<(BTreeMap<String, Scope>, Vec<String>), Refused> {
    let (mut targets, mut theirs) = (BTreeSet::new(), Vec::new());
    for id in sessions {
        let note = open.register.get(id).and_then(Entry::named);
        targets.extend(note.and_then(stem).map(str::to_owned));
    }
    let names = targets.clone();
    let layout = open.layout.clone();
    let entries = sessions.iter().filter_map(|id| open.register.get(id));
    let mut prints: BTreeSet<String> = entries.flat_map(|entry| entry.prints.iter().cloned()).collect();
    let is_of_them = |path: &str, text: &str| match session::identity(text) {
        Some(identity) => identity.session_ids.iter().any(|id| sessions.iter().any(|known| known.as_str() == id)),
        // A person has taken its head away: its name tells.
        None => match layout.place(path) {
            Some(Lies::Session(_, name) | Lies::Archived(_, name)) => names.contains(&name),
            _ => false,
        },
    };
    let (notes, _) = open.place.whole()?;
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
    // Names that notes of other sessions have.
    let mut others = BTreeSet::new();
    for path in &notes {
        let Some(text) = text_of(open, path)? else { continue };
        if is_of_them(path, &text) {
            prints.extend(forget::prints(&text));
            folder_of(path, &text);
        } else if session::identity(&text).is_some() {
            others.extend(stem(path).map(str::to_owned));
        }
    }
    // Nobody's by its head: what Baton wrote in it tells.
    let is_headless = |text: &str| session::identity(text).is_none() && !forget::prints(text).is_disjoint(&prints);
    for path in notes {
        let Some(text) = text_of(open, &path)? else { continue };
        if is_of_them(&path, &text) || is_headless(&text) {
            targets.extend(stem(&path).map(str::to_owned));
            // What a person has called a note of their own is its name.
            let is_named =
                is_of_them(&path, &text) || stem(&path).is_some_and(|name| is_dated(name) || names.contains(name));
            if change(open, &path, &|text| forget::own(text))? == Changed::Written {
                theirs.push(if is_named { rename(open, &path)? } else { path });
            }
        }
    }
    let scoped = |name: String| {
        let folders = others.contains(&name).then(|| folders.clone());
        (name, Scope { folders })
    };
    Ok((targets.into_iter().map(scoped).collect(), theirs))
}

/// Takes the lines out that lead to some notes. Which notes have nothing left and are gone, as links name them.
fn lines_to(open: &mut Open, targets: &BTreeMap<String, Scope>) -> Result<BTreeSet<String>, Refused> {
    let mut gone = BTreeSet::new();
    let (notes, _) = open.place.whole()?;
    for path in notes {
        let Some(text) = text_of(open, &path)? else { continue };
        let is_concerned = |(target, scope): &(&String, &Scope)| scope.means(&path) && text.contains(target.as_str());
        let concerned: Vec<&String> = targets.iter().filter(is_concerned).map(|(target, _)| target).collect();
        if concerned.is_empty() {
            continue;
        }
        let changed = change(open, &path, &|text| {
            let mut left = Left::Unchanged;
            for target in &concerned {
                let so_far = match &left {
                    Left::Text(text) => text.clone(),
                    Left::Unchanged => text.to_owned(),
                    Left::Nothing => return Left::Nothing,
                };
                match forget::lines(&so_far, target) {
                    Left::Unchanged => {}
                    changed => left = changed,
                }
            }
            left
        })?;
        if changed == Changed::Gone {
            gone.extend(path.strip_suffix(".md").map(str::to_owned));
        }
    }
    Ok(gone)
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
fn change(open: &mut Open, path: &str, with: &dyn Fn(&str) -> Left) -> Result<Changed, Refused> {
    for _ in 0..super::desk::TRIES {
        let found = match open.place.read(path) {
            Ok(found) => found,
            Err(Error::Vault(refused)) => return Err(refused),
            Err(Error::Left(_)) => return Ok(Changed::No),
            Err(Error::Changed) => continue,
        };
        let Some(text) = &found.text else { return Ok(Changed::No) };
        let (written, changed) = match with(text) {
            Left::Unchanged => return Ok(Changed::No),
            Left::Text(text) => (open.place.write(&found, &text), Changed::Written),
            Left::Nothing => (open.place.remove(&found).map(drop), Changed::Gone),
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
    for _ in 0..super::desk::TRIES {
        match open.text(path) {
            Ok(text) => return Ok(text),
            Err(Error::Vault(refused)) => return Err(refused),
            Err(Error::Left(_)) => return Ok(None),
            Err(Error::Changed) => {}
        }
    }
    Err(Refused { what: format!("{path}: {}", Error::Changed), fix: "close whatever writes it".to_owned() })
}
