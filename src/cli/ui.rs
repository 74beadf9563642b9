//! `baton ui`: opens pages about the home in a browser.

use std::process::ExitCode;

use baton_protocol::answer::Page;
use baton_protocol::{PageParams, method};

use super::Error;
use crate::environment::{self, Environment};
use crate::print::{self, Output};

const HELP: &str = "\
Opens pages about your sessions in the browser: all sessions and a search, each session with its conversation, \
projects, files, the graph of what is known, workflows, costs, the log's history and the state of Baton. The daemon \
serves them on this machine alone, to the browser that opened the address: it works once, for one minute. The pages \
only read. They stop 30 minutes after the last tab was visible. Without a screen the address is printed.

JSON: {\"url\",\"valid_seconds\"}; nothing is opened then.

Examples:
  baton ui
  baton ui --no-open                   print the address, for a browser of your choice
  baton --examples ui                  the example sessions; nothing of yours is read";

#[derive(Debug, clap::Args)]
#[command(after_long_help = HELP)]
pub(super) struct Args {
    /// Print the address instead of opening it
    #[arg(long)]
    no_open: bool,
    /// Print one JSON object, and open nothing
    #[arg(long)]
    json: bool,
}

/// With `stays`, the daemon ends with this process, so it goes on until a person ends it.
pub(super) fn run(environment: &Environment, args: &Args, stays: bool) -> Result<ExitCode, Error> {
    let params = PageParams { caller: environment::caller() };
    let result = super::ask(environment, |client| client.call_raw(method::PAGE, &params, |_| {}))?;
    let output = Output::new();
    if args.json {
        output.json(&result);
    } else {
        let page: Page = super::parse_result(&result)?;
        if !args.no_open && has_screen() && open::that_detached(&page.url).is_ok() {
            print::note("Opened in your browser; `baton ui --no-open` prints an address instead.");
        } else {
            output.line(&page.url);
            let seconds = page.valid_seconds;
            print::note(&format!("Open it in a browser on this machine within {seconds} seconds; it works once."));
        }
    }
    if stays {
        print::note("The pages of the example sessions end when you press Ctrl+C.");
        loop {
            std::thread::park();
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// False if no browser can be shown: a session without a display.
fn has_screen() -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    cfg!(any(windows, target_os = "macos")) || is_set("DISPLAY") || is_set("WAYLAND_DISPLAY")
}
