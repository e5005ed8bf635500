//! A model against a measured disk: the measured requests are replayed in a closed loop, and the two distributions of
//! response times compared. Ruemmler & Wilkes 1994 proposed the measure: the root mean square of the horizontal
//! distance of the two cumulative distributions; DiskSim 4.0 publishes it from 1 % wide bins, and so does
//! [`rms_binned`].

use std::sync::Arc;

use iojoule_units::{Lba, ModelNs, Nanos};

use crate::{Command, Drive, Model, Op};

/// A measured request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    pub op: Op,
    pub lba: Lba,
    pub sectors: u32,
    /// From this request's completion to the next one's issue: the loop is closed, with one request outstanding.
    pub think: Nanos,
}

/// Response times in ms of the requests on a drive that was idle and turning before. A request beyond the end of the
/// disk is the caller's to refuse.
pub fn replay(model: &Arc<Model>, lines: impl IntoIterator<Item = Line>) -> Vec<f64> {
    let mut drive = Drive::new(model.clone(), Nanos::ZERO);
    let (mut issue, mut ready) = (ModelNs::ZERO, ModelNs::ZERO);
    lines
        .into_iter()
        .map(|line| {
            let command = Command { op: line.op, lba: line.lba, sectors: line.sectors, on_track: false };
            let service = drive.start(issue.max(ready), command);
            let response = service.done - issue;
            ready = service.ready;
            issue = service.done + line.think.max(Nanos::ZERO);
            response.0 as f64 / 1e6
        })
        .collect()
}

/// Root mean square of the differences of equal ranks, in ms. Shapes of different length are compared up to the
/// shorter; NaN for none.
pub fn rms_exact(measured: &[f64], simulated: &[f64]) -> f64 {
    let (a, b) = (sorted(measured), sorted(simulated));
    let squares: f64 = a.iter().zip(&b).map(|(x, y)| (x - y) * (x - y)).sum();
    (squares / a.len().min(b.len()) as f64).sqrt()
}

/// DiskSim's published figure, in ms: both distributions in bins that grow by 1 %, each cumulative curve a line through
/// (upper edge, share), the horizontal distance sampled at every 0.0001 of probability.
pub fn rms_binned(measured: &[f64], simulated: &[f64]) -> f64 {
    let (a, b) = (curve(measured), curve(simulated));
    let (mut at, mut bt) = (1, 1);
    let (mut squares, mut samples, mut p) = (0.0, 0.0, 0.0001);
    // The running sum of 0.0001 decides, as in the published tool, whether the last sample counts.
    while p <= 1.0 {
        let distance = inverse(&a, p, &mut at) - inverse(&b, p, &mut bt);
        squares += distance * distance;
        samples += 1.0;
        p += 0.0001;
    }
    f64::sqrt(squares / samples)
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut values = values.to_vec();
    values.sort_unstable_by(f64::total_cmp);
    values
}

/// Bins of DiskSim's "Physical access time": from 0 µs, each 1 µs and 1 % of its lower edge (rounded down) wide. A
/// value on an edge belongs to the bin that ends there.
fn curve(values: &[f64]) -> Vec<(f64, f64)> {
    let values = sorted(values);
    let (mut edge, mut below, mut points) = (0_i64, 0, Vec::new());
    while below < values.len() {
        while below < values.len() && values[below] * 1e3 <= edge as f64 + 1e-6 {
            below += 1;
        }
        let share = below as f64 / values.len() as f64;
        points.push((edge as f64 / 1e3, (share * 1e6).round() / 1e6));
        edge += 1 + edge / 100;
    }
    points
}

fn inverse(curve: &[(f64, f64)], p: f64, from: &mut usize) -> f64 {
    while *from + 1 < curve.len() && curve[*from].1 < p {
        *from += 1;
    }
    let ((x0, y0), (x1, y1)) = (curve[*from - 1], curve[(*from).min(curve.len() - 1)]);
    if y1 > y0 { x0 + (p - y0) / (y1 - y0) * (x1 - x0) } else { x1 }
}
