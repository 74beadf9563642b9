//! No limit counted in bytes splits a character: every beginning, followed by characters of two, three and four bytes,
//! from every offset, at every length around a limit.

use super::*;

/// Beginnings that make the code read on, with a value or words to follow.
const BEGINNINGS: &[&str] = &[
    "key=",
    "key: ",
    "\"key\": \"",
    "password=",
    "password: ",
    "password = \"",
    "password: '",
    "PASSWORD=",
    "pass: ",
    "token=",
    "?token=",
    "--password ",
    "--password=",
    "my password is ",
    "login a password ",
    "the API key is ",
    "ENV API_KEY ",
    "IDENTIFIED BY ",
    "IDENTIFIED BY '",
    "-u a:",
    "curl -u admin:",
    "a:b@tcp(",
    "mysql -u root -p",
    "mysql -u root -p '",
    "sshpass -p ",
    "docker login -p ",
    "<password>",
    "\" value=\"",
    "key=\"password\" value=\"",
    "The user's email address is ",
    "userEmail: ",
    "account_uuid: a\nemail_address: ",
    "Authorization: Bearer ",
    "Authorization: Basic",
    "Bearer ",
    "Cookie: a=",
    "Set-Cookie: a=b; Expires=",
    "https://a:",
    "https://",
    "https://hooks.slack.com/services/",
    "https:\\/\\/hooks.slack.com\\/services\\/",
    "%3A%2F%2Fuser%3A",
    "password%3D",
    "-----BEGIN PRIVATE KEY-----\n",
    "-----BEGIN ",
    "Private-Lines: 2\n",
    "<private>",
    "<private ",
    "</private ",
    "\\u003cprivate",
    "password: &str = \"",
    "\u{1b}[",
    "password=\u{1b}[",
    "sk-ant-api03-",
    "eyJhbGciOi",
    "123456789:A",
    "ghp_a1B2c3D4e5F6g7H8i9J0",
    "a1B2c3D4e5F6g7H8i9J0a1B2c3D4e5F6g7H8",
    "0123456789abcdef0123456789abcdef",
    "redis-cli -a ",
    "sqlcmd -P '",
    "openssl rsa -passin pass:",
    "smbclient -U me%",
    "echo ",
    "sudo -S <<< ",
    "net use Z: ",
    "sqlplus scott/",
    "assword: send \"",
    "setPassword(\"",
    "define('DB_PASSWORD', '",
    "new NetworkCredential(\"me\", \"",
    "ConvertTo-SecureString ",
    "user,password\nme,",
    "| user | password |\n|--|--|\n| me |",
    "contraseña: ",
    "密码是",
    "Password:\n",
    "password: |\n  ",
    "password = \"a1b2\" + \"",
    "{\"name\":\"DB_PASSWORD\",\"value\":\"",
    "seed phrase: ",
    "kind: Secret\ndata:\n  a: ",
    "localhost:5432:a:b:",
    "\\u0070",
    "%70",
    "\u{1b}]8;;",
    "cGFzc3dvcmQ9aHVudGVyMg",
    "$2b$12$",
    "=",
    ":",
    "",
];

/// Lengths of what follows, in bytes: short ones, and those around every limit.
fn lengths() -> impl Iterator<Item = usize> {
    const BOUNDS: &[usize] =
        &[16, 20, 24, 32, 40, 64, 80, 96, 120, 128, 200, 240, 256, 300, 400, 512, 1_000, 1_024, 1_200];
    (0..12).chain(BOUNDS.iter().flat_map(|bound| bound - 2..bound + 2))
}

/// `offset` bytes of `x`, filled up to about `bytes` bytes with the character.
fn filled(offset: usize, character: char, bytes: usize) -> String {
    let count = bytes.saturating_sub(offset).div_ceil(character.len_utf8());
    "x".repeat(offset) + &character.to_string().repeat(count)
}

#[test]
fn bounds_in_bytes_never_part_a_character() {
    for character in ['ü', '语', '😀'] {
        for offset in 0..character.len_utf8() {
            for bytes in lengths() {
                let fill = filled(offset, character, bytes);
                for beginning in BEGINNINGS {
                    // After the announcing text, before it, or on both sides.
                    let text = match bytes % 3 {
                        0 => format!("{beginning}{fill}"),
                        1 => format!("{fill}{beginning}a1b2c3d4"),
                        _ => format!("{fill}{beginning}{fill} a1"),
                    };
                    assert!(redact(&text).len() <= text.len() + 64, "{text}");
                }
            }
        }
    }
}

/// Everything that a rule table searches for, and the text around the secret of every kind: a new rule is covered
/// without being named.
fn rules() -> Vec<(String, String)> {
    let open = |word: &str| ["", "-", "\"", "'"].map(|opens| format!("{word}{opens}"));
    let mut rules = kinds::around_secrets();
    let words = words_of_tables().into_iter().enumerate();
    rules.extend(words.map(|(at, word)| (open(&word)[at % 4].clone(), FOLLOWS[at % FOLLOWS.len()].to_owned())));
    for (word, _) in announcement::CALLS {
        rules.extend(open(word).iter().flat_map(|word| FOLLOWS.map(|follows| (word.clone(), follows.to_owned()))));
    }
    rules
}

/// Text after a secret that changes how it is cut.
const FOLLOWS: [&str; 9] = ["", " ", "\n", "\\n", "\"", "=", " | sudo -S x", "\nEOF\n", "@db"];

#[test]
fn no_rule_parts_a_character() {
    let rules = rules();
    for character in ['ü', '语', '😀'] {
        for offset in 0..character.len_utf8() {
            for bytes in [0, 3, 30, 110, 250, 280, 330, 2_100] {
                let fill = filled(offset, character, bytes) + &"y".repeat(offset);
                for (before, after) in &rules {
                    for text in [format!("{before}{fill}{after}"), format!("{fill}{before}a1b2c3d4{after}")] {
                        assert!(redact(&text).len() <= text.len() + 128, "{text}");
                    }
                }
            }
        }
    }
}

#[test]
fn commands_may_end_anywhere() {
    for text in [
        "kubectl create secret generic x --from-literal",
        "用 --from-literal，然后",
        "see --from-literal’s",
        "use `docker login --password-stdin <<EOF`",
        "chpasswd <<EOF",
        "{\"command\":[\"bash\",\"-lc\",\"chpasswd <<",
        "sshpass -p",
        "curl -u",
        "smbclient --user",
        "echo x | sudo -S",
        "sudo -S x <<< ",
    ] {
        for end in (0..=text.len()).filter(|end| text.is_char_boundary(*end)) {
            check(&text[..end], &text[..end]);
        }
    }
}

#[test]
fn bounds_behind_a_long_block_never_part_a_character() {
    for character in ['ü', '语', '😀'] {
        for offset in 0..character.len_utf8() {
            let fill = filled(offset, character, MAX_PEM_BYTES);
            for end in 0..8 {
                let end = "y".repeat(end);
                redact(&format!("-----BEGIN PRIVATE KEY-----\n{fill}{end}\n-----END PRIVATE KEY-----{fill}"));
                redact(&format!("PASSWORD={fill}{end}\u{1b}[0m"));
            }
        }
    }
}

#[test]
fn passwords_of_other_scripts_go_whole() {
    let long = "пароль".repeat(40);
    check(&format!("curl -u admin:{long} https://x.example"), "curl -u admin:[redacted:password] https://x.example");
    check("curl -u admin:你的密码 调用", "curl -u admin:[redacted:password] 调用");
    check(&format!("key={}", "ü".repeat(300)), &format!("key={}", "ü".repeat(300)));
    check(&format!("PASSWORD={}", "ü".repeat(300)), "PASSWORD=[redacted:secret]");
}

#[test]
fn long_prose_without_blanks_is_no_secret() {
    let chinese = "请求失败，请检查网络连接。".repeat(40);
    let texts = ["错误码 code:", "token: ", "签名 signature: ", "\"token\": \""].map(|head| format!("{head}{chinese}"));
    let letters = format!("code={}", "abcdefghij".repeat(60));
    let path = format!("signature: {}", "/srv/path/to".repeat(60));
    for text in texts.iter().chain([&letters, &path]) {
        check(text, text);
    }
    check(&format!("token={}", "a1B2c3D4e5F6".repeat(60)), "token=[redacted:secret]");
}
