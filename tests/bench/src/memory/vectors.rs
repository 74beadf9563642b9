//! The same memory searched with vectors as well. The vectors are those of [`words`], the same on every machine.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use baton_endpoint::words;
use baton_memory::vectors::{Meaning, Model, Table as Vectors, Vectors as Folder};
use baton_memory::{Query, Searcher};
use serde::Serialize;

use super::{QUESTIONS, QueryTimes};
use crate::process::{CpuPerCall, Memory, memory};
use crate::sample::Sample;
use crate::table::megabytes;
use crate::{Error, Table};

/// Texts that get vectors at a time, as when Baton fills them.
const BATCH: usize = 64;

/// Cost of vectors.
#[derive(Clone, Debug, Serialize)]
pub struct WithVectors {
    /// Dimensions of each vector.
    pub dimensions: usize,
    /// Number of vectors: one for each distinct text.
    pub vectors: usize,
    /// Vectors stored per second, each batch of 64 made durable; without the time that a model takes.
    pub stored_per_second: f64,
    /// Size of their file, in bytes.
    pub file_bytes: u64,
    /// Times of the whole search, without making the query's own vector, by kind of query.
    pub queries: BTreeMap<&'static str, QueryTimes>,
    /// Memory of this process after these queries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Memory>,
}

/// Makes a vector for every text and repeats the queries.
pub(super) fn measure(
    searcher: &Searcher,
    kinds: &[(&'static str, Vec<String>)],
    dimensions: usize,
    folder: &Path,
    progress: &dyn Fn(&str),
) -> Result<WithVectors, Error> {
    let refused = |error: baton_memory::vectors::Error| Error::NothingMeasured(error.to_string());
    let model = Model { name: "words".to_owned(), dimensions: Some(dimensions) };
    let table = Folder::new(folder).select(Some(&model)).map_err(refused)?;
    let table = table.ok_or_else(|| Error::NothingMeasured("there is no table of vectors".to_owned()))?;
    progress("making vectors");
    let mut storing = Duration::ZERO;
    let mut missing = searcher.missing(&table, &|_| false, &HashSet::new());
    while missing.count() > 0 {
        let texts = missing.next_batch(BATCH, usize::MAX).map_err(|error| Error::NothingMeasured(error.to_string()))?;
        let made: Vec<_> = texts.iter().map(|text| (text.key, words::vector(&text.text, dimensions))).collect();
        let since = Instant::now();
        table.add(&made, table.removals()).map_err(refused)?;
        storing += since.elapsed();
    }
    progress("asking with vectors");
    let mut queries = BTreeMap::new();
    for (name, kind) in kinds {
        queries.insert(*name, ask(searcher, &table, kind)?);
    }
    Ok(WithVectors {
        dimensions,
        vectors: table.count(),
        stored_per_second: table.count() as f64 / storing.as_secs_f64().max(1e-9),
        file_bytes: table.path().metadata().map_or(0, |file| file.len()),
        queries,
        memory: memory(std::process::id()),
    })
}

fn ask(searcher: &Searcher, table: &Arc<Vectors>, queries: &[String]) -> Result<QueryTimes, Error> {
    let mut sample = Sample::default();
    let cpu = CpuPerCall::begin(std::process::id());
    for query in queries.iter().cycle().take(QUESTIONS) {
        let vector = words::vector(query, table.dimensions().unwrap_or(0));
        let meaning = Meaning::new(table.clone(), &vector);
        let found = sample.time(|| searcher.search(&Query { meaning: meaning.as_ref(), ..Query::new(query) }));
        if found.map_err(|error| Error::NothingMeasured(error.to_string()))?.is_empty() {
            return Err(Error::NothingMeasured(format!("nothing is found for {query:?}")));
        }
    }
    let (query, times, cpu_ms) = (queries.first().cloned().unwrap_or_default(), sample.spread(), cpu.end(QUESTIONS));
    Ok(QueryTimes { query, times, cpu_ms })
}

impl WithVectors {
    /// Adds rows to the table of the memory without vectors.
    pub(super) fn rows(&self, table: &mut Table) {
        table
            .row("vectors", format!("{} of {} numbers, {}", self.vectors, self.dimensions, megabytes(self.file_bytes)));
        table.row("  stored", format!("{:.0} a second", self.stored_per_second));
        for (name, asked) in &self.queries {
            let times = asked.times;
            let text = format!("p50 {:.2} ms, p99 {:.2} ms", times.p50_ms, times.p99_ms);
            table.row(&format!("  {}", name.replace('_', " ")), text);
        }
        if let Some(memory) = self.memory {
            table.row("  memory of this process", memory.text());
        }
    }
}
