//! An endpoint of our own making: on this machine, always the same for the same words, and as bad as it is told to be.
//! What is measured or tested with it needs no model and no network. It speaks HTTP/1.1 as far as clients of such an API
//! do, answers `/v1/embeddings` with [`words::vector`], `/v1/chat/completions` with what [`FakeEndpoint::says`] makes of the
//! request, and any path with what [`FakeEndpoint::script`] says.

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

/// Path of the embeddings.
pub const EMBEDDINGS: &str = "/v1/embeddings";
/// Path of the talks.
pub const CHAT: &str = "/v1/chat/completions";
/// Connections at once; further ones are closed.
const CONNECTIONS: usize = 64;
/// Requests that are remembered.
const REMEMBERED: usize = 100_000;

/// A running endpoint; it ends when this is dropped.
pub struct FakeEndpoint {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

/// A request as it came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// `/v1/embeddings`.
    pub path: String,
    /// The header `Authorization`, if there was one.
    pub authorization: Option<String>,
    /// The body.
    pub body: String,
    /// The texts that it asks vectors of, or that are said in it.
    pub texts: Vec<String>,
}

/// Makes what a model says to a request.
type Says = Arc<dyn Fn(&Request) -> String + Send + Sync>;

#[derive(Default)]
struct Shared {
    stopping: AtomicBool,
    told: Mutex<Told>,
    open: Mutex<Vec<TcpStream>>,
}

/// What it was told to do, and what it was asked.
#[derive(Default)]
struct Told {
    next: BTreeMap<String, VecDeque<Fault>>,
    always: BTreeMap<String, Fault>,
    requests: Vec<Request>,
    connections: usize,
    says: Option<Says>,
    /// Requests that are being answered now, and the most that ever were.
    at_once: (usize, usize),
}

impl FakeEndpoint {
    /// Listens on a port of its own choice, of this machine alone.
    pub fn start() -> io::Result<Self> {
        Self::listen(0)
    }

    /// The same on a given port: one that was stopped comes back.
    pub fn listen(port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let (address, shared) = (listener.local_addr()?, Arc::<Shared>::default());
        let accepting = thread::Builder::new().name("fake-endpoint".to_owned()).spawn({
            let shared = shared.clone();
            move || accept(&listener, &shared)
        })?;
        Ok(Self { address, shared, accepting: Some(accepting) })
    }

    /// What goes into `base_url`.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// What the next requests to a path meet, one each; those after them are answered well again.
    pub fn script(&self, path: &str, faults: impl IntoIterator<Item = Fault>) {
        self.shared.told().next.entry(path.to_owned()).or_default().extend(faults);
    }

    /// What every request to a path meets that no script is left for; `None`: it is answered well.
    pub fn always(&self, path: &str, fault: Option<Fault>) {
        let mut told = self.shared.told();
        match fault {
            Some(fault) => drop(told.always.insert(path.to_owned(), fault)),
            None => drop(told.always.remove(path)),
        }
    }

    /// What its model says from now on to whatever it is asked.
    pub fn says(&self, says: impl Fn(&Request) -> String + Send + Sync + 'static) {
        self.shared.told().says = Some(Arc::new(says));
    }

    /// The most requests that it was answering at once.
    pub fn most_at_once(&self) -> usize {
        self.shared.told().at_once.1
    }

    /// All requests so far, whole ones only.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.told().requests.clone()
    }

    /// All texts so far of which vectors were asked.
    pub fn texts(&self) -> Vec<String> {
        self.shared.told().requests.iter().flat_map(|request| request.texts.iter().cloned()).collect()
    }

    /// How many connections were made.
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
        // Wakes who waits for the next one.
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

    /// Remembers a request, and says what it meets.
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

    /// One that was taken in is answered, in whatever way.
    fn is_over(&self) {
        self.told().at_once.0 -= 1;
    }

    /// What the model says.
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
        // Without a thread the connection is closed.
        let _ = thread::Builder::new().name("fake-endpoint".to_owned()).spawn(move || {
            let _ = connection::serve(stream, &shared);
            shared.open().retain(|open| open.peer_addr().is_ok_and(|of| Some(of) != address));
        });
    }
}
