//! An invitation: the address of the team's relay, and the key that opens the team's keys there. The text itself
//! contains no key of the team, and is useless once it was used or has expired.

use std::fmt;

use baton_conversation::hex;
use baton_conversation::record::Timestamp;

use crate::keys::{Name, Secret, WriterId};

/// Prefix of the text; the number is the version.
const PREFIX: &str = "baton-relay-1";

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Invitation {
    /// The slot that holds the team's keys.
    pub(crate) slot: Name,
    /// The key that they are sealed with.
    pub(crate) secret: Secret,
    /// The inviting writer.
    pub(crate) by: WriterId,
    /// When it expires.
    pub(crate) expires: Timestamp,
    /// The relay.
    pub(crate) url: String,
}

impl Invitation {
    /// Reads an invitation.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.trim().split('.');
        let mut next = || parts.next();
        if next()? != PREFIX {
            return None;
        }
        let slot = Name::parse(next()?)?;
        let secret = Secret(hex::decode(next()?)?);
        let by = WriterId::parse(next()?)?;
        let expires = Timestamp(next()?.parse().ok()?);
        let url = String::from_utf8(hex::decode_all(next()?)?).ok()?;
        parts.next().is_none().then_some(Self { slot, secret, by, expires, url })
    }
}

impl fmt::Display for Invitation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (secret, url) = (hex::encode(&self.secret.0), hex::encode(self.url.as_bytes()));
        write!(f, "{PREFIX}.{}.{secret}.{}.{}.{url}", self.slot, self.by, self.expires.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invitation_comes_back_as_it_was_and_nothing_else_is_one() {
        let invitation = Invitation {
            slot: Name([7; 16]),
            secret: Secret([8; 32]),
            by: WriterId::parse(&"0a".repeat(16)).unwrap(),
            expires: Timestamp(1_900_000_000_000),
            url: "/mnt/team folder/é".to_owned(),
        };
        let text = invitation.to_string();
        assert_eq!(Invitation::parse(&format!(" {text}\n")), Some(invitation));
        assert!(!text.contains(' ') && !text.contains("mnt"), "{text}");
        for wrong in ["", "baton-relay-1", &text[..text.len() - 1], &text.replace("-1.", "-2."), &format!("{text}.x")] {
            assert_eq!(Invitation::parse(wrong), None, "{wrong}");
        }
    }
}
