"""``iojoule meter sync-pulse``: a load of known times, and when each meter saw it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from iojoule.cli.meter_sections import FileArgument, KindOption, SettingOption

if TYPE_CHECKING:
    from iojoule.experiment.known_load import Submitted
    from iojoule.report.data import RunData

SEARCH_S = 4.0
U_LOAD_S = 0.03
"""How far the power may come after what was submitted, as a standard uncertainty: caches, supplies, bins."""


def sync_pulse(
    file: FileArgument = None,
    kind: KindOption = None,
    setting: SettingOption = None,
    on: Annotated[Path, typer.Option(help="The folder to write in, on the disk whose power is measured.")] = Path(),
    cpu: Annotated[bool, typer.Option("--cpu", help="A busy processor instead of writes.")] = False,
    scale: Annotated[float, typer.Option(min=0.2, help="Makes every pulse and rest so much longer.")] = 1.5,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> int:
    """Write in pulses while the meters run, and say by how much each saw the power later than it was submitted.

    That should be nothing, within the uncertainty of the meter's windows: their times are the host's already. Exits 1
    if a meter is off by more than twice the uncertainty, or did not see the load.

    Examples:  iojoule meter sync-pulse wall.toml --on /mnt/ssd · iojoule meter sync-pulse wall.toml --cpu --json
    """
    from tempfile import TemporaryDirectory

    from iojoule.cli import console
    from iojoule.cli.meter_sections import meters_of
    from iojoule.errors import Exit
    from iojoule.experiment.known_load import disk_under, drive
    from iojoule.experiment.recording import Recording
    from iojoule.report.data import run_data
    from iojoule.store.reader import open_run

    configs = meters_of(file, kind, setting)
    where = "a processor" if cpu else f"{disk_under(on)} by writes in {on.resolve()}"
    with TemporaryDirectory(prefix="iojoule-sync-") as scratch:
        folder = Path(scratch) / "run"
        with Recording(configs, folder, lambda text: console.say(f"  {text}"), {}) as recording:
            console.say(f"driving {where} in pulses")
            load = drive(None if cpu else on, scale, recording.tick)
        rows = seen(run_data(open_run(folder)), load)
    code = int(Exit.FINE if rows and all(row["ok"] for row in rows) else Exit.CHECK_FAILED)
    if json:
        amounts = {"how": load.how, "pulses_s": (load.ended_ns - load.began_ns) * 1e-9, "submitted": sum(load.amount)}
        console.document({"load": amounts, "channels": rows, "exit": code})
        return code
    print(load.how)
    for row in rows:
        off = f"{row['offset_s']:+.4f} ± {2 * row['u_s']:.4f} s" if row["offset_s"] is not None else "not seen"
        print(f"{row['channel']:24} {off}  {row['note']}".rstrip())
    if not rows:
        print("no meter has a channel of power")
    return code


def seen(run: RunData, load: Submitted) -> list[dict[str, Any]]:
    """When each channel of power saw the load, after it was submitted."""
    import math

    from iojoule.metrics.channels import channels, series
    from iojoule.metrics.pulse import NoPulse, disagreement, lag

    edges, activity = load.activity()
    rows = []
    for name, one in series(run.readings(), channels(run.meters)).items():
        start, end = one.seconds(load.began_ns)
        row: dict[str, Any] = {"channel": name, "offset_s": None, "u_s": None, "u_map_s": one.u_time_s, "ok": False}
        rows.append(row)
        watts = one.watts().copy()
        watts[one.bad] = math.nan
        try:
            found = lag(edges, activity, start, end, watts, -SEARCH_S, SEARCH_S)
        except NoPulse as error:
            row["note"] = f"cannot be aligned: {error}"
            continue
        row["correlation"] = found.correlation
        if not found.found:
            row["note"] = (
                f"its power does not follow the load (correlation {found.correlation:.2f}); is it on that disk?"
            )
            continue
        u_s = math.hypot(found.u, U_LOAD_S)
        apart = disagreement(found.seconds, u_s, 0.0, one.u_time_s)
        row |= {"offset_s": found.seconds, "u_s": u_s, "apart": apart, "ok": apart <= 2}
        row["note"] = f"correlation {found.correlation:.3f}" + ("" if apart <= 2 else _warning(found.seconds))
    return rows


def _warning(seconds: float) -> str:
    side = "later" if seconds > 0 else "earlier"
    return f"; OFF: it sees the load {side} than its clock and latency say, by more than twice the uncertainty"
