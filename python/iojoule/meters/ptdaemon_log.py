"""The line PTDaemon (SPEC's power and temperature daemon) writes for a sample, and its logs.

``Time,12-23-2020 10:21:51.496,Watts,23.430000,Volts,228.370000,Amps,0.204280,PF,0.502300,Mark,name``, seen in the logs
and the code of mlcommons/power-dev. The stamp is month-day-year in local time of the daemon's machine, without zone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from iojoule.meters.base import Reading

STAMP = "%m-%d-%Y %H:%M:%S.%f"
#: Name in the line → (channel and quantity, unit).
QUANTITIES = {
    "Watts": ("power", "W"),
    "Volts": ("voltage", "V"),
    "Amps": ("current", "A"),
    "PF": ("power_factor", "1"),
}
#: What the daemon writes for a value it does not have.
UNKNOWN = -1.0
#: Samples further apart than this many usual intervals have a gap between them.
GAP = 1.5
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Sample:
    """One line. ``stamp_ns`` is the wall clock of the daemon, its local time counted as if it were UTC.

    ``values`` holds Watts, Volts, Amps and PF by name; those of a further channel are ``Ch1.Watts`` and so on.
    """

    stamp_ns: int
    values: Mapping[str, float]
    mark: str = ""


def parse(line: str) -> Sample:
    """The sample in ``line``; ValueError when it is not one."""
    words = line.strip().split(",")
    if len(words) < 4 or words[0] != "Time":
        raise ValueError(f"{line[:60]!r} is no sample of PTDaemon")
    values: dict[str, float] = {}
    mark, channel, rest = "", "", iter(words[2:])
    for name in rest:
        if name.startswith("Ch") and name[2:].isdigit():
            channel = f"{name}."
            continue
        if (value := next(rest, None)) is None:
            raise ValueError(f"{line[:60]!r}: {name} has no value")
        if name == "Mark":
            mark = value
        else:
            values[channel + name] = float(value)
    if "Watts" not in values:
        raise ValueError(f"{line[:60]!r} has no Watts")
    return Sample(stamp_ns(words[1]), values, mark)


def stamp_ns(text: str) -> int:
    """``12-23-2020 10:21:51.496`` in ns; ValueError when it is no stamp."""
    since = datetime.strptime(text.strip(), STAMP).replace(tzinfo=UTC) - _EPOCH
    return (since // timedelta(microseconds=1)) * 1000


def stamp(at_ns: int) -> str:
    """``at_ns`` as the daemon writes it, cut to a millisecond."""
    return (_EPOCH + timedelta(microseconds=at_ns // 1000)).strftime(STAMP)[:-3]


def written(sample: Sample) -> str:
    """The line of a sample with one channel."""
    pairs = ",".join(f"{name},{value:.6f}" for name, value in sample.values.items())
    return f"Time,{stamp(sample.stamp_ns)},{pairs},Mark,{sample.mark or 'notset'}"


def samples(lines: Iterable[str]) -> Iterator[Sample]:
    """Every sample of a log; lines that are none (the daemon's own messages) are passed over."""
    for line in lines:
        if line.startswith("Time,"):
            yield parse(line)


def readings(of: Iterable[Sample], u_rel: float | None = None) -> list[Reading]:
    """Samples as windows on the daemon's clock: from the stamp before to the own one.

    The first, and one after a gap, is taken to be as long as the usual interval. ``u_rel`` is the relative standard
    uncertainty of power. Unknown values are sentinels, never power.
    """
    all_of = list(of)
    steps = sorted(b.stamp_ns - a.stamp_ns for a, b in pairwise(all_of))
    usual_ns = steps[len(steps) // 2] if steps else 10**9
    found: list[Reading] = []
    before_ns: int | None = None
    for number, sample in enumerate(all_of):
        gap = before_ns is not None and not 0 < sample.stamp_ns - before_ns <= GAP * usual_ns
        start_ns = sample.stamp_ns - usual_ns if gap or before_ns is None else before_ns
        for name, (quantity, unit) in QUANTITIES.items():
            if (value := sample.values.get(name)) is None:
                continue
            flags = {"sentinel", "invalid"} if value == UNKNOWN else set()
            flags |= {"gap_before"} if gap else set()
            u = math.nan if u_rel is None or quantity != "power" else u_rel * abs(value)
            shown = math.nan if "invalid" in flags else value
            u_time_ns = 288_675  # a stamp is cut to a millisecond: 1 ms/√12
            found.append(
                Reading(
                    quantity, quantity, unit, start_ns, sample.stamp_ns, u_time_ns, shown, u, frozenset(flags), number
                )
            )
        before_ns = sample.stamp_ns
    return found


def table(lines: Sequence[str]) -> tuple[tuple[str, ...], list[list[str]]] | None:
    """A log as names and rows of cells, with ISO stamps and nothing where a value is unknown; None where it is none."""
    if not any(line.startswith("Time,") and ",Watts," in line for line in lines):
        return None
    rows = []
    for sample in samples(lines):
        shown = (sample.values.get(name, UNKNOWN) for name in QUANTITIES)
        at = (_EPOCH + timedelta(microseconds=sample.stamp_ns // 1000)).replace(tzinfo=None)
        rows.append([at.isoformat(" ", "milliseconds"), *("" if one == UNKNOWN else repr(one) for one in shown)])
    return ("time", "power (W)", "voltage (V)", "current (A)", "power factor"), rows


def disagreement_w(sample: Sample) -> float:
    """``|V·I·PF − W|`` beyond what the last digits of the four explain (0.01 V, 10 µA, 0.0001, 0.01 W); 0 when none."""
    watts, volts, amps, factor = (sample.values[name] for name in QUANTITIES)
    product = volts * amps * factor
    digits = 0.005 + 0.005 * amps * factor + 5e-6 * volts * factor + 5e-5 * volts * amps
    return max(0.0, abs(product - watts) - digits)
