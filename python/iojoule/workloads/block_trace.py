"""A block trace as a replay needs it: the canonical table, and how long what is played of it takes."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from iojoule.errors import ConfigError

_PARQUET = b"PAR1"


def canonical(traces: Sequence[Path], reading: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """``trace``, the table to play, and ``warnings`` of its reading. Other formats are converted into ``folder`` once;
    a canonical table is taken as it is. ConfigError where there is no trace."""
    for trace in traces:
        if not trace.is_file():
            raise ConfigError(f"there is no trace {trace}", key="workload.trace", value=str(trace))
    if len(traces) == 1 and not any(reading.values()) and _is_parquet(traces[0]):
        return {"trace": str(traces[0].resolve()), "warnings": []}
    request = {"paths": [str(trace.resolve()) for trace in traces], "read": dict(reading)}
    name = hashlib.sha256(json.dumps(request).encode()).hexdigest()[:12]
    table, note = folder / f"{name}.trace.parquet", folder / f"{name}.trace.json"
    if not note.exists():
        from iojoule import _native

        try:
            answer = json.loads(_native.trace_convert(json.dumps({**request, "output": str(table), "force": True})))
        except ConfigError as error:
            error.message = _as_keys(error.message)
            raise
        note.write_text(json.dumps({"trace": str(table), "warnings": [_as_keys(text) for text in answer["warnings"]]}))
    prepared: dict[str, Any] = json.loads(note.read_text())
    return prepared


def played_span_s(table: Path, until_s: float | None, most: int | None) -> float:
    """Seconds of trace time up to a time and a count of rows; those that a replay leaves out are counted, too, so that
    it may be longer than this where it plays ``most`` requests of some devices or operations."""
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(table) as file:
            last = file.metadata.num_rows if most is None else min(most, file.metadata.num_rows)
            rows, times = 0, [0]
            for batch in file.iter_batches(columns=["at_ns"]):
                at = batch.column(0)
                times += [at[0].as_py(), at[min(len(at), last - rows) - 1].as_py()] if len(at) else []
                rows += len(at)
                if rows >= last or (until_s is not None and times[-1] >= until_s * 1e9):
                    break
    except (OSError, ValueError, KeyError) as error:
        raise ConfigError(f"{table} cannot be read as a block trace: {error}", key="workload.trace") from error
    span_s = (times[-1] - times[1]) / 1e9 if len(times) > 1 else 0.0
    return span_s if until_s is None else min(span_s, until_s)


def _as_keys(text: str) -> str:
    """Advice of `iojoule trace` with its options as the keys they are in an experiment."""
    return re.sub(r"--(format|time-unit|sort)\b", lambda option: option[1].replace("-", "_"), text)


def _is_parquet(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == _PARQUET
