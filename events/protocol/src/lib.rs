//! The frames that clients and the daemon exchange: one JSON-RPC 2.0 object per line, in both directions.
//!
//! A connection begins with `hello`. The shapes of `hello` and `stop` are frozen for ever, so that programs of any two
//! versions can greet and stop each other. Everything else may change with [`VERSION`].

mod agent;
pub mod answer;
mod coding;
mod correct;
mod enrichment;
mod forget;
mod graph;
mod hook;
mod keep;
mod log;
mod memory;
pub mod method;
mod named;
mod page;
mod project;
mod recall;
mod relay;
mod replay;
mod search;
mod session;
pub mod tool;
mod tracking;
mod vault;
mod zone;

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

pub use agent::{Agent, AgentHome, Moved};
pub use coding::{BlameParams, FixParams, HowParams, PatternsParams};
pub use correct::CorrectParams;
pub use enrichment::{CostsParams, EnrichParams};
pub use forget::{ForgetParams, ReindexParams};
pub use graph::{During, FactsParams, NodesParams};
pub use hook::{
    HOOK_END_MS, HOOK_MS, HandoffParams, HookParams, HookTook, MAX_SESSION_ID_BYTES, OWN_CHILD, PresenceParams, SPOOL,
    SPOOL_DROPPED, SPOOL_FILE_BYTES, SPOOL_FILES_MAX, SignalKind, Spooled, is_session_id,
};
pub use keep::{KeepParams, UpdateParams};
pub use log::{LogReadParams, VerifyParams};
pub use memory::{AddMemoryParams, AddTripletParams, ClearGraphParams, EpisodeEntitiesParams, UuidParams};
pub use named::{is_zero, parse_text};
pub use page::PageParams;
pub use project::{GraphParams, ProjectParams, ProjectsParams, TodayParams};
pub use recall::{RECALL_SESSIONS, RECALL_TOKENS, RecallParams, TimelineParams};
pub use relay::RelayParams;
pub use replay::ReplayParams;
pub use search::SearchParams;
pub use session::{ExplainParams, MessagesParams, PassageParams, ShortIdsParams, ShowParams};
pub use tracking::{SyncParams, TrackParams, TrackingParams, TrackingStatusParams, UnindexedParams, UntrackParams};
pub use vault::{VaultCompactParams, VaultReadParams, VaultSyncParams};
pub use zone::Zone;

#[doc(hidden)]
pub use serde;

/// Reads what a frame carries: parameters or an answer. Goes by way of a [`Value`](serde_json::Value), for which a type's code is compiled to a
/// third of its size for text; a raw value within it loses the order of its keys.
pub fn read<T: DeserializeOwned>(text: &str) -> serde_json::Result<T> {
    serde_json::from_value(serde_json::from_str(text)?)
}

/// Version of everything but `hello` and `stop`. Defined only here.
pub const VERSION: u32 = 1;
/// Longest body of a note added by an agent, in bytes.
pub const MEMO_BODY_MAX_BYTES: usize = 256 * 1024;

/// Error codes of answers. Those below -32099 are JSON-RPC's own.
pub mod code {
    /// The line is not JSON.
    pub const PARSE: i64 = -32_700;
    /// The line is not a request.
    pub const INVALID_REQUEST: i64 = -32_600;
    /// There is no such method.
    pub const METHOD_NOT_FOUND: i64 = -32_601;
    /// The arguments do not fit the method.
    pub const INVALID_PARAMS: i64 = -32_602;
    /// An internal error; the message describes it.
    pub const INTERNAL: i64 = -32_603;
    /// The client speaks another version of the protocol.
    pub const OTHER_VERSION: i64 = -32_001;
    /// A limit is exceeded: connections, or bytes in a frame.
    pub const TOO_MUCH: i64 = -32_002;
    /// The call's deadline has passed.
    pub const DEADLINE: i64 = -32_003;
    /// The requested object is unknown, or the name matches several.
    pub const NOT_FOUND: i64 = -32_004;
    /// The daemon is stopping.
    pub const STOPPING: i64 = -32_005;
    /// The arguments are right, but the state does not allow it: a feature is off, `config.json` has a mistake, a session
    /// to restore is not forgotten.
    pub const REFUSED: i64 = -32_006;
}

/// A request, as read. The arguments stay raw until the method is known.
#[derive(Debug, Deserialize)]
pub struct Request<'a> {
    /// Must be `2.0`.
    #[serde(default)]
    pub jsonrpc: String,
    /// A string or a number. A request without an id gets no answer.
    #[serde(borrow, default)]
    pub id: Option<&'a RawValue>,
    /// See [`method`].
    pub method: String,
    /// The arguments, an object.
    #[serde(borrow, default)]
    pub params: Option<&'a RawValue>,
}

/// A request, as written.
#[derive(Debug, Serialize)]
pub struct Call<'a, P: Serialize> {
    /// `2.0`.
    pub jsonrpc: &'static str,
    /// The id of the request.
    pub id: u64,
    /// See [`method`].
    pub method: &'a str,
    /// The arguments.
    pub params: P,
}

/// A frame read by a client: the answer to its request, or a notification.
#[derive(Debug, Deserialize)]
pub struct Incoming {
    /// The id of the request that is answered.
    #[serde(default)]
    pub id: Option<u64>,
    /// The method of a notification.
    #[serde(default)]
    pub method: Option<String>,
    /// The content of a notification.
    #[serde(default)]
    pub params: Option<Box<RawValue>>,
    /// The result.
    #[serde(default)]
    pub result: Option<Box<RawValue>>,
    /// The error, if there is no result.
    #[serde(default)]
    pub error: Option<Failure>,
}

/// An answer, as written.
#[derive(Debug, Serialize)]
pub struct Answer<'a> {
    /// `2.0`.
    pub jsonrpc: &'static str,
    /// The id of the request; `null` if it could not be read.
    pub id: Option<&'a RawValue>,
    /// The result, on success.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Box<RawValue>>,
    /// The error, on failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
}

/// The error of a failed request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// See [`code`].
    pub code: i64,
    /// What happened, to what, and what to do next.
    pub message: String,
}

/// A client's greeting. Frozen: fields may be added, none may change.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Hello {
    /// Protocol version of the client.
    pub protocol: u32,
    /// Program version of the client.
    pub version: String,
    /// The kind of client: `cli`, `mcp`, `hook`.
    #[serde(default)]
    pub client: String,
    /// The client's Claude Code directory, absolute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claude_config_dir: Option<String>,
    /// The client's Codex directory, absolute. Absent if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub codex_home: Option<String>,
    /// The client's directories of other agents by name, absolute, as far as a variable names them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub directories: BTreeMap<String, String>,
    /// The absolute directories in which the client works: its working directory, and the project named by its agent.
    /// Content below them may have come with the project, so none of it is accepted as an agent's directory.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub works_in: Vec<String>,
}

/// The daemon's greeting. Frozen: fields may be added, none may change.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Welcome {
    /// Protocol version of the daemon.
    pub protocol: u32,
    /// Program version of the daemon.
    pub version: String,
    /// Its process id.
    pub pid: u32,
    /// The directories from which it reads transcripts.
    #[serde(default)]
    pub roots: Vec<String>,
    /// Why the directory from the client's `hello` is not read, and what to do. Absent if it is read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_refused: Option<String>,
    /// The same for the client's directories of other agents, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub refused: BTreeMap<String, String>,
    /// The same for the client's Codex directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub codex_refused: Option<String>,
    /// True if the configuration names the directories to read, so that clients cannot add any.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub roots_configured: bool,
}

/// Progress of a long request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// The current activity, in a word or two.
    pub what: String,
    /// Sessions done.
    pub done: u64,
    /// Sessions in all.
    pub total: u64,
}

/// Identifies the caller as far as the client's environment allows. Used to favour the caller's project and to find its
/// session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Caller {
    /// The session named in the client's environment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_session: Option<String>,
    /// The client's working directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// When the client was started, in milliseconds since 1970. Its environment described that moment, and hooks may
    /// have reported changes since. Absent if the environment describes the present.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<i64>,
    /// The person's time zone, as [`Zone::parse`] reads it. Absent for UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
}

impl Caller {
    /// True if nothing is known of the caller.
    fn is_nobody(&self) -> bool {
        *self == Self::default()
    }

    /// The person's time zone; UTC if none is given or it cannot be read.
    pub fn zone(&self) -> Zone {
        self.zone.as_deref().and_then(Zone::parse).unwrap_or(Zone::UTC)
    }
}

fn default_limit() -> u32 {
    10
}

/// Arguments of `sessions`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionsParams {
    /// Only sessions in this state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// Only sessions of this project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Only sessions of this agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Agent>,
    /// Only sessions of this person or machine; `me`, or `team` for all others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub who: Option<String>,
    /// True to include subagents' sessions.
    #[serde(default)]
    pub subagents: bool,
    /// Only sessions active at or after this time: a date, or `7d`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Only sessions last active before this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// Only these sessions; empty for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ids: Vec<String>,
    /// Most sessions; absent for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// How many of the first sessions are left out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub skip: u32,
    /// True to answer at once from what is stored, without looking for new transcripts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stored: bool,
    /// The caller. Its time zone decides what a date means.
    #[serde(default, skip_serializing_if = "Caller::is_nobody")]
    pub caller: Caller,
}

/// Arguments of `close`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CloseParams {
    /// A session id or a unique prefix of one. Without it, the session that `caller` identifies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The caller. Without `session`, it identifies the session.
    #[serde(default)]
    pub caller: Caller,
    /// The reason, in the caller's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Idempotency key: a repeated request with the same key gets the first answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command_id: Option<String>,
    /// How long the caller waits, in milliseconds.
    #[serde(default = "thirty_seconds_ms")]
    pub deadline_ms: u64,
}

fn thirty_seconds_ms() -> u64 {
    30_000
}

/// Arguments of `config`. Without any, the configuration is returned.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ConfigParams {
    /// The text of a configuration file of the original program, to be imported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub import: Option<String>,
    /// True if imported values override values that are already set.
    pub force: bool,
    /// True to report the effect without writing anything.
    pub dry_run: bool,
}

/// Arguments of `episodes`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EpisodesParams {
    /// Only episodes of these groups; empty for all.
    pub groups: Vec<String>,
    /// Only these episodes, by their uuids or session ids; empty for all. Subagents' episodes are returned only if
    /// named here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub uuids: Vec<String>,
    /// Most entries to return.
    pub limit: u32,
    /// Approximate number of tokens that the answer may take, within the limit of one answer; 0 for the usual number.
    /// Longer episodes are cut, and the answer says so.
    pub budget_tokens: u32,
    /// True to wait until all history is read.
    pub wait: bool,
    /// The `next_cursor` of the previous answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// The caller.
    pub caller: Caller,
}

impl Default for EpisodesParams {
    fn default() -> Self {
        let (groups, uuids) = (Vec::new(), Vec::new());
        let caller = Caller::default();
        Self { groups, uuids, limit: default_limit(), budget_tokens: 0, wait: false, cursor: None, caller }
    }
}

/// Arguments of `tools/call`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ToolParams {
    /// The tool's name, or an alias of it.
    pub name: String,
    /// Its arguments, an object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Box<RawValue>>,
    /// The caller.
    #[serde(default)]
    pub caller: Caller,
    /// Idempotency key: a repeated request with the same key gets the first answer. Only a close needs one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command_id: Option<String>,
}
