//! The server: starts with the first request for an address and ends after a while without a visible tab.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use baton_protocol::answer;
use baton_queries::DaemonParts;
use baton_queries::page_requests::PageRequest;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedMutexGuard, Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::access::{Access, TOKEN_VALID};
use crate::pages;
use crate::site::Site;

/// Most connections at a time; others wait.
const CONNECTIONS: usize = 64;
/// Longest time for the head of a request, also for the next one of a connection.
const HEAD: Duration = Duration::from_secs(2);
/// Attempts at a port that is free on both loopback addresses, after the first.
const TRIES: u32 = 16;
/// Pause after a connection could not be accepted, for instance because files run out.
const PAUSE: Duration = Duration::from_millis(200);

/// Serves pages while a tab is visible, until the daemon stops.
pub async fn serve(parts: Arc<DaemonParts>) {
    let mut requests = parts.page_requests.take().await;
    let mut stop = parts.stop.subscribe();
    let serving = async {
        while let Some(first) = requests.recv().await {
            match Server::start(parts.clone()).await {
                Ok(server) => server.run(first, &mut requests).await,
                Err(error) => {
                    let _ = first.reply.send(Err(error.to_string()));
                }
            }
        }
    };
    tokio::select! {
        () = serving => {}
        _ = stop.wait_for(|stop| *stop) => {}
    }
}

struct Server {
    site: Arc<Site>,
    listener: Loopback,
    router: Router,
}

/// One port on both loopback addresses. A browser may try either for a name below `localhost`, so no other program may
/// have the port on one of them.
struct Loopback {
    v4: TcpListener,
    /// Absent on a machine without IPv6.
    v6: Option<TcpListener>,
}

impl Loopback {
    async fn bind() -> io::Result<Self> {
        let mut tries = TRIES;
        loop {
            let v4 = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
            match TcpListener::bind((Ipv6Addr::LOCALHOST, v4.local_addr()?.port())).await {
                Ok(v6) => return Ok(Self { v4, v6: Some(v6) }),
                Err(error) if error.kind() != io::ErrorKind::AddrInUse => return Ok(Self { v4, v6: None }),
                Err(error) if tries == 0 => return Err(error),
                Err(_) => tries -= 1,
            }
        }
    }

    async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        match &self.v6 {
            Some(v6) => tokio::select! {
                accepted = self.v4.accept() => accepted,
                accepted = v6.accept() => accepted,
            },
            None => self.v4.accept().await,
        }
    }
}

impl Server {
    async fn start(parts: Arc<DaemonParts>) -> io::Result<Self> {
        let listener = Loopback::bind().await?;
        let access = Access::new(listener.v4.local_addr()?.port());
        let site = Arc::new(Site::new(parts, access));
        tracing::info!(host = site.access.host(), "pages are served");
        Ok(Self { router: pages::router(site.clone()), site, listener })
    }

    /// Answers the first request and the following ones. Returns after a while without a visible tab.
    async fn run(self, first: PageRequest, requests: &mut OwnedMutexGuard<mpsc::Receiver<PageRequest>>) {
        self.answer(first);
        let permits = Arc::new(Semaphore::new(CONNECTIONS));
        // Dropping it ends all connections.
        let mut connections = JoinSet::new();
        loop {
            let idle_at = self.site.idle_at();
            tokio::select! {
                Some(request) = requests.recv() => self.answer(request),
                (stream, permit) = async {
                    // The permits are never closed.
                    let permit = permits.clone().acquire_owned().await;
                    (self.listener.accept().await, permit)
                } => match stream {
                    Ok((stream, _)) => {
                        let connection = converse(stream, self.router.clone());
                        connections.spawn(async move {
                            connection.await;
                            drop(permit);
                        });
                    }
                    Err(error) => {
                        tracing::warn!(%error, "connection of a browser not accepted");
                        tokio::time::sleep(PAUSE).await;
                    }
                },
                Some(_) = connections.join_next() => {}
                () = tokio::time::sleep_until(idle_at) => {
                    if self.site.idle_at() <= Instant::now() {
                        tracing::info!("nobody looks at the pages, they are served no longer");
                        return;
                    }
                }
            }
        }
    }

    fn answer(&self, request: PageRequest) {
        self.site.welcome(request.caller);
        let url = self.site.access.first_address();
        let _ = request.reply.send(Ok(answer::Page { url, valid_seconds: TOKEN_VALID.as_secs() }));
    }
}

async fn converse(stream: TcpStream, router: Router) {
    let served = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    if let Err(error) = served.await {
        tracing::debug!(%error, "connection of a browser ended");
    }
}
