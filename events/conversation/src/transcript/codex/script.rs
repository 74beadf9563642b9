//! Scripts: newer models call their tools from JavaScript, as `await tools.exec_command({cmd: "make"})`.

/// The tool that runs a script.
pub(super) const EXEC: &str = "exec";
/// How a script calls a tool, and the one that runs a command.
const TOOLS: &str = "tools.";
const COMMAND: &str = "tools.exec_command(";

/// The commands of a script that does nothing else with tools and has them written out, one per line, and the directory
/// of the first.
pub(super) fn commands(script: &str) -> Option<(String, Option<String>)> {
    if script.matches(TOOLS).count() != script.matches(COMMAND).count() {
        return None;
    }
    let calls = script.match_indices(COMMAND).map(|(at, called)| parameters(&script[at + called.len()..]));
    let calls: Vec<(String, Option<String>)> = calls.collect::<Option<_>>()?;
    let place = calls.first()?.1.clone();
    Some((calls.into_iter().map(|(command, _)| command).collect::<Vec<_>>().join("\n"), place))
}

/// `cmd` and `workdir` of an object in a script.
fn parameters(object: &str) -> Option<(String, Option<String>)> {
    let (mut command, mut place) = (None, None);
    let mut rest = object.trim_start().strip_prefix('{')?;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ',');
        if rest.is_empty() || rest.starts_with('}') {
            return Some((command?, place));
        }
        let (name, value) = rest.split_once(':')?;
        let value = value.trim_start();
        match string(value) {
            Some((text, after)) => {
                match name.trim().trim_matches(['"', '\'']) {
                    "cmd" => command = Some(text),
                    "workdir" => place = Some(text),
                    _ => {}
                }
                rest = after;
            }
            None => rest = value.get(value.find([',', '}'])?..)?,
        }
    }
}

/// The string at the beginning of a script, and what follows it; none if it is computed.
fn string(script: &str) -> Option<(String, &str)> {
    let mut chars = script.char_indices();
    let (_, quote) = chars.next().filter(|(_, c)| matches!(c, '"' | '\'' | '`'))?;
    let mut text = String::new();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => match chars.next()?.1 {
                'n' => text.push('\n'),
                't' => text.push('\t'),
                'r' => text.push('\r'),
                '\n' => {}
                'u' | 'x' => return None,
                other => text.push(other),
            },
            '$' if quote == '`' && script[at..].starts_with("${") => return None,
            c if c == quote => return Some((text, &script[at + c.len_utf8()..])),
            c => text.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_commands_that_are_written_out_are_read() {
        let check = |script: &str, expected: Option<(&str, Option<&str>)>| {
            let expected = expected.map(|(command, place)| (command.to_owned(), place.map(str::to_owned)));
            assert_eq!(commands(script), expected, "{script}");
        };
        check(
            r#"const r = await tools.exec_command({cmd:"make \"all\"\n", "workdir":"/w", yield_time_ms:10000});text(r.output);"#,
            Some(("make \"all\"\n", Some("/w"))),
        );
        check(
            "text(await tools.exec_command({\n  workdir: '/w',\n  cmd: `ls {a, b}`\n}));",
            Some(("ls {a, b}", Some("/w"))),
        );
        check(
            "await Promise.all([tools.exec_command({cmd:'a'}), tools.exec_command({cmd:'b', tty: true})])",
            Some(("a\nb", None)),
        );
        for other in [
            "tools.exec_command({cmd: command})",
            "tools.exec_command({cmd})",
            "tools.exec_command({cmd: `ls ${dir}`})",
            "tools.exec_command(arguments)",
            "tools.exec_command({cmd: 'never closed",
            "await tools.update_plan({}); await tools.exec_command({cmd: 'a'})",
            "text(ALL_TOOLS.length)",
            "",
        ] {
            check(other, None);
        }
    }
}
