//! A hard disk's buffer, its command overheads and its bus, in the terms of DiskSim 4.0 (`disksim_disk`). Each field
//! names DiskSim's parameter.

use serde::{Deserialize, Serialize};

/// The on-board buffer. The default has no segments' worth of cleverness: no caching, no read-ahead, no fast writes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CacheSpec {
    /// "Number of buffer segments".
    pub segments: u32,
    /// "Maximum number of write segments". Without effect: one write at a time is in the buffer.
    pub write_segments: u32,
    /// "Segment size (in blks)", in sectors.
    pub segment_sectors: u32,
    /// "Use separate write segment": one segment is for writes alone.
    pub separate_write_segment: bool,
    /// "Enable caching in buffer".
    pub caching: Caching,
    /// "Buffer continuous read".
    pub prefetch: Prefetch,
    /// "Minimum read-ahead (blks)", in sectors: read before another request may stop it.
    pub read_ahead_min_sectors: u32,
    /// "Maximum read-ahead (blks)", in sectors.
    pub read_ahead_max_sectors: u32,
    /// "Read-ahead over requested": data read ahead may replace data of the request just served. −1 as DiskSim's.
    pub read_ahead_over_requested: i8,
    /// "Read-ahead on idle hit": a full hit starts reading ahead, too.
    pub read_ahead_on_hit: bool,
    /// "Read any free blocks": sectors before the requested ones are kept when they pass the head first.
    pub read_free_sectors: bool,
    /// "Fast write level".
    pub fast_write: FastWrite,
    /// "Immediate buffer read": zero-latency read, from whichever sector passes first.
    pub zero_latency_read: bool,
    /// "Immediate buffer write": zero-latency write.
    pub zero_latency_write: bool,
    /// "Combine seq writes": a write that continues another joins its segment.
    pub combine_writes: bool,
    /// "Stop prefetch in sector": reading ahead may stop within a sector, not only at its end.
    pub stop_in_sector: bool,
    /// "Disconnect write if seek". Without effect.
    pub disconnect_write_if_seek: bool,
    /// "Write hit stop prefetch": a write into a segment that is reading ahead stops it. Without effect: any write does.
    pub write_hit_stops_prefetch: bool,
    /// "Read directly to buffer": sectors go to the segment while the bus is not yet owned. Without effect: they
    /// always do.
    pub read_directly: bool,
    /// "Immed transfer partial hit": a partial hit is sent at once, not when the watermark is reached.
    pub send_partial_hit: bool,
    /// "Allow read hits on write data".
    pub read_hits_on_writes: bool,
    /// "Low (write) water mark": share of the request or segment below which the drive asks for more data.
    /// Without effect.
    pub write_watermark: f64,
    /// "High (read) water mark": share of the request or segment above which the drive begins to send.
    pub read_watermark: f64,
    /// "Set watermark by reqsize": the watermarks are shares of the request, else of the segment.
    pub watermark_by_request: bool,
    /// "Allow almost read hits"; off in all presets, as are the next five, and without effect, as they are.
    pub almost_read_hits: bool,
    /// "Allow sneaky full read hits": matters only with more than one request in the drive.
    pub sneaky_full_read_hits: bool,
    /// "Allow sneaky partial read hits": matters only with more than one request in the drive.
    pub sneaky_partial_read_hits: bool,
    /// "Allow sneaky intermediate read hits": matters only with more than one request in the drive.
    pub sneaky_intermediate_read_hits: bool,
    /// "Allow write prebuffering": matters only with more than one request in the drive.
    pub write_prebuffering: bool,
    /// "Preseeking level", 0 to 2: matters only with more than one request in the drive.
    pub preseek_level: u8,
    /// "Never disconnect": the bus is held from a command's start to its end.
    pub never_disconnect: bool,
}

impl Default for CacheSpec {
    fn default() -> Self {
        Self {
            segments: 1,
            write_segments: 1,
            segment_sectors: 1024,
            separate_write_segment: false,
            caching: Caching::Off,
            prefetch: Prefetch::None,
            read_ahead_min_sectors: 0,
            read_ahead_max_sectors: 0,
            read_ahead_over_requested: 1,
            read_ahead_on_hit: false,
            read_free_sectors: false,
            fast_write: FastWrite::None,
            zero_latency_read: false,
            zero_latency_write: false,
            combine_writes: false,
            stop_in_sector: false,
            disconnect_write_if_seek: false,
            write_hit_stops_prefetch: true,
            read_directly: true,
            send_partial_hit: false,
            read_hits_on_writes: false,
            write_watermark: 0.0,
            read_watermark: 0.0,
            watermark_by_request: true,
            almost_read_hits: false,
            sneaky_full_read_hits: false,
            sneaky_partial_read_hits: false,
            sneaky_intermediate_read_hits: false,
            write_prebuffering: false,
            preseek_level: 0,
            never_disconnect: false,
        }
    }
}

/// "Enable caching in buffer".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Caching {
    /// 0: the buffer only matches speeds.
    #[default]
    Off,
    /// 1: what it holds serves later requests. DiskSim knows a 2 and treats it as 1.
    On,
}

/// "Buffer continuous read", 0 to 4: how far the drive reads ahead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Prefetch {
    #[default]
    None,
    /// 1: to the end of the track of the request's last sector.
    Track,
    /// 2: to the end of the cylinder.
    Cylinder,
    /// 3: until the segment is full.
    Segment,
    /// 4: to the end of the next track, when a recent read was on the track before this one.
    NextTrack,
}

/// "Fast write level", 0 to 2: when a write is reported before it is on the medium.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FastWrite {
    /// 0: never.
    #[default]
    None,
    /// 1: when it can join the write the drive is doing (it continues that one).
    Sequential,
    /// 2: whenever its data are in the buffer.
    Always,
}

/// Time the drive's processor and its bus protocol take, in ms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OverheadSpec {
    /// "Time scale for overheads": multiplies all of these.
    pub scale: f64,
    /// "Per-request overhead time": before anything else.
    pub per_request_ms: f64,
    /// "Read hit over. after read": of a read served from the buffer, the command before it being a read.
    pub read_hit_after_read_ms: f64,
    pub read_hit_after_write_ms: f64,
    /// "Read miss over. after read".
    pub read_miss_after_read_ms: f64,
    pub read_miss_after_write_ms: f64,
    /// "Write hit over. after read": of a write that continues a segment.
    pub write_hit_after_read_ms: f64,
    pub write_hit_after_write_ms: f64,
    /// "Write miss over. after read".
    pub write_miss_after_read_ms: f64,
    pub write_miss_after_write_ms: f64,
    /// "Read completion overhead".
    pub read_completion_ms: f64,
    pub write_completion_ms: f64,
    /// "Data preparation overhead": before data go over the bus.
    pub data_preparation_ms: f64,
    /// "First reselect overhead".
    pub first_reselect_ms: f64,
    /// "Other reselect overhead".
    pub other_reselect_ms: f64,
    /// "Read disconnect afterread".
    pub read_disconnect_after_read_ms: f64,
    pub read_disconnect_after_write_ms: f64,
    /// "Write disconnect overhead".
    pub write_disconnect_ms: f64,
    /// "Extra write disconnect": a write disconnects once more after its command, before its data.
    pub extra_write_disconnect: bool,
    /// "Extradisc command overhead".
    pub extra_command_ms: f64,
    /// "Extradisc disconnect overhead".
    pub extra_disconnect_ms: f64,
    /// "Extradisc inter-disconnect delay".
    pub extra_between_ms: f64,
    /// "Extradisc 2nd disconnect overhead".
    pub extra_second_disconnect_ms: f64,
    /// "Extradisc seek delta": how much later the seek begins.
    pub extra_seek_delta_ms: f64,
    /// "Minimum seek delay": least time from a command to its seek.
    pub minimum_seek_delay_ms: f64,
}

impl Default for OverheadSpec {
    fn default() -> Self {
        Self {
            scale: 1.0,
            per_request_ms: 0.0,
            read_hit_after_read_ms: 0.0,
            read_hit_after_write_ms: 0.0,
            read_miss_after_read_ms: 0.0,
            read_miss_after_write_ms: 0.0,
            write_hit_after_read_ms: 0.0,
            write_hit_after_write_ms: 0.0,
            write_miss_after_read_ms: 0.0,
            write_miss_after_write_ms: 0.0,
            read_completion_ms: 0.0,
            write_completion_ms: 0.0,
            data_preparation_ms: 0.0,
            first_reselect_ms: 0.0,
            other_reselect_ms: 0.0,
            read_disconnect_after_read_ms: 0.0,
            read_disconnect_after_write_ms: 0.0,
            write_disconnect_ms: 0.0,
            extra_write_disconnect: false,
            extra_command_ms: 0.0,
            extra_disconnect_ms: 0.0,
            extra_between_ms: 0.0,
            extra_second_disconnect_ms: 0.0,
            extra_seek_delta_ms: 0.0,
            minimum_seek_delay_ms: 0.0,
        }
    }
}

/// How data go between drive and host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BusSpec {
    /// "Bulk sector transfer time" of the drive, in ms a sector. The slowest of drive, bus and controller decides.
    pub drive_sector_ms: f64,
    /// "Read block transfer time" of the bus the drive hangs on, in ms a sector (from the system's file).
    pub read_sector_ms: f64,
    /// "Write block transfer time" of that bus, in ms a sector.
    pub write_sector_ms: f64,
    /// "Hold bus entire read xfer". Without effect: drives do not wait for each other's bus.
    pub hold_for_read: bool,
    /// "Hold bus entire write xfer". Without effect, as well.
    pub hold_for_write: bool,
}
