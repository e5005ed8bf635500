//! Any bytes read as any format of lines are requests in time order or an error, never a panic; what is skipped is
//! counted. The first byte chooses the format, a last value recognition.

#![no_main]

use iojoule_trace::block::{Options, open_bytes};
use libfuzzer_sys::fuzz_target;

const FORMATS: [&str; 12] = [
    "disksim", "disksim-validate", "spc", "msr", "systor", "tencent", "alibaba", "vscsi-csv", "blkparse", "fio",
    "mqsim", "csv",
];

fuzz_target!(|bytes: &[u8]| {
    let Some((&choice, bytes)) = bytes.split_first() else { return };
    let format = FORMATS.get(usize::from(choice & 15)).map(|name| (*name).to_owned());
    let options = Options { format, keep_going: choice & 16 != 0, ..Options::default() };
    let Ok(mut reader) = open_bytes("fuzzed", bytes.to_vec(), &options) else { return };
    let (mut last, mut count) = (0, 0);
    for record in reader.by_ref() {
        let Ok(record) = record else { return };
        assert!(record.at.0 >= last, "time order");
        assert!(record.offset.checked_add(record.bytes).is_some());
        (last, count) = (record.at.0, count + 1);
    }
    let notes = reader.notes();
    assert_eq!(notes.requests, count);
    assert_eq!(notes.first_skipped.is_some(), notes.skipped > 0);
});
