//! Speed of redaction on what sessions consist of.
//!
//! `cargo bench -p baton-redaction --bench redact`. All texts are generated, one megabyte each. The first five contain
//! no secret, `named` has a sensitive word and a separator on every line, `secrets` one credential on every second
//! line.

use baton_redaction::redact;
use divan::Bencher;
use divan::counter::BytesCount;

const BYTES: usize = 1_000_000;

fn main() {
    divan::main();
}

/// A text of that many bytes: `line` is called with growing numbers.
fn text(line: impl Fn(usize) -> String) -> String {
    let mut out = String::with_capacity(BYTES + 1_000);
    for n in 0.. {
        if out.len() >= BYTES {
            break;
        }
        out.push_str(&line(n));
    }
    out
}

/// Pseudo-random letters and digits, from a seed.
fn drawn(seed: usize, alphabet: &[u8], chars: usize) -> String {
    let mut state = seed as u64 ^ 0x9E37_79B9_7F4A_7C15;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        alphabet[usize::try_from(state % alphabet.len() as u64).unwrap_or(0)] as char
    };
    (0..chars).map(|_| next()).collect()
}

const HEX: &[u8] = b"0123456789abcdef";
const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

fn prose() -> String {
    text(|n| {
        format!(
            "I looked at step {n}: the middleware compares seconds with milliseconds, so every session that was restored after \
             the restart is refused. The simplest way out is to convert where the value is read, and to say so in its name.\n\n"
        )
    })
}

fn code() -> String {
    text(|n| {
        format!(
            "    /// Renews the token of step {n}, if it is older than an hour.\n    pub(crate) fn refresh_token(&mut self, token: &Token) -> \
             Result<Token, Error> {{\n        let value_{n} = self.table.get(\"key-{n}\").unwrap_or(&DEFAULT);\n        if \
             token.kind == Kind::Eof || value_{n} != 0 {{\n            return Err(Error::Expired {{ at: self.clock.now() }});\n        \
             }}\n    }}\n"
        )
    })
}

fn output() -> String {
    text(|n| {
        format!(
            "test session::tests::a_session_that_grows_{n} ... ok\n   Compiling baton-events v0.1.{n} (/home/dev/work/baton/events)\n\
             src/session/decide.rs:{n}:17: warning: unused variable: `policy`\n-rw-r--r-- 1 dev dev {n} Mar 14 09:26 Cargo.toml\n"
        )
    })
}

fn json() -> String {
    text(|n| {
        format!(
            "{{\"id\":{n},\"uuid\":\"7acd37a8-2745-4b58-a8a9-{n:012}\",\"type\":\"assistant\",\"name\":\"step {n}\",\"tokens\":{n},\
             \"path\":\"/home/dev/work/baton/src/main.rs\",\"ok\":true,\"text\":\"a line\\nand another\"}}\n"
        )
    })
}

fn lock() -> String {
    text(|n| {
        format!(
            "[[package]]\nname = \"some-crate-{n}\"\nversion = \"1.{n}.0\"\nsource = \"registry+https://github.com/rust-lang/crates.io-index\"\n\
             checksum = \"{}\"\ndependencies = [\n \"memchr\",\n \"serde\",\n]\n\n",
            drawn(n, HEX, 64)
        )
    })
}

fn named() -> String {
    text(|n| match n % 4 {
        0 => format!("    let token: Token = self.tokens.get({n})?;\n"),
        1 => format!("    \"password\": \"string\", \"secret\": null, \"max_tokens\": {n},\n"),
        2 => format!("    DB_PASSWORD: ${{DB_PASSWORD_{n}}}  # see https://example.com/secrets?id={n}\n"),
        _ => format!("    if password == other.password && api_key != keys[{n}] {{ session.token = next_token(); }}\n"),
    })
}

fn secrets() -> String {
    text(|n| {
        let prefix = ["ghp_", "sk-ant-api03-", "AKIA", "xoxb-"][n % 4];
        let body = drawn(n, LETTERS, 36);
        let body = if prefix == "AKIA" { body.to_uppercase() } else { body };
        format!(
            "step {n} of the deployment was done by hand, and nobody wrote down why\nexport VALUE_{n}={prefix}{body}\n"
        )
    })
}

#[divan::bench(args = ["prose", "code", "output", "json", "lock", "named", "secrets"])]
fn looking(bencher: Bencher<'_, '_>, kind: &str) {
    let text = match kind {
        "prose" => prose(),
        "code" => code(),
        "output" => output(),
        "json" => json(),
        "lock" => lock(),
        "named" => named(),
        _ => secrets(),
    };
    assert_eq!(redact(&text).len() == text.len(), kind != "secrets", "only `secrets` has any");
    bencher.counter(BytesCount::of_str(&text)).bench_local(|| redact(divan::black_box(&text)).len());
}

/// Many short texts, like items: the fixed cost of one call.
#[divan::bench]
fn short(bencher: Bencher<'_, '_>) {
    let text = prose();
    let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
    let bytes: usize = lines.iter().map(|line| line.len()).sum();
    bencher.counter(BytesCount::new(bytes)).bench_local(|| lines.iter().map(|line| redact(line).len()).sum::<usize>());
}
