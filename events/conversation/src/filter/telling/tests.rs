use super::*;

fn check(output: &str, expected: &str) {
    assert_eq!(telling_line(output).as_deref(), Some(expected), "{output}");
}

#[test]
fn compilers_and_programs_name_the_cause_in_one_line() {
    for (output, expected) in [
        (
            "   Compiling x v0.1.0\nwarning: unused\nerror[E0308]: mismatched types\n --> a.rs",
            "error[E0308]: mismatched types",
        ),
        (
            "    Checking x\nerror: casting `i16` to `u16`\n\nerror: could not compile `x`",
            "error: casting `i16` to `u16`",
        ),
        (
            "error: could not compile `x` (bin) due to 1 previous error",
            "error: could not compile `x` (bin) due to 1 previous error",
        ),
        (
            "cc -c a.c\na.c:3:5: error: expected ';' before '}'\nmake: *** [a.o] Error 1",
            "a.c:3:5: error: expected ';' before '}'",
        ),
        ("# pkg\n./main.go:3:2: undefined: x\nFAIL pkg [build failed]", "./main.go:3:2: undefined: x"),
        ("src/a.ts(3,1): error TS2304: Cannot find name 'x'.", "src/a.ts(3,1): error TS2304: Cannot find name 'x'."),
        (
            "\n> web@1.0.0 build\n> vite build\n\nx Build failed in 1.87s\nerror during build:\n[vite] Invalid value",
            "error during build: [vite] Invalid value",
        ),
        (
            "Traceback (most recent call last):\n  File \"x\", line 1\nImportError: cannot import name",
            "ImportError: cannot import name",
        ),
        ("Traceback (most recent call last):\n  File \"x\"\npkg.mod.OddException\n", "pkg.mod.OddException"),
        (
            "npm ERR! code ENOENT\nnpm ERR! Missing script: \"lint\"\nnpm ERR! A complete log",
            "npm ERR! Missing script: \"lint\"",
        ),
        ("/bin/bash: line 1: pytest: command not found", "/bin/bash: line 1: pytest: command not found"),
        ("fatal: not a git repository", "fatal: not a git repository"),
        ("Error: it broke\n\nCaused by:\n    0: no route", "Error: it broke"),
        ("Something happened\nCaused by:\n    connection refused", "Caused by: connection refused"),
        ("<tool_use_error>File has not been read yet.</tool_use_error>", "File has not been read yet."),
        ("Exit code 2\nhm\nfine", "hm"),
        ("warning: a\nplain words", "plain words"),
    ] {
        check(output, expected);
    }
    assert_eq!(telling_line("Exit code 1\n----\n"), None);
}

#[test]
fn a_failed_test_is_named_with_its_reason() {
    for (output, expected) in [
        (
            "running 2 tests\ntest a::ok ... ok\ntest a::b ... FAILED\n\nfailures:\n\n---- a::b stdout ----\n\
             thread 'a::b' panicked at src/a.rs:3:5:\nassertion `left == right` failed\n  left: 1\n right: 2",
            "test a::b: assertion `left == right` failed, left: 1, right: 2",
        ),
        ("test a::b ... FAILED\nthread 'a::b' (71) panicked at src/a.rs:3:5:\nno row", "test a::b: no row"),
        ("thread 'main' panicked at 'boom', src/main.rs:2:5", "thread 'main' panicked at 'boom', src/main.rs:2:5"),
        ("test a::b ... FAILED\ntest result: FAILED. 0 passed; 1 failed\nerror: test failed", "test a::b ... FAILED"),
        (
            "===== test session starts =====\nplatform linux\nt.py::test_a PASSED [ 50%]\nt.py::test_b FAILED [100%]\n\
             ____ test_b ____\n    assert \"Error: x\" in y\n>   assert 1 == 2\nE   assert 1 == 2\n\nt.py:3: AssertionError",
            "test_b: assert 1 == 2",
        ),
        (
            "==== test session starts ====\ncollected 0 items / 1 error\nE   ModuleNotFoundError: No module named 'x'",
            "ModuleNotFoundError: No module named 'x'",
        ),
        (
            "Getting extensions in current project...\nRunning ExUnit with seed: 1\n\n  1) test a row (Shop.RowTest)\n     \
             test/row_test.exs:7\n     Assertion with == failed\n     left: 1",
            "test a row (Shop.RowTest): Assertion with == failed, left: 1",
        ),
        (
            "  1) test a row (Shop.RowTest)\n     test/row_test.exs:7\n     ** (RuntimeError) no key",
            "test a row (Shop.RowTest): ** (RuntimeError) no key",
        ),
        (
            "FAIL src/a.test.ts\n  ✕ adds (2 ms)\n  ✓ says error: no (1 ms)\n\n  ● sum › adds\n\n    \
             expect(received).toBe(expected) // Object.is equality\n\n    Expected: 1\n    Received: 3\n",
            "sum › adds: Expected: 1, Received: 3",
        ),
        (
            "FAIL src/a.test.ts\n  ● sum › adds\n\n    TypeError: x is undefined\n",
            "sum › adds: TypeError: x is undefined",
        ),
        (
            "  ● sum › adds\n\n    expect(received).toEqual(expected) // deep equality\n\n    - Expected  - 1\n    \
             + Received  + 1\n\n      [\n    -   435,\n    +   434,",
            "sum › adds: expect(received).toEqual(expected) // deep equality, - 435, + 434",
        ),
        (
            "FAIL src/a.test.ts\n  ● Test suite failed to run\n\n    src/a.ts:1:2 - error TS1343: no",
            "src/a.ts:1:2 - error TS1343: no",
        ),
        (
            "=== RUN   TestSum\n--- FAIL: TestSum (0.00s)\n    sum_test.go:9: got 3, want 1\nFAIL",
            "TestSum: sum_test.go:9: got 3, want 1",
        ),
        ("--- FAIL: TestSum (0.00s)\nFAIL\nexit status 1", "--- FAIL: TestSum (0.00s)"),
    ] {
        check(output, expected);
    }
}

#[test]
fn what_is_given_back_is_bounded() {
    let long = format!("  ● {}\n\nTypeError: {}", "n".repeat(900), "x".repeat(900));
    let line = telling_line(&long).unwrap();
    assert_eq!(line.chars().count(), MAX_CHARS);
    assert!(line.contains("…: TypeError: xx"), "{line}");
    assert!(telling_line(&"a\n".repeat(100_000)).is_some());
}
