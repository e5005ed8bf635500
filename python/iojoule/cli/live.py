"""The live view: one panel on a terminal, a line every ten seconds elsewhere; always on stderr."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from iojoule.cli.console import say

if TYPE_CHECKING:
    from rich.table import Table

    from iojoule.experiment.displays import Ask
    from iojoule.experiment.watch import Figures
    from iojoule.meters.manual import ManualConfig

PLAIN_EVERY_S = 10.0
WINDOW_S = 2.0
"""Rates are taken over this long."""


class _Rates:
    """Requests and bytes per second over the last ``WINDOW_S``."""

    def __init__(self) -> None:
        self._past: deque[tuple[float, int, int]] = deque()

    def of(self, done: int, size: int) -> tuple[float, float]:
        now = time.monotonic()
        if self._past and done < self._past[-1][1]:
            self._past.clear()
        self._past.append((now, done, size))
        while now - self._past[0][0] > WINDOW_S and len(self._past) > 2:
            self._past.popleft()
        then, done_then, size_then = self._past[0]
        span = now - then
        return ((done - done_then) / span, (size - size_then) / span) if span > 0 else (0.0, 0.0)


class PlainView:
    """Lines for a log file or a pipe."""

    def __init__(self) -> None:
        self._last = 0.0
        self._rates = _Rates()

    def note(self, text: str) -> None:
        say(text)

    def asking(self, ask: Ask) -> Ask:
        """``ask`` as it is."""
        return ask

    def show(self, figures: Figures) -> None:
        rate, throughput = self._rates.of(figures.done, figures.bytes)
        if time.monotonic() - self._last >= PLAIN_EVERY_S:
            self._last = time.monotonic()
            say("  " + "  ".join(f"{name} {value}" for name, value in _rows(figures, rate, throughput)))


class RichView:
    """One panel, repainted ten times a second."""

    def __init__(self, live: Any) -> None:
        self._live = live
        self._rates = _Rates()

    def note(self, text: str) -> None:
        self._live.console.print(text, highlight=False, markup=False)  # a rule is told in brackets: [mounted]

    def asking(self, ask: Ask) -> Ask:
        """``ask`` with the panel taken away meanwhile: it would paint over the question."""

        def alone(config: ManualConfig, when: str) -> float | None:
            self._live.stop()
            try:
                return ask(config, when)
            finally:
                self._live.start()

        return alone

    def show(self, figures: Figures) -> None:
        self._live.update(self._panel(figures))

    def _panel(self, figures: Figures) -> Table:
        from rich.table import Table
        from rich.text import Text

        rate, throughput = self._rates.of(figures.done, figures.bytes)
        step = figures.step
        table = Table(
            title=f"{step.index + 1}/{figures.total_steps}  {step.workload} on {step.target}, {step.which}",
            show_header=False,
            title_justify="left",
            box=None,
            padding=(0, 2),
        )
        for name, value in _rows(figures, rate, throughput):
            table.add_row(name, Text(value))
        return table


def _rows(figures: Figures, rate: float, throughput: float) -> list[tuple[str, str]]:
    watts = total_watts(figures.watts)
    left = "" if not figures.planned else f" of {figures.planned:,}"
    each, rates, digits = ("I/O", "IOPS", 3) if figures.storage else ("request", "requests/s", 2)
    rows = [
        ("phase", f"{figures.phase}  {figures.elapsed_s:.0f} s{_time_left(figures)}"),
        ("done", f"{figures.done:,}{left}  {rate:,.0f} {rates}  {throughput / 1e6:,.1f} MB/s"),
        (
            "latency",
            f"p50 {figures.p50_ns / 1e6:.{digits}f} ms  p99 {figures.p99_ns / 1e6:.{digits}f} ms  "
            f"in flight {figures.in_flight}",
        ),
        ("errors", f"{figures.errors:,}"),
    ]
    if watts is not None:
        joules = f"{watts / rate:.4g} J per {each}" if rate > 0 else "no requests"
        rows.append(("power", f"{watts:.2f} W  {joules}"))
    if figures.note:
        rows.append(("note", figures.note))
    return rows


def _time_left(figures: Figures) -> str:
    if figures.expected_s is not None:
        left = figures.expected_s - figures.elapsed_s
    elif figures.planned and figures.issued:
        left = figures.elapsed_s * (figures.planned - figures.issued) / figures.issued
    else:
        return ""
    return f", {left:.0f} s left" if left > 0.5 else ""


def total_watts(latest: dict[tuple[str, str], float]) -> float | None:
    """The system channel where there is one, else the only channel; None rather than a sum over who knows what."""
    system = [watts for (_, channel), watts in latest.items() if channel == "system"]
    values = system or list(latest.values())
    return values[0] if len(values) == 1 else (sum(system) if system else None)


@contextmanager
def live_view() -> Iterator[PlainView | RichView]:
    """The view that fits where stderr goes; ``NO_COLOR`` is honoured by the terminal library."""
    if not sys.stderr.isatty():
        yield PlainView()
        return
    from rich.console import Console
    from rich.live import Live

    with Live(console=Console(stderr=True), refresh_per_second=10, transient=True) as live:
        yield RichView(live)
