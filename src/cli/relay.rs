//! `baton relay`: the same memory on every machine of a person and a team.

use std::io::Read as _;
use std::process::ExitCode;

use baton_protocol::answer::{
    RelayEntry, RelayInvitation, RelayLagOneWay, RelayLog, RelayPreview, RelayRemovals, RelayStatus, RelayWriter,
};
use baton_protocol::{RelayParams, method};
use baton_relay::wording;
use clap::Subcommand;
use serde::de::DeserializeOwned;

use super::{Error, install};
use crate::client::Client;
use crate::environment::{Environment, zone};
use crate::print::{self, Output, Style};

const HELP: &str = "\
A relay carries sessions of the projects that you share between your machines, and those of your team. It is a folder \
that all of them can reach (synchronised, on a network, or a checkout) or a NATS server with JetStream. Everything in it \
is sealed and signed; whoever keeps it can read none of it, not even names. What others share is searched beside your own sessions and \
marked with who wrote it; it never counts as yours.
Nothing leaves before you share a project. What a member has received they can copy: it cannot be taken back.
JSON of `status`: {\"relay\",\"enabled\",\"connected\",\"name\",\"machine\",\"writer\",\"share\":[…],\"lag\":{\"out\":{\"events\",\
\"bytes\",\"seconds\",\"why\"},\"in\":{…}},\"writers\":[{\"name\",\"machine\",\"writer\",\"me\",\"left\",\"admin\",\"removed\",\"sessions\",\"last_at\",\"refused\",\"last_refused\"}],\"files\",\"problems\":[…]}.

Examples:
  baton relay init ~/Sync/team --name Ann     begin a team whose relay is this folder
  baton relay invite                          a text for one new member; it works once, for a day
  baton relay join TEXT --name Bob            on the other machine
  baton relay share .                         publish this directory's project, after asking";

#[derive(Debug, clap::Args)]
#[command(after_long_help = HELP)]
pub(super) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Begin a team whose relay is a folder or a NATS server
    #[command(after_long_help = "Examples:\n  baton relay init ~/Sync/team\n  baton relay init nats://HOST:4222")]
    Init {
        /// The folder, which is created if it is not there, or nats://HOST:PORT
        relay: String,
        #[command(flatten)]
        named: Named,
    },
    /// Invite one new member: prints a text that works once, for a day
    #[command(after_long_help = "Examples:\n  baton relay invite\n  baton relay invite --json")]
    Invite(Options),
    /// Join the team of an invitation
    #[command(
        after_long_help = "Examples:\n  baton relay join TEXT --name Bob      the text that `baton relay invite` printed\n  baton relay join TEXT ~/Shared        the folder is at another path here"
    )]
    Join {
        /// The text that `baton relay invite` printed, or `-` to read it from standard input
        invitation: String,
        /// Where the folder is on this machine, or the server's address, if that is not the one in the text
        folder: Option<String>,
        #[command(flatten)]
        named: Named,
    },
    /// Exclude a member's machine from what is published from now on; only where the team was begun
    #[command(
        after_long_help = "Examples:\n  baton relay remove 6e87c6e2      a fingerprint as `baton relay who` shows it"
    )]
    Remove {
        /// The fingerprint that `baton relay who` shows, or its beginning
        writer: String,
        /// Do it without asking
        #[arg(long, short)]
        yes: bool,
        #[command(flatten)]
        options: Options,
    },
    /// Leave the team: remove its keys and everything of others from this machine
    #[command(after_long_help = "Examples:\n  baton relay leave")]
    Leave {
        /// Do it without asking
        #[arg(long, short)]
        yes: bool,
        #[command(flatten)]
        options: Options,
    },
    /// Publish the sessions of a project from now on, after showing how much that is
    #[command(
        after_long_help = "Examples:\n  baton relay share .              this directory's project\n  baton relay share shop --yes     without asking"
    )]
    Share {
        /// A directory, or a name that fits one project
        project: String,
        /// Do it without asking
        #[arg(long, short)]
        yes: bool,
        #[command(flatten)]
        options: Options,
    },
    /// Stop publishing the sessions of a project; what was published stays
    #[command(
        after_long_help = "Examples:\n  baton relay unshare .\n  baton relay unshare . --retract      and have the others remove them"
    )]
    Unshare {
        /// A directory, or a name that fits one project
        project: String,
        /// Also have the others remove what was published of it
        #[arg(long)]
        retract: bool,
        #[command(flatten)]
        options: Options,
    },
    /// Show who has removed what you have forgotten or retracted
    #[command(after_long_help = "Examples:\n  baton relay forgotten")]
    Forgotten(Options),
    /// Show whether the relay is reached, what is shared, and what is behind
    #[command(after_long_help = "Examples:\n  baton relay status\n  baton relay status --json")]
    Status(Options),
    /// List the members and their machines
    #[command(after_long_help = "Examples:\n  baton relay who")]
    Who(Options),
    /// Show what would be published: how much, or of one session every event and every item
    #[command(
        after_long_help = "Examples:\n  baton relay preview               of all shared projects\n  baton relay preview a94e0d17      of one session, byte for byte"
    )]
    Preview {
        /// A session id, or the beginning of one
        session: Option<String>,
        #[command(flatten)]
        options: Options,
    },
    /// Show what was published last
    #[command(after_long_help = "Examples:\n  baton relay log -n 5")]
    Log {
        /// Most entries
        #[arg(long, short = 'n', value_name = "N", default_value_t = 20, value_parser = super::number::<u32, 1, 1000>)]
        limit: u32,
        #[command(flatten)]
        options: Options,
    },
    /// Commit and push, and bring what others have pushed, where the relay's folder is a git checkout
    #[command(
        after_long_help = "Examples:\n  baton relay git               for a timer or a hook\n  baton relay git ~/team        before `join`: brings the invitation"
    )]
    Git {
        /// The checkout, on a machine that has not joined yet
        folder: Option<String>,
        #[command(flatten)]
        options: Options,
    },
    /// Stop publishing and receiving until `resume`
    #[command(after_long_help = "Examples:\n  baton relay pause")]
    Pause(Options),
    /// Go on publishing and receiving
    #[command(after_long_help = "Examples:\n  baton relay resume")]
    Resume(Options),
}

#[derive(Debug, clap::Args)]
struct Named {
    /// What the team calls you [default: your user name]
    #[arg(long, value_name = "N")]
    name: Option<String>,
    #[command(flatten)]
    options: Options,
}

#[derive(Debug, clap::Args)]
struct Options {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(environment: &Environment, args: &Args) -> Result<ExitCode, Error> {
    match &args.action {
        Action::Init { relay, named } => {
            let params = RelayParams::Init { url: address(relay), name: named.name.clone() };
            shown(environment, &params, &named.options, |output, _: &RelayStatus| {
                output.line("The team is begun. `baton relay invite` invites, `baton relay share .` shares a project.");
            })
        }
        Action::Join { invitation, folder, named } => {
            print::note("What you share from now on, members can copy, and keep. Joining shares nothing.\n");
            let typed = || std::io::read_to_string(std::io::stdin().take(65_536)).unwrap_or_default();
            let invitation = if invitation == "-" { typed().trim().to_owned() } else { invitation.clone() };
            let (folder, name) = (folder.as_deref().map(address), named.name.clone());
            let params = RelayParams::Join { invitation, folder, name };
            shown(environment, &params, &named.options, |output, status: &RelayStatus| {
                output.line(&format!("Joined the team at {}.", print::plain(status.relay.as_deref().unwrap_or("-"))));
            })
        }
        Action::Invite(options) => {
            shown(environment, &RelayParams::Invite {}, options, |output, invited: &RelayInvitation| {
                output.line(&invited.invitation);
                let until = zone::minute(&invited.expires);
                print::note(&format!(
                    "\nIt works once, until {until}. It is a secret: give it to the new member alone."
                ));
            })
        }
        Action::Remove { writer, yes, options } => {
            let question = format!("Exclude {writer} from everything that the team publishes from now on?");
            if !agreed(*yes, options, &question)? {
                return Ok(ExitCode::FAILURE);
            }
            let params = RelayParams::Remove { writer: writer.to_ascii_lowercase() };
            shown(environment, &params, options, |output, status: &RelayStatus| {
                output.line("Excluded. What it has received it keeps; sessions that go on are published by new keys.");
                status.writers.iter().for_each(|writer| show_writer(output, writer));
            })
        }
        Action::Leave { yes, options } => {
            let question = "Leave the team, and remove its keys and everything of others from this machine? What you have \
                published stays with the others, and you cannot have it removed any more.";
            if !agreed(*yes, options, question)? {
                return Ok(ExitCode::FAILURE);
            }
            shown(environment, &RelayParams::Leave {}, options, |output, _: &RelayStatus| {
                output.line("This machine belongs to no team any more. What it had published is still there.");
            })
        }
        Action::Share { project, yes, options } => share(environment, project, *yes, options),
        Action::Unshare { project, retract, options } => {
            let project_asked = super::project(project);
            let params =
                RelayParams::Share { project: project_asked, shared: false, retract: *retract, dry_run: false };
            shown(environment, &params, options, |output, preview: &RelayPreview| {
                let project = print::plain(preview.project.as_deref().unwrap_or(project));
                output.line(&match preview.was_shared {
                    _ if *retract => format!(
                        "{project} is not shared any more, and the others are asked to remove {}. `baton relay forgotten` shows who has.",
                        print::counted(preview.retracted, "session")
                    ),
                    true => format!("{project} is not shared any more. What was published of it stays with the team."),
                    false => format!("{project} was not shared."),
                });
            })
        }
        Action::Forgotten(options) => forgotten(environment, options),
        Action::Status(options) => shown(environment, &RelayParams::Status {}, options, show_status),
        Action::Who(options) => shown(environment, &RelayParams::Status {}, options, |output, status: &RelayStatus| {
            status.writers.iter().for_each(|writer| show_writer(output, writer));
        }),
        Action::Git { folder, options } => {
            let (result, output) = call(environment, &RelayParams::Status {}, options)?;
            let folder = folder.as_deref().map(address);
            let done = baton_relay::git::sync_folder(&super::parse_result(&result)?, folder);
            let told = done.map_err(Error::RelayGit)?;
            match options.json {
                true => output.json(&call(environment, &RelayParams::Status {}, options)?.0),
                false => output.line(told),
            }
            Ok(ExitCode::SUCCESS)
        }
        Action::Pause(options) => {
            shown(environment, &RelayParams::Pause { paused: true }, options, |output, _: &RelayStatus| {
                output.line("Nothing is published or received until `baton relay resume`.");
            })
        }
        Action::Resume(options) => shown(environment, &RelayParams::Pause { paused: false }, options, show_status),
        Action::Preview { session, options } => preview(environment, session.as_deref(), options),
        Action::Log { limit, options } => {
            shown(environment, &RelayParams::Log { limit: *limit }, options, |output, log: &RelayLog| {
                log.published.iter().for_each(|entry| show_entry(output, entry));
                if log.published.is_empty() {
                    output.line("Nothing was published yet.");
                }
            })
        }
    }
}

fn show_entry(output: &Output, entry: &RelayEntry) {
    let session = entry.session_id.as_deref().map_or_else(String::new, |id| format!("{}  ", output.id(id)));
    let items = if entry.items > 0 { format!(", {}", print::counted(entry.items, "item")) } else { String::new() };
    let what = print::plain(&entry.what.join(", "));
    output.line(&format!("{}  {session}{what}{items}", zone::minute(&entry.at)));
}

/// A URL as it is, a folder by its absolute path; `~` as the shell would have it, in case it was quoted.
fn address(relay: &str) -> String {
    let below_home = relay.strip_prefix("~/").zip(std::env::home_dir()).map(|(below, home)| home.join(below));
    let path = std::path::absolute(below_home.unwrap_or_else(|| relay.into()));
    path.ok().filter(|_| !relay.contains("://")).map_or_else(|| relay.to_owned(), |path| path.display().to_string())
}

fn call(
    environment: &Environment,
    params: &RelayParams,
    options: &Options,
) -> Result<(Box<serde_json::value::RawValue>, Output), Error> {
    let call = |client: &mut Client| client.call_raw(method::RELAY, params, |_| {});
    Ok(super::ask_shown(environment, options.json, call)?)
}

/// Asks for something and shows the answer.
fn shown<T: DeserializeOwned>(
    environment: &Environment,
    params: &RelayParams,
    options: &Options,
    show: impl FnOnce(&Output, &T),
) -> Result<ExitCode, Error> {
    let (result, output) = call(environment, params, options)?;
    match options.json {
        true => output.json(&result),
        false => show(&output, &super::parse_result(&result)?),
    }
    Ok(ExitCode::SUCCESS)
}

fn agreed(yes: bool, options: &Options, question: &str) -> Result<bool, Error> {
    if yes {
        return Ok(true);
    }
    if options.json || !install::is_terminal() {
        return Err(Error::NotAgreed);
    }
    let is_agreed = install::confirm(question, &Output::new());
    if !is_agreed {
        print::note("Nothing was changed.");
    }
    Ok(is_agreed)
}

fn share(environment: &Environment, project: &str, yes: bool, options: &Options) -> Result<ExitCode, Error> {
    let params =
        |dry_run| RelayParams::Share { project: super::project(project), shared: true, retract: false, dry_run };
    let (result, _) = call(environment, &params(true), options)?;
    let would: RelayPreview = super::parse_result(&result)?;
    let named = print::plain(would.project.as_deref().unwrap_or(project));
    let question = format!("Publish {} of {named} and what is below it, and those that follow?", totals(&would));
    if !would.was_shared && !agreed(yes, options, &question)? {
        return Ok(ExitCode::FAILURE);
    }
    let (result, output) = call(environment, &params(false), options)?;
    match options.json {
        true => output.json(&result),
        false => {
            output.line(&format!("{named} is shared: {}. `baton relay status` shows the progress.", totals(&would)));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn totals(preview: &RelayPreview) -> String {
    format!(
        "{} ({}, {})",
        print::counted(preview.sessions, "session"),
        print::counted(preview.items, "item"),
        print::size(preview.bytes)
    )
}

fn preview(environment: &Environment, session: Option<&str>, options: &Options) -> Result<ExitCode, Error> {
    let params = RelayParams::Preview { session: session.map(super::session) };
    shown(environment, &params, options, |output, preview: &RelayPreview| {
        preview.lines.iter().for_each(|line| output.line(&print::plain(line)));
        if preview.left_out > 0 {
            print::note(&format!("\n{} more items.", preview.left_out));
        }
        if session.is_none() {
            output.line(&format!("Shared: {}.", totals(preview)));
        }
    })
}

fn forgotten(environment: &Environment, options: &Options) -> Result<ExitCode, Error> {
    shown(environment, &RelayParams::Forgotten {}, options, |output, forgotten: &RelayRemovals| {
        for removed in &forgotten.forgotten {
            let who = wording::describe_removal(removed);
            output.line(&format!("{}  {}", output.id(&removed.session_id), print::plain(&who)));
        }
        if forgotten.forgotten.is_empty() {
            output.line("Nothing that was published has been forgotten or retracted.");
        }
    })
}

fn show_status(output: &Output, status: &RelayStatus) {
    let Some(relay) = &status.relay else {
        output.line("This machine belongs to no team. `baton relay init` begins one, `join` joins one.");
        return;
    };
    let state = match (status.enabled, status.connected) {
        (false, _) => output.styled(Style::Warning, "paused"),
        (true, true) => output.styled(Style::Good, "reached"),
        (true, false) => output.styled(Style::Bad, "not reached"),
    };
    output.line(&format!("{}  {state}", print::plain(relay)));
    output.line(&format!("  you are {} on {}", print::plain(&status.name), print::plain(&status.machine)));
    match status.share.is_empty() {
        true => output.line("  no project is shared; `baton relay share .` shares this directory's"),
        false => status.share.iter().for_each(|project| output.line(&format!("  shared: {}", print::plain(project)))),
    }
    for (what, behind) in [("to publish", &status.lag.out), ("to take in", &status.lag.incoming)] {
        show_behind(output, what, behind);
    }
    status.writers.iter().for_each(|writer| show_writer(output, writer));
    status.problems.iter().for_each(|problem| print::note(&format!("\n{}", print::plain(problem))));
}

fn show_behind(output: &Output, what: &str, behind: &RelayLagOneWay) {
    if behind.events > 0 || behind.seconds > 0 {
        let why = behind.why.as_deref().map_or_else(String::new, |why| format!(": {}", print::plain(why)));
        let events = print::counted(behind.events, "event");
        output.line(&format!("  {what}: {events}, {}, {} s{why}", print::size(behind.bytes), behind.seconds));
    }
}

fn show_writer(output: &Output, writer: &RelayWriter) {
    let last = writer.last_at.as_deref().map_or_else(String::new, |at| format!(", last {}", zone::minute(at)));
    let me = if writer.me { " (this machine)" } else { "" };
    let about = wording::describe_writer(writer);
    let key = output.styled(Style::Faint, &writer.writer);
    let sessions = print::counted(writer.sessions, "session");
    let (name, machine) = (print::plain(&writer.name), print::plain(&writer.machine));
    output.line(&format!("  {name} on {machine}{me}: {sessions}{last}{about}  {key}"));
    if let Some(why) = &writer.last_refused {
        print::note(&format!(
            "    {} refused, the last one: {}",
            print::counted(writer.refused, "message"),
            print::plain(why)
        ));
    }
}
