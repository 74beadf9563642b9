//! Which sessions touched a file.

use super::*;

#[test]
fn a_renamed_file_is_followed() {
    let first = Script::default().prompt("x").edit("/srv/shop/src/a.rs").reply("I decided to keep it, as it is small.");
    let second = Script::default().prompt("y").ok("git mv src/a.rs src/b.rs").ok("cat > src/new.rs <<E\nx\nE");
    let third = Script::default().prompt("z").edit("/srv/shop/src/b.rs").read("/srv/shop/src/a.rs");
    let at = |witness: Witness, minutes: i64| Witness {
        at: Some(Timestamp(1_773_480_000_000 + minutes * 60_000)),
        ..witness
    };
    let witnesses = [
        at(third.witness("three", "/srv/shop"), 90),
        at(second.witness("two", "/srv/shop"), 60),
        at(first.witness("one", "/srv/shop"), 0),
    ];
    let check = |asked: &str, expected: &[&str]| {
        let told = blame(asked, &witnesses, None, 10);
        let row = |one: &baton_protocol::answer::BlameSession| {
            let renamed = one.renamed.as_deref().map_or_else(String::new, |renamed| format!(" {renamed}"));
            format!("{} {}{}{renamed}", one.session_id, if one.modified { "m" } else { "-" }, one.decisions.len())
        };
        assert_eq!(told.sessions.iter().map(row).collect::<Vec<_>>(), expected, "{asked}: {}", told.message);
    };
    check("src/b.rs", &["three m0", "two -0 src/a.rs -> src/b.rs", "one m1"]);
    check("src/a.rs", &["three -0", "two -0 src/a.rs -> src/b.rs", "one m1"]);
    check("src/new.rs", &["two m0"]);
    check("src", &["three m0", "two m0 src/a.rs -> src/b.rs", "one m1"]);
    check("src/n*.rs", &["two m0"]);
    check("/", &[]);
    assert!(blame("src/b.rs", &witnesses, None, 9).message.ends_with("before as src/a.rs"));
    assert!(blame_former("b.rs", &witnesses, None).contains("f:a.rs"));
}

#[test]
fn blame_names_a_file_whatever_is_given_of_it() {
    let shop = Script::default()
        .prompt("why is the login slow")
        .read("/srv/shop/src/auth.rs")
        .edit("/srv/shop/src/auth.rs")
        .reply("I decided to keep the cache in src/auth.rs because the session store is slower.");
    let other = Script::default().prompt("x").read("/srv/shop/src/auth.rs").edit("/srv/shop/tests/auth.rs");
    let harbor = Script::default().prompt("y").edit("/srv/harbor/src/auth.rs");
    let witnesses =
        [harbor.witness("three", "/srv/harbor"), other.witness("two", "/srv/shop"), shop.witness("one", "/srv/shop")];
    let check = |asked: &str, own: Option<&str>, expected: &[&str]| {
        let told = blame(asked, &witnesses, own, 10);
        let mut found: Vec<String> = told
            .sessions
            .iter()
            .map(|one| {
                format!(
                    "{} {}+{}-{} r{} d{}",
                    one.session_id,
                    one.modified,
                    one.added,
                    one.removed,
                    one.read,
                    one.decisions.len()
                )
            })
            .collect();
        found.extend(
            told.candidates.iter().map(|one| format!("? {} {}", one.project.as_deref().unwrap_or("-"), one.path)),
        );
        assert_eq!(found, expected, "{asked}: {}", told.message);
    };
    let of_shop = ["two false+0-0 r1 d0", "one true+2-1 r1 d1"];
    check("/srv/shop/src/auth.rs", None, &of_shop);
    check("src/auth.rs:42", Some("/srv/shop"), &of_shop);
    check("./src/auth.rs", Some("/srv/harbor"), &["three true+2-1 r0 d0"]);
    check("src/auth.rs", None, &["? /srv/shop src/auth.rs", "? /srv/harbor src/auth.rs"]);
    check("tests/auth.rs", None, &["two true+2-1 r0 d0"]);
    check("auth.rs", Some("/srv/shop"), &["? /srv/shop src/auth.rs", "? /srv/shop tests/auth.rs"]);
    check("uth.rs", None, &[]);
    check("", None, &[]);
    let told = blame("/srv/shop/src/auth.rs", &witnesses, None, 1);
    assert_eq!(told.message, "src/auth.rs was changed in 1 session, read in 2 sessions, decided about in 1 session");
    assert_eq!((told.sessions.len(), told.more_sessions), (1, 1));
}
