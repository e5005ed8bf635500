//! How fast records become a table: one thread pushes as fast as it can, the writer thread writes. Prints rows/s,
//! processor time of the writer per row and bytes per row. `writer_speed [ROWS] [closed|open|faulty] [FOLDER]`.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use iojoule_record::{ErrorClass, Op, Phase, Recorder, Request};

/// SplitMix64: a cheap stream of numbers without a pattern.
fn mix(seed: u64) -> u64 {
    let z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The `i`th record: 4 KiB at random in 1 TiB, 250 ns apart, 1–129 µs each.
fn record(i: u64, shape: &str) -> Request {
    let r = mix(i);
    let planned_ns = 86_400_000_000_000 + 250 * i as i64 + (r & 63) as i64;
    let issued_ns = if shape == "closed" { planned_ns } else { planned_ns + 500 + (r >> 8 & 1023) as i64 };
    let failed = shape == "faulty" && r.is_multiple_of(50);
    Request {
        seq: i,
        planned_ns,
        issued_ns,
        first_byte_ns: Request::NEVER,
        done_ns: issued_ns + 1000 + (r >> 20 & 0x1_ffff) as i64,
        offset: (r >> 36) << 12,
        bytes: if failed { 0 } else { 4096 },
        object: if shape == "faulty" { (r >> 16 & 255) as u32 } else { 0 },
        stream: 0,
        status: if failed { 5 } else { 0 },
        phase: Phase::Measure,
        op: if shape != "closed" && r & 3 == 0 { Op::Write } else { Op::Read },
        error: if failed { ErrorClass::Io } else { ErrorClass::None },
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let rows: u64 = args.next().map_or(Ok(20_000_000), |s| s.parse())?;
    let shape = args.next().unwrap_or_else(|| "closed".into());
    let folder = PathBuf::from(args.next().unwrap_or_else(|| "/tmp/writer_speed".into()));
    for part in ["tables", "hist"] {
        std::fs::create_dir_all(folder.join(part))?;
    }
    let table = folder.join("tables/requests.parquet");
    let _ = std::fs::remove_file(&table);

    let start = Instant::now();
    let mut recorder = Recorder::start(&folder, 1, Arc::default())?;
    let mut lane = recorder.lane().ok_or("no lane")?;
    for i in 0..rows {
        lane.push(record(i, &shape))?;
    }
    drop(lane);
    let pushed = start.elapsed();
    let totals = recorder.finish()?;
    let all = start.elapsed();
    let n = rows as f64;
    println!(
        "{shape}: pushed {:.2} M/s, written {:.2} M rows/s ({:.0} ns/row), writer's processor {:.0} ns/row, {:.2} B/row, {} stalls",
        n / pushed.as_secs_f64() / 1e6,
        n / all.as_secs_f64() / 1e6,
        all.as_secs_f64() * 1e9 / n,
        totals.cpu_s * 1e9 / n,
        std::fs::metadata(&table)?.len() as f64 / n,
        totals.stalls,
    );
    Ok(())
}
