//! What a run leaves behind: `tables/states.parquet`, `tables/requests.parquet`, `hist/*.hdr`. Tables are written while
//! the run goes on; a killed run keeps what was committed.

mod histograms;
mod recording;
mod requests;
mod states;

use std::sync::Arc;

use arrow_schema::{Schema, SchemaRef};

pub use histograms::write_histograms;
pub use recording::{Output, Recording};
pub use requests::RequestsTable;
pub use states::{Span, StatesTable};

/// Rows gathered before they become columns.
const BATCH: usize = 8192;
/// Batches after which what was written survives a kill.
const COMMIT_EVERY: u32 = 32;

/// The columns, with what the file says of all its rows: times are simulated, and watts are a model's, never a meter's.
fn simulated(schema: &Schema) -> SchemaRef {
    let mut facts = schema.metadata().clone();
    facts.insert("iojoule.clock", "simulated");
    facts.insert("iojoule.boundary", "modelled");
    Arc::new(schema.clone().with_metadata(facts))
}
