//! The address of a model, its name, and where its key is found. None of these values contains the key itself.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;

use url::Url;

/// Longest address in bytes.
const URL_BYTES: usize = 2048;

/// Where an API key is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeySource {
    /// In an environment variable of this name.
    Variable(String),
    /// In a file that contains nothing else.
    File(PathBuf),
}

impl KeySource {
    /// In the environment variable `name`, which the configuration has checked.
    pub fn variable(name: impl Into<String>) -> Self {
        Self::Variable(name.into())
    }

    /// In the file at this path.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self::File(path.into())
    }

    /// The name of the variable, or the redacted path of the file.
    pub fn name(&self) -> String {
        match self {
            Self::Variable(name) => name.clone(),
            Self::File(path) => baton_redaction::redact(&path.display().to_string()).into_owned(),
        }
    }
}

/// A model behind an endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The address.
    pub base_url: BaseUrl,
    /// The name of the model at the endpoint.
    pub model: String,
    /// Where its key is found; local servers need none.
    pub key: Option<KeySource>,
}

/// The base URL of an endpoint's methods, such as `http://127.0.0.1:11434/v1`.
#[derive(Clone, PartialEq, Eq)]
pub struct BaseUrl {
    /// Without a trailing slash.
    text: String,
    is_local: bool,
    is_encrypted: bool,
}

impl BaseUrl {
    /// Parses an address. The error continues a sentence that begins with the address.
    pub fn new(text: &str) -> Result<Self, &'static str> {
        let text = text.trim();
        if text.len() > URL_BYTES {
            return Err("is too long");
        }
        let url = Url::parse(text).map_err(|_| "is not an address such as http://127.0.0.1:11434/v1")?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err("must begin with http:// or https://");
        }
        let Some(host) = url.host_str().filter(|host| !host.is_empty()) else { return Err("names no host") };
        if !url.username().is_empty() || url.password().is_some() {
            return Err("must contain no user and no password; name the key's variable in api_key_env");
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err("must contain neither `?` nor `#`");
        }
        let path = url.path().trim_end_matches('/');
        if ["/embeddings", "/chat/completions"].iter().any(|method| path.ends_with(method)) {
            return Err("names a method; leave out what follows the version, as in https://host/v1");
        }
        let text = url.as_str().trim_end_matches('/').to_owned();
        Ok(Self { is_local: is_loopback(host), is_encrypted: url.scheme() == "https", text })
    }

    /// The address, without a trailing slash.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// True if it is on this machine.
    pub fn is_local(&self) -> bool {
        self.is_local
    }

    /// True for the API of OpenAI, also on Azure: it alone has replaced parameter names that its imitators still use.
    pub fn is_original(&self) -> bool {
        let rest = self.text.split_once("://").map_or("", |(_, rest)| rest);
        let host = rest.split(['/', ':']).next().unwrap_or_default();
        host == "api.openai.com" || host.ends_with(".openai.azure.com")
    }

    /// True if requests are encrypted (https).
    pub fn is_encrypted(&self) -> bool {
        self.is_encrypted
    }
}

fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    let name = host.trim_end_matches('.');
    address.map_or(name == "localhost" || name.ends_with(".localhost"), |address| address.to_canonical().is_loopback())
}

/// Redacted: a path may contain what looks like a secret.
impl fmt::Debug for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&baton_redaction::redact(&self.text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_http_or_https_with_a_host_and_nothing_more() {
        for (text, told) in [
            ("http://127.0.0.1:11434/v1", "http://127.0.0.1:11434/v1"),
            (" https://API.example.com/v1/ ", "https://api.example.com/v1"),
            ("http://localhost", "http://localhost"),
            ("", "is not an address"),
            ("127.0.0.1:8080", "is not an address"),
            ("api.example.com/v1", "is not an address"),
            ("ftp://host/v1", "must begin with http"),
            ("localhost:8080", "must begin with http"),
            ("http://", "is not an address"),
            ("https://u:p@host/v1", "no user and no password"),
            ("https://sk-secret@host/v1", "no user and no password"),
            ("https://host/v1?version=1", "neither"),
            ("https://host/v1/embeddings/", "names a method"),
            ("https://host/v1/chat/completions", "names a method"),
        ] {
            match BaseUrl::new(text) {
                Ok(url) => assert_eq!(url.as_str(), told, "{text}"),
                Err(why) => assert!(why.contains(told), "{text}: {why}"),
            }
        }
        assert!(BaseUrl::new(&format!("http://h/{}", "x".repeat(URL_BYTES))).is_err());
    }

    #[test]
    fn what_is_on_this_machine_is_known_by_its_host() {
        for (host, is_local) in [
            ("127.0.0.1", true),
            ("127.8.9.1:80", true),
            ("[::1]:80", true),
            ("[::ffff:127.0.0.1]", true),
            ("localhost", true),
            ("models.localhost:1234", true),
            ("0x7f.1", true),
            ("localhost.example.com", false),
            ("127.0.0.1.example.com", false),
            ("192.168.0.7", false),
            ("[fe80::1]", false),
        ] {
            let url = BaseUrl::new(&format!("http://{host}/v1")).unwrap();
            assert_eq!((url.is_local(), url.is_encrypted()), (is_local, false), "{host}");
        }
        assert!(BaseUrl::new("https://h").unwrap().is_encrypted());
    }

    #[test]
    fn what_looks_like_a_secret_is_not_shown() {
        let key = format!("sk-ant-api03-{}", "a1B2c3D4e5F6".repeat(4));
        let url = BaseUrl::new(&format!("https://gateway.example.com/{key}/v1")).unwrap();
        assert!(!format!("{url} {url:?}").contains(&key) && url.as_str().contains(&key), "{url}");
    }
}
