"""How to lay data out over D disks: Ds for seeks, Dr for rotation, Dm for mirrors. Yu et al., OSDI 2000, §§2.1–2.6.

The equations (4), (5), (8) and (13) of the paper survive as pictures only; they are derived here from its text and
agree with every configuration it prints. All times are in ms.

With S the longest seek over the data, R a rotation, L the locality of the load, q the requests of one arm's stroke and
p the share of requests that need only one copy at once (reads, and writes whose copies follow in the background):

    T(Ds, Dr, Dm) = S/(L max(q, 3) Ds) + p r + (1 - p) (R - r),    r = R / (Dr (Dm + 1))

The seek term is a third of a stroke for a request alone and a q-th where q share a stroke; they meet at q = 3. Replicas
on one disk are spaced evenly, so r = R/(2 Dr) without mirrors; the phases of mirrors are random, so r = R/(Dm + 1)
without replicas. A write of all copies at once ends with the last, R - r after it began.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import floor, inf, sqrt


class Rule(StrEnum):
    """How whole numbers are found. Both only choose among divisors of D that the disk allows."""

    FLOOR = "floor"
    """The largest Dr that does not exceed the optimum over real numbers: this gives the configurations of the paper."""
    ARGMIN = "argmin"
    """The Dr with the shortest modelled time; of equals the smaller."""


@dataclass(frozen=True)
class Disk:
    """One disk."""

    seek_ms: float
    """S: the longest seek over the whole data set."""
    rotation_ms: float
    """R."""
    overhead_ms: float = 0.0
    """To: processing, transfer, track switch, acceleration; the same for every request."""
    track_switch_ms: float | None = None
    """Limits Dr: copies are written one track switch after another within a rotation."""

    @property
    def max_replicas(self) -> int | None:
        """⌊R / track switch⌋, or None where nothing limits it."""
        # A rotation of 6.0 ms holds 6 switches of 1.0 ms whatever 6.0 / 1.0 is in binary.
        return floor(self.rotation_ms / self.track_switch_ms + 1e-9) if self.track_switch_ms else None


@dataclass(frozen=True)
class Load:
    """What the array is asked to do."""

    locality: float = 1.0
    """L: mean random seek distance over mean seek distance observed."""
    p: float = 1.0
    """Share of requests that need one copy only before they end."""
    per_stroke: float = 1.0
    """q: requests served in one stroke of one arm; 3 and less are alike."""


@dataclass(frozen=True)
class Prediction:
    """A configuration and what the model says of it."""

    ds: int
    dr: int
    dm: int
    seek_ms: float
    rotation_ms: float
    response_ms: float
    """Overhead, seek and rotation; queueing is not part of the model."""

    @property
    def positioning_ms(self) -> float:
        return self.seek_ms + self.rotation_ms


@dataclass(frozen=True)
class Optimum:
    """The best Ds and Dr over real numbers, and their positioning time without overhead."""

    ds: float
    dr: float
    positioning_ms: float


def seek(disk: Disk, ds: float, load: Load) -> float:
    """Mean seek with data on 1/Ds of the cylinders."""
    return disk.seek_ms / (load.locality * max(load.per_stroke, 3.0) * ds)


def rotation(disk: Disk, dr: float, dm: int = 1) -> float:
    """Mean wait for the first of Dr even copies on each of Dm disks that turn independently."""
    return disk.rotation_ms / (dr * (dm + 1))


def rotation_random(disk: Disk, copies: int) -> float:
    """Mean wait for the first of copies at random angles."""
    return disk.rotation_ms / (copies + 1)


def rotation_of_all(disk: Disk, dr: float, dm: int = 1) -> float:
    """Mean wait until all copies have passed, Eq. (3)."""
    return disk.rotation_ms - rotation(disk, dr, dm)


def stripe_seek(disk: Disk, disks: int) -> float:
    """Mean seek of random requests with the data striped over `disks`."""
    return disk.seek_ms / (3 * disks)


def mirror_seek(disk: Disk, disks: int) -> float:
    """Mean seek of random reads by the nearest arm of a mirror."""
    return disk.seek_ms / (2 * disks + 1)


def predict(disk: Disk, load: Load, ds: int, dr: int, dm: int = 1) -> Prediction:
    """Seek, rotation and response time of Ds × Dr × Dm."""
    first, last = rotation(disk, dr, dm), rotation_of_all(disk, dr, dm)
    seeking, rotating = seek(disk, ds, load), load.p * first + (1 - load.p) * last
    return Prediction(ds, dr, dm, seeking, rotating, disk.overhead_ms + seeking + rotating)


def optimum(disk: Disk, load: Load, disks: int) -> Optimum:
    """The Ds × Dr = D of least time over real numbers, Eqs. (5) and (13), without limits on either.

    Where half of the requests or fewer need one copy only, copies cost what they bring and the answer is D × 1.
    """
    gain = 2 * load.p - 1
    if gain <= 0:
        best = predict(disk, load, disks, 1)
        return Optimum(disks, 1.0, best.positioning_ms)
    full_seek, turn = seek(disk, 1, load), gain * disk.rotation_ms / 2
    ds = sqrt(full_seek * disks / turn)
    return Optimum(ds, disks / ds, 2 * sqrt(full_seek * turn / disks) + (1 - load.p) * disk.rotation_ms)


def recommend(disk: Disk, load: Load, disks: int, rule: Rule = Rule.FLOOR) -> Prediction:
    """The SR-Array Ds × Dr × 1 to build of `disks` disks."""
    grids = [predict(disk, load, disks // dr, dr) for dr in divisors(disks) if dr <= (disk.max_replicas or inf)]
    if rule is Rule.ARGMIN:
        return min(grids, key=lambda grid: (grid.response_ms, grid.dr))
    limit = optimum(disk, load, disks).dr + 1e-9
    return max((grid for grid in grids if grid.dr <= limit or grid.dr == 1), key=lambda grid: grid.dr)


def configurations(disk: Disk, load: Load, disks: int) -> list[Prediction]:
    """Every Ds × Dr × Dm = D the disk allows, by Dm, then Dr."""
    limit = disk.max_replicas or inf
    return [
        predict(disk, load, disks // dm // dr, dr, dm)
        for dm in divisors(disks)
        for dr in divisors(disks // dm)
        if dr <= limit
    ]


def divisors(n: int) -> list[int]:
    """All divisors, rising."""
    return [d for d in range(1, n + 1) if n % d == 0]


def busy_disks(disks: int, outstanding: int) -> float:
    """Disks that have work when `outstanding` requests fall on them at random."""
    return disks * (1 - (1 - 1 / disks) ** outstanding)


def disk_rate(prediction: Prediction) -> float:
    """Requests per second of one disk that is never idle."""
    return 1000 / prediction.response_ms


def array_rate(prediction: Prediction, disks: int, outstanding: int) -> float:
    """Requests per second of the array with a constant number outstanding; `prediction` with q = outstanding/disks."""
    return busy_disks(disks, outstanding) * disk_rate(prediction)


def price_ratio(memory_price: float, memory_mb: float, disk_price: float, disk_mb: float) -> float:
    """M: what a MB of memory costs over what a MB of disk costs."""
    return (memory_price / memory_mb) / (disk_price / disk_mb)


def memory_pays_below(data_mb: float, more_disks: int, cache_mb: float) -> float:
    """The M below which `cache_mb` of memory is cheaper than `more_disks` disks of the data's size."""
    return more_disks * data_mb / cache_mb
