"""Rules of benchmarks, each with its verdict: kept, broken or unknown, with the figure and the limit."""

from __future__ import annotations

from dataclasses import replace

import pytest

from iojoule.metrics.profiles import OF_CHANNEL, OF_RUN, PROFILES, ChannelFacts, RunFacts, judge, profile_of

GOOD = ChannelFacts(
    "meter/power", "ac_wall", mean_w=18.0, half_width_w=0.048, interval_s=0.25, crest_factor=3.0, calibrated_days=100.0,
    resolution_w=0.001, coverage=1.0, invalid_share=0.0, unknown_share=0.0, ranges_fixed=True,
)  # fmt: skip
RUN = RunFacts(
    (GOOD,), measure_s=1800.0, response_ms=5.0, ranged_before=True, same_run=True, clock_u_s=0.0003, inlet_c=22.0
)


def states(name: str, run: RunFacts) -> dict[str, str]:
    return {verdict.rule: verdict.state for verdict in judge(PROFILES[name], run)}


@pytest.mark.parametrize("name", PROFILES)
def test_a_run_that_has_everything_keeps_every_rule(name: str) -> None:
    assert set(states(name, RUN).values()) == {"kept"}


@pytest.mark.parametrize("name", PROFILES)
def test_what_is_not_known_is_neither_kept_nor_broken(name: str) -> None:
    bare = RunFacts((ChannelFacts("meter/power", "ac_wall"),))
    assert set(states(name, bare).values()) <= {"unknown", "kept"}
    assert {rule for rule, state in states(name, bare).items() if state == "kept"} <= {"ac_wall"}


@pytest.mark.parametrize(
    ("name", "change", "rule"),
    [
        # 32.7 W in the range 300 V x 1 A of a WT210 is 1.02 %; in 150 V x 0.5 A it is 0.33 %.
        ("spec", {"mean_w": 32.7, "half_width_w": 0.3327}, "uncertainty_pct"),
        ("spec", {"interval_s": 2.0}, "interval_s"),
        ("spec", {"crest_factor": 1.5}, "crest_factor"),
        ("spec", {"calibrated_days": 400.0}, "calibrated_days"),
        ("spec", {"ranges_fixed": False}, "ranges_fixed"),
        ("spec", {"invalid_share": 0.02}, "invalid_pct"),
        ("spec", {"unknown_share": 0.06}, "unknown_pct"),
        ("spec", {"boundary": "dc_rail"}, "ac_wall"),
        ("mlperf", {"coverage": 0.97}, "coverage_pct"),
        ("snia_emerald", {"interval_s": 6.0}, "interval_s"),
        ("energy_star", {"mean_w": 9.0, "half_width_w": 0.01, "resolution_w": 0.1}, "resolution"),
        ("energy_star", {"mean_w": 5.0, "half_width_w": 0.03}, "uncertainty_level"),
    ],
)
def test_a_channel_that_breaks_a_rule_breaks_it_alone(name: str, change: dict[str, object], rule: str) -> None:
    broken = replace(RUN, channels=(GOOD, replace(GOOD, name="meter/other", **change)))  # type: ignore[arg-type]
    assert {each for each, state in states(name, broken).items() if state == "broken"} == {rule}
    (verdict,) = (v for v in judge(PROFILES[name], broken) if v.rule == rule)
    assert verdict.of == "meter/other" and "meter/other" in verdict.text


def test_a_resolution_of_a_tenth_is_allowed_from_ten_watts_on() -> None:
    coarse = replace(RUN, channels=(replace(GOOD, mean_w=10.0, resolution_w=0.1, half_width_w=0.1),))
    assert states("energy_star", coarse)["resolution"] == "kept"


@pytest.mark.parametrize(
    ("change", "rule"),
    [({"ranged_before": False}, "ranged_before"), ({"same_run": False}, "same_run"), ({"clock_u_s": 0.5}, "clock_s")],
)
def test_a_run_that_breaks_a_rule_of_mlperf(change: dict[str, object], rule: str) -> None:
    assert states("mlperf", replace(RUN, **change))[rule] == "broken"  # type: ignore[arg-type]


def test_a_profile_of_ones_own_has_other_limits_and_no_rules_of_its_own() -> None:
    own = profile_of({"name": "ours", "base": "spec", "limits": {"uncertainty_pct": 0.2}})
    by_rule = {verdict.rule: verdict for verdict in judge(own, RUN)}
    assert by_rule["uncertainty_pct"].state == "broken" and by_rule["uncertainty_pct"].profile == "ours"
    assert by_rule["interval_s"].limit == 1
    with pytest.raises(ValueError, match="has no limit"):
        profile_of({"name": "ours", "base": "spec", "limits": {"uncertainty": 0.2}})
    with pytest.raises(ValueError, match="there are: spec, mlperf"):
        profile_of("specpower")


def test_a_limit_nobody_read_in_the_standard_says_so() -> None:
    for profile in PROFILES.values():
        for verdict in judge(profile, RUN):
            assert verdict.text.endswith("rule unverified") is not verdict.verified
    assert not any(rule.verified for rule in PROFILES["spec"].rules if rule.id != "coverage_pct")


def test_every_rule_has_a_figure() -> None:
    assert {rule.id for profile in PROFILES.values() for rule in profile.rules} == set(OF_CHANNEL) | set(OF_RUN)
