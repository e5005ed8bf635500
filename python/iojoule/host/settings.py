"""Settings of a block device for the length of a step: written down, set, and put back as they were.

They depend on each other: a change of scheduler gives the queue another number of requests, and one of the write cache
(or of any limit of the queue) raises a small read-ahead again (``blk_apply_bdi_limits``). So all that may move is
written down together, and set and put back in one order, read-ahead last.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from iojoule.errors import ConfigError, DeviceError
from iojoule.host.disk import Disk
from iojoule.host.journal import Change, Journal
from iojoule.host.kernel import chosen, number, text

KEYS = {"scheduler": "scheduler", "read_ahead": "read_ahead_kb", "write_cache": "write_cache"}
"""Key of a target -> the attribute below ``queue/`` that it sets."""

_ORDER = ("write_cache", "scheduler", "nr_requests", "wbt_lat_usec", "read_ahead_kb")


def change_settings(disk: Disk, wanted: Mapping[str, str], journal: Journal) -> Change:
    """Write down what is in force, then set ``wanted`` (attribute -> value) on the whole disk.

    ConfigError for a value the device does not take, DeviceError where the kernel took it but does not show it. The
    change is settled or has been put back when this returns or raises.
    """
    places = _places(disk)
    if missing := [name for name in wanted if name not in places]:
        raise ConfigError(f"{disk.name} has no {missing[0]} that could be set", key=f"target.{_key(missing[0])}")
    old = {name: _read(place) for name, place in places.items()}
    new = {"read_ahead_kb": old.get("read_ahead_kb"), **wanted}
    change = journal.begin(
        "settings",
        disk=disk.whole.name,
        folder=str(disk.whole),
        # Names this registration of the disk: after an unplugging the same name is another entry of sysfs. The medium
        # may change without that, as under a loop device, and what was set stays set.
        entry=disk.whole.stat().st_ino,
        places={name: str(place) for name, place in places.items()},
        old=old,
        new=new,
    )
    try:
        for name in (name for name in _ORDER if new.get(name) is not None and name in places):
            _set(disk, name, places[name], str(new[name]))
    except BaseException:
        put_back(change, journal, force=True)
        journal.mark(change, "restored", "could not be set")
        raise
    journal.mark(change, "settled")
    return change


def put_back(change: Change, journal: Journal, force: bool = False) -> tuple[str, str]:
    """Set all as it was; ("left", why) where somebody has set something else since, or the disk is another one.

    What was killed between a write and its mark is put back without asking: nobody else had the time to come between.
    """
    places = {name: Path(place) for name, place in change.facts["places"].items()}
    old, new = change.facts["old"], change.facts["new"]
    folder = Path(change.facts["folder"])
    if not folder.exists():
        return "gone", "the device is not there any more"
    if folder.stat().st_ino != change.facts["entry"]:
        return "gone", f"another disk is {change.facts['disk']} now"
    if change.states == ("settled",) and not force:
        now = {name: _read(places[name]) for name in new if name in places}
        moved = [name for name, value in now.items() if value not in (new[name], old[name])]
        if moved:
            name = moved[0]
            told = f"{name} was {old[name]}, was set to {new[name]} by the run, and is {now[name]} now"
            return "left", f"{told}: somebody changed it since; --force restores it all the same"
    journal.mark(change, "restoring")
    restored, stuck = [], []
    for name in (name for name in _ORDER if old.get(name) is not None and name in places):
        if _read(places[name]) == old[name]:
            continue
        try:
            places[name].write_text(old[name])
        except OSError as error:
            stuck.append(f"{places[name]} does not go back to {old[name]}: {error.strerror}")
            continue
        restored.append(f"{name} {old[name]}")
        # A device without a medium shows no write cache, whatever is set.
        if _read(places[name]) != old[name] and number(folder / "size"):
            stuck.append(f"{places[name]} does not go back to {old[name]}")
    if stuck:
        raise DeviceError("; ".join(stuck), device=change.facts["disk"])
    return "restored", ", ".join(restored) or "was as before"


def _places(disk: Disk) -> dict[str, Path]:
    """What can be set, or moves when something else is set; only what is there."""
    queue = disk.whole / "queue"
    places = {name: queue / name for name in _ORDER if (queue / name).exists()}
    # Of a SCSI or SATA drive the queue's own attribute only says whether flushes are sent; this one asks the drive.
    for cache in (disk.whole / "device").glob("scsi_disk/*/cache_type"):
        places["write_cache"] = cache
    return places


def _read(place: Path) -> str | None:
    return chosen(place) if place.name == "scheduler" else text(place)


def _set(disk: Disk, name: str, place: Path, value: str) -> None:
    if _read(place) == value:
        return
    try:
        place.write_text(value)
    except OSError as error:
        if isinstance(error, PermissionError):
            raise DeviceError(f"only root may set {place}", device=disk.name) from error
        offered = (text(place) or "").replace("[", "").replace("]", "").split() if name == "scheduler" else None
        message = f"{disk.name} does not take {value!r} as {name}: {error.strerror}"
        raise ConfigError(message, key=f"target.{_key(name)}", value=value, allowed=offered) from error
    if (now := _read(place)) != value:
        raise DeviceError(f"{place} was set to {value} and is {now}", device=disk.name)


def _key(attribute: str) -> str:
    return next((key for key, name in KEYS.items() if name == attribute), attribute)


def in_force(disk: Disk) -> dict[str, Any]:
    """The settings of the disk that decide its speed, whether they were set or not; None is not told."""
    queue = disk.whole / "queue"
    cache = _places(disk).get("write_cache")
    return {
        "scheduler": chosen(queue / "scheduler"),
        "read_ahead_kib": number(queue / "read_ahead_kb"),
        "write_cache": None if cache is None else text(cache),
        "queue_requests": number(queue / "nr_requests"),
        "writeback_throttling_us": number(queue / "wbt_lat_usec"),
        "merges": None if (merges := number(queue / "nomerges")) is None else merges == 0,
        "largest_request_kib": number(queue / "max_sectors_kb"),
    }
