//! `baton bench`: how fast Baton is here.

use std::io::IsTerminal;
use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::Error;
use crate::bench::{self, Appending, MainJob, Part, Spread};
use crate::print::{self, Output, Style};

#[derive(Debug, Args)]
pub(super) struct Typed {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Transcripts in, answers out: the example sessions repeated, indexed by a throwaway daemon, appended to, searched
    ///
    /// Writes the example sessions of a checkout again and again, with identities and dates of their own, to a
    /// temporary directory, starts this very program as a daemon over it, and measures until the first answer from all
    /// of it; then disk and memory, the time from an append to an answer that has it, and searches. Your own memory is
    /// not touched. The corpus is the same in every run; its vocabulary does not grow with its size. Measure with a
    /// release build on a quiet machine.
    MainJob(MainJobTyped),
}

#[derive(Debug, Args)]
struct MainJobTyped {
    /// Size of the corpus, in MB of 1,000,000 bytes
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    megabytes: u64,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(typed: &Typed) -> Result<ExitCode, Error> {
    let What::MainJob(typed) = &typed.what;
    let options = bench::Options { bytes: typed.megabytes * 1_000_000 };
    let quiet = !std::io::stderr().is_terminal();
    let measured = bench::main_job(options, |what| {
        if !quiet {
            print::note(&format!("{what} …"));
        }
    })?;
    let output = Output::new();
    if typed.json {
        output.line(&serde_json::to_string(&measured).map_err(|error| bench::Error::Untrue(error.to_string()))?);
    } else {
        show(&output, &measured);
    }
    Ok(ExitCode::SUCCESS)
}

fn show(output: &Output, measured: &MainJob) {
    let head = |text: &str| output.line(&output.styled(Style::Strong, text));
    let fact = |name: &str, value: &str| output.line(&format!("  {name:28}{value}"));
    let index = &measured.index;
    head(&format!(
        "Index: {} of transcripts, {} sessions, from starting the daemon to the first answer from all of them",
        megabytes(measured.raw_bytes),
        measured.transcripts
    ));
    fact("wall", &format!("{:.2} s, {:.1} MB/s", index.wall_seconds, index.mb_per_second));
    if let (Some(seconds), Some(rate)) = (index.cpu_seconds, index.mb_per_cpu_second) {
        fact("processor (user + system)", &format!("{seconds:.2} s, {rate:.1} MB/s on one core"));
    }
    let per_session = index.events as f64 / measured.transcripts as f64;
    fact("events in the log", &format!("{}, {per_session:.1} a session", index.events));
    if let Some(memory) = &measured.memory {
        let (peak, after) = (megabytes(memory.peak_bytes), megabytes(memory.after_index_bytes));
        fact(
            "memory of the daemon",
            &format!("{peak} at most, {after} after, {} at the end of all", megabytes(memory.at_end_bytes)),
        );
    }
    head("Disk: in whole blocks, after indexing");
    let part = |name: &str, part: &Part| {
        let share = 100.0 * part.bytes_on_disk as f64 / measured.raw_bytes as f64;
        fact(
            name,
            &format!("{} in {} files, {share:.1} % of the transcripts", megabytes(part.bytes_on_disk), part.files),
        );
    };
    measured.disk.parts.iter().for_each(|(name, found)| part(name, found));
    part("all of the home", &measured.disk.all);
    head("Append to answer: one prompt and one reply written, then the first search for a word only they have");
    for (name, Appending { to_answer, search_call }) in &measured.append {
        let name = name.replace('_', " ");
        fact(&name, &spread(to_answer));
        fact("  of that, the search", &spread(search_call));
    }
    head("Search: ten sessions, on one open connection, and as a process (`baton search --json --no-wait`)");
    for (name, searching) in &measured.search {
        fact(&name.replace('_', " "), &format!("{:?}", searching.query));
        fact("  call", &spread(&searching.call));
        fact("  process", &spread(&searching.process));
    }
    fact("`baton status`, a process", &spread(&measured.status_process));
}

fn spread(spread: &Spread) -> String {
    format!("p50 {:.1} ms, p99 {:.1} ms (n = {})", spread.p50_ms, spread.p99_ms, spread.n)
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1_000_000.0)
}
