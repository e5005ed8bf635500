"""A run's metrics from its two tables, on runs small enough to check by hand."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from iojoule.metrics import latency, power, rates
from iojoule.metrics.channels import channels, cut, scopes, series
from iojoule.metrics.fidelity import fidelity, verdict
from iojoule.metrics.metric import Limits, Metric, Span
from iojoule.metrics.repeats import campaign_metrics, compare
from iojoule.metrics.summary import run_metrics

S = 1_000_000_000
MS = 1_000_000
START = 5_000 * S


def request_table(rows: list[dict[str, Any]]) -> pa.Table:
    """Requests in seconds after START; what is not said is a good answer of 1 MB after 10 ms, 20 ms in all."""
    columns: dict[str, list[Any]] = {name: [] for name in rates.COLUMNS}
    for row in rows:
        planned = START + round(row["at"] * S)
        issued = planned + round(row.get("late_ms", 0) * MS)
        first = row.get("first_ms", 10)
        columns["planned_ns"].append(planned)
        columns["issued_ns"].append(issued)
        columns["first_byte_ns"].append(None if first is None else issued + round(first * MS))
        columns["done_ns"].append(issued + round(row.get("done_ms", 20) * MS))
        columns["bytes"].append(row.get("bytes", 1_000_000))
        columns["error"].append(row.get("error", ""))
        columns["phase"].append(row.get("phase", "measure"))
    table = pa.table({k: pa.array(v, pa.int64() if k.endswith("_ns") else None) for k, v in columns.items()})
    for name in ("error", "phase"):
        table = table.set_column(table.schema.get_field_index(name), name, table[name].dictionary_encode())
    return table


METER = {
    "name": "wt",
    "channels": [{"id": "p", "quantity": "power", "unit": "W", "boundary": "ac_wall", "kind": "window_mean",
                  "role": "system", "u_rel": 0.001, "u_abs": 0.01}],
}  # fmt: skip


def reading_table(watts: list[float], meter: str = "wt", channel: str = "p", quality: str = "") -> pa.Table:
    n = len(watts)
    return pa.table(
        {
            "meter": [meter] * n, "channel": [channel] * n, "quantity": ["power"] * n, "unit": ["W"] * n,
            "seq": pa.array(range(n), pa.uint64()),
            "start_ns": pa.array([START + i * S for i in range(n)], pa.int64()),
            "end_ns": pa.array([START + (i + 1) * S for i in range(n)], pa.int64()),
            "u_time_ns": pa.array([0] * n, pa.int64()),
            "value": pa.array(watts, pa.float64()), "u_value": pa.array([float("nan")] * n, pa.float64()),
            "quality": [quality] * n,
        }
    )  # fmt: skip


def by_name(metrics: list[Metric]) -> dict[tuple[str, str], Metric]:
    return {(m.name, m.scope): m for m in metrics}


PHASES = [Span("idle", START, START + 10 * S), Span("measure", START + 10 * S, START + 20 * S)]


def test_a_run_says_what_was_served_and_at_what_energy() -> None:
    requests = request_table([{"at": 10 + i / 10} for i in range(100)])
    readings = reading_table([5.0] * 10 + [10.0] * 10 + [5.0])
    got = by_name(run_metrics(requests, readings, PHASES, [METER]))
    assert got["requests", ""].value == 100
    assert got["requests_per_s", ""].value == pytest.approx(10)
    assert got["throughput", ""].value == pytest.approx(10)
    assert got["energy", "system"].value == pytest.approx(100)
    assert got["power_mean", "system"].value == pytest.approx(10)
    assert got["idle_power", "system"].value == pytest.approx(5)
    assert got["energy_above_idle", "system"].value == pytest.approx(50)
    assert got["requests_per_j", "system"].value == pytest.approx(1)
    assert got["mb_per_j", "system"].value == pytest.approx(1)
    # (0.1 % of 10 W + 10 mW) over 10 s, both of one instrument: 0.2 J.
    assert got["energy", "system"].u == pytest.approx(0.2)
    assert got["requests_per_j", "system"].u == pytest.approx(0.002)
    assert all(m.unit for m in got.values())
    assert all(m.boundary == "ac_wall" for (name, scope), m in got.items() if scope)


def test_where_nothing_succeeded_a_joule_bought_nothing_that_can_be_compared() -> None:
    readings = reading_table([5.0] * 10 + [10.0] * 10 + [5.0])
    got = by_name(run_metrics(request_table([{"at": 11, "error": "timeout"}]), readings, PHASES, [METER]))
    assert got["energy", "system"].value == pytest.approx(100)
    for name in ("requests_per_j", "mb_per_j", "j_per_request"):
        assert (got[name, "system"].value, got[name, "system"].note) == (None, "no request succeeded")


def test_only_the_requests_of_the_phase_count() -> None:
    rows = [{"at": 9, "phase": "warmup"}, {"at": 11}, {"at": 12}, {"at": 21, "phase": "cooldown"}]
    assert by_name(run_metrics(request_table(rows), None, PHASES, []))["requests", ""].value == 2


def test_failed_requests_are_counted_by_reason_and_hold_the_distribution_below_one() -> None:
    rows: list[dict[str, Any]] = [{"at": 10 + i, "first_ms": 10 * (i + 1)} for i in range(6)]
    rows += [{"at": 17, "error": "timeout", "first_ms": None}, {"at": 18, "error": "http_5xx"}]
    table = request_table(rows)
    got = by_name(run_metrics(table, None, PHASES, []))
    assert got["success_share", ""].value == pytest.approx(75)
    assert got["success_share", ""].note == "timeout 1, http_5xx 1"
    assert got["errors", "timeout"].value == 1
    times = latency.times_ms(table, "latency", "issued")
    curve = latency.cdf(times, of_all=len(table))
    assert curve.share[-1] == pytest.approx(6 / 8) and len(curve.ms) <= 400


def test_latency_from_planned_holds_what_the_client_was_late() -> None:
    table = request_table([{"at": 10, "late_ms": 100}, {"at": 11}])
    got = by_name(run_metrics(table, None, PHASES, []))
    assert got["latency_from_planned_max", ""].value == pytest.approx(110)
    assert got["latency_from_issued_max", ""].value == pytest.approx(10)
    assert got["completion_from_planned_mean", ""].value == pytest.approx(70)


def test_percentiles_are_values_that_occurred() -> None:
    values = latency.percentiles(np.arange(1.0, 101.0))
    assert (values["min"], values["p50"], values["p99"], values["max"]) == (1, 50, 99, 100)


def test_the_envelope_holds_every_repeat() -> None:
    rng = np.random.default_rng(7)
    curves = [latency.cdf(rng.lognormal(m, 0.5, 500)) for m in (0.0, 0.2, 0.4)]
    band = latency.envelope(curves)
    assert band.repeats == 3
    assert (band.low <= band.median).all() and (band.median <= band.high).all()
    assert band.low[-1] == band.high[-1] == 1
    assert (np.diff(band.low) >= 0).all()


def test_concurrency_is_the_time_in_flight_over_the_time() -> None:
    table = request_table([{"at": 0, "done_ms": 1000}, {"at": 0.5, "done_ms": 1000}, {"at": 3, "done_ms": 1000}])
    got = rates.rates_over_time(table, Span("measure", START, START + 4 * S), 1.0)
    assert got.in_flight == pytest.approx([1.5, 0.5, 0, 1])
    assert got.in_flight_max.tolist() == [2, 2, 0, 1]
    # Done at 1 s and 1.5 s, in the second second; the third request ends with the span and is outside it.
    assert got.mb_per_s == pytest.approx([0, 2, 0, 0])


def test_every_second_has_a_row_even_without_a_request() -> None:
    table = request_table([{"at": 0.1}, {"at": 0.2}, {"at": 2.5, "error": "reset"}])
    rows = rates.intervals_table(table, Span("measure", START, START + 3 * S)).to_pylist()
    assert [row["requests"] for row in rows] == [2, 0, 0]
    assert [row["errors"] for row in rows] == [0, 0, 1]
    assert rows[0]["p99_ms"] == pytest.approx(20) and rows[1]["p50_ms"] is None
    assert all(row["watts"] is None for row in rows)


def test_power_over_time_shares_windows_out_by_overlap_and_fills_nothing() -> None:
    readings = reading_table([10.0, 20.0, 30.0, 40.0, 50.0, 60.0]).take([0, 1, 2, 5])
    (one,) = series(readings, channels([METER])).values()
    got = power.power_over_time(one, START, START + 6 * S, 1.5)
    assert got.watts[0] == pytest.approx((10 + 10) / 1.5)
    assert got.watts[1] == pytest.approx((10 + 30) / 1.5)
    assert np.isnan(got.watts[2]) and got.coverage[2] == 0
    assert got.watts[3] == pytest.approx(60) and got.coverage[3] == pytest.approx(1 / 1.5)


def test_a_contained_channel_is_not_added_to_its_container() -> None:
    def channel(name: str, role: str, **more: Any) -> dict[str, Any]:
        return {"id": name, "quantity": "power", "boundary": "device", "kind": "window_mean", "role": role, **more}

    rapl = {"name": "rapl", "channels": [channel("package", "cpu", contains=["core"]), channel("core", "cpu")]}
    disks = [("sda5", "sda"), ("sda12", "sda"), ("sdb", "sdb")]
    rails = {"name": "rails", "channels": [channel(name, "drive", drive=drive) for name, drive in disks]}
    model = {"name": "model", "channels": [channel("all", "system") | {"boundary": "modelled"}]}
    of = channels([rapl, rails, model])
    assert [c.id for c in cut(of, {"cpu"})] == ["package"]
    totals = {(scope, boundary): [c.id for c in parts] for scope, boundary, parts in scopes(of)}
    assert totals == {
        ("drive:sda", "device"): ["sda5", "sda12"],
        ("drive:sdb", "device"): ["sdb"],
        ("drives", "device"): ["sda5", "sda12", "sdb"],
        ("system", "device"): ["package", "sda5", "sda12", "sdb"],
        ("system", "modelled"): ["all"],
    }


def test_a_replay_that_falls_behind_fails_its_limits() -> None:
    good = fidelity(request_table([{"at": 10 + i / 10, "late_ms": 0.1} for i in range(100)]))
    assert good is not None and good.stretch == pytest.approx(1)
    assert [f.level for f in verdict(good, Limits())] == ["ok"]
    behind = fidelity(request_table([{"at": 10 + i / 10, "late_ms": 2 * i} for i in range(100)]))
    assert behind is not None and behind.stretch == pytest.approx(1.02)
    assert [f.level for f in verdict(behind, Limits())] == ["fail", "fail"]


def test_requests_dropped_at_the_cap_are_not_late_but_said() -> None:
    rows = [{"at": 10 + i} for i in range(9)] + [{"at": 19, "error": "dropped", "late_ms": 900, "first_ms": None}]
    of = fidelity(request_table(rows))
    assert of is not None and (of.dropped, of.lateness_max_ms) == (1, 0)
    assert {f.level for f in verdict(of, Limits())} == {"ok", "warning"}


def repeat(value: float, u: float = 0.0) -> list[Metric]:
    return [Metric("requests_per_j", value, "1/J", "system", u, boundary="ac_wall")]


def test_repeats_are_quoted_with_the_larger_of_budget_and_scatter() -> None:
    (tight,) = campaign_metrics([repeat(10.0, 0.5), repeat(10.001, 0.5), repeat(9.999, 0.5)])
    assert tight.mean == pytest.approx(10) and tight.expanded == pytest.approx(1.0)
    (loose,) = campaign_metrics([repeat(9, 0.01), repeat(10, 0.01), repeat(11, 0.01)])
    assert loose.expanded == loose.ci95 == pytest.approx(2.484, abs=1e-3)


def test_a_repeat_without_a_value_is_named_and_not_counted_as_zero() -> None:
    lost = [Metric("requests_per_j", None, "1/J", "system", boundary="ac_wall", note="readings cover 60 %")]
    (one,) = campaign_metrics([repeat(10), lost, repeat(12)])
    assert (one.n, one.mean) == (2, 11) and "1 of 3 repeats have no value" in one.note


def test_a_difference_is_significant_only_beyond_the_scatter_of_the_repeats() -> None:
    base = campaign_metrics([repeat(10.0), repeat(10.1), repeat(9.9)])
    (clear,) = compare(base, campaign_metrics([repeat(12.0), repeat(12.1), repeat(11.9)]))
    assert clear.percent == pytest.approx(20) and clear.significant and clear.better
    (unclear,) = compare(base, campaign_metrics([repeat(10.0), repeat(11.0), repeat(9.2)]))
    assert unclear.significant is False
    (single,) = compare(campaign_metrics([repeat(10)]), campaign_metrics([repeat(11)]))
    assert single.significant is None and "not tested" in single.note


def test_a_run_without_requests_or_readings_has_metrics_all_the_same() -> None:
    empty = request_table([])
    got = by_name(run_metrics(empty, reading_table([]), PHASES, [METER]))
    assert got["requests", ""].value == 0 and got["energy", "system"].value is None
    assert "no readings" in got["energy", "system"].note
