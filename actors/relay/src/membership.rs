//! Begins, joins and leaves a team; invites and removes members.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use baton_base::durable;
use baton_config::settings;
use baton_conversation::hex;
use baton_conversation::record::{SessionId, Timestamp};
use baton_events::projection::others::MIN_FINGERPRINT;
use baton_sharing::batch::Said;
use baton_views::visibility;
use ed25519_dalek::VerifyingKey;
use serde::{Deserialize, Serialize};

use crate::boxes;
use crate::invitation::Invitation;
use crate::keys::{self, Keys, Name, Secret, TeamKeys, WriterId};
use crate::nats;
use crate::opening;
use crate::seal::{self, Frame, Kind};
use crate::team::{Given, Member, Team};
use crate::transport::{self, Slot};

/// Version of [`Welcome`].
const WELCOME: u32 = 2;
/// How long an invitation is valid.
const VALID_MS: i64 = 24 * 60 * 60 * 1000;
/// Most rounds of receiving before a removal: a relay must not delay it for ever.
const MOST_READS: usize = 16;
/// The file of the invitations that this home has given.
const GIVEN: &str = "invitations.json";
const GIVEN_MAX_BYTES: u64 = 1024 * 1024;

/// Why something about the team was not done. The message says what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Not possible in the present state.
    #[error("{0}")]
    Refused(String),
    /// The relay or this machine failed.
    #[error("{0}")]
    Failed(String),
}

impl From<transport::Error> for Error {
    fn from(error: transport::Error) -> Self {
        match error {
            transport::Error::Refused(why) => Self::Refused(why),
            error => Self::Failed(error.to_string()),
        }
    }
}

impl From<keys::Error> for Error {
    fn from(error: keys::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

fn failed(error: impl ToString) -> Error {
    Error::Failed(error.to_string())
}

/// An invitation that this home has issued.
pub struct Invited {
    /// Its text.
    pub invitation: String,
    /// When it expires.
    pub expires: Timestamp,
}

/// What an invitation gives a new member.
#[derive(Serialize, Deserialize)]
struct Welcome {
    v: u32,
    team: TeamKeys,
    /// The inviting writer's public key.
    key: String,
    /// When it expires.
    #[serde(default)]
    expires: Timestamp,
}

impl Team {
    /// Begins a team whose relay is this folder or server. Returns the address that its members open.
    ///
    /// # Errors
    ///
    /// If this home belongs to one, or the relay cannot be used.
    pub async fn begin(&self, url: &str) -> Result<String, Error> {
        let _round = self.round.lock().await;
        let path = self.unused_key_file().await?;
        let of = path.clone();
        // If interrupted, keys without a team are better than a team without keys: they can be used again.
        let team = blocking(move || {
            let keys = Keys::begin_team()?;
            keys.write(&of)?;
            Ok(keys.team.team_name())
        })
        .await?;
        let created = opening::create(url, &self.options.settings.now().relay, team).await;
        if created.is_err() {
            blocking(move || std::fs::remove_file(&path).map_err(failed)).await?;
        }
        Ok(created?)
    }

    /// Invites one more member: seals the team's keys for the first who uses the invitation.
    ///
    /// # Errors
    ///
    /// If the relay cannot be reached.
    pub async fn invite(self: &Arc<Self>) -> Result<Invited, Error> {
        let mut round = self.round.lock().await;
        let member = self.connected_member(&mut round).await?;
        self.withdraw_expired(member).await?;
        let expires = self.options.clock.now().plus_ms(VALID_MS);
        let (slot, secret) = (Name(keys::random()?), Secret::random()?);
        let signer = member.keys.signing();
        let key = hex::encode(signer.verifying_key().as_bytes());
        let welcome = Welcome { v: WELCOME, team: member.keys.team.clone(), key, expires };
        let writer = member.keys.team.writer_name(&member.keys.writer());
        let header = seal::Header { kind: Kind::Invitation, epoch: 0, writer, stream: slot, sequence: 0 };
        let message = serde_json::to_vec(&welcome).map_err(failed)?;
        let sealed = seal::seal(&header, &message, &secret, &signer).map_err(failed)?;
        // Recorded first, so that it is withdrawn even after a crash.
        let mut given = self.read_given().await?;
        given.push(Given { slot: slot.to_string(), expires, epoch: member.keys.team.current().0 });
        self.write_given(given).await?;
        member.relay.put(Slot::Named(slot), sealed).await?;
        let url = member.settings.url.clone().unwrap_or_default();
        let by = member.keys.writer();
        Ok(Invited { invitation: Invitation { slot, secret, by, expires, url }.to_string(), expires })
    }

    /// Joins the team of an invitation. `folder` says where the relay's folder is on this machine, if elsewhere.
    /// Returns its relay.
    ///
    /// # Errors
    ///
    /// If the invitation is not valid, or this home belongs to a team.
    pub async fn join(&self, text: &str, folder: Option<&str>) -> Result<String, Error> {
        let _round = self.round.lock().await;
        let unusable =
            |why: &str| Error::Refused(format!("{why}; ask a member for another one (`baton relay invite`)"));
        let invitation = Invitation::parse(text).ok_or_else(|| unusable("this is not a complete invitation"))?;
        if invitation.expires < self.options.clock.now() {
            return Err(unusable("the invitation has expired"));
        }
        let path = self.unused_key_file().await?;
        let url = folder.unwrap_or(&invitation.url).to_owned();
        let settings = self.options.settings.now();
        // The text may have been written to obtain this home's credentials.
        if folder.is_none()
            && settings.relay.credentials_file.is_some()
            && nats::is_address(&url)
            && !nats::is_local(&url)
        {
            let message = format!(
                "the invitation leads to {url}, and what relay.credentials_file holds would be sent there; if that is the \
                 team's server, name it: `baton relay join TEXT {url}`"
            );
            return Err(Error::Refused(message));
        }
        let relay = opening::open(&url, &settings.relay, None).await?;
        let Some(sealed) = relay.get(Slot::Named(invitation.slot)).await? else {
            return Err(unusable("the invitation was used or withdrawn, or has not arrived here yet"));
        };
        let welcome =
            open(&sealed, &invitation).ok_or_else(|| unusable("what lies there is not what was invited to"))?;
        if welcome.expires < self.options.clock.now() {
            return Err(unusable("the invitation has expired"));
        }
        opening::open(&url, &settings.relay, Some(welcome.team.team_name())).await?;
        // Used up before the keys are written: with keys but no address this home could neither go on nor join again.
        relay.delete(Slot::Named(invitation.slot)).await?;
        blocking(move || Ok(Keys::generate(welcome.team)?.write(&path)?)).await?;
        Ok(url)
    }

    /// Excludes a writer from what is published from now on: gives the team new keys, in the same notice. Returns the
    /// writer's name.
    ///
    /// # Errors
    ///
    /// If there is no such writer, this home is not the team's administrator, or the relay cannot be reached.
    pub async fn remove(self: &Arc<Self>, writer: &str) -> Result<String, Error> {
        let mut round = self.round.lock().await;
        self.connected_member(&mut round).await?;
        if let Some(member) = round.as_mut() {
            // The new member also needs the new key, which must be newer than every key given so far.
            let mut is_level = false;
            for _ in 0..MOST_READS {
                let is_all = self.receive(member).await.map_err(Error::Failed)?;
                is_level = !self.adopt_keys(member).await.map_err(Error::Failed)? && is_all;
                if is_level {
                    break;
                }
            }
            if !is_level {
                return Err(Error::Failed("not all that others published has been received yet: try again".to_owned()));
            }
            self.introduce(member).await.map_err(Error::Failed)?;
        }
        let member = self.connected_member(&mut round).await?;
        let own = member.keys.writer();
        let admin = &member.keys.team.admin;
        if own != *admin {
            let state = self.state();
            let by = state
                .writers
                .get(admin)
                .map_or_else(|| admin.to_string(), |it| format!("{} on {}", it.name, it.machine));
            return Err(Error::Refused(format!(
                "{by} began the team, and that machine alone can remove members; if it is lost, begin a new team"
            )));
        }
        let (removed, name, left, notices) = {
            let state = self.state();
            let fits =
                |id: &&WriterId| **id != own && id.as_str().starts_with(writer) && writer.len() >= MIN_FINGERPRINT;
            let named: Vec<&WriterId> = state.writers.keys().filter(fits).collect();
            let [removed] = named[..] else {
                let message = format!("{writer:?} is the fingerprint of no other member; `baton relay who` lists them");
                return Err(Error::Refused(message));
            };
            let left = state
                .members()
                .filter(|it| it.id != *removed && !it.has_left)
                .map(|it| (it.id.to_string(), it.box_key));
            let name =
                state.writers.get(removed).map_or_else(String::new, |it| format!("{} on {}", it.name, it.machine));
            let notices = state.writers.get(&own).map_or(0, |own| own.notices);
            (removed.clone(), name, left.collect::<Vec<_>>(), notices)
        };
        let (epoch, key) = member.keys.team.next_epoch()?;
        let mut sealed = BTreeMap::new();
        for (id, of) in left {
            sealed.insert(id, boxes::seal(of, &key)?);
        }
        let said = Said::Removed { writers: vec![removed.to_string()], epoch, key: key.hash(), boxes: sealed };
        self.publish_notice(member, notices, said).await.map_err(Error::Failed)?;
        if !self.state().is_removed(&removed) {
            return Err(Error::Failed(format!("{name} is still a member: try again")));
        }
        if let Some(member) = round.as_mut() {
            self.adopt_keys(member).await.map_err(Error::Failed)?;
        }
        drop(round);
        self.nudge();
        Ok(name)
    }

    /// Leaves the team: announces it, and removes the keys and everything of others from this home. What was published
    /// stays.
    ///
    /// # Errors
    ///
    /// If the files cannot be removed.
    pub async fn leave(self: &Arc<Self>) -> Result<(), Error> {
        let mut round = self.round.lock().await;
        // A relay that is gone for good must not prevent leaving.
        if let Ok(member) = self.connected_member(&mut round).await {
            let notices = self.state().writers.get(&member.keys.writer()).map(|own| own.notices);
            if let Some(notices) = notices
                && let Err(error) = self.publish_notice(member, notices, Said::Left).await
            {
                tracing::warn!(error, "others were not told that this home left the team");
            }
        }
        let key_file = self.key_file(&self.options.settings.now().relay);
        let folder = self.folder.clone();
        blocking(move || {
            for removed in [std::fs::remove_file(key_file), std::fs::remove_dir_all(folder)] {
                match removed {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
                    _ => {}
                }
            }
            Ok(())
        })
        .await?;
        *round = None;
        drop(round);
        self.hide_others().await;
        Ok(())
    }

    /// Makes the others remove the sessions of a project. Returns their number.
    ///
    /// # Errors
    ///
    /// If the relay cannot be reached; sessions announced by then are removed nevertheless.
    pub async fn retract_project(self: &Arc<Self>, project: &str) -> Result<u64, Error> {
        let mut round = self.round.lock().await;
        let member = self.connected_member(&mut round).await?;
        let table = self.options.table.now();
        let is_of_it = |id: &SessionId| table.get(id).is_some_and(|row| visibility::is_in(&row.state, project));
        let sessions = self.own_sessions(|own| own.sessions_on_relay().filter(|id| is_of_it(id)).cloned().collect());
        for id in &sessions {
            self.retract(member, id).await.map_err(Error::Failed)?;
        }
        // Also while the relay is paused, because a person asked for it.
        self.retract_hidden(member).await;
        self.compact().await.map_err(Error::Failed)?;
        drop(round);
        self.nudge();
        Ok(sessions.len() as u64)
    }

    /// Removes invitations that have expired, or whose keys no longer make anybody a member.
    pub(crate) async fn withdraw_expired(&self, member: &Member) -> Result<(), Error> {
        let (now, epoch) = (self.options.clock.now(), member.keys.team.current().0);
        let given = self.read_given().await?.into_iter();
        let (expired, valid): (Vec<_>, Vec<_>) = given.partition(|given| given.expires < now || given.epoch < epoch);
        if expired.is_empty() {
            return Ok(());
        }
        for given in &expired {
            if let Some(slot) = Name::parse(&given.slot) {
                member.relay.delete(Slot::Named(slot)).await?;
            }
        }
        self.write_given(valid).await
    }

    async fn read_given(&self) -> Result<Vec<Given>, Error> {
        if let Some(given) = self.state().given.clone() {
            return Ok(given);
        }
        let path = self.folder.join(GIVEN);
        let given: Vec<Given> =
            blocking(move || Ok(durable::read_json(&path, GIVEN_MAX_BYTES).map_err(failed)?.unwrap_or_default()))
                .await?;
        self.state().given = Some(given.clone());
        Ok(given)
    }

    async fn write_given(&self, given: Vec<Given>) -> Result<(), Error> {
        self.state().given = None;
        let path = self.folder.join(GIVEN);
        blocking(move || {
            let bytes = serde_json::to_vec(&given).map_err(failed)?;
            durable::write_file(&path, &bytes).and_then(|()| durable::sync_parent(&path)).map_err(failed)
        })
        .await
    }

    /// The path of the key file. Fails if it has keys.
    async fn unused_key_file(&self) -> Result<std::path::PathBuf, Error> {
        let path = self.key_file(&self.options.settings.now().relay);
        let of = path.clone();
        match blocking(move || Ok(Keys::read(&of)?)).await? {
            None => Ok(path),
            Some(_) => {
                Err(Error::Refused("this home belongs to a team already; `baton relay leave` leaves it".to_owned()))
            }
        }
    }

    /// This home as a member, connected.
    pub(crate) async fn connected_member<'a>(
        self: &Arc<Self>,
        round: &'a mut Option<Member>,
    ) -> Result<&'a Member, Error> {
        let settings: settings::Relay = self.options.settings.now().relay.clone();
        if settings.url.is_none() {
            return Err(Error::Refused(
                "this home belongs to no team; `baton relay init` begins one, `baton relay join` joins one".to_owned(),
            ));
        }
        if round.as_ref().is_none_or(|member| member.settings != settings) {
            *round = Some(self.connect(&settings).await.map_err(Error::Failed)?);
        }
        round.as_ref().ok_or_else(|| failed("the relay is not open"))
    }
}

/// Opens what was sealed for an invitation; `None` if it is anything else.
fn open(sealed: &[u8], invitation: &Invitation) -> Option<Welcome> {
    let frame = Frame::parse(sealed).ok()?;
    if frame.header.kind != Kind::Invitation || frame.header.stream != invitation.slot {
        return None;
    }
    let welcome: Welcome = serde_json::from_slice(&frame.unseal(&invitation.secret).ok()?).ok()?;
    let key = VerifyingKey::from_bytes(&hex::decode(&welcome.key)?).ok()?;
    (WriterId::from_key(&key) == invitation.by && frame.verify(&key).is_ok() && welcome.v == WELCOME).then_some(welcome)
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T, Error> + Send + 'static) -> Result<T, Error> {
    baton_base::task::spawn_blocking(work).await.map_err(failed)?
}
