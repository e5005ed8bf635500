//! C-LOOK by sector number: upwards from where the last command began, then from the lowest again.

use iojoule_units::Lba;

use super::Sight;

pub(super) fn pick(sight: &Sight<'_>, last: Lba) -> Option<usize> {
    // Addresses below `last` come after all others, in their order.
    let turn = |lba: Lba| (lba < last, lba);
    let rows = sight.queue.rows();
    let mut best = 0;
    for row in 1..rows.len() {
        let (this, least) = (turn(rows[row].lba), turn(rows[best].lba));
        if this < least || this == least && sight.queue.came_before(row, best) {
            best = row;
        }
    }
    Some(best)
}
