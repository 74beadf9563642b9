//! The frames that clients and the daemon exchange: one JSON-RPC 2.0 object per line, in both directions.
//!
//! A connection begins with `hello`. The shapes of `hello` and `stop` are frozen for ever, so that programs of any two
//! versions can always greet and stop each other. Everything else may change with [`VERSION`].

pub mod answer;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Version of everything but `hello` and `stop`. Written here and nowhere else.
pub const VERSION: u32 = 1;

/// Methods a client may call.
pub mod method {
    /// Greets; must be the first. Frozen.
    pub const HELLO: &str = "hello";
    /// Asks the daemon to finish what it has begun and exit. Frozen.
    pub const STOP: &str = "stop";
    /// Lazy index, then search.
    pub const SEARCH: &str = "search";
    /// The session table.
    pub const SESSIONS: &str = "sessions";
    /// One session and its episode.
    pub const SHOW: &str = "show";
    /// Explicit close.
    pub const CLOSE: &str = "close";
    /// Daemon, log, memory, roots, counts, problems.
    pub const STATUS: &str = "status";
    /// Sent by the daemon while a call takes long; carries no id.
    pub const PROGRESS: &str = "progress";
}

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

/// Arguments of `search`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SearchParams {
    /// The words.
    pub query: String,
    /// A directory, or a name that fits exactly one project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// How many sessions to answer with.
    #[serde(default = "ten")]
    pub limit: u32,
    /// Whether to wait until all history is read.
    #[serde(default)]
    pub wait: bool,
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

/// Arguments of `show`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShowParams {
    /// An id or a unique prefix of one.
    pub session: String,
}

/// Arguments of `close`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CloseParams {
    /// An id or a unique prefix of one; without it, the session that `agent_session` or `directory` tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The session that the client's environment names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_session: Option<String>,
    /// The client's working directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
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
