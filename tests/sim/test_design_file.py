"""A design file is read strictly, and every list in it is a sweep."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from iojoule.errors import ConfigError
from iojoule.sim import design as designs
from iojoule.sim.axes import choose
from iojoule.sim.request import request


def sweep_of(tmp_path: Path, text: str, **changes: str) -> designs.Sweep:
    file = tmp_path / "design.toml"
    file.write_text(text)
    return designs.read(file)


def refusal(tmp_path: Path, text: str) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        for point in sweep_of(tmp_path, text).points:
            request(point.design)
    return caught.value


BASE = """
[drive]
preset = "cheetah9LP"

[array]
layout = "raid5"
drives = 5
stripe_unit = "64KiB"

[trace]
random = "4KiB"
requests = 10
rate = "50/s"
"""


def test_quantities_are_sectors_and_nanoseconds_to_the_engine(tmp_path: Path) -> None:
    text = BASE + '[report]\nwarmup = "1min"\n[cache]\nsize = "1MiB"\nflush = "30s"\n'
    asked = request(sweep_of(tmp_path, text).points[0].design)
    assert asked["array"]["stripe_unit"] == 128
    assert asked["warmup_ns"] == 60_000_000_000
    assert asked["array"]["cache"] == {"block": 8, "blocks": 256, "hit_ns": 0, "flush_ns": 30_000_000_000}


@pytest.mark.parametrize(
    ("written", "nearest", "line"),
    [
        ('[array]\nlayout = "raid0"\ndrives = 2\nschedular = "satf"\n', "scheduler", 7),
        ('[arrray]\nlayout = "raid0"\n', "array", 4),
        ('[array]\nlayout = "raid0"\n[policy]\nkind = "fixd"\n', "fixed", 7),
    ],
)
def test_an_unknown_word_is_told_with_its_nearest_and_its_line(
    tmp_path: Path, written: str, nearest: str, line: int
) -> None:
    text = '[drive]\npreset = "cheetah9LP"\n\n' + written + '[trace]\nrandom = "4KiB"\n'
    error = refusal(tmp_path, text)
    assert (error.nearest, error.line) == (nearest, line)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (BASE.replace('preset = "cheetah9LP"', ""), "one of preset, file and disksim"),
        (BASE.replace("drives = 5", ""), "how many drives"),
        (BASE.replace("64KiB", "1000"), "whole sectors"),
        (BASE.replace("raid5", "raid6"), "layout"),
        (BASE.replace('requests = 10\n', ""), "number of requests"),
        (BASE + "[[fault]]\nat = 3\ndrive = 1\n", "'kind' is missing"),
        (BASE.replace("drives = 5", "drives = []"), "an empty list sweeps nothing"),
        (BASE + "shape = 3\n", "unknown key 'trace.shape'"),
        (BASE.replace('drives = 5', 'drives = 5\nshape = "1x5x1"'), "does not read shape"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_before_anything_runs(tmp_path: Path, text: str, said: str) -> None:
    assert said in str(refusal(tmp_path, text))


def parameters(sweep: designs.Sweep) -> list[dict[str, Any]]:
    return [point.parameters for point in sweep.points]


def test_lists_are_multiplied_in_the_order_of_the_file(tmp_path: Path) -> None:
    text = BASE.replace("drives = 5", "drives = [4, 5]").replace('"50/s"', '["50/s", "60/s", "70/s"]')
    points = parameters(sweep_of(tmp_path, text))
    assert len(points) == 6
    assert points[1] == {"array.drives": 4, "trace.rate": "60/s"}


def test_lists_of_one_group_go_in_step(tmp_path: Path) -> None:
    text = BASE.replace("drives = 5", "drives = [4, 5]").replace('"50/s"', '["50/s", "60/s"]')
    sweep = sweep_of(tmp_path, text + '[sweep]\nzip = [["array.drives", "trace.rate"]]\n')
    assert parameters(sweep) == [
        {"array.drives": 4, "trace.rate": "50/s"},
        {"array.drives": 5, "trace.rate": "60/s"},
    ]


def test_lists_of_one_group_must_be_as_long(tmp_path: Path) -> None:
    text = BASE.replace("drives = 5", "drives = [4, 5]").replace('"50/s"', '["50/s"]')
    assert "as many values" in str(refusal(tmp_path, text + '[sweep]\nzip = [["array.drives", "trace.rate"]]\n'))


def test_a_case_overrides_its_sections_and_sweeps_by_itself(tmp_path: Path) -> None:
    cases = """
[[case]]
name = "mirror"
[case.array]
layout = "raid10"
drives = [4, 6]

[[case]]
name = "rests"
[case.policy]
kind = "fixed"
threshold = "15s"
"""
    sweep = sweep_of(tmp_path, BASE + cases)
    assert parameters(sweep) == [
        {"case": "mirror", "array.drives": 4},
        {"case": "mirror", "array.drives": 6},
        {"case": "rests"},
    ]
    assert request(sweep.points[2].design)["array"]["policy"] == {"kind": "fixed", "threshold_ns": 15_000_000_000}
    assert request(sweep.points[0].design)["array"]["stripe_unit"] == 128


def test_what_a_list_is_by_nature_sweeps_as_a_list_of_lists(tmp_path: Path) -> None:
    text = BASE.replace('layout = "raid5"\ndrives = 5', 'layout = "paraid"\ngears = [2, 4]')
    assert len(sweep_of(tmp_path, text).points) == 1
    text = text.replace("gears = [2, 4]", "gears = [[2, 4], [3, 5]]")
    assert [request(point.design)["array"]["drives"] for point in sweep_of(tmp_path, text).points] == [4, 5]


def test_the_parameter_with_most_numbers_runs_along_x_and_words_colour_lines() -> None:
    axes = choose({"case": ["a", "b"], "trace.rate": ["10/s", "20/s", "40/s"], "array.drives": [2, 4], "x": [1]})
    assert (axes.x, axes.series, axes.panels, axes.numeric) == ("trace.rate", ("case", "array.drives"), (), True)
    assert choose({"array.layout": ["raid0", "raid5"]}).numeric is False
