//! RAID-4 and RAID-5 on disks whose contents are kept: parity stays true, and nothing is lost with one drive.

use std::collections::HashMap;

use iojoule_disk::Op;
use iojoule_units::Lba;
use proptest::prelude::*;

use super::super::raid5::Raid5;
use super::super::rotation::Rotation;
use super::{Layout, failed, places, planned};
use crate::{Health, Plan, Wait};

/// Drives with contents, and what the host believes they hold.
struct Simulated {
    layout: Raid5,
    drives: u16,
    unit: u64,
    fixed: bool,
    contents: HashMap<(u16, u64), u64>,
    logical: Vec<u64>,
}

impl Simulated {
    fn new(drives: u16, unit: u32, rows: u64, fixed: bool) -> Self {
        let rotation = if fixed { Rotation::Last } else { Rotation::LeftSymmetric };
        let layout = Raid5::new(drives, unit, rows * u64::from(unit), rotation, 0.5);
        let logical = vec![0; layout.capacity() as usize];
        Self { layout, drives, unit: u64::from(unit), fixed, contents: HashMap::new(), logical }
    }

    /// The closed form: parity of row r on drive n-1 - r mod n, unit k on the k-th drive after it.
    fn place(&self, lba: u64) -> (u16, u64, u16) {
        let n = u64::from(self.drives);
        let (u, offset) = (lba / self.unit, lba % self.unit);
        let (row, k) = (u / (n - 1), u % (n - 1));
        let parity = if self.fixed { n - 1 } else { n - 1 - row % n };
        (((parity + 1 + k) % n) as u16, row * self.unit + offset, parity as u16)
    }

    fn sector(&self, drive: u16, at: u64) -> u64 {
        self.contents.get(&(drive, at)).copied().unwrap_or(0)
    }

    /// What stage 0 reads, by place.
    fn read(&self, plan: &Plan) -> HashMap<(u16, u64), u64> {
        let reads = plan.pieces.iter().filter(|piece| piece.op == Op::Read);
        reads.flat_map(|piece| places(&plan.copies(piece)[0])).map(|(d, at)| ((d, at), self.sector(d, at))).collect()
    }

    fn write(&mut self, lba: u64, values: &[u64], health: &Health) -> Plan {
        let plan = planned(&mut self.layout, Op::Write, lba, values.len() as u32, health);
        assert!(!plan.lost);
        let known = self.read(&plan);
        let mut data = HashMap::new();
        for (i, &value) in values.iter().enumerate() {
            let (drive, at, _) = self.place(lba + i as u64);
            data.insert((drive, at), value);
            self.logical[lba as usize + i] = value;
        }
        let mut after = Vec::new();
        for piece in plan.pieces.iter().filter(|piece| piece.op == Op::Write) {
            for (drive, at) in places(&plan.copies(piece)[0]) {
                let value = data.get(&(drive, at)).copied().unwrap_or_else(|| self.parity(drive, at, &data, &known));
                after.push(((drive, at), value));
            }
        }
        self.contents.extend(after);
        plan
    }

    /// New parity out of nothing but what was read and what is written.
    fn parity(&self, drive: u16, at: u64, new: &HashMap<(u16, u64), u64>, read: &HashMap<(u16, u64), u64>) -> u64 {
        let others = (0..self.drives).filter(|&other| other != drive).map(|other| (other, at));
        let reconstructed: Option<u64> =
            others.clone().map(|p| new.get(&p).or(read.get(&p)).copied()).try_fold(0, |x, v| Some(x ^ v?));
        let modified = || {
            let written = others.filter(|p| new.contains_key(p));
            written.map(|p| Some(new[&p] ^ read.get(&p)?)).try_fold(*read.get(&(drive, at))?, |x, v| Some(x ^ v?))
        };
        reconstructed.or_else(modified).expect("the reads suffice for the parity")
    }

    fn read_back(&mut self, lba: u64, sectors: u32, health: &Health) -> Vec<u64> {
        let plan = planned(&mut self.layout, Op::Read, lba, sectors, health);
        assert!(!plan.lost);
        let known = self.read(&plan);
        assert!(known.keys().all(|(drive, at)| health.readable(*drive, Lba(*at), 1)));
        let value = |lba| {
            let (drive, at, _) = self.place(lba);
            let rest = (0..self.drives).filter(|&d| d != drive);
            known.get(&(drive, at)).copied().unwrap_or_else(|| rest.fold(0, |x, d| x ^ known[&(d, at)]))
        };
        (lba..lba + u64::from(sectors)).map(value).collect()
    }
}

fn request() -> impl Strategy<Value = (f64, u32)> {
    (0.0_f64..1.0, prop_oneof![1_u32..6, 1_u32..80])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_was_written_is_read_with_and_without_each_drive_and_after_a_rebuild(
        drives in 3_u16..7, unit in 1_u32..9, fixed in any::<bool>(), dead in 0_u16..100, replaced in 0.0_f64..1.0,
        healthy in proptest::collection::vec(request(), 0..8), degraded in proptest::collection::vec(request(), 0..8),
    ) {
        let mut array = Simulated::new(drives, unit, 6, fixed);
        let capacity = array.layout.capacity();
        let dead = dead % drives;
        let size = 6 * u64::from(unit);
        // Good, then without a drive, then with a new one that is good below some sector.
        let good = Health::good(usize::from(drives));
        let border = (replaced * size as f64) as u64;
        let half = Health { failed: good.failed.clone(), rebuilding: Some((dead, Lba(border))) };
        let mut seed = 1;
        for health in [good.clone(), failed(drives, dead), half] {
            if health.rebuilding.is_some() {
                array.contents.retain(|&(drive, at), _| drive != dead || at < border);
                for at in 0..border {
                    let value = (0..drives).filter(|&d| d != dead).fold(0, |x, d| x ^ array.sector(d, at));
                    array.contents.insert((dead, at), value);
                }
            }
            let requests = if health.failed == good.failed && health.rebuilding.is_none() { &healthy } else { &degraded };
            for &(at, sectors) in requests {
                let lba = (at * capacity as f64) as u64;
                let sectors = u64::from(sectors).min(capacity - lba);
                let values: Vec<u64> = (0..sectors).map(|i| { seed += 1; seed << 8 | i }).collect();
                let plan = array.write(lba, &values, &health);
                prop_assert!(plan.extents.iter().all(|extent| !health.failed[usize::from(extent.drive)]));
            }
            let logical = array.logical.clone();
            prop_assert_eq!(array.read_back(0, capacity as u32, &health), logical);
        }
    }

    #[test]
    fn parity_waits_for_all_reads_and_data_for_the_old_data_only(drives in 3_u16..9, unit in 2_u32..9, at in 0.0_f64..1.0) {
        let mut array = Simulated::new(drives, unit, 4, false);
        let lba = (at * array.layout.capacity() as f64) as u64;
        let health = Health::good(usize::from(drives));
        let plan = planned(&mut array.layout, Op::Write, lba, 1, &health);
        let (drive, sector, parity) = array.place(lba);
        for piece in &plan.pieces {
            let extent = plan.copies(piece)[0];
            prop_assert_eq!(piece.stage == 1, piece.op == Op::Write);
            if piece.op == Op::Write {
                prop_assert_eq!(extent.lba, Lba(sector));
                prop_assert_eq!((extent.drive, piece.wait), if extent.drive == drive { (drive, Wait::Drive) } else { (parity, Wait::Stage) });
            }
        }
    }
}

/// Commands of a write on a row of five drives with 128-sector units: DiskSim's choice with its fraction of 0.5.
#[test]
fn one_unit_of_four_is_read_modify_write_and_two_are_reconstruct_write() {
    let commands = |lba, sectors| {
        let mut layout = Raid5::new(5, 128, 128 * 10, Rotation::LeftSymmetric, 0.5);
        let plan = planned(&mut layout, Op::Write, lba, sectors, &Health::good(5));
        let count = |op| plan.pieces.iter().filter(|piece| piece.op == op).count();
        (count(Op::Read), count(Op::Write))
    };
    assert_eq!(commands(0, 8), (2, 2)); // old data and old parity
    assert_eq!(commands(128, 256), (2, 3)); // the two units that stay
    assert_eq!(commands(0, 512), (0, 5)); // a full row
    assert_eq!(commands(64, 128), (4, 3)); // two halves: the others whole, the untouched halves
    assert_eq!(commands(124, 8), (4, 4)); // the end of one unit, the start of the next: two small writes
}
