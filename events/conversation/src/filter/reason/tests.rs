use super::*;

#[test]
fn a_reason_is_looked_for_behind_what_passed() {
    let check = |output: &str, expected: &str| assert_eq!(reason_line(output).as_deref(), Some(expected), "{output}");
    check(
        "error: Item 3 failed\n\n 1318 pass\n 0 fail\n$ tsc --noEmit\na.test.ts(61,4): error TS2739: Type 'U' is missing",
        "a.test.ts(61,4): error TS2739: Type 'U' is missing",
    );
    check("error: it broke\n 3 pass\n 0 fail\nbye", "bye");
    check(
        "Pre-commit failed:\\n\\n[DIALYZER]\\nFinding PLTs\nlib/a.ex:120:18:pattern_match\nThe pattern can never match.",
        "lib/a.ex:120:18:pattern_match The pattern can never match.",
    );
    check("× Some errors were emitted while running checks.\n! Unused import: b.", "! Unused import: b.");
    check(
        "FAILED: git add\nThe following paths are ignored by one of your .gitignore files:\ndist\nhint: Use -f",
        "The following paths are ignored by one of your .gitignore files: dist",
    );
    check("FAILED: make\n", "FAILED: make");
    let conflict = "CONFLICT (content): Merge conflict in src/a.rs";
    check(
        &format!(
            "Auto-merging src/a.rs\n{conflict}\nAutomatic merge failed; fix conflicts and then commit the result."
        ),
        conflict,
    );
    check(
        &format!("Rebasing (1/2)\r\n{conflict}\nerror: could not apply 1a2b3c4... Grease\nhint: Resolve all conflicts"),
        conflict,
    );
    let quiet = "src/a.rs:12: let error = 1;\nsrc/b.rs:3: fn main()";
    assert_eq!(finding_line(quiet), None, "a search prints lines with one number");
    assert_eq!(
        finding_line("lib/a.ex:25:1:guard_fail The guard").as_deref(),
        Some("lib/a.ex:25:1:guard_fail The guard")
    );
    for line in ["× Formatter would have printed the following content", "cat: illegal option -- A"] {
        assert_eq!(finding_line(&format!("$ look\n{line}:\n 12 │ x\n")).as_deref(), Some(line));
    }
    assert_eq!(finding_line("3 × 4\nit says: no illegal option -- A\nsome words: illegal option -- A"), None);
    for (prompt, expected) in [
        ("It says:\nerror: pathspec '.' did not match\nWhy?", Some("error: pathspec '.' did not match")),
        (
            "Look:\nContextError: no provider\n    at f (a.js:1:2)\n    at g (a.js:3:4)",
            Some("ContextError: no provider"),
        ),
        ("Look:\nNo provider\n    at f (a.js:1:2)\n    at g (a.js:3:4)", Some("No provider")),
        ("Please handle errors, it cannot fail", None),
    ] {
        assert_eq!(pasted_line(prompt).as_deref(), expected, "{prompt}");
    }
}

#[test]
fn a_line_that_does_not_say_why_is_no_reason() {
    let check = |output: &str, expected: Option<&str>| assert_eq!(reason_line(output).as_deref(), expected, "{output}");
    check("collecting ... collected 9 items\na\nb\nc\nd\ne", None);
    check("the winch is stuck", Some("the winch is stuck"));
    check("Java VM warning: Sharing is off\nWARNING: An agent\nREPORT\na\nb\nc\nd", None);
    check("Error: Java VM warning: Sharing is off\nREPORT\na\nb\nc\nd\ne", None);
    check("a.c:9:2: note: 'load' declared here\n[2/4] Linking\na\nb\nc\nd\ne", None);
    check("/root/.zshrc:3: command not found: exprt\n> build\nERROR: no rope\n", Some("ERROR: no rope"));
    check("/root/.bashrc: line 1: exprt: command not found\n> build\nERROR: no rope\n", Some("ERROR: no rope"));
    check("lib/importer.py:88: in import_module\n    return x\na\nb\nc\nd", None);
    check(
        "ImportError while importing test module 'a.py'.\nlib/importer.py:88: in import_module\n",
        Some("ImportError while importing test module 'a.py'."),
    );
    let make = "make: *** No targets specified and no makefile found.  Stop.";
    let told = Some("make: *** No targets specified and no makefile found. Stop.");
    check(&format!("make: Entering directory '/a'\n{make}\nmake: Leaving directory '/a'"), told);
    assert_eq!(finding_line(make).as_deref(), told);
    assert!(is_echo("make: *** [all] Error 2") && is_echo("[ERROR] See /a/target for the individual test results."));
}

#[test]
fn what_passing_tests_print_is_no_reason() {
    let check = |output: &str, expected: Option<&str>| assert_eq!(reason_line(output).as_deref(), expected, "{output}");
    let log = "orders.test.ts:\nerror: no stock\n    at pay (orders.ts:3:1)\n";
    check(
        &format!(
            "{log}pay.test.ts:\nerror: expect(received).toBe(expected)\n(fail) pay > twice [0.3ms]\n 9 pass\n 1 fail"
        ),
        Some("pay > twice: error: expect(received).toBe(expected)"),
    );
    check(
        "pay.test.ts:\nDatabaseError: no such table\n   at pay (orders.ts:3:1)\nerror: expect(received).toBe(expected)\n(fail) pay > twice [0.3ms]\n 1 fail",
        Some("pay > twice: DatabaseError: no such table"),
    );
    check(
        &format!(
            "{log}a.test.ts:\n# Unhandled error between tests\n---\nerror: Cannot find module 'x'\n---\n 9 pass\n 1 fail"
        ),
        Some("error: Cannot find module 'x'"),
    );
    check(&format!("{log}(pass) pay\n(fail) other\n 1 fail"), Some("(fail) other"));
    check(
        &format!("{log}[1234 characters truncated]\n    at f (b.ts:2:1)\n(fail) other\n 1 fail"),
        Some("(fail) other"),
    );
    check(" 9 pass\n 1 fail\n 3 expect() calls\nRan 10 tests across 2 files. [1s]", Some("1 fail"));
    check(&format!("{log} 9 pass\n 0 fail\n× Unused import."), Some("× Unused import."));
    check(
        "× Errors were emitted while running checks.\n 9 pass\n 0 fail",
        Some("× Errors were emitted while running checks."),
    );
    assert_eq!(cause_line(&format!("bun test v1\n\n{log}")), None, "the end is not shown");
    assert_eq!(cause_line("error: no stock").as_deref(), Some("error: no stock"));
}

#[test]
fn a_finding_is_told_by_its_sentence_without_what_is_drawn_around_it() {
    let check = |output: &str, expected: &str| assert_eq!(reason_line(output).as_deref(), Some(expected), "{output}");
    check(
        "src/a.ts:3:1 lint/noUnused ━━━━━━━\n\n  × This variable is unused.\n\n  > 3 │ let x\n",
        "src/a.ts:3:1 lint/noUnused × This variable is unused.",
    );
    check("  × It would print:\n\n   302 302 │ let x\n   303     │\n", "× It would print");
    check(" 9 pass\n 0 fail\nno changes added to commit", "no changes added to commit");
}
