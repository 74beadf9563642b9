//! Secrets in settings are cut whatever their characters.

use super::cuts::table;

/// Checks that every text with a value in the place of `§` loses the value and nothing else.
fn lose(values: &[&str], places: &[&str]) {
    let rows: Vec<(String, String)> = places
        .iter()
        .flat_map(|place| {
            values.iter().map(|value| (place.replace('§', value), place.replace('§', "[redacted:secret]")))
        })
        .collect();
    table(&rows.iter().map(|(input, expected)| (input.as_str(), expected.as_str())).collect::<Vec<_>>());
}

#[test]
fn values_of_settings_go_whatever_they_are_made_of() {
    let mixed = ["DNxril", "3RavGD"].concat();
    let letters = ["uMoOdR", "ritcZl"].concat();
    let capitals = ["HOYEG", "HDDBD"].concat();
    lose(
        &[&mixed, &letters, &capitals],
        &[
            "DB_PASS=§",
            "SMTP_PASS=§",
            "export SUDO_PASS=§",
            "DB_PW=§",
            "NPM_AUTH=§",
            "REDIS_AUTH=§",
            "PASS=§",
            "DB_PASSWORD=§",
            "PGPASSWORD=§ psql -h db",
            "API_TOKEN=§",
            "TOKEN=§",
            "MYSQL_PWD=§ mysqldump app",
            "docker run -e DB_PASSWORD=§ postgres",
        ],
    );
    lose(
        &[&mixed],
        &["\"pass\": \"§\"", "auth: { user: 'me', pass: '§' }", "smtpPass: '§'", "db_pass = \"§\"", "DB_PASS: §"],
    );
    let small = ["cusrj", "cxhxe"].concat();
    lose(&[&small], &["KEYSTORE_PASSWORD: §", "a: 1\n  DB_PASSWORD: §\n  b: 2", "{\"env\":\"X_PASSWORD: §\"}"]);
}

#[test]
fn a_word_for_secrets_inside_a_value_does_not_save_it() {
    let values = [
        ["Super", "Secret99"].concat(),
        ["MySecret", "Pass1"].concat(),
        ["BlueToken", "Horse7"].concat(),
        ["hunter2", "secret"].concat(),
        ["pass", "word1"].concat(),
        ["realsecret", "value99"].concat(),
        ["my-super-secret", "-jwt-key-2024"].concat(),
    ];
    let values: Vec<&str> = values.iter().map(String::as_str).collect();
    lose(
        &values,
        &[
            "password=§",
            "password = \"§\"",
            "\"password\": \"§\"",
            "--password=§",
            "mytool --password § --user me",
            "api_key=§",
            "JWT_SECRET=§",
            "https://x.example/?password=§&a=b",
        ],
    );
    lose(&["MyToken1234"], &["token=§", "--token=§", "https://x.example/?token=§"]);
    let login = |value: &str| format!("docker login -u x -p {value} registry.example");
    table(&[
        (&login("SuperSecret99"), &login("[redacted:password]")),
        (&login("'SuperSecret99'"), &login("'[redacted:password]'")),
        ("docker login -p SuperSecret99 -u x", "docker login -p [redacted:password] -u x"),
    ]);
}
