//! Secrets in URLs: `scheme://user:password@host`, and URLs that grant access by themselves.

use super::alphabet::{ALNUM, HYPHEN, PLUS, UNDERSCORE, is, run_end, run_start};
use super::placeholder::{Held, is_placeholder};
use super::randomness::is_random;
use super::{Cut, MIN_KEY_CHARS};

/// Longest user name, password or host that is read, in bytes.
const MAX_AUTHORITY_BYTES: usize = 512;
/// Longest path of a secret URL, in bytes.
const MAX_PATH_BYTES: usize = 512;
/// Sample passwords used in documentation.
const EXAMPLES: &[&str] = &[
    "password", "pass", "passwd", "pwd", "pw", "secret", "token", "PASSWORD", "PASS", "Password", "apikey", "api_key",
];
/// Hosts and paths whose remainder is a secret. api.slack.com/messaging/webhooks, discord.com/developers,
/// learn.microsoft.com/microsoftteams, core.telegram.org/bots/api, zapier.com, ifttt.com, open.feishu.cn.
const HOOKS: &[(&str, &str)] = &[
    ("hooks.slack.com", "/services/"),
    ("hooks.slack.com", "/workflows/"),
    ("hooks.slack.com", "/triggers/"),
    ("discord.com", "/api/webhooks/"),
    ("discordapp.com", "/api/webhooks/"),
    ("webhook.office.com", "/webhookb2/"),
    ("outlook.office.com", "/webhook/"),
    ("hooks.zapier.com", "/hooks/catch/"),
    ("hook.eu1.make.com", "/"),
    ("hook.us1.make.com", "/"),
    ("api.telegram.org", "/bot"),
    ("open.feishu.cn", "/open-apis/bot/v2/hook/"),
    ("open.larksuite.com", "/open-apis/bot/v2/hook/"),
    ("chat.googleapis.com", "/v1/spaces/"),
];

/// Returns the end of `://` or `:\/\/` if the colon at `at` starts one.
pub(super) fn opens(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = &bytes[at + 1..];
    if rest.starts_with(b"//") {
        return Some(at + 3);
    }
    rest.starts_with(b"\\/\\/").then_some(at + 5)
}

/// Returns the secret in a URL whose authority starts at `from`.
pub(super) fn secret(text: &str, colon: usize, from: usize) -> Option<Cut> {
    let bytes = text.as_bytes();
    let window = &bytes[from..bytes.len().min(from + MAX_AUTHORITY_BYTES)];
    let ends =
        |byte: u8| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'"' | b'\'' | b'`' | b'<' | b'>' | b'\\');
    let end = from + window.iter().take_while(|byte| !ends(**byte)).count();
    let authority = &bytes[from..end];
    match memchr::memrchr(b'@', authority) {
        Some(at) => user(text, from, from + at),
        None if bytes[..colon].ends_with(b"http") || bytes[..colon].ends_with(b"https") => hook(text, from, end),
        None => None,
    }
}

/// The password in `user:password`, or a token by itself.
fn user(text: &str, start: usize, end: usize) -> Option<Cut> {
    let bytes = &text.as_bytes()[start..end];
    // A list, a pattern or a sentence is not a user name.
    let named = |bytes: &[u8]| {
        !bytes
            .iter()
            .any(|byte| matches!(byte, b'{' | b'}' | b'[' | b']' | b'(' | b')' | b',' | b'*' | b'?' | b'#' | b'$'))
    };
    let colon = memchr::memchr(b':', bytes);
    let user = &bytes[..colon.unwrap_or(bytes.len())];
    // A key may be given as the user name, with any password or none.
    let token = user.len() >= MIN_KEY_CHARS && is_random(user) && named(user);
    let password = &text[start + colon.map_or(bytes.len(), |colon| colon + 1)..end];
    let stays = password.is_empty()
        || EXAMPLES.contains(&password)
        || (password.contains('{') && password.contains('}'))
        || (password.contains('[') && password.contains(']'))
        || password
            .split('$')
            .skip(1)
            .any(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase() || "{(_".contains(c)))
        || (password.starts_with('$') && !password.starts_with("$$"))
        || (password.starts_with('%') && password.ends_with('%'))
        || is_placeholder(password, "", Held::FIRMLY);
    let (start, end) = match (token, stays) {
        (true, true) => (start, start + user.len()),
        (true, false) => (start, end),
        (false, false) if named(user) => (end - password.len(), end),
        (false, _) => return None,
    };
    Some(Cut { start, end, kind: "password" })
}

/// Returns the part of a secret URL after what all such URLs share.
fn hook(text: &str, from: usize, end: usize) -> Option<Cut> {
    let bytes = text.as_bytes();
    let host = &bytes[from..end];
    if host.len() < 9 || !matches!(host[host.len() - 1], b'm' | b'g' | b'n') {
        return None;
    }
    let window = bytes.len().min(end + MAX_PATH_BYTES);
    // JSON may write `\/`.
    let slashed = text.get(end..window).is_some_and(|path| path.starts_with("\\/"));
    let known = HOOKS.iter().filter(|(name, _)| host.ends_with(name.as_bytes()));
    let start = known.filter_map(|(_, path)| {
        let path = if slashed { path.replace('/', "\\/") } else { (*path).to_owned() };
        bytes[end..].starts_with(path.as_bytes()).then_some(end + path.len())
    });
    let start = start.max()?;
    let mut last = start;
    loop {
        last = run_end(&bytes[..window], last, ALNUM | UNDERSCORE | HYPHEN | PLUS);
        match bytes[..window].get(last) {
            Some(b':' | b'@' | b'?' | b'&' | b'.' | b'%') => last += 1,
            Some(b'\\') if slashed && bytes.get(last + 1) == Some(&b'/') => last += 2,
            _ => break,
        }
    }
    while last > start && matches!(bytes[last - 1], b'.' | b':' | b'?' | b'&') {
        last -= 1;
    }
    let digits = bytes[start..last].iter().filter(|byte| byte.is_ascii_digit()).count();
    (last - start >= MIN_KEY_CHARS && digits >= 2).then_some(Cut { start, end: last, kind: "webhook" })
}

/// `%3A%2F%2Fuser%3Apassword%40host`: a URL inside a URL.
pub(super) fn encoded(text: &str, at: usize) -> Option<Cut> {
    let bytes = text.as_bytes();
    let same = |from: usize, mark: &[u8]| {
        bytes.get(from..from + mark.len()).is_some_and(|here| here.eq_ignore_ascii_case(mark))
    };
    let user = run_start(bytes, at, MIN_KEY_CHARS * 2, ALNUM | UNDERSCORE | HYPHEN);
    let slashes = user.checked_sub(1).is_some_and(|before| bytes[before] == b'%') && bytes[user..at].len() >= 2;
    // The user's name is preceded by the two digits of `%2F`.
    if !slashes || !same(user, b"2F") || !same(user.saturating_sub(4), b"%2F%") {
        return None;
    }
    let start = at + 3;
    let window = &bytes[start..bytes.len().min(start + MAX_AUTHORITY_BYTES)];
    let part = window
        .iter()
        .take_while(|byte| is(**byte, ALNUM | UNDERSCORE | HYPHEN | PLUS) || matches!(byte, b'%' | b'.' | b'!' | b'*'));
    let end = start + part.count();
    let close = memchr::memmem::find(&bytes[start..end], b"%40")?;
    (close > 0).then_some(Cut { start, end: start + close, kind: "password" })
}
