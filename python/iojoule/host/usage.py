"""Who uses a block device or a file: what must be known before it is written to.

The kernel's own answer is an open with O_EXCL, which fails on a device that is mounted, swapped on or a member of
something (open(2)); but it does not say by whom, knows nothing of a file, and is not asked by everybody. So each user
is looked for by itself as well, on the device, on its partitions and on the disk it is a part of. Readers take the root
of /proc and /sys.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from iojoule.host.disk import Disk, disk, node, number_of, under
from iojoule.host.kernel import text


@dataclass(frozen=True)
class Use:
    """Somebody uses it: by which ``rule`` that was found, ``what`` was found, and what its owner can do."""

    rule: str
    what: str
    remedy: str


@dataclass(frozen=True)
class Mount:
    device: str
    place: str
    kind: str
    source: str
    elsewhere: bool


def device_uses(device: Disk, root: Path = Path("/")) -> list[Use]:
    """Everyone who uses the device, its partitions, or the disk it is a part of."""
    family = device.family()
    found = list(_root_disk(device, root))
    for use in (_mounted, _swapped, _held, _looped, _btrfs):
        found += use(family, root)
    return found


def mounts(root: Path = Path("/")) -> list[Mount]:
    """Every mount that can be seen, in this namespace and in those of other processes (proc_pid_mountinfo(5))."""
    seen: set[str] = set()
    found: dict[tuple[str, str, str], Mount] = {}
    proc = root / "proc"
    for process in [proc / "self", *sorted(proc.glob("[0-9]*"))]:
        try:
            namespace = str((process / "ns/mnt").readlink())
        except OSError:
            namespace = str(process)
        if namespace in seen:
            continue
        seen.add(namespace)
        for line in (text(process / "mountinfo") or "").splitlines():
            mount = _mount(line, elsewhere=process.name != "self")
            found.setdefault((mount.device, mount.source, mount.place), mount)
    return list(found.values())


def _mount(line: str, *, elsewhere: bool) -> Mount:
    before, _, after = line.partition(" - ")
    device, _, place = before.split()[2:5]
    kind, source = after.split()[:2]
    return Mount(device, _unescaped(place), kind, _unescaped(source), elsewhere)


def _unescaped(name: str) -> str:
    """Blanks and the like are written as ``\\040`` in the tables of mounts and swaps."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), name)


def _mounted(family: list[str], root: Path) -> Iterator[Use]:
    for mount in mounts(root):
        # btrfs gives itself a number of its own; then only the source tells.
        number = mount.device if mount.device in family else number_of(Path(mount.source)) if _is_node(mount) else None
        if number in family:
            where = f"{mount.place} of another process" if mount.elsewhere else mount.place
            yield Use("mounted", f"{node(number, root)} is mounted on {where} ({mount.kind})", f"umount {mount.place}")


def _is_node(mount: Mount) -> bool:
    return mount.source.startswith("/dev/")


def _swaps(root: Path) -> list[Path]:
    lines = (text(root / "proc/swaps") or "").splitlines()[1:]
    return [Path(_unescaped(line.split()[0])) for line in lines if line.strip()]


def _swapped(family: list[str], root: Path) -> Iterator[Use]:
    for place in _swaps(root):
        if number_of(place) in family:
            yield Use("swap", f"{place} is swap space in use", f"swapoff {place}")


def _held(family: list[str], root: Path) -> Iterator[Use]:
    """What stands on it: device mapper (LVM, crypt, multipath), md, bcache."""
    for number in family:
        device = disk(number, root)
        for holder in sorted((device.folder / "holders").glob("*")) if device else []:
            entry = holder.resolve()
            mapped, level = text(entry / "dm/name"), text(entry / "md/level")
            if mapped:
                yield Use("dm", f"{mapped} ({holder.name}) stands on {node(number, root)}", f"dmsetup remove {mapped}")
            elif level:
                what = f"{node(number, root)} is a member of {holder.name} ({level})"
                yield Use("md", what, f"mdadm --stop /dev/{holder.name}")
            else:
                yield Use("holder", f"{holder.name} holds {node(number, root)}", f"take {holder.name} down")


def _looped(family: list[str], root: Path) -> Iterator[Use]:
    for entry in sorted((root / "sys/block").glob("loop*/loop/backing_file")):
        name = text(entry)
        if name and (number := number_of(Path(name))) in family and number is not None:
            loop = f"/dev/{entry.parent.parent.name}"
            yield Use("loop", f"{loop} stands on {node(number, root)}", f"losetup -d {loop}")


def _btrfs(family: list[str], root: Path) -> Iterator[Use]:
    """A btrfs over several devices names only one of them where it is mounted."""
    for entry in sorted((root / "sys/fs/btrfs").glob("*/devices/*")):
        number = text(entry / "dev")
        if number in family and number is not None:
            volume = entry.parent.parent
            label = text(volume / "label") or volume.name
            yield Use("btrfs", f"{node(number, root)} is a member of the mounted btrfs {label}", "umount it")


def _root_disk(device: Disk, root: Path) -> Iterator[Use]:
    """The disks that hold ``/``, whatever lies between: no part of them is written to, a logical volume neither."""
    whole = text(device.whole / "dev")
    shared = _down(() if whole is None else (whole,), root, through_files=False) & root_disks(root)
    if shared:
        what = f"{min(node(number, root).name for number in shared)} holds the root file system"
        yield Use("root", what, "measure it through a file, or take another disk")


def root_disks(root: Path = Path("/")) -> set[str]:
    """Numbers of every device below ``/``, down to the disks."""
    roots = [mount for mount in mounts(root) if mount.place == "/"]
    starts = {mount.device for mount in roots}
    starts |= {number for mount in roots if _is_node(mount) and (number := number_of(Path(mount.source)))}
    for entry in (root / "sys/fs/btrfs").glob("*/devices/*"):
        members = {number for other in entry.parent.iterdir() if (number := text(other / "dev"))}
        starts |= members if members & starts else set()
    return _down(starts, root, through_files=True)


def _down(starts: Iterable[str], root: Path, *, through_files: bool) -> set[str]:
    """These devices, those they stand on, and the disks of all; through loop devices to the disks of their files."""
    found: set[str] = set()
    todo = list(starts)
    while todo:
        device = disk(todo.pop(), root)
        if device is None or device.number in found:
            continue
        found.add(device.number)
        todo += [whole] if (whole := text(device.whole / "dev")) else []
        todo += [number for below in (device.whole / "slaves").glob("*") if (number := text(below / "dev"))]
        backing = text(device.whole / "loop/backing_file") if through_files else None
        holds = under(Path(backing), root) if backing else None
        todo += [holds.number] if holds else []
    return found


def file_uses(file: Path, root: Path = Path("/")) -> list[Use]:
    """Everyone known to use a file: swap, loop devices, and anyone at all who has it open where a lease can tell."""
    there = file.stat()
    identity = (there.st_dev, there.st_ino)
    found = []
    for place in _swaps(root):
        if _identity(place) == identity:
            found.append(Use("swap", f"{file} is swap space in use", f"swapoff {file}"))
    for entry in sorted((root / "sys/block").glob("loop*/loop/backing_file")):
        name = text(entry)
        if name and _identity(Path(name)) == identity:
            loop = entry.parent.parent.name
            users = _loop_users(loop, root)
            found.append(Use("loop", f"/dev/{loop} stands on {file}{users}", f"losetup -d /dev/{loop}"))
    return found


def _loop_users(loop: str, root: Path) -> str:
    number = text(root / "sys/block" / loop / "dev") or ""
    device = disk(number, root)
    family = device.family() if device else []
    uses = [use.what for rule in (_mounted, _swapped, _held, _btrfs) for use in rule(family, root)]
    return f", and {uses[0]}" if uses else ""


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
