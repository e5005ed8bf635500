//! The whole file: what is instantiated of which kind, and what the driver does with it.

use std::collections::BTreeMap;

use super::drive::drive;
use super::fields::{Fields, Unused};
use super::organisation::{Organisation, organisation};
use super::queue::{self, Scheduling};
use super::syntax::{Block, Document, Value};
use super::token::Text;
use super::topology::{self, Link, Path};
use crate::DiskError;
use crate::spec::{DriveKind, DriveSpec};

/// A DiskSim configuration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct System {
    pub drives: Vec<SystemDrive>,
    pub organisations: Vec<Organisation>,
    /// Absent in a `.diskspecs`.
    pub driver: Option<Driver>,
    /// How a trace's devices become drives; empty: by their number.
    pub devices: Vec<DeviceMap>,
    /// Multiplies the times of a trace.
    pub time_scale: f64,
    /// What was understood and has no effect; by [`Unused::matters`] what DiskSim would have acted on.
    pub unused: Vec<Unused>,
}

/// A drive under its instance's name, with what is known of its place in the system.
#[derive(Clone, Debug, PartialEq)]
pub struct SystemDrive {
    pub name: String,
    pub spec: DriveSpec,
    /// The bus it hangs on, where there is a topology.
    pub bus: Option<String>,
}

impl SystemDrive {
    pub(super) fn is_called(&self, name: &str) -> bool {
        self.name == name || self.spec.name == name
    }
}

/// The host's side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Driver {
    pub scheduling: Scheduling,
    /// The driver gives a drive several requests at once, where the drive takes them.
    pub queueing_in_drives: bool,
}

/// `disksim_iomap`: a trace's device and the drive that stands for it.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceMap {
    pub device: u32,
    pub drive: String,
    /// Bytes of the trace's unit of address.
    pub address_bytes: u32,
    /// Sectors of the trace's unit of size.
    pub size_sectors: u32,
    /// Added to every address, in sectors.
    pub offset: u64,
}

/// Blocks that say nothing of drives and arrays.
const ASIDE: [(&str, &str); 5] = [
    ("disksim_global", "random seeds and DiskSim's own files"),
    ("disksim_stats", "statistics of DiskSim's own"),
    ("disksim_pf", "processors are not simulated"),
    ("disksim_synthio", "DiskSim's own load is not made; give a trace"),
    ("disksim_syncset", "DiskSim 4.0 turns all spindles in phase, with or without it"),
];

pub(super) fn build(text: &mut Text, document: &Document) -> Result<System, DiskError> {
    let mut system = System { time_scale: 1.0, ..System::default() };
    let (mut kinds, mut links) = (BTreeMap::new(), BTreeMap::new());
    for block in &document.blocks {
        let name = block.name.clone().unwrap_or_default();
        let unused = &mut system.unused;
        match block.kind.as_str() {
            "disksim_disk" => drop(kinds.insert(name, drive(text, block, unused)?)),
            "disksim_bus" => drop(links.insert(name, topology::bus(text, block, unused)?)),
            "disksim_ctlr" => drop(links.insert(name, topology::controller(text, block, unused)?)),
            "disksim_iodriver" => system.driver = Some(driver(text, block, unused)?),
            "disksim_logorg" => system.organisations.push(organisation(text, block, unused)?),
            "disksim_iosim" => devices(text, block, &mut system)?,
            "dm_disk" => {
                return Err(text.error(
                    block.at,
                    "this is the mechanics alone (`.model`); give the `.diskspecs` that has `Model = source` of it",
                ));
            }
            kind => match ASIDE.iter().find(|(known, _)| *known == kind) {
                Some((_, why)) => {
                    let (file, line) = text.name(block.at);
                    system.unused.push(Unused { file, line, key: format!("{kind} {name}"), why, matters: false });
                }
                None => return Err(text.error(block.at, format!("a block of kind `{kind}` is not understood"))),
            },
        }
    }
    instantiate(text, document, &kinds, &links, &mut system)?;
    check(text, document, &system)?;
    let files = text.file_names().join(", ");
    for drive in &mut system.drives {
        drive.spec.source.insert("disk".into(), format!("DiskSim 4.0 parameter files {files}"));
    }
    Ok(system)
}

/// Makes the drives: as instantiated and placed, or one of each kind where the file has kinds only.
fn instantiate(
    text: &Text,
    document: &Document,
    kinds: &BTreeMap<String, DriveSpec>,
    links: &BTreeMap<String, Link>,
    system: &mut System,
) -> Result<(), DiskError> {
    if document.instances.is_empty() {
        let alone =
            |(name, spec): (&String, &DriveSpec)| SystemDrive { name: name.clone(), spec: spec.clone(), bus: None };
        system.drives = kinds.iter().map(alone).collect();
        return Ok(());
    }
    let mut placed = BTreeMap::new();
    let mut linked = BTreeMap::new();
    for instances in &document.instances {
        if let Some(link) = links.get(&instances.of) {
            linked.extend(instances.names.iter().map(|name| (name.clone(), *link)));
        } else if !kinds.contains_key(&instances.of)
            && !document.blocks.iter().any(|block| block.name.as_deref() == Some(&instances.of))
        {
            return Err(text.error(instances.at, format!("there is no block `{}`", instances.of)));
        }
    }
    for node in &document.topology {
        topology::places(text, node, &Path::default(), &linked, &mut placed)?;
    }
    for instances in &document.instances {
        let Some(kind) = kinds.get(&instances.of) else { continue };
        for name in &instances.names {
            let Some(place) = placed.get(name) else {
                return Err(text.error(instances.at, format!("drive `{name}` is not in the topology")));
            };
            let mut spec = kind.clone();
            if let DriveKind::HardDisk(disk) = &mut spec.kind {
                disk.bus.read_sector_ms = place.link.read_ms;
                disk.bus.write_sector_ms = place.link.write_ms;
            }
            system.drives.push(SystemDrive { name: name.clone(), spec, bus: place.bus.clone() });
        }
    }
    Ok(())
}

/// Every drive that is named exists.
fn check(text: &Text, document: &Document, system: &System) -> Result<(), DiskError> {
    let known = |name: &str| system.drives.iter().any(|drive| drive.name == name);
    let at = |kind: &str, name: &str| {
        let named = |b: &&Block| b.kind == kind && b.name.as_deref() == Some(name);
        document.blocks.iter().find(named).map(|b| b.at).unwrap_or_default()
    };
    for organisation in &system.organisations {
        if let Some(missing) = organisation.drives.iter().find(|name| !known(name)) {
            let at = at("disksim_logorg", &organisation.name);
            return Err(text.error(at, format!("`{missing}` is not an instantiated drive")));
        }
    }
    Ok(())
}

fn driver(text: &Text, block: &Block, unused: &mut Vec<Unused>) -> Result<Driver, DiskError> {
    let mut fields = Fields::new(text, block)?;
    let constant = fields.need("Constant access time")?;
    if fields.number("Constant access time", -3.0, 1e9)? != 0.0 {
        return Err(fields.refuse(constant, "only 0 is understood: access times are simulated"));
    }
    let driver = Driver {
        scheduling: queue::driver(text, fields.block("Scheduler", "disksim_ioqueue")?, unused)?,
        queueing_in_drives: fields.flag("Use queueing in subsystem")?,
    };
    fields.set_aside(&["type"], "there is one type of driver", unused);
    fields.finish()?;
    Ok(driver)
}

fn devices(text: &Text, block: &Block, system: &mut System) -> Result<(), DiskError> {
    let mut fields = Fields::new(text, block)?;
    system.time_scale = fields.maybe_number("I/O Trace Time Scale", 0.0, 1e9)?.unwrap_or(1.0);
    if fields.maybe("I/O Mappings").is_some() {
        for (value, at) in fields.list("I/O Mappings")? {
            match value {
                Value::Block(map) if map.kind == "disksim_iomap" => system.devices.push(device(text, map)?),
                _ => return Err(text.error(*at, "a mapping is a `disksim_iomap` block")),
            }
        }
    }
    fields.finish()
}

fn device(text: &Text, block: &Block) -> Result<DeviceMap, DiskError> {
    let mut fields = Fields::new(text, block)?;
    let map = DeviceMap {
        device: fields.whole("tracedev", 0, i32::MAX as u32)?,
        drive: fields.word("simdev")?.0.to_string(),
        address_bytes: fields.whole("locScale", 1, 1 << 20)?,
        size_sectors: fields.whole("sizeScale", 1, 1 << 20)?,
        offset: fields.maybe_number("offset", 0.0, 9e15)?.unwrap_or(0.0) as u64,
    };
    fields.finish()?;
    Ok(map)
}
