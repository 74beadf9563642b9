//! Building blocks of lines: texts, times, ids and tools as agents write them, and invalid ones.

use crate::dice::Dice;

/// Texts as JSON strings, with everything that may occur in one.
pub(super) const TEXTS: &[&str] = &[
    r#""b""#,
    r#""fix the login""#,
    r#""""#,
    r#""  \n ""#,
    r#""größer als 東京 😀 \u00e9\ud83d\ude00""#,
    r#""用 curl -u admin:你的密码 来调用接口，然后把结果写入 /srv/数据/输出.json。""#,
    r#""Нужно исправить ошибку входа: пароль не принимается. Далее: проверить тесты.""#,
    r#""I decided to use größe instead of länge because über 東京 👩‍💻 said so. Next: é.""#,
    r#""lone \ud83d and \udc00 here""#,
    r#""line one\nline two\r\n\tthree\u0000four\u001b[31m""#,
    r#""[Request interrupted by user]""#,
    r#""[Request interrupted by user for tool use]""#,
    r#""<command-name>/review</command-name><command-args>the diff</command-args>""#,
    r#""<command-message>x</command-message><command-name>clear</command-name>""#,
    r#""<local-command-stdout>done</local-command-stdout>""#,
    r#""<bash-input>ls</bash-input><bash-stdout>a\nb</bash-stdout><bash-stderr></bash-stderr>""#,
    r#""<task-notification><summary>done</summary></task-notification>\nand now b""#,
    r#""<ide_opened_file>/a.rs</ide_opened_file>why?""#,
    r#""<system-reminder>be good</system-reminder>""#,
    r#""a <private>me and you</private> b""#,
    r#""<private>open end""#,
    r#""<baton-recall n=\"1\">old</baton-recall> and new""#,
    r#""key sk-ant-a1B2a1B2a1B2a1B2a1B2 and password=hunter2hunter2""#,
    r#""Exit code 101\nerror[E0308]: mismatched types\n  --> src/a.rs:1:1""#,
    r#""Exit code 1\nerror: password=correcthorsebattery""#,
    r#""The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string was NOT written to the file). To tell you how to proceed, the user said:\nuse b""#,
    r#""User has answered your questions: \"Which?\"=\"the second\". You can now continue with the user's answers in mind.""#,
    r#""<persisted-output>\nOutput too large (44.1 KB). Full output saved to: /h/tool-results/x.txt\n\nPreview (first 2KB):\nab\n</persisted-output>""#,
    r#""agentId: a1b2c3d4 (for resuming)\nall done""#,
    r#""\"\\\/\b\f""#,
    r#""{\"type\":\"user\",\"message\":{\"content\":\"inner\"}}""#,
];
pub(super) const TIMES: &[&str] = &[
    r#""2026-03-14T09:26:53.589Z""#,
    r#""2026-03-14T09:26:54.000Z""#,
    r#""2026-03-14T08:00:00Z""#,
    r#""2026-03-14T10:26:53.589+02:00""#,
    r#""1969-12-31T23:59:59.999Z""#,
    r#""2026-02-30T00:00:00.000Z""#,
    r#""yesterday""#,
    r#""""#,
    "null",
    "1773480413589",
    "{}",
];
pub(super) const VERSIONS: &[&str] =
    &[r#""1.0.24""#, r#""2.0.37""#, r#""2.1.20""#, r#""2.1.52""#, r#""2.1.97""#, r#""2.1.219""#, r#""x""#, "2", "null"];
pub(super) const IDS: &[&str] = &["t1", "t2", "t3", "toolu_01ABCDEFGHIJ", "", "é\\u00e9"];
pub(super) const TOOLS: &[&str] = &[
    "Bash",
    "Read",
    "Edit",
    "Write",
    "MultiEdit",
    "NotebookEdit",
    "Grep",
    "Glob",
    "TodoWrite",
    "Task",
    "Agent",
    "AskUserQuestion",
    "ExitPlanMode",
    "WebFetch",
    "WebSearch",
    "mcp__baton__search_memory_nodes",
    "mcp__other__do",
    "",
    r#"Task\" >\n<parameter name=\"description"#,
    "../../etc/passwd",
];
pub(super) const INPUTS: &[&str] = &[
    "{}",
    r#"{"command":"cargo test --all","description":"Run","timeout":1e3}"#,
    r#"{"file_path":"/p/src/a.rs","old_string":"a\nb","new_string":"a\nc\nd"}"#,
    r#"{"file_path":"/p/src/a.rs","content":"one\ntwo\n"}"#,
    r#"{"file_path":"/p/a.rs","edits":[{"old_string":"a","new_string":"b"},{"old_string":"","new_string":"c\n"},3]}"#,
    r#"{"pattern":"fn x","path":"src","-n":true}"#,
    r#"{"questions":[{"question":"Which?","options":[{"label":"a"}]}]}"#,
    r#"{"todos":[{"content":"x","status":"pending","activeForm":"y"}]}"#,
    r##"{"plan":"# A\n- b"}"##,
    r#"{"n":1e999,"m":-0.0,"big":123456789012345678901234567890,"deep":[[[[{"a":[null,true]}]]]]}"#,
    r#"{"a":1,"a":2,"password":"hunter2hunter2","env":{"K":["sk-ant-a1B2a1B2a1B2a1B2"]}}"#,
    r#""a string""#,
    "[1,2]",
    "null",
    "7",
];
pub(super) const WRONG: &[&str] =
    &["null", "7", "true", "[]", "{}", r#""x""#, "-1.5e3", "[[{}]]", "1e999", r#"{"type":null}"#];

pub(super) fn long(dice: &mut Dice) -> String {
    let unit = dice.pick(&[
        "x",
        "wort ",
        "\\n",
        "é",
        "\\ud83d\\ude00",
        "a.rs:1: error ",
        "eyJ",
        "=",
        "<private>",
        "\\\\",
        "ü",
        "语",
        "😀",
        "👩‍💻 ",
        "数据库的密码是什么？我不知道。",
        "Как сбросить пароль? ",
        "größer, schöner, später. ",
        "\u{2192} ",
        "か\u{3099}",
    ]);
    // Prefixes that announce a value which is judged by its first bytes, and their distance to its first character.
    let before = dice.pick(&["", "key=", "password: ", "curl -u admin:", "- ", "Error: ", "a ", "ab ", "abc "]);
    format!("\"{before}{}\"", unit.repeat(1 + dice.below(900)))
}

pub(super) fn text(dice: &mut Dice) -> String {
    if dice.once_in(24) { long(dice) } else { dice.pick(TEXTS).to_owned() }
}
