//! Reading notes: one for an agent, or all to check them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use baton_notes::layout::NoteRole;
use baton_notes::verify::{Finding, VaultIndex};
use baton_notes::{Layout, forget, session};
use baton_protocol::answer;
use baton_redaction::redact;
use tokio::time::timeout;

use super::status::Progress;
use super::sync_round::unresponsive;
use super::vault_fs::{Refused, VaultFs, of_file};
use super::{LOCK_WAIT, NoteWriter};
use baton_config::settings;

/// Longest text of a note in an answer, in bytes.
const READ_BYTES: usize = 48 * 1024;
/// Most findings in an answer.
const FINDINGS: usize = 200;
/// Number of notes between two updates of the progress.
const STEP: usize = 50;

/// Why a note could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// There is no such note.
    #[error("there is no note {0:?} below {1}; paths are like `projects/web/entities/Cache.md`")]
    Unknown(String, String),
    /// The path is outside the folder of notes.
    #[error("{0}: only notes below {1} are read")]
    Outside(String, String),
    /// The file is unreadable.
    #[error("{0}")]
    Unreadable(String),
    /// The vault is unreachable.
    #[error("{what}; {fix}")]
    Refused {
        /// The problem.
        what: String,
        /// The remedy.
        fix: String,
    },
}

impl From<Refused> for ReadError {
    fn from(Refused { what, fix }: Refused) -> Self {
        Self::Refused { what, fix }
    }
}

impl NoteWriter {
    /// Reads one note, given by its path relative to the vault or to the folder of notes.
    pub async fn read(&self, path: &str) -> Result<answer::VaultRead, ReadError> {
        let options = &self.options;
        let (settings, home, path) = (options.settings.now(), options.home.clone(), path.to_owned());
        let permit = timeout(LOCK_WAIT, self.readers.clone().acquire_owned()).await.map_err(|_| unresponsive())?;
        let reading = baton_base::task::spawn_blocking(move || {
            let _permit = permit;
            read_note(&open_fs(&settings.vault, &home)?, &path)
        });
        let read = timeout(LOCK_WAIT, reading).await.map_err(|_| unresponsive())?;
        read.map_err(|_| ReadError::Unreadable("reading the note panicked; see `daemon.log`".to_owned()))?
    }

    /// Reads and checks every note.
    pub async fn verify(&self, progress: Arc<Progress>) -> Result<answer::VaultVerify, ReadError> {
        let options = &self.options;
        let (settings, home) = (options.settings.now(), options.home.clone());
        // Lock the vault: between writing two notes of a session, links lead nowhere yet.
        let mut vaults = self.lock_vaults().await?;
        let reading = baton_base::task::spawn_blocking(move || {
            let vault_fs = open_fs(&settings.vault, &home)?;
            // Unreadable heads are reported by `status` from then on.
            let mut open = if settings.vault.enabled { vaults.open(&settings.vault).ok() } else { None };
            let result = check_all(&vault_fs, &progress, &mut |path, text| {
                if let Some((open, _)) = &mut open {
                    open.record_head(path, text);
                }
            });
            Ok::<_, ReadError>(result?)
        });
        reading.await.map_err(|_| ReadError::Unreadable("reading notes panicked; see `daemon.log`".to_owned()))?
    }
}

/// Opens the vault without creating it.
fn open_fs(settings: &settings::Vault, home: &Path) -> Result<VaultFs, ReadError> {
    let mut vault_fs = VaultFs::from_settings(settings, home);
    if !vault_fs.vault().is_dir() {
        let what = format!("{} is not there", vault_fs.vault().display());
        return Err(ReadError::Refused { what, fix: "see `baton vault status`".to_owned() });
    }
    vault_fs.check(false)?;
    Ok(vault_fs)
}

fn read_note(vault_fs: &VaultFs, path: &str) -> Result<answer::VaultRead, ReadError> {
    let root = vault_fs.root();
    let given = path.trim().trim_start_matches("./").replace('\\', "/");
    let is_below = given.strip_prefix(root).is_some_and(|rest| rest.starts_with('/'));
    let mut path = if is_below { given } else { format!("{root}/{given}") };
    if !path.to_lowercase().ends_with(".md") {
        path.push_str(".md");
    }
    let outside = || ReadError::Outside(path.clone(), root.to_owned());
    let found = of_file(vault_fs.read(&path))?.map_err(|why| ReadError::Unreadable(format!("{path}: {why}")))?;
    if !vault_fs.is_note(&found) {
        return Err(outside());
    }
    let Some(text) = found.text else { return Err(ReadError::Unknown(path, root.to_owned())) };
    let bytes = text.len() as u64;
    let text = forget::without_traces(&text);
    let text = redact(&text);
    let mut end = text.len().min(READ_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    Ok(answer::VaultRead { path, text: text[..end].to_owned(), bytes, cut: end < text.len() })
}

fn check_all(
    vault_fs: &VaultFs,
    progress: &Progress,
    seen: &mut dyn FnMut(&str, &str),
) -> Result<answer::VaultVerify, Refused> {
    let begun = Instant::now();
    let (paths, left) = vault_fs.list_notes()?;
    progress.begin(paths.len());
    let known = VaultIndex::new(paths.iter().map(String::as_str), vault_fs.root());
    let mut findings: Vec<Finding> = known.findings().to_vec();
    let mut result = answer::VaultVerify { notes: paths.len() as u64, ..answer::VaultVerify::default() };
    let layout = Layout::below(vault_fs.root());
    let is_copy = |path: &str| {
        let place = layout.as_ref().and_then(|layout| layout.role(path));
        matches!(place, Some(NoteRole::Archived(..)))
    };
    let mut sessions: BTreeMap<String, String> = BTreeMap::new();
    for group in paths.chunks(STEP) {
        for path in group {
            match of_file(vault_fs.read(path))? {
                Ok(found) => {
                    let text = found.text.unwrap_or_default();
                    result.bytes += text.len() as u64;
                    seen(path, &text);
                    let identity = session::identity(&text).filter(|_| !is_copy(path));
                    for id in identity.into_iter().flat_map(|identity| identity.own) {
                        if let Some(other) = sessions.insert(id, path.clone()) {
                            let what = format!("it is of the same session as {other:?}");
                            findings.push(Finding { path: path.clone(), line: 0, what });
                        }
                    }
                    findings.extend(known.check(path, &text));
                }
                Err(what) => findings.push(Finding { path: path.clone(), line: 0, what }),
            }
        }
        progress.step(group.len());
    }
    findings.extend(left.iter().map(|file| Finding {
        path: file.display().to_string(),
        line: 0,
        what: "left behind by a killed daemon; the next one removes it".to_owned(),
    }));
    result.found = findings.len() as u64;
    result.clean = findings.is_empty();
    let shown = findings.into_iter().take(FINDINGS).map(|finding| answer::VaultFinding {
        file: redact(&finding.path).into_owned(),
        line: finding.line as u64,
        what: redact(&finding.what).into_owned(),
        fix: match &finding.what {
            what if what.contains("leads nowhere") => {
                "`baton vault sync` writes removed notes again; otherwise remove the link"
            }
            what if what.contains("of the same session") => {
                "only one of the two is kept up to date: remove the other, or the session_ids from its head"
            }
            what if what.contains("may mean") => "rename one of the notes with that name",
            _ => "fix it there; Baton changes nothing that a person may have written",
        }
        .to_owned(),
    });
    result.findings = shown.collect();
    result.seconds = (begun.elapsed().as_secs_f64() * 1e3).round() / 1e3;
    Ok(result)
}
