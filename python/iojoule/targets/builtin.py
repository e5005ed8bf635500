"""`python -m iojoule.targets.builtin ROOT --port P`: serve a directory with the engine's own server until SIGTERM."""

from __future__ import annotations

import argparse
import signal

from iojoule.targets.ports import LOOPBACK


def main(arguments: list[str] | None = None) -> None:
    """Serve until the process is told to end; nothing needs to be saved, so the signal just ends it."""
    parser = argparse.ArgumentParser(prog="python -m iojoule.targets.builtin", description=__doc__)
    parser.add_argument("root", help="directory to serve")
    parser.add_argument("--port", type=int, default=0, help="loopback port; 0 takes a free one")
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    from iojoule import _native

    _native.serve(given.root, LOOPBACK, given.port, given.threads)


if __name__ == "__main__":
    main()
