//! What each measurement takes on the command line.

use std::path::PathBuf;

use baton_protocol::Agent;
use clap::Args;

#[derive(Debug, Args)]
pub(super) struct ReadArgs {
    /// Transcripts or directories of them (*.jsonl); by default a corpus is written to a temporary directory
    #[arg(value_name = "FILE", conflicts_with = "megabytes")]
    pub(super) files: Vec<PathBuf>,
    /// Size of that corpus, in MB of 1,000,000 bytes
    #[arg(long = "mb", value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub(super) megabytes: u64,
    /// Also measure memory over a file of 5 GB with a line of 100 MB, and of a daemon that indexes a conversation of 1
    /// GB; needs 6 GB in the temporary directory, and releases them
    #[arg(long)]
    pub(super) huge: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, Args)]
pub(super) struct ReadersArgs {
    /// Only these agents, by name or the first word of it
    #[arg(value_name = "AGENT", value_parser = agent)]
    pub(super) agents: Vec<Agent>,
    /// Size of the transcripts of each agent, in MB of 1,000,000 bytes
    #[arg(long = "mb", value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub(super) megabytes: u64,
    /// Print one JSON object
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, Args)]
pub(super) struct RootsArgs {
    /// Sessions of each agent
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(super) sessions: u32,
    /// How long each daemon is watched
    #[arg(long, value_name = "N", default_value_t = 120, value_parser = clap::value_parser!(u64).range(1..=3_600))]
    pub(super) seconds: u64,
    /// Print one JSON object
    #[arg(long)]
    pub(super) json: bool,
}

fn agent(typed: &str) -> Result<Agent, String> {
    Agent::named(typed).ok_or_else(|| format!("there is no such agent; there are {}", Agent::names()))
}

#[derive(Debug, Args)]
pub(super) struct DatabaseArgs {
    /// Sessions
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(super) sessions: u32,
    /// Size of all their messages, in MB of 1,000,000 bytes
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub(super) megabytes: u64,
    /// Print one JSON object
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, Args)]
pub(super) struct MemoryArgs {
    /// Turns in the memory
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(100..=10_000_000))]
    pub(super) documents: u64,
    /// Another seed gives other texts
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) seed: u64,
    /// Give each text a vector too, and repeat all queries with vectors
    #[arg(long)]
    pub(super) vectors: bool,
    /// Dimensions of each vector
    #[arg(long, value_name = "N", default_value_t = 384, value_parser = clap::value_parser!(u16).range(1..=16_384), requires = "vectors")]
    pub(super) dimensions: u16,
    /// Print one JSON object
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, Args)]
pub(super) struct RecallArgs {
    /// The set
    #[arg(value_name = "DATA.json", required_unless_present = "generated", conflicts_with = "generated")]
    pub(super) data: Option<PathBuf>,
    /// A generated set instead of DATA: 200 sessions and 400 questions, the same for the same seed; 1 if none is given
    #[arg(long, value_name = "SEED", num_args = 0..=1, default_missing_value = "1")]
    pub(super) generated: Option<u64>,
    /// Sessions to ask for
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(super) limit: u32,
    /// Turns of each session to ask for
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=20))]
    pub(super) turns: u32,
    /// Give each text a vector too, and repeat all questions with vectors; without --endpoint a built-in list of
    /// synonyms makes them
    #[arg(long)]
    pub(super) vectors: bool,
    /// Address of an embedding endpoint, as in memory.embedding.base_url. The set's texts are sent there
    #[arg(long, value_name = "URL", requires_all = ["vectors", "model"])]
    pub(super) endpoint: Option<String>,
    /// The model, as in memory.embedding.model
    #[arg(long, value_name = "NAME", requires = "endpoint")]
    pub(super) model: Option<String>,
    /// The environment variable that holds its key
    #[arg(long, value_name = "NAME", requires = "endpoint")]
    pub(super) api_key_env: Option<String>,
    /// Print one JSON object, with the ranking of each question
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, Args)]
pub(super) struct AnswersArgs {
    /// What the sessions came to, and questions about them
    #[arg(value_name = "GOLD.json", required = true)]
    pub(super) gold: Vec<PathBuf>,
    /// Claude Code's directory, with the sessions whose `path` begins with projects/
    #[arg(long, value_name = "DIR")]
    pub(super) claude: Option<PathBuf>,
    /// Codex's directory, with the sessions whose `path` begins with sessions/
    #[arg(long, value_name = "DIR")]
    pub(super) codex: Option<PathBuf>,
    /// Compare episodes only, which takes seconds
    #[arg(long)]
    pub(super) without_questions: bool,
    /// Also print each statement with its match (in capitals: what contradicts the gold), each one that is missed, and
    /// each answer
    #[arg(long)]
    pub(super) detail: bool,
    /// Print one JSON object, with all details
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, Args)]
pub(super) struct EnrichArgs {
    /// Sessions in the queue
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(20..=100_000))]
    pub(super) sessions: u32,
    /// Delay of the model's answers, in milliseconds
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(0..=60_000))]
    pub(super) delay_ms: u64,
    /// Another seed gives other sessions
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) seed: u64,
    /// Print one JSON object
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, Args)]
pub(super) struct HookArgs {
    /// Calls of each event in each state of the daemon
    #[arg(long, value_name = "N", default_value_t = 300, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(super) runs: u32,
    /// Sessions for the handoff; 0 leaves it out
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(0..=100_000))]
    pub(super) sessions: u32,
    /// Print one JSON object
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, Args)]
pub(super) struct CrashArgs {
    /// How often a daemon is killed
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    pub(super) kills: u32,
    /// How often the power is cut
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=100_000))]
    pub(super) cuts: u32,
    /// Homes tried concurrently
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(super) homes: u32,
    /// Another seed gives other moments; by default it is taken from the clock, and printed
    #[arg(long, value_name = "N")]
    pub(super) seed: Option<u64>,
    /// Print one JSON object
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, Args)]
pub(super) struct CorpusArgs {
    /// A new directory; transcripts are written below projects/, their description into corpus.json
    #[arg(long, value_name = "DIR")]
    pub(super) into: PathBuf,
    #[command(flatten)]
    pub(super) shape: Shape,
    /// Print one JSON object
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, Args)]
pub(super) struct Shape {
    /// Number of sessions; one in four has a subagent as well
    #[arg(long, value_name = "N", default_value_t = 1500, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(super) sessions: u32,
    /// Size of all transcripts, in MB of 1,000,000 bytes
    #[arg(long, value_name = "N", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub(super) megabytes: u64,
    /// Another seed gives other sessions
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) seed: u64,
    /// Nearly all prose: long prompts and answers, few tool results, no subagents
    #[arg(long)]
    pub(super) dense: bool,
}

#[derive(Debug, Args)]
pub(super) struct PagesArgs {
    #[command(flatten)]
    pub(super) shape: Shape,
    /// Print one JSON object
    #[arg(long)]
    pub(super) json: bool,
}

#[cfg(unix)]
#[derive(Debug, Args)]
pub(super) struct BrowseArgs {
    #[command(flatten)]
    pub(super) shape: Shape,
    /// How often each of two words is typed
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(super) rounds: u32,
    /// Print one JSON object
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, Args)]
pub(super) struct RelayArgs {
    #[command(flatten)]
    pub(super) shape: Shape,
    /// Events for the speed of events
    #[arg(long, value_name = "N", default_value_t = 200_000, value_parser = clap::value_parser!(u64).range(100..=20_000_000))]
    pub(super) events: u64,
    /// Sessions of which each is searched for in the other home
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(super) rounds: u32,
    /// How long idle daemons are watched, in seconds; 0 leaves it out
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(0..=3600))]
    pub(super) seconds: u64,
    /// Print one JSON object
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, Args)]
pub(super) struct MeasureArgs {
    /// An existing corpus, of which a copy is used; by default one is written
    #[arg(long, value_name = "DIR", conflicts_with_all = ["sessions", "megabytes", "dense"])]
    pub(super) corpus: Option<PathBuf>,
    #[command(flatten)]
    pub(super) shape: Shape,
    /// How long `idle` watches and `live` writes, in seconds [default: 20 and 60]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(super) seconds: Option<u64>,
    /// Transcripts for `lazy`
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(10..=200_000))]
    pub(super) files: u32,
    /// Events for `log`
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(100..=20_000_000))]
    pub(super) events: u64,
    /// Print one JSON object
    #[arg(long)]
    pub(super) json: bool,
}
