"""The engine's own static file server as a target, for machines without nginx."""

from __future__ import annotations

import getpass
import sys

from iojoule import __version__
from iojoule.targets.server import Job, Launch


def launch(job: Job) -> Launch:
    """Say how to start the builtin server; it needs no configuration file."""
    command = [sys.executable, "-m", "iojoule.targets.builtin", str(job.content)]
    command += ["--port", str(job.port), "--threads", str(job.config.workers)]
    return Launch(command, f"iojoule/{__version__}", config_text="", user=getpass.getuser())
