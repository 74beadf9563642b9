//! Where a NATS relay is, and how a home signs in to it.

use std::io;
use std::path::Path;

use async_nats::{ConnectOptions, ServerAddr};

use crate::keys::Name;
use crate::transport::Error;

/// Largest file of credentials.
const FILE_BYTES: u64 = 64 * 1024;

/// `nats://HOST:PORT/TEAM`, or `tls://`; commas separate several servers of a cluster, and the last one names the team.
#[derive(Debug)]
pub(super) struct Address {
    pub(super) servers: Vec<ServerAddr>,
    pub(super) team: Option<Name>,
    /// The servers, for messages.
    pub(super) shown: String,
    /// True if all of them require TLS.
    pub(super) is_tls: bool,
}

/// True if all servers of an address are on this machine.
pub(crate) fn is_local(url: &str) -> bool {
    let is_local = |server: &ServerAddr| {
        let host = server.host().trim_matches(['[', ']']);
        host == "localhost" || host.parse().is_ok_and(|host: std::net::IpAddr| host.is_loopback())
    };
    Address::parse(url).is_ok_and(|address| address.servers.iter().all(is_local))
}

/// True if this is meant as the address of a server.
pub(crate) fn is_address(url: &str) -> bool {
    url.contains("://")
}

impl Address {
    /// Reads an address.
    ///
    /// # Errors
    ///
    /// If it is none, or contains a secret. The message does not repeat the secret.
    pub(super) fn parse(text: &str) -> Result<Self, Error> {
        let refused = |why: &str| Err(Error::Refused(why.to_owned()));
        let (mut servers, mut team, mut is_tls) = (Vec::new(), None, false);
        for one in text.split(',').map(str::trim) {
            let Ok(server) = one.parse::<ServerAddr>() else {
                return refused("a server's address is nats://HOST:PORT or tls://HOST:PORT");
            };
            let url = server.into_inner();
            if !url.username().is_empty() || url.password().is_some() {
                return refused(
                    "a relay's address must hold no user, password or token, since it is shown and part of every \
                     invitation; write them into a file and name that file in config.json by relay.credentials_file",
                );
            }
            let is_server =
                matches!(url.scheme(), "nats" | "tls") && url.host_str().is_some_and(|host| !host.is_empty());
            let path = url.path().trim_matches('/');
            let named = Name::parse(path);
            if !is_server || team.is_some() || url.query().is_some() || (named.is_none() && !path.is_empty()) {
                return refused("a server's address is nats://HOST:PORT or tls://HOST:PORT");
            }
            team = named;
            is_tls |= url.scheme() == "tls";
            let mut plain = url;
            plain.set_path("");
            servers.push(ServerAddr::from_url(plain).map_err(|error| Error::Refused(error.to_string()))?);
        }
        let shown = text.split(',').map(|one| one.trim().rsplit_once("//").map_or(one, |(_, rest)| rest));
        let shown = shown.map(|one| one.split('/').next().unwrap_or(one)).collect::<Vec<_>>().join(",");
        Ok(Self { servers, team, shown, is_tls })
    }
}

/// Connection options with the content of a credentials file: the text that `nsc` writes (`.creds`), the seed of an
/// nkey, `user:password`, or a token.
///
/// # Errors
///
/// If it cannot be read. The message contains nothing of its content.
pub(super) async fn sign_in(file: Option<&Path>) -> Result<ConnectOptions, Error> {
    let Some(file) = file else { return Ok(ConnectOptions::new()) };
    let path = file.to_owned();
    let reading = baton_base::task::spawn_blocking(move || read(&path));
    let text = reading.await.map_err(io::Error::other).flatten();
    let wrong =
        |why: &str| Error::Unavailable(format!("the file of relay.credentials_file, {}, {why}", file.display()));
    let text = text.map_err(|error| wrong(&format!("cannot be read: {}", error.kind())))?;
    match text.trim() {
        "" => Err(wrong("is empty")),
        text if text.contains("-----BEGIN") => ConnectOptions::with_credentials(text)
            .map_err(|_| wrong("holds no credentials that can be used; `nsc generate creds` writes them")),
        text if text.lines().count() > 1 => {
            Err(wrong("holds more than one line: write user:password, a token, or the seed of an nkey"))
        }
        text if text.starts_with("SU") && text.len() == 58 => Ok(ConnectOptions::with_nkey(text.to_owned())),
        text => Ok(match text.split_once(':') {
            Some((user, password)) => ConnectOptions::with_user_and_password(user.to_owned(), password.to_owned()),
            None => ConnectOptions::with_token(text.to_owned()),
        }),
    }
}

fn read(path: &Path) -> io::Result<String> {
    use std::io::Read as _;
    // Opening a pipe would block.
    let metadata = std::fs::metadata(path)?;
    if !metadata.is_file() || metadata.len() > FILE_BYTES {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut text = String::new();
    std::fs::File::open(path)?.take(FILE_BYTES).read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_servers_and_a_team_and_never_a_secret() {
        let team = "0a".repeat(16);
        let cluster = format!("tls://a.example:4222,tls://b.example/{team}");
        for (text, servers, team) in
            [("nats://127.0.0.1:4222", 1, None), ("nats://relay.example/", 1, None), (&cluster, 2, Name::parse(&team))]
        {
            let address = Address::parse(text).unwrap();
            assert_eq!((address.servers.len(), address.team), (servers, team), "{text}");
        }
        assert_eq!(Address::parse(&cluster).unwrap().shown, "a.example:4222,b.example");
        let twice = format!("nats://a/{team},nats://b/{team}");
        for (text, why) in [
            ("https://a.example", "HOST:PORT"),
            ("ws://a.example", "HOST:PORT"),
            ("nats://", "HOST:PORT"),
            ("nats://a.example/some/path", "HOST:PORT"),
            (&twice, "HOST:PORT"),
            ("nats://ann:s3cret@a.example", "relay.credentials_file"),
            ("nats://s3cret@a.example", "relay.credentials_file"),
        ] {
            let error = Address::parse(text).unwrap_err().to_string();
            assert!(error.contains(why) && !error.contains("s3cret"), "{text}: {error}");
        }
    }

    #[tokio::test]
    async fn credentials_that_are_no_use_are_told_without_their_content() {
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join("relay.creds");
        for (content, why) in [
            (None, "cannot be read"),
            (Some(""), "is empty"),
            (Some("-----BEGIN NATS USER JWT-----\ns3cret"), "no credentials"),
            (Some("s3cret\ns3cret"), "more than one line"),
        ] {
            content.iter().for_each(|content| std::fs::write(&file, content).unwrap());
            let error = sign_in(Some(&file)).await.unwrap_err().to_string();
            assert!(error.contains(why) && error.contains("relay.creds") && !error.contains("s3cret"), "{error}");
        }
        for content in ["ann:s3cret\n", "s3cret"] {
            std::fs::write(&file, content).unwrap();
            assert!(!format!("{:?}", sign_in(Some(&file)).await.unwrap()).contains("s3cret"));
        }
        assert!(sign_in(Some(temp.path())).await.is_err());
    }
}
