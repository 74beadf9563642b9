//! A fake model endpoint on this machine, for tests and benchmarks without a model or a network. It is deterministic,
//! and misbehaves as told. It speaks as much HTTP/1.1 as clients of such an API need. It answers `/v1/embeddings` with
//! [`words::vector`], `/v1/chat/completions` with what [`FakeEndpoint::says`] makes of the request, and any path as
//! [`FakeEndpoint::script`] says.

mod chat;
mod connection;
mod fault;
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
    told: Mutex<Told>,
    open: Mutex<Vec<TcpStream>>,
}

/// The settings of an endpoint and its received requests.
#[derive(Default)]
struct Told {
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
        self.shared.told().next.entry(path.to_owned()).or_default().extend(faults);
    }

    /// Sets the fault for all requests to a path without a scripted one; `None` for good answers.
    pub fn always(&self, path: &str, fault: Option<Fault>) {
        let mut told = self.shared.told();
        match fault {
            Some(fault) => drop(told.always.insert(path.to_owned(), fault)),
            None => drop(told.always.remove(path)),
        }
    }

    /// Sets how the model answers chat requests from now on.
    pub fn says(&self, says: impl Fn(&Request) -> String + Send + Sync + 'static) {
        self.shared.told().says = Some(Arc::new(says));
    }

    /// Most requests that were answered concurrently.
    pub fn most_at_once(&self) -> usize {
        self.shared.told().at_once.1
    }

    /// All complete requests so far.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.told().requests.clone()
    }

    /// The texts of all requests so far.
    pub fn texts(&self) -> Vec<String> {
        self.shared.told().requests.iter().flat_map(|request| request.texts.iter().cloned()).collect()
    }

    /// Number of connections so far.
    pub fn connections(&self) -> usize {
        self.shared.told().connections
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
    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn open(&self) -> MutexGuard<'_, Vec<TcpStream>> {
        self.open.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Remembers a request and returns its fault, if there is one.
    fn take_in(&self, request: &Request) -> Option<Fault> {
        let mut told = self.told();
        if told.requests.len() < REMEMBERED {
            told.requests.push(request.clone());
        }
        told.at_once.0 += 1;
        told.at_once.1 = told.at_once.1.max(told.at_once.0);
        let next = told.next.get_mut(&request.path).and_then(VecDeque::pop_front);
        next.or_else(|| told.always.get(&request.path).cloned())
    }

    /// Notes that a request is finished, however it was answered.
    fn is_over(&self) {
        self.told().at_once.0 -= 1;
    }

    /// The model's answer.
    fn said(&self, request: &Request) -> String {
        let says = self.told().says.clone();
        says.map_or_else(|| chat::usual(request), |says| says(request))
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
        shared.told().connections += 1;
        let shared = shared.clone();
        // If no thread can be started, the connection is closed.
        let _ = thread::Builder::new().name("fake-endpoint".to_owned()).spawn(move || {
            let _ = connection::serve(stream, &shared);
            shared.open().retain(|open| open.peer_addr().is_ok_and(|of| Some(of) != address));
        });
    }
}
