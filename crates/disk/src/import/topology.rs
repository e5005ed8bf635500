//! `topology`: which bus and controller each drive hangs on.

use std::collections::BTreeMap;

use super::fields::{Fields, Unused};
use super::syntax::{Block, Node};
use super::token::Text;
use crate::DiskError;

/// What a bus or controller adds to a transfer, in ms a sector.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Link {
    pub read_ms: f64,
    pub write_ms: f64,
}

/// A drive's place: the bus it hangs on, and the slowest link on the way to it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Path {
    pub bus: Option<String>,
    pub link: Link,
}

pub(super) fn bus(text: &Text, block: &Block, unused: &mut Vec<Unused>) -> Result<Link, DiskError> {
    let mut fields = Fields::new(text, block)?;
    let link =
        Link { read_ms: fields.ms("Read block transfer time")?, write_ms: fields.ms("Write block transfer time")? };
    if let Some(key) = fields.maybe("Arbitration time")
        && fields.ms("Arbitration time")? != 0.0
    {
        return Err(fields.refuse(key, "only 0 is understood: drives do not wait for each other's bus"));
    }
    fields.set_aside(
        &["type", "Arbitration type", "Arbitration time"],
        "drives do not wait for each other's bus",
        unused,
    );
    fields.set_aside(&["Print stats"], "statistics of DiskSim's own", unused);
    fields.finish()?;
    Ok(link)
}

pub(super) fn controller(text: &Text, block: &Block, unused: &mut Vec<Unused>) -> Result<Link, DiskError> {
    let mut fields = Fields::new(text, block)?;
    let kind = fields.need("type")?;
    if fields.whole("type", 1, 3)? != 1 {
        return Err(fields.refuse(kind, "only 1 is understood: a controller that passes requests on"));
    }
    let scale = fields.need("Scale for delays")?;
    if fields.number("Scale for delays", 0.0, 1e5)? != 0.0 {
        return Err(fields.refuse(scale, "only 0 is understood: the controller takes no time of its own"));
    }
    let ms = fields.ms("Bulk sector transfer time")?;
    fields.set_aside(&["Maximum queue length", "Scheduler"], "the controller passes requests on", unused);
    fields.set_aside(&["Print stats"], "statistics of DiskSim's own", unused);
    fields.finish()?;
    Ok(Link { read_ms: ms, write_ms: ms })
}

/// The place of every drive below `node`.
pub(super) fn places(
    text: &Text,
    node: &Node,
    above: &Path,
    links: &BTreeMap<String, Link>,
    places: &mut BTreeMap<String, Path>,
) -> Result<(), DiskError> {
    let mut here = above.clone();
    match node.kind.as_str() {
        "disksim_iodriver" => {}
        "disksim_bus" | "disksim_ctlr" => {
            let link = links.get(&node.name).ok_or_else(|| {
                text.error(node.at, format!("`{}` is not instantiated as a bus or controller", node.name))
            })?;
            here.link.read_ms = here.link.read_ms.max(link.read_ms);
            here.link.write_ms = here.link.write_ms.max(link.write_ms);
            if node.kind == "disksim_bus" {
                here.bus = Some(node.name.clone());
            }
        }
        "disksim_disk" => {
            if places.insert(node.name.clone(), here.clone()).is_some() {
                return Err(text.error(node.at, format!("`{}` stands in the topology twice", node.name)));
            }
        }
        kind => return Err(text.error(node.at, format!("a component of kind `{kind}` is not understood"))),
    }
    node.children.iter().try_for_each(|child| self::places(text, child, &here, links, places))
}
