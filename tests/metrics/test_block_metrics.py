"""Metrics and verdicts of block runs, on runs small enough to check by hand."""

import itertools
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from iojoule.metrics.block_verdict import block_verdict
from iojoule.metrics.cell import Cell
from iojoule.metrics.metric import Finding, Metric, Span
from iojoule.metrics.rates import concurrency
from iojoule.metrics.summary import run_metrics

S, MS = 1_000_000_000, 1_000_000
START = 5_000 * S


def manifest(*, load: dict[str, Any] | None = None, **engine: Any) -> dict[str, Any]:
    return {
        "target": {"kind": "loop"},
        "workload": {"kind": "block", "pattern": "random", "write": 0, "block_size": 4096, "queue_depth": 4}
        | (load or {}),
        "engine": {"epoch_ns": START + 10 * S, "end_ns": START + 20 * S, "cpu_s": 0.5, "writer_cpu_s": 0.25,
                   "requests": 400, "engine": "io_uring", "direct": True, "jobs": 1, "queue_depth": 4} | engine,
        "processor": {"busy_s": 3.0, "all_s": 20.0},
    }  # fmt: skip


def closed_loop(depth: int = 4, took_ms: int = 100, ops: tuple[str, ...] = ("read",), error: str = "") -> pa.Table:
    """`depth` slots, each with one request of `took_ms` after the other over the ten seconds of the measure phase."""
    issued = np.tile(np.arange(START + 10 * S, START + 20 * S, took_ms * MS), depth)
    n = len(issued)
    op = [ops[i % len(ops)] for i in range(n)]
    size = np.where(np.array(op) == "flush", 0, 4096).astype(np.uint64)
    return pa.table(
        {
            "planned_ns": issued, "issued_ns": issued, "done_ns": issued + took_ms * MS, "bytes": size,
            "error": pa.array([error if i == 0 else "" for i in range(n)]).dictionary_encode(),
            "phase": pa.array(["measure"] * n).dictionary_encode(), "op": pa.array(op).dictionary_encode(),
        }
    )  # fmt: skip


METER = {
    "name": "wt",
    "channels": [{"id": "p", "quantity": "power", "unit": "W", "boundary": "ac_wall", "kind": "window_mean",
                  "role": "system", "u_rel": 0.001, "u_abs": 0.01}],
}  # fmt: skip


def readings(watts: list[float]) -> pa.Table:
    n = len(watts)
    return pa.table(
        {
            "meter": ["wt"] * n, "channel": ["p"] * n, "quantity": ["power"] * n, "unit": ["W"] * n,
            "seq": pa.array(range(n), pa.uint64()), "start_ns": pa.array([START + i * S for i in range(n)], pa.int64()),
            "end_ns": pa.array([START + (i + 1) * S for i in range(n)], pa.int64()),
            "u_time_ns": pa.array([0] * n, pa.int64()), "value": pa.array(watts, pa.float64()),
            "u_value": pa.array([float("nan")] * n, pa.float64()), "quality": [""] * n,
        }
    )  # fmt: skip


PHASES = [Span("idle", START, START + 10 * S), Span("measure", START + 10 * S, START + 20 * S)]


def found(rows: pa.Table, told: dict[str, Any], watts: list[float] | None = None, phases: Any = PHASES) -> Any:
    power = None if watts is None else readings(watts)
    said = run_metrics(rows, power, phases, [METER] if watts else [], manifest=told)
    return {(one.name, one.scope): one for one in said}


def said(rows: pa.Table, told: dict[str, Any], plan: tuple[Finding, ...] = ()) -> list[tuple[str, str]]:
    cell = Cell.of(told)
    assert cell is not None
    metrics = run_metrics(rows, None, PHASES, [], manifest=told)
    return [(one.level, one.text) for one in block_verdict(cell, told, metrics, plan)]


def test_four_slots_of_a_tenth_of_a_second_make_forty_iops_and_keep_littles_law() -> None:
    got = found(closed_loop(), manifest())
    assert got["iops", ""].value == pytest.approx(40)
    assert got["throughput", ""].value == pytest.approx(40 * 4096 / 1e6)
    assert got["completion_from_issued_p99", ""].value == pytest.approx(100)
    assert got["little_outstanding", ""].value == pytest.approx(4)
    assert got["little_deviation", ""].value == pytest.approx(0, abs=1e-9)
    assert got["concurrency_mean", ""].value == pytest.approx(4)
    assert got["concurrency_max", ""].value == 4
    assert not any(name.startswith(("latency", "stretch", "lateness")) for name, _ in got)


def test_processor_time_is_of_the_engine_its_writer_and_the_whole_host() -> None:
    got = found(closed_loop(), manifest())
    assert got["cpu_engine", ""].value == pytest.approx(5)
    assert got["cpu_writer", ""].value == pytest.approx(2.5)
    assert got["cpu_per_io", ""].value == pytest.approx(1250)
    assert got["cpu_system", ""].value == pytest.approx(15)


def test_each_operation_has_its_own_rate_and_a_flush_is_no_transfer() -> None:
    got = found(closed_loop(ops=("read", "write", "read", "flush")), manifest(load={"write": 50.0}))
    assert got["iops", ""].value == pytest.approx(30)
    assert got["iops", "read"].value == pytest.approx(20)
    assert got["iops", "write"].value == pytest.approx(10)
    assert got["completion_from_issued_p50", "flush"].value == pytest.approx(100)
    assert got["throughput", "write"].value == pytest.approx(10 * 4096 / 1e6)


def test_iops_per_watt_carries_the_budget_of_the_energy_and_the_scatter_of_the_rate() -> None:
    got = found(closed_loop(), manifest(), [5.0] * 10 + [10.0] * 10 + [5.0])
    assert got["iops_per_w", "system"].value == pytest.approx(4)
    assert got["j_per_io", "system"].value == pytest.approx(0.25)
    assert got["mb_per_j", "system"].value == pytest.approx(0.016384)
    # (0.1 % of 10 W + 10 mW) / 10 W is 0.2 %; the rate does not scatter.
    assert got["iops_per_w", "system"].u == pytest.approx(4 * 0.002)
    assert got["iops_per_w", "system"].boundary == "ac_wall"
    # Above idle 50 J bought the 400 requests.
    assert got["power_above_idle", "system"].value == pytest.approx(5)
    assert got["iops_per_w_above_idle", "system"].value == pytest.approx(8)
    assert got["j_per_io_above_idle", "system"].value == pytest.approx(0.125)


def test_a_rate_that_scatters_is_less_well_known() -> None:
    steady = found(closed_loop(), manifest())["iops", ""]
    rows = closed_loop()
    gone = np.asarray(rows["issued_ns"]) % (2 * S) < S // 2
    uneven = found(rows.filter(pa.array(~gone)), manifest())["iops", ""]
    assert steady.u == pytest.approx(0, abs=1e-9)
    assert uneven.u > 1


def test_idle_before_and_after_are_both_quoted_and_their_drift_is_in_the_budget() -> None:
    phases = [*PHASES, Span("idle_after", START + 20 * S, START + 30 * S)]
    got = found(closed_loop(), manifest(), [5.0] * 10 + [10.0] * 10 + [6.0] * 11, phases)
    assert got["idle_power_before", "system"].value == pytest.approx(5)
    assert got["idle_power_after", "system"].value == pytest.approx(6)
    assert got["idle_power", "system"].value == pytest.approx(5.5)
    assert got["idle_power", "system"].budget["drift"] == pytest.approx(1 / np.sqrt(12))
    assert got["power_above_idle", "system"].value == pytest.approx(4.5)
    assert got["power_above_idle", "system"].budget["drift"] == pytest.approx(1 / np.sqrt(12))


def test_an_open_loop_is_judged_by_its_plan_and_promises_no_depth() -> None:
    told = manifest(load={"rate": 40.0})
    got = found(closed_loop(), told)
    assert ("lateness_p99", "") in got and ("little_outstanding", "") not in got
    plan = (Finding("fail", "late"),)
    assert ("fail", "late") in said(closed_loop(), told, plan)
    assert ("fail", "late") not in said(closed_loop(), manifest(), plan)


def test_slots_that_stood_empty_break_littles_law() -> None:
    level, text = next(one for one in said(closed_loop(depth=3), manifest()) if "Little" in one[1])
    assert level == "warning" and "3 requests in flight of 4" in text and "slots stood empty" in text


def test_errors_of_the_device_and_corrupt_blocks_fail_a_run() -> None:
    texts = dict(reversed(one) for one in said(closed_loop(error="io"), manifest(errnos={"EIO": 1})))
    assert texts["1 requests failed: io 1 (EIO 1)"] == "fail"
    told = manifest(verified=100, corrupt=2, corruptions=["object 0 at 4096: stale"])
    assert ("fail", "2 blocks held not what was written, found while it ran: object 0 at 4096: stale") in said(
        closed_loop(), told
    )
    again = said(closed_loop(), manifest(read_back={"corrupt": 1, "verified": 9, "corruptions": []}))
    assert ("fail", "1 block held not what was written, found when all was read back") in again


@pytest.mark.parametrize(
    ("state", "level"),
    [
        ({"steady": False, "reason": "not steady within 25 rounds"}, "fail"),
        ({"steady": True, "reason": "left the steady state in round 9", "left_round": 9}, "warning"),
        ({"steady": True, "reason": "", "reached_round": 5}, "ok"),
    ],
)
def test_a_steady_state_that_was_not_reached_fails_the_run(state: dict[str, Any], level: str) -> None:
    assert level in {one for one, text in said(closed_loop(), manifest(steady_state=state)) if "steady" in text}


def test_what_was_driven_is_named() -> None:
    assert ("note", "direct: past the page cache (O_DIRECT)") in said(closed_loop(), manifest())
    buffered = said(closed_loop(), manifest(direct=False, load={"direct": True}))
    assert any(level == "warning" and "although direct access was asked for" in text for level, text in buffered)
    threads = said(closed_loop(), manifest(engine="threads"))
    assert any(level == "warning" and "io_uring was not to be had" in text for level, text in threads)


def test_a_run_without_a_request_fails() -> None:
    assert said(closed_loop().slice(0, 0), manifest())[0] == ("fail", "no request was issued in the measure phase")


def test_a_cell_is_named_by_what_was_asked_for() -> None:
    cell = Cell.of(manifest(load={"write": 30.0, "block_size": 1 << 20, "jobs": 2}))
    assert cell is not None
    assert (cell.label, cell.size_label, cell.outstanding) == ("random 70 % read, 30 % write", "1 MiB", 8)
    assert Cell.of({"target": {"kind": "http"}, "workload": {}}) is None


@pytest.mark.parametrize("seed", range(5))
def test_concurrency_counts_what_is_in_flight_at_each_instant(seed: int) -> None:
    draw = np.random.default_rng(seed)
    issued = np.sort(draw.integers(0, 200, 60))
    done = issued + draw.integers(0, 30, 60)
    at = np.array([0, 50, 100, 230])
    mean, most = concurrency(issued, done, at)
    level = np.array([np.count_nonzero((issued <= t) & (done > t)) for t in range(230)])
    assert mean == pytest.approx([level[a:b].mean() for a, b in itertools.pairwise(at)])
    assert most.tolist() == [level[a:b].max() for a, b in itertools.pairwise(at)]


def test_a_metric_of_a_block_run_has_a_unit() -> None:
    metrics: list[Metric] = list(found(closed_loop(), manifest(), [5.0] * 10 + [10.0] * 11).values())
    assert all(one.unit for one in metrics)
