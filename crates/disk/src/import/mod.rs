//! DiskSim 4.0's parameter files (`.parv`, `.diskspecs` with its `.model` and `.seek`) as specifications. Written from
//! the grammar and the parameter lists of DiskSim's manual (CMU-PDL-08-101); what is not understood is an error with
//! file and line, and what is understood but without effect here is listed in [`System::unused`].
//!
//! 1. `token`: text, comments and `source` includes as one row of words and signs.
//! 2. `syntax`: blocks, keys, values, instances, topology.
//! 3. `fields`: typed access to a block, that notices keys nobody asked for.
//! 4. `drive`, `mechanics`, `zones`: a `disksim_disk` with its `dm_disk`.
//! 5. `queue`, `organisation`, `topology`, `system`: the rest of a `.parv`.

mod drive;
mod fields;
mod files;
mod mechanics;
mod organisation;
mod queue;
mod syntax;
mod system;
mod token;
mod topology;
mod zones;

use std::path::{Path, PathBuf};

pub use fields::Unused;
pub use files::{Files, LocalFiles};
pub use organisation::{Addressing, CopyChoice, Organisation, ParityRotation, Redundancy};
pub use queue::Scheduling;
pub use system::{DeviceMap, Driver, System, SystemDrive};

use crate::spec::DriveKind;
use crate::{DiskError, DriveSpec};

/// Everything a DiskSim file says: one `.parv`, or the drives of a `.diskspecs`.
///
/// # Errors
/// [`DiskError::Import`] with file and line, or [`DiskError::File`] where the file cannot be read.
pub fn system(path: &Path) -> Result<System, DiskError> {
    // The folder above: an array's file may stand below the folder of its disks.
    let above = path.parent().map(|folder| vec![folder.join("..")]).unwrap_or_default();
    system_from(&LocalFiles, path, &above)
}

/// As [`system`], with the files from anywhere. An included file is looked for beside the file that includes it, beside
/// `path`, then in the folders of `search`.
///
/// # Errors
/// As [`system`].
pub fn system_from(files: &dyn Files, path: &Path, search: &[PathBuf]) -> Result<System, DiskError> {
    let mut text = token::Text::open(files, path, search)?;
    let document = syntax::parse(&text)?;
    system::build(&mut text, &document)
}

/// The drive of a DiskSim file: the one called `name` (of its kind or its instance), or the only kind there is.
///
/// A `.diskspecs` says nothing of the bus. Where the `.parv` of the same name stands beside it and has a drive of that
/// kind, its bus is taken, and the drive's sources say so; otherwise they say that the bus costs no time.
///
/// # Errors
/// As [`system`]; [`DiskError::File`] where `name` is not there or several kinds are.
pub fn disksim(path: &Path, name: Option<&str>) -> Result<DriveSpec, DiskError> {
    Ok(drive_of(path, name)?.0)
}

/// As [`disksim`], with all that the file asks for and has no effect.
///
/// # Errors
/// As [`disksim`].
pub fn drive_of(path: &Path, name: Option<&str>) -> Result<(DriveSpec, Vec<Unused>), DiskError> {
    let (mut spec, unused) = named(path, name)?;
    if path.extension().is_some_and(|end| end == "diskspecs") {
        let whole = path.with_extension("parv");
        let placed = if whole.is_file() { Some(named(&whole, Some(&spec.name))?.0) } else { None };
        let source = match (&mut spec.kind, placed.map(|drive| drive.kind)) {
            (DriveKind::HardDisk(disk), Some(DriveKind::HardDisk(placed))) => {
                disk.bus = placed.bus;
                format!("{}, beside it", whole.display())
            }
            _ => format!("none: {} is not there, so the bus is taken to cost no time", whole.display()),
        };
        spec.source.insert("disk.bus".into(), source);
    }
    Ok((spec, unused))
}

fn named(path: &Path, name: Option<&str>) -> Result<(DriveSpec, Vec<Unused>), DiskError> {
    let System { drives, unused, .. } = system(path)?;
    let names: std::collections::BTreeSet<&str> = drives.iter().map(|d| d.spec.name.as_str()).collect();
    let listed = names.iter().copied().collect::<Vec<_>>().join(", ");
    let refuse = |why| DiskError::File { file: path.display().to_string(), why };
    match name {
        None if names.len() > 1 => Err(refuse(format!("holds several kinds of drive, name one of: {listed}"))),
        Some(name) if !drives.iter().any(|d| d.is_called(name)) => {
            Err(refuse(format!("holds no drive `{name}`, but: {listed}")))
        }
        _ => drives
            .into_iter()
            .find(|d| name.is_none_or(|name| d.is_called(name)))
            .map(|d| (d.spec, unused))
            .ok_or_else(|| refuse("holds no drive".into())),
    }
}
