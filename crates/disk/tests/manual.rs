//! The manual's page on drives says what the presets are, and its example is a drive.

#![allow(clippy::unwrap_used)]

use std::path::Path;

use iojoule_disk::power::PowerState;
use iojoule_disk::{DriveKind, DriveSpec, Model};

const BEGIN: &str = "<!-- presets: made from the files, kept equal by a test -->\n";
const END: &str = "<!-- end of presets -->";

fn page() -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/drives.md")).unwrap()
}

fn table() -> String {
    let mut table = String::from("| preset | drive | size | rpm | simulated | power |\n|---|---|---|---|---|---|\n");
    for name in DriveSpec::presets() {
        let spec = DriveSpec::preset(name).unwrap();
        let title = spec.source["drive"].split(": ").next().unwrap();
        let (bytes, rpm) = match &spec.kind {
            DriveKind::HardDisk(disk) => (disk.sectors as f64 * 512.0, Some(disk.rpm)),
            DriveKind::Flash(flash) => (flash.sectors as f64 * 512.0, None),
            DriveKind::Datasheet(sheet) => (sheet.capacity_gb.unwrap_or(0.0) * 1e9, sheet.rpm),
        };
        let rpm = rpm.map_or("–".into(), |rpm| rpm.to_string());
        let simulated = if Model::new(&spec).is_ok() { "yes" } else { "no" };
        table += &format!("| `{name}` | {title} | {:.1} GB | {rpm} | {simulated} | {} |\n", bytes / 1e9, power(&spec));
    }
    table
}

/// The states whose power is known.
fn power(spec: &DriveSpec) -> String {
    let known = |state: &PowerState| spec.power.watts(*state).is_ok();
    let mut states: Vec<&str> = PowerState::ALL[..8].iter().filter(|s| known(s)).map(|s| s.name()).collect();
    if states.starts_with(&["seek", "rotate_wait", "read", "write"]) {
        states.splice(..4, ["active"]);
    }
    if known(&PowerState::SpinUp) && known(&PowerState::SpinDown) {
        states.push("spin");
    }
    if states.is_empty() { "–".into() } else { states.join(", ") }
}

#[test]
fn the_table_of_presets_is_that_of_the_files() {
    let page = page();
    let (_, rest) = page.split_once(BEGIN).unwrap();
    let (written, _) = rest.split_once(END).unwrap();
    let made = format!("\n{}\n", table());
    assert!(written == made, "docs/drives.md should have here:\n{made}");
}

#[test]
fn the_example_is_a_drive_that_can_be_simulated() {
    let page = page();
    let (_, rest) = page.split_once("```toml\n").unwrap();
    let (example, _) = rest.split_once("```").unwrap();
    let spec = DriveSpec::from_toml_named(example, "docs/drives.md").unwrap();
    assert_eq!(Model::new(&spec).unwrap().sectors(), 799_000);
}

#[test]
fn refusals_read_as_the_page_has_them() {
    let page = page();
    let error = Model::new(&DriveSpec::preset("wd4000yr").unwrap()).unwrap_err().to_string();
    assert!(page.contains(&error), "{error}");
    let mut ledger = iojoule_disk::Ledger::default();
    ledger.book(PowerState::Idle, iojoule_units::ModelNs(12_500_000_000));
    let error = DriveSpec::preset("cheetah9LP").unwrap().energy(&ledger).unwrap_err().to_string();
    assert!(page.contains(&error), "{error}");
}
