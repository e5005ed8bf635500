"""How fast one core reads block traces, by format, and how fast it makes the canonical table of them.

Each file is a shared trace over and over, its times moved on, until it has about 100 MB; it stays in the page cache.
Reading keeps one request in a billion, so that next to nothing is written. Rates are by processor time, which other
work on the machine disturbs less than the wall clock. Do not conclude anything about compressed traces from it: there
the decompressor sets the pace.

    python -m benches.trace.read [--rounds 3] [--megabytes 100]
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from iojoule import _native

ROOT = Path(__file__).resolve().parent.parent.parent
DATA = Path(os.environ.get("IOJOULE_REFERENCE_DATA", ROOT.parent / "shared" / "data"))


def disksim(copy: int, once: bytes) -> bytes:
    span = float(once.splitlines()[-1].split()[0])
    moved = (line.split(b"\t") for line in once.splitlines())
    return b"".join(b"%.6f\t" % (float(f[0]) + copy * span) + b"\t".join(f[1:]) + b"\n" for f in moved)


def msr(copy: int, once: bytes) -> bytes:
    lines = [line.split(b",", 1) for line in once.splitlines()]
    span = int(lines[-1][0]) - int(lines[0][0])
    return b"".join(b"%d,%s\n" % (int(time) + copy * span, rest) for time, rest in lines)


def vscsi(copy: int, once: bytes) -> bytes:
    import numpy as np

    words = np.frombuffer(once, dtype="<u8").reshape(-1, 4).copy()
    words[:, 3] += np.uint64(copy) * (words[-1, 3] - words[0, 3])
    return words.tobytes()


FILES: dict[str, tuple[str, Callable[[int, bytes], bytes]]] = {
    "disksim": ("disksim/ascii.trace", disksim),
    "msr": ("blocktraces/caffeine_samples/msr-cambridge1-sample.csv", msr),
    "vscsi": ("blocktraces/cloudphysics/cloudPhysicsIO.vscsi", vscsi),
}


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--megabytes", type=int, default=100)
    given = options.parse_args()
    print("format    read MB/s  read M requests/s  table MB/s")
    with TemporaryDirectory() as folder:
        for name, (path, move) in FILES.items():
            once = (DATA / path).read_bytes()
            file = Path(folder) / f"{name}.trace"
            with file.open("wb") as out:
                for copy in range(-(-given.megabytes * 1_000_000 // len(once))):
                    out.write(move(copy, once))
            size = file.stat().st_size / 1e6
            output = Path(folder) / "out.parquet"
            asked = {"paths": [str(file)], "output": str(output), "force": True, "read": {"format": name}}
            reading, table, requests = [], [], 0
            for _ in range(given.rounds):
                begun = time.process_time()
                answer = json.loads(_native.trace_convert(json.dumps(asked | {"thin": {"one_in": 1e9}})))
                reading.append(time.process_time() - begun)
                requests = answer["read"]["requests"]
                begun = time.process_time()
                _native.trace_convert(json.dumps(asked))
                table.append(time.process_time() - begun)
            s = median(reading)
            print(f"{name:<8}  {size / s:9.0f}  {requests / s / 1e6:17.2f}  {size / median(table):10.0f}", flush=True)


if __name__ == "__main__":
    main()
