//! A specification compiled: tables shared by all drives of one kind.

use std::sync::Arc;

use iojoule_units::{Lba, Nanos};

use crate::disk_model::DiskModel;
use crate::flash::FlashModel;
use crate::geometry::Geometry;
use crate::{DiskError, DriveKind, DriveSpec, Place};

/// One kind of drive, ready to be simulated.
#[derive(Debug)]
pub struct Model {
    spec: DriveSpec,
    pub(crate) kind: Kind,
}

#[derive(Debug)]
pub(crate) enum Kind {
    Disk(Arc<DiskModel>),
    Flash(Arc<FlashModel>),
}

impl Model {
    /// Compiles `spec`.
    ///
    /// # Errors
    /// [`DiskError::Value`] where a figure is impossible; [`DiskError::Missing`] where the drive's inside is not known.
    pub fn new(spec: &DriveSpec) -> Result<Arc<Self>, DiskError> {
        spec.check()?;
        let kind = match &spec.kind {
            DriveKind::HardDisk(disk) => Kind::Disk(Arc::new(DiskModel::new(spec, disk)?)),
            DriveKind::Flash(flash) => Kind::Flash(Arc::new(FlashModel::new(spec, flash)?)),
            DriveKind::Datasheet(_) => return Err(spec.missing("disk")),
        };
        Ok(Arc::new(Self { spec: spec.clone(), kind }))
    }

    /// Sectors of 512 bytes the host can address.
    pub fn sectors(&self) -> u64 {
        match &self.kind {
            Kind::Disk(disk) => disk.mechanics.geometry.sectors(),
            Kind::Flash(flash) => flash.sectors,
        }
    }

    /// One rotation; `None` for a drive without moving parts.
    pub fn rotation(&self) -> Option<Nanos> {
        match &self.kind {
            Kind::Disk(disk) => Some(Nanos(i64::from(disk.mechanics.rotation))),
            Kind::Flash(_) => None,
        }
    }

    /// Where sectors lie; `None` for a drive without moving parts.
    pub fn geometry(&self) -> Option<&Geometry> {
        match &self.kind {
            Kind::Disk(disk) => Some(&disk.mechanics.geometry),
            Kind::Flash(_) => None,
        }
    }

    /// Where an address lies; the same place for all on a drive without moving parts.
    pub fn place(&self, lba: Lba) -> Place {
        match &self.kind {
            Kind::Disk(disk) => disk.mechanics.geometry.place(lba),
            Kind::Flash(_) => Place::default(),
        }
    }

    /// Commands the drive takes at once.
    pub fn slots(&self) -> u32 {
        match &self.kind {
            Kind::Disk(_) => 1,
            Kind::Flash(flash) => flash.slots,
        }
    }

    /// What it was compiled from.
    pub fn spec(&self) -> &DriveSpec {
        &self.spec
    }
}
