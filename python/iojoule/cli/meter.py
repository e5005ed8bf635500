"""``iojoule meter``: the instruments themselves, without a workload; each verb of it has its file."""

from __future__ import annotations

import typer

from iojoule.cli.meter_coverage import coverage
from iojoule.cli.meter_export import export
from iojoule.cli.meter_import import import_log
from iojoule.cli.meter_lab import WithCommand, lab
from iojoule.cli.meter_list import list_meters
from iojoule.cli.meter_manual_note import manual_note
from iojoule.cli.meter_probe import probe
from iojoule.cli.meter_record import record
from iojoule.cli.meter_serve import serve
from iojoule.cli.meter_sync_pulse import sync_pulse
from iojoule.cli.meter_truth import truth

app = typer.Typer(
    help="Meters: what there is, whether it answers, what it reads.",
    epilog="Examples:  iojoule meter list  ·  iojoule meter probe experiment.toml --json",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.command("list")(list_meters)
app.command()(probe)
app.command()(record)
app.command("manual-note")(manual_note)
app.command("import")(import_log)
app.command("sync-pulse")(sync_pulse)
app.command()(serve)
app.command()(export)
app.command(cls=WithCommand)(lab)
app.command()(truth)
app.command()(coverage)
