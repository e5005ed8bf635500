use std::fs;
use std::io::Write;

use super::*;

fn lines_of(bytes: &[u8]) -> (Vec<Vec<u8>>, FileRead) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    fs::write(&path, bytes).unwrap();
    let mut lines = Vec::new();
    let files = read_lines(&[path], &AtomicBool::new(false), |number, piece| {
        assert_eq!(number as usize, lines.len() + 1);
        lines.push(match piece {
            Piece::Line(line) => line.to_vec(),
            Piece::TooLong => b"<too long>".to_vec(),
            Piece::CutOff => b"<cut off>".to_vec(),
        });
        Ok(())
    });
    (lines, files.unwrap().remove(0))
}

fn text() -> Vec<u8> {
    (0..40_000).flat_map(|i| format!("line {i} of the log\n").into_bytes()).collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn packed(bytes: &[u8]) -> [(&'static str, Vec<u8>); 4] {
    let mut bz = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    bz.write_all(bytes).unwrap();
    let mut xz = liblzma::write::XzEncoder::new(Vec::new(), 1);
    xz.write_all(bytes).unwrap();
    [
        ("gzip", gzip(bytes)),
        ("zstd", zstd::encode_all(bytes, 1).unwrap()),
        ("bzip2", bz.finish().unwrap()),
        ("xz", xz.finish().unwrap()),
    ]
}

#[test]
fn compression_changes_no_line() {
    let plain = lines_of(&text()).0;
    assert_eq!(plain.len(), 40_000);
    for (name, bytes) in packed(&text()) {
        let (lines, file) = lines_of(&bytes);
        assert_eq!((file.compression, file.damage, file.bytes), (name, None, text().len() as u64));
        assert!(lines == plain, "{name}");
    }
}

#[test]
fn members_behind_each_other_are_one_log() {
    for ((name, first), (_, second)) in packed(b"a\nb\n").into_iter().zip(packed(b"c\n")) {
        assert_eq!(lines_of(&[first, second].concat()).0, [b"a", b"b", b"c"], "{name}");
    }
}

#[test]
fn truncated_contents_give_their_whole_lines_and_say_where_they_end() {
    for (name, bytes) in packed(&text()) {
        let (lines, file) = lines_of(&bytes[..bytes.len() * 3 / 4]);
        assert!(file.damage.is_some(), "{name}");
        let whole = lines.iter().filter(|l| *l != b"<cut off>").count();
        assert!(lines[..whole] == lines_of(&text()).0[..whole], "{name}");
        assert!(matches!(file.damaged(), Err(WeblogError::Damaged { line, .. }) if line == lines.len() as u64));
    }
    assert!(lines_of(&gzip(&text())[..20_000]).0.len() > 1000);
}

#[test]
fn a_last_line_without_line_feed_is_a_line() {
    assert_eq!(lines_of(b"a\nb").0, [b"a", b"b"]);
    assert_eq!(lines_of(b"a\n\n").0, [&b"a"[..], b""]);
    assert!(lines_of(b"").0.is_empty());
}

#[test]
fn a_line_beyond_the_limit_is_told_and_its_neighbours_are_whole() {
    for long in [LINE_LIMIT, LINE_LIMIT + 1, BLOCK, BLOCK + LINE_LIMIT, 3 * BLOCK + 7] {
        for end in ["\nafter\n", "\nafter", "\n", ""] {
            let text = [b"before\n", &vec![b'x'; long][..], end.as_bytes()].concat();
            let lines = lines_of(&text).0;
            assert_eq!(lines[0], b"before");
            assert_eq!(lines[1] == b"<too long>", long > LINE_LIMIT, "{long}");
            assert_eq!(lines.len(), 2 + usize::from(end.contains("after")), "{long} {end:?}");
        }
    }
}

#[test]
fn a_raised_stop_flag_ends_the_reading() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    fs::write(&path, "a\n").unwrap();
    let end = read_lines(&[path], &AtomicBool::new(true), |_, _| Ok(()));
    assert!(matches!(end, Err(WeblogError::Stopped)));
}
