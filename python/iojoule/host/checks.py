"""What about this machine would spoil a measurement, and what its owner can do. Nothing is changed here.

The checks are those of the pyperf project (`pyperf system show`) and of people who measure power: a clock that is
dear to read, a governor that changes frequency, a neighbour that uses the disk, a meter that may not be read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from iojoule.host.devices import free_bytes
from iojoule.host.facts import cpu, engine, kernel, limits, load_average, memory
from iojoule.host.kernel import chosen, text

_ENOUGH_FILES = 4096
_ENOUGH_PORTS = 20_000
_ENOUGH_BYTES = 2 << 30
_QUIET = 0.3  # of the load that keeps every core busy
_GOOD_CLOCKS = ("tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter")


@dataclass(frozen=True)
class Check:
    """One thing looked at. `ok` is None where the machine does not tell; `advice` is empty where all is well."""

    name: str
    ok: bool | None
    found: str
    advice: str = ""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def checks(root: Path = Path("/"), path: Path | None = None) -> list[Check]:
    """Every check, in the order in which it is worth acting on them. `path` is where the run folders go."""
    made = [check(root) for check in CHECKS]
    return [*made, _disk_space(path or Path.cwd())]


def _judge(name: str, ok: bool | None, found: object, advice: str) -> Check:
    return Check(name, ok, "not told by this machine" if found is None else str(found), "" if ok else advice)


def _engine(root: Path) -> Check:
    state = engine()
    if not state["present"]:
        return Check("engine", False, "not built", "make build")
    words = {None: "build type unknown", True: "debug build", False: "release build"}[state["debug"]]
    ok = None if state["debug"] is None else not state["debug"]
    return _judge("engine", ok, words, "a debug build refuses to measure; build it with: make build")


def _governor(root: Path) -> Check:
    folders = sorted((root / "sys/devices/system/cpu").glob("cpu[0-9]*/cpufreq/scaling_governor"))
    found = sorted({governor for folder in folders if (governor := text(folder))})
    advice = "the clock frequency follows the load: cpupower frequency-set -g performance"
    if not found:
        return _judge("governor", None, None, "a virtual machine or a fixed frequency; ask who runs the host")
    return _judge("governor", found == ["performance"], ", ".join(found), advice)


def _turbo(root: Path) -> Check:
    turbo = cpu(root)["turbo"]
    advice = "power and speed depend on temperature; for comparisons: echo 1 > /sys/.../intel_pstate/no_turbo"
    ok = None if turbo is None else not turbo
    if turbo is None:
        return _judge("turbo", None, None, "")
    return _judge("turbo", ok, "on" if turbo else "off", advice)


def _clocksource(root: Path) -> Check:
    found = kernel(root)["clocksource"]
    ok = None if found is None else found in _GOOD_CLOCKS
    advice = "reading the time costs a system call or worse; see dmesg for why tsc was given up"
    return _judge("clock source", ok, found, advice)


def _load(root: Path) -> Check:
    found = load_average(root)
    if found is None:
        return _judge("load", None, None, "")
    cores = cpu(root)["cores"]
    said = f"{found[0]:.2f} over the last minute on {cores} cores"
    return _judge("load", found[0] <= _QUIET * cores, said, "something else is running; wait, or stop it")


def _open_files(root: Path) -> Check:
    found = limits(root)["open_files"]
    ok = found < 0 or found >= _ENOUGH_FILES  # RLIM_INFINITY is -1
    return _judge("open files", ok, found, f"many connections need many files: ulimit -n {_ENOUGH_FILES * 4}")


def _ports(root: Path) -> Check:
    found = text(root / "proc/sys/net/ipv4/ip_local_port_range")
    if found is None:
        return _judge("ephemeral ports", None, None, "")
    low, high = (int(part) for part in found.split())
    advice = "a connection per request uses them up: sysctl -w net.ipv4.ip_local_port_range='1024 65535'"
    return _judge("ephemeral ports", high - low >= _ENOUGH_PORTS, f"{low} to {high}", advice)


def _powercap(root: Path) -> Check:
    counters = sorted((root / "sys/class/powercap").glob("*/energy_uj"))
    if not counters:
        return _judge("powercap", None, "no RAPL counters", "use an instrument, or the utilisation model")
    readable = [counter for counter in counters if text(counter) is not None]
    said = f"{len(readable)} of {len(counters)} counters can be read"
    advice = "only root may read them: run as root, or chmod a+r /sys/class/powercap/*/energy_uj"
    return _judge("powercap", len(readable) == len(counters), said, advice)


def _swap(root: Path) -> Check:
    known = memory(root)
    total, free = known["swap_total_bytes"], known["swap_free_bytes"]
    if total is None or free is None:
        return _judge("swap", None, None, "")
    used = (total - free) >> 20
    said = "none" if total == 0 else f"{used} MiB of {total >> 20} MiB used"
    return _judge("swap", used == 0, said, "paging is disk load that is nobody's request: swapoff -a")


def _hugepages(root: Path) -> Check:
    found = chosen(root / "sys/kernel/mm/transparent_hugepage/enabled")
    ok = None if found is None else found != "always"
    advice = "compaction adds pauses: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"
    return _judge("huge pages", ok, found, advice)


def _time_sync(root: Path) -> Check:
    """The interval clock is what is recorded; the wall clock only names the run and meets other machines' clocks."""
    if (root / "run/systemd/timesync/synchronized").exists():
        return Check("time sync", True, "systemd-timesyncd")
    for daemon in ("chrony", "chronyd", "ntpd", "ntpsec"):
        if any((root / "run" / place).exists() for place in (f"{daemon}.pid", f"{daemon}/{daemon}.pid", daemon)):
            return Check("time sync", True, daemon)
    return _judge("time sync", None, None, "instruments with their own clock need one: apt-get install chrony")


def _disk_space(path: Path) -> Check:
    found = free_bytes(path)
    ok = None if found is None else found >= _ENOUGH_BYTES
    said = None if found is None else f"{found / 1e9:.1f} GB free for run folders"
    return _judge("disk space", ok, said, "a run that fills the disk ends; free some, or choose another --out")


CHECKS: tuple[Callable[[Path], Check], ...] = (
    _engine,
    _governor,
    _turbo,
    _clocksource,
    _load,
    _open_files,
    _ports,
    _powercap,
    _swap,
    _hugepages,
    _time_sync,
)
