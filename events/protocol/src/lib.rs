//! The frames that clients and the daemon exchange: one JSON-RPC 2.0 object per line, in both directions.
//!
//! A connection begins with `hello`. The shapes of `hello` and `stop` are frozen for ever, so that programs of any two
//! versions can always greet and stop each other. Everything else may change with [`VERSION`].

pub mod answer;
mod coding;
mod enrichment;
mod forget;
mod graph;
mod hook;
mod log;
mod memory;
pub mod method;
mod recall;
mod search;
mod shown;
pub mod tool;
mod tracking;
mod vault;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

pub use coding::{BlameParams, FixParams, HowParams, PatternsParams};
pub use enrichment::{CostsParams, EnrichParams};
pub use forget::{ForgetParams, ReindexParams};
pub use graph::{During, FactsParams, NodesParams};
pub use hook::{
    HandoffParams, HookParams, OWN_CHILD, PresenceParams, SPOOL, SPOOL_DROPPED, SPOOL_FILE_BYTES, SPOOL_FILES_MAX,
    Spooled, Took,
};
pub use log::{LogReadParams, VerifyParams};
pub use memory::{AddMemoryParams, AddTripletParams, ClearGraphParams, EpisodeEntitiesParams, UuidParams};
pub use recall::{RECALL_SESSIONS, RECALL_TOKENS, RecallParams, TimelineParams};
pub use search::SearchParams;
pub use shown::{ExplainParams, MessagesParams, PassageParams, ShortIdsParams, ShowParams};
pub use tracking::{SyncParams, TrackParams, TrackingParams, UnindexedParams, UntrackParams};
pub use vault::{VaultCompactParams, VaultReadParams, VaultSyncParams};

/// Version of everything but `hello` and `stop`. Written here and nowhere else.
pub const VERSION: u32 = 1;
/// Longest body of a note that an agent gives, in bytes.
pub const MEMO_BODY_MAX_BYTES: usize = 256 * 1024;

/// Error codes of answers. Those above -32000 are JSON-RPC's own.
pub mod code {
    /// The line is no JSON.
    pub const PARSE: i64 = -32_700;
    /// The line is no request.
    pub const INVALID_REQUEST: i64 = -32_600;
    /// There is no such method.
    pub const METHOD_NOT_FOUND: i64 = -32_601;
    /// The arguments do not fit the method.
    pub const INVALID_PARAMS: i64 = -32_602;
    /// Something went wrong inside; the message says what.
    pub const INTERNAL: i64 = -32_603;
    /// The client speaks another version of the protocol.
    pub const OTHER_VERSION: i64 = -32_001;
    /// Too much at once: connections, or bytes in a frame.
    pub const TOO_MUCH: i64 = -32_002;
    /// The call's deadline has passed.
    pub const DEADLINE: i64 = -32_003;
    /// What was asked for is not known, or fits several.
    pub const NOT_FOUND: i64 = -32_004;
    /// The daemon is stopping.
    pub const STOPPING: i64 = -32_005;
}

/// A call, as it is read: the arguments stay raw until the method is known.
#[derive(Debug, Deserialize)]
pub struct Request<'a> {
    /// Must be `2.0`.
    #[serde(default)]
    pub jsonrpc: String,
    /// A string or a number; a call without one is answered with nothing.
    #[serde(borrow, default)]
    pub id: Option<&'a RawValue>,
    /// See [`method`].
    pub method: String,
    /// The arguments: an object.
    #[serde(borrow, default)]
    pub params: Option<&'a RawValue>,
}

/// A call, as it is written.
#[derive(Debug, Serialize)]
pub struct Call<'a, P: Serialize> {
    /// `2.0`.
    pub jsonrpc: &'static str,
    /// The call's number.
    pub id: u64,
    /// See [`method`].
    pub method: &'a str,
    /// The arguments.
    pub params: P,
}

/// What a client reads: an answer to its call, or a notification on the way to it.
#[derive(Debug, Deserialize)]
pub struct Incoming {
    /// The number of the call that is answered.
    #[serde(default)]
    pub id: Option<u64>,
    /// The name of a notification.
    #[serde(default)]
    pub method: Option<String>,
    /// A notification's content.
    #[serde(default)]
    pub params: Option<Box<RawValue>>,
    /// The answer.
    #[serde(default)]
    pub result: Option<Box<RawValue>>,
    /// Or why there is none.
    #[serde(default)]
    pub error: Option<Failure>,
}

/// An answer, as it is written.
#[derive(Debug, Serialize)]
pub struct Answer<'a> {
    /// `2.0`.
    pub jsonrpc: &'static str,
    /// The call's id, `null` when it could not be read.
    pub id: Option<&'a RawValue>,
    /// The result, when it went well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Box<RawValue>>,
    /// Or why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
}

/// Why a call has no result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// See [`code`].
    pub code: i64,
    /// What happened, to what, and what to do next.
    pub message: String,
}

/// What a client says of itself. Frozen: fields may be added, none may change.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Hello {
    /// Protocol version of the client.
    pub protocol: u32,
    /// Program version of the client.
    pub version: String,
    /// What kind of client it is: `cli`, `mcp`, `hook`.
    #[serde(default)]
    pub client: String,
    /// The client's directory of Claude Code, absolute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claude_config_dir: Option<String>,
    /// The client's directory of Codex, absolute; none where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub codex_home: Option<String>,
    /// Where the client works, absolute: its working directory, and the project that its agent names. What lies there may
    /// have come with the project, and is not taken for the directory of an agent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub works_in: Vec<String>,
}

/// What the daemon says of itself. Frozen: fields may be added, none may change.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Welcome {
    /// Protocol version of the daemon.
    pub protocol: u32,
    /// Program version of the daemon.
    pub version: String,
    /// Its process id.
    pub pid: u32,
    /// The directories whose transcripts it reads.
    #[serde(default)]
    pub roots: Vec<String>,
    /// Why the directory that the client named in its `hello` is not read, and what to do; none: it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_refused: Option<String>,
    /// The same for the client's directory of Codex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub codex_refused: Option<String>,
    /// Whether the configuration names the directories that are read, so that no client does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub roots_configured: bool,
}

/// How far long work is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// What is being done, in a word or two.
    pub what: String,
    /// Sessions done.
    pub done: u64,
    /// Sessions in all.
    pub total: u64,
}

/// Who asks, as far as the client's surroundings tell. Used to favour the caller's project and to know its session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Caller {
    /// The session that the client's environment names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_session: Option<String>,
    /// The client's working directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// When the client was started, milliseconds since 1970: what its environment names was so then, and hooks may have said
    /// otherwise since. None: it is so now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<i64>,
}

fn ten() -> u32 {
    10
}

/// Arguments of `sessions`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionsParams {
    /// Only those in this state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// Only those of this project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Subagents' sessions too.
    #[serde(default)]
    pub subagents: bool,
}

/// Arguments of `close`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CloseParams {
    /// An id or a unique prefix of one; without it, the session that `caller` tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Who asks: without `session`, this tells which.
    #[serde(default)]
    pub caller: Caller,
    /// Why, in the closer's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Identity of this wish, so that asking again gives the first answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command_id: Option<String>,
    /// How long the caller waits, in milliseconds.
    #[serde(default = "thirty_seconds_ms")]
    pub deadline_ms: u64,
}

fn thirty_seconds_ms() -> u64 {
    30_000
}

/// Arguments of `config`: without any, it is shown.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ConfigParams {
    /// The text of a file of the original to be taken in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub import: Option<String>,
    /// Whether it counts more than what is set already.
    pub force: bool,
    /// Say what would become of it, and write nothing.
    pub dry_run: bool,
}

/// Arguments of `episodes`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EpisodesParams {
    /// Only those of these groups; none: all.
    pub groups: Vec<String>,
    /// Only these, by their uuids or by the sessions'; none: all. A subagent's is told where it is named.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub uuids: Vec<String>,
    /// How many.
    pub limit: u32,
    /// About how many tokens the answer may take, within what one answer holds; 0: as many as are usual. What is longer
    /// is cut, and told so.
    pub budget_tokens: u32,
    /// Whether to wait until all history is read.
    pub wait: bool,
    /// Where to go on, as the answer before this one said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Who asks.
    pub caller: Caller,
}

impl Default for EpisodesParams {
    fn default() -> Self {
        let (groups, uuids) = (Vec::new(), Vec::new());
        let caller = Caller::default();
        Self { groups, uuids, limit: ten(), budget_tokens: 0, wait: false, cursor: None, caller }
    }
}

/// Arguments of `tools/call`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ToolParams {
    /// The tool, or an alias of it.
    pub name: String,
    /// Its arguments: an object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Box<RawValue>>,
    /// Who asks.
    #[serde(default)]
    pub caller: Caller,
    /// Identity of this wish, so that asking again gives the first answer. Only a close needs one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command_id: Option<String>,
}
