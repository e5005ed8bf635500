//! `disksim_disk`: buffer, overheads, and the mechanics it names.

use std::ops::RangeInclusive;

use super::fields::{Fields, Unused};
use super::mechanics::{Curve, curve, mechanics};
use super::queue;
use super::syntax::Block;
use super::token::Text;
use crate::DiskError;
use crate::spec::{BusSpec, CacheSpec, Caching, DriveKind, DriveSpec, FastWrite, HardDiskSpec, OverheadSpec, Prefetch};

const PREFETCH: [Prefetch; 5] =
    [Prefetch::None, Prefetch::Track, Prefetch::Cylinder, Prefetch::Segment, Prefetch::NextTrack];
const FAST_WRITE: [FastWrite; 3] = [FastWrite::None, FastWrite::Sequential, FastWrite::Always];
const CACHING: [Caching; 3] = [Caching::Off, Caching::On, Caching::On];

const ALONE: &str = "the drive holds one request at a time";
const OWN_BUS: &str = "drives do not wait for each other's bus";
/// Keys without effect, and the values for which the model is what DiskSim's drive is.
const MODELLED: [(&str, RangeInclusive<f64>, &str); 13] = [
    ("Max queue length", 0.0..=1.0, ALONE),
    ("Hold bus entire read xfer", 0.0..=0.0, OWN_BUS),
    ("Hold bus entire write xfer", 0.0..=0.0, OWN_BUS),
    ("Allow almost read hits", 0.0..=0.0, "a request that begins with the sector being read is a miss"),
    ("Allow sneaky full read hits", 0.0..=0.0, ALONE),
    ("Allow sneaky partial read hits", 0.0..=0.0, ALONE),
    ("Allow sneaky intermediate read hits", 0.0..=0.0, ALONE),
    ("Allow write prebuffering", 0.0..=0.0, ALONE),
    ("Preseeking level", 0.0..=0.0, ALONE),
    ("Low (write) water mark", 0.0..=0.0, "data of a write come without a break"),
    ("Disconnect write if seek", 0.0..=0.0, "a write disconnects as its overheads say"),
    ("Write hit stop prefetch", 1.0..=1.0, "any write stops reading ahead"),
    ("Read directly to buffer", 1.0..=1.0, "sectors go to the buffer as they pass"),
];

pub(super) fn drive(text: &mut Text, block: &Block, unused: &mut Vec<Unused>) -> Result<DriveSpec, DiskError> {
    let mut fields = Fields::new(text, block)?;
    let mech = mechanics(text, fields.block("Model", "dm_disk")?, unused)?;
    let cache = cache(&mut fields, mech.sectors)?;
    let overhead = overhead(&mut fields)?;
    let bus = BusSpec {
        drive_sector_ms: fields.ms("Bulk sector transfer time")?,
        hold_for_read: fields.flag("Hold bus entire read xfer")?,
        hold_for_write: fields.flag("Hold bus entire write xfer")?,
        ..BusSpec::default()
    };
    let queue_length = fields.whole("Max queue length", 0, 1 << 16)?.max(1);
    let mean_sectors_per_cylinder = Some(fields.whole("Avg sectors per cylinder", 1, u32::MAX)?);
    // With one request in the drive at a time its own scheduler has nothing to choose from.
    queue::own(text, fields.block("Scheduler", "disksim_ioqueue")?, queue_length, unused)?;
    // Without fast writes there is never a second one.
    if cache.fast_write != FastWrite::None {
        let why = "one write at a time is in the buffer";
        fields.only_modelled("Maximum number of write segments", &(0.0..=1.0), why, unused);
    }
    for (name, modelled, why) in &MODELLED {
        fields.only_modelled(name, modelled, why, unused);
    }
    fields.set_aside(&["Print stats"], "statistics of DiskSim's own", unused);
    fields.set_aside(&["Calc sector by sector"], "DiskSim 4.0 ignores it, too", unused);
    fields.finish()?;

    let seek = match mech.seek {
        Curve::Here(seek) => seek,
        Curve::File(name, at) => curve(text, &name, at)?,
    };
    let disk = HardDiskSpec {
        surfaces: mech.surfaces,
        cylinders: mech.cylinders,
        sectors: mech.sectors,
        rpm: mech.rpm,
        rpm_error_percent: mech.rpm_error_percent,
        head_switch_ms: mech.head_switch_ms,
        write_settle_ms: mech.write_settle_ms,
        mapping: mech.layout.mapping,
        sparing: mech.layout.sparing,
        spare_range_cylinders: mech.layout.spare_range_cylinders,
        seek,
        write_seek: None,
        queue_length,
        mean_sectors_per_cylinder,
        cache,
        overhead,
        bus,
        zones: mech.layout.zones,
    };
    Ok(DriveSpec {
        name: block.name.clone().unwrap_or_default(),
        source: [("disk".into(), "DiskSim parameter files".into())].into(),
        kind: DriveKind::HardDisk(Box::new(disk)),
        power: Default::default(),
    })
}

fn cache(f: &mut Fields, sectors: u64) -> Result<CacheSpec, DiskError> {
    let most = u32::try_from(sectors).unwrap_or(u32::MAX);
    let segment_sectors = f.whole("Segment size (in blks)", 1, most)?;
    let over = f.need("Read-ahead over requested")?;
    let read_ahead_over_requested = f.number("Read-ahead over requested", -1.0, 1.0)?;
    if read_ahead_over_requested.fract() != 0.0 {
        return Err(f.refuse(over, "must be -1, 0 or 1"));
    }
    // 2 asks for zero-latency access only when the whole request is on one track; no measured disk does.
    Ok(CacheSpec {
        segments: f.whole("Number of buffer segments", 0, 1 << 16)?,
        write_segments: f.whole("Maximum number of write segments", 0, 1 << 16)?,
        segment_sectors,
        separate_write_segment: f.flag("Use separate write segment")?,
        caching: f.choice("Enable caching in buffer", &CACHING)?,
        prefetch: f.choice("Buffer continuous read", &PREFETCH)?,
        read_ahead_min_sectors: f.whole("Minimum read-ahead (blks)", 0, segment_sectors)?,
        read_ahead_max_sectors: f.whole("Maximum read-ahead (blks)", 0, segment_sectors)?,
        read_ahead_over_requested: read_ahead_over_requested as i8,
        read_ahead_on_hit: f.flag("Read-ahead on idle hit")?,
        read_free_sectors: f.flag("Read any free blocks")?,
        fast_write: f.choice("Fast write level", &FAST_WRITE)?,
        zero_latency_read: f.flag("Immediate buffer read")?,
        zero_latency_write: f.flag("Immediate buffer write")?,
        combine_writes: f.flag("Combine seq writes")?,
        stop_in_sector: f.flag("Stop prefetch in sector")?,
        disconnect_write_if_seek: f.flag("Disconnect write if seek")?,
        write_hit_stops_prefetch: f.flag("Write hit stop prefetch")?,
        read_directly: f.flag("Read directly to buffer")?,
        send_partial_hit: f.flag("Immed transfer partial hit")?,
        read_hits_on_writes: f.flag("Allow read hits on write data")?,
        write_watermark: f.number("Low (write) water mark", 0.0, 1.0)?,
        read_watermark: f.number("High (read) water mark", 0.0, 1.0)?,
        watermark_by_request: f.flag("Set watermark by reqsize")?,
        almost_read_hits: f.flag("Allow almost read hits")?,
        sneaky_full_read_hits: f.flag("Allow sneaky full read hits")?,
        sneaky_partial_read_hits: f.flag("Allow sneaky partial read hits")?,
        sneaky_intermediate_read_hits: f.flag("Allow sneaky intermediate read hits")?,
        write_prebuffering: f.flag("Allow write prebuffering")?,
        preseek_level: f.whole("Preseeking level", 0, 2)? as u8,
        never_disconnect: f.flag("Never disconnect")?,
    })
}

fn overhead(f: &mut Fields) -> Result<OverheadSpec, DiskError> {
    Ok(OverheadSpec {
        scale: f.number("Time scale for overheads", 0.0, 1e5)?,
        per_request_ms: f.ms("Per-request overhead time")?,
        read_hit_after_read_ms: f.ms("Read hit over. after read")?,
        read_hit_after_write_ms: f.ms("Read hit over. after write")?,
        read_miss_after_read_ms: f.ms("Read miss over. after read")?,
        read_miss_after_write_ms: f.ms("Read miss over. after write")?,
        write_hit_after_read_ms: f.ms("Write hit over. after read")?,
        write_hit_after_write_ms: f.ms("Write hit over. after write")?,
        write_miss_after_read_ms: f.ms("Write miss over. after read")?,
        write_miss_after_write_ms: f.ms("Write miss over. after write")?,
        read_completion_ms: f.ms("Read completion overhead")?,
        write_completion_ms: f.ms("Write completion overhead")?,
        data_preparation_ms: f.ms("Data preparation overhead")?,
        first_reselect_ms: f.ms("First reselect overhead")?,
        other_reselect_ms: f.ms("Other reselect overhead")?,
        read_disconnect_after_read_ms: f.ms("Read disconnect afterread")?,
        read_disconnect_after_write_ms: f.ms("Read disconnect afterwrite")?,
        write_disconnect_ms: f.ms("Write disconnect overhead")?,
        extra_write_disconnect: f.flag("Extra write disconnect")?,
        extra_command_ms: f.ms("Extradisc command overhead")?,
        extra_disconnect_ms: f.ms("Extradisc disconnect overhead")?,
        extra_between_ms: f.ms("Extradisc inter-disconnect delay")?,
        extra_second_disconnect_ms: f.ms("Extradisc 2nd disconnect overhead")?,
        extra_seek_delta_ms: f.ms("Extradisc seek delta")?,
        minimum_seek_delay_ms: f.ms("Minimum seek delay")?,
    })
}
