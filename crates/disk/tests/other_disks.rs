//! Disks that are not among the measured ones: other sparing, remapped sectors, slips out of place, files of other
//! editors. Each is the measured Cheetah 9LP with one thing changed.

#![allow(clippy::unwrap_used)]

mod reference;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use iojoule_disk::import::{self, System};
use iojoule_disk::{DiskError, Model};
use reference::reference_data;

/// The Cheetah 9LP with its files changed; `None` without the reference data.
fn changed_cheetah(change: impl Fn(&str, String) -> String) -> Option<Result<System, DiskError>> {
    let folder = reference_data("data/disksim")?;
    let files = ["cheetah9LP.diskspecs", "cheetah9LP.model", "cheetah9LP.seek"]
        .map(|name| (PathBuf::from(name), change(name, std::fs::read_to_string(folder.join(name)).unwrap())));
    Some(import::system_from(&BTreeMap::from(files), Path::new("cheetah9LP.diskspecs"), &[]))
}

fn with_sparing(text: &str, scheme: usize, spares: &str) -> String {
    let line = |line: &str| match line.trim_start() {
        key if key.starts_with("Sparing scheme used") => format!("Sparing scheme used = {scheme},"),
        key if key.starts_with("Number of spares") && !spares.is_empty() => format!("Number of spares = {spares},"),
        _ => line.to_string(),
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_disk_has_the_sectors_its_zones_hold_in_every_sparing_scheme() {
    for scheme in 0..11 {
        // As the file has it, the disk keeps some hundred sectors a zone, more than a track has and than it has tracks.
        for spares in if matches!(scheme, 1 | 3) { &["0", "5"][..] } else { &["", "5"] } {
            let change = |name: &str, text: String| match name {
                // Track sparing counts slips in tracks; those of this disk are sectors.
                "cheetah9LP.model" if scheme == 1 => {
                    without_slips(&with_sparing(&text, scheme, spares)).replace("17783240", "4000000000")
                }
                "cheetah9LP.model" => with_sparing(&text, scheme, spares).replace("17783240", "4000000000"),
                _ => text,
            };
            let Some(system) = changed_cheetah(change) else { return };
            let system = system.unwrap_or_else(|error| panic!("scheme {scheme}, {spares} spares: {error}"));
            let spec = &system.drives[0].spec;
            let model = Model::new(spec).unwrap_or_else(|error| panic!("scheme {scheme}: {error}"));
            assert_eq!(model.sectors(), spec.hard_disk().unwrap().sectors);
            let said = system.unused.iter().find(|unused| unused.key == "Block count").unwrap();
            assert!(said.matters, "{said:?}");
        }
    }
}

fn without_slips(text: &str) -> String {
    let mut parts = text.split("slips = [");
    let first = parts.next().unwrap_or_default().to_string();
    parts.fold(first, |made, part| format!("{made}slips = [{}", &part[part.find(']').unwrap()..]))
}

/// Pairs of a bad place and its replacement, in one list: of sectors, or of tracks where whole tracks are spared.
#[test]
fn a_disk_with_remapped_sectors_or_tracks_is_simulated_and_says_what_it_leaves_out() {
    for (scheme, pairs) in [(10, "[ 5, 1000, 70000, 1001 ]"), (10, "[5,1000,\n70000,1001]"), (1, "[ 5, 100, 7, 101 ]")]
    {
        let change = |name: &str, text: String| {
            if name != "cheetah9LP.model" {
                return text;
            }
            let at = text.find("defects = [").unwrap();
            let end = at + text[at..].find(']').unwrap() + 1;
            let text = format!("{}defects = {pairs}{}", &text[..at], &text[end..]);
            if scheme == 1 { without_slips(&with_sparing(&text, 1, "4")) } else { text }
        };
        let Some(system) = changed_cheetah(change) else { return };
        let system = system.unwrap();
        assert_eq!(system.drives[0].spec.hard_disk().unwrap().zones[0].defects.len(), 2);
        let said = system.unused.iter().find(|unused| unused.key == "defects").unwrap();
        assert!(said.matters && said.file == "cheetah9LP.model" && said.why.contains("first places"), "{said:?}");
        Model::new(&system.drives[0].spec).unwrap();
    }
}

#[test]
fn a_slip_beyond_its_zone_is_refused_with_file_and_line() {
    let Some(system) = changed_cheetah(|_, text| text.replacen("168317", "999999999", 1)) else { return };
    let said = system.unwrap_err().to_string();
    assert!(said.starts_with("cheetah9LP.model:") && said.ends_with("slip 999999999 is beyond the end of its zone"));
}

#[test]
fn a_byte_order_mark_and_a_latin_1_byte_in_a_comment_are_no_reason_to_refuse_a_file() {
    let Some(folder) = reference_data("data/disksim") else { return };
    let here = Path::new(env!("CARGO_TARGET_TMPDIR")).join("byte-order-mark");
    std::fs::create_dir_all(&here).unwrap();
    for name in ["cheetah9LP.diskspecs", "cheetah9LP.model", "cheetah9LP.seek"] {
        let text = std::fs::read(folder.join(name)).unwrap();
        let front: &[u8] = if name.ends_with("model") { b"# M\xfcller\n" } else { b"\xef\xbb\xbf" };
        std::fs::write(here.join(name), [front, &text].concat()).unwrap();
    }
    let disk = |folder: &Path| import::disksim(&folder.join("cheetah9LP.diskspecs"), None).unwrap();
    assert_eq!(disk(&here).hard_disk().unwrap().zones, disk(&folder).hard_disk().unwrap().zones);
}
