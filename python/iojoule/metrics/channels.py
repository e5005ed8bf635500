"""Which readings belong to which channel, and which channels may be added without counting a joule twice.

A channel that another one `contains` is left out of the sum (nested RAPL domains, a drive behind a measured supply).
A rail of a scanning multimeter is a channel made of two others, its voltage and that over its shunt (`rails`).
Boundaries are never mixed silently: a modelled watt is only ever added to modelled watts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from . import rails
from .metric import MODELLED

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

REJECTING = frozenset({"overload", "peak_over", "wrap_uncertain"})
"""A phase with such a reading has no energy."""
EMPTY = frozenset({"invalid", "sentinel"})
"""Such a reading is no measurement: it covers nothing, and what it leaves open is a gap."""


@dataclass(frozen=True, slots=True)
class Channel:
    """One channel of one meter, from its description in the manifest."""

    meter: str
    id: str
    kind: str
    unit: str
    boundary: str
    role: str = "other"
    drive: str | None = None
    contains: tuple[str, ...] = ()
    u_rel: float | None = None
    u_abs: float | None = None
    u_digit: float | None = None
    made_of: tuple[rails.Rail, Channel, Channel] | None = None
    """A rail with its channels of voltage and of shunt voltage."""

    @property
    def name(self) -> str:
        return f"{self.meter}/{self.id}"

    @property
    def modelled(self) -> bool:
        return self.boundary == MODELLED


@dataclass(frozen=True, slots=True)
class Series:
    """The readings of one channel, by start. Values are W for `instant` and `window_mean`, J per step for `counter`."""

    channel: Channel
    start_ns: Ints
    end_ns: Ints
    value: Floats
    u_value: Floats
    u_time_s: float
    bad: npt.NDArray[np.bool_] = field(repr=False)
    flags: tuple[str, ...] = ()
    """Every quality flag that occurs, sorted."""
    terms: Mapping[str, Floats] = field(default_factory=dict)
    """Standard uncertainty of every value by systematic source, W, signed as its effect; of instants made of others."""
    burden_pct: Floats | None = None
    """What a shunt took from the voltage of its rail."""
    u_times_s: Floats | None = None
    """Standard uncertainty of each window in time; `u_time_s` is the greatest of all."""

    def seconds(self, origin_ns: int) -> tuple[Floats, Floats]:
        """Window starts and ends in seconds after `origin_ns`."""
        return (self.start_ns - origin_ns) / 1e9, (self.end_ns - origin_ns) / 1e9

    def u_time_near(self, start_ns: int, end_ns: int) -> float:
        """The greatest uncertainty in time, s, of the windows that touch a stretch and of the two on either side of it:
        what was not known of a window long before does not blur the edges here."""
        if self.u_times_s is None or not len(self.u_times_s):
            return self.u_time_s
        first = max(0, int(np.searchsorted(self.end_ns, start_ns, side="right")) - 2)
        last = int(np.searchsorted(self.start_ns, end_ns, side="left")) + 2
        near = self.u_times_s[first:last]
        return float(near.max()) if len(near) else self.u_time_s

    def watts(self) -> Floats:
        """Power in each window; counter steps divided by their length."""
        if self.channel.kind != "counter":
            return self.value
        length = (self.end_ns - self.start_ns) / 1e9
        return np.divide(self.value, length, out=np.full_like(self.value, np.nan), where=length > 0)


def channels(meters: Iterable[Mapping[str, Any]]) -> list[Channel]:
    """Channels that carry power or energy, in the order of the descriptions."""
    found = []
    for meter in meters:
        described = meter.get("channels", ())
        found += [_channel(meter, one) for one in described if one.get("quantity", "power") in ("power", "energy")]
        by_id = {str(one["id"]): _channel(meter, one) for one in described}
        for entry in meter.get("rails", ()):
            rail = rails.Rail.of(entry)
            rated = {"quantity": "power", "kind": "instant", "unit": "W", "boundary": "dc_rail"}
            one = _channel(meter, {**entry, **rated})
            found.append(replace(one, made_of=(rail, by_id[rail.voltage], by_id[rail.shunt])))
    return found


def _channel(meter: Mapping[str, Any], one: Mapping[str, Any]) -> Channel:
    counter = one.get("kind") == "counter" or one.get("quantity") == "energy"
    return Channel(
        meter=str(meter["name"]),
        id=str(one["id"]),
        kind="counter" if counter else str(one.get("kind", "window_mean")),
        unit=str(one.get("unit", "J" if counter else "W")),
        boundary=str(one.get("boundary", "")),
        role=str(one.get("role", "other")),
        drive=one.get("drive"),
        contains=tuple(one.get("contains", ())),
        u_rel=one.get("u_rel"),
        u_abs=one.get("u_abs"),
        u_digit=one.get("u_digit"),
    )


def series(readings: pa.Table, of: Sequence[Channel]) -> dict[str, Series]:
    """Readings by channel name, sorted by start. Stale repeats are no samples, and what is no measurement has no value:
    both are left out here, once for all."""
    result = {}
    for channel in of:
        if channel.made_of is not None:
            result[channel.name] = _rail(readings, channel, *channel.made_of)
        else:
            result[channel.name] = _read(readings, channel, "energy" if channel.kind == "counter" else "power")
    return result


def _read(readings: pa.Table, channel: Channel, quantity: str) -> Series:
    mask = pc.and_(
        pc.and_(
            pc.equal(pc.cast(readings["meter"], pa.string()), channel.meter),
            pc.equal(pc.cast(readings["channel"], pa.string()), channel.id),
        ),
        pc.equal(pc.cast(readings["quantity"], pa.string()), quantity),
    )
    rows = readings.filter(mask).sort_by([("start_ns", "ascending"), ("end_ns", "ascending")])
    quality = [str(text or "").split() for text in rows["quality"].to_pylist()]
    value = rows["value"].to_numpy().astype(np.float64)
    bad = np.array([not REJECTING.isdisjoint(words) for words in quality], dtype=bool)
    empty = np.array([not EMPTY.isdisjoint(words) for words in quality], dtype=bool) | ~np.isfinite(value)
    keep = np.array(["stale" not in words for words in quality], dtype=bool) & (bad | ~empty)
    u_time = rows["u_time_ns"].to_numpy()
    return Series(
        channel,
        rows["start_ns"].to_numpy().astype(np.int64)[keep],
        rows["end_ns"].to_numpy().astype(np.int64)[keep],
        value[keep],
        rows["u_value"].to_numpy().astype(np.float64)[keep],
        float(u_time.max()) / 1e9 if len(u_time) else 0.0,
        bad[keep],
        tuple(sorted({word for words in quality for word in words})),
        u_times_s=u_time[keep].astype(np.float64) / 1e9,
    )


def _rail(readings: pa.Table, channel: Channel, rail: rails.Rail, volts: Channel, shunt: Channel) -> Series:
    read = _read(readings, volts, "voltage"), _read(readings, shunt, "shunt_voltage")
    of = rails.power(
        rail, *(rails.Instants(s.start_ns, s.value, s.bad, s.channel.u_rel, s.channel.u_abs) for s in read)
    )
    u_time_s = max(one.u_time_s for one in read)
    flags = tuple(sorted({flag for one in read for flag in one.flags}))
    unknown = np.full_like(of.watts, np.nan)
    return Series(
        channel,
        of.at_ns,
        of.at_ns,
        of.watts,
        unknown,
        u_time_s,
        of.bad,
        flags,
        terms=of.terms,
        burden_pct=of.burden_pct,
    )


def cut(of: Sequence[Channel], roles: Iterable[str] | None = None) -> list[Channel]:
    """The channels of these roles that may be added: none lies inside another of the result."""
    wanted = None if roles is None else set(roles)
    chosen = [channel for channel in of if wanted is None or channel.role in wanted]
    inside = _reached(chosen, of)
    return [channel for channel in chosen if channel.name not in inside]


def _reached(chosen: Sequence[Channel], of: Sequence[Channel]) -> set[str]:
    """Everything inside any chosen channel, following `contains` through channels that were not chosen."""
    by_name = {channel.name: channel for channel in of}
    reached: set[str] = set()
    waiting = [channel.name for channel in chosen]
    while waiting:
        channel = by_name[waiting.pop()]
        for entry in channel.contains:
            name = entry if entry in by_name else f"{channel.meter}/{entry}"
            if name in by_name and name not in reached:
                reached.add(name)
                waiting.append(name)
    return reached


def scopes(of: Sequence[Channel]) -> list[tuple[str, str, list[Channel]]]:
    """Every total worth naming: (scope, boundary, channels to add).

    "drive:X", "drives" and "system", measured and modelled apart. The system is what channels of the role `system` say;
    without one it is the sum of drives, server and processor, as in the framework of Oldham (2005), section 4.6.
    """
    result = []
    for group in ([c for c in of if not c.modelled], [c for c in of if c.modelled]):
        for drive in sorted({c.drive for c in group if c.role == "drive" and c.drive}):
            parts = cut([c for c in group if c.role == "drive" and c.drive == drive])
            result.append((f"drive:{drive}", _boundary(parts), parts))
        drives = cut(group, {"drive"})
        if drives:
            result.append(("drives", _boundary(drives), drives))
        system = cut(group, {"system"}) or cut(group, {"drive", "server", "cpu"}) or cut(group)
        if system:
            result.append(("system", _boundary(system), system))
    return result


def _boundary(of: Iterable[Channel]) -> str:
    return "+".join(sorted({channel.boundary for channel in of}))
