"""What the manifest of a run says of the machine: all that can change a time or a watt, but not its name."""

from __future__ import annotations

import gzip
import hashlib
import os
import platform
import re
import resource
import socket
import subprocess
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import Any

from iojoule import __version__
from iojoule.host.devices import block_devices, file_system
from iojoule.host.kernel import chosen, fields, number, text

#: tool -> how it says its version
_TOOLS = {
    "nginx": ["-v"],
    "apache2": ["-v"],
    "fio": ["--version"],
    "openssl": ["version"],
    "wrk": ["-v"],
}


def facts(root: Path = Path("/"), path: Path | None = None) -> dict[str, Any]:
    """All facts, as plain JSON; what this machine does not tell is None. `path` is where the run folder goes."""
    return {
        "iojoule": __version__,
        "engine": engine(),
        "python": platform.python_version(),
        "python_implementation": platform.python_implementation(),
        # Two runs of one machine can be told to be so, without its name.
        "host": hashlib.sha256(socket.gethostname().encode()).hexdigest()[:12],
        "kernel": kernel(root),
        "cpu": cpu(root),
        "memory": memory(root),
        "load_average": load_average(root),
        "limits": limits(root),
        "block_devices": block_devices(root),
        "file_system": file_system(path or Path.cwd(), root),
        "tools": tools(),
    }


def engine() -> dict[str, Any]:
    """Whether the native engine is there, and whether it is a debug build, whose times mean nothing."""
    if find_spec("iojoule._native") is None:
        return {"present": False, "debug": None}
    from iojoule import _native

    return {"present": True, "debug": _native.DEBUG_BUILD}


def kernel(root: Path) -> dict[str, Any]:
    release = text(root / "proc/sys/kernel/osrelease") or platform.release()
    source = root / "sys/devices/system/clocksource/clocksource0"
    return {
        "release": release,
        "clocksource": text(source / "current_clocksource"),
        "config_hz": _config_hz(root, release),
        "timer_slack_ns": number(root / "proc/self/timerslack_ns"),
        "transparent_hugepages": chosen(root / "sys/kernel/mm/transparent_hugepage/enabled"),
    }


def cpu(root: Path) -> dict[str, Any]:
    folder = root / "sys/devices/system/cpu"
    # Only the first is asked: a machine whose cores have different governors is shown by `checks`.
    scaling = folder / "cpu0/cpufreq"
    no_turbo, boost = number(folder / "intel_pstate/no_turbo"), number(folder / "cpufreq/boost")
    known = fields(root / "proc/cpuinfo")
    return {
        "model": known.get("model name") or known.get("Processor") or platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "online": text(folder / "online"),
        "governor": text(scaling / "scaling_governor"),
        "driver": text(scaling / "scaling_driver"),
        "max_khz": number(scaling / "scaling_max_freq"),
        "turbo": not no_turbo if no_turbo is not None else bool(boost) if boost is not None else None,
        "smt": None if (smt := number(folder / "smt/active")) is None else bool(smt),
        "virtual": "hypervisor" in known.get("flags", "").split(),
    }


def memory(root: Path) -> dict[str, Any]:
    known = fields(root / "proc/meminfo")
    swappiness = number(root / "proc/sys/vm/swappiness")
    return {
        "total_bytes": _kib(known.get("MemTotal")),
        "available_bytes": _kib(known.get("MemAvailable")),
        "swap_total_bytes": _kib(known.get("SwapTotal")),
        "swap_free_bytes": _kib(known.get("SwapFree")),
        "swappiness": swappiness,
    }


def load_average(root: Path) -> list[float] | None:
    """Over 1, 5 and 15 minutes."""
    found = text(root / "proc/loadavg")
    return None if found is None else [float(part) for part in found.split()[:3]]


def limits(root: Path) -> dict[str, Any]:
    """Open files of this process, and the tightest control-group limit on the way up to the root (cgroups(7), v2)."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    tightest: dict[str, float | None] = {"cpus": None, "memory_bytes": None}
    for folder in _control_groups(root):
        quota, _, period = (text(folder / "cpu.max") or "max").partition(" ")
        if quota != "max":
            tightest["cpus"] = _least(tightest["cpus"], int(quota) / int(period or 100_000))
        tightest["memory_bytes"] = _least(tightest["memory_bytes"], number(folder / "memory.max"))
    return {"open_files": soft, "open_files_hard": hard, "control_group": tightest}


def tools() -> dict[str, str]:
    """First line of what each outside tool says of its version; a tool that is not installed is not named."""
    search = os.pathsep.join([os.environ.get("PATH", ""), "/usr/local/sbin", "/usr/sbin", "/sbin"])
    found = {}
    for name, ask in _TOOLS.items():
        if (binary := which(name, path=search)) is not None:
            found[name] = _first_line([binary, *ask])
    return found


def _first_line(command: list[str]) -> str:
    try:
        said = subprocess.run(command, capture_output=True, text=True, timeout=5, errors="replace")
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"does not say: {error}"
    return next(iter((said.stdout or said.stderr).splitlines()), "").strip()


def _config_hz(root: Path, release: str) -> int | None:
    packed = root / "proc/config.gz"
    try:
        config = gzip.decompress(packed.read_bytes()).decode() if packed.exists() else None
    except (OSError, EOFError):
        config = None
    config = config or text(root / "boot" / f"config-{release}") or ""
    match = re.search(r"^CONFIG_HZ=(\d+)$", config, re.MULTILINE)
    return int(match[1]) if match else None


def _control_groups(root: Path) -> list[Path]:
    own = next((line[3:] for line in (text(root / "proc/self/cgroup") or "").splitlines() if line[:3] == "0::"), None)
    if own is None:
        return []
    top = root / "sys/fs/cgroup"
    folder = top / own.strip().lstrip("/")
    return [folder, *(parent for parent in folder.parents if parent.is_relative_to(top))]


def _least(before: float | None, found: float | None) -> float | None:
    return found if before is None else before if found is None else min(before, found)


def _kib(value: str | None) -> int | None:
    return int(value.split()[0]) * 1024 if value else None
