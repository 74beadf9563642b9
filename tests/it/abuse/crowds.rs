//! Many connections at once, and slow clients.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use super::Abused;
use crate::sockets::Raw;
use crate::world::{DEADLINE, say};

/// Opens `count` connections, or fewer if the test may open no more files.
fn connections(abused: &Abused, count: usize) -> Vec<UnixStream> {
    let socket = abused.world.home().join("baton.sock");
    let mut streams = Vec::new();
    for number in 0..count {
        match UnixStream::connect(&socket) {
            Ok(stream) => streams.push(stream),
            Err(error) => {
                say(&format!("only {number} of {count} connections: {error}"));
                break;
            }
        }
    }
    streams
}

#[test]
fn a_thousand_connections_keep_nobody_out() {
    let abused = Abused::new();
    let mut held = Vec::new();
    for silent in [true, false, true, false] {
        let mut some = connections(&abused, 250);
        if !silent {
            for stream in &mut some {
                // A connection that was already closed cannot greet.
                let _ = stream
                    .write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"hello\",\"params\":{\"protocol\":1}}\n");
            }
        }
        held.append(&mut some);
        abused.serves();
    }
    assert!(held.len() > 600, "{}", held.len());
    let files = abused.open_files();
    assert!(files < abused.files + 600, "{files} open files for {} connections", held.len());
    drop(held);
    abused.check();
}

#[test]
fn who_sends_a_byte_at_a_time_is_let_go_at_the_deadline_of_the_line() {
    let abused = Abused::new();
    let greeted = Raw::greeted(&abused.world);
    let mut slow = connections(&abused, 30);
    slow.push(greeted.stream().try_clone().unwrap());
    for stream in &slow {
        stream.set_nonblocking(true).unwrap();
    }
    let line =
        br#"{"jsonrpc":"2.0","id":1,"method":"hello","params":{"protocol":1,"version":"0.0.1","client":"test"}}"#;
    let begun = Instant::now();
    // Ten bytes a second, so that the 99 bytes of the line take longer than the deadline for a line.
    for byte in line.iter().cycle() {
        slow.retain_mut(|stream| {
            let sent = stream.write_all(&[*byte]);
            let hung_up = matches!(stream.read(&mut [0; 256]), Ok(0));
            sent.is_ok() && !hung_up
        });
        if slow.is_empty() {
            break;
        }
        assert!(begun.elapsed() < DEADLINE, "{} are still there", slow.len());
        std::thread::sleep(Duration::from_millis(100));
    }
    // The deadline was the reason: before it, the connections were open.
    assert!(begun.elapsed() > Duration::from_secs(4), "{:?}", begun.elapsed());
    abused.check();
}

#[test]
fn who_says_no_more_still_gets_the_answer() {
    let abused = Abused::new();
    for round in 0..20 {
        let mut raw = Raw::greeted(&abused.world);
        raw.send(b"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"search\",\"params\":{\"query\":\"sloth\"}}\n");
        raw.stream().shutdown(std::net::Shutdown::Write).unwrap();
        let answer = raw.line().expect("an answer");
        assert!(answer["result"]["hits"][0].is_object(), "round {round}: {answer}");
        assert!(raw.line().is_none(), "and then it is hung up on");
    }
    // Clients that do not read their answers either.
    for _ in 0..20 {
        let mut raw = Raw::greeted(&abused.world);
        raw.stream().shutdown(std::net::Shutdown::Read).unwrap();
        raw.send(b"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"status\"}\n");
    }
    abused.check();
}
