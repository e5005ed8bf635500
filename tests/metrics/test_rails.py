"""Rails out of the raw channels of a scanning multimeter: one instant, one product a rail, one budget for all."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from iojoule.metrics.channels import Series, channels, cut, scopes, series
from iojoule.metrics.energy import Energy, above_idle, energies, phase_energy, total
from iojoule.metrics.metric import Metric, Span
from iojoule.metrics.rails import Instants, Rail, at_one_instant, power
from iojoule.metrics.summary import energy_metrics
from iojoule.metrics.uncertainty import combine
from iojoule.store.schema import READINGS

S = 10**9
GAIN, TOLERANCE = 0.004 / 100 / math.sqrt(3), 0.1 / 100 / math.sqrt(3)
Sample = tuple[float, float, str]


def instants(rows: Sequence[tuple[float, float]], bad: Sequence[int] = ()) -> Instants:
    at = np.array([round(t * S) for t, _ in rows], dtype=np.int64)
    return Instants(at, np.array([v for _, v in rows]), np.isin(np.arange(len(rows)), bad))


def meter(**keys: Any) -> dict[str, Any]:
    """Two rails of a drive on one multimeter, as the manifest has it."""
    raw = [
        {"id": f"{rail}_{what}", "quantity": what, "unit": "V", "kind": "instant", "boundary": "dc_rail",
         "u_rel": GAIN, "u_abs": 1e-6}
        for rail in ("12v", "5v") for what in ("voltage", "shunt_voltage")
    ]  # fmt: skip
    made = [
        {"id": rail, "voltage": f"{rail}_voltage", "shunt": f"{rail}_shunt_voltage", "ohm": 0.1, "role": "drive",
         "drive": "sda", "u_ohm_rel": TOLERANCE, **keys}
        for rail in ("12v", "5v")
    ]  # fmt: skip
    return {"name": "dmm", "driver": "keysight_34970a", "channels": raw, "rails": made}


def table(of: dict[str, Sequence[Sample]]) -> pa.Table:
    rows = [
        {"meter": "dmm", "channel": name, "quantity": name.partition("_")[2], "unit": "V", "seq": seq,
         "start_ns": round(t * S), "end_ns": round(t * S), "u_time_ns": 10**6, "value": value, "u_value": 1e-6,
         "quality": flags}
        for name, samples in of.items() for seq, (t, value, flags) in enumerate(samples)
    ]  # fmt: skip
    return pa.Table.from_pylist(rows, schema=READINGS)


def scans(amps_12: float, amps_5: float, seconds: int = 60) -> dict[str, list[Sample]]:
    """A scan every second, the four channels 50 ms apart; constant currents."""
    values = {
        "12v_voltage": 12.0,
        "12v_shunt_voltage": 0.1 * amps_12,
        "5v_voltage": 5.0,
        "5v_shunt_voltage": 0.1 * amps_5,
    }
    return {name: [(t + 0.05 * i, value, "") for t in range(seconds)] for i, (name, value) in enumerate(values.items())}


def test_a_scan_is_brought_to_one_instant_before_it_is_multiplied(document: Callable[[str], Any]) -> None:
    case = document("meter_instant_samples.json")["skewed_channels"]
    want = case["recomputed"]
    rail = Rail("12v", "v", "s", case["r_ohm"])
    made = power(rail, instants(case["v"]), instants(case["v_shunt"]))
    assert made.at_ns.tolist() == [round(case["instant"] * S)]  # the last sample of the shunt has no voltage behind it
    assert made.amps[0] == pytest.approx(want["i_a"]) and made.watts[0] == pytest.approx(want["p_w"])
    volts = at_one_instant(instants(case["v"]), np.array([round(case["instant"] * S)]))[0]
    assert volts[0] == pytest.approx(want["v_v"])
    assert made.watts[0] != pytest.approx(want["wrong_unaligned_p_w"])


def test_golden_instants_are_joined_by_a_trapezoid_and_never_beyond_their_ends(document: Callable[[str], Any]) -> None:
    cases = document("meter_instant_samples.json")["cases"]
    assert len(cases) == 5
    for case in cases:
        # A rail of 1 V over 1 ohm: the samples are watts.
        shunt = instants(case["samples"])
        made = power(Rail("r", "v", "s", 1.0), instants([(t, 1.0) for t, _ in case["samples"]]), shunt)
        (channel,) = [c for c in channels([meter()]) if c.id == "12v"]
        one = Series(channel, made.at_ns, made.at_ns, made.watts, np.full_like(made.watts, np.nan), 0.0, made.bad)
        t0, t1 = case["phase"]
        want, found = case["recomputed"]["energy_j"], phase_energy(one, Span("p", round(t0 * S), round(t1 * S)))
        assert found.joules == (None if want is None else pytest.approx(want)), case["id"]


def test_a_voltage_is_never_carried_over_a_gap() -> None:
    volts = instants([(0, 12.0), (1, 12.0), (2, 12.0), (8, 11.0), (9, 11.0)])
    made = power(Rail("r", "v", "s", 0.1), volts, instants([(t + 0.5, 0.1) for t in range(9)]))
    assert (made.at_ns / S).tolist() == [0.5, 1.5, 8.5]


def test_what_an_overload_touches_is_bad() -> None:
    made = power(Rail("r", "v", "s", 0.1), instants([(t, 12.0) for t in range(5)], bad=[2]),
                 instants([(t + 0.5, 0.1) for t in range(4)], bad=[3]))  # fmt: skip
    assert made.bad.tolist() == [False, True, True, True]


def test_rails_are_channels_of_the_run_and_their_raw_voltages_are_not() -> None:
    described = channels([meter()])
    assert [channel.name for channel in described] == ["dmm/12v", "dmm/5v"]
    assert {channel.boundary for channel in described} == {"dc_rail"}
    assert [scope for scope, _, _ in scopes(described)] == ["drive:sda", "drives", "system"]
    assert cut(described) == described


def test_energy_of_both_rails_has_the_terms_of_one_multimeter_and_two_resistors() -> None:
    described = channels([meter()])
    read = series(table(scans(1.0, 0.6)), described)
    found = energies(read.values(), Span("measure", 10 * S, 40 * S), {})
    twelve, five = found["dmm/12v"], found["dmm/5v"]
    assert twelve.joules == pytest.approx(12.0 * 30) and five.joules == pytest.approx(3.0 * 30)
    both = total("drives", "dc_rail", [(channel, found[channel.name]) for channel in described])
    for source in ("gain", "offset"):  # the same error in both
        assert both.budget[source] == pytest.approx(twelve.budget[source] + five.budget[source])
    assert both.budget["shunt 12v"] == pytest.approx(360 * TOLERANCE)
    assert both.budget["shunt 5v"] == pytest.approx(90 * TOLERANCE)
    of_meter = both.budget["gain"] + both.budget["offset"]
    assert both.u == pytest.approx(math.hypot(of_meter, 360 * TOLERANCE, 90 * TOLERANCE))


def test_a_resistor_is_as_wrong_at_rest_as_under_load() -> None:
    """1 % of the difference, not of both: the shunt is one and the same."""
    read = series(table({**scans(1.0, 0.0)}), described := channels([meter(u_ohm_rel=0.01)]))
    one = energies(read.values(), Span("measure", 10 * S, 40 * S), {})["dmm/12v"]
    at_rest = series(table(scans(0.75, 0.0)), described)
    rest = energies(at_rest.values(), Span("idle", 10 * S, 25 * S), {})["dmm/12v"]
    net = above_idle(one, rest)
    assert net.joules == pytest.approx(3.0 * 30)
    assert net.budget["shunt 12v"] == pytest.approx(0.01 * 90)


def test_back_feed_takes_from_the_energy_and_from_its_uncertainty() -> None:
    """One resistor errs in one direction: 10 s of +1 A and 10 s of −1 A are 0 J, whatever the shunt is."""
    of = scans(1.0, 0.0, 41)
    of["12v_shunt_voltage"] = [(t, 0.1 if t < 20 else -0.1, "") for t, _, _ in of["12v_shunt_voltage"]]
    read = series(table(of), channels([meter()]))
    found = energies(read.values(), Span("measure", round(10.55 * S), round(28.55 * S)), {})["dmm/12v"]
    assert found.joules == pytest.approx(0.0, abs=1e-9)
    assert found.budget["shunt 12v"] == pytest.approx(0.0, abs=1e-9)


def test_an_overload_of_either_channel_leaves_the_phase_without_energy() -> None:
    for name in ("12v_voltage", "12v_shunt_voltage"):
        of = scans(1.0, 0.6)
        t, _, _ = of[name][20]
        of[name][20] = (t, math.nan, "invalid overload")
        found = energies(series(table(of), channels([meter()])).values(), Span("measure", 10 * S, 40 * S), {})
        assert found["dmm/12v"].joules is None and "overload" in found["dmm/12v"].note
        assert found["dmm/5v"].joules is not None


def test_without_the_accuracy_of_the_multimeter_nothing_is_known() -> None:
    plain = meter()
    for channel in plain["channels"]:
        channel |= {"u_rel": None, "u_abs": None}
    found = energies(series(table(scans(1.0, 0.6)), channels([plain])).values(), Span("measure", 10 * S, 40 * S), {})
    assert not found["dmm/12v"].known


def test_the_burden_of_a_shunt_is_told_and_what_atx_allows() -> None:
    def burden(amps_5: float) -> Metric:
        found = energy_metrics(table(scans(1.0, amps_5)), [meter()], Span("measure", 10 * S, 40 * S), [], 1, 1.0)
        return next(one for one in found if one.name == "burden" and one.scope == "channel:dmm/5v")

    # 0.1 V at 1 A on a rail of 5 V: 2 %.
    assert burden(1.0).value == pytest.approx(100 * 0.1 / 5.1) and "ATX" not in burden(1.0).note
    assert burden(3.0).value == pytest.approx(100 * 0.3 / 5.3) and "above the 5 % that ATX allows" in burden(3.0).note


def test_the_resistor_is_the_budget() -> None:
    """5 V, 1 A, 0.1 ohm, one year of a 34970A: 0.58 % of a 1 % resistor, 0.058 % of 0.1 %, 0.008 % of 0.01 %."""
    volts, shunt = ((0.0035, 0.0005, 10.0), 5.0), ((0.005, 0.004, 0.1), 0.1)
    sides = []
    for (rdg, rng, span), value in (volts, shunt):
        u_rel, u_abs = rdg / 100 / math.sqrt(3), rng / 100 * span / math.sqrt(3)
        sides.append(Instants(np.array([0]), np.array([value]), np.array([False]), u_rel, u_abs))
    said = {}
    for tolerance in (1.0, 0.1, 0.01):
        made = power(Rail("5v", "v", "s", 0.1, u_ohm_rel=tolerance / 100 / math.sqrt(3)), *sides)
        u = combine({source: abs(float(term[0])) for source, term in made.terms.items()})
        said[tolerance] = round(100 * u / 5.0, 3 if tolerance < 1 else 2)
    assert said == {1.0: 0.58, 0.1: 0.058, 0.01: 0.008}


def test_energies_of_two_meters_do_not_err_together() -> None:
    found = energies(series(table(scans(1.0, 0.6)), described := channels([meter()])).values(),
                     Span("measure", 10 * S, 40 * S), {})  # fmt: skip
    first, second = (found[channel.name] for channel in described)
    other = channels([{**meter(), "name": "second"}])[1]
    assert isinstance(first, Energy)
    apart = total("x", "dc_rail", [(described[0], first), (other, second)])
    assert apart.u < total("x", "dc_rail", [(described[0], first), (described[1], second)]).u


def test_a_step_between_two_scans_is_in_all_rails_of_a_multimeter() -> None:
    """What is not known of the ends of a phase is the same instant in both rails: it adds up."""
    of = scans(0.5, 0.3)
    for name, low in (("12v_shunt_voltage", 0.05), ("5v_shunt_voltage", 0.03)):
        of[name] = [(t, low if t < 10 or t > 40 else 2 * low, "") for t, _, _ in of[name]]
    found = energies(series(table(of), described := channels([meter()])).values(), Span("measure", 10 * S, 40 * S), {})
    parts = [found[channel.name] for channel in described]
    both = total("drives", "dc_rail", [(channel, found[channel.name]) for channel in described])
    for source in ("integration", "alignment"):
        assert parts[0].budget[source] > 0
        assert both.budget[source] == pytest.approx(sum(part.budget[source] for part in parts))
