//! The shapes of `records_appended`, every version side by side.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::schema::cursor::{CursorV1, CursorV2, CursorV3};
use crate::schema::is_zero;
use crate::schema::version::{Shape, first_version};

first_version! {
    RecordsAppendedV1 = "records_appended",
}

#[derive(Serialize, Deserialize)]
pub(super) struct RecordsAppendedV1 {
    pub(super) generation: u32,
    pub(super) from: u64,
    pub(super) to: CursorV1,
    pub(super) tail: String,
    pub(super) records: u64,
    pub(super) conversation: u64,
    pub(super) messages: u64,
    pub(super) prompts: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) malformed: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) oversize: u64,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) unknown: BTreeMap<String, u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) first_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) last_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) last_conversation_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) late_index_at: Option<i64>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct RecordsAppendedV2 {
    pub(super) generation: u32,
    pub(super) from: u64,
    pub(super) to: CursorV2,
    pub(super) tail: String,
    pub(super) records: u64,
    pub(super) conversation: u64,
    pub(super) messages: u64,
    pub(super) prompts: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) malformed: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) oversize: u64,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) by_type: BTreeMap<String, u64>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) unknown: BTreeMap<String, u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) first_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) last_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) last_conversation_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) late_index_at: Option<i64>,
}

impl Shape for RecordsAppendedV2 {
    const KIND: &'static str = RecordsAppendedV1::KIND;
    const V: u32 = 2;
    type Older = RecordsAppendedV1;
}

impl From<RecordsAppendedV1> for RecordsAppendedV2 {
    fn from(old: RecordsAppendedV1) -> Self {
        Self {
            generation: old.generation,
            from: old.from,
            to: old.to.into(),
            tail: old.tail,
            records: old.records,
            conversation: old.conversation,
            messages: old.messages,
            prompts: old.prompts,
            malformed: old.malformed,
            oversize: old.oversize,
            by_type: BTreeMap::new(),
            unknown: old.unknown,
            first_at: old.first_at,
            last_at: old.last_at,
            last_conversation_at: old.last_conversation_at,
            late_index_at: old.late_index_at,
        }
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct RecordsAppendedV3 {
    pub(super) generation: u32,
    pub(super) from: u64,
    pub(super) to: CursorV3,
    pub(super) tail: String,
    pub(super) records: u64,
    pub(super) conversation: u64,
    pub(super) messages: u64,
    pub(super) prompts: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) malformed: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) oversize: u64,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) by_type: BTreeMap<String, u64>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) unknown: BTreeMap<String, u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) first_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) last_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) last_conversation_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) late_index_at: Option<i64>,
}

impl Shape for RecordsAppendedV3 {
    const KIND: &'static str = RecordsAppendedV1::KIND;
    const V: u32 = 3;
    type Older = RecordsAppendedV2;
}

impl From<RecordsAppendedV2> for RecordsAppendedV3 {
    fn from(old: RecordsAppendedV2) -> Self {
        Self {
            generation: old.generation,
            from: old.from,
            to: old.to.into(),
            tail: old.tail,
            records: old.records,
            conversation: old.conversation,
            messages: old.messages,
            prompts: old.prompts,
            malformed: old.malformed,
            oversize: old.oversize,
            by_type: old.by_type,
            unknown: old.unknown,
            first_at: old.first_at,
            last_at: old.last_at,
            last_conversation_at: old.last_conversation_at,
            late_index_at: old.late_index_at,
        }
    }
}
