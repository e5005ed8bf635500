//! A single disk under Poisson load, first come first served, against DiskSim 4.0: `arrays/expected.csv`.
#![allow(clippy::unwrap_used)]

mod reference;

use iojoule_disk::{Command, Drive, Model, Op, import};
use iojoule_units::{Lba, ModelNs, Nanos};
use reference::reference_data;

/// Mean and 95th percentile of the response time in ms of the requests done before the last one came.
fn run(config: &str) -> Option<(f64, f64)> {
    let folder = reference_data("data/disksim")?;
    let file =
        folder.join(if config == "single_bare" { "arrays/cheetah9LP_bare.diskspecs" } else { "cheetah9LP.diskspecs" });
    let model = Model::new(&import::disksim(&file, None).unwrap()).unwrap();
    let mut drive = Drive::new(model, Nanos::ZERO);
    let text = std::fs::read_to_string(folder.join("arrays/r4k_d1_60.trace")).unwrap();
    let (mut free, mut last, mut responses) = (ModelNs::ZERO, ModelNs::ZERO, Vec::new());
    for line in text.lines() {
        let row: Vec<&str> = line.split_whitespace().collect();
        let at = ModelNs((row[0].parse::<f64>().unwrap() * 1e6).round() as i64);
        let op = if row[4] == "1" { Op::Read } else { Op::Write };
        let (lba, sectors) = (Lba(row[2].parse().unwrap()), row[3].parse().unwrap());
        let service = drive.start(at.max(free), Command { op, lba, sectors, on_track: false });
        free = service.ready;
        last = at;
        responses.push((service.done, (service.done - at).0 as f64 / 1e6));
    }
    let mut counted: Vec<f64> = responses.iter().filter(|(done, _)| *done <= last).map(|(_, ms)| *ms).collect();
    counted.sort_unstable_by(f64::total_cmp);
    let mean = counted.iter().sum::<f64>() / counted.len() as f64;
    Some((mean, counted[(counted.len() * 95).div_ceil(100) - 1]))
}

fn agrees(config: &str) {
    let Some((mean, p95)) = run(config) else { return };
    let folder = reference_data("data/disksim").unwrap();
    let table = std::fs::read_to_string(folder.join("arrays/expected.csv")).unwrap();
    let row = table.lines().find(|row| row.starts_with(&format!("{config},r4k_d1_60"))).unwrap();
    let expected = |column: usize| row.split(',').nth(column).unwrap().parse::<f64>().unwrap();
    println!("{config}: mean {mean:.3} ms (DiskSim {:.3}), p95 {p95:.3} ms (DiskSim {:.3})", expected(4), expected(8));
    assert!((mean / expected(4) - 1.0).abs() < 0.05, "mean {mean} ms, DiskSim {} ms", expected(4));
    assert!((p95 / expected(8) - 1.0).abs() < 0.05, "p95 {p95} ms, DiskSim {} ms", expected(8));
}

#[test]
fn without_its_buffer_it_answers_as_disksims() {
    agrees("single_bare");
}

#[test]
fn with_its_buffer_it_answers_as_disksims() {
    agrees("single_full");
}
