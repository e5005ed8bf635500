"""Coverage of the truth: the table of docs/uncertainty.md. Not a speed: what does not depend on the machine."""

from __future__ import annotations

import sys

from iojoule.cli.meter_coverage import coverage

if __name__ == "__main__":
    coverage(sys.argv[1:] or None, runs=200, json=False)
