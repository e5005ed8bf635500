"""``iojoule model queue-depth``: laws of rate, response and power over queue depth, from points measured anywhere."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from iojoule.models.amdahl import Amdahl
    from iojoule.models.power import PowerOverDepth
    from iojoule.models.usl import Usl


class Weigh(StrEnum):
    """What the squared errors are weighed with."""

    RELATIVE = "relative"
    EQUAL = "equal"


def queue_depth(
    point: Annotated[list[str], typer.Option(help="DEPTH=RATE measured, rate per second (repeatable, two or more).")],
    watts: Annotated[
        list[str] | None, typer.Option(help="DEPTH=WATTS measured; depth 0 is idle (repeatable, two or more).")
    ] = None,
    predict: Annotated[list[float] | None, typer.Option(help="Depth to predict (repeatable).")] = None,
    weights: Annotated[
        Weigh, typer.Option(help="relative: errors are shares of what was measured; equal: shallow depths decide.")
    ] = Weigh.RELATIVE,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> None:
    """Amdahl's law and the universal scalability law through measured rates; with watts, requests per joule.

    Example:  iojoule model queue-depth --point 1=95 --point 4=230 --point 8=300 --point 32=398 --predict 64
    """
    from iojoule.cli import console
    from iojoule.errors import ConfigError
    from iojoule.models import amdahl, power, usl

    depths, rates = _pairs("--point", point)
    try:
        law = amdahl.least_squares(depths, rates, weights.value)
        scaling = usl.fit(depths, rates, weights.value) if len(set(depths)) > 2 else None
        draw = power.fit(*_pairs("--watts", watts), law) if watts else None
    except ValueError as error:
        raise ConfigError(str(error)) from None
    asked = sorted({*depths, *(predict or [])})
    if min(asked) <= 0:
        raise ConfigError("a depth is above 0", key="--predict", value=min(asked))
    answer = _answer(law, scaling, draw, asked, set(depths))
    if json:
        console.document(answer)
    else:
        print(_text(answer))


def _pairs(key: str, texts: list[str]) -> tuple[list[float], list[float]]:
    from iojoule.errors import ConfigError

    pairs = []
    for text in texts:
        depth, sign, value = text.partition("=")
        try:
            pairs.append((float(depth), float(value)))
        except ValueError:
            sign = ""
        if not sign:
            raise ConfigError(f"{key} is DEPTH=VALUE, for example 32=398", key=key, value=text)
    return [depth for depth, _ in pairs], [value for _, value in pairs]


def _answer(
    law: Amdahl, scaling: Usl | None, draw: PowerOverDepth | None, asked: list[float], measured: set[float]
) -> dict[str, Any]:
    from dataclasses import asdict

    rows = []
    for depth in asked:
        row = asdict(law.predict(depth)) | {"measured": depth in measured}
        if scaling is not None:
            row["usl_throughput_per_s"] = scaling.throughput_per_s(depth)
        if draw is not None:
            efficiency = draw.efficiency(depth)
            row |= {
                "watts": efficiency.watts,
                "requests_per_j": efficiency.iops_per_w,
                "u_requests_per_j": efficiency.u_iops_per_w,
            }
        rows.append(row)
    return {
        "amdahl": {
            "a_ms": law.a_ms,
            "b_ms": law.b_ms,
            "x_max_per_s": law.x_max_per_s,
            "serial_fraction": law.serial_fraction,
            "knee_q": law.knee_q,
            "mape_pct": law.mape_pct,
            "r_squared": law.r_squared,
            "leave_one_out_pct": law.leave_one_out_pct,
        },
        "usl": None
        if scaling is None
        else {
            "gamma_per_s": scaling.gamma_per_s,
            "alpha": scaling.alpha,
            "beta": scaling.beta,
            "peak_n": scaling.peak_n,
            "clamped": scaling.clamped,
            "mape_pct": scaling.mape_pct,
        },
        "power": None
        if draw is None
        else {"idle_w": draw.idle_w, "delta_w": draw.delta_w, "leave_one_out_pct": draw.leave_one_out_pct},
        "depths": rows,
    }


def _text(answer: dict[str, Any]) -> str:
    law, scaling, draw = answer["amdahl"], answer["usl"], answer["power"]
    left_out = law["leave_one_out_pct"]
    lines = [
        f"T = {law['a_ms']:.4g} ms + {law['b_ms']:.4g} ms / Q: at most {law['x_max_per_s']:.4g}/s, "
        f"knee at Q = {law['knee_q']:.3g}, fits to {law['mape_pct']:.2g} %"
        + ("" if left_out is None else f" (points left out: {left_out:.2g} %)")
    ]
    if scaling is not None:
        kind = "beta would be below 0 and is held there" if scaling["clamped"] else f"beta {scaling['beta']:.3g}"
        lines.append(
            f"scalability: gamma {scaling['gamma_per_s']:.4g}/s, alpha {scaling['alpha']:.3g}, {kind}, "
            f"fits to {scaling['mape_pct']:.2g} %"
        )
    if draw is not None:
        lines.append(f"P = {draw['idle_w']:.4g} W + {draw['delta_w']:.4g} W x utilisation")
    lines.append(f"{'depth':>7}{'rate /s':>12}{'response ms':>14}" + (f"{'W':>9}{'requests/J':>13}" if draw else ""))
    for row in answer["depths"]:
        line = f"{row['q']:7g}{row['throughput_per_s']:12.2f}{row['response_ms']:14.3f}"
        if draw:
            line += f"{row['watts']:9.3f}{row['requests_per_j']:13.3f}"
            if row["u_requests_per_j"] is not None:
                line += f" ± {2 * row['u_requests_per_j']:.2g} (k=2)"
        lines.append(line + ("" if row["measured"] else "  predicted"))
    return "\n".join(lines)
