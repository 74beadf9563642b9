//! One connection, whose requests are answered one after another.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::thread;

use serde_json::{Value, json};

use super::fault::Fault;
use super::{CHAT, EMBEDDINGS, Request, Shared, chat, words};

/// Longest line of a head, and most lines.
const LINE_BYTES: u64 = 16 * 1024;
const LINES: usize = 100;
/// Largest body of a request, in bytes.
const BODY_BYTES: usize = 64 * 1024 * 1024;
/// Most dimensions of a vector.
const DIMENSIONS_MAX: usize = 65_536;

/// Size of the pieces of a trickling answer.
const TRICKLE_BYTES: usize = 64;

/// Marks a request as finished when dropped.
struct RequestGuard<'a>(&'a Shared);

impl Drop for RequestGuard<'_> {
    fn drop(&mut self) {
        self.0.finish_request();
    }
}

/// Serves a connection until the client closes it or a fault ends it.
pub(super) fn serve(stream: TcpStream, shared: &Shared) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut writer = stream;
    while let Some(request) = read(&mut reader)? {
        let fault = shared.record_request(&request);
        let guard = RequestGuard(shared);
        match fault {
            Some(Fault::Hang) => {
                // Until either side closes the connection.
                let _ = reader.read(&mut [0; 64]);
                return Ok(());
            }
            Some(Fault::Reset) => return writer.shutdown(Shutdown::Both),
            Some(Fault::Endless) => {
                write!(writer, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{{\"data\":[")?;
                loop {
                    writer.write_all(b" ")?;
                    writer.flush()?;
                    thread::sleep(std::time::Duration::from_millis(5));
                }
            }
            Some(Fault::Torn) => {
                write!(writer, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{{\"data\":[")?;
                return writer.shutdown(Shutdown::Both);
            }
            Some(Fault::Garbage(bytes)) => {
                write!(writer, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{{\"data\":\"")?;
                let block = [b'x'; 4096];
                for _ in 0..bytes.div_ceil(block.len()) {
                    writer.write_all(&block)?;
                }
                return Ok(());
            }
            fault => {
                if let Some(Fault::Slow(late)) = &fault {
                    thread::sleep(*late);
                }
                let (status, retry_after, body) = answer(&request, fault.as_ref(), shared);
                let again = retry_after.map(|after| format!("Retry-After: {after}\r\n")).unwrap_or_default();
                let length = body.len();
                let head = format!("HTTP/1.1 {status} Status\r\nContent-Length: {length}\r\n{again}\r\n");
                if let Some(Fault::Trickle(pause)) = fault {
                    writer.write_all(head.as_bytes())?;
                    for piece in body.as_bytes().chunks(TRICKLE_BYTES) {
                        thread::sleep(pause);
                        writer.write_all(piece)?;
                    }
                } else {
                    // Before the answer is sent, because the client may ask again at once.
                    drop(guard);
                    writer.write_all(&[head.as_bytes(), body.as_bytes()].concat())?;
                }
            }
        }
    }
    Ok(())
}

/// Reads a whole request; `None` at the end of the connection.
fn read(reader: &mut BufReader<TcpStream>) -> io::Result<Option<Request>> {
    let mut line = || -> io::Result<String> {
        let mut line = String::new();
        reader.by_ref().take(LINE_BYTES).read_line(&mut line)?;
        Ok(line)
    };
    let first = line()?;
    let Some(path) = first.split(' ').nth(1) else { return Ok(None) };
    let mut request = Request { path: path.to_owned(), ..Request::default() };
    let mut length = 0;
    for _ in 0..LINES {
        let line = line()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        match name.to_ascii_lowercase().as_str() {
            "authorization" => request.authorization = Some(value.trim().to_owned()),
            "content-length" => length = value.trim().parse().unwrap_or(0),
            _ => {}
        }
    }
    let mut body = vec![0; BODY_BYTES.min(length)];
    reader.read_exact(&mut body)?;
    request.body = String::from_utf8_lossy(&body).into_owned();
    let asked: Value = serde_json::from_str(&request.body).unwrap_or_default();
    request.texts = match &asked["input"] {
        Value::String(text) => vec![text.clone()],
        Value::Array(texts) => texts.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => {
            let said = asked["messages"].as_array().into_iter().flatten();
            said.filter_map(|said| said["content"].as_str()).map(str::to_owned).collect()
        }
    };
    Ok(Some(request))
}

/// Status, `Retry-After` and body of an answer.
fn answer(request: &Request, fault: Option<&Fault>, shared: &Shared) -> (u16, Option<String>, String) {
    let error = |status: u16, message: String| (status, None, json!({"error": {"message": message}}).to_string());
    match fault {
        Some(Fault::Answer { status, retry_after, body }) => (*status, retry_after.clone(), body.clone()),
        Some(Fault::EchoKey) => {
            let key = request.authorization.clone().unwrap_or_default();
            error(401, format!("Incorrect API key provided: {key}."))
        }
        Some(Fault::EchoKeyBehindSuccess) => {
            let message = format!("wrong key: {}", request.authorization.clone().unwrap_or_default());
            (200, None, json!({"error": {"message": message, "code": 401}}).to_string())
        }
        Some(Fault::EchoTexts) => error(400, format!("invalid input: {}", request.texts.join(", "))),
        _ if request.path == EMBEDDINGS => (200, None, embeddings(request, fault)),
        _ if request.path == CHAT => (200, None, chat::answer(request, &shared.model_text(request), fault)),
        _ => error(404, format!("there is no {}", request.path)),
    }
}

fn embeddings(request: &Request, fault: Option<&Fault>) -> String {
    let asked: Value = serde_json::from_str(&request.body).unwrap_or_default();
    let wanted = asked["dimensions"].as_u64().and_then(|count| usize::try_from(count).ok());
    let dimensions = match fault {
        Some(Fault::Dimensions(count)) => *count,
        _ => wanted.unwrap_or(words::DIMENSIONS),
    };
    let dimensions = dimensions.min(DIMENSIONS_MAX);
    let count = match fault {
        Some(Fault::Count(count)) => *count,
        _ => request.texts.len(),
    };
    let mut rows: Vec<Value> = (0..count)
        .map(|at| {
            let mut vector = words::vector(request.texts.get(at).map_or("", String::as_str), dimensions);
            if fault == Some(&Fault::Zeros) {
                vector.fill(0.0);
            }
            let mut row = json!({"object": "embedding", "index": at, "embedding": vector});
            if fault == Some(&Fault::Null) {
                row["embedding"][0] = Value::Null;
            }
            row
        })
        .collect();
    if fault == Some(&Fault::Reversed) {
        rows.reverse();
    }
    if fault == Some(&Fault::Bare) {
        for row in &mut rows {
            *row = json!({"embedding": row["embedding"]});
        }
        return json!({"data": rows}).to_string();
    }
    let tokens: usize = request.texts.iter().map(|text| words::count(text)).sum();
    let usage = json!({"prompt_tokens": tokens, "total_tokens": tokens});
    let answer = json!({"object": "list", "data": rows, "model": asked["model"], "usage": usage}).to_string();
    match fault {
        Some(Fault::NaN) => answer.replacen("\"embedding\":[", "\"embedding\":[NaN,", 1),
        _ => answer,
    }
}
