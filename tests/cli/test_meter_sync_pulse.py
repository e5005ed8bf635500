"""``iojoule meter sync-pulse``: a load of known times shows whose windows are where they say, and whose are not."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from iojoule.meters import clock
from iojoule.meters.lab.activity import ByteRate
from iojoule.meters.lab.bench import toml
from iojoule.meters.lab.load import Driven, Load, State, Truth
from iojoule.meters.lab.yokogawa_wt310 import Wt310Front

COMMAND = [sys.executable, "-m", "iojoule", "meter", "sync-pulse", "wall.toml", "--scale", "0.6"]


@dataclass
class Late:
    """The same load, seen ``by_ns`` later: a meter whose delay nobody knows of."""

    truth: Truth
    by_ns: int

    def watts(self, at_ns: int) -> float:
        return self.truth.watts(at_ns - self.by_ns)

    def joules(self, start_ns: int, end_ns: int) -> float:
        return self.truth.joules(start_ns - self.by_ns, end_ns - self.by_ns)

    def volts(self, at_ns: int) -> float:
        return self.truth.volts(at_ns - self.by_ns)


class Moved:
    """Bytes that a process and its threads have written to disks."""

    pid: int | None = None

    def __call__(self) -> int | None:
        try:
            text = Path(f"/proc/{self.pid}/io").read_text()
        except OSError:
            return None
        return int(re.search(r"^write_bytes: (\d+)$", text, re.MULTILINE)[1])  # type: ignore[index]


@contextmanager
def looked_at(driven: Driven) -> Iterator[None]:
    ending = threading.Event()

    def look() -> None:
        while not ending.wait(0.01):
            driven.look(clock.now_ns())

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield
    finally:
        ending.set()
        thread.join()


def test_a_meter_on_time_is_on_time_and_one_that_lags_is_found_out(tmp_path: Path) -> None:
    moved = Moved()
    driven = Driven(ByteRate(moved), 20e6, 5.0, 7.0)
    driven.look(clock.now_ns())
    wall, late = Wt310Front(driven, 1), Wt310Front(Late(driven, 400_000_000), 2)
    with looked_at(driven), wall.served(), late.served():
        sections = [{"name": "wall", **wall.section()}, {"name": "late", **late.section()}]
        (tmp_path / "wall.toml").write_text(toml([one | {"interval": "100ms"} for one in sections]))
        process = subprocess.Popen([*COMMAND, "--json"], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
        moved.pid = process.pid
        out, _ = process.communicate(timeout=120)
    said = json.loads(out)
    rows = {row["channel"]: row for row in said["channels"]}
    assert rows["wall/power"]["ok"], rows
    assert abs(rows["wall/power"]["offset_s"]) < 0.06
    assert rows["late/power"]["offset_s"] - rows["wall/power"]["offset_s"] == pytest.approx(0.4, abs=0.05)
    assert "later" in rows["late/power"]["note"] and not rows["late/power"]["ok"]
    assert process.returncode == said["exit"] == 1
    assert "past the page cache" in said["load"]["how"] and said["load"]["submitted"] > 1e6
    assert [path.name for path in tmp_path.iterdir()] == ["wall.toml"], "the file it wrote is gone"


def test_a_meter_on_another_disk_does_not_see_the_load(tmp_path: Path) -> None:
    front = Wt310Front(Load([State(9.0, 1.0)], clock.now_ns(), noise_w=0.2, seed=1), 1)
    with front.served():
        (tmp_path / "wall.toml").write_text(toml([{"name": "wall", **front.section(), "interval": "100ms"}]))
        command = [*COMMAND[:-1], "0.3", "--cpu"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1, done.stderr
    assert "does not follow the load" in done.stdout


@pytest.mark.parametrize(("folder", "said"), [("/dev/shm", "no disk"), ("/nowhere", "no folder")])
def test_what_is_on_no_disk_is_refused_before_a_meter_is_opened(folder: str, said: str) -> None:
    if folder != "/nowhere" and not Path(folder).is_dir():
        pytest.skip(f"no tmpfs at {folder}")
    words = ["--kind", "constant", "-S", "watts=1", "-S", "u_w=0.1", "--on", folder]
    done = subprocess.run([*COMMAND[:-3], *words], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 3, done.stderr
    assert said in done.stderr and "--cpu" in done.stderr
