//! A fake model endpoint on this machine, for tests and benchmarks without a model or a network. It is deterministic,
//! and misbehaves as told. It speaks as much HTTP/1.1 as clients of such an API need. It answers `/v1/embeddings` with
//! [`words::vector`], `/v1/chat/completions` with what [`FakeEndpoint::says`] makes of the request, and any path as
//! [`FakeEndpoint::script`] says.

mod chat;
mod connection;
mod fault;
pub mod nats;
pub mod words;

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};

pub use fault::Fault;

/// Path of embeddings requests.
pub const EMBEDDINGS: &str = "/v1/embeddings";
/// Path of chat requests.
pub const CHAT: &str = "/v1/chat/completions";
/// Most concurrent connections; further ones are closed.
const CONNECTIONS: usize = 64;
/// Most requests that are remembered.
const REMEMBERED: usize = 100_000;

/// A running endpoint; dropping it stops it.
pub struct FakeEndpoint {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

/// A received request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// The path, such as `/v1/embeddings`.
    pub path: String,
    /// The `Authorization` header, if there was one.
    pub authorization: Option<String>,
    /// The body.
    pub body: String,
    /// The texts to embed, or the contents of the chat messages.
    pub texts: Vec<String>,
}

/// Makes the model's answer to a request.
type Says = Arc<dyn Fn(&Request) -> String + Send + Sync>;

#[derive(Default)]
struct Shared {
    stopping: AtomicBool,
    state: Mutex<State>,
    open: Mutex<Vec<TcpStream>>,
}

/// The settings of an endpoint and its received requests.
#[derive(Default)]
struct State {
    next: BTreeMap<String, VecDeque<Fault>>,
    always: BTreeMap<String, Fault>,
    requests: Vec<Request>,
    connections: usize,
    says: Option<Says>,
    /// Requests being answered now, and the most so far.
    at_once: (usize, usize),
}

impl FakeEndpoint {
    /// Listens on a free port of the loopback interface.
    pub fn start() -> io::Result<Self> {
        Self::listen(0)
    }

    /// Listens on a given port, such as that of a stopped endpoint.
    pub fn listen(port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let (address, shared) = (listener.local_addr()?, Arc::<Shared>::default());
        let accepting = thread::Builder::new().name("fake-endpoint".to_owned()).spawn({
            let shared = shared.clone();
            move || accept(&listener, &shared)
        })?;
        Ok(Self { address, shared, accepting: Some(accepting) })
    }

    /// The value for `base_url`.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Adds faults for the next requests to a path, one each. Later requests get good answers again.
    pub fn script(&self, path: &str, faults: impl IntoIterator<Item = Fault>) {
        self.shared.state().next.entry(path.to_owned()).or_default().extend(faults);
    }

    /// Sets the fault for all requests to a path without a scripted one; `None` for good answers.
    pub fn always(&self, path: &str, fault: Option<Fault>) {
        let mut state = self.shared.state();
        match fault {
            Some(fault) => drop(state.always.insert(path.to_owned(), fault)),
            None => drop(state.always.remove(path)),
        }
    }

    /// Sets how the model answers chat requests from now on.
    pub fn says(&self, says: impl Fn(&Request) -> String + Send + Sync + 'static) {
        self.shared.state().says = Some(Arc::new(says));
    }

    /// Most requests that were answered concurrently.
    pub fn most_at_once(&self) -> usize {
        self.shared.state().at_once.1
    }

    /// All complete requests so far.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.state().requests.clone()
    }

    /// The texts of all requests so far.
    pub fn texts(&self) -> Vec<String> {
        self.shared.state().requests.iter().flat_map(|request| request.texts.iter().cloned()).collect()
    }

    /// Number of connections so far.
    pub fn connections(&self) -> usize {
        self.shared.state().connections
    }
}

impl Drop for FakeEndpoint {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::SeqCst);
        for stream in self.shared.open().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
        // Wakes the thread that accepts connections.
        let woken = TcpStream::connect(self.address).is_ok();
        if let Some(accepting) = self.accepting.take().filter(|_| woken) {
            let _ = accepting.join();
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn open(&self) -> MutexGuard<'_, Vec<TcpStream>> {
        self.open.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Remembers a request and returns its fault, if there is one.
    fn record_request(&self, request: &Request) -> Option<Fault> {
        let mut state = self.state();
        if state.requests.len() < REMEMBERED {
            state.requests.push(request.clone());
        }
        state.at_once.0 += 1;
        state.at_once.1 = state.at_once.1.max(state.at_once.0);
        let next = state.next.get_mut(&request.path).and_then(VecDeque::pop_front);
        next.or_else(|| state.always.get(&request.path).cloned())
    }

    /// Notes that a request is finished, however it was answered.
    fn finish_request(&self) {
        self.state().at_once.0 -= 1;
    }

    /// The model's answer.
    fn model_text(&self, request: &Request) -> String {
        let says = self.state().says.clone();
        says.map_or_else(|| chat::default_summary(request), |says| says(request))
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    while let Ok((stream, _)) = listener.accept() {
        if shared.stopping.load(Ordering::SeqCst) {
            return;
        }
        let Ok(other) = stream.try_clone() else { continue };
        let address = stream.peer_addr().ok();
        {
            let mut open = shared.open();
            if open.len() >= CONNECTIONS {
                continue;
            }
            open.push(other);
        }
        shared.state().connections += 1;
        let shared = shared.clone();
        // If no thread can be started, the connection is closed.
        let _ = thread::Builder::new().name("fake-endpoint".to_owned()).spawn(move || {
            let _ = connection::serve(stream, &shared);
            shared.open().retain(|open| open.peer_addr().is_ok_and(|of| Some(of) != address));
        });
    }
}
