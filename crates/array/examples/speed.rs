//! How many requests a second the array serves: random 4 KiB requests from memory, a given number always outstanding.
//!
//! `cargo run --release -p iojoule-array --example speed -- CONFIG.toml [requests] [outstanding] [share of writes] [disk]`

use std::error::Error;
use std::time::Instant;

use iojoule_array::{Array, ArrayConfig, Completion, Request};
use iojoule_disk::{DriveSpec, Model, Op};
use iojoule_units::{Lba, ModelNs};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const SECTORS: u32 = 8;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize, default: f64| args.get(index).map_or(Ok(default), |text| text.parse::<f64>());
    let config: ArrayConfig = toml::from_str(&std::fs::read_to_string(args.first().ok_or("which configuration?")?)?)?;
    let (requests, outstanding) = (number(1, 1e6)? as u64, number(2, 1.0)? as u64);
    let writes = (number(3, 0.0)? * u32::MAX as f64) as u32;
    let model = Model::new(&DriveSpec::preset(args.get(4).map_or("cheetah9lp", String::as_str))?)?;
    let mut array = Array::new(&config, &model)?;
    let blocks = array.capacity() / u64::from(SECTORS);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut drawn = |id: u64| {
        let op = if random.next_u32() < writes { Op::Write } else { Op::Read };
        let lba = Lba(random.next_u64() % blocks * u64::from(SECTORS));
        Request { id, op, lba, sectors: SECTORS, asynchronous: false }
    };

    let begin = Instant::now();
    let mut done: Vec<Completion> = Vec::new();
    let (mut id, mut response, mut served) = (0, 0, 0u64);
    let mut now = ModelNs::ZERO;
    while id < outstanding.min(requests) {
        array.submit(now, drawn(id));
        id += 1;
    }
    while let Some(next) = array.next_event().filter(|_| served < requests) {
        now = next;
        array.advance(now, &mut done);
        for ended in done.drain(..) {
            served += 1;
            response += (ended.done - ended.arrived).0;
            if id < requests {
                array.submit(now, drawn(id));
                id += 1;
            }
        }
    }
    let wall = begin.elapsed().as_secs_f64();
    let mean = response as f64 / served as f64 / 1e6;
    println!(
        "{served} requests in {wall:.3} s: {:.0} requests/s; {:.1} simulated s, mean response {mean:.4} ms",
        served as f64 / wall,
        now.0 as f64 / 1e9
    );
    let memory = std::fs::read_to_string("/proc/self/status")?;
    println!("{}", memory.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("no figure for memory"));
    Ok(())
}
