"""``iojoule meter sync-pulse``: a load of known times, and when each meter saw it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from iojoule.cli.meter_sections import FileArgument, KindOption, SettingOption


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
    from iojoule.experiment.known_load import computing, disk_under, drive, writing
    from iojoule.experiment.recording import Recording
    from iojoule.report.data import run_data
    from iojoule.report.pulses import seen
    from iojoule.store.reader import open_run

    configs = meters_of(file, kind, setting)
    where = "a processor" if cpu else f"{disk_under(on)} by writes in {on.resolve()}"
    with TemporaryDirectory(prefix="iojoule-sync-") as scratch:
        folder = Path(scratch) / "run"
        with Recording(configs, folder, lambda text: console.say(f"  {text}"), {}) as recording:
            console.say(f"driving {where} in pulses")
            load = drive(computing() if cpu else writing(on), scale, recording.tick)
        rows = seen(run_data(open_run(folder)), *load.activity(), load.began_ns)
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
