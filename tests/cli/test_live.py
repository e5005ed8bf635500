"""The live view says phase, time left, rates, latency, errors, watts and joules per request, and invents nothing."""

from __future__ import annotations

import io

import pytest

from iojoule.cli import live
from iojoule.experiment.plan import Step
from iojoule.experiment.watch import Figures

STEP = Step(0, "nginx", "day", 1, {})


def figures(**more: object) -> Figures:
    return Figures(STEP, 3, phase="measure", elapsed_s=10.0, planned=1000, issued=400, done=390, **more)  # type: ignore[arg-type]


def painted(of: Figures) -> str:
    from rich.console import Console

    out = io.StringIO()
    console = Console(file=out, width=120)

    class Screen:
        def __init__(self) -> None:
            self.console = console

        def update(self, table: object) -> None:
            console.print(table)

    live.RichView(Screen()).show(of)
    return out.getvalue()


def test_the_panel_says_where_the_run_stands() -> None:
    text = painted(figures(expected_s=60.0, errors=7, p50_ns=250_000, p99_ns=4_000_000, in_flight=3))
    for part in (
        "1/3  day on nginx, repeat 1",
        "measure",
        "50 s left",
        "390 of 1,000",
        "p50 0.25 ms",
        "p99 4.00 ms",
        "7",
    ):
        assert part in text


def test_time_left_is_estimated_where_the_end_is_not_known_beforehand() -> None:
    assert "15 s left" in painted(figures())


def test_power_is_the_system_s_and_is_not_shown_where_no_meter_speaks() -> None:
    assert "power" not in painted(figures())
    assert "44.50 W" in painted(figures(watts={("m", "cpu"): 24.5, ("m", "system"): 44.5}))


def test_channels_are_not_added_up_without_a_declared_total() -> None:
    assert live.total_watts({("a", "x"): 1.0, ("b", "y"): 2.0}) is None
    assert live.total_watts({("a", "x"): 1.0}) == 1.0
    assert live.total_watts({}) is None


def test_without_a_terminal_there_are_plain_lines(capsys: pytest.CaptureFixture[str]) -> None:
    with live.live_view() as view:
        view.note("campaign x")
        view.show(figures())
    said = capsys.readouterr()
    assert said.out == ""
    assert "campaign x" in said.err
    assert "\x1b" not in said.err


def test_brackets_are_text_and_no_markup() -> None:
    from rich.console import Console

    out = io.StringIO()

    class Screen:
        console = Console(file=out, width=120)

    live.RichView(Screen()).note("/dev/sdb is mounted [mounted]")
    assert "[mounted]" in out.getvalue()
    assert "meter: out of range [peak]" in painted(figures(note="meter: out of range [peak]"))
