//! How long a command and a positioning estimate take: random 4 KiB requests on a drive with its buffer on.
//! `cargo run --release -p iojoule-disk --example speed [preset]`

use std::time::Instant;

use iojoule_disk::{Command, Drive, DriveSpec, Model, Op};
use iojoule_units::{Lba, ModelNs, Nanos};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let name = std::env::args().nth(1).unwrap_or_else(|| "cheetah9LP".into());
    let model = Model::new(&DriveSpec::preset(&name)?)?;
    let mut state = 1_u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    let commands: Vec<Command> = (0..1_000_000)
        .map(|_| Command {
            op: if random() % 3 == 0 { Op::Write } else { Op::Read },
            lba: Lba(random() * 8 % (model.sectors() - 8)),
            sectors: 8,
            on_track: false,
        })
        .collect();
    for reads_only in [true, false] {
        let mut drive = Drive::new(model.clone(), Nanos::ZERO);
        let (begin, mut now) = (Instant::now(), ModelNs::ZERO);
        for command in &commands {
            let op = if reads_only { Op::Read } else { command.op };
            now = drive.start(now, Command { op, ..*command }).ready;
        }
        let ns = begin.elapsed().as_nanos() as f64 / commands.len() as f64;
        println!("{name}: {ns:.0} ns a command (reads only: {reads_only}), {:.2} s simulated", now.0 as f64 / 1e9);
    }
    let mut drive = Drive::new(model.clone(), Nanos::ZERO);
    let places: Vec<_> = commands.iter().map(|command| model.place(command.lba)).collect();
    let (begin, mut now, mut sum) = (Instant::now(), ModelNs::ZERO, 0);
    for (round, batch) in places.chunks(25).enumerate() {
        let from = drive.positioner(now);
        let best = batch.iter().map(|place| from.time(*place, Op::Read)).enumerate().min_by_key(|(_, time)| *time);
        let (index, time) = best.unwrap_or((0, Nanos::ZERO));
        sum += time.0;
        now = drive.start(now, commands[round * 25 + index]).ready;
    }
    let ns = begin.elapsed().as_nanos() as f64 / places.len() as f64;
    println!("{name}: {ns:.1} ns a candidate of 25, the command served included (mean wait {} us)", sum / 40_000_000);
    Ok(())
}
