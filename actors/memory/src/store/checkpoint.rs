//! The checkpoint that each commit carries as its payload.

use baton_conversation::record::Position;
use sha2::{Digest, Sha256};

use crate::Error;

/// How far the memory has followed the journal; committed together with the documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// The last event that was applied.
    pub position: Position,
    /// The journal's chained hash up to there; a memory whose checkpoint is not on the chain is rebuilt.
    pub chain: [u8; 16],
}

impl Checkpoint {
    /// `v<version> <position> <chain in hex> <check in hex>`. It has its own check because no checksum of the index
    /// covers it.
    pub(super) fn encode(self, version: u32) -> String {
        let body = format!("v{version} {} {}", self.position, hex(&self.chain));
        let check = checksum(&body);
        format!("{body} {check}")
    }

    pub(super) fn decode(payload: &str, version: u32) -> Result<Self, Error> {
        let broken = || Error::Broken("its checkpoint is not readable".to_owned());
        let mut words = payload.split(' ');
        let written = words.next().ok_or_else(broken)?;
        if written != format!("v{version}") {
            return Err(Error::Broken(format!("it has version {written}, this program writes v{version}")));
        }
        let (body, check) = payload.rsplit_once(' ').ok_or_else(broken)?;
        if check != checksum(body) {
            return Err(broken());
        }
        let position = words.next().and_then(|word| word.parse().ok()).ok_or_else(broken)?;
        let hex = words.next().filter(|hex| hex.len() == 32 && hex.is_ascii()).ok_or_else(broken)?;
        let mut chain = [0; 16];
        for (byte, at) in chain.iter_mut().zip((0..32).step_by(2)) {
            *byte = u8::from_str_radix(&hex[at..at + 2], 16).map_err(|_| broken())?;
        }
        Ok(Self { position: Position(position), chain })
    }
}

/// Detects changed bytes in a checkpoint.
fn checksum(body: &str) -> String {
    hex(&Sha256::digest(body)[..4])
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
