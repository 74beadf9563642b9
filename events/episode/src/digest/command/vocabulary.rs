//! Known programs and their properties. The lists are heuristic: an unknown program is compared by its words.

/// Programs with subcommands.
pub(super) const WITH_SUBCOMMANDS: [&str; 38] = [
    "apt",
    "apt-get",
    "bd",
    "brew",
    "bun",
    "bundle",
    "cargo",
    "composer",
    "conda",
    "deno",
    "docker",
    "dotnet",
    "flutter",
    "gh",
    "git",
    "go",
    "gradle",
    "gradlew",
    "helm",
    "just",
    "kubectl",
    "make",
    "mix",
    "mvn",
    "npm",
    "nx",
    "pip",
    "pip3",
    "pnpm",
    "poetry",
    "rails",
    "rake",
    "ruff",
    "rustup",
    "swift",
    "terraform",
    "uv",
    "yarn",
];
/// Programs that run the script given as their first argument.
pub(super) const INTERPRETERS: [&str; 12] =
    ["python", "python3", "node", "ruby", "perl", "php", "bash", "sh", "zsh", "tsx", "ts-node", "source"];
/// Programs that run the scripts of the same manifest.
pub(super) const PACKAGE_MANAGERS: [&str; 4] = ["npm", "pnpm", "yarn", "bun"];
/// Words before a program that do not change what it does.
pub(super) const WRAPPERS: [&str; 9] = ["sudo", "env", "time", "nice", "nohup", "command", "exec", "npx", "bunx"];
/// Steps that only prepare or decorate, and prove nothing.
pub(super) const SETUP: [&str; 14] =
    ["cd", "export", "source", ".", "set", "unset", "echo", "printf", "sleep", "true", "pwd", "pushd", "popd", "mkdir"];
/// Programs that only look.
pub(super) const LOOKING: [&str; 33] = [
    "ls", "cat", "head", "tail", "find", "grep", "egrep", "rg", "ag", "fd", "tree", "which", "whereis", "type", "wc",
    "file", "stat", "du", "df", "env", "whoami", "date", "uname", "test", "[", "diff", "ps", "id", "less", "jq",
    "fgrep", "cmp", "comm",
];
/// Subcommands of `git` that only look.
pub(super) const GIT_LOOKING: [&str; 10] =
    ["status", "diff", "log", "show", "branch", "rev-parse", "ls-files", "blame", "remote", "grep"];
/// Programs that check something; their arguments select a part of it.
pub(super) const CHECKERS: [&str; 22] = [
    "pytest",
    "vitest",
    "jest",
    "mocha",
    "tsc",
    "eslint",
    "prettier",
    "mypy",
    "pyright",
    "flake8",
    "rspec",
    "phpunit",
    "ctest",
    "tox",
    "nox",
    "rubocop",
    "shellcheck",
    "ava",
    "biome",
    "playwright",
    "cypress",
    "gradlew",
];
/// Flags with which a program only reports about itself or about what it would do.
pub(super) const ASKING: [&str; 11] = [
    "--help",
    "-h",
    "--version",
    "-V",
    "--dry-run",
    "--list",
    "--collect-only",
    "--co",
    "--markers",
    "--fixtures",
    "--no-run",
];
/// Endings of a word in a subcommand's name that mark a check: `typecheck`, `test:unit`, `e2e-tests`.
pub(super) const CHECKING: [&str; 13] = [
    "test", "check", "build", "lint", "clippy", "vet", "compile", "fmt", "format", "dialyzer", "credo", "spec",
    "verify",
];
/// Shell keywords before a program.
pub(super) const OPENING: [&str; 3] = ["do", "then", "else"];
/// Program, subcommands that compile, and subcommands that compile the same and do more.
pub(super) const IMPLIED: [(&str, &[&str], &[&str]); 5] = [
    ("cargo", &["check", "build"], &["check", "build", "clippy", "test"]),
    ("go", &["build", "vet"], &["build", "test", "vet"]),
    ("mix", &["compile"], &["test"]),
    ("dotnet", &["build"], &["test"]),
    ("mvn", &["compile", "test-compile"], &["test", "package", "verify", "install"]),
];
/// Programs and subcommands that hardly ever fail.
pub(super) const HARMLESS: [(&str, &str); 8] =
    [("git", "add"), ("git", "stash"), ("cp", ""), ("rm", ""), ("mv", ""), ("touch", ""), ("kill", ""), ("pkill", "")];
