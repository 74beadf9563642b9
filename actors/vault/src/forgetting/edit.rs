//! Changes, renames and reads single notes; retries while another program writes them.

use std::collections::BTreeSet;

use baton_notes::forget::Remainder;
use baton_notes::{Day, name};

use crate::index::stem;
use crate::open_vault::{Changed, OpenVault, TRIES};
use crate::vault_fs::{Error, Refused};

/// Changes a note; removes it if nothing is left. An unreadable note counts as unchanged.
pub(super) fn change(open: &mut OpenVault, path: &str, with: &dyn Fn(&str) -> Remainder) -> Result<Changed, Refused> {
    let mut is_read = false;
    let changed = open.edit_or_remove(path, &mut |text| {
        is_read = true;
        text.map_or(Remainder::Unchanged, with)
    });
    match changed {
        Err(Error::Vault(refused)) => Err(refused),
        Err(Error::LeftAlone(_)) if !is_read => Ok(Changed::No),
        Err(Error::LeftAlone(why)) => {
            Err(Refused { what: format!("{path}: {why}"), fix: "make the note writable for you".to_owned() })
        }
        Err(Error::Changed) => Err(is_written(path)),
        Ok(changed) => Ok(changed),
    }
}

/// Another program keeps writing a note.
fn is_written(path: &str) -> Refused {
    Refused { what: format!("{path}: {}", Error::Changed), fix: "close the program that writes it".to_owned() }
}

/// Returns the text of a note; `None` if it is missing or unreadable.
pub(super) fn read_text(open: &OpenVault, path: &str) -> Result<Option<String>, Refused> {
    for _ in 0..TRIES {
        match open.read_text(path) {
            Ok(text) => return Ok(text),
            Err(Error::Vault(refused)) => return Err(refused),
            Err(Error::LeftAlone(_)) => return Ok(None),
            Err(Error::Changed) => {}
        }
    }
    Err(is_written(path))
}

/// True if the name begins with a date, as names of session notes do.
pub(super) fn is_dated(name: &str) -> bool {
    name.get(..10).is_some_and(|day| Day::parse(day).is_some())
}

/// Renames a note of which only a person's text is left, because the old name tells what the session was about. Returns
/// the new path.
pub(super) fn rename(open: &mut OpenVault, path: &str) -> Result<String, Refused> {
    let Some((folder, name)) = path.rsplit_once('/') else { return Ok(path.to_owned()) };
    let day = if is_dated(name) { name.get(..10).unwrap_or_default() } else { "undated" };
    let notes: BTreeSet<String> =
        open.vault_fs.list_all_notes()?.0.iter().filter_map(|path| stem(path)).map(name::key).collect();
    let free = name::free_name(&format!("{day}-forgotten"), |key| notes.contains(key));
    let to = format!("{folder}/{free}.md");
    let Some(text) = read_text(open, path)? else { return Ok(to) };
    match open.vault_fs.move_text(path, &to, &text) {
        Ok(()) => Ok(to),
        Err(Error::Vault(refused)) => Err(refused),
        Err(error) => {
            Err(Refused { what: format!("{path}: {error}"), fix: "close the program that writes it".to_owned() })
        }
    }
}
