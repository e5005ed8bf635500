"""``iojoule trace``: block traces, from any format to one; each verb of it has its file."""

from __future__ import annotations

import typer

from iojoule.cli.trace_convert import convert
from iojoule.cli.trace_head import head
from iojoule.cli.trace_info import info
from iojoule.cli.trace_synth import synth

app = typer.Typer(
    help="Block traces: timed requests to disks.",
    epilog="Examples:  iojoule trace info disk.trace --json  ·  iojoule trace convert disk.trace -o disk.parquet"
    "  ·  iojoule trace synth -o t.parquet --profile cello-base",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.command()(info)
app.command()(convert)
app.command()(head)
app.command()(synth)
