//! The team as this home knows it, and the rounds that keep it current.
//!
//! One task runs them. A round takes in what came, then publishes what is owed; it begins when the relay, the session
//! table or the settings have changed. A relay that cannot be reached is tried again with growing pauses, and nothing
//! else waits for it.

mod intake;
mod publishing;
mod set_back;
mod showing;
mod state;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use baton_base::clock::Clock;
use baton_base::durable;
use baton_base::latest::Latest;
use baton_config::settings::{self, Settings, SettingsReader};
use baton_conversation::record::SessionId;
use baton_events::projection::others::Others;
use baton_events::projection::table::{Row, SessionTable};
use baton_events::session::{Phase, UnindexedReason};
use baton_journal::Journal;
use baton_journal::session_table::TableReader;
use baton_sharing::batch::is_name;
use baton_store::chunks::ChunkStore;
use baton_views::visibility;
use serde::{Deserialize, Serialize};
use tokio::sync::{Notify, watch};

use crate::inbound::{Change, Known, KnownWriter};
use crate::keys::{Keys, Name, WriterId};
use crate::opening;
use crate::outbound::{Drafts, Outbound};
use crate::record::{Record, Writer};
use crate::transport::{Relay, Stream};
pub(crate) use state::State;

/// Pauses between attempts to reach the relay.
const RETRY: Duration = Duration::from_secs(1);
const RETRY_MOST: Duration = Duration::from_secs(60);
/// How long changes are gathered.
const GATHER: Duration = Duration::from_millis(25);
/// How often held frames, and sessions that could not be published, are tried again.
const LOOK_AGAIN: Duration = Duration::from_secs(5);
/// The file of the cursor.
pub(crate) const CURSOR: &str = "cursor.json";
/// Largest file of the cursor.
const CURSOR_MAX_BYTES: u64 = 4 * 1024 * 1024;

/// What the team needs of the daemon.
pub struct Options {
    /// The home.
    pub home: PathBuf,
    /// Settings; `relay.*` among them.
    pub settings: SettingsReader,
    /// The sessions of this home.
    pub table: TableReader,
    /// Their events.
    pub journal: Arc<dyn Journal>,
    /// Their conversations, through which those of others are read as well.
    pub chunks: Arc<ChunkStore>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Removes sessions that others have withdrawn from the files of the memory.
    pub purge: Purge,
}

/// See [`Options::purge`].
pub type Purge = Box<dyn Fn(Vec<SessionId>) -> Pin<Box<dyn Future<Output = Result<(), String>> + Send>> + Send + Sync>;

/// See the module.
pub struct Team {
    pub(crate) options: Options,
    /// The folder of keys and records.
    pub(crate) folder: PathBuf,
    state: Mutex<State>,
    /// Held over a round, and by whoever joins or leaves.
    pub(crate) round: tokio::sync::Mutex<Option<Member>>,
    others: watch::Sender<Others>,
    nudged: Notify,
}

/// This home as a member of a team, connected to its relay.
pub(crate) struct Member {
    pub(crate) settings: settings::Relay,
    pub(crate) keys: Keys,
    pub(crate) relay: Arc<dyn Relay>,
    cursor: String,
    /// The cursor that is on disk.
    kept: String,
}

#[derive(Serialize, Deserialize)]
struct CursorV1 {
    url: String,
    cursor: String,
}

impl Team {
    /// The team as it was left. Blocks for reads of what was recorded; nothing outside of the home is opened.
    pub fn new(options: Options) -> Self {
        let team = Self {
            folder: options.home.join("relay"),
            options,
            state: Mutex::default(),
            round: tokio::sync::Mutex::default(),
            others: watch::Sender::default(),
            nudged: Notify::new(),
        };
        let settings = team.options.settings.now();
        if settings.relay.url.is_some()
            && let Err(error) = team.read_records(&settings.relay)
        {
            tracing::warn!(error, "what others published is not shown until the relay is opened");
        }
        team
    }

    /// Reads keys and records. Blocks for the disk.
    fn read_records(&self, settings: &settings::Relay) -> Result<Keys, String> {
        let keys = Keys::read(&self.key_file(settings)).map_err(|error| error.to_string())?;
        let keys = keys.ok_or("this home belongs to no team; `baton relay init` begins one, `join` joins one")?;
        let (writers, expected) = read_writers(&self.folder, &keys.writer())?;
        if !expected.is_empty() {
            // What was lost of a writer is received again.
            std::fs::remove_file(self.folder.join(CURSOR)).or_else(|error| match error.kind() {
                std::io::ErrorKind::NotFound => Ok(()),
                _ => Err(error.to_string()),
            })?;
        }
        let names = writers.keys().map(|id| (keys.team.writer_name(id), id.clone())).collect();
        *self.state() = State { writers, names, expected, own: Some(keys.writer()), ..State::default() };
        self.state().know_epoch(&keys);
        self.look_at_projects();
        self.publish_others();
        Ok(keys)
    }

    /// The sessions of others, for answers.
    pub fn others(&self) -> Latest<Others> {
        self.others.subscribe().into()
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has a round begin soon.
    pub(crate) fn nudge(&self) {
        self.nudged.notify_one();
    }

    pub(crate) fn key_file(&self, settings: &settings::Relay) -> PathBuf {
        settings.key_file.clone().unwrap_or_else(|| self.folder.join("keys.json"))
    }

    /// Runs rounds until the daemon stops.
    pub async fn run(self: Arc<Self>, mut stop: watch::Receiver<bool>) {
        tokio::select! {
            _ = stop.wait_for(|stop| *stop) => {}
            () = self.rounds() => {}
        }
    }

    async fn rounds(self: &Arc<Self>) {
        let (mut settings, mut table) = (self.options.settings.clone(), self.options.table.clone());
        let mut pause = RETRY;
        loop {
            let now = settings.newest();
            table.mark_seen();
            if !now.relay.enabled || now.relay.url.is_none() {
                // While it is paused, what was taken in stays.
                *self.round.lock().await = None;
                self.state().is_connected = false;
                tokio::select! {
                    changed = settings.changed() => if changed.is_err() { return },
                    () = self.nudged.notified() => {}
                }
                continue;
            }
            let (done, news) = {
                let mut round = self.round.lock().await;
                let done = self.round(&mut round, &now).await;
                if let Err(problem) = &done {
                    tracing::debug!(problem, "relay not current");
                    // It is opened anew.
                    *round = None;
                }
                (done, round.as_ref().map(|member| (member.relay.clone(), member.cursor.clone())))
            };
            {
                let mut state = self.state();
                state.is_connected = done.is_ok();
                state.problem = done.clone().err();
            }
            let wait = async {
                match &news {
                    Some((relay, cursor)) => drop(relay.changed(cursor).await),
                    None => tokio::time::sleep(pause).await,
                }
            };
            let is_waiting = {
                let state = self.state();
                !state.held.is_empty() || !state.unpublished.is_empty()
            };
            let again = async {
                match is_waiting {
                    true => tokio::time::sleep(LOOK_AGAIN).await,
                    false => std::future::pending().await,
                }
            };
            let is_down = done.is_err();
            tokio::select! {
                () = wait => {}
                () = again => {}
                changed = table.changed(), if !is_down => if changed.is_err() { return },
                changed = settings.changed() => if changed.is_err() { return },
                () = self.nudged.notified() => {}
            }
            // What comes together is published together.
            tokio::time::sleep(GATHER).await;
            pause = if is_down { (2 * pause).min(RETRY_MOST) } else { RETRY };
        }
    }

    /// One round: connect, take in, publish.
    async fn round(self: &Arc<Self>, round: &mut Option<Member>, settings: &Arc<Settings>) -> Result<(), String> {
        if round.as_ref().is_none_or(|member| member.settings != settings.relay) {
            *round = None;
            *round = Some(self.connect(&settings.relay).await?);
        }
        let Some(member) = round else { return Ok(()) };
        self.withdraw_expired(member).await.map_err(|error| error.to_string())?;
        self.receive(member).await?;
        while self.adopt_keys(member).await? {
            // What was sealed by them could not be opened before.
            self.receive(member).await?;
        }
        if self.state().is_removed(&member.keys.writer()) {
            return Err("a member has removed this home from the team; `baton relay leave` leaves it".to_owned());
        }
        if let Some((one, other)) = self.state().contested() {
            return Err(format!(
                "{} ({}) and {} ({}) have removed each other from the team, so nothing is published: `baton relay remove` \
                 the one who is to go",
                one.name, one.id, other.name, other.id
            ));
        }
        self.look_back(member).await?;
        self.introduce(member).await?;
        self.acknowledge(member).await?;
        self.look_at_projects();
        self.forget(member).await?;
        self.publish(member).await
    }

    pub(crate) async fn connect(self: &Arc<Self>, settings: &settings::Relay) -> Result<Member, String> {
        let (team, of) = (self.clone(), settings.clone());
        let reading = baton_base::task::spawn_blocking(move || {
            let keys = team.read_records(&of)?;
            let url = of.url.unwrap_or_default();
            let stored: Option<CursorV1> =
                durable::read_json(&team.folder.join(CURSOR), CURSOR_MAX_BYTES).unwrap_or_default();
            let cursor = stored.filter(|stored| stored.url == url).map(|stored| stored.cursor);
            Ok::<_, String>((keys, url, cursor.unwrap_or_default()))
        });
        let (keys, url, cursor) = reading.await.map_err(|error| error.to_string())??;
        let relay =
            opening::open(&url, settings, Some(keys.team.team_name())).await.map_err(|error| error.to_string())?;
        tracing::info!(writers = self.state().writers.len(), "relay opened");
        Ok(Member { settings: settings.clone(), keys, relay, kept: cursor.clone(), cursor })
    }

    /// Nothing of others is shown any more.
    pub(crate) async fn forget_all(&self) {
        *self.round.lock().await = None;
        *self.state() = State::default();
        self.replace_others(Others::default());
    }

    pub(crate) fn own_name(&self, settings: &settings::Relay) -> String {
        let user = || std::env::var("USER").or_else(|_| std::env::var("USERNAME")).ok();
        settings
            .name
            .clone()
            .filter(|name| is_name(name))
            .or_else(user)
            .filter(|name| is_name(name))
            .unwrap_or_else(|| "me".to_owned())
    }

    pub(crate) fn drafts(&self) -> Drafts {
        let user_home = std::env::home_dir().and_then(|home| home.to_str().map(str::to_owned));
        Drafts { journal: self.options.journal.clone(), chunks: self.options.chunks.clone(), user_home }
    }

    fn outbound<'a>(&'a self, member: &'a Member) -> Outbound<'a> {
        let now = self.options.clock.now();
        Outbound { relay: &*member.relay, keys: &member.keys, folder: &self.folder, now }
    }

    /// Applies what was recorded.
    fn apply(&self, member: &Member, change: Change) {
        let Change { writer: id, line } = change;
        let mut state = self.state();
        let session = line.batch.as_ref().map(|batch| batch.session.clone());
        if state.own.as_ref() == Some(&id)
            && let Some(stream) = Name::parse(&line.stream).filter(|_| line.sequence > 0)
        {
            let writer = member.keys.team.writer_name(&id);
            state.unconfirmed = Some((Stream { writer, stream }, line.sequence));
        }
        let applied = match state.writers.get_mut(&id) {
            Some(writer) => writer.apply(&line).map_err(|error| error.to_string()),
            None => match Writer::joined(&id, &line) {
                Some(writer) => {
                    state.names.insert(member.keys.team.writer_name(&id), id.clone());
                    state.expected.remove(id.as_str());
                    state.writers.insert(id.clone(), writer);
                    Ok(())
                }
                None => Err("it does not introduce its writer".to_owned()),
            },
        };
        if let Err(error) = applied {
            tracing::error!(%error, writer = %id, "recorded message not applied");
        }
        if let (Some(session), Some(writer)) = (session, state.writers.get(&id)) {
            let shown = showing::shown(&state, writer, &session);
            drop(state);
            self.show(&session, shown);
        }
    }

    /// What is known of a stream and its writer.
    fn known(&self, (writer, stream): (Name, Name)) -> Known {
        let state = self.state();
        let known = state.names.get(&writer).and_then(|id| state.writers.get(id));
        let vouched = if known.is_none() { state.vouched() } else { BTreeSet::new() };
        let is_waiting = state.held.keys().any(|(of, _)| *of == writer);
        let session = known.and_then(|known| known.sessions.get(known.streams.get(&stream)?).cloned());
        let writer = known.map(|known| KnownWriter {
            id: known.id.clone(),
            key: known.key,
            notices: known.notices,
            is_removed: state.is_removed(&known.id),
            is_member: state.is_member(known),
            sessions: known.sessions.len(),
            stored: known.stored,
            forgotten: known.forgotten.clone(),
        });
        let is_complete = state.expected.is_empty();
        Known { writers: state.writers.len(), writer, is_waiting, session, vouched, is_complete }
    }
}

/// True if a person shares the project of a session, and the session may be shown at all.
pub(crate) fn is_shared(table: &SessionTable, settings: &Settings, id: &SessionId, row: &Row) -> bool {
    let is_untracked = matches!(row.state.phase, Phase::Unindexed(UnindexedReason::Untracked));
    let share = &settings.relay.share;
    !is_untracked
        && !share.is_empty()
        && visibility::is_in_any(&row.state, share)
        && !visibility::is_hidden(table, settings, &[], id.as_str())
}

/// The name of this machine.
pub(crate) fn machine() -> String {
    #[cfg(unix)]
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    #[cfg(not(unix))]
    let name = std::env::var("COMPUTERNAME").unwrap_or_default();
    let name: String = name.chars().filter(|c| !c.is_control()).take(100).collect();
    if name.trim().is_empty() { "unknown".to_owned() } else { name }
}

/// All writers that are recorded, and the members whose record was lost or is not there yet.
fn read_writers(folder: &Path, own: &WriterId) -> Result<(BTreeMap<WriterId, Writer>, BTreeSet<String>), String> {
    let (mut writers, mut expected) = (BTreeMap::new(), BTreeSet::new());
    for id in Record::writers(folder) {
        let record = Record::new(folder, &id);
        let read = record.read();
        let writer = match &read {
            Ok(Some(lines)) => Writer::fold(&id, lines),
            Ok(None) => None,
            Err(crate::record::Error::Io(error)) => return Err(error.to_string()),
            Err(error) => {
                tracing::warn!(%error, writer = %id, "record of another member is damaged, it is fetched again");
                None
            }
        };
        match writer {
            Some(writer) => {
                // A crash may have come before the removal. Of this home's own, the relay is cleared first.
                for session in writer.forgotten.keys().filter(|_| *own != id) {
                    record.remove(session).map_err(|error| error.to_string())?;
                }
                writers.insert(id, writer);
            }
            None => {
                record.clear().map_err(|error| error.to_string())?;
                expected.insert(id.to_string());
            }
        }
    }
    Ok((writers, expected))
}

#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;
