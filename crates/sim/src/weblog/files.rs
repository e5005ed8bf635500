//! Where files lie. The allocator is simple and stated: files in the order of their paths, each at a block boundary,
//! one behind the other; the free room of the part of the array they are given is spread evenly between them. A file
//! with metadata has that block first. Fragments of a file are placed as if each were a file.

use crate::SimError;

use super::BLOCK;

/// One file: its first block, counted over the blocks of all files, and its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct File {
    first: u64,
    pub bytes: u64,
}

/// Files, placed. Grows with their number, not with their blocks: a place is computed when it is asked for.
#[derive(Clone, Debug)]
pub struct Files {
    files: Vec<File>,
    /// Blocks of all files, and of the room they are spread over.
    blocks: u64,
    room: u64,
    fragment: u64,
    metadata: u64,
}

impl Files {
    /// Places files of these paths and sizes on an array of `capacity` sectors. The number of a file is its place in
    /// `files`.
    pub fn place(
        files: &[(String, u64)],
        capacity: u64,
        spread_bytes: Option<u64>,
        fragment_bytes: Option<u64>,
        metadata: bool,
    ) -> Result<Self, SimError> {
        let mut order: Vec<usize> = (0..files.len()).collect();
        order.sort_by(|a, b| files[*a].0.cmp(&files[*b].0));
        let metadata = u64::from(metadata);
        let mut placed = vec![File { first: 0, bytes: 0 }; files.len()];
        let mut blocks = 0_u64;
        for number in order {
            let bytes = files[number].1;
            placed[number] = File { first: blocks, bytes };
            blocks = blocks.saturating_add(metadata + bytes.div_ceil(BLOCK));
        }
        let whole = capacity / (BLOCK / iojoule_units::SECTOR);
        let room = spread_bytes.map_or(blocks, |bytes| bytes / BLOCK);
        if blocks > room || room > whole {
            return Err(SimError::Config(format!(
                "web load: {} files of {} bytes do not fit into {} bytes of an array of {}",
                files.len(),
                blocks.saturating_mul(BLOCK),
                room.saturating_mul(BLOCK),
                whole.saturating_mul(BLOCK),
            )));
        }
        let fragment = fragment_bytes.map_or(u64::MAX, |bytes| bytes / BLOCK);
        Ok(Self { files: placed, blocks, room, fragment, metadata })
    }

    pub fn file(&self, number: u32) -> Option<File> {
        self.files.get(number as usize).copied()
    }

    /// Bytes of all blocks that files take.
    pub fn bytes(&self) -> u64 {
        self.blocks * BLOCK
    }

    /// The blocks of the file that hold its metadata and its first `bytes` bytes, counted over all files.
    pub fn blocks(&self, file: File, bytes: u64) -> (std::ops::Range<u64>, std::ops::Range<u64>) {
        let data = file.first + self.metadata;
        (file.first..data, data..data + bytes.min(file.bytes).div_ceil(BLOCK))
    }

    /// Where on the array a block of the file lies, and how many blocks follow it there without a gap.
    pub fn place_of(&self, file: File, block: u64) -> (u64, u64) {
        let within = block - file.first;
        let into = within % self.fragment;
        let start = file.first + within - into;
        // Stretching by at least 1 keeps the order and lets no two fragments overlap.
        let place = (u128::from(start) * u128::from(self.room) / u128::from(self.blocks.max(1))) as u64 + into;
        (place, self.fragment - into)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn named(sizes: &[u64]) -> Vec<(String, u64)> {
        sizes.iter().enumerate().map(|(i, bytes)| (format!("/{:03}", (i * 37) % 101), *bytes)).collect()
    }

    #[test]
    fn files_lie_in_the_order_of_their_paths_from_the_start() {
        let files = [("/b".to_owned(), 5000), ("/a".to_owned(), 1), ("/c".to_owned(), 0)];
        let placed = Files::place(&files, 8 * 100, None, None, true).unwrap();
        let first = |number| placed.place_of(placed.file(number).unwrap(), placed.file(number).unwrap().first).0;
        assert_eq!((first(1), first(0), first(2)), (0, 2, 5));
        assert_eq!(placed.bytes(), 6 * BLOCK);
        assert_eq!(placed.blocks(placed.file(0).unwrap(), u64::MAX), (2..3, 3..5));
        assert_eq!(placed.blocks(placed.file(0).unwrap(), 10), (2..3, 3..4));
    }

    #[test]
    fn files_that_do_not_fit_are_refused() {
        let error = Files::place(&named(&[4096; 20]), 8 * 30, Some(15 * BLOCK), None, false).unwrap_err().to_string();
        assert!(error.contains("20 files of 81920 bytes do not fit into 61440 bytes of an array of 122880"), "{error}");
    }

    proptest! {
        #[test]
        fn no_two_blocks_share_a_place_and_all_lie_in_the_room(
            sizes in prop::collection::vec(0_u64..200_000, 1..60), metadata: bool,
            fragment in prop::option::of(1_u64..20), spread in prop::option::of(3100_u64..5000),
        ) {
            let (sectors, bytes) = (8 * 5000, |blocks: u64| blocks * BLOCK);
            let placed =
                Files::place(&named(&sizes), sectors, spread.map(bytes), fragment.map(bytes), metadata).unwrap();
            let mut seen = std::collections::BTreeSet::new();
            for number in 0..sizes.len() as u32 {
                let file = placed.file(number).unwrap();
                let (meta, data) = placed.blocks(file, u64::MAX);
                prop_assert_eq!(data.end - data.start, sizes[number as usize].div_ceil(BLOCK));
                for block in meta.chain(data.clone()) {
                    let (place, run) = placed.place_of(file, block);
                    prop_assert!(seen.insert(place), "{} twice", place);
                    prop_assert!(place < spread.unwrap_or(5000));
                    if run > 1 && block + 1 < data.end {
                        prop_assert_eq!(placed.place_of(file, block + 1).0, place + 1);
                    }
                }
            }
        }
    }
}
