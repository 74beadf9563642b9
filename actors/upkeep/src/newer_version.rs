//! Checks for a newer version of the program. Nothing checks by itself unless `update.check` is on, and nothing is
//! downloaded or changed: a person updates in the way that they installed the program.
//!
//! The announcement is a small file, signed with minisign: `{"version":"1.2.0","notes":"https://…"}`. It is refused if
//! it is unsigned, signed by another key, or signed as another file. A replayed old announcement can only name an older
//! version, which has no effect.

use std::cmp::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use baton_config::endpoint::BaseUrl;
use baton_config::settings::{SettingsReader, Update as Settings};
use baton_protocol::answer;
use minisign_verify::{PublicKey, Signature};
use semver::Version;
use serde::Deserialize;
use tokio::sync::watch;
use tokio::time::Instant;

use baton_model::{Failure, fetch};

/// The address of announcements unless `update.url` is set: fixed when a release is built.
const URL: Option<&str> = option_env!("BATON_UPDATE_URL");
/// The key that signs them, unless `update.key` is set.
const KEY: Option<&str> = option_env!("BATON_UPDATE_KEY");
/// Appended to the address for the signature.
const SIGNATURE: &str = ".minisig";
/// Name of the signed file: it begins the signature's comment, so that no other signed file can replace it.
const FILE: &str = "latest.json";
/// Largest announcement.
const BYTES_MAX: usize = 16 * 1024;
/// Largest signature.
const SIGNATURE_BYTES_MAX: usize = 4 * 1024;
/// Deadline for each of the two.
const DEADLINE: Duration = Duration::from_secs(20);
/// Interval of the daemon's checks.
const DAY: Duration = Duration::from_secs(24 * 3600);
/// Longest address of notes.
const NOTES_MAX_BYTES: usize = 300;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Neither configuration nor build names an address.
    #[error("this build knows no address to ask for newer versions: set update.url in the configuration")]
    NoAddress,
    /// Neither configuration nor build names a key.
    #[error("this build knows no key to check the answer with: set update.key in the configuration")]
    NoKey,
    /// The key is not one of minisign.
    #[error("update.key is not a minisign public key: {0}")]
    WrongKey(minisign_verify::Error),
    /// It could not be fetched.
    #[error("{address} could not be asked: {failure}")]
    Unreachable {
        /// The address.
        address: String,
        /// The reason.
        failure: Failure,
    },
    /// The signature does not match.
    #[error("the answer of {address} is not believed, because its signature is not right: {why}")]
    BadSignature {
        /// The address.
        address: String,
        /// What is wrong.
        why: String,
    },
    /// It is signed, but not an announcement.
    #[error("the answer of {address} is not understood: {why}")]
    NotUnderstood {
        /// The address.
        address: String,
        /// What is wrong.
        why: String,
    },
}

#[derive(Deserialize)]
struct Announcement {
    version: Version,
    notes: Option<String>,
}

/// Asks once a day while `update.check` is on.
pub struct DailyCheck {
    settings: SettingsReader,
    newer: Mutex<Option<answer::Update>>,
}

impl DailyCheck {
    /// Has not asked yet.
    pub fn new(settings: SettingsReader) -> Self {
        Self { settings, newer: Mutex::default() }
    }

    /// The newer version that was found, if there is one.
    pub fn newer_version(&self) -> Option<answer::Update> {
        self.newer.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Checks at once and then daily, while `update.check` is on. Ends with the daemon.
    pub async fn run(self: Arc<Self>, mut stop: watch::Receiver<bool>) {
        tokio::select! {
            _ = stop.wait_for(|stop| *stop) => {}
            () = self.work() => {}
        }
    }

    async fn work(&self) {
        let mut settings = self.settings.clone();
        loop {
            let update = settings.newest().update.clone();
            let newer = match update.check {
                true => check_version(&update, env!("CARGO_PKG_VERSION")).await,
                false => Ok(answer::Update::default()),
            };
            match newer {
                Ok(found) => {
                    let newer = Some(found).filter(|found| found.newer);
                    *self.newer.lock().unwrap_or_else(PoisonError::into_inner) = newer;
                }
                // A version found earlier stays available.
                Err(error) => tracing::info!(%error, "newest version not known"),
            }
            let is_other = |now: &Arc<baton_config::settings::Settings>| now.update != update;
            let asked = Instant::now();
            tokio::select! {
                changed = settings.wait_for(is_other) => if changed.is_err() { return },
                () = tokio::time::sleep_until(asked + DAY), if update.check => {}
            }
        }
    }
}

/// Asks for the newest version and compares it with `own`.
pub async fn check_version(settings: &Settings, own: &str) -> Result<answer::Update, Error> {
    let built_in = || URL.filter(|url| !url.is_empty()).and_then(|url| BaseUrl::new(url).ok());
    let url = settings.url.clone().or_else(built_in).ok_or(Error::NoAddress)?;
    let key = settings.key.as_deref().or(KEY).map(str::trim).filter(|key| !key.is_empty()).ok_or(Error::NoKey)?;
    let key = PublicKey::from_base64(key).map_err(Error::WrongKey)?;
    let unreachable = |failure| Error::Unreachable { address: url.as_str().to_owned(), failure };
    let file = fetch(&url, "", BYTES_MAX, DEADLINE).await.map_err(unreachable)?;
    let signature = fetch(&url, SIGNATURE, SIGNATURE_BYTES_MAX, DEADLINE).await.map_err(unreachable)?;
    compare(&key, &file, &signature, own, url.as_str())
}

/// Checks an announcement and compares its version with `own`.
fn compare(key: &PublicKey, file: &[u8], signature: &[u8], own: &str, address: &str) -> Result<answer::Update, Error> {
    let bad = |why: String| Error::BadSignature { address: address.to_owned(), why };
    let wrong = |why: String| Error::NotUnderstood { address: address.to_owned(), why };
    let signature = std::str::from_utf8(signature).map_err(|error| bad(error.to_string()))?;
    let signature = Signature::decode(signature).map_err(|error| bad(error.to_string()))?;
    key.verify(file, &signature, false).map_err(|error| bad(error.to_string()))?;
    // The comment is signed, too.
    if signature.trusted_comment().split(' ').next() != Some(FILE) {
        return Err(bad(format!("it signs another file than {FILE}")));
    }
    let Announcement { version, notes } = serde_json::from_slice(file).map_err(|error| wrong(error.to_string()))?;
    let this = Version::parse(own).map_err(|error| wrong(format!("{own}: {error}")))?;
    let is_shown = |notes: &String| {
        notes.len() <= NOTES_MAX_BYTES
            && notes.starts_with("https://")
            && notes.bytes().all(|byte| byte.is_ascii_graphic())
    };
    Ok(answer::Update {
        version: own.to_owned(),
        newer: version.cmp_precedence(&this) == Ordering::Greater,
        newest: version.to_string(),
        notes: notes.filter(is_shown),
    })
}

#[cfg(test)]
mod tests;
