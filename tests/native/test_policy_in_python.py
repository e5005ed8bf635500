"""A policy is a class in a Python file. Where it decides as a built-in policy does, the run is the same to the byte."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from iojoule import _native
from iojoule.errors import ConfigError

FIXED = """
class Fixed:
    def __init__(self, threshold_s=None):
        self.threshold_s = threshold_s

    def idle(self, drive, now_s, view):
        return ("wake", drive, now_s + (self.threshold_s or view.break_even_s))

    def timer(self, drive, now_s, view):
        yield "spin_down", drive
"""


def simulated(policy: dict[str, Any], folder: Path | None = None, **load: Any) -> dict[str, Any]:
    job: dict[str, Any] = {
        "drive": {"preset": "ultrastar-36z15"},
        "array": {"drives": 2, "layout": {"kind": "raid0"}, "policy": policy, "seed": 3},
        "load": {"random": {"requests": 400, "bytes": 65536, "reads": 0.7, "rate": 0.05, **load}},
    }
    if folder is not None:
        for name in ("tables", "hist"):
            (folder / name).mkdir(parents=True)
        job["output"] = {"folder": str(folder)}
    summary: dict[str, Any] = json.loads(_native.sim_run(json.dumps(job), _native.SimControl()))
    return {key: value for key, value in summary.items() if key != "wall_s"}


def python(file: Path, text: str, name: str, **more: Any) -> dict[str, Any]:
    file.write_text(text)
    return {"kind": "python", "file": str(file), "class": name, **more}


@pytest.mark.parametrize("threshold", ["break_even", 3.25])
def test_a_fixed_threshold_in_python_gives_the_bytes_of_the_built_in_one(
    tmp_path: Path, threshold: str | float
) -> None:
    ns = threshold if isinstance(threshold, str) else round(threshold * 1e9)
    arguments = {} if isinstance(threshold, str) else {"arguments": {"threshold_s": threshold}}
    built_in = simulated({"kind": "fixed", "threshold_ns": ns}, tmp_path / "built-in")
    ours = simulated(python(tmp_path / "fixed.py", FIXED, "Fixed", **arguments), tmp_path / "python")
    assert built_in["spinups"] > 50
    assert ours == built_in
    for table in sorted((tmp_path / "built-in").rglob("*.*")):
        twin = tmp_path / "python" / table.relative_to(tmp_path / "built-in")
        assert twin.read_bytes() == table.read_bytes(), table.name


def test_a_ration_holds_for_a_policy_in_python_too(tmp_path: Path) -> None:
    policy = python(tmp_path / "fixed.py", FIXED, "Fixed", ration={"cycles": 365 * 4, "years": 1})
    # 400 requests at one in 20 s are an eleventh of a day: four cycles for each of the two drives.
    assert simulated(policy)["spinups"] <= 8


def test_a_policy_sees_the_array_at_every_decision_point(tmp_path: Path) -> None:
    text = """
class Sees:
    def __init__(self, file):
        self.file = open(file, "w")

    def idle(self, drive, now_s, view):
        one = view.drive(drive)
        assert view.now_s == now_s and view.drives == 2 and view.gear is None
        assert one.state == "idle" and one.queue == 0 and one.idle_since_s <= now_s
        return [("wake", drive, now_s + 2.0)]

    def timer(self, drive, now_s, view):
        assert now_s - view.drive(drive).idle_since_s > 1.999
        return ("spin_down", drive, "sleep")

    def arrived(self, drive, now_s, view):
        assert view.drive(drive).state in ("resting", "spinning_down"), view.drive(drive).state
        print("arrived", drive, file=self.file)

    def window(self, busy, now_s, view):
        assert len(busy) == 2 and all(0.0 <= share <= 1.0 for share in busy)
        assert round(now_s % 60.0, 9) in (0.0, 60.0)
        print("window", file=self.file, flush=True)
"""
    log = tmp_path / "log"
    policy = python(tmp_path / "sees.py", text, "Sees", arguments={"file": str(log)}, window_ns=60_000_000_000)
    summary = simulated(policy)
    lines = log.read_text().split("\n")
    assert sum(line.startswith("arrived") for line in lines) == summary["spinups"] > 100
    assert lines.count("window") == int(summary["simulated_s"] // 60)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("class P:\n    def idle(self, drive, now_s, view):\n        x = 1\n        return x / 0\n",
         ["p.py:4: P.idle: ZeroDivisionError"]),
        ("class P:\n    def idle(self, drive, now_s, view):\n        return ('spin_down', 7)\n",
         ["p.py: P.idle: ('spin_down', 7): there is no such drive among 2"]),
        ("class P:\n    def idle(self, drive, now_s, view):\n        return [('stop', drive)]\n",
         ["P.idle: ('stop', 0): orders are"]),
        ("class P:\n    def idle(self, drive, now_s, view):\n        return 7\n", ["P.idle: 7: an answer is None"]),
        ("class P:\n    def idle(self, drive):\n        return None\n", ["p.py", "P.idle: TypeError"]),
        ("class P:\n    def idle(self, drive, now_s, view):\n        return ('wake', drive, now_s)\n",
         ["P.timer: AttributeError"]),
        ("class P:\n    def __init__(self):\n        raise OSError('no')\n    idle = None\n",
         ["p.py:3: P.__init__: OSError: no"]),
        ("class P:\n    pass\n", ["P has none of the methods"]),
        ("class Q:\n    pass\n", ["p.py has no class P"]),
        ("class P:\n  def\n", ["p.py:2:", "SyntaxError"]),
        ("import no_such_module\n", ["p.py:1:", "no_such_module"]),
    ],
)  # fmt: skip
def test_what_goes_wrong_in_a_policy_is_its_authors_to_mend(tmp_path: Path, text: str, says: list[str]) -> None:
    with pytest.raises(ConfigError) as raised:
        simulated(python(tmp_path / "p.py", text, "P"))
    for part in says:
        assert part in str(raised.value)
    # The next run is none the worse for it.
    assert simulated({"kind": "never"})["spinups"] == 0


def test_a_policy_that_fails_late_ends_the_run_and_names_its_line(tmp_path: Path) -> None:
    text = (
        "class P:\n    def idle(self, drive, now_s, view):\n"
        "        if now_s > 1000:\n            raise RuntimeError('enough')\n"
    )
    with pytest.raises(ConfigError, match=r"p\.py:4: P\.idle: RuntimeError: enough"):
        simulated(python(tmp_path / "p.py", text, "P"), tmp_path / "run")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot read .*none\.py"):
        simulated({"kind": "python", "file": str(tmp_path / "none.py"), "class": "P"})
