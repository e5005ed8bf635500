//! `hist/<kind>.<time>.hdr`: mergeable histograms in HDR's V2 form, nanoseconds.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use hdrhistogram::serialization::{Serializer, V2Serializer};

use crate::{Distribution, SimError, Tally};

/// Writes `{read,write}.{response,service,queue}.hdr` under `folder`; kinds that did not occur are left out.
pub fn write_histograms(folder: &Path, tally: &Tally) -> Result<(), SimError> {
    for (kind, times) in [("read", &tally.reads), ("write", &tally.writes)] {
        for (name, one) in [("response", &times.response), ("service", &times.service), ("queue", &times.queue)] {
            if !one.histogram().is_empty() {
                write(&folder.join(format!("{kind}.{name}.hdr")), one)?;
            }
        }
    }
    Ok(())
}

fn write(path: &Path, one: &Distribution) -> Result<(), SimError> {
    let mut file = BufWriter::new(File::create(path).map_err(|e| SimError::output(path, e))?);
    V2Serializer::new().serialize(one.histogram(), &mut file).map_err(|e| SimError::output(path, e))?;
    file.flush().map_err(|e| SimError::output(path, e))
}
