//! A key sealed for one writer alone: `public key | sealed key`, as hex digits. The public key is used once.

use baton_conversation::hex;
use x25519_dalek::PublicKey;

use crate::keys::{self, Keys, Secret};
use crate::seal;

/// Additional data that is authenticated with the key.
const PLACE: &[u8] = b"baton relay box";

/// Seals a key for the holder of a box key.
///
/// # Errors
///
/// If the system has no randomness.
pub(crate) fn seal(with: [u8; 32], key: &Secret) -> Result<String, keys::Error> {
    let (public, secret) = keys::one_time_shared(&PublicKey::from(with))?;
    let sealed = seal::seal_object(&key.0, &secret, PLACE).map_err(std::io::Error::other)?;
    Ok(hex::encode(public.as_bytes()) + &hex::encode(&sealed))
}

/// The key that was sealed for this home; `None` if it was not.
pub(crate) fn open(keys: &Keys, sealed: &str) -> Option<Secret> {
    let (public, sealed) = sealed.split_at_checked(64)?;
    let secret = keys.shared_with(&PublicKey::from(hex::decode::<32>(public)?));
    let key = seal::unseal_object(&hex::decode_all(sealed)?, &secret, PLACE, 32).ok()?;
    key.try_into().ok().map(Secret)
}
