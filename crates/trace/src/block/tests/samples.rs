//! Formats without a trace in the reference data, by small samples; each says where its lines are from.

use iojoule_record::Op;
use iojoule_units::Nanos;

use super::super::{Options, Record, open};
use super::{read_text, reference};

fn sample(name: &str, contents: &[u8]) -> (Vec<Record>, super::super::Notes) {
    read_text(name, contents, &Options::default()).unwrap()
}

fn row(r: &Record) -> (i64, u32, Op, u64, u64) {
    (r.at.0, r.device, r.op, r.offset, r.bytes)
}

/// First lines of Financial1 as quoted in introductions to the UMass traces.
#[test]
fn spc_counts_blocks_of_512_bytes_and_seconds() {
    let text = b"0,303567,3584,w,0.000000\n1,55590,3072,w,0.000000\n0,303574,3584,W,0.026214\n1 , 55596, 3072, r, 0.078643,x\n";
    let (records, notes) = sample("Financial1.spc", text);
    assert_eq!(notes.files[0].format, "spc");
    assert_eq!(row(&records[0]), (0, 0, Op::Write, 303_567 * 512, 3584));
    assert_eq!(row(&records[2]), (26_214_000, 0, Op::Write, 303_574 * 512, 3584));
    assert_eq!(row(&records[3]), (78_643_000, 1, Op::Read, 55_596 * 512, 3072));
}

/// First line as quoted by libCacheSim's converter of these traces.
#[test]
fn tencent_counts_sectors_and_whole_seconds() {
    let (records, notes) = sample("part.csv", b"1538323199,105352008,584,1,1576\n1538323200,0,8,0,1577\n");
    assert_eq!(notes.files[0].format, "tencent");
    assert_eq!(row(&records[0]), (0, 1576, Op::Write, 105_352_008 * 512, 584 * 512));
    assert_eq!(row(&records[1]), (1_000_000_000, 1577, Op::Read, 0, 4096));
}

/// First lines as quoted by users of the trace.
#[test]
fn alibaba_counts_bytes_and_microseconds() {
    let text = b"device_id,opcode,offset,length,timestamp\n0,R,126703661056,4096,1577808000000046\n1,W,19496058880,77824,1577808000000426\n";
    let (records, notes) = sample("io_traces.csv", text);
    assert_eq!(notes.files[0].format, "alibaba");
    assert_eq!(row(&records[0]), (0, 0, Op::Read, 126_703_661_056, 4096));
    assert_eq!(row(&records[1]), (380_000, 1, Op::Write, 19_496_058_880, 77_824));
}

#[test]
fn fio_version_2_adds_up_waits_and_version_3_has_times() {
    let v2 = b"fio version 2 iolog\n/dev/sda add\n/dev/sda open\n/dev/sda read 0 4096\n/dev/sda wait 500 0\n/dev/sda write 4096 8192\n/dev/sda wait 250 0\n/dev/sda datasync 0 0\n/dev/sda close\n";
    let (records, notes) = sample("a.log", v2);
    assert_eq!(notes.files[0].format, "fio");
    assert_eq!(
        records.iter().map(|r| (r.at.0, r.op)).collect::<Vec<_>>(),
        [(0, Op::Read), (500_000, Op::Write), (750_000, Op::Flush)]
    );
    let v3 = b"fio version 3 iolog\n2 Nvme1n1 add\n872 Nvme1n1 open\n878 Nvme1n1 write 0 16384\n888 Nvme1n2 trim 16384 512\n10001677 Nvme1n1 close\n";
    let (records, notes) = sample("b.log", v3);
    assert_eq!(row(&records[0]), (0, 0, Op::Write, 0, 16_384));
    assert_eq!(row(&records[1]), (10_000, 1, Op::Trim, 16_384, 512));
    assert_eq!(notes.origin_ns, 878_000);
    assert_eq!(notes.devices[1].name.as_deref(), Some("Nvme1n2"));
}

/// Lines in the form of the blktrace user guide's examples.
const BLKPARSE: &str = "  8,0    3        1     0.000000000   697  G   W 223490 + 8 [kjournald]
  8,0    3        1     0.000010000   697  Q   W 223490 + 8 [kjournald]
  8,0    3        2     0.000020000   697  Q   W 223498 + 8 [kjournald]
  8,0    3        3     0.000030000   697  M   W 223498 + 8 [kjournald]
  8,16   1        1     0.000040000   698  Q  RA 100 + 16 [dd]
  8,0    3        4     0.000050000   697  P   N [kjournald]
  8,0    0        5     0.000060000     0  m   N cfq697 dispatched
  8,0    3        6     0.000070000   697  D   W 223490 + 16 [kjournald]
  8,0    0        7     0.001010000     0  C   W 223490 + 16 [0]
  8,16   0        2     0.002040000     0  C  RA 100 + 16 [0]
  8,0    3        8     0.003000000   697  Q FWS [kjournald]
  8,0    3        9     0.004000000   697  Q  DS 0 + 2048 [fstrim]
CPU0 (8,0):
 Reads Queued:           0,        0KiB  Writes Queued:           2,        8KiB
";

#[test]
fn blkparse_gives_arrivals_and_the_responses_of_what_completed() {
    let (records, notes) = sample("sda.txt", BLKPARSE.as_bytes());
    assert_eq!(notes.files[0].format, "blkparse");
    let shown: Vec<_> = records.iter().map(|r| (r.at.0, r.device, r.op, r.response.map(|r| r.0))).collect();
    assert_eq!(
        shown,
        [
            (0, 0, Op::Write, Some(1_000_000)),
            (10_000, 0, Op::Write, Some(990_000)),
            (30_000, 1, Op::Read, Some(2_000_000)),
            (2_990_000, 0, Op::Flush, None),
            (3_990_000, 0, Op::Trim, None),
        ]
    );
    assert_eq!((records[0].offset, records[0].bytes), (223_490 * 512, 4096));
    assert_eq!(records.iter().map(|r| r.asynchronous.unwrap()).collect::<Vec<_>>(), [true, true, true, false, false]);
    assert_eq!(notes.devices[1].name.as_deref(), Some("8,16"));
    assert!(notes.warnings[0].starts_with("2 of 5 requests"), "{:?}", notes.warnings);
}

/// One event by the definition in blktrace_api.h.
pub(crate) fn event(big: bool, time: u64, sector: u64, bytes: u32, action: u32, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut word = |value: u64, bytes: usize| match big {
        true => out.extend_from_slice(&value.to_be_bytes()[8 - bytes..]),
        false => out.extend_from_slice(&value.to_le_bytes()[..bytes]),
    };
    for (value, bytes) in [
        (0x6561_7407, 4),
        (1, 4),
        (time, 8),
        (sector, 8),
        (u64::from(bytes), 4),
        (u64::from(action), 4),
        (42, 4),
        (8 << 20 | 1, 4),
        (0, 4),
        (0, 2),
        (payload.len() as u64, 2),
    ] {
        word(value, bytes);
    }
    out.extend_from_slice(payload);
    out
}

pub(crate) const QUEUE_READ: u32 = 1 | (1 | 1 << 4) << 16;
pub(crate) const COMPLETE_READ: u32 = 8 | (1 | 1 << 7) << 16;
const NOTIFY: u32 = 1 | 1 << (10 + 16);

#[test]
fn blktrace_files_of_several_cpus_and_both_byte_orders_are_one_trace() {
    for big in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let paths: Vec<_> = (0..2).map(|cpu| folder.path().join(format!("sda.blktrace.{cpu}"))).collect();
        let queued = [
            event(big, 5, 0, 0, NOTIFY, b"a process name"),
            event(big, 1000, 64, 4096, QUEUE_READ, b""),
            event(big, 9000, 128, 512, QUEUE_READ, b"xyz"),
        ];
        let completed =
            [event(big, 5000, 64, 4096, COMPLETE_READ, b""), event(big, 9500, 128, 512, COMPLETE_READ, b"")];
        std::fs::write(&paths[0], queued.concat()).unwrap();
        std::fs::write(&paths[1], completed.concat()).unwrap();
        let mut reader = open(&paths, &Options::default()).unwrap();
        let records: Vec<Record> = reader.by_ref().map(Result::unwrap).collect();
        assert_eq!(
            records.iter().map(row).collect::<Vec<_>>(),
            [(0, 0, Op::Read, 64 * 512, 4096), (8000, 0, Op::Read, 128 * 512, 512)]
        );
        assert_eq!(records.iter().map(|r| r.response).collect::<Vec<_>>(), [Some(Nanos(4000)), Some(Nanos(500))]);
        let notes = reader.notes();
        assert_eq!((notes.files[0].format, notes.devices[0].name.as_deref()), ("blktrace", Some("8,1")));
    }
}

/// Records by the definition in libCacheSim's vscsi.h.
#[test]
fn vscsi_version_2_has_responses() {
    let mut bytes = Vec::new();
    for (at, command) in [(100u64, 0x28u16), (300, 0x2a), (400, 0x00)] {
        bytes.extend_from_slice(&command.to_le_bytes());
        bytes.extend_from_slice(&0x0200u16.to_le_bytes());
        for word in [7u32, 8192, 2] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        for long in [4096u64, at, 55] {
            bytes.extend_from_slice(&long.to_le_bytes());
        }
    }
    let (records, notes) = sample("vm", &bytes);
    assert_eq!(notes.files[0].format, "vscsi");
    assert_eq!(
        records.iter().map(row).collect::<Vec<_>>(),
        [(0, 0, Op::Read, 4096 * 512, 8192), (200_000, 0, Op::Write, 4096 * 512, 8192)]
    );
    assert_eq!(records[0].response, Some(Nanos(55_000)));
    assert!(notes.warnings[0].contains("1 SCSI"));
}

#[test]
fn every_compression_gives_the_same_requests() {
    let text = BLKPARSE.as_bytes();
    let plain = sample("a", text).0;
    let gzip = {
        let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut out, text).unwrap();
        out.finish().unwrap()
    };
    let bzip2 = {
        let mut out = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
        std::io::Write::write_all(&mut out, text).unwrap();
        out.finish().unwrap()
    };
    let xz = {
        let mut out = liblzma::write::XzEncoder::new(Vec::new(), 1);
        std::io::Write::write_all(&mut out, text).unwrap();
        out.finish().unwrap()
    };
    for (name, packed) in [("gzip", gzip), ("bzip2", bzip2), ("xz", xz), ("zstd", zstd::encode_all(text, 1).unwrap())] {
        let (records, notes) = sample("a", &packed);
        assert_eq!((notes.files[0].compression, records), (name, plain.clone()));
    }
}

#[test]
fn requests_of_several_traces_are_merged_by_time() {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["a.spc", "b.spc"].map(|name| folder.path().join(name));
    std::fs::write(&paths[0], "0,0,512,r,1.0\n0,1,512,r,3.0\n").unwrap();
    std::fs::write(&paths[1], "1,0,512,r,2.5\n1,1,512,r,3.0\n1,2,512,r,4.0\n").unwrap();
    let times = |align_starts| -> Vec<(i64, u32)> {
        let reader = open(&paths, &Options { align_starts, ..Options::default() }).unwrap();
        reader.map(Result::unwrap).map(|r| (r.at.0 / 100_000_000, r.device)).collect()
    };
    assert_eq!(times(false), [(0, 0), (15, 1), (20, 0), (20, 1), (30, 1)]);
    assert_eq!(times(true), [(0, 0), (0, 1), (5, 1), (15, 1), (20, 0)]);
}

#[test]
fn a_format_may_be_named() {
    let Some(path) = reference("disksim/ascii.trace") else { return };
    let named = |format: &str| {
        let options = Options { format: Some(format.into()), ..Options::default() };
        super::read_with(&path, &options).map(|(records, _)| records.len())
    };
    assert_eq!(named("disksim").unwrap(), 100_000);
    assert!(named("spc").unwrap_err().to_string().contains("line 1"));
    assert!(named("nothing").unwrap_err().to_string().contains("disksim, disksim-validate, srt"));
}

#[test]
fn a_device_of_one_trace_is_not_the_first_named_device_of_another() {
    let folder = tempfile::tempdir().unwrap();
    let (spc, msr) = (folder.path().join("a.spc"), folder.path().join("b.csv"));
    std::fs::write(&spc, "0,8,4096,r,0.1\n0,16,4096,w,0.2\n").unwrap();
    std::fs::write(&msr, "1,prxy,0,Read,0,4096,10\n2,prxy,0,Write,4096,4096,10\n").unwrap();
    let options = Options { align_starts: true, ..Options::default() };
    let mut reader = super::super::open(&[spc, msr], &options).unwrap();
    let devices: std::collections::BTreeSet<u32> = reader.by_ref().map(|record| record.unwrap().device).collect();
    assert_eq!(devices.len(), 2);
    let names: Vec<_> = reader.notes().devices.into_iter().map(|device| device.name).collect();
    assert_eq!(names, [None, Some("prxy.0".to_owned())]);
}

#[test]
fn a_byte_order_mark_before_text_is_no_part_of_it() {
    let (records, _) = read_text("a.csv", b"\xef\xbb\xbf1,prxy,0,Read,0,4096,10\n", &Options::default()).unwrap();
    assert_eq!(records.len(), 1);
}
