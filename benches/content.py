"""Incompressible content at how many bytes per second: files of 64 MiB onto a memory file system, one thread.

What not to conclude: the figure holds generating and writing to memory; on a disk the disk is the limit.
"""

from __future__ import annotations

import json
import shutil
import statistics
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from iojoule import _native

FILES, SIZE, ROUNDS = 8, 64 << 20, 5


def main() -> None:
    rates = []
    for seed in range(ROUNDS):
        with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
            folder = Path(name)
            columns = {
                "object": pa.array(range(FILES), pa.uint32()),
                "path": pa.array([f"/{i}.bin" for i in range(FILES)]),
                "file": pa.array([f"{i}.bin" for i in range(FILES)]),
                "size": pa.array([SIZE] * FILES, pa.uint64()),
                "size_rule": pa.array(["stated"] * FILES),
            }
            pq.write_table(pa.table(columns), folder / "x.objects.parquet")
            made = json.loads(_native.build_content(str(folder / "x.objects.parquet"), str(folder / "tree"), seed))
            rates.append(made["bytes"] / made["seconds"])
            shutil.rmtree(folder / "tree")
    print(f"content: median {statistics.median(rates) / 1e9:.2f} GB/s on one core   goal 1.00 GB/s")


if __name__ == "__main__":
    main()
