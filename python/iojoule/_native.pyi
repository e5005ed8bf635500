"""The engine. One section a verb; each is one file under `crates/python/src`."""

from os import PathLike
from typing import Any, final

__all__ = [
    "DEBUG_BUILD",
    "Progress",
    "Server",
    "SimControl",
    "TableWriter",
    "TraceProgress",
    "__version__",
    "block_load",
    "build_content",
    "http_closed",
    "http_replay",
    "recover_table",
    "serve",
    "sim_run",
    "sim_sweep",
    "sim_validate",
    "trace_convert",
    "trace_head",
    "trace_info",
    "trace_profiles",
    "trace_synth",
    "weblog_info",
    "weblog_prepare",
    "weblog_synth",
]

__version__: str
DEBUG_BUILD: bool
"""True where the engine was built without optimisation: such a build refuses to measure."""

# table

@final
class TableWriter:
    """A Parquet file that stays readable up to its last commit when the writer is killed.

    `like` and `rows` are anything with the Arrow PyCapsule stream interface.
    """

    def __new__(cls, path: str | PathLike[str], like: Any) -> TableWriter: ...
    def write(self, rows: Any) -> None: ...
    def commit(self) -> None: ...
    def close(self) -> None: ...

def recover_table(path: str | PathLike[str]) -> bool:
    """Make the table of a killed writer readable; True where it had to be mended."""

# block

def block_load(config: str, progress: Progress) -> str:
    """Run a block load; configuration and summary are JSON."""

# http

@final
class Progress:
    """The live figures of one load, and the way to end it; any thread may use it while the load runs."""

    def __new__(cls) -> Progress: ...
    def snapshot(self) -> dict[str, Any]:
        """The counters at this moment by name; `phase` is a name or None."""

    def stop(self, now: bool = False) -> None:
        """End the load: after what is in flight, or now, recording that as `client_stop`."""

    @property
    def stopping(self) -> bool:
        """Whether an end was asked for; for loads that another program makes."""

    def measure(self, from_ns: int) -> None:
        """Begin the phase `measure` of a load that waits to be told, at this host time."""

def http_replay(config: str, progress: Progress) -> str:
    """Replay a prepared web log; configuration and summary are JSON."""

def http_closed(config: str, progress: Progress) -> str:
    """Run a closed loop; configuration and summary are JSON."""

def build_content(objects: str | PathLike[str], root: str | PathLike[str], seed: int) -> str:
    """Make every object of an objects table a file under `root`; the summary is JSON."""

@final
class Server:
    """The builtin static file server; it listens from its making on and answers while `run` runs."""

    def __new__(cls, root: str | PathLike[str], address: str = "127.0.0.1:0", threads: int = 1) -> Server: ...
    @property
    def port(self) -> int: ...
    @property
    def answered(self) -> int: ...
    def run(self) -> None: ...
    def stop(self) -> None: ...

def serve(root: str | PathLike[str], host: str, port: int, threads: int = 1) -> None:
    """Serve the files under `root` until a signal handler raises, or a signal ends the process."""

# trace

@final
class TraceProgress:
    """How far a conversion has come; any thread may ask while it runs."""

    def __new__(cls) -> TraceProgress: ...
    def bytes_read(self) -> int:
        """Bytes taken from the files, before decompression."""

def trace_convert(options: str, progress: TraceProgress | None = None) -> str:
    """Block traces to one file: `{"paths": [...], "output": ..., "read": {...}, "select": {...}}`; JSON both ways."""

def trace_head(options: str) -> str:
    """The first requests of block traces: `{"paths": [...], "requests": 10, "read": {...}}`; JSON both ways."""

# trace_info

def trace_info(options: str) -> str:
    """What block traces are like: `{"paths": [...], "reading": {...}, "info": {...}}`; options and answer are JSON."""

# trace_synth

def trace_synth(options: str) -> str:
    """A block trace that never happened: `{"output": ..., "profile": ..., "changes": {...}}`; JSON both ways."""

def trace_profiles() -> str:
    """Each profile's line and configuration by name, as JSON."""

# weblog

def weblog_info(options: str) -> str:
    """What logs hold; options and answer are JSON."""

def weblog_prepare(options: str) -> str:
    """Logs to a replay table and an objects table; options and answer are JSON."""

def weblog_synth(options: str) -> str:
    """A log that never happened; options and answer are JSON."""

# sim

@final
class SimControl:
    """What a simulation has reached, and the way to end it; any thread may use it meanwhile."""

    def __new__(cls) -> SimControl: ...
    def snapshot(self) -> dict[str, Any]:
        """`requests` answered and `simulated_s` of a run; of a sweep the points finished, as `requests`."""

    def stop(self) -> None: ...

def sim_run(job: str, control: SimControl) -> str:
    """Simulate one job; job and summary are JSON."""

def sim_sweep(points: str, results: str | PathLike[str], threads: int, control: SimControl) -> str:
    """Simulate many jobs on `threads` threads; every one that finishes adds a line to `results`."""

def sim_validate(options: str) -> str:
    """Replay a measured trace on a drive's model; options and comparison are JSON."""
