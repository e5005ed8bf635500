"""``iojoule trace head``: the first requests of a trace."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from iojoule.cli.trace_options import AlignStarts, Format, Json, KeepGoing, Sort, TimeUnit, Traces, reading


def head(
    traces: Traces,
    requests: Annotated[int, typer.Option("-n", "--requests", min=1, help="How many.")] = 10,
    format: Format = None,
    time_unit: TimeUnit = None,
    keep_going: KeepGoing = False,
    sort: Sort = False,
    align_starts: AlignStarts = False,
    json: Json = False,
) -> None:
    """Show the first requests in time order, and which format was recognised.

    Examples:  iojoule trace head disk.trace  ·  iojoule trace head -n 3 --json vm.vscsi.zst
    """
    from json import dumps, loads

    from iojoule import _native
    from iojoule.cli import console

    read = reading(format=format, time_unit=time_unit, keep_going=keep_going, sort=sort, align_starts=align_starts)
    options = {"paths": [str(trace) for trace in traces], "requests": requests, "read": read}
    answer: dict[str, Any] = loads(_native.trace_head(dumps(options)))
    console.answer(answer, answer["warnings"], head_text, as_json=json)


def head_text(answer: dict[str, Any]) -> str:
    """Formats, then one line a request."""
    formats = sorted({f"{file['format']} ({file['compression']})" for file in answer["files"]})
    lines = [f"format {', '.join(formats)}"]
    lines.append(
        f"{'at_s':>14}  {'device':<10}  {'op':<5}  {'offset':>15}  {'bytes':>9}  {'waits':<5}  {'response_ms':>11}"
    )
    for row in answer["requests"]:
        waits = {None: "", True: "no", False: "yes"}[row["asynchronous"]]
        response = "" if row["response_ns"] is None else f"{row['response_ns'] / 1e6:.3f}"
        device = str(row["device_name"] or row["device"])
        lines.append(
            f"{row['at_ns'] / 1e9:14.6f}  {device:<10}  {row['op']:<5}  {row['offset']:>15}  {row['bytes']:>9}  "
            f"{waits:<5}  {response:>11}".rstrip()
        )
    return "\n".join(lines)
