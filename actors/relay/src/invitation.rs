//! An invitation: where the team's relay is, and the key to what lies there for the new member. The text itself holds
//! no key of the team, and is of no use once it has expired or was used.

use std::fmt;

use baton_conversation::hex;
use baton_conversation::record::Timestamp;

use crate::keys::{Name, Secret, WriterId};

/// What the text begins with; the number is the version.
const PREFIX: &str = "baton-relay-1";

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Invitation {
    /// The slot that holds the team's keys.
    pub(crate) slot: Name,
    /// What they are sealed with.
    pub(crate) secret: Secret,
    /// Who invites.
    pub(crate) by: WriterId,
    /// Until when it may be used.
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
