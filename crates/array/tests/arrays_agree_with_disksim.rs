//! Mean and 95th percentile of the response time agree with DiskSim 4.0's within 5 % on the array runs of the reference
//! data, disksim/arrays: see its SOURCE.md for what was run and which traps there are.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use iojoule_array::{Array, ArrayConfig, Completion, Request};
use iojoule_disk::{Model, Op, import};
use iojoule_units::{Lba, ModelNs};

fn folder() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/disksim/arrays");
    assert!(folder.is_dir() || std::env::var("IOJOULE_REQUIRE_ALL").as_deref() != Ok("1"), "{folder:?} is not there");
    folder.is_dir().then_some(folder)
}

/// The configuration of a run, from its name.
fn config(run: &str) -> ArrayConfig {
    let (drives, layout, more) = match run.rsplit_once('_').map_or(run, |(name, _)| name) {
        "single" => (1, "{ kind = 'single' }", ""),
        "stripe4" => (4, "{ kind = 'raid0' }", ""),
        "stripe4_clook" => (4, "{ kind = 'raid0' }", "scheduler = 'clook'"),
        "mirror2_rr" => (2, "{ kind = 'raid1' }", "read_choice = 'round_robin'"),
        "mirror2_sq" => (2, "{ kind = 'raid1' }", "read_choice = 'shortest_queue'"),
        "raid10_4_rr" => (4, "{ kind = 'raid10' }", "read_choice = 'round_robin'"),
        "raid4_5" => (5, "{ kind = 'raid4' }", ""),
        "raid5_5" => (5, "{ kind = 'raid5' }", ""),
        "raid5_8" => (8, "{ kind = 'raid5' }", ""),
        other => panic!("no configuration is called {other}"),
    };
    // All spindles in phase, every copy written before the answer: as DiskSim does.
    let same = "stripe_unit = 128\nphase = 'same'\npropagation = 'foreground'";
    toml::from_str(&format!("drives = {drives}\nlayout = {layout}\n{same}\n{more}")).unwrap()
}

/// `arrival_ms device first_sector sectors flags`, flags 1 a read.
fn arrivals(path: &Path) -> Vec<(ModelNs, Request)> {
    let text = std::fs::read_to_string(path).unwrap();
    let request = |(id, line): (usize, &str)| {
        let field: Vec<f64> = line.split_whitespace().map(|field| field.parse().unwrap()).collect();
        let op = if field[4] == 1.0 { Op::Read } else { Op::Write };
        let lba = Lba(field[2] as u64);
        let request = Request { id: id as u64, op, lba, sectors: field[3] as u32, asynchronous: false };
        (ModelNs((field[0] * 1e6).round() as i64), request)
    };
    text.lines().enumerate().map(request).collect()
}

/// Responses in ms of the requests that end before the last one comes, sorted: those that DiskSim counts.
fn responses(array: &mut Array, arrivals: &[(ModelNs, Request)]) -> Vec<f64> {
    let mut done: Vec<Completion> = Vec::new();
    for (at, request) in arrivals {
        array.advance(*at, &mut done);
        array.submit(*at, *request);
    }
    let mut ms: Vec<f64> = done.iter().map(|c| (c.done - c.arrived).0 as f64 / 1e6).collect();
    ms.sort_by(f64::total_cmp);
    ms
}

#[test]
fn mean_and_p95_are_within_five_per_cent_of_disksims() {
    let Some(folder) = folder() else { return };
    let expected = std::fs::read_to_string(folder.join("expected.csv")).unwrap();
    let mut misses = Vec::new();
    for row in expected.lines().skip(1) {
        let field: Vec<&str> = row.split(',').collect();
        let number = |index: usize| field[index].parse::<f64>().unwrap();
        let drive = import::system(&folder.join(format!("{}.parv", field[0]))).unwrap().drives.swap_remove(0).spec;
        let mut array = Array::new(&config(field[0]), &Model::new(&drive).unwrap()).unwrap();
        let ms = responses(&mut array, &arrivals(&folder.join(format!("{}.trace", field[1]))));
        let mean = ms.iter().sum::<f64>() / ms.len() as f64;
        let p95 = ms[(ms.len() as f64 * 0.95) as usize];
        let line = format!(
            "{:20} {:12} completed {} | {}; mean {mean:.3} | {:.3}, {:+.2} %; p95 {p95:.3} | {:.3}, {:+.2} %",
            field[0],
            field[1],
            ms.len(),
            field[3],
            number(4),
            (mean / number(4) - 1.0) * 100.0,
            number(8),
            (p95 / number(8) - 1.0) * 100.0
        );
        println!("{line}");
        if (mean / number(4) - 1.0).abs() > 0.05 || (p95 / number(8) - 1.0).abs() > 0.05 {
            misses.push(line);
        }
    }
    assert!(misses.is_empty(), "ours | DiskSim's:\n{}", misses.join("\n"));
}
