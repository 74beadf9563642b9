//! The daemon's process: one per home, until somebody stops it.
//!
//! `baton daemon --foreground` runs here; every other command starts `baton daemon --detached`, which is the same but for
//! where it writes. The first line of a detached daemon's output says that it is ready, or why it is not.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use baton_actors::System;
use baton_actors::system::{Options, StartError};
use baton_base::clock::SystemClock;
use baton_base::io_remedy::Obstacle;
use baton_base::lock::HomeLock;
use baton_config::settings::Settings;
use tokio::sync::watch;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::writer::BoxMakeWriter;

use crate::environment::Environment;
use crate::logfile::LogFile;

/// What a detached daemon writes when clients may come.
pub const READY: &str = "ready";

/// How a daemon is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// In a terminal, writing its log there too.
    Foreground,
    /// On its own.
    Detached,
    /// On its own, in a home that goes with it, and only as long as its standard input is open.
    Throwaway,
    /// On its own, only as long as its standard input is open; the home stays.
    Leashed,
}

/// Why a daemon did not run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It could not be started.
    #[error(transparent)]
    Start(#[from] StartError),
    /// Its log file, runtime or signals.
    #[error("cannot {what}: {source}; {}", Obstacle::from_error(source).remedy())]
    Io {
        /// What was tried.
        what: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
}

/// Runs until a signal, `baton stop` or, for a throwaway one, the end of its input.
pub fn run(environment: &Environment, mode: Mode) -> Result<(), Error> {
    let home = &environment.home;
    let io = |what| move |source| Error::Io { what, source };
    // Whatever is created below is this user's alone, whoever creates it.
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
    // The home is given back only when no job writes there any more.
    runtime.shutdown_timeout(std::time::Duration::from_secs(1));
    if mode == Mode::Throwaway {
        let _ = std::fs::remove_dir_all(home);
    }
    served.map(drop)
}

async fn serve(environment: &Environment, mode: Mode) -> Result<HomeLock, Error> {
    // What holds where the home's configuration says nothing.
    let (_settings, settings) = watch::channel(Arc::new(Settings::default()));
    // Before anything that would have to be put in order again.
    let signals = Signals::listen().map_err(|source| Error::Io { what: "listen for signals", source })?;
    let system = System::start(Options {
        home: environment.home.clone(),
        roots: environment.roots(),
        settings: settings.into(),
        clock: Arc::new(SystemClock::default()),
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
        () = end_of_input(mode) => tracing::info!("whoever started this daemon is gone"),
        reason = system.lost() => {
            tracing::error!(%reason, "the daemon ends at once; the next command starts a new one");
            // Taking it down in order would write to a home that may be another's by now.
            std::process::exit(1);
        }
    }
    Ok(system.stop().await)
}

/// Tells whoever started the daemon, if that one still waits for it.
fn say_ready() {
    let mut output = std::io::stdout();
    let _ = writeln!(output, "{READY}").and_then(|()| output.flush());
}

/// Leaves the session of whoever started it, so that closing a terminal does not end it, and its directory, so that it
/// can be unmounted.
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
    // Where, not what: a panic's message may quote the text it stumbled over.
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map_or_else(String::new, ToString::to_string);
        tracing::error!(%place, "panic");
    }));
    Ok(())
}

/// What asks a process to end.
#[cfg(unix)]
struct Signals {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    /// From now on a signal does not end the process by itself.
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

/// Completes when whoever holds the other end of a throwaway or leashed daemon's input has gone.
async fn end_of_input(mode: Mode) {
    if !matches!(mode, Mode::Throwaway | Mode::Leashed) {
        return std::future::pending().await;
    }
    let (ended, end) = tokio::sync::oneshot::channel();
    // A thread of its own: reading standard input cannot be cancelled and must not hold up the runtime's end.
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        let _ = ended.send(());
    });
    let _ = end.await;
}
