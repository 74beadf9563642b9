//! A connection to a server, and its state as the client library reports it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_nats::Event;
use async_nats::jetstream::context::{Context, ContextBuilder};
use async_nats::jetstream::stream;
use tokio::sync::watch;

use super::address::{Address, sign_in};
use crate::transport::{Error, Pending};

/// Longest wait for an answer of the server.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);
/// How often a silent connection is pinged.
const PING: Duration = Duration::from_secs(20);
/// Reconnection attempts of the client library; bounded, so that an unused connection ends.
const ATTEMPTS: usize = 16;

/// See the module.
#[derive(Clone)]
pub(super) struct Connection {
    pub(super) jetstream: Context,
    link: watch::Receiver<Link>,
}

/// What the client library reports.
#[derive(Clone, Debug, Default)]
struct Link {
    is_lost: bool,
    /// The server's last error.
    said: Option<String>,
}

impl Connection {
    /// Connects.
    ///
    /// # Errors
    ///
    /// If no server is reached, or it refuses.
    pub(super) async fn open(address: &Address, credentials: Option<&Path>) -> Result<Self, Error> {
        let (telling, link) = watch::channel(Link::default());
        let telling = Arc::new(telling);
        let options = sign_in(credentials).await?.name("baton").connection_timeout(PATIENCE).ping_interval(PING);
        let options = options.max_reconnects(ATTEMPTS).event_callback(move |event| {
            telling.send_if_modified(|link| match event {
                Event::Disconnected | Event::Closed => {
                    link.is_lost = true;
                    true
                }
                Event::ServerError(error) => {
                    link.said = Some(error.to_string());
                    false
                }
                _ => false,
            });
            std::future::ready(())
        });
        // Servers that a server announces are not in the address, and might be reached without TLS.
        let options = options.ignore_discovered_servers().require_tls(address.is_tls);
        let connected = options.connect(address.servers.clone()).await;
        let client = connected.map_err(|error| Error::Unavailable(format!("{}: {error}", address.shown)))?;
        let jetstream = ContextBuilder::new().timeout(PATIENCE).ack_timeout(PATIENCE).build(client);
        Ok(Self { jetstream, link })
    }

    /// Opens a stream.
    ///
    /// # Errors
    ///
    /// If it does not exist, or may not be read.
    pub(super) async fn stream(&self, name: &str) -> Result<stream::Stream, Error> {
        let opened = self.jetstream.get_stream(name).await.map_err(|error| self.failed(error));
        opened.map_err(|why| Error::Unavailable(format!("the team's stream {name} cannot be opened: {why}")))
    }

    /// Resolves when the connection is lost.
    pub(super) async fn lost(&self) {
        // Also if the reporter is gone.
        let _ = self.link.clone().wait_for(|link| link.is_lost).await;
    }

    /// Runs work that fails once the connection is lost.
    pub(super) fn run<'a, T>(&'a self, work: impl Future<Output = Result<T, Error>> + Send + 'a) -> Pending<'a, T> {
        Box::pin(async move {
            tokio::select! {
                biased;
                () = self.lost() => Err(self.failed("the connection to the server is lost")),
                done = work => done,
            }
        })
    }

    /// The error of a failed request, with the server's last error.
    pub(super) fn failed(&self, error: impl ToString) -> Error {
        let (error, said) = (error.to_string(), self.link.borrow().said.clone());
        Error::Unavailable(match said {
            Some(said) if !error.contains(&said) => format!("{error} (the server: {said})"),
            _ => error,
        })
    }
}
