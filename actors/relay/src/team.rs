//! The team as this home knows it, and the rounds that keep it current.
//!
//! One task runs them. A round receives what is new, then publishes what is owed; it begins when the relay, the session
//! table or the settings have changed. A relay that cannot be reached is tried again with growing pauses, and nothing
//! else waits for it.

mod intake;
mod publishing;
mod set_back;
mod showing;
#[cfg(test)]
mod simulation;
mod state;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use baton_base::clock::Clock;
use baton_base::latest::Latest;
use baton_config::settings::{self, Settings, SettingsReader};
use baton_conversation::record::{SessionId, Timestamp};
use baton_events::projection::others::Others;
use baton_events::projection::table::{Row, SessionTable};
use baton_events::session::{Phase, UnindexedReason};
use baton_journal::Journal;
use baton_journal::session_table::TableReader;
use baton_sharing::batch::{Said, is_name};
use baton_store::chunks::ChunkStore;
use baton_views::visibility;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use crate::inbound::Change;
use crate::keys::{Keys, Name, WriterId};
use crate::opening;
use crate::outbound::{Drafts, Outbound};
use crate::record::{self, Record, Writer};
use crate::transport::{Relay, Stream};
pub(crate) use state::{Given, State};

/// Pauses between attempts to reach the relay.
const RETRY: Duration = Duration::from_secs(1);
const RETRY_MOST: Duration = Duration::from_secs(60);
/// How long changes are collected before a round.
const GATHER: Duration = Duration::from_millis(25);
/// Longest time without a round.
const IDLE: Duration = Duration::from_secs(20);
/// How often held frames, and sessions that could not be published, are tried again.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// What the team needs of the daemon.
pub struct Options {
    /// The home.
    pub home: PathBuf,
    /// Settings, including `relay.*`.
    pub settings: SettingsReader,
    /// The sessions of this home.
    pub table: TableReader,
    /// Their events.
    pub journal: Arc<dyn Journal>,
    /// The store of conversations, which also reads those of others.
    pub chunks: Arc<ChunkStore>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Erases sessions that others have withdrawn from the memory's files.
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
    /// Held during a round, and while joining or leaving.
    pub(crate) round: tokio::sync::Mutex<Option<Member>>,
    others: watch::Sender<Others>,
    /// Held while this home's own record is written: several sessions are published at once.
    recording: Arc<tokio::sync::Mutex<()>>,
    nudged: Notify,
}

/// This home as a member of a team, connected to its relay.
pub(crate) struct Member {
    pub(crate) settings: settings::Relay,
    pub(crate) keys: Keys,
    pub(crate) relay: Arc<dyn Relay>,
    cursor: String,
    /// True once everything that was there at connection time is received.
    is_current: bool,
    /// When everything was last received from the start.
    received_again: Option<Timestamp>,
}

impl Team {
    /// The team as recorded on disk. Blocks for these reads; opens nothing outside the home.
    pub fn new(options: Options) -> Self {
        let team = Self {
            folder: options.home.join("relay"),
            options,
            state: Mutex::default(),
            round: tokio::sync::Mutex::default(),
            others: watch::Sender::default(),
            recording: Arc::default(),
            nudged: Notify::new(),
        };
        let settings = team.options.settings.now();
        if settings.relay.url.is_some()
            && let Err(error) = team.read_records(&settings.relay)
        {
            tracing::warn!(error, "what others published is not shown until the relay is opened");
        }
        team.publish_own_name(&settings.relay);
        team
    }

    fn read_keys(&self, settings: &settings::Relay) -> Result<Keys, String> {
        let keys = Keys::read(&self.key_file(settings)).map_err(|error| error.to_string())?;
        Ok(keys.ok_or("this home belongs to no team; `baton relay init` begins one, `join` joins one")?)
    }

    /// Reads keys and records. Blocks for the disk.
    fn read_records(&self, settings: &settings::Relay) -> Result<Keys, String> {
        let keys = self.read_keys(settings)?;
        let own = keys.writer();
        if self.state().own.as_ref() == Some(&own) && !self.state().is_stale {
            return Ok(keys);
        }
        let writers = read_writers(&self.folder, &own)?;
        let names = writers.keys().map(|id| (keys.team.writer_name(id), id.clone())).collect();
        let admin = Some(keys.team.admin.clone());
        {
            let mut state = self.state();
            let is_copied = state.is_copied && state.own.as_ref() == Some(&own);
            *state =
                State { writers, names, admin, own: Some(own), is_copied, may_receive_again: true, ..State::default() };
        }
        self.find_repositories();
        self.republish_all();
        Ok(keys)
    }

    /// The sessions of others, for answers.
    pub fn others(&self) -> Latest<Others> {
        self.others.subscribe().into()
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a round begin soon.
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
        let (mut pause, mut look, mut waited) = (RETRY, LOOK_AGAIN, 0);
        // When failed work is tried again.
        let mut due = Instant::now();
        loop {
            let now = settings.newest();
            table.mark_seen();
            self.publish_own_name(&now.relay);
            if !now.relay.enabled || now.relay.url.is_none() {
                // While it is paused, received sessions stay.
                *self.round.lock().await = None;
                self.state().is_connected = false;
                tokio::select! {
                    changed = settings.changed() => if changed.is_err() { return },
                    () = self.nudged.notified() => {}
                }
                continue;
            }
            let holds_back = Instant::now() < due;
            let (done, news) = {
                let mut round = self.round.lock().await;
                self.state().holds_back = holds_back;
                let done = self.round(&mut round, &now).await;
                if let Err(problem) = &done {
                    tracing::debug!(problem, "relay not current");
                    // The relay is reopened.
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
                    // Invitations expire even if nothing else happens, and a restarting server may not announce all
                    // news.
                    Some((relay, cursor)) => drop(tokio::time::timeout(IDLE, relay.changed(cursor)).await),
                    None => tokio::time::sleep(pause).await,
                }
            };
            let waiting = {
                let state = self.state();
                let waiting = state.unpublished.len() + state.undestroyed.len();
                state.held_frames().count() + waiting + state.warnings.len() + usize::from(state.owes_later)
            };
            // A quiet relay is read less and less often.
            look = match waiting == waited {
                false => LOOK_AGAIN,
                true if holds_back => look,
                true => (2 * look).min(RETRY_MOST),
            };
            due = if holds_back { due.min(Instant::now() + look) } else { Instant::now() + look };
            waited = waiting;
            let again = async {
                match waiting > 0 {
                    true => tokio::time::sleep_until(due).await,
                    false => std::future::pending().await,
                }
            };
            let is_down = done.is_err();
            let is_due = tokio::select! {
                () = wait => is_down,
                () = again => true,
                changed = table.changed(), if !is_down => match changed {
                    Ok(()) => false,
                    Err(_) => return,
                },
                changed = settings.changed() => match changed {
                    Ok(()) => true,
                    Err(_) => return,
                },
                // A person asks for it.
                () = self.nudged.notified() => true,
            };
            if is_due {
                due = Instant::now();
            }
            // Changes that come together are published together.
            tokio::time::sleep(GATHER).await;
            pause = if is_down { (2 * pause).min(RETRY_MOST) } else { RETRY };
        }
    }

    /// One round: connect, receive, publish.
    async fn round(self: &Arc<Self>, round: &mut Option<Member>, settings: &Arc<Settings>) -> Result<(), String> {
        if round.as_ref().is_none_or(|member| member.settings != settings.relay) {
            *round = None;
            *round = Some(self.connect(&settings.relay).await?);
        }
        let Some(member) = round else { return Ok(()) };
        let mut is_all = self.receive(member).await?;
        while self.adopt_keys(member).await? {
            // Frames sealed by the new keys could not be opened before.
            is_all = self.receive(member).await?;
        }
        if !is_all {
            // Publish only once everything was received; settings may have changed meanwhile.
            self.nudge();
            return Ok(());
        }
        member.is_current = true;
        self.check_may_publish(member)?;
        self.check_for_losses(member).await?;
        self.withdraw_expired(member).await.map_err(|error| error.to_string())?;
        self.introduce(member).await?;
        self.acknowledge_removals(member).await?;
        self.find_repositories();
        self.retract_hidden(member).await;
        let published = self.publish(member).await;
        self.compact().await?;
        published
    }

    /// Fails if this home may not publish.
    fn check_may_publish(&self, member: &Member) -> Result<(), String> {
        let state = self.state();
        let own = member.keys.writer();
        let why = match state.writers.get(&own) {
            _ if state.is_removed(&own) => {
                "the administrator has removed this home from the team; `baton relay leave` leaves it"
            }
            Some(writer) if !state.is_member(writer) => {
                "the team had new keys before it knew of this home; `baton relay leave`, ask for another invitation and \
                 join again"
            }
            _ if state.is_copied => {
                "another machine uses this home's keys (a copied home?), so nothing is published here; `baton relay \
                 leave` on one of them, and join it again"
            }
            _ => return Ok(()),
        };
        Err(why.to_owned())
    }

    pub(crate) async fn connect(self: &Arc<Self>, settings: &settings::Relay) -> Result<Member, String> {
        let (team, of) = (self.clone(), settings.clone());
        let keys = blocking(move || team.read_keys(&of)).await?;
        let url = settings.url.clone().unwrap_or_default();
        // Before anything else is read, because this may be retried for days.
        let relay = opening::open(&url, settings, Some(keys.team.team_name())).await;
        let relay = relay.map_err(|error| error.to_string())?;
        let (team, of) = (self.clone(), settings.clone());
        let reading = blocking(move || {
            let keys = team.read_records(&of)?;
            team.state().has_looked_back = false;
            Ok((keys, team.read_cursor(&url)))
        });
        let (keys, cursor) = reading.await?;
        tracing::info!(writers = self.state().writers.len(), "relay opened");
        Ok(Member { settings: settings.clone(), keys, relay, cursor, is_current: false, received_again: None })
    }

    /// Removes the sessions of others from answers.
    pub(crate) async fn hide_others(&self) {
        *self.round.lock().await = None;
        *self.state() = State::default();
        let ids: Vec<SessionId> = self.others.borrow().iter().map(|(id, _)| id.clone()).collect();
        self.replace_others(Others::default());
        if !ids.is_empty()
            && let Err(error) = (self.options.purge)(ids).await
        {
            tracing::warn!(%error, "the files of the index may hold words of others until it is written anew");
        }
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
        let (folder, recording) = (&self.folder, &self.recording);
        Outbound { relay: &*member.relay, keys: &member.keys, folder, recording, now, goes_on: &|| true }
    }

    /// Applies a recorded change.
    fn apply(&self, member: &Member, mut change: Change) {
        let session = change.line.batch.as_ref().map(|batch| batch.session.clone());
        {
            let mut state = self.state();
            state.apply(&member.keys.team, &mut change);
            let (id, line) = (&change.writer, &change.line);
            if state.own.as_ref() == Some(id)
                && !line.received
                && let Some(stream) = Name::parse(&line.stream).filter(|_| line.sequence > 0)
            {
                let writer = member.keys.team.writer_name(id);
                state.unconfirmed = Some((Stream { writer, stream }, line.sequence));
            }
        }
        let line = change.line;
        match (session, line.notice.map(|notice| notice.said)) {
            (Some(session), _) => self.republish_row(&session),
            // Membership affects whose session is shown, and under which name.
            (None, Some(Said::Joined { .. } | Said::Left | Said::Removed { .. })) => self.republish_all(),
            _ => {}
        }
    }
}

/// True if a session may be shown and its project is shared.
pub(crate) fn is_shared(table: &SessionTable, settings: &Settings, id: &SessionId, row: &Row) -> bool {
    let is_untracked = matches!(row.state.phase, Phase::Unindexed(UnindexedReason::Untracked));
    let share = &settings.relay.share;
    !is_untracked
        && !share.is_empty()
        && visibility::is_in_any(&row.state, share)
        && !visibility::is_hidden(table, settings, &[], id.as_str())
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T, String> + Send + 'static) -> Result<T, String> {
    baton_base::task::spawn_blocking(work).await.map_err(|error| error.to_string())?
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

/// All writers that are recorded.
fn read_writers(folder: &Path, own: &WriterId) -> Result<BTreeMap<WriterId, Writer>, String> {
    fn failed(error: impl ToString) -> String {
        error.to_string()
    }
    let mut writers = BTreeMap::new();
    for id in Record::writers(folder) {
        let mut is_cut = false;
        let record = Record::new(folder, &id);
        let folded = match record.fold(&id) {
            Err(record::Error::Damaged { line, whole }) => {
                tracing::warn!(line, writer = %id, "record of a member is damaged, it is received again from there");
                // First, so that it is received again even after a crash.
                intake::forget_cursor(folder).map_err(failed)?;
                record.cut_off(whole).map_err(failed)?;
                is_cut = true;
                record.fold(&id)
            }
            folded => folded,
        };
        let Some(mut writer) = folded.map_err(failed)? else { continue };
        record.cut_off(writer.size).map_err(failed)?;
        // A crash may have prevented a removal. For this home's own record, the relay is cleared first.
        if !writer.void.is_empty() {
            writer.size = record.compact(&writer.retention()).map_err(failed)?;
            writer.void.clear();
        }
        if id != *own && !is_cut {
            record.remove_unrecorded(&writer).map_err(failed)?;
        }
        writers.insert(id, writer);
    }
    Ok(writers)
}
