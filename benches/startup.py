"""How long `import iojoule` and `iojoule --help` take, as whole processes, beside an interpreter that does nothing.

What not to conclude: the interpreter's own start is in every figure; the third line says how much that is.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

ROUNDS = 15
COMMANDS = {
    "import iojoule": ([sys.executable, "-c", "import iojoule"], 0.100),
    "iojoule --help": ([str(Path(sys.executable).with_name("iojoule")), "--help"], 0.300),
    "python -c pass": ([sys.executable, "-c", "pass"], None),
}


def main() -> None:
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(ROUNDS):
        for name, (command, _goal) in COMMANDS.items():
            begin = time.perf_counter()
            subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
            times[name].append(time.perf_counter() - begin)
    for name, (_command, goal) in COMMANDS.items():
        wanted = "" if goal is None else f"   goal {goal * 1e3:.0f} ms"
        print(f"{name:16} median {statistics.median(times[name]) * 1e3:6.1f} ms{wanted}")


if __name__ == "__main__":
    main()
