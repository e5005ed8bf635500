"""``iojoule meter probe``: open meters, say who they are, how good they are and what they read; or what is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from iojoule.cli.meter_sections import FileArgument, KindOption, SettingOption

if TYPE_CHECKING:
    from iojoule.meters.base import Driver, Reading
    from iojoule.meters.config import MeterConfig

SYNCS = 8
"""Reads of a meter's clock; the quickest bounds it best."""


def probe(
    file: FileArgument = None,
    kind: KindOption = None,
    setting: SettingOption = None,
    count: Annotated[int, typer.Option("-n", min=1, help="Readings of each channel.")] = 3,
    patience: Annotated[str, typer.Option(help="How long to wait for them at most.")] = "30s",
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> int:
    """Open each meter and print its identity, settings as confirmed, channels, clock and a few readings.

    Exits 1 if a meter answers but gives no good reading, 3 if one cannot be opened.

    Examples:  iojoule meter probe experiment.toml · iojoule meter probe --kind powercap -n 1 --json
    """
    from iojoule.cli import console
    from iojoule.cli.meter_sections import meters_of
    from iojoule.cli.values import value_of
    from iojoule.quantities import seconds

    patience_s = value_of(patience, seconds, "--patience")
    found = [_probe(config, count, patience_s) for config in meters_of(file, kind, setting)]
    code: int = max(meter["exit"] for meter in found)
    if json:
        console.document({"meters": found, "exit": code})
        return code
    for meter in found:
        _print(meter)
    return code


def _probe(config: MeterConfig, count: int, patience_s: float) -> dict[str, Any]:
    from iojoule.meters import laboratory
    from iojoule.meters.base import Fatal, MeterError, NoRawLog
    from iojoule.meters.table import driver_class

    make: Any = driver_class(config.kind)
    driver: Driver = make(config, NoRawLog())
    said: dict[str, Any] = {"name": config.name, "driver": config.kind, "wrong": None, "advice": None, "exit": 0}
    try:
        driver.configure()
        said |= driver.describe().document(config.name, config.kind, driver.poll_s or config.interval)
        if laboratory.is_made(config.model_dump()):
            said["identity"] = {"laboratory": laboratory.MADE} | said["identity"]
        said["clock"] = _clock(driver)
        driver.start()
        readings = _read(driver, config, count, patience_s)
        said["readings"] = [_shown(reading) for reading in readings]
        said["final"] = driver.stop()
        if not any(reading.good for reading in readings):
            said |= {"wrong": _no_good(readings, patience_s), "advice": _manual(config), "exit": 1}
    except Fatal as error:
        said |= {"wrong": str(error), "advice": _manual(config), "exit": 3}
    except MeterError as error:
        advice = f"is it on, connected and at this address, and used by nobody else? {_manual(config)}"
        said |= {"wrong": str(error), "advice": advice, "exit": 3}
    finally:
        driver.close()
    return said


def _read(driver: Driver, config: MeterConfig, count: int, patience_s: float) -> list[Reading]:
    """Until every channel has ``count`` readings, or patience ends; one failed attempt is none yet."""
    from iojoule.meters import clock
    from iojoule.meters.base import Retry

    until_ns = clock.now_ns() + int(patience_s * 1e9)
    wanted = {channel.id for channel in driver.describe().channels}
    readings: list[Reading] = []
    while clock.now_ns() < until_ns:
        if driver.poll_s:
            clock.sleep(min(driver.poll_s, patience_s))
        try:
            readings += driver.next(min(until_ns, clock.now_ns() + int(config.interval * 3e9) + 10**9))
        except Retry:
            continue
        if all(sum(reading.channel == channel for reading in readings) >= count for channel in wanted):
            break
    return readings


def _clock(driver: Driver) -> dict[str, Any] | None:
    """Offset of the meter's own clock to the host's, which counts from its start or, if nearer, to UTC."""
    import time

    from iojoule.meters.clock import best, offset_ns

    probes = [probe for probe in (driver.sync() for _ in range(SYNCS)) if probe is not None]
    if not probes:
        return None
    one = probes[best(probes)]
    offset, bound = offset_ns(one)
    # A clock that shows whole steps is behind itself by up to one: by half of one, give or take as much.
    offset, bound = offset + one.resolution_ns / 2, bound + one.resolution_ns / 2
    from_utc = offset - (time.time_ns() - time.monotonic_ns())
    utc = abs(from_utc) < abs(offset)
    return {
        "against": "UTC of this host" if utc else "the monotonic clock of this host",
        "offset_s": (from_utc if utc else offset) * 1e-9,
        "bound_s": bound * 1e-9,
        "probes": len(probes),
    }


def _shown(reading: Reading) -> dict[str, Any]:
    return {
        "channel": reading.channel,
        "value": reading.value,
        "unit": reading.unit,
        "expanded": 2 * reading.u_value,
        "seconds": (reading.end_ns - reading.start_ns) * 1e-9,
        "u_time_s": reading.u_time_ns * 1e-9,
        "quality": reading.flags,
    }


def _no_good(readings: list[Reading], patience_s: float) -> str:
    if not readings:
        return f"it answers, but gave no reading within {patience_s:g} s"
    flags = sorted({flag for reading in readings for flag in reading.quality})
    return f"none of {len(readings)} readings is a measurement: {', '.join(flags)}"


def _manual(config: MeterConfig) -> str:
    return f"the manual has a page on it: meters/{config.kind}"


def _print(meter: dict[str, Any]) -> None:
    print(f"{meter['name']} ({meter['driver']})")
    for key, value in (meter.get("identity") or {}).items():
        if isinstance(value, dict):
            print(f"  {key}: " + ", ".join(f"{name} = {one}" for name, one in value.items()))
        else:
            print(f"  {key}: {value}")
    for channel in meter.get("channels", ()):
        inside = f", contains {', '.join(channel['contains'])}" if channel["contains"] else ""
        print(
            f"  channel {channel['id']}: {channel['quantity']} in {channel['unit']}, {channel['kind']} "
            f"[{channel['boundary']}], {_accuracy(channel)}{inside}"
        )
    for rail in meter.get("rails", ()):
        at = f"{rail['voltage']} (at the {'supply' if rail['upstream'] else 'load'})"
        print(
            f"  rail {rail['id']}: power of {at} and {rail['shunt']} over {rail['ohm']:g} ohm, "
            f"u = {100 * rail['u_ohm_rel']:.2g} % of it, {100 * rail['u_temperature_rel']:.2g} % by its temperature"
        )
    if meter.get("clock"):
        clock = meter["clock"]
        print(f"  clock: {clock['offset_s']:+.6f} s ± {clock['bound_s']:.6f} s to {clock['against']}")
    for reading in meter.get("readings", ()):
        print("  " + spelled(reading))
    if meter["wrong"]:
        print(f"  wrong: {meter['wrong']}\n  try:   {meter['advice']}")


def spelled(reading: dict[str, Any]) -> str:
    """``power  18.03 ± 0.05 W over 0.250 s``, with U (k = 2) and the flags."""
    from math import isfinite

    u = f"{reading['expanded']:.2g}" if isfinite(reading["expanded"]) else "unknown"
    over = f" over {reading['seconds']:.3f} s" if reading["seconds"] else ""
    return (
        f"{reading['channel']:16} {reading['value']:12.6g} ± {u} {reading['unit']}{over} {reading['quality']}".rstrip()
    )


def _accuracy(channel: dict[str, Any]) -> str:
    """``u = 0.06 % of reading + 0.04 W``: standard uncertainty, as the driver states it."""
    if channel["u_rel"] is None and channel["u_abs"] is None and channel.get("u_digit") is None:
        return "accuracy not known"
    share = f"{100 * (channel['u_rel'] or 0):.2g} % of reading"
    rounding = f", rounding {channel['u_digit']:.2g} {channel['unit']}" if channel.get("u_digit") else ""
    return f"u = {share} + {channel['u_abs'] or 0:.2g} {channel['unit']}{rounding}"
