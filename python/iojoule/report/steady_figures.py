"""How each run settled before it was measured: its rounds against the limits of the rule (SNIA PTS)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .figures import Figure
from .numbers import plain
from .palette import faint
from .reduce import RunResult

MOST = 60
"""Runs in one picture; more would be a cloud, and the table of runs has the verdict of each."""


def steady_state(runs: Sequence[RunResult], name: str, colour: Mapping[str, str]) -> Figure | None:
    """The rounds of every run that was watched, relative to the mean of its window; None where none was."""
    watched = [one for one in runs if _state(one)][:MOST]
    if not watched:
        return None
    data: list[dict[str, Any]] = []
    rows: list[list[str]] = []
    named: set[str] = set()
    longest = 0
    for run in watched:
        state, target = _state(run), run.run.target
        rounds, mean = state["rounds"], _window_mean(state)
        if not mean:
            continue
        longest = max(longest, len(rounds))
        share = [None if one["value"] is None else 100 * one["value"] / mean for one in rounds]
        data.append(
            {
                "type": "scatter", "mode": "lines+markers", "opacity": 0.7, "name": target, "legendgroup": target,
                "showlegend": target not in named, "x": list(range(1, len(rounds) + 1)), "y": share,
                "line": {"color": colour[target], "width": 1.5 if state["steady"] else 1,
                         "dash": "solid" if state["steady"] else "dot"},
                "marker": {"size": 6, "color": colour[target],
                           "symbol": ["circle-open" if one["phase"] == "warmup" else "circle" for one in rounds]},
                "text": run.run.name, "hovertemplate": "round %{x}: %{y:.1f} %<extra>%{text}</extra>",
            }
        )  # fmt: skip
        named.add(target)
        rows.append(
            [
                run.run.name, "steady" if state["steady"] else state.get("reason") or "not steady",
                str(state.get("reached_round") or "–"), f"{plain(mean)} {state.get('unit', '')}",
                " ".join(plain(one["value"], 3) for one in rounds),
            ]
        )  # fmt: skip
    if not data:
        return None
    rule = _state(watched[0]).get("rule") or {}
    half = float(rule.get("excursion", 20.0)) / 2
    layout = {
        "height": 380,
        "xaxis": {"title": {"text": "round", "standoff": 6}, "range": [0.5, longest + 0.5], "tickformat": "d"},
        "yaxis": {"title": {"text": "share of the window's mean (%)"}},
        "shapes": [
            {"type": "rect", "xref": "paper", "x0": 0, "x1": 1, "y0": 100 - half, "y1": 100 + half,
             "fillcolor": faint("#7a7a7a"), "line": {"width": 0}, "layer": "below"}
        ],
    }  # fmt: skip
    caption = (
        f"Rounds of {rule.get('round', 0):g} s relative to the mean of the {rule.get('window', 5)} rounds that were "
        "judged. Hollow: before measuring; filled: measured; dotted: never steady. Steady is when the extremes lie "
        f"within {2 * half:g} % of the mean (the grey band) and the best-fit line changes by at most "
        f"{rule.get('slope', 10.0):g} %."
    )
    head = ["run", "verdict", "steady from round", "mean of the window", "rounds"]
    return Figure(name, "Steady state", caption, {"data": data, "layout": layout}, head, rows, wide=True)


def _state(run: RunResult) -> dict[str, Any]:
    return (run.run.manifest.get("engine") or {}).get("steady_state") or {}


def _window_mean(state: Mapping[str, Any]) -> float:
    """Mean of the rounds on which it was found steady; of the last ones where it never was."""
    rounds = state["rounds"]
    window = int((state.get("rule") or {}).get("window", 5))
    end = state.get("reached_round") or len(rounds)
    values = [one["value"] for one in rounds[max(0, end - window) : end] if one["value"] is not None]
    return sum(values) / len(values) if values else 0.0
