//! Drives the engine without Python: `load replay|closed CONFIG.json`. Makes the run folder the configuration names
//! and prints the summary.

use std::error::Error;
use std::sync::Arc;

use iojoule_load::{ClosedConfig, Control, ReplayConfig, closed, replay};
use iojoule_record::Live;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, verb, path] = arguments.as_slice() else { return Err("load replay|closed CONFIG.json".into()) };
    let text = std::fs::read_to_string(path)?;
    let (live, control) = (Arc::new(Live::default()), Control::new());
    let summary = match verb.as_str() {
        "replay" => {
            let config: ReplayConfig = serde_json::from_str(&text)?;
            folders(&config.run)?;
            replay(&config, live, &control)?
        }
        "closed" => {
            let config: ClosedConfig = serde_json::from_str(&text)?;
            folders(&config.run)?;
            closed(&config, live, &control)?
        }
        other => return Err(format!("{other:?} is neither replay nor closed").into()),
    };
    println!("{}", serde_json::to_string_pretty(&summary)?);
    Ok(())
}

fn folders(run: &std::path::Path) -> std::io::Result<()> {
    ["tables", "hist"].into_iter().try_for_each(|folder| std::fs::create_dir_all(run.join(folder)))
}
