"""Fuzz the experiment file: whatever is written in it, the answer is a plan or a ConfigError.

python fuzz/experiment_file.py -max_total_time=300 fuzz/corpus/experiment_file
"""

import contextlib
import sys
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["iojoule"]):
    from iojoule.errors import ConfigError
    from iojoule.experiment.parse import loads
    from iojoule.experiment.plan import make_plan


def one(data: bytes) -> None:
    text, _, setting = data.decode("utf-8", "replace").partition("\0")
    with contextlib.suppress(ConfigError):
        make_plan(loads(text, Path("/bench/fuzzed.toml"), [setting] if setting else [])).describe()


if __name__ == "__main__":
    atheris.Setup(sys.argv, one)
    atheris.Fuzz()
