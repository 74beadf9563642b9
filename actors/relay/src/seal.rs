//! How messages are sealed and signed: one frame for everything that a writer publishes.
//!
//! ```text
//! "BTNR" version kind epoch writer stream sequence nonce | XChaCha20-Poly1305(zstd(message)) | ed25519(all before)
//!   4       1     1     4     16     16      8       24                                            64
//! ```
//!
//! The header is authenticated with the sealed message, so that a frame cannot be moved to another stream or position.
//! An object, a chunk of a conversation, is `nonce | XChaCha20-Poly1305(zstd(lines))`: the batch that names it by its
//! hash is signed, and the name of its stream is authenticated with it. Its nonce is derived from the key and the
//! lines, so that sealing the same chunk again gives the same object.

use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};

use crate::keys::{self, Name, Secret};

/// Version of frames.
const VERSION: u8 = 2;
const MAGIC: &[u8; 4] = b"BTNR";
const HEADER: usize = 4 + 1 + 1 + 4 + 16 + 16 + 8;
const NONCE: usize = 24;
const TAG: usize = 16;
const SIGNATURE: usize = 64;
/// Longest message: a batch of the largest event and of as many chunks as a conversation may have.
pub(crate) const MAX_MESSAGE_BYTES: usize = 4 * 1024 * 1024;
/// Longest frame.
pub(crate) const MAX_FRAME_BYTES: usize = MAX_MESSAGE_BYTES + 64 * 1024;

/// Shortest frame.
pub(crate) const MIN_FRAME_BYTES: usize = HEADER + NONCE + TAG + SIGNATURE;

/// The kind of a frame's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A notice, sealed by the key of the epoch.
    Notice,
    /// A batch of a session, sealed by the session's own key.
    Batch,
    /// A session's own key, sealed by the key of the epoch.
    Key,
    /// The keys of a team, sealed by the key of an invitation.
    Invitation,
}

impl Kind {
    const ALL: [(Self, u8); 4] = [(Self::Notice, 1), (Self::Batch, 2), (Self::Key, 3), (Self::Invitation, 4)];

    fn byte(self) -> u8 {
        Self::ALL.iter().find(|(kind, _)| *kind == self).map_or(0, |(_, byte)| *byte)
    }
}

/// The part of a frame that can be read without a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// The kind of its content.
    pub(crate) kind: Kind,
    /// The epoch of the team key that seals it, or its stream's key.
    pub(crate) epoch: u32,
    /// Its writer.
    pub(crate) writer: Name,
    /// Its stream.
    pub(crate) stream: Name,
    /// Its sequence in the stream, from 1.
    pub(crate) sequence: u64,
}

impl Header {
    fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(HEADER + NONCE);
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&[VERSION, self.kind.byte()]);
        out.extend_from_slice(&self.epoch.to_be_bytes());
        out.extend_from_slice(&self.writer.0);
        out.extend_from_slice(&self.stream.0);
        out.extend_from_slice(&self.sequence.to_be_bytes());
        out
    }
}

/// Why a frame cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Error {
    /// It is too short, too long, or does not begin like one.
    #[error("it is not a valid frame")]
    NoFrame,
    /// A newer program wrote it.
    #[error("a newer version of Baton wrote it (frame version {0})")]
    Newer(u8),
    /// It was not signed by its writer.
    #[error("its signature is not its writer's")]
    Signature,
    /// It was not sealed by this key, or was changed.
    #[error("it cannot be unsealed")]
    Sealed,
    /// It cannot be decompressed within the bound.
    #[error("it cannot be unpacked: {0}")]
    Packed(String),
}

/// A frame, split but not yet verified.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame<'a> {
    /// Its header.
    pub(crate) header: Header,
    before: &'a [u8],
    nonce: [u8; NONCE],
    sealed: &'a [u8],
    signed: &'a [u8],
    signature: [u8; SIGNATURE],
}

/// Seals and signs a message.
///
/// # Errors
///
/// If the system has no randomness, or the message is too long.
pub(crate) fn seal(header: &Header, message: &[u8], key: &Secret, signer: &SigningKey) -> Result<Vec<u8>, String> {
    if message.len() > MAX_MESSAGE_BYTES {
        return Err(format!("a message of {} bytes is longer than any that is read", message.len()));
    }
    let packed = pack(message)?;
    let mut frame = header.encode();
    let nonce = random_nonce()?;
    let sealed = encrypt(key, &nonce, &packed, &frame)?;
    frame.extend_from_slice(&nonce);
    frame.extend_from_slice(&sealed);
    let signature = signer.sign(&frame);
    frame.extend_from_slice(&signature.to_bytes());
    Ok(frame)
}

impl<'a> Frame<'a> {
    /// Splits a frame.
    ///
    /// # Errors
    ///
    /// If its version is not this one.
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        let version = bytes.strip_prefix(MAGIC).and_then(|rest| rest.first()).ok_or(Error::NoFrame)?;
        if *version > VERSION {
            return Err(Error::Newer(*version));
        }
        if bytes.len() < MIN_FRAME_BYTES || bytes.len() > MAX_FRAME_BYTES || *version < VERSION {
            return Err(Error::NoFrame);
        }
        let (signed, signature) = bytes.split_at(bytes.len() - SIGNATURE);
        let (before, rest) = signed.split_at(HEADER);
        let (nonce, sealed) = rest.split_at(NONCE);
        let kind = Kind::ALL.iter().find(|(_, byte)| *byte == before[5]).ok_or(Error::NoFrame)?.0;
        let header = Header {
            kind,
            epoch: u32::from_be_bytes(array(&before[6..10])),
            writer: Name(array(&before[10..26])),
            stream: Name(array(&before[26..42])),
            sequence: u64::from_be_bytes(array(&before[42..50])),
        };
        Ok(Self { header, before, nonce: array(nonce), sealed, signed, signature: array(signature) })
    }

    /// Checks who signed it.
    ///
    /// # Errors
    ///
    /// If this writer did not sign it.
    pub(crate) fn verify(&self, key: &VerifyingKey) -> Result<(), Error> {
        key.verify_strict(self.signed, &Signature::from_bytes(&self.signature)).map_err(|_| Error::Signature)
    }

    /// Unseals the message.
    ///
    /// # Errors
    ///
    /// If the key is wrong, the frame was changed, or the message is too long.
    pub(crate) fn unseal(&self, key: &Secret) -> Result<Vec<u8>, Error> {
        unpack(&decrypt(key, &self.nonce, self.sealed, self.before)?, MAX_MESSAGE_BYTES)
    }
}

/// Seals an object for a place.
///
/// # Errors
///
/// If the message cannot be sealed.
pub(crate) fn seal_object(lines: &[u8], key: &Secret, place: &[u8]) -> Result<Vec<u8>, String> {
    let packed = pack(lines)?;
    // Derived from the compressed bytes, so that another version of the compression has another nonce.
    let nonce: [u8; NONCE] = key.nonce_for(&[place, &packed].concat());
    let sealed = encrypt(key, &nonce, &packed, place)?;
    Ok([&nonce[..], &sealed].concat())
}

/// Unseals an object of at most `most` bytes.
///
/// # Errors
///
/// If the key or the place is wrong, the object was changed, or it is longer.
pub(crate) fn unseal_object(object: &[u8], key: &Secret, place: &[u8], most: usize) -> Result<Vec<u8>, Error> {
    if object.len() < NONCE + TAG {
        return Err(Error::NoFrame);
    }
    let (nonce, sealed) = object.split_at(NONCE);
    unpack(&decrypt(key, &array(nonce), sealed, place)?, most)
}

/// The bytes of a slice whose length is known.
fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut out = [0; N];
    out.copy_from_slice(bytes);
    out
}

fn random_nonce() -> Result<[u8; NONCE], String> {
    keys::random().map_err(|error| error.to_string())
}

fn encrypt(key: &Secret, nonce: &[u8; NONCE], msg: &[u8], aad: &[u8]) -> Result<Vec<u8>, String> {
    let cipher = XChaCha20Poly1305::new(&key.0.into());
    cipher.encrypt(&XNonce::from(*nonce), Payload { msg, aad }).map_err(|_| "the message cannot be sealed".to_owned())
}

fn decrypt(key: &Secret, nonce: &[u8; NONCE], msg: &[u8], aad: &[u8]) -> Result<Vec<u8>, Error> {
    let cipher = XChaCha20Poly1305::new(&key.0.into());
    cipher.decrypt(&XNonce::from(*nonce), Payload { msg, aad }).map_err(|_| Error::Sealed)
}

fn pack(bytes: &[u8]) -> Result<Vec<u8>, String> {
    zstd::bulk::compress(bytes, 3).map_err(|error| error.to_string())
}

fn unpack(packed: &[u8], most: usize) -> Result<Vec<u8>, Error> {
    zstd::bulk::decompress(packed, most).map_err(|error| Error::Packed(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::Keys;

    fn header() -> Header {
        Header { kind: Kind::Batch, epoch: 3, writer: Name([1; 16]), stream: Name([2; 16]), sequence: 7 }
    }

    #[test]
    fn a_frame_is_opened_by_its_key_alone_and_any_change_is_found() {
        let keys = Keys::begin_team().unwrap();
        let (signer, key) = (keys.signing(), Secret::random().unwrap());
        let frame = seal(&header(), b"a planted message", &key, &signer).unwrap();
        let parsed = Frame::parse(&frame).unwrap();
        assert_eq!(parsed.header, header());
        parsed.verify(&signer.verifying_key()).unwrap();
        assert_eq!(parsed.unseal(&key).unwrap(), b"a planted message");
        assert_eq!(parsed.unseal(&Secret::random().unwrap()), Err(Error::Sealed));
        assert!(!frame.windows(7).any(|window| window == b"planted"));
        for at in 0..frame.len() {
            let mut changed = frame.clone();
            changed[at] ^= 1;
            let opened = Frame::parse(&changed).and_then(|frame| {
                frame.verify(&signer.verifying_key())?;
                frame.unseal(&key)
            });
            assert!(opened.is_err(), "byte {at}");
        }
        for cut in [0, 3, 50, frame.len() - 1] {
            let opened = Frame::parse(&frame[..cut]).and_then(|frame| frame.verify(&signer.verifying_key()));
            assert!(opened.is_err(), "cut at {cut}");
        }
        let mut newer = frame.clone();
        newer[4] = 9;
        assert_eq!(Frame::parse(&newer).unwrap_err(), Error::Newer(9));
    }

    #[test]
    fn what_unpacks_to_more_than_its_bound_is_refused() {
        let key = Secret::random().unwrap();
        let object = seal_object(&vec![0; 100_000], &key, b"here").unwrap();
        assert_eq!(unseal_object(&object, &key, b"here", 100_000).unwrap().len(), 100_000);
        assert!(matches!(unseal_object(&object, &key, b"here", 99_999), Err(Error::Packed(_))));
        assert_eq!(unseal_object(b"short", &key, b"here", 10), Err(Error::NoFrame));
        assert_eq!(unseal_object(&object, &key, b"there", 100_000), Err(Error::Sealed), "one object serves one stream");
        assert_eq!(object, seal_object(&vec![0; 100_000], &key, b"here").unwrap(), "sealed again it is the same");
        assert_ne!(object[..NONCE], seal_object(&vec![1; 100_000], &key, b"here").unwrap()[..NONCE]);
    }
}
