//! Two of Parquet's encodings, for whole pages at once: DELTA_BINARY_PACKED for numbers that go in steps, and the
//! RLE/bit-packed hybrid for small keys. The `parquet` crate's own encoders take a value at a time and hash each for
//! a dictionary; these cost about a tenth of it. Formats: apache/parquet-format, Encodings.md.

/// Values in a delta block, and in each of its four miniblocks.
const BLOCK: usize = 128;
const MINI: usize = 32;

/// Appends `values` in DELTA_BINARY_PACKED. A column of 32 bits is `narrow`: its steps wrap at 32 bits.
pub fn delta(values: &[i64], narrow: bool, out: &mut Vec<u8>) {
    let Some(&first) = values.first() else { return };
    varint(BLOCK as u64, out);
    varint((BLOCK / MINI) as u64, out);
    varint(values.len() as u64, out);
    varint(zigzag(if narrow { i64::from(first as i32) } else { first }), out);
    let mut steps = [0_i64; BLOCK];
    let mut at = 1;
    while at < values.len() {
        let n = BLOCK.min(values.len() - at);
        let pairs = values[at - 1..at + n - 1].iter().zip(&values[at..at + n]);
        for (step, (before, after)) in steps.iter_mut().zip(pairs) {
            *step = after.wrapping_sub(*before);
        }
        if narrow {
            steps[..n].iter_mut().for_each(|s| *s = i64::from(*s as i32));
        }
        let least = steps[..n].iter().copied().fold(i64::MAX, i64::min);
        // What a short last block lacks is filled with steps of no bits.
        steps[n..].fill(least);
        block(&steps, least, n.div_ceil(MINI), out);
        at += n;
    }
}

fn block(steps: &[i64; BLOCK], least: i64, minis: usize, out: &mut Vec<u8>) {
    varint(zigzag(least), out);
    let mut above = [0_u64; BLOCK];
    for (above, step) in above.iter_mut().zip(steps) {
        *above = step.wrapping_sub(least) as u64;
    }
    let (quarters, _) = above.as_chunks::<MINI>();
    let mut widths = [0_u8; BLOCK / MINI];
    for (width, quarter) in widths.iter_mut().zip(quarters) {
        *width = 64 - quarter.iter().fold(0, |all, v| all | v).leading_zeros() as u8;
    }
    out.extend_from_slice(&widths);
    for (quarter, width) in quarters.iter().zip(widths).take(minis) {
        pack(quarter, width, out);
    }
}

/// Appends `keys`, each below `2^width`, as one run where they are all equal, else bit-packed.
pub fn hybrid(keys: &[u8], width: u8, out: &mut Vec<u8>) {
    let Some(&first) = keys.first() else { return };
    if keys.iter().all(|k| *k == first) {
        varint((keys.len() as u64) << 1, out);
        out.push(first);
        return;
    }
    let groups = keys.len().div_ceil(8);
    varint((groups as u64) << 1 | 1, out);
    let end = out.len() + groups * width as usize;
    let mut wide = [0_u64; MINI];
    for part in keys.chunks(MINI) {
        wide[part.len()..].fill(0);
        wide.iter_mut().zip(part).for_each(|(w, k)| *w = u64::from(*k));
        pack(&wide, width, out);
    }
    out.truncate(end);
}

pub fn varint(mut n: u64, out: &mut Vec<u8>) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

fn zigzag(n: i64) -> u64 {
    ((n << 1) ^ (n >> 63)) as u64
}

/// Appends 32 values of `width` bits, least significant bit first: `4 × width` bytes.
fn pack(values: &[u64; MINI], width: u8, out: &mut Vec<u8>) {
    // One routine a width, so that every shift is a constant.
    macro_rules! of_width {
        ($($w:literal)+) => { match width { $($w => packed::<$w>(values, out),)+ _ => {} } };
    }
    of_width!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32
        33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64);
}

fn packed<const WIDTH: usize>(values: &[u64; MINI], out: &mut Vec<u8>) {
    let mut words = [0_u64; MINI + 1];
    for (i, value) in values.iter().enumerate() {
        let (word, shift) = (i * WIDTH / 64, i * WIDTH % 64);
        words[word] |= value << shift;
        if shift + WIDTH > 64 {
            words[word + 1] |= value >> (64 - shift);
        }
    }
    let mut bytes = [0_u8; 8 * (MINI + 1)];
    for (eight, word) in bytes.chunks_exact_mut(8).zip(words) {
        eight.copy_from_slice(&word.to_le_bytes());
    }
    out.extend_from_slice(&bytes[..4 * WIDTH]);
}
