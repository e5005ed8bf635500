//! Any bytes named a Parquet table are requests in time order or an error, never a panic.

#![no_main]

use iojoule_trace::block::{Options, open};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let path = std::env::temp_dir().join(format!("iojoule-fuzz-{}.parquet", std::process::id()));
    if std::fs::write(&path, bytes).is_err() {
        return;
    }
    let Ok(reader) = open(&[path], &Options::default()) else { return };
    let mut last = 0;
    for record in reader {
        let Ok(record) = record else { return };
        assert!(record.at.0 >= last, "time order");
        last = record.at.0;
    }
});
