//! Input that is not a request: endless bytes, and meaningless ones.

use std::io::Write;

use super::Abused;
use crate::sockets::Raw;

/// Pseudo-random bytes, the same in each run.
struct Noise(u64);

impl Noise {
    fn byte(&mut self) -> u8 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.to_le_bytes()[3]
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.byte()).collect()
    }
}

#[test]
fn a_line_of_a_hundred_megabytes_is_not_taken() {
    let abused = Abused::new();
    let block = vec![b'x'; 1024 * 1024];
    for greeted in [false, true] {
        let mut raw = if greeted { Raw::greeted(&abused.world) } else { Raw::connect(&abused.world) };
        let taken = (0..100).take_while(|_| raw.stream().write_all(&block).is_ok()).count();
        assert!(taken < 8, "greeted {greeted}: {taken} MB were taken");
        // The answer is lost if we were still sending; there is never more than one.
        if let Some(answer) = raw.line() {
            assert_eq!(super::code(&answer), -32_002, "{answer}");
            assert!(raw.line().is_none());
        }
    }
    abused.check();
}

#[test]
fn binary_noise_is_answered_or_hung_up_on() {
    let abused = Abused::new();
    let mut noise = Noise(0x9E37_79B9_7F4A_7C15);
    for round in 0..60 {
        let mut raw = if round % 2 == 0 { Raw::greeted(&abused.world) } else { Raw::connect(&abused.world) };
        let bytes = noise.bytes(20_000);
        let sent = raw.stream().write_all(&bytes);
        let good = serde_json::json!({"jsonrpc": "2.0", "id": round, "method": "status"});
        let _ = raw.stream().write_all(format!("\n{good}\n").as_bytes());
        let _ = raw.stream().shutdown(std::net::Shutdown::Write);
        let (mut answers, mut is_served) = (0, false);
        while let Some(answer) = raw.line() {
            if answer["id"] == round {
                assert!(answer["result"].is_object(), "{answer}");
                is_served = true;
                continue;
            }
            assert!([-32_700, -32_600].contains(&super::code(&answer)), "{answer}");
            answers += 1;
        }
        // A greeted connection continues after each bad line; one that was not greeted is closed after its first,
        // possibly before its answer is read.
        let lines = 1 + bytes.iter().filter(|byte| **byte == b'\n').count();
        let (bounds, is_greeted) = if round % 2 == 0 { (1..=lines, true) } else { (0..=1, false) };
        assert!(bounds.contains(&answers), "round {round}: {answers} answers to {lines} lines, {sent:?}");
        assert_eq!(is_served, is_greeted, "round {round}: a good call after the noise");
    }
    abused.check();
}

#[test]
fn empty_lines_are_nothing() {
    let abused = Abused::new();
    let mut raw = Raw::greeted(&abused.world);
    raw.send(&b"\n".repeat(2_000));
    raw.send(b"   \t \r\n");
    let answer = raw.call(&serde_json::json!({"jsonrpc": "2.0", "id": 3, "method": "status"}));
    assert_eq!(answer["id"], 3, "{answer}");
    abused.check();
}
