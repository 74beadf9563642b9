//! Passwords that a sentence or a setting names in a language other than English.

use super::Cut;
use super::alphabet::floor;
use super::password::looks_chosen;
use super::placeholder::{Held, is_placeholder};

/// Longest distance between a name and its value, in bytes: `la contraseña de la base de datos es …`.
const MAX_BETWEEN_BYTES: usize = 80;
/// Longest value, in bytes.
const MAX_VALUE_BYTES: usize = 256;
/// Shortest value, in bytes.
const MIN_VALUE_BYTES: usize = 6;

/// Words for a password, which [`super::word`] searches for. [`VERBS`] lists what may follow them instead of a
/// separator.
pub(super) const NAMES: &[&str] = &[
    // Spanish, French, Portuguese, Italian. The first letter is left out where it may be a capital.
    "ontrase\u{f1}a",
    "ontrasena",
    "ot de passe",
    "senha",
    "Senha",
    "assword \u{e8}",
    "arola d'ordine",
    // German, Dutch, Swedish, Norwegian, Danish, Finnish.
    "asswort",
    "ennwort",
    "achtwoord",
    "\u{f6}senord",
    "assord",
    "dgangskode",
    "alasana",
    // Polish, Czech, Turkish, Hungarian, Vietnamese, Indonesian.
    "as\u{142}o",
    "eslo",
    "ifre",
    "elsz\u{f3}",
    "\u{1ead}t kh\u{1ea9}u",
    "ata sandi",
    // Russian, Ukrainian, Bulgarian, Greek.
    "\u{430}\u{440}\u{43e}\u{43b}\u{44c}",
    "\u{410}\u{420}\u{41e}\u{41b}\u{42c}",
    "\u{430}\u{440}\u{43e}\u{43b}\u{430}",
    "\u{3c9}\u{3b4}\u{3b9}\u{3ba}\u{3cc}\u{3c2}",
    // Chinese, Japanese, Korean.
    "密码",
    "密碼",
    "口令",
    "密钥",
    "密鑰",
    "パスワード",
    "暗証番号",
    "合言葉",
    "비밀번호",
    "암호",
    // Other secrets: tokens and keys.
    "令牌",
    "秘钥",
    "トークン",
    "秘密鍵",
    "シークレット",
    "\u{43e}\u{43a}\u{435}\u{43d}",
    "\u{435}\u{43a}\u{440}\u{435}\u{442}",
    "\u{43a}\u{43b}\u{44e}\u{447}",
    "l\u{e9} API",
    "l\u{e9} secr\u{e8}te",
    // Arabic, Hebrew, Hindi, Thai.
    "كلمة المرور",
    "كلمة السر",
    "סיסמה",
    "סיסמא",
    "पासवर्ड",
    "รหัสผ่าน",
];

/// Words between a name and its value in a sentence.
const VERBS: &[&str] = &[
    " es ",
    " est ",
    " è ",
    " é ",
    " ist ",
    " lautet ",
    " is ",
    " är ",
    " er ",
    " on ",
    " to ",
    " je ",
    " jest ",
    " — ",
    " – ",
    "是",
    "为",
    "為",
    "は",
    "는",
    "은",
    "が",
    "就是",
    " هي ",
    " הוא ",
    " है ",
    "คือ",
];
/// Separators.
const SIGNS: &[&str] = &[":", "\u{ff1a}", "=", "\u{ff1d}"];
/// Quotes that open a value.
const QUOTES: &[char] = &['"', '\'', '`', '«', '»', '“', '”', '„', '「', '『', '‘', '’', '*'];

/// Returns the password after a name that ends at `end`.
pub(super) fn password(text: &str, end: usize) -> Option<Cut> {
    let bytes = text.as_bytes();
    let window = &text[end..floor(bytes, bytes.len().min(end + MAX_BETWEEN_BYTES))];
    let window = &window[..window.find(['\n', '。', '!', '?', '{', '}', '(', ';', '[']).unwrap_or(window.len())];
    let window = &window[..window.find(". ").unwrap_or(window.len())];
    let sign = SIGNS.iter().filter_map(|sign| window.find(sign).map(|at| (at, at + sign.len(), true)));
    let verb = VERBS.iter().filter_map(|verb| window.find(verb).map(|at| (at, at + verb.len(), false)));
    let (between, from, signed) = sign.chain(verb).min_by_key(|(at, to, _)| (*at, usize::MAX - to))?;
    // Directly after a name any value is likely; after more words, only one that looks like a password.
    let near = signed && window[..between].chars().filter(|c| c.is_alphanumeric()).count() <= 1;
    let from = end + from;
    let skipped = |c: char| c.is_whitespace() || QUOTES.contains(&c);
    let opened = text[from..].char_indices().take(12).find(|(_, c)| !skipped(*c)).map(|(at, _)| from + at)?;
    let quoted = text[from..opened].contains(QUOTES);
    if text[from..opened].contains('\n') {
        return None;
    }
    let part = |byte: &&u8| byte.is_ascii_graphic() && !matches!(**byte, b'"' | b'\'' | b'`' | b'<' | b'>' | b'\\');
    let count = bytes[opened..].iter().take(MAX_VALUE_BYTES).take_while(part).count();
    let value = text[opened..opened + count].trim_end_matches(['.', ',', ';', ':', ')', '*', '?']);
    let chosen = looks_chosen(value) || (near && quoted && value.len() >= MIN_VALUE_BYTES && has_digit_or_mixed(value));
    let code = value.contains(['(', '[', '{']) || value.starts_with(['$', '/']) || value.contains("://");
    let stays = !chosen || code || value.len() < MIN_VALUE_BYTES || is_placeholder(value, "password", Held::FIRMLY);
    (!stays).then_some(Cut { start: opened, end: opened + value.len(), kind: "secret" })
}

fn has_digit_or_mixed(value: &str) -> bool {
    value.bytes().any(|byte| byte.is_ascii_digit()) || value.bytes().skip(1).any(|byte| byte.is_ascii_uppercase())
}
