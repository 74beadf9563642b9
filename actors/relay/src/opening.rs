//! Opens the relay of an address: a folder by its absolute path, or a NATS server by its URL.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use baton_config::settings;

use crate::folder::Folder;
use crate::keys::Name;
use crate::nats::{self, Nats};
use crate::transport::{Error, Pending, Relay};

/// Opens the relay of this team, or of any if `None`. Fails if it cannot be reached, or is another team's.
pub(crate) fn open<'a>(url: &'a str, settings: &'a settings::Relay, team: Option<Name>) -> Pending<'a, Arc<dyn Relay>> {
    // Boxed, because the future of a connection is large.
    Box::pin(async move {
        if nats::is_address(url) {
            return Ok(Arc::new(Nats::open(url, settings.credentials_file.as_deref(), team).await?) as Arc<dyn Relay>);
        }
        let path = folder(url)?;
        blocking(move || Ok(Arc::new(Folder::open(&path, team)?) as Arc<dyn Relay>)).await
    })
}

/// Makes a folder or a server the relay of a team. Returns the address that its members open. Fails if it is a relay
/// already, or cannot be used.
pub(crate) fn create<'a>(url: &'a str, settings: &'a settings::Relay, team: Name) -> Pending<'a, String> {
    Box::pin(async move {
        if nats::is_address(url) {
            return Nats::create(url, settings.credentials_file.as_deref(), team).await;
        }
        let path = folder(url)?;
        blocking(move || Folder::create(&path, team).map(drop)).await?;
        Ok(url.to_owned())
    })
}

fn folder(url: &str) -> Result<PathBuf, Error> {
    let path = Path::new(url);
    match path.is_absolute() {
        true => Ok(path.to_owned()),
        false => Err(Error::Refused(format!(
            "{url:?} is neither an absolute path nor nats://HOST:PORT; a relay is a folder that all members can reach, or \
             a NATS server"
        ))),
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T, Error> + Send + 'static) -> Result<T, Error> {
    let working = baton_base::task::spawn_blocking(work);
    working.await.map_err(|error| Error::Unavailable(error.to_string()))?
}
