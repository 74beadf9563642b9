//! The keys of a home: its own, and those of its team. They lie in one file that only its owner can read.
//!
//! Names on a relay are derived from the team's root key, so that the relay's host cannot recognise projects, sessions
//! or people.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use baton_base::durable;
use baton_conversation::hex;
use baton_conversation::record::SessionId;
use baton_sharing::membership::FIRST_EPOCH;
use ed25519_dalek::{SigningKey, VerifyingKey};
use hkdf::Hkdf;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest, Sha256};
use x25519_dalek::{PublicKey, StaticSecret};

const FORMAT: u32 = 2;
/// Largest key file that is read.
const MAX_BYTES: u64 = 1024 * 1024;
/// Most epochs of a team.
const MAX_EPOCHS: usize = 4096;

/// Why there are no keys.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The file cannot be read or written.
    #[error("the relay's keys cannot be used: {0}")]
    Io(#[from] std::io::Error),
    /// A newer program wrote the file.
    #[error("the relay's keys have format {0}: a newer version of Baton wrote them")]
    Newer(u32),
    /// An older program wrote the file.
    #[error(
        "the relay's keys are of an earlier form, which is no longer supported; `baton relay leave`, then join again"
    )]
    Older,
    /// The system has no randomness to give.
    #[error("the system gives no random numbers: {0}")]
    Random(getrandom::Error),
    /// There are as many epochs as a team may have.
    #[error("the team has had new keys too often; begin a new team with `baton relay init`")]
    Epochs,
}

/// A secret of 32 bytes. It is never printed.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(pub(crate) [u8; 32]);

impl Secret {
    /// A new random one.
    ///
    /// # Errors
    ///
    /// If the system has no randomness.
    pub(crate) fn random() -> Result<Self, Error> {
        Ok(Self(random()?))
    }

    /// Its SHA-256, by which others recognise it.
    pub(crate) fn hash(&self) -> String {
        hex::encode(&Sha256::digest(self.0))
    }

    /// A nonce derived from the content: the same content gives the same object.
    pub(crate) fn nonce_for<const N: usize>(&self, content: &[u8]) -> [u8; N] {
        let mut nonce = [0; N];
        expand(&self.0, &[b"baton relay nonce", &Sha256::digest(content)], &mut nonce);
        nonce
    }

    /// A secret derived from this one for a purpose.
    fn derive(&self, purpose: &str) -> Self {
        let mut out = [0; 32];
        expand(&self.0, &[purpose.as_bytes()], &mut out);
        Self(out)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&hex::encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        hex::decode(&text).map(Self).ok_or_else(|| serde::de::Error::custom("a key has 64 hex digits"))
    }
}

/// Random bytes.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(Error::Random)?;
    Ok(bytes)
}

/// HKDF-SHA256 without salt.
fn expand(key: &[u8], info: &[&[u8]], out: &mut [u8]) {
    let expanded = Hkdf::<Sha256>::new(None, key).expand_multi_info(info, out);
    debug_assert!(expanded.is_ok(), "no output is longer than HKDF allows");
}

/// A name on a relay, meaningless without the team's root key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Name(pub(crate) [u8; 16]);

impl Name {
    /// Reads 32 hex digits.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        hex::decode(text).map(Self)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(&self.0))
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// The keys that all members of a team have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TeamKeys {
    /// For names; never changes.
    root: Secret,
    /// The home that began the team; only it removes members and gives new keys. It is part of the team's name.
    pub(crate) admin: WriterId,
    /// The keys that batches are sealed with, by epoch; the last one is in use.
    epochs: BTreeMap<u32, Secret>,
}

impl TeamKeys {
    /// The keys of a new team.
    ///
    /// # Errors
    ///
    /// If the system has no randomness.
    fn generate(admin: WriterId) -> Result<Self, Error> {
        Ok(Self { root: Secret::random()?, admin, epochs: BTreeMap::from([(FIRST_EPOCH, Secret::random()?)]) })
    }

    /// The next epoch, and a key for it.
    ///
    /// # Errors
    ///
    /// If the system has no randomness, or there are too many epochs.
    pub(crate) fn next_epoch(&self) -> Result<(u32, Secret), Error> {
        let next = self.current().0.checked_add(1).filter(|_| self.epochs.len() < MAX_EPOCHS);
        Ok((next.ok_or(Error::Epochs)?, Secret::random()?))
    }

    /// Adds the key of an epoch that the administrator has given. Returns true if it is new; an existing key stays.
    pub(crate) fn add_epoch(&mut self, epoch: u32, key: Secret) -> bool {
        let is_new = !self.epochs.contains_key(&epoch) && self.epochs.len() < MAX_EPOCHS;
        if is_new {
            self.epochs.insert(epoch, key);
        }
        is_new
    }

    /// The current epoch and its key.
    pub(crate) fn current(&self) -> (u32, &Secret) {
        // A team without an epoch cannot be read from a file.
        self.epochs.last_key_value().map_or((0, &self.root), |(epoch, key)| (*epoch, key))
    }

    /// The key of an epoch.
    pub(crate) fn key_of_epoch(&self, epoch: u32) -> Option<&Secret> {
        self.epochs.get(&epoch)
    }

    fn name(&self, parts: &[&[u8]]) -> Name {
        let mut name = [0; 16];
        // Lengths keep neighbouring parts apart.
        let mut info = Vec::new();
        for part in parts {
            info.extend_from_slice(&(part.len() as u64).to_be_bytes());
            info.extend_from_slice(part);
        }
        expand(&self.root.0, &[&info], &mut name);
        Name(name)
    }

    /// The name of the team.
    pub(crate) fn team_name(&self) -> Name {
        self.name(&[b"team", self.admin.0.as_bytes()])
    }

    /// The name of a writer.
    pub(crate) fn writer_name(&self, writer: &WriterId) -> Name {
        self.name(&[b"writer", writer.0.as_bytes()])
    }

    /// The name of a writer's stream of notices.
    pub(crate) fn notices_name(&self, writer: &WriterId) -> Name {
        self.name(&[b"notices", writer.0.as_bytes()])
    }

    /// The name of a session's stream.
    pub(crate) fn session_name(&self, writer: &WriterId, session: &SessionId) -> Name {
        self.name(&[b"session", writer.0.as_bytes(), session.as_str().as_bytes()])
    }

    /// The name of the slot with the key of a stream.
    pub(crate) fn key_name(&self, stream: Name) -> Name {
        self.name(&[b"key", &stream.0])
    }
}

/// Fingerprint of a writer's public key: 32 hex digits.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct WriterId(String);

impl WriterId {
    /// The fingerprint of a key.
    pub(crate) fn from_key(key: &VerifyingKey) -> Self {
        Self(hex::encode(&Sha256::digest(key.as_bytes())[..16]))
    }

    /// Reads a fingerprint.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        Name::parse(text).filter(|name| name.to_string() == text).map(|_| Self(text.to_owned()))
    }

    /// Its 32 hex digits.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for WriterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for WriterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// All keys of a home that belongs to a team.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Keys {
    /// The team's.
    pub(crate) team: TeamKeys,
    seed: Secret,
}

#[derive(Serialize, Deserialize)]
struct StoredKeys {
    format: u32,
    team: TeamKeys,
    seed: Secret,
}

impl Keys {
    /// Keys of the administrator of a new team.
    ///
    /// # Errors
    ///
    /// If the system has no randomness.
    pub(crate) fn begin_team() -> Result<Self, Error> {
        let seed = Secret::random()?;
        let admin = WriterId::from_key(&SigningKey::from_bytes(&seed.0).verifying_key());
        Ok(Self { team: TeamKeys::generate(admin)?, seed })
    }

    /// New keys of a writer in a team.
    ///
    /// # Errors
    ///
    /// If the system has no randomness.
    pub(crate) fn generate(team: TeamKeys) -> Result<Self, Error> {
        Ok(Self { team, seed: Secret::random()? })
    }

    /// Reads a key file; `None` if there is none. Blocks for a short read.
    ///
    /// # Errors
    ///
    /// If it cannot be used.
    pub(crate) fn read(path: &Path) -> Result<Option<Self>, Error> {
        let Some(read) = durable::read_json::<serde_json::Value>(path, MAX_BYTES)? else { return Ok(None) };
        let format = read.get("format").and_then(serde_json::Value::as_u64).unwrap_or_default();
        if format > u64::from(FORMAT) {
            return Err(Error::Newer(u32::try_from(format).unwrap_or(u32::MAX)));
        }
        if format < u64::from(FORMAT) {
            return Err(Error::Older);
        }
        let StoredKeys { team, seed, .. } = serde_json::from_value(read).map_err(std::io::Error::other)?;
        if team.epochs.is_empty() || WriterId::parse(team.admin.as_str()).is_none() {
            return Err(std::io::Error::other("they have no key of any epoch, or no administrator").into());
        }
        Ok(Some(Self { team, seed }))
    }

    /// Writes the key file, durably, for its owner only. Blocks for the disk.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub(crate) fn write(&self, path: &Path) -> Result<(), Error> {
        let stored = StoredKeys { format: FORMAT, team: self.team.clone(), seed: self.seed.clone() };
        let bytes = serde_json::to_vec(&stored).map_err(std::io::Error::other)?;
        if let Some(folder) = path.parent() {
            durable::create_private_folder(folder)?;
        }
        durable::write_file(path, &bytes)?;
        Ok(durable::sync_parent(path)?)
    }

    /// The key that signs.
    pub(crate) fn signing(&self) -> SigningKey {
        SigningKey::from_bytes(&self.seed.0)
    }

    /// This home as a writer.
    pub(crate) fn writer(&self) -> WriterId {
        WriterId::from_key(&self.signing().verifying_key())
    }

    fn box_secret(&self) -> StaticSecret {
        StaticSecret::from(self.seed.derive("baton relay box").0)
    }

    /// The public key with which others seal for this writer alone.
    pub(crate) fn box_key(&self) -> PublicKey {
        PublicKey::from(&self.box_secret())
    }

    /// The secret that this writer shares with the holder of another box key.
    pub(crate) fn shared_with(&self, other: &PublicKey) -> Secret {
        shared(&self.box_secret(), other)
    }
}

/// A secret shared with the holder of a box key, and the public key from which they derive it.
///
/// # Errors
///
/// If the system has no randomness.
pub(crate) fn one_time_shared(with: &PublicKey) -> Result<(PublicKey, Secret), Error> {
    let own = StaticSecret::from(random()?);
    Ok((PublicKey::from(&own), shared(&own, with)))
}

fn shared(own: &StaticSecret, other: &PublicKey) -> Secret {
    Secret(own.diffie_hellman(other).to_bytes()).derive("baton relay shared")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_back_and_are_never_printed() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("relay").join("keys.json");
        assert_eq!(Keys::read(&path).unwrap(), None);
        let keys = Keys::begin_team().unwrap();
        keys.write(&path).unwrap();
        assert_eq!(Keys::read(&path).unwrap(), Some(keys.clone()));
        let shown = format!("{keys:?}");
        assert!(!shown.contains(&hex::encode(&keys.seed.0)), "{shown}");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        std::fs::write(&path, r#"{"format":9}"#).unwrap();
        assert!(matches!(Keys::read(&path), Err(Error::Newer(9))));
        std::fs::write(&path, "{").unwrap();
        assert!(matches!(Keys::read(&path), Err(Error::Io(_))));
    }

    #[test]
    fn epochs_follow_each_other_and_a_key_that_is_there_stays() {
        let mut team = Keys::begin_team().unwrap().team;
        let (first, other) = (team.current().1.clone(), Secret::random().unwrap());
        assert!(!team.add_epoch(1, other) && *team.current().1 == first);
        for epoch in 2..=MAX_EPOCHS {
            let (next, key) = team.next_epoch().unwrap();
            assert!(next as usize == epoch && team.add_epoch(next, key));
        }
        assert!(matches!(team.next_epoch(), Err(Error::Epochs)));
        assert!(serde_json::to_vec(&team).unwrap().len() < MAX_BYTES as usize / 2);
    }

    #[test]
    fn names_differ_by_team_by_kind_and_by_what_they_name() {
        let (one, other) = (Keys::begin_team().unwrap().team, Keys::begin_team().unwrap().team);
        let writer = Keys::generate(one.clone()).unwrap().writer();
        let session = SessionId::new("a").unwrap();
        let names = [
            one.team_name(),
            one.writer_name(&writer),
            one.notices_name(&writer),
            one.session_name(&writer, &session),
            one.session_name(&writer, &SessionId::new("b").unwrap()),
            one.key_name(one.session_name(&writer, &session)),
            other.writer_name(&writer),
        ];
        let distinct: std::collections::BTreeSet<_> = names.iter().collect();
        assert_eq!(distinct.len(), names.len());
        assert_eq!(Name::parse(&names[0].to_string()), Some(names[0]));
        assert_eq!(WriterId::parse(writer.as_str()), Some(writer));
        assert_eq!(WriterId::parse("../../../etc"), None);
    }
}
