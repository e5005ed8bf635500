//! Rotational replicas on one disk: the same sectors on `Dr` different tracks, each 360/Dr degrees further round, so that
//! one of them comes under the head within R/Dr. Yu et al., OSDI 2000, §2.2.
//!
//! The tracks of a group follow each other in address order, so they share a cylinder or lie in neighbouring ones, and a
//! group never mixes tracks of different density: there its replicas could not keep their angles. On a track with slipped
//! or spare sectors a replica is off by twice these at most.

use iojoule_units::Lba;

/// What a group of replicas must know of a track.
#[derive(Clone, Copy, Debug)]
pub struct TrackShape {
    pub first: Lba,
    pub sectors: u32,
    /// When the first sector passes, in ns of rotation after the index mark.
    pub angle: u32,
    pub sector_ns: f64,
}

/// One replica of a group: its track and how far its contents are turned, in sectors.
#[derive(Clone, Copy, Debug)]
struct Turned {
    first: u64,
    sectors: u32,
    turn: u32,
}

/// A run of sectors on a track that goes on at the track's first sector after its last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnTrack {
    pub lba: Lba,
    pub sectors: u32,
}

/// The replicated address space of one disk.
pub struct Replicas {
    degree: usize,
    /// First address of each group, and the end of the last.
    starts: Vec<u64>,
    /// `degree` tracks per group.
    turned: Vec<Turned>,
    /// The group of every [`STEP`]th address, so that looking one up is a step or two.
    index: Vec<u32>,
}

const STEP: u64 = 256;

impl Replicas {
    /// Groups of `degree` tracks out of `tracks`, which come in address order; `rotation` in ns.
    pub fn new(tracks: impl IntoIterator<Item = TrackShape>, rotation: f64, degree: usize) -> Self {
        let mut this = Self { degree, starts: vec![0], turned: Vec::new(), index: Vec::new() };
        let mut group: Vec<TrackShape> = Vec::with_capacity(degree);
        for track in tracks.into_iter().filter(|track| track.sectors > 0) {
            if group.first().is_some_and(|first| (first.sector_ns - track.sector_ns).abs() > 1e-6 * first.sector_ns) {
                group.clear();
            }
            group.push(track);
            if group.len() == degree {
                this.close(&group, rotation);
                group.clear();
            }
        }
        let mut group = 0;
        for address in (0..this.sectors()).step_by(STEP as usize) {
            while this.starts[group + 1] <= address {
                group += 1;
            }
            this.index.push(group as u32);
        }
        this
    }

    fn close(&mut self, group: &[TrackShape], rotation: f64) {
        let sectors = group.iter().map(|track| track.sectors).min().unwrap_or(0);
        for (r, track) in group.iter().enumerate() {
            let wanted = f64::from(group[0].angle) + rotation * r as f64 / self.degree as f64 - f64::from(track.angle);
            let turn = (wanted.rem_euclid(rotation) / track.sector_ns).round() as u32 % track.sectors;
            self.turned.push(Turned { first: track.first.0, sectors: track.sectors, turn });
        }
        self.starts.push(self.sectors() + u64::from(sectors));
    }

    /// Sectors that can be stored, `degree` times each.
    pub fn sectors(&self) -> u64 {
        self.starts[self.starts.len() - 1]
    }

    /// Cuts `at .. at + sectors` where groups end and calls `each` with the replicas of every part.
    #[inline]
    pub fn runs(&self, mut at: u64, sectors: u32, mut each: impl FnMut(&mut dyn Iterator<Item = OnTrack>)) {
        let mut left = sectors;
        let mut group = self.index[(at / STEP) as usize] as usize;
        while left > 0 {
            while self.starts[group + 1] <= at {
                group += 1;
            }
            let run = u64::from(left).min(self.starts[group + 1] - at) as u32;
            let offset = (at - self.starts[group]) as u32;
            let turned = &self.turned[group * self.degree..(group + 1) * self.degree];
            each(&mut turned.iter().map(|track| {
                let sector = offset + track.turn;
                let sector = if sector >= track.sectors { sector - track.sectors } else { sector };
                OnTrack { lba: Lba(track.first + u64::from(sector)), sectors: run }
            }));
            at += u64::from(run);
            left -= run;
        }
    }
}
