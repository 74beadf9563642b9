//! Known programs and their properties. The lists are heuristic: an unknown program is compared by its words.

use baton_words::WordList;

/// Kind of what a program checks or brings about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::digest) enum Family {
    Build,
    Test,
    Lint,
    Types,
    Format,
    /// A check of a kind that its name does not tell.
    Check,
    Install,
    Commit,
    /// Brings branches together, which may stop at a conflict.
    Merge,
    Push,
    /// Anything else: only the same program is the same.
    Run,
}

/// Programs with subcommands.
pub(super) static WITH_SUBCOMMANDS: WordList = WordList::new(crate::WORDS, "programs with subcommands");
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
/// Steps that prepare the environment of those that follow.
pub(super) const ENTERING: [&str; 3] = ["source", ".", "export"];
/// Programs that only look.
pub(super) static LOOKING: WordList = WordList::new(crate::WORDS, "looking programs");
/// Subcommands of `git` that only look.
pub(super) const GIT_LOOKING: [&str; 10] =
    ["status", "diff", "log", "show", "branch", "rev-parse", "ls-files", "blame", "remote", "grep"];
/// Flags with which a program only reports about itself or about what it would do.
pub(super) static ASKING: WordList = WordList::new(crate::WORDS, "asking arguments");
/// Families with the endings of words in the names of their subcommands (`test:unit`, `typecheck`), and with their
/// programs. The first that fits counts.
pub(super) const FAMILIES: [(Family, &str, &str); 7] = [
    (Family::Types, "typecheck types type dialyzer", "tsc mypy pyright vue-tsc"),
    (Family::Test, "test spec e2e", "pytest vitest jest mocha rspec phpunit ctest tox nox ava playwright cypress"),
    (Family::Lint, "lint clippy vet credo", "eslint flake8 rubocop shellcheck biome ruff pylint golangci-lint"),
    (Family::Format, "fmt format", "prettier black rustfmt gofmt"),
    (Family::Build, "build compile assemble", ""),
    (Family::Check, "check verify", ""),
    (Family::Install, "install ci sync deps.get tidy", ""),
];
/// Programs whose checks of one family check the same.
pub(super) const TOOLCHAINS: [&str; 4] = [
    "npm pnpm yarn bun deno node vitest jest mocha ava playwright cypress tsc vue-tsc eslint prettier biome vite next turbo nx",
    "pytest python python3 mypy pyright flake8 ruff tox nox black pylint uv",
    "mvn mvnw gradle gradlew",
    "go gofmt golangci-lint",
];
/// Programs that run what a project defines, in any toolchain.
pub(super) const RUNNERS: [&str; 5] = ["make", "just", "mise", "task", "nx"];
/// Flags with which a check mends what it finds.
pub(super) const FIXING: [&str; 5] = ["--fix", "--write", "-w", "--unsafe", "--unsafe-fixes"];
/// Flags with which a formatter only reports.
pub(super) const REPORTING: [&str; 6] = ["--check", "-c", "-l", "--list-different", "--check-formatted", "-d"];
/// Endings of subcommands that change what a later run finds.
pub(super) static CHANGING: WordList = WordList::new(crate::WORDS, "changing subcommands");
/// Programs that change what a later run finds.
pub(super) const CHANGERS: [&str; 9] = ["rm", "mv", "cp", "chmod", "chown", "ln", "kill", "pkill", "killall"];
/// Subcommands of `git` that do, without those that only record.
pub(super) static GIT_CHANGING: WordList = WordList::new(crate::WORDS, "git changing");
/// Subcommands that only look, of any program.
pub(super) const VIEWING: [&str; 10] =
    ["view", "list", "ls", "logs", "log", "status", "show", "diff", "inspect", "describe"];
/// Shell keywords before a program.
pub(in crate::digest) const OPENING: [&str; 7] = ["do", "then", "else", "if", "while", "until", "!"];
/// Program, subcommands that compile, and subcommands that compile the same and do more.
pub(super) const IMPLIED: [(&str, &[&str], &[&str]); 4] = [
    ("cargo", &["check", "build"], &["check", "build", "clippy", "test"]),
    ("go", &["build", "vet"], &["build", "test", "vet"]),
    ("mix", &["compile"], &["test"]),
    ("dotnet", &["build"], &["test"]),
];
/// Programs whose goals are one check: each does what those before it do.
pub(super) const GOALS: [(&str, &str); 2] = [
    ("mvn mvnw", "compile test-compile test package integration-test verify install deploy"),
    ("gradle gradlew", "classes testClasses test check build"),
];
/// What keeps the programs with goals from running tests.
pub(super) const SKIPPING: [&str; 4] = ["-DskipTests", "-Dmaven.test.skip", "-x test", "--exclude-task test"];
/// Programs and subcommands that hardly ever fail.
pub(super) const HARMLESS: [(&str, &str); 8] =
    [("git", "add"), ("git", "stash"), ("cp", ""), ("rm", ""), ("mv", ""), ("touch", ""), ("kill", ""), ("pkill", "")];

/// Returns true if a word is one of a list with spaces between.
pub(super) fn lists(words: &str, word: &str) -> bool {
    !word.is_empty() && words.split(' ').any(|known| known == word)
}
