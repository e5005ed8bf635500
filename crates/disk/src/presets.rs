//! The drives that come with the program: one TOML file each in `presets/`, every figure with its source.

use crate::{DiskError, DriveSpec};

macro_rules! presets {
    ($($name:literal),* $(,)?) => {
        /// `(name, text)`, sorted by name.
        const PRESETS: &[(&str, &str)] = &[$(($name, include_str!(concat!("../presets/", $name, ".toml")))),*];
    };
}

presets![
    "atlas10k",
    "atlas_III",
    "barracuda",
    "cheetah-15k6",
    "cheetah9LP",
    "cmmemory-core",
    "crucial-ct64gbfaa0",
    "cruzer-mini-1gb",
    "cruzer-mini-512mb",
    "dec_rz26",
    "extreme-ducati-8gb",
    "hama-00090853",
    "hd103ui",
    "hp_c2247a",
    "hp_c2249a",
    "hp_c2490a",
    "mcbqe32g5mpp",
    "mccoe64g5mpp",
    "mtron-saa7535032",
    "samsung-usb-8gb",
    "seeds-002",
    "seeds-002-linear",
    "slc-ssd-2008",
    "st9250421as",
    "super-talent-stu1gsmbl",
    "travelstar-5k500",
    "ultrastar-36z15",
    "wd1001fals",
    "wd4000yr",
];

impl DriveSpec {
    /// A drive that comes with the program. Case, `-` and `_` do not matter.
    ///
    /// # Errors
    /// [`DiskError::NoPreset`] with the names that are near.
    pub fn preset(name: &str) -> Result<Self, DiskError> {
        let wanted = plain(name);
        match PRESETS.iter().find(|(preset, _)| plain(preset) == wanted) {
            Some((preset, text)) => Self::from_toml_named(text, &format!("{preset}.toml")),
            None => Err(DiskError::NoPreset { name: name.into(), near: near(&wanted) }),
        }
    }

    /// The names of all presets, sorted.
    pub fn presets() -> impl Iterator<Item = &'static str> {
        PRESETS.iter().map(|(name, _)| *name)
    }
}

fn plain(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '-' | '_' | ' ')).flat_map(char::to_lowercase).collect()
}

/// Presets a wrong name may have meant: those that hold it, else those a few letters away.
fn near(wanted: &str) -> Vec<String> {
    let names = || DriveSpec::presets().map(|name| (name, plain(name)));
    let held: Vec<_> =
        names().filter(|(_, p)| wanted.len() > 2 && (p.contains(wanted) || wanted.contains(p))).collect();
    let mut found: Vec<(usize, &str)> = if held.is_empty() {
        names().map(|(name, p)| (distance(&p, wanted), name)).filter(|(d, _)| *d <= 2.max(wanted.len() / 3)).collect()
    } else {
        held.into_iter().map(|(name, _)| (0, name)).collect()
    };
    found.sort();
    found.into_iter().take(3).map(|(_, name)| name.to_string()).collect()
}

/// Letters to insert, delete or replace to get from one word to the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
