"""``iojoule meter lab``: a bench of instruments that do not exist, on loopback, with a load whose energy is known."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from iojoule.cli.meter_sections import SettingOption

if TYPE_CHECKING:
    from iojoule.meters.lab.bench import Bench, Place
    from iojoule.meters.lab.load import Truth

DEFAULT_SCRIPT = "idle 10s, active 10s"
POLL_S = 0.1


class WithCommand(TyperCommand):
    """What stands after ``--`` is a command of its own, whatever stands before."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        cut = args.index("--") if "--" in args else len(args)
        ctx.meta["command"] = args[cut + 1 :]
        return super().parse_args(ctx, args[:cut])

    def format_usage(self, ctx: Any, formatter: Any) -> None:
        formatter.write_usage(ctx.command_path, "[OPTIONS] [FILE] [-- COMMAND]")


def lab(
    context: typer.Context,
    file: Annotated[
        Path | None, typer.Argument(help="Serve the meters of this file, at the addresses they name.")
    ] = None,
    setting: SettingOption = None,
    front: Annotated[list[str] | None, typer.Option(help="An instrument, on a free port; may be repeated.")] = None,
    script: Annotated[str | None, typer.Option(help=f'The load, such as "{DEFAULT_SCRIPT}, 12.5W 3s".')] = None,
    once: Annotated[bool, typer.Option("--once", help="Stay in the last state of the script.")] = False,
    follow: Annotated[
        str | None,
        typer.Option(help="The load follows the I/O of a disk (/dev/sdb) or of what runs in a folder (runs)."),
    ] = None,
    full: Annotated[str, typer.Option(help="With --follow: bytes per second at full power.")] = "200MB",
    idle: Annotated[float, typer.Option(help="Watts at rest.")] = 5.0,
    active: Annotated[float, typer.Option(help="Watts at full power.")] = 12.0,
    spin_up: Annotated[float, typer.Option(help="Watts while spinning up.")] = 24.0,
    noise: Annotated[float, typer.Option(help="Of a script: standard deviation of the power, W.")] = 0.0,
    droop: Annotated[float, typer.Option(help="Of a script: resistance of the supply, ohm.")] = 0.0,
    supply: Annotated[float, typer.Option(help="Volts of the supply.")] = 230.0,
    seed: Annotated[int, typer.Option(help="Of noise and of the errors of the instruments.")] = 1,
    truth: Annotated[Path | None, typer.Option(help="Keep the true power in this CSV file.")] = None,
    write_sections: Annotated[Path | None, typer.Option(help="Write the meter sections to this file.")] = None,
    control: Annotated[Path | None, typer.Option(help="Do what is appended to this file, as on stdin.")] = None,
    span: Annotated[str | None, typer.Option("--for", help="End after this long.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite files that are there.")] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout, at the end.")] = False,
) -> int:
    """Serve laboratory instruments on loopback and print the sections that read them; Ctrl-C ends it.

    What stands after -- is an iojoule command to run meanwhile; the bench ends with it, with its exit code.

    Lines on stdin make things go wrong: silent, late, half, garbage, split, double or hang_up with the name of an
    instrument and how often, or unplug and plug with its name.

    Examples:  iojoule meter lab --front yokogawa_wt310 --script "idle 5s, active 10s" --write-sections wall.toml
    · iojoule meter lab examples/bench-without-hardware.toml --follow runs --truth truth.csv
    """
    from iojoule.cli import console
    from iojoule.cli.values import value_of
    from iojoule.errors import ConfigError
    from iojoule.meters.lab.bench import Bench, toml
    from iojoule.quantities import nbytes, seconds

    command = list(context.meta.get("command", ()))
    span_s = None if span is None else value_of(span, seconds, "--for")
    if not file and not front:
        raise ConfigError("name a file with [[meter]] sections, or instruments with --front", allowed=_fronts())
    if script and follow:
        raise ConfigError("the load is scripted or follows I/O, not both", key="--follow")
    for path in filter(None, (truth, write_sections)):
        if path.exists() and not force:
            raise ConfigError(f"{path} is there already; --force overwrites it", key=str(path))
    levels = {"idle": idle, "active": active, "spin-up": spin_up, "standby": min(0.8, idle)}
    if follow:
        load = _following(follow, value_of(full, nbytes, "--full"), levels, supply)
    else:
        load = _scripted(script or DEFAULT_SCRIPT, levels, noise, droop, supply, seed, once)
    places, code = _places(file, setting or [], front or [], load, seed), 0
    with ended_by_sigterm(), Bench(load, places, truth) as bench:
        sections = [place.section() for place in bench.places.values()]
        said: dict[str, Any] = {"fronts": [{"name": p.name, "address": p.address} for p in places]}
        if write_sections:
            write_sections.write_text(toml(sections), encoding="utf-8")
        with suppress(KeyboardInterrupt):
            tell = console.say if json or command else print
            for place in places:
                tell(f"# {place.name}: {place.front.ABOUT}, at {place.address}")
            tell(toml(sections))
            code = _run(command, json) if command else _attend(bench, control, span_s)
        seconds_up = (_now_ns() - bench.opened_ns) * 1e-9
        said |= {"sections": sections, "seconds": seconds_up, "joules": bench.joules()}
        said |= {"truth": truth and str(truth), "exit": code}
    if json:
        console.document(said)
    else:
        console.say(f"the true energy of these {seconds_up:.1f} s is {said['joules']:.3f} J")
    return code


def _now_ns() -> int:
    from iojoule.meters import clock

    return clock.now_ns()


def _fronts() -> list[str]:
    from iojoule.meters.lab.table import FRONTS

    return sorted(FRONTS)


def _scripted(
    script: str, levels: dict[str, float], noise: float, droop: float, supply: float, seed: int, once: bool
) -> Truth:
    from iojoule.cli.values import value_of
    from iojoule.meters.lab.load import Load
    from iojoule.meters.lab.script import states

    row = value_of(script, lambda text: states(text, levels), "--script")
    return Load(row, _now_ns(), supply_v=supply, source_ohm=droop, noise_w=noise, seed=seed, repeat=not once)


def _following(follow: str, full: int, levels: dict[str, float], supply: float) -> Truth:
    from iojoule.errors import ConfigError
    from iojoule.meters.lab.activity import ByteRate, OfRun, of_device
    from iojoule.meters.lab.load import Driven

    place = Path(follow)
    if full <= 0:
        raise ConfigError("--full is above 0", key="--full", value=full)
    if follow.startswith("/dev/"):
        count = of_device(place.resolve().name)
        if count() is None:
            raise ConfigError(f"{follow} is no disk of this host", key="--follow", value=follow)
    else:
        count = OfRun(place)
    driven = Driven(ByteRate(count), full, levels["idle"], levels["active"] - levels["idle"], supply)
    driven.look(_now_ns())
    return driven


def _places(file: Path | None, settings: list[str], fronts: list[str], load: Truth, seed: int) -> list[Place]:
    from iojoule.errors import ConfigError
    from iojoule.experiment.parse import load as parse
    from iojoule.meters.lab.bench import Place, place_of
    from iojoule.meters.lab.table import front_class

    places: list[Place] = []
    sections: list[dict[str, Any]] = parse(file, settings).raw["meter"] if file else []
    if file and not sections:
        raise ConfigError("there is no [[meter]] in it", file=file)
    try:
        places += [place_of(section, load, seed + 1000 * n) for n, section in enumerate(sections)]
        for n, name in enumerate(fronts, start=len(places)):
            taken = sum(place.name.partition("-")[0] == name for place in places)
            places.append(Place(f"{name}-{taken + 1}" if taken else name, front_class(name)(load, seed + 1000 * n)))
    except (ValueError, KeyError) as error:
        raise ConfigError(str(error).strip("'\""), file=file) from error
    return places


def _run(command: list[str], quiet: bool) -> int:
    """An iojoule command while the bench is up. Ctrl-C is the command's: it ends, and the bench after it."""
    import signal
    import subprocess
    import sys

    words = command[1:] if command[0] == "iojoule" else command
    child = subprocess.Popen([sys.executable, "-m", "iojoule", *words], stdout=sys.stderr if quiet else None)
    signal.signal(signal.SIGTERM, lambda number, frame: child.terminate())
    while True:
        try:
            return child.wait()
        except KeyboardInterrupt:
            continue


def _attend(bench: Bench, control: Path | None, span_s: float | None) -> int:
    """Do what lines on stdin and in the control file say, until the time is over or somebody ends it."""
    import time

    from iojoule.cli import console
    from iojoule.cli.typed import TypedLines

    until = time.monotonic() + (span_s if span_s is not None else 1e9)
    typed, seen = TypedLines(), 0
    while time.monotonic() < until:
        lines = typed.within(POLL_S)
        if control and control.exists():
            with control.open("rb") as file:
                file.seek(seen)
                whole = [line for line in file if line.endswith(b"\n")]
            seen += sum(map(len, whole))
            lines += [line.decode(errors="replace") for line in whole]
        for line in filter(str.strip, lines):
            try:
                console.say(f"done: {bench.command(line)}")
            except ValueError as error:
                console.say(f"not done: {error}")
    return 0


def ended_by_sigterm() -> Any:
    """SIGTERM is as good an end as Ctrl-C."""
    import signal
    from contextlib import contextmanager

    def end(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    @contextmanager
    def block() -> Any:
        before = signal.signal(signal.SIGTERM, end)
        try:
            yield
        finally:
            signal.signal(signal.SIGTERM, before)

    return block()
