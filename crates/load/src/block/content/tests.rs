//! What compressors and deduplication make of the bytes.

use std::collections::HashSet;
use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use proptest::prelude::*;

use super::*;

fn filled(compression: f64, deduplication: f64, seed: u64, bytes: usize) -> Vec<u8> {
    let mut buffer = vec![0x5a; bytes];
    Filler::new(Content { compression, deduplication }, seed).unwrap().fill(&mut buffer);
    buffer
}

fn zlib(bytes: &[u8]) -> usize {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap().len()
}

fn zstd(bytes: &[u8]) -> usize {
    zstd::bulk::compress(bytes, 3).unwrap().len()
}

/// Every block for itself, as a device does it.
#[test]
fn blocks_compress_to_the_ratio_under_two_compressors() {
    for tenths in [11, 12, 13, 15, 17, 20, 25, 30, 40, 50, 60, 70, 80, 90, 100] {
        let ratio = f64::from(tenths) / 10.0;
        let bytes = filled(ratio, 1.0, 3, 256 * BLOCK);
        for compress in [zlib, zstd] {
            let compressed: usize = bytes.chunks(BLOCK).map(compress).sum();
            let found = bytes.len() as f64 / compressed as f64;
            assert!((found / ratio - 1.0).abs() < 0.05, "{found} instead of {ratio}");
        }
    }
}

/// Not one block alone, and not all of them in one window with the longest search.
#[test]
fn blocks_of_ratio_one_cannot_be_made_smaller() {
    let bytes = filled(1.0, 1.0, 4, 4 << 20);
    assert!(bytes.chunks(BLOCK).all(|block| zlib(block) >= BLOCK && zstd(block) >= BLOCK));
    let mut compressor = zstd::bulk::Compressor::new(19).unwrap();
    compressor.long_distance_matching(true).unwrap();
    compressor.window_log(24).unwrap();
    assert!(compressor.compress(&bytes).unwrap().len() >= bytes.len());
}

#[test]
fn blocks_of_a_ratio_do_not_help_each_other() {
    let bytes = filled(2.0, 1.0, 4, 4 << 20);
    let found = bytes.len() as f64 / zstd::bulk::compress(&bytes, 19).unwrap().len() as f64;
    assert!((found / 2.0 - 1.0).abs() < 0.05, "{found}");
}

/// Also in the sectors of 512 bytes, to which some devices deduplicate.
#[test]
fn no_block_comes_twice_unless_asked() {
    for compression in [1.0, 4.0, 50.0] {
        let bytes = filled(compression, 1.0, 5, 64 << 20);
        let blocks: HashSet<&[u8]> = bytes.chunks(BLOCK).collect();
        assert_eq!(blocks.len(), bytes.len() / BLOCK);
    }
    let bytes = filled(1.0, 1.0, 5, 8 << 20);
    let sectors: HashSet<&[u8]> = bytes.chunks(512).collect();
    assert_eq!(sectors.len(), bytes.len() / 512);
}

/// The number of distinct blocks is binomial: 5 deviations of it.
#[test]
fn all_blocks_over_distinct_ones_are_the_ratio() {
    for (compression, deduplication) in [(1.0, 1.5), (1.0, 2.0), (3.0, 4.0), (2.0, 10.0)] {
        let blocks = 40_000;
        let mut filler = Filler::new(Content { compression, deduplication }, 6).unwrap();
        let (mut distinct, mut compressed, mut buffer) = (HashSet::new(), 0, vec![0; 8 * BLOCK]);
        for _ in 0..blocks / 8 {
            filler.fill(&mut buffer);
            for block in buffer.chunks(BLOCK) {
                if distinct.insert(block.to_vec()) && distinct.len() <= 500 {
                    compressed += zstd(block);
                }
            }
        }
        let (share, blocks) = (1.0 / deduplication, f64::from(blocks));
        let error = (blocks * share * (1.0 - share)).sqrt();
        assert!((distinct.len() as f64 - blocks * share).abs() < 5.0 * error, "{} of {blocks}", distinct.len());
        let ratio = 500.0 * BLOCK as f64 / compressed as f64;
        assert!((ratio / compression - 1.0).abs() < 0.05, "{ratio}");
    }
}

#[test]
fn threads_with_seeds_of_their_own_write_nothing_in_common() {
    let (a, b) = (filled(1.0, 1.0, 1, 4 << 20), filled(1.0, 1.0, 2, 4 << 20));
    let sectors: HashSet<&[u8]> = a.chunks(512).collect();
    assert!(b.chunks(512).all(|sector| !sectors.contains(sector)));
}

proptest! {
    /// Whatever the length, every byte is made anew, and small writes differ from each other, too.
    #[test]
    fn buffers_of_any_length_are_filled(length in 8usize..20_000, compression in 1.0f64..10.0, seed: u64) {
        let mut filler = Filler::new(Content { compression, deduplication: 1.0 }, seed).unwrap();
        let (mut ones, mut zeros) = (vec![0xff; length], vec![0; length]);
        filler.fill(&mut ones);
        Filler::new(Content { compression, deduplication: 1.0 }, seed).unwrap().fill(&mut zeros);
        prop_assert_eq!(&ones, &zeros);
        filler.fill(&mut zeros);
        prop_assert!(length < 128 || ones != zeros);
    }
}

#[test]
fn ratios_nobody_can_reach_are_refused_by_their_key() {
    let refused = [
        (0.9, 1.0, "content.compression: "),
        (51.0, 1.0, "content.compression: "),
        (f64::NAN, 1.0, "content.compression: "),
        (1.0, 0.5, "content.deduplication: "),
        (1.0, f64::INFINITY, "content.deduplication: "),
        (1.0, f64::NAN, "content.deduplication: "),
    ];
    for (compression, deduplication, key) in refused {
        let error = Filler::new(Content { compression, deduplication }, 0).err().unwrap().to_string();
        assert!(error.starts_with(key), "{error}");
    }
}
