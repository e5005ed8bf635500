//! A flash drive, simple and stated: see [`crate::flash`] for what is made of these figures.

use serde::{Deserialize, Serialize};

/// Channels that work side by side; an operation keeps one channel's die busy. Times in microseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlashSpec {
    /// Sectors of 512 bytes the host can address.
    pub sectors: u64,
    /// Dies that work at the same time. Page `p` lives on channel `p mod channels`.
    pub channels: u32,
    /// Sectors of a page, the unit of reading and programming.
    pub page_sectors: u32,
    /// Pages of a block, the unit of erasing.
    pub block_pages: u32,
    /// From the cells to the die's register.
    pub read_page_us: f64,
    /// From the register to the cells.
    pub program_page_us: f64,
    pub erase_block_us: f64,
    /// A page between register and controller.
    pub transfer_page_us: f64,
    /// A command's share of the interface and the controller, before its first page.
    pub overhead_us: f64,
    /// A sector over the host's interface; commands share it.
    pub interface_sector_us: f64,
    /// Commands the drive takes at once.
    pub slots: u32,
    /// Pages programmed for each page the host writes out of sequence: cleaning a block copies the pages still in use.
    /// 1: nothing is copied.
    #[serde(default = "one")]
    pub random_write_amplification: f64,
}

fn one() -> f64 {
    1.0
}
