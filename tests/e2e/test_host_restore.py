"""What was set, attached or made is put back after a kill, wherever it struck, unless somebody changed it since."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from e2e.loops import MIB, Loops, queue, run
from iojoule.host.journal import journals, unrestored
from iojoule.host.restore import restore
from iojoule.targets.base import Opening
from iojoule.targets.device import DeviceTarget, open_device
from iojoule.targets.loop import LoopTarget, open_loop

pytestmark = pytest.mark.e2e

LOOP_CTL_ADD, LOOP_CTL_REMOVE = 0x4C80, 0x4C81
WANTED = {"read_ahead": "1MiB", "scheduler": "mq-deadline", "write_cache": "write through"}


def opening(campaign: Path, *destroy: Path) -> Opening:
    run = campaign / "runs" / "000"
    return Opening(
        run / "raw/target",
        destroy=frozenset(destroy),
        writes=True,
        journal=run / "raw/settings.jsonl",
        shared=campaign / "targets",
    )


def in_child(act: Callable[[], None]) -> int:
    """Run ``act`` in a process of its own; its wait status."""
    child = os.fork()
    if not child:
        with suppress(BaseException):
            act()
            os._exit(0)
        os._exit(9)
    return os.waitpid(child, 0)[1]


def iojoule(*words: str | Path) -> tuple[int, dict[str, Any]]:
    command = [sys.executable, "-m", "iojoule", *map(str, words), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    return done.returncode, json.loads(done.stdout)


def test_a_setting_is_put_back_after_a_kill_and_its_loop_device_and_file_taken_away(
    loops: Loops, tmp_path: Path
) -> None:
    """As in a real campaign: a child changes read-ahead, scheduler and write cache of a loop device, and dies."""
    runs = tmp_path / "runs"
    where = tmp_path / "device"

    def child() -> None:
        config = LoopTarget(name="l", size=4 * MIB, **WANTED)
        with open_loop(config, opening(runs / "campaign")) as storage:
            where.write_text(str(storage.paths[0]))
            os.kill(os.getpid(), signal.SIGKILL)

    assert os.WTERMSIG(in_child(child)) == signal.SIGKILL
    device = Path(where.read_text())
    changed = queue(device)
    assert "[mq-deadline]" in changed["scheduler"]
    assert changed["read_ahead_kb"] == "1024\n"
    assert changed["write_cache"] == "write through\n"

    (before,) = (c.facts["old"] for j in journals([runs]) for c in unrestored(j) if c.kind == "settings")
    code, told = iojoule("host", "restore", runs)
    assert code == 0, told
    assert [change["kind"] for change in told["changes"]] == ["settings", "loop", "made"]
    assert {change["result"] for change in told["changes"]} == {"restored"}
    after = queue(device)
    assert f"[{before['scheduler']}]" in after["scheduler"]
    assert after["read_ahead_kb"] == f"{before['read_ahead_kb']}\n"
    assert not Path("/sys/block", device.name, "loop/backing_file").exists()
    assert not list((runs / "campaign/targets").glob("*.img"))
    assert iojoule("host", "restore", runs) == (0, {"changes": [], "exit": 0})


def test_a_loop_device_is_detached_though_its_file_was_removed(loops: Loops, tmp_path: Path) -> None:
    where = tmp_path / "device"

    def child() -> None:
        with open_loop(LoopTarget(name="l", size=MIB), opening(tmp_path / "c")) as storage:
            where.write_text(str(storage.paths[0]))
            storage.backing[0].unlink()
            os.kill(os.getpid(), signal.SIGKILL)

    in_child(child)
    backing = Path("/sys/block", Path(where.read_text()).name, "loop/backing_file")
    assert "(deleted)" in backing.read_text()
    assert [(outcome.kind, outcome.result) for outcome in restore([tmp_path / "c"])] == [
        ("loop", "restored"),
        ("made", "gone"),
    ]
    assert not backing.exists()


class Fuse:
    """Kills the process before or after its n-th lasting act: a synced line, a setting, a tool, a name."""

    def __init__(self, patch: pytest.MonkeyPatch, at: int) -> None:
        self.left = at
        for owner, name in [(os, "fsync"), (Path, "write_text"), (subprocess, "run"), (os, "link"), (Path, "unlink")]:
            patch.setattr(owner, name, self.wrapped(getattr(owner, name)))

    def wrapped(self, act: Callable[..., Any]) -> Callable[..., Any]:
        def around(*arguments: Any, **named: Any) -> Any:
            self.burn()
            result = act(*arguments, **named)
            self.burn()
            return result

        return around

    def burn(self) -> None:
        self.left -= 1
        if self.left < 0:
            os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("kind", ["device", "loop"])
def test_a_kill_at_any_point_of_a_step_leaves_nothing_that_is_not_put_back(
    kind: str, loops: Loops, tmp_path: Path
) -> None:
    device = loops.device(4 * MIB)
    before = queue(device)

    def step(at: int, campaign: Path) -> None:
        with pytest.MonkeyPatch.context() as patch:
            Fuse(patch, at)
            if kind == "device":
                with open_device(DeviceTarget(name="d", path=device, **WANTED), opening(campaign, device)):
                    pass
            else:
                with open_loop(LoopTarget(name="l", size=MIB, fill="zero", **WANTED), opening(campaign)):
                    pass

    changed = 0
    for at in range(400):
        campaign = tmp_path / f"{at}"
        killed = os.WIFSIGNALED(in_child(lambda at=at, campaign=campaign: step(at, campaign)))  # type: ignore[misc]
        begun = [change for journal in journals([campaign]) for change in unrestored(journal)]
        changed += queue(device) != before
        restore([campaign])
        assert queue(device) == before, f"killed at {at}"
        for facts in (change.facts for change in begun if change.kind == "settings"):
            for name, place in facts["places"].items():
                assert facts["old"][name] in Path(place).read_text().replace("[", ""), f"killed at {at}"
        left = [change for journal in journals([campaign]) for change in unrestored(journal)]
        assert left == [], f"killed at {at}"
        assert list(campaign.rglob("*.img")) == [], f"killed at {at}"
        listed = subprocess.run(["/usr/sbin/losetup", "-a"], capture_output=True, text=True).stdout
        assert str(campaign) not in listed, f"killed at {at}"
        if not killed:
            break
    else:
        pytest.fail("the step never came to its end")
    assert at > 15, "a step has more points than that at which it can be killed"
    assert changed > 5 or kind == "loop"


def test_a_kill_while_it_is_being_put_back_is_put_back_by_the_next(loops: Loops, tmp_path: Path) -> None:
    device = loops.device(4 * MIB)
    before = queue(device)

    def die() -> None:
        with open_device(DeviceTarget(name="d", path=device, **WANTED), opening(tmp_path / "c", device)):
            os.kill(os.getpid(), signal.SIGKILL)

    def put_back(at: int) -> None:
        with pytest.MonkeyPatch.context() as patch:
            Fuse(patch, at)
            restore([tmp_path / "c"])

    for at in range(14):
        in_child(die)
        assert queue(device) != before
        in_child(lambda at=at: put_back(at))  # type: ignore[misc]
        restore([tmp_path / "c"])
        assert queue(device) == before, f"killed at {at}"


def test_what_somebody_changed_since_is_left_unless_forced(loops: Loops, tmp_path: Path) -> None:
    device = loops.device(4 * MIB)
    before = queue(device)

    def die() -> None:
        with open_device(DeviceTarget(name="d", path=device, read_ahead="1MiB"), opening(tmp_path / "c", device)):
            os.kill(os.getpid(), signal.SIGKILL)

    in_child(die)
    mine = Path("/sys/block", device.name, "queue/read_ahead_kb")
    mine.write_text("64")
    code, told = iojoule("host", "restore", tmp_path / "c")
    assert code == 1
    assert told["changes"][0]["result"] == "left"
    assert "is 64 now" in told["changes"][0]["text"]
    assert mine.read_text() == "64\n"
    code, told = iojoule("host", "restore", tmp_path / "c", "--force")
    assert (code, told["changes"][0]["result"]) == (0, "restored")
    assert queue(device) == before


def test_a_run_that_still_goes_on_is_left_alone(loops: Loops, tmp_path: Path) -> None:
    device = loops.device(4 * MIB)
    before = queue(device)
    with open_device(DeviceTarget(name="d", path=device, scheduler="kyber"), opening(tmp_path / "c", device)):
        code, told = iojoule("host", "restore", tmp_path / "c")
        assert (code, told["changes"][0]["result"]) == (0, "running")
        assert "[kyber]" in queue(device)["scheduler"]
    assert queue(device) == before


def test_what_was_set_on_a_loop_device_is_put_back_whatever_file_is_below_it_now(loops: Loops, tmp_path: Path) -> None:
    """The kernel keeps the settings of a loop device when its file goes: the next user would have them."""
    device = loops.device(4 * MIB)
    before = queue(device)

    def die() -> None:
        with open_device(DeviceTarget(name="d", path=device, **WANTED), opening(tmp_path / "c", device)):
            os.kill(os.getpid(), signal.SIGKILL)

    in_child(die)
    run("losetup", "-d", device)
    run("losetup", device, loops.file())
    assert queue(device) != before
    assert [outcome.result for outcome in restore([tmp_path / "c"])] == ["restored"]
    assert queue(device) == before


def test_a_disk_that_came_under_the_name_of_another_is_not_touched(loops: Loops, tmp_path: Path) -> None:
    with Path("/dev/loop-control").open() as control:
        number = fcntl.ioctl(control, LOOP_CTL_ADD, 200 + os.getpid() % 800)
        device = Path(f"/dev/loop{number}")
        try:
            run("losetup", device, loops.file())

            def die() -> None:
                given = opening(tmp_path / "c", device)
                with open_device(DeviceTarget(name="d", path=device, scheduler="kyber"), given):
                    os.kill(os.getpid(), signal.SIGKILL)

            in_child(die)
            run("losetup", "-d", device)
            fcntl.ioctl(control, LOOP_CTL_REMOVE, number)
            fcntl.ioctl(control, LOOP_CTL_ADD, number)
            outcomes = restore([tmp_path / "c"])
        finally:
            fcntl.ioctl(control, LOOP_CTL_REMOVE, number)
    assert [(outcome.result, outcome.text[:12]) for outcome in outcomes] == [("gone", "another disk")]
