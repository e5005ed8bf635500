"""The nouns of this room: a span of host time, a number with its uncertainty, and the estimate over repeats.

Every uncertainty ``u`` is one standard deviation (k = 1); ``U = k u`` is what is quoted. GUM, JCGM 100:2008.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

COVERAGE_FACTOR = 2.0
"""k of every quoted U: about 95 % where the budget is near normal."""

MODELLED = "modelled"


@dataclass(frozen=True, slots=True)
class Span:
    """A phase of a run, `[start_ns, end_ns)` of host time."""

    name: str
    start_ns: int
    end_ns: int

    def __post_init__(self) -> None:
        if self.end_ns < self.start_ns:
            raise ValueError(f"phase {self.name!r} ends {self.start_ns - self.end_ns} ns before it starts")

    @property
    def seconds(self) -> float:
        return (self.end_ns - self.start_ns) / 1e9


@dataclass(frozen=True, slots=True)
class Limits:
    """What a run must keep to be believed. Stretch is replayed span over trace span; lateness is issued − planned."""

    stretch: float = 1.002
    lateness_p99_ns: float = 5e6
    coverage: float = 0.98

    @classmethod
    def of(cls, document: Mapping[str, float] | None) -> Limits:
        """From the `limits` of a manifest; keys it does not know are left alone."""
        known = {key: float(value) for key, value in (document or {}).items() if key in cls.__dataclass_fields__}
        return cls(**known)


@dataclass(frozen=True, slots=True)
class Metric:
    """A number of one run with its unit. `value` is None where there is only a reason, which stands in `note`.

    `scope` says what it belongs to: "" the requests, else "system", "drives", "drive:sda", "channel:meter/id" or, for
    errors, the class. `budget` holds standard uncertainties by source, in `unit`.
    """

    name: str
    value: float | None
    unit: str
    scope: str = ""
    u: float | None = None
    k: float = COVERAGE_FACTOR
    budget: Mapping[str, float] = field(default_factory=dict)
    boundary: str = ""
    note: str = ""

    @property
    def expanded(self) -> float | None:
        """U = k·u, or None where nothing is known about the uncertainty."""
        return None if self.u is None else self.k * self.u

    @property
    def key(self) -> tuple[str, str, str]:
        """What must agree for two metrics to be the same quantity: name, scope and boundary."""
        return (self.name, self.scope, self.boundary)


@dataclass(frozen=True, slots=True)
class Estimate:
    """One quantity over the repeats of a step: mean, spread and Student-t intervals (half-widths) of the mean.

    `budget_expanded` is what the instruments alone allow; `expanded`, which is quoted, is the larger of it and the
    95 % interval of the repeats.
    """

    name: str
    unit: str
    scope: str
    boundary: str
    n: int
    mean: float | None
    low: float | None
    high: float | None
    sd: float | None
    ci90: float | None
    ci95: float | None
    budget_expanded: float | None
    budget: Mapping[str, float]
    note: str = ""

    @property
    def expanded(self) -> float | None:
        """max(budget, repeats); None where neither is known."""
        known = [half for half in (self.budget_expanded, self.ci95) if half is not None]
        return max(known) if known else None

    @property
    def key(self) -> tuple[str, str, str]:
        return (self.name, self.scope, self.boundary)


@dataclass(frozen=True, slots=True)
class Difference:
    """One quantity of two groups of runs: `percent` = 100·(other/baseline − 1).

    `percent_ci95` is the half-width of its 95 % interval. `significant` is None where one repeat each allows no test.
    """

    name: str
    unit: str
    scope: str
    boundary: str
    baseline: float
    other: float
    percent: float | None
    percent_ci95: float | None
    p_value: float | None
    significant: bool | None
    better: bool | None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """A plain sentence about a run; `level` is "ok", "note", "warning" or "fail"."""

    level: str
    text: str
