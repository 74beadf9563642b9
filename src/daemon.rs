//! The daemon's process: one per home, until it is stopped.
//!
//! `baton daemon --foreground` runs here. Every other command starts `baton daemon --detached`, which differs in where
//! it writes and in that it replaces directories that must not be read, see [`environment::for_daemon`]. The first line of
//! a detached daemon's output says that it is ready, or why it is not.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use baton_actors::System;
use baton_actors::system::{Options, StartError};
use baton_base::clock::SystemClock;
use baton_base::io_remedy::IoCause;
use baton_base::lock::HomeLock;
use baton_config::settings::Settings;
use tokio::sync::watch;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::writer::BoxMakeWriter;

use crate::environment::{self, Environment};
use crate::logfile::LogFile;

/// Printed by a detached daemon when clients can connect.
pub const READY: &str = "ready";

/// How a daemon runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// In a terminal, which also shows its log.
    Foreground,
    /// Detached from its starter.
    Detached,
    /// Detached, while its standard input is open; removes its home when it exits.
    Throwaway,
    /// Detached, while its standard input is open; keeps its home.
    Leashed,
}

/// Reason why a daemon did not run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It could not be started.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The log file, the runtime or the signal handlers failed.
    #[error("cannot {what}: {source}; {}", IoCause::from_error(source).remedy())]
    Io {
        /// The action that failed.
        what: &'static str,
        /// The system's error.
        source: std::io::Error,
    },
}

/// Runs until a signal, `baton stop` or, in the modes bound to it, the end of standard input.
pub fn run(environment: &Environment, mode: Mode) -> Result<(), Error> {
    let home = &environment.home;
    let io = |what| move |source| Error::Io { what, source };
    // All files created from here on are accessible to this user only.
    #[cfg(unix)]
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    baton_base::durable::create_private_folder(home).map_err(io("create BATON_HOME"))?;
    if mode != Mode::Foreground {
        detach(home);
    }
    log_to(environment, mode).map_err(io("write daemon.log in BATON_HOME"))?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(baton_base::limits::BLOCKING_THREADS)
        .thread_name("baton")
        .enable_all()
        .build()
        .map_err(io("start threads"))?;
    let served = runtime.block_on(serve(environment, mode));
    // Release the home's lock only when no job writes there any more.
    runtime.shutdown_timeout(std::time::Duration::from_secs(1));
    if mode == Mode::Throwaway {
        let _ = std::fs::remove_dir_all(home);
    }
    served.map(drop)
}

async fn serve(environment: &Environment, mode: Mode) -> Result<HomeLock, Error> {
    // Defaults, used where the home's configuration sets nothing.
    let (_settings, settings) = watch::channel(Arc::new(Settings::default()));
    // Before anything that needs an orderly shutdown.
    let signals = Signals::listen().map_err(|source| Error::Io { what: "listen for signals", source })?;
    let system = System::start(Options {
        home: environment.home.clone(),
        roots: environment::roots(environment),
        settings: settings.into(),
        clock: Arc::new(SystemClock::with_zone(crate::environment::zone::rule())),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    })
    .await
    .inspect_err(|error| tracing::error!(%error, "daemon not started"))?;
    if mode != Mode::Foreground {
        say_ready();
    }
    tokio::select! {
        () = system.stop_asked() => {}
        () = signals.received() => tracing::info!("signal received"),
        () = end_of_input(mode) => tracing::info!("the process that started this daemon is gone"),
        reason = system.lost() => {
            tracing::error!(%reason, "the daemon ends at once; the next command starts a new one");
            // An orderly shutdown would write to a home that another daemon may hold by now.
            std::process::exit(1);
        }
    }
    Ok(system.stop().await)
}

/// Tells the starting process that the daemon is ready; it may have gone.
fn say_ready() {
    let mut output = std::io::stdout();
    let _ = writeln!(output, "{READY}").and_then(|()| output.flush());
}

/// Leaves the terminal's session, so that closing the terminal does not end the daemon, and the working directory, so
/// that its file system can be unmounted.
fn detach(home: &Path) {
    #[cfg(unix)]
    let _ = rustix::process::setsid();
    let _ = std::env::set_current_dir(home);
}

fn log_to(environment: &Environment, mode: Mode) -> std::io::Result<()> {
    let file = LogFile::open(&environment.log_file())?;
    let filter = EnvFilter::try_from_env("BATON_LOG").unwrap_or_else(|_| EnvFilter::new("info,tantivy=warn"));
    let writer = match mode {
        Mode::Foreground => {
            use tracing_subscriber::fmt::writer::MakeWriterExt;
            BoxMakeWriter::new(file.and(std::io::stderr))
        }
        _ => BoxMakeWriter::new(file),
    };
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(false)
        .with_writer(writer)
        .log_internal_errors(false);
    // A second daemon in one process (in a test) keeps the first one's log.
    let _ = subscriber.try_init();
    // Log the location only: a panic's message may quote a conversation.
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map_or_else(String::new, ToString::to_string);
        tracing::error!(%place, "panic");
    }));
    Ok(())
}

/// Signals that ask the process to end.
#[cfg(unix)]
struct Signals {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    /// Installs the handlers; a signal no longer kills the process.
    fn listen() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    async fn received(mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn listen() -> std::io::Result<Self> {
        Ok(Self)
    }

    async fn received(self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// Resolves when standard input of a throwaway or leashed daemon ends.
async fn end_of_input(mode: Mode) {
    if !matches!(mode, Mode::Throwaway | Mode::Leashed) {
        return std::future::pending().await;
    }
    let (ended, end) = tokio::sync::oneshot::channel();
    // A separate thread, because a read of standard input cannot be cancelled and must not delay the runtime's
    // shutdown.
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        let _ = ended.send(());
    });
    let _ = end.await;
}
