//! A device that lies is found out, and an honest one is never accused.

use std::path::PathBuf;

use proptest::prelude::*;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use tempfile::TempDir;

use super::*;

const BLOCK: u64 = 4096;
/// Blocks of each of the two files.
const BLOCKS: u64 = 64;

fn spec(folder: &TempDir, block_bytes: u32) -> VerifySpec {
    VerifySpec { state: folder.path().join("state"), block_bytes }
}

fn open(folder: &TempDir) -> Verifier {
    Verifier::open(&spec(folder, BLOCK as u32), &[BLOCKS * BLOCK; 2], 1).unwrap()
}

/// Two files in memory.
#[derive(Clone)]
struct Device([Vec<u8>; 2]);

impl Device {
    fn new() -> Self {
        Self([vec![0; (BLOCKS * BLOCK) as usize], vec![0; (BLOCKS * BLOCK) as usize]])
    }

    fn at(&mut self, file: u32, offset: u64, bytes: usize) -> &mut [u8] {
        &mut self.0[file as usize][offset as usize..][..bytes]
    }
}

/// A place of one to four blocks.
fn place(random: &mut Xoshiro256PlusPlus) -> (u32, u64, usize) {
    let blocks = 1 + random.next_u64() % 4;
    let first = random.next_u64() % (BLOCKS - blocks + 1);
    ((random.next_u64() % 2) as u32, first * BLOCK, (blocks * BLOCK) as usize)
}

fn stamped(verifier: &Verifier, file: u32, offset: u64, bytes: usize) -> Vec<u8> {
    let mut buffer = vec![0xee; bytes];
    verifier.stamp(file, offset, &mut buffer);
    buffer
}

fn write(verifier: &Verifier, device: &mut Device, (file, offset, bytes): (u32, u64, usize)) {
    let buffer = stamped(verifier, file, offset, bytes);
    device.at(file, offset, bytes).copy_from_slice(&buffer);
    verifier.settle(file, offset, bytes as u32, true);
}

fn check(
    verifier: &Verifier,
    device: &mut Device,
    (file, offset, bytes): (u32, u64, usize),
) -> Option<(u64, Corruption)> {
    verifier.check(file, offset, device.at(file, offset, bytes))
}

/// Every block of both files was written once or more often.
fn full(folder: &TempDir) -> (Verifier, Device, Xoshiro256PlusPlus) {
    let (verifier, mut device) = (open(folder), Device::new());
    let mut random = Xoshiro256PlusPlus::seed_from_u64(17);
    for file in 0..2 {
        (0..BLOCKS).for_each(|block| write(&verifier, &mut device, (file, block * BLOCK, BLOCK as usize)));
    }
    (0..100).for_each(|_| write(&verifier, &mut device, place(&mut random)));
    (verifier, device, random)
}

fn all(verifier: &Verifier, device: &mut Device) -> Vec<(u32, u64, Corruption)> {
    let places = (0..2).flat_map(|file| (0..BLOCKS).map(move |block| (file, block * BLOCK)));
    places
        .filter_map(|(file, offset)| {
            check(verifier, device, (file, offset, BLOCK as usize)).map(|(offset, found)| (file, offset, found))
        })
        .collect()
}

#[test]
fn every_flipped_bit_is_found() {
    let folder = TempDir::new().unwrap();
    let (verifier, mut device, mut random) = full(&folder);
    for i in 0..12_000u64 {
        // Every bit of a header once, then bits anywhere.
        let bit = if i < 512 { i } else { random.next_u64() % (BLOCK * 8) };
        let (file, offset, bytes) = place(&mut random);
        let which = random.next_u64() % (bytes as u64 / BLOCK);
        let byte = (which * BLOCK + bit / 8) as usize;
        device.at(file, offset, bytes)[byte] ^= 1 << (bit % 8);
        let found = check(&verifier, &mut device, (file, offset, bytes));
        assert_eq!(found, Some((offset + which * BLOCK, Corruption::Flipped)), "bit {bit}");
        device.at(file, offset, bytes)[byte] ^= 1 << (bit % 8);
    }
    assert_eq!(all(&verifier, &mut device), []);
}

#[test]
fn every_lost_write_is_found() {
    let folder = TempDir::new().unwrap();
    let (verifier, mut device, mut random) = full(&folder);
    for _ in 0..10_000 {
        let place = place(&mut random);
        let (file, offset, bytes) = place;
        stamped(&verifier, file, offset, bytes);
        verifier.settle(file, offset, bytes as u32, true);
        let found = check(&verifier, &mut device, place);
        assert!(
            matches!(found, Some((at, Corruption::Stale { found, expected })) if at == offset && found + 1 == expected),
            "{found:?}"
        );
        write(&verifier, &mut device, place);
        assert_eq!(check(&verifier, &mut device, place), None);
    }
}

#[test]
fn the_first_write_of_a_block_that_is_lost_is_found() {
    for old in [0x00, 0xff, 0xa5] {
        let folder = TempDir::new().unwrap();
        let (verifier, mut device) = (open(&folder), Device::new());
        device.0.iter_mut().for_each(|file| file.fill(old));
        stamped(&verifier, 1, 8192, 4096);
        verifier.settle(1, 8192, 4096, true);
        assert_eq!(all(&verifier, &mut device), [(1, 8192, Corruption::Unwritten)]);
    }
}

/// A misplaced write damages two places: the one it fell on and the one it missed.
#[test]
fn every_misplaced_write_is_found_at_both_places() {
    let folder = TempDir::new().unwrap();
    let (verifier, mut device, mut random) = full(&folder);
    for _ in 0..10_000 {
        let (file, offset, bytes) = place(&mut random);
        let (other, elsewhere, _) = place(&mut random);
        let elsewhere = elsewhere.min(BLOCKS * BLOCK - bytes as u64);
        if file == other && elsewhere.abs_diff(offset) < bytes as u64 {
            continue;
        }
        let before = device.clone();
        let buffer = stamped(&verifier, file, offset, bytes);
        device.at(other, elsewhere, bytes).copy_from_slice(&buffer);
        verifier.settle(file, offset, bytes as u32, true);
        let found = check(&verifier, &mut device, (other, elsewhere, bytes));
        assert_eq!(found, Some((elsewhere, Corruption::Misplaced { file, offset })));
        assert!(matches!(check(&verifier, &mut device, (file, offset, bytes)), Some((_, Corruption::Stale { .. }))));
        device = before;
        write(&verifier, &mut device, (file, offset, bytes));
    }
}

/// The device gives back what it held some writes ago.
#[test]
fn every_stale_block_is_found() {
    let folder = TempDir::new().unwrap();
    let (verifier, mut device, mut random) = full(&folder);
    for _ in 0..10_000 {
        let place = place(&mut random);
        let (file, offset, bytes) = place;
        let old = device.at(file, offset, bytes).to_vec();
        let writes = 1 + random.next_u64() % 3;
        (0..writes).for_each(|_| write(&verifier, &mut device, place));
        let which = random.next_u64() % (bytes as u64 / BLOCK) * BLOCK;
        let mut read = device.at(file, offset, bytes).to_vec();
        read[which as usize..][..BLOCK as usize].copy_from_slice(&old[which as usize..][..BLOCK as usize]);
        let found = verifier.check(file, offset, &read);
        assert!(
            matches!(found, Some((at, Corruption::Stale { found, expected }))
                if at == offset + which && u64::from(expected - found) == writes),
            "{found:?}"
        );
    }
}

/// Old sectors in an acknowledged block: the write was torn.
#[test]
fn every_torn_write_is_found() {
    let folder = TempDir::new().unwrap();
    let (verifier, mut device, mut random) = full(&folder);
    for _ in 0..2000 {
        let (file, offset, _) = place(&mut random);
        let old = device.at(file, offset, 4096).to_vec();
        write(&verifier, &mut device, (file, offset, 4096));
        let sector = (random.next_u64() % 8) as usize * SECTOR;
        let mut read = device.at(file, offset, 4096).to_vec();
        read[sector..sector + SECTOR].copy_from_slice(&old[sector..sector + SECTOR]);
        assert_eq!(verifier.check(file, offset, &read), Some((offset, Corruption::Flipped)));
    }
}

#[test]
fn blocks_never_written_or_trimmed_are_not_checked() {
    let folder = TempDir::new().unwrap();
    let (verifier, mut device) = (open(&folder), Device::new());
    assert_eq!(all(&verifier, &mut device), []);
    assert_eq!((verifier.checked(), verifier.written().count()), (0, 0));
    write(&verifier, &mut device, (0, 4096, 16384));
    write(&verifier, &mut device, (1, 0, 4096));
    verifier.forget(0, 12_000, 1000);
    device.at(0, 8192, 8192).fill(0);
    assert_eq!(all(&verifier, &mut device), []);
    assert_eq!(verifier.checked(), 3);
    assert_eq!(verifier.written().collect::<Vec<_>>(), [(0, 4096), (0, 16384), (1, 0)]);
    write(&verifier, &mut device, (0, 8192, 4096));
    device.at(0, 8192, 4096).fill(0);
    assert_eq!(all(&verifier, &mut device), [(0, 8192, Corruption::Unwritten)]);
}

/// Whole or torn, in any mixture of sectors; and nothing else.
#[test]
fn after_a_failed_write_the_old_and_the_new_may_be_there() {
    let folder = TempDir::new().unwrap();
    let (verifier, mut device, mut random) = full(&folder);
    let old = device.at(0, 0, 4096).to_vec();
    write(&verifier, &mut device, (0, 0, 4096));
    let sound = device.at(0, 0, 4096).to_vec();
    let failed: Vec<Vec<u8>> = (0..3).map(|_| stamped(&verifier, 0, 0, 4096)).collect();
    verifier.settle(0, 0, 4096, false);
    assert!(failed.iter().chain([&sound]).all(|there| verifier.check(0, 0, there).is_none()));
    for _ in 0..500 {
        let mut torn = sound.clone();
        for sector in torn.chunks_mut(SECTOR).enumerate() {
            let from = &failed[(random.next_u64() % 3) as usize];
            if random.next_u64() & 1 == 0 {
                sector.1.copy_from_slice(&from[sector.0 * SECTOR..][..SECTOR]);
            }
        }
        assert_eq!(verifier.check(0, 0, &torn), None);
        let bit = random.next_u64() % (BLOCK * 8);
        torn[(bit / 8) as usize] ^= 1 << (bit % 8);
        assert_eq!(verifier.check(0, 0, &torn), Some((0, Corruption::Flipped)));
    }
    assert!(matches!(verifier.check(0, 0, &old), Some((0, Corruption::Stale { .. }))));
    assert_eq!(verifier.check(0, 0, &[0; 4096]), Some((0, Corruption::Unwritten)));
    // An acknowledged one ends the doubt.
    write(&verifier, &mut device, (0, 0, 4096));
    assert!(matches!(verifier.check(0, 0, &sound), Some((0, Corruption::Stale { .. }))));
}

/// Blocks inside of a request that is not aligned to them are watched; those at its ends are given up.
#[test]
fn writes_across_blocks_are_stamped_as_far_as_they_are_whole() {
    let folder = TempDir::new().unwrap();
    let (verifier, mut device, _) = full(&folder);
    write(&verifier, &mut device, (0, 4096 + 512, 3 * 4096));
    assert_eq!(verifier.written().count() as u64, 2 * BLOCKS - 2);
    assert_eq!(all(&verifier, &mut device), []);
    device.at(0, 8192, 1)[0] ^= 1;
    assert_eq!(check(&verifier, &mut device, (0, 4096 + 1024, 8192)), Some((8192, Corruption::Flipped)));
    write(&verifier, &mut device, (0, 8192 + 512, 1024));
    assert_eq!(all(&verifier, &mut device), []);
}

#[test]
fn a_block_whose_writes_fail_for_ever_is_no_longer_checked() {
    let folder = TempDir::new().unwrap();
    let (verifier, mut device) = (open(&folder), Device::new());
    write(&verifier, &mut device, (0, 0, 4096));
    (0..=MOST_UNSETTLED).for_each(|_| drop(stamped(&verifier, 0, 0, 4096)));
    assert_eq!(verifier.written().count(), 0);
    write(&verifier, &mut device, (0, 0, 4096));
    assert_eq!(verifier.written().count(), 1);
}

/// With the old state gone, generations count from 1 again; what is on the device from before is not theirs.
#[test]
fn what_another_state_stamped_is_no_stamp() {
    let (one, other) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let (before, mut device) = (open(&one), Device::new());
    write(&before, &mut device, (0, 0, 4096));
    let after = open(&other);
    stamped(&after, 0, 0, 4096);
    after.settle(0, 0, 4096, true);
    assert_eq!(check(&after, &mut device, (0, 0, 4096)), Some((0, Corruption::Unwritten)));
}

#[derive(Clone, Debug)]
enum Event {
    Write(u32, u64, u64),
    /// Sent, and then refused by the device, which may have written any of its sectors.
    Fail(u32, u64, u64, u32),
    Read(u32, u64, u64),
    Trim(u32, u64, u64),
    /// The process dies with a write on its way; the next one opens the same state.
    Kill(u32, u64, u64, u32),
}

fn events() -> impl Strategy<Value = Event> {
    // Whole blocks, and sectors that lie across them.
    let blocks = (0u32..2, 0..BLOCKS - 3, 1u64..4).prop_map(|(f, first, n)| (f, first * BLOCK, n * BLOCK));
    let sectors = (0u32..2, 0..(BLOCKS - 3) * 8, 1u64..24).prop_map(|(f, first, n)| (f, first * 512, n * 512));
    let place = || prop_oneof![3 => blocks.clone(), 1 => sectors.clone()];
    prop_oneof![
        6 => place().prop_map(|(f, o, b)| Event::Write(f, o, b)),
        2 => (place(), any::<u32>()).prop_map(|((f, o, b), s)| Event::Fail(f, o, b, s)),
        6 => place().prop_map(|(f, o, b)| Event::Read(f, o, b)),
        1 => place().prop_map(|(f, o, b)| Event::Trim(f, o, b)),
        1 => (place(), any::<u32>()).prop_map(|((f, o, b), s)| Event::Kill(f, o, b, s)),
    ]
}

/// Those sectors of a request whose bit is set reach the device.
fn partly(device: &mut Device, file: u32, offset: u64, buffer: &[u8], sectors: u32) {
    for (i, sector) in buffer.chunks(SECTOR).enumerate().filter(|(i, _)| sectors >> i & 1 == 1) {
        device.at(file, offset + (i * SECTOR) as u64, SECTOR).copy_from_slice(sector);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn an_honest_device_is_never_accused(history in prop::collection::vec(events(), 1..300)) {
        let folder = TempDir::new().unwrap();
        let (mut verifier, mut device) = (open(&folder), Device::new());
        for event in history {
            match event {
                Event::Write(file, offset, bytes) => write(&verifier, &mut device, (file, offset, bytes as usize)),
                Event::Fail(file, offset, bytes, sectors) => {
                    let buffer = stamped(&verifier, file, offset, bytes as usize);
                    partly(&mut device, file, offset, &buffer, sectors);
                    verifier.settle(file, offset, bytes as u32, false);
                }
                Event::Read(file, offset, bytes) => {
                    prop_assert_eq!(check(&verifier, &mut device, (file, offset, bytes as usize)), None);
                }
                Event::Trim(file, offset, bytes) => {
                    verifier.forget(file, offset, bytes as u32);
                    device.at(file, offset, bytes as usize).fill(0);
                }
                Event::Kill(file, offset, bytes, sectors) => {
                    let buffer = stamped(&verifier, file, offset, bytes as usize);
                    drop(verifier);
                    partly(&mut device, file, offset, &buffer, sectors);
                    verifier = open(&folder);
                }
            }
        }
        prop_assert_eq!(all(&verifier, &mut device), []);
        // And the same history does not make it blind: every block in which something is to be found is watched.
        let written: Vec<_> = verifier.written().collect();
        for (file, offset) in written {
            device.at(file, offset, 4096)[100] ^= 4;
            prop_assert_eq!(check(&verifier, &mut device, (file, offset, 4096)), Some((offset, Corruption::Flipped)));
        }
    }

    #[test]
    fn blocks_of_any_size_are_stamped_and_checked(eighths in 8u32..3000, blocks in 1usize..4, flip: u64) {
        let folder = TempDir::new().unwrap();
        let bytes = eighths * 8;
        let verifier = Verifier::open(&spec(&folder, bytes), &[u64::from(bytes) * 4 + 7], 1).unwrap();
        let mut buffer = stamped(&verifier, 0, u64::from(bytes), blocks.min(3) * bytes as usize);
        verifier.settle(0, u64::from(bytes), buffer.len() as u32, true);
        prop_assert_eq!(verifier.check(0, u64::from(bytes), &buffer), None);
        let bit = flip % (buffer.len() as u64 * 8);
        buffer[(bit / 8) as usize] ^= 1 << (bit % 8);
        let at = u64::from(bytes) + bit / 8 / u64::from(bytes) * u64::from(bytes);
        prop_assert_eq!(verifier.check(0, u64::from(bytes), &buffer), Some((at, Corruption::Flipped)));
    }
}

/// A child process writes and is killed with SIGKILL; what it had noted is all there.
#[test]
fn the_state_outlives_a_kill() {
    let folder = TempDir::new().unwrap();
    let verifier = open(&folder);
    let mut buffer = vec![0; 8192];
    // SAFETY: the child stamps, which takes no lock and allocates nothing, and kills itself.
    let child = unsafe { libc::fork() };
    if child == 0 {
        for _ in 0..100 {
            verifier.stamp(0, 0, &mut buffer);
            verifier.settle(0, 0, 8192, true);
        }
        verifier.stamp(0, 4096, &mut buffer[4096..]);
        // SAFETY: it is the child's own end.
        unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
    }
    let mut status = 0;
    // SAFETY: waits for the child made above.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert!(libc::WIFSIGNALED(status));
    drop(verifier);
    let verifier = open(&folder);
    let generations = |block: usize| Generations::of(verifier.state.words()[block].load(Relaxed));
    assert_eq!(generations(0), Generations { least: 100, sent: 100 });
    assert_eq!(generations(1), Generations { least: 100, sent: 101 });
}

#[test]
fn a_state_is_refused_where_it_does_not_belong() {
    let folder = TempDir::new().unwrap();
    let files = [BLOCKS * BLOCK; 2];
    drop(open(&folder));
    let refused = |spec: &VerifySpec, files: &[u64]| Verifier::open(spec, files, 1).err().unwrap().to_string();
    let told = refused(&spec(&folder, 8192), &files);
    assert!(told.starts_with("verify.state: ") && told.contains("blocks of 4096 bytes, not 8192"), "{told}");
    let told = refused(&spec(&folder, 4096), &files[..1]);
    assert!(told.contains("[262144, 262144] bytes, not [262144]"), "{told}");
    for block_bytes in [0, 56, 100] {
        assert!(refused(&spec(&folder, block_bytes), &files).starts_with("verify.block_bytes: "));
    }
    let other = VerifySpec { state: folder.path().join("other"), block_bytes: 4096 };
    for contents in [&b""[..], b"short", &[0; 100_000], &[7; 100]] {
        std::fs::write(&other.state, contents).unwrap();
        assert!(refused(&other, &files).contains("is no state of a verification"));
        assert_eq!(std::fs::read(&other.state).unwrap(), contents, "it was not touched");
    }
    let state = folder.path().join("state");
    std::fs::OpenOptions::new().write(true).open(&state).unwrap().set_len(5000).unwrap();
    assert!(refused(&spec(&folder, 4096), &files).contains("is 5000 bytes long"));
    let nowhere = VerifySpec { state: PathBuf::from("/nonexistent/state"), block_bytes: 4096 };
    assert!(refused(&nowhere, &files).starts_with("/nonexistent/state"));
}

#[test]
fn another_seed_draws_other_requests_over_the_same_state() {
    let folder = TempDir::new().unwrap();
    let (before, mut device) = (open(&folder), Device::new());
    write(&before, &mut device, (0, 0, 4096));
    drop(before);
    let after = Verifier::open(&spec(&folder, BLOCK as u32), &[BLOCKS * BLOCK; 2], 2).unwrap();
    assert_eq!(all(&after, &mut device), []);
    assert_eq!(after.checked(), 1);
    device.at(0, 0, 4096).fill(0);
    assert_eq!(all(&after, &mut device), [(0, 0, Corruption::Unwritten)]);
}

#[test]
fn two_loads_do_not_share_a_state() {
    let folder = TempDir::new().unwrap();
    let first = open(&folder);
    let second = Verifier::open(&spec(&folder, BLOCK as u32), &[BLOCKS * BLOCK; 2], 1);
    assert!(second.err().unwrap().to_string().contains("is in use by another load"));
    drop(first);
    open(&folder);
}

/// Threads on blocks of their own; every generation is counted and every block is sound.
#[test]
fn threads_share_a_verifier() {
    let folder = TempDir::new().unwrap();
    let verifier = open(&folder);
    std::thread::scope(|scope| {
        for file in 0..2 {
            let verifier = &verifier;
            scope.spawn(move || {
                for i in 0..2000 {
                    let offset = i % BLOCKS * BLOCK;
                    let buffer = stamped(verifier, file, offset, 4096);
                    verifier.settle(file, offset, 4096, true);
                    assert_eq!(verifier.check(file, offset, &buffer), None);
                }
            });
        }
    });
    assert_eq!(verifier.checked(), 4000);
}
