//! The programs of a command line: which entities it is, and which packages it adds.

use crate::digest::programs;

/// The commands that a line runs, each once, in order: program and subcommand. What only looks is left out, and so is
/// what no program is called like.
pub(super) fn commands(line: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for program in programs(line).into_iter().filter(|program| !program.looks) {
        if is_name(&program.name) && !names.contains(&program.name) {
            names.push(program.name);
        }
    }
    names
}

/// Whether it is a program's name and no rest of shell syntax.
pub(crate) fn is_name(name: &str) -> bool {
    let first = name.split(' ').next().unwrap_or(name);
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '+' | ':' | ' ' | '@');
    first.starts_with(|c: char| c.is_alphabetic() || c == '.') && first.len() > 1 && name.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_program_and_subcommand() {
        let check = |line: &str, names: &[&str]| assert_eq!(commands(line), names, "{line:?}");
        check("cd /x && RUST_LOG=debug cargo test -p auth --quiet 2>&1 | tail -5", &["cargo test"]);
        check("npm run test && npm t", &["npm test"]);
        check("git add -A && git commit -m \"x y\"", &["git add", "git commit"]);
        check("ls -la; cat a | grep b", &[]);
        check("python -m pytest tests/test_a.py::test_b", &["pytest"]);
        check("/usr/bin/make all", &["make all"]);
        check("$(evil) \"a b\" x", &[]);
        check("", &[]);
    }
}
