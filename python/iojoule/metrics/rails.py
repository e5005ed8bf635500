"""Power of supply rails from a multimeter that scans them: the voltage of a rail and that over a shunt in it.

The two are converted one after the other, so the voltage is brought to the instant of the shunt before they are
multiplied: P = V·V_sh/R, less V_sh²/R where V is taken upstream of the shunt. Rails are multiplied one by one and then
added: Σ V·I, never ΣV·ΣI. Resistors in cut supply lines: Oldham (2005), section 5.1; uncertainty: JCGM 100:2008, 5.1.2.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .integrate import GAP_FACTOR, usual_interval
from .metric import Metric, Span

if TYPE_CHECKING:
    from .channels import Series

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

BURDEN_LIMIT_PCT = 5.0
"""What ATX allows a rail to be off by; a shunt that takes more starves the drive it is to measure."""


@dataclass(frozen=True, slots=True)
class Rail:
    """A shunt of `ohm` in a rail, as the meter's description has it; `voltage` and `shunt` are channels of that meter.

    Standard uncertainties: `u_ohm_rel` of the resistance, `u_temperature_rel` of its change with temperature,
    `u_zero_v` of the voltage over the shunt without a current, which is taken to be `zero_v`.
    """

    id: str
    voltage: str
    shunt: str
    ohm: float
    upstream: bool = False
    zero_v: float = 0.0
    u_ohm_rel: float = 0.0
    u_temperature_rel: float = 0.0
    u_zero_v: float = 0.0

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Rail:
        """From the entry in `rails` of a meter's description."""
        return cls(**{one.name: document[one.name] for one in fields(cls) if one.name in document})


@dataclass(frozen=True, slots=True)
class Instants:
    """Samples of one channel by time, with the systematic standard uncertainty `u_rel·|x| + u_abs` of their meter."""

    at_ns: Ints
    value: Floats
    bad: Bools
    u_rel: float | None = None
    u_abs: float | None = None

    @property
    def known(self) -> bool:
        return self.u_rel is not None or self.u_abs is not None

    def u(self, value: Floats) -> Floats:
        """Standard uncertainty of values of this channel."""
        return np.asarray((self.u_rel or 0.0) * np.abs(value) + (self.u_abs or 0.0), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class RailPower:
    """A rail at the instants of its shunt's samples.

    `terms` are standard uncertainties of the power by source, W, with the sign of their effect, so that the same
    integral that makes joules of watts makes joules of them. Empty where the meter's accuracy is not known.
    """

    at_ns: Ints
    watts: Floats
    amps: Floats
    supply_v: Floats
    shunt_v: Floats
    bad: Bools
    terms: Mapping[str, Floats] = field(default_factory=dict)

    @property
    def lost_w(self) -> Floats:
        """What the shunt itself turns into heat."""
        return np.asarray(self.shunt_v * self.amps, dtype=np.float64)

    @property
    def burden_pct(self) -> Floats:
        """What the shunt takes from the voltage of the supply, %."""
        share = np.full_like(self.shunt_v, np.nan)
        np.divide(100 * np.abs(self.shunt_v), np.abs(self.supply_v), out=share, where=self.supply_v != 0)
        return share


def power(rail: Rail, volts: Instants, shunt: Instants) -> RailPower:
    """Power of the load behind `rail` at every sample of the shunt that two samples of the voltage bracket."""
    v, bad, joined = at_one_instant(volts, shunt.at_ns)
    v, bad = v[joined], (bad | shunt.bad)[joined]
    raw_v = shunt.value[joined]
    shunt_v = raw_v - rail.zero_v
    amps = shunt_v / rail.ohm
    supply_v, load_v = (v, v - shunt_v) if rail.upstream else (v + shunt_v, v)
    watts = load_v * amps
    # ∂P/∂V = I, ∂P/∂V_sh = slope, ∂P/∂R = −P/R.
    slope = (load_v - shunt_v if rail.upstream else load_v) / rail.ohm
    terms: dict[str, Floats] = {}
    if volts.known and shunt.known:
        of_v = amps * volts.u(v)
        gain_of_shunt = slope * (shunt.u_rel or 0.0) * raw_v
        # Two ranges of one meter err independently. The rail's voltage hardly changes, so all of its error goes with
        # the current, as a gain does; `gain + offset` is the root of the sum of squares of the two channels.
        gain = np.hypot(of_v, gain_of_shunt)
        both = np.hypot(of_v, slope * shunt.u(raw_v))
        terms = {
            "gain": np.copysign(gain, watts),
            "offset": both - gain,
            f"shunt {rail.id}": watts * rail.u_ohm_rel,
            f"shunt {rail.id}, temperature": watts * rail.u_temperature_rel,
            f"shunt {rail.id}, zero": slope * rail.u_zero_v,
        }
        terms = {source: term for source, term in terms.items() if source in ("gain", "offset") or term.any()}
    return RailPower(shunt.at_ns[joined], watts, amps, supply_v, shunt_v, bad, terms)


def at_one_instant(samples: Instants, when_ns: Ints) -> tuple[Floats, Bools, Bools]:
    """`(value, bad, joined)` of a channel at the instants of another, on straight lines between its samples.

    Nothing is carried over a gap or beyond the ends: there `joined` is false. What a bad sample touches is bad.
    """
    at_ns = samples.at_ns
    if not len(at_ns) or not len(when_ns):
        nothing = np.zeros(len(when_ns), dtype=bool)
        return np.full(len(when_ns), np.nan), nothing, nothing
    after = np.searchsorted(at_ns, when_ns, side="left").clip(0, len(at_ns) - 1)
    exact = at_ns[after] == when_ns
    before = np.where(exact, after, np.maximum(after - 1, 0))
    origin = int(at_ns[0])
    seconds, when_s = (at_ns - origin) / 1e9, (when_ns - origin) / 1e9
    near = seconds[after] - seconds[before] <= GAP_FACTOR * usual_interval(seconds)
    joined = exact | ((at_ns[before] < when_ns) & (when_ns < at_ns[after]) & near)
    value = np.interp(when_s, seconds, samples.value)
    return value, samples.bad[before] | samples.bad[after], joined


def burdens(series: Iterable[Series], span: Span) -> list[Metric]:
    """The greatest burden of every shunt within a phase; a note where it is beyond what the supply may be off by."""
    found = []
    for one in series:
        if one.burden_pct is None:
            continue
        inside = (one.start_ns >= span.start_ns) & (one.start_ns <= span.end_ns) & ~one.bad
        shares = one.burden_pct[inside & np.isfinite(one.burden_pct)]
        greatest = float(shares.max()) if len(shares) else None
        note = "greatest share of the rail's voltage that the shunt took"
        if greatest is None:
            note = "no reading"
        elif greatest > BURDEN_LIMIT_PCT:
            note += (
                f"; above the {BURDEN_LIMIT_PCT:g} % that ATX allows: the drive was fed too little, use a smaller shunt"
            )
        found.append(Metric("burden", greatest, "%", f"channel:{one.channel.name}", boundary="dc_rail", note=note))
    return found
