//! `dm_disk` with its `dm_mech_g1`: platters, rotation, seek curve.

use super::fields::{Fields, Unused};
use super::syntax::Block;
use super::token::{At, Text};
use super::zones::{Layout, layout};
use crate::DiskError;
use crate::spec::{RuemmlerWilkes, Seek};

pub(super) struct Mechanics {
    pub surfaces: u32,
    pub cylinders: u32,
    pub sectors: u64,
    pub rpm: f64,
    pub rpm_error_percent: f64,
    pub head_switch_ms: f64,
    pub write_settle_ms: f64,
    pub seek: Curve,
    pub layout: Layout,
}

/// A curve, or the file it is in.
pub(super) enum Curve {
    Here(Seek),
    File(String, At),
}

const PLACEHOLDER: &str = "not used by this type of seek curve";

pub(super) fn mechanics(text: &Text, block: &Block, unused: &mut Vec<Unused>) -> Result<Mechanics, DiskError> {
    let mut disk = Fields::new(text, block)?;
    let surfaces = disk.whole("Number of data surfaces", 1, 1024)?;
    let cylinders = disk.whole("Number of cylinders", 1, 1 << 24)?;
    let block_count = u64::from(disk.whole("Block count", 1, u32::MAX)?);
    let layout = layout(text, disk.block("Layout Model", "dm_layout_g1")?, (cylinders, surfaces), unused)?;
    let sectors = block_count.min(layout.sectors(surfaces));
    if sectors < block_count {
        let key = disk.need("Block count")?;
        if sectors == 0 {
            return Err(disk.refuse(key, "the zones hold none"));
        }
        let why = "the zones hold fewer, and DiskSim goes by them";
        unused.push(Unused { matters: true, ..disk.unused(key, why) });
    }
    let mut mech = Fields::new(text, disk.block("Mechanical Model", "dm_mech_g1")?)?;
    disk.finish()?;

    let key = mech.need("Access time type")?;
    mech.one_of("Access time type", &[("trackSwitchPlusRotation", ())])
        .map_err(|_| mech.refuse(key, "only `trackSwitchPlusRotation` is understood: a head and a turning platter"))?;
    let seek = seek(&mut mech)?;
    mech.set_aside(&["Constant access time"], "not used by this access time type", unused);
    mech.set_aside(
        &[
            "Average seek time",
            "Constant seek time",
            "Single cylinder seek time",
            "Full strobe seek time",
            "HPL seek equation values",
            "First ten seek times",
            "Full seek curve",
        ]
        .into_iter()
        .filter(|name| !used(&seek, name))
        .collect::<Vec<_>>(),
        PLACEHOLDER,
        unused,
    );
    let mechanics = Mechanics {
        surfaces,
        cylinders,
        sectors,
        rpm: mech.number("Rotation speed (in rpms)", 100.0, 1e5)?,
        rpm_error_percent: mech.number("Percent error in rpms", 0.0, 50.0)?,
        head_switch_ms: mech.ms("Head switch time")?,
        // Negative for two of the measured disks.
        write_settle_ms: mech.number("Add. write settling delay", -100.0, 1e5)?,
        seek,
        layout,
    };
    mech.only_modelled("Percent error in rpms", &(0.0..=0.0), "the platters turn at their rated speed", unused);
    mech.finish()?;
    Ok(mechanics)
}

/// Whether the curve was made from this key.
fn used(curve: &Curve, key: &str) -> bool {
    match curve {
        Curve::File(..) => key == "Full seek curve",
        Curve::Here(Seek::Constant { .. }) => key == "Constant seek time",
        Curve::Here(Seek::ThreePoint { .. }) => {
            matches!(key, "Single cylinder seek time" | "Average seek time" | "Full strobe seek time")
        }
        Curve::Here(Seek::FirstThenFormula { .. }) => {
            matches!(key, "First ten seek times" | "HPL seek equation values")
        }
        Curve::Here(Seek::Formula { single_ms, .. }) => {
            key == "HPL seek equation values" || (key == "Single cylinder seek time" && single_ms.is_some())
        }
        Curve::Here(Seek::Table(_)) => false,
    }
}

#[derive(Clone, Copy)]
enum Type {
    Extracted,
    First,
    Formula,
    Constant,
    Line,
}

fn seek(mech: &mut Fields) -> Result<Curve, DiskError> {
    let types = [
        ("extracted", Type::Extracted),
        ("hplplus10", Type::First),
        ("hpl", Type::Formula),
        ("constant", Type::Constant),
        ("linear", Type::Line),
    ];
    Ok(Curve::Here(match mech.one_of("Seek type", &types)? {
        Type::Extracted => {
            let (file, at) = mech.word("Full seek curve")?;
            return Ok(Curve::File(file.into(), at));
        }
        Type::First => Seek::FirstThenFormula { first: first_ten(mech)?, formula: formula(mech)?.0 },
        Type::Formula => {
            let (formula, single) = formula(mech)?;
            let single_ms = if single { Some(mech.ms("Single cylinder seek time")?) } else { None };
            Seek::Formula { formula, single_ms }
        }
        Type::Constant => Seek::Constant { ms: mech.ms("Constant seek time")? },
        Type::Line => Seek::ThreePoint {
            single_ms: mech.ms("Single cylinder seek time")?,
            average_ms: mech.ms("Average seek time")?,
            full_ms: mech.ms("Full strobe seek time")?,
        },
    }))
}

fn first_ten(mech: &mut Fields) -> Result<Vec<f64>, DiskError> {
    let first = mech.numbers("First ten seek times")?;
    let key = mech.need("First ten seek times")?;
    if first.len() == 10 && first.iter().all(|ms| (0.0..1e5).contains(ms)) {
        return Ok(first);
    }
    Err(mech.refuse(key, "must be ten times in ms"))
}

/// Six values: the distance that divides, a, b, c, e; the last is -1 where distance 1 follows the formula, too.
fn formula(mech: &mut Fields) -> Result<(RuemmlerWilkes, bool), DiskError> {
    let values = mech.numbers("HPL seek equation values")?;
    let key = mech.need("HPL seek equation values")?;
    let [divide, a, b, c, e, single] = values[..] else { return Err(mech.refuse(key, "must be six numbers")) };
    let whole = divide.fract() == 0.0 && (0.0..f64::from(1 << 24)).contains(&divide);
    if !whole || [a, b, c, e].iter().any(|n| n.abs() > 1e5) {
        return Err(mech.refuse(key, "a distance in cylinders and four coefficients in ms, then -1 or another number"));
    }
    Ok((RuemmlerWilkes { divide: divide as u32, a, b, c, e }, single != -1.0))
}

/// A `.seek` file: a line with the number of points, then `distance, ms` a line.
pub(super) fn curve(text: &mut Text, name: &str, at: At) -> Result<Seek, DiskError> {
    let (path, content) = text.find(name, at)?;
    let file = path.display().to_string();
    text.note_file(path);
    let bad = |line: usize, why: String| DiskError::Import { file: file.clone(), line: line + 1, why };
    let mut lines = content.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let (_, head) = lines.next().ok_or_else(|| bad(0, "is empty".into()))?;
    let count: usize = head
        .rsplit(|c: char| !c.is_ascii_digit())
        .find_map(|n| n.parse().ok())
        .filter(|_| head.starts_with("Seek distances measured:"))
        .ok_or_else(|| bad(0, "must begin with `Seek distances measured: N`".into()))?;
    let mut points: Vec<(u32, f64)> = Vec::new();
    for (line, row) in lines {
        let point = row.split_once(',').and_then(|(d, ms)| Some((d.trim().parse().ok()?, ms.trim().parse().ok()?)));
        let (distance, ms): (u32, f64) =
            point.ok_or_else(|| bad(line, format!("`{row}` is not a distance and a time in ms")))?;
        if points.last().is_some_and(|(last, _)| *last >= distance) || distance == 0 || !(0.0..1e5).contains(&ms) {
            return Err(bad(line, format!("`{row}`: distances rise from 1 on, times are from 0 ms to 100 s")));
        }
        points.push((distance, ms));
    }
    if points.len() != count || count < 2 {
        return Err(bad(0, format!("says {count} points and has {}; at least 2 are needed", points.len())));
    }
    Ok(Seek::Table(points))
}
