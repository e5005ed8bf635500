"""``iojoule meter record``: meters without a workload, into a table or a run folder, with the energy of each phase."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from iojoule.cli.meter_sections import FileArgument, KindOption, SettingOption

if TYPE_CHECKING:
    from iojoule.experiment.recording import Recording
    from iojoule.metrics.energy import Energy
    from iojoule.report.data import RunData

TABLES = (".parquet", ".csv")
LINE_EVERY_S = 10.0
"""How often a line is said where there is no terminal."""


def record(
    file: FileArgument = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="A table (.parquet, .csv), or else the folder of a run.")
    ] = None,
    kind: KindOption = None,
    setting: SettingOption = None,
    span: Annotated[str | None, typer.Option("--for", help="How long; until Ctrl-C if left out.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite a table that is there.")] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> int:
    """Record meters until Ctrl-C, or for a time; print each channel's energy and mean power with ± U (k = 2).

    A line on stdin begins a new phase of that name. What was recorded survives a kill: a table is written at the end,
    and until then what there is lies in OUTPUT.run, a run folder.

    Examples:  iojoule meter record wall.toml -o wall.csv --for 30s · iojoule meter record wall.toml -o runs/bench
    """
    from iojoule.cli import console
    from iojoule.cli.meter_manual_note import asked
    from iojoule.cli.meter_sections import meters_of
    from iojoule.cli.values import value_of
    from iojoule.errors import ConfigError, Exit
    from iojoule.experiment import displays
    from iojoule.experiment.recording import Recording
    from iojoule.quantities import seconds
    from iojoule.report.data import run_data
    from iojoule.report.words import made_words
    from iojoule.store.reader import open_run

    span_s = None if span is None else value_of(span, seconds, "--for")
    configs = meters_of(file, kind, setting)
    if output is None:
        raise ConfigError("say where to: -o wall.parquet, -o wall.csv or -o FOLDER", key="-o")
    table = output.suffix in TABLES
    folder = output.with_name(output.name + ".run") if table else output
    if output.exists() and not (table and force):
        raise ConfigError(f"{output} is there already" + ("; --force overwrites it" if table else ""), key="-o")
    if folder.exists():
        raise ConfigError(f"{folder} is there already: what an earlier recording left that was killed", key="-o")
    configs = displays.before(configs, asked)
    with Recording(configs, folder, lambda text: console.say(f"  {text}"), {}) as recording:
        console.say(f"recording {', '.join(config.name for config in configs)}; a line begins a phase, Ctrl-C ends")
        ended = _attend(recording, span_s)
        recording.end_phase()
        displays.after(configs, folder, asked)
    run = run_data(open_run(folder))
    phases, count = summary(run), run.readings().num_rows
    code = int(Exit.FINE if ended or span_s is None else Exit.INTERRUPTED)
    if table:
        _export(run, output)
        _remove(folder)
    said = {"output": str(output), "readings": count, "phases": phases, "meters": run.meters}
    if json:
        console.document(said | {"events": _told(run), "exit": code})
        return code
    for event in _told(run):
        print(f"{event['meter']}: {event['event'].removeprefix('meter_')} {event['text']}".rstrip())
    if run.made_meters:
        print(f"{made_words(run.made_meters)}: simulated watts")
    for row in phases:
        print("  ".join((f"{row['phase']:10}", f"{row['seconds']:9.3f} s", f"{row['channel']:24}", _spelled(row))))
    print(f"{count:,} readings: {output}")
    return code


def _attend(recording: Recording, span_s: float | None) -> bool:
    """Watch until the time is over (True) or somebody ends it (False)."""
    import sys
    import time

    from iojoule.cli.meter_lab import ended_by_sigterm
    from iojoule.cli.typed import TypedLines
    from iojoule.experiment.recording import TICK_S

    began = said = time.monotonic()
    typed = TypedLines()
    try:
        with ended_by_sigterm():
            while span_s is None or time.monotonic() - began < span_s:
                recording.tick()
                for name in filter(None, typed.within(TICK_S)):
                    recording.mark(name)
                now = time.monotonic()
                if sys.stderr.isatty() or now - said >= LINE_EVERY_S:
                    said = now
                    _live(recording, now - began)
            return True
    except KeyboardInterrupt:
        return False


def _live(recording: Recording, elapsed_s: float) -> None:
    import sys

    watts = "  ".join(f"{meter}/{channel} {w:.3f} W" for (meter, channel), w in recording.metering.latest().items())
    line = f"{elapsed_s:7.1f} s  {recording.phase:10}  {watts or 'no reading'}"
    if sys.stderr.isatty():
        print(f"\r\x1b[K{line[:160]}", end="", file=sys.stderr, flush=True)
    else:
        print(line, file=sys.stderr, flush=True)


def summary(run: RunData) -> list[dict[str, Any]]:
    """Energy and mean power of every channel of power in every phase, by the rules of every report."""
    from math import isfinite

    from iojoule.metrics.channels import channels, series
    from iojoule.metrics.energy import energies

    read = series(run.readings(), channels(run.meters))
    found = [
        (phase, name, energy if isfinite(energy.u) else _unbounded(energy))
        for phase in run.phases
        for name, energy in energies(read.values(), phase, {}).items()
    ]
    return [
        {
            "phase": phase.name,
            "seconds": phase.seconds,
            "channel": name,
            "boundary": energy.boundary,
            "joules": energy.joules,
            "expanded_j": energy.expanded if energy.joules is not None else None,
            "watts": energy.mean_w,
            "expanded_w": energy.expanded / phase.seconds if energy.joules is not None and phase.seconds else None,
            "coverage": energy.coverage,
            "note": energy.note,
            "budget": dict(energy.budget),
        }
        for phase, name, energy in found
    ]


def _unbounded(energy: Energy) -> Energy:
    """Nothing bounds the error: there is no energy to quote."""
    from dataclasses import replace

    return replace(
        energy, joules=None, u=0.0, note=energy.note or "nothing bounds its uncertainty: the phase is too short"
    )


def _spelled(row: dict[str, Any]) -> str:
    if row["joules"] is None:
        return f"no energy: {row['note']}"
    from iojoule.report.numbers import with_uncertainty

    joules, watts = (with_uncertainty(row[key], row[f"expanded_{key[0]}"]) for key in ("joules", "watts"))
    note = f"   ({row['note']})" if row["note"] else ""
    return f"{joules} J   {watts} W [{row['boundary']}]{note}"


def _told(run: RunData) -> list[dict[str, Any]]:
    """What went wrong with a meter meanwhile."""
    return [dict(event) for event in run.events if event["event"].startswith("meter_")]


def _export(run: RunData, output: Path) -> None:
    """The readings as one table: as they are, or in a spreadsheet's terms with UTC and U."""
    import pyarrow.csv as csv
    import pyarrow.parquet as parquet

    fresh = output.with_name(output.name + ".new")
    if output.suffix == ".parquet":
        parquet.write_table(run.readings(), fresh)
    else:
        csv.write_csv(_sheet(run), fresh)
    fresh.replace(output)


def _sheet(run: RunData) -> Any:
    """Columns for a spreadsheet: times in UTC and in seconds since the first reading, U (k = 2)."""
    import pyarrow as pa
    import pyarrow.compute as pc

    table = run.readings().sort_by([("start_ns", "ascending")])
    mono_ns, utc_ns = run.manifest["clock_pairs"][0]
    origin = table["start_ns"][0].as_py() if table.num_rows else 0
    utc_ms = pc.divide(pc.add(table["start_ns"], utc_ns - mono_ns), 1_000_000)
    utc, u = pc.cast(utc_ms, pa.timestamp("ms", "UTC")), table["u_value"]
    return pa.table(
        {
            "start_utc": pc.strftime(utc, "%Y-%m-%dT%H:%M:%SZ"),
            "start_s": pc.divide(pc.cast(pc.subtract(table["start_ns"], origin), pa.float64()), 1e9),
            "end_s": pc.divide(pc.cast(pc.subtract(table["end_ns"], origin), pa.float64()), 1e9),
            **{name: table[name] for name in ("meter", "channel", "quantity", "unit", "value")},
            "expanded": pc.if_else(pc.is_finite(u), pc.multiply(u, 2.0), None),
            "u_time_s": pc.divide(pc.cast(table["u_time_ns"], pa.float64()), 1e9),
            "quality": table["quality"],
        }
    )


def _remove(folder: Path) -> None:
    """What was kept against a kill until the table was whole; only what a recording makes."""
    import shutil

    shutil.rmtree(folder)
