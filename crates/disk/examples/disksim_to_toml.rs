//! Prints a drive of a DiskSim file as TOML: `disksim_to_toml FILE [DRIVE]`.

use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("usage: disksim_to_toml FILE [DRIVE]")?;
    let drive = iojoule_disk::import::disksim(Path::new(&file), arguments.next().as_deref())?;
    print!("{}", drive.to_toml()?);
    Ok(())
}
