//! Defects that are found in notes.

use super::sample::{day, facts, layout, wanted};
use crate::verify::{VaultIndex, header_defect, links};
use crate::{NoteRole, knowledge, merge, start};

fn found(paths: &[&str], path: &str, text: &str) -> Vec<String> {
    let known = VaultIndex::new(paths.iter().copied(), "claude");
    let all = known.findings().iter().cloned().chain(known.check(path, text));
    all.map(|finding| format!("{}:{}: {}", finding.path, finding.line, finding.what)).collect()
}

#[test]
fn what_baton_writes_is_sound() {
    let (facts, today) = (facts(), day("2026-03-14"));
    let mut all = knowledge::entity_notes(&facts, &layout(), today);
    all.push(wanted(&facts));
    all.extend(start::wanted_pages(&facts, None, &layout(), today));
    let paths: Vec<&str> = all.iter().map(|wanted| wanted.path.as_str()).collect();
    for wanted in &all {
        assert_eq!(found(&paths, &wanted.path, &merge(None, &wanted.note).text), Vec::<String>::new());
        assert_eq!(layout().role(&wanted.path).map(|role| layout().path(&role)).as_ref(), Some(&wanted.path));
    }
    assert_eq!(layout().role("other/Start.md"), None);
    assert_eq!(layout().role("claude/Start.md"), Some(NoteRole::Start));
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    let block = |text: &str| merge(None, &wanted(&facts()).note).text.replace("- deploy it\n", text);
    for (path, text, expected) in [
        ("claude/a.md", "---\nkey\n---\n".to_owned(), "claude/a.md:2: this line of the frontmatter"),
        ("claude/a.md", "---\na: 1\nb:\n  - x\na: 2\n---\n".to_owned(), "claude/a.md:5: the key a stands there twice"),
        ("claude/a.md", "---\na: 1\nb: \"open\n---\n".to_owned(), "claude/a.md:3: the value of the key b is no YAML"),
        ("claude/a.md", "---\na: b: c\n---\n".to_owned(), "claude/a.md:2: the value of the key a is no YAML"),
        ("claude/a.md", "---\na: [b\n---\n".to_owned(), "claude/a.md:2: the value of the key a is no YAML"),
        ("claude/a.md", "\n<!-- /baton:open -->\n".to_owned(), "claude/a.md:2: a marker of the block open"),
        ("claude/con.md", String::new(), "claude/con.md:0: the name \"con.md\" is not safe"),
    ] {
        let found = found(&[path], path, &text);
        assert!(found.iter().any(|finding| finding.starts_with(expected)), "{expected}: {found:?}");
    }
    let sound = "---\na: 'x'\nb: [c, d]\ne: |\n  f: g\nh:\n  i: j\nk: https://x.y # z\nl: \"m\" # n\n---\n";
    assert_eq!(found(&["claude/a.md"], "claude/a.md", sound), Vec::<String>::new());
    // Only links that Baton wrote are checked.
    let text = block("- deploy it\n");
    let missing = found(&["claude/a.md"], "claude/a.md", &(text + "\n[[not yet written]]\n"));
    assert_eq!(missing.len(), 3, "{missing:?}");
    assert!(missing.iter().all(|finding| finding.contains("src-auth.rs\" leads nowhere")), "{missing:?}");
    let collide = found(&["claude/Auth.md", "claude/auth.md"], "claude/a.md", "");
    assert_eq!(collide, ["claude/auth.md:0: on some systems it is the same file as \"claude/Auth.md\""]);
}

#[test]
fn a_link_that_may_mean_two_notes_is_told_and_a_copy_in_the_archive_is_no_second_one() {
    let text = merge(None, &knowledge::entity_notes(&facts(), &layout(), day("2026-03-14"))[1].note).text;
    let sessions = |project: &str| layout().path(&NoteRole::Session(project.to_owned(), facts().about.note));
    let copy = layout().path(&NoteRole::Archived("shop".to_owned(), facts().about.note));
    let links = |paths: &[&str]| {
        let found = found(paths, "claude/a.md", &text);
        found.into_iter().filter(|finding| finding.contains("refresh-tokens")).collect::<Vec<_>>()
    };
    assert_eq!(links(&[&sessions("shop"), &copy]), [""; 0]);
    let two = links(&[&sessions("shop"), &sessions("other"), &copy]);
    assert!(matches!(two.as_slice(), [one] if one.contains("may mean 2 notes")), "{two:?}");
    for (name, of) in
        [("x", "x"), ("x (archived)", "x"), ("x (archived)-12", "x"), ("x (archived) y", "x (archived) y")]
    {
        let path = format!("claude/projects/shop/archive/sessions/{name}.md");
        assert_eq!(layout().role(&path), Some(NoteRole::Archived("shop".to_owned(), of.to_owned())));
    }
}

#[test]
fn a_head_that_cannot_be_read_is_told_in_a_sentence() {
    for (text, expected) in [
        ("no head\n", None),
        ("---\ntype: session\n---\n", None),
        ("---\ntype: [unclosed\n---\n", Some("line 2: the value of the key type is no YAML")),
        ("---\na: 1\nnothing\n---\n", Some("line 3: this line of the frontmatter is no YAML that can be read")),
    ] {
        assert_eq!(header_defect(text).as_deref(), expected, "{text}");
    }
}

#[test]
fn a_link_is_no_link_in_code_or_behind_a_backslash() {
    for (line, expected) in [
        ("- [[a]] and [[b/c|d]]", vec!["a", "b/c"]),
        ("`[[a]]` [[b]]", vec!["b"]),
        ("\\[\\[a\\]\\]", vec![]),
        ("\\[[a]]", vec![]),
        ("[[a", vec![]),
        ("[[]]", vec![]),
    ] {
        assert_eq!(links(line).collect::<Vec<_>>(), expected, "{line}");
    }
}
