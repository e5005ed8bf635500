//! Any bytes read as any format of binary records (blktrace, vscsi, SRT) are requests in time order or an error, never
//! a panic.

#![no_main]

use iojoule_trace::block::{Options, open_bytes};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((&choice, bytes)) = bytes.split_first() else { return };
    let format = ["blktrace", "vscsi", "srt"].get(usize::from(choice & 3)).map(|name| (*name).to_owned());
    let options = Options { format, keep_going: choice & 4 != 0, ..Options::default() };
    let Ok(reader) = open_bytes("fuzzed", bytes.to_vec(), &options) else { return };
    let mut last = 0;
    for record in reader {
        let Ok(record) = record else { return };
        assert!(record.at.0 >= last, "time order");
        assert!(record.response.is_none_or(|response| response.0 >= 0));
        last = record.at.0;
    }
});
