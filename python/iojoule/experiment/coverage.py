"""Does the truth lie within what is quoted? Seeded loads through a laboratory's front, its driver and the energy rules.

A trial draws a load and an instrument whose errors lie within its specification, lets the driver read it on a simulated
clock, and asks for the energy of one phase. E ± U (k = 2) must hold the true energy in 95 % of many trials, and the
median U must not be much larger than what 95 % of the errors stay below: honest and useful.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import pyarrow as pa

from iojoule.meters import clock
from iojoule.meters.base import Reading
from iojoule.meters.continuity import Continuity
from iojoule.meters.lab import front_class
from iojoule.meters.lab.load import Load, State
from iojoule.meters.table import driver_class, parse_meter
from iojoule.metrics.channels import channels, series
from iojoule.metrics.energy import energies, total
from iojoule.metrics.metric import Span
from iojoule.store.schema import READINGS

SHORTEST_S, LONGEST_S = 2.0, 300.0
SYNC_EVERY_S = 10.0


@dataclass(frozen=True, slots=True)
class Trial:
    """One phase: what was true and what was quoted; ``joules`` is None where nothing was, and ``note`` says why."""

    seed: int
    seconds: float
    true_j: float
    joules: float | None
    u: float
    note: str

    @property
    def error_j(self) -> float | None:
        return None if self.joules is None else self.joules - self.true_j

    @property
    def contains(self) -> bool:
        """Whether E ± U (k = 2) holds the truth."""
        return self.joules is not None and abs(self.joules - self.true_j) <= 2 * self.u


@dataclass(frozen=True, slots=True)
class Coverage:
    """Of one front; per cent of the true energy. ``used``: what 95 % of the errors stay below, as a share of U."""

    front: str
    runs: int
    quoted: int
    contained: int
    median_u_pct: float
    error_95_pct: float
    used: float

    @property
    def share(self) -> float:
        return self.contained / self.quoted if self.quoted else math.nan

    @property
    def useful(self) -> float:
        """Median of U over the error that 95 % stay below: at most 1.5 is useful."""
        return self.median_u_pct / self.error_95_pct if self.error_95_pct else math.nan


def cover(front: str, seeds: Sequence[int]) -> tuple[Coverage, list[Trial]]:
    """Trials of every seed, and what they add up to."""
    trials = [trial(front, seed) for seed in seeds]
    quoted = [one for one in trials if one.joules is not None]
    errors = sorted(abs((one.error_j or 0.0) / one.true_j) * 100 for one in quoted)
    ratios = sorted(abs(one.error_j or 0.0) / (2 * one.u) for one in quoted if one.u)
    expanded = median([200 * one.u / one.true_j for one in quoted]) if quoted else math.nan
    contained = sum(one.contains for one in quoted)
    return Coverage(front, len(trials), len(quoted), contained, expanded, _at_95(errors), _at_95(ratios)), trials


def _at_95(ordered: Sequence[float]) -> float:
    return ordered[math.ceil(0.95 * len(ordered)) - 1] if ordered else math.nan


def trial(name: str, seed: int) -> Trial:
    """One load, one instrument, one phase."""
    draw = random.Random(f"{name}/{seed}")
    cls = front_class(name)
    low, high = cls.WATTS
    seconds = math.exp(draw.uniform(math.log(SHORTEST_S), math.log(LONGEST_S)))
    idle_w = draw.uniform(low, low + 0.3 * (high - low))
    parts = draw.choice((1, 1, 2, 4))
    before_s, after_s = draw.uniform(25, 40), draw.uniform(25, 40)
    states = [State(idle_w, before_s)]
    states += [State(draw.uniform(idle_w, high), seconds / parts) for _ in range(parts)]
    states += [State(idle_w, after_s)]
    sim = clock.SimClock(10**12 + draw.randrange(10**9))
    began_ns = sim.now_ns()
    truth = Load(states, began_ns, noise_w=0.01 * (high - low), seed=seed)
    phase = Span("measure", began_ns + int(before_s * 1e9), began_ns + int((before_s + seconds) * 1e9))
    idle = Span("idle", began_ns + 10**9, phase.start_ns - 10**9)
    with clock.use(sim):
        front = cls(truth, seed)
        readings, document = read_all(front, phase.end_ns + int((after_s - 2) * 1e9))
    described = channels([document])
    table = pa.Table.from_pylist([_row(document["name"], reading) for reading in readings], schema=READINGS)
    read = series(table, described)
    wanted = {f"{document['name']}/{channel}" for channel in front.truth_channels()}
    resting = energies(read.values(), idle, {})
    found = [
        (read[name].channel, one) for name, one in energies(read.values(), phase, resting).items() if name in wanted
    ]
    true_j = truth.joules(phase.start_ns, phase.end_ns)
    energy = found[0][1] if len(found) == 1 else total("truth", found[0][1].boundary, found)
    return Trial(seed, seconds, true_j, energy.joules, energy.u, energy.note)


def read_all(front: Any, until_ns: int) -> tuple[list[Reading], dict[str, Any]]:
    """Every reading of ``front`` by its driver until ``until_ns`` of the clock in use, and the meter's document."""
    config = parse_meter({"name": "m", **front.section()})
    make: Any = driver_class(config.kind)
    link = front.link()
    driver = make(config) if link is None else make(config, link=link)
    driver.configure()
    driver.sync()
    driver.start()
    document = driver.describe().document("m", config.kind, driver.poll_s or config.interval)
    continuity = Continuity(driver.poll_s or config.interval)
    readings = list(
        continuity.stamp(reading for batch in _batches(driver, config.interval, until_ns) for reading in batch)
    )
    driver.sync()
    driver.stop()
    driver.close()
    return readings, document


def _batches(driver: Any, interval_s: float, until_ns: int) -> Iterator[list[Reading]]:
    """As the sampler does it: absolute deadlines, a probe of the meter's clock now and then."""
    poll_ns = int((driver.poll_s or 0.0) * 1e9)
    due_ns = clock.now_ns() + poll_ns
    sync_ns = clock.now_ns() + int(SYNC_EVERY_S * 1e9)
    while clock.now_ns() < until_ns:
        if clock.now_ns() >= sync_ns:
            driver.sync()
            sync_ns += int(SYNC_EVERY_S * 1e9)
        clock.sleep_until(due_ns if poll_ns else clock.now_ns())
        yield driver.next(clock.now_ns() + (poll_ns or int(interval_s * 3e9) + 10**9))
        if poll_ns:
            due_ns += (max(0, (clock.now_ns() - due_ns) // poll_ns) + 1) * poll_ns


def _row(meter: str, reading: Reading) -> dict[str, Any]:
    columns = {name: getattr(reading, name) for name in READINGS.names if name not in ("meter", "quality")}
    return {"meter": meter, **columns, "quality": reading.flags}
