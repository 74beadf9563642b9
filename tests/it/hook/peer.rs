//! A process that listens in place of the daemon.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use serde_json::{Value, json};

/// The way in which it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// Like a daemon that has nothing to say.
    Taken,
    /// Like a daemon that returns context.
    Context,
    /// Like a daemon that did not record the event.
    Refusal,
    /// Like a daemon of another protocol version.
    OtherVersion,
    /// Lines that are not answers.
    Garbage,
    /// An endless answer.
    Flood,
    /// Closes the connection.
    HangsUp,
    /// Never answers.
    Nothing,
}

impl Answer {
    /// True if a hook accepts it as the daemon.
    pub(super) fn is_proper(self) -> bool {
        matches!(self, Self::Taken | Self::Context)
    }
}

/// Listens until it is dropped.
pub(super) struct Peer {
    path: std::path::PathBuf,
    ends: Arc<AtomicBool>,
    counts: Arc<Counts>,
    listening: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Counts {
    hellos: Mutex<Vec<Value>>,
    calls: AtomicUsize,
    times: AtomicUsize,
}

impl Peer {
    pub(super) fn listen(path: &Path, answer: Answer) -> Self {
        use std::os::unix::fs::DirBuilderExt;
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path.parent().unwrap()).unwrap();
        let listener = UnixListener::bind(path).unwrap();
        let (ends, counts) = (Arc::new(AtomicBool::new(false)), Arc::new(Counts::default()));
        let (is_over, counting) = (ends.clone(), counts.clone());
        let listening = thread::spawn(move || {
            let mut served = Vec::new();
            let mut held = Vec::new();
            while let Ok((stream, _)) = listener.accept() {
                if is_over.load(Ordering::SeqCst) {
                    break;
                }
                let counting = counting.clone();
                match answer {
                    Answer::Nothing => held.push(stream),
                    answer => served.push(thread::spawn(move || serve(stream, answer, &counting))),
                }
            }
            drop(held);
            served.into_iter().for_each(|served| served.join().unwrap());
        });
        Self { path: path.to_owned(), ends, counts, listening: Some(listening) }
    }

    /// The first message of each connection so far.
    pub(super) fn hellos(&self) -> Vec<Value> {
        self.counts.hellos.lock().unwrap().clone()
    }

    /// Number of events received so far.
    pub(super) fn calls(&self) -> usize {
        self.counts.calls.load(Ordering::SeqCst)
    }

    /// Number of events received, and number of reports on how long an event took.
    pub(super) fn end(mut self) -> (usize, usize) {
        self.stop();
        (self.counts.calls.load(Ordering::SeqCst), self.counts.times.load(Ordering::SeqCst))
    }

    fn stop(&mut self) {
        self.ends.store(true, Ordering::SeqCst);
        let _ = UnixStream::connect(&self.path);
        if let Some(listening) = self.listening.take() {
            let _ = listening.join();
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.stop();
    }
}

fn serve(stream: UnixStream, answer: Answer, counts: &Counts) {
    let say = |line: &str| {
        // The hook may have gone.
        let _ = (&stream).write_all(format!("{line}\n").as_bytes());
    };
    match answer {
        Answer::HangsUp => return,
        Answer::Garbage => say("HTTP/1.1 400 Bad Request"),
        Answer::Flood => {
            let piece = vec![b'x'; 64 * 1024];
            while (&stream).write_all(&piece).is_ok() {}
            return;
        }
        _ => {}
    }
    for line in BufReader::new(&stream).lines().map_while(Result::ok) {
        let Ok(said) = serde_json::from_str::<Value>(&line) else { continue };
        let protocol = if answer == Answer::OtherVersion { 7 } else { 1 };
        let result = match said["method"].as_str().unwrap_or_default() {
            "hello" => {
                counts.hellos.lock().unwrap().push(said["params"].clone());
                json!({"protocol": protocol, "version": "9.9.9", "pid": 1})
            }
            "hook" => {
                assert!(!line.contains("walrus"), "words of a prompt were told: {line}");
                counts.calls.fetch_add(1, Ordering::SeqCst);
                match answer {
                    Answer::Context => json!({"status": "recorded", "context": "\"one\"\nand two"}),
                    _ => json!({"status": "accepted"}),
                }
            }
            "hook/took" => {
                assert!(said["params"]["us"].as_u64().is_some_and(|us| us > 0), "{said}");
                counts.times.fetch_add(1, Ordering::SeqCst);
                continue;
            }
            other => panic!("{other} was called"),
        };
        match answer {
            Answer::Refusal if said["method"] == "hook" => {
                say(&json!({"jsonrpc": "2.0", "id": said["id"], "error": {"code": -32603, "message": "no"}})
                    .to_string());
            }
            _ => say(&json!({"jsonrpc": "2.0", "id": said["id"], "result": result}).to_string()),
        }
    }
}
