"""What ``iojoule model amdahl`` says on a terminal."""

from __future__ import annotations

from typing import Any


def text(answer: dict[str, Any]) -> str:
    """The answer for people."""
    around = answer["intervals"]
    lines = [
        f"1/IOPS = a + b/Q: a = {answer['a_ms']:.4g}{_pm(answer['a_ms'], around['a_ms'])} ms, "
        f"b = {answer['b_ms']:.4g}{_pm(answer['b_ms'], around['b_ms'])} ms",
        f"at most {answer['x_max_iops']:.4g} IOPS{_range(around['x_max_iops'])}, knee at depth {answer['knee']:.3g}; "
        f"fits to {answer['mape']:.2g} %"
        + ("" if answer["leave_one_out"] is None else f", depths left out to {answer['leave_one_out']:.2g} %"),
    ]
    if answer["b_ms"] <= 0:
        lines.append("b is not above 0: the rate does not grow with the depth, and the law says nothing of this device")
    if (usl := answer["usl"]) is not None:
        beta = "beta held at 0" if usl["beta_held_at_0"] else f"beta {usl['beta']:.3g}"
        lines.append(f"scalability: gamma {usl['gamma_iops']:.4g} IOPS, alpha {usl['alpha']:.3g}, {beta}")
    if (power := answer["power"]) is not None:
        held = power["held_back_iops_per_w"]
        lines.append(
            f"P = {power['idle_w']:.4g} W + {power['delta_w']:.3g} W x IOPS/{answer['x_max_iops']:.4g}"
            + ("" if held is None else f"; IOPS/W of depths left out to {held:.2g} %")
        )
    watts = power is not None
    lines.append(
        f"{'depth':>7}{'measured':>11}{'IOPS':>11}{'95 %':>22}{'latency ms':>13}"
        + (f"{'W':>9}{'IOPS/W':>10}" if watts else "")
    )
    for row in answer["predictions"]:
        measured = "–" if row["measured_iops"] is None else f"{row['measured_iops']:.1f}"
        line = f"{row['queue_depth']:7g}{measured:>11}{row['iops']:11.1f}{_range(row['iops_interval']):>22}"
        line += f"{row['latency_ms']:13.3f}"
        if watts:
            line += f"{row['watts']:9.2f}{row['iops_per_w']:10.3f}"
            line += _pm(row["iops_per_w"], row["iops_per_w_interval"])
        lines.append(line)
    for sign, meaning in (
        (1, "rate and latency there cannot both be right"),
        (-1, "slots stood empty between requests"),
    ):
        off = [row for row in answer["little"] or () if not row["holds"] and sign * row["deviation_pct"] > 0]
        if off:
            depths = ", ".join(dict.fromkeys(f"{row['queue_depth']:g}" for row in off))
            lines.append(f"N = X R is {'above' if sign > 0 else 'below'} the depth at {depths}: {meaning}")
    return "\n".join(lines)


def _pm(value: float, interval: list[float] | None) -> str:
    return "" if interval is None else f" ± {interval[1] - value:.2g}"


def _range(interval: tuple[float, float | None] | None) -> str:
    if interval is None:
        return ""
    return f" ({interval[0]:.4g} to {'no bound' if interval[1] is None else f'{interval[1]:.4g}'})"
