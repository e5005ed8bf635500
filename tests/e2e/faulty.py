"""A disk that errs on command, for tests: the mount of crates/load/examples/faulty_device.rs."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from iojoule import _native

MIB = 1 << 20


class FaultyDevice:
    """A mounted disk. Its faults are lines of ``KIND FROM TO [NUMBER]``."""

    def __init__(self, mount: Path, server: subprocess.Popen[bytes]) -> None:
        self.path = mount / "device"
        self.server = server
        self._control = mount / "control"

    def faults(self, *lines: str) -> None:
        """Take these faults in place of those that were."""
        self._control.write_text("\n".join(lines) + "\n")

    def hits(self) -> list[int]:
        """How often each fault has struck."""
        return [int(line.rpartition("hits=")[2]) for line in self._control.read_text().splitlines()]

    def vanish(self) -> None:
        """End the server at once: every request from now on fails with ENOTCONN."""
        self.server.kill()
        self.server.wait(timeout=30)


@contextmanager
def mounted(program: Path, folder: Path, size: int = MIB) -> Iterator[FaultyDevice]:
    """A disk of ``size`` bytes of zeros, mounted in ``folder``."""
    mount = folder / "faulty"
    mount.mkdir()
    server = subprocess.Popen([program, mount, str(size)])
    try:
        deadline = time.monotonic() + 30
        while not (mount / "device").exists():
            assert server.poll() is None, "the device did not come up"
            assert time.monotonic() < deadline, "the device did not come up in time"
            time.sleep(0.01)
        yield FaultyDevice(mount, server)
    finally:
        # Lazily: what still hangs on it must not keep the mount.
        subprocess.run(["umount", "--lazy", mount], check=True)
        server.kill()
        server.wait(timeout=30)


def load(folder: Path, path: Path, work: dict[str, Any], **more: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """One block load on ``path``, 4 KiB at a time unless ``work`` says otherwise: its summary and its table."""
    run = folder / f"run{len(list(folder.glob('run*')))}"
    for part in ("tables", "hist"):
        (run / part).mkdir(parents=True)
    synthetic = {"kind": "synthetic", "pattern": {"kind": "sequential"}, "sizes": [{"bytes": 4096}], "queue_depth": 4}
    config = {
        "run": str(run),
        "target": {"kind": "files", "files": [{"path": str(path)}], "direct": True, "writable": True},
        "work": synthetic | work,
        "requests": MIB // 4096,
        "start_delay_ns": 0,
        "drain_ns": 2_000_000_000,
        **more,
    }
    summary = json.loads(_native.block_load(json.dumps(config), _native.Progress()))
    return summary, pq.read_table(run / "tables/requests.parquet").to_pylist()
