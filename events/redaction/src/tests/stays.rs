//! Ordinary code, lock files, logs and prose stay byte for byte.

use super::*;

fn stays(texts: &[&str]) {
    let wrong = texts.iter().filter_map(|clean| match redact(clean) {
        Cow::Borrowed(_) => None,
        Cow::Owned(cut) => Some(format!("{clean:?}\n  became {cut:?}")),
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

#[test]
fn prose_and_code_stay() {
    stays(&[
        "",
        "plain prose about a refresh token: how it is renewed, and why",
        "the token was expired, so the password: we ask for it again",
        "Basic authentication and bearer tokens are supported; authorization: see below",
        "Authorization: Basic authentication is off",
        "task-list-of-all-things-we-do and risk-assessment-for-everything-else",
        "class sk-learn-based-classifier in a sheet, sk-toggleable__label-arrow, sk-container-id-12",
        "/home/user/.password-store/work/mail.gpg",
        "src/auth/token.rs:120: fn refresh_token(&self) -> Token",
        "fn refresh_token(token: &str) -> Result<Token, Error> {",
        "let token = generate_token(user_id);",
        "password: string; passwordConfirmation: string",
        "pub password: String, pub api_key: Option<String>, secret: Vec<u8>",
        "const password = process.env.PASSWORD_1;",
        "password = os.environ['DB_PASSWORD']",
        "secret = get_secret('db', 1234)",
        "if password == other_password1 { }",
        "if (token !== undefined && token.kind === Kind.Eof1) {",
        "token.kind == Kind::Eof, self.token = tokens[12];",
        "token_count: 12345678, max_tokens=100000000, total_tokens: 1234567890123456",
        "npm_config_registry_something_long npm_package_version",
        "hf_hub_download_with_a_long_name",
        "\"password\": \"Enter your password\"",
        "\"password\": \"Passwort\", \"token\": \"Token\", \"secret\": \"Geheimnis\"",
        "<input type=\"password\" name=\"password\" autocomplete=\"current-password\" id=\"password1\">",
        "<label for=\"password\">Password</label>",
        "type Field = 'username' | 'password' | 'access_token';",
        "PASSWORD = \"password\"\nACCESS_TOKEN = \"access_token\"",
        "InvalidPassword: \"INVALID_PASSWORD\",",
        "this.password = user.password2; secret: config.secret1",
        "WHERE password = $1 AND token = ?",
        "password VARCHAR(255) NOT NULL, token CHAR(64)",
        "PWD=/home/dev/work/project1 OLDPWD=/home/dev/work2",
        "docker run -u 1000:1000 -p 3306:3306 mysql:8 && docker exec -u www-data:www-data x",
        "mysql -u root -p app < dump.sql",
        "mytool --password string --token-file /run/secrets/token1",
        "use --password to set it, --secret name for another",
        "key: ArrowLeft, cache_key=3f785c3a9f0e4d1b8a7c6e5d4f3b2a19, primary_key=7acd37a8",
        "\"key\": \"some.translation.key.for.a.page.title1\"",
        "public_key = \"BHx2Kx9Tq4Rv7Zs1Wm3Yp6Lc8Dn5Fg0Hj\"",
        "\"session_id\":\"019efedf-a8dc-7b20-ba1d-f1c6ff7ea96e\"",
        "author = \"me <me@example.com>\"",
        "\\section{Token} $k_{1} = \\frac{a}{b}$ % the secret: none",
        "thread 'main' panicked at src/auth/password.rs:12:5:\ncalled `Result::unwrap()` on an `Err` value: Expired",
        "    at Object.token (/app/node_modules/express/lib/router/index.js:284:15)",
        "Cookie: {cookie}, cookies = {}, res.cookie('a', 'b')",
        "let cookie = Cookie::new(name, value);",
        "const { token, secret } = await getCredentials();",
        "key = lambda x: x.password",
        "secrets: inherit",
        "password = get_password()\nsecret = secret_manager\nself.token = token2, secret: secret1,",
        "password: get_password2(), secret = secret_manager.get1(), token: &str, password: String",
        "f(password=get_password, token=user_token, secret=secret_manager, token=None)",
        "let render_pass = RenderPass::new(); first_pass: true, bypass=12345678x, passes = 3",
        "PASS: tests/unit/test_a1.py\nPASS src/app1.test.js\nPASS=12 FAIL=0",
        "\"pass\": \"verified\", \"pass\": true, auth: oauth2, \"auth\": \"none-v2\"",
        "DB_PASSWORD=$OTHER API_TOKEN=${TOKEN} DB_PASS=$(pass show db) MYSQL_PWD=\"$DB_PASS\"",
        "API_SECRET: required for everything, MISSING_PASSWORD: resource is absent",
        "docker login -u $USER -p $PASS && docker login --password-stdin && gh auth login -p https -w",
        "use --password together with --token something",
        "secretName: my-tls-secret\nsecretKeyRef: {name: db, key: password}",
    ]);
}

#[test]
fn words_of_other_scripts_stay_and_passwords_in_them_go() {
    stays(&[
        "password: пароль",
        "password: обязательно",
        "Password: требуется для входа",
        "password: 请输入您的密码",
        "password: Übergröße",
        "\"password\": \"Пароль\"",
        "\"password\": \"请输入密码\"",
        "密码：请输入",
        "密码：我们需要重置",
        "пароль: нужно сменить",
    ]);
    for (text, expected) in [
        ("password: Зимний2024!", "password: [redacted:secret]"),
        ("password: 冬天2024!", "password: [redacted:secret]"),
        ("password: Москва24", "password: [redacted:secret]"),
        ("password=\"секретное\"", "password=\"[redacted:secret]\""),
        ("DB_PASSWORD=секретное", "DB_PASSWORD=[redacted:secret]"),
        ("\"password\": \"Зима2024!\"", "\"password\": \"[redacted:secret]\""),
        ("密码：hunter2024!", "密码：[redacted:secret]"),
        ("пароль: Hunter2024!", "пароль: [redacted:secret]"),
    ] {
        assert_eq!(redact(text), expected, "{text}");
    }
}

#[test]
fn placeholders_stay() {
    stays(&[
        "Authorization: Bearer $TOKEN",
        "Authorization: Bearer <token>",
        "Authorization: Bearer ${{ secrets.DEPLOY_TOKEN }}",
        "password=********  api_key=your-api-key-here secret: ${SECRET_VALUE_1}",
        "password=changeme API_KEY=<your-key> token=xxxxxxxxxxxxxxxxxxxx",
        "API_KEY=xxxx-xxxx-1234 DB_PASSWORD=%DB_PASSWORD% SECRET={{ vault_secret1 }}",
        "password: {{ .Values.db.password1 }}",
        "password: !Ref DbPassword1",
        "password: op://vault/item/password1",
        "secret: arn:aws:secretsmanager:eu-west-1:1:secret:x",
        "token: ${{ secrets.GITHUB_TOKEN_2 }}",
        "postgres://app:$PASS@db, postgres://app:${DB_PASS}@db, postgres://user:password@host, https://user:****@x",
        "OPENAI_API_KEY: 'test-key', secret: \"[redacted]\"",
        "password_file: /run/secrets/db_password",
        "password=/run/secrets/db_password1",
        "curl -u $USER:$PASS https://x.example",
        "api_key = sk-...abcd",
        "[redacted:secret]=abcdef123 and [redacted:github_token]: abcdef123",
    ]);
}

#[test]
fn hashes_ids_and_data_stay() {
    stays(&[
        "commit 3f785c3a9f0e4d1b8a7c6e5d4f3b2a1908070605\nAuthor: me <me@example.com>",
        "7acd37a8-2745-4b58-a8a9-46164b22ad9e 019efedf-a8dc-7b20-ba1d-f1c6ff7ea96e",
        "[[package]]\nname = \"token\"\nchecksum = \"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\"",
        "\"integrity\": \"sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==\"",
        "  integrity sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==",
        "    resolution: {integrity: sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==}",
        "github.com/a/b v1.2.3 h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
        "golang.org/x/crypto v0.1.0/go.mod h1:RecgLatLF4+eUMCP1PoPZQb+cVrJcOPbHkTkbkB9sbw=",
        "{file = \"a-1.0.whl\", hash = \"sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\"}",
        "FROM rust@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "  checksum: 10c0/9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a089f86d081884c7d659a2feaa0c55ad015",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIG4rT3vTt99Ox5kndS4HmgTrKBT8SKzhK4rhGkEVGlCI me@host",
        "-----BEGIN CERTIFICATE-----\nMIIBkTCB+wIJAKHHIG11cDZ2MA0GCSqGSIb3DQEBBQUAMA0xCzAJBgNVBAYTAlVT\nMB4XDTEwMDMxOTE0NDY0MVoXDTEwMDQxODE0NDY0MVowDTELMAkGA1UEBhMCVVMw\n-----END CERTIFICATE-----",
        "toolu_01A09q90qw90lq917835lq9Kx msg_01XFDUDYJgAACzvnptvVoYEL req_011CSHoEeqs5C35K2UUqR7Fy",
        "call_Vb3Zk9Qw2Rt7Yx1Lp5Nc8Md4 chatcmpl-9Kx2QmZp7Lr4Tn8Vs3YbHd1Jf5Gs0 srvtoolu_01Kx2QmZp7Lr4Tn8Vs3YbHd1",
        "snowflake 175928847299117063, 1420070400000, id=123456789012345678",
        "https://docs.google.com/spreadsheets/d/1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms/edit",
        "https://example.com:8080/a@b and git@github.com:owner/repo.git and ssh://git@host:22/x",
        "registry.example.com/@scope/package@1.2.3",
        "boundary=----WebKitFormBoundary7MA4YWxkTrZu0gW",
        "\"mappings\": \"AAAA,SAASA,IAAI,CAACC,CAAC,EAAEC,CAAC;IAChB,OAAO,KAAK;AACd,CAAC\"",
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
        "!function(e,t){\"object\"==typeof exports?module.exports=t():e.Token=t()}(this,function(){var n=e.token,r=t.password;return{a1:n,b2:r}});",
        ".Button_root__aB3dE:hover{color:#ff00aa;background:#1a2b3c4d} .css-1q2w3e4r{} .tw-grid-cols-[1fr_2fr]",
        "class=\"hover:bg-blue-500/50 md:w-[calc(100%-2rem)] text-[#1a2b3c] group-hover:translate-x-1\"",
        "fe80::1ff:fe23:4567:890a 2001:0db8:85a3:0000:0000:8a2e:0370:7334 00:1A:2B:3C:4D:5E",
        "getHTTPResponseCode200FromServerWithRetry and AbstractSingletonProxyFactoryBean2Impl",
        "test_that_the_quick_brown_fox_jumps_over_13_lazy_dogs_and_42_cats",
        "com.example.service.AuthTokenProvider2$Inner.getToken1(AuthTokenProvider2.java:120)",
        "target/debug/deps/libaho_corasick-3f785c3a9f0e4d1b.rlib /nix/store/0a1b2c3d4e5f6g7h8i9j0k1l2m3n4o5p-hello-2.12",
        "dQw4w9WgXcQ 2026-03-14T09:26:53.589Z v1.2.3-beta.4+build.567",
        "SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU me@host (ED25519)",
        "\"nonce\": \"rAnd0mN0nceVa1ueW1thM1xedCase1234567\", \"etag\": \"aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY\"",
        "kind: Deployment\nimage: app:1.2.3\nname: token-service-7d9f8b6c5-x2k4q",
        "index 3f785c3..9f0e4d1 100644\n--- a/src/token.rs\n+++ b/src/token.rs\n@@ -1,2 +1,2 @@\n-let token = a;\n+let token = b;",
        "| password | string | yes |\n|----------|--------|-----|",
        "<<<<<<< HEAD\n=======\n>>>>>>> 3f785c3a9f0e4d1b8a7c6e5d4f3b2a1908070605",
    ]);
}

#[test]
fn ids_of_sessions_stay_behind_whatever_name() {
    let ids = [
        "agent-a36efb2",
        "agent-a36efb2a1231c41e2",
        "agent-0f9e8d7c6b5a4",
        "7acd37a8-2745-4b58-a8a9-46164b22ad9e",
        "019efedf-a8dc-7b20-ba1d-f1c6ff7ea96e",
        "rollout-2026-03-14T09-26-53-019efedf-a8dc-7b20-ba1d-f1c6ff7ea96e",
        "3f785c3a9f0e4d1b8a7c6e5d4f3b2a19",
    ];
    let places = [
        "\"stream\":\"session:§\"",
        "{\"stream\":\"session:§\",\"seq\":1}",
        "session=§",
        "session: §",
        "session §",
        "/sessions/x?session=§&n=1",
        "/x?session_id=§",
        "\"session\": \"§\"",
        "\"sessionId\":\"§\"",
        "\\\"sessionId\\\":\\\"§\\\"",
        "session_id: §",
        "session_id = \"§\"",
        "SESSION_ID=§",
        "CLAUDE_SESSION_ID=§",
        "--session-id §",
        "--session=§",
        "the session id is §",
        "parent_session_id=§, parentSessionId: §",
    ];
    let texts: Vec<String> = places.iter().flat_map(|place| ids.map(|id| place.replace('§', id))).collect();
    stays(&texts.iter().map(String::as_str).collect::<Vec<_>>());
}
