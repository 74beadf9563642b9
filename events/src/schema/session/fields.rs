//! Conversion of texts in stored shapes to domain values.

use uuid::Uuid;

use crate::schema::version::{Error, Shape};
use crate::session::CloseReason;
use baton_conversation::hash::ContentHash;
use baton_conversation::record::SessionId;

/// Converts the texts of one shape; errors name the shape.
pub(super) struct Fields {
    kind: &'static str,
    v: u32,
}

impl Fields {
    pub(super) fn new<S: Shape>(v: u32) -> Self {
        Self { kind: S::KIND, v }
    }

    pub(super) fn named<T>(&self, field: &str, value: Option<T>) -> Result<T, Error> {
        value.ok_or_else(|| Error::Malformed {
            kind: self.kind,
            v: self.v,
            reason: format!("{field} has no such value"),
        })
    }

    pub(super) fn session(&self, text: &str) -> Result<SessionId, Error> {
        self.named("parent", SessionId::new(text))
    }

    pub(super) fn reason(&self, text: &str) -> Result<CloseReason, Error> {
        self.named("reason", CloseReason::parse(text))
    }

    pub(super) fn uuid(&self, text: &str) -> Result<Uuid, Error> {
        self.named("episode", Uuid::try_parse(text).ok())
    }

    pub(super) fn hash(&self, field: &str, text: &str) -> Result<ContentHash, Error> {
        self.named(field, ContentHash::parse(text))
    }
}
