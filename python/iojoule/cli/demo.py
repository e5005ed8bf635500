"""``iojoule demo``: the main job with nothing attached. A seeded synthetic day of web traffic is replayed against the
builtin server while a model of the power watches; it ends with a report."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer

EXPERIMENT = """\
# The demo: one synthetic day of web traffic in a minute, against the builtin server.
# The power is modelled from how busy processor and disks are; the coefficients below are round figures for a small
# server, not a measurement. Put a real meter here: iojoule explain meter

[experiment]
name = "demo"
description = "A synthetic day of web traffic (day/night curve, Zipf objects, lognormal sizes with a Pareto tail)."
repeats = {repeats}
idle = "5s"
interval = "2s"

[[target]]
name = "builtin"
kind = "http"
server = "builtin"

[[workload]]
name = "day"
kind = "web_replay"
log = ["day.log.gz"]
fit = "{fit}"
warmup = "1h"
cooldown = "30min"
connections = 1022
connection_mode = "per_client"
timeout = "10s"

[[meter]]
name = "model"
kind = "utilisation"
interval = "500ms"
idle_w = 20.0
cpu_w = 30.0
u_rel = 0.1
"""


def app(
    requests: Annotated[int, typer.Option(help="Requests of the synthetic day.")] = 40_000,
    fit: Annotated[str, typer.Option(help="How long a replay takes.")] = "30s",
    repeats: Annotated[int, typer.Option(help="How often it is replayed.")] = 2,
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder for campaign folders.")] = Path("runs"),
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> int:
    """Replay a synthetic day of web traffic against the builtin server; two minutes at most, no root, no instruments.

    Example:  iojoule demo --requests 100000 --fit 60s --repeats 3
    """
    from json import dumps

    from iojoule import _native
    from iojoule.cli.live import live_view
    from iojoule.cli.run import finish
    from iojoule.experiment.parse import load
    from iojoule.experiment.plan import make_plan
    from iojoule.experiment.runner import Campaign

    with tempfile.TemporaryDirectory(prefix="iojoule-demo-") as scratch, live_view() as view:
        bench = Path(scratch)
        view.note("making a synthetic day of web traffic")
        _native.weblog_synth(dumps({"output": str(bench / "day.log.gz"), "seed": 1, "requests": requests}))
        file = bench / "demo.toml"
        file.write_text(EXPERIMENT.format(fit=fit, repeats=repeats), encoding="utf-8")
        plan = make_plan(load(file, [f"experiment.output='{output.absolute()}'"]))
        folder, code = Campaign(plan, show=view.show, note=view.note).run()
    return finish(folder, code, report=True, json=json)
