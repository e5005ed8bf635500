//! Bad input is refused with the file, the place and what to do; nothing of it passes in silence.

use super::super::{Options, TraceError};
use super::samples::{COMPLETE_READ, QUEUE_READ, event};
use super::{read_text, read_with, reference};

fn refused(name: &str, contents: &[u8], options: &Options) -> String {
    read_text(name, contents, options).unwrap_err().to_string()
}

fn default(name: &str, contents: &[u8]) -> String {
    refused(name, contents, &Options::default())
}

fn of_format(format: &str) -> Options {
    Options { format: Some(format.into()), ..Options::default() }
}

#[test]
fn an_empty_file_is_said_to_be_empty() {
    assert!(default("a.csv", b"").ends_with("a.csv: empty; a trace has at least one request"));
}

#[test]
fn a_header_alone_is_no_trace() {
    assert!(default("a.log", b"fio version 3 iolog\n0 /dev/sda add\n").contains("no request"));
}

#[test]
fn junk_is_not_recognised() {
    let junk: Vec<u8> = (0..5000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    assert!(default("junk", &junk).contains("not recognised as a block trace; name the format (--format): disksim"));
    assert!(default("words", b"hello world\nthis is no trace\n").contains("not recognised"));
}

#[test]
fn whole_milliseconds_may_be_of_two_formats_until_the_name_says_which() {
    let text = b"0 0 8 8 1\n100 0 16 8 0\n250 0 24 8 1\n";
    let message = default("a.trace", text);
    assert!(message.contains("may be any of disksim, mqsim; say which (--format)"), "{message}");
    assert_eq!(read_text("a.mqsim", text, &Options::default()).unwrap().1.files[0].format, "mqsim");
    assert_eq!(read_text("a.trace", text, &of_format("disksim")).unwrap().0[1].at.0, 100_000_000);
}

#[test]
fn a_negative_time_names_its_line() {
    let message = default("a.spc", b"0,0,512,r,0.5\n0,8,512,w,-0.25\n0,8,512,w,0.75\n");
    assert!(message.contains("a.spc: line 2: the timestamp is \"-0.25\": negative"), "{message}");
}

#[test]
fn an_address_beyond_the_device_is_refused_when_its_size_is_known() {
    let options = Options { all_device_bytes: Some(4096), ..Options::default() };
    let message = refused("a.spc", b"0,0,512,r,0.0\n0,7,1024,r,0.1\n", &options);
    assert!(message.contains("line 2: bytes 3584 to 4608 of device 0 are beyond its end at 4096"), "{message}");
    let message = default("a.spc", b"0,0,512,r,0.0\n0,36028797018963967,9999,r,0.1\n");
    assert!(message.contains("line 2: the request ends beyond any device"), "{message}");
    let message = default("a.spc", b"0,0,512,r,0.0\n0,99999999999999999,512,r,0.1\n");
    assert!(message.contains("line 2: block 99999999999999999 is beyond any device"), "{message}");
}

#[test]
fn a_line_that_is_cut_off_says_what_is_missing() {
    let message = default("a.spc", b"0,0,512,r,0.0\n0,1,512,r,0.1\n0,2,51");
    assert!(message.contains("line 3: the line ends before the opcode"), "{message}");
}

#[test]
fn truncated_binary_traces_name_the_byte() {
    let whole = [event(false, 1, 0, 512, QUEUE_READ, b""), event(false, 2, 0, 512, COMPLETE_READ, b"")].concat();
    let message = default("x.blktrace.0", &whole[..whole.len() - 5]);
    assert!(message.contains("byte 0: the file ends inside a record: 43 of its 48 bytes"), "{message}");
    for (name, skip) in [("cloudphysics/cloudPhysicsIO.vscsi", 7), ("cello_srt/ajw.1week.srt", 3)] {
        let Some(path) = reference(&format!("blocktraces/{name}")) else { return };
        let bytes = std::fs::read(path).unwrap();
        let message = default("cut", &bytes[..bytes.len() - skip]);
        assert!(message.contains("byte ") && message.contains("the file ends inside a record"), "{message}");
    }
}

#[test]
fn mixed_byte_orders_are_told() {
    let mixed = [event(false, 1, 0, 512, QUEUE_READ, b""), event(true, 2, 0, 512, COMPLETE_READ, b"")].concat();
    let message = default("x.blktrace.0", &mixed);
    assert!(message.contains("byte 48: the event has the other byte order"), "{message}");
    let Some(path) = reference("blocktraces/cello_srt/ajw.1week.srt") else { return };
    let mut bytes = std::fs::read(path).unwrap();
    let first = bytes.iter().position(|c| *c == 0x0c).unwrap() + 1;
    bytes[first + 56..first + 60].reverse();
    let message = default("x.srt", &bytes);
    assert!(message.contains("is little-endian; SRT is big-endian"), "{message}");
}

#[test]
fn a_damaged_archive_is_told_from_an_unreadable_disk() {
    let Some(path) = reference("blocktraces/caffeine_samples/systor17-additional-sample.csv.gz") else { return };
    let bytes = std::fs::read(path).unwrap();
    let error = read_text("a.csv.gz", &bytes[..9000], &Options::default()).unwrap_err();
    assert_eq!(error.kind(), crate::Kind::Config);
    assert!(error.to_string().contains("truncated"), "{error}");
}

#[test]
fn disorder_beyond_the_window_asks_for_a_sort_and_the_sort_mends_it() {
    let lines = 5 * super::super::WINDOW;
    let mut text: String = (0..lines).map(|i| format!("0,{i},512,r,{}.5\n", 10 + i)).collect();
    text.push_str("0,0,512,r,1.0\n");
    let message = default("a.spc", text.as_bytes());
    let place = format!("line {}: ", lines + 1);
    assert!(message.contains(&place) && message.contains("(--sort)"), "{message}");
    let sort = Options { sort: true, ..Options::default() };
    let (records, notes) = read_text("a.spc", text.as_bytes(), &sort).unwrap();
    assert_eq!((records.len(), records[0].offset, records[1].at.0), (lines + 1, 0, 9_500_000_000));
    assert_eq!((notes.late, notes.origin_ns), (1, 1_000_000_000));
}

#[test]
fn a_trace_that_begins_anew_in_mid_window_is_disorder_though_its_lines_rise_from_there() {
    let window = super::super::WINDOW;
    let rising = |from: usize, count: usize| (from..from + count).map(|i| format!("0,{i},512,r,{i}\n"));
    // The window is full when few of the second part have been read: the rest comes behind what has left.
    let (first, second) = (rising(1 << 20, 2 * window - 100), rising(0, 2 * window));
    let text: String = first.chain(second).collect();
    let message = default("a.spc", text.as_bytes());
    assert!(message.contains("line 32769: ") && message.contains("(--sort)"), "{message}");
}

#[test]
fn skipped_records_are_counted_and_the_first_is_told() {
    let options = Options { keep_going: true, ..Options::default() };
    let text = b"0,0,512,r,0.0\n0,1,512,q,0.1\n0,2,512,r,0.2\n0,x,512,r,0.2\n0,3,512,w,0.3\n";
    let (records, notes) = read_text("a.spc", text, &options).unwrap();
    assert_eq!((records.len(), notes.skipped), (3, 2));
    assert!(notes.first_skipped.unwrap().contains("a.spc: line 2: the opcode is \"q\""));
}

#[test]
fn a_time_unit_that_cannot_be_meant_is_warned_of_with_the_others() {
    let text: String = (0..200).map(|i| format!("0,{i},512,r,{}\n", i * 1_000_000)).collect();
    let (_, notes) = read_text("a.spc", text.as_bytes(), &Options::default()).unwrap();
    assert!(notes.warnings[0].contains("us: 1.0050/s over 199.0000 s"), "{:?}", notes.warnings);
}

#[test]
fn a_missing_file_is_the_users_a_folder_too() {
    let missing = read_with(std::path::Path::new("/nowhere/a.trace"), &Options::default()).unwrap_err();
    assert_eq!(missing.kind(), crate::Kind::Config);
    assert!(matches!(missing, TraceError::Io { .. }));
}

#[test]
fn binary_behind_a_text_start_is_an_error_with_its_line() {
    let mut text = b"0,0,512,r,0.0\n".repeat(60);
    text.extend_from_slice(&[0, 159, 146, 150, b'\n']);
    assert!(default("a.spc", &text).contains("a.spc: line 61: the ASU is"));
}

#[test]
fn a_parquet_file_of_other_columns_names_them() {
    let Some(path) = reference("disksim/ascii.trace") else { return };
    let message = read_with(&path, &of_format("parquet")).unwrap_err().to_string();
    assert!(message.contains("at its beginning"), "{message}");
}

/// Found by fuzzing: a footer with a negative place of a column.
#[test]
fn a_parquet_file_whose_footer_points_outside_is_damaged() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds/trace_table/negative_column.parquet");
    let message = read_with(std::path::Path::new(path), &Options::default()).unwrap_err().to_string();
    assert!(message.contains("a column lies outside the file; the table is damaged"), "{message}");
}

#[test]
fn the_requests_before_a_broken_line_leave_before_its_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    std::fs::write(&path, "1,hm,0,Write,4096,512,10\n2,hm,0,Read,0,512,10\n3,hm,0,Read,zero,512,10\n").unwrap();
    let mut reader = super::super::open(&[path], &Options::default()).unwrap();
    assert!(reader.next().unwrap().is_ok() && reader.next().unwrap().is_ok());
    assert!(reader.next().unwrap().unwrap_err().to_string().contains("line 3"));
    assert!(reader.next().is_none());
}
