"""The files of a machine with the disks a test wants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Machine:
    """A root with ``proc`` and ``sys``."""

    root: Path

    def write(self, name: str, text: str) -> None:
        file = self.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n")

    def disk(
        self,
        name: str,
        number: str,
        *,
        parts: Mapping[str, str] | None = None,
        below: Sequence[str] = (),
        files: Mapping[str, str] | None = None,
    ) -> None:
        """A disk with partitions, or one that stands on others (md, dm)."""
        folder = self.root / "sys/devices" / name
        self._entry(folder, name, number, files or {})
        (self.root / "sys/block").mkdir(parents=True, exist_ok=True)
        (self.root / "sys/block" / name).symlink_to(folder)
        for index, (part, part_number) in enumerate((parts or {}).items(), start=1):
            self._entry(folder / part, part, part_number, {"partition": str(index)})
        for other in below:
            beneath = self._folder_of(other)
            (folder / "slaves" / other).symlink_to(beneath)
            (beneath / "holders" / name).symlink_to(folder)

    def mounts(self, *lines: str, source: str = "none", kind: str = "ext4", process: str = "self") -> None:
        """``number root place`` of each mount of a process."""
        (self.root / "proc" / process / "ns").mkdir(parents=True, exist_ok=True)
        namespace = self.root / "proc" / process / "ns/mnt"
        namespace.unlink(missing_ok=True)
        namespace.symlink_to(f"mnt:[{process}]")
        text = "\n".join(f"{n} 1 {line} rw shared:1 - {kind} {source} rw" for n, line in enumerate(lines, start=20))
        self.write(f"proc/{process}/mountinfo", text)

    def _entry(self, folder: Path, name: str, number: str, files: Mapping[str, str]) -> None:
        for file, text in {"dev": number, "size": "2048", **files}.items():
            self.write(str((folder / file).relative_to(self.root)), text)
        for empty in ("holders", "slaves"):
            (folder / empty).mkdir()
        numbers = self.root / "sys/dev/block"
        numbers.mkdir(parents=True, exist_ok=True)
        (numbers / number).symlink_to(folder)

    def _folder_of(self, name: str) -> Path:
        return next(p for p in (self.root / "sys/devices").rglob(name) if (p / "dev").exists() and not p.is_symlink())
