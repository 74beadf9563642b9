//! A process that is killed while it appends: what it had acknowledged is still there afterwards.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use super::*;

const LOG: &str = "BATON_TEST_CRASH_LOG";
const CHILD: &str = "tests::crash::child";

/// The process that is killed, not a test of its own. Prints every stream and version that was acknowledged.
#[test]
#[ignore = "started by what_was_acknowledged_survives_a_kill"]
fn child() {
    let Some(log) = std::env::var_os(LOG) else { return };
    let eager = Options { flush_after_records: 25, segment_bytes: 4000, ..options(Path::new(&log)) };
    let journal = Arc::new(DiskJournal::open(eager, Box::new(())).unwrap());
    let mut heads = [0; 4];
    for record in read_all(&*journal, 1000) {
        let writer: usize = record.stream.as_str().strip_prefix("session:w").unwrap().parse().unwrap();
        heads[writer] = record.sequence.0;
    }
    writeln!(std::io::stdout(), "\nopen").unwrap();
    super::super::conformance::runtime().block_on(async {
        let writers = heads.into_iter().enumerate().map(|(writer, head)| {
            let journal = Arc::clone(&journal);
            baton_base::task::spawn(async move {
                for version in head.. {
                    let name = stream(&format!("w{writer}"));
                    journal.append(name, SequenceNumber(version), vec![event(version)]).await.unwrap();
                    let mut out = std::io::stdout().lock();
                    writeln!(out, "acked {writer} {}", version + 1).and_then(|()| out.flush()).unwrap();
                }
            })
        });
        for writer in writers.collect::<Vec<_>>() {
            writer.await.unwrap();
        }
    });
}

#[test]
fn what_was_acknowledged_survives_a_kill() {
    let home = tempfile::tempdir().unwrap();
    let mut acked = [0; 4];
    for kill_after in [1, 17, 60, 3, 150, 1, 2, 40, 7, 90, 25, 5] {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", CHILD, "--ignored", "--nocapture"])
            .env(LOG, home.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut count = 0;
        for line in BufReader::new(child.stdout.take().unwrap()).lines() {
            let line = line.unwrap();
            let Some((writer, version)) = line.strip_prefix("acked ").and_then(|rest| rest.split_once(' ')) else {
                continue;
            };
            let writer: usize = writer.parse().unwrap();
            acked[writer] = version.parse::<u64>().unwrap().max(acked[writer]);
            count += 1;
            if count == kill_after {
                // Lines that it printed before it died count too.
                child.kill().unwrap();
            }
        }
        child.wait().unwrap();
        assert!(count >= kill_after, "the child was killed at work, after {count} acknowledgements");

        let journal = open(home.path());
        let all = check_whole(&journal);
        for (writer, version) in acked.iter().enumerate() {
            let name = stream(&format!("w{writer}"));
            let stored = all.iter().filter(|record| record.stream == name).count() as u64;
            assert!(stored >= *version, "writer {writer}: {version} acknowledged, {stored} stored");
        }
        journal.close();
    }
}
