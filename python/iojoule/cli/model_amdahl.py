"""``iojoule model amdahl``: the laws over queue depth through measured points, with what they leave open."""

from __future__ import annotations

import math
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from iojoule.models.laws import Laws, Point


class Weigh(StrEnum):
    """What the squared errors are weighed with."""

    RELATIVE = "relative"
    EQUAL = "equal"


def amdahl(
    file: Annotated[
        Path | None,
        typer.Argument(
            help="CSV with queue_depth, iops and, if measured, watts and latency_ms; or a campaign's folder."
        ),
    ] = None,
    point: Annotated[
        list[str] | None, typer.Option(help="In place of FILE: DEPTH=IOPS measured (repeatable, two or more).")
    ] = None,
    watts: Annotated[
        list[str] | None, typer.Option(help="With --point: DEPTH=WATTS measured; depth 0 is idle (repeatable).")
    ] = None,
    predict: Annotated[list[float] | None, typer.Option(help="Depth to predict (repeatable).")] = None,
    weights: Annotated[
        Weigh, typer.Option(help="relative: errors are shares of what was measured; equal: shallow depths decide.")
    ] = Weigh.RELATIVE,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> None:
    """Amdahl's law over queue depth, 1/IOPS = a + b/Q, with 95 % intervals and predictions; with watts, IOPS/W too.

    Two rows give the law through both, more a least-squares fit in which repeats of a depth count as often as they
    stand there. Depth 0 with watts is idle. Of a campaign every series of its sweep is fitted.

    Examples:  iojoule model amdahl sweep.csv --predict 64 · iojoule model amdahl runs/20260101T120000Z_sweep_1a2b3c
    ·  iojoule model amdahl --point 1=95 --point 4=230 --point 8=300 --point 32=398 --predict 64
    """
    from iojoule.cli import console
    from iojoule.cli.model_points import read_points, told_points
    from iojoule.cli.model_text import text
    from iojoule.errors import ConfigError
    from iojoule.models import laws

    if (file is None) == (not point) or (watts and file):
        raise ConfigError("give a file or a campaign's folder, or else two --point or more", key="--point")
    if odd := [depth for depth in predict or () if not 0 < depth < math.inf]:
        raise ConfigError("a depth is a number above 0", key="--predict", value=odd[0])
    campaign = file is not None and file.is_dir()
    if file is None:
        series = {"": told_points(point or (), watts or ())}
    else:
        series = campaign_series(file) if campaign else {"": read_points(file)}
    answers = []
    for name, points in series.items():
        try:
            found = laws.fit(points, weights.value)
        except ValueError as error:
            if not name:
                raise ConfigError(str(error), file=file) from None
            answers.append({"series": name, "refused": str(error)})
            continue
        answers.append(({"series": name} if name else {}) | document(found, points, predict or ()))
    if json:
        console.document({"series": answers} if campaign else answers[0])
        return
    for answer in answers:
        if answer.get("series"):
            print(f"\n{answer['series']}")
        print(answer["refused"] if "refused" in answer else text(answer))


def campaign_series(folder: Path) -> dict[str, list[Point]]:
    """The measured points of each series of a campaign's sweep. ConfigError where it swept no depth."""
    from iojoule.errors import ConfigError
    from iojoule.report import load_campaign
    from iojoule.report.reduce import reduce_campaign
    from iojoule.report.sweep import sweep_of

    sweep = sweep_of(reduce_campaign(load_campaign(folder))[0])
    found = {} if sweep is None else {line.name: line.measured for line in sweep.lines}
    if not any(len({point.queue_depth for point in points} - {0}) > 1 for points in found.values()):
        raise ConfigError("no block load in it was run at several queue depths", file=folder)
    return found


def document(found: Laws, points: Sequence[Point], predict: Sequence[float]) -> dict[str, Any]:
    """The answer as one document. Intervals are of 95 %; an end that is null has no bound."""
    law = found.law
    loaded = [one for one in points if one.loaded]
    depths = sorted({one.queue_depth for one in loaded} | set(predict))
    latencies = [one for one in loaded if one.latency_ms]
    return {
        "a_ms": law.a_ms,
        "b_ms": law.b_ms,
        "x_max_iops": law.x_max_per_s,
        "knee": law.knee_q,
        "mape": law.mape_pct,
        "leave_one_out": law.leave_one_out_pct,
        "r_squared": law.r_squared,
        "serial_fraction": law.serial_fraction,
        "method": "two_point" if found.two_point else "least_squares",
        "points": len(loaded),
        "intervals": {
            "a_ms": _around(law.a_ms, law.a_half_ms),
            "b_ms": _around(law.b_ms, law.b_half_ms),
            "x_max_iops": law.x_max_interval_per_s,
            "knee": _around(law.knee_q, law.knee_half),
        },
        "predictions": [_prediction(found, depth, loaded) for depth in depths],
        "usl": _usl(found),
        "power": _power(found),
        "little": [_audit(one) for one in latencies] or None,
        "inverted": _inverted(latencies or [_by_little(one) for one in loaded], depths),
    }


def _around(value: float, half: float | None) -> list[float] | None:
    return None if half is None else [value - half, value + half]


def _prediction(found: Laws, depth: float, points: Sequence[Point]) -> dict[str, Any]:
    said = found.law.predict(depth)
    there = [one.iops for one in points if one.queue_depth == depth]
    mean = sum(there) / len(there) if there else None
    row: dict[str, Any] = {
        "queue_depth": depth,
        "iops": said.throughput_per_s,
        "iops_interval": said.interval_per_s,
        "latency_ms": said.response_ms,
        "measured_iops": mean,
        "error_pct": None if mean is None else 100 * (said.throughput_per_s / mean - 1),
    }
    if found.usl is not None:
        row["usl_iops"] = found.usl.throughput_per_s(depth)
    if found.power is not None:
        power = found.power.efficiency(depth)
        row |= {
            "watts": power.watts,
            "watts_interval": _around(power.watts, power.half_watts),
            "iops_per_w": power.iops_per_w,
            "iops_per_w_interval": _around(power.iops_per_w, power.half_iops_per_w),
        }
    return row


def _usl(found: Laws) -> dict[str, Any] | None:
    law = found.usl
    if law is None:
        return None
    return {
        "gamma_iops": law.gamma_per_s,
        "alpha": law.alpha,
        "beta": law.beta,
        "peak": law.peak_n,
        "beta_held_at_0": law.clamped,
        "mape": law.mape_pct,
    }


def _power(found: Laws) -> dict[str, Any] | None:
    law = found.power
    if law is None:
        return None
    return {
        "idle_w": law.idle_w,
        "idle_w_interval": _around(law.idle_w, law.fit.half((1.0, 0.0))),
        "delta_w": law.delta_w,
        "delta_w_interval": _around(law.delta_w, law.fit.half((0.0, 1.0))),
        "leave_one_out": law.leave_one_out_pct,
        "held_back_iops_per_w": found.held_back_pct,
        "held_back": [
            {"queue_depth": one.q, "measured": one.measured, "predicted": one.predicted, "error_pct": one.error_pct}
            for one in found.held_back
        ],
    }


def _audit(point: Point) -> dict[str, Any]:
    from iojoule.metrics.little import audit

    said = audit(point.iops, point.latency_ms or 0.0, point.queue_depth)
    return {
        "queue_depth": point.queue_depth,
        "outstanding": said.outstanding,
        "deviation_pct": said.deviation_pct,
        "holds": said.holds,
    }


def _by_little(point: Point) -> Point:
    from dataclasses import replace

    return replace(point, latency_ms=1000 * point.queue_depth / point.iops)


def _inverted(points: Sequence[Point], depths: Sequence[float]) -> dict[str, Any] | None:
    """The printed form beside the law, and why it is not used."""
    from iojoule.models import inverted

    if len({one.queue_depth for one in points}) < 2:
        return None
    form = inverted.fit([one.queue_depth for one in points], [one.latency_ms or 0.0 for one in points])
    return {
        "form": "1/latency = c + d/Q",
        "c_per_ms": form.c_per_ms,
        "d_per_ms": form.d_per_ms,
        "limit_ms": form.limit_ms,
        "mape": form.mape_pct,
        "reason": inverted.REASON,
        "predictions": [
            {"queue_depth": q, "latency_ms": form.latency_ms(q), "iops": form.throughput_per_s(q)} for q in depths
        ],
    }
