//! Commands as people and agents write them: long ones, several per line, with here-documents, and texts that only
//! contain their words.

use super::*;

#[test]
fn programs_are_known_however_far_before_their_options() {
    let ignored: String = (0..40).map(|table| format!(" --ignore-table=shop.table_{table}")).collect();
    check(
        &format!("mysqldump --single-transaction{ignored} -u backup -pkW8xyzq7Lm2p shop"),
        &format!("mysqldump --single-transaction{ignored} -u backup -p[redacted:password] shop"),
    );
    let options = " -o StrictHostKeyChecking=no".repeat(30);
    check(&format!("sshpass{options} -p hunter2x ssh"), &format!("sshpass{options} -p [redacted:password] ssh"));
    let lines = "  -o StrictHostKeyChecking=no \\\n".repeat(30);
    check(&format!("sshpass \\\n{lines}  -p hunter2x"), &format!("sshpass \\\n{lines}  -p [redacted:password]"));
    // Not behind another command, nor too far away in a text that only contains the word.
    let words = "and then another word stands here ".repeat(20);
    for text in
        ["sshpass -e ssh; mkdir -p hunter2x", &format!("zip {words} -P value"), &format!("{words} zip -P value")]
    {
        check(text, text);
    }
}

#[test]
fn every_secret_of_a_line_goes_at_once() {
    for (program, argument, secret) in [
        ("redis-cli", "-a §", "kW8xyzq7Lm2p"),
        ("ipmitool", "-P §", "kW8xyzq7Lm2p-kW8xyzq7Lm2p-kW8xyzq7Lm2p"),
        ("zip", "-P §", "kW8xyzq7Lm2p"),
        ("sshpass", "-p §", "kW8xyzq7Lm2p"),
        ("smbclient", "--user me%§", "kW8xyzq7Lm2p-kW8xyzq7Lm2p-kW8xyzq7Lm2p"),
        ("xfreerdp /v:desk", "/p:§", "kW8xyzq7Lm2p-kW8xyzq7Lm2p-kW8xyzq7Lm2p"),
        ("true |", "echo § | sudo -S ls |", "kW8xyzq7Lm2p-kW8xyzq7Lm2p-kW8xyzq7Lm2p"),
        ("expect", "assword: send \"§\"", "kW8xyzq7Lm2p!kW8xyzq7Lm2p!kW8xyzq7Lm2p"),
    ] {
        let text = format!("{program} {}", format!("{argument} more ").repeat(200));
        check(&text.replace('§', secret), &text.replace('§', "[redacted:password]"));
    }
}

#[test]
fn every_line_of_a_document_goes() {
    for newline in ["\n", "\\n", "\\\\n"] {
        let lines = |lines: &[&str]| lines.join(newline);
        check(
            &lines(&[
                "chpasswd <<EOF",
                "me:Hunter2024",
                "you:Summer 2025",
                "him:$PASS",
                "her:Winter2026",
                "EOF",
                "a:Nothing24",
            ]),
            &lines(&[
                "chpasswd <<EOF",
                "me:[redacted:password]",
                "you:[redacted:password]",
                "him:$PASS",
                "her:[redacted:password]",
                "EOF",
                "a:Nothing24",
            ]),
        );
        check(
            &lines(&["docker login --password-stdin <<'END'", "hunter two 2024", "END", "echo done2024"]),
            &lines(&["docker login --password-stdin <<'END'", "[redacted:password]", "END", "echo done2024"]),
        );
        check(
            &lines(&["see `docker login --password-stdin <<EOF`", "and what it reads 2024"]),
            &lines(&["see `docker login --password-stdin <<EOF`", "and what it reads 2024"]),
        );
    }
}

#[test]
fn what_is_written_goes_where_a_password_is_read() {
    for (text, expected) in [
        ("echo 'my pass 2024' | sudo -u me -kS ls", "echo '[redacted:password]' | sudo -u me -kS ls"),
        ("echo Hunter2024|sudo -S ls", "echo [redacted:password]|sudo -S ls"),
        ("echo 'me:a|b;c24'|sudo chpasswd", "echo 'me:[redacted:password]'|sudo chpasswd"),
        ("echo Hunter2024 | tee x | /usr/bin/passwd me", "echo [redacted:password] | tee x | /usr/bin/passwd me"),
        ("echo Hunter2024 2>/dev/null | sudo -S ls", "echo [redacted:password] 2>/dev/null | sudo -S ls"),
        ("echo Hunter2024 | ssh h 'sudo -S ls'", "echo [redacted:password] | ssh h 'sudo -S ls'"),
        ("curl -u 'admin:my pass 2024' https://x", "curl -u 'admin:[redacted:password]' https://x"),
        ("curl -u admin:'my pass 2024' https://x", "curl -u admin:'[redacted:password]' https://x"),
        ("sshpass -p 'my pass 2024' ssh me@h", "sshpass -p '[redacted:password]' ssh me@h"),
        ("{\"args\":[\"sshpass\",\"-p\",\"Hunter2024\"]}", "{\"args\":[\"sshpass\",\"-p\",\"[redacted:password]\"]}"),
        ("sqlplus <<EOF\nconn a/Tiger24@db\nEOF", "sqlplus <<EOF\nconn a/[redacted:password]@db\nEOF"),
        ("expect \"PIN: \"\nsend \"a1b2c3!\\r\"", "expect \"PIN: \"\nsend \"[redacted:password]\\r\""),
    ] {
        check(text, expected);
    }
}

#[test]
fn words_of_commands_in_other_places_stay() {
    for text in [
        "echo 'a1b2c3!' | ssh host passwd",
        "echo build#12 | cat passwd",
        "echo \"user1!\" | grep passwd",
        "echo 'Hunter2024' | tee log; sudo -S ls",
        "echo 'Hunter2024' | sudo tar -cS x",
        "echo 'Hunter2024' || sudo -S ls",
        "open conn src/Main1!x",
        "conn pool/Size10!x",
        "postgres conn user/pool1@host",
        "AUTH v2.1!",
        "# uses PINNED version\nws.send \"hello-1!x\"",
        "PIN = 7\nsocket.send \"msg#12a\"",
        "assword: send \"$PASS\"",
    ] {
        check(text, text);
    }
}
