//! `baton mcp`: the daemon's tools over MCP, on standard input and output.
//!
//! A thin client of the daemon. It answers its own client's greeting before a daemon runs, starts one in the
//! background, and forwards each call over a separate connection, so that a daemon that dies or is replaced costs only
//! a delay. It ends when its input does. No other module uses `rmcp`.

mod input;
mod link;
mod listing;
mod presence;
mod progress;
mod server;
mod surrogates;
mod transport;

use std::io::IsTerminal;
use std::time::Duration;

use baton_protocol::tool::Tool;
use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use rmcp::transport::io::stdio_pipes;
use tracing_subscriber::EnvFilter;

use crate::environment::Environment;
use crate::print;

/// How long running calls may take after the input has ended.
const LAST_CALLS: Duration = Duration::from_millis(1500);

/// Reason why the server did not run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The runtime could not be created.
    #[error("cannot serve on standard input and output: {0}")]
    Io(#[from] std::io::Error),
    /// The client does not speak MCP.
    #[error("standard input did not begin with an MCP greeting: {0}")]
    NotGreeted(String),
}

/// Serves until standard input ends. Lists only `tools`, but answers calls of all.
pub fn run(environment: &Environment, tools: Vec<&'static Tool>) -> Result<(), Error> {
    log_to_standard_error();
    if std::io::stdin().is_terminal() {
        print::note("baton mcp speaks MCP on standard input and output; agents start it. Ctrl-D ends it.");
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let served = runtime.block_on(serve(environment, tools));
    // A daemon being started continues on its own.
    runtime.shutdown_background();
    served
}

async fn serve(environment: &Environment, tools: Vec<&'static Tool>) -> Result<(), Error> {
    let (input, output) = stdio_pipes();
    let (input, ended) = input::watch_end(input);
    let server = server::Server::new(environment.clone(), tools);
    server.begin();
    let transport = transport::Lines::new(input, output);
    let answer_stall = transport.answer_stall();
    let serving = match server.serve(transport).await {
        Ok(serving) => serving,
        // The client left without a request.
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(Error::NotGreeted(error.to_string())),
    };
    tokio::select! {
        _ = serving.waiting() => {}
        () = async { ended.reached().await; tokio::time::sleep(LAST_CALLS).await } => {}
        // Unhandled requests may keep us from reading as far as the end of the input.
        () = async { input::writer_closed().await; answer_stall.persists(LAST_CALLS).await } => {}
    }
    Ok(())
}

/// Logs only if `BATON_LOG` is set, because clients take output on standard error for errors.
fn log_to_standard_error() {
    let wanted = std::env::var("BATON_LOG").ok().filter(|filter| !filter.is_empty());
    let Some(filter) = wanted.and_then(|filter| EnvFilter::try_new(filter).ok()) else { return };
    // The library would log requests and answers.
    let quiet = ["rmcp=warn"].into_iter().filter_map(|directive| directive.parse().ok());
    let filter = quiet.fold(filter, EnvFilter::add_directive);
    let _ = tracing_subscriber::fmt().with_env_filter(filter).with_ansi(false).with_writer(std::io::stderr).try_init();
}
