//! Runs a block load from its JSON and prints the summary: `block_load '{"run": …}'`. The run folder is made.

use std::error::Error;
use std::fs::create_dir_all;
use std::sync::Arc;

use iojoule_load::Control;
use iojoule_load::block::{BlockConfig, block};

fn main() -> Result<(), Box<dyn Error>> {
    let text = std::env::args().nth(1).ok_or("give the configuration as JSON")?;
    let config: BlockConfig = serde_json::from_str(&text)?;
    for folder in ["tables", "hist"] {
        create_dir_all(config.run.join(folder))?;
    }
    let summary = block(&config, Arc::default(), &Control::new())?;
    println!("{}", serde_json::to_string_pretty(&summary)?);
    Ok(())
}
