"""Rule sets of benchmarks as tables, and the verdict on a run by each rule: kept, broken or unknown.

A limit that was not read in the standard itself is `unverified` and says so wherever it is shown: it stands for what is
known second-hand or from memory, and an experiment may put its own number in its place. See docs/profiles.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class ChannelFacts:
    """What is known of a channel that counts in a run's energy; None where nothing is."""

    name: str
    boundary: str
    mean_w: float | None = None
    half_width_w: float | None = None
    """Sum of the specified limits of error at the mean power, W."""
    interval_s: float | None = None
    crest_factor: float | None = None
    calibrated_days: float | None = None
    """Age of the calibration when the run began."""
    resolution_w: float | None = None
    coverage: float | None = None
    invalid_share: float | None = None
    unknown_share: float | None = None
    """Of readings without an uncertainty."""
    ranges_fixed: bool | None = None


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What is known of a run."""

    channels: Sequence[ChannelFacts]
    measure_s: float | None = None
    response_ms: float | None = None
    ranged_before: bool | None = None
    same_run: bool | None = None
    clock_u_s: float | None = None
    inlet_c: float | None = None


Bound = Literal["at most", "at least", "is"]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: `id` names the figure it looks at and the key by which an experiment overrides its limit."""

    id: str
    what: str
    bound: Bound
    limit: float
    unit: str = ""
    verified: bool = False

    def holds(self, figure: float) -> bool:
        if math.isnan(figure):
            return False
        slack = 1e-9 * abs(self.limit)
        return {
            "at most": figure <= self.limit + slack,
            "at least": figure >= self.limit - slack,
            "is": figure == self.limit,
        }[self.bound]


@dataclass(frozen=True, slots=True)
class Profile:
    name: str
    about: str
    rules: tuple[Rule, ...]

    def with_limits(self, name: str, limits: Mapping[str, float]) -> Profile:
        """The same rules under another name with some limits of one's own; ValueError for a rule it does not have."""
        if unknown := set(limits) - {rule.id for rule in self.rules}:
            known = ", ".join(rule.id for rule in self.rules)
            raise ValueError(f"profile {self.name} has no limit {', '.join(sorted(unknown))} (there are: {known})")
        rules = (
            replace(rule, limit=float(limits[rule.id]), verified=True) if rule.id in limits else rule
            for rule in self.rules
        )
        return Profile(name, self.about, tuple(rules))


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a run did with one rule; `figure` is the worst of its channels, `of` the channel that had it."""

    profile: str
    rule: str
    what: str
    state: Literal["kept", "broken", "unknown"]
    figure: float | None
    limit: float
    bound: str
    unit: str
    verified: bool
    of: str
    text: str


_COVERED = Rule("coverage_pct", "time covered by readings", "at least", 98, "%", verified=True)
_CREST = Rule("crest_factor", "crest factor of the analyzer", "at least", 3)
_CALIBRATED = Rule("calibrated_days", "age of the calibration", "at most", 366, "days")
_ONE_PERCENT = Rule("uncertainty_pct", "sum of the analyzer's specified errors", "at most", 1, "%")
_FIXED = Rule("ranges_fixed", "ranges fixed while measuring", "is", 1)

PROFILES = {
    profile.name: profile
    for profile in (
        Profile(
            "spec",
            "SPECpower run and reporting rules, as quoted second-hand",
            (
                _ONE_PERCENT,
                Rule("interval_s", "time between two readings", "at most", 1, "s"),
                _CREST,
                _CALIBRATED,
                _FIXED,
                Rule("invalid_pct", "readings that are invalid", "at most", 1, "%"),
                Rule("unknown_pct", "readings of unknown uncertainty", "at most", 5, "%"),
                Rule("ac_wall", "power taken at the wall socket", "is", 1),
                Rule("inlet_c", "air temperature at the inlet", "at least", 20, "°C"),
                _COVERED,
            ),
        ),
        Profile(
            "mlperf",
            "MLPerf Power: inference_policies/power_measurement.adoc and the checker of mlcommons/power-dev",
            (
                replace(_ONE_PERCENT, verified=True),
                Rule("interval_s", "time between two readings", "at most", 1, "s", verified=True),
                Rule("ranged_before", "a ranging run before the measured one", "is", 1, verified=True),
                replace(_FIXED, verified=True),
                Rule("same_run", "power and performance of the same run", "is", 1, verified=True),
                Rule("clock_s", "uncertainty of the clocks", "at most", 0.4, "s", verified=True),
                _COVERED,
            ),
        ),
        Profile(
            "snia_emerald",
            "SNIA Emerald power efficiency measurement, as remembered and quoted second-hand",
            (
                Rule("interval_s", "time between two readings", "at most", 5, "s"),
                Rule("measure_s", "length of the measurement", "at least", 1800, "s"),
                Rule("response_ms", "mean response time", "at most", 20, "ms"),
                _CALIBRATED,
                Rule("same_run", "power and performance of the same run", "is", 1),
                _COVERED,
            ),
        ),
        Profile(
            "energy_star",
            "ENERGY STAR requirements on power meters, as remembered",
            (
                Rule("resolution", "resolution, in those allowed at the power (10 mW, 0.1 W from 10 W, 1 W from 100 W)",
                     "at most", 1),
                Rule("uncertainty_level", "specified errors, in those allowed (2 % from 10 W on, 20 mW below)",
                     "at most", 1),
                _CREST,
                _CALIBRATED,
                _COVERED,
            ),
        ),
    )
}  # fmt: skip


def profile_of(chosen: str | Mapping[str, Any]) -> Profile:
    """The profile of a name, or of a table with `name`, `base` and `limits`; ValueError where there is none."""
    name = chosen if isinstance(chosen, str) else str(chosen["base"])
    if name not in PROFILES:
        raise ValueError(f"no profile is named {name!r} (there are: {', '.join(PROFILES)})")
    if isinstance(chosen, str):
        return PROFILES[name]
    return PROFILES[name].with_limits(str(chosen["name"]), chosen.get("limits") or {})


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def _flag(value: bool | None) -> float | None:
    return None if value is None else float(value)


def _uncertainty_pct(one: ChannelFacts) -> float | None:
    if one.half_width_w is None or not one.mean_w:
        return None
    return 100 * one.half_width_w / abs(one.mean_w)


def _uncertainty_level(one: ChannelFacts) -> float | None:
    if one.half_width_w is None or one.mean_w is None:
        return None
    return one.half_width_w / (0.02 * abs(one.mean_w) if abs(one.mean_w) >= 10 else 0.02)


def _resolution(one: ChannelFacts) -> float | None:
    if one.resolution_w is None or one.mean_w is None:
        return None
    power = abs(one.mean_w)
    return one.resolution_w / (0.01 if power < 10 else 0.1 if power < 100 else 1.0)


OF_CHANNEL: Mapping[str, Callable[[ChannelFacts], float | None]] = {
    "uncertainty_pct": _uncertainty_pct,
    "uncertainty_level": _uncertainty_level,
    "resolution": _resolution,
    "interval_s": lambda one: one.interval_s,
    "crest_factor": lambda one: one.crest_factor,
    "calibrated_days": lambda one: one.calibrated_days,
    "coverage_pct": lambda one: _percent(one.coverage),
    "invalid_pct": lambda one: _percent(one.invalid_share),
    "unknown_pct": lambda one: _percent(one.unknown_share),
    "ranges_fixed": lambda one: _flag(one.ranges_fixed),
    "ac_wall": lambda one: float(one.boundary == "ac_wall"),
}
OF_RUN: Mapping[str, Callable[[RunFacts], float | None]] = {
    "measure_s": lambda run: run.measure_s,
    "response_ms": lambda run: run.response_ms,
    "ranged_before": lambda run: _flag(run.ranged_before),
    "same_run": lambda run: _flag(run.same_run),
    "clock_s": lambda run: run.clock_u_s,
    "inlet_c": lambda run: run.inlet_c,
}


def judge(profile: Profile, run: RunFacts) -> list[Verdict]:
    """The verdict on every rule of a profile, by the worst channel; unknown where any channel's figure is not known."""
    return [_judged(profile.name, rule, _figures(rule, run)) for rule in profile.rules]


def _figures(rule: Rule, run: RunFacts) -> list[tuple[str, float | None]]:
    if rule.id in OF_RUN:
        return [("", OF_RUN[rule.id](run))]
    return [(one.name, OF_CHANNEL[rule.id](one)) for one in run.channels]


def _judged(profile: str, rule: Rule, figures: Iterable[tuple[str, float | None]]) -> Verdict:
    every = list(figures)
    known = [(of, figure) for of, figure in every if figure is not None]
    broken = [(of, figure) for of, figure in known if not rule.holds(figure)]
    unknown = [of for of, figure in every if figure is None]
    worst = max if rule.bound == "at most" else min
    if broken or (known and not unknown):
        of, figure = worst(broken or known, key=lambda each: each[1])
        state: Literal["kept", "broken", "unknown"] = "broken" if broken else "kept"
    else:
        of, figure, state = (unknown[0] if unknown else ""), None, "unknown"
    return Verdict(
        profile, rule.id, rule.what, state, figure, rule.limit, rule.bound, rule.unit, rule.verified, of,
        _told(profile, rule, state, of, figure),
    )  # fmt: skip


def _told(profile: str, rule: Rule, state: str, of: str, figure: float | None) -> str:
    unit = f" {rule.unit}" if rule.unit else ""
    if rule.bound == "is":
        seen = {"kept": "yes", "broken": "no"}.get(state, "not known")
        limit = ""
    else:
        seen = "not known" if figure is None else f"{figure:.4g}{unit}"
        limit = f", {rule.bound} {rule.limit:g}{unit}"
    where = f" ({of})" if of and state != "kept" else ""
    doubt = "" if rule.verified else "; rule unverified"
    return f"{profile}: {state}: {rule.what}: {seen}{where}{limit}{doubt}"
