//! `weblog_info FILE...`: what the logs hold, as JSON.

use std::sync::atomic::AtomicBool;

use iojoule_trace::weblog::{InfoOptions, info};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let paths = std::env::args_os().skip(1).map(Into::into).collect();
    println!("{}", serde_json::to_string_pretty(&info(&InfoOptions { paths }, &AtomicBool::new(false))?)?);
    Ok(())
}
