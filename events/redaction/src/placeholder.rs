//! Values in the place of a secret that are none: still to be filled in, read from elsewhere, or known to everybody.
//!
//! They stay. `changeme` and `xxxx` protect nothing; `$TOKEN` and `${{ secrets.X }}` say where the secret is kept,
//! which is worth remembering. Everything else after a sensitive name is cut, including weak passwords (`hunter2`,
//! `postgres1`) and values that only begin like a placeholder (`Enterprise2024!`, `$ummer2024`).

use super::MARK;
use super::alphabet::{ALNUM, DIGIT, LOWER, UPPER, is};
use super::randomness::is_words;
use baton_words::WordList;

/// Words for a value that is still to be filled in: whole (`ChangeMe`), numbered (`dummy123`), or followed by words
/// (`your-api-key-here`, `required|min:8`). In lowercase.
static STAND_INS: WordList = WordList::new(crate::WORDS, "stand-ins");
/// Stand-ins with which passwords begin as well. They count only alone, in a sentence, or before a word of [`ASKED`].
const WEAK_STAND_INS: &[&str] = &["enter", "hidden", "string"];
/// Stand-ins used in tests. They count only in lowercase.
const MADE_UP: &[&str] = &["fake", "foo", "foobar", "mock", "test"];
/// Literals without content, of any language.
const LITERALS: &[&str] = &["false", "none", "null", "true", "undefined"];
/// Words for what a stand-in asks for, in lowercase.
static ASKED: WordList = WordList::new(crate::WORDS, "asked for");
/// Beginnings of code that reads a value from elsewhere; a path of names follows.
static CODE: WordList = WordList::new(crate::WORDS, "beginnings of code");
/// Beginnings of a reference to where the value is kept; a path or a name follows.
const PLACES: &[&str] = &["../", "./", "env:", "file:", "key:", "projects/", "ref:", "ssm:", "vault:", "~/"];
/// Beginnings that anything may follow: masks, types, URLs, encrypted values.
const MARKS: &[&str] = &[
    "&str", "***", "...", "arn:", "box<", "enc[", "env(", "http://", "https://", "op://", "option<", "redis://",
    "ref+", "vec<",
];
/// Beginnings of values that are placeholders without a digit: `my-key`, whereas `my-very-own-key-2024` may be in use.
const SPOKEN: &[&str] = &["my-", "my_", "some-", "some_", "a-", "the-", "no-"];
/// Parts of words for secrets. A value that contains one may be the name of a field.
const INSIDE: &[&str] =
    &["passw", "kennw", "geheim", "contrase", "senha", "secret", "token", "api_key", "api-key", "apikey", "credential"];
/// Beginnings of password hashes. They are stored in place of passwords and can be cracked, so they are cut.
const HASHES: &[&str] = &["$2a$", "$2b$", "$2y$", "$argon2", "$6$", "$5$", "$1$", "$y$", "$scrypt", "$pbkdf2"];

/// Most characters that a masked secret shows at each end.
const MAX_SHOWN_CHARS: usize = 4;

/// How the text around a value holds it.
#[derive(Clone, Copy)]
pub(super) struct Held {
    pub(super) quoted: bool,
    /// In quotes, directly behind `=`, or behind an option: no code occurs there, so a digit belongs to a value.
    pub(super) joined: bool,
    /// Assigned in an environment, as in `.env`, where no field names occur.
    pub(super) set: bool,
}

impl Held {
    /// For places where only a secret can be.
    pub(super) const FIRMLY: Self = Self { quoted: true, joined: true, set: true };
}

/// True if a value in the place of a secret is none. `name` is the text before it.
pub(super) fn is_placeholder(value: &str, name: &str, held: Held) -> bool {
    let bytes = value.as_bytes();
    let Some(first) = bytes.first() else { return true };
    if HASHES.iter().any(|start| value.starts_with(start)) {
        return false;
    }
    value.starts_with(MARK)
        || ((bytes.len() >= 3 || !is(*first, ALNUM)) && bytes.iter().all(|byte| byte == first))
        || is_variable(value, held)
        || is_template(value)
        || ["{}", "[]", "<>"].iter().any(|brackets| is_in_brackets(value, brackets))
        || is_tag(value, held)
        || is_stand_in(value)
        || after_any(&CODE, value).any(|rest| is_code(value, rest, held))
        || after_any(PLACES, value).any(is_place)
        || after_any(MARKS, value).next().is_some()
        || (SPOKEN.iter().any(|start| value.starts_with(start))
            && is_words(bytes)
            && !(held.joined && bytes.iter().any(u8::is_ascii_digit)))
        || is_named_after(value, name, held)
        || is_path(value, name)
        || is_masked(bytes)
}

/// Returns what follows each of the beginnings that a value has, ignoring case.
fn after_any<'v>(starts: &'static [&str], value: &'v str) -> impl Iterator<Item = &'v str> {
    let same = |start: &str, head: &str| head.eq_ignore_ascii_case(start);
    starts.iter().filter_map(move |start| value.get(start.len()..).filter(|_| same(start, &value[..start.len()])))
}

/// True if part of a value is filled in later: `${NAME}`, `{{ name }}`. A value that begins with a template may lack
/// its end.
fn is_template(value: &str) -> bool {
    [("${", "}"), ("{{", "}}")].iter().any(|(open, close)| {
        let Some((before, rest)) = value.split_once(open) else { return false };
        let named = rest.trim_start().starts_with(|first: char| first.is_ascii_alphabetic() || "_.-{$".contains(first));
        before.is_empty() || (named && rest.contains(close))
    })
}

/// True if a value is only words in brackets: `<your-password>`, `{password}`; or an object, or a list.
fn is_in_brackets(value: &str, brackets: &str) -> bool {
    let (open, close) = brackets.split_at(1);
    let inside = value.strip_prefix(open).and_then(|rest| rest.strip_suffix(close));
    inside.is_some_and(|inside| are_words(inside) || inside.contains(['"', '\'', ',', '{', '[', '<', '(', ' ']))
}

/// True if a value is a variable of a shell, a template or a language, possibly with more after it: `$PASS`, `${PASS}`,
/// `$user->pass`, `%PASS%`. `$ummer2024!!` is not.
fn is_variable(value: &str, held: Held) -> bool {
    if let Some(name) = value.strip_prefix('%').and_then(|rest| rest.strip_suffix('%')) {
        return is_variable_name(name, held) && !name.contains('%');
    }
    let Some(rest) = value.strip_prefix('$') else { return false };
    let rest = rest.trim_start_matches('$');
    let end = rest.bytes().take_while(|byte| is(*byte, ALNUM) || *byte == b'_').count();
    let (name, behind) = rest.split_at(end);
    let mut behind = behind.chars();
    match (behind.next(), behind.next()) {
        _ if name.is_empty() => rest.is_empty() || rest.starts_with('('),
        // A positional parameter.
        (next, _) if name.bytes().all(|byte| byte.is_ascii_digit()) => next.is_none_or(|next| ",;)/ ".contains(next)),
        (None, _) => is_variable_name(name, held),
        (Some('.' | ':'), Some(next)) => is_variable_name(name, held) && (next.is_alphabetic() || "_$:".contains(next)),
        (Some('-'), None | Some('>')) | (Some('[' | '(' | '/' | ',' | ';' | ')' | '$' | '\\'), _) => {
            is_variable_name(name, held)
        }
        // Names in capitals also occur inside other words.
        _ => is_screaming(name) && name.len() > 1,
    }
}

/// True if a variable may have this name: `DB_PASS_2`, `userPassword`, `token2`, but not `ummer2024`.
fn is_variable_name(name: &str, held: Held) -> bool {
    let named = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.bytes().all(|byte| is(byte, ALNUM) || byte == b'_');
    let digits = name.bytes().filter(u8::is_ascii_digit).count();
    let lower = name.to_ascii_lowercase();
    let is_field = ASKED.iter().any(|word| lower.contains(word)) || INSIDE.iter().any(|word| lower.contains(word));
    // A shell variable consists of words, or ends in a small number.
    let screams = is_screaming(name) && (digits <= 2 || name.contains('_') || is_field || !held.quoted);
    named && (digits == 0 || screams || (digits <= 2 && (is_field || !(held.quoted || held.set))))
}

fn is_screaming(name: &str) -> bool {
    name.bytes().all(|byte| is(byte, UPPER | DIGIT) || byte == b'_') && name.bytes().any(|byte| is(byte, UPPER))
}

/// True if an unquoted value is a YAML tag (`!Ref`), a file name after `@` (`@/run/secrets/db`) or a negated name
/// (`!Password.isSet`). None of these occurs in environment assignments.
fn is_tag(value: &str, held: Held) -> bool {
    if held.quoted || held.set {
        return false;
    }
    let plain = |rest: &str, signs: &str| rest.bytes().all(|byte| is(byte, ALNUM) || signs.contains(char::from(byte)));
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    if let Some(rest) = value.strip_prefix('!') {
        return rest.starts_with(|first: char| first.is_ascii_uppercase()) && digits <= 1 && plain(rest, "_.:");
    }
    value.strip_prefix('@').is_some_and(|rest| plain(rest, "_./-") && (digits == 0 || rest.contains(['/', '.'])))
}

/// True if a value stands in for one that is still to be filled in, or is a literal without content.
fn is_stand_in(value: &str) -> bool {
    let silent = |rest: &str| !rest.bytes().any(|byte| is(byte, ALNUM)) && rest.len() <= 3;
    // Validation rules of a form: `|string|min:8`.
    let rule = |rule: &str| are_words(rule.split(':').next().unwrap_or_default());
    let in_list = |rest: &str| rest.starts_with('|') && rest.split('|').all(rule);
    let asks = |rest: &str| {
        let lower = rest.to_ascii_lowercase();
        let asked = |word: &str| ASKED.iter().any(|asked| word.starts_with(asked)) || word == "me";
        are_words(rest) && words_of(&lower).any(asked)
    };
    let apart = |rest: &str| rest.starts_with(|first: char| !first.is_alphanumeric());
    let joined = |rest: &str| !apart(rest) && asks(rest);
    after_any(&STAND_INS, value).any(|rest| {
        silent(rest) || in_list(rest) || is_counter(rest) || joined(rest) || (apart(rest) && are_words(rest))
    }) || after_any(WEAK_STAND_INS, value)
        .any(|rest| silent(rest) || in_list(rest) || asks(rest) || (rest.starts_with(' ') && are_words(rest)))
        || after_any(LITERALS, value).any(|rest| silent(rest) || in_list(rest))
        || (value.starts_with(|first: char| first.is_ascii_lowercase())
            && after_any(MADE_UP, value).any(|rest| silent(rest) || joined(rest) || (apart(rest) && are_words(rest))))
        || (value.starts_with("xxx")
            && are_words(value.trim_start_matches('x'))
            && apart(value.trim_start_matches('x')))
}

/// True if the digits are a counter: `7`, `123`, but not a year.
fn is_counter(digits: &str) -> bool {
    digits.len() == 1 && digits.bytes().all(|byte| byte.is_ascii_digit()) || "1234567890".starts_with(digits)
}

/// Returns the words of a text, including small numbers at their ends.
fn words_of(text: &str) -> impl Iterator<Item = &str> {
    // Sentences contain punctuation that a one-word password lacks.
    let spoken = text.contains(' ');
    let parts =
        text.split(move |c| matches!(c, '-' | '_' | '.' | '/' | ':' | ' ') || (spoken && ",;!?'()".contains(c)));
    parts.filter(|word| !word.is_empty())
}

/// True if a text is only words: `-with-32-characters`, `_API_KEY_1`, but not `-mum1987!`.
fn are_words(text: &str) -> bool {
    words_of(text).all(|word| {
        let letters = word.bytes().take_while(|byte| is(*byte, LOWER | UPPER)).count();
        let number = &word[letters..];
        let small = letters == 0 && number.len() <= 3 && number.bytes().all(|byte| byte.is_ascii_digit());
        small || is_counter(number)
    })
}

/// True if `rest` is a path of names in code that reads a value. Where no code is expected, it must contain no digit.
fn is_code(value: &str, rest: &str, held: Held) -> bool {
    let strict = held.quoted || held.set;
    let digits = rest.bytes().filter(u8::is_ascii_digit).count();
    let part =
        |byte: u8| is(byte, LOWER | UPPER | DIGIT) || b"_.?:->[]()'\" ".contains(&byte) || (byte == b'!' && !strict);
    let small = value.starts_with(|first: char| first.is_ascii_lowercase());
    rest.bytes().all(part) && (digits == 0 || is_screaming(last_name(rest)) || (digits <= 2 && small && !strict))
}

/// Returns the last name of a path.
fn last_name(path: &str) -> &str {
    path.trim_end_matches(['!', ')', ']', '\'', '"']).rsplit(['.', '[', '(', '\'', '"']).next().unwrap_or(path)
}

/// True if `rest` is nothing but a path or a name.
fn is_place(rest: &str) -> bool {
    let part = |byte: u8| is(byte, ALNUM) || b"_./#:@${}*-".contains(&byte);
    rest.bytes().all(part) && (rest.contains('/') || is_screaming(rest) || are_words(rest))
}

/// True if a value is the name of a field or of a variable: `userPassword`, `X-Auth-Token`, in code also `password1`.
fn is_named_after(value: &str, name: &str, held: Held) -> bool {
    let plain = value.bytes().all(|byte| is(byte, ALNUM) || matches!(byte, b'_' | b'-' | b'.' | b' ' | b':'));
    let letters = |text: &str| -> String {
        text.bytes().filter(u8::is_ascii_alphabetic).map(|byte| char::from(byte.to_ascii_lowercase())).collect()
    };
    // The type of a field: `private_key: ed25519.Ed25519PrivateKey`.
    let typed = |(_, last): (&str, &str)| name.len() > 3 && letters(last).ends_with(&letters(name));
    if plain && !held.joined && value.rsplit_once('.').is_some_and(typed) {
        return true;
    }
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    if !plain || digits > 2 || (digits > 0 && held.joined) {
        return false;
    }
    let lower = value.to_ascii_lowercase();
    let chosen = digits > 0 && value.starts_with(|first: char| first.is_ascii_uppercase());
    if !held.set && !chosen && INSIDE.iter().any(|word| lower.contains(word)) {
        return true;
    }
    let (word, value_letters) = (letters(name), letters(&lower));
    word.len() >= 3
        && !value_letters.is_empty()
        && (value_letters.contains(&word) || (value_letters.len() >= 5 && word.contains(&value_letters)))
}

/// True if a value is a path to where the secret is kept.
fn is_path(value: &str, name: &str) -> bool {
    let rooted = value.starts_with('/') || value.get(1..3).is_some_and(|drive| drive == ":\\" || drive == ":/");
    let directory = name.to_ascii_lowercase().starts_with("pwd") || name.contains("OLDPWD");
    rooted && (directory || value.matches('/').count() > 1 && !value.contains(['+', '=']))
}

/// True if a value is already masked: `****abcd`, `sk-...xyz`, `abc…`.
fn is_masked(value: &[u8]) -> bool {
    let (mut last, mut alike) = (0, 0);
    let masked = value.iter().enumerate().any(|(at, byte)| {
        let small = byte.to_ascii_lowercase();
        alike = if small == last { alike + 1 } else { 1 };
        last = small;
        match small {
            b'.' => alike >= 3,
            0xE2 => value[at..].starts_with("…".as_bytes()),
            _ => false,
        }
    });
    masked || is_starred(value)
}

/// True if a value is masked by `***` or `xxxx`, apart from words or a few characters at its ends.
fn is_starred(value: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(value) else { return false };
    [("***", '*'), ("xxxx", 'x'), ("XXXX", 'X')].iter().filter(|(run, _)| text.contains(run)).any(|(_, mask)| {
        let mut parts = text.split(*mask).filter(|part| !part.is_empty());
        let short = text.split(*mask).all(|part| part.len() <= MAX_SHOWN_CHARS);
        short || parts.all(|part| are_words(part) || (part.ends_with(['-', '_']) && part.len() <= 2 * MAX_SHOWN_CHARS))
    })
}

#[cfg(test)]
mod tests {
    use crate::redact;

    /// Passwords that begin like a placeholder or look like code, each with a place where it occurred.
    const PASSWORDS: &[(&str, &str)] = &[
        ("DB_PASSWORD=§", "Enterprise2024!"),
        ("DB_PASSWORD: §", "Enterprise2024!"),
        ("REDIS_PASSWORD=§", "Winter2025.Snow"),
        ("REDIS_PASSWORD: §", "Winter2025.Snow"),
        ("REDIS_PASSWORD=§", "Snow99.Flake"),
        ("password: §", "winter2025.snow"),
        ("SMTP_PASSWORD=§", "$ummer2024!!"),
        ("smtp_password: '§'", "$ummer2024!!"),
        ("\"password\": \"§\"", "$ummer24"),
        ("\"password\": \"§\"", "$P@ssw0rd99"),
        ("DB_PASSWORD=§", "$100Million!"),
        ("password=§", "%Winter2024%"),
        ("ADMIN_PASSWORD=§", "!Qwerty2024x"),
        ("\"password\": \"§\"", "!Qwertyuiop"),
        ("ADMIN_PASSWORD=§", "@dm1n2024"),
        ("postgres://shop:§@db.example.net/shop", "Hiddenlake22"),
        ("\"password\": \"§\"", "Hidden_Lake22!"),
        ("DB_PASSWORD=§", "hidden-lake-cabin"),
        ("\"password\": \"§\"", "Yourmum1987!"),
        ("\"password\": \"§\"", "Your-mum1987!"),
        ("DB_PASSWORD=§", "your-mum-1987"),
        ("DB_PASSWORD=§", "EnterSandman"),
        ("\"password\": \"§\"", "Enter-Sandman1991"),
        ("\"password\": \"§\"", "TrueLove77!"),
        ("DB_PASSWORD=§", "true.love88"),
        ("DB_PASSWORD=§", "Nonesuch1815"),
        ("\"password\": \"§\"", "Nullpointer1!"),
        ("DB_PASSWORD=§", "Data.Center99"),
        ("\"password\": \"§\"", "data.Karlsruhe2024!"),
        ("\"password\": \"§\"", "user.Winter2025"),
        ("DB_PASSWORD=§", "settings.alpha77"),
        ("DB_PASSWORD=§", "Stringray2024"),
        ("\"password\": \"§\"", "String-Quartet16!"),
        ("DB_PASSWORD=§", "ChangeMe2024!"),
        ("DB_PASSWORD=§", "Samplerate44100"),
        ("DB_PASSWORD=§", "Replacement1904"),
        ("DB_PASSWORD=§", "Football1904!"),
        ("DB_PASSWORD=§", "football"),
        ("DB_PASSWORD=§", "Mockingbird1960"),
        ("DB_PASSWORD=§", "Test_Winter-2024!"),
        ("\"password\": \"§\"", "Xxxtentacion98!"),
        ("\"password\": \"§\"", "Key:Largo1948!"),
        ("\"password\": \"§\"", "vault:Winter2024!"),
        ("\"password\": \"§\"", "./Geheim99"),
        ("DB_PASSWORD=§", "Dummyload50Ohm"),
        ("DB_PASSWORD=§", "Todomundo2023"),
    ];

    /// Placeholders, and code that reads a value.
    const STAND_INS: &[&str] = &[
        "API_KEY=your-api-key-here",
        "API_KEY=YOUR_API_KEY_1",
        "API_KEY=yourApiKey",
        "OPENAI_API_KEY=your_openai_key_123",
        "\"api_key\": \"yourpassword\"",
        "\"password\": \"Enter your password\"",
        "\"password\": \"Enter your new password (at least 12 characters)!\"",
        "\"password\": \"enter-password-here\"",
        "\"password\": \"EnterPassword\"",
        "'password' => 'required|string|min:8|confirmed'",
        "'password' => 'string|required'",
        "API_SECRET: required for everything",
        "password: String, api_key: Option<String>, secret: string;",
        "password: string | null, token: String?",
        "\"password\": \"hidden\"",
        "DB_PASSWORD=changeme",
        "DB_PASSWORD=ChangeMe123",
        "DB_PASSWORD=change-me-please",
        "DB_PASSWORD=dummy",
        "API_KEY=dummy-key-123",
        "SECRET_KEY=dummysecret",
        "SECRET_KEY=replace-with-32-random-characters",
        "SECRET_KEY=replaceme",
        "SECRET_KEY=INSERT_KEY_HERE",
        "API_KEY=example_token_1",
        "\"secret\": \"example-secret\"",
        "\"password\": \"placeholder\", \"api_key\": \"sample-key\"",
        "password=None, secret=null; token=undefined",
        "password = True, secret: false,",
        "API_KEY=test-key-123 API_SECRET=mock_secret AUTH_TOKEN=fake-token",
        "API_KEY=foobar SECRET_KEY=foo-bar",
        "API_KEY=xxx-your-key-here",
        "DB_PASSWORD=$OTHER_2 DB_PASS=$db_password SMTP_PASSWORD=${SMTP}",
        "password: $password1, secret: \"$secret2\"",
        "password = $user->password2; secret = $config['secret']",
        "password = $env:DB_PASS1",
        "DB_PASSWORD=%DB_PASSWORD_1%",
        "password: !Ref DbPassword1",
        "password: !GetAtt Db.Password1",
        "password = data.password2, secret: config.secret1",
        "const password = process.env.PASSWORD_1!;",
        "\"password\": \"process.env.DB_PASSWORD\"",
        "password = os.environ['DB_PASSWORD_2']",
        "password: this.state.password, secret: props.secret1",
        "PASSWORD=settings.DB_PASSWORD",
        "API_KEY=config.apiKey",
        "token = Kind::A1, secret = auth0.ClientSecret, password = user.password2",
        "secret: vault:secret/data/app#password1",
        "secret: ssm:/prod/db/password1",
        "secret: env:DB_PASSWORD_1",
        "password: file:/run/secrets/db2",
        "password: ./secrets/db1.txt",
        "curl --data password=@secret.txt",
        "password: https://vault.example.com/v1/db1",
    ];

    #[test]
    fn passwords_that_look_like_placeholders_go() {
        let kept: Vec<String> = PASSWORDS
            .iter()
            .map(|(place, password)| (place.replace('§', password), password))
            .filter(|(text, password)| redact(text).contains(*password))
            .map(|(text, _)| text)
            .collect();
        assert!(PASSWORDS.len() >= 30 && kept.is_empty(), "kept:\n{}", kept.join("\n"));
    }

    #[test]
    fn what_stands_for_a_value_stays() {
        let cut: Vec<String> = STAND_INS
            .iter()
            .map(|text| (text, redact(text)))
            .filter(|(text, clean)| *clean != **text)
            .map(|(text, clean)| format!("{text} became {clean}"))
            .collect();
        assert!(STAND_INS.len() >= 40 && cut.is_empty(), "cut:\n{}", cut.join("\n"));
    }
}
