//! Laws every layout obeys, each against an independent statement of it.

mod config;
mod maps;
mod paraid;
mod parity;
mod sr;

use iojoule_disk::Op;
use iojoule_units::Lba;

use super::Layout;
use crate::{Extent, Health, Plan};

fn planned(layout: &mut dyn Layout, op: Op, lba: u64, sectors: u32, health: &Health) -> Plan {
    let mut plan = Plan::default();
    layout.plan(op, Lba(lba), sectors, health, &mut plan);
    plan
}

/// The places of an extent that runs through consecutive addresses.
fn places(extent: &Extent) -> impl Iterator<Item = (u16, u64)> + use<> {
    let (drive, first) = (extent.drive, extent.lba.0);
    (first..first + u64::from(extent.sectors)).map(move |sector| (drive, sector))
}

fn failed(drives: u16, drive: u16) -> Health {
    let mut health = Health::good(usize::from(drives));
    health.failed[usize::from(drive)] = true;
    health
}
