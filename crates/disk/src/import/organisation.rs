//! `disksim_logorg`: how an array lays its addresses over its drives.

use super::fields::{Fields, Unused};
use super::syntax::Block;
use super::token::Text;
use crate::DiskError;

/// One logical organisation.
#[derive(Clone, Debug, PartialEq)]
pub struct Organisation {
    pub name: String,
    pub addressing: Addressing,
    /// Striped over the drives; otherwise addresses stay as they are, drive behind drive.
    pub striped: bool,
    pub redundancy: Redundancy,
    /// Names of the drives, in order.
    pub drives: Vec<String>,
    /// Sectors; a stripe unit as long as the drive is no striping at all.
    pub stripe_unit: u64,
    /// Sectors between rotations of the parity.
    pub parity_unit: u64,
    /// Fewer data units than this share of all drives are written by read-modify-write, more by reconstruct-write.
    pub rmw_share: f64,
}

/// Whether requests name the array or its drives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addressing {
    Array,
    /// Each drive is addressed as itself.
    Parts,
}

/// How data outlive a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redundancy {
    None,
    Mirrored {
        copies: u32,
        choice: CopyChoice,
    },
    /// RAID-4: the last drive holds the parity.
    ParityDisk,
    /// RAID-5.
    RotatedParity(ParityRotation),
}

/// Which copy serves a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyChoice {
    /// 1: always the first.
    First,
    /// 2.
    Random,
    /// 3: in turn.
    RoundRobin,
    /// 4: the nearest head.
    ShortestSeek,
    /// 5: the shorter queue, ties at random.
    ShortestQueue,
    /// 6: the shorter queue, ties by nearest head.
    ShortestQueueThenSeek,
}

/// On which drive a stripe has its parity, and where its data begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParityRotation {
    LeftSymmetric,
    LeftAsymmetric,
    RightAsymmetric,
    RightSymmetric,
}

const CHOICES: [CopyChoice; 6] = [
    CopyChoice::First,
    CopyChoice::Random,
    CopyChoice::RoundRobin,
    CopyChoice::ShortestSeek,
    CopyChoice::ShortestQueue,
    CopyChoice::ShortestQueueThenSeek,
];
const ROTATIONS: [ParityRotation; 4] = [
    ParityRotation::LeftSymmetric,
    ParityRotation::LeftAsymmetric,
    ParityRotation::RightAsymmetric,
    ParityRotation::RightSymmetric,
];

#[derive(Clone, Copy, PartialEq)]
enum Scheme {
    None,
    Mirrored,
    ParityDisk,
    Rotated,
}

pub(super) fn organisation(text: &Text, block: &Block, unused: &mut Vec<Unused>) -> Result<Organisation, DiskError> {
    let mut f = Fields::new(text, block)?;
    let schemes = [
        ("Noredun", Scheme::None),
        ("Shadowed", Scheme::Mirrored),
        ("Parity_disk", Scheme::ParityDisk),
        ("Parity_rotated", Scheme::Rotated),
    ];
    let scheme = f.one_of("Redundancy scheme", &schemes)?;
    let copies = f.whole("Number of copies", 1, 10)?;
    let choice = CHOICES[f.whole("Copy choice on read", 1, CHOICES.len() as u32)? as usize - 1];
    let rotation = ROTATIONS[f.whole("Parity rotation type", 1, ROTATIONS.len() as u32)? as usize - 1];
    let drives = f.words("devices")?;
    if drives.is_empty() {
        return Err(text.error(block.at, "an organisation has at least one device"));
    }
    let organisation = Organisation {
        name: block.name.clone().unwrap_or_default(),
        addressing: f.one_of("Addressing mode", &[("Array", Addressing::Array), ("Parts", Addressing::Parts)])?,
        striped: f.one_of("Distribution scheme", &[("Striped", true), ("Asis", false)])?,
        redundancy: match scheme {
            Scheme::None => Redundancy::None,
            Scheme::Mirrored => Redundancy::Mirrored { copies, choice },
            Scheme::ParityDisk => Redundancy::ParityDisk,
            Scheme::Rotated => Redundancy::RotatedParity(rotation),
        },
        drives,
        stripe_unit: u64::from(f.whole("Stripe unit", 0, u32::MAX)?),
        parity_unit: u64::from(f.whole("Parity stripe unit", 0, u32::MAX)?),
        rmw_share: f.number("RMW vs. reconstruct", 0.0, 1.0)?,
    };
    let key = f.need("Synch writes for safety")?;
    if f.flag("Synch writes for safety")? {
        return Err(f.refuse(key, "only 0 is understood: data and parity are written at the same time"));
    }
    let aside: &[&str] = match scheme {
        Scheme::None => &["Number of copies", "Copy choice on read", "Parity rotation type", "Parity stripe unit"],
        Scheme::Mirrored => &["Parity rotation type", "Parity stripe unit"],
        Scheme::ParityDisk => &["Number of copies", "Copy choice on read", "Parity rotation type"],
        Scheme::Rotated => &["Number of copies", "Copy choice on read"],
    };
    f.set_aside(aside, "belongs to another redundancy scheme", unused);
    if matches!(scheme, Scheme::None | Scheme::Mirrored) {
        f.set_aside(&["RMW vs. reconstruct"], "belongs to another redundancy scheme", unused);
    }
    let stamps = ["Time stamp interval", "Time stamp start time", "Time stamp stop time", "Time stamp file name"];
    f.set_aside(&["Components"], "devices says it", unused);
    f.set_aside(&stamps, "statistics of DiskSim's own", unused);
    f.finish()?;
    Ok(organisation)
}
